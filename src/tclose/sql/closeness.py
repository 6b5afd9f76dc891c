"""How far every class is from the whole table: the work of the earth mover, in whole numbers.

With N rows of the table and s of a class, c of which show a value that n rows of the table show: on a tree, the work
is the sum of max(N·c - s·n, 0) over the nodes of every level below the root; on a line, the sum of gap·|N·C - s·B|
with running sums C and B. It is never more than the unit (the distance that counts as 1) times N·s.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from tclose.policy import implied_by_settings
from tclose.sql.domains import Declared
from tclose.sql.expressions import fixed, listed, whole
from tclose.sql.naming import Attribute
from tclose.sql.rows import CTE
from tclose.table.hierarchy import Hierarchy


def closeness_ctes(attribute: Attribute, declared: Declared | None) -> Iterator[CTE]:
    """Yield the CTEs that compute every class's work, and the unit that it is measured in."""
    if implied_by_settings(attribute.spec) in ("ordered", "value"):
        yield from _line_ctes(attribute, declared)
    else:
        yield from _tree_ctes(attribute, None if declared is None else declared.hierarchy)


def _tree_ctes(attribute: Attribute, tree: Hierarchy | None) -> Iterator[CTE]:
    name, keys = attribute.cte, attribute.keys
    yield name("unit"), fixed("SELECT :height AS unit", height=whole(_height(tree)))
    counted = f"SELECT {keys}, 0 AS height, code AS node, c FROM {name('counts')}"
    if tree is not None:
        yield name("nodes"), _nodes(tree, missing=attribute.missing_is_value)
        counted = (
            f"SELECT {keys}, v.height, v.node, SUM(c.c) AS c FROM {name('counts')} AS c "
            f"JOIN {name('nodes')} AS v ON c.code = v.code GROUP BY {keys}, v.height, v.node"
        )
    yield name("node_counts"), fixed(counted)
    yield (
        name("reference"),
        fixed(f"SELECT height, node, SUM(c) AS n FROM {name('node_counts')} GROUP BY height, node"),
    )
    yield (
        name("extra"),
        fixed(
            f"""
            SELECT {keys}, c.c, r.n, SUM(c.c) OVER (PARTITION BY {keys}, c.height) AS s
            FROM {name("node_counts")} AS c
            JOIN {name("reference")} AS r ON c.height = r.height AND c.node = r.node
            """
        ),
    )
    yield (
        name("work"),
        fixed(
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
    return listed(["code", "height", "node"], ([whole(part) for part in row] for row in rows))


def _line_ctes(attribute: Attribute, declared: Declared | None) -> Iterator[CTE]:
    name = attribute.cte
    yield name("points"), _points(attribute, declared)
    yield (
        name("span"),
        fixed(f"SELECT CASE WHEN MAX(place) > 1 THEN MAX(place) ELSE 1 END AS length FROM {name('points')}"),
    )
    unit = "2 * length" if attribute.missing_is_value else "length"
    yield name("unit"), fixed(f"SELECT {unit} AS unit FROM {name('span')}")
    yield name("line"), _line(attribute)
    yield (
        name("domain"),
        fixed(
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


def _class_ctes(attribute: Attribute) -> Iterator[CTE]:
    """Yield the CTEs that walk along the line for every class."""
    name, keys = attribute.cte, attribute.keys
    yield (
        name("padded"),
        fixed(
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
        fixed(
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
        fixed(
            f"""
            SELECT {keys}, MAX(r.s) AS s,
              SUM(r.gap * ABS(t.n * r.seen - r.s * r.below) + r.leaf * ABS(t.n * r.c - r.s * r.n)) AS work
            FROM {name("running")} AS r CROSS JOIN totals AS t GROUP BY {keys}
            """
        ),
    )


def _points(attribute: Attribute, declared: Declared | None) -> exp.Expression:
    """Say where on the line each value lies, counted from 0."""
    codes, bins = attribute.cte("codes"), attribute.spec.bins
    if declared is not None and declared.positions is not None:
        rows = enumerate(declared.positions, 1)
        return listed(["code", "place"], ([whole(code), whole(place)] for code, place in rows))
    if bins is not None and bins.kind == "edges":
        return fixed(f"SELECT code, code - 1 AS place FROM {attribute.cte('bins')}")
    if attribute.spec.distance == "value":
        return fixed(f"SELECT code, unit - MIN(unit) OVER () AS place FROM {codes}")
    return fixed(f"SELECT code, code - 1 AS place FROM {codes}")


def _line(attribute: Attribute) -> exp.Expression:
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
    return fixed(line)
