"""Counts that are asked of a table and of its release: how wrong a reader's counts are, for the steward to know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tclose.measure.queries import CodeSets, QueriedRows, QueriedTable, QueryError, ValueShares, draw, query_error
from tclose.measure.regions import value_shares
from tclose.recode.spelling import MISSING
from tclose.table import CodedTable, SensitiveColumn
from tclose.table.classes import classes_of
from tclose.table.quasi import LabelColumn, QuasiColumn, read_quasi
from tclose.table.values import values_of
from tclose.types import Ints


@dataclass(frozen=True, eq=False)
class LinkedRows:
    """A published table of exact quasi-identifiers, and the column that links it to a table of sensitive values."""

    frame: pl.DataFrame
    group: str


def error_of_counts(
    whole: pl.DataFrame,
    original: CodedTable,
    published: Sequence[CodedTable],
    seed: int,
    *,
    linked: LinkedRows | None = None,
) -> QueryError | None:
    """Ask the same random queries of a table, given whole and coded, and of its published tables; None without queries.

    The same seed asks the same queries. Each of several published tables answers for its own sensitive attributes.
    With `linked` rows, the published table holds the sensitive values of groups.
    """
    columns = _OriginalColumns.of(whole, original)
    rows = columns.rows(original, whole.height)
    if linked is not None:
        tables = [columns.linked(linked, published[0])]
    else:
        tables = [columns.published(table) for table in published]
    return query_error(rows, tables, draw(rows, seed))


@dataclass(frozen=True, eq=False)
class _OriginalColumns:
    """The columns of the original, in whose codes published tables are read, as any reader could."""

    quasi: Sequence[QuasiColumn]
    sensitive: Mapping[str, SensitiveColumn]  # less those that are quasi-identifiers, too

    @classmethod
    def of(cls, whole: pl.DataFrame, table: CodedTable) -> _OriginalColumns:
        """Take the coded columns; where rows without a sensitive value were left out, read quasi-identifiers anew."""
        policy = table.policy
        sensitive = {name: column for name, column in table.sensitive.items() if name not in policy.both}
        if len(table) == whole.height:
            return cls(list(table.quasi.values()), sensitive)
        quasi = [read_quasi(whole[name], spec, policy.missing) for name, spec in policy.quasi.items()]
        return cls(quasi, sensitive)

    def rows(self, table: CodedTable, height: int) -> QueriedRows:
        """Return all rows of the original, those without a sensitive value as well."""
        return QueriedRows(
            quasi=tuple(column.codes for column in self.quasi),
            sensitive=tuple(_in_place(column.codes, table.rows, height) for column in self.sensitive.values()),
            height=height,
        )

    def published(self, table: CodedTable) -> QueriedTable:
        """Read a table of classes."""
        classes = table.classes
        shares, shown = self._cells(table.frame[classes.rows[classes.starts]])
        listed = [_listed(column, table) for column in self.quasi]
        everyone = np.arange(len(classes))
        return QueriedTable(
            shares=tuple(even if exact is None else exact for even, exact in zip(shares, listed, strict=True)),
            shown=tuple(text if exact is None else everyone for text, exact in zip(shown, listed, strict=True)),
            sizes=classes.sizes,
            groups=np.arange(len(classes)),
            sensitive=self._values(table, classes.labels_by_row(), len(classes)),
        )

    def linked(self, linked: LinkedRows, values: CodedTable) -> QueriedTable:
        """Read a table of quasi-identifiers and a table of sensitive values, which a group links."""
        frame, group = linked.frame, linked.group
        cells = classes_of(frame[[*(column.name for column in self.quasi), group]])
        first = frame[cells.rows[cells.starts]]
        numbers, owners = np.unique(values.frame[group].to_numpy(), return_inverse=True)
        return QueriedTable(
            *self._cells(first),
            sizes=cells.sizes,
            groups=np.searchsorted(numbers, first[group].to_numpy()),
            sensitive=self._values(values, owners, len(numbers)),
        )

    def _cells(self, cells: pl.DataFrame) -> tuple[tuple[ValueShares, ...], tuple[Ints, ...]]:
        """Return what the different texts of each quasi-identifier may stand for, and which text each cell shows."""
        texts = [_texts(cells[column.name]) for column in self.quasi]
        shares = (value_shares(column, different) for column, (different, _) in zip(self.quasi, texts, strict=True))
        return tuple(shares), tuple(numbers for _, numbers in texts)

    def _values(self, table: CodedTable, groups: Ints, count: int) -> dict[int, CodeSets]:
        return {
            number: _code_sets(table.sensitive[name], column, groups, count)
            for number, (name, column) in enumerate(self.sensitive.items())
            if name in table.sensitive
        }


def _listed(column: QuasiColumn, published: CodedTable) -> CodeSets | None:
    """Return the exact values of each class, where they are counted apart from the rows; None if not, or in bins."""
    if column.name not in published.apart:
        return None
    texts = column.hierarchy.leaves if isinstance(column, LabelColumn) else column.values.texts
    values, labels = published.values(column.name), published.classes.labels_by_row()
    equal = values_of(pl.Series([*texts, *values.texts], dtype=pl.String), ()).codes  # 1.0 is 1
    code = np.full(int(equal.max(initial=-1)) + 1, -1, dtype=np.int64)
    code[equal[: len(texts)]] = np.arange(len(texts))
    codes = code[equal[len(texts) :]]
    if (codes < 0).any():
        return None
    of_rows = np.append(codes, -1)[values.codes]
    return CodeSets.of(labels, of_rows, domain=len(texts), count=len(published.classes))


def _in_place(codes: Ints, rows: Ints, height: int) -> Ints:
    """Put codes back to where their rows stood; a row that lacks a sensitive value has none."""
    if len(rows) == height:
        return codes
    placed = np.full(height, -1, dtype=np.int64)
    placed[rows] = codes
    return placed


def _texts(cells: pl.Series) -> tuple[list[str], Ints]:
    """Return the different texts of a published column, and which of them each cell shows."""
    texts = cells.alias("").cast(pl.String).fill_null(MISSING)
    different = texts.unique(maintain_order=True)
    numbers = pl.Series(range(len(different)), dtype=pl.Int64)
    return different.to_list(), texts.replace_strict(different, numbers, return_dtype=pl.Int64).to_numpy()


def _code_sets(published: SensitiveColumn, original: SensitiveColumn, groups: Ints, count: int) -> CodeSets:
    """Return the sensitive values of each group; a release that withholds rows may show fewer of them."""
    labels = len(original.labels)
    equal = values_of(pl.Series([*original.labels, *published.labels], dtype=pl.String), ()).codes  # 1.0 is 1
    number = np.empty(int(equal.max()) + 1, dtype=np.int64)
    number[equal[:labels]] = np.arange(labels)
    return CodeSets.of(groups, number[equal[labels:]][published.codes], domain=labels, count=count)
