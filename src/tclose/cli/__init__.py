"""The command line. Exit status 0: it holds; 1: it does not; 2: bad usage or input; 130: interrupted; 70: a bug."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from tclose.cli import listing
from tclose.cli import show as talk
from tclose.cli.progress import Bar, Bars
from tclose.compare.comparison import LIMIT_SECONDS, entries
from tclose.compare.tradeoff import LEVELS
from tclose.compare.tradeoff import tradeoff as try_levels
from tclose.engine import doctor as health
from tclose.engine.memory import ANONYMIZER
from tclose.engine.memory import anonymize as publish
from tclose.engine.memory import attack as attack_release
from tclose.engine.memory import check as judge
from tclose.engine.memory import explain as account
from tclose.errors import Infeasible, InputError, LeakWarning, PolicyError, TcloseError
from tclose.measure.attack import Attacks
from tclose.partition import DEFAULT_METHOD, METHODS
from tclose.partition.options import from_texts
from tclose.policy import Policy
from tclose.policy import draft as drafting
from tclose.recode.guard import unguarded
from tclose.release.certificate import Certificate
from tclose.release.files import check_targets, format_of
from tclose.release.layouts import possible_marks, sibling
from tclose.release.release import Release
from tclose.release.verify import verify as verify_release
from tclose.report.charts import libraries as report_libraries
from tclose.table import read

HOLDS, FAILS, BAD, INTERRUPTED, BUG = 0, 1, 2, 130, 70

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def main() -> None:
    """Run tclose and turn every outcome into its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # ≤ must not break a console that has no ≤
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command; return the exit status."""
    warnings.showwarning = talk.show_warning
    warnings.simplefilter("always", LeakWarning)
    try:
        return int(cli.main(arguments or ["--help"], prog_name="tclose", standalone_mode=False) or HOLDS)
    except TcloseError as error:
        talk.show_error(error, show_values="--show-values" in arguments)
        return error.exit_status
    except click.ClickException as error:
        talk.show_misuse(error)
        return BAD
    except (click.Abort, KeyboardInterrupt):
        sys.stderr.write("interrupted\n")
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):  # the reader went away, as `head` does; click and rich would exit with 1
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BAD
    except OSError as error:
        what = f"{error.filename}: " if error.filename else "the answer cannot be written: "
        sys.stderr.write(f"error: {what}{error.strerror or type(error).__name__}\n")
        return BAD
    except MemoryError:
        sys.stderr.write("error: the table does not fit into memory\n")
        return BAD
    except BaseException as error:  # a bug must never look like an answer; polars panics with a BaseException
        talk.show_bug(error)
        return BUG


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tclose")
def cli() -> None:
    """Publish tables about people with a guarantee: (t₁,…,tₙ)-closeness, judged exactly."""


def policy_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the ways to say what is asked for."""
    for option in (
        click.option("--show-values", is_flag=True, help="Let error messages quote cells."),
        click.option("--k", type=int, help="Smallest class, with --qi."),
        click.option("--distance", multiple=True, metavar="COLUMN=NAME", help="A column's distance, with --sensitive."),
        click.option("--sensitive", multiple=True, metavar="COLUMN=T", help="A sensitive column and its t, with --qi."),
        click.option("--qi", metavar="A,B", help="Quasi-identifiers; other columns are then ignored."),
        click.option("--policy", "policy_file", type=click.Path(path_type=Path), help="A policy in TOML."),
    ):
        command = option(command)
    return command


@cli.command()
@click.argument("table")
@policy_options
@as_json
def check(table: str, as_json: bool, **asked: Any) -> int:
    """Tell whether TABLE (CSV, Parquet, Arrow; - is standard input) holds what is asked for."""
    with Bar() as bar:
        policy, ignore_others = _policy(**asked)
        bar(0.0, "reading")
        result = judge(read(table), policy, ignore_others=ignore_others, progress=bar)
    if as_json:
        _print(result.to_dict())
    else:
        talk.show_check(result)
    return HOLDS if result.satisfied else FAILS


@cli.command()
@click.argument("table")
@policy_options
@click.option("--attribute", required=True, help="The sensitive attribute.")
@click.option("--class", "class_number", type=int, required=True, help="The class, counted from 1.")
@as_json
def explain(table: str, attribute: str, class_number: int, as_json: bool, **asked: Any) -> int:
    """Show the optimal moves of earth that turn a class's distribution into the table's."""
    policy, _ = _policy(**asked)
    explanation = account(read(table), policy, attribute=attribute, class_number=class_number)
    if as_json:
        _print(explanation.to_dict())
    else:
        talk.show_explanation(explanation)
    return HOLDS


