"""The command reproduce: the papers' experiments, with every figure beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tclose import steps
from tclose.cli.options import FILE, as_json, force
from tclose.cli.progress import Bar
from tclose.cli.status import HOLDS
from tclose.cli.terminal import Console, Table, Text, echo_json
from tclose.words import number

if TYPE_CHECKING:
    from tclose.steps import Reproduction

DATA = Path("..") / "shared" / "data"
HEADINGS = ("figure", "paper", "ours", "remark")
WIDEST = 120  # columns of a table where the output is no terminal


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
    with Bar() as bar:
        found = steps.reproduce(name, data=data, out=out, force=force, progress=bar)
    if as_json:
        echo_json(found.to_dict())
    else:
        _show(found, out)
    return HOLDS


def _show(found: Reproduction, out: Path | None) -> None:
    """Print every table, experiment by experiment."""
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, WIDEST)
    for outcome in found.outcomes:
        about = outcome.experiment
        console.print(Text(f"{about.title} ({about.name})", "bold"))
        console.print(Text(f"{about.paper}. It took {number(round(outcome.seconds, 1))} seconds."))
        for part in outcome.parts:
            console.print()
            console.print(Text(part.title, "bold"))
            console.print(Text(part.text))
            rows = [(figure.what, figure.paper, figure.ours, figure.remark) for figure in part.figures]
            console.print(_table(rows))
        console.print()
    if out is not None:
        console.print(Text(f"Page: {out}"))


def _table(rows: Sequence[Sequence[str]]) -> Table:
    """Return figures in columns; remarks have one if there are any."""
    columns = len(HEADINGS) if any(row[-1] for row in rows) else len(HEADINGS) - 1
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in HEADINGS[:columns]:
        table.add_column(Text(heading), overflow="fold")
    for row in rows:
        table.add_row(*row[:columns])
    return table
