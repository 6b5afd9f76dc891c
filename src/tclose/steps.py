"""Every command as a function without a terminal: the command line and the studio call these and only print.

A table is given as a frame, as the path of a file, or as "-" for standard input; a policy as a `Policy`, as a mapping,
or as the path of a TOML file. Long work reports to a `Progress`. Raising `Cancelled` from it stops the work, and then
nothing has been written: no step reports progress after its files have got their names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tclose.errors import Infeasible, InputError
from tclose.measure.attack import RELEASE, Attacks, Finding
from tclose.measure.kept import DETAIL_MEASURES, DetailKept
from tclose.measure.lost import LostDetail
from tclose.measure.utility import MEASURES, Measure
from tclose.partition import DEFAULT_METHOD, METHODS, Method, check_suited, method_and_options
from tclose.partition.options import from_texts
from tclose.partition.registry import ALL_DISTANCES
from tclose.policy import Policy, PolicyLike
from tclose.policy.draft import Draft, Guess, person_of
from tclose.policy.draft import draft as draft_policy
from tclose.policy.draft import guess as guess_roles
from tclose.policy.paths import check_name
from tclose.privacy.results import CheckResult, Explanation, ModelFinding
from tclose.recode.guard import GUARDS, NEWEST
from tclose.release.beside import Beside
from tclose.release.files import check_new, check_targets, discard_unfinished, pending, publish
from tclose.release.layouts import check_both
from tclose.release.layouts.both import read_release
from tclose.release.lower_bound import PROOF_STAYS, BoundVerification, LowerBound, ProofFile
from tclose.release.naming import check_clock, table_name
from tclose.release.publication import Demonstration, Publication
from tclose.release.release import WrittenRelease
from tclose.release.scenes import ANONYMIZER, Adversary
from tclose.release.targets import check_release_targets, sources_of
from tclose.release.verification import NO_IDENTITY, Verification
from tclose.release.verify import verify as verify_release
from tclose.table import CodedTable, read, to_polars
from tclose.table.profile import profiles, with_persons
from tclose.types import Progress, Repeating, silent, stretch

if TYPE_CHECKING:
    from tclose.compare.comparison import Comparison
    from tclose.compare.figures import TrialFigure
    from tclose.compare.papers.reproduction import Reproduction
    from tclose.compare.tradeoff import Tradeoff
    from tclose.compare.trial import Trial
    from tclose.engine.doctor import Health

__all__ = [
    "ALL_DISTANCES",
    "ANONYMIZER",
    "DEFAULT_METHOD",
    "DETAIL_MEASURES",
    "MEASURES",
    "METHODS",
    "NO_IDENTITY",
    "PROOF_STAYS",
    "RELEASE",
    "Attacks",
    "BoundVerification",
    "CheckResult",
    "Comparison",
    "Demonstration",
    "DetailKept",
    "Draft",
    "Explanation",
    "Finding",
    "Guess",
    "Health",
    "LowerBound",
    "Measure",
    "Method",
    "ModelFinding",
    "Publication",
    "Reproduction",
    "Tradeoff",
    "Trial",
    "Verification",
    "anonymize",
    "attack",
    "bound",
    "check",
    "check_clock",
    "compare",
    "demo",
    "detail",
    "discard_unfinished",
    "doctor",
    "explain",
    "init",
    "method_options",
    "methods",
    "reproduce",
    "trial_figures",
    "verify",
    "verify_bound",
    "warm",
]

READ = 0.1  # share of the work of `anonymize` after which the table is read
PAGE_SPLIT, PAGE_JUDGED, PAGE_COMPARED, PAGE_ATTACKED = 0.45, 0.5, 0.55, 0.75  # shares of the work where a page is made


def check(table: Any, policy: PolicyLike, *, ignore_others: bool = False, progress: Progress = silent) -> CheckResult:
    """Tell whether a table holds what a policy asks for."""
    from tclose.engine import memory

    policy = Policy.of(policy)
    progress(0.0, "reading")
    return memory.check(_frame(table), policy, ignore_others=ignore_others, progress=progress)


def explain(
    table: Any, policy: PolicyLike, *, attribute: str, class_number: int, progress: Progress = silent
) -> Explanation:
    """Show the cheapest moves of rows that turn one class's distribution into the whole table's."""
    from tclose.engine import memory

    policy = Policy.of(policy)
    progress(0.0, "reading")
    return memory.explain(_frame(table), policy, attribute=attribute, class_number=class_number, progress=progress)


def anonymize(
    table: Any,
    policy: PolicyLike,
    *,
    out: str | Path,
    certificate: str | Path | None = None,
    record: str | Path | None = None,
    report: str | Path | None = None,
    public: bool = False,
    guard_formulas: bool = False,
    method: str = DEFAULT_METHOD,
    options: Mapping[str, Any] | None = None,
    seed: int | None = None,
    bound: bool = False,
    bound_seconds: float | None = None,
    bound_proof: str | Path | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> Publication:
    """Publish a table so that it holds what a policy asks for; the files appear once the release is proved.

    `certificate`, `record` (the seed) and `report` (a page; `public` leaves out what is about the raw table) are files
    to write beside the release. `options` go to the method. Without `force`, existing files are refused. With `bound`,
    a lower bound on the detail lost stands in the certificate; `bound_proof` is a file for its proof, and implies it.
    """
    from tclose.engine import bounding, memory
    from tclose.engine.estimate import losses_with_estimates

    asked, told = Policy.of(policy), Repeating(progress)
    method, preset = method_and_options(method)
    check_suited(method, asked, {**preset, **(options or {})})
    check_both(method, asked)
    sources = sources_of(table, policy, asked)
    extra = (certificate, record, report, bound_proof)
    check_release_targets(Path(out), extra, sources, method=method, policy=asked, force=force)
    if report is not None:
        _check_report_libraries()
    seconds = bounding.seconds_for(method, bound_seconds) if bound or bound_proof is not None else None
    told(0.0, "reading")
    kind, original = memory.read_for_release(_frame(table), asked)
    search = None if seconds is None else bounding.BoundSearch.of(original, asked, seconds)
    split, judged = (0.9, 1.0) if report is None else (PAGE_SPLIT, PAGE_JUDGED)
    formed = split if search is None else (READ + split) / 2
    part, settings = stretch(told, READ, formed), {**preset, **(options or {})}
    about: dict[str, Any] = {"kind": kind, "method": method, "seed": seed, "name": table_name(table)}
    prepared = memory.prepare(original, asked, **about, progress=part, options=settings)
    prepared = bounding.with_bound(prepared, search, stretch(told, formed, split))
    lost = losses_with_estimates(prepared, original, stretch(told, split, split))
    unused = memory.unused_loss(asked, method, settings)
    notes: list[str] = [] if unused is None else [unused]
    rigid = memory.rigidity_notes(original, asked)
    page = None if report is None else partial(_page, original, lost, public=public, notes=notes, progress=told)
    del original, search  # without a page, the file is read back whole before it gets its name: make room
    told(split, "writing")
    files = {"certificate": certificate, "record": record, "report": report, "bound_proof": bound_proof}
    part = stretch(told, split, judged)
    written = prepared.write(out, **files, page=page, guard_formulas=guard_formulas, force=force, progress=part)
    return Publication.of(written, Path(out), files, lost, tuple(notes), rigid)


def _check_report_libraries() -> None:
    """Say that an extra is missing before the work begins."""
    from tclose.report.charts import libraries

    libraries()


def _page(
    original: CodedTable,
    lost: Sequence[LostDetail],
    written: WrittenRelease,
    *,
    public: bool,
    notes: list[str],
    progress: Repeating,
) -> bytes:
    """Return the page of a release, with attacks where they can be made; where they cannot, take a note."""
    from tclose.report.release_page import release_page

    beside = attacks = None
    if written.release.layout.comparable:
        progress(PAGE_JUDGED, "comparing with the original")
        beside = Beside.of(original, written.judged[0].table, beat=progress.beat)
        attacks = _attacks(original, beside, notes, progress)
    else:
        notes.append("the page shows no attacks: they need a release of one table")
    release = written.release
    page = release_page(
        written.certificate,
        release.layout.tables,
        written.judged,
        release.policy,
        beside=beside,
        attacks=attacks,
        lost=lost,
        public=public,
        progress=stretch(progress, PAGE_ATTACKED, 1.0),
    )
    return page.encode()


def _attacks(original: CodedTable, beside: Beside, notes: list[str], progress: Repeating) -> Attacks | None:
    """Attack a release for its page; take a note where there is nothing to compare it with."""
    from tclose.engine import memory

    part = stretch(progress, PAGE_COMPARED, PAGE_ATTACKED)
    try:
        return memory.attack_beside(beside, Adversary(original, beat=progress.beat), progress=part)
    except Infeasible as error:
        notes.append(f"the page shows no attacks: there is no k-anonymous table to compare with ({error})")
        return None


def trial_figures(comparison: Comparison) -> tuple[TrialFigure, ...]:
    """Return the figures that people see of each method that was compared, with their headings and spelling."""
    from tclose.compare.figures import figures_of

    return figures_of(comparison.released, comparison.policy)


def method_options(method: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the options of a method or variant, given as texts; what it does not have is refused."""
    name, preset = method_and_options(method)
    return {**preset, **from_texts(name, texts)}


