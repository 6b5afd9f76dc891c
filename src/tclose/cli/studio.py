"""The studio: the whole job in a browser."""

from __future__ import annotations

from pathlib import Path

import click

from tclose.cli.endings import end_at_any_time
from tclose.cli.options import FILE
from tclose.cli.status import HOLDS
from tclose.cli.terminal import echo
from tclose.errors import MissingExtra


@click.command()
@click.argument("table", required=False, type=FILE)
@click.option("--project", type=FILE, help="The folder of the project; a new one is made for TABLE.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Start a studio at this port (0: any free one). If absent, the running studio is used; without one, "
    "8471 or the next free port, and the same one next time.",
)
@click.option("--no-browser", is_flag=True, help="Print the address only.")
def studio(table: Path | None, project: Path | None, port: int | None, no_browser: bool) -> int:
    """Open a local web application with which a table goes from a file to a verified release.

    It talks to nobody but the browsers on this machine that open the address it prints. The address works once: call
    the command again for a new one.
    """
    try:
        from tclose.studio.server import serve
    except ImportError as missing:
        raise MissingExtra("starlette, uvicorn and others", "studio", "the studio") from missing
    end_at_any_time()
    serve(table, project=project, port=port, browser=not no_browser, announce=echo)
    return HOLDS
