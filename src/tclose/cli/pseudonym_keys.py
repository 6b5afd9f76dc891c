"""The command that makes the secret key of pseudonyms: pseudonym-key."""

from __future__ import annotations

from pathlib import Path

import click

from tclose import steps
from tclose.cli.options import FILE, as_json
from tclose.cli.status import HOLDS
from tclose.cli.terminal import echo, echo_json


@click.command("pseudonym-key")
@click.argument("file", type=FILE)
@as_json
def pseudonym_key(file: Path, as_json: bool) -> int:
    """Write 32 random bytes to FILE, readable by you alone, for [pseudonym.COLUMN] in a policy.

    The same key gives the same identifier the same pseudonym in every release. Anyone who has the key can find the
    pseudonym of any identifier, so keep it apart from the releases. An existing file is refused.
    """
    fingerprint = steps.pseudonym_key(file)
    if as_json:
        echo_json({"key": str(file), "fingerprint": fingerprint})
        return HOLDS
    echo(f"Wrote {file}, readable by you alone. Certificates show its fingerprint: {fingerprint}")
    echo("Keep it apart from the releases: anyone who has it can find the pseudonym of any identifier.")
    return HOLDS
