"""The command that lets new rows join a release."""

from __future__ import annotations

from pathlib import Path

import click

from tclose import steps
from tclose.cli.options import FILE, as_json, force, show_values
from tclose.cli.progress import Bar
from tclose.cli.status import HOLDS
from tclose.cli.terminal import echo, echo_json
from tclose.words import counted


@click.command()
@click.argument("record", type=FILE)
@click.argument("table")
@click.option(
    "--out",
    type=FILE,
    required=True,
    help="The new release, with all rows: .csv, .parquet, .arrow, .xlsx, .dta or .sav.",
)
@click.option("--release", type=FILE, help="The release that the record is of, if it does not lie beside it.")
@click.option("--certificate", type=FILE, help="Write the certificate here; it names the certificate before it.")
@click.option("--record", "new_record", type=FILE, help="Write the record here that takes the next batch.")
@click.option("--waiting", type=FILE, help="Write the rows that have to wait here, readable by you alone.")
@click.option("--seed", type=click.IntRange(0), help="For tests: the same seed gives the same bytes.")
@force
@show_values
@as_json
def apply(
    record: Path,
    table: str,
    out: Path,
    release: Path | None,
    certificate: Path | None,
    new_record: Path | None,
    waiting: Path | None,
    seed: int | None,
    force: bool,
    show_values: bool,
    as_json: bool,
) -> int:
    """Add the rows of TABLE to the release that RECORD is of.

    Published rows stay as they are. New rows join classes whose cells cover them, or form new classes, in groups that
    hold what the policy asks for by themselves, so that subtracting two releases reveals no more. The others wait.
    """
    with Bar() as bar:
        applied = steps.apply(
            record,
            table,
            out=out,
            release=release,
            certificate=certificate,
            new_record=new_record,
            waiting=waiting,
            seed=seed,
            force=force,
            progress=bar,
        )
    if as_json:
        echo_json(applied.to_dict())
    else:
        _show(applied)
    return HOLDS


def _show(applied: steps.Applied) -> None:
    """Say what became of the new rows."""
    if applied.out is None:
        echo(f"None of {counted(applied.given, 'new row')} can join yet, so no release was written: all of them wait.")
    else:
        added, formed = applied.joined + applied.formed, counted(applied.classes_formed, "new class")
        parts = [f"{applied.joined:,} joined classes"] if applied.joined else []
        parts += [f"{applied.formed:,} form {formed}"] if applied.formed else []
        told = f"{added:,} of {counted(applied.given, 'new row')} are in {applied.out}: {', '.join(parts)}"
        echo(f"{told}. {applied.waiting:,} wait.")
        echo("The release, and its difference from every earlier one, hold what the policy asks for.")
    if applied.waiting_file is not None:
        echo(f"The rows that wait are in {applied.waiting_file}: add them to the next batch.")
    elif applied.waiting:
        echo("Keep the rows that wait for the next batch: --waiting FILE writes them.")
