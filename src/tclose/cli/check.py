"""Commands that judge a table: check, explain."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from tclose import steps
from tclose.cli import show
from tclose.cli.options import as_json, engine, policy_of, policy_options
from tclose.cli.process import FAILS, HOLDS
from tclose.cli.terminal import ProgressBar, echo_answer


@click.command()
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
    with ProgressBar() as bar:
        result = steps.check(table, policy, engine=engine, ignore_others=ignore_others, progress=bar)
    echo_answer(result, show.show_check, as_json=as_json)
    return HOLDS if result.satisfied else FAILS


@click.command()
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
    with ProgressBar() as bar:
        explanation = steps.explain(table, policy, attribute=attribute, class_number=class_number, progress=bar)
    echo_answer(explanation, partial(show.show_explanation, every_move=every_move), as_json=as_json)
    return HOLDS
