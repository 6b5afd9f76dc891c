"""Which engine judges or publishes a table: `memory`, or `disk` for tables that are too large for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tclose.errors import InputError
from tclose.policy import Policy
from tclose.policy.source import PLAIN, SourceSettings
from tclose.table.batches import source_of, table_on_disk
from tclose.table.sources.columnar import PARQUET
from tclose.table.sources.csv import CSV

if TYPE_CHECKING:
    from tclose.engine.disk_attack import Asked

ONLY_FILES = "the engine disk reads files, and a frame is in memory already: use the engine memory"
MANY_ROWS = 1_000_000  # from which on `auto` publishes a table out of core
LARGE = {PARQUET.name: 16 << 20, CSV.name: 128 << 20}  # bytes from which on `auto` chooses `disk` (decision 096)


def on_disk(engine: str, table: Any, policy: Policy | None = None) -> bool:
    """Tell whether a table is judged out of core; a frame never is, and nor is a policy that needs its rows."""
    if engine == "memory":
        return False
    is_path = isinstance(table, str | Path)
    if engine == "disk":
        if not is_path:
            raise InputError(ONLY_FILES)
        return True
    if not is_path or not _is_large(table, None if policy is None else policy.source):
        return False
    from tclose.engine.disk import refusal

    return policy is None or refusal(policy) is None


def attacked_on_disk(engine: str, tables: Sequence[Any], policy: Policy, asked: Asked) -> bool:
    """Tell whether a release is attacked out of core: where `auto` may choose, if one of the files is large.

    The first of the tables is the original.
    """
    if engine == "memory":
        return False
    from tclose.engine.disk_attack import refusal as attack_refusal

    are_paths = all(isinstance(table, str | Path) for table in tables)
    if engine == "disk":
        if not are_paths:
            raise InputError(ONLY_FILES)
        if (why := attack_refusal(policy, asked)) is not None:
            raise InputError(why)
        return True
    if not are_paths or attack_refusal(policy, asked) is not None:
        return False
    original, *releases = tables
    given = [(original, policy.source), *((release, None) for release in releases)]
    shares = [_share_of_large(*each) for each in given]
    large = None not in shares and any(share >= 1 for share in shares if share is not None)
    return large and all(_in_batches(*each) for each in given)


def published_on_disk(engine: str, table: Any, policy: Policy, method: str, options: Mapping[str, Any]) -> bool:
    """Tell whether a table is published out of core: where `auto` may choose, by the number of its rows alone.

    So the same seed gives the same release on any machine.
    """
    if engine == "disk":
        if not isinstance(table, str | Path):
            raise InputError(ONLY_FILES)
        return True
    from tclose.engine.in_parts.refusing import refusal as in_parts_refusal

    is_path = isinstance(table, str | Path) and str(table) != "-"
    if engine != "auto" or not is_path or in_parts_refusal(policy, method, options) is not None:
        return False
    if _is_file_below(table, MANY_ROWS):  # a row has a byte at least
        return False
    try:
        source = table_on_disk(table, policy.source)
        if source.size < MANY_ROWS or source.count_rows() < MANY_ROWS:
            return False
        source.check()
    except InputError:  # the engine memory can read it, or says why not
        return False
    return True


def verified_on_disk(engine: str, release: str | Path, certificate: str | Path) -> bool:
    """Tell whether a release is verified out of core; several tables never are."""
    if engine != "auto":
        return engine == "disk"
    if not _is_large(release, PLAIN):
        return False
    from tclose.release.certificate import load
    from tclose.release.layouts.one_table import ENTRY

    promised = load(certificate).certificate
    text = promised.release_format == "text"
    return promised.layout == ENTRY.name and not promised.guard and text and promised.pseudonyms is None


def _is_large(path: str | Path, said: SourceSettings | None) -> bool:
    if _is_file_below(path, min(LARGE.values())):
        return False
    share = _share_of_large(path, said)
    return share is not None and share >= 1 and _in_batches(path, said)


def _is_file_below(path: str | Path, size: int) -> bool:
    """Tell whether a table is a file below a size: how it is written need not be looked at to know it is not large."""
    try:
        return Path(path).is_file() and Path(path).stat().st_size < size
    except (OSError, ValueError):  # it cannot be read, which is said later
        return False


def _in_batches(path: str | Path, said: SourceSettings | None) -> bool:
    """Tell whether a table can be read in batches; the engine memory can read all others, or says why not."""
    try:
        table_on_disk(path, said).check()
    except InputError:
        return False
    return True


def _share_of_large(path: str | Path, said: SourceSettings | None = None) -> float | None:
    """Return the size of a table as a share of one that is large; None where it is not read out of core."""
    try:
        table = table_on_disk(path, said)
        return table.size / LARGE[PARQUET.name if table.folder else source_of(Path(path))]
    except InputError:  # the engine memory can read it, or says why not
        return None
