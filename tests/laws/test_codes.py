"""What is learned from some rows of a coded table, also as they are published, is what their cells alone tell."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.errors import TcloseError
from tclose.policy import Policy
from tclose.privacy.judge import distance_of, judge
from tclose.privacy.reader import reader_policy
from tclose.recode.frame import exact_cells, ordered, recoded
from tclose.table import CodedTable, encode_quietly

NUMBERS = ["9", "9.0", "1.50", "1.5", "-0", "0", "1e1", "10", "?", "", None]
MOMENTS = ["2024-01-01", "2024-01-01 00:00", "2024-01-01T00:00:00", "2023-12-31", "?", None]
NAMES = ["flu", "cold", "Flu", "9", "9.0", "?", None]
LIMITED = ["<1", "3", "3.0", "7", "12", None]
ROW = st.tuples(
    *(st.sampled_from(cells) for cells in (["a", "b"], NUMBERS, NUMBERS, MOMENTS, NAMES, LIMITED)),
    st.sampled_from([0.0, -0.0, 2.5, None]),
    st.integers(1, 3),
    st.sampled_from(["u", "v", "w", None]),
)
COLUMNS = ["zone", "ward", "^pay$", "day", "named", "dose", "size", "age", "who"]


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    missing = {"missing": draw(st.sampled_from(["value", "suppress"]))}
    pay = draw(st.sampled_from([{}, {"distance": "equal"}, {"bins": {"width": 4}}, {"bins": {"quantiles": 2}}]))
    shown = {"publish": "bin"} if "bins" in pay and draw(st.booleans()) else {}
    dose = {"t": 1, "bins": {"width": 5}, "publish": "bin", "below": "half"}
    both = draw(st.booleans())
    named = draw(st.sampled_from([{}, {"order": ["flu", "Flu", "cold", "9"]}, {"domain": ["flu", "Flu", "cold", "9"]}]))
    sensitive: dict[str, Any] = {
        "^pay$": {"t": 1, **pay, **shown, **missing},
        "day": {"t": 1, **missing},
        "named": {"t": 1, **named, **({} if named else {"distance": "equal"}), **missing},
        "dose": {**dose, **missing},
        "size": {"t": 1, **missing},
        **({"age": {"t": 1}} if both else {}),
    }
    joint = draw(st.sampled_from([None, "product", "lexicographic"]))
    chosen = draw(st.lists(st.sampled_from([*sensitive]), min_size=1, unique=True))
    chosen = [*chosen, *(["age"] if both and "age" not in chosen else [])]
    names = [name for name in ("^pay$", "day") if name in chosen]
    tuples = [{"attributes": names, "t": 1, "distance": joint}] if joint and len(names) > 1 else []
    return Policy.from_dict(
        {
            "quasi": ["zone", "age"],
            "keep": ["ward"],
            "both": ["age"] if both else [],
            "sensitive": {name: sensitive[name] for name in chosen},
            "joint": tuples,
            "missing": ["?"],
            "suppress": 1,
            "others": "drop",
            **({"person": "who"} if draw(st.booleans()) and not both else {}),
        }
    )


def facts(table: CodedTable) -> dict[str, Any]:
    """Everything that is learned from a table's cells."""
    found: dict[str, Any] = {"classes": table.classes.labels_by_row().tolist(), "withheld": table.withheld}
    for name, column in table.judged.items():
        found[name] = column.codes.tolist(), column.reference.tolist(), column.labels, column.distance
        found[f"distance of {name}"] = repr(distance_of(column).geometry(len(column.reference)))
    for name in table.sensitive:
        values = table.values(name)
        found[f"values of {name}"] = values.codes.tolist(), values.texts, values.kind, values.domain.counts.tolist()
    found["persons"] = None if table.persons is None else table.persons.tolist()
    found["judged"] = judge(table, table.policy).result.to_dict()
    return found


def outcome(work: Any) -> Any:
    """Return what is learned, or why nothing can be."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return facts(work())
        except TcloseError as error:
            return type(error), error.sentence


def coded(rows: list[Any], policy: Policy) -> CodedTable | None:
    frame = pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS[:6], pl.String) | TYPES, orient="row")
    try:
        return encode_quietly(frame, policy)
    except TcloseError:
        return None


TYPES = {"size": pl.Float64, "age": pl.Int64, "who": pl.String}


@settings(max_examples=examples(60), deadline=None)
@given(rows=st.lists(ROW, min_size=1, max_size=25), policy=policies(), data=st.data())
def test_some_rows_of_a_table_are_coded_as_by_themselves(rows: list[Any], policy: Policy, data: st.DataObject) -> None:
    if (table := coded(rows, policy)) is None:
        return
    chosen = data.draw(st.lists(st.integers(0, len(table) - 1), min_size=1, unique=True).map(np.array))
    itself = outcome(lambda: encode_quietly(table.frame[chosen], policy))
    assert outcome(lambda: replaced(table.only(chosen))) == itself


def replaced(table: CodedTable) -> CodedTable:
    """Return a part as if nothing had been withheld from the whole."""
    return replace(table, withheld=0, rows=np.arange(len(table)))


@settings(max_examples=examples(60), deadline=None)
@given(rows=st.lists(ROW, min_size=1, max_size=25), policy=policies(), data=st.data())
def test_published_rows_are_coded_as_a_reader_codes_them(rows: list[Any], policy: Policy, data: st.DataObject) -> None:
    if (table := coded(rows, policy)) is None:
        return
    reader = reader_policy(policy, table.sensitive)
    try:
        cells = recoded(table, policy, as_categories=True)
    except TcloseError:
        return
    published, order = ordered(cells)
    apart = {name: exact_cells(table, policy, name).gather(order) for name in policy.both}
    itself = outcome(lambda: encode_quietly(published, reader, apart=apart))
    assert outcome(lambda: table.published_as(published, reader, order, apart)) == itself
    some = data.draw(st.lists(st.integers(0, len(table) - 1), min_size=1, unique=True).map(np.array))
    part = {name: cells.gather(some) for name, cells in apart.items()}
    itself = outcome(lambda: encode_quietly(published[some], reader, apart=part))
    assert outcome(lambda: table.published_as(published[some], reader, order[some], part)) == itself