@cli.command()
@click.argument("table")
@click.option("--policy", "policy_file", type=click.Path(path_type=Path), required=True, help="A policy in TOML.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The release: .csv, .parquet or .arrow.")
@click.option("--method", default=DEFAULT_METHOD, show_default=True, help="How rows are split into classes.")
@click.option("--effort", type=click.Choice(["fast", "balanced", "best"]), help="How hard weave tries.")
@click.option("--tables", type=click.IntRange(1), help="How many projections; else what is related stays together.")
@click.option("--base", help="How projections are split.")
@click.option("--option", "given", multiple=True, metavar="NAME=VALUE", help="An option of the method's own.")
@click.option(
    "--seed",
    type=click.IntRange(0),
    help="For tests: the same seed gives the same bytes, and who guesses it can replay.",
)
@click.option("--certificate", type=click.Path(path_type=Path), help="Write what was proved here.")
@click.option("--record", type=click.Path(path_type=Path), help="Write the seed here, readable by you alone.")
@click.option("--report", type=click.Path(path_type=Path), help="Write a page here that shows the release, as HTML.")
@click.option("--public", is_flag=True, help="Leave out of the page what is about the raw table.")
@click.option(
    "--guard-formulas", is_flag=True, help="Put ' before text that a spreadsheet would run; verify takes it away again."
)
@click.option("--show-values", is_flag=True, help="Let error messages quote cells.")
@as_json
def anonymize(
    table: str,
    policy_file: Path,
    out: Path,
    method: str,
    effort: str | None,
    tables: int | None,
    base: str | None,
    given: tuple[str, ...],
    seed: int | None,
    certificate: Path | None,
    record: Path | None,
    report: Path | None,
    public: bool,
    guard_formulas: bool,
    show_values: bool,
    as_json: bool,
) -> int:
    """Publish TABLE so that it holds what the policy asks for; the release appears once it is proved."""
    policy, source = Policy.load(policy_file), Path("/dev/stdin" if table == "-" else table)
    format_of(out)
    options = _options(method, given, effort=effort, tables=tables, base=base)
    files = [sibling(out, mark) for mark in possible_marks(method, len(policy.sensitive))]
    if public and report is None:
        raise click.UsageError("--public is about the page that --report writes")
    if report is not None:
        report_libraries()  # what is missing is told before the work begins
    targets = [path for path in (*files, certificate, record, report) if path]
    check_targets(targets, [source, policy_file, *policy.files])
    with Bar() as bar:
        frame = read(table)
        release = publish(frame, policy, method=method, seed=seed, progress=bar, **options)
        if report is None:
            del frame  # the file is read back whole before it gets its name: make room
        proof = release.write(out, certificate=certificate, record=record, guard_formulas=guard_formulas)
        if report is not None:
            bar(1.0, "report")
            _report(report, release, frame, policy, proof, public=public)
    if as_json:
        _print({"release": str(out), **proof.content, "digest": proof.digest})
    else:
        talk.show_release(out, certificate, proof)
    return HOLDS


@cli.command()
@click.argument("release")
@click.option("--certificate", type=click.Path(path_type=Path), required=True, help="What was proved about it.")
@click.option("--digest", help="The certificate's digest, as it reached you another way.")
@click.option("--show-values", is_flag=True, help="Let error messages quote cells.")
@as_json
def verify(release: str, certificate: Path, digest: str | None, show_values: bool, as_json: bool) -> int:
    """Judge RELEASE again from its published values and compare with its certificate; the original is not needed."""
    with Bar() as bar:
        bar(0.0, "judging")
        found = verify_release(release, certificate, digest=digest)
    if as_json:
        _print(found.to_dict())
    else:
        talk.show_verification(found)
    return HOLDS if found.holds else FAILS


