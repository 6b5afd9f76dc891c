"""A query that returns the requirements that a table of a warehouse fails, for tools that run queries as tests."""

from __future__ import annotations

from tclose.errors import PolicyError
from tclose.policy import PolicyLike
from tclose.sql import sql_check

PLACE = "tclose_table_to_judge"


def failing_requirements(policy: PolicyLike, *, table: str, dialect: str, markers: tuple[str, ...] = ()) -> str:
    """Return the query that `tclose sql` makes, less the requirements that hold; no line means that all hold.

    `table` is put into the query as it is: the text by which a tool names its table. A policy whose names or values
    hold one of the `markers`, which mean something to the tool, is refused.
    """
    query = sql_check(policy, table=PLACE, dialect=dialect).rstrip().removesuffix(";")
    if any(marker in query for marker in markers):
        raise PolicyError(f"a column or a value of the policy has {' or '.join(markers)} in it: rename it")
    before, _, after = query.partition(f"FROM {PLACE} AS t")
    return f"SELECT * FROM (\n{before}FROM {table} AS t{after}\n) AS requirements\nWHERE NOT holds\n"
