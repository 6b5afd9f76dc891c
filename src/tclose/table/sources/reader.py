"""The isolated process that reads files from outside, and hands their cells over as Arrow.

`door.py` starts it with `python -I` and sends requests through a socket, which is its standard input: first what the
process may use, then one request after the other, each with the open file that it is about. Every answer is a list of
messages: JSON, or the word that a frame lies in the hatch, a file in memory that both processes have open. The next
frame takes its place once the door has taken this one. A refusal is an answer like any other; if the process dies, the
door says what that means. Nothing is read before the limits hold.
"""

from __future__ import annotations

import gc
import json
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, BinaryIO

from tclose.table.sources import isolation

if TYPE_CHECKING:
    import polars as pl

    from tclose.table.sources.base import TableRead

LENGTH = 8  # bytes of a length
TEXT, FRAME, WHOLE_FRAME = b"t", b"f", b"w"  # kinds of messages: JSON; a frame in the hatch, or one that comes itself
TAKEN = b"."  # what the door says when it has a frame
IN_CELL = 12  # bytes of text that polars keeps in the cell
OBJECTS_OF_LIBRARIES = 100_000  # more than are made while polars is loaded, in which there is no garbage to look for
COLUMNS_AT_ONCE = 4 << 20  # bytes of columns that lie in the hatch, so that few are in memory twice
Content = dict[str, Any]
Answer = Iterator["Content | pl.DataFrame"]


def main() -> None:
    """Answer requests until the other side closes the socket; skip the clean-up of libraries, which takes time."""
    isolation.end_with_parent()
    gc.set_threshold(OBJECTS_OF_LIBRARIES)
    channel = socket.socket(fileno=0)
    asked, place = received(channel)
    assert place is not None
    isolation.limit(asked["memory"], asked["seconds"])
    isolation.lock(asked["readable"], asked["writable"])
    with suppress(OSError, EOFError):  # the other side has gone
        _serve(channel, os.fdopen(place, "r+b", buffering=0))
    os._exit(0)


def _serve(channel: socket.socket, hatch: BinaryIO) -> None:
    from tclose.errors import TcloseError
    from tclose.messages import to_json

    while True:
        asked, place = received(channel)
        file = None if place is None else os.fdopen(place, "rb")
        isolation.limit(asked["memory"], asked["seconds"])
        handed_over, most = 0, asked["memory"] + isolation.OWN_DATA if asked["do"] in WHOLE else sys.maxsize
        try:
            for message in _within(asked["memory"], WORK[asked["do"]](asked, file)):
                handed_over += send(channel, hatch, message)
                if handed_over > most:
                    raise MemoryError
            send(channel, hatch, {"done": True})
        except TcloseError as error:
            send(
                channel,
                hatch,
                {"refused": type(error).__name__, "says": to_json(error.args[0]), "detail": error.detail},
            )
        except MemoryError:
            os._exit(isolation.NO_MEMORY)
        finally:
            if file is not None and asked["do"] != "open":
                file.close()


def received(channel: socket.socket) -> tuple[Content, int | None]:
    """Return the next request, and the open file that comes with it."""
    start, files, _, _ = socket.recv_fds(channel, LENGTH, 1)
    if len(start) < LENGTH:
        raise EOFError
    length, data = int.from_bytes(start, "big"), bytearray()
    while len(data) < length:
        data += channel.recv(length - len(data))
    return json.loads(data), files[0] if files else None


def send(channel: socket.socket, hatch: BinaryIO, message: Content | pl.DataFrame) -> int:
    """Send one message, after its kind and its length, which is returned; of a frame, wait until it was taken."""
    if isinstance(message, dict):
        data = json.dumps(message).encode()
        channel.sendall(TEXT + len(data).to_bytes(LENGTH, "big") + data)
        return len(data)
    hatch.seek(0)
    try:
        message.write_ipc_stream(hatch, compat_level=_newest())
    except OSError:  # files may not be so large here (RLIMIT_FSIZE), which is no reason not to judge a table
        data = message.write_ipc_stream(None, compat_level=_newest()).getvalue()
        channel.sendall(WHOLE_FRAME + len(data).to_bytes(LENGTH, "big") + data)
        return len(data)
    length = hatch.tell()
    channel.sendall(FRAME + length.to_bytes(LENGTH, "big"))
    if channel.recv(len(TAKEN)) != TAKEN:
        raise EOFError
    return length


def _newest() -> Any:
    import polars as pl

    return pl.CompatLevel.newest()  # as polars keeps text itself, so nothing is converted


def _handed_over(columns: list[pl.Series]) -> Answer:
    """Yield columns, some at a time; those that were taken are not kept."""
    import polars as pl

    columns.reverse()
    pending: list[pl.Series] = []
    size = 0.0
    while columns:
        size += columns[-1].estimated_size()
        pending.append(columns.pop())
        if size > COLUMNS_AT_ONCE or not columns:
            frame, pending, size = pl.DataFrame(pending), [], 0.0
            yield frame
            del frame


