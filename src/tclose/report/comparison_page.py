"""The page of `tclose compare`: every method side by side, and what protection costs with each."""

from __future__ import annotations

from collections.abc import Sequence

from tclose.comparison.comparison import Comparison
from tclose.comparison.curve import Curve
from tclose.comparison.figures import figures_of
from tclose.comparison.trial import Trial
from tclose.policy import Policy
from tclose.release.certificate import Origin
from tclose.release.lower_bound import BoundClaim
from tclose.release.naming import created, tool
from tclose.report import charts
from tclose.report.glossary import BOUND, COMPARED, terms
from tclose.report.markup import Html, element, shown
from tclose.report.page import NO_NETWORK, Canvas, Section, assembled, facts, key, listing, origin_line, words
from tclose.words import counted, kept_classes, lowered_loss, nt_closeness, number, percent

BOUND_LINE = "The dashed line is the lower bound: no release of one table, by whichever method, can lose less detail."
SEVERAL = "each table is judged on its own, and anatomy publishes quasi-identifiers as they are."
EXPLAINED = ("Detail lost (GCP)", "Class", "k", "Closeness", "t", "Withheld row", "(n,t)-closeness")


def comparison_page(comparison: Comparison, curve: Curve, table: str | None = None) -> str:
    """Return the page; `table` is what the table is called."""
    charts.libraries()
    canvas, released = Canvas(), comparison.ordered
    bound = None if comparison.bound is None else comparison.bound.bound
    sections = [_methods(released, comparison.policy, bound, canvas)] if released else []
    if len(curve.levels) > 1:
        sections.insert(0, _curve(curve, released[0].name, canvas))
    if released and comparison.policy.sensitive:
        sections.append(_closeness(released, comparison.policy))
    if others := [trial for trial in comparison.trials if trial.outcome != "released"]:
        sections.append(_without_release(others))
    explained = terms(comparison.policy.supersets)
    chosen = {**COMPARED, **{name: explained[name] for name in explained if name in EXPLAINED}}
    chosen |= {} if bound is None else BOUND
    sections.append(Section("glossary", "Glossary", [words(chosen)], "Glossary"))
    footer = f"Made by {tool()}. {NO_NETWORK}"
    origin = origin_line(Origin((), table, created(), tool()))
    header = [origin, *_header(comparison, released, bound)]
    return assembled(title="Methods compared", header=header, sections=sections, footer=footer, canvas=canvas)


def _lost(trial: Trial) -> float:
    """Return the share of detail that a release loses."""
    assert trial.gcp is not None
    return trial.gcp


def _marked(trial: Trial) -> str:
    """Return a method's name, with what its releases do not protect."""
    return f"{trial.name} ({trial.caveat})" if trial.caveat else trial.name


def _header(comparison: Comparison, released: Sequence[Trial], bound: float | None) -> list[Html]:
    trials = comparison.trials
    kicker = element("p", "tclose · methods compared", class_="kicker")
    if not released:
        return [kicker, element("h1", "No method can publish this table under its policy.")]
    best, quickest = released[0], min(released, key=lambda trial: trial.seconds or 0.0)
    among = (
        " of the methods that publish one table"
        if any(trial.several_tables for trial in released)
        else " of this table"
    )
    title = f"{_marked(best)} keeps the most detail{among}."
    if not comparison.policy.loses_gcp:
        title = (
            f"{best.name} has the least loss{among}. The policy's loss: {lowered_loss(comparison.policy.chosen_loss)}."
        )
    lead = (
        f"{len(released)} of {counted(len(trials), 'method')} gave a release that meets the policy. {best.name} loses "
        f"{number(_lost(best))} of the detail (0 is nothing, 1 is everything) in {counted(best.classes or 0, 'class')}."
    )
    if bound is not None:
        lead += f" {BoundClaim(bound).sentence(_lost(best))}"
    figures = {
        "methods tried": str(len(trials)),
        "releases": str(len(released)),
        f"detail lost: {best.name}": number(_lost(best)),
        "most detail lost": number(max(_lost(trial) for trial in released)),
        f"fastest: {quickest.name}": f"{quickest.seconds:.1f} s",
    }
    figures |= {} if bound is None else {"detail lost: lower bound": f"{bound:.4f}"}
    return [kicker, element("h1", title), element("p", lead, class_="lead"), facts(figures)]


