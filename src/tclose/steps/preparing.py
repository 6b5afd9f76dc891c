"""What comes before: a draft of a policy, the methods and their options, the state of the installation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tclose.errors import InputError
from tclose.partition import METHODS, Method, method_and_options
from tclose.partition.options import from_texts
from tclose.policy import Policy, PolicyLike, SourceSettings
from tclose.policy.draft import Draft
from tclose.release.files import check_targets, pending, publish
from tclose.release.targets import sources_of
from tclose.steps.choosing_t import with_shares
from tclose.steps.given import as_drafted, as_release
from tclose.table import to_polars
from tclose.table.looks import ReleaseLook, TableLook, drafted, look_at, look_into
from tclose.types import Progress, silent

if TYPE_CHECKING:
    from tclose.engine.doctor import Health


def init(table: Any, *, out: str | Path | None = None, force: bool = False) -> Draft:
    """Draft a policy for a table: roles are guessed and explained, every t is left open.

    Without `force`, `out` must be a new file.
    """
    if out is not None:
        check_targets([Path(out)], sources_of(table), force=force)
    given = as_drafted(table)
    _, draft = drafted(to_polars(given.frame), given.source, given.questions, given.described)
    draft = with_shares(to_polars(given.frame), draft)
    if out is not None:
        _write(Path(out), draft.policy, force=force)
    return draft


def look(
    table: Any, *, source: SourceSettings | None = None, detect: bool = False, progress: Progress = silent
) -> TableLook:
    """Show a table to its steward: the first rows as they are, and what each column holds and may be.

    `source` says how the file is written; without it, that is detected. With `detect`, it may say a part of it.
    """
    progress(0.0, "reading")
    given = as_drafted(table, source, detect=detect)
    progress(0.3, "looking at the columns")
    return look_at(to_polars(given.frame), given.source, given.questions, given.described)


def sheets_of(table: str | Path) -> list[str]:
    """Return the names of a workbook's sheets; none where the file is no workbook, or cannot be read."""
    from tclose.table.sources.door import sheet_names

    return sheet_names(Path(table))


@contextmanager
def files_kept() -> Iterator[None]:
    """Keep what is read, and the processes that read, for a process that works on one owner's files again and again."""
    from tclose.run.kept import kept
    from tclose.table.sources.door import kept_open

    with kept_open(), kept():
        yield


def forget_files() -> None:
    """Make room: drop what is kept of files."""
    from tclose.run.kept import forget

    forget()


def look_inside(release: Any, policy: PolicyLike, *, class_number: int = 1, progress: Progress = silent) -> ReleaseLook:
    """Show one class of a release of one table closely to its steward."""
    asked = Policy.of(policy)
    progress(0.0, "reading")
    given = as_release(release, asked)
    frame = to_polars(given[0] if isinstance(given, tuple) else given)
    attributes = [name for name in asked.sensitive if name in frame.columns]
    progress(0.5, "looking at the class")
    return look_into(frame, asked.visible, attributes, class_number)


def write_example(folder: str | Path, *, rows: int, seed: int) -> tuple[Path, Path]:
    """Write the invented hospital table and its policy into a folder; return their paths."""
    from tclose.examples.demo import write_example as write

    return write(Path(folder), rows=rows, seed=seed)


def _write(path: Path, text: str, *, force: bool) -> None:
    """Write a file whole or not at all."""
    try:
        with pending({"draft": path}, force=force) as files:
            files["draft"].write(lambda file: file.write(text.encode()))
            publish(files.values())
    except OSError as error:
        raise InputError(f"the draft cannot be written: {error.strerror or error}") from None


def methods() -> Mapping[str, Method]:
    """Return every method by its name, with what it does and what it can serve."""
    return METHODS


def method_options(method: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the options of a method or variant, given as texts; what it does not have is refused."""
    name, preset = method_and_options(method)
    return {**preset, **from_texts(name, texts)}


def doctor() -> Health:
    """Return what this installation has and what could be added."""
    from tclose.engine.doctor import examine

    return examine()


def warm(*, progress: Progress = silent) -> int:
    """Compile the kernels of all methods, of `bound` and of `attack` ahead; return how many were missing."""
    from tclose.engine.warm_bound import warm_bound
    from tclose.engine.warm_exchange import warm_exchange
    from tclose.partition.warm import warm as compile_all

    return compile_all(progress) + warm_bound(progress) + warm_exchange(progress)
