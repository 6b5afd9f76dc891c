"""The exact check as a query, so that a warehouse judges k, l and t where the data lies.

A query is built of CTEs, each of which is one step of `check`: rows, classes, values, counts, distances, verdicts. What
a user names (tables, columns, values) enters it as sqlglot expressions only, never as text.
"""

from __future__ import annotations

from tclose.errors import InputError, MissingExtra, PolicyError, did_you_mean
from tclose.policy import Policy, PolicyLike

DIALECTS = ("duckdb", "spark", "postgres", "bigquery", "snowflake")


def sql_check(policy: PolicyLike, *, table: str, dialect: str) -> str:
    """Return the query that judges a table of a warehouse by a policy, exactly as `check` would judge its rows.

    `table` is spelled as the dialect spells it, such as `clinic.visits`. Every line of the query's answer is one
    requirement. The policy may ask for k, l and t; anything else is refused.

    >>> query = sql_check({"quasi": ["zone"], "k": 2}, table="clinic.visits", dialect="postgres")
    >>> print(query.splitlines()[7])
    -- k: every class has at least 2 members.
    """
    if dialect not in DIALECTS:
        known = f"one of {', '.join(DIALECTS)}"
        raise InputError(
            "there is no dialect '{dialect}'{hint}: expected {known}",
            dialect=dialect,
            hint=did_you_mean(dialect, DIALECTS),
            known=known,
        )
    try:
        import sqlglot  # noqa: F401 - to say what is missing before anything else
    except ImportError as missing:
        raise MissingExtra("sqlglot", "sql", "a query") from missing
    from tclose.sql.query import query

    return query(Policy.of(policy), table, dialect)


# For tools that run queries as tests


PLACE = "tclose_table_to_judge"


def failing_requirements(policy: PolicyLike, *, table: str, dialect: str, markers: tuple[str, ...] = ()) -> str:
    """Return the query that `tclose sql` makes, less the requirements that hold; no line means that all hold.

    `table` is put into the query as it is: the text by which a tool names its table. A policy whose names or values
    hold one of the `markers`, which mean something to the tool, is refused.
    """
    query = sql_check(policy, table=PLACE, dialect=dialect).rstrip().removesuffix(";")
    if any(marker in query for marker in markers):
        raise PolicyError(
            "a column or a value of the policy has {markers} in it: rename it", markers=" or ".join(markers)
        )
    before, _, after = query.partition(f"FROM {PLACE} AS t")
    return f"SELECT * FROM (\n{before}FROM {table} AS t{after}\n) AS requirements\nWHERE NOT holds\n"
