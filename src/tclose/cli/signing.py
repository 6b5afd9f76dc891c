"""Commands and options about signatures: keygen, sign, and what anonymize and verify take."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tclose import steps
from tclose.cli.options import FILE, as_json, force
from tclose.cli.status import HOLDS
from tclose.cli.terminal import echo, echo_json
from tclose.errors import InputError
from tclose.words import counted

if TYPE_CHECKING:
    from tclose.steps import Demands, Endorsement

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


def endorsement_of(
    *, key: Path | None, valid_until: datetime | None, previous: tuple[Path, ...], commit: bool
) -> Endorsement:
    """Return what the options add to a certificate; a passphrase is asked for before the work begins."""
    day = None if valid_until is None else valid_until.date()
    return steps.endorsement(key=key, passphrase=asked, valid_until=day, previous=previous, commit=commit)


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


def asked(path: Path) -> str:
    """Return the passphrase of a key: from the environment, or from a person at a terminal."""
    if given := os.environ.get(VARIABLE):
        return given
    if not _at_a_terminal():
        raise InputError(f"{path} is protected by a passphrase: set {VARIABLE}, or run tclose in a terminal")
    return str(click.prompt(f"Passphrase of {path}", hide_input=True, err=True))


def _at_a_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()  # None if it is closed, as by `<&-`


def _chosen(path: Path) -> str:
    """Return the passphrase of a new key."""
    if given := os.environ.get(VARIABLE):
        return given
    if not _at_a_terminal():
        raise InputError(f"nobody can be asked for a passphrase: set {VARIABLE}, or run tclose in a terminal")
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
    signed = steps.sign(certificate, key, out=out, force=force, passphrase=asked)
    if as_json:
        echo_json(signed.to_dict())
        return HOLDS
    if words := signed.origin.words():
        echo(f"The certificate says: {', '.join(words)}.")
    what = "Signed" if signed.added else "Had been signed already"
    echo(f"{what} with {signed.fingerprint}: {signed.file} has {counted(signed.signatures, 'signature')}.")
    return HOLDS
