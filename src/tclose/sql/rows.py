"""The rows that are judged, and the classes that they form: equal quasi-identifiers and kept columns.

A missing sensitive value becomes NULL. Rows that a policy withholds for one are left out, as `check` leaves them out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import cast

from sqlglot import exp

from tclose.policy import Policy
from tclose.sql.expressions import fixed, text
from tclose.sql.naming import attributes_of, keys_of

CTE = tuple[str, exp.Expression]


def row_ctes(policy: Policy, table: exp.Table) -> Iterator[CTE]:
    """Yield the CTEs that read the table, leave out rows, and count rows and classes."""
    yield "tclose_input", _input(policy, table)
    yield "judged", _judged(policy)
    yield "classes", _classes(policy)
    yield (
        "totals",
        fixed(
            """
            SELECT
              CAST(COALESCE(SUM(class_rows), 0) AS DECIMAL(38)) AS n,
              COUNT(*) AS table_classes,
              MIN(class_rows) AS smallest_class,
              MIN(members) AS fewest_members,
              COALESCE(SUM(CASE WHEN members >= :k THEN 0 ELSE 1 END), 0) AS too_small
            FROM classes
            """,
            k=exp.Literal.number(policy.k),
        ),
    )
    yield (
        "withheld",
        fixed("SELECT (SELECT COUNT(*) FROM tclose_input) - (SELECT COUNT(*) FROM judged) AS withheld_rows"),
    )


def _input(policy: Policy, table: exp.Table) -> exp.Expression:
    columns = [_column(name).as_(key) for name, key in zip(policy.visible, keys_of(policy), strict=True)]
    columns += [_present(each.name, policy.missing).as_(f"s{each.number}") for each in attributes_of(policy)]
    if policy.person is not None:
        person = fixed(
            "CASE WHEN :missing THEN NULL ELSE :person END",
            missing=_is_missing(_column(policy.person), policy.missing),
            person=_column(policy.person),
        )
        columns.append(person.as_("person"))
    return exp.select(*columns).from_(exp.alias_(table, "t", table=True))


def _column(name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True), table="t")


def _present(name: str, missing: Sequence[str]) -> exp.Expression:
    """Return the text of a cell; NULL where it means that there is no value."""
    cell = exp.cast(_column(name), "TEXT")
    return fixed("CASE WHEN :missing THEN NULL ELSE :cell END", missing=_is_missing(_column(name), missing), cell=cell)


def _is_missing(column: exp.Expression, missing: Sequence[str]) -> exp.Expression:
    """Tell whether a cell means that there is no value: where 999 does, 999.0 does, however many zeros follow."""
    cell = exp.cast(column, "TEXT")
    markers = sorted({_shortest(marker) for marker in ("", *missing)})
    if "0" in markers:
        markers.append("-0")
    whole = [f"{marker}." for marker in markers if re.fullmatch(r"-?[0-9]+", marker)]
    found: exp.Condition = exp.or_(exp.Is(this=column, expression=exp.null()), cell.isin(*map(text, markers)))
    if whole:
        zeros = fixed("TRIM(TRAILING '0' FROM :cell)", cell=cell)
        found = exp.or_(found, exp.and_(zeros.isin(*map(text, whole)), exp.not_(cell.isin(*map(text, whole)))))
    return cast(exp.Expression, found)


def _shortest(marker: str) -> str:
    """Spell a whole number without decimals, and zero without a sign."""
    shorter = re.sub(r"^(-?[0-9]+)\.0+$", r"\1", marker)
    return "0" if shorter == "-0" else shorter


def _judged(policy: Policy) -> exp.Expression:
    """Leave out the rows that the policy withholds."""
    kept = exp.select("*").from_("tclose_input")
    for attribute in attributes_of(policy):
        if attribute.spec.missing == "suppress":
            kept = kept.where(f"NOT s{attribute.number} IS NULL")
    return kept


def _classes(policy: Policy) -> exp.Expression:
    """Count the rows of every class, and its members: persons where the policy names them, else rows."""
    keys = keys_of(policy)
    members = "COUNT(*)"
    if policy.person is not None:  # all rows without a person count as one
        members = "COUNT(DISTINCT person) + MAX(CASE WHEN person IS NULL THEN 1 ELSE 0 END)"
    return (
        exp.select(*keys, "COUNT(*) AS class_rows", exp.alias_(fixed(members), "members"))
        .from_("judged")
        .group_by(*keys)
    )
