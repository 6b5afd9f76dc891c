"""Numbers and dates in another notation than tclose's: decimal commas, marks between thousands, dd.mm.yyyy.

First, a cheap look at every column finds text that may hold them. A column of words is known by its first cells. Others
are searched for marks that a plain number does not have, so that a plain table costs next to nothing.

All columns of a file follow one notation of numbers. It is the one that every column allows; where the columns allow
two that give different numbers, nobody but the steward can tell, and is asked.

A column is dates when all of its cells are. They become yyyy-mm-dd, with the time behind it if there is one. Where days
and months could be exchanged in every column, the steward is asked, too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from tclose.messages import joined, say
from tclose.policy.source import DATES, MISSING, SourceSettings
from tclose.table.numbers import NUMBER

# Which columns may hold numbers or dates in another notation


SAMPLE = 256
DIGIT_FIRST = re.compile(r"-?[0-9]")
MARKED = r"^-?[0-9]+(?:[.,'’ \u00a0\u2009\u202f][0-9]+)*(?:[eE][+-]?[0-9]+)?$"
MARKS = [",", "'", "’", " ", "\u00a0", "\u2009", "\u202f"]
DATE_LIKE = re.compile(r"(?![0-9]{4}-)[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4}(?:[T ][0-9]{1,2}:[0-9]{2}.*)?$")
EIGHT_DIGITS = re.compile("[0-9]{8}$")


@dataclass(frozen=True, eq=False, repr=False)
class Suspect:
    """A column that may hold numbers or dates: its name and its different cells, without those that are missing."""

    name: str
    cells: pl.Series


def _present(cells: pl.Series, missing: Collection[str]) -> pl.Series:
    return cells.filter(cells.is_not_null() & ~cells.is_in(list(missing)))


def text_columns(frame: pl.DataFrame) -> Iterator[pl.Series]:
    """Yield the columns of text, without names, which polars could take for patterns, but in order."""
    return (column for column in frame.iter_columns() if column.dtype == pl.String)


def missing_cells(given: Collection[str]) -> set[str]:
    """Return the cells that mean "no value", those of the policy and those that often do."""
    return {*MISSING, *given}


def marks_in(data: bytes, *, commas: bool) -> list[str]:
    """Return the marks that a file has; without `commas`, no cell can hold one."""
    possible = [mark for mark in MARKS if mark.isascii() or not data.isascii()]
    return [mark for mark in possible if (commas or mark != ",") and mark.encode() in data]


def possible_numbers(frame: pl.DataFrame, missing: Collection[str], marks: Sequence[str]) -> Iterator[Suspect]:
    """Yield the columns that may hold numbers with other marks, of which only some occur in the file."""
    for column, sample in _sampled(frame, missing):
        if not any(map(DIGIT_FIRST.match, sample)):
            continue
        cells = column.alias("")
        pointed = "." in "".join(sample)
        if _marked(cells, marks) or (pointed and cells.str.contains(r"\.[0-9]+\.").any()):
            yield Suspect(column.name, _present(cells.unique(), missing).sort())


def _marked(cells: pl.Series, marks: Sequence[str]) -> bool:
    return bool(marks) and bool(cells.str.contains_any(list(marks)).any())  # all marks in one pass


def pointed_numbers(frame: pl.DataFrame, missing: Collection[str], known: Collection[str]) -> Iterator[Suspect]:
    """Yield the other columns whose numbers have points: whether these are decimal points, the whole file tells."""
    for column, sample in _sampled(frame, missing):
        if column.name not in known and any(map(DIGIT_FIRST.match, sample)):
            present = _present(column.alias("").unique(), missing)
            if present.str.contains(".", literal=True).any() and present.str.contains(MARKED).all():
                yield Suspect(column.name, present.sort())


def possible_dates(
    frame: pl.DataFrame, missing: Collection[str], pattern: str, *, digits: bool = False
) -> Iterator[Suspect]:
    """Yield the columns that may hold dates which are not ISO dates; with `digits`, also columns of eight digits.

    At least one cell looks like `pattern`. Numbers of persons do not, and a million of them are not sorted for it.
    """
    for column, sample in _sampled(frame, missing):
        like_dates = any(map(DATE_LIKE.match, sample)) or (digits and any(map(EIGHT_DIGITS.match, sample)))
        if like_dates and column.str.contains(pattern).any():
            yield Suspect(column.name, _present(column.alias("").unique(), missing).sort())


def _sampled(frame: pl.DataFrame, missing: Collection[str]) -> Iterator[tuple[pl.Series, list[str]]]:
    """Yield the columns of text, each with its first cells that have a value."""
    for column, first in zip(text_columns(frame), text_columns(frame.head(SAMPLE)), strict=True):
        sample = [cell for cell in first.to_list() if cell is not None and cell not in missing]
        if not sample and len(column) > SAMPLE:
            sample = _present(column.alias(""), missing)[:SAMPLE].to_list()
        yield column, sample


# Numbers


MARK_PATTERNS = {".": r"\.", ",": ",", " ": "[ \u00a0\u2009\u202f]", "'": "['’]"}
WHOLE = "(?:0|[1-9][0-9]*)"
EXPONENT = "(?:[eE][+-]?[0-9]{1,3})?"
IN_SOURCE = "in [source] of the policy"
MOSTLY = 0.5  # of the different cells


@dataclass(frozen=True)
class Notation:
    """The mark before decimals, and the mark between thousands, if there is one."""

    decimal: str
    thousands: str

    @property
    def pattern(self) -> str:
        """What numbers look like."""
        grouped = rf"|[1-9][0-9]{{0,2}}(?:{MARK_PATTERNS[self.thousands]}[0-9]{{3}})+" if self.thousands else ""
        return rf"^-?(?:{WHOLE}{grouped})(?:{MARK_PATTERNS[self.decimal]}[0-9]+)?{EXPONENT}$"

    def fits(self, cells: pl.Series) -> bool:
        """Tell whether all cells are numbers in this notation."""
        return bool(cells.str.contains(self.pattern).all())

    def read(self, cells: pl.Series) -> pl.Series:
        """Return the cells that are numbers in this notation as tclose writes numbers; others stay as they are."""
        plain = cells
        if self.thousands:
            plain = plain.str.replace_all(MARK_PATTERNS[self.thousands], "")
        if self.decimal != ".":
            plain = plain.str.replace(self.decimal, ".", literal=True)
        return plain.zip_with(cells.str.contains(self.pattern).fill_null(False), cells)


PLAIN = Notation(".", "")
COMMA, THOUSAND_COMMAS, THOUSAND_POINTS = Notation(",", ""), Notation(".", ","), Notation(",", ".")
OTHERS = (
    COMMA, THOUSAND_COMMAS, Notation(".", " "), Notation(".", "'"), THOUSAND_POINTS, Notation(",", " "),
    Notation(",", "'"),
)  # fmt: skip
ANY_NUMBER = "|".join(notation.pattern for notation in OTHERS)  # in whatever notation


@dataclass(frozen=True)
class FoundNotation:
    """The notation of a file, the columns that are written in it, what must be asked, and what stays text."""

    notation: Notation = PLAIN
    columns: tuple[str, ...] = ()
    question: str | None = None
    remarks: tuple[str, ...] = ()

    def read(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the table with its numbers as tclose writes them."""
        return replaced(frame, {name: self.notation.read(frame[name].alias("")) for name in self.columns})


