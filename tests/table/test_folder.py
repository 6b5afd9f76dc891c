"""A folder of Parquet files as one table: in which order, what is skipped, and what is refused."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose import InputError, Policy, check, read
from tclose.table.sources.folder import joined
from tclose.table.sources.formats import DAMAGED_TABLE

ABORTS = Path(__file__).with_name("abort.parquet")
FRAME = pl.DataFrame({"zone": ["n", "s"] * 6, "age": [20, 20, 30, 30] * 3, "pay": [1, 2, 3, 4, 4, 3, 2, 1, 1, 2, 3, 4]})
POLICY = Policy.from_dict({"quasi": ["zone", "age"], "sensitive": {"pay": {"t": 0.5}}, "k": 3})


def put(folder: Path, **parts: pl.DataFrame) -> None:
    for name, frame in parts.items():
        frame.write_parquet(folder / f"{name}.parquet")


def test_parts_come_sorted_by_name(tmp_path: Path) -> None:
    put(tmp_path, b=FRAME[5:], a=FRAME[:5], B=FRAME[:0])
    (tmp_path / "_SUCCESS").write_bytes(b"")
    (tmp_path / "_more.parquet").write_bytes(b"no Parquet")
    (tmp_path / ".a.parquet.crc").write_bytes(b"crc")
    assert read(tmp_path).equals(FRAME)
    assert read(f"{tmp_path}/").equals(FRAME)


def test_classes_of_different_parts_that_show_the_same_are_one(tmp_path: Path) -> None:
    """In each part alone, no class has three rows."""
    put(tmp_path, **{f"p{start}": FRAME[start : start + 4] for start in (0, 4, 8)})
    assert not any(check(FRAME[start : start + 4], POLICY).satisfied for start in (0, 4, 8))
    found = check(read(tmp_path), POLICY)
    assert (found.classes, found.smallest_class) == (4, 3)
    assert found == check(FRAME, POLICY)


@settings(max_examples=examples(50))
@given(st.lists(st.integers(0, len(FRAME)), max_size=5))
def test_a_table_is_the_same_however_it_is_cut(cuts: list[int]) -> None:
    ends = [0, *sorted(cuts), len(FRAME)]
    parts = [FRAME[start:end] for start, end in pairwise(ends)]
    names = [f"p{number}" for number in range(len(parts))]
    assert check(joined(names, parts), POLICY) == check(FRAME, POLICY)


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "nothing": (lambda f: None, "has no files that are read, so there is no table in it"),
    "skipped names alone": (lambda f: (f / "_SUCCESS").write_text(""), "has no files that are read"),
    "a foreign file": (lambda f: (f / "notes.txt").write_text("x"), r"notes\.txt in the folder .* is no Parquet file"),
    "an empty file": (lambda f: (f / "a.parquet").write_text(""), r"a\.parquet in the folder .* is no Parquet file"),
    "a folder": (lambda f: (f / "zone=n").mkdir(), "zone=n in the folder .* is a folder"),
    "a link": (lambda f: (f / "l.parquet").symlink_to(ABORTS), r"l\.parquet in the folder .* is a link"),
    "a dead link": (lambda f: (f / "l.parquet").symlink_to(f / "nothing"), r"l\.parquet in the folder .* is a link"),
    "a pipe": (lambda f: os.mkfifo(f / "p.parquet"), r"p\.parquet in the folder .* is no ordinary file"),
    "other names": (
        lambda f: put(f, a=FRAME, b=FRAME.rename({"pay": "wage"})),
        r"b\.parquet and a\.parquet do not have the same columns in the same order, so they are not one table",
    ),
    "another order": (lambda f: put(f, a=FRAME, b=FRAME.select("pay", "age", "zone")), "in the same order"),
    "other types": (
        lambda f: put(f, a=FRAME, b=FRAME.cast({"age": pl.String})),
        "are not one table: column 'age' is of type String in one and of type Int64 in the other",
    ),
    "no rows": (lambda f: put(f, a=FRAME[:0], b=FRAME[:0]), "the table has a header but no rows"),
    "a damaged file": (
        lambda f: (put(f, a=FRAME, b=FRAME), (f / "b.parquet").write_bytes((f / "a.parquet").read_bytes()[:99])),
        f"b.parquet: {DAMAGED_TABLE}",
    ),
    "a file that makes polars abort": (
        lambda f: (put(f, a=FRAME), (f / "b.parquet").write_bytes(ABORTS.read_bytes())),
        "b.parquet: reading the table needs more memory than a file of its size should",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_folder_that_is_no_table_is_refused(tmp_path: Path, what: str) -> None:
    make, says = REFUSED[what]
    make(tmp_path)
    with pytest.raises(InputError, match=says):
        read(tmp_path)


@pytest.mark.parametrize(
    ("name", "says"), [("", "is a folder, not a table"), ("x" * 300, "cannot be read"), ("a\0b", "NUL")]
)
def test_a_name_that_no_folder_has(name: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        read(name)


def test_one_process_tries_all_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, **{f"p{number}": FRAME for number in range(5)})
    started, original = [], subprocess.Popen

    def popen(*arguments: object, **options: object) -> object:
        started.append(arguments)
        return original(*arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "Popen", popen)
    assert read(tmp_path).height == 60
    assert len(started) == 1
