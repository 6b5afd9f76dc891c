"""Methods, listed and side by side, as people see them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tclose.cli.show import plain
from tclose.compare.comparison import Comparison
from tclose.compare.trial import Trial
from tclose.partition import Method
from tclose.partition.registry import ALL_DISTANCES
from tclose.words import number

FIGURES: dict[str, Callable[[Trial], str]] = {
    "classes": lambda trial: f"{trial.classes:,}",
    "average": lambda trial: f"{trial.average_class:,.1f}",
    "smallest": lambda trial: f"{trial.smallest_class:,}",
    "withheld": lambda trial: f"{trial.withheld:,}",
    "GCP": lambda trial: _share(trial.gcp),
    "SSE": lambda trial: _share(trial.sse),
    "discern.": lambda trial: f"{trial.discernibility:.2e}",
    "queries": lambda trial: _share(trial.query_error),
    "s": lambda trial: f"{trial.seconds:.1f}",
    "MB": lambda trial: "" if trial.peak_megabytes is None else f"{trial.peak_megabytes:,.0f}",
}
STYLES = {"failed": "bold red", "stopped": "yellow"}
LEGEND = (
    "Rows per class: average and smallest. GCP: detail lost; SSE: squared error kept within classes; discern.: "
    "discernibility; queries: median relative error of counts. Lower is better. s and MB: of this method's own run."
)


def show_comparison(comparison: Comparison) -> None:
    """Print a line for each method, the closeness that each reaches, and what the figures mean."""
    console = Console(highlight=False)
    released = comparison.released
    shown = [title for title in FIGURES if title != "withheld" or any(trial.withheld for trial in released)]
    asked = {name: spec.t for name, spec in comparison.policy.sensitive.items()}
    _show_lines(console, comparison.trials, shown, lambda trial: [FIGURES[title](trial) for title in shown])
    if released and asked:
        titles = [plain(name) + ("" if t is None else f" ≤ {number(t)}") for name, t in asked.items()]
        console.print("\nCloseness reached:")
        _show_lines(console, released, titles, lambda trial: [f"{trial.closeness[name]:.4f}" for name in asked])
    console.print(Text(f"\n{LEGEND}" if released else "\nNo method gave a release.", "" if released else "bold red"))


def _show_lines(
    console: Console, trials: Sequence[Trial], titles: Sequence[str], cells: Callable[[Trial], list[str]]
) -> None:
    """Print figures in columns; a method that gave none has its line for the reason instead."""
    table = [cells(trial) if trial.outcome == "released" else None for trial in trials]
    widths = [max(map(cell_len, column)) for column in zip(titles, *filter(None, table), strict=True)]
    first = max(len("method"), *(len(trial.name) for trial in trials))
    console.print(Text(_line("method", first, titles, widths), "bold"), soft_wrap=True)
    for trial, row in zip(trials, table, strict=True):
        if row is not None:
            console.print(Text(_line(trial.name, first, row, widths)), soft_wrap=True)
            continue
        grid = Table.grid(padding=(0, 2))
        grid.add_column(min_width=first)
        grid.add_row(trial.name, Text(f"{trial.outcome}: {plain(trial.reason)}", STYLES.get(trial.outcome, "dim")))
        console.print(grid)


def _line(name: str, first: int, cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (" " * (width - cell_len(cell)) + cell for cell, width in zip(cells, widths, strict=True))
    return "  ".join([name.ljust(first), *padded])


def _share(figure: float | None) -> str:
    return "" if figure is None else f"{figure:.4f}"


def show_methods(methods: Mapping[str, Method]) -> None:
    """Print the methods, one after the other, with what each can serve: a line each, folded to fit a terminal."""
    console = Console(highlight=False)
    if not console.is_terminal:
        for name, method in methods.items():
            console.print(Text(f"{name:16}  {method.what}; {_about(method)}"), soft_wrap=True)
        return
    table = Table.grid(padding=(0, 2))
    for name, method in methods.items():
        table.add_row(Text(name, "bold"), Text(method.what))
        table.add_row("", Text(_about(method), "dim"))
    console.print(table)


def _about(method: Method) -> str:
    """Say whose a method is, what it can serve and how its time grows."""
    how_many = "one sensitive attribute" if method.sensitive == "one" else "any number of sensitive attributes"
    distances = "all distances" if method.distances == ALL_DISTANCES else f"distances {', '.join(method.distances)}"
    told = [f"{method.who}, {method.year}", how_many, distances, f"time grows as {method.growth}"]
    told += [] if method.tables == "one" else ["publishes several tables"]
    told += [f"the policy must ask for {' or '.join(method.needs)}"] if method.needs else []
    option = [f"--option {method.option}={'|'.join(method.choices)}"] if method.option else []
    return "; ".join(told + option)
