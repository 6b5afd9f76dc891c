"""The values of a sensitive attribute: which kind they are, and the code of each.

As in `check`, the cells decide the kind. Where all are numbers, 1.0 and 1 are one value; where all are dates,
2024-01-01 and 2024-01-01 00:00 are; where all are true or false, True and true are. Codes count from 1; 0 is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from sqlglot import exp

from tclose.policy import implied_by_settings
from tclose.sql.domains import Declared
from tclose.sql.expressions import fixed, listed, text, whole
from tclose.sql.naming import Attribute
from tclose.sql.refusals import decimals_of
from tclose.sql.rows import CTE

NUMBER = "^-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?0*[0-9]{1,3})?$"  # as in table/numbers.py
DATE = (
    "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    "([T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?)?$"
)
MOST_DIGITS = 37  # of a number that is put in order
_OBSERVED_KEY = """
    CASE
      WHEN k.dates = 1 THEN t.digits || REPEAT('0', 20 - LENGTH(t.digits))
      WHEN k.booleans = 1 THEN LOWER(t.cell)
      ELSE t.cell
    END
"""
_UNIT = f"""
    CASE
      WHEN k.numbers = 1 AND k.exponents = 0 AND k.whole_digits + k.decimals <= {MOST_DIGITS}
      THEN CAST(REPLACE(t.plain, '.', '') || REPEAT('0', k.decimals - t.decimals) AS DECIMAL(38))
      WHEN k.dates = 1 THEN CAST(t.digits || REPEAT('0', 20 - LENGTH(t.digits)) AS DECIMAL(38))
      WHEN k.booleans = 1 THEN CAST(CASE WHEN LOWER(t.cell) = 'true' THEN 1 ELSE 0 END AS DECIMAL(38))
    END
"""
_SCALE = f"""
    CASE
      WHEN k.numbers = 1 AND k.whole_digits + k.decimals <= {MOST_DIGITS}
      THEN CAST('1' || REPEAT('0', k.decimals - :least) AS DECIMAL(38))
    END
