"""The command about the installation: doctor."""

from __future__ import annotations

import click

from tclose import steps
from tclose.cli.options import BAD, HOLDS, as_json, print_json


@click.command(short_help="Show what is installed and what could be added.")
@as_json
def doctor(as_json: bool) -> int:
    """Show what this installation has and what could be added."""
    health = steps.doctor()
    if as_json:
        print_json(health.to_dict())
    else:
        click.echo(f"tclose {health.tclose} on Python {health.python}, {health.system}, {health.cores} cores")
        for name, version in {**health.needed, **health.extras}.items():
            click.echo(f"  {name:18} {version or 'not installed'}")
        for line in health.advice:
            click.echo(line)
    return HOLDS if health.healthy else BAD
