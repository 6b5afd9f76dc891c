"""Typed columns of a release back into the cells of `spelling.py`, which the judge reads; what does not fit is refused.

Files differ in types: a CSV has text only, a spreadsheet no integers. So cells are compared by the values that they
spell, each number and each date spelled in one way.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

import polars as pl

from tclose.errors import InputError
from tclose.policy import Policy
from tclose.recode.cell import Cell
from tclose.recode.spelling import (
    AT_LEAST,
    AT_MOST,
    LabelCell,
    MeanCell,
    MissingCell,
    RangeCell,
    SetCell,
    Spelling,
    write,
)
from tclose.recode.typed import (
    ALL,
    BOTTOM,
    CLASS,
    CLASS_SIZE,
    HIGH,
    LABEL,
    LOW,
    MEAN,
    MID,
    MISSING_ROWS,
    NONE,
    SOME,
    TEXTS,
    TOP,
    bin_columns,
    bins_of,
    listed_as_text,
)
from tclose.recode.typed_values import exact_texts, middles, plain
from tclose.table.classes import classes_of

CLOSE = 1e-9  # how far, relatively, a midpoint may be off: some formats keep fewer digits of a float


def text_table(frame: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return the published table whose typed columns these are; classes and midpoints must fit the cells."""
    columns, used = {}, {CLASS, CLASS_SIZE}
    for name in policy.quasi:
        parts = parts_of(frame, name)
        columns[name] = _cells(name, parts)
        used |= {name + suffix for suffix in parts}
    for name, bins in bins_of(policy).items():
        if name not in frame.columns:  # older releases hold the label of the bin
            columns[name] = _bins(name, parts_of(frame, name), bins)
            used |= {name + suffix for suffix in (LOW, HIGH, MID)}
    others = (column for column in frame.iter_columns() if column.name not in used)
    columns |= {column.name: plain(column, policy.missing) for column in others}
    text = pl.DataFrame(columns)
    _check_classes(frame, text[[name for name in policy.visible if name in columns]])
    return text


def is_typed(columns: Collection[str], policy: Policy) -> bool:
    """Tell whether a table has typed columns: classes are numbered, in columns that the policy does not name."""
    own = {*policy.visible, *policy.sensitive, *policy.unlinkable}
    return {CLASS, CLASS_SIZE} <= {*columns} - own


def suffixes_of(columns: Collection[str], name: str) -> tuple[str, ...] | None:
    """Return what is added to the name of a quasi-identifier in its typed columns; none where it has none."""
    for needed, more in _FORMS:
        if all(name + suffix in columns for suffix in needed):
            return (*needed, *(suffix for suffix in more if name + suffix in columns))
    return None


def parts_of(frame: pl.DataFrame, name: str) -> dict[str, pl.Series]:
    """Return the typed columns of a quasi-identifier as text, by what is added to its name."""
    suffixes = suffixes_of(frame.columns, name)
    if suffixes is None:
        raise InputError(f"the typed columns of '{name}' are not all there")
    return {suffix: _plain_part(frame[name + suffix], suffix) for suffix in suffixes}


def _plain_part(column: pl.Series, suffix: str) -> pl.Series:
    """Return a typed column as text with one spelling for each value."""
    if suffix in (LOW, HIGH, MID, BOTTOM, TOP, MEAN):
        return plain(column)
    texts = listed_as_text(column) if column.dtype == TEXTS else column.alias("").cast(pl.String)
    return texts.set(texts == "", None)


def _cells(name: str, parts: Mapping[str, pl.Series]) -> pl.Series:
    """Put the cells of a quasi-identifier together, each different one once."""
    rows = pl.DataFrame([part.alias(str(place)) for place, part in enumerate(parts.values())])
    classes = classes_of(rows)
    different = rows[classes.rows[classes.starts]]
    said = [dict(zip(parts, row, strict=True)) for row in different.iter_rows()]
    try:
        texts = [write(_cell(each)) for each in said]
    except ValueError:
        raise InputError(f"a typed cell of '{name}' cannot be read") from None
    if len({*texts}) < len(texts):
        raise InputError(f"typed columns of '{name}' contradict each other")
    if MID in parts:
        _check_middles(name, said)
    return pl.Series(texts, dtype=pl.String).gather(classes.labels_by_row())


