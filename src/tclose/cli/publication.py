"""Commands on the way to a release: init, anonymize, demo, apply."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from tclose import steps
from tclose.cli import show
from tclose.cli.options import FILE, as_json, force, method_options, request_options, show_values
from tclose.cli.process import HOLDS
from tclose.cli.terminal import Console, ProgressBar, Text, echo, echo_answer, echo_json, echo_lines
from tclose.cli.verification import ENDORSED, endorsement_of, endorsement_options
from tclose.errors import InputError
from tclose.policy.settings import without_password
from tclose.words import counted


@click.command()
@click.argument("table")
@request_options(steps.Request)
@endorsement_options
@force
@show_values
@as_json
def anonymize(
    table: str,
    effort: str | None,
    tables: int | None,
    base: str | None,
    options: tuple[str, ...],
    as_json: bool,
    **said: Any,
) -> int:
    """Publish TABLE so that it holds what the policy asks for.

    The rows are split into classes, and each class publishes one common value per quasi-identifier. The files appear
    once the release is proved; if anything goes wrong, none appears.
    """
    endorsed = {name: said.pop(name) for name in ENDORSED}
    request = steps.Request(table=table, **said)
    if request.public and request.report is None:
        raise click.UsageError("--public is about the page that --report writes")
    if request.profile is not None and request.report is None:
        raise click.UsageError("--profile is about the page that --report writes")
    if request.bound_seconds is not None and not request.asks_bound:
        raise click.UsageError("--bound-seconds is about the bound that --bound searches for")
    if _says("room") and request.record is None and request.replay is None:
        raise click.UsageError(
            "--room is for rows that apply adds later, and apply needs the record: add --record FILE"
        )
    if request.replay is not None and _says("method", "engine", "effort", "base", "tables"):
        raise click.UsageError("--replay takes how the release is made from the record: leave such options out")
    method = request.method or steps.DEFAULT_METHOD
    told = method_options(method, options, effort=effort, tables=tables, base=base)
    with ProgressBar() as bar:
        publication = steps.publish(replace(request, options=told, endorsement=endorsement_of(endorsed)), bar)
    for note in publication.notes:
        show.show_warning(note)
    try:
        if as_json:
            echo_json(publication.to_dict())
        else:
            show.show_release(publication)
            if request.method is None and publication.certificate.presence is not None:
                show.show_method_of_presence(publication.certificate.method)
    except OSError as error:
        raise InputError(
            "the release is complete, but the answer cannot be written: {why}", why=error.strerror
        ) from None
    return HOLDS


def _says(*names: str) -> bool:
    """Tell whether one of these options stands on the command line."""
    source = click.get_current_context().get_parameter_source
    return any(source(name) is ParameterSource.COMMANDLINE for name in names)


@click.command()
@click.argument("table")
@click.option("--out", type=FILE, help="Write the draft to this file instead of to the terminal.")
@force
@as_json
def init(table: str, out: Path | None, force: bool, as_json: bool) -> int:
    """Draft a policy for TABLE: the role of each column is guessed and explained; every t is left to you.

    A column that seems to identify rows or persons is drafted as an identifier, which is never published. A draft
    without a sensitive column is said to be one: nothing limits then what a class tells.
    """
    draft = steps.init(table, out=out, force=force)
    for sentence in draft.warnings:
        show.show_warning(sentence)
    if as_json:
        echo_json(draft.to_dict())
    elif out is None:
        echo_lines(draft.policy)
    else:
        shown = without_password(table)
        echo(f"Wrote {out}. Read every guess, choose every t, then: tclose check {shown} --policy {out}")
    return HOLDS


@click.command()
@click.option(
    "--rows", type=click.IntRange(1, 50_000_000), default=20_000, show_default=True, help="How many patients there are."
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=7, show_default=True, help="The same seed makes the same table."
)
@click.option(
    "--out", type=FILE, default=Path("tclose-demo"), show_default=True, help="The folder to write everything into."
)
@force
@as_json
def demo(rows: int, seed: int, out: Path, force: bool, as_json: bool) -> int:
    """Make a hospital table with invented patients, show why it cannot be published as it is, and publish it."""
    with ProgressBar() as bar:
        shown = steps.demo(folder=out, rows=rows, seed=seed, force=force, progress=bar)
    if as_json:
        echo_json(shown.to_dict())
        return HOLDS
    table, policy, publication = shown.table, shown.policy, shown.publication
    echo(f"A hospital table with {rows:,} invented patients: {table}")
    echo(f"Its policy: {policy}")
    _command(shlex.join(["tclose", "check", str(table), "--policy", str(policy)]))
    show.show_check(shown.before)
    echo("")
    echo("So it must not be published as it is: leaving out names and numbers is not enough.")
    out, certificate = publication.out, publication.certificate_file
    asked = steps.Request(table=table, policy=policy, out=out, certificate=certificate, engine="auto")
    _command(steps.command_line(asked))
    show.show_release(publication)
    _command(shlex.join(["tclose", "verify", str(out), "--certificate", str(certificate)]))
    show.show_verification(shown.verification)
    return HOLDS


def _command(line: str) -> None:
    echo("")
    Console().print(Text(f"$ {line}", "bold"), soft_wrap=True)
    echo("")


@click.command()
@click.argument("record", type=FILE)
@click.argument("table")
@request_options(steps.ApplyRequest)
@force
@show_values
@as_json
def apply(record: Path, table: str, as_json: bool, **said: Any) -> int:
    """Add the rows of TABLE to the release that RECORD is of.

    Published rows stay as they are. New rows join classes whose cells cover them, or form new classes, in groups that
    hold what the policy asks for by themselves, so that subtracting two releases reveals no more. The others wait.
    """
    with ProgressBar() as bar:
        applied = steps.apply(record, table, progress=bar, **said)
    echo_answer(applied, _show_applied, as_json=as_json)
    return HOLDS


def _show_applied(applied: steps.Applied) -> None:
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
