"""The exchange attack: its parts against naive oracles, and what it learns from releases."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.conftest import examples

import tclose
from tclose.distance import Equal, Ordered
from tclose.measure.exchange import AttackedRows, inference_of, knowledge
from tclose.measure.exchange.field import (
    BINS,
    EXCHANGES,
    LEAST,
    NONE,
    SAVING_BINS,
    RandomField,
    admitted_changes,
    field_of,
    paying_changes,
)
from tclose.measure.exchange.inference import RowPairs, believed, learned_weights
from tclose.measure.exchange.knowledge import match, whole_classes
from tclose.partition import Attribute, Problem
from tclose.partition.shared.kernels import KERNELS
from tclose.partition.shared.loss import loss_table, total_loss
from tclose.run.installation import warm_exchange
from tclose.types import Ints, still

SEEDS = st.integers(0, 10_000)


def small_table(seed: int, rows: int = 12, classes: int = 4) -> AttackedRows:
    """Return rows on a grid with two attributes, in classes that need not be admitted."""
    chance = np.random.default_rng(seed)
    labels = chance.permutation(np.arange(rows) % classes)
    first, second = chance.integers(0, 2, rows), chance.integers(0, 4, rows)
    attributes = (
        Attribute(first, np.bincount(first, minlength=2), Equal(), Fraction(1, 3)),
        Attribute(second, np.bincount(second, minlength=4), Ordered(4), Fraction(1, 4)),
    )
    problem = Problem(chance.integers(0, 6, (rows, 2)) / 6, attributes, 2)
    return whole_classes(problem, labels, ("first", "second"))


def admitted_after(rows: AttackedRows, c: int, leaving: int, joining: int) -> bool:
    """Judge one class after a change, from all its rows."""
    members = [row for row in np.flatnonzero(rows.labels == c) if row != leaving] + [joining] * int(joining != NONE)
    if len(members) < rows.k:
        return False
    for number, attribute in enumerate(rows.attributes):
        codes = rows.codes[members, number]
        if NONE not in (leaving, joining) and rows.codes[leaving, number] == rows.codes[joining, number]:
            continue  # nothing changes, and what is published is admitted
        if attribute.t is not None and attribute.emd_of(codes, attribute.reference) > attribute.t:
            return False
    return True


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_changes_are_judged_as_if_they_were_made(seed: int) -> None:
    rows = small_table(seed)
    leaving, joining = (np.array(each) for each in zip(*product(range(-1, 12), repeat=2), strict=True))
    classes = np.where(leaving >= 0, rows.labels[leaving], 0)
    asked = ((rows.labels[joining] != classes) | (joining < 0)) & (leaving != joining)
    leaving, joining, classes = leaving[asked], joining[asked], classes[asked]
    found = admitted_changes(rows, classes, leaving, joining, still)
    changes = list(zip(classes, leaving, joining, strict=True))
    expected = [admitted_after(rows, *change) for change in changes]
    assert found.tolist() == expected


@settings(max_examples=6, deadline=None)
@given(seed=SEEDS)
@example(seed=197)  # two savings lie between two bins
def test_what_pays_lowers_the_loss_of_the_whole_table(seed: int) -> None:
    rows = small_table(seed)
    table = loss_table(rows.axes, len(rows))
    before = total_loss(table, rows.labels)
    scale = max(before / len(rows.sizes), LEAST)
    exchanges, moves = paying_changes(rows, still)

    def expected(changed: dict[tuple[int, int], Ints]) -> dict[tuple[int, int], set[int]]:
        """Return the bin of each saving, or both bins where it lies between two."""
        savings = {key: (before - total_loss(table, labels)) / scale for key, labels in changed.items()}
        paying = {key: saved * np.array([1 - 1e-9, 1 + 1e-9]) for key, saved in savings.items() if saved > 1e-6}
        return {key: set(np.searchsorted(SAVING_BINS, saved).tolist()) for key, saved in paying.items()}

    swapped, moved = {}, {}
    for x, y in product(range(len(rows)), repeat=2):
        if rows.labels[x] != rows.labels[y]:
            swapped[x, y] = rows.labels.copy()
            swapped[x, y][[x, y]] = rows.labels[[y, x]]
    for x, c in product(range(len(rows)), range(len(rows.sizes))):
        if rows.labels[x] != c and rows.sizes[rows.labels[x]] > rows.k:
            moved[x, c] = rows.labels.copy()
            moved[x, c][x] = c
    for found, changed in ((exchanges, swapped), (moves, moved)):
        places, bins = zip(found.row.tolist(), found.other.tolist(), strict=True), expected(changed)
        kinds = dict(zip(places, found.kind.tolist(), strict=True))
        assert kinds.keys() == bins.keys()
        assert all(kind in bins[place] for place, kind in kinds.items())


def undone(field: RandomField, value: Ints) -> Ints:
    """Count, in bins, the allowed exchanges and moves that an assignment of values leaves undone."""
    rows, exchanges, moves = field.rows, *paying_changes(field.rows, still)
    shown = field.values.shown[field.values.start[rows.labels] + value]  # a row with the same values
    counts = np.zeros(EXCHANGES, dtype=np.int64)
    for x, y, kind in zip(exchanges.row, exchanges.other, exchanges.kind, strict=True):
        one, other = shown[x], shown[y]
        same = (rows.codes[one] == rows.codes[other]).all()
        if x < y and (same or (admitted_with(rows, x, one, other) and admitted_with(rows, y, other, one))):
            counts[kind] += 1
    for x, c, kind in zip(moves.row, moves.other, moves.kind, strict=True):
        into = admitted_changes(rows, np.array([c]), np.array([NONE]), shown[[x]], still)[0]
        out = admitted_changes(rows, rows.labels[[x]], shown[[x]], np.array([NONE]), still)[0]
        counts[BINS + kind] += into and out
    return counts


def admitted_with(rows: AttackedRows, row: int, leaving: int, joining: int) -> bool:
    return bool(admitted_changes(rows, rows.labels[[row]], np.array([leaving]), np.array([joining]), still)[0])


@settings(max_examples=5, deadline=None)
@given(seed=SEEDS)
def test_a_swap_of_values_changes_what_is_left_undone(seed: int) -> None:
    field = field_of(small_table(seed), still)
    value = field.values.number
    pairs = RowPairs.of(field, value, np.random.default_rng(0))
    for first, second, change in zip(pairs.first, pairs.second, pairs.changes, strict=True):
        swapped = value.copy()
        swapped[[first, second]] = value[[second, first]]
        assert change[:EXCHANGES].tolist() == (undone(field, swapped) - undone(field, value)).tolist()


def test_beliefs_are_those_of_the_field() -> None:
    """All assignments of a small table, weighed one by one."""
    field = field_of(small_table(8, rows=8, classes=3), still)
    rows, number = field.rows, field.values.number
    columns = BINS + field.arrays.moves.shape[1]
    weights = np.where(np.arange(columns) < BINS, 0.7, np.where(np.arange(columns) < EXCHANGES, 0.3, 0.0))
    expected, total = np.zeros(len(field.arrays.moves)), 0.0
    by_class = [np.flatnonzero(rows.labels == c) for c in range(3)]
    for orders in product(*({tuple(order) for order in permutations(number[members])} for members in by_class)):
        value = number.copy()
        for members, order in zip(by_class, orders, strict=True):
            value[members] = order
        weight = np.exp(-float(weights[:EXCHANGES] @ undone(field, value)))
        expected[field.arrays.first + value] += weight
        total += weight
    chance = np.random.default_rng(1)
    found = np.mean([believed(field, np.tile(weights, (3, 1)), chance, still) for _ in range(10)], axis=0)
    assert np.ptp(expected / total) > 0.1
    assert np.abs(found - expected / total).max() < 0.03


def test_weights_are_learned() -> None:
    chance = np.random.default_rng(2)
    changes, true = chance.integers(-2, 3, (4000, 3)) * 1.0, np.array([1.5, 0.0, 0.5])
    told = chance.random(4000) < 1 / (1 + np.exp(-changes @ true))
    assert learned_weights(np.where(told[:, None], changes, -changes)) == pytest.approx(true, abs=0.15)


@settings(max_examples=examples(30), deadline=None)
@given(seed=SEEDS)
def test_as_many_rows_as_possible_get_a_person_who_fits(seed: int) -> None:
    chance = np.random.default_rng(seed)
    fits = chance.random((4, 5)) < 0.4
    begins, persons = np.append(0, np.cumsum(fits.sum(axis=1))), np.nonzero(fits)[1]
    slot_of, person_of = np.full(5, -1), np.full(4, -1)
    match(begins, persons, np.arange(4), slot_of, person_of)
    given_ = person_of[person_of >= 0]
    assert len(set(given_.tolist())) == len(given_)
    assert all(fits[slot, person] for slot, person in enumerate(person_of) if person >= 0)
    best = max(sum(fits[slot, person] for slot, person in enumerate(chosen)) for chosen in permutations(range(5), 4))
    assert len(given_) == best


# --- whole releases ---


def made_frame(rows: int, seed: int = 1) -> pl.DataFrame:
    chance = np.random.default_rng(seed)
    places = chance.permutation(rows * 2).reshape(2, rows)
    return pl.DataFrame({"x": places[0], "y": places[1], "ill": np.where(chance.random(rows) < 0.3, "yes", "no")})


POLICY = tclose.Policy(quasi=["x", "y"], sensitive={"ill": {"t": 0.2}}, k=3)


def attack_on(frame: pl.DataFrame, method: str, policy: tclose.Policy = POLICY, **more: Any) -> Any:
    with pytest.warns(tclose.LeakWarning):
        release = tclose.anonymize(frame, policy, method=method, seed=1)
    return tclose.attack(release, original=frame, policy=policy, **more)["exchange"].findings


def test_weave_tells_what_mondrian_does_not() -> None:
    frame = made_frame(200)
    found = attack_on(frame, "weave")
    release, details = found["release"], found["release"].details
    figures, control = details["attributes"]["ill"], details["control"]["ill"]
    assert release.figure == round(figures["gain"], 2) > 0.05
    assert figures["pair_test"] > 0.6
    assert release.rows == figures["sure"] > 8
    assert figures["right"] / figures["sure"] > 0.9
    assert figures["best_guess"] > figures["class_guess"]
    assert abs(control["pair_test"] - 0.5) < 0.12
    assert control["right"] / control["sure"] < 0.9
    assert control["gain"] < 0 < figures["gain"]
    assert "are told apart by exchanges" in release.sentence
    assert "Measured on" not in release.sentence
    assert (found["k_anonymous"].figure, found["k_anonymous"].rows) == (0, 0)
    assert found["raw"].figure is None
    mondrian = attack_on(frame, "mondrian")["release"]
    assert mondrian.rows <= 8
    assert mondrian.figure < 0.05


def test_of_a_large_table_some_neighbouring_classes_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knowledge, "MOST_ROWS", 90)
    found = attack_on(made_frame(200), "weave")["release"]
    assert 60 <= found.of <= 90
    assert f"Measured on {found.of:,} of 200 rows." in found.sentence


def test_of_large_classes_some_rows_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knowledge, "MOST_OF_CLASS", 4)
    found = attack_on(made_frame(200), "mondrian", tclose.Policy(quasi=["x", "y"], sensitive={"ill": {"t": 0.2}}, k=9))
    assert found["release"].of == 4 * found["release"].details["classes"]


def test_several_attributes_kept_columns_and_missing_cells() -> None:
    chance = np.random.default_rng(4)
    frame = made_frame(120).with_columns(
        pay=chance.integers(1, 6, 120),
        ward=chance.choice(["a", "b"], 120),
        zone=chance.choice(["n", "s", ""], 120),
    )
    sensitive = {"ill": {"t": 0.3}, "pay": {"t": 0.3, "bins": {"width": 2}}}
    policy = tclose.Policy(quasi=["x", "y", "zone"], sensitive=sensitive, keep=["ward"], k=3)
    found = attack_on(frame, "weave", policy)["release"]
    assert list(found.details["attributes"]) == ["ill", "pay"]
    assert found.of == 120


def test_a_column_of_one_value_has_no_pairs_to_tell_apart() -> None:
    frame = made_frame(120).with_columns(pay=pl.lit(7))
    policy = tclose.Policy(quasi=["x", "y"], sensitive={"ill": {"t": 0.3}, "pay": {"t": 0.3}}, k=3)
    figures = attack_on(frame, "mondrian", policy)["release"].details["attributes"]
    assert (figures["pay"]["pairs"], figures["pay"]["pair_test"]) == (0, None)
    assert figures["pay"]["correlation_pair_test"] is None
    assert 0 < figures["ill"]["pair_test"] < 1


def test_what_cannot_be_measured_says_why() -> None:
    assert "at least 5 classes" in attack_on(made_frame(9), "weave")["release"].sentence
    means = tclose.Policy(quasi={"x": {"publish": "mean"}, "y": {}}, sensitive={"ill": {"t": 0.2}}, k=3)
    assert "Class means" in attack_on(made_frame(60), "weave", means)["release"].sentence


def test_it_can_be_cancelled() -> None:
    begun: list[float] = []

    def progress(share: float, phase: str = "") -> None:
        begun.extend([share] if phase == "exchange attack" else [])
        if begun and not phase:
            raise tclose.Cancelled

    with pytest.raises(tclose.Cancelled):
        attack_on(made_frame(60), "mondrian", progress=progress)


def test_correlations_are_told_apart_from_exchanges() -> None:
    """Values that follow a quasi-identifier are guessed by that, whatever the algorithm."""
    chance = np.random.default_rng(5)
    places = chance.permutation(300)
    ill = np.where(places + chance.normal(0, 60, 300) > 200, "yes", "no")
    frame = pl.DataFrame({"x": places, "y": chance.permutation(300), "ill": ill})
    figures = attack_on(frame, "mondrian")["release"].details["attributes"]["ill"]
    assert figures["correlation_pair_test"] > 0.65
    assert figures["gain"] < 0.05
    assert figures["sure"] == 0


def test_the_same_release_gives_the_same_figures() -> None:
    rows = small_table(3, rows=60, classes=20)
    assert inference_of(rows) == inference_of(rows)


def test_a_tiny_attack_uses_every_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tclose.partition.shared.kernels.is_ready", lambda compiled: False)
    assert warm_exchange() > 0
    own = [compiled for compiled in KERNELS if compiled.py_func.__module__ == knowledge.__name__]
    assert own
    assert all(compiled.signatures for compiled in own)
