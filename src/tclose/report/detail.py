"""The section about detail: how exact the quasi-identifiers still are, what that costs, and what analysts still see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tclose.measure.base import rounded
from tclose.measure.detail import DetailMeasure
from tclose.measure.kept import DETAIL_MEASURES
from tclose.measure.utility import MEASURES
from tclose.release.beside import Beside
from tclose.release.detail import detail_of
from tclose.release.lower_bound import BoundClaim
from tclose.report import charts
from tclose.report.before_after import MOST_PAIRS, BeforeAfter
from tclose.report.markup import Html, element, shown
from tclose.report.page import Canvas, Section, key, listing, tag
from tclose.types import Progress, silent
from tclose.words import counted, lowered_loss, number, percent

MOST_SECONDS = 20.0  # that one measure of detail kept may take before a page leaves it out
NO_CHART = "The release shows nothing of them, or publishes means, or they have too many different values."
UNVERIFIABLE = (
    "Only the steward can check this, with the original table and the proof: it is not verifiable from the release."
)
READER = (
    "How much of the raw table an analyst can still see in the release. The analyst shares each published value out "
    "evenly among the values that it may stand for."
)


@dataclass(frozen=True)
class DetailFigure:
    """A measure of detail kept: its figure, or why there is none."""

    measure: DetailMeasure
    figure: float | None
    why_not: str

    @property
    def words(self) -> str:
        """The figure as people read it."""
        return self.why_not if self.figure is None else number(self.figure)


def detail_figures(beside: Beside, progress: Progress = silent) -> list[DetailFigure]:
    """Measure how much detail a release keeps; leave out what would take too long or too much memory."""
    if sum(column.covers.size for column in beside.columns) > MOST_PAIRS:
        return [DetailFigure(measure, None, "not measured: too many different values") for measure in DETAIL_MEASURES]
    detail = detail_of(beside)
    figures = []
    for done, measure in enumerate(DETAIL_MEASURES):
        progress(done / len(DETAIL_MEASURES), measure.title)
        seconds = measure.seconds(detail)
        if seconds > MOST_SECONDS:
            figures.append(DetailFigure(measure, None, f"not measured: it would take about {seconds:,.0f} seconds"))
        else:
            figures.append(DetailFigure(measure, rounded(measure.compute(detail)), measure.why_none))
    return figures


@dataclass(frozen=True, eq=False)
class DetailSection:
    """What the section shows; the last two compare with the raw table and are empty on a page for the public."""

    losses: Sequence[Mapping[str, float]]  # per table, the mean NCP of each quasi-identifier
    measures: Mapping[str, Any]  # of the certificate
    loss: Mapping[str, Any] | None  # that the method lowered, as the certificate says
    bound: BoundClaim | None  # on the detail lost, if it was searched for
    before_after: Sequence[BeforeAfter] | None
    kept: Sequence[DetailFigure]

    def section(self, canvas: Canvas) -> Section:
        """Return the section."""
        shares = self._shares_kept()
        parts = [self._shares(shares, canvas)] if shares else []
        parts += [element("p", sentence) for sentence in self._lowered()]
        parts.append(self._costs())
        if self.bound is not None:
            sentence = f"{self.bound.about_release(self.measures['gcp'])} {UNVERIFIABLE}"
            parts.append(element("p", element("strong", "Lower bound. "), sentence))
        if self.kept:
            parts.append(self._kept())
        if self.before_after is not None:
            parts += [_before_after(column, canvas) for column in self.before_after]
            compared = {column.name for column in self.before_after}
            if without := [shown(name) for name in shares if name not in compared]:
                parts.append(element("p", f"Without a chart, before and after: {', '.join(without)}. {NO_CHART}"))
        return Section("detail", "What happened to the quasi-identifiers", parts, "Detail")

    def _shares_kept(self) -> dict[str, float]:
        """Return the share of detail that each quasi-identifier keeps, on average over tables."""
        return {name: 1 - sum(losses[name] for losses in self.losses) / len(self.losses) for name in self.losses[0]}

    def _shares(self, shares: Mapping[str, float], canvas: Canvas) -> Html:
        label = "the share of detail that each quasi-identifier keeps"
        rows = [(shown(name), percent(share), number(round(1 - share, 4))) for name, share in shares.items()]
        figures = listing(label, ("quasi-identifier", "kept", "lost (NCP)"), rows, numbers=2)
        caption = ["How exact each quasi-identifier still is: 100 % means unchanged, 0 % means that nothing is left."]
        spec = charts.shares(list(shares.items()), title="share of detail kept")
        return canvas.figure(spec, label=label, caption=caption, rows=figures)

    def _lowered(self) -> list[str]:
        """Say which loss was lowered, and how low it is."""
        if self.loss is None:
            return []
        value = self.loss.get("value")
        reached = "" if value is None else f" It is {number(value)}; lower is better."
        return [f"The rows were split so as to lower this loss: {lowered_loss(self.loss)}.{reached}"]

    def _costs(self) -> Html:
        rows = [
            (measure.title, number(self.measures[measure.name]), measure.scale, measure.meaning)
            for measure in MEASURES
            if self.measures.get(measure.name) is not None
        ]
        return listing("What the release costs", ("measure", "figure", "scale", "meaning"), rows, numbers=0)

    def _kept(self) -> Html:
        rows = [
            (figure.measure.title, figure.words, figure.measure.scale, figure.measure.meaning) for figure in self.kept
        ]
        table = listing("Measures of detail kept", ("measure", "figure", "scale", "meaning"), rows, numbers=0)
        return element("div", element("h3", "Detail kept for analysts"), element("p", tag(), " ", READER), table)


def _before_after(column: BeforeAfter, canvas: Canvas) -> Html:
    label = f"{shown(column.name)} before and after"
    raw = [None if count is None else count / column.rows for count in column.before]
    spec = charts.shares(list(zip(column.bins, raw, strict=True)), title="share of rows", marks=column.after.tolist())
    rows = [
        (shown(name), "hidden" if before is None else percent(before), percent(float(after)))
        for name, before, after in zip(column.bins, raw, column.after, strict=True)
    ]
    figures = listing(label, ("published bin", "raw table", "release"), rows, numbers=2)
    words = f" {shown(column.name)} in the raw table, and as a reader of the release sees it."
    words += f" {counted(column.hidden, 'bin')} of the raw table too small to show." if column.hidden else ""
    words += f" Counts of the raw table are rounded to multiples of {column.unit:,} rows."
    marks = key(("bar", "pale", "raw table"), ("dot", "accent", "release"))
    figure = canvas.figure(spec, label=label, caption=(tag(), words), rows=figures, key=marks)
    return element("div", element("h3", shown(column.name)), figure)