def replaced(frame: pl.DataFrame, columns: Mapping[str, pl.Series]) -> pl.DataFrame:
    """Return a table with other cells in some columns."""
    if not columns:
        return frame
    return pl.DataFrame([columns.get(each.name, each).alias(each.name) for each in frame.iter_columns()])


def notation_in(
    frame: pl.DataFrame,
    missing: Collection[str],
    said: SourceSettings | None,
    marks: Sequence[str] = MARKS,
) -> FoundNotation:
    """Find the notation of a table's numbers; what the policy says is not looked for, and only `marks` can occur."""
    if said is not None and said.decimal == "." and said.thousands == "":
        return FoundNotation()
    known = [notation for notation in OTHERS if _allowed(notation, said)]
    codes = said is None or said.thousands is None
    columns, mixed = _by_fit(list(possible_numbers(frame, missing, marks)), known, codes=codes)
    if isinstance(mixed, str):
        return FoundNotation(question=mixed)
    possible = [n for n in known if all(n in fits for _, fits in columns)]
    if columns and not possible:
        return FoundNotation(question=_conflict(columns))
    if not columns and (said is None or said.decimal != ","):
        return FoundNotation(remarks=tuple(mixed))
    return _chosen_notation(frame, missing, said, columns, possible or known, tuple(mixed))