@cli.command()
@click.argument("release")
@click.argument("second", required=False)
@click.option("--original", required=True, metavar="TABLE", help="The table that was published.")
@click.option("--policy", "policy_file", type=click.Path(path_type=Path), required=True, help="A policy in TOML.")
@click.option("--register", metavar="FILE", help="People whom the adversary knows; without it, those of the table.")
@click.option("--method", default=ANONYMIZER, show_default=True, help="Makes the k-anonymous table to compare with.")
@click.option("--guard-formulas", is_flag=True, help="The release was written with --guard-formulas.")
@click.option("--show-values", is_flag=True, help="Let error messages quote cells.")
@as_json
def attack(
    release: str,
    second: str | None,
    original: str,
    policy_file: Path,
    register: str | None,
    method: str,
    guard_formulas: bool,
    show_values: bool,
    as_json: bool,
) -> int:
    """Tell what an adversary gets out of RELEASE, beside what the raw and a merely k-anonymous table would give.

    With a SECOND release of the same table, also what both tell together.
    """
    policy = Policy.load(policy_file)

    def published(path: str) -> Any:
        return unguarded(read(path)) if guard_formulas else read(path)

    with Bar() as bar:
        found = attack_release(
            published(release),
            original=read(original),
            policy=policy,
            second=None if second is None else published(second),
            register=None if register is None else read(register),
            method=method,
            progress=bar,
        )
    if as_json:
        _print(found.to_dict())
    else:
        talk.show_attacks(found)
    return HOLDS


@cli.command()
@click.argument("table")
@click.option("--out", type=click.Path(path_type=Path), help="Write the draft here instead of to stdout.")
@as_json
def init(table: str, out: Path | None, as_json: bool) -> int:
    """Draft a policy for TABLE: roles and kinds are guessed and explained, t is left to you."""
    frame = read(table)
    text = drafting.draft(frame)
    if out is not None:
        _write_new(out, text)
    if as_json:
        _print({"policy": text, "columns": [guess.to_dict() for guess in drafting.guess(frame)]})
    elif out is None:
        click.echo(text, nl=False)
    else:
        click.echo(f"Wrote {out}. Read every guess, choose every t, then: tclose check {table} --policy {out}")
    return HOLDS


