"""Where the rows of a table lie while a release is made of them: the protocol, all rows at hand, and the choice."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from tclose.errors import Infeasible, InputError, LeakWarning, WholeTableWarning
from tclose.measure.original_facts import original_facts
from tclose.measure.pair import Population, population_of
from tclose.measure.presence_claim import check_possible
from tclose.measure.release_exposure import columns_of_own_values
from tclose.messages import say
from tclose.partition import DEFAULT_METHOD, METHODS
from tclose.policy import Policy
from tclose.privacy.feasibility import NoPartition, Publishable, publishable
from tclose.privacy.judge import check_groups, distance_of
from tclose.release.claims import PseudonymClaims, checked_pseudonyms
from tclose.release.formats import AT_ONCE
from tclose.release.layouts import Layout, laid_out, layout_of
from tclose.release.published_table import ReleaseInput
from tclose.release.record import Notes
from tclose.release.tables import MadeTables, WholeTables
from tclose.run import engines
from tclose.run.engines import CLUSTERS, PUBLISHING_ENGINES, REFUSED, one_part_by, one_part_for
from tclose.run.request import Recipe, Request, lowered, seed_of
from tclose.table import CodedTable, CountedTable, encode, to_polars
from tclose.table.coded import check_columns
from tclose.table.disk_files import is_parquet
from tclose.table.frames import kind_of, with_one_spelling
from tclose.table.persons import with_pseudonyms
from tclose.table.sources import checked, read_table
from tclose.table.sources.base import Labels
from tclose.table.sources.databases import Location
from tclose.types import Progress, Repeating


class PartInfeasible(Infeasible):
    """No classes were found for the rows of one part; those of the whole table may have some."""

    why = "no classes were found for the rows of one part"


class JoinedInfeasible(PartInfeasible):
    """Classes of several parts publish the same values, and are not admitted as the one class that they are."""

    why = "classes of several parts that publish the same values are not admitted as one class"


@dataclass(frozen=True)
class Shares:
    """Shares of the work after which the table is read, its rows are split, and the files are judged."""

    read: float
    split: float
    judged: float = 1.0


class LearnedRows(Protocol):
    """What is known of a whole table before its rows are split."""

    @property
    def known(self) -> CodedTable | CountedTable:
        """The table as the judge knows it."""

    @property
    def leaks(self) -> tuple[str, ...]:
        """Warnings about columns that give rows away."""

    @property
    def pseudonyms(self) -> PseudonymClaims | None:
        """What the certificate says about pseudonyms, if there are any."""


class Rows(Protocol):
    """The rows of a table, wherever they lie."""

    shares: Shares

    @property
    def kind(self) -> str:
        """Of which library a frame is that the release becomes."""

    @property
    def labels(self) -> Labels | None:
        """The labels of columns whose cells are published as they are, if the table came with any."""

    @property
    def at_hand(self) -> CodedTable | None:
        """All rows in codes, where they can be looked at together."""

    def learned(self, recipe: Recipe, progress: Progress) -> LearnedRows:
        """Look at every row once."""

    def split(self, recipe: Recipe, learned: Any, progress: Progress) -> MadeTables:
        """Put the rows that can be published into classes."""

    def as_one_part(self, request: Request, refusal: PartInfeasible) -> FrameRows:
        """Hold all rows, after a part of them could not be split."""


@dataclass(frozen=True, eq=False, repr=False)
class LearnedFrame:
    """What is known of a table whose rows are at hand."""

    rows: Publishable
    population: Population | None  # of which δ-presence is asked for
    known: CodedTable
    leaks: tuple[str, ...]
    pseudonyms: PseudonymClaims | None


@dataclass(frozen=True, eq=False, repr=False)
class FrameRows:
    """Rows that are all at hand: one part, which is published in its own order."""

    table: CodedTable
    kind: str = "polars"
    labels: Labels | None = None
    shares = Shares(read=0.1, split=0.9)

    @classmethod
    def of(cls, frame: Any, policy: Policy, labels: Labels | None = None) -> FrameRows:
        """Code a frame that is to be published."""
        counted_as_value = (name for name, spec in policy.sensitive.items() if spec.missing == "value")
        spellings = dict.fromkeys(policy.keep, ("",)) | dict.fromkeys(counted_as_value, ("", *policy.missing))
        whole = with_one_spelling(to_polars(frame), spellings)
        check_columns(whole, policy, identifiers_too=True)
        table = encode(with_pseudonyms(whole, policy), policy)
        check_groups(table.domain, policy)
        return cls(table, kind_of(frame), labels)

    @classmethod
    def read(cls, table: Any, policy: Policy) -> FrameRows:
        """Read a table whole; columns that the policy drops are left out."""
        if not isinstance(table, str | Path):
            return cls.of(table, policy)
        only = _columns(policy) if policy.others == "drop" else ()
        found = checked(read_table(table, only=only, source=policy.source, missing=policy.not_numbers), policy.source)
        published = [*policy.keep, *policy.unlinkable, *policy.sensitive]
        return cls.of(found.frame, policy, found.labels.only(published))

    @classmethod
    def quietly(cls, frame: Any, policy: Policy) -> FrameRows:
        """Code a frame of which nothing is published."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LeakWarning)
            return cls.of(frame, policy)

    @property
    def at_hand(self) -> CodedTable:
        """All rows in codes."""
        return self.table

    def as_one_part(self, request: Request, refusal: PartInfeasible) -> FrameRows:
        """Refuse: the rows are one part already."""
        raise refusal

    def learned(self, recipe: Recipe, progress: Progress) -> LearnedFrame:
        """Find the rows that can be published."""
        table, policy = self.table, recipe.policy
        population = population_of(table, policy)
        if population is not None and policy.presence is not None:
            population.check_holds(table)
            check_possible(policy.presence, len(table) + table.withheld, population)
        rows = publishable(table, policy)
        if population is not None:
            rows = replace(rows, table=population.coded(rows.table))
        linked, pseudonyms = checked_pseudonyms(table, policy)
        exact = layout_of(recipe.method).exact_quasi
        leaks = (*linked, *columns_of_own_values(rows.table, policy, exact_quasi=exact))
        return LearnedFrame(rows, population, table, leaks, pseudonyms)

    def split(self, recipe: Recipe, learned: LearnedFrame, progress: Progress) -> WholeTables:
        """Make the tables; rows for which no classes are found are withheld, within the policy's limit."""
        policy = recipe.policy
        given = ReleaseInput(learned.rows, policy, recipe.seed, progress, learned.population)
        given, layout = _laid_out(given, recipe.method, recipe.options)
        exact = layout_of(recipe.method).exact_quasi
        return WholeTables(
            layout=layout,
            policy=policy,
            reader_policy=given.reader_policy,
            withheld=given.publishable.withheld,
            originals=tuple(
                original_facts(given.table, each.frame, each.rows, policy, exact_quasi=exact) for each in layout.tables
            ),
            distances=tuple(map(distance_of, given.table.judged.values())),
            noted=Notes.of(given.table.quasi, given.table.sensitive, recipe.options),
        )


