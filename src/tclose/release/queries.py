"""Counts asked of a table and of its release: what a reader of the release gets wrong, for its steward to know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from tclose.measure.queries import Members, Published, QueryError, Rows, Spread, draw, query_error
from tclose.measure.regions import spread_of
from tclose.policy import Policy, Quasi
from tclose.policy.derived import attribute_policy
from tclose.recode.spelling import MISSING
from tclose.release.certificate import Certificate
from tclose.table import CodedTable, SensitiveColumn, encode_quietly
from tclose.table.classes import classes_of
from tclose.table.quasi import QuasiColumn, read_quasi
from tclose.table.values import values_of
from tclose.types import Ints


def error_of_counts(
    whole: pl.DataFrame, policy: Policy, tables: Sequence[pl.DataFrame], certificate: Certificate, seed: int
) -> QueryError | None:
    """Ask the same random queries of a table and of its published tables.

    The same seed asks the same queries. Tables that share out the sensitive attributes each answer for their own.
    """
    table = encode_quietly(whole, policy, ignore_others=True)
    quasi = [read_quasi(whole[name], spec, policy.missing) for name, spec in policy.quasi.items()]
    rows = Rows(
        quasi=tuple(column.codes for column in quasi),
        sensitive=tuple(_in_place(column.codes, table.rows, whole.height) for column in table.sensitive.values()),
        height=whole.height,
    )
    original, reader = Original(quasi, table.sensitive), certificate.policy
    if certificate.group is not None:
        published = [original.parted(tables[0], tables[1], reader, certificate.group)]
    else:
        published = [original.published(frame, attribute_policy(reader, frame.columns)) for frame in tables]
    return query_error(rows, published, draw(rows, seed))


@dataclass(frozen=True, eq=False)
class Original:
    """The columns of the original, in whose codes published tables are read, as any reader could."""

    quasi: Sequence[QuasiColumn]
    sensitive: Mapping[str, SensitiveColumn]

    def published(self, frame: pl.DataFrame, reader: Policy) -> Published:
        """Read a table of classes."""
        table = encode_quietly(frame, reader, ignore_others=True)
        classes = table.classes
        return Published(
            *self._shown(frame[classes.rows[classes.starts]]),
            sizes=classes.sizes,
            groups=np.arange(len(classes)),
            sensitive=self._values(table, classes.labels_by_row(), len(classes)),
        )

    def parted(self, exact: pl.DataFrame, values: pl.DataFrame, reader: Policy, group: str) -> Published:
        """Read a table of quasi-identifiers and one of sensitive values, joined by a group."""
        cells = classes_of(exact[[*reader.visible, group]])
        first = exact[cells.rows[cells.starts]]
        numbers, owners = np.unique(values[group].to_numpy(), return_inverse=True)
        policy = replace(reader, quasi={group: Quasi()}, keep=(), unlinkable=())
        table = encode_quietly(values, policy, ignore_others=True)
        return Published(
            *self._shown(first),
            sizes=cells.sizes,
            groups=np.searchsorted(numbers, first[group].to_numpy()),
            sensitive=self._values(table, owners, len(numbers)),
        )

    def _shown(self, cells: pl.DataFrame) -> tuple[tuple[Spread, ...], tuple[Ints, ...]]:
        read = [_texts(cells[column.name]) for column in self.quasi]
        spreads = (spread_of(column, texts) for column, (texts, _) in zip(self.quasi, read, strict=True))
        return tuple(spreads), tuple(shown for _, shown in read)

    def _values(self, table: CodedTable, groups: Ints, count: int) -> dict[int, Members]:
        return {
            number: _members(table.sensitive[name], column, groups, count)
            for number, (name, column) in enumerate(self.sensitive.items())
            if name in table.sensitive
        }


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


def _members(published: SensitiveColumn, original: SensitiveColumn, groups: Ints, count: int) -> Members:
    """Return the sensitive values of each group; a release that withholds rows may know fewer of them."""
    there = len(original.labels)
    alike = values_of(pl.Series([*original.labels, *published.labels], dtype=pl.String), ()).codes  # 1.0 is 1
    number = np.empty(int(alike.max()) + 1, dtype=np.int64)
    number[alike[:there]] = np.arange(there)
    return Members.of(groups, number[alike[there:]][published.codes], domain=there, count=count)
