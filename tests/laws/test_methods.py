"""What holds for every method on any table: a release that a judge who knows nothing of tclose confirms, or a refusal.

The judge below is written from the definitions, on fractions. Every table has a column of row numbers that is published
as it is, so that each published row can be traced back to where it came from.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose import Infeasible, LeakWarning, Policy, Release, anonymize, read, verify
from tclose.errors import Unsuited
from tclose.partition import METHODS

Row = Mapping[str, Any]
pytestmark = [pytest.mark.filterwarnings("ignore::tclose.LeakWarning")]
every_method = pytest.mark.parametrize("method", [name for name, about in METHODS.items() if about.tables == "one"])
RARE = [HealthCheck.too_slow, HealthCheck.filter_too_much]
thorough = settings(max_examples=examples(8), deadline=None, suppress_health_check=RARE)
brief = settings(max_examples=examples(5), deadline=None, suppress_health_check=RARE)

AREAS = {"x1": ("x", "*"), "x2": ("x", "*"), "y1": ("y", "*"), "y2": ("y", "*"), "y3": ("y", "*")}
DISEASES = {  # levels above a leaf; "cut" lies directly under the root
    "flu": ("lung", "*"),
    "cold": ("lung", "*"),
    "ulcer": ("gut", "*"),
    "cut": ("cut", "*"),
}
COSTS = {("a", "b"): 1, ("b", "c"): 2, ("a", "c"): 3}


# --- the judge, from the definitions ----------------------------------------------------------------------------------


def shares(values: Sequence[Any], domain: Sequence[Any]) -> list[Fraction]:
    count = Counter(values)
    return [Fraction(count[value], len(values)) for value in domain]


def on_a_line(p: Sequence[Fraction], q: Sequence[Fraction], gaps: Sequence[Fraction]) -> Fraction:
    """Earth carried over each gap, times the gap, over the whole length."""
    if not gaps:
        return Fraction(0)
    running = (abs(sum(p[: i + 1], Fraction(0)) - sum(q[: i + 1], Fraction(0))) for i in range(len(gaps)))
    return sum((gap * moved for gap, moved in zip(gaps, running, strict=True)), Fraction(0)) / sum(gaps)


def beside_a_line(kind: str, extra: Mapping[Any, Fraction]) -> Fraction:
    """A missing value (None) hangs from the middle of the line, half its length away: look at every edge of that tree.

    The edges of the line lie between the numbers and the middle. A line of one number is of length 1.
    """
    numbers = sorted(value for value in extra if value is not None)
    place = {number: Fraction(rank) if kind == "ordered" else number for rank, number in enumerate(numbers)}
    low = place[numbers[0]]
    length = max(place.values()) - low or Fraction(1)
    ends = sorted({*place.values(), low + length / 2})
    missing, work = extra[None], abs(extra[None]) / 2
    for left, right in pairwise(ends):
        flow = sum((extra[number] for number in numbers if place[number] <= left), Fraction(0))
        flow += missing if low + length / 2 <= left else 0
        work += abs(flow) * (right - left) / length
    return work


def in_a_tree(extra: Mapping[str, Fraction], paths: Mapping[str, tuple[str, ...]]) -> Fraction:
    """Σ over inner nodes of height/H · min(pos, neg) of the extras of the node's direct children."""
    depth = max(map(len, paths.values()))
    cost = Fraction(0)
    for height in range(1, depth + 1):
        children: dict[str, dict[str, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
        for leaf, path in paths.items():
            full = (leaf, *path)
            children[full[height]][full[height - 1]] += extra.get(leaf, Fraction(0))
        for below in children.values():
            gain = sum((e for e in below.values() if e > 0), Fraction(0))
            lack = -sum((e for e in below.values() if e < 0), Fraction(0))
            cost += Fraction(height, depth) * min(gain, lack)
    return cost


def between_three(extra: Mapping[str, Fraction]) -> Fraction:
    """With three values, the one whose extra has a sign of its own trades with both others."""
    costs = {frozenset(pair): Fraction(cost, 3) for pair, cost in COSTS.items()}
    alone = max(extra, key=lambda value: abs(extra[value]))
    return sum((abs(e) * costs[frozenset((alone, other))] for other, e in extra.items() if other != alone), Fraction(0))


def emd(kind: str, mine: Sequence[Any], whole: Sequence[Any], reference: Sequence[Any]) -> Fraction:
    """The distance of a class from reference rows, on the domain of the whole release."""
    if kind == "hierarchical":
        domain: list[Any] = [*DISEASES, ""]
    else:
        domain = ["a", "b", "c"] if kind == "matrix" else sorted(set(whole), key=lambda value: (value is None, value))
    p, q = shares(mine, domain), shares(reference, domain)
    extra = {value: a - b for value, a, b in zip(domain, p, q, strict=True)}
    if None in extra and len(domain) > 1:
        return beside_a_line(kind, extra)
    if kind == "ordered":
        return on_a_line(p, q, [Fraction(1)] * (len(domain) - 1))
    if kind == "value":
        return on_a_line(p, q, [b - a for a, b in pairwise(domain)])
    if kind == "hierarchical":
        paths = DISEASES if "" not in whole else {**DISEASES, "": ("", "*")}
        return in_a_tree(extra, paths)
    return between_three(extra) if kind == "matrix" else sum(map(abs, extra.values()), Fraction(0)) / 2


def log(ratio: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec = 60
        return Decimal(ratio.numerator).ln() - Decimal(ratio.denominator).ln()


def decimal(level: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec = 60
        return Decimal(level.numerator) / level.denominator


def diversity_holds(spec: Mapping[str, Any], mine: Sequence[tuple[Any, Any]]) -> bool:
    """l, entropy and recursive diversity: each person counts once per value that they show."""
    counts = sorted(Counter(value for _, value in set(mine)).values(), reverse=True)
    total, members = sum(counts), len({person for person, _ in mine})
    holds = min(len(counts), members) >= spec.get("l", 1)
    if "entropy_l" in spec:
        level = Fraction(spec["entropy_l"])
        product = math.prod(count**count for count in counts)
        holds &= total**total * level.denominator**total >= level.numerator**total * product
    if "recursive" in spec:
        tail = counts[spec["recursive"]["l"] - 1 :]
        holds &= counts[0] < Fraction(spec["recursive"]["c"]) * sum(tail)
    return holds


def distribution_holds(spec: Mapping[str, Any], mine: Sequence[Any], whole: Sequence[Any]) -> bool:
    """α, β, enhanced β, δ and KL divergence, value by value."""
    domain = sorted(set(whole), key=str)
    pairs = list(zip(shares(mine, domain), shares(whole, domain), strict=True))
    gains = [((p - q) / q, q) for p, q in pairs if p > q]
    holds = "alpha" not in spec or max(p for p, _ in pairs) <= Fraction(spec["alpha"])
    holds &= all(gain <= Fraction(spec.get("beta", gain)) for gain, _ in gains)
    if "enhanced_beta" in spec:
        holds &= all(gain <= Fraction(spec["enhanced_beta"]) and decimal(gain) <= -log(q) for gain, q in gains)
    if "delta" in spec:
        holds &= all(p > 0 and abs(log(p / q)) < decimal(Fraction(spec["delta"])) for p, q in pairs)
    if "kl" in spec:
        divergence = sum((decimal(p) * log(p / q) for p, q in pairs if p and p != q), Decimal(0))
        holds &= divergence <= decimal(Fraction(spec["kl"])) + Decimal("1e-50")  # which only rounding can reach
    return holds


@dataclass(frozen=True)
class Judge:
    """Judges rows in classes by what was asked for."""

    asked: Mapping[str, Any]
    kinds: Mapping[str, str]

    def failures(self, rows: Sequence[Row], visible: Sequence[str]) -> Iterator[str]:
        """Yield what fails where classes are the rows of equal visible values."""
        classes: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
        for row in rows:
            classes[tuple(row[name] for name in visible)].append(row)
        for shown, mine in classes.items():
            if len({row["person"] for row in mine}) < self.asked["k"]:
                yield f"k in {shown}"
            for name, spec in self.asked["sensitive"].items():
                if not self._holds(name, spec, mine, rows, visible):
                    yield f"{name} in {shown}"
        for name, spec in self.asked["sensitive"].items():
            if "average_t" in spec and self._average(name, list(classes.values()), rows) > Fraction(spec["average_t"]):
                yield f"the average of {name}"

    def _average(self, name: str, classes: Sequence[Sequence[Row]], rows: Sequence[Row]) -> Fraction:
        """The mean distance of all rows' classes."""
        whole = [row[name] for row in rows]
        distances = (len(mine) * emd(self.kinds[name], [row[name] for row in mine], whole, whole) for mine in classes)
        return sum(distances, Fraction(0)) / max(len(rows), 1)

    def _holds(self, name: str, spec: Any, mine: Sequence[Row], rows: Sequence[Row], visible: Sequence[str]) -> bool:
        cells, whole = [row[name] for row in mine], [row[name] for row in rows]
        holds = diversity_holds(spec, [(row["person"], row[name]) for row in mine])
        holds &= distribution_holds(spec, cells, whole)
        return holds and ("t" not in spec or self._close(name, spec, mine, rows, visible))

    def _close(self, name: str, spec: Any, mine: Sequence[Row], rows: Sequence[Row], visible: Sequence[str]) -> bool:
        cells, whole = [row[name] for row in mine], [row[name] for row in rows]
        supersets = [list(rows)]
        if "n" in spec:
            supersets.append(list(mine))
            alike = (chosen for kept in range(1, len(visible)) for chosen in combinations(visible, kept))
            supersets += [[row for row in rows if all(row[c] == mine[0][c] for c in chosen)] for chosen in alike]
        large = [[row[name] for row in superset] for superset in supersets if len(superset) >= spec.get("n", 1)]
        t = self._smallest_t(spec, mine)
        return any(emd(self.kinds[name], cells, whole, reference) <= t for reference in large)

    def _smallest_t(self, spec: Any, mine: Sequence[Row]) -> Fraction:
        """The smallest t of the members of a class."""
        if "t_by" not in spec:
            return Fraction(spec["t"])
        members = {row[spec["t_by"]["column"]] for row in mine}
        members |= {"1"} if "1.0" in members else set()  # the same number
        named = (Fraction(level) for group, level in spec["t_by"]["t"].items() if group in members)
        return min(named, default=Fraction(spec["t"]))


# --- tables and what is asked of them ---------------------------------------------------------------------------------

levels = st.sampled_from(["0", "0.1", "0.2", "1/3", "0.4", "0.5", "0.6", "0.7", "1"])
EXTRAS: dict[str, st.SearchStrategy[Any]] = {
    "l": st.integers(1, 3),
    "entropy_l": st.sampled_from(["1", "1.25", "1.5", "2"]),
    "recursive": st.fixed_dictionaries({"c": st.sampled_from(["0.5", "3", "9"]), "l": st.integers(2, 3)}),
    "alpha": st.sampled_from(["0.4", "0.5", "0.6", "0.8", "1"]),
    "beta": st.sampled_from(["0.2", "1", "3"]),
    "enhanced_beta": st.sampled_from(["0.5", "1", "3"]),
    "delta": st.sampled_from(["0.3", "1", "2"]),
    "kl": st.sampled_from(["0", "0.1", "0.4", "1"]),
    "average_t": st.sampled_from(["0", "0.05", "0.1", "0.2", "1/3"]),
}
CELLS: dict[str, st.SearchStrategy[Any]] = {
    "ordered": st.integers(1, 5).map(str),
    "value": st.sampled_from(["0.5", "1.25", "7", "100"]),
    "equal": st.sampled_from(["p", "q", "r", "s"]),
    "hierarchical": st.sampled_from(list(DISEASES)),
    "matrix": st.sampled_from(["a", "b", "c"]),
}
HOW: dict[str, dict[str, Any]] = {
    "hierarchical": {"hierarchy": {"rows": [[leaf, *path] for leaf, path in DISEASES.items()]}},
    "matrix": {"matrix": {"values": ["a", "b", "c"], "costs": [[0, 1, 3], [1, 0, 2], [3, 2, 0]]}},
}


@dataclass(frozen=True)
class Case:
    """A table of text and what is asked of it."""

    rows: list[dict[str, str]]
    policy: dict[str, Any]
    kinds: dict[str, str]

    @property
    def frame(self) -> pl.DataFrame:
        return pl.DataFrame(self.rows)

    @property
    def judge(self) -> Judge:
        return Judge({"k": self.policy["k"], "sensitive": self.policy["sensitive"]}, self.kinds)

    @property
    def visible(self) -> list[str]:
        return [*self.policy["quasi"], *self.policy.get("keep", ())]


@st.composite
def specs(draw: st.DrawFn, kind: str, needs: Sequence[str] = ()) -> dict[str, Any]:
    spec: dict[str, Any] = {"distance": kind, **HOW.get(kind, {})}
    if draw(st.integers(0, 4)):
        spec["t"] = draw(levels)
        if not draw(st.integers(0, 3)):
            spec["n"] = draw(st.integers(1, 8))
    many = draw(st.sampled_from([0, 0, 0, 1, 2]))
    wanted = draw(st.lists(st.sampled_from(sorted(EXTRAS)), min_size=many, max_size=many, unique=True))
    spec |= {name: draw(EXTRAS[name]) for name in (wanted if "t" in spec else wanted or ["l"])}
    if needs:
        needed = draw(st.sampled_from(needs))
        spec[needed] = draw(EXTRAS[needed])
    if "average_t" in spec:
        spec.pop("n", None)  # which does not go with it
    if kind != "matrix":
        spec |= draw(st.sampled_from([{}, {}, {"missing": "value"}]))
    if "missing" not in spec:
        spec |= draw(st.sampled_from([{}, {}, {}, {}, {"missing": "suppress"}]))
    return spec


def cases_for(method: str) -> st.SearchStrategy[Case]:
    """Tables such as a method's paper has in mind; what it says it cannot serve it may still refuse."""
    about = METHODS[method]
    attributes, grouped = 3 if about.sensitive == "any" else 1, about.tables == "one"
    return cases(distances=about.distances, attributes=attributes, needs=about.needs, grouped=grouped)


@st.composite
def cases(
    draw: st.DrawFn,
    most: int = 32,
    distances: Sequence[str] = tuple(CELLS),
    attributes: int = 3,
    needs: Sequence[str] = (),
    grouped: bool = False,
) -> Case:
    chosen = draw(st.lists(st.sampled_from(sorted(distances)), min_size=1, max_size=attributes))
    kinds = {f"s{i}": kind for i, kind in enumerate(chosen)}
    sensitive = {name: draw(specs(kind, needs)) for name, kind in kinds.items()}
    columns: dict[str, st.SearchStrategy[Any]] = {
        "age": st.one_of(st.integers(18, 90).map(str), st.just("")),
        "sex": st.sampled_from(["f", "m", "m,f", ""]),
        "area": st.sampled_from([*AREAS, ""]),
        "born": st.sampled_from(["1999-12-31", "2000-01-01", "2001-02-03"]),
        "ward": st.sampled_from(["1", "1.0", ""]),
        "person": st.sampled_from(["ann", "bob", "cyd", "dan", "eve"]),
    }
    for name, kind in kinds.items():
        lacks = "missing" in sensitive[name]
        columns[name] = st.one_of(CELLS[kind], CELLS[kind], st.just("")) if lacks else CELLS[kind]
    size = draw(st.one_of(st.integers(1, most), st.sampled_from([1, 2, 13, 31, most])))
    rows = [{name: draw(cells) for name, cells in columns.items()} | {"row": str(i)} for i in range(size)]
    quasi = draw(st.lists(st.sampled_from(["age", "sex", "area", "born"]), min_size=1, max_size=4, unique=True))
    policy: dict[str, Any] = {
        "quasi": {name: _quasi(draw, name) for name in quasi},
        "sensitive": sensitive,
        "unlinkable": ["row"],
        "others": "drop",
        "k": draw(st.sampled_from([1, 1, 2, 2, 3, 4])),
        "suppress": draw(st.sampled_from(["0", "0.25", "0.5", "1"])),
    }
    if not draw(st.integers(0, 2)):
        policy["keep"] = ["ward"]
    if grouped:
        _add_groups(draw, policy, kinds, rows)
    if not draw(st.integers(0, 2)):
        policy["person"] = "person"
    else:
        rows = [{**row, "person": row["row"]} for row in rows]
    case = Case(rows, policy, kinds)
    assume(any(all(row[name] for name in _suppressing(case)) for row in rows))
    return case


def _add_groups(draw: st.DrawFn, policy: dict[str, Any], kinds: Mapping[str, str], rows: list[dict[str, str]]) -> None:
    """Give some attributes a smaller t for the rows that have one or two values in a kept or a sensitive column."""
    columns = [*policy.get("keep", ()), *(name for name, kind in kinds.items() if kind not in ("ordered", "value"))]
    for spec in policy["sensitive"].values():
        if "t" not in spec or "n" in spec or not columns or draw(st.integers(0, 2)):
            continue
        column = draw(st.sampled_from(columns))
        judged = (row for row in rows if all(row[name] for name in _suppressing(Case(rows, policy, {}))))
        present = sorted({row[column] for row in judged if row[column] not in ("", "1.0")})
        smaller = [level for level in ("0", "0.1", "0.2", "1/3", "0.5") if Fraction(level) <= Fraction(spec["t"])]
        if present:
            groups = draw(st.lists(st.sampled_from(present), min_size=1, max_size=2, unique=True))
            spec["t_by"] = {"column": column, "t": {group: draw(st.sampled_from(smaller)) for group in groups}}


def _quasi(draw: st.DrawFn, name: str) -> dict[str, Any]:
    if name == "area":
        built = {"hierarchy": {"rows": [[leaf, *path] for leaf, path in AREAS.items()]}}
        return draw(st.sampled_from([{}, built, {"hierarchy": {"prefix": [1]}}]))
    if name == "age":
        return draw(st.sampled_from([{}, {}, {"step": 5}, {"top": 80, "bottom": 20}, {"publish": "mean"}]))
    return draw(st.sampled_from([{}, {"hierarchy": {"date": ["month", "year"]}}])) if name == "born" else {}


# --- the laws ---------------------------------------------------------------------------------------------------------


def typed(case: Case, row: Row) -> Row:
    """The row as the judge compares it: numbers by value, everything else as text."""
    lines = (name for name, kind in case.kinds.items() if kind in ("ordered", "value"))
    return {**row, **{name: Fraction(row[name]) if row[name] else None for name in lines}}


def published_rows(case: Case, table: pl.DataFrame) -> list[Row]:
    """The published rows, each with the person whom the reader does not see."""
    rows = table.with_columns(pl.all().fill_null("")).to_dicts()
    return [typed(case, {**row, "person": case.rows[int(row["row"])]["person"]}) for row in rows]


def assert_lawful(case: Case, table: pl.DataFrame, withheld: int) -> None:
    rows = published_rows(case, table)
    numbers = [int(row["row"]) for row in rows]
    assert len(set(numbers)) == len(numbers) == len(case.rows) - withheld
    assert withheld <= math.floor(Fraction(case.policy["suppress"]) * len(case.rows))
    for row, shown in zip((case.rows[number] for number in numbers), table.to_dicts(), strict=True):
        for name in (*case.kinds, *case.policy.get("keep", ())):
            assert same_value(shown[name], row[name])
        for name, spec in case.policy["quasi"].items():
            assert covers(shown[name], row[name], spec), (shown[name], row[name])
    assert not list(case.judge.failures(rows, case.visible))
    columns = ["age", "sex", "area", "born", "ward", *case.kinds, "row"]
    assert table.columns == [name for name in columns if name in (*case.visible, *case.kinds, "row")]
    assert table.rows() == sorted(table.rows())


def same_value(shown: str, cell: str) -> bool:
    """Tell whether a cell is published with its value; 1 and 1.0 are one number, spelled in one way (decision 139)."""
    return shown == cell or {shown, cell} == {"1", "1.0"}


def covers(shown: str, cell: str, spec: Mapping[str, Any]) -> bool:
    """Tell whether a published text is true of a cell."""
    if cell == "":
        return shown == "missing" or shown.endswith(" or missing")
    shown = shown.removesuffix(" or missing")
    if spec.get("publish") == "mean":
        return shown != "missing"
    if "hierarchy" in spec:
        prefixes = {cell[:length].ljust(width, "*") for width in (2, 10) for length in (1, 4, 7, 10)}
        return shown in {cell, cell[:7], cell[:4], "*", *prefixes, *AREAS.get(cell, ())}
    if shown.startswith("{"):
        return cell in set_of(shown)
    if not shown.startswith("["):
        return shown == cell or (shown[0] == "≥" and int(cell) >= 80) or (shown[0] == "≤" and int(cell) <= 20)
    low, high = shown[1:-1].split(", ")
    if "-" in cell:
        return low <= cell <= high
    return (low[0] == "≤" or int(low) <= int(cell)) and (high[0] == "≥" or int(cell) <= int(high))


def set_of(shown: str) -> list[str]:
    """Read {a, "b,c"} back."""
    rest, found = shown[1:-1], []
    while rest:
        if rest.startswith('"'):
            text, end = json.JSONDecoder().raw_decode(rest)
        else:
            text = rest.partition(", ")[0]
            end = len(text)
        found.append(text)
        rest = rest[end:].removeprefix(", ")
    assert found == sorted(found)
    return found


@every_method
@thorough
@given(data=st.data(), seed=st.integers(0, 3))
def test_a_release_is_lawful_or_refused(method: str, data: st.DataObject, seed: int) -> None:
    case = data.draw(cases_for(method))
    policy = Policy.from_dict(case.policy)
    try:
        release = anonymize(case.frame, policy, method=method, seed=seed)
    except Unsuited:
        reject()
    except Infeasible:
        assert_infeasible(case)
        return
    withheld = release.certificate.content["withheld"]
    assert_lawful(case, release.table, withheld)
    kept = {row["row"] for row in case.rows if all(row[n] != "" for n in _suppressing(case))}
    assert set(release.table["row"]) <= kept
    if seed == 0:  # as most often: the other seeds are there for other classes
        again = anonymize(case.frame, policy, method=method, seed=seed)
        assert again.table.equals(release.table)


def _suppressing(case: Case) -> list[str]:
    return [name for name, spec in case.policy["sensitive"].items() if spec.get("missing") == "suppress"]


def assert_infeasible(case: Case) -> None:
    """The coarsest release there is, one class per kept value, fails; or too many rows lack a value."""
    rows = [typed(case, row) for row in case.rows if all(row[name] != "" for name in _suppressing(case))]
    lost = len(case.rows) - len(rows)
    if lost <= Fraction(case.policy["suppress"]) * len(case.rows):
        assert list(case.judge.failures(rows, case.policy.get("keep", ())))


@every_method
@brief
@given(data=st.data())
def test_the_order_of_rows_does_not_matter_to_the_guarantee(method: str, data: st.DataObject) -> None:
    case = data.draw(cases_for(method))
    policy, order = Policy.from_dict(case.policy), data.draw(st.permutations(range(len(case.rows))))
    outcomes = []
    for frame in (case.frame, case.frame[list(order)]):
        try:
            release = anonymize(frame, policy, method=method, seed=1)
            outcomes.append(release.certificate.content["withheld"])
            assert_lawful(case, release.table, outcomes[-1])
        except Unsuited:
            reject()
        except Infeasible:
            outcomes.append(None)
    assert outcomes[0] == outcomes[1]


def test_which_group_is_withheld_does_not_depend_on_the_order_of_rows() -> None:
    """Of two groups that are equally far from the table, the first row once decided which is withheld."""
    cells = [("", "p"), ("", "p"), ("1", "p"), ("1", "p"), ("1.0", "p"), ("", "p"), ("1", "q"), ("", "p"), ("1", "q")]
    cells += [("1.0", "q"), ("1.0", "r"), ("1.0", "p"), ("", "p")]
    policy = Policy.from_dict(
        {
            "quasi": {"age": {}},
            "sensitive": {"s": {"distance": "equal", "t": 0, "alpha": 0.5, "beta": 0.2}},
            "keep": ["ward"],
            "suppress": 1,
        }
    )
    frame = pl.DataFrame({"age": ["18"] * len(cells), "ward": [w for w, _ in cells], "s": [s for _, s in cells]})
    moved = frame[[0, 1, 4, 3, 2, *range(5, len(cells))]]
    outcomes = []
    for each in (frame, moved):
        try:
            outcomes.append(anonymize(each, policy, method="mondrian").certificate.content["withheld"])
        except Infeasible:
            outcomes.append(None)
    assert outcomes[0] == outcomes[1]


@every_method
@brief
@given(data=st.data(), ending=st.sampled_from(["csv", "parquet", "arrow"]))
def test_what_is_released_verifies(method: str, data: st.DataObject, ending: str) -> None:
    case = data.draw(cases_for(method))
    with tempfile.TemporaryDirectory() as folder:
        release, certificate = Path(folder) / f"r.{ending}", Path(folder) / "c.json"
        try:
            made = anonymize(case.frame, Policy.from_dict(case.policy), method=method, seed=1)
        except Unsuited:
            reject()
        except Infeasible:
            return
        proof = made.write(release, certificate=certificate)
        found = verify(release, certificate, digest=proof.digest)
        assert found.problems == ()
        assert read(release).equals(made.table)


def released_or_skipped(frame: pl.DataFrame, policy: Policy, method: str) -> Release:
    """Return the release, unless the method says that it cannot serve such a policy."""
    try:
        return anonymize(frame, policy, method=method, seed=0)
    except Unsuited as unsuited:
        pytest.skip(str(unsuited))


@pytest.mark.each_value
@every_method
@pytest.mark.parametrize("t", [0, 1])
@pytest.mark.parametrize("cells", ["1", "11", "12", "1" * 7, "1234567", "1213141", "12" * 6])
def test_the_ends_of_the_scale_work(method: str, t: int, cells: str) -> None:
    frame = pl.DataFrame({"q": list(range(len(cells))), "s": list(cells)})
    needed = dict.fromkeys(METHODS[method].needs[:1], 100)  # so much that it asks for nothing
    with pytest.warns(LeakWarning):
        release = released_or_skipped(frame, Policy(quasi=["q"], sensitive={"s": {"t": t, **needed}}), method)
    found = release.certificate.content
    assert sorted(release.table["s"]) == sorted(cells)
    assert found["sensitive"]["s"]["closeness"] <= t
    if t == 1 or len(set(cells)) == 1:
        assert found["classes"] == len(cells)
        assert release.table["q"].to_list() == sorted(map(str, range(len(cells))))


# --- methods that publish several tables ------------------------------------------------------------------------------
# A sensitive column of row numbers under t = 1, which allows anything, traces the rows of tables that lack "row".


def traced(case: Case, traces: Sequence[str]) -> Case:
    rows = [{**row, **dict.fromkeys(traces, row["row"])} for row in case.rows]
    sensitive = {**case.policy["sensitive"], **{trace: {"t": 1, "distance": "equal"} for trace in traces}}
    return Case(rows, {**case.policy, "sensitive": sensitive}, case.kinds)


def part_of(case: Case, names: Sequence[str]) -> Case:
    sensitive = {name: case.policy["sensitive"][name] for name in names}
    return Case(case.rows, {**case.policy, "sensitive": sensitive}, {name: case.kinds[name] for name in names})


@thorough
@given(data=st.data(), seed=st.integers(0, 3))
def test_every_projection_is_lawful_or_refused(data: st.DataObject, seed: int) -> None:
    case = data.draw(cases_for("projections"))
    owner = {name: data.draw(st.integers(0, 2)) for name in case.kinds}
    shares_ = [[name for name in owner if owner[name] == table] for table in sorted(set(owner.values()))]
    traces = [f"trace{table}" for table in range(len(shares_))]
    whole = traced(case, traces)
    groups = [[*names, trace] for names, trace in zip(shares_, traces, strict=True)]
    try:
        release = anonymize(whole.frame, Policy.from_dict(whole.policy), method="projections", seed=seed, groups=groups)
    except Infeasible:
        assert_infeasible(case)
        return
    withheld, seen = release.certificate.content["withheld"], set()
    for number, (table, names) in enumerate(zip(release.tables, shares_, strict=True)):
        assert ("row" in table.columns) == (number == 0)
        own = table.drop("row", strict=False).rename({traces[number]: "row"})
        assert_lawful(part_of(case, names), own, withheld)
        seen.add(frozenset(own["row"]))
    assert len(seen) == 1  # every projection has all rows
    again = anonymize(whole.frame, Policy.from_dict(whole.policy), method="projections", seed=seed, groups=groups)
    assert all(map(pl.DataFrame.equals, again.tables, release.tables))


@thorough
@given(data=st.data(), seed=st.integers(0, 3))
def test_an_anatomy_is_lawful_or_refused(data: st.DataObject, seed: int) -> None:
    case = data.draw(cases_for("anatomy"))
    whole = traced(case, ["trace"])
    try:
        release = anonymize(whole.frame, Policy.from_dict(whole.policy), method="anatomy", seed=seed)
    except Infeasible:
        assert_infeasible(case)
        return
    withheld = release.certificate.content["withheld"]
    assert_lawful_anatomy(case, *release.tables, withheld)
    again = anonymize(whole.frame, Policy.from_dict(whole.policy), method="anatomy", seed=seed)
    assert all(map(pl.DataFrame.equals, again.tables, release.tables))


@brief
@given(data=st.data(), seed=st.integers(0, 3))
def test_a_permutation_is_lawful_or_refused(data: st.DataObject, seed: int) -> None:
    """It is an anatomy in one table: the rows that quasi-identifiers and sensitive values came from share a group."""
    case = data.draw(cases_for("permutation"))
    whole = traced(case, ["trace"])
    asked: dict[str, Any] = {"method": "permutation", "seed": seed, "base": "mondrian"}
    try:
        release = anonymize(whole.frame, Policy.from_dict(whole.policy), **asked)
    except Infeasible:
        assert_infeasible(case)
        return
    table = release.table
    assert table.rows() == sorted(table.rows())
    first, second = table.drop(*case.kinds, "trace"), table["group", *case.kinds, "trace"]
    assert_lawful_anatomy(case, first.sort(pl.all()), second.sort(pl.all()), release.certificate.content["withheld"])
    assert anonymize(whole.frame, Policy.from_dict(whole.policy), **asked).table.equals(table)


def assert_lawful_anatomy(case: Case, first: pl.DataFrame, second: pl.DataFrame, withheld: int) -> None:
    assert first.height == second.height == len(case.rows) - withheld
    assert first.columns == [n for n in ("age", "sex", "area", "born", "ward", "row", "group") if n in first.columns]
    assert set(first.columns) == {*case.visible, "row", "group"}
    assert second.columns == ["group", *case.kinds, "trace"]
    group = dict(zip(first["row"], first["group"], strict=True))
    assert group == dict(zip(second["trace"], second["group"], strict=True))
    for shown in first.to_dicts():
        row = case.rows[int(shown["row"])]
        for name, spec in case.policy["quasi"].items():
            assert covers(shown[name], row[name], spec)
            assert spec or shown[name] == (row[name] or "missing")
        assert all(same_value(shown[name], row[name]) for name in case.policy.get("keep", ()))
    rows = published_rows(case, second.rename({"trace": "row"}))
    assert all(row[name] == typed(case, case.rows[int(row["row"])])[name] for row in rows for name in case.kinds)
    assert not list(case.judge.failures(rows, ["group"]))
    kept = {(shown["group"], *(shown[name] for name in case.policy.get("keep", ()))) for shown in first.to_dicts()}
    assert len(kept) == len(set(first["group"]))
    assert set(first["group"]) == set(range(1, len(kept) + 1))
    assert first.rows() == sorted(first.rows())
    assert second.rows() == sorted(second.rows())


@brief
@given(data=st.data(), seed=st.integers(0, 3))
def test_an_anatomy_of_the_one_attribute_that_its_paper_has(data: st.DataObject, seed: int) -> None:
    case = data.draw(cases(attributes=1).filter(lambda case: "person" not in case.policy))
    try:
        release = anonymize(case.frame, Policy.from_dict(case.policy), method="anatomy", seed=seed)
    except Infeasible:
        assert_infeasible(case)
        return
    first, second = release.tables
    assert sorted(first["group"]) == sorted(second["group"])
    rows = [typed(case, {**row, "person": i}) for i, row in enumerate(second.to_dicts())]
    assert not list(case.judge.failures(rows, ["group"]))


several = pytest.mark.parametrize("method", [name for name, about in METHODS.items() if about.tables == "several"])


@several
@brief
@given(data=st.data(), ending=st.sampled_from(["csv", "parquet", "arrow"]))
def test_what_is_released_in_several_tables_verifies(method: str, data: st.DataObject, ending: str) -> None:
    case = data.draw(cases_for(method))
    with tempfile.TemporaryDirectory() as folder:
        release, certificate = Path(folder) / f"r.{ending}", Path(folder) / "c.json"
        try:
            made = anonymize(case.frame, Policy.from_dict(case.policy), method=method, seed=1)
        except Infeasible:
            return
        proof = made.write(release, certificate=certificate)
        assert verify(release, certificate, digest=proof.digest).problems == ()
        for about, table in zip(proof.content["files"], made.tables, strict=True):
            text = pl.all().cast(pl.String)
            assert read(Path(folder) / about["name"]).select(text).equals(table.select(text))


@pytest.mark.each_value
@several
@pytest.mark.parametrize("t", [0, 1])
@pytest.mark.parametrize("cells", ["1", "11", "12", "1" * 7, "1234567", "1213141", "12" * 6])
def test_the_ends_of_the_scale_work_in_several_tables(method: str, t: int, cells: str) -> None:
    frame = pl.DataFrame({"q": list(range(len(cells))), "s": list(cells)})
    with pytest.warns(LeakWarning):
        release = anonymize(frame, Policy(quasi=["q"], sensitive={"s": {"t": t}}), method=method, seed=0)
    found = release.certificate.content
    assert sorted(release.tables[-1]["s"]) == sorted(cells)
    assert found["sensitive"]["s"]["closeness"] <= t
    if t == 1 or len(set(cells)) == 1:
        assert found["classes"] == len(cells)
