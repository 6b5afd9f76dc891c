"""The law of `load`: every figure of the raw table lies between its bounds, whatever was published how."""

from __future__ import annotations

import datetime
import random
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tclose
from tclose import Infeasible, InputError, LoadedRelease

ILLS = [["flu", "lung", "*"], ["cold", "lung", "*"], ["cut", "skin", "*"], ["burn", "skin", "*"], ["new", "*", "*"]]
TOWNS = [["Ulm", "south", "*"], ["Köln", "west", "*"], ["Bonn, Beuel", "west", "*"], ["Kiel", "north", "*"]]
EPOCH = datetime.date(1970, 1, 1)
CENSUS = {"age": (0, 120), "ldl": (0, 500), "income": (-10_000, 10_000), "serial": (0, 2**62), "weight": (0, 300)}
TEXTS = {"zip", "ward", "town", "ill", "sex", "hiv"}
Row = dict[str, Any]


@dataclass
class Case:
    """A raw table, the rows that the oracle reads, its release, and what it has asked."""

    chance: random.Random
    rows: list[Row]
    release: LoadedRelease
    below: dict[str, Callable[[str], set[str]]]  # the values below a label, by column
    found: Counter[str] = field(default_factory=Counter)


def decimal(chance: random.Random, low: float, high: float, places: int) -> str:
    return f"{chance.uniform(low, high):.{places}f}"


def column(chance: random.Random, name: str, rows: int) -> list[str]:
    """Draw the cells of a column, as a file has them."""
    few = [decimal(chance, 20, 90, 1) for _ in range(4)]
    makers: dict[str, Callable[[], str]] = {
        "age": lambda: str(chance.randint(18, 60)),
        "serial": lambda: str(2**53 + chance.randint(0, 40)),
        "weight": lambda: chance.choice(few),
        "income": lambda: decimal(chance, -500, 900, chance.choice([0, 2])),
        "zip": lambda: chance.choice(["01050", "01051", "0107", "02138", "02139", "9"]),
        "ward": lambda: chance.choice(["a", "b, c", "d"]),
        "town": lambda: chance.choice(TOWNS)[0],
        "ill": lambda: chance.choice(ILLS)[0],
        "day": lambda: str(EPOCH + datetime.timedelta(days=chance.randint(18_000, 19_500))),
        "sex": lambda: chance.choice(["f", "m", "m", "m", "m", "f", "x"]),
        "ldl": lambda: str(chance.choice([70, 90, 110, 130, 160, 200]) + chance.randint(0, 3)),
        "hiv": lambda: chance.choice(["yes", "no"]),
    }
    return [makers[name]() for _ in range(rows)]


def quasi_of(chance: random.Random, folder: Path) -> dict[str, dict[str, Any]]:
    """Choose quasi-identifiers, and how each is published."""
    (folder / "ill.csv").write_text("\n".join(";".join(row) for row in ILLS))
    choices: dict[str, list[dict[str, Any]]] = {
        "age": [{}, {"step": 5}, {"top": 50, "bottom": 25}, {"hierarchy": {"width": [10, 30]}}, {"publish": "mean"}],
        "serial": [{}, {"publish": "mean"}],
        "weight": [{}, {"publish": "mean"}, {"hierarchy": {"width": [2.5]}}],
        "income": [{}, {"publish": "mean"}],
        "zip": [{"hierarchy": {"prefix": [3, 1]}}, {"hierarchy": {"prefix": [2]}}],
        "ward": [{}],
        "town": [{"hierarchy": {"rows": TOWNS}}, {}],
        "ill": [{"hierarchy": str(folder / "ill.csv")}],
        "day": [{}, {"hierarchy": {"date": ["month", "quarter", "year", "decade"]}}],
    }
    names = chance.sample(sorted(choices), chance.randint(1, 4))
    return {name: chance.choice(choices[name]) for name in names}


def sensitive_of(chance: random.Random) -> dict[str, dict[str, Any]]:
    bins = chance.choice([{"edges": [0, 100, 150, 500]}, {"quantiles": 3}, {"width": 30}, {"count": 3}])
    ldl = chance.choice([{}, {"bins": bins, "publish": "bin"}, {"bins": bins, "publish": "bin"}])
    missing = chance.choice([{}, {"missing": "suppress"}, {"missing": "value"}])
    return {"ldl": {"t": chance.choice([0.4, 0.7, 1]), "distance": "ordered", **ldl, **missing}, "hiv": {"t": 1}}


