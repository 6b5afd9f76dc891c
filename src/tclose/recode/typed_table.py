"""A published table as typed columns (`--format columns`), and back into published cells, which the judge reads.

| the cells of `age` are | columns |
|---|---|
| ranges of numbers or dates | `age_low`, `age_high`, `age_mid` |
| ranges with an end such as `≤18` | that end and the midpoint are null, and `age_bottom` (or `age_top`) is 18 |
| class means | `age_mean` |
| sets of values | `age`, a list |
| bins of a sensitive column | `age_low`, `age_high`, `age_mid`; the low end itself belongs to the first bin at most |
| labels of a hierarchy | `age`, the list of the leaves below it, and `age_label`; of a hierarchy by rule, the label |
| sometimes missing | also `age_missing`: `none`, `some` or `all` of the class's rows |

Rows also get `class`, numbered in the order of the published rows, and `class_size`. Everything is a function of the
published cells and of hierarchies that the policy lists. The leaves of a hierarchy by rule are values of the table, so
they are not published.

Files differ in types: a CSV has text only, a spreadsheet no integers. So cells are compared by the values that they
spell, each number and each date spelled in one way. On the way back, what does not fit is refused.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tclose.errors import InputError
from tclose.policy import Builder, Policy
from tclose.recode.cell import (
    AT_LEAST,
    AT_MOST,
    Cell,
    CellKind,
    Form,
    LabelCell,
    LeavesBelow,
    MeanCell,
    MissingCell,
    RangeCell,
    SetCell,
    Spelling,
    bin_cells,
    cells_of,
    readings,
    write,
)
from tclose.recode.meaning import HierarchyLabels
from tclose.recode.typed_values import (
    EPOCH,
    exact_texts,
    float_near,
    middles,
    numbers_near,
    of_kind,
    plain,
    typed,
)
from tclose.table.classes import classes_of
from tclose.table.hierarchies import Hierarchy
from tclose.table.values import Kind
from tclose.types import Ints

# Published cells as typed columns


CLASS, CLASS_SIZE = "class", "class_size"
LOW, HIGH, MID, BOTTOM, TOP = "_low", "_high", "_mid", "_bottom", "_top"
MEAN, LABEL, MISSING_ROWS = "_mean", "_label", "_missing"
SUFFIXES = (LOW, HIGH, MID, BOTTOM, TOP, MEAN, LABEL, MISSING_ROWS)
NONE, SOME, ALL = "none", "some", "all"  # of a class's rows lack a value
MOST_LISTED = 200_000_000  # values in the lists of one column
TEXTS = pl.List(pl.String)
NOTHING = Cell(kind="number", missing=True, present=False)


def check_typed_names(policy: Policy) -> None:
    """Refuse a policy whose columns have names that typed columns could get."""
    published = (*policy.visible, *policy.sensitive, *policy.unlinkable, *(policy.pseudonym or ()))
    own = {name.casefold(): name for name in published}
    made = [CLASS, CLASS_SIZE, *(name + suffix for name in policy.quasi for suffix in SUFFIXES)]
    made += [name + suffix for name, spec in policy.sensitive.items() if spec.publish for suffix in (LOW, HIGH, MID)]
    clash = next((own[name.casefold()] for name in made if name.casefold() in own), None)
    if clash is not None:
        raise InputError(
            "--format columns adds columns of its own, and one of them could be called '{clash}', as a column "
            "of the table is: rename that column, or use --format text",
            clash=clash,
        )


def typed_table(
    published: pl.DataFrame, policy: Policy, forms: Mapping[str, Form | None], *, lists: bool = True, apart: bool = True
) -> pl.DataFrame:
    """Return a published table as typed columns; without `lists`, lists are text, as JSON writes them.

    With `apart`, cells that are different as text and equal as values are refused: a reader would see fewer classes.
    """
    columns: dict[str, pl.Series] = {}
    bins = bins_of(policy)
    for column in published.iter_columns():
        if column.name in policy.quasi:
            columns |= _quasi(column, policy, forms[column.name], lists=lists, apart=apart)
        elif column.name in bins:
            columns |= _typed_bins(column, bins[column.name], policy)
        else:
            columns[column.name] = typed(column, policy.missing)
    classes = classes_of(published[list(policy.visible)])
    labels = classes.labels_by_row()
    columns[CLASS] = pl.Series(labels + 1, dtype=pl.Int64)
    columns[CLASS_SIZE] = pl.Series(classes.sizes[labels], dtype=pl.Int64)
    return pl.DataFrame(columns)


def check_kept(published: pl.DataFrame, made: pl.DataFrame, policy: Policy) -> None:
    """Refuse kept cells that are different as text and equal as values: a reader would see fewer classes."""
    for name in policy.keep:
        if made[name].n_unique() < published[name].n_unique():
            raise InputError("column '{name}' spells one value in several ways: use --format text", name=name)


def _quasi(column: pl.Series, policy: Policy, form: Form | None, *, lists: bool, apart: bool) -> dict[str, pl.Series]:
    """Return the typed columns of a quasi-identifier."""
    name, texts = column.name, column.alias("").cast(pl.String)
    if form is None:
        raise InputError(
            "column '{name}' has a value that looks like a set or like 'missing', so its cells can be read in "
            "two ways: use --format text",
            name=name,
        )
    different = texts.unique(maintain_order=True)
    spelled = [_spelling(text, form, name) for text in different]
    cells = cells_of(spelled, name, leaves_below(policy.quasi[name].hierarchy))
    made = _MAKERS[form](cells, name)
    words = [missing_word(cell) for cell in cells]
    made |= {MISSING_ROWS: pl.Series(words)} if {*words} != {NONE} else {}
    if apart:
        _check_told_apart(name, made.values(), len(different))
    codes = texts.replace_strict(different, np.arange(len(different)), return_dtype=pl.Int64)
    if "" in made:
        _check_size(name, made[""], codes)
    made = made if lists else {suffix: listed_as_text(part) for suffix, part in made.items()}
    return {name + suffix: part.gather(codes) for suffix, part in made.items()}


def _spelling(text: str, form: Form, name: str) -> Spelling:
    """Return what a text says; where values can be told from sets, the reading with most structure is the right one."""
    found = readings(text, form)
    if not found:
        raise InputError("column '{name}' has cells that typed columns do not hold: use --format text", name=name)
    return found[-1]


def missing_word(cell: Cell) -> str:
    """Say how many rows of a class lack a value."""
    return ALL if not cell.present else SOME if cell.missing else NONE


def _check_told_apart(name: str, parts: Iterable[pl.Series], different: int) -> None:
    """Refuse cells that are different as text and equal as values: a reader would see fewer classes."""
    texts = pl.DataFrame([listed_as_text(part).alias(str(place)) for place, part in enumerate(parts)])
    if texts.n_unique() < different:
        raise InputError(
            "column '{name}' has different cells that would be equal in typed columns: use --format text",
            name=name,
        )


def _check_size(name: str, lists: pl.Series, codes: pl.Series) -> None:
    """Refuse lists that would fill the memory."""
    listed = int(lists.list.len().cast(pl.Int64).gather(codes).sum())
    if listed > MOST_LISTED:
        raise InputError(
            "the lists of column '{name}' would have {listed:,} values in all: use --format text",
            name=name,
            listed=listed,
        )


def listed_as_text(part: pl.Series) -> pl.Series:
    """Return lists as text, as JSON writes them, and any other column as it is."""
    if part.dtype != TEXTS:
        return part
    texts = [json.dumps(cell.to_list(), ensure_ascii=False, separators=(",", ":")) for cell in part]
    return pl.Series(texts, dtype=pl.String)


def _ranges(cells: Sequence[Cell], name: str) -> dict[str, pl.Series]:
    """Return both ends and the midpoint of ranges; an end in a coded tail is open, hence null, and stands apart."""
    kind: Kind = cells[0].kind
    rows = [(cell.low, cell.high, cell.bottom, cell.top) for cell in cells]
    made = of_kind(kind, [value for row in rows for value in row], name)  # of one type
    parts = {suffix: made.gather_every(4, place) for place, suffix in enumerate((LOW, HIGH, BOTTOM, TOP))}
    tails = {suffix: parts.pop(suffix) for suffix in (BOTTOM, TOP)}
    parts[MID] = middles(kind, [(low, high) for low, high, *_ in rows])
    return parts | {suffix: tail for suffix, tail in tails.items() if tail.count()}


def _means(cells: Sequence[Cell], name: str) -> dict[str, pl.Series]:
    """Return class means as floats, the nearest ones."""
    means = [None if cell.mean is None else float_near(cell.mean) for cell in cells]
    return {MEAN: pl.Series(means, dtype=pl.Float64)}


def _sets(cells: Sequence[Cell], name: str) -> dict[str, pl.Series]:
    """Return the values of sets as lists, which are empty where all values are missing."""
    return {"": pl.Series([[*(cell.values or ())] for cell in cells], dtype=TEXTS)}


def _labels(cells: Sequence[Cell], name: str) -> dict[str, pl.Series]:
    """Return labels, and the leaves below each that the policy's hierarchy lists; else the label alone."""
    labels = [cell.label for cell in cells]
    leaves = [[*(() if cell.label is None else cell.values or (cell.label,))] for cell in cells]
    return {"": pl.Series(leaves, dtype=TEXTS), LABEL: pl.Series(labels, dtype=pl.String)}


