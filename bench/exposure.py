"""What remains exposed, on foreign tables: catastrophes that are planted in them, and their ordinary counterparts.

    .venv/bin/python bench/exposure.py TABLES.toml [--rows N] [--json FILE]

TABLES.toml names files: [[table]], each with `name` and `file` (CSV or any format that tclose reads). Every table gives
releases of the same quasi-identifiers (three of its draft), with a catastrophe planted or not, and the release that its
draft makes where only the t's are filled in. A release is scored by the largest figure, as a multiple of its cut-off;
from 1 on, it raises an alarm. The AUC says how often a planted catastrophe scores higher than an ordinary release (half
for ties). The cut-offs are decision 135's; nothing here is tuned, and nothing may be tuned on what this prints.
"""

from __future__ import annotations

import argparse
import json
import re
import time
import tomllib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import tclose
from tclose.measure.exposure import ReleaseExposure
from tclose.measure.exposure_counts import ShownTable, line_counts
from tclose.measure.release_exposure import shown_columns
from tclose.policy.draft import draft, guess
from tclose.table.profile import profiles
from tclose.table.sources import read

ROWS = 6_000  # of a table, at most: drawn at random from larger ones
LEAST = 300  # rows of a table that takes part
T = "0.2"
K = 5
PLANTED = frozenset({"diagnosis", "note", "patient_id", "village_id", "x7", "pay", "bmi", "age", "hiv"})
SHARES = {"flu": 0.3, "cold": 0.25, "asthma": 0.15, "fracture": 0.12, "ulcer": 0.1, "C50": 0.08}


@dataclass(frozen=True)
class Case:
    """One release: a table, what is planted in it, and the policy."""

    table: str
    kind: str
    bad: bool | None  # None for what a draft makes of a foreign table, which nobody has labelled
    frame: pl.DataFrame
    policy: dict[str, Any]


def tables(listed: Path, rows: int) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the tables, the larger ones as a sample."""
    for each in tomllib.loads(listed.read_text())["table"]:
        frame = read(Path(each["file"]) if Path(each["file"]).is_absolute() else listed.parent / each["file"])
        chosen = np.sort(np.random.default_rng(0).permutation(frame.height)[:rows])
        if frame.height >= LEAST:
            yield str(each["name"]), frame[chosen]


def quasi_of(frame: pl.DataFrame) -> list[str]:
    """Return quasi-identifiers for all planted releases: two of the draft, of 2 to 60 values; an age is planted."""
    looks = {each.name: each for each in profiles(frame)}
    found = [each.column for each in guess(list(looks.values())) if each.role == "quasi"]
    return [name for name in found if 2 <= looks[name].distinct <= 60 and name not in PLANTED][:2]


def diseases(frame: pl.DataFrame, quasi: Sequence[str], rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Draw a diagnosis that depends a little on the first quasi-identifier."""
    drawn = rng.choice(list(SHARES), frame.height, p=list(SHARES.values()))
    first = frame[quasi[0]].rank("dense").fill_null(0).to_numpy()
    often = (first > np.median(first)) & (rng.random(frame.height) < 0.15)
    return np.where(often, "asthma", drawn)


