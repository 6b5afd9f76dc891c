"""The command bound: which loss of detail no release of a table can avoid, and the proof of it."""

from __future__ import annotations

from pathlib import Path

import click

from tclose import steps
from tclose.cli.options import FILE, as_json, force, policy_file, show_values
from tclose.cli.progress import Bar
from tclose.cli.status import FAILS, HOLDS
from tclose.cli.terminal import Console, Text, echo_json
from tclose.words import number, plain


@click.command()
@click.argument("table")
@policy_file
@click.option("--seconds", type=float, metavar="N", help="Search for about this time; 60 seconds if absent.")
@click.option(
    "--certificate", type=FILE, help="Write the proof here, readable by you alone: it reveals rows of the table."
)
@click.option("--verify", "proof", type=FILE, help="Check this proof against the table instead of searching.")
@force
@show_values
@as_json
def bound(
    table: str,
    policy_file: Path,
    seconds: float | None,
    certificate: Path | None,
    proof: Path | None,
    force: bool,
    show_values: bool,
    as_json: bool,
) -> int:
    """Prove how much detail every release of TABLE must lose under the policy, whichever method makes it.

    The answer is a lower bound on the detail lost (GCP). The longer the search, the higher the bound, up to a limit.
    With --verify, the exit status is 0 if the proof holds for this table and this policy and 1 if not.
    """
    if proof is not None:
        if seconds is not None or certificate is not None or force:
            raise click.UsageError("--verify checks a proof: leave out --seconds, --certificate and --force")
        return _verify(table, policy_file, proof, as_json=as_json)
    with Bar() as bar:
        found = steps.bound(table, policy_file, seconds=seconds, certificate=certificate, force=force, progress=bar)
    if as_json:
        echo_json(found.to_dict())
    else:
        _show(found, certificate)
    return HOLDS


def _show(found: steps.LowerBound, certificate: Path | None) -> None:
    """Print the bound and how it was found, then what was not tried, and where the proof is."""
    console = Console()
    console.print(Text(found.sentence, "bold"))
    console.print(Text(f"Found in {number(round(found.seconds, 1))} seconds by {found.kind}."))
    if found.note:
        console.print(Text(f"Note: {found.note}", "yellow"))
    if certificate is not None:
        console.print(Text(f"Proof: {certificate}. {steps.PROOF_STAYS}"))


def _verify(table: str, policy_file: Path, proof: Path, *, as_json: bool) -> int:
    with Bar() as bar:
        verification = steps.verify_bound(table, policy_file, proof, progress=bar)
    if as_json:
        echo_json(verification.to_dict())
    elif verification.holds:
        Console().print(Text(f"The proof holds. {verification.sentence}", "bold green"))
    else:
        Console().print(Text(f"The proof does not hold: {plain(verification.problem)}.", "bold red"))
    return HOLDS if verification.holds else FAILS
