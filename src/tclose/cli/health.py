"""The command about the installation: doctor."""

from __future__ import annotations

import click

from tclose import steps
from tclose.cli import show
from tclose.cli.options import as_json
from tclose.cli.progress import Bar
from tclose.cli.status import BAD, HOLDS
from tclose.cli.terminal import echo, echo_json
from tclose.errors import InputError
from tclose.words import counted


@click.command()
@click.option("--warm", is_flag=True, help="Compile the kernels of all methods now, so that no later run has to wait.")
@click.option("--capabilities", is_flag=True, help="List which settings work in memory, from disk and on Spark.")
@as_json
def doctor(warm: bool, capabilities: bool, as_json: bool) -> int:
    """Show what this installation has and what could be added.

    The first run of a method on a machine compiles its kernels, which takes some seconds; --warm does so for all
    methods at once.
    """
    if capabilities:
        show.show_capabilities(steps.CAPABILITIES, as_json=as_json)
        return HOLDS
    health, compiled = steps.doctor(), None
    if warm and health.kernels is None:
        raise InputError(health.advice[-1])
    if warm and health.healthy:
        with Bar() as bar:
            compiled = steps.warm(progress=bar)
    if as_json:
        echo_json({**health.to_dict(), **({} if compiled is None else {"compiled": compiled})})
    else:
        echo(f"tclose {health.tclose} on Python {health.python}, {health.system}, {health.cores} cores")
        for name, version in {**health.needed, **health.extras}.items():
            echo(f"  {name:18} {version or 'not installed'}")
        echo(f"  {'kernels':18} {health.kernels or 'not kept'} ({health.kernels_state})")
        for line in health.advice:
            echo(line)
        if compiled is not None:
            echo(f"All kernels are compiled; {counted(compiled, 'kernel')} had been missing.")
    return HOLDS if health.healthy else BAD
