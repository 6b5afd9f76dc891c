"""Commands that study methods and releases: compare, attack, methods."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from tclose import steps
from tclose.cli import listing, show
from tclose.cli.options import FILE, as_json, force, guard_formulas, levels, names, policy_file, show_values
from tclose.cli.progress import Bar, Bars
from tclose.cli.status import HOLDS
from tclose.cli.terminal import echo_json


@click.command()
@click.argument("release")
@click.argument("second", required=False)
@click.option("--original", required=True, metavar="TABLE", help="The table that was published.")
@policy_file
@click.option("--register", metavar="FILE", help="The people whom the adversary knows; those of the table if absent.")
@click.option("--population", metavar="FILE", help="Everyone whom the table is drawn from, for the membership attack.")
@click.option(
    "--method", default=steps.ANONYMIZER, show_default=True, help="Makes the k-anonymous table to compare with."
)
@click.option(
    "--engine",
    type=click.Choice(steps.ENGINES),
    default="auto",
    help="Where the attacks run: in memory, or on counts that are read from disk in batches, without the k-anonymous "
    "table and the attacks that need rows; auto takes disk for large files.",
)
@guard_formulas
@show_values
@as_json
def attack(
    release: str,
    second: str | None,
    original: str,
    policy_file: Path,
    register: str | None,
    population: str | None,
    method: str,
    engine: steps.Engine,
    guard_formulas: bool,
    show_values: bool,
    as_json: bool,
) -> int:
    """Measure what an adversary learns from RELEASE, beside the raw table and a table that is only k-anonymous.

    With a SECOND release of the same table, also measure what both reveal together.
    """
    with Bar() as bar:
        attacks = steps.attack(
            release,
            original=original,
            policy=policy_file,
            second=second,
            register=register,
            population=population,
            method=method,
            guard_formulas=guard_formulas,
            engine=engine,
            progress=bar,
        )
    if as_json:
        echo_json(attacks.to_dict())
    else:
        show.show_attacks(attacks)
    return HOLDS


@click.command()
@click.argument("table")
@policy_file
@click.option("--methods", "named", metavar="A,B", help="Some methods, such as weave,weave:fast; all if absent.")
@click.option("--limit", type=float, metavar="SECONDS", help="Stop a method after this time; 30 seconds if absent.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The seed that all methods share.")
@click.option("--detail", is_flag=True, help="Also measure the detail kept for analysts, which takes longer.")
@click.option("--bound", is_flag=True, help="Also prove how much of the detail every release must lose.")
@click.option(
    "--bound-seconds", type=float, metavar="N", help="Search for the bound for about this time; 60 seconds if absent."
)
@click.option("--out", type=FILE, help="Write an HTML page here that compares the methods, also with other t.")
@click.option("--levels", "multiples", metavar="A,B", help="Multiples of every t for the page; 0.5,1,1.5,2 if absent.")
@force
@show_values
@as_json
def compare(
    table: str,
    policy_file: Path,
    named: str | None,
    limit: float | None,
    seed: int,
    detail: bool,
    bound: bool,
    bound_seconds: float | None,
    out: Path | None,
    multiples: str | None,
    force: bool,
    show_values: bool,
    as_json: bool,
) -> int:
    """Try every method on TABLE and show side by side what each would publish; no release is written.

    With --out, the methods that gave a release are tried again with other thresholds, for the page. With --bound, a
    lower bound is then searched for with each of them.
    """
    if bound_seconds is not None and not bound:
        raise click.UsageError("--bound-seconds is about the bound that --bound searches for")
    if out is None and multiples is not None:
        raise click.UsageError("--levels is about the page that --out writes")
    with Bars() as bars:
        tradeoff = steps.compare(
            table,
            policy_file,
            methods=None if named is None else names(named),
            limit=limit,
            seed=seed,
            detail=detail,
            bound=bound,
            bound_seconds=bound_seconds,
            out=out,
            levels=None if multiples is None else levels(multiples),
            force=force,
            progress=bars,
        )
    if as_json:
        echo_json(tradeoff.comparison.to_dict() if out is None else tradeoff.to_dict())
    else:
        listing.show_comparison(tradeoff.comparison)
    return tradeoff.comparison.exit_status


@click.command()
@as_json
def methods(as_json: bool) -> int:
    """List the methods: what each does, who published it, and which policies it can serve."""
    if as_json:
        echo_json({"methods": [{"name": name, **asdict(method)} for name, method in steps.methods().items()]})
    else:
        listing.show_methods(steps.methods())
    return HOLDS
