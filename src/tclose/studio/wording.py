"""Sentences for people."""

from __future__ import annotations

import re

from tclose.errors import TcloseError

SETTING = re.compile(r"\w+ = ")


def sentence(text: str) -> str:
    """Begin with a capital letter, unless a setting comes first (l = 2), and end with a full stop."""
    first = text[:1] if SETTING.match(text) else text[:1].upper()
    return first + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")


def sentence_of(error: TcloseError | OSError) -> str:
    """Say what went wrong; of the system's own mistakes, such as a full disk, only their kind."""
    if isinstance(error, TcloseError):
        return sentence(error.sentence)
    return sentence(f"a file of the studio cannot be read or written: {error.strerror or type(error).__name__}")