"""


def value_ctes(attribute: Attribute, declared: Declared | None) -> Iterator[CTE]:
    """Yield the CTEs that count the cells of each class, and give every value its code."""
    name = attribute.cte
    yield (
        name("cells"),
        fixed(
            f"""
            SELECT {attribute.keys}, s{attribute.number} AS cell, CAST(COUNT(*) AS DECIMAL(38)) AS c
            FROM judged GROUP BY {attribute.keys}, s{attribute.number}
            """
        ),
    )
    yield name("texts"), _texts(attribute)
    yield name("kinds"), _kinds(attribute)
    if declared is not None:
        rows = ([text(value), whole(code)] for code, value in enumerate(declared.values, 1))
        yield name("list"), listed(["value", "code"], rows)
    yield name("units"), _units(attribute, declared)
    if attribute.spec.bins is not None and attribute.spec.bins.kind == "edges":
        yield name("bins"), _bins(attribute)
    yield name("codes"), _codes(attribute, declared)
    yield name("counts"), _counts(attribute)


def _texts(attribute: Attribute) -> exp.Expression:
    """Look at every different text once; `plain` is a number without needless zeros, `digits` a date as a number."""
    return fixed(
        f"""
        SELECT
          cell,
          n,
          CASE WHEN LENGTH(cell) <= 100 AND REGEXP_LIKE(cell, :number) THEN 1 ELSE 0 END AS is_number,
          CASE WHEN REGEXP_LIKE(cell, :date) THEN 1 ELSE 0 END AS is_date,
          CASE WHEN LOWER(cell) IN ('false', 'true') THEN 1 ELSE 0 END AS is_boolean,
          CASE WHEN LOWER(cell) LIKE '%e%' THEN 1 ELSE 0 END AS has_exponent,
          plain,
          CASE WHEN STR_POSITION(plain, '.') > 0 THEN LENGTH(plain) - STR_POSITION(plain, '.') ELSE 0 END AS decimals,
          REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(cell, '-', ''), 'T', ''), ' ', ''), ':', ''), '.', '') AS digits
        FROM (
          SELECT
            cell,
            SUM(c) AS n,
            CASE
              WHEN REGEXP_LIKE(cell, '^-0([.]0+)?$') THEN '0'
              WHEN STR_POSITION(cell, '.') > 0 THEN TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM cell))
              ELSE cell
            END AS plain
          FROM {attribute.cte("cells")} WHERE NOT cell IS NULL GROUP BY cell
        ) AS spelled
        """,
        number=text(NUMBER),
        date=text(DATE),
    )


def _kinds(attribute: Attribute) -> exp.Expression:
    """Say of which kind all texts are, and how many digits and decimals the numbers have."""
    least = _least_decimals(attribute)
    return fixed(
        f"""
        SELECT
          COALESCE(SUM(n), 0) AS present,
          COALESCE(MIN(is_number), 0) AS numbers,
          COALESCE(MIN(is_date), 0) AS dates,
          COALESCE(MIN(is_boolean), 0) AS booleans,
          COALESCE(MAX(CASE WHEN is_number = 1 OR is_date = 1 THEN 1 ELSE 0 END), 0) AS some_numbers,
          COALESCE(MAX(has_exponent), 0) AS exponents,
          CASE WHEN MAX(decimals) > :least THEN MAX(decimals) ELSE :least END AS decimals,
          COALESCE(MAX(LENGTH(REPLACE(plain, '.', '')) - decimals), 0) AS whole_digits
        FROM {attribute.cte("texts")}
        """,
        least=exp.Literal.number(least),
    )


def _least_decimals(attribute: Attribute) -> int:
    """Return how many decimals the edges of bins need."""
    return max((decimals_of(edge) or 0 for edge in _edges(attribute)), default=0)


def _edges(attribute: Attribute) -> list[Fraction]:
    bins = attribute.spec.bins
    if bins is None:
        return []
    return [bins.setting] if bins.kind == "width" else list(bins.setting)


def _units(attribute: Attribute, declared: Declared | None) -> exp.Expression:
    """Give every text its key, by which values are the same; numbers and dates that are put in order get a unit."""
    key = "t.cell" if declared is not None else _OBSERVED_KEY  # a list spells its values, numbers apart
    columns = f"t.cell, t.n, CASE WHEN k.numbers = 1 THEN t.plain ELSE {key} END AS value_key"
    if put_in_order(attribute, declared):
        columns += f", {_UNIT} AS unit"
    if attribute.spec.bins is not None:
        columns += f", {_SCALE} AS scale"
    return fixed(
        f"SELECT {columns} FROM {attribute.cte('texts')} AS t CROSS JOIN {attribute.cte('kinds')} AS k",
        least=exp.Literal.number(_least_decimals(attribute)),
    )


def put_in_order(attribute: Attribute, declared: Declared | None) -> bool:
    """Tell whether the cells themselves have to be put in order: a list has its own order."""
    on_a_line = implied_by_settings(attribute.spec) in ("ordered", "value")
    return declared is None and (on_a_line or attribute.spec.bins is not None)


def _bins(attribute: Attribute) -> exp.Expression:
    """List the bins (low, high]; their edges are whole numbers of the last decimal that any edge has."""
    shift = 10 ** _least_decimals(attribute)
    pairs = enumerate(pairwise(_edges(attribute)), 1)
    rows = ([whole(code), whole(int(low * shift)), whole(int(high * shift))] for code, (low, high) in pairs)
    return listed(["code", "low", "high"], rows)


def _codes(attribute: Attribute, declared: Declared | None) -> exp.Expression:
    """Give every text its code in the domain; a text without one is not in the list, or in no bin."""
    units, bins = attribute.cte("units"), attribute.spec.bins
    if declared is not None:
        return fixed(
            f"SELECT u.cell, u.n, l.code FROM {units} AS u JOIN {attribute.cte('list')} AS l ON u.value_key = l.value"
        )
    if bins is not None and bins.kind == "edges":
        return fixed(
            f"""
            SELECT u.cell, u.n, b.code FROM {units} AS u
            JOIN {attribute.cte("bins")} AS b ON u.unit > b.low * u.scale AND u.unit <= b.high * u.scale
            """
        )
    if bins is not None:
        return _by_width(attribute)
    order, also = ("unit", ", unit") if put_in_order(attribute, declared) else ("value_key", "")
    code = f"CAST(DENSE_RANK() OVER (ORDER BY {order}) AS DECIMAL(38)) AS code"
    return fixed(f"SELECT cell, n, {code}{also} FROM {units}")


def _by_width(attribute: Attribute) -> exp.Expression:
    """Count the bins (low, high] of equal width from the first that holds a value: a quotient, rounded up."""
    width = whole(int(_edges(attribute)[0] * 10 ** _least_decimals(attribute)))
    return fixed(
        f"""
        SELECT cell, n, bin - MIN(bin) OVER () + 1 AS code FROM (
          SELECT cell, n,
            WHOLE_QUOTIENT(unit, :width * scale) + CASE WHEN MOD(unit, :width * scale) > 0 THEN 1 ELSE 0 END AS bin
          FROM {attribute.cte("units")}
        ) AS binned
        """,
        width=width,
    )


def _counts(attribute: Attribute) -> exp.Expression:
    """Count the values of each class."""
    return fixed(
        f"""
        SELECT {attribute.keys}, COALESCE(v.code, 0) AS code, SUM(c.c) AS c
        FROM {attribute.cte("cells")} AS c LEFT JOIN {attribute.cte("codes")} AS v ON c.cell = v.cell
        GROUP BY {attribute.keys}, COALESCE(v.code, 0)
        """
    )