@cli.command()
@click.argument("table")
@click.option("--policy", "policy_file", type=click.Path(path_type=Path), required=True, help="A policy in TOML.")
@click.option("--methods", "named", metavar="A,B", help="Some methods, such as weave,weave:fast; all if absent.")
@click.option(
    "--limit", type=float, default=LIMIT_SECONDS, show_default=True, metavar="SECONDS", help="Stop a method after this."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The chance that all methods share.")
@click.option("--out", type=click.Path(path_type=Path), help="Write a page here, with what protection costs, as HTML.")
@click.option(
    "--levels", metavar="A,B", help="For the page: try every t this many times as large; 0.5,1,1.5,2 if absent."
)
@click.option("--show-values", is_flag=True, help="Let error messages quote cells.")
@as_json
def compare(
    table: str,
    policy_file: Path,
    named: str | None,
    limit: float,
    seed: int,
    out: Path | None,
    levels: str | None,
    show_values: bool,
    as_json: bool,
) -> int:
    """Try every method on TABLE and show side by side what each would publish; no release is written.

    With --out, those that gave a release are tried again with other thresholds, for the page.
    """
    policy, methods = Policy.load(policy_file), None if named is None else _columns(named)
    entries(methods)  # a misspelt name is told before the table is read
    if out is None and levels is not None:
        raise click.UsageError("--levels is about the page that --out writes")
    if out is not None:
        report_libraries()
        check_targets([out], [Path("/dev/stdin" if table == "-" else table), policy_file, *policy.files])
    tried = _levels(levels) if out is not None else ()
    with Bars() as bars:
        found = try_levels(read(table), policy, methods=methods, levels=tried, limit=limit, seed=seed, progress=bars)
    comparison = found.comparison
    if out is not None:
        found.report(out)
    if as_json:
        _print(comparison.to_dict() if out is None else found.to_dict())
    else:
        listing.show_comparison(comparison)
    return comparison.exit_status


@cli.command()
@as_json
def methods(as_json: bool) -> int:
    """List the methods: what each does, whose it is, and what it can serve."""
    if as_json:
        _print({"methods": [{"name": name, **asdict(method)} for name, method in METHODS.items()]})
    else:
        listing.show_methods(METHODS)
    return HOLDS


@cli.command()
@as_json
def doctor(as_json: bool) -> int:
    """Tell what this installation has and what could be added."""
    found = health.examine()
    if as_json:
        _print(found)
        return HOLDS if found["healthy"] else BAD
    click.echo(f"tclose {found['tclose']} on Python {found['python']}, {found['system']}, {found['cores']} cores")
    for name, version in {**found["needed"], **found["extras"]}.items():
        click.echo(f"  {name:12} {version or 'not installed'}")
    for line in health.advice(found):
        click.echo(line)
    return HOLDS if found["healthy"] else BAD


@cli.command()
@click.option("--rows", type=click.IntRange(1, 50_000_000), default=20_000, show_default=True)
@click.option("--seed", type=int, default=7, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=Path("tclose-demo"), show_default=True)
@as_json
def demo(rows: int, seed: int, out: Path, as_json: bool) -> int:
    """Write a made-up hospital table with its policy, and show why it may not be published as it is."""
    from tclose.examples.demo import play

    return play(rows=rows, seed=seed, folder=out, as_json=as_json)


def _policy(
    *,
    policy_file: Path | None,
    qi: str | None,
    sensitive: tuple[str, ...],
    distance: tuple[str, ...],
    k: int | None,
    show_values: bool,
) -> tuple[Policy, bool]:
    """Return what is asked for, and whether other columns are ignored."""
    if policy_file is not None:
        if qi is not None or sensitive or distance or k is not None:
            raise click.UsageError("say either --policy, or --qi with --sensitive, not both")
        return Policy.load(policy_file), False
    if not qi or not (sensitive or k is not None):
        raise click.UsageError("say what is asked for: --policy FILE, or --qi a,b --sensitive x=0.2")
    columns: dict[str, dict[str, str]] = {name: {"t": t} for name, t in (_pair(text, "t") for text in sensitive)}
    if len(columns) < len(sensitive):
        raise PolicyError("a column is named twice by --sensitive: name it once")
    for name, kind in (_pair(text, "distance") for text in distance):
        if name not in columns:
            raise PolicyError(f"--distance names '{name}', which --sensitive does not")
        columns[name]["distance"] = kind
    settings: dict[str, Any] = {"quasi": _columns(qi), "sensitive": columns}
    return Policy.from_dict(settings if k is None else {**settings, "k": k}), True


def _levels(text: str | None) -> Sequence[Fraction]:
    """Return by how much every t is multiplied for the page."""
    if text is None:
        return LEVELS
    try:
        return [Fraction(level.strip()) for level in text.split(",")]
    except (ValueError, ZeroDivisionError):
        raise click.UsageError("expected numbers with commas between them, as in --levels 0.5,1,2") from None


def _report(path: Path, release: Release, frame: Any, policy: Policy, proof: Certificate, *, public: bool) -> None:
    """Make the page of a release that is written already: what fails here must not take it away."""
    try:
        found = _attacks(release, frame, policy)
        release.report(path, original=frame, attacks=found, certificate=proof, public=public)
    except MemoryError:
        raise InputError("the release is written, but its page does not fit into memory: leave out --report") from None


def _attacks(release: Release, frame: Any, policy: Policy) -> Attacks | None:
    """Attack a release for its page; where that cannot be done, say so."""
    if len(release.layout.frames) > 1:
        talk.show_warning("the page shows no attacks: they are on releases of one table")
        return None
    try:
        return attack_release(release, original=frame, policy=policy)
    except Infeasible as error:
        talk.show_warning(f"the page shows no attacks: there is no k-anonymous table to compare with ({error})")
        return None


def _options(
    method: str, given: tuple[str, ...], *, effort: str | None, tables: int | None, base: str | None
) -> dict[str, Any]:
    """Return what goes to the method itself."""
    if effort is not None and "weave" not in (method, base or (DEFAULT_METHOD if method == "projections" else None)):
        raise click.UsageError("--effort is for --method weave")
    if (tables is not None or base is not None) and method != "projections":
        raise click.UsageError("--tables and --base are for --method projections")
    pairs = [(name, value) for name, equals, value in (text.partition("=") for text in given) if name and equals]
    if len(pairs) < len(given):
        raise click.UsageError("expected --option NAME=VALUE")
    short = {"effort": effort, "tables": tables, "base": base}
    pairs += [(name, str(value)) for name, value in short.items() if value is not None]
    if len(dict(pairs)) < len(pairs):
        raise click.UsageError("an option of the method is given twice: give it once")
    return from_texts(method, dict(pairs))


def _columns(text: str) -> list[str]:
    try:
        (names,) = csv.reader([text], skipinitialspace=True)
    except csv.Error:
        raise click.UsageError("expected column names with commas between them, as in --qi age,sex") from None
    return names


def _pair(text: str, what: str) -> tuple[str, str]:
    name, equals, value = text.rpartition("=")
    if not equals or not name:
        raise click.UsageError(f"expected COLUMN={what.upper()}, not '{text}'")
    return name, value


def _write_new(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(f"{path} exists already: name another file") from None


def _print(answer: dict[str, Any]) -> None:
    click.echo(json.dumps(answer))  # in ASCII: right whatever encoding stdout has
