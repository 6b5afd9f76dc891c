"""Counts asked of a table and of its release: what a reader of the release gets wrong, for its steward to know."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import LeakWarning
from tclose.measure.queries import Members, Published, QueryError, Rows, draw, query_error
from tclose.measure.regions import spread_of
from tclose.policy import Policy
from tclose.recode.published import MISSING
from tclose.release import Release
from tclose.table import CodedTable, SensitiveColumn, encode
from tclose.table.coded import rows_with_values
from tclose.table.quasi import QuasiColumn, read_quasis
from tclose.table.values import values_of

Ints = NDArray[np.int64]


def error_of_counts(whole: pl.DataFrame, policy: Policy, release: Release, seed: int) -> QueryError | None:
    """Ask the same random queries of a table and of its release; the same seed asks the same queries."""
    quasi, table = read_quasis(whole, policy), _encoded(whole, policy)
    having = rows_with_values(whole, policy)
    rows = Rows(
        quasi=tuple(column.codes for column in quasi),
        sensitive=tuple(_in_place(column.codes, having, whole.height) for column in table.sensitive.values()),
        height=whole.height,
    )
    published = _published(release.frame, release.judge.policy, quasi, table.sensitive)
    return query_error(rows, [published], draw(rows, seed))


def _encoded(frame: pl.DataFrame, policy: Policy) -> CodedTable:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)  # told when the table was read
        return encode(frame, policy)


def _in_place(codes: Ints, having: Ints | None, height: int) -> Ints:
    """Put codes back to where their rows stood; a row that lacks a sensitive value has none."""
    if having is None:
        return codes
    found = np.full(height, -1, dtype=np.int64)
    found[having] = codes
    return found


def _published(
    frame: pl.DataFrame, policy: Policy, quasi: Sequence[QuasiColumn], sensitive: Mapping[str, SensitiveColumn]
) -> Published:
    """Read a published table as anybody could, in the codes of the original."""
    table = _encoded(frame, policy)
    classes = table.classes
    first = classes.rows[classes.starts]
    read = [_shown(frame[column.name][first]) for column in quasi]
    return Published(
        spreads=tuple(spread_of(column, texts) for column, (texts, _) in zip(quasi, read, strict=True)),
        shown=tuple(shown for _, shown in read),
        sizes=classes.sizes,
        groups=np.arange(len(classes)),
        sensitive={
            number: _values(table.sensitive[name], column, classes.labels_by_row(), len(classes))
            for number, (name, column) in enumerate(sensitive.items())
            if name in table.sensitive
        },
    )


def _shown(cells: pl.Series) -> tuple[list[str], Ints]:
    """Return the different texts of a published column, and which of them each cell shows."""
    texts = cells.alias("").cast(pl.String).fill_null(MISSING)
    different = texts.unique(maintain_order=True)
    numbers = pl.Series(range(len(different)), dtype=pl.Int64)
    return different.to_list(), texts.replace_strict(different, numbers, return_dtype=pl.Int64).to_numpy()


def _values(published: SensitiveColumn, original: SensitiveColumn, groups: Ints, count: int) -> Members:
    """Return the sensitive values of each group; a release that withholds rows may know fewer of them."""
    there = len(original.labels)
    alike = values_of(pl.Series([*original.labels, *published.labels], dtype=pl.String), ()).codes  # 1.0 is 1
    number = np.empty(int(alike.max()) + 1, dtype=np.int64)
    number[alike[:there]] = np.arange(there)
    return Members.of(groups, number[alike[there:]][published.codes], domain=there, count=count)
