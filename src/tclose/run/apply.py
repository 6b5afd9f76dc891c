"""Let new rows join a release, a batch at a time: the only list of the settings of `apply`, and the command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tclose.errors import InputError
from tclose.partition.options import checked_options
from tclose.partition.registry import DEFAULT_METHOD
from tclose.release.certificate import Certificate
from tclose.release.claims import BatchClaim
from tclose.release.continuation import check_continuable, continued_release, read_release
from tclose.release.files import pending
from tclose.release.files import put_in_place as name_files
from tclose.release.formats import ARROW, ENDINGS_IN_WORDS, PARQUET, format_of, write_table
from tclose.release.output import Output, check_release_targets, sources_of
from tclose.release.record import Record, load_record
from tclose.run.knob import SEED, Knob, file, knob
from tclose.run.study import as_frame
from tclose.table import to_polars
from tclose.types import Ints, Progress, Repeating, silent, stretch

if TYPE_CHECKING:
    from tclose.run.new_rows import JoinableRelease, JoinedRows

TYPED = (*PARQUET.suffixes, *ARROW.suffixes)  # endings of files that need no [source]


@dataclass(frozen=True, kw_only=True, eq=False)
class ApplyRequest:
    """New rows, the release that they are to join, and what is written. Fields with a `Knob` are options of `apply`."""

    record: str | Path
    table: Any = field(repr=False)  # a frame would show its cells
    out: str | Path = knob(Knob(f"The new release, with all rows: {ENDINGS_IN_WORDS}.", "file"))
    release: str | Path | None = file("The release that the record is of, if it does not lie beside it.")
    certificate: str | Path | None = file("Write the certificate here; it names the certificate before it.")
    new_record: str | Path | None = file("Write the record here that takes the next batch.", flag="--record")
    waiting: str | Path | None = file("Write the rows that have to wait here, readable by you alone.")
    seed: int | None = knob(Knob(SEED, "count", least=0), None, shown=False)
    force: bool = False

    @property
    def waiting_file(self) -> Path | None:
        """Where the rows that wait are written, if anywhere."""
        return None if self.waiting is None else Path(self.waiting)

    @property
    def reads_typed_file(self) -> bool:
        """Whether the new rows are in a file whose columns have types, so that it needs no [source]."""
        return isinstance(self.table, str | Path) and Path(self.table).suffix.lower() in TYPED

    def release_before(self, record: Record) -> Path:
        """Return where the release lies that the record is of."""
        if self.release is None:
            return Path(self.record).parent / str(record.files[0].name)
        return Path(self.release)

    def output(self, record: Record) -> Output:
        """Return what is written, and where; text is guarded as in the release before."""
        return Output(
            out=self.out,
            certificate=self.certificate,
            record=self.new_record,
            guard_formulas=record.guard_formulas,
            force=self.force,
        )

    def checked(self) -> Record:
        """Read the record; refuse what cannot be continued, and files that could not be written or that are read."""
        record = load_record(self.record)
        check_continuable(record)
        sources = [*sources_of(self.table), Path(self.record), self.release_before(record)]
        check_release_targets(
            Path(self.out),
            (self.certificate, self.new_record, self.waiting),
            sources,
            method=record.method,
            policy=record.policy,
            force=self.force,
        )
        if self.waiting_file is not None:
            _check_waiting(self.waiting_file, record)
        return record


def _check_waiting(path: Path, record: Record) -> None:
    """Refuse a file of waiting rows that could not be read as the next batch."""
    format_of(path)
    if record.source is not None and path.suffix.lower() not in TYPED:
        raise InputError(
            "rows that wait are written as tclose spells cells, not as [source] of the policy says: name a file "
            "of {typed}, which can be the next batch",
            typed=" or ".join(TYPED[:2]),
        )


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


def apply(record: str | Path, table: Any, *, progress: Progress = silent, **asked: Any) -> Applied:
    """Add the rows of a table to the release that a record is of; what may be `asked` are fields of `ApplyRequest`.

    The whole new release goes to `out`. Old rows keep their cells. New rows join classes whose cells cover them, or
    form new classes, in groups that hold what the policy asks for by themselves. The others wait; `waiting` is a file
    for them, readable by you alone. The release lies beside its record under the name that the record has, or is given
    as `release`. If no row can join, nothing is published. `new_record` takes the next batch.
    """
    request, told = ApplyRequest(record=record, table=table, **asked), Repeating(progress)
    known = request.checked()
    told(0.0, "reading")
    from tclose.run.new_rows import JoinableRelease

    released = JoinableRelease.of(read_release(known, request.release_before(known)), known)
    source = None if request.reads_typed_file else known.source
    rows = to_polars(as_frame(table, replace(known.policy, source=source)))
    added = _joined(released, rows, known, request.seed, told)
    certified = None
    # the file of the waiting rows gets its name after the release: if that fails, neither is left
    with _kept(rows, added.waiting, request.waiting_file, force=request.force):
        if added.cells.height:
            certified = _published(known, released, added, request.output(known), told)
    return Applied(
        given=added.given,
        joined=added.joined,
        formed=added.formed,
        classes_formed=added.classes_formed,
        waiting=len(added.waiting),
        out=None if certified is None else Path(request.out),
        certificate=certified,
        waiting_file=request.waiting_file if len(added.waiting) else None,
    )


def _joined(released: JoinableRelease, rows: Any, record: Record, seed: int | None, told: Repeating) -> JoinedRows:
    """Choose the rows that can be published now."""
    from tclose.run.new_rows import BatchJoin, NewRows

    options = record.options if record.method == DEFAULT_METHOD else {}
    part = Repeating(stretch(told, 0.05, PUT_TOGETHER))
    return BatchJoin(released, NewRows.of(rows, released), seed, checked_options(DEFAULT_METHOD, options), part).run()


def _published(
    record: Record,
    released: JoinableRelease,
    added: JoinedRows,
    output: Output,
    told: Repeating,
) -> Certificate:
    """Write the new release, once it and its differences from the earlier ones are confirmed."""
    from tclose.run.new_rows import continued

    told(PUT_TOGETHER, "writing")
    frame, batches = continued(released, added)
    batch = BatchClaim(int(batches.max()), added.cells.height, added.joined, added.formed, added.classes_formed)
    release = continued_release(record, record.seed, version("tclose"), released.frame, frame, batches, batch)
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
        name_files(files.values())


def _write(rows: Any, path: Path, file: BinaryIO) -> None:
    write_table(rows, format_of(path), file)