def _curve(curve: Curve, best: str, canvas: Canvas) -> Section:
    names = sorted({name for name, _, _ in curve.points}, key=lambda name: (name != best, name))
    rows = [(name, *(_share(loss) for loss in curve.losses(name))) for name in names]
    rows += [(charts.LOWER_BOUND, *(_share(bound) for bound in curve.least_losses()))] if curve.bounds else []
    label = "the detail that every method loses, by t"
    titles = ("method", *(f"t {'' if curve.title == 't' else '× '}{number(level)}" for level in curve.levels))
    figures = listing(label, titles, rows, numbers=len(curve.levels))
    caption = [
        f"Detail lost, by t; lower is better. The coloured line is {best}. A line ends where its method gives no "
        "release."
    ]
    caption += [f" {BOUND_LINE}"] if curve.bounds else []
    dashed = [("dashed", "ink", charts.LOWER_BOUND)] if curve.bounds else []
    marks = key(("thin", "accent", best), ("thin", "muted", "the other methods"), *dashed)
    spec = charts.tradeoff(curve.points, title=curve.title, best=best, bounds=curve.bounds)
    lead = "With a smaller t, a class tells less about the people in it, and quasi-identifiers become less exact."
    chart = canvas.figure(spec, label=label, caption=caption, rows=figures, key=marks)
    return Section("tradeoff", "What protection costs", [element("p", lead), chart], "Trade-off")


def _methods(released: Sequence[Trial], policy: Policy, bound: float | None, canvas: Canvas) -> Section:
    label = "the share of detail that each method keeps"
    shares = [(trial.name, 1 - _lost(trial)) for trial in released if not trial.caveat]
    rows = [(name, percent(share)) for name, share in shares]
    figures = listing(label, ("method", "kept"), rows, numbers=1)
    caption = ["How much detail of the quasi-identifiers each method keeps under the policy; higher is better."]
    caption += (
        [] if bound is None else [" No release of one table, by whichever method, can reach beyond the dashed line."]
    )
    parts: list[Html] = []
    if shares:
        spec = charts.shares(shares, title="share of detail kept", most=None if bound is None else 1 - bound)
        parts.append(canvas.figure(spec, label=label, caption=caption, rows=figures))
    parts += _figures(released, policy)
    parts += [element("p", kept_classes(trial.name, trial.start)) for trial in released if trial.start is not None]
    if several := [trial.name for trial in released if trial.several_tables]:
        note = (
            f"{', '.join(several)}: a release of several tables, listed last. Its figures are not comparable: {SEVERAL}"
        )
        parts.append(element("p", element("strong", "Note: "), note, class_="note"))
    return Section("methods", "The methods side by side", parts, "Methods")


def _figures(released: Sequence[Trial], policy: Policy) -> list[Html]:
    """Return a table of every figure of every release, and what the figures are."""
    figures = figures_of(tuple(released), policy)
    rows = [(_marked(trial), *(figure.spelled(trial) or "–" for figure in figures)) for trial in released]
    titles = ("method", *(figure.title for figure in figures))
    table = listing("Every release", titles, rows, numbers=len(figures))
    return [table, words({figure.title: f"{figure.meaning}." for figure in figures if figure.meaning != figure.title})]


def _without_release(others: Sequence[Trial]) -> Section:
    rows = [(_marked(trial), trial.outcome, trial.reason) for trial in others]
    table = listing("Methods without a release, and why", ("method", "outcome", "reason"), rows, numbers=0)
    return Section("others", "Methods without a release", [table], "Without a release")


def _share(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:.4f}"


def _closeness(released: Sequence[Trial], policy: Policy) -> Section:
    limits = {name: spec.limit for name, spec in policy.required.items()}
    titles = [shown(name) + ("" if limit is None else f" ≤ {number(limit)}") for name, limit in limits.items()]
    rows = [(_marked(trial), *(_share(trial.closeness[name]) for name in limits)) for trial in released]
    caption = "The distance of the worst class from the whole table, from 0 (equal) to 1 (as far as possible)"
    table = listing(caption, ("method", *titles), rows, numbers=len(titles))
    notes = [element("p", f"The policy requires {nt_closeness(policy.supersets)}.")] if policy.supersets else []
    return Section("closeness", "The closeness that each method reaches", [table, *notes], "Closeness")
