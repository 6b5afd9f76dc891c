"""Rows that are counted in parts, sent to buckets and judged there are judged as in memory; no cluster is needed."""

from __future__ import annotations

import io
import math
import pickle
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose import CheckResult, InputError, Policy, TcloseError, check
from tclose.privacy.class_counts import judge_counted, needs_all_classes
from tclose.run.disk import RowCounter
from tclose.table import CountedTable
from tclose.table.groups import BucketedRows, Groups, with_notes
from tclose.types import still

pytest.importorskip("pyspark", reason="Spark is not installed: pip install 'tclose[spark]'")
from tclose.spark.parcels import FACTS, CountPlan, counted_buckets, counted_parcels, on_bucket, packed, split_parts
from tclose.table.groups import bucket_numbers

COLUMNS = ["zone", "^sex$", "ward", "ranked", "named", "who"]
ROW = st.tuples(
    st.sampled_from(["-0", "0", "1", "0.0", None]) | st.sampled_from(["a", "-0"]),
    st.sampled_from(["f", "m", None]),
    st.sampled_from([0.0, -0.0, 1.5, None, math.nan]),
    st.integers(1, 5) | st.just(99),
    st.sampled_from(["flu", "cold", "Flu", "-0", "", "?"]),
    st.sampled_from(["p", "q", "r", "", None]),
)
MODELS = ({"t": 0.25}, {"t": 0.25, "n": 5}, {"l": 2, "entropy_l": 1.5}, {"t": 0.25, "bins": {"quantiles": 3}})


class Parts(BucketedRows):
    """Rows that were counted in parts, each of which travelled to its bucket as bytes."""

    def __init__(self, frame: pl.DataFrame, parts: int, what: CountPlan) -> None:
        self.grouping, self._buckets = what.groupings[0], defaultdict[int, list[pa.RecordBatch]](list)
        self.rows = self.withheld = 0
        self.notes = {}
        self._several = what.buckets > 1
        cells = frame.select(pl.nth(frame.columns.index(name)).alias(str(n)) for n, name in enumerate(what.columns))
        numbered = cells.with_row_index("row")
        for part in numbered.iter_slices(-(-frame.height // parts)):
            self._add(counted_parcels(iter(part.to_arrow().to_batches(max_chunksize=2)), what, "row"))

    def _add(self, parcels: Iterator[pa.RecordBatch]) -> None:
        for parcel in parcels:
            (bucket,), (counting,) = parcel.column("bucket").to_pylist(), parcel.column("counting").to_pylist()
            if counting == FACTS:
                facts = pickle.loads(parcel.column("payload")[0].as_py())
                rows, withheld, notes = facts.counted[0]
                self.rows, self.withheld = self.rows + rows, self.withheld + withheld
                self.notes = with_notes(self.notes, notes)
                assert not facts.refused
            else:
                self._buckets[bucket].append(parcel)

    @property
    def in_buckets(self) -> bool:
        return self._several

    def each(self, work: Callable[[Groups], Any]) -> Iterator[Any]:
        travelled = pickle.loads(pickle.dumps(work))
        for parcels in self._buckets.values():
            for answer in on_bucket(iter(parcels), self.grouping, self.spellings, travelled):
                yield pickle.loads(answer.column("answer")[0].as_py())


def outcome(work: Callable[[], CheckResult]) -> CheckResult | str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return work()
        except TcloseError:
            return "refused"


def judged(frame: pl.DataFrame, policy: Policy, parts: int, buckets: int, budget: int) -> CheckResult:
    counting = RowCounter(policy, False, still)
    counting.wanted(frame.clear())
    what = CountPlan((counting.groups.grouping,), 1 if needs_all_classes(policy) else buckets, budget)
    return judge_counted(CountedTable.of(Parts(frame, parts, what), policy), policy).result


@settings(max_examples=examples(30))
@given(
    rows=st.lists(ROW, min_size=1, max_size=40),
    model=st.sampled_from(MODELS),
    missing=st.sampled_from(["value", "suppress"]),
    person=st.booleans(),
    joint=st.booleans(),
    parts=st.integers(1, 4),
    buckets=st.integers(1, 9),
    spilled=st.booleans(),
)
def test_parts_in_buckets_are_judged_as_rows_are(
    rows: list[Any],
    model: dict[str, Any],
    missing: str,
    person: bool,
    joint: bool,
    parts: int,
    buckets: int,
    spilled: bool,
) -> None:
    frame = pl.DataFrame(rows, schema=COLUMNS, orient="row", strict=False)
    named = {"t": 0.4, "distance": "equal", "missing": missing}
    together = {"joint": [{"attributes": ["ranked", "named"], "t": 0.3, "distance": "product"}]}
    policy = Policy.from_dict(
        {
            "quasi": ["zone", "^sex$"],
            "keep": ["ward"],
            "sensitive": {"ranked": {**model, "missing": missing}, "named": named},
            "k": 2,
            "suppress": 0.5,
            "missing": ["", "?", "99"],
            "others": "drop",
            **({"person": "who"} if person else {}),
            **(together if joint and "bins" not in model else {}),
        }
    )
    found = outcome(lambda: judged(frame, policy, parts, buckets, 0 if spilled else 1 << 20))
    assert found == outcome(lambda: replace(check(frame, policy), notes=(), allows={}))


def test_cells_that_may_be_equal_have_the_same_bucket_on_every_machine() -> None:
    cells = pl.DataFrame({"0": ["-0", "0", None], "1": [math.nan, None, 1.0], "2": [0.1, 0.1, 0.1]})
    assert bucket_numbers(cells, ["0", "1", "2"], 1_000).tolist() == [74, 74, 942]


def test_rows_of_a_part_stand_in_the_order_of_their_pieces_and_then_of_the_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Spark hands them over in any order, and the classes of a part depend on the order of its rows."""
    given = {(1, 5): [4], (0, 10): [2, 3], (0, 0): [0, 1]}
    columns = [
        {"part": 0, "place": piece, "first": first, "payload": packed(pl.DataFrame({"row": rows}))}
        for (piece, first), rows in given.items()
    ]
    seen = list[int]()

    def split(part: int, rows: pl.DataFrame, progress: object) -> Any:
        seen.extend(rows["row"])
        raise InputError("that is enough")

    monkeypatch.setattr("tclose.spark.parcels.compiled_once", lambda: None)
    splitting: Any = SimpleNamespace(parts=[[0, 1]], split=split)
    assert len(list(split_parts(iter([pa.RecordBatch.from_pylist(columns)]), splitting))) == 1
    assert seen == [0, 1, 2, 3, 4]


def test_rows_of_finished_files_have_numbers_of_their_own() -> None:
    policy = Policy.from_dict({"quasi": ["age"], "sensitive": {"pay": {"t": 1}}})
    counting, frame = RowCounter(policy, False, still), pl.DataFrame({"age": ["a", "b"], "pay": [1, 2]})
    counting.wanted(frame.clear())
    file = io.BytesIO()
    frame.write_parquet(file)
    payload = pickle.dumps((file.getvalue(), None))
    given = pa.RecordBatch.from_pylist([{"place": place, "payload": payload} for place in range(3)])
    found = [
        pickle.loads(each.column("payload")[0].as_py())
        for each in counted_buckets(iter([given]), CountPlan((counting.groups.grouping,), 1), None, 0)
        if each.column("counting").to_pylist() == [FACTS]
    ]
    firsts = [facts.start + row for facts in found for row in range(facts.read)]
    assert firsts == sorted(set(firsts))
    assert len(firsts) == 6
