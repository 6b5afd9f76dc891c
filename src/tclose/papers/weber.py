"""Weber's thesis (2021) and Bagai, Weber & Gowda (2023): their worked examples, their lattice, and many attributes.

With more sensitive attributes, classes grow and closeness fades (thesis, 2.4 and 4.1.1). The thesis expects both and
measures neither. One to six laboratory values of a health survey show them.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import gcd
from typing import Any

import numpy as np

from tclose.distance import Counts, Ordered
from tclose.papers.reproduction import (
    NOT_GIVEN,
    ChartLine,
    DataFolder,
    Experiment,
    ExperimentPart,
    LineChart,
    PaperFigure,
    no_release,
)
from tclose.partition import METHODS, Attribute, Problem
from tclose.partition.fragmentation import partition
from tclose.partition.fragmentation.printed import (
    STRATEGIES,
    Box,
    BoxCut,
    BoxSearch,
    acceptable,
    aggregate,
    find_fragmentation,
    fragmentations,
)
from tclose.partition.fragmentation.spread import spread_attributes
from tclose.policy import Policy
from tclose.release.release import Release
from tclose.run.anonymization import anonymize
from tclose.types import Floats, Ints, Progress, stretch
from tclose.words import counted

# Releases and class sizes: made and measured in memory, never written


SEED = 1  # the same for every method: nothing is published


def released(frame: Any, policy: Policy, method: str, progress: Progress) -> Release:
    """Return the release that a method makes."""
    with no_release():
        return anonymize(frame, policy, method=method, seed=SEED, progress=progress)


def rows_per_class(release: Release) -> float:
    """Return the average size of a class."""
    claims = release.certificate.claims
    assert claims.rows is not None
    assert claims.classes is not None
    return claims.rows / claims.classes


def detail_lost(release: Release) -> float:
    """Return the GCP of a release."""
    lost = release.certificate.measures["gcp"]
    assert lost is not None
    return float(lost)


# Many attributes


TABLE = "nhanes_labs.csv"
QUASI = ("Age", "Gender", "Race1", "HHIncomeMid", "HomeRooms")
LABS = ("Pulse", "BPSysAve", "DirectChol", "TotChol", "BPDiaAve", "BMI")
COMPARED_METHODS = ("fragmentation:relaxed", "mondrian:strict", "weave:fast")
T, K, WIDE_K = 0.1, 3, 10


def larger_classes(frame: Any, progress: Progress) -> ExperimentPart:
    """Measure how large classes become, and how much detail is lost, with 1 to 6 sensitive attributes."""
    sizes: dict[str, list[tuple[float, float]]] = {method: [] for method in COMPARED_METHODS}
    losses: dict[str, list[tuple[float, float]]] = {method: [] for method in COMPARED_METHODS}
    steps = len(COMPARED_METHODS) * len(LABS)
    for number in range(1, len(LABS) + 1):
        for place, method in enumerate(COMPARED_METHODS):
            done = (number - 1) * len(COMPARED_METHODS) + place
            part = stretch(progress, done / steps, (done + 1) / steps)
            release = released(frame, _policy(number, T, K), method, part)
            sizes[method].append((float(number), rows_per_class(release)))
            losses[method].append((float(number), detail_lost(release)))
    figures = [
        PaperFigure(
            f"{method}: rows per class with 1 and with {len(LABS)} attributes",
            "larger",
            f"{sizes[method][0][1]:,.1f} and {sizes[method][-1][1]:,.1f}",
            f"detail lost (GCP) {losses[method][0][1]:.3f} and {losses[method][-1][1]:.3f}",
        )
        for method in COMPARED_METHODS
    ]
    text = (
        f"nhanes, {counted(len(QUASI), 'quasi-identifier')}, k = {K}, t = {T} for each of the first 1 to {len(LABS)} "
        f"of {', '.join(LABS)}. The thesis expects that classes grow and does not measure it (4.1.1). As printed, the "
        "method publishes one class of all rows in every case, so it is left out."
    )
    attributes = "sensitive attributes"
    charts = (
        LineChart("Class size", attributes, "rows per class", _lines(sizes), scale="log"),
        LineChart("Detail lost", attributes, "detail lost (GCP, 0 to 1)", _lines(losses)),
    )
    return ExperimentPart("More attributes, larger classes (thesis 4.1.1)", text, tuple(figures), charts)


def diminishing_closeness(frame: Any, progress: Progress) -> ExperimentPart:
    """Measure the t that classes of the same size reach, with 1 to 6 sensitive attributes."""
    points = []
    for number in range(1, len(LABS) + 1):
        part = stretch(progress, (number - 1) / len(LABS), number / len(LABS))
        release = released(frame, _policy(number, 1, WIDE_K), "clustering:printed", part)
        reached = [claim.closeness or 0.0 for claim in release.certificate.claims.sensitive.values()]
        points.append((float(number), max(reached)))
    text = (
        "Fang et al. (2011), as the thesis reports in 2.4: with the size of classes given, the best t that can be "
        f"reached grows with the number of attributes. Here classes of {WIDE_K} rows are made by one method, "
        "clustering as printed, which looks at all attributes. Its t is no optimum: it only bounds the best t from "
        "above."
    )
    reached_t = f"{points[0][1]:.3f} and {points[-1][1]:.3f}"
    figures = (PaperFigure(f"t reached with 1 and with {len(LABS)} attributes", "not smaller", reached_t),)
    chart = LineChart(
        "Diminishing closeness",
        "sensitive attributes",
        "distance of the worst class (0 to 1)",
        (ChartLine("clustering:printed", tuple(points)),),
    )
    return ExperimentPart("Diminishing closeness (thesis 2.4)", text, figures, (chart,))


def _policy(attributes: int, t: float, k: int) -> Policy:
    sensitive = {name: {"t": t} for name in LABS[:attributes]}
    return Policy.from_dict({"quasi": {name: {} for name in QUASI}, "sensitive": sensitive, "k": k, "others": "drop"})


def _lines(points: dict[str, list[tuple[float, float]]]) -> tuple[ChartLine, ...]:
    return tuple(ChartLine(method, tuple(found)) for method, found in points.items())


# The experiments


EXAMPLE = np.array([[15, 75, 0], [15, 0, 15], [30, 30, 45], [15, 30, 30]])  # 001, figure 1
ONE_CLASS = np.array([[3, 3, 0], [1, 0, 4], [0, 4, 0], [1, 1, 3]])  # the class beside it
SPLIT = np.array([[2, 3], [1, 4]])  # 001, figure 7; thesis, figure 15
DISTANCES = {  # (first, second, printed), in tenths
    "thesis 3.2.2, P and Q": ([3, 1, 6], [4, 0, 6], "0.05"),
    "thesis 3.2.2, P and R": ([3, 1, 6], [1, 7, 2], "0.3"),
    "001 section 2.2, P and Q": ([2, 1, 7], [3, 0, 7], "0.05"),
    "001 section 2.2, Q and R": ([3, 0, 7], [1, 0, 9], "0.2"),
    "001 section 2.2, P and R": ([2, 1, 7], [1, 0, 9], "0.15"),
}
FRAGMENTS = {"⟨⟨1↔3; 1↔2⟩⟩": ((0, 2), (0, 1), "0.55 and 0.55"), "⟨⟨3↔4; 2↔3⟩⟩": ((2, 3), (1, 2), "0.45 and 0.4")}
TRIES = 20  # tables of two random quasi-identifiers, for the example without any
RANDOM_TABLES, MOST = 118, 5  # of 3 × 3 values, with so many rows in a cell at most
VARIANTS = ("printed", "tight", "relaxed")


def run(data: DataFolder, progress: Progress) -> tuple[ExperimentPart, ...]:
    """Run the four experiments."""
    progress(0.0, "worked examples")
    frame = data.read(TABLE)
    return (
        _worked_examples(),
        _variants(stretch(progress, 0.0, 0.1, "the three variants")),
        _lattice(stretch(progress, 0.1, 0.2, "the lattice of fragmentations")),
        larger_classes(frame, stretch(progress, 0.2, 0.85, "more attributes")),
        diminishing_closeness(frame, stretch(progress, 0.85, 1.0, "diminishing closeness")),
    )


def _worked_examples() -> ExperimentPart:
    figures = [
        PaperFigure(f"distance: {name}", printed, _decimal(_distance(first, second)))
        for name, (first, second, printed) in DISTANCES.items()
    ]
    figures += [*_conformance(), *_split(), *_sizes()]
    text = (
        "All figures agree with the printed ones. Figures 8 and 9 of 001 and figures 14 and 16 of the thesis cannot be "
        "repeated: their tables are in pictures only."
    )
    return ExperimentPart("Worked examples", text, tuple(figures))


def _distance(first: list[int], second: list[int]) -> Fraction:
    return Ordered(len(first)).emd(Counts.from_dense([first]), np.array(second))[0]


def _conformance() -> Iterator[PaperFigure]:
    """PaperFigure 6: which share of the table, and of the class, lies in a fragment."""
    for name, (rows, columns, printed) in FRAGMENTS.items():
        inside = (slice(rows[0], rows[1] + 1), slice(columns[0], columns[1] + 1))
        shares = [Fraction(int(matrix[inside].sum()), int(matrix.sum())) for matrix in (EXAMPLE, ONE_CLASS)]
        ours = " and ".join(map(_decimal, shares))
        remark = "the class conforms" if shares[0] == shares[1] else "the class does not conform"
        yield PaperFigure(f"figure 6: shares of table and class in {name}", printed, ours, remark)


def _split() -> Iterator[PaperFigure]:
    """PaperFigure 7: one bound may rise although the other falls."""
    search = BoxSearch(spread_attributes(_problem(SPLIT, "1"), "published"))
    halves = [*search.split(search.top(), BoxCut(1, 0))]
    for name, boxes, printed in (("⊤", [search.top()], "0.5 and 0.7"), ("⊤ split in two", halves, "0.6 and 0")):
        ours = " and ".join(map(_decimal, aggregate(search, boxes)))
        yield PaperFigure(f"figure 7 (thesis 15): bounds of rows and columns at {name}", printed, ours)


def _sizes() -> Iterator[PaperFigure]:
    """Figures 18 and 19 of the thesis: one row more, and no common divisor is left."""
    even, odd = np.array([[250, 100], [350, 300]]), np.array([[250, 100], [350, 301]])
    yield PaperFigure("thesis figure 18: classes of 1,000 rows", "50 of 20 rows", _classes(even, "printed", "0"))
    yield PaperFigure("thesis figure 19: classes of 1,001 rows", "1 of 1,001 rows", _classes(odd, "printed", "0.02"))
    remark = "not in the thesis, which leaves this to future work (4.1.3); t = 0.02"
    yield PaperFigure("thesis figure 19, relaxed", NOT_GIVEN, _classes(odd, "relaxed", "0.02"), remark)


def _classes(matrix: Ints, variant: str, t: str) -> str:
    sizes = np.bincount(partition(_problem(matrix, t), **METHODS["fragmentation"].variants[variant]))
    return f"{len(sizes)} of {_from_to(int(sizes.min()), int(sizes.max()))} rows"


def _from_to(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _problem(matrix: Ints, t: str, points: Floats | None = None) -> Problem:
    """Return the problem with this multiplicity matrix; the papers print no quasi-identifiers."""
    cells = np.repeat(np.argwhere(matrix >= 0), matrix.ravel(), axis=0)
    sensitive = tuple(
        Attribute(cells[:, a], np.bincount(cells[:, a], minlength=size), Ordered(size), Fraction(t))
        for a, size in enumerate(matrix.shape)
    )
    return Problem(np.linspace(0, 1, len(cells))[:, None] if points is None else points, sensitive)


def _variants(progress: Progress) -> ExperimentPart:
    lost: dict[str, list[float]] = {name: [] for name in VARIANTS}
    classes: dict[str, list[int]] = {name: [] for name in VARIANTS}
    for seed in range(TRIES):
        progress(seed / TRIES)
        points = np.random.default_rng(seed).random((int(EXAMPLE.sum()), 2))
        problem = _problem(EXAMPLE, "0.3", points)
        for name in VARIANTS:
            labels = partition(problem, seed=seed, **METHODS["fragmentation"].variants[name])
            lost[name].append(_gcp(problem, labels))
            classes[name].append(int(labels.max()) + 1)
    figures = [
        figure
        for name in VARIANTS
        for figure in (
            PaperFigure(f"{name}: classes", NOT_GIVEN, _from_to(min(classes[name]), max(classes[name]))),
            PaperFigure(f"{name}: detail lost (GCP, 0 to 1, lower is better)", NOT_GIVEN, f"{np.mean(lost[name]):.2f}"),
        )
    ]
    text = (
        "The table of 001, figure 1, at t = 0.3 for both attributes. The papers print no quasi-identifiers and measure "
        f"no loss. Here two quasi-identifiers are drawn at random, {TRIES} times, and the loss is the mean. 'printed' "
        "is the published method, 'tight' mends its bound and bisects, 'relaxed' needs no common divisor."
    )
    return ExperimentPart("The method as printed, mended and relaxed", text, tuple(figures))


def _gcp(problem: Problem, labels: Ints) -> float:
    widths = np.array([np.ptp(problem.points[labels == label], axis=0) for label in range(labels.max() + 1)])
    return float((np.bincount(labels) @ widths).sum() / problem.points.size)


def _lattice(progress: Progress) -> ExperimentPart:
    found = {bound: _greedy_against_all(bound, stretch(progress, share, share + 0.5)) for bound, share in _BOUNDS}
    figures = [
        PaperFigure("fragmentations of 2 × 2 values", NOT_GIVEN, str(len(fragmentations((2, 2))))),
        PaperFigure(
            "fragmentations of 3 × 3 values",
            "all coverings",
            str(len(fragmentations((3, 3)))),
            "322 coverings exist; splits do not reach the two pinwheels",
        ),
    ]
    for bound, (highest, times) in found.items():
        what = f"greedy search by Ψ, {bound} bound"
        figures += [
            PaperFigure(f"{what}: ends in the highest layer", NOT_GIVEN, f"{highest} of {RANDOM_TABLES} tables"),
            PaperFigure(f"{what}: classes missed at worst", NOT_GIVEN, f"{times:g} times as many are possible"),
        ]
    text = (
        "The papers call an exhaustive search impractical and search greedily. On random tables of 3 × 3 values, t = "
        "0.3, all acceptable fragmentations are compared with the one that the greedy search finds."
    )
    return ExperimentPart("The lattice search", text, tuple(figures))


_BOUNDS = (("published", 0.0), ("tight", 0.5))


def _greedy_against_all(bound: str, progress: Progress) -> tuple[int, float]:
    """Return how often Ψ ends in the highest layer, and how many times more classes were possible at most."""
    highest, gained = 0, 1.0
    for number, table in enumerate(_random_tables()):
        progress(number / RANDOM_TABLES)
        attributes = spread_attributes(_problem(table, "0.3"), bound)
        search, budgets = BoxSearch(attributes), [attribute.t for attribute in attributes]
        greedy = find_fragmentation(search, budgets, STRATEGIES["psi"], lambda boxes: False)
        assert greedy is not None
        every = acceptable(search, budgets)
        highest += len(greedy) == len(every[0])
        gained = max(gained, max(map(_divisor, every)) / _divisor(greedy))
    return highest, gained


def _divisor(boxes: list[Box]) -> int:
    return gcd(*(len(box.rows) for box in boxes))


def _random_tables() -> Iterator[Ints]:
    """Yield 3 × 3 tables in which every value occurs."""
    random, made = np.random.default_rng(1), 0
    while made < RANDOM_TABLES:
        table = random.integers(0, MOST + 1, (3, 3))
        if table.any(axis=0).all() and table.any(axis=1).all():
            made += 1
            yield table


def _decimal(share: Fraction) -> str:
    return f"{float(share):.4g}"


EXPERIMENT = Experiment(
    name="weber",
    title="t-closeness over several numerical attributes",
    paper="Weber, thesis, Wichita State University 2021; Bagai, Weber & Gowda, Transactions on Data Privacy 2023 (001)",
    files=(TABLE,),
    run=run,
)
