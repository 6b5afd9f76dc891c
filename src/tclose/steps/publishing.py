"""Publish a table, with its page; publish the built-in example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tclose.errors import Infeasible
from tclose.measure.attack import Attacks
from tclose.measure.lost import LostDetail
from tclose.partition import DEFAULT_METHOD, check_suited, chosen_method, method_and_options
from tclose.policy import Policy, PolicyLike, ProfileName
from tclose.policy.derived import scaled
from tclose.policy.paths import check_name
from tclose.privacy.allowance import allowances
from tclose.release.beside import Beside
from tclose.release.certificate import ReleaseFormat
from tclose.release.continuing import check_room
from tclose.release.describing import description_files
from tclose.release.endorsement import NOTHING_ADDED, Endorsement
from tclose.release.files import check_new
from tclose.release.layouts import check_both
from tclose.release.naming import created, table_name
from tclose.release.population import in_population, population_of
from tclose.release.pseudonymity import check_keys
from tclose.release.publication import Demonstration, Publication
from tclose.release.record_notes import file_digest
from tclose.release.release import WrittenRelease
from tclose.release.scenes import Adversary
from tclose.release.targets import check_release_targets, sources_of
from tclose.release.typed_columns import check_release_format
from tclose.steps.checking import check
from tclose.steps.engines import PublishingEngine
from tclose.steps.given import as_labelled, check_population, check_profile, check_report_libraries, warn_of_profile
from tclose.steps.judging import verify
from tclose.steps.large_tables import LargeTable
from tclose.steps.replaying import Replay, checked_room
from tclose.table import CodedTable
from tclose.types import Progress, Repeating, silent, stretch

if TYPE_CHECKING:
    from tclose.report.profiles import FilledProfile

READ = 0.1  # share of the work of `anonymize` after which the table is read
PAGE_SPLIT, PAGE_JUDGED, PAGE_COMPARED, PAGE_ATTACKED = 0.45, 0.5, 0.55, 0.75  # shares of the work where a page is made


def anonymize(
    table: Any,
    policy: PolicyLike,
    *,
    out: str | Path,
    certificate: str | Path | None = None,
    record: str | Path | None = None,
    report: str | Path | None = None,
    public: bool = False,
    profile: ProfileName | None = None,
    guard_formulas: bool = False,
    method: str | None = None,
    options: Mapping[str, Any] | None = None,
    seed: int | None = None,
    bound: bool = False,
    bound_seconds: float | None = None,
    bound_proof: str | Path | None = None,
    part_rows: int | None = None,
    describe: Sequence[str] = (),
    engine: PublishingEngine = "memory",
    master: str | None = None,
    resume: bool = False,
    endorsement: Endorsement = NOTHING_ADDED,
    release_format: ReleaseFormat = "text",
    replay: str | Path | None = None,
    room: float | str | Fraction = 0,
    force: bool = False,
    progress: Progress = silent,
) -> Publication:
    """Publish a table so that it holds what a policy asks for; the files appear once the release is proved.

    `certificate`, `record` (the seed) and `report` (a page; `public` leaves out what is about the raw table) are files
    to write beside the release; `profile` adds a list of requirements to the page. `options` go to the method; where
    none is named, this is weave, and mondrian for a policy with `[presence]`. Without `force`, existing files are
    refused. With `bound`, a lower bound on the detail lost stands in the certificate; `bound_proof` is a file for its
    proof, and implies it.
    With `part_rows`, `out` is a new folder of Parquet files of so many rows each, about so many where the engine is
    `disk`. That engine reads a file in batches and splits it in parts, so that it need not fit into memory; `auto`
    chooses it for files of a million rows or more. With `resume`, it continues a run that was killed.
    The engine `spark` does the same on the cluster `master`, and always writes a folder. The `endorsement` says what
    the steward adds to the certificate, and who signs it.
    With the release format `columns`, cells are typed: `age_low`, `age_high` and `age_mid` in place of `[20, 35]`.
    `describe` names formats of descriptions that are written beside the release (`tclose.release.describing`).
    `replay` is the record of a release, which is repeated byte for byte, or refused. `room` is the share of every t
    that the classes leave unused, so that batches which `apply` adds later may move the table's distribution.
    """
    from tclose.engine import bounding

    asked, told, room = Policy.of(policy), Repeating(progress), checked_room(room)
    check_profile(profile, report)
    if replay is not None:
        given: dict[str, Any] = {"options": options, "seed": seed, "engine": engine, "part_rows": part_rows}
        given |= {"guard_formulas": guard_formulas, "room": room, "release_format": release_format}
        again = Replay.of(replay, table, asked, Path(out), given)
        method, options, seed, part_rows = again.method, again.options, again.seed, again.part_rows
        engine, guard_formulas, room = again.engine, again.guard_formulas, again.room
        release_format = again.release_format
    method, preset = method_and_options(chosen_method(method, asked))
    check_suited(method, asked, {**preset, **(options or {})})
    check_both(method, asked)
    check_release_format(release_format, method, asked)
    if room:
        check_room(asked, release_format)
    check_keys(asked)
    sources = [*sources_of(table, policy, asked), *endorsement.sources, *([] if replay is None else [Path(replay)])]
    signed, described = endorsement.files(certificate), description_files(Path(out), describe)
    extra = (certificate, record, report, bound_proof, *signed.values(), *described.values())
    folder = part_rows or (1 if engine == "spark" else None)  # which always writes one
    check_release_targets(Path(out), extra, sources, method=method, policy=asked, force=force, part_rows=folder)
    settings = {**preset, **(options or {})}
    whole = {
        "a page": report is not None,
        "a bound": bound or bound_proof is not None,
        "a guard against formulas": guard_formulas,
    }
    whole |= {"typed columns": release_format == "columns", "a description": bool(describe)}
    whole["room for new rows"] = room > 0
    endorsement = endorsement.begun(table, record=record is not None, created=created(), beat=told.beat)
    in_memory = [what for what, needed in whole.items() if needed]
    large = LargeTable(table, asked, Path(out), method, settings, in_memory, endorsement)
    beside = {"certificate": certificate, "record": record, **signed}
    common: dict[str, Any] = {"seed": seed, "part_rows": part_rows, "force": force}
    if in_parts := large.published(engine, beside, master=master, resume=resume, **common, progress=told):
        return in_parts
    if report is not None:
        check_report_libraries()
    seconds = bounding.seconds_for(method, bound_seconds) if bound or bound_proof is not None else None
    files = {**beside, "report": report, "bound_proof": bound_proof}
    writing = {**common, "public": public, "profile": profile, "guard_formulas": guard_formulas, "room": room}
    writing |= {"endorsement": endorsement, "release_format": release_format, "describe": describe}
    return _in_memory(table, asked, Path(out), files, method, settings, seconds, **writing, told=told)


def _in_memory(
    table: Any,
    policy: Policy,
    out: Path,
    files: Mapping[str, str | Path | None],
    method: str,
    settings: Mapping[str, Any],
    seconds: float | None,
    *,
    seed: int | None,
    public: bool,
    profile: ProfileName | None,
    guard_formulas: bool,
    part_rows: int | None,
    endorsement: Endorsement,
    release_format: ReleaseFormat,
    describe: Sequence[str],
    room: Fraction,
    force: bool,
    told: Repeating,
) -> Publication:
    """Publish a table whose rows are all in memory; with `seconds`, a lower bound is searched for that long."""
    from tclose.engine import bounding, memory
    from tclose.engine.estimate import losses_with_estimates

    told(0.0, "reading")
    asked, policy = policy, scaled(policy, 1 - room) if room else policy
    frame, labels = as_labelled(table, policy)
    kind, original = memory.read_for_release(frame, policy)
    check_population(profile, original)
    search = None if seconds is None else bounding.BoundSearch.of(original, policy, seconds)
    split, judged = (0.9, 1.0) if files["report"] is None else (PAGE_SPLIT, PAGE_JUDGED)
    formed = split if search is None else (READ + split) / 2
    part = stretch(told, READ, formed)
    about: dict[str, Any] = {"kind": kind, "method": method, "seed": seed, "name": table_name(table)}
    prepared = memory.prepare(original, policy, **about, progress=part, options=settings)
    prepared = replace(prepared, labels=labels)
    prepared = bounding.with_bound(prepared, search, stretch(told, formed, split))
    if files["record"] is not None:
        written_as = None if asked.source is None else asked.source.to_dict()
        notes_of_record = replace(prepared.notes, table_sha256=file_digest(table), source=written_as)
        notes_of_record = notes_of_record.with_room(asked, room)
        prepared = replace(prepared, notes=notes_of_record)
    lost = losses_with_estimates(prepared, original, stretch(told, split, split))
    unused = memory.unused_loss(policy, method, settings)
    notes: list[str] = [] if unused is None else [unused]
    rigid, allowed, rows = memory.rigidity_notes(original, policy), allowances(original, policy), len(original)
    filled: list[FilledProfile] = []
    shown: dict[str, Any] = {"public": public, "profile": profile, "notes": notes, "filled": filled, "progress": told}
    warn_of_profile(profile, prepared.layout.frames, original)
    page = None if files["report"] is None else partial(_page, original, lost, **shown)
    del frame, original, search  # without a page, the file is read back whole before it gets its name: make room
    told(split, "writing")
    written = prepared.write(
        out,
        **files,
        page=page,
        guard_formulas=guard_formulas,
        part_rows=part_rows,
        endorsement=endorsement,
        release_format=release_format,
        describe=describe,
        force=force,
        progress=stretch(told, split, judged),
    )
    publication = Publication.of(written, out, files, lost, tuple(notes), rigid)
    tables = [each.table for each in written.judged]
    if any(len(table) < rows for table in tables):  # classes are compared with the published rows
        allowed = {name: each for table in tables for name, each in allowances(table, policy).items()}
    publication = replace(publication, allows=allowed, descriptions=tuple(description_files(out, describe).values()))
    return replace(publication, profile=filled[0]) if filled else publication


def _page(
    original: CodedTable,
    lost: Sequence[LostDetail],
    written: WrittenRelease,
    *,
    public: bool,
    profile: ProfileName | None,
    notes: list[str],
    filled: list[FilledProfile],
    progress: Repeating,
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
    if profile is not None:
        filled.append(profile_named(profile).filled(gathered(written, original, attacks=attacks)))
    page = release_page(
        written.certificate,
        release.layout.tables,
        written.judged,
        release.policy,
        beside=beside,
        attacks=attacks,
        lost=lost,
        public=public,
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
    files: dict[str, Any] = {"out": out, "certificate": certificate, "force": force}
    publication = anonymize(table, policy, **files, method=method, progress=rest)
    return Demonstration(table, policy, before, publication, verify(out, certificate))
