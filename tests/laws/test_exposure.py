"""What remains exposed equals a count by brute force from the published file, the original and the policy.

The oracle reads the file by itself: text, split at commas, and nothing of tclose.
"""

from __future__ import annotations

import csv
import io
import warnings
from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.conftest import TIMES

import tclose
from tclose import Policy, Release, TcloseError, anonymize
from tclose.measure.exposure_claims import Figure, given_away_by_chance, suspicion_by_chance
from tclose.measure.exposure_counts import ShownColumn, ShownTable, line_counts

COLUMNS = ["age", "city", "ill", "pay", "score"]
Row = dict[str, str]


def drawn(rng: np.random.Generator, rows: int) -> pl.DataFrame:
    """Return a random table: a disease that depends on age and city, numbers of many and of few values."""
    age, city = rng.integers(20, 90, rows), rng.integers(0, 4, rows)
    sick = (rng.random(rows) < 0.1 + 0.5 * (age > 70)) & (city < 3)
    return pl.DataFrame(
        {
            "age": age + (rng.random(rows).round(3) if rng.random() < 0.3 else 0),
            "city": np.array(["a", "b", "c", "d"])[city],
            "ill": np.where(sick, "C50", np.array(["flu", "cold", "cough"])[rng.integers(0, 3, rows)]),
            "pay": rng.integers(1, rows * 2, rows) * 10,
            "score": rng.integers(0, int(rng.integers(2, 9)), rows),
        }
    )


def released(frame: pl.DataFrame, policy: dict[str, Any], seed: int) -> Release | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return anonymize(frame, Policy.from_dict(policy), seed=seed, method="mondrian")
        except TcloseError:
            return None


def asked(rng: np.random.Generator) -> dict[str, Any]:
    t = [0.1, 0.3, 0.6, 1][int(rng.integers(4))]
    return {
        "quasi": ["age", "city"],
        "sensitive": {"ill": {"t": t, "distance": "equal"}, "pay": {"t": 1}, "score": {"t": 1}},
        "k": int(rng.integers(2, 6)),
    }


def text_of(release: Release) -> list[Row]:
    return list(csv.DictReader(io.StringIO(release.frame.write_csv())))


def by_class(rows: Sequence[Row], quasi: Sequence[str]) -> dict[tuple[str, ...], list[Row]]:
    found = defaultdict(list)
    for row in rows:
        found[tuple(row[name] for name in quasi)].append(row)
    return found


def is_given_away(row: Row, group: Sequence[Row], rows: Sequence[Row], name: str) -> bool:
    p = Fraction(sum(each[name] == row[name] for each in rows), len(rows))
    q = Fraction(sum(each[name] == row[name] for each in group), len(group))
    return p < Fraction(1, 2) and (q - p) / (1 - p) >= Fraction(1, 2)


def suspicion(rows: Sequence[Row], groups: Any, name: str, value: str) -> Fraction:
    """Return the mean share of a value in the classes of those who have it, person by person."""
    shares = [
        Fraction(sum(each[name] == value for each in group), len(group))
        for group in groups.values()
        for row in group
        if row[name] == value
    ]
    return sum(shares, Fraction(0)) / len(shares)


def figure(release: Release, name: str) -> Figure:
    return next(each for each in release.exposed.figures if each.name == name)


def own_ends(frame: pl.DataFrame, rows: Sequence[Row]) -> Counter[str]:
    """Count the numbers that end a range of age and are a row's own, if many rows have an age of their own."""
    ages = [f"{age:g}" for age in frame["age"].to_list()]
    often = Counter(ages)
    own = {age for age, count in often.items() if count <= 2}
    many = sum(age in own for age in ages)
    if many < 10 or 4 * many < len(ages):
        return Counter()
    ends = {end for row in rows for end in row["age"].strip("[]").split(", ")}
    return Counter({age: often[age] for age in own if age in {f"{float(end):g}" for end in ends}})