def case(seed: int, folder: Path) -> Case | None:
    """Publish a random table by a random policy, and load it; None where nothing can be published."""
    chance = random.Random(seed)
    quasi, sensitive = quasi_of(chance, folder), sensitive_of(chance)
    keep, rows = (["sex"] if chance.random() < 0.5 else []), chance.randint(6, 40)
    cells = {name: column(chance, name, rows) for name in [*quasi, *keep, *sensitive]}
    lacking = [name for name in quasi if chance.random() < 0.3] + (["ldl"] if "missing" in sensitive["ldl"] else [])
    for name in lacking:
        cells[name] = [cell if chance.random() < 0.85 else chance.choice(["", "?"]) for cell in cells[name]]
    policy = {
        "quasi": quasi, "sensitive": sensitive, "keep": keep, "k": chance.choice([2, 2, 3, 5]), "missing": ["", "?"],
        "suppress": chance.choice([0, 0.3, 0.5]),
    }  # fmt: skip
    out = folder / f"r{chance.choice(['.csv', '.csv', '.parquet'])}"
    try:
        made = tclose.anonymize(pl.DataFrame(cells), policy, method="mondrian", seed=seed)
        form: Any = chance.choice(["text", "columns"])
        made.write(out, certificate=folder / "c.json", release_format=form, force=True)
    except (Infeasible, tclose.PolicyError, InputError):
        return None
    given = {name: spec["hierarchy"] for name, spec in quasi.items() if "hierarchy" in spec and chance.random() < 0.4}
    domains = {name: CENSUS[name] for name in cells if name in CENSUS and chance.random() < 0.5}
    release = tclose.load(out, folder / "c.json", hierarchies=given, domains=domains)
    raw = {name: [read(cell, name in TEXTS) for cell in column] for name, column in cells.items()}
    table = [dict(zip(raw, row, strict=True)) for row in zip(*raw.values(), strict=True)]
    return Case(chance, table, release, {name: below(name, cells, spec) for name, spec in quasi.items()})


def read(cell: str, is_text: bool) -> Any:
    """Read a cell as a person would: nothing, a number, a day or text."""
    if cell in ("", "?"):
        return None
    if is_text:
        return cell
    return Fraction(cell) if cell.count("-") < 2 else datetime.date.fromisoformat(cell)


def below(name: str, cells: dict[str, list[str]], spec: dict[str, Any]) -> Callable[[str], set[str]]:
    """Return what tells the values below a label."""
    rule = spec.get("hierarchy")
    if isinstance(rule, dict) and "prefix" in rule:
        longest = max(map(len, cells[name]))
        return lambda label: {
            text for text in cells[name]
            if label in (text, "*") or any(text[:n].ljust(longest, "*") == label for n in rule["prefix"])
        }  # fmt: skip
    rows = TOWNS if name == "town" else ILLS
    return lambda label: {row[0] for row in rows if label in row} if rule else {label}


def as_python(value: Any) -> Any:
    """Return a raw number as an analyst would write it."""
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    return value


def condition(case: Case, name: str) -> tuple[Any, Callable[[Any], bool]]:
    """Ask for something of a column; return the condition, and what tells whether a raw value fulfils it."""
    chance, known = case.chance, [row[name] for row in case.rows if row[name] is not None] or [Fraction(1)]
    if name in TEXTS:
        labels = {"zip": ["010**", "0****", "021**", "*"], "town": ["west", "*"], "ill": ["lung", "skin", "*"]}
        tree = case.below.get(name, lambda label: {label})
        texts = [str(text) for text in chance.choices([*known, *known, *labels.get(name, [])], k=chance.randint(1, 2))]
        wanted = {*texts}.union(*map(tree, texts))
        return texts if len(texts) > 1 else texts[0], lambda value: value in wanted
    low, high = sorted([chance.choice(known), chance.choice(known)])
    low, high = chance.choice([(low, high), (low, high), (None, high), (low, None), (low, low)])
    asked = (as_python(low), as_python(high))
    return asked[0] if low == high else asked, lambda value: (
        (low is None or value >= low) and (high is None or value <= high)
    )  # fmt: skip


def exact(figure: Any) -> Any:
    """Return a bound as it is read: a float is its shortest decimal, a moment is microseconds."""
    if isinstance(figure, datetime.datetime):
        return Fraction((figure - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1))
    return Fraction(repr(figure)) if isinstance(figure, float) and abs(figure) != float("inf") else figure


def number(value: Any) -> Fraction:
    return Fraction((value - EPOCH).days * 86_400_000_000) if isinstance(value, datetime.date) else Fraction(value)


