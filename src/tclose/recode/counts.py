"""Exact values of columns that are both quasi-identifier and sensitive: how they are published, and read back.

Rows publish their class's value of such a column. A second table lists for every class how many of its rows have which
exact value. A class is named by what its rows show, so that classes that look alike are one. Nothing links a value to
a row, and the order of the list depends on what it shows only.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from tclose.errors import InputError
from tclose.policy import Policy
from tclose.recode.frame import new_name, ordered
from tclose.table import CodedTable
from tclose.table.classes import Classes, classes_of
from tclose.types import Ints
from tclose.words import counted

LISTED = ("column", "value", "count")
WHOLE = "^[1-9][0-9]{0,14}$"  # a number of rows


def exact_cells(table: CodedTable, policy: Policy, name: str) -> pl.Series:
    """Return the cell that each row contributes to the counts: its value, or its bin where bins are published."""
    texts, codes = _texts_and_codes(table, policy, name)
    return pl.Series(name, [*texts, None], dtype=pl.String).gather(codes)


def counts_of(rows: pl.DataFrame, table: CodedTable, policy: Policy) -> pl.DataFrame:
    """List the values of each column that is both, per class of published `rows`, which stand in the table's order."""
    visible = rows[list(policy.visible)]  # `ordered` makes texts of categories
    classes = classes_of(visible)
    shown, order = ordered(visible[classes.rows[classes.starts]])
    place = np.argsort(order)[classes.labels_by_row()]
    lists = [_counted(table, policy, name, place) for name in policy.both]
    owners = np.concatenate([owners for owners, _ in lists])
    sorting = np.argsort(owners, kind="stable")
    listed = pl.concat([frame for _, frame in lists])
    titled = listed.rename(dict(zip(LISTED, titles(policy), strict=True)))
    return shown[owners[sorting]].hstack(titled[sorting].get_columns())


def _counted(table: CodedTable, policy: Policy, name: str, place: Ints) -> tuple[Ints, pl.DataFrame]:
    """Return the class of each entry about one column, in order, and the entries."""
    texts, codes = _texts_and_codes(table, policy, name)
    width = len(texts) + 1  # a missing value comes last
    keys, counts = np.unique(place * width + codes, return_counts=True)
    values = pl.Series([*texts, None], dtype=pl.String).gather(keys % width)
    cells = {"column": pl.Series([name]).new_from_index(0, len(keys)), "value": values, "count": counts}
    return keys // width, pl.DataFrame(cells, schema_overrides={"count": pl.Int64})


def _texts_and_codes(table: CodedTable, policy: Policy, name: str) -> tuple[tuple[str, ...], Ints]:
    """Return the texts that are listed for a column, and which of them each row has; missing is one beyond them."""
    values = table.values(name)
    texts, codes = values.texts, values.codes
    if policy.sensitive[name].publish == "bin":
        texts, codes = table.sensitive[name].labels, np.where(codes < 0, -1, table.sensitive[name].codes)
    return texts, np.where(codes < 0, len(texts), codes)


def titles(policy: Policy) -> tuple[str, str, str]:
    """Return the names of the last three columns of the list, which no visible column has."""
    first, second, third = (new_name(name, policy.visible) for name in LISTED)
    return first, second, third


def cells_apart(published: pl.DataFrame, counts: pl.DataFrame, policy: Policy) -> dict[str, pl.Series]:
    """Return exact cells for the rows of a published table: each class has those that are listed for it.

    Which row of a class gets which cell means nothing. A list that does not fit the table is refused.
    """
    names = titles(policy)
    if sorted(counts.columns) != sorted([*policy.visible, *names]):
        raise InputError("the counts do not have the columns that the policy gives them")
    column, value, count = (counts[name].alias("").cast(pl.String) for name in names)
    if not count.str.contains(WHOLE).fill_null(False).all():
        raise InputError("the counts hold something else than numbers of rows")
    if not column.is_in(list(policy.both)).fill_null(False).all():
        raise InputError("the counts name a column that is not both quasi-identifier and sensitive")
    classes, owners = _matched(published, counts, policy)
    entries = pl.DataFrame({"owner": owners, "column": column, "value": value.fill_null("")})
    if len(classes_of(entries)) < len(entries):
        raise InputError("the counts list a value of a class twice")
    rows = count.cast(pl.Int64).to_numpy()
    return {name: _spread(name, (column == name).to_numpy(), value, rows, owners, classes) for name in policy.both}


def _matched(published: pl.DataFrame, counts: pl.DataFrame, policy: Policy) -> tuple[Classes, Ints]:
    """Return the classes of a published table, and the class of each entry; a class without rows is beyond them."""
    visible = list(policy.visible)
    texts = [
        pl.DataFrame([column.cast(pl.String).fill_null("") for column in frame[visible].iter_columns()])
        for frame in (published, counts)
    ]
    labels = classes_of(pl.concat(texts)).labels_by_row()  # in the order in which rows first show them
    return Classes.from_labels(labels[: published.height]), labels[published.height :]


def _spread(name: str, mine: Ints, value: pl.Series, rows: Ints, owners: Ints, classes: Classes) -> pl.Series:
    """Give the rows of each class the values that are listed for it."""
    entries = np.flatnonzero(mine)
    totals = np.zeros(max(len(classes), int(owners.max(initial=0)) + 1), dtype=np.int64)
    np.add.at(totals, owners[entries], rows[entries])
    expected = np.append(classes.sizes, np.zeros(len(totals) - len(classes), dtype=np.int64))
    if wrong := int(np.count_nonzero(totals != expected)):
        raise InputError(f"the counts of '{name}' do not add up to the rows of {counted(wrong, 'class')}")
    entries = entries[np.argsort(owners[entries], kind="stable")]
    places = np.empty(len(classes.rows), dtype=np.int64)
    places[classes.rows] = np.repeat(entries, rows[entries])
    return value.gather(places).alias(name)
