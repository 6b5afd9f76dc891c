"""Liang & Yuan 2013: the star costs of their tables, their reductions in both directions, and their algorithms.

Lemma 1 and theorems 3 to 7 write hard problems as tables and read their solutions back. Each function makes the table
of one reduction. `exact` solves it, and the function beside it reads the solution of the hard problem from the
classes. A vertex, and an element of a matching, is a number from 0 on. The hard problems themselves are solved by
trying everything, which small instances allow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product

import numpy as np

from tclose.distance import Counts, Distance, Equal, Matrix
from tclose.errors import PolicyError
from tclose.papers.reproduction import NOT_GIVEN, DataFolder, Experiment, ExperimentPart, PaperFigure, no_release
from tclose.partition import Attribute, Problem
from tclose.partition.exact import Solution, solve
from tclose.partition.kanonymity import approximate, check_solver, two_anonymous
from tclose.partition.shared.axes import SetAxis
from tclose.partition.shared.loss_table import star_cost
from tclose.partition.shared.pulse import Pulse
from tclose.types import Ints, Progress, stretch

# Hard problems as tables, and their solutions read back (lemma 1, theorems 3 to 7)


Edge = tuple[int, int]
Triple = tuple[int, int, int]  # an element of X, one of Y and one of Z, each from 0 to n − 1
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
STAR = Matrix(np.array([[0, 2, 2, 1], [2, 0, 2, 1], [2, 2, 0, 1], [1, 1, 1, 0]]))  # of theorem 7: 1, and 1/2 to value 4


@dataclass(frozen=True, eq=False)
class Closeness:
    """A table to be made t-close: rows × columns, a sensitive value per row, and how far a class may be."""

    columns: Ints
    values: Ints
    distance: Distance
    t: Fraction

    @property
    def problem(self) -> Problem:
        """The same as a problem for a method, which counts stars."""
        values = Attribute(self.values, np.bincount(self.values).astype(np.int64), self.distance, self.t)
        return _problem(self.columns, (values,), 1)


def anonymity_problem(columns: Ints, k: int) -> Problem:
    """Return k-anonymity as a problem for a method, which counts stars."""
    return _problem(columns, (), k)


def _problem(columns: Ints, sensitive: tuple[Attribute, ...], k: int) -> Problem:
    coded = [np.unique(column, return_inverse=True)[1].astype(np.int64) for column in columns.T]
    axes = tuple(SetAxis(codes, int(codes.max()) + 1) for codes in coded)
    return Problem(columns.astype(np.float64), sensitive, k, axes)


def closeness_of_anonymity(columns: Ints, k: int) -> Closeness:
    """Lemma 1: with all values different, a class of r of n rows is 1 − r/n away, so t = 1 − k/n asks for k rows."""
    rows = len(columns)
    return Closeness(columns, np.arange(rows), Equal(), 1 - Fraction(k, rows))


def anonymity_of_bisection(vertices: int, edges: Sequence[Edge]) -> Ints:
    """Theorem 3: a row per vertex, a column per edge, in which only the two ends differ from 0.

    The fewest stars of n/2-anonymity are n·(edges + the least cut)/2.
    """
    columns = np.zeros((vertices, len(edges)), dtype=np.int64)
    for number, edge in enumerate(edges):
        columns[list(edge), number] = np.array(edge) + 1
    return columns


def cut_of(labels: Ints, edges: Sequence[Edge]) -> int:
    """Return how many edges join two classes."""
    return int(sum(labels[a] != labels[b] for a, b in edges))


def anonymity_of_half(columns: Ints, c: Fraction) -> Ints:
    """Theorem 4, for c ≤ 1/3: n/2-anonymity as cn-anonymity of n/2c rows, with as many stars in the optimum.

    New rows are equal; in nm new columns, old rows differ from new ones, so no class takes both.
    """
    if not 0 < c <= THIRD:
        raise PolicyError("theorem 4 is about c above 0 and up to 1/3")
    (rows, wide), whole = columns.shape, _whole(len(columns) / (2 * c))
    first, second = int(columns.max(initial=0)) + 1, int(columns.max(initial=0)) + 2
    table = np.full((whole, wide + rows * wide), second, dtype=np.int64)
    table[:rows, :wide], table[:rows, wide:] = columns, first
    return table


def anonymity_of_half_clique(vertices: int, edges: Sequence[Edge], c: Fraction) -> Ints:
    """Theorem 5, for 1/3 < c < 1/2: the table of theorem 3 with new rows that agree with no row, n/2c in all.

    There is a clique of half the vertices if and only if cn-anonymity needs no more stars than `clique_stars`.
    """
    if not THIRD < c < HALF:
        raise PolicyError("theorem 5 is about c between 1/3 and 1/2")
    whole = _whole(vertices / (2 * c))
    new = np.arange(vertices + 1, whole + 1)[:, None] * np.ones(len(edges), dtype=np.int64)
    return np.vstack((anonymity_of_bisection(vertices, edges), new))


def clique_stars(vertices: int, edges: Sequence[Edge], rows: int) -> int:
    """Return how many stars the table of theorem 5 needs at most, if there is a clique of half the vertices."""
    half = vertices // 2
    return rows * len(edges) - half * (half * (half - 1) // 2)


def half_clique_of(labels: Ints, vertices: int) -> set[int]:
    """Return the vertices that are with a new row: the clique, where the classes cost no more than it allows."""
    return {vertex for vertex in range(vertices) if labels[vertex] in set(labels[vertices:].tolist())}


def closeness_of_matching(n: int, triples: Sequence[Triple], t: Fraction) -> Closeness:
    """Theorem 6, for t < 1/3: a row per element, a column per triple, in which only its three elements are equal.

    n triples cover every element if and only if a t-close table needs no more stars than `matching_stars`.
    """
    if not 0 <= t < THIRD:
        raise PolicyError("theorem 6 is about t from 0 to below 1/3")
    return Closeness(_incidences(n, triples, 3 * n), np.repeat([0, 1, 2], n), Equal(), t)


def closeness_of_matching_with_a_centre(n: int, triples: Sequence[Triple], t: Fraction) -> Closeness:
    """Theorem 7, for 1/3 ≤ t < 1/2: further rows with a fourth value, half as far from the other three as they are.

    There are 3n/(1 − 2t) rows in all; the number of stars that tells is that of theorem 6.
    """
    if not THIRD <= t < HALF:
        raise PolicyError("theorem 7 is about t from 1/3 to below 1/2")
    whole = _whole(3 * n / (1 - 2 * t))
    values = np.concatenate((np.repeat([0, 1, 2], n), np.full(whole - 3 * n, 3)))
    return Closeness(_incidences(n, triples, whole), values, STAR, t)


def matching_stars(n: int, triples: Sequence[Triple]) -> int:
    """Return how many stars a t-close table needs at most, if n triples cover every element."""
    return 3 * n * (len(triples) - 1)


def matching_of(labels: Ints, n: int, triples: Sequence[Triple]) -> list[Triple]:
    """Return the triples whose three elements are a class of their own."""
    sizes = np.bincount(labels)
    together = ((triple, labels[_elements(n, triple)]) for triple in triples)
    return [triple for triple, classes in together if len(set(classes.tolist())) == 1 and sizes[classes[0]] == 3]


def _incidences(n: int, triples: Sequence[Triple], rows: int) -> Ints:
    columns = np.repeat(np.arange(1, rows + 1)[:, None], len(triples), axis=1)
    for number, triple in enumerate(triples):
        columns[_elements(n, triple), number] = 0
    return columns


def _elements(n: int, triple: Triple) -> list[int]:
    """Return the rows of a triple: those of X come first, then those of Y and of Z."""
    return [place * n + element for place, element in enumerate(triple)]


def _whole(rows: Fraction) -> int:
    if rows.denominator != 1:
        raise PolicyError("the reduction needs a whole number of rows, not {rows}", rows=rows)
    return int(rows)


# Hard problems solved by trying everything


def least_cut(vertices: int, edges: Sequence[Edge]) -> int:
    """Return how few edges join two halves of a graph.

    >>> least_cut(4, [(0, 1), (2, 3), (1, 2)])
    1
    """
    halves = (set(half) for half in combinations(range(vertices), vertices // 2))
    return min(sum((a in half) != (b in half) for a, b in edges) for half in halves)


def has_half_clique(vertices: int, edges: Sequence[Edge]) -> bool:
    """Tell whether half of the vertices are all joined with each other.

    >>> has_half_clique(6, [(0, 1), (0, 2), (1, 2)]), has_half_clique(6, [(0, 1), (0, 2), (1, 3)])
    (True, False)
    """
    joined = {frozenset(edge) for edge in edges}
    return any(is_clique(set(some), joined) for some in combinations(range(vertices), vertices // 2))


def is_clique(vertices: set[int], joined: set[frozenset[int]]) -> bool:
    """Tell whether every two of these vertices are joined."""
    return all(frozenset(pair) in joined for pair in combinations(vertices, 2))


def has_matching(n: int, triples: Sequence[Triple]) -> bool:
    """Tell whether n triples cover every element of X, Y and Z exactly once.

    >>> has_matching(2, [(0, 0, 0), (1, 1, 1)]), has_matching(2, [(0, 0, 0), (1, 1, 0)])
    (True, False)
    """
    return any(is_matching(n, some) for some in combinations(triples, n))


def is_matching(n: int, triples: Sequence[Triple]) -> bool:
    """Tell whether these triples cover every element exactly once."""
    return len(triples) == n and all(len({triple[place] for triple in triples}) == n for place in range(3))


# The experiments


TABLE_1 = (  # zip code and age, digit by digit, and the education's number
    98765381, 98654392, 98543323, 97654651, 96689451, 97427331, 96552541, 97017692, 97023553, 97009621
)  # fmt: skip
DISEASES = np.array([0, 1, 1, 2, 0, 0, 1, 2, 2, 2])  # viral infection, heart disease, cancer
TABLE_2 = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2, 2])
TABLE_3 = np.array([0, 0, 1, 2, 1, 2, 3, 1, 1, 3])
TABLE_5 = np.array([0, 0, 1, 0, 1, 2, 2, 1, 1, 2])
INSTANCES = 12  # random ones per theorem
TABLES = 30  # random ones per algorithm


@dataclass(frozen=True)
class ReductionOutcome:
    """Whether a reduction holds on an instance in both directions, and the answer to a yes-or-no problem."""

    agrees: bool
    answer: bool | None = None


Check = Callable[[np.random.Generator, Progress], ReductionOutcome]  # makes an instance and solves both problems


def run(data: DataFolder, progress: Progress) -> tuple[ExperimentPart, ...]:
    """Run the three experiments; no file is read."""
    check_solver()
    with no_release():
        return (
            _tables(),
            _reductions(stretch(progress, 0.0, 0.7, "reductions")),
            _algorithms(stretch(progress, 0.7, 1.0, "algorithms")),
        )


def _tables() -> ExperimentPart:
    columns = np.array([list(map(int, str(row))) for row in TABLE_1])
    figures = (
        PaperFigure("table 2: stars", "54", str(star_cost(columns, TABLE_2))),
        PaperFigure("table 4: stars", "15", str(star_cost(columns[:3], np.zeros(3, dtype=np.int64)))),
        PaperFigure("table 3: distance of its first group", "0.4", f"{float(_distances(TABLE_3)[0]):g}"),
        PaperFigure(
            "table 5: distance of its worst group",
            "0.1",
            f"{float(max(_distances(TABLE_5))):g}",
            "as three groups; two publish the same values, so a reader sees two classes, which are 1/15 away",
        ),
        PaperFigure(
            "table 3, a 2-diverse one: stars", NOT_GIVEN, str(star_cost(columns, TABLE_3)), "counted in the table"
        ),
    )
    return ExperimentPart("The tables", "Every digit of zip code and age is a column of its own.", figures)


def _distances(labels: Ints) -> list[Fraction]:
    counts = Counts.from_codes(labels, DISEASES, 3)
    ratios = Equal().emd(counts, np.bincount(DISEASES))
    return [ratios[number] for number in range(len(counts))]


def _reductions(progress: Progress) -> ExperimentPart:
    figures = []
    for number, (what, claim, holds) in enumerate(CHECKS):
        random, verdicts = np.random.default_rng(number), []
        for instance in range(INSTANCES):
            share = (number + instance / INSTANCES) / len(CHECKS)
            verdicts.append(holds(random, stretch(progress, share, share)))
        agreed, answers = sum(verdict.agrees for verdict in verdicts), [verdict.answer for verdict in verdicts]
        remark = "" if None in answers else f"{sum(map(bool, answers))} have one, the others have none"
        figures.append(PaperFigure(what, claim, f"{agreed} of {INSTANCES} instances agree", remark))
    text = (
        "Every reduction is made on small random instances. The hard problem is solved by trying everything, the table "
        "by the method exact, and the solution is read back from the classes. Both directions must agree."
    )
    return ExperimentPart("The reductions (theorems 3 to 7)", text, tuple(figures))


def _stars(problem: Problem, progress: Progress) -> Solution:
    return solve(problem, loss="stars", progress=progress)


def _lemma_1(random: np.random.Generator, progress: Progress) -> ReductionOutcome:
    columns, k = random.integers(0, 3, (8, 3)), int(random.integers(2, 5))
    by_size = _stars(anonymity_problem(columns, k), progress)
    close = _stars(closeness_of_anonymity(columns, k).problem, progress)
    return ReductionOutcome(by_size.cost == close.cost and int(np.bincount(close.labels).min()) >= k)


def _theorem_3(random: np.random.Generator, progress: Progress) -> ReductionOutcome:
    vertices, edges = 6, _graph(random, 6)
    table = anonymity_of_bisection(vertices, edges)
    solution = _stars(anonymity_problem(table, vertices // 2), progress)
    least = least_cut(vertices, edges)
    told = solution.cost == vertices * (len(edges) + least) / 2
    return ReductionOutcome(told and cut_of(solution.labels, edges) == least)


def _theorem_4(random: np.random.Generator, progress: Progress) -> ReductionOutcome:
    columns, c = random.integers(0, 3, (6, 2)), Fraction(1, 3)
    table = anonymity_of_half(columns, c)
    larger = _stars(anonymity_problem(table, int(c * len(table))), progress)
    return ReductionOutcome(larger.cost == _stars(anonymity_problem(columns, len(columns) // 2), progress).cost)


def _theorem_5(random: np.random.Generator, progress: Progress) -> ReductionOutcome:
    vertices, c = 6, Fraction(3, 8)
    edges = _graph(random, vertices)
    table = anonymity_of_half_clique(vertices, edges, c)
    solution = _stars(anonymity_problem(table, int(c * len(table))), progress)
    told = solution.cost <= clique_stars(vertices, edges, len(table))
    joined = {frozenset(edge) for edge in edges}
    found = half_clique_of(solution.labels, vertices)
    read_back = not told or (len(found) == vertices // 2 and is_clique(found, joined))
    return ReductionOutcome(read_back and told == has_half_clique(vertices, edges), told)


def _theorem_6(random: np.random.Generator, progress: Progress) -> ReductionOutcome:
    n, t = 3, Fraction(int(random.integers(0, 33)), 100)
    triples = _triples(random, n, 5)
    return _matches(closeness_of_matching(n, triples, t), n, triples, progress)


def _theorem_7(random: np.random.Generator, progress: Progress) -> ReductionOutcome:
    n, t = 2, Fraction(1, 3)
    triples = _triples(random, n, 3)
    return _matches(closeness_of_matching_with_a_centre(n, triples, t), n, triples, progress)


def _matches(made: Closeness, n: int, triples: list[Triple], progress: Progress) -> ReductionOutcome:
    """Tell whether few enough stars mean a matching, which the classes then show, and no matching means more stars."""
    solution = _stars(made.problem, progress)
    told = solution.cost <= matching_stars(n, triples)
    read_back = not told or is_matching(n, matching_of(solution.labels, n, triples))
    return ReductionOutcome(read_back and told == has_matching(n, triples), told)


def _graph(random: np.random.Generator, vertices: int) -> list[Edge]:
    """Return a random graph with few or many edges, with one at least."""
    pairs, share = [*combinations(range(vertices), 2)], random.choice([0.25, 0.6])
    return [pair for pair, taken in zip(pairs, random.random(len(pairs)) < share, strict=True) if taken] or pairs[:1]


def _triples(random: np.random.Generator, n: int, count: int) -> list[Triple]:
    """Return random triples; about half of the time, there is a matching among them for certain."""
    every: list[Triple] = [(x, y, z) for x, y, z in product(range(n), repeat=3)]
    some = [every[place] for place in random.choice(len(every), count, replace=False)]
    if random.random() < 0.5:
        planted = zip(range(n), random.permutation(n).tolist(), random.permutation(n).tolist(), strict=True)
        some = [*dict.fromkeys([*planted, *some])][:count]
    return sorted(some)


CLIQUE = "at most n′m − (n/2)·C(n/2, 2) stars if and only if there is a clique"
MATCHING = "at most 3n(m − 1) stars if and only if there is a matching"
CHECKS: tuple[tuple[str, str, Check], ...] = (
    ("lemma 1: k-anonymity as t = 1 − k/n", "the same optimum", _lemma_1),
    ("theorem 3: least bisection as n/2-anonymity, 6 vertices", "n(|E| + cut)/2 stars", _theorem_3),
    ("theorem 4: n/2-anonymity as n/3-anonymity, 6 rows as 9", "the same optimum", _theorem_4),
    ("theorem 5: half clique as 3n/8-anonymity, 6 vertices", CLIQUE, _theorem_5),
    ("theorem 6: 3D matching as t-closeness, t < 1/3, 9 elements", MATCHING, _theorem_6),
    ("theorem 7: 3D matching as t-closeness, t = 1/3, 6 elements", MATCHING, _theorem_7),
)


def _algorithms(progress: Progress) -> ExperimentPart:
    worst, optimal = Fraction(1), 0
    for number, columns in enumerate(_random_tables()):
        part = stretch(progress, number / TABLES, number / TABLES)
        for k in (2, 3):
            fewest = int(_stars(anonymity_problem(columns, k), part).cost)
            if fewest:
                worst = max(worst, Fraction(star_cost(columns, approximate(columns, k)), fewest))
            optimal += k == 2 and star_cost(columns, two_anonymous(columns, Pulse(part))) == fewest
    figures = (
        PaperFigure(
            "theorem 10: stars of k-anonymity, as a multiple of the fewest, k = 2 and 3, m = 3",
            "at most m = 3",
            f"at most {float(worst):.2f}",
            f"on {TABLES} random tables",
        ),
        PaperFigure(
            "2-anonymity by pairs and triples (Blocki & Williams 2010)",
            "the optimum",
            f"the optimum on {optimal} of {TABLES} tables",
            "--method kanonymity --option stars=fewest",
        ),
    )
    text = "Each is compared with the method exact on random tables of 10 rows and 3 columns."
    return ExperimentPart("The algorithms", text, figures)


def _random_tables() -> Iterator[Ints]:
    random = np.random.default_rng(13)
    for _ in range(TABLES):
        yield random.integers(0, 3, (10, 3))


EXPERIMENT = Experiment(
    name="liang-yuan",
    title="How hard t-closeness is",
    paper="Liang & Yuan, On the Complexity of t-Closeness Anonymization, DASFAA 2013",
    files=(),
    run=run,
)
