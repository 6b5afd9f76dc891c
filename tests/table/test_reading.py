"""Encodings, archives and formats: each is read as what it is, or named in one sentence; nothing is half-read."""

from __future__ import annotations

import gzip
import io
import json
import random
import sys
import time
import zipfile
from datetime import date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

import tclose
from tclose import InputError, MissingExtra
from tclose.errors import SourceWarning
from tclose.policy.source import PLAIN, SourceSettings
from tclose.release.formats import OUTPUT_FORMATS, OutputFormat, write_table
from tclose.table.sources import content, parse, read_table
from tclose.table.sources.base import MOST_COLUMNS, Labels
from tclose.table.sources.content import read_data

GERMAN = "Größe;Straße\n3,5;Köln – Süd\n4,5;„Ö“\n"
ROWS = [("3.5", "Köln – Süd"), ("4.5", "„Ö“")]


def refusal(data: bytes, said: SourceSettings | None = None) -> str:
    with pytest.raises(InputError) as caught:
        read_data(data, said)
    return str(caught.value)


# Encodings


@pytest.mark.parametrize(
    ("encoding", "mark", "words"),
    [
        ("utf-8", b"", "CSV, separator ;, decimal comma"),
        ("utf-8", b"\xef\xbb\xbf", "CSV, separator ;, decimal comma"),
        ("cp1252", b"", "Windows-1252, separator ;, decimal comma"),
        ("utf-16-le", b"\xff\xfe", "UTF-16 LE, separator ;, decimal comma"),
        ("utf-16-be", b"\xfe\xff", "UTF-16 BE, separator ;, decimal comma"),
        ("utf-16-le", b"", "UTF-16 LE, separator ;, decimal comma"),
    ],
)
def test_encodings(encoding: str, mark: bytes, words: str) -> None:
    read = read_data(mark + GERMAN.encode(encoding), None)
    assert read.frame.columns == ["Größe", "Straße"]
    assert read.frame.rows() == ROWS
    assert read.sentence == f"read as {words}"
    again = read_data(mark + GERMAN.encode(encoding), read.found)
    assert again.frame.equals(read.frame)


def test_encodings_that_are_declared() -> None:
    text = "имя,число\nпривет,1\n"
    for encoding in ("windows-1251", "koi8-r", "utf-16"):
        read = read_data(text.encode(encoding), SourceSettings(encoding=encoding))
        assert read.frame.rows() == [("привет", "1")]
    assert "say which" in refusal(text.encode("cp1251"))
    assert refusal(b"a,b\n1,\x81\n", SourceSettings(encoding="windows-1252")) == (
        "the table is not windows-1252 text: the first bad byte is in row 1"
    )


def test_damaged_utf_8_is_not_taken_for_another_encoding() -> None:
    assert refusal("a,b\nüö,ä\n".encode() + b"\xff,1\n").startswith(
        "the table is not UTF-8 text: the first bad byte is in"
    )


def test_separators_beyond_the_header() -> None:
    assert read_data(b"sep=;\r\na;b\r\n1;2\r\n", None).frame.rows() == [("1", "2")]
    assert read_data(b"a|b\n1|2\n", None).found.separator == "|"
    assert read_data(b"a,b;c\n1,2;3\n", SourceSettings(separator=";")).frame.columns == ["a,b", "c"]


# Archives


def zipped(*names: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, "a,b\n1,2\n")
    return buffer.getvalue()


def test_archives() -> None:
    plain = b"a,b\n1,2\n"
    assert read_data(gzip.compress(plain, mtime=0), None).frame.rows() == [("1", "2")]
    assert read_data(gzip.compress(b"a,b\n", mtime=0) + gzip.compress(b"1,2\n"), None).frame.rows() == [("1", "2")]
    assert read_data(zipped("t.csv", "__MACOSX/._t.csv"), None).frame.rows() == [("1", "2")]
    assert "holds 2 files" in refusal(zipped("a.csv", "b.csv"))
    assert "holds 0 files" in refusal(zipped())


def test_zstandard() -> None:
    zstd: Any = pytest.importorskip(
        "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd", reason="pip install 'tclose[zstd]'"
    )
    packed = zstd.compress(b"a,b\n" + b"1,2\n" * 1000)
    assert read_data(packed, None).frame.height == 1000
    assert refusal(packed[:-4]) == content.DAMAGED
    parts = [random.Random(5).randbytes(3 * content.PIECE), b"", b"a" * 3 * content.BLOCK]
    assert content.unpacked(b"".join(map(zstd.compress, parts))) == b"".join(parts)
    assert "taken for a bomb" in refusal(zstd.compress(b"\0" * (content.SMALL + content.BLOCK)))