def leaves_below(given: Path | Builder | None) -> LeavesBelow:
    """Return what tells the leaves below a label; those of a hierarchy by rule are values of the table."""
    if isinstance(given, Path):
        hierarchy = Hierarchy.load(given)
    elif given is not None and given.kind == "rows":
        hierarchy = Hierarchy.from_rows(given.levels)
    else:
        return lambda label: None
    leaves = hierarchy.leaves
    known = HierarchyLabels(hierarchy, np.arange(len(leaves)))

    def below(label: str) -> list[str] | None:
        codes = known.below(label)
        return None if codes is None else [leaves[code] for code in codes.tolist()]

    return below


def bins_of(policy: Policy) -> dict[str, dict[str, Cell]]:
    """Return what the bins say that a reader's policy lists, by column and label."""
    listed = {name: spec.order or spec.domain or () for name, spec in policy.sensitive.items()}
    found = {name: bin_cells([str(label) for label in labels]) for name, labels in listed.items()}
    return {name: cells for name, cells in found.items() if cells is not None}


def bin_columns(cells: Sequence[Cell]) -> dict[str, pl.Series]:
    """Return the ends and the midpoint of bins; an end that no type holds exactly makes its bin a little wider."""
    low, high = numbers_near([cell.low for cell in cells], -1), numbers_near([cell.high for cell in cells], 1)
    return {LOW: low, HIGH: high, MID: middles("number", [(cell.low, cell.high) for cell in cells])}


