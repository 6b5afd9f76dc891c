"""CSV is read strictly: what comes back is what was written, or a clear refusal, never something in between."""

import csv
import io

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose import InputError
from tclose.table.sources import csv as delimited
from tclose.table.sources import csv_records
from tclose.table.sources.csv import parse

CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6) | st.text(
    st.sampled_from(',;\t"\n\r 1aé'), max_size=6
)


def table(data: str | bytes) -> list[list[str]]:
    frame = parse(data.encode() if isinstance(data, str) else data)
    return [frame.columns, *map(list, frame.rows())]


def refusal(data: str | bytes) -> str:
    with pytest.raises(InputError) as caught:
        table(data)
    return str(caught.value)


@st.composite
def tables(draw: st.DrawFn) -> list[list[str]]:
    width = draw(st.integers(2, 4))
    header = draw(st.lists(CELL.filter(str.strip), min_size=width, max_size=width, unique=True))
    return [header, *draw(st.lists(st.lists(CELL, min_size=width, max_size=width), min_size=1, max_size=5))]


@settings(deadline=None, max_examples=examples(200))
@given(
    tables(),
    st.sampled_from(",;\t"),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    st.booleans(),
    st.booleans(),
)
def test_what_was_written_comes_back(
    rows: list[list[str]], separator: str, line_end: str, quoting: int, marked: bool, ended: bool
) -> None:
    if any("\r" in cell for row in rows for cell in row):
        quoting = csv.QUOTE_ALL  # Python's writer would leave a lone CR bare, where it looks like a line's end
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=separator, lineterminator=line_end, quoting=quoting).writerows(rows)  # type: ignore[arg-type]
    written = text.getvalue() if ended else text.getvalue().removesuffix(line_end)
    if delimited._sniff(delimited._first_record(written.encode())) != separator:
        return  # a header may look as if another separator were meant
    assert table((b"\xef\xbb\xbf" if marked else b"") + written.encode()) == rows


@settings(deadline=None, max_examples=examples(300))
@given(st.lists(st.sampled_from(["a", "1", ",", "\n", '"', '""', "\r\n", " ", "é", '"x,y"', '"p\nq",']), max_size=14))
@example([",", '"', "x", '"', '"', "\n"])
@example(['"', " ", "\r\n", '"', "b", '""', ",", "é"])
def test_anything_else_is_refused_or_read_as_python_reads_it(pieces: list[str]) -> None:
    text = "h1,h2\n" + "".join(pieces)
    try:
        read = table(text)
    except InputError:
        return
    strictly = list(csv.reader(io.StringIO(text.rstrip("\r\n"), newline=""), strict=True))
    assert read == strictly


@settings(deadline=None, max_examples=examples(100))
@given(
    st.lists(st.sampled_from(["a", ",", "\n", '"', '""', "\r\n", '"x,y"', '"p\nq",', "é"]), max_size=14),
    st.integers(1, 9),
)
def test_where_a_chunk_ends_does_not_matter(pieces: list[str], size: int) -> None:
    text = "h1,h2\n" + "".join(pieces)

    def outcome() -> object:
        try:
            return table(text)
        except InputError as error:
            return str(error)

    whole = outcome()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "CHUNK", size)
        assert outcome() == whole


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "the table is empty: it has neither a header nor rows"),
        (b"\xef\xbb\xbf\r\n\r\n", "the table is empty: it has neither a header nor rows"),
        (b"a,b", "the table has a header but no rows"),
        (b"a,b\n\n\n", "the table has a header but no rows"),
        ("a,b\n1,2,SECRET\n", "row 1 has 3 fields, the header has 2"),
        ("a,b\n1,2\nSECRET\n", "row 2 has 1 field, the header has 2"),
        ("a,b\n1,2\n\n3,4\n", "row 2 has 1 field, the header has 2"),
        ("a,b\n1\n1,2\n1,2,3\n", "row 1 has 1 field, the header has 2 (2 rows are like that)"),
        ('a,b\n"SECRET\nx",2\n1\n', "row 2 has 1 field, the header has 2"),
        ("a,b,a\n1,2,3\n", "columns 1 and 3 have the same name in the header: rename one"),
        ("a,,b\n1,2,3\n", "column 2 of 3 has no name in the header"),
        (
            b"a,b\n1,2\nSECRET\xff,3\n",
            "the table is not UTF-8 text: the first bad byte is in row 2; save it as UTF-8",
        ),
        (
            "a,b\n1,2\n".encode("utf-16"),
            "the table is not UTF-8 text: the first bad byte is in the header; save it as UTF-8",
        ),
        ("a,b\nSECRET\0,2\n", "the table is not text: it holds NUL bytes; is it a spreadsheet or an archive?"),
        ('a,b\n1,"SECRET\n3,4\n', "the table is not valid CSV: a quoted field is never closed"),
        (
            'a,b\n1,2\n3,5" SECRET\n',
            "row 2 has a quote in the middle of a field: put the whole field in quotes, and double those inside it",
        ),
        (
            'a,b\n1,2\n"SECRET" x,3\n',
            "row 2 has a quote in the middle of a field: put the whole field in quotes, and double those inside it",
        ),
        ("a,b\r1,2\r", "the table's lines end in CR alone, as on very old computers: save it with LF or CRLF"),
        ("a,b\n1,2\r", "the table ends with CR alone, which ends no line: remove it or save it with LF or CRLF"),
        (
            'a,b\r\n1,"SECRET"\r',
            "the table ends with CR alone, which ends no line: remove it or save it with LF or CRLF",
        ),
        ("\ra,b\n1,2\n", "the table begins with CR alone, which ends no line: remove it or save it with LF or CRLF"),
        (
            "\n\r\n\ra,b\n1,2\n",
            "the table begins with CR alone, which ends no line: remove it or save it with LF or CRLF",
        ),
        (
            "a,b\r\r\n1,2\r\n",
            "the header has CR alone, which ends no line: remove it or save the table with LF or CRLF",
        ),
        ("a\rc,b\n1,2\n", "the header has CR alone, which ends no line: remove it or save the table with LF or CRLF"),
        (
            "a,b\n1,2\nSECRET\r,2\n",
            "row 2 has CR alone at the end of a field: put the field in quotes, or remove the CR",
        ),
        ("a,b\n\r,2\n", "row 1 has CR alone at the end of a field: put the field in quotes, or remove the CR"),
        (
            'a,b,c\n1,"SECRET"\r,3\n',
            "row 1 has a quote in the middle of a field: put the whole field in quotes, and double those inside it",
        ),
        ('a"b,c\n1,2\n', "the header is not valid CSV: a quote in it is stray or never closed, or a name is too long"),
    ],
)
def test_refusals(data: str | bytes, says: str) -> None:
    assert refusal(data) == says


