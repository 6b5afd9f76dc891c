"""A published table as typed columns (`--format columns`); `untyped.py` reads them back into published cells.

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
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from tclose.errors import InputError
from tclose.policy import Builder, Policy
from tclose.recode.cell import Cell, LeavesBelow, bin_cells, cells_of
from tclose.recode.meaning import Labels
from tclose.recode.spelling import Form, LabelCell, MeanCell, RangeCell, SetCell, Spelling, readings
from tclose.recode.typed_values import USE_TEXT, float_near, middles, numbers_near, of_kind, typed
from tclose.table.classes import classes_of
from tclose.table.hierarchy import Hierarchy
from tclose.table.values import Kind

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
            f"--format columns adds columns of its own, and one of them could be called '{clash}', as a column of the "
            f"table is: rename that column, or {USE_TEXT}"
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
            columns |= _bins(column, bins[column.name], policy)
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
            raise InputError(f"column '{name}' spells one value in several ways: {USE_TEXT}")


def _quasi(column: pl.Series, policy: Policy, form: Form | None, *, lists: bool, apart: bool) -> dict[str, pl.Series]:
    """Return the typed columns of a quasi-identifier."""
    name, texts = column.name, column.alias("").cast(pl.String)
    if form is None:
        raise InputError(
            f"column '{name}' has a value that looks like a set or like 'missing', so its cells can be read in two "
            f"ways: {USE_TEXT}"
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
        raise InputError(f"column '{name}' has cells that typed columns do not hold: {USE_TEXT}")
    return found[-1]


def missing_word(cell: Cell) -> str:
    """Say how many rows of a class lack a value."""
    return ALL if not cell.present else SOME if cell.missing else NONE


def _check_told_apart(name: str, parts: Iterable[pl.Series], different: int) -> None:
    """Refuse cells that are different as text and equal as values: a reader would see fewer classes."""
    texts = pl.DataFrame([listed_as_text(part).alias(str(place)) for place, part in enumerate(parts)])
    if texts.n_unique() < different:
        raise InputError(f"column '{name}' has different cells that would be equal in typed columns: {USE_TEXT}")


def _check_size(name: str, lists: pl.Series, codes: pl.Series) -> None:
    """Refuse lists that would fill the memory."""
    listed = int(lists.list.len().cast(pl.Int64).gather(codes).sum())
    if listed > MOST_LISTED:
        raise InputError(f"the lists of column '{name}' would have {listed:,} values in all: {USE_TEXT}")


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
    known = Labels(hierarchy, np.arange(len(leaves)))

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


def _bins(column: pl.Series, bins: Mapping[str, Cell], policy: Policy) -> dict[str, pl.Series]:
    """Return the typed columns of a sensitive attribute that is published in bins; a missing cell is null."""
    name, place = column.name, {label: code for code, label in enumerate(bins)}
    made = bin_columns([*bins.values(), NOTHING])
    _check_told_apart(name, made.values(), len(bins) + 1)
    texts = column.alias("").cast(pl.String)
    codes = texts.replace_strict(place, default=None, return_dtype=pl.Int64)
    strange = texts.filter(codes.is_null() & texts.is_not_null() & ~texts.is_in(list(policy.missing)))
    if len(strange):
        raise InputError(f"column '{name}' has cells that are no bins: {USE_TEXT}")
    return {name + suffix: part.gather(codes.fill_null(len(bins))) for suffix, part in made.items()}


_MAKERS: Mapping[Form, Callable[[Sequence[Cell], str], dict[str, pl.Series]]] = {
    RangeCell: _ranges,
    MeanCell: _means,
    SetCell: _sets,
    LabelCell: _labels,
}
