"""Commands beside the way of a release: doctor, studio, sql, schema, pseudonym-key."""

from __future__ import annotations

from pathlib import Path

import click

from tclose import steps
from tclose.cli import show
from tclose.cli.options import FILE, as_json, policy_file
from tclose.cli.process import BAD, HOLDS, end_at_any_time
from tclose.cli.terminal import ProgressBar, echo, echo_json, echo_lines
from tclose.errors import InputError, MissingExtra
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
        with ProgressBar() as bar:
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


@click.command()
@policy_file
@click.option("--table", required=True, metavar="NAME", help="The table, as the warehouse calls it: clinic.visits.")
@click.option("--dialect", required=True, type=click.Choice(steps.DIALECTS), help="The SQL that the warehouse speaks.")
@as_json
def sql(policy_file: Path, table: str, dialect: str, as_json: bool) -> int:
    """Print a query that judges a table of a warehouse as check would, where the data lies.

    The policy may ask for k, l and t, with any distance but a matrix. Every line of the query's answer is one
    requirement; the table meets its policy if all lines say holds.
    """
    query = steps.sql(policy_file, table=table, dialect=dialect)
    if as_json:
        echo_json({"dialect": dialect, "query": query})
    else:
        echo_lines(query)
    return HOLDS


@click.command()
@as_json
def schema(as_json: bool) -> int:
    """Print a JSON Schema (draft 2020-12) of policy files, with every key, what it means and what it takes.

    An editor that knows it completes keys, explains them and marks mistakes. The schema is one JSON object, also
    without --json. Rules between keys are not part of it: check says whether they hold.
    """
    echo_json(steps.schema())
    return HOLDS


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
