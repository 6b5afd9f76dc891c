"""Identifiers as keyed pseudonyms: one text for each identifier, whatever type its column has.

A whole number is spelled in plain digits, so that 7, 7.0 and the text "7" are one identifier. Text stays as it is, but
for spaces at its ends and its Unicode form: "007" is another identifier than "7".
"""

from __future__ import annotations

import unicodedata

import numpy as np
import polars as pl

from tclose.errors import InputError, InternalError
from tclose.policy import Policy
from tclose.table.classes import Classes, classes_of, forms_classes
from tclose.table.coded import CodedTable
from tclose.table.pseudonym_key import LENGTH, LETTERS, PseudonymKey
from tclose.table.tally import marked_missing
from tclose.types import Ints
from tclose.words import counted, some_columns

MOST_EXACT = 2**53  # from which on floats skip whole numbers
FORM = f"^[{LETTERS}]{{{LENGTH}}}$"


def with_pseudonyms(frame: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return a table with pseudonyms in the place of the identifier that the policy publishes so."""
    for name, spec in (policy.pseudonym or {}).items():
        key = PseudonymKey.load(spec.key)
        frame = pl.DataFrame(
            {c.name: _pseudonyms(c, key, policy) if c.name == name else c for c in frame.iter_columns()}
        )
    return frame


def _pseudonyms(column: pl.Series, key: PseudonymKey, policy: Policy) -> pl.Series:
    texts = identifier_texts(column, policy.missing)
    different = texts.unique()
    pseudonyms = pl.Series([key.pseudonym(text) for text in different], dtype=pl.String)
    if pseudonyms.n_unique() < len(different):
        raise InternalError("two identifiers have the same pseudonym, so nothing was released")
    return texts.replace_strict(different, pseudonyms)


def identifier_texts(column: pl.Series, missing: tuple[str, ...]) -> pl.Series:
    """Return the text of each identifier; rows without one are refused."""
    name, column = column.name, column.alias("")  # polars takes names such as ^x$ for patterns
    if not forms_classes(column.dtype):
        raise InputError(f"column '{name}' is of type {column.dtype.base_type()}: make it text or a whole number")
    cells = _whole(name, column)
    texts = cells.cast(pl.String)
    spelled = texts.unique().drop_nulls()
    plain = pl.Series([unicodedata.normalize("NFC", text).strip() for text in spelled], dtype=pl.String)
    texts = texts.replace_strict(spelled, plain, return_dtype=pl.String)
    marks = (*missing, "")
    lacking = int(np.count_nonzero(marked_missing(texts.fill_null(""), marks)))
    if lacking:
        have = "row has" if lacking == 1 else "rows have"
        raise InputError(f"{lacking:,} {have} no '{name}', and a pseudonym needs one: add it, or leave these rows out")
    return texts


def _whole(name: str, column: pl.Series) -> pl.Series:
    """Return numbers as whole numbers, and any other column as it is."""
    if not (column.dtype.is_float() or column.dtype.is_decimal()):
        return column
    numbers = column.cast(pl.Float64)
    known = numbers.drop_nulls()
    if not ((known.abs() < MOST_EXACT) & (known == known.round())).all():
        raise InputError(f"'{name}' holds numbers that are not whole, or too large to be exact: store it as text")
    return numbers.cast(pl.Int64)


def are_pseudonyms(column: pl.Series) -> bool:
    """Tell whether all cells of a column look like pseudonyms."""
    text = column.alias("")
    return text.dtype == pl.String and not text.null_count() and bool(text.str.contains(FORM).all())


def persons_apart(table: CodedTable, classes: Classes) -> int:
    """Count the persons whose rows are not all in one class."""
    assert table.persons is not None
    labels, persons = classes.labels_by_row(), table.persons
    lowest = np.full(int(persons.max()) + 1, len(labels), dtype=np.int64)
    highest = np.full(len(lowest), -1, dtype=np.int64)
    np.minimum.at(lowest, persons, labels)
    np.maximum.at(highest, persons, labels)
    return int(np.count_nonzero(highest > lowest))


def check_kept_by_person(table: CodedTable) -> None:
    """Refuse rows of one person with different kept values, which would be in different classes."""
    policy = table.policy
    if not policy.keep or table.persons is None:
        return
    apart = [name for name in policy.keep if persons_apart(table, classes_of(table.frame[[name]]))]
    if apart:
        persons = persons_apart(table, table.groups)
        raise InputError(
            f"all rows of a pseudonym must be in one class, but {counted(persons, 'person')} show different values "
            f"of {some_columns(apart)}, which the policy keeps: leave that out of keep"
        )


def middle_rows(persons: Ints) -> Ints:
    """Return one row of each person 0, 1, 2, …: the middle one of the person's rows, in the table's order.

    >>> middle_rows(np.array([1, 0, 1, 1]))
    array([1, 2])
    """
    return ranked_rows(persons, np.zeros(len(persons), dtype=np.int64), 1, 2)


def ranked_rows(persons: Ints, codes: Ints, part: int, parts: int) -> Ints:
    """Return the row of each person 0, 1, 2, … that stands at a part of the way through the person's sorted rows.

    >>> ranked_rows(np.array([0, 0, 0, 1]), np.array([7, 5, 9, 4]), 2, 2)
    array([2, 3])
    """
    order = np.lexsort((codes, persons))
    sizes = np.bincount(persons)
    starts = np.cumsum(sizes) - sizes
    return np.asarray(order[starts + (sizes - 1) * part // parts])
