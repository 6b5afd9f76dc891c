"""The studio: the whole job in a browser."""

from __future__ import annotations

from pathlib import Path

import click

from tclose.cli.endings import end_at_any_time
from tclose.cli.options import FILE, HOLDS
from tclose.cli.terminal import echo
from tclose.errors import MissingExtra


@click.command(short_help="Do the whole job in a browser, on this machine.")
@click.argument("table", required=False, type=FILE)
@click.option("--project", type=FILE, help="The folder of the project; a new one is made for TABLE.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port; any free one if absent.")
@click.option("--no-browser", is_flag=True, help="Print the address only.")
def studio(table: Path | None, project: Path | None, port: int, no_browser: bool) -> int:
    """Open a local web application with which a table goes from a file to a verified release.

    It talks to nobody but the browsers on this machine that know the address it prints.
    """
    try:
        from tclose.studio.server import serve
    except ImportError as missing:
        raise MissingExtra("starlette, uvicorn and others", "studio", "the studio") from missing
    end_at_any_time()
    serve(table, project=project, port=port, browser=not no_browser, announce=echo)
    return HOLDS
