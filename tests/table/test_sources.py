"""Tables from files and standard input, told apart by their first bytes."""

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tclose import InputError, read
from tclose.table.sources import parse

FRAME = pl.DataFrame({"a": ["x", "SECRET"], "n": [1, 2], "f": [0.5, None]})


def written(how: str, frame: pl.DataFrame = FRAME) -> bytes:
    buffer = io.BytesIO()
    getattr(frame, f"write_{how}")(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize("how", ["parquet", "ipc", "ipc_stream"])
def test_parquet_and_arrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    path = tmp_path / "table.bin"
    path.write_bytes(written(how))
    assert read(path).equals(FRAME)
    assert read(str(path)).equals(FRAME)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(written(how))))
    assert read("-").equals(FRAME)


def test_arrow_written_by_others(tmp_path: Path) -> None:
    table = pa.table({"a": pa.array(["x", "y"]).dictionary_encode(), "n": pa.array([1, None])})
    pq.write_table(table, tmp_path / "t.parquet")
    with pa.ipc.new_stream(tmp_path / "t.arrows", table.schema) as stream:
        stream.write_table(table)
    for name in ("t.parquet", "t.arrows"):
        assert read(tmp_path / name).cast({"a": pl.String}).rows() == [("x", 1), ("y", None)]


def test_standard_input_of_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a,b\n1,2\n")))
    assert read("-").rows() == [("1", "2")]


DAMAGED = "the table looks like Parquet or Arrow but cannot be read: it is damaged, or a column is of an unusual type"


@pytest.mark.parametrize("how", ["parquet", "ipc", "ipc_stream"])
def test_a_damaged_file(tmp_path: Path, how: str) -> None:
    (tmp_path / "table").write_bytes(written(how)[:60])
    with pytest.raises(InputError) as caught:
        read(tmp_path / "table")
    assert str(caught.value) == DAMAGED


def test_a_column_name_that_stands_twice(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_arrays([[1], [2]], names=["a", "a"]), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="a column name stands in the table twice: rename one"):
        read(tmp_path / "t.parquet")


def test_a_panic_of_polars_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(*_: object) -> None:
        raise pl.exceptions.PanicException("SECRET")

    monkeypatch.setattr(pl, "read_parquet", panic)
    with pytest.raises(InputError) as caught:
        parse(written("parquet"), written_here=True)
    assert str(caught.value) == DAMAGED


def test_no_rows_no_file_a_folder(tmp_path: Path) -> None:
    (tmp_path / "empty.parquet").write_bytes(written("parquet", FRAME[:0]))
    with pytest.raises(InputError, match="the table has a header but no rows"):
        read(tmp_path / "empty.parquet")
    with pytest.raises(InputError, match=r"^there is no file .*nope\.csv$"):
        read(tmp_path / "nope.csv")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="has no files that are read, so there is no table in it"):
        read(tmp_path / "folder")


def test_some_columns_of_parquet_in_the_order_of_the_file(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [1, 2], "^x$": ["a", "b"], "*": [3.5, None], "y": [True, False]})
    frame.write_parquet(tmp_path / "table.parquet")
    assert read(tmp_path / "table.parquet", only=["*", "^x$"]).equals(frame[["^x$", "*"]])
    assert read(tmp_path / "table.parquet", only=["*", "absent"]).equals(frame)
    assert read(tmp_path, only=["*", "^x$"]).equals(frame[["^x$", "*"]])


def test_repeated_text_of_parquet_comes_as_categories() -> None:
    frame = pl.DataFrame({"^x$": ["a", None, "a"], "n": [1, 2, 3], "x": ["b", "c", "d"]})
    file = io.BytesIO()
    frame.write_parquet(file)
    found = parse(file.getvalue(), repeated=["^x$", "n"], written_here=True)
    assert [str(dtype.base_type()) for dtype in found.dtypes] == ["Categorical", "Int64", "String"]
    assert found.columns == frame.columns
    assert found.rows() == frame.rows()
