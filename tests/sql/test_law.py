"""On any table and any policy that a query can judge, its answer is that of `check`, field by field."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.conftest import examples

import tclose

QUICK = settings(max_examples=examples(25), suppress_health_check=list(HealthCheck))
OTHER = settings(max_examples=examples(10), suppress_health_check=list(HealthCheck))
DATES = [datetime.date(2024, 1, 31), datetime.date(2023, 2, 1), datetime.date(1999, 12, 31)]
CELLS: dict[str, tuple[Any, list[Any]]] = {
    "words": (pl.String, ["flu", "cold", "HIV", "it's", "back\\slash", 'say "x"', "ä;--"]),
    "integers": (pl.Int64, [-12, -1, 0, 3, 4, 10, 999]),
    "floats": (pl.Float64, [-0.0, 0.0, 0.5, 1.25, 7.0, 100.0, -3.125]),
    "numbers as text": (pl.String, ["1", "1.0", "-0", "0", "2.50", "2.5", "10", "-3"]),
    "dates": (pl.Date, DATES),
    "dates as text": (pl.String, ["2024-01-01", "2024-01-01 00:00", "2024-02-01T10:30:00", "2023-12-31 23:59:59.5"]),
    "booleans": (pl.Boolean, [True, False]),
    "mixed": (pl.String, ["1", "2", "x"]),
    "gaps": (pl.String, ["", "999", "999.0", "1", "2"]),
}
TREE = [
    ["flu", "lungs", "*"],
    ["cold", "lungs", "*"],
    ["HIV", "blood", "*"],
    ["it's", "*"],
    ["back\\slash", "odd", "*"],
]


@st.composite
def specs(draw: st.DrawFn, kind: str) -> dict[str, Any]:
    """Draw what is asked of an attribute, fitting or not."""
    spec: dict[str, Any] = {"t": draw(st.sampled_from([0, "1/3", 0.25, 0.5, 1]))}
    spec |= draw(st.sampled_from([{}, {}, {"l": 2}]))
    spec |= draw(st.sampled_from([{}, {"missing": "value"}, {"missing": "suppress"}]))
    if kind == "words":
        more = [{"distance": "equal"}, {"hierarchy": {"rows": [*TREE, ['say "x"', "*"], ["ä;--", "*"]]}}]
        more += [{"hierarchy": {"rows": TREE}}, {"order": CELLS["words"][1]}]
    else:
        more = [{"distance": name} for name in ("equal", "ordered")]
        more += [] if "dates" in kind else [{"distance": "value"}]  # which a query refuses
    if kind in ("integers", "floats", "numbers as text"):
        more += [{"bins": {"width": width}} for width in (0.5, 3)] + [{"bins": {"edges": [-13, -1.5, 0, 2.5, 1000]}}]
        more += [{"bins": {"edges": [0, 5]}, "distance": "equal"}]
    if kind in ("integers", "numbers as text"):
        values = [str(value) for value in CELLS["integers"][1]] + ["1", "2.5", "-3", "20"]
        more += [{"domain": values, "distance": name} for name in ("equal", "ordered", "value")]
    return spec | draw(st.sampled_from(more))


@st.composite
def tables(draw: st.DrawFn) -> tuple[pl.DataFrame, tclose.Policy]:
    """Draw a table of a few rows and a policy for it."""
    kinds = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=2))
    rows = draw(st.integers(1, 14))
    gaps = draw(st.sampled_from([False, False, True]))

    def column(kind: str, empty: bool) -> pl.Series:
        dtype, cells = CELLS[kind]
        chosen = draw(st.lists(st.sampled_from([*cells, *([None] if empty else [])]), min_size=rows, max_size=rows))
        return pl.Series(chosen, dtype=dtype)

    columns = {"zone": column("words", True), 'a"g`e': column("integers", True)}
    columns |= {f"s.{number}": column(kind, gaps) for number, kind in enumerate(kinds)}
    given: dict[str, Any] = {"quasi": list(columns)[:2][: draw(st.integers(1, 2))], "others": "drop"}
    given["sensitive"] = {f"s.{number}": draw(specs(kind)) for number, kind in enumerate(kinds)}
    given["missing"] = draw(st.sampled_from([[""], ["999", "-0"]]))
    given |= {"k": draw(st.integers(1, 3)), "suppress": draw(st.sampled_from([0, 0.5]))}
    if draw(st.booleans()):
        columns["who"] = column(draw(st.sampled_from(["words", "integers", "gaps"])), True)
        given |= {"person": "who"}
    return pl.DataFrame(columns), tclose.Policy.of(given)


@pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
@QUICK
@given(drawn=tables())
def test_duckdb_says_what_check_says(drawn: Any, duckdb_judge: Callable[..., Any], agrees: Callable[..., None]) -> None:
    agrees(_judged(duckdb_judge, drawn), *drawn)


@pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
@OTHER
@given(drawn=tables())
def test_postgres_says_what_check_says(
    drawn: Any, postgres_judge: Callable[..., Any], agrees: Callable[..., None]
) -> None:
    agrees(_judged(postgres_judge, drawn), *drawn)


def _judged(judge: Callable[..., Any], drawn: Any) -> Any:
    try:
        return judge(*drawn)
    except tclose.PolicyError:
        assume(False)