def test_many_empty_parts_take_no_time() -> None:
    """What is left to read is not copied for each of them: that took minutes."""
    begun = time.process_time()
    assert content.unpacked((gzip.compress(b"", mtime=0) + b"\0") * 200_000) == b""
    assert time.process_time() - begun < 8


def test_parts_of_several_pieces() -> None:
    draw = random.Random(5)
    parts = [draw.randbytes(3 * content.PIECE), b"", b"a" * 3 * content.BLOCK, draw.randbytes(7)]
    packed = b"".join(gzip.compress(part, mtime=0) + b"\0" * 9 for part in parts)
    assert content.unpacked(packed) == b"".join(parts)
    assert refusal(packed[: 2 * content.PIECE]) == content.DAMAGED


@pytest.mark.parametrize("cut", [5, 12, 20, -1])
def test_truncated_archives(cut: int) -> None:
    assert refusal(gzip.compress(b"a,b\n1,2\n" * 50, mtime=0)[:cut]) == content.DAMAGED
    assert refusal(zipped("t.csv")[:cut]) == content.DAMAGED


def test_bombs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "SMALL", 1 << 20)
    monkeypatch.setattr(content, "RATIO", 20)
    bomb = b"0" * (1 << 22)
    assert "taken for a bomb" in refusal(gzip.compress(bomb, mtime=0))
    assert "taken for a bomb" in refusal(workbook(A=[["a"], *([f"{row:09}" * 100] for row in range(2000))]))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("t.csv", bomb)
    assert "taken for a bomb" in refusal(buffer.getvalue())


# What files are called


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"%PDF-1.7\n\xff", "this is a PDF document"),
        (b"<!DOCTYPE html><html><table>", "this is an HTML page"),
        (b"\xef\xbb\xbf\n<html>", "this is an HTML page"),
        (b"<?xml version='1.0'?><Workbook/>", "this is an XML file"),
        (
            b"SQLite format 3\0" + b"\0" * 90,
            "this is an SQLite database: name a table in it, as in sqlite:///FILE#TABLE",
        ),
        (b"\0" * 8 + b"DUCK" + b"\0" * 90, "this is a DuckDB database"),
        (b"7z\xbc\xaf\x27\x1c\0", "this is an archive of another kind"),
        (gzip.compress(b"RDX3\nX\n\0\0", mtime=0), "this is a file of R"),
        (b'[{"a": 1}]', "this is a JSON list"),
        (b'{\n  "a": 1\n}', "this is JSON over several lines"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "the Excel workbook cannot be read"),
        (zipped("xl/workbook.xml"), "the Excel workbook cannot be read"),
        (b"<stata_dta><header>", "looks like a file of Stata but cannot be read"),
        (b"r\x02\x01\x00" + b"\1" * 600, "looks like a file of Stata but cannot be read"),
        (b"$FL2@(#) SPSS DATA FILE" + b" " * 200, "looks like a file of SPSS but cannot be read"),
        (b"\xff\xfe\0\0a\0\0\0", "UTF-32"),
    ],
)
def test_a_wrong_format_is_named(data: bytes, says: str) -> None:
    sentence = refusal(data)
    assert says in sentence
    assert "UTF-8 text" not in sentence


@pytest.mark.parametrize(
    ("package", "data", "says"),
    [
        ("fastexcel", zipped("xl/workbook.xml"), "this is an Excel workbook: pip install 'tclose[excel]'"),
        ("fastexcel", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "this is an Excel workbook: pip install 'tclose[excel]'"),
        ("pyreadstat", b"<stata_dta>", "this is a Stata file: pip install 'tclose[stata]'"),
        ("pyreadstat", b"$FL3", "this is an SPSS file: pip install 'tclose[stata]'"),
    ],
)
def test_a_missing_reader_is_named(monkeypatch: pytest.MonkeyPatch, package: str, data: bytes, says: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra) as caught:
        read_data(data, None)
    assert str(caught.value) == says


def test_a_declared_format_is_compared() -> None:
    assert "but this is text" in refusal(b"a,b\n1,2\n", SourceSettings(format="excel"))
    assert "this is JSON lines" in refusal(b'{"a": 1}\n', SourceSettings(format="csv"))


def test_a_million_columns() -> None:
    data = (",".join(map(str, range(MOST_COLUMNS + 1))) + "\n") * 2
    assert refusal(data.encode()) == "the table has 50,001 columns, and at most 50,000 are read: keep fewer"


# JSON lines


