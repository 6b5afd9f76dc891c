"""The lines of the answer: what each model requires, what the table reaches, and whether that holds.

How far every class is from the whole table is the work of the earth mover, in whole numbers. With N rows of the table
and s of a class, c of which show a value that n rows of the table show: on a tree, the work is the sum of max(N·c -
s·n, 0) over the nodes of every level below the root; on a line, the sum of gap·|N·C - s·B| with running sums C and B.
It is never more than the unit (the distance that counts as 1) times N·s.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from sqlglot import exp

from tclose.policy import Policy, implied_by_settings
from tclose.sql.values import (
    CTE,
    MOST_UNIT_DIGITS,
    Declared,
    QueryAttribute,
    fixed_sql,
    put_in_order,
    text_literal,
    value_list,
    whole_number,
)
from tclose.sql.values import MOST_DIGITS as DIGITS_IN_ORDER
from tclose.table.hierarchies import Hierarchy

# How far every class is from the whole table


def closeness_ctes(attribute: QueryAttribute, declared: Declared | None) -> Iterator[CTE]:
    """Yield the CTEs that compute every class's work, and the unit that it is measured in."""
    if implied_by_settings(attribute.spec) in ("ordered", "value"):
        yield from _line_ctes(attribute, declared)
    else:
        yield from _tree_ctes(attribute, None if declared is None else declared.hierarchy)


def _tree_ctes(attribute: QueryAttribute, tree: Hierarchy | None) -> Iterator[CTE]:
    name, keys = attribute.cte, attribute.keys
    yield name("unit"), fixed_sql("SELECT :height AS unit", height=whole_number(_height(tree)))
    counted = f"SELECT {keys}, 0 AS height, code AS node, c FROM {name('counts')}"
    if tree is not None:
        yield name("nodes"), _nodes(tree, missing=attribute.missing_is_value)
        counted = (
            f"SELECT {keys}, v.height, v.node, SUM(c.c) AS c FROM {name('counts')} AS c "
            f"JOIN {name('nodes')} AS v ON c.code = v.code GROUP BY {keys}, v.height, v.node"
        )
    yield name("node_counts"), fixed_sql(counted)
    yield (
        name("reference"),
        fixed_sql(f"SELECT height, node, SUM(c) AS n FROM {name('node_counts')} GROUP BY height, node"),
    )
    yield (
        name("extra"),
        fixed_sql(
            f"""
            SELECT {keys}, c.c, r.n, SUM(c.c) OVER (PARTITION BY {keys}, c.height) AS s
            FROM {name("node_counts")} AS c
            JOIN {name("reference")} AS r ON c.height = r.height AND c.node = r.node
            """
        ),
    )
    yield (
        name("work"),
        fixed_sql(
            f"""
            SELECT {keys}, MAX(e.s) AS s,
              SUM(CASE WHEN t.n * e.c > e.s * e.n THEN t.n * e.c - e.s * e.n ELSE 0 END) AS work
            FROM {name("extra")} AS e CROSS JOIN totals AS t GROUP BY {keys}
            """
        ),
    )


def _height(tree: Hierarchy | None) -> int:
    return 1 if tree is None else max(tree.height, 1)


def _nodes(tree: Hierarchy, *, missing: bool) -> exp.Expression:
    """List the node above every leaf at each height below the root; a missing value is a leaf under the root."""
    levels = tree.levels[: _height(tree)]
    rows = [(leaf + 1, height, int(node) + 1) for height, level in enumerate(levels) for leaf, node in enumerate(level)]
    if missing:
        rows += [(0, height, 0) for height in range(len(levels))]
    return value_list(["code", "height", "node"], ([whole_number(part) for part in row] for row in rows))


