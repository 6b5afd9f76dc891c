"""New rows beside a release: their cells as they would be published, and which classes of the release they fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from tclose.errors import InputError
from tclose.measure.linkage import Links, packed
from tclose.policy import Builder, Policy, Sensitive
from tclose.recode.fitting import cells_of_rows, covered
from tclose.release.record import Record
from tclose.release.record_notes import Notes
from tclose.table import builders
from tclose.table.bins import bin_of
from tclose.table.classes import Classes, classes_of
from tclose.table.coded import check_columns
from tclose.table.hierarchy import Hierarchy
from tclose.table.matching import known_places
from tclose.table.quasi import NumberColumn, QuasiColumn, QuasiDomain, SetColumn
from tclose.table.spellings import with_one_number
from tclose.table.tally import marked_missing
from tclose.table.values import Values, values_of
from tclose.types import Beat, Bools, Ints, still
from tclose.words import legible


@dataclass(frozen=True, eq=False)
class Released:
    """A release that new rows may join."""

    frame: pl.DataFrame
    policy: Policy  # by which a reader judges it
    asked: Policy  # what was asked for, by which new rows are published
    notes: Notes

    @classmethod
    def of(cls, frame: pl.DataFrame, record: Record) -> Released:
        """Take a release and its record."""
        return cls(frame, record.judged_by, record.policy, record.notes)

    @property
    def visible(self) -> pl.DataFrame:
        """The columns whose equal cells form a class."""
        return self.frame[list(self.policy.visible)]

    @property
    def batches(self) -> Ints:
        """The batch that each row came with."""
        batches = self.notes.batches
        assert batches is not None
        return batches


@dataclass(frozen=True, eq=False)
class NewRows:
    """Rows that could be published: cells as a release shows them, but quasi-identifiers still as they are."""

    cells: pl.DataFrame  # in the columns of the release
    quasi: dict[str, QuasiColumn]
    places: Ints  # where each row stands in the table that was given
    given: int  # rows of that table

    @classmethod
    def of(cls, table: pl.DataFrame, released: Released) -> NewRows:
        """Read new rows; those that no class could show, since a value is missing or unknown, are left out."""
        check_columns(table, released.asked)
        columns, usable = {}, np.ones(table.height, dtype=bool)
        for name in released.frame.columns:
            column = with_one_number(table[name], released.policy.missing)
            if name in released.policy.sensitive:
                column, known = _sensitive(column, released, name)
                usable &= known
            elif name in released.asked.quasi:
                usable &= _short_enough(column, released, name)
            columns[name] = column if name in released.asked.quasi else _typed(column, released.frame[name])
        places = np.flatnonzero(usable)
        cells = pl.DataFrame(columns)[places]
        quasi = {name: _quasi(cells[name], released, name) for name in released.asked.quasi} if len(places) else {}
        return cls(cells, quasi, places, table.height)

    def __len__(self) -> int:
        return len(self.places)

    def fits(self, released: Released, classes: Classes, beat: Beat = still) -> Links:
        """Find which of the rows fit which classes of the release."""
        first = released.visible[classes.rows[classes.starts]]
        codes, bits = [], []
        for name in released.policy.visible:
            texts = first[name].alias("").cast(pl.String).fill_null("").to_list()
            number_of = {text: number for number, text in enumerate(dict.fromkeys(texts))}
            missing = released.policy.missing
            column = self.quasi[name] if name in self.quasi else values_of(self.cells[name], missing)
            covers = covered(column, list(number_of), missing)
            bits.append(packed(covers, np.array([number_of[text] for text in texts]), beat))
            codes.append(cells_of_rows(column, covers.shape[1] - 1))
        return Links.of(codes, bits, classes.sizes, beat)


def _sensitive(column: pl.Series, released: Released, name: str) -> tuple[pl.Series, Bools]:
    """Return the cells that would be published, and which of them the release's reader could judge."""
    spec, missing = released.policy.sensitive[name], released.policy.missing
    values = values_of(column, missing, below=released.asked.below.get(name))
    _check_no_limit(values, name)
    known = (values.codes >= 0) | (spec.missing == "value")
    if released.asked.sensitive[name].publish == "bin":
        column, inside = _bins(values, released, name, column)
        return _one_spelling(column, values, released, name), known & inside
    _check_kind(values, values_of(released.frame[name], missing), name)
    unknown = _unknown(values, spec)
    known &= ~np.append(unknown, False)[values.codes]
    return _one_spelling(column, values, released, name), known


def _check_kind(values: Values, before: Values, name: str) -> None:
    """Refuse values that cannot be compared with those of the release."""
    if values.texts and before.texts and before.kind in ("number", "date") and values.kind != before.kind:
        raise InputError(f"column '{name}' of the new rows is not all {before.kind}s, as it is in the release")


