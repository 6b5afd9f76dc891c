"""The whole query: a header for people, the CTEs in the order of the steps, and one line for each requirement.

Each CTE has a comment that says what it does, for the people who read the query.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from importlib.metadata import version

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tclose.errors import InputError, PolicyError
from tclose.policy import Policy
from tclose.policy.settings import spelled as number
from tclose.sql.values import (
    CTE,
    attributes_of,
    check_judgeable,
    declared_of,
    fixed_sql,
    keys_of,
    query_text,
    row_ctes,
    text_literal,
    value_ctes,
    whole_number,
)
from tclose.sql.verdicts import closeness_ctes, verdict_ctes
from tclose.words import legible, plain

# What each CTE of a query does


COMMENTS = {
    "tclose_input": "the columns that matter; a missing sensitive value is NULL",
    "judged": "without the rows that the policy leaves out",
    "classes": "rows that look alike; members are persons where the policy names them",
    "totals": "the table as a whole",
    "withheld": "how many rows are left out",
    "cells": "how often each class shows each cell",
    "texts": "every different cell once: is it a number, a date, true or false?",
    "kinds": "what all cells are",
    "list": "the values that the policy lists",
    "units": "cells of equal value_key are one value; unit puts numbers and dates in order",
    "bins": "the bins (low, high]",
    "codes": "the number of each value",
    "counts": "how often each class shows each value; number 0 is the missing value",
    "unit": "the distance that counts as 1",
    "nodes": "the node above each value at every height of the hierarchy",
    "node_counts": "how often each class shows each node",
    "reference": "how often the table shows each node",
    "extra": "the same side by side; s is the size of the class",
    "points": "where each value lies on the line",
    "span": "how long the line is",
    "line": "how many rows of the table lie at each point; a missing value hangs from the middle",
    "domain": "running sums of the table, and the gap to the next point",
    "padded": "every class with every point",
    "running": "running sums of each class; s is its size",
    "work": "how much has to be moved how far to give the class the distribution of the table",
    "problem": "why this attribute cannot be judged; NULL if it can",
    "distances": "how far each class is from the table: work / whole",
    "worst": "the class that is farthest away",
    "closeness": "t-closeness",
    "different": "how many values each class shows",
    "diversity": "l-diversity",
    "anonymity": "k-anonymity",
    "suppressed": "the share of the rows that are left out",
}


def commented(name: str, cte: exp.Expression) -> exp.Expression:
    """Return a CTE that begins with what it does."""
    kind, _, number = name.rpartition("_")
    first: exp.Expression = cte
    while isinstance(first, exp.SetOperation):
        first = first.this
    first.comments = [COMMENTS[kind if number.isdigit() else name]]
    return cte


# The query


def query(policy: Policy, table: str, dialect: str) -> str:
    """Return the query that judges a table by a policy, for people to read and for a warehouse to run."""
    check_judgeable(policy)
    ctes = [*row_ctes(policy, table_named(table, dialect)), *_attribute_ctes(policy), *_table_ctes(policy)]
    lines = list(_lines(policy))
    answer = lines[0] if len(lines) == 1 else exp.union(*lines, distinct=False)
    whole_query = exp.select("*").from_(answer.subquery("answer")).order_by("line")
    for name, cte in ctes:
        whole_query = whole_query.with_(
            name, as_=commented(name, cte), copy=False
        )  # a copy for each CTE would take seconds
    made = f"{_header(policy, dialect)}\n{query_text(whole_query, dialect)};"
    if any(plain(line) != line for line in made.split("\n")):
        raise PolicyError("a column or a value has invisible characters, which a terminal would not show: rename it")
    return made


def table_named(name: str, dialect: str) -> exp.Table:
    """Read the name of a table; anything that is more than a name is refused."""
    try:
        table = sqlglot.parse_one(name, into=exp.Table, dialect=dialect)
    except SqlglotError:
        table = None
    given = {} if table is None else {key: part for key, part in table.args.items() if part}
    parts = [given.get(key) for key in ("this", "db", "catalog") if key in given]
    named = given.keys() <= {"this", "db", "catalog"} and all(isinstance(part, exp.Identifier) for part in parts)
    if not isinstance(table, exp.Table) or not parts or not named or any(node.comments for node in table.walk()):
        raise InputError("the table must be a name, such as visits or clinic.visits, quoted as the dialect quotes it")
    return table


def _attribute_ctes(policy: Policy) -> Iterator[CTE]:
    for attribute in attributes_of(policy):
        declared = declared_of(policy, attribute.name)
        yield from value_ctes(attribute, declared)
        if attribute.spec.t is not None:
            yield from closeness_ctes(attribute, declared)
        yield from verdict_ctes(policy, attribute, declared)


def _table_ctes(policy: Policy) -> Iterator[CTE]:
    """Yield the verdicts about the table as such: the smallest class, and the rows that are withheld."""
    yield (
        "anonymity",
        fixed_sql(
            """
            SELECT
              CAST(fewest_members AS DECIMAL(38)) AS numerator, CAST(1 AS DECIMAL(38)) AS denominator,
              CASE WHEN n > 0 THEN too_small = 0 ELSE FALSE END AS holds, too_small AS failing_classes,
              CASE WHEN n = 0 THEN 'the table has no rows' END AS problem
            FROM totals
            """
        ),
    )
    if _withholds(policy):
        yield (
            "suppressed",
            fixed_sql(
                """
                SELECT
                  withheld_rows AS numerator, n + withheld_rows AS denominator,
                  withheld_rows * :b <= (n + withheld_rows) * :a AS holds, 0 AS failing_classes,
                  CAST(NULL AS TEXT) AS problem
                FROM totals CROSS JOIN (SELECT CAST(withheld_rows AS DECIMAL(38)) AS withheld_rows FROM withheld) AS w
                WHERE withheld_rows > 0
                """,
                a=whole_number(policy.suppress.numerator),
                b=whole_number(policy.suppress.denominator),
            ),
        )


def _withholds(policy: Policy) -> bool:
    return any(spec.missing == "suppress" for spec in policy.sensitive.values())


def _required(policy: Policy) -> Iterator[tuple[str, str, str | None, int | Fraction]]:
    """Yield the CTE of each finding, its model, its attribute, and the level required, in the order of `check`."""
    yield "anonymity", "k", None, policy.k
    for attribute in attributes_of(policy):
        if attribute.spec.t is not None:
            yield attribute.cte("closeness"), "t", attribute.name, attribute.spec.t
        if attribute.spec.l is not None:
            yield attribute.cte("diversity"), "l", attribute.name, attribute.spec.l
    if _withholds(policy):
        yield "suppressed", "suppress", None, policy.suppress


def _lines(policy: Policy) -> Iterator[exp.Select]:
    """Yield the lines of the answer."""
    for number_of_line, (found, model, attribute, level) in enumerate(_required(policy), 1):
        line = fixed_sql(
            f"""
            SELECT
              :line AS line, :model AS model, :attribute AS attribute, :required AS required,
              CAST(f.numerator AS DOUBLE) / CAST(f.denominator AS DOUBLE) AS reached, f.holds, f.failing_classes,
              f.numerator AS reached_numerator, f.denominator AS reached_denominator,
              t.n AS table_rows, t.table_classes, t.smallest_class, w.withheld_rows, f.problem
            FROM {found} AS f CROSS JOIN totals AS t CROSS JOIN withheld AS w
            """,
            line=exp.Literal.number(number_of_line),
            model=text_literal(model),
            attribute=exp.cast(exp.null() if attribute is None else text_literal(attribute), "TEXT"),
            required=text_literal(str(number(Fraction(level)))),
        )
        assert isinstance(line, exp.Select)
        yield line


def _header(policy: Policy, dialect: str) -> str:
    """Say what the query judges and how its answer is read; names are spelled so that no line can end early."""
    keys = zip(keys_of(policy), policy.visible, strict=True)
    lines = [
        f"tclose {version('tclose')}: judges a table by its policy, where the table lies. For {dialect}.",
        "",
        "The answer has one line for each requirement. The table meets its policy if every line says holds = true.",
        "reached_numerator / reached_denominator is exact; reached is the same, rounded for people. All verdicts are",
        "computed in whole numbers of up to 38 digits. Where something cannot be judged, problem says why.",
        "",
        f"Rows that show the same {', '.join(f'{legible(name)} ({key})' for key, name in keys)} form a class.",
        *(_sentence(*required[1:]) for required in _required(policy)),
        *(f"Names that end with _{each.number} are about {legible(each.name)}." for each in attributes_of(policy)),
    ]
    return "\n".join(f"-- {line}".rstrip() for line in lines)


def _sentence(model: str, attribute: str | None, level: int | Fraction) -> str:
    spelled_level = number(Fraction(level))
    return {
        "k": f"k: every class has at least {spelled_level} members.",
        "t": f"t: no class is farther than {spelled_level} from the table in {legible(attribute or '')}.",
        "l": f"l: every class shows at least {spelled_level} values of {legible(attribute or '')}.",
        "suppress": f"suppress: at most {spelled_level} of the rows lack a sensitive value and are left out.",
    }[model]
