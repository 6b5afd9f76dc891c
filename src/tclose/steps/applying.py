"""Let new rows join a release, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tclose.errors import InputError
from tclose.partition.options import checked
from tclose.partition.registry import DEFAULT_METHOD
from tclose.policy import SourceSettings
from tclose.release.certificate import Certificate
from tclose.release.claims import Batch
from tclose.release.continuing import check_continuable, prepared, read_release
from tclose.release.files import pending, publish
from tclose.release.formats import ARROW, PARQUET, format_of, write_table
from tclose.release.output import Output
from tclose.release.record import Record, load_record
from tclose.release.targets import check_release_targets, sources_of
from tclose.steps.given import as_frame
from tclose.table import to_polars
from tclose.types import Ints, Progress, Repeating, silent, stretch

if TYPE_CHECKING:
    from tclose.engine.applying import Joined
    from tclose.engine.new_rows import Released

TYPED = (*PARQUET.suffixes, *ARROW.suffixes)  # endings of files that need no [source]
PUT_TOGETHER = 0.9  # share of the work after which the new release is put together


@dataclass(frozen=True)
class Applied:
    """What became of a batch of new rows; how many wait is for the steward alone."""

    given: int
    joined: int
    formed: int
    classes_formed: int
    waiting: int
    out: Path | None  # None where no row could join, so that nothing was published
    certificate: Certificate | None = None
    waiting_file: Path | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        certified = {} if self.certificate is None else self.certificate.content | {"digest": self.certificate.digest}
        figures = {name: getattr(self, name) for name in ("given", "joined", "formed", "classes_formed", "waiting")}
        return {"release": None if self.out is None else str(self.out), "new_rows": figures, **certified}


def apply(
    record: str | Path,
    table: Any,
    *,
    out: str | Path,
    release: str | Path | None = None,
    certificate: str | Path | None = None,
    new_record: str | Path | None = None,
    waiting: str | Path | None = None,
    seed: int | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> Applied:
    """Add the rows of a table to the release that a record is of; the whole new release goes to `out`.

    Old rows keep their cells. New rows join classes whose cells cover them, or form new classes, in groups that hold
    what the policy asks for by themselves. The others wait; `waiting` is a file for them, readable by you alone. The
    release lies beside its record under the name that the record has, or is given as `release`. If no row can join,
    nothing is published. `new_record` takes the next batch.
    """
    told, known = Repeating(progress), load_record(record)
    check_continuable(known)
    before = Path(record).parent / str(known.files[0].name) if release is None else Path(release)
    output = Output(
        out=out, certificate=certificate, record=new_record, guard_formulas=known.guard_formulas, force=force
    )
    sources = [*sources_of(table), Path(record), before]
    extra = (certificate, new_record, waiting)
    check_release_targets(Path(out), extra, sources, method=known.method, policy=known.policy, force=force)
    if waiting is not None:
        _check_waiting(Path(waiting), known)
    told(0.0, "reading")
    from tclose.engine.new_rows import Released

    released = Released.of(read_release(known, before), known)
    rows = to_polars(as_frame(table, replace(known.policy, source=_source(table, known))))
    added = _joined(released, rows, known, seed, told)
    certified = None
    with _kept(rows, added.waiting, None if waiting is None else Path(waiting), force=force):
        if added.cells.height:
            certified = _published(known, released, added, output, told)
    return Applied(
        given=added.given,
        joined=added.joined,
        formed=added.formed,
        classes_formed=added.classes_formed,
        waiting=len(added.waiting),
        out=None if certified is None else Path(out),
        certificate=certified,
        waiting_file=None if waiting is None or not len(added.waiting) else Path(waiting),
    )


def _source(table: Any, record: Record) -> SourceSettings | None:
    """Return how the new rows are written: as the first table was, unless their file has types of its own."""
    typed = isinstance(table, str | Path) and Path(table).suffix.lower() in TYPED
    return None if typed else record.source


def _check_waiting(path: Path, record: Record) -> None:
    """Refuse a file of waiting rows that could not be read as the next batch."""
    format_of(path)
    if record.source is not None and path.suffix.lower() not in TYPED:
        raise InputError(
            f"rows that wait are written as tclose spells cells, not as [source] of the policy says: name a file of "
            f"{' or '.join(TYPED[:2])}, which can be the next batch"
        )


def _joined(released: Released, rows: Any, record: Record, seed: int | None, told: Repeating) -> Joined:
    """Choose the rows that can be published now."""
    from tclose.engine.applying import Joining
    from tclose.engine.new_rows import NewRows

    options = record.options if record.method == DEFAULT_METHOD else {}
    part = Repeating(stretch(told, 0.05, PUT_TOGETHER))
    return Joining(released, NewRows.of(rows, released), seed, checked(DEFAULT_METHOD, options), part).run()


def _published(
    record: Record,
    released: Released,
    added: Joined,
    output: Output,
    told: Repeating,
) -> Certificate:
    """Write the new release, once it and its differences from the earlier ones are confirmed."""
    from tclose.engine.applying import continued

    told(PUT_TOGETHER, "writing")
    frame, batches = continued(released, added)
    batch = Batch(int(batches.max()), added.cells.height, added.joined, added.formed, added.classes_formed)
    release = prepared(record, record.seed, version("tclose"), released.frame, frame, batches, batch)
    return release.write(output, progress=stretch(told, PUT_TOGETHER, 1.0)).certificate


@contextmanager
def _kept(rows: Any, waiting: Ints, path: Path | None, *, force: bool) -> Iterator[None]:
    """Write the rows that wait, as they came, for the steward's eyes only; they get their name if the work succeeds."""
    if path is None or not len(waiting):
        yield
        return
    with pending({"waiting": path}, private={"waiting"}, force=force) as files:
        files["waiting"].write(partial(_write, rows[waiting], path))
        yield
        publish(files.values())


def _write(rows: Any, path: Path, file: BinaryIO) -> None:
    write_table(rows, format_of(path), file)