def _columns(policy: Policy) -> set[str]:
    """Return the columns that a release needs: those with a role, and sampling weights, which have none."""
    weight = None if policy.context is None else policy.context.sampling_weight
    return {name for name, _ in policy.columns()} | (set() if weight is None else {weight})


def _laid_out(given: ReleaseInput, method: str, options: Mapping[str, Any]) -> tuple[ReleaseInput, Layout]:
    """Make the tables of a release, and withhold the rows for which no classes are found."""
    while True:
        try:
            return given, laid_out(given, method, options)
        except NoPartition as refusal:
            given = replace(given, publishable=given.publishable.without(refusal.rows, given.policy))


# Which releases need all rows together, so that the table is one part


def parts_refusal(policy: Policy, method: str, options: Mapping[str, Any]) -> str | None:
    """Say why a release is made as one part; None where it can be made in several."""
    if (why := one_part_by(method)) is not None:
        return why
    if method == DEFAULT_METHOD and set(options) - {METHODS[method].option}:
        return say("{method} splits parts of a table with its efforts only", method=method)
    if not policy.quasi:
        return "without quasi-identifiers there is nothing to cut a table into parts by"
    return one_part_for(policy)


# The rows that a request names, at the place where it wants them to be worked on


@contextmanager
def requested_rows(request: Request, told: Repeating) -> Iterator[tuple[Rows, int]]:
    """Hold the rows that a request names for as long as the work lasts, with the seed of the work."""
    place = place_of(request)
    why = None if place == "memory" else one_part_because(request, place)
    if why is not None:
        if request.resume:
            raise InputError(
                "this release is made as one part, of which nothing is kept: leave --resume out ({why})", why=why
            )
        warnings.warn(say("all rows are held in memory: {why}", why=why), WholeTableWarning, stacklevel=4)
    if place in CLUSTERS:
        module, _, held = CLUSTERS[place].rows.partition(":")
        with getattr(import_module(module), held)(request, told) as (rows, seed):
            yield (rows if why is None else rows.whole(request), seed)
    elif place == "disk" and why is None:
        from tclose.run.parts.file_rows import file_rows  # its kernels

        with file_rows(request, told) as found:
            yield found
    else:
        told(0.0, "reading")
        yield FrameRows.read(request.table, lowered(request)), seed_of(request.seed)


