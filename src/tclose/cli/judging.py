"""Commands that judge a table or a release: check, explain, sql, verify."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tclose import steps
from tclose.cli import show
from tclose.cli.options import FAILS, FILE, HOLDS, as_json, engine, policy_file, policy_of, policy_options, show_values
from tclose.cli.progress import Bar
from tclose.cli.signing import demand_options, demands_of
from tclose.cli.terminal import echo_json, echo_lines


@click.command(short_help="Say whether a table holds what a policy asks for.")
@click.argument("table")
@policy_options
@engine
@as_json
def check(table: str, engine: steps.Engine, as_json: bool, **given: Any) -> int:
    """Say whether TABLE holds what a policy asks for, and which class fails by how much.

    TABLE is a CSV, Excel, Stata, SPSS, SAS, JSON lines, Parquet or Arrow file, a folder of Parquet files, or a table of
    a database (postgresql://USER@HOST/DB#TABLE); - is standard input. It is judged as it is: nothing is changed. The
    exit status is 0 if everything holds and 1 if not.
    """
    policy, ignore_others = policy_of(**given)
    with Bar() as bar:
        result = steps.check(table, policy, engine=engine, ignore_others=ignore_others, progress=bar)
    if as_json:
        echo_json(result.to_dict())
    else:
        show.show_check(result)
    return HOLDS if result.satisfied else FAILS


@click.command(short_help="Print the check as a query for a warehouse.")
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


@click.command(short_help="Show why a class is as far from the table as it is.")
@click.argument("table")
@policy_options
@click.option("--attribute", required=True, help="The sensitive attribute.")
@click.option("--class", "class_number", type=int, required=True, help="The number of the class, counted from 1.")
@click.option("--all", "every_move", is_flag=True, help="List every move; more than 20 values are grouped otherwise.")
@as_json
def explain(table: str, attribute: str, class_number: int, every_move: bool, as_json: bool, **given: Any) -> int:
    """Show why a class of TABLE is as far from the whole table as it is.

    The answer lists what the class publishes, and the cheapest moves that turn its distribution into the table's.
    """
    policy, _ = policy_of(**given)
    with Bar() as bar:
        explanation = steps.explain(table, policy, attribute=attribute, class_number=class_number, progress=bar)
    if as_json:
        echo_json(explanation.to_dict())
    else:
        show.show_explanation(explanation, every_move=every_move)
    return HOLDS


@click.command(short_help="Check a release against its certificate.")
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