def test_json_lines() -> None:
    lines = [{"a": 1, "b": "ü\n", "c": 1.5}, {"a": None, "c": 2, "d": True}]
    read = read_data("\n".join(json.dumps(line) for line in lines).encode(), None)
    assert read.frame.rows() == [(1, "ü\n", 1.5, None), (None, None, 2.0, True)]
    assert read.sentence == "read as JSON lines"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b'{"a": 1}\n{"a": 2', "line 2 of the table is not a JSON object on one line"),
        (b'{"a": 1}\n[1]', "line 2 of the table is not a JSON object"),
        (b'{"a": 1, "a": 2}', "line 1 of the table is not a JSON object on one line"),
        (b'{"a": [1]}', "column 'a' holds lists, objects or bytes"),
        (b'{"a": 1}\n{"a": "x"}', "column 'a' mixes kinds of values"),
        (b"{}", "the table has no columns"),
        (b'{"a": 99999999999999999999}', "column 'a' mixes kinds of values"),
        (b'{"a": NaN, "a ": ' + b"[" * 5000, "line 1 of the table is not a JSON object on one line"),
    ],
)
def test_bad_json_lines(data: bytes, says: str) -> None:
    assert refusal(data).startswith(says)


# Excel


def workbook(**sheets: list[list[Any]]) -> bytes:
    xlsxwriter = pytest.importorskip("xlsxwriter", reason="pip install 'tclose[excel]'")
    buffer = io.BytesIO()
    book = xlsxwriter.Workbook(buffer, {"in_memory": True, "default_date_format": "dd.mm.yyyy"})
    for name, rows in sheets.items():
        sheet = book.add_worksheet(name)
        for number, row in enumerate(rows):
            sheet.write_row(number, 0, row)
    book.close()
    return buffer.getvalue()


TABLE = [["Alter", "Größe", "Tag", "Text"], [30, 1.75, date(2020, 1, 2), "3,5"], [40, 1.5, date(2021, 3, 4), "4"]]


def test_excel(tmp_path: Path) -> None:
    (tmp_path / "one.xlsx").write_bytes(workbook(Patienten=TABLE))
    with pytest.warns(SourceWarning, match=r'^read as an Excel workbook, decimal comma, sheet "Patienten"$'):
        frame = tclose.read(tmp_path / "one.xlsx")
    assert frame.rows() == [(30, 1.75, date(2020, 1, 2), "3.5"), (40, 1.5, date(2021, 3, 4), "4")]
    (tmp_path / "two.xlsx").write_bytes(workbook(Erste=[["a"], [1]], **{"Zweite Seite": TABLE}))
    with pytest.raises(
        InputError, match="the workbook has 2 sheets: 'Erste', 'Zweite Seite'; name one, as in FILE#Erste"
    ):
        tclose.read(tmp_path / "two.xlsx")
    said = {"format": "excel", "decimal": ",", "thousands": ""}
    named = tclose.read(f"{tmp_path}/two.xlsx#Zweite Seite", source=said)
    assert named.equals(frame)
    assert tclose.read(tmp_path / "two.xlsx", source={**said, "sheet": "Zweite Seite"}).equals(frame)
    with pytest.raises(InputError, match="the workbook has no sheet 'Dritte'; it has 'Erste', 'Zweite Seite'"):
        tclose.read(f"{tmp_path}/two.xlsx#Dritte")


def test_a_file_whose_name_has_a_hash(tmp_path: Path) -> None:
    (tmp_path / "a#b.csv").write_text("a,b\n1,2\n")
    assert tclose.read(tmp_path / "a#b.csv").rows() == [("1", "2")]
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="only a workbook has sheets"):
        tclose.read(f"{tmp_path}/t.csv#b")
    with pytest.raises(InputError, match=r"there is no file .*no\.xlsx#b"):
        tclose.read(f"{tmp_path}/no.xlsx#b")


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([], "is empty: it has neither a header nor rows"),
        ([["a", "b"]], "the table has a header but no rows"),
        ([["a", "a"], [1, 2]], "columns 1 and 2 have the same name"),
        ([["a", None, "b"], [1, 2, 3]], "column 2 of 3 has no name"),
    ],
)
def test_bad_sheets(rows: list[list[Any]], says: str) -> None:
    assert says in refusal(workbook(A=rows))


