"""The classes of a fitted table, as its release shows them, and the nearest class of a new row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl

from tclose.policy import Policy
from tclose.policy.below import Below
from tclose.sklearn.published_texts import PublishedTexts, kept_texts, texts_of
from tclose.table import bins
from tclose.table.quasi import read_quasi
from tclose.table.sensitive import SensitiveDomain
from tclose.table.tally import Tally
from tclose.table.values import values_of
from tclose.types import Floats, Ints

BLOCK = 512  # rows that are compared with all classes at a time


@dataclass(frozen=True, eq=False)
class PublishedBins:
    """The bins in which a sensitive column is published."""

    edges: tuple[Fraction, ...]
    labels: tuple[str, ...]

    def recoded(self, cells: pl.Series, missing: tuple[str, ...], below: Below | None) -> pl.Series:
        """Return the bin of each cell; null where it is missing, is no number, or lies in no bin."""
        values = values_of(cells, missing, below=below)
        if values.kind != "number" or values.units is None:
            return pl.Series([None] * len(cells), dtype=pl.String)
        learned = self.labels[0].startswith("[")
        places = bins.bin_of(list(self.edges), values.units, values.scale, learned=learned)
        texts = [self.labels[place] if 0 <= place < len(self.labels) else None for place in places.tolist()]
        return pl.Series([*texts, None], dtype=pl.String).gather(np.where(values.codes < 0, len(texts), values.codes))


@dataclass(frozen=True, eq=False)
class FittedClasses:
    """What each class publishes, narrow classes first; nothing else is known of the fitted table."""

    columns: tuple[str, ...]  # of the release, in their order
    shown: pl.DataFrame  # the visible columns, one row per class
    texts: Mapping[str, PublishedTexts]  # of the different texts of each visible column
    text_of_class: Mapping[str, Ints]
    bins: Mapping[str, PublishedBins]
    missing: tuple[str, ...]
    below: Mapping[str, Below]

    @classmethod
    def of(cls, published: pl.DataFrame, table: pl.DataFrame, policy: Policy) -> FittedClasses:
        """Take the classes of a release; the published rows of its table say what the columns hold."""
        shown = published[list(policy.visible)].unique(maintain_order=True)
        texts, numbers = {}, {}
        for column in shown.iter_columns():
            cells = column.alias("").cast(pl.String).fill_null("").to_list()
            number_of = {text: number for number, text in enumerate(dict.fromkeys(cells))}
            numbers[column.name] = np.array([number_of[text] for text in cells], dtype=np.int64)
            spec = policy.quasi.get(column.name)
            texts[column.name] = (
                kept_texts(list(number_of), policy.missing)
                if spec is None
                else texts_of(read_quasi(table[column.name], spec, policy.missing), list(number_of))
            )
        order = np.argsort(sum(texts[name].breadths()[numbers[name]] for name in texts), kind="stable")
        in_bins = {name: spec for name, spec in policy.sensitive.items() if spec.publish == "bin"}
        return cls(
            columns=tuple(published.columns),
            shown=shown[order],
            texts=texts,
            text_of_class={name: number[order] for name, number in numbers.items()},
            bins={name: _bins(table[name], policy, name) for name in in_bins},
            missing=policy.missing,
            below=policy.below,
        )

    def nearest(self, table: pl.DataFrame) -> Ints:
        """Return the class that each row fits best, the narrowest of those that fit equally well."""
        blocks = range(0, table.height, BLOCK)
        return np.concatenate([self._distances(table[start : start + BLOCK]).argmin(axis=1) for start in blocks])

    def _distances(self, rows: pl.DataFrame) -> Floats:
        """Return rows × classes: the sum of the distances in all visible columns."""
        total = np.zeros((rows.height, self.shown.height))
        for name, texts in self.texts.items():
            values = values_of(rows[name], self.missing, below=self.below.get(name))
            codes = np.where(values.codes < 0, len(values.texts), values.codes)
            total += texts.distances(values)[codes][:, self.text_of_class[name]]
        return total

    def recoded(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return new rows as their nearest class publishes them; all other published columns stay as they are."""
        shown = self.shown[self.nearest(table)]
        return pl.DataFrame({name: self._cells(name, shown, table) for name in self.columns if name in table.columns})

    def _cells(self, name: str, shown: pl.DataFrame, table: pl.DataFrame) -> pl.Series:
        if name in shown.columns:
            return shown[name]
        if name in self.bins:
            return self.bins[name].recoded(table[name], self.missing, self.below.get(name))
        return table[name]

    def midpoints(self, published: pl.DataFrame) -> pl.DataFrame:
        """Return published rows with the middle of each range of numbers in its place; other columns stay."""
        return pl.DataFrame({column.name: self._midpoints(column) for column in published.iter_columns()})

    def _midpoints(self, column: pl.Series) -> pl.Series:
        middles = self.texts[column.name].midpoints() if column.name in self.texts else None
        if middles is None:
            return column
        shown = self.shown[column.name].alias("").cast(pl.String).fill_null("").to_list()
        middle_of = dict(zip(shown, middles[self.text_of_class[column.name]].tolist(), strict=True))
        cells = [np.nan if cell is None else middle_of[cell] for cell in column.to_list()]
        return pl.Series(cells, dtype=pl.Float64)


def _bins(cells: pl.Series, policy: Policy, name: str) -> PublishedBins:
    """Learn the edges of the bins again, from the rows of which each has a value."""
    lacking = values_of(cells, policy.missing).codes < 0
    domain = SensitiveDomain.of(Tally.of(cells.filter(~pl.Series(lacking))), policy.sensitive[name], policy.missing)
    assert domain.edges is not None
    return PublishedBins(domain.edges, domain.labels)
