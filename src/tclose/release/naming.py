"""What a certificate and a page call a table, a release, the time and the tool: names only, never a path."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tclose.errors import InputError
from tclose.table.sources.locations import name_of
from tclose.words import plain

DEVICES = ("dev", "proc")  # where standard input and pipes have names such as /dev/fd/63, which say nothing


def tool() -> str:
    """Return the name and version of what makes releases."""
    return f"tclose {version('tclose')}"


def created() -> str:
    """Return the time in UTC, to the second; SOURCE_DATE_EPOCH replaces it, so that a run can be repeated exactly."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        moment = datetime.fromtimestamp(int(given), UTC) if given else datetime.now(UTC)
    except (ValueError, OverflowError, OSError):
        raise InputError("SOURCE_DATE_EPOCH must be a whole number of seconds since 1970") from None
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def file_name(path: str | Path) -> str:
    r"""Return a file's name without its path, control characters spelled out.

    >>> file_name("/home/ann/patients.csv"), file_name("C:\\data\\t.csv"), file_name("a\x1b.csv")
    ('patients.csv', 't.csv', 'a\\x1b.csv')
    """
    return plain(re.split(r"[/\\]", str(path))[-1])


def check_names(paths: Sequence[Path]) -> None:
    """Refuse names of several tables that their certificate could not repeat: readers find the tables by them."""
    if len(paths) > 1 and any(set(path.name) & set("\\:") or plain(path.name) != path.name for path in paths):
        raise InputError(
            "several tables are found by their names: name the release without : and \\ and in plain letters"
        )


def table_name(table: Any) -> str | None:
    """Return the name of a table that is given as a file or in a database; a frame and standard input have none.

    >>> table_name("data/patients.csv"), table_name("data/parts/"), table_name("-"), table_name("/dev/stdin")
    ('patients.csv', 'parts', None, None)
    """
    if not isinstance(table, str | Path) or str(table) == "-":
        return None
    table = name_of(table)
    device = len(parts := Path(table).parts) > 1 and parts[0] == "/" and parts[1] in DEVICES
    return None if device else file_name(Path(table)) or None


def check_clock() -> None:
    """Refuse a SOURCE_DATE_EPOCH that is no time, on which numpy would fail, too; an empty one counts as none."""
    if not os.environ.get("SOURCE_DATE_EPOCH", "0"):
        del os.environ["SOURCE_DATE_EPOCH"]
    elif "SOURCE_DATE_EPOCH" in os.environ:
        created()
