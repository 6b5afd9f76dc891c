"""The lines of the answer: what each model requires, what the table reaches, and whether that holds."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from sqlglot import exp

from tclose.policy import Policy, implied_by_settings
from tclose.sql.domains import Declared
from tclose.sql.expressions import fixed, text, whole
from tclose.sql.naming import Attribute
from tclose.sql.refusals import MOST_DIGITS
from tclose.sql.rows import CTE
from tclose.sql.values import MOST_DIGITS as DIGITS_IN_ORDER
from tclose.sql.values import put_in_order

MOST_ROWS = 10**9  # two different fractions with denominators up to that many rows differ by at least 10^-18


def verdict_ctes(policy: Policy, attribute: Attribute, declared: Declared | None) -> Iterator[CTE]:
    """Yield the CTEs that judge one attribute by l and t, and say why it cannot be judged."""
    name, spec = attribute.cte, attribute.spec
    yield name("problem"), _problem(attribute, declared)
    if spec.t is not None:
        yield from _closeness(attribute, spec.t)
    if spec.l is not None:
        yield from _diversity(policy, attribute, spec.l)


def _problem(attribute: Attribute, declared: Declared | None) -> exp.Expression:
    """Say in one sentence why an attribute cannot be judged; NULL where it can."""
    spec, distance = attribute.spec, implied_by_settings(attribute.spec)
    reasons = [_SIZES]
    if spec.missing is None:
        reasons.append(("k.present < t.n", 'some rows have no value: say missing = "value" or "suppress"'))
    if put_in_order(attribute, declared):
        reasons += _reasons_of_order(attribute)
    elif distance is None:
        reasons.append(
            ("k.numbers + k.dates = 0 AND k.some_numbers = 1", 'numbers and text are mixed: say distance = "equal"')
        )
    reasons.append(("k.numbers = 1 AND k.exponents = 1", "some numbers have an exponent: make the column DECIMAL"))
    listed = declared is not None or spec.bins is not None
    if listed:
        where = "bins" if spec.bins is not None else "the policy's list or hierarchy"
        reasons.append(
            (
                f"(SELECT COALESCE(SUM(n), 0) FROM {attribute.cte('codes')}) < k.present",
                f"some values are not in {where}",
            )
        )
    if spec.t is not None:
        most = 10**MOST_DIGITS // spec.t.denominator
        reasons.append(
            (
                f"(SELECT MAX(unit) FROM {attribute.cte('unit')}) > CAST('{most}' AS DECIMAL(38))",
                "the numbers have too many digits",
            )
        )
    cases = exp.Case()
    for condition, sentence in reasons:
        cases = cases.when(fixed(f"SELECT {condition}").expressions[0], text(sentence))
    source = fixed(f"SELECT 1 FROM {attribute.cte('kinds')} AS k CROSS JOIN totals AS t")
    source.set("expressions", [cases.as_("problem")])
    return source


_SIZES = (f"t.n = 0 OR t.n > {MOST_ROWS}", f"the table has no rows, or more than {MOST_ROWS:,}")


def _reasons_of_order(attribute: Attribute) -> list[tuple[str, str]]:
    """Say what stands in the way of putting the values in order."""
    spec, kinds = attribute.spec, "k.numbers + k.dates + k.booleans"
    sentence = "the values have no order: they must all be numbers, or all be dates"
    if spec.bins is not None or spec.distance == "value":
        kinds = "k.numbers" if spec.bins is not None else "k.numbers + k.booleans"
        sentence = "some values are not numbers, or they are dates, which a query judges by their order only"
    return [
        (f"k.present > 0 AND {kinds} = 0", sentence),
        (f"k.numbers = 1 AND k.whole_digits + k.decimals > {DIGITS_IN_ORDER}", "the numbers have too many digits"),
    ]


def _closeness(attribute: Attribute, t: Fraction) -> Iterator[CTE]:
    """Compare every class's distance with t, and find the largest one: its whole part first, then 18 decimals.

    A class without any value of the domain has s = 0; then there is a problem, and nothing holds.
    """
    name = attribute.cte
    yield (
        name("distances"),
        fixed(
            f"""
            SELECT w.s, w.work, w.s * u.unit * t.n AS whole,
              WHOLE_QUOTIENT(w.work, w.s) AS first_digits,
              WHOLE_QUOTIENT(MOD(w.work, w.s) * :shift, w.s) AS last_digits
            FROM {name("work")} AS w CROSS JOIN {name("unit")} AS u CROSS JOIN totals AS t
            WHERE w.s > 0
            """,
            shift=whole(MOST_ROWS**2),
        ),
    )
    yield (
        name("worst"),
        fixed(f"SELECT work, whole FROM {name('distances')} ORDER BY first_digits DESC, last_digits DESC LIMIT 1"),
    )
    yield name("closeness"), _compared(attribute, t)


def _compared(attribute: Attribute, t: Fraction) -> exp.Expression:
    """Say whether every class is within t; that none was lost on the way is part of the verdict."""
    name = attribute.cte
    return fixed(
        f"""
            SELECT
              CASE WHEN p.problem IS NULL THEN w.work END AS numerator,
              CASE WHEN p.problem IS NULL THEN w.whole END AS denominator,
              CASE
                WHEN p.problem IS NULL AND f.failing = 0 AND f.judged = t.table_classes THEN TRUE
                ELSE FALSE
              END AS holds,
              CASE WHEN p.problem IS NULL THEN f.failing END AS failing_classes,
              p.problem
            FROM {name("problem")} AS p
            CROSS JOIN totals AS t
            CROSS JOIN (SELECT MAX(work) AS work, MAX(whole) AS whole FROM {name("worst")}) AS w
            CROSS JOIN (
              SELECT COUNT(*) AS judged,
                SUM(CASE WHEN work * :denominator <= whole * :numerator THEN 0 ELSE 1 END) AS failing
              FROM {name("distances")}
            ) AS f
            """,
        numerator=whole(t.numerator),
        denominator=whole(t.denominator),
    )


def _diversity(policy: Policy, attribute: Attribute, least: int) -> Iterator[CTE]:
    """Count the different values of every class; where rows name persons, no more than it has persons."""
    name, keys = attribute.cte, attribute.keys
    shown = f"SELECT {keys}, COUNT(*) AS different FROM {name('counts')} GROUP BY {keys}"
    if policy.person is not None:
        both = f"{shown} UNION ALL SELECT {keys}, members FROM classes"
        shown = f"SELECT {keys}, MIN(different) AS different FROM ({both}) AS b GROUP BY {keys}"
    yield name("different"), fixed(shown)
    yield (
        name("diversity"),
        fixed(
            f"""
            SELECT
              CASE WHEN p.problem IS NULL THEN CAST(f.fewest AS DECIMAL(38)) END AS numerator,
              CAST(1 AS DECIMAL(38)) AS denominator,
              CASE WHEN p.problem IS NULL AND f.fewest >= :least THEN TRUE ELSE FALSE END AS holds,
              CASE WHEN p.problem IS NULL THEN f.failing END AS failing_classes,
              p.problem
            FROM {name("problem")} AS p CROSS JOIN (
              SELECT MIN(different) AS fewest, SUM(CASE WHEN different >= :least THEN 0 ELSE 1 END) AS failing
              FROM {name("different")}
            ) AS f
            """,
            least=exp.Literal.number(least),
        ),
    )
