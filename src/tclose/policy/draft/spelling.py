"""How names and settings are spelled in TOML: nothing invisible, and nothing that a terminal would obey."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tclose.policy.settings import spelled


def key(name: str) -> str:
    """Spell a column's name as a key.

    >>> key("marital-status"), key("a b")
    ('marital-status', '"a b"')
    """
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml(name)


def toml(value: Any) -> str:
    r"""Spell a setting.

    >>> toml({"date": ["month", "year"]}), toml("\x9b[2J"), toml(20)
    ('{ date = ["month", "year"] }', '"\\u009b[2J"', '20')
    """
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key(name)} = {toml(part)}" for name, part in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, str):
        return "".join(map(_visible, json.dumps(value, ensure_ascii=False)))
    return str(value) if isinstance(value, int) else json.dumps(spelled(value))


def _visible(letter: str) -> str:
    if letter.isprintable():
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"
