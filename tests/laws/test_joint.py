"""What holds where sensitive attributes must be close together, against a judge written from the definitions.

The judge below knows nothing of tclose: it transports fractions over the tuples that rows show, by shortest ways.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose import Infeasible, Policy, anonymize, check, explain, verify
from tclose.distance import Counts, Equal, Hierarchical, Ordered, Product, transport
from tclose.distance.transport import Bracket
from tclose.errors import Unsuited
from tclose.partition import METHODS

Row = Mapping[str, Any]
Between = Callable[[Any, Any], Fraction]
few = settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.too_slow])
brief = settings(max_examples=examples(3), deadline=None, suppress_health_check=list(HealthCheck))
pytestmark = [pytest.mark.filterwarnings("ignore::tclose.LeakWarning")]
SERVING = [name for name, about in METHODS.items() if about.tables == "one" and about.joint is None]
SERVING += [f"{name}:{choice}" for name, about in METHODS.items() for choice in about.joint or ()]


# --- the judge, from the definitions ----------------------------------------------------------------------------------


def cheapest(between: Between, p: Mapping[Any, Fraction], q: Mapping[Any, Fraction]) -> Fraction:
    """Return the least work that turns p into q: again and again along the shortest way that is left."""
    left = {x: p[x] - q.get(x, Fraction(0)) for x in p if p[x] > q.get(x, Fraction(0))}
    lacking = {y: q[y] - p.get(y, Fraction(0)) for y in q if q[y] > p.get(y, Fraction(0))}
    flow: dict[tuple[Any, Any], Fraction] = {}
    while any(left.values()):
        way = _shortest_way(between, left, lacking, flow)
        ends = [left[way[0]], lacking[way[-1]], *(flow[x, y] for y, x in zip(way[1::2], way[2::2], strict=False))]
        amount = min(ends)
        for x, y in zip(way[0::2], way[1::2], strict=True):
            flow[x, y] = flow.get((x, y), Fraction(0)) + amount
        for y, x in zip(way[1::2], way[2::2], strict=False):
            flow[x, y] -= amount
        left[way[0]] -= amount
        lacking[way[-1]] -= amount
    return sum((amount * between(x, y) for (x, y), amount in flow.items()), Fraction(0))


def _shortest_way(between: Between, left: Any, lacking: Any, flow: Any) -> list[Any]:
    """Search from the sources with earth to a target without, as Bellman and Ford do: source, target, source, …"""
    to_source = {x: (Fraction(0), [x]) for x in left if left[x]}
    to_target: dict[Any, tuple[Fraction, list[Any]]] = {}
    changed = True
    while changed:
        changed = False
        for x, (far, way) in list(to_source.items()):
            for y in lacking:
                if y not in to_target or far + between(x, y) < to_target[y][0]:
                    to_target[y], changed = (far + between(x, y), [*way, y]), True
        for (x, y), amount in flow.items():
            far, way = to_target[y]
            if amount and (x not in to_source or far - between(x, y) < to_source[x][0]):
                to_source[x], changed = (far - between(x, y), [*way, x]), True
    return min((to_target[y] for y in lacking if lacking[y]), key=lambda reached: reached[0])[1]


def shares(values: Sequence[Any]) -> dict[Any, Fraction]:
    return {value: Fraction(count, len(values)) for value, count in Counter(values).items()}


def by_rank(values: Sequence[Any]) -> Between:
    order = sorted(set(values))
    return lambda a, b: Fraction(abs(order.index(a) - order.index(b)), max(len(order) - 1, 1))


def by_magnitude(values: Sequence[Any]) -> Between:
    """Numbers lie on a line; None, the missing value, is ½ beside its middle."""
    numbers = [value for value in values if value is not None]
    low, length = min(numbers), max(max(numbers) - min(numbers), 1)

    def place(value: Any) -> Fraction:
        return Fraction(1, 2) if value is None else Fraction(value - low, length)

    return lambda a, b: abs(place(a) - place(b)) + (Fraction(1, 2) if (a is None) != (b is None) else 0)


ILLNESSES = {"flu": "lung", "cold": "lung", "ulcer": "gut", "cut": "skin"}


def in_the_tree(a: str, b: str) -> Fraction:
    return Fraction(0) if a == b else Fraction(1, 2) if ILLNESSES[a] == ILLNESSES[b] else Fraction(1)


GROUND: dict[str, Callable[[Sequence[Any]], Between]] = {
    "rank": by_rank,
    "size": by_magnitude,
    "group": lambda values: lambda a, b: Fraction(int(a != b)),
    "ill": lambda values: in_the_tree,
}
CELLS: dict[str, st.SearchStrategy[Any]] = {
    "rank": st.integers(1, 4),
    "size": st.sampled_from([1, 2, 5, 9, None]),
    "group": st.sampled_from("abc"),
    "ill": st.sampled_from(sorted(ILLNESSES)),
}
TREE = {"rows": [[leaf, above, "*"] for leaf, above in ILLNESSES.items()]}
HOW: dict[str, dict[str, Any]] = {
    "rank": {"distance": "ordered"},
    "size": {"distance": "value", "missing": "value"},
    "group": {"distance": "equal"},
    "ill": {"hierarchy": TREE},
}


def joint_emd(names: Sequence[str], distance: str, mine: Sequence[Row], rows: Sequence[Row]) -> Fraction:
    """Return how far the tuples of a class are from those of the table."""
    tuples = [[tuple(row[name] for name in names) for row in part] for part in (mine, rows)]
    ground = [GROUND[name]([row[name] for row in rows]) for name in names]

    def on_average(a: Any, b: Any) -> Fraction:
        return sum((between(x, y) for between, x, y in zip(ground, a, b, strict=True)), Fraction(0)) / len(names)

    between = by_rank(tuples[1]) if distance == "lexicographic" else on_average
    return cheapest(between, shares(tuples[0]), shares(tuples[1]))


def worst(names: Sequence[str], distance: str, rows: Sequence[Row], visible: Sequence[str]) -> Fraction:
    classes: dict[Any, list[Row]] = {}
    for row in rows:
        classes.setdefault(tuple(row[name] for name in visible), []).append(row)
    return max(joint_emd(names, distance, mine, rows) for mine in classes.values())


# --- the distance -----------------------------------------------------------------------------------------------------


@st.composite
def tuples_of_codes(draw: st.DrawFn, most: int = 30) -> tuple[list[Any], np.ndarray, np.ndarray]:
    """Three attributes of four values each with their distances, rows of codes, and the class of each row."""
    levels = tuple(map(np.array, ([0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0])))
    distances = [Ordered(4), Equal(), Hierarchical(levels)]
    rows = draw(st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=2, max_size=most))
    labels = draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    labels[:2] = [False, True]
    return distances, np.array(rows), np.array(labels, dtype=np.int64)


def judged(distances: list[Any], rows: np.ndarray, labels: np.ndarray) -> Any:
    tuples, codes = np.unique(rows, axis=0, return_inverse=True)
    made = Product.of((each.geometry(4), column) for each, column in zip(distances, tuples.T, strict=True))
    return made.emd(Counts.from_codes(labels, codes, len(tuples)), np.bincount(codes))


@few
@given(drawn=tuples_of_codes())
def test_it_is_never_below_the_mean_of_the_attributes_own_distances(drawn: Any) -> None:
    """Moves of tuples move the values of every attribute, at the same mean cost (docs/method.md)."""
    distances, rows, labels = drawn
    alone = [
        each.emd(Counts.from_codes(labels, column, 4), np.bincount(column, minlength=4))
        for each, column in zip(distances, rows.T, strict=True)
    ]
    together = judged(*drawn)
    for j in (0, 1):
        assert together[j] >= sum((ratios[j] for ratios in alone), Fraction(0)) / 3


@few
@given(drawn=tuples_of_codes(), data=st.data())
def test_verdicts_by_brackets_are_the_exact_ones(drawn: Any, data: st.DataObject) -> None:
    """With brackets for every class, however small, levels at the line and just below are told apart."""
    exact = judged(*drawn)
    figures = [exact[0], exact[1]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transport, "FEW_ARCS", 0)
        for level in (*figures, Fraction(1, 3)):
            below = max(level - Fraction(1, 10**30), Fraction(0))
            assert judged(*drawn).at_most(level).tolist() == [figure <= level for figure in figures]
            assert judged(*drawn).at_most(below).tolist() == [figure <= below for figure in figures]
        assert judged(*drawn).largest() == (max(figures), figures.index(max(figures)))
        bracketed = judged(*drawn)
        for j, figure in enumerate(figures):
            sizes = int(bracketed.sizes[j]) * bracketed.unit
            assert Fraction(bracketed.numerators[j], sizes) <= figure <= Fraction(bracketed.highs[j], sizes)


@few
@given(data=st.data(), largest=st.sampled_from([1, 7, 2**20, 2**53]))
def test_a_bracket_holds_whatever_the_costs(data: st.DataObject, largest: int) -> None:
    sources, targets = data.draw(st.integers(2, 5)), data.draw(st.integers(2, 5))
    costs = [[data.draw(st.integers(0, largest)) for _ in range(targets)] for _ in range(sources)]
    supply = [data.draw(st.integers(1, 10**6)) for _ in range(sources)]
    cuts = sorted(data.draw(st.lists(st.integers(0, sum(supply)), min_size=targets - 1, max_size=targets - 1)))
    demand = [b - a for a, b in zip([0, *cuts], [*cuts, sum(supply)], strict=True)]
    kept = [j for j, amount in enumerate(demand) if amount]
    bracket = Bracket(np.array(costs)[:, kept], supply, [demand[j] for j in kept])
    p = {("source", i): Fraction(amount) for i, amount in enumerate(supply)}
    q = {("target", j): Fraction(demand[j]) for j in kept}
    assert bracket.low <= cheapest(lambda a, b: Fraction(costs[a[1]][b[1]]), p, q) <= bracket.high


# --- tables -----------------------------------------------------------------------------------------------------------


@st.composite
def tables(draw: st.DrawFn, *, distance: str, rows: int = 12) -> tuple[list[str], list[Row]]:
    """Rows with two or three sensitive attributes of different kinds; lexicographic pairs need an order."""
    kinds = ["rank", "size"] if distance == "lexicographic" else sorted(CELLS)
    names = draw(st.permutations(kinds))[: draw(st.integers(2, min(3, len(kinds))))]
    cells = CELLS | ({"size": st.sampled_from([1, 2, 5, 9])} if distance == "lexicographic" else {})
    row = st.fixed_dictionaries({"age": st.integers(20, 24), **{name: cells[name] for name in names}})
    drawn = draw(st.lists(row, min_size=4, max_size=rows))
    for name in names:
        if drawn[0][name] is None:
            drawn[0][name] = 1  # a column without any number has no line
    return list(names), drawn


def policy_of(names: Sequence[str], distance: str, t: Any, **more: Any) -> dict[str, Any]:
    sensitive = {name: {"t": 1, **HOW[name]} for name in names}
    return {
        "quasi": ["age"],
        "sensitive": sensitive,
        "joint": [{"attributes": names, "t": t, "distance": distance}],
    } | more


def frame_of(rows: Sequence[Row]) -> pl.DataFrame:
    return pl.DataFrame({name: [row[name] for row in rows] for name in rows[0]})


@pytest.mark.parametrize("distance", ["product", "lexicographic"])
@few
@given(data=st.data())
def test_a_table_is_judged_as_the_definition_says(distance: str, data: st.DataObject) -> None:
    names, rows = data.draw(tables(distance=distance))
    expected = worst(names, distance, rows, ["age"])
    finding = check(frame_of(rows), policy_of(names, distance, str(expected))).joint[" + ".join(names)]
    assert (finding.closeness, finding.satisfied) == (expected, True)
    if expected:
        below = check(frame_of(rows), policy_of(names, distance, str(expected * Fraction(10**9 - 1, 10**9))))
        assert not below.satisfied
        assert below.joint[" + ".join(names)].worst_class == finding.worst_class
    moves = explain(
        frame_of(rows), policy_of(names, distance, 1), attribute=" + ".join(names), class_number=finding.worst_class
    )
    assert moves.closeness == expected


def typed(names: Sequence[str], row: Row) -> Row:
    """Return a published row with the cells that the definitions compare."""
    return {name: (row[name] if name not in names or name in ("group", "ill") else _number(row[name])) for name in row}


def _number(cell: Any) -> int | None:
    return None if cell in (None, "") else int(cell)


@pytest.mark.parametrize("method", SERVING)
@brief
@given(
    distance=st.sampled_from(["product", "lexicographic"]),
    data=st.data(),
    t=st.sampled_from(["1/10", "1/4", "1/2"]),
    k=st.integers(1, 3),
)
def test_a_release_is_close_in_tuples(
    method: str, distance: str, data: st.DataObject, t: str, k: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    names, rows = data.draw(tables(distance=distance, rows=10))
    folder = tmp_path_factory.mktemp("joint")
    try:
        release = anonymize(frame_of(rows), policy_of(names, distance, t, k=k), method=method, seed=1)
    except Unsuited:
        if method != "exact":  # whose recursion reaches few tuples
            raise
        return
    assert set(release.frame.columns) == {"age", *names}  # tuples are never a column of their own
    published = [typed(names, row) for row in release.frame.iter_rows(named=True)]
    reached = worst(names, distance, published, ["age"])
    assert reached <= Fraction(t)
    claim = release.certificate.claims.joint[" + ".join(names)]
    assert claim.closeness_exact == f"{reached.numerator}/{reached.denominator}"
    release.write(folder / "r.csv", certificate=folder / "c.json")
    assert verify(folder / "r.csv", folder / "c.json").problems == ()


@pytest.mark.parametrize("distance", ["product", "lexicographic"])
@settings(max_examples=examples(5), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_kept_columns_withheld_rows_and_persons_go_with_it(
    distance: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Tuples are those of the rows that are published: what is withheld changes no distance that a reader finds."""
    names, rows = data.draw(tables(distance=distance))
    rows = [{**row, "place": data.draw(st.sampled_from("xy")), "who": data.draw(st.integers(1, 6))} for row in rows]
    asked = policy_of(names, distance, "1/3", keep=["place"], person="who", suppress=1)
    if "size" in names:
        asked["sensitive"]["size"]["missing"] = "suppress"
    folder = tmp_path_factory.mktemp("joint")
    try:
        release = anonymize(frame_of(rows), Policy.of(asked), seed=1, effort="fast")
    except Infeasible:
        return
    published = [typed(names, row) for row in release.frame.iter_rows(named=True)]
    assert worst(names, distance, published, ["age", "place"]) <= Fraction(1, 3)
    release.write(folder / "r.csv", certificate=folder / "c.json")
    assert verify(Path(folder / "r.csv"), folder / "c.json").problems == ()