def _typed_bins(column: pl.Series, bins: Mapping[str, Cell], policy: Policy) -> dict[str, pl.Series]:
    """Return the typed columns of a sensitive attribute that is published in bins; a missing cell is null."""
    name, place = column.name, {label: code for code, label in enumerate(bins)}
    made = bin_columns([*bins.values(), NOTHING])
    _check_told_apart(name, made.values(), len(bins) + 1)
    texts = column.alias("").cast(pl.String)
    codes = texts.replace_strict(place, default=None, return_dtype=pl.Int64)
    strange = texts.filter(codes.is_null() & texts.is_not_null() & ~texts.is_in(list(policy.missing)))
    if len(strange):
        raise InputError("column '{name}' has cells that are no bins: use --format text", name=name)
    return {name + suffix: part.gather(codes.fill_null(len(bins))) for suffix, part in made.items()}


_MAKERS: Mapping[Form, Callable[[Sequence[Cell], str], dict[str, pl.Series]]] = {
    RangeCell: _ranges,
    MeanCell: _means,
    SetCell: _sets,
    LabelCell: _labels,
}


# The cells that typed columns hold, each different one once


MICROSECOND = datetime.timedelta(microseconds=1)


def read_cells(parts: Mapping[str, pl.Series], *, leaves: bool = True) -> tuple[tuple[Cell, ...], Ints]:
    """Return the different cells of a column, by what typed columns add to its name, and which of them each row has.

    Without `leaves`, the lists of a hierarchy hold labels, and nobody knows the values below them.
    """
    classes = classes_of(pl.DataFrame([listed_as_text(part).alias(suffix) for suffix, part in parts.items()]))
    places = classes.rows[classes.starts]
    kind = _kind(parts)
    columns = {suffix: part[places].to_list() for suffix, part in parts.items()}
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return tuple(_typed_cell(said, kind, leaves) for said in rows), classes.labels_by_row()


def _kind(parts: Mapping[str, pl.Series]) -> CellKind:
    if LOW in parts:
        return "date" if parts[LOW].dtype.is_temporal() else "number"
    return "number" if MEAN in parts else "text"


def _typed_cell(said: Mapping[str, Any], kind: CellKind, leaves: bool) -> Cell:
    word = said.get(MISSING_ROWS)
    if word == ALL or (LOW in said and all(said.get(suffix) is None for suffix in (LOW, HIGH, BOTTOM, TOP))):
        return Cell(kind=kind, missing=True, present=False)
    low, high, bottom, top, mean = (exact_number(said.get(suffix)) for suffix in (LOW, HIGH, BOTTOM, TOP, MEAN))
    values = tuple(said.get("") or ())
    known = values if leaves else None
    label = said.get(LABEL, values[0] if not leaves and values else None)
    return Cell(
        kind=kind,
        low=low,
        high=high,
        bottom=bottom,
        top=top,
        mean=mean,
        values=known,
        label=label,
        missing=word == SOME,
    )


