"""Weber's thesis, 2.4 and 4.1.1: with more sensitive attributes, classes grow and closeness fades.

The thesis expects both and measures neither. One to six laboratory values of a health survey show them.
"""

from __future__ import annotations

from typing import Any

from tclose.comparison.papers.base import ChartLine, ExperimentPart, LineChart, PaperFigure
from tclose.comparison.papers.trials import detail_lost, released, rows_per_class
from tclose.policy import Policy
from tclose.types import Progress, stretch
from tclose.words import counted

TABLE = "nhanes_labs.csv"
QUASI = ("Age", "Gender", "Race1", "HHIncomeMid", "HomeRooms")
LABS = ("Pulse", "BPSysAve", "DirectChol", "TotChol", "BPDiaAve", "BMI")
METHODS = ("fragmentation:relaxed", "mondrian:strict", "weave:fast")
T, K, WIDE_K = 0.1, 3, 10


def larger_classes(frame: Any, progress: Progress) -> ExperimentPart:
    """Measure how large classes become, and how much detail is lost, with 1 to 6 sensitive attributes."""
    sizes: dict[str, list[tuple[float, float]]] = {method: [] for method in METHODS}
    losses: dict[str, list[tuple[float, float]]] = {method: [] for method in METHODS}
    steps = len(METHODS) * len(LABS)
    for number in range(1, len(LABS) + 1):
        for place, method in enumerate(METHODS):
            done = (number - 1) * len(METHODS) + place
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
        for method in METHODS
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
