"""weave never loses more than another method that publishes one table, nor more than a smaller effort of its own.

The tables are small and random: few distinct values, many ties, tables that hold their policy already, one column,
persons, several attributes, hierarchies, sets, further models, kept columns and missing cells.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.conftest import TIMES

import tclose
from tclose.comparison.comparison import entries
from tclose.partition.registry import METHODS

AREAS = [["a1", "a", "*"], ["a2", "a", "*"], ["b1", "b", "*"], ["b2", "b", "*"], ["b3", "b", "*"]]
ILL = [["flu", "lung", "*"], ["cold", "lung", "*"], ["ulcer", "belly", "*"], ["colic", "belly", "*"]]
COSTS = {"values": ["flu", "cold", "ulcer", "colic"], "costs": [[0, 1, 3, 3], [1, 0, 2, 3], [3, 2, 0, 1], [3, 3, 1, 0]]}
DISTANCES = {"ordered": 0.4, "value": 0.1, "equal": 0.3, "hierarchical": 0.15, "matrix": 0.05}  # how often each
T = ["0.05", "0.1", "0.2", "0.3", "0.4", "0.5", "0.7", "1"]
MODELS: dict[str, list[Any]] = {
    "l": [2, 3],
    "entropy_l": ["1.25", "1.5"],
    "recursive": [{"c": "3", "l": 2}, {"c": "9", "l": 2}],
    "alpha": ["0.5", "0.8"],
    "beta": ["1", "3"],
    "enhanced_beta": ["1", "3"],
    "delta": ["1", "2"],
}
RIVALS = [
    entry.name
    for entry in entries([name for name, method in METHODS.items() if method.tables == "one" and name != "weave"])
]
SOAK = TIMES > 1
USUAL = [(0, 1, 2, 3, 5, 6), (7, 8, 19)]  # 0 with every effort and equal rows, 7 with another loss, 19 with means
TABLES = [range(first, first + 20) for first in range(0, 600, 20)] if SOAK else USUAL


@dataclass(frozen=True)
class Case:
    """A random table, and what is asked of it."""

    frame: pl.DataFrame
    policy: dict[str, Any]

    def loss(self, method: str, seed: int, **options: Any) -> float | None:
        """Return what a release loses, by the policy's loss; nothing where a method does not serve the table."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", tclose.LeakWarning)
                warnings.filterwarnings("ignore", "the method .* follows its own rule")  # it knows no other loss
                release = tclose.anonymize(self.frame, self.policy, method=method, seed=seed, **options)
        except (tclose.Infeasible, tclose.Unsuited):
            return None
        (table,) = release.layout.tables
        if "loss" not in self.policy and not any("publish" in spec for spec in self.policy["quasi"].values()):
            assert table.chosen_loss == release.certificate.content["measures"]["gcp"]
        return table.chosen_loss


