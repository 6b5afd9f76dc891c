"""Commands and options about certificates and proofs: keygen, sign, verify, bound, and what anonymize takes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tclose import steps
from tclose.cli import show
from tclose.cli.options import FILE, as_json, engine, force, policy_file, show_values
from tclose.cli.process import FAILS, HOLDS
from tclose.cli.terminal import Console, ProgressBar, Text, echo, echo_answer, echo_json
from tclose.errors import InputError
from tclose.words import counted, number, plain

if TYPE_CHECKING:
    from tclose.steps import Demands, Endorsement

# Signatures: keygen, sign, and what anonymize and verify take


VARIABLE = "TCLOSE_KEY_PASSPHRASE"
ENDORSED = ("key", "valid_until", "previous", "commit")  # what `endorsement_options` gives
DAY = click.DateTime(formats=["%Y-%m-%d"])


def endorsement_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add what a steward may add to a certificate."""
    for option in (
        click.option(
            "--commit", is_flag=True, help="Commit to the table and the seed in the certificate; needs --record."
        ),
        click.option(
            "--previous", type=FILE, multiple=True, help="The certificate of an earlier release of the same table."
        ),
        click.option("--valid-until", type=DAY, metavar="DATE", help="The last day on which verify may accept it."),
        click.option("--sign", "key", type=FILE, metavar="KEY", help="Sign the certificate with this private key."),
    ):
        command = option(command)
    return command


def endorsement_of(said: Mapping[str, Any]) -> Endorsement:
    """Return what the options add to a certificate; a passphrase is asked for before the work begins."""
    valid_until: datetime | None = said["valid_until"]
    return steps.endorsement(
        key=said["key"],
        passphrase=passphrase_from_user,
        valid_until=None if valid_until is None else valid_until.date(),
        previous=said["previous"],
        commit=said["commit"],
    )


