"""The command that judges a release: verify."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tclose import steps
from tclose.cli import show
from tclose.cli.options import FILE, as_json, engine, show_values
from tclose.cli.progress import Bar
from tclose.cli.signing import demand_options, demands_of
from tclose.cli.status import FAILS, HOLDS
from tclose.cli.terminal import echo_json


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
    show_values: bool,
    as_json: bool,
    **demanded: Any,
) -> int:
    """Judge RELEASE again from its published values and compare with its certificate.

    RELEASE is a file, or a folder of Parquet files. The original table is not needed. The exit status is 0 if the
    release is what its certificate says and 1 if not.
    """
    demands = demands_of(**demanded)
    with Bar() as bar:
        verification = steps.verify(
            release, certificate, digest=digest, population=population, demands=demands, engine=engine, progress=bar
        )
    if as_json:
        echo_json(verification.to_dict())
    else:
        show.show_verification(verification)
    return HOLDS if verification.holds else FAILS