def _unknown(values: Values, spec: Sensitive) -> Bools:
    """Mark the values that the bins, the hierarchy, the matrix or the list of the policy does not have."""
    if spec.bins is not None and values.units is not None:
        edges = list(spec.bins.setting)
        bins = bin_of(edges, values.units, values.scale, learned=False)
        return np.asarray((bins < 0) | (bins >= len(edges) - 1))
    listed: Sequence[Any] | None = spec.order or spec.domain
    if isinstance(spec.hierarchy, Builder):
        listed = [row[0] for row in spec.hierarchy.levels]
    elif spec.matrix is not None:
        listed = spec.matrix.values  # type: ignore[union-attr]
    if listed is None:
        return np.zeros(len(values.texts), dtype=bool)
    return np.array(known_places([_spelled(value) for value in listed], values.domain), dtype=np.int64) < 0


def _spelled(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _bins(values: Values, released: Released, name: str, cells: pl.Series) -> tuple[pl.Series, Bools]:
    """Return the published bin of each cell, and whether it lies in one; a missing cell stays as it is."""
    spec, asked = released.policy.sensitive[name], released.asked.sensitive[name]
    edges = list(released.notes.edges[name])
    if values.texts and values.units is None:
        raise InputError(f"column '{name}' of the new rows has bins, but its values are not numbers")
    if not values.texts:
        return cells.cast(pl.String), np.ones(len(values.codes), dtype=bool)
    assert values.units is not None
    place = bin_of(edges, values.units, values.scale, learned=False)
    if asked.bins is not None and asked.bins.kind in ("count", "quantiles"):  # whose first edge was put below its label
        below = [Fraction(int(unit), 10**values.scale) < edges[0] + 1 for unit in values.units]
        place = np.where(below, -1, place)
    labels = [*map(str, spec.order or spec.domain or ())]
    inside = np.append((place >= 0) & (place < len(labels)), True)[values.codes]
    texts = pl.Series([*labels, ""], dtype=pl.String)
    shown = texts.gather(np.append(np.clip(place, 0, len(labels) - 1), len(labels))[values.codes])
    lacking = pl.Series(values.codes < 0)
    return pl.select(pl.when(lacking).then(cells.alias("").cast(pl.String)).otherwise(shown)).to_series(), inside


def _one_spelling(column: pl.Series, values: Values, released: Released, name: str) -> pl.Series:
    """Return a column whose missing cells are spelled as in the release, if any are there."""
    lacking, before = values.codes < 0, released.frame[name].alias("")
    if not lacking.any() or column.dtype != pl.String or before.dtype != pl.String:
        return column
    spelled = before.filter(pl.Series(marked_missing(before.fill_null(""), released.policy.missing)) | before.is_null())
    text = spelled[0] if len(spelled) else ""
    cells, mark = column.alias(""), pl.lit(text, dtype=pl.String)
    return pl.select(pl.when(pl.Series(lacking)).then(mark).otherwise(cells)).to_series().alias(name)


def _short_enough(column: pl.Series, released: Released, name: str) -> Bools:
    """Mark the cells whose labels have the length that the labels of the release have: prefixes are padded."""
    longest = released.notes.longest.get(name)
    if longest is None:
        return np.ones(len(column), dtype=bool)
    return (column.alias("").cast(pl.String).fill_null("").str.len_chars() <= longest).to_numpy()


def _typed(column: pl.Series, before: pl.Series) -> pl.Series:
    """Return a column with the type that it has in the release."""
    if column.dtype == before.dtype:
        return column.alias(before.name)
    try:
        return column.alias("").cast(before.dtype, strict=True).alias(before.name)
    except pl.exceptions.PolarsError:  # its message would quote cells
        raise InputError(
            f"column '{legible(before.name)}' of the new rows cannot be written as {before.dtype}, as in the release"
        ) from None


def _check_no_limit(values: Values, name: str) -> None:
    """Refuse cells below a limit: whether a class of the release covers them depends on the limits before."""
    if values.domain.limit is not None:
        raise InputError(
            f"column '{name}' of the new rows has cells below a limit, and new rows with such cells cannot join a "
            "release: leave these rows out, or publish both tables as a new release"
        )


def _quasi(cells: pl.Series, released: Released, name: str) -> QuasiColumn:
    """Code a quasi-identifier as its policy publishes it, in the manner of the release."""
    spec, kind = released.asked.quasi[name], released.notes.kinds[name]
    values = values_of(cells, released.asked.missing, below=spec.below)
    _check_no_limit(values, name)
    if kind == "label":
        tree = _hierarchy(values, spec.hierarchy, released.notes.longest.get(name, 0))
        return QuasiDomain.of(values.domain, spec, tree).column(values.codes)
    if kind == "text" or not values.texts:
        return SetColumn(values.domain, len(values.texts) + bool(values.missing), values.codes)
    if values.kind != kind:
        raise InputError(f"column '{name}' of the new rows is not all {kind}s, as it is in the release")
    return NumberColumn(values.domain, spec, values.codes)


def _hierarchy(values: Values, given: Any, longest: int) -> Hierarchy:
    return builders.build(given, values.domain, longest)


def text_cells(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return columns as text, so that the rows of a release and new rows can be compared."""
    return pl.DataFrame({name: frame[name].alias("").cast(pl.String).fill_null("") for name in names})


def labels_by_text(frames: Sequence[pl.DataFrame], names: Sequence[str]) -> Ints:
    """Return the class of every row of several frames, one behind the other: rows that show the same text are one."""
    return classes_of(pl.concat([text_cells(frame, names) for frame in frames])).labels_by_row()
