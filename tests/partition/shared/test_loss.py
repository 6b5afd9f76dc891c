"""Every loss that a policy can choose: what kernels lower is what a release reports, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose import Policy
from tclose.measure.information_loss import chosen_loss, discernibility, gcp, squared_error, weighted_gcp
from tclose.partition.shared.axes import Axis, NumberAxis
from tclose.partition.shared.kernels import kernel
from tclose.partition.shared.loss import (
    Extents,
    LossTable,
    class_loss,
    clear_extent,
    empty_extents,
    extend,
    loss_change,
    loss_growth,
    loss_table,
    total_loss,
    update_extent,
)
from tclose.partition.split import problem_of
from tclose.policy import LOSSES
from tclose.privacy.feasibility import publishable
from tclose.release.published_table import ReleaseInput, partition_of
from tclose.table import CodedTable, encode_quietly
from tclose.table.classes import Classes
from tclose.types import silent

LETTERS = list("abcdefgh")
TREE = [[letter, "ab" if letter < "c" else "cde" if letter < "f" else "fgh", "*"] for letter in LETTERS]
QUASI: dict[str, dict[str, Any]] = {
    "number": {},
    "label": {"hierarchy": {"rows": TREE}},
    "text": {},
    "rounded": {"step": 5},
}


@st.composite
def cases(draw: st.DrawFn) -> tuple[CodedTable, Policy, np.ndarray]:
    """A table with numbers, labels and texts, some of them missing; a policy; a class per row."""
    rows, seed = draw(st.integers(2, 40)), draw(st.integers(0, 2**32))
    random, missing = np.random.default_rng(seed), draw(st.sampled_from([0.0, 0.2]))

    def holes(cells: list[str]) -> list[str]:
        return ["" if random.random() < missing else cell for cell in cells]

    frame = pl.DataFrame(
        {
            "number": holes([str(x) for x in random.choice([1, 2, 3, 5, 8, 40], rows)]),
            "label": holes(list(random.choice(LETTERS[: draw(st.integers(1, 8))], rows))),
            "text": holes([f"t{x:02}" for x in random.integers(0, draw(st.sampled_from([2, 9, 90])), rows)]),
            "rounded": holes([str(x) for x in random.integers(0, 60, rows)]),
            "ill": [str(x) for x in random.integers(0, 3, rows)],
        }
    )
    weights = draw(st.sampled_from([(1, 1, 1, 1), (2, 1, "1/3", 5)]))
    quasi = {name: {**spec, "weight": weight} for (name, spec), weight in zip(QUASI.items(), weights, strict=True)}
    if draw(st.booleans()):
        quasi["number"]["publish"] = "mean"
    policy = Policy.of({"quasi": quasi, "sensitive": {"ill": {"t": 1}}, "loss": draw(st.sampled_from(LOSSES))})
    labels = random.integers(0, max(rows // 4, 1), rows)
    return encode_quietly(frame, policy), policy, np.unique(labels, return_inverse=True)[1]


def reported(table: CodedTable, policy: Policy, labels: np.ndarray) -> tuple[float, Any]:
    """Return the policy's loss of a partition as a release reports it, and the partition as measures see it."""
    classes = Classes.from_labels(labels)
    partition = partition_of(ReleaseInput(publishable(table, policy), policy, 0, silent), classes)
    return chosen_loss(table, policy, classes, partition), partition


def lowered(table: CodedTable, policy: Policy, labels: np.ndarray) -> float:
    """Return the loss that weave lowers, per row and quasi-identifier that counts."""
    problem = problem_of(table, policy)
    loss = total_loss(loss_table(problem.all_axes, problem.rows, float(problem.by_size)), labels)
    if policy.loss == "discernibility":
        return loss
    return loss / problem.rows / (sum(axis.weight for axis in problem.axes if loses(axis)) or 1.0)


def loses(axis: Axis) -> bool:
    """Tell whether a quasi-identifier can lose anything by a loss other than NCP; NCP counts constant columns."""
    if isinstance(axis, NumberAxis) and axis.deviation is not None:
        return len(np.unique(np.append(axis.low, 0.5)[axis.codes])) > 1
    return axis.chances is None or axis.chances.varies


@settings(max_examples=examples(50), deadline=None)
@given(cases())
def test_the_loss_that_is_lowered_is_the_one_that_is_reported(case: tuple[CodedTable, Policy, np.ndarray]) -> None:
    table, policy, labels = case
    figure, partition = reported(table, policy, labels)
    loss = lowered(table, policy, labels)
    if policy.loss == "discernibility":
        assert figure == discernibility(partition) == int(loss)  # what is left breaks ties
    else:
        assert loss == pytest.approx(figure, abs=1e-9)


