"""The command that writes a check as a query: sql."""

from __future__ import annotations

from pathlib import Path

import click

from tclose import steps
from tclose.cli.options import as_json, policy_file
from tclose.cli.status import HOLDS
from tclose.cli.terminal import echo_json, echo_lines


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