def _line_ctes(attribute: QueryAttribute, declared: Declared | None) -> Iterator[CTE]:
    name = attribute.cte
    yield name("points"), _points(attribute, declared)
    yield (
        name("span"),
        fixed_sql(f"SELECT CASE WHEN MAX(place) > 1 THEN MAX(place) ELSE 1 END AS length FROM {name('points')}"),
    )
    unit = "2 * length" if attribute.missing_is_value else "length"
    yield name("unit"), fixed_sql(f"SELECT {unit} AS unit FROM {name('span')}")
    yield name("line"), _line(attribute)
    yield (
        name("domain"),
        fixed_sql(
            f"""
            SELECT code, n, leaf,
              SUM(n) OVER (ORDER BY place, code) AS below,
              COALESCE(LEAD(place) OVER (ORDER BY place, code) - place, 0) AS gap,
              ROW_NUMBER() OVER (ORDER BY place, code) AS turn
            FROM {name("line")}
            """
        ),
    )
    yield from _class_ctes(attribute)


def _class_ctes(attribute: QueryAttribute) -> Iterator[CTE]:
    """Yield the CTEs that walk along the line for every class."""
    name, keys = attribute.cte, attribute.keys
    yield (
        name("padded"),
        fixed_sql(
            f"""
            SELECT {keys}, code, SUM(c) AS c FROM (
              SELECT {keys}, code, c FROM {name("counts")}
              UNION ALL
              SELECT {keys}, d.code, CAST(0 AS DECIMAL(38)) AS c FROM classes CROSS JOIN {name("domain")} AS d
            ) AS p GROUP BY {keys}, code
            """
        ),
    )
    yield (
        name("running"),
        fixed_sql(
            f"""
            SELECT {keys}, p.c, d.n, d.leaf, d.below, d.gap,
              SUM(p.c) OVER (PARTITION BY {keys} ORDER BY d.turn) AS seen,
              SUM(p.c) OVER (PARTITION BY {keys}) AS s
            FROM {name("padded")} AS p JOIN {name("domain")} AS d ON p.code = d.code
            """
        ),
    )
    yield (
        name("work"),
        fixed_sql(
            f"""
            SELECT {keys}, MAX(r.s) AS s,
              SUM(r.gap * ABS(t.n * r.seen - r.s * r.below) + r.leaf * ABS(t.n * r.c - r.s * r.n)) AS work
            FROM {name("running")} AS r CROSS JOIN totals AS t GROUP BY {keys}
            """
        ),
    )


def _points(attribute: QueryAttribute, declared: Declared | None) -> exp.Expression:
    """Say where on the line each value lies, counted from 0."""
    codes, bins = attribute.cte("codes"), attribute.spec.bins
    if declared is not None and declared.positions is not None:
        rows = enumerate(declared.positions, 1)
        return value_list(["code", "place"], ([whole_number(code), whole_number(place)] for code, place in rows))
    if bins is not None and bins.kind == "edges":
        return fixed_sql(f"SELECT code, code - 1 AS place FROM {attribute.cte('bins')}")
    if attribute.spec.distance == "value":
        return fixed_sql(f"SELECT code, unit - MIN(unit) OVER () AS place FROM {codes}")
    return fixed_sql(f"SELECT code, code - 1 AS place FROM {codes}")


def _line(attribute: QueryAttribute) -> exp.Expression:
    """Count the table's rows at every point; a missing value hangs from the middle, half the length away."""
    name, missing = attribute.cte, attribute.missing_is_value
    place = "2 * p.place" if missing else "p.place"
    line = f"""
        SELECT p.code, MAX({place}) AS place, CAST(0 AS DECIMAL(38)) AS leaf, COALESCE(SUM(r.n), 0) AS n
        FROM (SELECT DISTINCT code, place FROM {name("points")}) AS p
        LEFT JOIN (SELECT code, SUM(n) AS n FROM {name("codes")} GROUP BY code) AS r ON p.code = r.code
        GROUP BY p.code
    """
    if missing:
        line += f"""
            UNION ALL
            SELECT CAST(0 AS DECIMAL(38)), s.length, s.length, t.n - k.present
            FROM {name("span")} AS s CROSS JOIN {name("kinds")} AS k CROSS JOIN totals AS t
        """
    return fixed_sql(line)


