"""Liang & Yuan 2013: the star costs of their tables, their reductions in both directions, and their algorithms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product

import numpy as np

from tclose.comparison.papers import hardness, small_searches
from tclose.comparison.papers.base import NOT_GIVEN, DataFolder, Experiment, ExperimentPart, PaperFigure, no_release
from tclose.distance import Counts, Equal
from tclose.partition import Problem
from tclose.partition.exact import Solution, solve
from tclose.partition.kanonymity.approximation import approximate
from tclose.partition.kanonymity.pairing import check_solver, two_anonymous
from tclose.partition.shared.pulse import Pulse
from tclose.partition.shared.stars import star_cost
from tclose.types import Ints, Progress, stretch

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
class Verdict:
    """Whether a reduction holds on an instance in both directions, and the answer to a yes-or-no problem."""

    agrees: bool
    answer: bool | None = None


Check = Callable[[np.random.Generator, Progress], Verdict]  # makes an instance and solves both problems


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


def _lemma_1(random: np.random.Generator, progress: Progress) -> Verdict:
    columns, k = random.integers(0, 3, (8, 3)), int(random.integers(2, 5))
    by_size = _stars(hardness.anonymity_problem(columns, k), progress)
    close = _stars(hardness.closeness_of_anonymity(columns, k).problem, progress)
    return Verdict(by_size.cost == close.cost and int(np.bincount(close.labels).min()) >= k)


def _theorem_3(random: np.random.Generator, progress: Progress) -> Verdict:
    vertices, edges = 6, _graph(random, 6)
    table = hardness.anonymity_of_bisection(vertices, edges)
    solution = _stars(hardness.anonymity_problem(table, vertices // 2), progress)
    least = small_searches.least_cut(vertices, edges)
    told = solution.cost == vertices * (len(edges) + least) / 2
    return Verdict(told and hardness.cut_of(solution.labels, edges) == least)


def _theorem_4(random: np.random.Generator, progress: Progress) -> Verdict:
    columns, c = random.integers(0, 3, (6, 2)), Fraction(1, 3)
    table = hardness.anonymity_of_half(columns, c)
    larger = _stars(hardness.anonymity_problem(table, int(c * len(table))), progress)
    return Verdict(larger.cost == _stars(hardness.anonymity_problem(columns, len(columns) // 2), progress).cost)


def _theorem_5(random: np.random.Generator, progress: Progress) -> Verdict:
    vertices, c = 6, Fraction(3, 8)
    edges = _graph(random, vertices)
    table = hardness.anonymity_of_half_clique(vertices, edges, c)
    solution = _stars(hardness.anonymity_problem(table, int(c * len(table))), progress)
    told = solution.cost <= hardness.clique_stars(vertices, edges, len(table))
    joined = {frozenset(edge) for edge in edges}
    found = hardness.half_clique_of(solution.labels, vertices)
    read_back = not told or (len(found) == vertices // 2 and small_searches.is_clique(found, joined))
    return Verdict(read_back and told == small_searches.has_half_clique(vertices, edges), told)


def _theorem_6(random: np.random.Generator, progress: Progress) -> Verdict:
    n, t = 3, Fraction(int(random.integers(0, 33)), 100)
    triples = _triples(random, n, 5)
    return _matches(hardness.closeness_of_matching(n, triples, t), n, triples, progress)


def _theorem_7(random: np.random.Generator, progress: Progress) -> Verdict:
    n, t = 2, Fraction(1, 3)
    triples = _triples(random, n, 3)
    return _matches(hardness.closeness_of_matching_with_a_centre(n, triples, t), n, triples, progress)


def _matches(made: hardness.Closeness, n: int, triples: list[hardness.Triple], progress: Progress) -> Verdict:
    """Tell whether few enough stars mean a matching, which the classes then show, and no matching means more stars."""
    solution = _stars(made.problem, progress)
    told = solution.cost <= hardness.matching_stars(n, triples)
    read_back = not told or small_searches.is_matching(n, hardness.matching_of(solution.labels, n, triples))
    return Verdict(read_back and told == small_searches.has_matching(n, triples), told)


def _graph(random: np.random.Generator, vertices: int) -> list[hardness.Edge]:
    """Return a random graph with few or many edges, with one at least."""
    pairs, share = [*combinations(range(vertices), 2)], random.choice([0.25, 0.6])
    return [pair for pair, taken in zip(pairs, random.random(len(pairs)) < share, strict=True) if taken] or pairs[:1]


def _triples(random: np.random.Generator, n: int, count: int) -> list[hardness.Triple]:
    """Return random triples; about half of the time, there is a matching among them for certain."""
    every: list[hardness.Triple] = [(x, y, z) for x, y, z in product(range(n), repeat=3)]
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
            fewest = int(_stars(hardness.anonymity_problem(columns, k), part).cost)
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