def check(frame: pl.DataFrame, release: Release, policy: dict[str, Any]) -> None:
    rows, sensitive = text_of(release), list(policy["sensitive"])
    groups = by_class(rows, ["age", "city"])
    alone = figure(release, "class_alone")
    expected = [
        any(is_given_away(row, group, rows, name) for name in sensitive) for group in groups.values() for row in group
    ]
    assert alone.rows == sum(expected)
    assert alone.suspicion is not None
    for each in alone.suspicion:
        holders = [row for row in rows if row[each.column] == each.value]
        assert each.table == Fraction(len(holders), len(rows)) < Fraction(1, 2)
        assert each.group == suspicion(rows, groups, each.column, each.value)
    labels = {
        (name, value)
        for name in sensitive
        for value, count in Counter(row[name] for row in rows).items()
        if count >= 5 and 2 * count < len(rows) and len({row[name] for row in rows}) <= 20
    }
    named = {(each.column, each.value) for each in alone.suspicion}
    assert named <= labels
    assert len(named) == min(len(labels), 10)
    stands = figure(release, "stands_out")
    shown = {name: Counter(row[name] for row in rows) for name in sensitive}
    cells = sum(any(shown[name][row[name]] <= 2 for name in sensitive) for row in rows)
    ends = own_ends(frame, rows)
    assert stands.columns.get("age", 0) <= sum(ends.values())
    assert bool(ends) == bool(stands.columns.get("age", 0))
    if not ends:
        assert stands.rows == cells
    else:
        assert cells <= (stands.rows or 0) <= cells + sum(ends.values())


@pytest.mark.parametrize("number", range(16 * TIMES))
def test_figures_are_what_brute_force_counts(number: int) -> None:
    rng = np.random.default_rng(number)
    frame, policy = drawn(rng, int(rng.integers(12, 90))), asked(rng)
    if (release := released(frame, policy, number)) is not None:
        check(frame, release, policy)


@pytest.mark.parametrize("number", range(4 * TIMES))
def test_a_cure_leaves_as_many_rows_as_it_says(number: int) -> None:
    """The setting is applied and the figure counted anew; nothing of the old release is used."""
    rng = np.random.default_rng(1000 + number)
    frame, policy = drawn(rng, int(rng.integers(30, 90))), asked(rng)
    if (release := released(frame, policy, number)) is None:
        return
    for each in release.exposed.figures:
        for cure in each.cures:
            assert each.rows is not None
            assert cure.rows_after < each.rows
            if (again := released(frame, applied(policy, cure.setting), number + 1)) is not None:
                assert figure(again, each.name).rows == cure.rows_after, cure.setting


def applied(policy: dict[str, Any], setting: str) -> dict[str, Any]:
    """Do to a policy what a cure says."""
    sensitive = {name: dict(spec) for name, spec in policy["sensitive"].items()}
    quasi: dict[str, Any] = {name: {} for name in policy["quasi"]}
    identifiers: list[str] = []
    for part in setting.split("; "):
        names = part.split("'")[1::2]
        for name in names:
            if part.startswith("t = "):
                sensitive[name]["t"] = part.removeprefix("t = ").split()[0]
            elif part.startswith("bins"):
                sensitive[name] |= {"bins": {"quantiles": int(part.split("= ")[2].split()[0])}, "publish": "bin"}
            elif part.startswith("step"):
                quasi[name] = {"step": part.removeprefix("step = ").split()[0]}
            else:
                assert part.endswith("in identifiers"), part
                identifiers.append(name)
                del sensitive[name]
    return {**policy, "quasi": quasi, "sensitive": sensitive, "identifiers": identifiers}


def fits(cell: str, value: str, *, number: bool) -> bool:
    """Tell whether a published cell covers a value: a range, a set, or the value itself."""
    parts = cell.strip("[]{}").split(", ")
    if not number:
        return value in parts
    return float(parts[0]) <= float(value) <= float(parts[-1])