# The verdicts


MOST_ROWS = 10**9  # two different fractions with denominators up to that many rows differ by at least 10^-18


def verdict_ctes(policy: Policy, attribute: QueryAttribute, declared: Declared | None) -> Iterator[CTE]:
    """Yield the CTEs that judge one attribute by l and t, and say why it cannot be judged."""
    name, spec = attribute.cte, attribute.spec
    yield name("problem"), _problem(attribute, declared)
    if spec.t is not None:
        yield from _closeness(attribute, spec.t)
    if spec.l is not None:
        yield from _diversity(policy, attribute, spec.l)


def _problem(attribute: QueryAttribute, declared: Declared | None) -> exp.Expression:
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
        most = 10**MOST_UNIT_DIGITS // spec.t.denominator
        reasons.append(
            (
                f"(SELECT MAX(unit) FROM {attribute.cte('unit')}) > CAST('{most}' AS DECIMAL(38))",
                "the numbers have too many digits",
            )
        )
    cases = exp.Case()
    for condition, sentence in reasons:
        cases = cases.when(fixed_sql(f"SELECT {condition}").expressions[0], text_literal(sentence))
    source = fixed_sql(f"SELECT 1 FROM {attribute.cte('kinds')} AS k CROSS JOIN totals AS t")
    source.set("expressions", [cases.as_("problem")])
    return source


_SIZES = (f"t.n = 0 OR t.n > {MOST_ROWS}", f"the table has no rows, or more than {MOST_ROWS:,}")


def _reasons_of_order(attribute: QueryAttribute) -> list[tuple[str, str]]:
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


def _closeness(attribute: QueryAttribute, t: Fraction) -> Iterator[CTE]:
    """Compare every class's distance with t, and find the largest one: its whole part first, then 18 decimals.

    A class without any value of the domain has s = 0; then there is a problem, and nothing holds.
    """
    name = attribute.cte
    yield (
        name("distances"),
        fixed_sql(
            f"""
            SELECT w.s, w.work, w.s * u.unit * t.n AS whole,
              WHOLE_QUOTIENT(w.work, w.s) AS first_digits,
              WHOLE_QUOTIENT(MOD(w.work, w.s) * :shift, w.s) AS last_digits
            FROM {name("work")} AS w CROSS JOIN {name("unit")} AS u CROSS JOIN totals AS t
            WHERE w.s > 0
            """,
            shift=whole_number(MOST_ROWS**2),
        ),
    )
    yield (
        name("worst"),
        fixed_sql(f"SELECT work, whole FROM {name('distances')} ORDER BY first_digits DESC, last_digits DESC LIMIT 1"),
    )
    yield name("closeness"), _compared(attribute, t)


def _compared(attribute: QueryAttribute, t: Fraction) -> exp.Expression:
    """Say whether every class is within t; that none was lost on the way is part of the verdict."""
    name = attribute.cte
    return fixed_sql(
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
        numerator=whole_number(t.numerator),
        denominator=whole_number(t.denominator),
    )


def _diversity(policy: Policy, attribute: QueryAttribute, least: int) -> Iterator[CTE]:
    """Count the different values of every class; where rows name persons, no more than it has persons."""
    name, keys = attribute.cte, attribute.keys
    shown = f"SELECT {keys}, COUNT(*) AS different FROM {name('counts')} GROUP BY {keys}"
    if policy.person is not None:
        both = f"{shown} UNION ALL SELECT {keys}, members FROM classes"
        shown = f"SELECT {keys}, MIN(different) AS different FROM ({both}) AS b GROUP BY {keys}"
    yield name("different"), fixed_sql(shown)
    yield (
        name("diversity"),
        fixed_sql(
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