Fits = Sequence[tuple[Suspect, list[Notation]]]


def _by_fit(found: Sequence[Suspect], known: Sequence[Notation], *, codes: bool) -> tuple[Fits, list[str] | str]:
    """Return which notations each column allows, and remarks about columns that stay text, or a question about one.

    With `codes`, numbers with spaces may be codes.
    """
    columns, remarks = [], list[str]()
    for suspect in found:
        if PLAIN.fits(suspect.cells) or (codes and _only_codes(suspect.cells)):
            continue
        if fits := [notation for notation in known if notation.fits(suspect.cells)]:
            columns.append((suspect, fits))
            continue
        share = _share_of_numbers(suspect.cells, known)
        if share == 1:
            return [], say(
                "column '{name}' writes some numbers with a decimal comma and some in another way: write them all in "
                "one way",
                name=suspect.name,
            )
        if share > MOSTLY:
            remarks.append(say("column '{name}' stays text, since not all of its cells are numbers", name=suspect.name))
    return columns, remarks


def _share_of_numbers(cells: pl.Series, known: Sequence[Notation]) -> float:
    """Return which share of the cells are numbers in some notation; 0 where none has other marks than a plain one."""
    plain, other = cells.str.contains(NUMBER), pl.repeat(False, len(cells), eager=True)
    for notation in known:
        other |= cells.str.contains(notation.pattern)
    return float((other | plain).sum()) / len(cells) if (other & ~plain).any() else 0.0


def _only_codes(cells: pl.Series) -> bool:
    """Tell whether numbers with spaces are codes such as 123 456: all have as many digits, and none has decimals."""
    spaced = cells.str.contains(MARK_PATTERNS[" "])
    return bool(spaced.all()) and cells.str.len_chars().n_unique() == 1 and not cells.str.contains("[.,]").any()


def _allowed(notation: Notation, said: SourceSettings | None) -> bool:
    if said is None:
        return True
    return said.decimal in (None, notation.decimal) and said.thousands in (None, notation.thousands)


def _chosen_notation(
    frame: pl.DataFrame,
    missing: Collection[str],
    said: SourceSettings | None,
    columns: Fits,
    possible: Sequence[Notation],
    remarks: tuple[str, ...],
) -> FoundNotation:
    """Choose among the notations that all columns allow; numbers with points help, and follow the choice."""
    names = [suspect.name for suspect, _ in columns]
    others = list(pointed_numbers(frame, missing, names))
    decimals = [each for each in others if not THOUSAND_POINTS.fits(each.cells)]
    chosen = possible[0]
    rivals = [n for n in possible[1:] if _differ(columns, chosen, n)]
    if rivals:
        if not decimals:
            return FoundNotation(question=_ambiguous(columns[0][0].name), remarks=remarks)
        chosen = next((n for n in possible if n.decimal == "."), chosen)
    if chosen.decimal == "," and chosen.thousands in ("", "."):
        grouped = [each for each in others if THOUSAND_POINTS.fits(each.cells)]
        if grouped and chosen.thousands == "" and _allowed(THOUSAND_POINTS, said):
            if decimals:
                return FoundNotation(question=_which_points(grouped[0].name), remarks=remarks)
            chosen = THOUSAND_POINTS
        if chosen.thousands == ".":
            names += [each.name for each in grouped]
    return _checked(FoundNotation(chosen, tuple(names), remarks=remarks), said)


