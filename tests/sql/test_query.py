"""What a query says and what it refuses, in every dialect; those without a database here are parsed back."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tclose
from tclose.sql import DIALECTS
from tclose.steps import anonymize

TREE = [["flu", "lungs", "*"], ["it's \\ bad", "skin", "*"]]
POLICY: dict[str, Any] = {
    "quasi": ["age", 'a"b`c d'],
    "keep": ["städte"],
    "person": "who",
    "k": 3,
    "missing": ["", "999", "it's"],
    "sensitive": {
        "ill": {"t": 0.15, "l": 2, "hierarchy": {"rows": TREE}, "missing": "value"},
        "pay": {"t": "1/3", "distance": "value", "missing": "suppress"},
        "day": {"t": 0.2, "distance": "ordered", "missing": "value"},
        "low": {"t": 0.2, "bins": {"width": 0.5}},
        "bins": {"t": 0.2, "bins": {"edges": [0, 1.5, 20]}},
        "rank": {"t": 0.2, "order": ["low", "high"]},
        "ward": {"l": 3},
    },
}
ONE = {"t": 0.2, "distance": "equal"}


def query(dialect: str = "duckdb", table: str = "visits", **more: Any) -> str:
    return tclose.sql_check({**POLICY, **more}, table=table, dialect=dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_query_is_parsed_back_as_it_was_written_and_divides_no_floats(dialect: str) -> None:
    import sqlglot

    written = query(dialect, "clinic.visits")
    statements = sqlglot.parse(written, dialect=dialect)
    assert len(statements) == 1
    again = statements[0]
    assert again is not None
    body = written[written.index("WITH ") :].rstrip(";").splitlines()
    uncommented = [line for line in body if not line.lstrip().startswith("/*")]
    assert again.sql(dialect, pretty=True, max_text_width=100, comments=False).splitlines() == uncommented
    columns = {column.name for column in again.find_all(sqlglot.exp.Column) if column.this.quoted}
    named = {*POLICY["quasi"], *POLICY["keep"], *POLICY["sensitive"], "who"}
    assert columns == named
    floats = [cast for cast in again.find_all(sqlglot.exp.Cast) if cast.to.is_type("DOUBLE", "FLOAT")]
    rounded = {cast.parent.parent.alias for cast in floats if isinstance(cast.parent, sqlglot.exp.Div)}
    assert (len(floats), rounded) == (2 * 10, {"reached"})  # the figure for people, in every line
    assert {table.sql() for table in again.find_all(sqlglot.exp.Table) if table.db} == {"clinic.visits AS t"}


def test_the_header_says_what_is_judged_and_no_name_can_end_it() -> None:
    header = query(quasi=["a\nDROP TABLE visits"]).split("WITH ")[0].splitlines()
    assert all(line.startswith("--") for line in header)
    assert any("a\\nDROP TABLE visits (q1), städte (q2)" in line for line in header)
    assert "-- t: no class is farther than 1/3 from the table in pay." in header


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"sensitive": {"ill": {**ONE, "alpha": 0.5}}}, "sensitive.ill.alpha: a query judges k, l and t"),
        ({"sensitive": {"ill": {**ONE, "n": 5}}}, "sensitive.ill.n: a query judges k, l and t: leave out n"),
        ({"sensitive": {"ill": {"t": 0.2}}}, 'sensitive.ill.distance: .* say distance = "equal" or "ordered"'),
        ({"sensitive": {"ill": {"t": 0.2, "matrix": "m.csv"}}}, "sensitive.ill.matrix: .* every distance but a matrix"),
        ({"sensitive": {"ill": {"t": 0.2, "bins": {"quantiles": 4}}}}, "sensitive.ill.bins: .* say width or edges"),
        ({"sensitive": {"ill": {"t": 0.2, "bins": {"quantiles": 4}}}}, "edges of quantiles in columns.edges"),
        ({"sensitive": {"ill": {"t": 0.2, "bins": {"edges": ["0", "1/3"]}}}}, "sensitive.ill.bins: .* 12 decimals"),
        ({"sensitive": {"ill": {"t": 0.2, "hierarchy": {"prefix": [1]}}}}, "sensitive.ill.hierarchy: .* by rule"),
        ({"sensitive": {"ill": {"t": 0.2, "order": ["1.0", "2"]}}}, "sensitive.ill.order: .* needless zeros"),
        ({"sensitive": {"ill": {"t": 0.2, "order": ["1", "1.0"]}}}, "sensitive.ill.order: .* name it once"),
        ({"sensitive": {"ill": {"t": 0.2, "domain": ["a"], "distance": "ordered"}}}, "domain: .* have no order"),
        ({"sensitive": {"ill": {"t": "1/12345678901", "distance": "equal"}}}, "sensitive.ill.t: .* too many digits"),
        ({"sensitive": {"\u202eill": ONE}}, "invisible characters"),
        ({"presence": {"population": "p.csv", "max": 0.5}, "person": None}, "presence: a query judges k, l and t"),
    ],
)
def test_what_a_query_cannot_judge_is_refused(more: dict[str, Any], says: str) -> None:
    with pytest.raises(tclose.PolicyError, match=says):
        query(**more)


def test_the_edges_that_a_record_lists_judge_as_the_quantiles_do(tmp_path: Path) -> None:
    """The refusal names them as the cure."""
    frame = pl.DataFrame({"age": [row % 7 for row in range(90)], "pay": [row * row % 89 for row in range(90)]})
    asked: dict[str, Any] = {"quasi": ["age"], "sensitive": {"pay": {"t": 0.3, "distance": "ordered"}}, "k": 3}
    asked["sensitive"]["pay"]["bins"] = {"quantiles": 5}
    frame.write_csv(tmp_path / "t.csv")
    files: Any = {"out": tmp_path / "r.csv", "certificate": tmp_path / "c.json", "record": tmp_path / "record.json"}
    anonymize(tmp_path / "t.csv", tclose.Policy.from_dict(asked), method="mondrian", **files)
    learned = tclose.check(frame, asked).to_dict()["sensitive"]
    edges = json.loads((tmp_path / "record.json").read_text())["columns"]["edges"]["pay"]
    asked["sensitive"]["pay"]["bins"] = {"edges": edges}
    assert tclose.check(frame, asked).to_dict()["sensitive"] == learned
    assert "SELECT" in tclose.sql_check(asked, table="visits", dialect="duckdb")


@pytest.mark.parametrize(
    "table", ["", "a; DROP TABLE b", "a JOIN b", "a b", "f(x)", "(SELECT 1)", "a -- b", "a /* b */", "a.b.c.d"]
)
def test_a_table_is_a_name(table: str) -> None:
    with pytest.raises(tclose.InputError, match="the table must be a name, such as visits or"):
        query(table=table)


@pytest.mark.parametrize(
    ("dialect", "table"),
    [
        ("postgres", '"my.schema"."Übersicht"'),
        ("bigquery", "`my-project`.clinic.visits"),
        ("snowflake", 'db."S".visits'),
    ],
)
def test_a_table_may_be_quoted_and_in_a_schema(dialect: str, table: str) -> None:
    assert f"FROM {table} AS t" in query(dialect, table)


def test_an_unknown_dialect_and_an_absent_extra_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(tclose.InputError, match=r"no dialect 'postgresql' \(did you mean 'postgres'\?\)"):
        query("postgresql")
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(tclose.MissingExtra, match=r"a query needs sqlglot: pip install 'tclose\[sql\]'"):
        query()


PROBLEMS: list[tuple[dict[str, Any], list[Any], str | None]] = [
    ({"distance": "equal"}, ["a", None], 'some rows have no value: say missing = "value" or "suppress"'),
    ({"distance": "ordered"}, ["a", "1"], "the values have no order: they must all be numbers, or all be dates"),
    ({"distance": "value"}, ["2024-01-01", "2024-01-02"], "some values are not numbers, or they are dates, which"),
    ({"distance": "ordered"}, ["1e3", "1000"], "some numbers have an exponent: make the column DECIMAL"),
    ({"bins": {"edges": [0, 1]}}, ["1", "2"], "some values are not in bins"),
    ({"bins": {"edges": [0, 1]}}, ["2"], "some values are not in bins"),
    ({"order": ["a", "b"]}, ["a", "c"], "some values are not in the policy's list or hierarchy"),
    ({"distance": "equal"}, [], "the table has no rows, or more than 1,000,000,000"),
    ({"distance": "equal", "missing": "suppress"}, [None, ""], "the table has no rows, or more than 1,000,000,000"),
    ({"distance": "ordered", "missing": "value"}, [None, ""], None),
]


@pytest.mark.parametrize(("spec", "cells", "problem"), PROBLEMS)
def test_a_problem_is_said_and_nothing_holds(
    duckdb_judge: Any, spec: dict[str, Any], cells: list[Any], problem: str | None
) -> None:
    table = pl.DataFrame({"q": pl.Series([1] * len(cells), dtype=pl.Int64), "s": pl.Series(cells, dtype=pl.String)})
    policy = tclose.Policy.of({"quasi": ["q"], "sensitive": {"s": {"t": 1, "l": 1, **spec}}, "suppress": 1})
    lines = [line for line in duckdb_judge(table, policy) if line["attribute"] == "s"]
    assert [line["model"] for line in lines] == ["t", "l"]
    for line in lines:
        assert line["holds"] is (problem is None)
        assert (line["problem"] or "").startswith(problem or "")
        assert (line["reached_numerator"] is None) == (problem is not None)
