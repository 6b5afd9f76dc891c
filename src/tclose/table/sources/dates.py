"""Dates in another notation than ISO: dd.mm.yyyy and others become yyyy-mm-dd, with the time behind it if there is one.

A column is dates when all of its cells are. Where days and months could be exchanged in every column, nobody but the
steward can tell, and is asked.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import polars as pl

from tclose.policy.source import DATES, SourceSettings
from tclose.table.sources import suspects
from tclose.table.sources.notation import IN_SOURCE, MOSTLY, replaced
from tclose.table.sources.suspects import Suspect

ISO = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ]|$)"
DIGITS_ONLY = "yyyymmdd"
TIME = r"(?:[T ]([0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?))?"
PARTS = {"yyyy": "[0-9]{4}", "mm": "[0-9]{1,2}", "dd": "[0-9]{1,2}"}


@dataclass(frozen=True)
class DateFormat:
    """An order of day, month and year, and the mark between them."""

    name: str

    @property
    def mark(self) -> str:
        """What stands between the parts; nothing in yyyymmdd."""
        return next((letter for letter in self.name if letter in "./-"), "")

    @property
    def order(self) -> list[str]:
        """Which part comes first, second and third."""
        return self.name.split(self.mark) if self.mark else ["yyyy", "mm", "dd"]

    @property
    def pattern(self) -> str:
        """What dates look like; some that look so are none, such as 31.2.2020."""
        widths = PARTS if self.mark else {"yyyy": "[0-9]{4}", "mm": "[0-9]{2}", "dd": "[0-9]{2}"}
        mark = rf"\{self.mark}" if self.mark else ""
        return "^" + mark.join(f"({widths[part]})" for part in self.order) + TIME + "$"

    def read(self, cells: pl.Series) -> pl.Series:
        """Return ISO dates; null where a cell is no date in this format."""
        groups = cells.str.extract_groups(self.pattern).struct.unnest()
        found = {part: groups[str(place)] for place, part in enumerate(self.order, start=1)}
        time = groups["4"]
        padded = [found["yyyy"], found["mm"].str.zfill(2), found["dd"].str.zfill(2)]
        iso = padded[0] + "-" + padded[1] + "-" + padded[2]
        valid = iso.str.to_date("%Y-%m-%d", strict=False).is_not_null() & (found["yyyy"] >= "1000")
        hours = time.str.extract("^([0-9]+):").str.zfill(2)
        clock = hours + time.str.extract("^[0-9]+(:.*)$")
        right = time.is_null() | clock.str.contains(r"^(?:[01][0-9]|2[0-3]):[0-5][0-9]")
        whole = iso + (" " + clock).fill_null("")
        return whole.zip_with((valid & right).fill_null(False), pl.Series([None], dtype=pl.String))

    def fits(self, cells: pl.Series) -> bool:
        """Tell whether all cells are dates in this format."""
        return self.read(cells).null_count() == 0


@dataclass(frozen=True)
class FoundDates:
    """The columns that hold dates, with their formats, and what must be asked."""

    columns: tuple[tuple[str, DateFormat], ...] = ()
    question: str | None = None
    remarks: tuple[str, ...] = ()  # about columns that stay text

    @property
    def formats(self) -> tuple[str, ...]:
        """The formats that occur."""
        return tuple(dict.fromkeys(form.name for _, form in self.columns))

    def read(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the table with ISO dates; cells that mean "no value" stay as they are."""
        return replaced(frame, {name: _read(frame[name].alias(""), form) for name, form in self.columns})


def _read(cells: pl.Series, form: DateFormat) -> pl.Series:
    iso = form.read(cells)
    return iso.zip_with(iso.is_not_null(), cells)


def find(frame: pl.DataFrame, missing: Collection[str], said: SourceSettings | None) -> FoundDates:
    """Find the columns of dates; with a [source], only formats that it names are looked for."""
    known = [DateFormat(name) for name in DATES if (name != DIGITS_ONLY if said is None else name in said.dates)]
    if not known:
        return FoundDates()
    digits = said is not None and DIGITS_ONLY in said.dates
    fitting, remarks = [], []
    pattern = "|".join((ISO, *(form.pattern for form in known)))
    for suspect in suspects.dates(frame, missing, pattern, digits=digits):
        if fits := [form for form in known if form.fits(suspect.cells)]:
            fitting.append((suspect, fits))
        elif _share_of_dates(suspect.cells, known) > MOSTLY:
            remarks.append(f"column '{suspect.name}' stays text, since not all of its cells are dates of one format")
    return replace(_decided(fitting), remarks=tuple(remarks))


def _share_of_dates(cells: pl.Series, known: Sequence[DateFormat]) -> float:
    found = cells.str.contains(ISO)
    for form in known:
        found |= form.read(cells).is_not_null()
    return float(found.sum()) / max(len(cells), 1)


def _decided(fitting: list[tuple[Suspect, list[DateFormat]]]) -> FoundDates:
    """Choose the format of each column; one that allows two follows the columns with the same mark that allow one."""
    sure = {fits[0] for _, fits in fitting if len(fits) == 1}
    columns = []
    for suspect, fits in fitting:
        likely = [form for form in fits if form in sure] or fits
        if len(likely) > 1:
            names = " or ".join(f'"{form.name}"' for form in likely)
            return FoundDates(question=f"the dates of column '{suspect.name}' can be read in two ways: "
                              f"say dates = {names} {IN_SOURCE}")  # fmt: skip
        columns.append((suspect.name, likely[0]))
    return FoundDates(tuple(columns))
