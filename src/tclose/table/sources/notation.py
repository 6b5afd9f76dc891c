"""Numbers in another notation than tclose's: a decimal comma, marks between thousands.

All columns of a file follow one notation. It is the one that every column allows; where the columns allow two that give
different numbers, nobody but the steward can tell, and is asked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from tclose.policy.source import SourceSettings
from tclose.table.numbers import NUMBER
from tclose.table.sources import suspects
from tclose.table.sources.suspects import Suspect

MARKS = {".": r"\.", ",": ",", " ": "[ \u00a0\u2009\u202f]", "'": "['’]"}
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
        grouped = rf"|[1-9][0-9]{{0,2}}(?:{MARKS[self.thousands]}[0-9]{{3}})+" if self.thousands else ""
        return rf"^-?(?:{WHOLE}{grouped})(?:{MARKS[self.decimal]}[0-9]+)?{EXPONENT}$"

    def fits(self, cells: pl.Series) -> bool:
        """Tell whether all cells are numbers in this notation."""
        return bool(cells.str.contains(self.pattern).all())

    def read(self, cells: pl.Series) -> pl.Series:
        """Return the cells that are numbers in this notation as tclose writes numbers; others stay as they are."""
        plain = cells
        if self.thousands:
            plain = plain.str.replace_all(MARKS[self.thousands], "")
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
class Found:
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


def find(
    frame: pl.DataFrame,
    missing: Collection[str],
    said: SourceSettings | None,
    marks: Sequence[str] = suspects.MARKS,
) -> Found:
    """Find the notation of a table's numbers; what the policy says is not looked for, and only `marks` can occur."""
    if said is not None and said.decimal == "." and said.thousands == "":
        return Found()
    known = [notation for notation in OTHERS if _allowed(notation, said)]
    codes = said is None or said.thousands is None
    columns, mixed = _by_fit(list(suspects.numbers(frame, missing, marks)), known, codes=codes)
    if isinstance(mixed, str):
        return Found(question=mixed)
    possible = [n for n in known if all(n in fits for _, fits in columns)]
    if columns and not possible:
        return Found(question=_conflict(columns))
    if not columns and (said is None or said.decimal != ","):
        return Found(remarks=tuple(mixed))
    return _decided(frame, missing, said, columns, possible or known, tuple(mixed))


Fits = Sequence[tuple[Suspect, list[Notation]]]


def _by_fit(found: Sequence[Suspect], known: Sequence[Notation], *, codes: bool) -> tuple[Fits, list[str] | str]:
    """Return which notations each column allows, and remarks about columns that stay text, or a question about one.

    With `codes`, numbers with spaces may be codes.
    """
    columns, remarks = [], []
    for suspect in found:
        if PLAIN.fits(suspect.cells) or (codes and _only_codes(suspect.cells)):
            continue
        if fits := [notation for notation in known if notation.fits(suspect.cells)]:
            columns.append((suspect, fits))
            continue
        share = _share_of_numbers(suspect.cells, known)
        if share == 1:
            return [], (
                f"column '{suspect.name}' writes some numbers with a decimal comma and some in another way: "
                "write them all in one way"
            )
        if share > MOSTLY:
            remarks.append(f"column '{suspect.name}' stays text, since not all of its cells are numbers")
    return columns, remarks


def _share_of_numbers(cells: pl.Series, known: Sequence[Notation]) -> float:
    """Return which share of the cells are numbers in some notation; 0 where none has other marks than a plain one."""
    plain, other = cells.str.contains(NUMBER), pl.repeat(False, len(cells), eager=True)
    for notation in known:
        other |= cells.str.contains(notation.pattern)
    return float((other | plain).sum()) / len(cells) if (other & ~plain).any() else 0.0


def _only_codes(cells: pl.Series) -> bool:
    """Tell whether numbers with spaces are codes such as 123 456: all have as many digits, and none has decimals."""
    spaced = cells.str.contains(MARKS[" "])
    return bool(spaced.all()) and cells.str.len_chars().n_unique() == 1 and not cells.str.contains("[.,]").any()


def _allowed(notation: Notation, said: SourceSettings | None) -> bool:
    if said is None:
        return True
    return said.decimal in (None, notation.decimal) and said.thousands in (None, notation.thousands)


def _decided(
    frame: pl.DataFrame,
    missing: Collection[str],
    said: SourceSettings | None,
    columns: Fits,
    possible: Sequence[Notation],
    remarks: tuple[str, ...],
) -> Found:
    """Choose among the notations that all columns allow; numbers with points help, and follow the choice."""
    names = [suspect.name for suspect, _ in columns]
    others = list(suspects.pointed(frame, missing, names))
    decimals = [each for each in others if not THOUSAND_POINTS.fits(each.cells)]
    chosen = possible[0]
    rivals = [n for n in possible[1:] if _differ(columns, chosen, n)]
    if rivals:
        if not decimals:
            return Found(question=_ambiguous(columns[0][0].name), remarks=remarks)
        chosen = next((n for n in possible if n.decimal == "."), chosen)
    if chosen.decimal == "," and chosen.thousands in ("", "."):
        grouped = [each for each in others if THOUSAND_POINTS.fits(each.cells)]
        if grouped and chosen.thousands == "" and _allowed(THOUSAND_POINTS, said):
            if decimals:
                return Found(question=_which_points(grouped[0].name), remarks=remarks)
            chosen = THOUSAND_POINTS
        if chosen.thousands == ".":
            names += [each.name for each in grouped]
    return _checked(Found(chosen, tuple(names), remarks=remarks), said)


def _differ(columns: Fits, one: Notation, other: Notation) -> bool:
    return any(not one.read(suspect.cells).equals(other.read(suspect.cells)) for suspect, _ in columns)


def _checked(found: Found, said: SourceSettings | None) -> Found:
    """Ask for a key that the policy's [source] leaves out, though the file needs it."""
    if said is None or not found.columns:
        return found
    if said.decimal is None and found.notation.decimal == ",":
        return Found(question=f"column '{found.columns[0]}' has decimal commas: say decimal = \",\" {IN_SOURCE}")
    if said.thousands is None and found.notation.thousands:
        mark = found.notation.thousands
        return Found(question=f"column '{found.columns[0]}' has marks between thousands: say thousands = \"{mark}\" "
                     f"{IN_SOURCE}, or thousands = \"\" if these are none")  # fmt: skip
    return found


def _conflict(columns: Fits) -> str:
    first, fits = columns[0]
    other = next((suspect for suspect, allowed in columns if not set(allowed) & set(fits)), columns[-1][0])
    return (
        f"columns '{first.name}' and '{other.name}' write numbers in different ways: write them in one way, or say "
        f"decimal and thousands {IN_SOURCE}"
    )


def _ambiguous(name: str) -> str:
    return (
        f"the numbers of column '{name}' have commas, as in 1,234, which may stand before decimals or between "
        f'thousands: say decimal = "," or thousands = "," {IN_SOURCE}'
    )


def _which_points(name: str) -> str:
    return (
        f"the numbers of column '{name}' have points, as in 1.234, which may stand before decimals or between "
        f'thousands: say thousands = "" or thousands = "." {IN_SOURCE}'
    )