def exact_number(value: Any) -> Fraction | None:
    """Return a number exactly, a float as its shortest spelling, and a date as microseconds since 1970.

    >>> exact_number(0.1), exact_number(datetime.date(1970, 1, 2))
    (Fraction(1, 10), Fraction(86400000000, 1))
    """
    if value is None:
        return None
    if isinstance(value, datetime.date):
        moment = value if isinstance(value, datetime.datetime) else datetime.datetime(*value.timetuple()[:3])
        return Fraction((moment.replace(tzinfo=None) - EPOCH) // MICROSECOND)
    return Fraction(repr(value) if isinstance(value, float) else value)


# Typed columns back into published cells


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
            columns[name] = _bin_labels(name, parts_of(frame, name), bins)
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
        raise InputError("the typed columns of '{name}' are not all there", name=name)
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
        texts = [write(_published_cell(each)) for each in said]
    except ValueError:
        raise InputError("a typed cell of '{name}' cannot be read", name=name) from None
    if len({*texts}) < len(texts):
        raise InputError("typed columns of '{name}' contradict each other", name=name)
    if MID in parts:
        _check_middles(name, said)
    return pl.Series(texts, dtype=pl.String).gather(classes.labels_by_row())


def _bin_labels(name: str, parts: Mapping[str, pl.Series], bins: Mapping[str, Cell]) -> pl.Series:
    """Return the label of each row's bin; ends that are those of no bin are refused."""
    if {*parts} != {LOW, HIGH, MID}:
        raise InputError("the typed columns of '{name}' are not all there", name=name)
    rows = pl.DataFrame([part.alias(suffix) for suffix, part in parts.items()])
    different = rows.unique()
    ends = [plain(part) for suffix, part in bin_columns(list(bins.values())).items() if suffix != MID]
    label_of = dict(zip(zip(*ends, strict=True), bins, strict=True)) | {(None, None): None}
    if not all((low, high) in label_of for low, high in different.select(LOW, HIGH).iter_rows()):
        raise InputError("the typed columns of '{name}' hold a bin that the policy does not have", name=name)
    _check_middles(name, different.to_dicts())
    table = different.with_columns(
        label=pl.Series([label_of[ends] for ends in different.select(LOW, HIGH).iter_rows()], dtype=pl.String)
    )
    return rows.join(table, on=[LOW, HIGH, MID], how="left", nulls_equal=True, maintain_order="left")["label"]


def _published_cell(said: Mapping[str, str | None]) -> Spelling:
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
        raise InputError("the ends of '{name}' are neither all numbers nor all dates", name=name)
    values = iter(known)
    exact = [None if end is None else next(values) for pair in ends for end in pair]
    expected = plain(middles(kind, list(zip(exact[::2], exact[1::2], strict=True)))).to_list()
    if not all(_close(each[MID], middle) for each, middle in zip(said, expected, strict=True)):
        raise InputError(
            "'{name}{mid}' does not hold the midpoints of '{name}{low}' and '{name}{high}'",
            name=name,
            mid=MID,
            low=LOW,
            high=HIGH,
        )


def _close(text: str | None, expected: str | None) -> bool:
    if text == expected or text is None or expected is None:
        return text == expected
    kind, values = exact_texts([text, expected])
    return kind == "number" and abs(values[0] - values[1]) <= CLOSE * max(abs(values[0]), abs(values[1]))


def _check_classes(frame: pl.DataFrame, visible: pl.DataFrame) -> None:
    """Refuse numbers and sizes of classes that are not those of the rows that look alike."""
    for name in (CLASS, CLASS_SIZE):
        if name not in frame.columns:
            raise InputError("the release has no column '{name}'", name=name)
    classes = classes_of(visible)
    labels, sizes = plain(frame[CLASS]), plain(frame[CLASS_SIZE])
    numbered = pl.DataFrame({"found": classes.labels_by_row(), "said": labels}).unique()
    found = pl.Series(classes.sizes[classes.labels_by_row()]).cast(pl.String)
    if labels.null_count() or labels.n_unique() != len(classes) or len(numbered) != len(classes):
        raise InputError("'{class_}' does not number the classes of rows that look alike", class_=CLASS)
    if not (sizes == found).fill_null(False).all():
        raise InputError("'{class_size}' does not hold the sizes of the classes", class_size=CLASS_SIZE)


_FORMS = (  # the typed columns that a form always has, and those that it may have
    ((LOW, HIGH, MID), (BOTTOM, TOP, MISSING_ROWS)),
    ((MEAN,), (MISSING_ROWS,)),
    (("", LABEL), (MISSING_ROWS,)),
    (("",), (MISSING_ROWS,)),
)