def _differ(columns: Fits, one: Notation, other: Notation) -> bool:
    return any(not one.read(suspect.cells).equals(other.read(suspect.cells)) for suspect, _ in columns)


def _checked(found: FoundNotation, said: SourceSettings | None) -> FoundNotation:
    """Ask for a key that the policy's [source] leaves out, though the file needs it."""
    if said is None or not found.columns:
        return found
    if said.decimal is None and found.notation.decimal == ",":
        return FoundNotation(
            question=say(
                "column '{column}' has decimal commas: say decimal = \",\" in [source] of the policy",
                column=found.columns[0],
            )
        )
    if said.thousands is None and found.notation.thousands:
        mark = found.notation.thousands
        return FoundNotation(
            question=say(
                "column '{column}' has marks between thousands: say thousands = \"{mark}\" in [source] of the policy, "
                "or "
                'thousands = "" if these are none',
                column=found.columns[0],
                mark=mark,
            )
        )
    return found


def _conflict(columns: Fits) -> str:
    first, fits = columns[0]
    other = next((suspect for suspect, allowed in columns if not set(allowed) & set(fits)), columns[-1][0])
    return say(
        "columns '{name}' and '{name_2}' write numbers in different ways: write them in one way, or say "
        "decimal and thousands in [source] of the policy",
        name=first.name,
        name_2=other.name,
    )


def _ambiguous(name: str) -> str:
    return say(
        "the numbers of column '{name}' have commas, as in 1,234, which may stand before decimals or "
        'between thousands: say decimal = "," or thousands = "," in [source] of the policy',
        name=name,
    )


def _which_points(name: str) -> str:
    return say(
        "the numbers of column '{name}' have points, as in 1.234, which may stand before decimals or "
        'between thousands: say thousands = "" or thousands = "." in [source] of the policy',
        name=name,
    )


# Dates


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
        return replaced(frame, {name: _iso_dates(frame[name].alias(""), form) for name, form in self.columns})


def _iso_dates(cells: pl.Series, form: DateFormat) -> pl.Series:
    iso = form.read(cells)
    return iso.zip_with(iso.is_not_null(), cells)


def dates_in(frame: pl.DataFrame, missing: Collection[str], said: SourceSettings | None) -> FoundDates:
    """Find the columns of dates; with a [source], only formats that it names are looked for."""
    known = [DateFormat(name) for name in DATES if (name != DIGITS_ONLY if said is None else name in said.dates)]
    if not known:
        return FoundDates()
    digits = said is not None and DIGITS_ONLY in said.dates
    fitting, remarks = [], []
    pattern = "|".join((ISO, *(form.pattern for form in known)))
    for suspect in possible_dates(frame, missing, pattern, digits=digits):
        if fits := [form for form in known if form.fits(suspect.cells)]:
            fitting.append((suspect, fits))
        elif _share_of_dates(suspect.cells, known) > MOSTLY:
            remarks.append(
                say("column '{name}' stays text, since not all of its cells are dates of one format", name=suspect.name)
            )
    return replace(_chosen_formats(fitting), remarks=tuple(remarks))


def _share_of_dates(cells: pl.Series, known: Sequence[DateFormat]) -> float:
    found = cells.str.contains(ISO)
    for form in known:
        found |= form.read(cells).is_not_null()
    return float(found.sum()) / max(len(cells), 1)


def _chosen_formats(fitting: list[tuple[Suspect, list[DateFormat]]]) -> FoundDates:
    """Choose the format of each column; one that allows two follows the columns with the same mark that allow one."""
    sure = {fits[0] for _, fits in fitting if len(fits) == 1}
    columns = []
    for suspect, fits in fitting:
        likely = [form for form in fits if form in sure] or fits
        if len(likely) > 1:
            names = joined(" or ", [say('"{form}"', form=form.name) for form in likely])
            return FoundDates(
                question=say(
                    "the dates of column '{name}' can be read in two ways: say dates = {names} in [source] of the "
                    "policy",
                    name=suspect.name,
                    names=names,
                )
            )
        columns.append((suspect.name, likely[0]))
    return FoundDates(tuple(columns))
