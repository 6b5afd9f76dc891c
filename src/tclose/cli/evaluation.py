"""Commands that study methods and releases: compare, attack, methods, reproduce."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.cells import cell_len

from tclose import steps
from tclose.cli import show
from tclose.cli.options import FILE, as_json, force, request_options, show_values
from tclose.cli.process import HOLDS
from tclose.cli.terminal import Console, ProgressBar, ProgressBars, Table, Text, echo_answer, echo_json
from tclose.words import kept_classes, legible, nt_closeness, number, plain

if TYPE_CHECKING:
    from tclose.steps import Comparison, Method, Reproduction, Trial

# Methods, listed and side by side, as people see them


WIDEST_COMPARISON = 100  # columns of the list of methods
MARK = "†"  # behind a method whose releases have a caveat
STYLES = {"failed": "bold red", "stopped": "yellow"}


def show_comparison(comparison: Comparison) -> None:
    """Print a line for each method, the closeness that each reaches, and what the figures mean."""
    console = Console()
    released = comparison.released
    figures = steps.trial_figures(comparison)
    titles = [figure.short for figure in figures]
    _show_lines(console, comparison.trials, titles, lambda trial: [figure.spelled(trial) for figure in figures])
    if not released:
        console.print()
        console.print(Text("No method gave a release.", "bold red"))
        return
    for trial in released:
        if trial.start is not None:
            console.print(Text(kept_classes(trial.name, trial.start)))
    _show_closeness(console, comparison)
    _show_detail(console, released)
    _show_bound(console, comparison)
    legend = (f"{figure.short}: {figure.meaning}" for figure in figures if figure.meaning != figure.short)
    console.print()
    console.print(Text(f"{'; '.join(legend)}."))
    _show_ranking(console, comparison)


def _show_ranking(console: Console, comparison: Comparison) -> None:
    ranked = comparison.ranked
    if len(ranked) > 1:
        loss = "detail lost" if comparison.policy.loses_gcp else "the policy's loss"
        some = len(ranked) < sum(not trial.caveat for trial in comparison.released)
        each = ", each method by its best variant" if some else ""
        names = ", ".join(trial.name for trial in ranked)
        last = "; several tables come last" if any(trial.several_tables for trial in ranked) else ""
        console.print(Text(f"Ranked by {loss}, the least first{each}{last}: {names}."))


def _show_closeness(console: Console, comparison: Comparison) -> None:
    limits = {name: spec.limit for name, spec in comparison.policy.required.items()}
    if limits:
        titles = [legible(name) + ("" if limit is None else f" ≤ {number(limit)}") for name, limit in limits.items()]
        console.print()
        console.print("Distance of the worst class from the whole table, from 0 to 1:")
        _show_lines(
            console, comparison.released, titles, lambda trial: [_share(trial.closeness[name]) for name in limits]
        )
    if supersets := comparison.policy.supersets:
        console.print(Text(f"The policy requires {nt_closeness(supersets)}."))


def _show_bound(console: Console, comparison: Comparison) -> None:
    """Print how much detail every release must lose, if that was searched for."""
    if comparison.bound is not None:
        console.print()
        console.print(Text(comparison.bound.sentence))
        if comparison.bound.note:
            console.print(Text(f"Note: {comparison.bound.note}", "yellow"))


def _show_detail(console: Console, released: Sequence[Trial]) -> None:
    """Print how much detail each release keeps for analysts, if that was measured."""
    measured, measures = [trial for trial in released if trial.detail], steps.DETAIL_MEASURES
    if measured:
        console.print()
        console.print("Detail kept for analysts:")
        titles = [measure.name for measure in measures]
        _show_lines(console, measured, titles, lambda trial: [_share(trial.detail[name]) for name in titles])
        legend = (f"{measure.name}: {measure.title}, {measure.scale}" for measure in measures)
        console.print(Text(f"{'; '.join(legend)}."))


def _show_lines(
    console: Console, trials: Sequence[Trial], titles: Sequence[str], cells: Callable[[Trial], list[str]]
) -> None:
    """Print figures in columns; a method that gave none has its line for the reason instead."""
    table = [cells(trial) if trial.outcome == "released" else None for trial in trials]
    marked = {trial.name: f"{trial.name} {MARK}" for trial in trials if trial.caveat}
    names = [marked.get(trial.name, trial.name) for trial in trials]
    widths = [max(map(cell_len, column)) for column in zip(titles, *filter(None, table), strict=True)]
    first = max(len("method"), *map(len, names))
    console.print(Text(_line("method", first, titles, widths), "bold"), soft_wrap=True)
    for trial, name, row in zip(trials, names, table, strict=True):
        if row is not None:
            console.print(Text(_line(name, first, row, widths)), soft_wrap=True)
            continue
        grid = Table.grid(padding=(0, 2))
        grid.add_column(min_width=first)
        grid.add_row(name, Text(f"{trial.outcome}: {plain(trial.reason)}", STYLES.get(trial.outcome, "dim")))
        console.print(grid)
    for trial, row in zip(trials, table, strict=True):
        if trial.caveat and row is not None:
            console.print(Text(f"{MARK} {trial.name} {trial.caveat}, so it is not ranked with the others."))


def _line(name: str, first: int, cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (" " * (width - cell_len(cell)) + cell for cell, width in zip(cells, widths, strict=True))
    return "  ".join([name.ljust(first), *padded])


def _share(figure: float | None) -> str:
    return "" if figure is None else f"{figure:.4f}"


def show_methods(methods: Mapping[str, Method]) -> None:
    """Print the methods, one after the other, with what each can serve; lines are folded to fit."""
    console = Console()
    console.width = min(console.width, WIDEST_COMPARISON) if console.is_terminal else WIDEST_COMPARISON
    table = Table.grid(padding=(0, 2))
    for name, method in methods.items():
        table.add_row(Text(name, "bold"), Text(method.what))
        table.add_row("", Text(_about(method), "dim"))
    console.print(table)


def _about(method: Method) -> str:
    """Say who published a method, what it can serve and how its time grows."""
    how_many = "one sensitive attribute" if method.sensitive == "one" else "any number of sensitive attributes"
    every = method.distances == steps.ALL_DISTANCES
    distances = "all distances" if every else f"distances {', '.join(method.distances)}"
    parts = [f"{method.who}, {method.year}", how_many, distances, f"time grows as {method.growth}"]
    parts += ["publishes several tables"] if method.tables == "several" else []
    parts += [f"the policy must ask for {' or '.join(method.needs)}"] if method.needs else []
    parts += [f"--option {method.option}={'|'.join(method.choices)}"] if method.option else []
    parts += [f"variants {', '.join(f':{name}' for name in method.variants)}"] if method.variants else []
    return "; ".join(parts)


# Commands: attack, compare, methods


@click.command()
@click.argument("release")
@click.argument("second", required=False)
@request_options(steps.AttackRequest)
@show_values
@as_json
def attack(release: str, second: str | None, as_json: bool, **said: Any) -> int:
    """Measure what an adversary learns from RELEASE, beside the raw table and a table that is only k-anonymous.

    With a SECOND release of the same table, also measure what both reveal together.
    """
    with ProgressBar() as bar:
        attacks = steps.attack(release, second=second, progress=bar, **said)
    echo_answer(attacks, show.show_attacks, as_json=as_json)
    return HOLDS


@click.command()
@click.argument("table")
@request_options(steps.CompareRequest)
@force
@show_values
@as_json
def compare(table: str, as_json: bool, **said: Any) -> int:
    """Try every method on TABLE and show side by side what each would publish; no release is written.

    With --out, the methods that gave a release are tried again with other thresholds, for the page. With --bound, a
    lower bound is then searched for with each of them.
    """
    if said["bound_seconds"] is not None and not said["bound"]:
        raise click.UsageError("--bound-seconds is about the bound that --bound searches for")
    if said["out"] is None and said["levels"] is not None:
        raise click.UsageError("--levels is about the page that --out writes")
    with ProgressBars() as bars:
        tradeoff = steps.compare(table, progress=bars, **said)
    if as_json:
        echo_json(tradeoff.comparison.to_dict() if said["out"] is None else tradeoff.to_dict())
    else:
        show_comparison(tradeoff.comparison)
    return tradeoff.comparison.exit_status


@click.command()
@as_json
def methods(as_json: bool) -> int:
    """List the methods: what each does, who published it, and which policies it can serve."""
    if as_json:
        echo_json({"methods": [{"name": name, **asdict(method)} for name, method in steps.methods().items()]})
    else:
        show_methods(steps.methods())
    return HOLDS


# The papers' experiments, with every figure beside ours


DATA = Path("..") / "shared" / "data"
HEADINGS = ("figure", "paper", "ours", "remark")
WIDEST_REPRODUCTION = 120  # columns of a table where the output is no terminal


@click.command()
@click.argument("name")
@click.option("--data", type=FILE, default=DATA, show_default=True, help="The folder with the tables of the papers.")
@click.option("--out", type=FILE, help="Write an HTML page here, with charts.")
@force
@as_json
def reproduce(name: str, data: Path, out: Path | None, force: bool, as_json: bool) -> int:
    """Run the experiments of a paper again and show its figures beside ours; no release is written.

    NAME is li-2007, weber, liang-yuan, soria-comas or all.
    """
    with ProgressBar() as bar:
        found = steps.reproduce(name, data=data, out=out, force=force, progress=bar)
    echo_answer(found, partial(_show_reproduction, out=out), as_json=as_json)
    return HOLDS


def _show_reproduction(found: Reproduction, out: Path | None) -> None:
    """Print every table, experiment by experiment."""
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, WIDEST_REPRODUCTION)
    for outcome in found.outcomes:
        about = outcome.experiment
        console.print(Text(f"{about.title} ({about.name})", "bold"))
        console.print(Text(f"{about.paper}. It took {number(round(outcome.seconds, 1))} seconds."))
        for part in outcome.parts:
            console.print()
            console.print(Text(part.title, "bold"))
            console.print(Text(part.text))
            rows = [(figure.what, figure.paper, figure.ours, figure.remark) for figure in part.figures]
            console.print(_paper_table(rows))
        console.print()
    if out is not None:
        console.print(Text(f"Page: {out}"))


def _paper_table(rows: Sequence[Sequence[str]]) -> Table:
    """Return figures in columns; remarks have one if there are any."""
    columns = len(HEADINGS) if any(row[-1] for row in rows) else len(HEADINGS) - 1
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in HEADINGS[:columns]:
        table.add_column(Text(heading), overflow="fold")
    for row in rows:
        table.add_row(*row[:columns])
    return table
