"""CSV as people have it: encoding and separator are detected, or taken from the policy; then it is read strictly."""

from __future__ import annotations

import re

import polars as pl

from tclose.errors import InputError
from tclose.policy.source import UTF_8, SourceSettings
from tclose.table.sources.base import TableRead
from tclose.table.sources.csv import NotUtf8, parse, separator_of
from tclose.table.sources.encodings import narrow_encoding, to_utf_8, wide_encoding

SEPARATOR_LINE = re.compile(
    rb"^(?:\xef\xbb\xbf)?\"?sep=([,;\t|])\"?\r?\n", re.IGNORECASE
)  # which Excel writes and obeys
DECLARE = '; save it as UTF-8, or say which encoding it has in [source] of the policy, as in encoding = "windows-1252"'


def read_delimited(data: bytes, said: SourceSettings, *, detect: bool) -> TableRead:
    """Return the table that these bytes hold; without `detect`, what the policy does not say is plain."""
    if said.encoding not in (None, UTF_8):
        return _read(to_utf_8(data, str(said.encoding)), said, said.encoding)
    wide = wide_encoding(data) if detect and said.encoding is None else None
    if wide is not None:
        return _read(to_utf_8(data, wide), said, wide)
    try:
        return _read(data, said, None)
    except NotUtf8 as error:
        narrow = narrow_encoding(data) if detect and said.encoding is None else None
        if narrow is None:
            raise InputError(str(error).partition(";")[0] + DECLARE) from None
    return _read(to_utf_8(data, narrow), said, narrow)


def _read(data: bytes, said: SourceSettings, encoding: str | None) -> TableRead:
    separator = said.separator
    if (line := SEPARATOR_LINE.match(data)) is not None:
        separator, data = separator or line[1].decode(), data[line.end() :]
    frame: pl.DataFrame = parse(data, separator=separator)
    used = separator or separator_of(data)
    return TableRead(frame, SourceSettings(encoding=encoding, separator=None if used == "," else used))
