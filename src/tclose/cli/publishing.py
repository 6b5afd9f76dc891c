"""Commands on the way to a release: init, anonymize, demo."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from tclose import steps
from tclose.cli import show
from tclose.cli.options import FILE, as_json, force, method_options, policy_file, show_values
from tclose.cli.progress import Bar
from tclose.cli.requesting import request_options
from tclose.cli.signing import ENDORSED, endorsement_of, endorsement_options
from tclose.cli.status import HOLDS
from tclose.cli.terminal import Console, Text, echo, echo_json, echo_lines
from tclose.errors import InputError
from tclose.policy.paths import without_password


@click.command()
@click.argument("table")
@policy_file
@request_options
@endorsement_options
@force
@show_values
@as_json
def anonymize(
    table: str,
    policy_file: Path,
    effort: str | None,
    tables: int | None,
    base: str | None,
    given: tuple[str, ...],
    as_json: bool,
    **said: Any,
) -> int:
    """Publish TABLE so that it holds what the policy asks for.

    The rows are split into classes, and each class publishes one common value per quasi-identifier. The files appear
    once the release is proved; if anything goes wrong, none appears.
    """
    said.pop("show_values")  # which the whole command line knows
    endorsed = {name: said.pop(name) for name in ENDORSED}
    request = steps.Request(table=table, policy=policy_file, **said)
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
    options = method_options(method, given, effort=effort, tables=tables, base=base)
    with Bar() as bar:
        publication = steps.publish(replace(request, options=options, endorsement=endorsement_of(**endorsed)), bar)
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
        raise InputError(f"the release is complete, but the answer cannot be written: {error.strerror}") from None
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
    with Bar() as bar:
        shown = steps.demo(folder=out, rows=rows, seed=seed, force=force, progress=bar)
    if as_json:
        echo_json(shown.to_dict())
        return HOLDS
    table, policy, publication = shown.table, shown.policy, shown.publication
    echo(f"A hospital table with {rows:,} invented patients: {table}")
    echo(f"Its policy: {policy}")
    _command(f"tclose check {table} --policy {policy}")
    show.show_check(shown.before)
    echo("")
    echo("So it must not be published as it is: leaving out names and numbers is not enough.")
    files = f"--out {publication.out} --certificate {publication.certificate_file}"
    _command(f"tclose anonymize {table} --policy {policy} {files}")
    show.show_release(publication)
    _command(f"tclose verify {publication.out} --certificate {publication.certificate_file}")
    show.show_verification(shown.verification)
    return HOLDS


def _command(line: str) -> None:
    echo("")
    Console().print(Text(f"$ {line}", "bold"), soft_wrap=True)
    echo("")