def random_case(number: int) -> Case:
    """Return the table of a number."""
    random = np.random.default_rng([12, number])
    rows = int(random.choice([4, 8, 12, 17, 18, 19, 24, 30, 45, 60, 100, 140]))
    means = number % 20 == 19
    quasi: dict[str, Any] = {}
    columns: dict[str, Any] = {}
    for name in ["x", "y", "sex", "area"][: 2 if means else 4]:
        if not quasi or random.random() < 0.4:
            columns[name], quasi[name] = _quasi(name, rows, random, means=means)
    sensitive: dict[str, Any] = {}
    for place in range(int(random.choice([1, 1, 1, 2, 3]))):
        columns[f"s{place}"], sensitive[f"s{place}"] = _sensitive(rows, random)
    policy: dict[str, Any] = {"quasi": quasi, "sensitive": sensitive, "k": int(random.choice([1, 2, 2, 3, 5]))}
    policy |= {"others": "drop", "suppress": str(random.choice(["0", "0", "0.3"]))}
    if random.random() < 0.15:
        columns["ward"], policy["keep"] = random.choice(["n", "s"], rows).tolist(), ["ward"]
    if random.random() < 0.2:
        columns["name"], policy["person"] = random.integers(0, max(rows // 2, 2), rows).tolist(), "name"
    frame = pl.DataFrame(columns)
    if number % 4 == 0:  # equal rows many times over: such a table often holds its policy
        chosen = random.integers(0, max(rows // 6, 1), rows)
        places = [name for name in frame.columns if name in quasi]
        frame = frame.with_columns(frame[chosen.tolist()][places].iter_columns())
    if number % 10 == 7:
        policy["loss"] = str(random.choice(["sse", "discernibility", "queries"]))
    return Case(frame, policy)


def _quasi(name: str, rows: int, random: np.random.Generator, *, means: bool) -> tuple[list[Any], dict[str, Any]]:
    """Return the cells of a quasi-identifier and how it is published."""
    if means:
        return random.integers(0, 50, rows).tolist(), {"publish": "mean"}
    missing = random.random(rows) < (0.1 if random.random() < 0.2 else 0.0)
    spec: dict[str, Any] = {}
    if name in ("x", "y"):
        cells = random.integers(0, int(random.choice([2, 4, 10, 100])), rows).tolist()
        spec = [{}, {}, {}, {"step": 5}, {"top": 8, "bottom": 1}][int(random.integers(5))]
    elif name == "sex":
        cells = random.choice(["f", "m", "d"], rows).tolist()
    else:
        cells = random.choice([leaf for leaf, *_ in AREAS], rows).tolist()
        spec = {} if random.random() < 0.3 else {"hierarchy": {"rows": AREAS}}
    return [None if gone else cell for cell, gone in zip(cells, missing, strict=True)], spec


def _sensitive(rows: int, random: np.random.Generator) -> tuple[list[Any], dict[str, Any]]:
    """Return the cells of a sensitive attribute and what is asked of it."""
    distance = str(random.choice(list(DISTANCES), p=list(DISTANCES.values())))
    spec: dict[str, Any] = {"distance": distance}
    if distance in ("ordered", "value"):
        cells: list[Any] = random.integers(0, int(random.choice([2, 5, 40])), rows).tolist()
    else:
        cells = random.choice([leaf for leaf, *_ in ILL], rows).tolist()
        spec |= {"hierarchical": {"hierarchy": {"rows": ILL}}, "matrix": {"matrix": COSTS}}.get(distance, {})
    further = random.random() < 0.3
    if not further or random.random() < 0.6:
        spec["t"] = str(random.choice(T))
        spec |= {"n": int(random.integers(2, rows + 1))} if random.random() < 0.08 else {}
    if further:
        model = str(random.choice(list(MODELS)))
        spec[model] = MODELS[model][int(random.integers(len(MODELS[model])))]
    return cells, spec


def assert_never_worse(number: int) -> None:
    """Compare weave with every method, and its efforts with each other."""
    case, seed = random_case(number), number
    fast, balanced = (case.loss("weave", seed, effort=effort) for effort in ("fast", "balanced"))
    best = case.loss("weave", seed, effort="best") if number % 10 == 0 else balanced
    assert (fast is None) == (balanced is None) == (best is None), f"table {number}: an effort was refused"
    if fast is not None and balanced is not None and best is not None:
        assert best <= balanced <= fast, f"table {number}: {best}, {balanced}, {fast}"
    rivals = RIVALS if SOAK else RIVALS[number % 2 :: 2]
    for rival in rivals if fast != 0 else ():  # nothing is better than a loss of 0
        loss = case.loss(rival, seed)
        if loss is None:
            continue
        assert balanced is not None, f"table {number}: weave was refused, {rival} was not"
        assert balanced <= loss, f"table {number}: {rival} loses {loss}, weave {balanced}"
        if rival in ("mondrian:strict", "mondrian:relaxed", "microaggregation:merge"):
            assert fast is not None
            assert fast <= loss, f"table {number}: {rival} loses {loss}, fast weave {fast}"


@pytest.mark.parametrize("numbers", TABLES, ids=lambda numbers: str(numbers[0]))
def test_weave_is_never_worse(numbers: Sequence[int]) -> None:
    for number in numbers:
        assert_never_worse(number)


@pytest.mark.parametrize("nth", [8, pytest.param(1, marks=pytest.mark.soak)])
def test_compare_agrees(nth: int) -> None:
    """What `compare` shows is what was compared here: the same seed gives the same releases.

    Each method runs in a process of its own, which takes a second: every eighth method will do.
    """
    number = 3
    case = random_case(number)
    names = ["weave", "weave:fast", *RIVALS[::nth]]
    trials = {trial.name: trial for trial in tclose.compare(case.frame, case.policy, methods=names, seed=number).trials}
    assert trials["weave"].gcp == case.loss("weave", number)
    released = [trial for trial in trials.values() if trial.outcome == "released"]
    assert len(released) > 2 + 10 // nth
    assert trials["weave"].gcp == min(trial.gcp for trial in released if trial.gcp is not None)
    assert trials["weave"].start is not None
    assert all(trial.start is None for trial in released if trial.method != "weave")
