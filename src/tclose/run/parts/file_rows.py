"""Rows of files that are read twice in batches: nothing of the table is ever held as a whole.

Rows of a part, and of a bucket, wait in files without a name beside the release.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import IO, Any, BinaryIO

import polars as pl

from tclose.errors import InputError
from tclose.messages import say
from tclose.partition.parts import random_of_rows
from tclose.policy import Policy
from tclose.privacy.class_counts import JudgedCounts, counted_by_person, judge_counted
from tclose.recode.frame import GUARDS
from tclose.release.files import Pending, pending, sha256, write_flushed
from tclose.release.output import FinishedFile, Output
from tclose.run.disk import counted_table
from tclose.run.parts.buckets import FinishedBucket, SplitPart, by_bucket
from tclose.run.parts.files import ReleaseFiles
from tclose.run.parts.plan import LearnedCounts, PartPlan, PieceCounts, TableLearner, whole_of_part
from tclose.run.parts.rows import PartedRows, PartedTables, PartSplitter, effort_of, options_of
from tclose.run.request import Recipe, Request, drawn, given_seed, lowered
from tclose.run.rows import FrameRows, Shares
from tclose.table import CountedTable
from tclose.table.disk_files import NoSpace, SpillFile, TableFile, TableOnDisk, changed, table_on_disk
from tclose.table.domains import Spellings, columns_read, counted_rows, grouping_of, without_categories
from tclose.table.groups import BUDGET, GroupedRows
from tclose.types import Progress, Repeating, stretch

# The folder beside a release in which its parts lie while it is made, so that a run that was killed can be continued.
# It is readable by its owner only, and goes when the run ends, also after a signal. What is left by a run that was
# killed are the parts that were split already. Each is named by a fingerprint of all that it was made from, its rows
# and what is known of the whole table, so that it is taken again for the very same rows of the very same table only.


fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None

STATE = "run.json"
LONGEST = 200  # characters of a name that another name can contain
ENDINGS = ("classes", "rows")


class WorkFolder(Pending):
    """The parts of a release that is being made."""

    def __init__(self, target: Path) -> None:
        super().__init__(target, private=True)
        called = target.name if len(target.name) <= LONGEST else hashlib.sha256(target.name.encode()).hexdigest()
        self.path = target.parent / f".{called}.tclose-work"
        self._ours = False  # or else an earlier run's, which stays as it is
        self._lock: IO[bytes] | None = None

    def begin(self, asked: Mapping[str, Any], seed: int | None, *, resume: bool, draw: Callable[[], int]) -> int:
        """Make the folder, or take over the one that a run of the same request left; return the seed of the run."""
        exists = os.path.lexists(self.path)
        if exists and not resume:
            raise InputError(
                "an earlier run left {path}: continue it with --resume, or remove this folder and start anew",
                path=self.path,
            )
        if resume and not exists:
            raise InputError("there is no run of {target} to continue: leave --resume out", target=self.target)
        fingerprint = hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()
        if exists:
            return self._taken_over(fingerprint, seed)
        self.path.mkdir(mode=0o700)
        self._ours = True
        chosen = draw() if seed is None else seed
        self._write(STATE, json.dumps({"asked": fingerprint, "seed": chosen}).encode())
        self._locked()
        return chosen

    def _locked(self) -> None:
        """Keep other runs away for as long as this one lasts."""
        self._lock = (self.path / STATE).open("rb")
        if fcntl is None:
            return
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError("another run is still at work in {path}: wait for it, or end it", path=self.path) from None

    def _taken_over(self, fingerprint: str, seed: int | None) -> int:
        """Return the seed of the run that is continued; refuse one that was asked for something else."""
        try:
            state = json.loads((self.path / STATE).read_bytes())
            same, found = state["asked"] == fingerprint, int(state["seed"])
        except (OSError, ValueError, KeyError, TypeError):
            found = -1
        if found < 0 or not _private(self.path):
            raise InputError("{path} cannot be continued: remove this folder and start anew", path=self.path)
        self._locked()
        if not same or seed not in (None, found):
            raise InputError(
                "{path} was left by a run with another table, policy, option or version: remove this folder and "
                "start anew",
                path=self.path,
            )
        self._ours = True
        for left in self.path.iterdir():
            if not left.name.endswith(ENDINGS) and left.name != STATE:
                _remove(left)
        return found

    def split(self, rows: pl.DataFrame, by: bytes, make: Callable[[], SplitPart]) -> SplitPart:
        """Return the part that was made from these rows before, or make it and keep it.

        `by` is a fingerprint of everything else that the part depends on.
        """
        name = f"part-{_part_fingerprint(rows, by)}"
        with suppress(OSError, pl.exceptions.PolarsError):
            return SplitPart(*(pl.read_ipc(self.path / f"{name}.{end}") for end in ENDINGS))
        part = make()
        for end, frame in zip(reversed(ENDINGS), (part.rows, part.classes), strict=True):  # the last one completes it
            self._write(f"{name}.{end}", frame)
        return part

    def _write(self, name: str, content: bytes | pl.DataFrame) -> None:
        """Write a file that appears whole or not at all."""

        def fill(file: BinaryIO) -> None:
            if isinstance(content, bytes):
                file.write(content)
            else:
                content.write_ipc(file)

        unfinished = self.path / f"{name}.part"
        try:
            write_flushed(unfinished, fill)
            unfinished.rename(self.path / name)
        except (OSError, pl.exceptions.PolarsError):
            raise NoSpace("the parts of the table cannot be written beside the release: make room there") from None

    def discard(self) -> None:
        """Remove the folder, unless it is that of an earlier run."""
        if self._ours:
            _remove(self.path)
        if self._lock is not None:
            self._lock.close()


def _private(folder: Path) -> bool:
    """Tell whether nobody else could have written to a folder; Windows does not say."""
    state = folder.lstat()
    return os.name == "nt" or (not state.st_mode & 0o077 and state.st_uid == os.getuid())


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _part_fingerprint(rows: pl.DataFrame, by: bytes) -> str:
    digest = hashlib.sha256(by)
    rows.write_ipc_stream(_Sink(digest.update))  # type: ignore[call-overload]
    return digest.hexdigest()


class _Sink:
    """A file that keeps nothing."""

    def __init__(self, take: Callable[[bytes], object]) -> None:
        self._take = take

    def write(self, data: bytes) -> int:
        """Take some bytes."""
        self._take(data)
        return len(data)


# The rows of files


READ = 0.9  # share of the judging after which the finished files are read


@contextmanager
def file_rows(request: Request, told: Repeating, source: TableOnDisk | None = None) -> Iterator[tuple[FileRows, int]]:
    """Hold the rows of a file, and the folder of the work beside the release; yield them with the seed of the work."""
    source = table_on_disk(request.table, request.asked.source) if source is None else source
    given, work = None if request.seed is None else given_seed(request.seed), WorkFolder(Path(request.out))
    with pending({"work": work}):
        seed = work.begin(_same_run(source, request), given, resume=request.resume, draw=drawn)
        with closing(FileRows(source, work, told)) as rows:
            yield rows, seed


class FileRows(PartedRows):
    """The rows of files."""

    engine = "disk"
    grows = True
    shares = Shares(read=0.0, split=0.85)

    def __init__(self, source: TableOnDisk, work: WorkFolder, told: Repeating) -> None:
        super().__init__(told.beat)
        self.source, self.work = source, work
        self.states = source.states()  # the table is read twice
        self._pieces, self._buckets, self._persons = (SpillFile(work.path) for _ in range(3))

    def close(self) -> None:
        """Give back the space on disk."""
        for spilled in (self._pieces, self._buckets, self._persons):
            spilled.close()

    def whole(self, request: Request) -> FrameRows:
        """Hold all rows in memory."""
        return FrameRows.read(request.table, lowered(request))

    def look(self, recipe: Recipe, progress: Progress) -> LearnedCounts:
        """Look at every row once."""
        learning: TableLearner | None = None

        def wanted(columns: pl.DataFrame) -> Sequence[str]:
            nonlocal learning
            learning = self.learning(columns, recipe)
            return learning.wanted

        for rows in self._rows(wanted, stretch(progress, 0.0, 0.07)):
            assert learning is not None
            learning.add(rows)
        if learning is None:
            raise InputError("the table has a header but no rows")
        with closing(learning):
            learning.warn()
            return learning.finished()

    def _rows(self, wanted: Any, progress: Progress) -> Iterator[pl.DataFrame]:
        """Yield all rows in batches, of the columns that are read."""
        names: Sequence[str] = ()

        def noted(columns: pl.DataFrame) -> Sequence[str]:
            nonlocal names
            names = wanted(columns)
            return names

        with closing(self.source.rows(noted, progress)) as batches:
            for batch in batches:
                yield pl.DataFrame(dict(zip(names, batch.cells.iter_columns(), strict=True)))

    def cut(self, learned: LearnedCounts, plan: PartPlan, progress: Progress) -> list[list[int]]:
        """Put every row into its piece; return the pieces of each part."""
        counts, first, table = PieceCounts(plan, learned.table), 0, learned.table
        spellings, reading = Spellings(table.policy), stretch(progress, 0.0, 1.0, "cutting the table", only=True)
        for batch in self._rows(partial(_columns_to_read, learned), reading):
            rows = table.publishable(spellings.unified(without_categories(batch)))
            if not rows.height:
                continue
            coded = table.coded(rows)
            own = plan.pieces_of(coded, random_of_rows(plan.seed, first, len(coded)))
            counts.add(coded, own)
            first += rows.height
            for piece, found in _by_piece(rows, own):
                self._pieces.append(piece, found)
        # parts are judged against what the first reading learned: the second must have read the same rows
        if first != table.rows or self.source.states() != self.states:
            raise InputError(changed("the table"))
        return counts.parts()

    def deal(self, splitting: PartSplitter, progress: Progress) -> None:
        """Split every part, and put what it publishes into buckets; a part that an earlier run split is taken over."""
        done, total, parts = 0, splitting.learned.rows, splitting.parts
        for number, own in enumerate(parts):
            rows = pl.concat([frame for piece in own for frame in self._pieces.frames(piece)])
            words = say("splitting part {number:,} of {count:,}", number=number + 1, count=len(parts))
            part = stretch(progress, done / total, (done + rows.height) / total, words, only=True)
            # covers all that the classes of a part depend on: a part that is taken over has the same bytes
            by = splitting.learned.fingerprint + _split_fingerprint(splitting, number)
            made = self.work.split(rows, by, partial(splitting.split, number, rows, part))
            for bucket, found in by_bucket(made, splitting.columns, splitting.buckets):
                self._buckets.append(("classes", bucket), found.classes)
                self._buckets.append(("rows", bucket), found.rows)
            done += rows.height
        self._pieces.close()

    def targets(self, output: Output) -> ReleaseFiles:
        """Name the files, which lie in the folder of the work until they get their names."""
        files = ReleaseFiles.of(Path(output.out), output.part_rows, force=output.force)
        files.lie_in(self.work.path)
        return files

    def finish(
        self, tables: PartedTables, output: Output, files: Mapping[str, Pending], progress: Progress
    ) -> list[FinishedFile]:
        """Write the buckets, one after the other."""
        written = ReleaseFiles.into(files["release"])
        written.expect(tables.buckets)
        for bucket in self.buckets(tables, progress):
            written.write(GUARDS[output.guard].guarded(bucket.frame) if output.guard else bucket.frame)
            self._keep_persons(bucket)
        written.finish(self.beat)
        return written.finished()

    def buckets(self, tables: PartedTables, progress: Progress) -> Iterator[FinishedBucket]:
        """Finish the buckets, one after the other."""
        for bucket in range(tables.buckets):
            progress(bucket / tables.buckets, "writing")
            frames = (self._buckets.frames((what, bucket)) for what in ("classes", "rows"))
            if parts := [SplitPart(*pair) for pair in zip(*frames, strict=True)]:
                finished = tables.finishing.finished(parts)
                tables.totals.add(finished)
                yield finished

    def _keep_persons(self, bucket: FinishedBucket) -> None:
        if bucket.persons is not None:
            self._persons.append("persons", bucket.persons.to_frame())

    def judged(self, finished: Sequence[FinishedFile], policy: Policy, guard: int, progress: Progress) -> JudgedCounts:
        """Judge the finished files from their own bytes."""
        parts = [TableFile(file.path.name, file.path.stat().st_size, partial(_itself, file.path)) for file in finished]
        table = TableOnDisk(parts, len(parts) > 1, guard=GUARDS.get(guard))
        reading = stretch(progress, 0.0, READ, "judging", only=True)
        judging = stretch(progress, READ, 1.0)
        if policy.person is not None:
            return self._judged_with_persons(table, policy, reading, judging)
        with counted_table(table, policy, progress=reading) as found:
            return judge_counted(found, policy, judging)

    def _judged_with_persons(
        self, table: TableOnDisk, policy: Policy, reading: Progress, judging: Progress
    ) -> JudgedCounts:
        """Judge the files together with whom their rows belong to, which they do not say."""
        grouping = grouping_of(policy, counted_by_person(policy))
        names: list[str] = []

        def wanted(columns: pl.DataFrame) -> Sequence[str]:
            names[:] = columns.columns
            return names

        with closing(GroupedRows(grouping, budget=BUDGET, beat=self.beat)) as groups:
            owners = _Slices(self._persons.each_frame("persons"))
            with closing(table.rows(wanted, reading)) as batches:
                for batch in batches:
                    cells = dict(zip(names, batch.cells.iter_columns(), strict=True))
                    rows = pl.DataFrame({**cells, str(policy.person): owners.take(batch.cells.height)})
                    groups.add(counted_rows(rows, grouping), rows.height)
            return judge_counted(CountedTable.of(groups, policy), policy, judging)


class _Slices:
    """Persons one after the other, in slices of any length."""

    def __init__(self, frames: Iterator[pl.DataFrame]) -> None:
        self._frames, self._rest = frames, pl.DataFrame()

    def take(self, rows: int) -> pl.Series:
        """Return the next persons."""
        while self._rest.height < rows:
            frame = next(self._frames)
            self._rest = pl.concat([self._rest, frame]) if self._rest.width else frame
        taken, self._rest = self._rest.head(rows), self._rest.slice(rows)
        return taken.to_series()


def _columns_to_read(learned: LearnedCounts, columns: pl.DataFrame) -> Sequence[str]:
    return columns_read(learned.table.policy, columns.columns)


def _by_piece(rows: pl.DataFrame, pieces: Any) -> Iterator[tuple[int, pl.DataFrame]]:
    """Yield the rows of each piece."""
    names = list(map(str, range(rows.width)))  # polars takes names such as ^x$ for patterns
    renamed = pl.DataFrame(dict(zip(names, rows.iter_columns(), strict=True)))
    for (piece,), found in (
        renamed.with_columns(pl.Series("piece", pieces)).partition_by("piece", as_dict=True, include_key=False).items()
    ):
        yield int(piece), pl.DataFrame(dict(zip(rows.columns, found.iter_columns(), strict=True)))


def _same_run(source: TableOnDisk, request: Request) -> dict[str, Any]:
    """Return everything that a run which is continued must have in common with the first one."""
    policy = request.asked
    return {
        "files": [(part.name, part.size, part.state()) for part in source.parts],
        "policy": policy.to_dict(),
        "files of the policy": [sha256(path.read_bytes()) for path in policy.files if path.is_file()],
        "method": [request.method, dict(request.options or {})],
        "room": str(request.room),
        "part_rows": request.part_rows,
        "version": version("tclose"),
    }


def _split_fingerprint(splitting: PartSplitter, number: int) -> bytes:
    """Return a fingerprint of how a part is split, apart from its rows and what is known of the whole table."""
    recipe, whole = splitting.recipe, whole_of_part(splitting.plan, splitting.parts[number])
    asked = [recipe.seed, number, recipe.method, options_of(recipe), effort_of(recipe), whole, "ends, ranges, swaps"]
    return json.dumps(asked, default=str).encode()


@contextmanager
def _itself(path: Path) -> Iterator[Path]:
    yield path