def place_of(request: Request) -> str:
    """Return where the work is done; settings that belong to another place are refused."""
    if request.engine not in PUBLISHING_ENGINES:
        raise InputError(
            "there is no engine '{engine}': choose {publishing_engines}",
            engine=request.engine,
            publishing_engines=", ".join(PUBLISHING_ENGINES),
        )
    cluster, table = CLUSTERS.get(request.engine), request.table
    if request.master is not None and cluster is None:
        names = " or ".join(CLUSTERS)
        advice = "" if request.replay is not None else say(", or say --engine {names}", names=names)
        raise InputError("only the engine {names} has a master: leave --master out{advice}", names=names, advice=advice)
    if cluster and not isinstance(table, str | Path):
        raise InputError(
            "{frame}: use the engine memory, or {frames}",
            frame=REFUSED["frames"][request.engine],
            frames=cluster.frames,
        )
    if cluster and Location.of(table).scheme:
        raise InputError("{database}: use the engine memory", database=REFUSED["databases"][request.engine])
    if cluster and Path(table).is_file() and not is_parquet(Path(table)):
        raise InputError(
            "{csv_file}, and {table} is none: choose another engine",
            csv_file=REFUSED["CSV files"][request.engine],
            table=table,
        )
    on_disk = not cluster and _on_disk(request)
    if request.resume and not on_disk:
        raise InputError("only a run of the engine disk can be continued: leave --resume out")
    return request.engine if cluster else "disk" if on_disk else "memory"


def _on_disk(request: Request) -> bool:
    """Tell whether the table is published out of core; `auto` takes memory for what needs it."""
    if request.engine == "auto" and (request.stays_in_memory or Path(request.out).suffix.lower() in AT_ONCE):
        return False
    assert request.method is not None
    return engines.published_on_disk(
        request.engine, request.table, request.asked, request.method, request.options or {}
    )


def one_part_because(request: Request, place: str) -> str | None:
    """Say what needs all rows together, or why the table is read as a whole; None where it is cut into parts."""
    assert request.method is not None
    if made := request.needs_all_rows:
        return " and ".join(made)
    if (why := parts_refusal(request.asked, request.method, request.options or {})) is not None:
        return why
    if place in CLUSTERS:
        return None
    if not isinstance(request.table, str | Path):
        return engines.AT_HAND
    return engines.not_in_batches(request.table, request.asked.source)