def demand_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add what a verifier may ask of a certificate besides its claims."""
    for option in (
        click.option("--original", metavar="TABLE", help="The original table: compare it, too; needs --record."),
        click.option("--record", type=FILE, help="The steward's record: compare the seed that was committed to."),
        click.option("--on", type=DAY, metavar="DATE", help="Judge valid_until by this day instead of today (UTC)."),
        click.option(
            "--signers",
            type=click.IntRange(1),
            metavar="N",
            help="So many of these keys must have signed; all if absent.",
        ),
        click.option("--signer", type=FILE, multiple=True, metavar="PUB", help="A public key that must have signed."),
    ):
        command = option(command)
    return command


def demands_of(
    *,
    signer: tuple[Path, ...],
    signers: int | None,
    on: datetime | None,
    record: Path | None,
    original: str | None,
) -> Demands:
    """Return what the options ask of a certificate."""
    day = None if on is None else on.date()
    return steps.demands(signers=signer, required=signers, on=day, record=record, original=original)


def passphrase_from_user(path: Path) -> str:
    """Return the passphrase of a key: from the environment, or from a person at a terminal."""
    if given := os.environ.get(VARIABLE):
        return given
    if not _at_a_terminal():
        raise InputError(
            "{path} is protected by a passphrase: set {variable}, or run tclose in a terminal",
            path=path,
            variable=VARIABLE,
        )
    return str(click.prompt(f"Passphrase of {path}", hide_input=True, err=True))


def _at_a_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()  # None if it is closed, as by `<&-`


def _chosen(path: Path) -> str:
    """Return the passphrase of a new key."""
    if given := os.environ.get(VARIABLE):
        return given
    if not _at_a_terminal():
        raise InputError(
            "nobody can be asked for a passphrase: set {variable}, or run tclose in a terminal", variable=VARIABLE
        )
    return str(click.prompt(f"New passphrase of {path}", hide_input=True, confirmation_prompt=True, err=True))


@click.command()
@click.option(
    "--out", type=FILE, required=True, metavar="KEY", help="The private key to write; KEY.pub lies beside it."
)
@click.option(
    "--format",
    "key_format",
    type=click.Choice(steps.KEY_FORMATS),
    default="pem",
    help="How the files are written: in PEM, which is the default, or as ssh-keygen does.",
)
@click.option("--comment", default="", help="Whose key it is; stands in the public key of the format openssh.")
@click.option(
    "--passphrase", is_flag=True, help=f"Protect the key by a passphrase: {VARIABLE} if it is set, else a prompt."
)
@as_json
def keygen(out: Path, key_format: Any, comment: str, passphrase: bool, as_json: bool) -> int:
    """Make an Ed25519 key: KEY, readable by you alone, and KEY.pub for everybody who verifies.

    Files that exist already are never overwritten. Tell others the fingerprint by another way than the file.
    """
    chosen = _chosen(out) if passphrase else None
    made = steps.keygen(out, key_format=key_format, comment=comment, passphrase=chosen)
    if as_json:
        echo_json(made.to_dict())
        return HOLDS
    echo(f"Wrote {made.private}, which signs: keep it to yourself.")
    echo(f"Wrote {made.public}, which verifies: give it to everybody.")
    echo(f"Fingerprint: {made.fingerprint}")
    return HOLDS


@click.command()
@click.argument("certificate", type=FILE)
@click.option("--key", type=FILE, required=True, help="The private key: Ed25519, in PEM or in OpenSSH's format.")
@click.option("--out", type=FILE, help="Write the signed certificate here; beside the certificate if absent.")
@force
@as_json
def sign(certificate: Path, key: Path, out: Path | None, force: bool, as_json: bool) -> int:
    """Sign CERTIFICATE: a plain one, or one that others have signed, which gets one more signature.

    The signatures of release.json lie in release.dsse.json. Verify the release before you sign: a signature says that
    you stand by the certificate, and sign does not look at the release.
    """
    signed = steps.sign(certificate, key, out=out, force=force, passphrase=passphrase_from_user)
    if as_json:
        echo_json(signed.to_dict())
        return HOLDS
    if words := signed.origin.words():
        echo(f"The certificate says: {', '.join(words)}.")
    what = "Signed" if signed.added else "Had been signed already"
    echo(f"{what} with {signed.fingerprint}: {signed.file} has {counted(signed.signatures, 'signature')}.")
    return HOLDS


# The verification of a release


@click.command()
@click.argument("release")
@click.option("--certificate", type=FILE, required=True, help="The certificate that came with the release.")
@click.option("--digest", help="The digest of the certificate, if you received it by another way.")
@click.option("--population", metavar="FILE", help="The population: judge presence, too.")
@demand_options
@engine
@show_values
@as_json
def verify(
    release: str,
    certificate: Path,
    digest: str | None,
    population: str | None,
    engine: steps.Engine,
    as_json: bool,
    **demanded: Any,
) -> int:
    """Judge RELEASE again from its published values and compare with its certificate.

    RELEASE is a file, or a folder of Parquet files. The original table is not needed. The exit status is 0 if the
    release is what its certificate says and 1 if not.
    """
    demands = demands_of(**demanded)
    with ProgressBar() as bar:
        verification = steps.verify(
            release, certificate, digest=digest, population=population, demands=demands, engine=engine, progress=bar
        )
    echo_answer(verification, show.show_verification, as_json=as_json)
    return HOLDS if verification.holds else FAILS


# The loss of detail that no release of a table can avoid, and the proof of it


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
    as_json: bool,
) -> int:
    """Prove how much detail every release of TABLE must lose under the policy, whichever method makes it.

    The answer is a lower bound on the detail lost (GCP). The longer the search, the higher the bound, up to a limit.
    With --verify, the exit status is 0 if the proof holds for this table and this policy and 1 if not.
    """
    if proof is not None:
        if seconds is not None or certificate is not None or force:
            raise click.UsageError("--verify checks a proof: leave out --seconds, --certificate and --force")
        return _verify_proof(table, policy_file, proof, as_json=as_json)
    with ProgressBar() as bar:
        found = steps.bound(table, policy_file, seconds=seconds, certificate=certificate, force=force, progress=bar)
    echo_answer(found, partial(_show_search, certificate=certificate), as_json=as_json)
    return HOLDS


def _show_search(found: steps.LowerBound, certificate: Path | None) -> None:
    """Print the bound and how it was found, then what was not tried, and where the proof is."""
    console = Console()
    console.print(Text(found.sentence, "bold"))
    console.print(Text(f"Found in {number(round(found.seconds, 1))} seconds by {found.kind}."))
    if found.note:
        console.print(Text(f"Note: {found.note}", "yellow"))
    if certificate is not None:
        console.print(Text(f"Proof: {certificate}. {steps.PROOF_STAYS}"))


def _verify_proof(table: str, policy_file: Path, proof: Path, *, as_json: bool) -> int:
    with ProgressBar() as bar:
        verification = steps.verify_bound(table, policy_file, proof, progress=bar)
    if as_json:
        echo_json(verification.to_dict())
    elif verification.holds:
        Console().print(Text(f"The proof holds. {verification.sentence}", "bold green"))
    else:
        Console().print(Text(f"The proof does not hold: {plain(verification.problem)}.", "bold red"))
    return HOLDS if verification.holds else FAILS
