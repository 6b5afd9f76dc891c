"""Which files a release reads and writes: what cannot be written is refused before the work begins."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tclose.errors import InputError
from tclose.policy import Policy
from tclose.release.files import check_targets
from tclose.release.folders import check_folder
from tclose.release.formats import format_of
from tclose.release.layouts import possible_marks, sibling
from tclose.release.naming import check_names
from tclose.table.sources.locations import files_of

STANDARD_INPUT = Path("/dev/stdin")


def check_release_targets(
    out: Path,
    others: Sequence[str | Path | None],
    sources: Sequence[Path],
    *,
    method: str,
    policy: Policy,
    force: bool,
    part_rows: int | None = None,
) -> None:
    """Refuse files that could not be written, or that would overwrite what is read or, without `force`, any file.

    A release of several tables has files whose names start like `out`; how many there may be depends on the policy.
    With `part_rows`, `out` is a folder.
    """
    marks, more = possible_marks(method, policy), [Path(path) for path in others if path]
    if part_rows is not None:
        check_parts(part_rows, len(marks))
        check_folder(out)
        check_targets(more, sources, force=force)
        return
    hidden = {*policy.identifiers, policy.person}
    format_of(out).check([name for name, _ in policy.columns() if name not in hidden])
    releases = [sibling(out, mark) for mark in marks]
    check_names(releases)
    check_targets([*releases, *more], sources, force=force)


def check_parts(part_rows: int, tables: int) -> None:
    """Refuse parts that no release can be written in."""
    if part_rows < 1:
        raise InputError("a part must have at least one row")
    if tables > 1:
        raise InputError("only a release of one table can be written in parts")


def sources_of(*given: Any) -> list[Path]:
    """Return the files among tables and policies that are given, and those that policies name."""
    paths = [path for path in given if isinstance(path, str | Path)]
    named = (file for policy in given if isinstance(policy, Policy) for file in policy.files)
    files = (file for path in paths for file in ([STANDARD_INPUT] if str(path) == "-" else files_of(path)))
    return [*files, *named]