def cases(name: str, frame: pl.DataFrame) -> Iterator[Case]:
    """Yield the releases of a table."""
    rng, quasi = np.random.default_rng(1), quasi_of(frame)
    yield Case(name, "draft", None, frame, filled(frame))
    if len(quasi) < 2:
        return
    rows, age = frame.height, rng.integers(18, 95, frame.height)
    base = frame.select(quasi).with_columns(age=age, diagnosis=pl.Series(diseases(frame, quasi, rng)))
    quasi = [*quasi, "age"]
    asked: dict[str, Any] = {
        "k": K,
        "others": "drop",
        "quasi": quasi,
        "sensitive": {"diagnosis": {"t": T, "distance": "equal"}},
    }

    def case(kind: str, bad: bool, table: pl.DataFrame = base, **other: Any) -> Case:
        return Case(name, kind, bad, table, {**asked, **other})

    def sensitive(**spec: Any) -> dict[str, Any]:
        return {**asked["sensitive"], **spec}

    yield case("ordinary", False)
    yield case("ordinary, t = 0.1", False, sensitive={"diagnosis": {"t": "0.1", "distance": "equal"}})
    yield case("one person = one class", True, k=1, sensitive={"diagnosis": {"t": 1, "distance": "equal"}})
    yield case("k only", True, k=3, sensitive={"diagnosis": {"t": 1, "distance": "equal"}})

    notes = base.with_columns(note=pl.Series([f"seen on day {i}, room {i % 7}" for i in rng.permutation(rows)]))
    yield case("free text", True, notes, sensitive=sensitive(note={"t": 1, "distance": "equal"}))
    few = base.with_columns(note=pl.Series([f"room {i % 7}" for i in rng.permutation(rows)]))
    yield case("few texts", False, few, sensitive=sensitive(note={"t": T, "distance": "equal"}))

    repeated = base.with_columns(patient_id=pl.Series(np.arange(rows) // 3 + 1000))
    same = [pl.col(column).gather((pl.int_range(rows) // 3) * 3) for column in quasi]
    repeated = repeated.with_columns(same)
    yield case("repeated persons", True, repeated, identifiers=["patient_id"])
    yield case("persons counted", False, repeated, identifiers=["patient_id"], person="patient_id")

    ward, effect = places(rng, rows)
    named, nameless = base.with_columns(village_id=ward, pay=effect), base.with_columns(x7=ward, pay=effect)
    pay = {"t": T, "bins": {"quantiles": 10}, "publish": "bin"}
    yield case("place code, named", True, named, sensitive=sensitive(village_id={"t": "0.5"}, pay=pay))
    yield case("place code, nameless", True, nameless, sensitive=sensitive(x7={"t": "0.5"}, pay=pay))
    as_quasi = [*quasi, "village_id"]
    yield case("place as quasi", False, named, quasi=as_quasi, sensitive=sensitive(pay=pay))

    bmi = base.with_columns(bmi=pl.Series(rng.normal(26, 4, rows).round(5)))
    yield case("floats as range ends", True, bmi, quasi=[*quasi, "bmi"])
    yield case("floats with a step", False, bmi, quasi={**{each: {} for each in quasi}, "bmi": {"step": 2}})

    old = base.with_columns(diagnosis=pl.Series(np.where(age > 80, "C50", base["diagnosis"].to_numpy())))
    yield case("homogeneous over 80", True, old, sensitive={"diagnosis": {"t": "0.9", "distance": "equal"}})
    yield case("over 80, t = 0.1", False, old, sensitive={"diagnosis": {"t": "0.1", "distance": "equal"}})

    sick = (rng.random(rows) < 0.02 + 0.2 * (age > 75)).astype(int)
    hiv = base.with_columns(hiv=pl.Series(np.where(sick > 0, "positive", "negative"))).drop("diagnosis")
    for t, bad in (("0.3", True), ("0.05", False)):
        yield case(f"rare disease, t = {t}", bad, hiv, sensitive={"hiv": {"t": t, "distance": "equal"}})


def places(rng: np.random.Generator, rows: int) -> tuple[pl.Series, pl.Series]:
    """Draw the number of a place for each row, and a figure that differs from place to place."""
    number = rng.integers(0, max(12, min(120, rows // 12)), rows)
    level = rng.normal(0, 1, int(number.max()) + 1)
    return pl.Series(number + 1), pl.Series(
        (1000 + 300 * (level[number] + rng.normal(0, 0.7, rows))).round().astype(int)
    )


def filled(frame: pl.DataFrame) -> dict[str, Any]:
    """Return what `tclose init` drafts, with its t's filled in."""
    text = re.sub(r"^# t = 0\.\?", f"t = {T} #", draft(profiles(frame)), flags=re.MULTILINE)
    return {**tomllib.loads(text), "others": "drop"}


@dataclass(frozen=True)
class Scored:
    """A release with its figures."""

    case: Case
    exposed: ReleaseExposure
    chance: float  # rows given away in random classes of the same sizes
    seconds: float

    @property
    def ratios(self) -> dict[str, float]:
        """Return each figure as a multiple of its cut-off."""
        return {each.name: each.multiple for each in self.exposed.figures}

    def score(self, *, unprotected: bool) -> float:
        """Return the largest, with or without line 4, for which the research had no cut-off."""
        return max(ratio for name, ratio in self.ratios.items() if unprotected or name != "unprotected")

    @property
    def asks(self) -> bool:
        """Whether some line is undecided, so that the steward is asked."""
        return any(each.answer == "undecided" for each in self.exposed.figures)


def scored(case: Case) -> Scored | None:
    """Make a release and score it; None where the policy cannot be met."""
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            release = tclose.anonymize(case.frame, tclose.Policy.from_dict(case.policy), seed=1, effort="fast")
            exposed = release.exposed
        except tclose.TcloseError as error:
            print(f"{case.table:24} {case.kind:24} no release: {str(error)[:60]}")
            return None
    return Scored(case, exposed, by_chance(release), time.process_time() - begun)


def by_chance(release: tclose.Release) -> float:
    """Return the share of rows given away if the labels of the classes are shuffled."""
    table = release.judged[0].table
    labels = np.random.default_rng(0).permutation(table.classes.labels_by_row())
    columns = shown_columns(table, release.policy)
    shuffled = line_counts(ShownTable(labels, columns, len(table)))
    return shuffled.given_away.rows / len(table)


def auc(bad: Sequence[float], good: Sequence[float]) -> float:
    """Return how often a bad release scores higher than a good one."""
    pairs = [(b > g) + 0.5 * (b == g) for b in bad for g in good]
    return sum(pairs) / len(pairs) if pairs else float("nan")


def told(found: Sequence[Scored]) -> dict[str, Any]:
    """Print the ranking, the AUC and the alarms; return them."""
    for each in sorted(found, key=lambda each: -each.score(unprotected=False)):
        ratios = "  ".join(f"{ratio:6.2f}" for ratio in each.ratios.values())
        label = {True: "planted", False: "ordinary", None: "draft"}[each.case.bad]
        print(f"{label:9} {each.case.table:22} {each.case.kind:24} {ratios}  {'asks' if each.asks else ''}")
    hidden = "place code, nameless"
    figures: dict[str, Any] = {}
    for unprotected in (False, True):
        bad = [e.score(unprotected=unprotected) for e in found if e.case.bad and e.case.kind != hidden]
        good = [e.score(unprotected=unprotected) for e in found if e.case.bad is False]
        drafts = [e.score(unprotected=unprotected) for e in found if e.case.bad is None]
        lines = "four lines" if unprotected else "lines 1 to 3"
        scores = {"planted": bad, "ordinary": good, "drafts": drafts}
        alarms = {name: [sum(score >= 1 for score in of), len(of)] for name, of in scores.items()}
        figures[lines] = {"auc": auc(bad, good), "alarms": alarms}
        print(f"{lines}: AUC {figures[lines]['auc']:.3f}; alarms {figures[lines]['alarms']}")
    nameless = [e for e in found if e.case.kind == hidden]
    print(f"{hidden}: {sum(e.score(unprotected=False) >= 1 for e in nameless)} alarms, {len(nameless)} releases")
    alone = [next(f for f in e.exposed.figures if f.name == "class_alone") for e in found]
    apart = [abs((f.baseline or 0.0) - e.chance) for f, e in zip(alone, found, strict=True) if len(f.columns) <= 1]
    print(f"baseline against shuffled classes: median difference {np.median(apart):.4f}, largest {max(apart):.4f}")
    kinds = {
        kind: [sum(each.score(unprotected=False) >= 1 for each in of_kind), len(of_kind)]
        for kind in dict.fromkeys(each.case.kind for each in found)
        if (of_kind := [each for each in found if each.case.kind == kind])
    }
    print("alarms by kind:", kinds)
    return {**figures, "kinds": kinds}


def main() -> None:
    """Score the releases of all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", type=Path)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    every = (case for name, frame in tables(asked.tables, asked.rows) for case in cases(name, frame))
    found = [each for case in every if (each := scored(case)) is not None]
    result = told(found)
    if asked.json is not None:
        asked.json.write_text(json.dumps(result))


if __name__ == "__main__":
    main()