def _bins(name: str, parts: Mapping[str, pl.Series], bins: Mapping[str, Cell]) -> pl.Series:
    """Return the label of each row's bin; ends that are those of no bin are refused."""
    if {*parts} != {LOW, HIGH, MID}:
        raise InputError(f"the typed columns of '{name}' are not all there")
    rows = pl.DataFrame([part.alias(suffix) for suffix, part in parts.items()])
    different = rows.unique()
    ends = [plain(part) for suffix, part in bin_columns(list(bins.values())).items() if suffix != MID]
    label_of = dict(zip(zip(*ends, strict=True), bins, strict=True)) | {(None, None): None}
    if not all((low, high) in label_of for low, high in different.select(LOW, HIGH).iter_rows()):
        raise InputError(f"the typed columns of '{name}' hold a bin that the policy does not have")
    _check_middles(name, different.to_dicts())
    table = different.with_columns(
        label=pl.Series([label_of[ends] for ends in different.select(LOW, HIGH).iter_rows()], dtype=pl.String)
    )
    return rows.join(table, on=[LOW, HIGH, MID], how="left", nulls_equal=True, maintain_order="left")["label"]


def _cell(said: Mapping[str, str | None]) -> Spelling:
    """Return what the typed columns of one cell say; `ValueError` where they say nothing that could be published."""
    word = said.get(MISSING_ROWS, NONE)
    if word not in (NONE, SOME, ALL):
        raise ValueError("not a word about missing rows")
    if word == ALL:
        if any(said[suffix] not in (None, "[]") for suffix in said if suffix != MISSING_ROWS):
            raise ValueError("a value where all are missing")
        return MissingCell()
    some = word == SOME
    if LOW in said:
        return _range(said, some)
    if MEAN in said:
        return MeanCell(_given(said[MEAN]), some)
    members = _list(_given(said[""]))
    return LabelCell(said[LABEL] or "", some) if LABEL in said else SetCell(tuple(members), some)


def _range(said: Mapping[str, str | None], some: bool) -> RangeCell:
    low, high, bottom, top = (said.get(suffix) for suffix in (LOW, HIGH, BOTTOM, TOP))
    if (low is None) == (bottom is None) or (high is None) == (top is None):
        raise ValueError("an end is missing, or given twice")
    first, last = AT_MOST + str(bottom) if low is None else low, AT_LEAST + str(top) if high is None else high
    if low is None and high == bottom:
        return RangeCell(first, first, some)
    return RangeCell(last, last, some) if high is None and low == top else RangeCell(first, last, some)


def _given(text: str | None) -> str:
    if text is None:
        raise ValueError("a value is missing")
    return text


def _list(text: str) -> list[str]:
    """Read a list, of which something must stand in it."""
    members = json.loads(text)
    if not isinstance(members, list) or not members or not all(isinstance(member, str) for member in members):
        raise ValueError("not a list of values")
    return members


def _check_middles(name: str, said: Sequence[Mapping[str, str | None]]) -> None:
    """Refuse midpoints that do not lie in the middle of the ends."""
    ends = [(each[LOW], each[HIGH]) for each in said]
    kind, known = exact_texts([end for pair in ends for end in pair if end is not None])
    if kind == "mixed":
        raise InputError(f"the ends of '{name}' are neither all numbers nor all dates")
    values = iter(known)
    exact = [None if end is None else next(values) for pair in ends for end in pair]
    expected = plain(middles(kind, list(zip(exact[::2], exact[1::2], strict=True)))).to_list()
    if not all(_close(each[MID], middle) for each, middle in zip(said, expected, strict=True)):
        raise InputError(f"'{name}{MID}' does not hold the midpoints of '{name}{LOW}' and '{name}{HIGH}'")


def _close(text: str | None, expected: str | None) -> bool:
    if text == expected or text is None or expected is None:
        return text == expected
    kind, values = exact_texts([text, expected])
    return kind == "number" and abs(values[0] - values[1]) <= CLOSE * max(abs(values[0]), abs(values[1]))


def _check_classes(frame: pl.DataFrame, visible: pl.DataFrame) -> None:
    """Refuse numbers and sizes of classes that are not those of the rows that look alike."""
    for name in (CLASS, CLASS_SIZE):
        if name not in frame.columns:
            raise InputError(f"the release has no column '{name}'")
    classes = classes_of(visible)
    labels, sizes = plain(frame[CLASS]), plain(frame[CLASS_SIZE])
    numbered = pl.DataFrame({"found": classes.labels_by_row(), "said": labels}).unique()
    found = pl.Series(classes.sizes[classes.labels_by_row()]).cast(pl.String)
    if labels.null_count() or labels.n_unique() != len(classes) or len(numbered) != len(classes):
        raise InputError(f"'{CLASS}' does not number the classes of rows that look alike")
    if not (sizes == found).fill_null(False).all():
        raise InputError(f"'{CLASS_SIZE}' does not hold the sizes of the classes")


_FORMS = (  # the typed columns that a form always has, and those that it may have
    ((LOW, HIGH, MID), (BOTTOM, TOP, MISSING_ROWS)),
    ((MEAN,), (MISSING_ROWS,)),
    (("", LABEL), (MISSING_ROWS,)),
    (("",), (MISSING_ROWS,)),
)
