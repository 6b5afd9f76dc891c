"""Expressions of a query: fixed SQL with named gaps for expressions, whole numbers of 38 digits, and lists of values.

The fixed SQL is the same for every dialect; sqlglot writes it for the one that is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

import sqlglot
from sqlglot import exp

QUOTIENT = "WHOLE_QUOTIENT"  # of two whole numbers, without the remainder; every dialect spells it in its own way


def fixed(sql: str, **gaps: exp.Expression) -> exp.Expression:
    """Read SQL that is part of this package; each `:name` in it is a gap for an expression."""
    return cast(exp.Expression, exp.replace_placeholders(sqlglot.parse_one(sql), **gaps))


def text(value: str) -> exp.Expression:
    """Return a text as a literal, whatever it holds."""
    return exp.Literal.string(value)


def whole(value: int) -> exp.Expression:
    """Return a whole number of up to 38 digits; BigQuery reads those beyond 64 bits from text only."""
    literal = exp.Literal.number(value) if abs(value) < 2**63 else exp.Literal.string(str(value))
    return exp.cast(literal, "DECIMAL(38)")


def listed(names: Sequence[str], rows: Iterable[Sequence[exp.Expression]]) -> exp.Select:
    """Return a list of values as a query of its own."""
    tuples = [exp.Tuple(expressions=list(row)) for row in rows]
    alias = exp.TableAlias(this=exp.to_identifier("list"), columns=[exp.to_identifier(name) for name in names])
    return exp.select(*names).from_(exp.Values(expressions=tuples, alias=alias))


def spelled(query: exp.Expression, dialect: str) -> str:
    """Write a query for a dialect."""

    def own(node: exp.Expression) -> exp.Expression:
        named = isinstance(node, exp.Anonymous) and node.name == QUOTIENT
        return _quotient(*node.expressions, dialect=dialect) if named else node

    return query.transform(own, copy=False).sql(dialect, pretty=True, max_text_width=100, copy=False)


def _quotient(a: exp.Expression, b: exp.Expression, *, dialect: str) -> exp.Expression:
    """Divide without the remainder and without floats, which is how DuckDB divides decimals, but not integers."""
    if dialect == "duckdb":
        divided = exp.IntDiv(this=exp.cast(a, "INT128"), expression=exp.cast(b, "INT128"))
        return exp.cast(divided, "DECIMAL(38)")
    if dialect in ("postgres", "bigquery"):
        return exp.Anonymous(this="DIV", expressions=[a, b])
    return fixed("CAST((:a - MOD(:a, :b)) / :b AS DECIMAL(38))", a=a, b=b)
