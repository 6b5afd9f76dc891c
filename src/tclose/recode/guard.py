r"""A guard for spreadsheet users: text that a spreadsheet would run as a formula gets an apostrophe in front.

A spreadsheet runs a cell that begins with = + - @ or their wide forms; some skip spaces and quotes before it, and some
take a tab or the end of a line at the beginning for nothing. Where its separator is not ours, it also splits a cell at
; | a tab or the end of a line, and then runs what follows. So every part of a cell between such separators is guarded,
and so are the names of columns. Numbers such as -5 are not run, so they stay as they are. Text that already has
apostrophes before such a letter gets one more; removing one apostrophe from each part therefore restores every cell.

Releases of version 0.1 are guarded at the beginning of cells alone: rule 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

Change = Callable[[str], str]

SKIPPED = r"[\s\"'\ufeff\u200b]"
STARTS = r"[=+\-@＝＋－＠]"
SEPARATORS = r"[;|\t\r\n]"
RUNS = re.compile(f"{SKIPPED}*{STARTS}")
LEADS = re.compile(r"[\"']*[\t\r\n]")
NUMBER = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")
SUSPECT = rf"(^|{SEPARATORS}){SKIPPED}*{STARTS}|^[\"']*[\t\r\n]"  # what the rules below may change

FIRST_RUNS = re.compile(r"'*[=+\-@\t\r\n]")


@dataclass(frozen=True)
class Guard:
    """A way to guard text that can be undone exactly."""

    guard: Change
    unguard: Change
    names: bool = True  # whether the names of columns are guarded, too

    def guarded(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Put an apostrophe before all text that a spreadsheet could run as a formula."""
        return self._changed(frame, self.guard)

    def unguarded(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Remove the apostrophes that `guarded` added."""
        return self._changed(frame, self.unguard)

    def misses(self, frame: pl.DataFrame) -> int:
        """Count the cells and names that `guarded` would not have written like this."""
        texts = [column.alias("") for column in frame.iter_columns() if column.dtype == pl.String]
        cells = sum(int((column != _replaced(column, self._again)).sum()) for column in texts)
        return cells + (sum(name != self._again(name) for name in frame.columns) if self.names else 0)

    def _again(self, text: str) -> str:
        return self.guard(self.unguard(text))

    def _changed(self, frame: pl.DataFrame, change: Change) -> pl.DataFrame:
        name_of: Change = change if self.names else str
        return pl.DataFrame({name_of(column.name): _texts(column, change) for column in frame.iter_columns()})


def _texts(column: pl.Series, change: Change) -> pl.Series:
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    return _replaced(column.alias(""), change) if column.dtype == pl.String else column


def _replaced(column: pl.Series, change: Change) -> pl.Series:
    """Change the texts that the guard is about; most columns have none. Names such as ^x$ mean something to polars."""
    suspects = column.filter(column.str.contains(SUSPECT)).unique()
    return column.replace(suspects, pl.Series([change(text) for text in suspects], dtype=pl.String))


def _runs(part: str) -> bool:
    return RUNS.match(part) is not None and NUMBER.fullmatch(part) is None


def _guard(text: str) -> str:
    r"""Guard every part of a cell.

    >>> _guard("=1+1"), _guard("-5"), _guard("'=1"), _guard("x; =1"), _guard("\tx"), _guard("fine; -5")
    ("'=1+1", '-5', "''=1", "x;' =1", "'\tx", 'fine; -5')
    """
    parts = (f"'{part}" if _runs(part) else part for part in _parts(text))
    return ("'" if LEADS.match(text) else "") + "".join(parts)


def _unguard(text: str) -> str:
    r"""Undo the guard.

    >>> _unguard("'=1+1"), _unguard("-5"), _unguard("''=1"), _unguard("x;' =1"), _unguard("'\tx")
    ('=1+1', '-5', "'=1", 'x; =1', '\tx')
    """
    parts = [part[1:] if part.startswith("'") and _runs(part[1:]) else part for part in _parts(text)]
    text = "".join(parts)
    return text[1:] if text.startswith("'") and LEADS.match(text[1:]) else text


def _parts(text: str) -> list[str]:
    return re.split(f"({SEPARATORS})", text)


def _guard_first(text: str) -> str:
    return f"'{text}" if FIRST_RUNS.match(text) and not NUMBER.fullmatch(text) else text


def _unguard_first(text: str) -> str:
    return text[1:] if text.startswith("'") and FIRST_RUNS.match(text[1:]) else text


NEWEST = 2
GUARDS = {  # by the number that a certificate gives
    1: Guard(_guard_first, _unguard_first, names=False),
    NEWEST: Guard(_guard, _unguard),
}