def verify(
    release: str | Path,
    certificate: str | Path,
    *,
    digest: str | None = None,
    population: str | Path | None = None,
    progress: Progress = silent,
) -> Verification:
    """Judge a written release again, δ-presence by a `population`, and compare with its certificate."""
    return verify_release(release, certificate, digest=digest, population=population, progress=progress)


def bound(
    table: Any,
    policy: PolicyLike,
    *,
    seconds: float | None = None,
    certificate: str | Path | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> LowerBound:
    """Search for a lower bound on the detail that any release of a table loses; `certificate` is a file for its proof.

    Without `force`, an existing file is refused.
    """
    from tclose.engine import memory
    from tclose.engine.bounding import SECONDS

    asked = Policy.of(policy)
    if certificate is not None:
        check_targets([Path(certificate)], sources_of(table, policy, asked), force=force)
    found = memory.bound(_frame(table), asked, seconds=SECONDS if seconds is None else seconds, progress=progress)
    if certificate is not None:
        found.save(certificate, force=force)
    return found


def verify_bound(
    table: Any, policy: PolicyLike, proof: str | Path, *, progress: Progress = silent
) -> BoundVerification:
    """Check the proof of a lower bound against a table and a policy, independently of the search that found it."""
    from tclose.engine import memory

    asked, loaded = Policy.of(policy), ProofFile.load(proof)
    return memory.verify_bound(_frame(table), asked, loaded, progress=progress)


def attack(
    release: Any,
    *,
    original: Any,
    policy: PolicyLike,
    second: Any = None,
    register: Any = None,
    population: Any = None,
    method: str = ANONYMIZER,
    guard_formulas: bool = False,
    progress: Progress = silent,
) -> Attacks:
    """Measure what an adversary learns from a release, beside the raw table and a k-anonymous one.

    `guard_formulas` says that the release was written so: the apostrophes are taken away before it is read.
    """
    policy = Policy.of(policy)

    def published(given: Any) -> Any:
        release = _release(given, policy)
        if not guard_formulas:
            return release
        frames = release if isinstance(release, tuple) else (release,)
        return tuple(GUARDS[NEWEST].unguarded(to_polars(frame)) for frame in frames)

    from tclose.engine import memory

    return memory.attack(
        published(release),
        original=_frame(original),
        policy=policy,
        second=None if second is None else published(second),
        register=None if register is None else _frame(register),
        population=population,
        method=method,
        progress=progress,
    )


def compare(
    table: Any,
    policy: PolicyLike,
    *,
    methods: Sequence[str] | None = None,
    limit: float | None = None,
    seed: int = 0,
    detail: bool = False,
    bound: bool = False,
    bound_seconds: float | None = None,
    out: str | Path | None = None,
    levels: Sequence[Fraction] | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> Tradeoff:
    """Try methods on the same table and policy; no release is written.

    With a page to write, `out`, the methods that gave a release are tried again with every t multiplied by `levels`.
    Without `force`, a page that exists already is refused.
    """
    from tclose.compare.comparison import LIMIT_SECONDS, entries
    from tclose.compare.tradeoff import LEVELS, tradeoff
    from tclose.engine.bounding import SECONDS

    asked = Policy.of(policy)
    entries(methods)  # a misspelt name is refused before the table is read
    if out is not None:
        _check_report_libraries()
        check_targets([Path(out)], sources_of(table, policy, asked), force=force)
    found = tradeoff(
        _frame(table),
        asked,
        methods=methods,
        levels=(LEVELS if levels is None else levels) if out is not None else (),
        limit=LIMIT_SECONDS if limit is None else limit,
        seed=seed,
        detail=detail,
        bound=bound,
        bound_seconds=SECONDS if bound_seconds is None else bound_seconds,
        progress=progress,
    )
    if out is not None:
        found.report(out, table=table_name(table), force=force)
    return found


def reproduce(
    name: str, *, data: str | Path, out: str | Path | None = None, force: bool = False, progress: Progress = silent
) -> Reproduction:
    """Run a paper's experiments again, or those of all papers; `out` is a page with the papers' figures beside ours."""
    from tclose.compare.papers.reproduction import reproduced

    return reproduced(name, data=Path(data), out=out, force=force, progress=progress)


def init(table: Any, *, out: str | Path | None = None, force: bool = False) -> Draft:
    """Draft a policy for a table: roles are guessed and explained, every t is left open.

    Without `force`, `out` must be a new file.
    """
    if out is not None:
        check_targets([Path(out)], sources_of(table), force=force)
    frame = to_polars(_frame(table))
    described = profiles(frame)
    person = person_of(guess_roles(described))
    if person is not None:
        described = with_persons(frame, described, person)
    guesses = guess_roles(described)
    draft = Draft(draft_policy(described), tuple(guesses), person_of(guesses))
    if out is not None:
        _write(Path(out), draft.policy, force=force)
    return draft


def _write(path: Path, text: str, *, force: bool) -> None:
    """Write a file whole or not at all."""
    try:
        with pending({"draft": path}, force=force) as files:
            files["draft"].write(lambda file: file.write(text.encode()))
            publish(files.values())
    except OSError as error:
        raise InputError(f"the draft cannot be written: {error.strerror or error}") from None


def detail(
    release: Any,
    *,
    original: Any,
    policy: PolicyLike,
    target: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> DetailKept:
    """Measure how much detail a release keeps, against the original table; the figures stay with its steward.

    `release` is a `Release` of one table, its frame, or its file. With a `target`, a sensitive attribute, a random
    forest is trained on the table and on the release to predict it from everything else; that needs scikit-learn.

    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [20, 30, 40, 50], "pay": [1, 2, 1, 2]})
    >>> policy = {"quasi": ["age"], "sensitive": {"pay": {"t": 1}}}
    >>> detail(table.with_columns(age=pl.col("age").cast(str)), original=table, policy=policy).figures["marginals"]
    1.0
    """
    from tclose.engine import memory

    policy, report = Policy.of(policy), progress or silent
    report(0.0, "reading")
    release, original = _release(release, policy), _frame(original)
    measuring = stretch(report, 0.0, 1.0 if target is None else 0.5)
    figures = memory.detail(release, original=original, policy=policy, progress=measuring)
    if target is None:
        return DetailKept(figures)
    report(0.5, "training random forests")
    prediction = memory.predicted(release, original=original, policy=policy, target=target, seed=seed)
    return DetailKept(figures, prediction)


def methods() -> Mapping[str, Method]:
    """Return every method by its name, with what it does and what it can serve."""
    return METHODS


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


def _frame(table: Any) -> Any:
    """Return a table as it was given, or read it from its file."""
    return read(table) if isinstance(table, str | Path) else table


def _release(release: Any, policy: Policy) -> Any:
    """Return a release as it was given, or read it from its file, and the counts of exact values if it has any."""
    return read_release(release) if policy.both and isinstance(release, str | Path) else _frame(release)
