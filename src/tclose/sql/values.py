"""The rows of a table and the values of its columns, in SQL: names, expressions, domains, and what SQL cannot say."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import sqlglot
from sqlglot import exp

from tclose.errors import Mistakes, PolicyError
from tclose.policy import MODELS, Builder, Policy, Sensitive, implied_by_settings
from tclose.policy.settings import join
from tclose.table.hierarchies import Hierarchy
from tclose.table.values import Kind, exact_values

# Expressions of a query


QUOTIENT = "WHOLE_QUOTIENT"  # of two whole numbers, without the remainder; every dialect spells it in its own way


def fixed_sql(sql: str, **gaps: exp.Expression) -> exp.Expression:
    """Read SQL that is part of this package; each `:name` in it is a gap for an expression."""
    return cast(exp.Expression, exp.replace_placeholders(sqlglot.parse_one(sql), **gaps))


def text_literal(value: str) -> exp.Expression:
    """Return a text as a literal, whatever it holds."""
    return exp.Literal.string(value)


def whole_number(value: int) -> exp.Expression:
    """Return a whole number of up to 38 digits; BigQuery reads those beyond 64 bits from text only."""
    literal = exp.Literal.number(value) if abs(value) < 2**63 else exp.Literal.string(str(value))
    return exp.cast(literal, "DECIMAL(38)")


def value_list(names: Sequence[str], rows: Iterable[Sequence[exp.Expression]]) -> exp.Select:
    """Return a list of values as a query of its own."""
    tuples = [exp.Tuple(expressions=list(row)) for row in rows]
    alias = exp.TableAlias(this=exp.to_identifier("list"), columns=[exp.to_identifier(name) for name in names])
    return exp.select(*names).from_(exp.Values(expressions=tuples, alias=alias))


def query_text(query: exp.Expression, dialect: str) -> str:
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
    return fixed_sql("CAST((:a - MOD(:a, :b)) / :b AS DECIMAL(38))", a=a, b=b)


# What CTEs, and the columns that form a class, are called


@dataclass(frozen=True)
class QueryAttribute:
    """One sensitive attribute of the policy, and its number in the query."""

    number: int
    name: str
    spec: Sensitive
    keys: str  # the columns that form a class, as in "q1, q2"

    def cte(self, what: str) -> str:
        """Return the name of a CTE of this attribute, as in counts_1."""
        return f"{what}_{self.number}"

    @property
    def missing_is_value(self) -> bool:
        """Whether a missing value is a value of its own."""
        return self.spec.missing == "value"


def keys_of(policy: Policy) -> list[str]:
    """Return what the query calls the columns that form a class: q1, q2 and so on."""
    return [f"q{number}" for number in range(1, len(policy.visible) + 1)]


def attributes_of(policy: Policy) -> list[QueryAttribute]:
    """Return the sensitive attributes in the order of the policy."""
    keys = ", ".join(keys_of(policy))
    return [QueryAttribute(number, name, spec, keys) for number, (name, spec) in enumerate(policy.sensitive.items(), 1)]


# Rows and classes


CTE = tuple[str, exp.Expression]


def row_ctes(policy: Policy, table: exp.Table) -> Iterator[CTE]:
    """Yield the CTEs that read the table, leave out rows, and count rows and classes."""
    yield "tclose_input", _input(policy, table)
    yield "judged", _judged(policy)
    yield "classes", _classes(policy)
    yield (
        "totals",
        fixed_sql(
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
        fixed_sql("SELECT (SELECT COUNT(*) FROM tclose_input) - (SELECT COUNT(*) FROM judged) AS withheld_rows"),
    )


def _input(policy: Policy, table: exp.Table) -> exp.Expression:
    columns = [_column(name).as_(key) for name, key in zip(policy.visible, keys_of(policy), strict=True)]
    columns += [_present(each.name, policy.missing).as_(f"s{each.number}") for each in attributes_of(policy)]
    if policy.person is not None:
        person = fixed_sql(
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
    return fixed_sql(
        "CASE WHEN :missing THEN NULL ELSE :cell END", missing=_is_missing(_column(name), missing), cell=cell
    )


def _is_missing(column: exp.Expression, missing: Sequence[str]) -> exp.Expression:
    """Tell whether a cell means that there is no value: where 999 does, 999.0 does, however many zeros follow."""
    cell = exp.cast(column, "TEXT")
    markers = sorted({_shortest(marker) for marker in ("", *missing)})
    if "0" in markers:
        markers.append("-0")
    whole = [f"{marker}." for marker in markers if re.fullmatch(r"-?[0-9]+", marker)]
    found: exp.Condition = exp.or_(exp.Is(this=column, expression=exp.null()), cell.isin(*map(text_literal, markers)))
    if whole:
        zeros = fixed_sql("TRIM(TRAILING '0' FROM :cell)", cell=cell)
        found = exp.or_(
            found, exp.and_(zeros.isin(*map(text_literal, whole)), exp.not_(cell.isin(*map(text_literal, whole))))
        )
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
        exp.select(*keys, "COUNT(*) AS class_rows", exp.alias_(fixed_sql(members), "members"))
        .from_("judged")
        .group_by(*keys)
    )


# Values that the policy names


PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?")  # as values are spelled once zeros are cut off
SAFE_DIGITS = 18  # literals of that many digits are whole numbers in every dialect
KINDS: tuple[Kind, ...] = ("number", "date", "boolean")


@dataclass(frozen=True)
class Declared:
    """The values that a policy lists, in their order, where each lies on a line, and the tree above them."""

    values: tuple[str, ...]
    positions: tuple[int, ...] | None = None
    hierarchy: Hierarchy | None = None


def declared_of(policy: Policy, name: str) -> Declared | None:
    """Return the values that the policy lists for an attribute; None where the table says which there are."""
    spec = policy.sensitive[name]
    if spec.hierarchy is not None:
        made = _of_hierarchy(spec.hierarchy)
        setting = "hierarchy"
    elif spec.order is not None or spec.domain is not None:
        setting = "domain" if spec.order is None else "order"
        made = _of_list(spec, setting, join("sensitive", name))
    else:
        return None
    _check_spelling(made.values, f"{join('sensitive', name)}.{setting}")
    return made


def _of_hierarchy(given: Path | Builder) -> Declared:
    tree = Hierarchy.load(given) if isinstance(given, Path) else Hierarchy.from_rows(given.levels)
    return Declared(tree.leaves, hierarchy=tree)


def _of_list(spec: Sensitive, setting: str, place: str) -> Declared:
    given: Sequence[Any] = getattr(spec, setting)
    texts = tuple(str(value).lower() if isinstance(value, bool) else str(value) for value in given)
    if setting == "order":
        return Declared(texts, tuple(range(len(texts))))
    if implied_by_settings(spec) not in ("ordered", "value"):
        return Declared(texts)
    exact = next((found for kind in KINDS if None not in (found := exact_values(texts, kind))), None)
    if exact is None:
        raise PolicyError(
            "its values have no order: they must all be numbers, or all be dates", place=f"{place}.domain"
        )
    known = sorted(zip(cast(list[Fraction], exact), texts, strict=True))
    in_order = tuple(text for _, text in known)
    if implied_by_settings(spec) == "ordered":
        return Declared(in_order, tuple(range(len(in_order))))
    positions = _positions([value for value, _ in known])
    if positions[-1] >= 10**SAFE_DIGITS:
        raise PolicyError("its numbers span too many digits for numbers of 38 digits", place=f"{place}.domain")
    return Declared(in_order, positions)


def _positions(values: Sequence[Fraction]) -> tuple[int, ...]:
    """Return whole numbers that are as far apart as the values."""
    common = math.lcm(*(value.denominator for value in values))
    return tuple(int((value - values[0]) * common) for value in values)


def _check_spelling(texts: Sequence[str], place: str) -> None:
    """Refuse spellings that the query would have to compare by value: it compares text."""
    for kind in KINDS:
        known = [value for value in exact_values(texts, kind) if value is not None]
        if len(set(known)) < len(known):
            raise PolicyError("a value stands in the list twice: name it once", place=place)
    numbers = (text for text, value in zip(texts, exact_values(texts, "number"), strict=True) if value is not None)
    if any(not PLAIN_NUMBER.fullmatch(text) or text == "-0" for text in numbers):
        raise PolicyError("a query compares text: spell numbers without needless zeros or exponents", place=place)


# What a query cannot judge: each is refused in one sentence


JUDGED = ("t", "l")  # models of an attribute that a query can judge
MOST_UNIT_DIGITS = 19  # of the distance that counts as 1, times t's denominator: 10^9 rows squared leave these of 38


def check_judgeable(policy: Policy) -> None:
    """Refuse a policy that asks for more than k, l and t without a matrix."""
    mistakes = Mistakes()
    for place, why in _of_policy(policy):
        mistakes.add(PolicyError(why, place=place))
    for name, spec in policy.sensitive.items():
        for place, why in _of_attribute(spec):
            mistakes.add(PolicyError(why, place=f"{join('sensitive', name)}.{place}"))
    mistakes.report()


def _of_policy(policy: Policy) -> Iterator[tuple[str, str]]:
    if policy.joint:
        yield "joint", "a query judges k, l and t of single attributes: leave out attributes together"
    if policy.presence is not None:
        yield "presence", "a query judges k, l and t: leave out presence"
    if len(str(policy.suppress.denominator)) > MOST_UNIT_DIGITS // 2:
        yield "suppress", "its denominator has too many digits for numbers of 38 digits: round it"
    if policy.below:
        yield "below", "a query cannot place cells below a limit: write numbers into the table"
    if policy.both:
        yield "both", "a query reads one table, and counts of exact values stand in another: leave out both"


def _of_attribute(spec: Sensitive) -> Iterator[tuple[str, str]]:
    for name in (*(model for model in MODELS if model not in JUDGED), "n", "t_by"):
        if getattr(spec, name) is not None:
            yield name, f"a query judges k, l and t: leave out {name}"
    distance = implied_by_settings(spec)
    if distance == "matrix":
        yield "matrix", "a query cannot solve transport problems: it judges every distance but a matrix"
    if distance is None and spec.t is not None:
        yield "distance", 'a query cannot look at the values first: say distance = "equal" or "ordered"'
    if spec.t is not None and len(str(spec.t.denominator)) > MOST_UNIT_DIGITS // 2:
        yield "t", "its denominator has too many digits for numbers of 38 digits: round it"
    if isinstance(spec.hierarchy, Builder) and spec.hierarchy.kind != "rows":
        yield "hierarchy", "a query cannot build a hierarchy by rule: write it as a file"
    if spec.bins is not None:
        yield from _of_bins(spec)


def _of_bins(spec: Sensitive) -> Iterator[tuple[str, str]]:
    assert spec.bins is not None
    if spec.bins.kind in ("count", "quantiles"):
        cure = f"a record that anonymize --record writes lists the edges of {spec.bins.kind} in columns.edges"
        yield "bins", f"a query cannot learn edges from the values: say width or edges, such as [0, 50, 100]; {cure}"
        return
    numbers = [spec.bins.setting] if spec.bins.kind == "width" else list(spec.bins.setting)
    if any(decimals_of(number) is None for number in numbers):
        yield "bins", "a query compares decimals: say numbers with at most 12 decimals"


def decimals_of(number: Fraction) -> int | None:
    """Return how many decimals spell a number exactly; None beyond twelve.

    >>> decimals_of(Fraction(5, 2)), decimals_of(Fraction(20)), decimals_of(Fraction(1, 3))
    (1, 0, None)
    """
    return next((places for places in range(13) if (number * 10**places).denominator == 1), None)


# Kinds and codes


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


def value_ctes(attribute: QueryAttribute, declared: Declared | None) -> Iterator[CTE]:
    """Yield the CTEs that count the cells of each class, and give every value its code."""
    name = attribute.cte
    yield (
        name("cells"),
        fixed_sql(
            f"""
            SELECT {attribute.keys}, s{attribute.number} AS cell, CAST(COUNT(*) AS DECIMAL(38)) AS c
            FROM judged GROUP BY {attribute.keys}, s{attribute.number}
            """
        ),
    )
    yield name("texts"), _texts(attribute)
    yield name("kinds"), _kinds(attribute)
    if declared is not None:
        rows = ([text_literal(value), whole_number(code)] for code, value in enumerate(declared.values, 1))
        yield name("list"), value_list(["value", "code"], rows)
    yield name("units"), _units(attribute, declared)
    if attribute.spec.bins is not None and attribute.spec.bins.kind == "edges":
        yield name("bins"), _bins(attribute)
    yield name("codes"), _codes(attribute, declared)
    yield name("counts"), _counts(attribute)


def _texts(attribute: QueryAttribute) -> exp.Expression:
    """Look at every different text once; `plain` is a number without needless zeros, `digits` a date as a number."""
    return fixed_sql(
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
        number=text_literal(NUMBER),
        date=text_literal(DATE),
    )


def _kinds(attribute: QueryAttribute) -> exp.Expression:
    """Say of which kind all texts are, and how many digits and decimals the numbers have."""
    least = _least_decimals(attribute)
    return fixed_sql(
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


def _least_decimals(attribute: QueryAttribute) -> int:
    """Return how many decimals the edges of bins need."""
    return max((decimals_of(edge) or 0 for edge in _edges(attribute)), default=0)


def _edges(attribute: QueryAttribute) -> list[Fraction]:
    bins = attribute.spec.bins
    if bins is None:
        return []
    return [bins.setting] if bins.kind == "width" else list(bins.setting)


def _units(attribute: QueryAttribute, declared: Declared | None) -> exp.Expression:
    """Give every text its key, by which values are the same; numbers and dates that are put in order get a unit."""
    key = "t.cell" if declared is not None else _OBSERVED_KEY  # a list spells its values, numbers apart
    columns = f"t.cell, t.n, CASE WHEN k.numbers = 1 THEN t.plain ELSE {key} END AS value_key"
    if put_in_order(attribute, declared):
        columns += f", {_UNIT} AS unit"
    if attribute.spec.bins is not None:
        columns += f", {_SCALE} AS scale"
    return fixed_sql(
        f"SELECT {columns} FROM {attribute.cte('texts')} AS t CROSS JOIN {attribute.cte('kinds')} AS k",
        least=exp.Literal.number(_least_decimals(attribute)),
    )


def put_in_order(attribute: QueryAttribute, declared: Declared | None) -> bool:
    """Tell whether the cells themselves have to be put in order: a list has its own order."""
    on_a_line = implied_by_settings(attribute.spec) in ("ordered", "value")
    return declared is None and (on_a_line or attribute.spec.bins is not None)


def _bins(attribute: QueryAttribute) -> exp.Expression:
    """List the bins (low, high]; their edges are whole numbers of the last decimal that any edge has."""
    shift = 10 ** _least_decimals(attribute)
    pairs = enumerate(pairwise(_edges(attribute)), 1)
    rows = (
        [whole_number(code), whole_number(int(low * shift)), whole_number(int(high * shift))]
        for code, (low, high) in pairs
    )
    return value_list(["code", "low", "high"], rows)


def _codes(attribute: QueryAttribute, declared: Declared | None) -> exp.Expression:
    """Give every text its code in the domain; a text without one is not in the list, or in no bin."""
    units, bins = attribute.cte("units"), attribute.spec.bins
    if declared is not None:
        return fixed_sql(
            f"SELECT u.cell, u.n, l.code FROM {units} AS u JOIN {attribute.cte('list')} AS l ON u.value_key = l.value"
        )
    if bins is not None and bins.kind == "edges":
        return fixed_sql(
            f"""
            SELECT u.cell, u.n, b.code FROM {units} AS u
            JOIN {attribute.cte("bins")} AS b ON u.unit > b.low * u.scale AND u.unit <= b.high * u.scale
            """
        )
    if bins is not None:
        return _by_width(attribute)
    order, also = ("unit", ", unit") if put_in_order(attribute, declared) else ("value_key", "")
    code = f"CAST(DENSE_RANK() OVER (ORDER BY {order}) AS DECIMAL(38)) AS code"
    return fixed_sql(f"SELECT cell, n, {code}{also} FROM {units}")


def _by_width(attribute: QueryAttribute) -> exp.Expression:
    """Count the bins (low, high] of equal width from the first that holds a value: a quotient, rounded up."""
    width = whole_number(int(_edges(attribute)[0] * 10 ** _least_decimals(attribute)))
    return fixed_sql(
        f"""
        SELECT cell, n, bin - MIN(bin) OVER () + 1 AS code FROM (
          SELECT cell, n,
            WHOLE_QUOTIENT(unit, :width * scale) + CASE WHEN MOD(unit, :width * scale) > 0 THEN 1 ELSE 0 END AS bin
          FROM {attribute.cte("units")}
        ) AS binned
        """,
        width=width,
    )


def _counts(attribute: QueryAttribute) -> exp.Expression:
    """Count the values of each class."""
    return fixed_sql(
        f"""
        SELECT {attribute.keys}, COALESCE(v.code, 0) AS code, SUM(c.c) AS c
        FROM {attribute.cte("cells")} AS c LEFT JOIN {attribute.cte("codes")} AS v ON c.cell = v.cell
        GROUP BY {attribute.keys}, COALESCE(v.code, 0)
        """
    )
