"""A table that is read in batches and judged by counts is judged exactly as in memory, field by field."""

from __future__ import annotations

import math
import warnings
from collections.abc import Generator
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose import CheckResult, Policy, Progress, TcloseError, check
from tclose.run import disk
from tclose.table import groups
from tclose.table.disk_files import CellBatch
from tclose.table.sources.folder import cell_groups
from tclose.types import silent

COLUMNS = ["zone", "^sex$", "ward", "ranked", "measured", "named", "who"]
ROW = st.tuples(
    st.sampled_from(["-0", "0", "1", "0.0", None]) | st.sampled_from(["a", "b", "", "-0"]),
    st.sampled_from(["f", "m", None]),
    st.sampled_from([0.0, -0.0, 1.5, None]) | st.just(math.nan),
    st.integers(1, 5) | st.just(99),
    st.sampled_from([0.5, 1.25, 7.0, 100.0]) | st.just(-0.0) | st.none(),
    st.sampled_from(["flu", "cold", "Flu", "-0"]) | st.sampled_from(["", "?"]),
    st.sampled_from(["p", "q", "r", "s", "", None]),
)
ASKED = {  # of any sensitive column
    "plain": {"t": 0.25},
    "likeness": {"t": 0.25, "alpha": 0.6, "beta": 1, "enhanced_beta": 2, "delta": 0.5, "kl": 0.2},
    "diversity": {"l": 2, "entropy_l": 1.5, "recursive": {"c": 2, "l": 2}},
    "superset": {"t": 0.25, "n": 5},
    "average": {"t": 0.5, "average_t": 0.1},
    "groups": {"t": 0.3, "t_by": {"column": "named", "t": {"flu": 0.1, "cold": 0.2}}},
    "kept groups": {"t": 0.3, "t_by": {"column": "ward", "t": {"1.5": 0.1}}},
}
EXTRAS = (
    {},
    {"bins": {"width": 2}},
    {"bins": {"quantiles": 3}},
    {"distance": "value"},
    {"distance": "equal"},
)
JOINT = (None, "product", "lexicographic")
GROUPS = [("a", "f", 1.5, 1, 0.5, "flu", "p"), ("b", "m", 0.0, 2, 7.0, "cold", "q")]  # every group that t_by names


class Slices:
    """A table that comes in batches of a few rows."""

    def __init__(self, frame: pl.DataFrame, rows: int) -> None:
        self.frame, self.rows = frame, rows

    def batches(self, wanted: Any, progress: Progress) -> Generator[CellBatch]:
        columns = wanted(self.frame.clear())
        for part in self.frame.iter_slices(self.rows):
            yield CellBatch("", part.height, [cell_groups(part, names) for names in columns])


@st.composite
def policies(draw: st.DrawFn) -> dict[str, Any]:
    missing = {"missing": draw(st.sampled_from(["value", "suppress"]))}
    ranked = {**ASKED[draw(st.sampled_from([*ASKED]))], **draw(st.sampled_from(EXTRAS)), **missing}
    measured = {**ASKED[draw(st.sampled_from(["plain", "likeness", "diversity"]))], **missing}
    named = {**ASKED[draw(st.sampled_from(["plain", "diversity"]))], "distance": "equal", **missing}
    joint = draw(st.sampled_from(JOINT))
    more = {"joint": [{"attributes": ["ranked", "measured"], "t": 0.3, "distance": joint}]} if joint else {}
    return {
        "quasi": ["zone", "^sex$"],
        "keep": ["ward"],
        "sensitive": {"ranked": ranked, "measured": measured, "named": named},
        "k": 2,
        "suppress": 0.5,
        "missing": ["", "?", "99"],
        "others": "drop",
        **({"person": "who"} if draw(st.booleans()) else {}),
        **more,
    }


def outcome(work: Any) -> CheckResult | str:
    """Return a result, or say that there is none; of several mistakes, each engine may report another one first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result: CheckResult = work()
        except TcloseError:
            return "refused"
    return result


@settings(max_examples=examples(20))
@given(rows=st.lists(ROW, min_size=1, max_size=40), asked=policies(), batch=st.integers(1, 7), spilled=st.booleans())
def test_counts_are_judged_as_rows_are(rows: list[Any], asked: dict[str, Any], batch: int, spilled: bool) -> None:
    frame = pl.DataFrame([*rows, *GROUPS], schema=COLUMNS, orient="row", strict=False)
    policy = Policy.from_dict(asked)
    with pytest.MonkeyPatch.context() as patch:
        if spilled:
            patch.setattr(disk, "BUDGET", 0)
        patch.setattr(groups, "PENDING", 3)
        table: Any = Slices(frame, batch)
        found = outcome(lambda: disk.check_table(table, policy, ignore_others=False, progress=silent))
    assert found == outcome(lambda: check(frame, policy))


@settings(max_examples=examples(15))
@given(rows=st.lists(ROW, min_size=1, max_size=25), batch=st.integers(1, 7))
def test_types_of_columns_do_not_matter(rows: list[Any], batch: int) -> None:
    frame = pl.DataFrame(rows, schema=COLUMNS, orient="row", strict=False).with_columns(
        pl.col("zone").cast(pl.Categorical), pl.lit(None).alias("empty"), day=pl.date(2024, 1, 1)
    )
    policy = Policy.from_dict(
        {
            "quasi": ["zone", "empty"],
            "keep": ["day"],
            "sensitive": {"ranked": {"t": 0.2}, "named": {"t": 0.5, "distance": "equal", "missing": "value"}},
            "others": "drop",
        }
    )
    table: Any = Slices(frame, batch)
    found = outcome(lambda: disk.check_table(table, policy, ignore_others=False, progress=silent))
    assert found == outcome(lambda: check(frame, policy))
    assert isinstance(found, CheckResult)
