"""Commands on the way to a release: init, anonymize, demo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from tclose import steps
from tclose.cli import show
from tclose.cli.options import FILE, as_json, force, method_options, policy_file, show_values
from tclose.cli.progress import Bar
from tclose.cli.signing import endorsement_of, endorsement_options
from tclose.cli.status import HOLDS
from tclose.cli.terminal import Console, Text, echo, echo_json, echo_lines
from tclose.errors import InputError
from tclose.policy import PROFILES, ProfileName
from tclose.policy.paths import without_password


@click.command()
@click.argument("table")
@policy_file
@click.option(
    "--out", type=FILE, required=True, help="The release to write: .csv, .parquet, .arrow, .xlsx, .dta or .sav."
)
@click.option("--method", help="How rows are split; see `tclose methods`. Without it, weave; mondrian for [presence].")
@click.option("--effort", type=click.Choice(["fast", "balanced", "best"]), help="How long weave searches.")
@click.option("--tables", type=click.IntRange(1), help="How many tables the method projections writes.")
@click.option("--base", help="The method that splits each table of projections, or makes the groups of permutation.")
@click.option("--option", "given", multiple=True, metavar="NAME=VALUE", help="An option of the method itself.")
@click.option(
    "--seed",
    type=click.IntRange(0),
    help="For tests: the same seed gives the same bytes. Anyone who guesses it can repeat the split.",
)
@click.option("--certificate", type=FILE, help="Write the certificate here: what was proved about the release.")
@click.option("--record", type=FILE, help="Write what --replay and apply need here, readable by you alone.")
@click.option("--replay", type=FILE, metavar="RECORD", help="Repeat the release that this record is of, byte for byte.")
@click.option("--room", default="0", metavar="SHARE", help="Leave this share of every t to rows that apply adds later.")
@click.option("--report", type=FILE, help="Write an HTML page about the release here.")
@click.option("--public", is_flag=True, help="Leave out of the page everything about the original table.")
@click.option(
    "--profile",
    type=click.Choice(PROFILES),
    help="Add a profile to the page: its requirements, filled with figures and with [context] of the policy.",
)
@click.option(
    "--guard-formulas", is_flag=True, help="Put ' before text that a spreadsheet would run; verify removes it again."
)
@click.option(
    "--format",
    "release_format",
    type=click.Choice(steps.RELEASE_FORMATS),
    default="text",
    show_default=True,
    help="Cells such as [20, 35] as text, or as typed columns: age_low, age_high, age_mid, lists, class, class_size.",
)
@click.option(
    "--part-rows", type=click.IntRange(1), metavar="N", help="Write a folder of Parquet files of N rows each."
)
@click.option(
    "--describe",
    type=click.Choice(list(steps.DESCRIPTIONS)),
    multiple=True,
    help="Describe the release in a file beside it; can be repeated.",
)
@click.option(
    "--engine",
    type=click.Choice(steps.PUBLISHING_ENGINES),
    default="auto",
    help="Where the release is made: in memory, or in parts: from disk, on Spark; auto takes disk from a million rows.",
)
@click.option(
    "--master", metavar="URL", help="The cluster of the engine spark: spark://HOST:7077, yarn, sc://HOST:15002."
)
@click.option("--resume", is_flag=True, help="Continue a run of the engine disk that was killed.")
@click.option("--bound", is_flag=True, help="Also prove how much of the detail every release must lose.")
@click.option(
    "--bound-seconds", type=float, metavar="N", help="Search for the bound for about this time; 60 seconds if absent."
)
@click.option(
    "--bound-proof", type=FILE, help="Write the proof of the bound here, readable by you alone; implies --bound."
)
@endorsement_options
@force
@show_values
@as_json
def anonymize(
    table: str,
    policy_file: Path,
    out: Path,
    method: str | None,
    effort: str | None,
    tables: int | None,
    base: str | None,
    given: tuple[str, ...],
    seed: int | None,
    certificate: Path | None,
    record: Path | None,
    replay: Path | None,
    room: str,
    report: Path | None,
    public: bool,
    profile: ProfileName | None,
    guard_formulas: bool,
    release_format: steps.ReleaseFormat,
    part_rows: int | None,
    describe: tuple[str, ...],
    engine: steps.PublishingEngine,
    master: str | None,
    resume: bool,
    bound: bool,
    bound_seconds: float | None,
    bound_proof: Path | None,
    force: bool,
    show_values: bool,
    as_json: bool,
    **endorsed: Any,
) -> int:
    """Publish TABLE so that it holds what the policy asks for.

    The rows are split into classes, and each class publishes one common value per quasi-identifier. The files appear
    once the release is proved; if anything goes wrong, none appears.
    """
    if public and report is None:
        raise click.UsageError("--public is about the page that --report writes")
    if profile is not None and report is None:
        raise click.UsageError("--profile is about the page that --report writes")
    if bound_seconds is not None and not bound and bound_proof is None:
        raise click.UsageError("--bound-seconds is about the bound that --bound searches for")
    if _says("room") and record is None and replay is None:
        raise click.UsageError(
            "--room is for rows that apply adds later, and apply needs the record: add --record FILE"
        )
    if replay is not None and _says("method", "engine", "effort", "base", "tables"):
        raise click.UsageError("--replay takes how the release is made from the record: leave such options out")
    options = method_options(method or steps.DEFAULT_METHOD, given, effort=effort, tables=tables, base=base)
    endorsement = endorsement_of(**endorsed)
    with Bar() as bar:
        publication = steps.anonymize(
            table,
            policy_file,
            out=out,
            certificate=certificate,
            record=record,
            replay=replay,
            room=room,
            report=report,
            public=public,
            profile=profile,
            guard_formulas=guard_formulas,
            method=method,
            options=options,
            seed=seed,
            bound=bound,
            bound_seconds=bound_seconds,
            bound_proof=bound_proof,
            part_rows=part_rows,
            describe=describe,
            engine=engine,
            master=master,
            resume=resume,
            endorsement=endorsement,
            release_format=release_format,
            force=force,
            progress=bar,
        )
    for note in publication.notes:
        show.show_warning(note)
    try:
        if as_json:
            echo_json(publication.to_dict())
        else:
            show.show_release(publication)
            if method is None and publication.certificate.presence is not None:
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