@pytest.mark.parametrize("seed", range(6 * TIMES))
def test_what_can_be_read_off_is_what_brute_force_finds(seed: int) -> None:
    """For every person with an uncommon value: all classes that the other columns allow publish this one value."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(20, 70))
    age, city = rng.integers(20, 50, rows), rng.integers(0, 3, rows)
    answer = np.where(rng.random(rows) < 0.5, city, rng.integers(0, 5, rows))
    frame = pl.DataFrame({"age": age, "city": np.array(["a", "b", "c"])[city], "q7": answer, "pay": age * 10 + city})
    policy: dict[str, Any] = {"quasi": ["age", "city", "q7"], "sensitive": {"pay": {"t": 1}}, "k": 2}
    if (release := released(frame, policy, seed)) is None:
        return
    classes = {tuple(row[name] for name in policy["quasi"]) for row in text_of(release)}
    counts, uncommon, read = Counter(answer.tolist()), 0, 0
    for mine, where, value in zip(age.tolist(), frame["city"].to_list(), answer.tolist(), strict=True):
        if 4 * counts[value] < rows:
            uncommon += 1
            reached = [c for c in classes if fits(c[0], str(mine), number=True) and fits(c[1], where, number=False)]
            read += bool(reached) and all(c[2] == str(value) for c in reached)
    found = figure(release, "unprotected")
    if uncommon and found.of != rows:
        assert (found.of, found.rows) == (uncommon, read)
        assert all(cure.rows_after == 0 for cure in found.cures)


@pytest.mark.parametrize("seed", range(5 * TIMES))
def test_persons_and_facts_are_what_brute_force_counts(seed: int) -> None:
    """Persons count as one, linked or not; whoever is alone with a fact in a class is found."""
    rng = np.random.default_rng(seed)
    rows, linked = int(rng.integers(8, 60)), bool(rng.integers(2))
    persons = np.unique(rng.integers(0, max(3, rows // 2), rows), return_inverse=True)[1].astype(np.int64)
    class_of_person = rng.integers(0, 4, int(persons.max()) + 1)
    labels = np.unique(class_of_person[persons], return_inverse=True)[1].astype(np.int64)
    values = rng.integers(0, 6, rows)
    sharing = np.array([len(set(persons[values == v])) for v in range(6)])
    rows_of = np.bincount(values, minlength=6)
    column = ShownColumn("place", values, sharing if linked else rows_of, sharing, recognised="surely")
    people = int(persons.max()) + 1
    counts = line_counts(ShownTable(labels, [column], people if linked else rows, persons, linked))
    units = [*zip(persons.tolist(), values.tolist(), labels.tolist(), strict=True)]

    def everyone(marked: Sequence[bool]) -> int:
        found = {unit[0] for unit, mark in zip(units, marked, strict=True) if mark}
        return sum(unit[0] in found for unit in units) if linked else sum(marked)

    alone = [len({u[0] for u in units if u[1:] == unit[1:]}) == 1 for unit in units]
    assert counts.alone.rows == everyone(alone)
    assert counts.cells.rows == everyone([sharing[unit[1]] <= 2 for unit in units])
    expected = 0
    for _, value, label in units:
        inside = [u for u in units if u[2] == label]
        if linked:
            p = Fraction(int(sharing[value]), people)
            q = Fraction(len({u[0] for u in inside if u[1] == value}), len({u[0] for u in inside}))
        else:
            p = Fraction(int(rows_of[value]), rows)
            q = Fraction(sum(u[1] == value for u in inside), len(inside))
        expected += p < Fraction(1, 2) and (q - p) / (1 - p) >= Fraction(1, 2)
    assert counts.given_away.rows == expected


def test_the_chance_is_that_of_random_classes() -> None:
    """Shuffled labels give, on average, what the formulas say."""
    rng = np.random.default_rng(0)
    values, labels = rng.choice(6, 60, p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05]), np.repeat(np.arange(15), 4)
    counts, sizes = np.bincount(values, minlength=6), {4: 15}
    away, suspected = [], []
    for _ in range(400):
        found = line_counts(shown(rng.permutation(labels), values))
        away.append(found.given_away.rows / 60)
        suspected.append(sum(n / size for size, n in found.squares["ill"][3].items()) / counts[3])
    assert given_away_by_chance(sizes, [counts], 60) == pytest.approx(np.mean(away), abs=0.01)
    assert float(suspicion_by_chance(sizes, int(counts[3]), 60)) == pytest.approx(np.mean(suspected), abs=0.01)


def shown(labels: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> ShownTable:
    counts = np.bincount(values, minlength=6)
    return ShownTable(labels, [ShownColumn("ill", values, counts, counts)], len(labels))


@pytest.mark.parametrize("number", range(5 * TIMES))
def test_merging_classes_never_raises_suspicion(number: int) -> None:
    rng = np.random.default_rng(number)
    rows = int(rng.integers(20, 200))
    labels = np.unique(rng.integers(0, 12, rows), return_inverse=True)[1].astype(np.int64)
    values = rng.integers(0, 6, rows)
    merged = np.where(labels == 1, 0, labels - (labels > 1))

    def suspected(labels: np.ndarray[Any, Any]) -> dict[int, Fraction]:
        squares = line_counts(shown(labels, values)).squares["ill"]
        return {
            value: sum((Fraction(n, size) for size, n in found.items()), Fraction(0))
            for value, found in squares.items()
        }

    before, after = suspected(labels), suspected(merged)
    assert all(after[value] <= before[value] for value in before)


@pytest.mark.parametrize("number", range(3 * TIMES))
def test_parts_add_up(number: int) -> None:
    """Whole classes counted apart give the counts of the whole table."""
    rng = np.random.default_rng(number)
    rows = int(rng.integers(20, 200))
    labels, values = rng.integers(0, 9, rows), rng.integers(0, 6, rows)
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    whole, counts = shown(labels, values), np.bincount(values, minlength=6)
    parts = []
    for half in (labels < 4, labels >= 4):
        if half.any():
            own = np.unique(labels[half], return_inverse=True)[1].astype(np.int64)
            column = ShownColumn("ill", values[half], counts, counts)
            parts.append(line_counts(ShownTable(own, [column], rows)))
    assert sum(parts[1:], parts[0]) == line_counts(whole)


def test_a_t_that_gives_nothing_away_is_named_for_missing_values_and_many_numbers_too() -> None:
    """It is the t that the table of what each t allows has; both come from one computation."""
    rows = 4000
    ill = [None if row % 10 == 9 else "flu" if row % 40 < 10 else "cold" for row in range(rows)]
    frame = pl.DataFrame(
        {"age": [row % 40 for row in range(rows)], "city": ["a"] * rows, "ill": ill, "pay": range(rows)}
    )
    asked: dict[str, Any] = {"ill": {"t": 1, "distance": "equal", "missing": "value"}, "pay": {"t": 1}}
    policy = {"quasi": ["age", "city"], "sensitive": asked, "k": 3}
    release = released(frame, policy, seed=1)
    assert release is not None
    (cure,) = figure(release, "class_alone").cures
    assert cure.rows_after == 0
    allowed = tclose.check(frame, Policy.from_dict(policy)).allows
    for part in cure.setting.split("; "):
        below, name = allowed[part.split("'")[1]].nothing_given_away_below, part.split()[2]
        assert below is not None
        assert Fraction(name) < below


def test_no_t_is_named_where_pseudonyms_link_rows(tmp_path: Path) -> None:
    """t limits shares of rows. All persons aged 20 have v, in a tenth of their rows; of the others, every tenth has."""
    young = [(f"A{person}", 20, "v" if row == 0 else "w") for person in range(10) for row in range(10)]
    others = [(f"B{person}", 60, "w" if person % 10 else "v") for person in range(100)]
    frame = pl.DataFrame(young + others, schema=["who", "age", "ill"], orient="row")
    (tmp_path / "key").touch(mode=0o600)
    (tmp_path / "key").write_bytes(bytes(range(32)))
    policy = {
        "identifiers": ["who"],
        "pseudonym": {"who": {"key": str(tmp_path / "key")}},
        "quasi": ["age"],
        "k": 3,
        "sensitive": {"ill": {"t": 0.9}},
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = figure(anonymize(frame, Policy.from_dict(policy), seed=1), "class_alone")
    assert found.rows
    assert not found.cures


def test_a_value_that_is_counted_by_class_finds_the_class() -> None:
    """No row shows the values of a column that is both quasi-identifier and sensitive."""
    frame = pl.DataFrame({"age": [20 + row % 40 for row in range(80)], "pay": range(1000, 1080)})
    asked: dict[str, Any] = {"both": ["pay"], "quasi": {"age": {}, "pay": {}}, "sensitive": {"pay": {"t": 1}}, "k": 3}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = anonymize(frame, Policy.from_dict(asked), seed=1)
    says = figure(release, "stands_out").claim.says
    assert "80 rows (100 %) show a value of 'pay' that at most two rows show: anyone who knows the value finds" in says
    assert "finds the class;" in says
    assert "finds the row" not in says
