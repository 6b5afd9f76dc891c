"""Which encoding text has, and the same text in UTF-8."""

from __future__ import annotations

import codecs
import re

from tclose.errors import InputError
from tclose.policy.source import UTF_8, UTF_16_BE, UTF_16_LE, WINDOWS_1252

LOOKED_AT = 4096
MULTIBYTE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
HIGH = re.compile(rb"[\x80-\xff]")
FOREIGN = re.compile(rb"[\xc0-\xff]{4}")  # no word of a western language has four such letters in a row
UNDEFINED = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")  # in Windows-1252
SAY = 'say which, as in encoding = "windows-1250", in [source] of the policy'


def wide_encoding(data: bytes) -> str | None:
    """Return which UTF-16 the text is in, by its mark or by where its zero bytes lie; None for anything else."""
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise InputError("the table is UTF-32 text: save it as UTF-8")
    if data.startswith(codecs.BOM_UTF16_LE):
        return UTF_16_LE
    if data.startswith(codecs.BOM_UTF16_BE):
        return UTF_16_BE
    beginning = data[:LOOKED_AT]
    if b"\0" not in beginning:
        return None
    even, odd = beginning[::2].count(0), beginning[1::2].count(0)
    half = len(beginning) / 2
    if odd > 0.7 * half and even < 0.1 * half:
        return UTF_16_LE
    return UTF_16_BE if even > 0.7 * half and odd < 0.1 * half else None


def narrow_encoding(data: bytes) -> str | None:
    """Return Windows-1252 for text that is not UTF-8 and looks western; None for UTF-8 with damaged bytes.

    Text in another alphabet could be read as Windows-1252 too, but only to nonsense, so it is refused.
    """
    proper = sum(len(found[0]) for found in MULTIBYTE.finditer(data))
    if proper > len(HIGH.findall(data)) - proper:
        return None
    if FOREIGN.search(data) or UNDEFINED.search(data):
        raise InputError(f"the table is neither UTF-8 nor western text (Windows-1252): {SAY}")
    return WINDOWS_1252


def to_utf_8(data: bytes, encoding: str) -> bytes:
    """Return the same text in UTF-8."""
    if encoding == UTF_8:
        return data
    try:
        text = codecs.decode(data, encoding)
    except (UnicodeDecodeError, ValueError) as error:
        place = error.start if isinstance(error, UnicodeDecodeError) else len(data)
        row = data.count(b"\n", 0, place)
        raise InputError(
            f"the table is not {encoding} text: the first bad byte is in {f'row {row:,}' if row else 'the header'}"
        ) from None
    try:
        return str(text).removeprefix("\ufeff").encode()
    except UnicodeEncodeError:
        raise InputError(f"the table is not {encoding} text: it holds half a character") from None
