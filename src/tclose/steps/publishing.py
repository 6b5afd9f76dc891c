"""Publish a table, with its page; publish the built-in example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tclose.errors import Infeasible
from tclose.measure.attack import Attacks
from tclose.measure.lost import LostDetail
from tclose.partition import DEFAULT_METHOD
from tclose.policy import PolicyLike
from tclose.policy.derived import scaled
from tclose.policy.paths import check_name
from tclose.privacy.allowance import allowances
from tclose.release.beside import Beside
from tclose.release.files import check_new
from tclose.release.naming import created, table_name
from tclose.release.population import in_population, population_of
from tclose.release.publication import Demonstration, Publication
from tclose.release.record_notes import file_digest
from tclose.release.release import WrittenRelease
from tclose.release.scenes import Adversary
from tclose.run.request import Request
from tclose.steps.checking import check
from tclose.steps.given import as_labelled, check_population, check_report_libraries, warn_of_profile
from tclose.steps.judging import verify
from tclose.steps.large_tables import published_in_parts
from tclose.table import CodedTable
from tclose.types import Progress, Repeating, silent, stretch

if TYPE_CHECKING:
    from tclose.report.profiles import FilledProfile

READ = 0.1  # share of the work of `anonymize` after which the table is read
PAGE_SPLIT, PAGE_JUDGED, PAGE_COMPARED, PAGE_ATTACKED = 0.45, 0.5, 0.55, 0.75  # shares of the work where a page is made


def anonymize(table: Any, policy: PolicyLike, *, progress: Progress = silent, **asked: Any) -> Publication:
    """Publish a table so that it holds what a policy asks for; what may be `asked` are the fields of `Request`."""
    return publish(Request(table=table, policy=policy, **asked), progress)


def publish(request: Request, progress: Progress = silent) -> Publication:
    """Publish what is asked for; the files appear once the release is proved."""
    request, told = request.checked(), Repeating(progress)
    kept = request.record is not None
    endorsement = request.endorsement.begun(request.table, record=kept, created=created(), beat=told.beat)
    request = replace(request, endorsement=endorsement)
    return published_in_parts(request, told) or _in_memory(request, told)


def _in_memory(request: Request, told: Repeating) -> Publication:
    """Publish a table whose rows are all in memory."""
    from tclose.engine import bounding, memory
    from tclose.engine.estimate import losses_with_estimates

    if request.report is not None:
        check_report_libraries()
    assert request.method is not None
    method, settings = request.method, request.options or {}
    seconds = bounding.seconds_for(method, request.bound_seconds) if request.asks_bound else None
    asked, room = request.asked, Fraction(request.room)
    told(0.0, "reading")
    policy = scaled(asked, 1 - room) if room else asked
    frame, labels = as_labelled(request.table, policy)
    kind, original = memory.read_for_release(frame, policy)
    check_population(request.profile, original)
    search = None if seconds is None else bounding.BoundSearch.of(original, policy, seconds)
    split, judged = (0.9, 1.0) if request.report is None else (PAGE_SPLIT, PAGE_JUDGED)
    formed = split if search is None else (READ + split) / 2
    part = stretch(told, READ, formed)
    prepared = memory.prepare(
        original,
        policy,
        kind=kind,
        method=method,
        seed=request.seed,
        name=table_name(request.table),
        progress=part,
        options=settings,
    )
    prepared = replace(prepared, labels=labels)
    prepared = bounding.with_bound(prepared, search, stretch(told, formed, split))
    if request.record is not None:
        written_as = None if asked.source is None else asked.source.to_dict()
        notes_of_record = replace(prepared.notes, table_sha256=file_digest(request.table), source=written_as)
        notes_of_record = notes_of_record.with_room(asked, room)
        prepared = replace(prepared, notes=notes_of_record)
    lost = losses_with_estimates(prepared, original, stretch(told, split, split))
    unused = memory.unused_loss(policy, method, settings)
    notes: list[str] = [] if unused is None else [unused]
    rigid, allowed, rows = memory.rigidity_notes(original, policy), allowances(original, policy), len(original)
    filled: list[FilledProfile] = []
    warn_of_profile(request.profile, prepared.layout.frames, original)
    page = None if request.report is None else partial(_page, request, original, lost, notes, filled, told)
    del frame, original, search  # without a page, the file is read back whole before it gets its name: make room
    told(split, "writing")
    written = prepared.write(request.output, page=page, progress=stretch(told, split, judged))
    publication = Publication.of(written, request.output, lost, tuple(notes), rigid)
    tables = [each.table for each in written.judged]
    if any(len(table) < rows for table in tables):  # classes are compared with the published rows
        allowed = {name: each for table in tables for name, each in allowances(table, policy).items()}
    publication = replace(publication, allows=allowed)
    return replace(publication, profile=filled[0]) if filled else publication


def _page(
    request: Request,
    original: CodedTable,
    lost: Sequence[LostDetail],
    notes: list[str],
    filled: list[FilledProfile],
    progress: Repeating,
    written: WrittenRelease,
) -> bytes:
    """Return the page of a release, with attacks where they can be made; where they cannot, take a note.

    A profile that is asked for is `filled`.
    """
    from tclose.report.profiles import gathered, profile_named
    from tclose.report.release_page import release_page

    beside = attacks = None
    if written.release.layout.comparable:
        progress(PAGE_JUDGED, "comparing with the original")
        original = in_population(original)
        beside = Beside.of(original, written.judged[0].table, beat=progress.beat)
        attacks = _attacks(original, beside, notes, progress)
    else:
        notes.append("the page shows no attacks: they need a release of one table")
    release = written.release
    if request.profile is not None:
        filled.append(profile_named(request.profile).filled(gathered(written, original, attacks=attacks)))
    page = release_page(
        written.certificate,
        release.layout.tables,
        written.judged,
        release.policy,
        beside=beside,
        attacks=attacks,
        lost=lost,
        public=request.public,
        originals=release.prepared.originals,
        profile=filled[0] if filled else None,
        progress=stretch(progress, PAGE_ATTACKED, 1.0),
    )
    return page.encode()


def _attacks(original: CodedTable, beside: Beside, notes: list[str], progress: Repeating) -> Attacks | None:
    """Attack a release for its page; take a note where there is nothing to compare it with."""
    from tclose.engine import memory

    part = stretch(progress, PAGE_COMPARED, PAGE_ATTACKED)
    adversary = Adversary(original, beat=progress.beat, population=population_of(original, original.policy))
    try:
        return memory.attack_beside(beside, adversary, progress=part)
    except Infeasible as error:
        notes.append(f"the page shows no attacks: there is no k-anonymous table to compare with ({error})")
        return None


def demo(
    *,
    folder: str | Path,
    rows: int,
    seed: int,
    method: str = DEFAULT_METHOD,
    force: bool = False,
    progress: Progress = silent,
) -> Demonstration:
    """Write the built-in example into a folder, check it, publish it and verify the release.

    Without `force`, existing files are refused.
    """
    from tclose.examples.demo import NAMES, write_example

    check_name(folder)
    out, certificate = Path(folder) / "release.csv", Path(folder) / "release.json"
    if not force:
        check_new([*(Path(folder) / name for name in NAMES), out, certificate])
    table, policy = write_example(Path(folder), rows=rows, seed=seed)
    before = check(table, policy, progress=stretch(progress, 0.0, 0.2))
    rest = stretch(progress, 0.2, 1.0)
    asked = Request(table=table, policy=policy, out=out, certificate=certificate, method=method, force=force)
    publication = publish(asked, rest)
    return Demonstration(table, policy, before, publication, verify(out, certificate))
