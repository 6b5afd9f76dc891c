"""A published table as typed columns (`--format columns`); `untyped.py` reads them back into published cells.

| the cells of `age` are | columns |
|---|---|
| ranges of numbers or dates | `age_low`, `age_high`, `age_mid` |
| ranges with an end such as `≤18` | that end and the midpoint are null, and `age_bottom` (or `age_top`) is 18 |
| class means | `age_mean` |
| sets of values | `age`, a list |
| labels of a hierarchy | `age`, the list of the leaves below it, and `age_label`; of a hierarchy by rule, the label |
| sometimes missing | also `age_missing`: `none`, `some` or `all` of the class's rows |

Rows also get `class`, numbered in the order of the published rows, and `class_size`. Everything is a function of the
published cells and of hierarchies that the policy lists. The leaves of a hierarchy by rule are values of the table, so
they are not published.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl

from tclose.errors import InputError
from tclose.policy import Builder, Policy
from tclose.recode.forms import ends_of, plain_end
from tclose.recode.meaning import Labels
from tclose.recode.spelling import (
    AT_LEAST,
    AT_MOST,
    Cell,
    Form,
    LabelCell,
    MeanCell,
    MissingCell,
    RangeCell,
    SetCell,
    ValueCell,
    readings,
)
from tclose.recode.typed_values import USE_TEXT, exact_texts, middles, of_kind, typed
from tclose.table.classes import classes_of
from tclose.table.hierarchy import Hierarchy

CLASS, CLASS_SIZE = "class", "class_size"
LOW, HIGH, MID, BOTTOM, TOP = "_low", "_high", "_mid", "_bottom", "_top"
MEAN, LABEL, MISSING_ROWS = "_mean", "_label", "_missing"
SUFFIXES = (LOW, HIGH, MID, BOTTOM, TOP, MEAN, LABEL, MISSING_ROWS)
NONE, SOME, ALL = "none", "some", "all"  # of a class's rows lack a value
MOST_LISTED = 200_000_000  # values in the lists of one column
TEXTS = pl.List(pl.String)


def check_typed_names(policy: Policy) -> None:
    """Refuse a policy whose columns have names that typed columns could get."""
    published = (*policy.visible, *policy.sensitive, *policy.unlinkable, *(policy.pseudonym or ()))
    own = {name.casefold(): name for name in published}
    made = [CLASS, CLASS_SIZE, *(name + suffix for name in policy.quasi for suffix in SUFFIXES)]
    clash = next((own[name.casefold()] for name in made if name.casefold() in own), None)
    if clash is not None:
        raise InputError(
            f"--format columns adds columns of its own, and one of them could be called '{clash}', as a column of the "
            f"table is: rename that column, or {USE_TEXT}"
        )


def typed_table(
    published: pl.DataFrame, policy: Policy, forms: Mapping[str, Form | None], *, lists: bool = True
) -> pl.DataFrame:
    """Return a published table as typed columns; without `lists`, lists are text, as JSON writes them."""
    columns: dict[str, pl.Series] = {}
    for column in published.iter_columns():
        if column.name in policy.quasi:
            columns |= _quasi(column, policy, forms[column.name], lists)
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


@dataclass(frozen=True)
class _Cells:
    """The different cells of a column, and how the policy publishes it."""

    name: str
    cells: Sequence[Cell]
    hierarchy: Path | Builder | None


def _quasi(column: pl.Series, policy: Policy, form: Form | None, lists: bool) -> dict[str, pl.Series]:
    """Return the typed columns of a quasi-identifier."""
    name, texts = column.name, column.alias("").cast(pl.String)
    if form is None:
        raise InputError(
            f"column '{name}' has a value that looks like a set or like 'missing', so its cells can be read in two "
            f"ways: {USE_TEXT}"
        )
    different = texts.unique(maintain_order=True)
    cells = [_cell(text, form, name) for text in different]
    made = _MAKERS[form](_Cells(name, cells, policy.quasi[name].hierarchy))
    words = [missing_word(cell) for cell in cells]
    made |= {MISSING_ROWS: pl.Series(words)} if {*words} != {NONE} else {}
    _check_told_apart(name, made.values(), len(different))
    codes = texts.replace_strict(different, np.arange(len(different)), return_dtype=pl.Int64)
    if "" in made:
        _check_size(name, made[""], codes)
    made = made if lists else {suffix: listed_as_text(part) for suffix, part in made.items()}
    return {name + suffix: part.gather(codes) for suffix, part in made.items()}


def _cell(text: str, form: Form, name: str) -> Cell:
    """Return what a text says; where values can be told from sets, the reading with most structure is the right one."""
    found = readings(text, form)
    if not found:
        raise InputError(f"column '{name}' has cells that typed columns do not hold: {USE_TEXT}")
    return found[-1]


def missing_word(cell: Cell) -> str:
    """Say how many rows of a class lack a value."""
    if isinstance(cell, MissingCell):
        return ALL
    return SOME if not isinstance(cell, ValueCell) and cell.missing else NONE


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


def _ranges(given: _Cells) -> dict[str, pl.Series]:
    """Return both ends and the midpoint of ranges; an end in a coded tail is open, hence null, and stands apart."""
    ends = ends_of(given.cells)
    kind, exact = exact_texts(ends)
    if kind == "mixed":
        raise InputError(f"column '{given.name}' has ends that are neither decimal numbers nor dates: {USE_TEXT}")
    value_of = dict(zip(ends, exact, strict=True))
    rows = [_range(cell, value_of) for cell in given.cells]
    made = of_kind(kind, [value for row in rows for value in row], given.name)  # of one type
    parts = {suffix: made.gather_every(4, place) for place, suffix in enumerate((LOW, HIGH, BOTTOM, TOP))}
    tails = {suffix: parts.pop(suffix) for suffix in (BOTTOM, TOP)}
    parts[MID] = middles(kind, [(low, high) for low, high, *_ in rows])
    return parts | {suffix: tail for suffix, tail in tails.items() if tail.count()}


def _range(cell: Cell, value_of: Mapping[str, Fraction]) -> tuple[Fraction | None, ...]:
    """Return the low and the high end of a range, and the ends of the coded tails that it reaches into."""
    if not isinstance(cell, RangeCell):
        return (None, None, None, None)
    low, high = value_of[plain_end(cell.low)], value_of[plain_end(cell.high)]
    in_bottom, in_top = cell.low.startswith(AT_MOST), cell.high.startswith(AT_LEAST)
    return (None if in_bottom else low, None if in_top else high, low if in_bottom else None, high if in_top else None)


def _means(given: _Cells) -> dict[str, pl.Series]:
    """Return class means as floats."""
    texts = [cell.mean for cell in given.cells if isinstance(cell, MeanCell)]
    value_of = dict(zip(texts, exact_texts(texts)[1], strict=True))
    means = [value_of[cell.mean] if isinstance(cell, MeanCell) else None for cell in given.cells]
    return {MEAN: of_kind("number", means, given.name).cast(pl.Float64)}


def _sets(given: _Cells) -> dict[str, pl.Series]:
    """Return the values of sets as lists, which are empty where all values are missing."""
    members = [list(cell.members) if isinstance(cell, SetCell) else [] for cell in given.cells]
    return {"": pl.Series(members, dtype=TEXTS)}


def _labels(given: _Cells) -> dict[str, pl.Series]:
    """Return labels, and the leaves below each that the policy's hierarchy lists."""
    below = _leaves_below(given.hierarchy)
    labels = [cell.label if isinstance(cell, LabelCell) else None for cell in given.cells]
    leaves = [[] if label is None else below(label) for label in labels]
    return {"": pl.Series(leaves, dtype=TEXTS), LABEL: pl.Series(labels, dtype=pl.String)}


def _leaves_below(given: Path | Builder | None) -> Callable[[str], list[str]]:
    if isinstance(given, Path):
        hierarchy = Hierarchy.load(given)
    elif given is not None and given.kind == "rows":
        hierarchy = Hierarchy.from_rows(given.levels)
    else:
        return lambda label: [label]
    leaves = hierarchy.leaves
    known = Labels(hierarchy, np.arange(len(leaves)))

    def below(label: str) -> list[str]:
        codes = known.below(label)
        return [label] if codes is None else [leaves[code] for code in codes.tolist()]

    return below


_MAKERS: Mapping[Form, Callable[[_Cells], dict[str, pl.Series]]] = {
    RangeCell: _ranges,
    MeanCell: _means,
    SetCell: _sets,
    LabelCell: _labels,
}