@settings(max_examples=examples(30), deadline=None)
@given(cases())
def test_without_texts_and_weights_the_loss_is_a_measure(case: tuple[CodedTable, Policy, np.ndarray]) -> None:
    table, _, labels = case
    numbers = [name for name in ("number", "rounded") if len(set(table.frame[name].to_list())) > 1]
    if not numbers:
        return
    quasi = {name: {"step": 5} if name == "rounded" else {} for name in numbers}
    for loss, measure in (("gcp", gcp), ("sse", squared_error)):
        plain = Policy.of({"quasi": quasi, "sensitive": {"ill": {"t": 1}}, "loss": loss})
        coded = encode_quietly(table.frame[[*numbers, "ill"]], plain)
        figure, partition = reported(coded, plain, labels)
        if (expected := measure(partition)) is not None:
            assert figure == pytest.approx(expected, abs=1e-9)
            assert lowered(coded, plain, labels) == pytest.approx(expected, abs=1e-9)
    heavy = Policy.of({"quasi": {name: {"weight": 3 + 4 * q} for q, name in enumerate(numbers)}, "k": 2})
    coded = encode_quietly(table.frame[numbers], heavy)
    figure, partition = reported(coded, heavy, labels)
    assert figure == pytest.approx(weighted_gcp(partition) if len(numbers) > 1 else gcp(partition))


@kernel
def steps(
    table: LossTable, extents: Extents, members: np.ndarray, size: int, row: int, other: int, out: np.ndarray
) -> None:
    """Note the loss of a class, its change when a row leaves, one joins, both; and the loss after the exchange."""
    clear_extent(extents, 0)
    for i in range(size):
        extend(table, extents, 0, int(members[0, i]))
    out[0] = class_loss(table, extents, 0, -1, -1)
    out[1] = loss_change(table, extents, 0, row, -1)
    out[2] = loss_change(table, extents, 0, -1, other)
    out[3] = loss_change(table, extents, 0, row, other)
    out[4] = class_loss(table, extents, 0, row, other)
    out[5] = loss_growth(table, extents, 0, other, np.inf)
    members[0, 0] = other
    update_extent(table, extents, 0, members, size, row, other)
    out[6] = class_loss(table, extents, 0, -1, -1)


def loss_of(table: LossTable, rows: list[int]) -> float:
    """Return the loss per row of one class, from its rows alone."""
    out, members = np.zeros(7), np.array([rows], dtype=np.int32)
    steps(table, empty_extents(table, 1), members, len(rows), rows[0], rows[0], out)
    return float(out[0])


@settings(max_examples=examples(50), deadline=None)
@given(cases(), st.integers(0, 2**32))
def test_every_change_is_the_difference_of_two_losses(case: tuple[CodedTable, Policy, np.ndarray], seed: int) -> None:
    table, policy, _ = case
    problem = problem_of(table, policy)
    losses = loss_table(problem.all_axes, problem.rows, 0.7 * problem.by_size)
    rows = np.random.default_rng(seed).permutation(problem.rows)
    size = max(2, problem.rows // 2)
    if size >= problem.rows:
        return
    mine, other = rows[:size].tolist(), int(rows[size])
    out, members = np.zeros(7), np.array([mine], dtype=np.int32)
    steps(losses, empty_extents(losses, 1), members, size, mine[0], other, out)
    before, after = loss_of(losses, mine), loss_of(losses, [*mine[1:], other])
    assert out[0] == pytest.approx(before)
    assert out[1] == pytest.approx(loss_of(losses, mine[1:]) - before, abs=1e-9)
    assert out[2] == pytest.approx(loss_of(losses, [*mine, other]) - before, abs=1e-9)
    assert out[3] == pytest.approx(after - before, abs=1e-9)
    assert out[4] == pytest.approx(after)
    assert out[6] == pytest.approx(after)
    if not losses.squared:
        assert out[2] >= -1e-9  # as weave takes for granted
        assert losses.rising[0] == 1
        assert out[5] == pytest.approx(out[2], abs=1e-9)


def test_discernibility_breaks_ties_by_the_detail_lost() -> None:
    random = np.random.default_rng(1)
    problem_policy = Policy.of({"quasi": ["a", "b"], "k": 2, "loss": "discernibility"})
    frame = pl.DataFrame({"a": random.random(60), "b": random.random(60)})
    problem = problem_of(encode_quietly(frame, problem_policy), problem_policy)
    table = loss_table(problem.all_axes, 60, 1.0)
    halves, sorted_halves = np.arange(60) % 2, (np.argsort(np.argsort(problem.points[:, 0])) >= 30).astype(np.int64)
    thirds = np.arange(60) % 3
    assert 1800 < total_loss(table, sorted_halves) < total_loss(table, halves) < 1801
    assert total_loss(table, thirds) < 1201