def test_a_repeated_name_is_shown_on_request_only() -> None:
    with pytest.raises(InputError) as caught:  # a table without a header: its first row is taken for one
        table("Ann Smith,Ann Smith\nBob,Eve\n")
    assert "Ann" not in str(caught.value)
    assert caught.value.detail == "the name is 'Ann Smith'"


def test_every_cell_stays_text() -> None:
    assert table("a,b\n01234,1.10\nNA,null\n,\n")[1:] == [["01234", "1.10"], ["NA", "null"], ["", ""]]


def test_one_column_and_empty_lines_before_the_header() -> None:
    assert table("\r\n\nx\n1\n\n2") == [["x"], ["1"], [""], ["2"]]


@pytest.mark.parametrize(
    ("header", "names"),
    [("a;b,c;d", ["a", "b,c", "d"]), ("a\tb", ["a", "b"]), ('"a;b;c",d', ["a;b;c", "d"]), ('"a\nb",c', ["a\nb", "c"])],
)
def test_the_header_tells_the_separator(header: str, names: list[str]) -> None:
    separator = {"a;b,c;d": ";", "a\tb": "\t"}.get(header, ",")
    assert table(header + "\n" + separator.join("123"[: len(names)])) == [names, list("123"[: len(names)])]


@pytest.mark.parametrize(
    ("data", "cells"),
    [
        ("a,b\n1\rx,2\n", [["1\rx", "2"]]),
        ("a,b\n\r1,2\n3,4\n", [["\r1", "2"], ["3", "4"]]),
        ("a,b\n1,2\r\r\n3,4\r\n", [["1", "2\r"], ["3", "4"]]),
        ('a,b\n1,"2\r"\n', [["1", "2\r"]]),
        ('a,b\n1,"2\r"', [["1", "2\r"]]),
    ],
)
def test_a_bare_cr_in_a_cell_is_kept(data: str, cells: list[list[str]]) -> None:
    assert table(data)[1:] == cells


@settings(deadline=None, max_examples=examples(300))
@given(st.lists(st.lists(st.text(st.sampled_from("\r1x"), max_size=3), min_size=2, max_size=2), min_size=1, max_size=3),
       st.sampled_from(["\n", "\r\n"]), st.booleans())  # fmt: skip
def test_no_bare_cr_is_ever_dropped(rows: list[list[str]], end: str, closed: bool) -> None:
    """Without quotes, CR that is not a part of CRLF is a part of a cell, or the table is refused."""
    data = end.join(["a,b", *(",".join(row) for row in rows)]) + end * closed
    try:
        read = table(data)
    except InputError:
        assert "CR alone" in refusal(data)
    else:
        kept = sum(cell.count("\r") for row in read for cell in row)
        assert kept == data.count("\r") - data.count("\r\n")


LINES = st.lists(st.lists(st.sampled_from(["", "a", "é", " ", "1;2"]), min_size=1, max_size=4), min_size=1, max_size=6)


@given(lines=LINES, separator=st.sampled_from(delimited.SEPARATORS), ended=st.booleans())
def test_lines_are_counted_as_bytes_are(lines: list[list[str]], separator: str, ended: bool) -> None:
    """Without quotes, a small table is counted line by line, and gives what numpy finds in its bytes."""
    data = "\n".join(separator.join(line) for line in lines).encode() + b"\n" * ended
    if not data.strip(b"\n"):
        return
    widths = csv_records.fields_per_record(data, separator, 0)
    assert delimited._fields_per_line(data, separator) == widths.tolist()


@pytest.mark.parametrize("small", [0, delimited.SMALL])
def test_ragged_records_are_told_alike(monkeypatch: pytest.MonkeyPatch, small: int) -> None:
    monkeypatch.setattr(delimited, "SMALL", small)
    with pytest.raises(InputError, match=r"^row 2 has 1 field, the header has 2 \(2 rows are like that\)$"):
        parse(b"a,b\n1,2\n3\n4,5,6\n")
    assert parse(b"a,b\n1,2\n").rows() == [("1", "2")]