def test_a_workbook_that_is_cut_off() -> None:
    data = workbook(A=TABLE)
    for cut in (30, len(data) // 2, len(data) - 5):
        assert refusal(data[:cut]) in (
            content.DAMAGED,
            "the Excel workbook cannot be read: it is damaged, cut off, or locked with a password",
        )


# Stata and SPSS


def labelled(kind: OutputFormat, frame: pl.DataFrame, labels: Labels) -> bytes:
    pytest.importorskip("pyreadstat", reason="pip install 'tclose[stata]'")
    buffer = io.BytesIO()
    write_table(frame, kind.labelled(labels), buffer)
    return buffer.getvalue()


STATISTICAL = [kind for kind in OUTPUT_FORMATS if kind.extra == "stata"]


@pytest.mark.parametrize("kind", STATISTICAL, ids=lambda kind: kind.name)
def test_labels_are_what_people_read_and_go_back(kind: OutputFormat) -> None:
    frame = pl.DataFrame({"smoker": ["never", "daily", "never"], "age": [30, 40, 50]})
    labels = Labels({"smoker": "Smoking"}, {"smoker": {1: "never", 2: "daily", 3: "SECRET"}})
    data = labelled(kind, frame, labels)
    assert b"SECRET" not in data  # a value that the release does not show
    read = read_data(data, None)
    assert read.frame.equals(frame)
    assert read.labels == Labels({"smoker": "Smoking"}, {"smoker": {1: "never", 2: "daily"}})
    assert read.sentence == f"read as {'an' if kind.name == 'SPSS' else 'a'} {kind.name} file"


def test_labels_of_some_values_leave_the_numbers(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat", reason="pip install 'tclose[stata]'")
    frame = pl.DataFrame({"age": [30, 40, 99], "same": [1, 2, 1]})
    values = {"age": {99: "refused"}, "same": {1: "x", 2: "x"}}
    pyreadstat.write_sav(frame, str(tmp_path / "t.sav"), variable_value_labels=values)
    read = read_table(tmp_path / "t.sav")
    assert read.frame.equals(frame)
    assert [remark.partition(" keeps")[0] for remark in read.remarks] == ["column 'age'", "column 'same'"]


def test_sas_transport(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat", reason="pip install 'tclose[stata]'")
    pyreadstat.write_xport(pl.DataFrame({"a": ["x", "ü"], "n": [1, 2]}), str(tmp_path / "t.xpt"))
    assert read_table(tmp_path / "t.xpt").frame.rows() == [("x", 1), ("ü", 2)]


@pytest.mark.parametrize("kind", STATISTICAL, ids=lambda kind: kind.name)
def test_cut_off_statistics(kind: OutputFormat) -> None:
    data = labelled(kind, pl.DataFrame({"a": ["x", "y"] * 50, "n": [1, 2] * 50}), Labels())
    for cut in (40, 200, len(data) // 2, len(data) - 40):
        assert (
            refusal(data[:cut])
            == f"the table looks like a file of {kind.name} but cannot be read: it is damaged or was cut off"
        )


# Out and in again

TEXT = st.text(st.sampled_from("aäß \"'\n=;,_xé€1"), max_size=8).map(str.strip)
COLUMNS: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "text": (pl.String, TEXT),
    "whole": (pl.Int64, st.integers(-(2**53), 2**53)),
    "decimal": (pl.Float64, st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)),
    "day": (pl.Date, st.dates(date(1901, 1, 1), date(2300, 1, 1))),
    "moment": (
        pl.Datetime("us"),
        st.datetimes(datetime(1901, 1, 1), datetime(2100, 1, 1)).map(lambda m: m.replace(microsecond=0)),
    ),
    "truth": (pl.Boolean, st.booleans()),
}


@st.composite
def frames(draw: st.DrawFn) -> pl.DataFrame:
    rows = draw(st.integers(1, 5))
    cells = {
        name: draw(st.lists(st.none() | cell, min_size=rows, max_size=rows)) for name, (_, cell) in COLUMNS.items()
    }
    return pl.DataFrame(
        {"row": list(range(rows)), **cells}, schema={"row": pl.Int64, **{n: t for n, (t, _) in COLUMNS.items()}}
    )


@pytest.mark.parametrize("kind", [OUTPUT_FORMATS[0], *OUTPUT_FORMATS[3:]], ids=lambda kind: kind.name)
@settings(deadline=None, max_examples=examples(20))
@given(frames())
def test_what_was_written_comes_back(kind: OutputFormat, frame: pl.DataFrame) -> None:
    for package in kind.packages:
        pytest.importorskip(package, reason=f"pip install 'tclose[{kind.extra}]'")
    buffer = io.BytesIO()
    write_table(frame, kind, buffer)
    again = io.BytesIO()
    write_table(frame, kind, again)
    assert buffer.getvalue() == again.getvalue()
    read = read_data(buffer.getvalue(), PLAIN).frame
    assert read.equals(parse(buffer.getvalue()))
    for column in frame.iter_columns():
        assert values(read[column.name]) == values(column)


def values(column: pl.Series) -> list[Any]:
    """Return cells as a reader sees them: 3.0 and 3 are one, an empty cell is no value, CSV has text only."""
    return [None if cell in (None, "") else _value(cell) for cell in column]


def _value(cell: Any) -> Any:
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, date):
        return cell.isoformat().replace("T", " ").removesuffix(" 00:00:00")
    try:
        return float(cell)
    except ValueError:
        return str(cell).replace("T", " ").removesuffix(".000000").removesuffix(" 00:00:00")
