"""The one way from a request to a release: learn, split, write, judge, tell. Where rows lie is their own affair."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np

from tclose.errors import Infeasible, LeakWarning, ProfileWarning
from tclose.measure.attack import Attacks
from tclose.measure.attack.scenes import Adversary
from tclose.measure.information_loss import KEPT_SHARE, LevelEstimate, LostDetail, gcp
from tclose.measure.pair import TablePair, in_population, population_of
from tclose.messages import say
from tclose.partition import lowers_loss
from tclose.policy import Policy
from tclose.policy.variants import cell_forms, projection_policy, with_levels
from tclose.privacy.allowance import Allowance, allowances, rigid_attributes
from tclose.privacy.feasibility import publishable
from tclose.release.layouts import LayoutFacts, layout_of
from tclose.release.output import created, tool
from tclose.release.published_table import ReleaseInput, partition_of
from tclose.release.record import Notes, file_digest
from tclose.release.release import PreparedRelease, Publication, WrittenRelease, lost_tables
from tclose.run import bound_search
from tclose.run.compile_notice import method_compile_notice
from tclose.run.request import Recipe, Request
from tclose.run.rows import LearnedRows, PartInfeasible, Rows, Shares, requested_rows
from tclose.run.study import Study, check_report_libraries
from tclose.table import CodedTable
from tclose.table.classes import Classes
from tclose.types import Progress, Repeating, silent, stretch

if TYPE_CHECKING:
    from tclose.report.profiles import FilledProfile

# The page: attacks where they can be made, and the requirements of a profile if one is asked for


COMPARED, ATTACKED = 0.55, 0.75  # shares of the work after which the release is beside its original, and attacked


class Page:
    """The page that a request asks for, of a table whose rows are at hand."""

    shares = Shares(read=0.1, split=0.45, judged=0.5)

    def __init__(self, request: Request, original: CodedTable | None, told: Repeating) -> None:
        from tclose.report.profiles import population_of as weighted

        self._request, self._original, self._told = request, original, told
        self.notes: list[str] = []
        self.profile: FilledProfile | None = None
        if request.profile is not None and original is not None:
            weighted(original)  # finds mistakes in the sampling weights of [context] before the work begins

    def warn(self, prepared: PreparedRelease) -> None:
        """Say what the profile will lack, before the release is written."""
        if (name := self._request.profile) is None or (original := self._original) is None:
            return
        from tclose.report.profiles import PolicyEvidence, profile_named, published_columns

        said = PolicyEvidence(original.policy, lambda: published_columns(prepared.layout.frames, original))
        if (warning := profile_named(name).warning_before(said)) is not None:
            warnings.warn(warning, ProfileWarning, stacklevel=4)

    def of(self, written: WrittenRelease, lost: Sequence[LostDetail]) -> bytes:
        """Make the page of a written release; what it lacks is noted."""
        from tclose.report.release_page import release_page

        beside, attacks = self._beside(written)
        self.profile = self._filled(written, attacks)
        page = release_page(
            replace(written, lost=tuple(lost)),
            beside=beside,
            attacks=attacks,
            public=self._request.public,
            profile=self.profile,
            progress=stretch(self._told, ATTACKED, 1.0),
        )
        return page.encode()

    def _filled(self, written: WrittenRelease, attacks: Attacks | None) -> FilledProfile | None:
        """Return the profile that is asked for, with its figures."""
        if (name := self._request.profile) is None or self._original is None:
            return None
        from tclose.report.profiles import evidence_of, profile_named

        return profile_named(name).filled(evidence_of(written, self._original, attacks=attacks))

    def _beside(self, written: WrittenRelease) -> tuple[TablePair | None, Attacks | None]:
        """Bring the release together with its original, and attack it."""
        if self._original is None:
            self.notes.append(
                "the page shows no attacks and no comparison with the original: they take its rows, which are not "
                "held in memory here; `tclose attack` makes the attacks that counts allow"
            )
            return None, None
        if not written.release.layout.comparable:
            self.notes.append("the page shows no attacks: they need a release of one table")
            return None, None
        self._told(self.shares.judged, "comparing with the original")
        original = in_population(self._original)
        beside = Study(original, original.policy).beside(written.judged[0].table).in_codes(self._told.beat)
        return beside, self._attacks(original, beside)

    def _attacks(self, original: CodedTable, beside: TablePair) -> Attacks | None:
        """Attack a release; take a note where there is nothing to compare it with."""
        from tclose.run import anonymization

        part = stretch(self._told, COMPARED, ATTACKED)
        adversary = Adversary(original, beat=self._told.beat, population=population_of(original, original.policy))
        try:
            return anonymization.attack_beside(beside, adversary, progress=part)
        except Infeasible as error:
            self.notes.append(
                say("the page shows no attacks: there is no k-anonymous table to compare with ({why})", why=error)
            )
            return None


# An estimate of the smallest t that keeps detail, for a release that lost everything: `fast` weave on a sample of rows.
# Every t is multiplied by one factor, so that the attributes keep their proportions. The number of trials and the rows
# of the sample are fixed, and weave's budget is steps: the same table gives the same estimate on any machine.


SAMPLE = 10_000  # rows
PLACES = 64  # factors that can be found, in equal proportions from 1 to the factor that makes every t = 1
TRIALS = 1 + int(math.log2(PLACES))
LEAST = Fraction(1, 10**6)  # stands for a smaller t: no factor makes t = 0 larger
METHOD, OPTIONS, SEED = "weave", {"effort": "fast"}, 0
PHASE = "estimating a t that keeps detail"


def losses_with_estimates(
    prepared: PreparedRelease, original: CodedTable, progress: Progress = silent
) -> tuple[LostDetail, ...]:
    """Return the tables of a release that lost everything, each with the t that would keep detail."""
    return tuple(
        replace(loss, estimate=_estimate_of(loss, prepared, original, progress))
        for loss in lost_tables(prepared.layout, prepared.tables.withheld)
    )


def _estimate_of(
    loss: LostDetail, prepared: PreparedRelease, original: CodedTable, progress: Progress
) -> LevelEstimate | None:
    """Estimate for one table, which has some of the sensitive attributes; not where t is not what cost the detail."""
    if loss.withheld_most or not loss.linked:
        return None
    table = prepared.layout.tables[(loss.table or 1) - 1]
    policy = projection_policy(prepared.policy, table.judge.policy.sensitive, first=True)
    return estimate(original.under(policy), policy, progress)


def estimate(table: CodedTable, policy: Policy, progress: Progress = silent) -> LevelEstimate | None:
    """Search for the smallest factor by which every t keeps detail on a sample; None where the policy has no t."""
    if all(spec.t is None for spec in policy.required.values()):
        return None
    rows = np.random.default_rng(SEED).choice(len(table), min(SAMPLE, len(table)), replace=False)
    sample, tried = replace(table.only(np.sort(rows)), withheld=0), 0  # no t brings back rows that lack a value
    policy = replace(policy, k=math.ceil(policy.k * len(sample) / len(table)))  # as large a share of the rows
    with method_compile_notice(progress, METHOD, OPTIONS) as announcing:

        def kept_at(place: int) -> float:
            nonlocal tried
            part = stretch(announcing, tried / TRIALS, (tried + 1) / TRIALS, PHASE, only=True)
            tried += 1
            return _kept(sample, with_levels(policy, levels_at(policy, place)), part)

        low, high, kept = 0, PLACES, kept_at(PLACES)
        if kept < KEPT_SHARE:
            return LevelEstimate(None, kept, len(sample), len(table))
        while high - low > 1:
            middle = (low + high) // 2
            if (share := kept_at(middle)) >= KEPT_SHARE:
                high, kept = middle, share
            else:
                low = middle
    return LevelEstimate(levels_at(policy, high), kept, len(sample), len(table))


def levels_at(policy: Policy, place: int) -> dict[str, Fraction]:
    """Return every t of a policy, multiplied by the factor at a place and rounded up to two digits; at most 1."""
    levels = {name: max(spec.t, LEAST) for name, spec in policy.required.items() if spec.t is not None}
    factor = float(1 / min(levels.values())) ** (place / PLACES)
    return {name: min(_two_digits(float(t) * factor), Fraction(1)) for name, t in levels.items()}


def _two_digits(level: float) -> Fraction:
    """Round up to two digits that count; what is a little above them is not rounded up.

    >>> _two_digits(0.1234), _two_digits(0.0201)
    (Fraction(13, 100), Fraction(21, 1000))
    """
    unit = Fraction(10) ** (math.floor(math.log10(level)) - 1)
    return math.ceil(Fraction(level) / unit - Fraction(1, 10**9)) * unit


def _kept(sample: CodedTable, policy: Policy, progress: Progress) -> float:
    """Return the share of detail that weave keeps on a sample; nothing where the sample cannot be published."""
    try:
        given = ReleaseInput(publishable(sample.under(policy), policy), policy, SEED, progress)
        classes = Classes.from_labels(given.split(METHOD, OPTIONS).labels)
    except Infeasible:
        return 0.0
    return 1 - gcp(partition_of(given, classes))


# From a request to a release


def publish(request: Request, progress: Progress = silent) -> Publication:
    """Publish what is asked for; the files appear once the release is proved."""
    request, told = request.checked(), Repeating(progress)
    kept = request.record is not None
    endorsement = request.endorsement.begun(request.table, record=kept, created=created(), beat=told.beat)
    request = replace(request, endorsement=endorsement)
    if request.report is not None:
        check_report_libraries()
    with requested_rows(request, told) as (rows, seed):
        parted = rows if rows.at_hand is None else None
        try:
            unwritten = UnwrittenRelease.of(rows, request, seed, told)
            del rows  # without a page, the files are read back whole before they get their names: make room
            return unwritten.written(told)
        except PartInfeasible as refusal:
            if parted is None:
                raise
            whole, rest = parted.as_one_part(request, refusal), Repeating(stretch(told, told.share, 1.0))
        unwritten = UnwrittenRelease.of(whole, request, seed, rest)
        del whole
        return unwritten.written(rest)


def prepared(rows: Rows, recipe: Recipe, progress: Progress = silent, phase: str = "") -> PreparedRelease:
    """Learn and split; the tables of the release are still to be judged.

    `phase` names all the work in place of the phases that a method has; that kernels are compiled is said in any case.
    """
    return _split(rows, rows.learned(recipe, progress), recipe, progress, phase)


def _split(rows: Rows, learned: LearnedRows, recipe: Recipe, progress: Progress, phase: str = "") -> PreparedRelease:
    policy, begun = recipe.policy, created()
    for leak in learned.leaks:
        warnings.warn(leak, LeakWarning, 3)
    with method_compile_notice(progress, recipe.method, recipe.options) as announcing:
        named = stretch(announcing, 0.0, 1.0, phase, only=True) if phase else announcing
        tables = rows.split(recipe, learned, named)
    about = LayoutFacts(
        version=version("tclose"),
        method=recipe.method,
        settings=tables.reader_policy.to_dict(),
        withheld=tables.withheld,
        counted="rows" if policy.person is None else "persons",
        tool=tool(),
        created=begun,
        table=recipe.name,
        loss=policy.chosen_loss if lowers_loss(recipe.method, recipe.options) else None,
        pseudonyms=learned.pseudonyms,
        cells=dict.fromkeys(policy.quasi, "values") if layout_of(recipe.method).exact_quasi else cell_forms(policy),
    )
    return PreparedRelease(
        tables,
        about,
        policy,
        recipe.seed,
        kind=rows.kind,
        leaks=learned.leaks,
        labels=rows.labels,
        notes=tables.notes(),
    )


@dataclass(frozen=True, eq=False)
class UnwrittenRelease:
    """A release that is split, and what its steward is told beside what its judges find."""

    request: Request
    prepared: PreparedRelease
    shares: Shares
    lost: tuple[LostDetail, ...] | None  # None where only the finished files tell
    rigid: tuple[str, ...]  # of which attributes the smallest class can show one composition only
    allows: Mapping[str, Allowance]  # what each t means in shares of the whole table
    rows: int  # of the whole table
    notes: tuple[str, ...]
    page: Page | None

    @classmethod
    def of(cls, rows: Rows, request: Request, seed: int, told: Repeating) -> UnwrittenRelease:
        """Learn and split, search for the bound, and look at what only the original tells."""
        recipe, original = Recipe.asked(request, seed), rows.at_hand
        page = None if request.report is None else Page(request, original, told)
        shares = rows.shares if page is None else page.shares
        search = None if original is None else bound_search.search_for(request, recipe.method, original, recipe.policy)
        formed = shares.split if search is None else (shares.read + shares.split) / 2
        part = stretch(told, shares.read, formed)
        learned = rows.learned(recipe, part)
        made = bound_search.with_bound(_split(rows, learned, recipe, part), search, stretch(told, formed, shares.split))
        made = replace(made, notes=_noted(made.notes, request))
        if page is not None:
            page.warn(made)
        estimating, policy = stretch(told, shares.split, shares.split), recipe.policy
        return cls(
            request=request,
            prepared=made,
            shares=shares,
            lost=None if original is None else losses_with_estimates(made, original, estimating),
            rigid=tuple(rigidity.sentence for rigidity in rigid_attributes(learned.known, policy)),
            allows=allowances(learned.known, policy),
            rows=len(learned.known),
            notes=() if recipe.unused_loss is None else (recipe.unused_loss,),
            page=page,
        )

    def written(self, told: Repeating) -> Publication:
        """Write the files, and tell what was written."""
        told(self.shares.split, "writing")
        writing, page = stretch(told, self.shares.split, self.shares.judged), self.page
        write = None if page is None else lambda written: page.of(written, self.lost or ())
        written = self.prepared.write(self.request.output, page=write, progress=writing)
        publication = replace(
            Publication.of(written, self.request.output),
            rigid=self.rigid,
            allows=self._allowed(written),
            notes=(*self.notes, *(() if page is None else page.notes)),
            profile=None if page is None else page.profile,
        )
        return publication if self.lost is None else replace(publication, lost=self.lost)

    def _allowed(self, written: WrittenRelease) -> Mapping[str, Allowance]:
        """Return what each t means in shares of the rows that classes are compared with: the published ones."""
        tables = [each.table for each in written.judged]
        if not any(len(table) < self.rows for table in tables):
            return self.allows
        policy = self.prepared.policy
        return {name: each for table in tables for name, each in allowances(table, policy).items()}


def _noted(notes: Notes, request: Request) -> Notes:
    """Return the notes of a record, if one is asked for, with what the request tells."""
    if request.record is None:
        return notes
    source = None if request.asked.source is None else request.asked.source.to_dict()
    noted = replace(notes, table_sha256=file_digest(request.table), source=source)
    return noted.with_room(request.asked, Fraction(request.room))
