"""How a table's file is written: the keys of `[source]` in a policy, which never leave the house.

Without `[source]`, all of this is detected from the file and said in one line. `tclose init` writes what was detected
into the draft, so that a second run does not guess.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

from tclose.errors import PolicyError, did_you_mean
from tclose.messages import joined, say
from tclose.policy import settings
from tclose.policy.settings import Setting, one_of, table_of, takes

FORMATS = ("csv", "json-lines", "excel", "stata", "spss", "sas", "parquet", "arrow", "sqlite", "duckdb", "postgresql")
MISSING = ("", "NA", "N/A", "?", "null", "NULL", "NaN", "None", "n/a", "nan", "#N/A", "<NA>", "-", ".")  # "no value"
SEPARATORS = (",", ";", "\t", "|")
DECIMALS = (".", ",")
THOUSANDS = ("", ".", ",", " ", "'")  # a space stands for all spaces, an apostrophe for the typographic one, too
DATES = ("dd.mm.yyyy", "dd/mm/yyyy", "mm/dd/yyyy", "dd-mm-yyyy", "mm-dd-yyyy", "yyyy/mm/dd", "yyyy.mm.dd", "yyyymmdd")
UTF_8, UTF_16_LE, UTF_16_BE, WINDOWS_1252 = "utf-8", "utf-16-le", "utf-16-be", "windows-1252"
ENCODINGS = (
    UTF_8, "utf-16", UTF_16_LE, UTF_16_BE, "latin-1", WINDOWS_1252, "windows-1250", "windows-1251", "windows-1253",
    "windows-1254", "windows-1255", "windows-1256", "windows-1257", "windows-1258", "iso-8859-1", "iso-8859-2",
    "iso-8859-5", "iso-8859-7", "iso-8859-9", "iso-8859-15", "cp437", "cp850", "cp852", "mac-roman", "koi8-r",
    "gb18030", "big5", "shift-jis", "euc-jp", "euc-kr",
)  # fmt: skip


_ALIASES = {"utf8": UTF_8, "utf-8-sig": UTF_8, "utf16": "utf-16", "latin1": "latin-1", "ansi": WINDOWS_1252,
            "cp1252": WINDOWS_1252, "cp1250": "windows-1250", "cp1251": "windows-1251"}  # fmt: skip


@takes({"type": "string", "examples": list(ENCODINGS)}, "one of the examples, in any case, or an alias such as utf8")
def _encoding(value: object, place: str) -> str:
    given = settings.text(value, place).lower().replace("_", "-")
    named = _ALIASES.get(given, given)
    if named not in ENCODINGS:
        hint = did_you_mean(given, ENCODINGS) or say("; known are {known}", known=", ".join(ENCODINGS))
        raise PolicyError("unknown encoding {shown}{hint}", shown=settings.shown(value), hint=hint, place=place)
    return named


@takes(
    {"type": ["string", "array"], "items": {"type": "string"}, "uniqueItems": True, "examples": list(DATES)},
    "each is one of the examples, in any case",
)
def _dates(value: object, place: str) -> tuple[str, ...]:
    listed: tuple[object, ...] = (value,) if isinstance(value, str) else settings.names(value, place)
    return tuple(one_of(*DATES)(each.lower() if isinstance(each, str) else each, place) for each in listed)


@dataclass(frozen=True, kw_only=True)
class SourceSettings:
    """How a table is written in its file; what is not said is as in plain CSV: UTF-8, decimal point, ISO dates."""

    format: Annotated[str | None, Setting(one_of(*FORMATS), "The format of the file; another file is refused.")] = None
    encoding: Annotated[str | None, Setting(_encoding, "The encoding of the text.")] = None
    separator: Annotated[str | None, Setting(one_of(*SEPARATORS), "What stands between cells.")] = None
    decimal: Annotated[str | None, Setting(one_of(*DECIMALS), "The decimal mark.")] = None
    thousands: Annotated[str | None, Setting(one_of(*THOUSANDS), "The mark between thousands.")] = None
    dates: Annotated[tuple[str, ...], Setting(_dates, "The form of dates, or a list of forms.")] = ()
    sheet: Annotated[str | None, Setting(settings.text, "Which sheet of a workbook.")] = None
    table: Annotated[str | None, Setting(settings.text, "Which table of a database.")] = None

    @classmethod
    def from_dict(cls, spelled: Mapping[str, Any]) -> SourceSettings:
        """Return the settings that were written down as `to_dict` does."""
        dates = spelled.get("dates", ())
        return replace(cls(**spelled), dates=(dates,) if isinstance(dates, str) else tuple(dates))

    def to_dict(self) -> dict[str, Any]:
        """Return what is said, as the policy file has it."""
        given = {each.name: value for each in fields(self) if (value := getattr(self, each.name)) not in (None, ())}
        if len(self.dates) == 1:
            given["dates"] = self.dates[0]
        return {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}

    @property
    def words(self) -> str:
        """Say it in words, as in: Windows-1252, separator ;, decimal comma, dates dd.mm.yyyy."""
        said = [
            say(FORMAT_WORDS.get(self.format or "", "CSV")) if self.format or not self.encoding else "",
            say(_NAMES.get(self.encoding, self.encoding)) if self.encoding else "",
            say("separator {mark}", mark=_mark(self.separator)) if self.separator else "",
            say("decimal comma" if self.decimal == "," else "decimal point") if self.decimal else "",
            say("{mark} between thousands", mark=_mark(self.thousands)) if self.thousands else "",
            say("dates {formats}", formats=joined(" and ", self.dates)) if self.dates else "",
            say("sheet {sheet}", sheet=json.dumps(self.sheet, ensure_ascii=False)) if self.sheet else "",
            say("table {table}", table=json.dumps(self.table, ensure_ascii=False)) if self.table else "",
        ]
        return joined(", ", filter(None, said)) if self.to_dict() else ""


FORMAT_WORDS = {
    "excel": "an Excel workbook",
    "stata": "a Stata file",
    "spss": "an SPSS file",
    "sas": "a SAS file",
    "json-lines": "JSON lines",
    "sqlite": "a table of SQLite",
    "duckdb": "a table of DuckDB",
    "postgresql": "a table of PostgreSQL",
}
PLAIN = SourceSettings(encoding=UTF_8, decimal=".", thousands="")  # as tclose itself writes tables
_NAMES = {UTF_8: "UTF-8", UTF_16_LE: "UTF-16 LE", UTF_16_BE: "UTF-16 BE", WINDOWS_1252: "Windows-1252"}
_MARKS = {"\t": "tab", "": "nothing", " ": "space", "'": "apostrophe", ".": "point", ",": "comma"}


def _mark(mark: str) -> str:
    return say(_MARKS[mark]) if mark in _MARKS else mark


@takes(table_of(SourceSettings).schema, "decimal and thousands are different marks")
def source_settings(value: object, place: str) -> SourceSettings:
    """Read how a table is written in its file."""
    if isinstance(value, SourceSettings):
        return value
    read = table_of(SourceSettings)(value, place)
    decimal, thousands = read.get("decimal"), read.get("thousands")
    if thousands and thousands == (decimal or "."):
        raise PolicyError("the same mark cannot stand for decimals and for thousands", place=f"{place}.thousands")
    return SourceSettings(**read)


def same_reading(given: Mapping[str, Any] | SourceSettings | None) -> SourceSettings | None:
    """Return settings that are given as such, or shaped as the policy file has them."""
    return None if given is None else source_settings(given, "source")
