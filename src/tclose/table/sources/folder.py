"""A folder of Parquet files as one table: its parts one after the other, sorted by name.

Names that begin with `_` or `.` are skipped, as Spark and Hive do: they mark files such as `_SUCCESS` or checksums.
Links are refused, so that nothing outside the folder is read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

import polars as pl

from tclose.errors import InputError
from tclose.table.sources.columnar import PARQUET
from tclose.table.sources.door import Reader, a_reader, parse_with
from tclose.words import legible

SKIPPED = ("_", ".")
NO_PARQUET = "is no Parquet file"


def visible_names(folder: Path) -> list[str]:
    """Return what lies in a folder, sorted by name, without the names that are skipped."""
    try:
        return sorted(path.name for path in folder.iterdir() if not path.name.startswith(SKIPPED))
    except OSError as error:
        raise InputError(f"{folder} cannot be read: {error.strerror}") from None


def no_part(path: Path) -> str | None:
    """Say why something in a folder cannot be a part of a table; None for an ordinary file."""
    if path.is_symlink():
        return "is a link"
    if path.is_dir():
        return "is a folder"
    return None if path.is_file() else "is no ordinary file"


def parts_of(folder: Path) -> list[Path]:
    """Return the files that make up a table; a folder that holds anything else is refused."""
    paths = [folder / name for name in visible_names(folder)]
    if not paths:
        raise InputError(f"the folder {folder} has no files that are read, so there is no table in it")
    for path in paths:
        if (why := no_part(path)) is not None:
            raise _refused(path, why)
        with path.open("rb") as file:
            if not file.read(len(PARQUET.begins)).startswith(PARQUET.begins):
                raise _refused(path, NO_PARQUET)
    return paths


def _refused(path: Path, why: str) -> InputError:
    return InputError(
        f"{legible(path.name)} in the folder {path.parent} {why}: a folder is read as one table of Parquet files; "
        "names that begin with _ or . are skipped"
    )


def read_folder(folder: Path, read_bytes: Callable[[Path], bytes], only: Collection[str] = ()) -> pl.DataFrame:
    """Read a folder of Parquet files as one table; with `only`, other columns than these may be left out."""
    paths = parts_of(folder)
    with a_reader() as reader:
        frames = (part(path.name, read_bytes(path), reader, only) for path in paths)
        return joined([path.name for path in paths], frames)


def part(name: str, data: bytes, reader: Reader, only: Collection[str] = ()) -> pl.DataFrame:
    """Return the rows of one part; a refusal names the file."""
    if not data.startswith(PARQUET.begins):
        raise InputError(f"{legible(name)} {NO_PARQUET}")
    try:
        return parse_with(reader, data, only=only)
    except InputError as error:
        raise InputError(f"{legible(name)}: {error.sentence}") from None


def joined(names: Sequence[str], frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Put parts together; they must have the same columns, in the same order and of the same types."""
    parts: list[pl.DataFrame] = []
    for name, frame in zip(names, frames, strict=True):
        if parts:
            check_alike(name, frame, names[0], parts[0])
        parts.append(frame)
    return parts[0] if len(parts) == 1 else pl.concat(parts, rechunk=False)


def check_alike(name: str, frame: pl.DataFrame, first_name: str, first: pl.DataFrame) -> None:
    """Refuse a part whose columns are not those of the first part."""
    if frame.schema != first.schema:
        raise InputError(f"{legible(name)} and {legible(first_name)} {_difference(frame, first)}")


def _difference(one: pl.DataFrame, other: pl.DataFrame) -> str:
    if one.columns != other.columns:
        return "do not have the same columns in the same order, so they are not one table"
    kinds = zip(one.columns, one.dtypes, other.dtypes, strict=True)
    name, here, there = next(kind for kind in kinds if kind[1] != kind[2])
    return f"are not one table: column '{legible(name)}' is of type {here} in one and of type {there} in the other"