def check(case: Case, what: str, raw: Any, lower: Any, upper: Any, expected: Any = None) -> None:
    """Compare one raw figure with its bounds."""
    low, high = exact(lower), exact(upper)
    inside = low <= raw <= high
    open_bounds = float("-inf") == low and float("inf") == high
    trivial = open_bounds or (what == "count" and (low, high) == (0, len(case.rows)))
    case.found[f"{what}: {'outside' if not inside else 'trivial' if trivial else 'inside'}"] += 1
    if expected is not None and expected == expected:
        assert low <= exact(expected) <= high
    assert inside, (what, raw, lower, upper)


def ask_count(case: Case) -> None:
    names = case.chance.sample(sorted(case.rows[0]), case.chance.randint(1, min(3, len(case.rows[0]))))
    asked = {name: condition(case, name) for name in names}
    raw = sum(all(row[name] is not None and fits(row[name]) for name, (_, fits) in asked.items()) for row in case.rows)
    found = case.release.expected_counts({name: each for name, (each, _) in asked.items()})
    check(case, "count", raw, found.lower, found.upper, found.expected)


def ask_mean(case: Case) -> None:
    name = case.chance.choice(sorted(case.rows[0].keys() - TEXTS))
    known = [number(row[name]) for row in case.rows if row[name] is not None]
    found = case.release.mean(name)
    if known:
        check(case, "mean", sum(known) / len(known), found.lower, found.upper, found.expected)


def ask_mean_by(case: Case) -> None:
    name, by = case.chance.choice(sorted(case.rows[0].keys() - TEXTS)), case.chance.choice(sorted(case.rows[0]))
    found = case.release.mean(name, by=by)
    bins = case.release._known(by)
    for value, _, _, lower, upper, fewest, most in found.rows():
        labels = getattr(bins, "labels", {}) if by == "ldl" else {}
        own = [row for row in case.rows if in_group(row[by], value, labels)]
        check(case, "count", len(own), fewest, most)
        if known := [number(row[name]) for row in own if row[name] is not None]:
            ends = [float(end) if low is None else low for low, end in ((lower, "-inf"), (upper, "inf"))]  # of dates
            check(case, "mean by", sum(known) / len(known), *ends)


def in_group(raw: Any, value: Any, labels: dict[str, Any]) -> bool:
    """Tell whether a raw value belongs to a group: equal, missing, or in a bin."""
    if raw is None or value is None:
        return raw is None and value is None
    if value in labels:
        low, high = labels[value]
        return low < raw <= high or (str(value).startswith("[") and raw == low)
    return bool(raw == (value if isinstance(value, str | datetime.date) else exact(value)))


def ask_quantile(case: Case) -> None:
    name, q = case.chance.choice(sorted(case.rows[0].keys() - TEXTS)), case.chance.choice([0, 0.1, 0.25, 0.5, 0.9, 1])
    known = sorted(number(row[name]) for row in case.rows if row[name] is not None)
    found = case.release.quantile(name, q)
    if known:
        place = max(-(-Fraction(str(q)) * len(known) // 1), 1)
        check(case, "quantile", known[int(place) - 1], found.lower, found.upper, found.expected)


def answered(seeds: range, folder: Path) -> Counter[str]:
    """Ask every case some questions; return how the answers were."""
    found: Counter[str] = Counter()
    warnings.simplefilter("ignore")
    for seed in seeds:
        made = case(seed, folder)
        if made is None:
            found["not published"] += 1
            continue
        for ask in (ask_count, ask_count, ask_count, ask_mean, ask_mean_by, ask_quantile):
            try:
                ask(made)
            except InputError:
                made.found[f"{ask.__name__}: refused"] += 1
            except AssertionError as error:
                raise AssertionError(f"seed {seed}: {error}") from error
        found += made.found
    return found


@pytest.mark.parametrize("first", [0, 20, *(pytest.param(first, marks=pytest.mark.soak) for first in (40, 60))])
def test_raw_figures_lie_between_their_bounds(tmp_path: Path, first: int) -> None:
    found = answered(range(first, first + 20), tmp_path)
    assert not [what for what in found if what.endswith("outside")]
    assert sum(count for what, count in found.items() if what.endswith("inside")) > 50


@pytest.mark.soak
def test_two_thousand_raw_figures_lie_between_their_bounds(tmp_path: Path) -> None:
    found = answered(range(1_000, 1_000 + 2_000), tmp_path)
    assert not [what for what in found if what.endswith("outside")]