def _within(memory: int, answer: Answer) -> Answer:
    """Yield messages as long as their cells fit into the memory, also where each gets a text of its own.

    A table or a batch begins with a dictionary. Cells that show one long text share it here, and on their way; whoever
    works with them copies it for each.
    """
    room = memory
    for message in answer:
        room = memory if isinstance(message, dict) else room - sum(map(_long_text, message.iter_columns()))
        if room < 0:
            raise MemoryError
        yield message
        del message  # before the next one is made


def _long_text(column: pl.Series) -> int:
    """Return the bytes of all texts in a column that do not stand in their cells themselves."""
    import polars as pl

    if not isinstance(column.dtype, pl.String | pl.Categorical | pl.Enum):
        return 0
    plain = column.alias("")  # polars takes a name such as ^x$ for a pattern
    lengths = (plain.str if isinstance(column.dtype, pl.String) else plain.cat).len_bytes()
    return int(lengths.filter(lengths > IN_CELL).cast(pl.UInt64).sum())


def _bytes(file: BinaryIO | None) -> bytes:
    assert file is not None
    return file.read()


def _table(asked: Content, file: BinaryIO | None) -> Answer:
    """Read a table of the steward: whatever its format, and however it is written."""
    data, told = _bytes(file), asked["source"] or {}
    if _is_parquet(data) and told.get("format") in (None, "parquet") and asked["part"] is None:
        yield from _parquet(data, asked["only"])
        return

    from tclose.table.sources.content import read_data, said_of

    said = said_of(asked["source"])
    found = read_data(
        data, said, only=asked["only"], missing=asked["missing"], part=asked["part"], detect=asked["detect"]
    )
    answer = _read(found)
    del found
    del data
    yield from answer


def _is_parquet(data: bytes) -> bool:
    from tclose.table.sources.formats import PARQUET

    return PARQUET.fits(data)


def _parquet(data: bytes, only: list[str]) -> Answer:
    """Read a Parquet file without what other formats need: to import numpy alone takes .06 CPU seconds."""
    import polars as pl

    from tclose.table.sources.base import TableRead
    from tclose.table.sources.formats import parquet_groups

    yield from _read(TableRead(pl.DataFrame()))
    yield from parquet_groups(data, only=only)


def _database(asked: Content, file: BinaryIO | None) -> Answer:
    """Read a table of a database that is a file."""
    from tclose.table.sources.content import said_of, spelled
    from tclose.table.sources.databases import read_database_file

    said = said_of(asked["source"])
    found = read_database_file(asked["scheme"], asked["path"], asked["table"], said)
    yield from _read(spelled(found, said, asked["missing"], detect=asked["detect"]))


def _read(found: TableRead) -> Answer:
    columns, values = found.labels.columns, found.labels.values
    labels = {"columns": dict(columns), "values": {name: list(texts.items()) for name, texts in values.items()}}
    about = {
        "found": asdict(found.found),
        "remarks": found.remarks,
        "questions": found.questions,
        "labels": json.loads(json.dumps(labels, default=str)),
    }
    columns_left = found.frame.get_columns()
    del found
    yield about
    yield from _handed_over(columns_left)


def _parse(asked: Content, file: BinaryIO | None) -> Answer:
    """Read a table as tclose itself writes tables."""
    from tclose.table.sources.formats import parquet_groups

    data, repeated, only = _bytes(file), asked["repeated"], asked["only"]
    if _is_parquet(data):
        yield from parquet_groups(data, repeated=repeated, only=only)
        return

    from tclose.table.sources.content import parse

    yield from _handed_over(parse(data, repeated=repeated, only=only).get_columns())


def _sheets(asked: Content, file: BinaryIO | None) -> Answer:
    """Name the sheets of a workbook."""
    from tclose.table.sources.formats import sheets_in

    yield {"sheets": sheets_in(_bytes(file))}


_open: list[Any] = []  # the file that is read in batches, and how


def _opened(asked: Content, file: BinaryIO | None) -> Answer:
    """Begin to read a file in batches: say which columns it has, and of Parquet, how many rows."""
    from tclose.table.sources.folder import READERS

    for reader in _open:
        reader.file.close()
    assert file is not None
    _open[:] = [READERS[asked["format"]](file, **asked["settings"])]
    yield {"rows": _open[0].rows}
    yield _open[0].columns


def _batches(asked: Content, file: BinaryIO | None) -> Answer:
    """Hand over some columns of the file that was opened last, or their different cells, counted."""
    for share, frames in _open[0].batches(asked["places"], asked["rows"], counted=asked["counted"]):
        yield {"share": share}
        yield from frames


WORK: dict[str, Callable[[Content, BinaryIO | None], Answer]] = {
    "table": _table,
    "database": _database,
    "parse": _parse,
    "sheets": _sheets,
    "open": _opened,
    "batches": _batches,
}
WHOLE = ("table", "database", "parse", "sheets")  # requests whose answers stand in the door's memory all at once


if __name__ == "__main__":
    main()
    sys.exit(0)
