"""Tables on disk in batches: the same cells as when the file is read at once, or the same refusal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose import InputError, read, steps
from tclose.table.disk_files import TableOnDisk, table_on_disk
from tclose.table.sources.base import FIRST, ROWS
from tclose.table.sources.csv import parse
from tclose.table.sources.csv_records import csv_batches
from tclose.types import silent

FRAME = pl.DataFrame({"^age$": list(range(20)), "ward": ["a", None] * 10, "pay": [x / 4 for x in range(20)]})
PIECES = ["a", "1", ",", "\n", "\n\n", '"', '""', "\r\n", "\r", " ", "é", '"x,y"', '"p\nq",', "a,b\n", "1,2\r\n"]


def whole(table: TableOnDisk, names: Sequence[str] | None = None) -> pl.DataFrame:
    """Return the rows of a table, all of which are different."""
    batches = list(table.batches(lambda columns: [names or columns.columns], silent))
    rows = pl.concat([groups.sort(FIRST) for batch in batches for groups in batch.groups])
    assert sum(batch.rows for batch in batches) == rows[ROWS].sum() == rows.height
    return rows.drop(ROWS, FIRST).rename(dict(zip(map(str, range(9)), names or FRAME.columns, strict=False)))


def blocks(path: Path, block: int) -> pl.DataFrame:
    """Return a CSV file that is read in blocks."""
    with path.open("rb") as file:
        return pl.concat(list(csv_batches(file, block, lambda share: None)))


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(PIECES), max_size=14), st.sampled_from(["h1,h2\n", "h1\n", "\ufeff\n\nh1,h2\n", ""]),
       st.integers(1, 9))  # fmt: skip
def test_a_csv_file_in_blocks(tmp_path: Path, pieces: list[str], header: str, block: int) -> None:
    data = (header + "".join(pieces)).encode()
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    try:
        expected = parse(data)
    except InputError:  # of several mistakes, blocks show the first one first
        with pytest.raises(InputError):
            blocks(path, block)
    else:
        assert blocks(path, block).equals(expected)


@pytest.mark.parametrize(
    ("last", "sentence"),
    [
        (b"a\n", "row 12 has 1 field, the header has 2"),
        (b'a,b"\n', "row 12 has a quote in the middle of a field"),
        (b"a,\xff\n", "the first bad byte is in row 14"),  # a count of lines, as in memory
        (b"a\r,b\n", "row 12 has CR alone"),
    ],
)
def test_refusals_count_rows_from_the_header(tmp_path: Path, last: bytes, sentence: str) -> None:
    data = b"h1,h2\r\n" + b"a,b\r\n" * 10 + b'"p\n\nq",b\n' + last
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    with pytest.raises(InputError, match=sentence):
        parse(data)
    with pytest.raises(InputError, match=sentence):
        blocks(path, 16)


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    folder = tmp_path / "parts"
    folder.mkdir()
    for number, part in enumerate(FRAME.iter_slices(7)):
        part.write_parquet(folder / f"part-{number}.parquet", row_group_size=3)
    (folder / "_SUCCESS").touch()
    return folder


def test_parquet_in_batches(tmp_path: Path, parts: Path) -> None:
    file = tmp_path / "t.parquet"
    FRAME.write_parquet(file, row_group_size=6)
    for path in (file, parts):
        assert whole(replace(table_on_disk(path), batch_rows=4)).equals(read(path))
        assert whole(table_on_disk(path), ["pay", "^age$"]).equals(FRAME.select("pay", pl.nth(0)))


def test_a_part_may_be_empty(tmp_path: Path, parts: Path) -> None:
    FRAME.clear().write_parquet(parts / "part-1a.parquet")
    assert whole(table_on_disk(parts)).equals(FRAME)
    FRAME.clear().write_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match="a header but no rows"):
        steps.check(tmp_path / "t.parquet", {"quasi": ["ward"], "k": 2, "others": "drop"}, engine="disk")


def test_progress_grows_to_the_whole(parts: Path) -> None:
    told: list[float] = []
    table = replace(table_on_disk(parts), batch_rows=2)
    for _ in table.batches(lambda columns: [columns.columns], lambda share, phase="": told.append(share)):
        pass
    assert told == sorted(told)
    assert told[-1] == 1.0


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        whole(table_on_disk(path))
    return str(caught.value)


def test_damaged_parts_are_named(parts: Path) -> None:
    middle = parts / "part-1.parquet"
    data = bytearray(middle.read_bytes())
    data[8:40] = b"\xff" * 32
    middle.write_bytes(data)
    assert refusal(parts).startswith("part-1.parquet: the table looks like Parquet")
    middle.write_bytes(data[:-9])
    assert refusal(parts).startswith("part-1.parquet: ")


def test_a_file_that_would_end_the_process_is_refused() -> None:
    assert "damaged" in refusal(Path(__file__).with_name("abort.parquet"))


def test_parts_that_are_no_table_are_refused(parts: Path) -> None:
    FRAME.cast({"pay": pl.String}).write_parquet(parts / "part-3.parquet")
    assert refusal(parts).startswith("part-3.parquet and part-0.parquet are not one table: column 'pay'")
    (parts / "part-3.parquet").write_text("a,b\n")
    assert "part-3.parquet in the folder" in refusal(parts)


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "has no files" in refusal(tmp_path / "empty")
    FRAME.write_ipc(tmp_path / "t.arrow")
    assert refusal(tmp_path / "t.arrow").startswith("Arrow files are not read in batches")
    assert refusal(tmp_path / "absent").startswith("there is no file")
    assert refusal(Path("-")).startswith("standard input is not read in batches")


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    FRAME.write_csv(path) if name == "t.csv" else FRAME.write_parquet(path)

    def change(share: float, phase: str = "") -> None:
        path.write_bytes(path.read_bytes())

    with pytest.raises(InputError, match="was changed while it was read"):
        list(table_on_disk(path).batches(lambda columns: [columns.columns], change))
