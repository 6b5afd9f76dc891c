"""The tables of policy keys in the docs, compared with what the keys declare."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any


def rows(page: str, heading: str) -> dict[str, str]:
    """Return the keys of the tables under a heading, each with what the page says of it."""
    section = re.split(r"^#{2,3} ", f"\n{page}".split(f"\n{heading}\n", 1)[1], flags=re.MULTILINE)[0]
    found = {}
    for table in re.findall(r"^\| key \|.*\n\|[-|]+\n((?:\|.*\n)+)", section, re.MULTILINE):
        for row in table.splitlines():
            _, key, *said, _ = re.split(r"(?<!\\)\|", row)
            name = re.fullmatch(r"\s*`(?:\[{0,2}(?:context\.)?)(\w+)\b.*`\s*", key)
            assert name, f"a row has one key: {row}"
            found[name[1]] = "|".join(said)
    return found


def plain_text(said: str) -> str:
    """Return what a row says without links and marks."""
    return re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", said).replace("`", "").replace("\\", "").casefold()


def differences(page: str, heading: str, keys: Mapping[str, Any]) -> list[str]:
    """Return the keys of a schema that a page lacks, those that it has beside them, and those that it says otherwise.

    A row may say more than the key's own sentence.
    """
    found = rows(page, heading)
    other = [name for name in keys.keys() & found.keys() if _said(keys[name]) not in plain_text(found[name])]
    return sorted([*(keys.keys() ^ found.keys()), *other])


def _said(key: Mapping[str, Any]) -> str:
    return plain_text(key["description"]).rstrip(".")
