"""What is learned from a table while each of its rows is looked at once, and the part that each row belongs to.

The rules that tell the part are learned from a sample; large parts are cut, small groups packed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from tclose.partition import DEFAULT_METHOD, Problem
from tclose.partition.parts import Cut, PartCounts, learn_cut, random_of_rows, repaired, share_of, whole_of
from tclose.partition.parts.cut import RandomNumbers
from tclose.partition.problem import WholeTable
from tclose.partition.shared.axes import axis_codes
from tclose.partition.split import problem_of
from tclose.partition.weave import EffortName
from tclose.policy import Policy
from tclose.privacy.feasibility import publishable_groups
from tclose.table import CodedTable, CountedTable
from tclose.table.coded import warn_of_repeats
from tclose.table.domains import (
    LearnedTable,
    Spellings,
    columns_read,
    counted_rows,
    identifiers_to_count,
    learning_of,
    repeats_of,
    without_categories,
)
from tclose.table.groups import BUDGET, GroupedRows, lacking
from tclose.types import Beat, Bools, Ints, Progress, silent, still, stretch

# What is learned from all rows


PART_ROWS = 60_000  # of a part, at least
SAMPLED = 4000  # rows of the sample for each part
MOST_SAMPLED = 2_000_000  # rows of the sample; of larger tables, parts have more rows


@dataclass(frozen=True, eq=False, repr=False)
class LearnedCounts:
    """What is known of a table before it is split."""

    table: LearnedTable
    counted: CountedTable
    groups: pl.DataFrame  # the kept cells of each group of rows
    sizes: Ints  # the rows of each group
    sample: pl.DataFrame  # rows to be published, as they were read
    part_rows: int
    sampled: int  # rows of the sample for each part
    repeating: tuple[str, ...] = ()  # identifiers that repeat, where rows are counted


def sampled_of(part_rows: int) -> int:
    """Return how many rows of the sample there are for each part."""
    return min(SAMPLED, part_rows)


def sample_bound(part_rows: int, halvings: int = 0) -> np.uint64:
    """Return the number below which the random numbers of the sample's rows are."""
    share = (2**64 * sampled_of(part_rows) // part_rows) >> halvings
    return np.uint64(min(share, 2**64 - 1))


class TableLearner:
    """Learns from batches of rows; what is kept grows with the number of different cells, not with that of rows."""

    def __init__(
        self, policy: Policy, columns: Sequence[str], seed: int, *, part_rows: int | None = None, beat: Beat = still
    ) -> None:
        self.policy, self.columns = policy, columns_read(policy, columns)
        self.spellings, self.groups = Spellings(policy), GroupedRows(learning_of(policy), budget=None, beat=beat)
        self._beat, self.identifiers = beat, dict[str, GroupedRows]()
        self._seed, self._part_rows = seed, part_rows or PART_ROWS
        self._sampled = sampled_of(self._part_rows)
        self._halvings = 0  # of the share of rows that are sampled
        self.repeating: tuple[str, ...] = ()  # identifiers, once `warn` has looked at them
        self._sample: list[tuple[pl.DataFrame, RandomNumbers]] = []

    def check(self, columns: pl.DataFrame) -> None:
        """Refuse columns, given without rows, whose cells cannot be counted; note which of them are identifiers."""
        self.groups.check(columns)
        for name in identifiers_to_count(columns, self.policy):
            self.identifiers[name] = GroupedRows(repeats_of(name, self.policy), budget=BUDGET, beat=self._beat)

    @property
    def wanted(self) -> tuple[str, ...]:
        """The columns that have to be looked at: those that are read, and identifiers, which should not repeat."""
        return (*self.columns, *self.identifiers)

    def add(self, rows: pl.DataFrame) -> None:
        """Learn from one more batch of rows, of the columns that are wanted."""
        for identifiers in self.identifiers.values():
            identifiers.add(counted_rows(rows, identifiers.grouping), rows.height)
        first = self.groups.read
        rows = pl.DataFrame({name: rows[name] for name in self.columns})
        rows = self.spellings.unified(without_categories(rows))
        self.groups.add(counted_rows(rows, self.groups.grouping), rows.height)
        random = random_of_rows(self._seed, first, rows.height)
        self._keep(rows, random)
        # a row stays by its own number, whatever batch it came in, so the sample is the same for any batches
        while sum(len(numbers) for _, numbers in self._sample) > MOST_SAMPLED:
            self._halvings += 1
            self._sample, before = [], self._sample
            for sample, numbers in before:
                self._keep(sample, numbers)

    def _keep(self, rows: pl.DataFrame, random: RandomNumbers) -> None:
        """Keep the rows whose random number is small enough."""
        chosen = np.flatnonzero(random < self._bound)
        if len(chosen):
            self._sample.append((rows[chosen], random[chosen]))

    @property
    def _bound(self) -> np.uint64:
        return sample_bound(self._part_rows, self._halvings)

    def adopt(
        self, groups: GroupedRows, seen: Mapping[str, set[str | None]], sample: pl.DataFrame, halvings: int
    ) -> None:
        """Take what was learned elsewhere: counts, spellings of "no value", and a sample, whose share was halved."""
        self.groups, self.spellings.seen = groups, dict(seen)
        self._sample, self._halvings = [(sample, np.zeros(0, dtype=np.uint64))] if sample.height else [], halvings

    def warn(self) -> None:
        """Warn about identifiers that repeat."""
        repeated = {name: identifiers.repeated() for name, identifiers in self.identifiers.items()}
        self.repeating = tuple(name for name, rows in repeated.items() if rows)
        warn_of_repeats(repeated)

    def close(self) -> None:
        """Give back the space on disk."""
        for identifiers in self.identifiers.values():
            identifiers.close()

    def finished(self) -> LearnedCounts:
        """Find the rows that can be published, and learn the domains from them."""
        counted = publishable_groups(self.groups, self.policy, self._beat)
        table = LearnedTable.of(counted, self.policy, self.columns, self.spellings)
        classes = counted.all_classes()
        keys = classes.shown(np.ones(len(classes), dtype=bool))
        groups = dict(zip(self.policy.keep, keys.iter_columns(), strict=False))  # without kept columns, none
        sample = pl.concat([rows for rows, _ in self._sample]) if self._sample else pl.DataFrame()
        return LearnedCounts(
            table=table,
            counted=counted,
            groups=pl.DataFrame(groups),
            sizes=classes.sizes,
            sample=table.publishable(sample) if sample.height else sample,
            part_rows=self._part_rows << self._halvings,
            sampled=self._sampled,
            repeating=self.repeating,
        )


# The plan of the parts


@dataclass(frozen=True, eq=False)
class GroupPlan:
    """Where the rows of one group of kept values go: into one part, or into those of a cut."""

    first: int  # its first piece
    cut: Cut | None = None
    whole: WholeTable | None = None
    share: float = 1.0  # of t that a part of the cut may use up

    @property
    def pieces(self) -> int:
        """How many pieces the rows are cut into."""
        return 1 if self.cut is None else self.cut.parts


@dataclass(frozen=True, eq=False, repr=False)
class PartPlan:
    """The pieces of a table; a part is one of them, or several that must be joined. It is small, and can be pickled."""

    kept: pl.DataFrame  # the cells of each group
    groups: Sequence[GroupPlan]
    problem: Problem | None  # of no rows: what is asked of every part; None where nothing is cut
    seed: int

    @property
    def pieces(self) -> int:
        """How many pieces there are."""
        return max(group.first + group.pieces for group in self.groups)

    @classmethod
    def of(cls, learned: LearnedCounts, effort: EffortName | None, seed: int, progress: Progress = silent) -> PartPlan:
        """Learn the rules; groups of few rows are put together until they make a part.

        `effort` is that of weave; None where another method splits the parts.
        """
        table, policy = learned.table, learned.table.policy
        order = _in_order(learned.groups, len(learned.sizes))
        kept, sizes = learned.groups[order] if learned.groups.width else learned.groups, learned.sizes[order]
        sample = table.coded(learned.sample) if learned.sample.height else None
        problem = None if sample is None else problem_of(sample, policy, DEFAULT_METHOD)
        of_row = np.zeros(0, dtype=np.int64) if sample is None else group_of_rows(sample.frame, kept, policy)
        plans: list[GroupPlan] = []
        first = packed = 0
        # `packed` counts the rows of small groups that share the piece `first`; a large group begins a piece of its own
        for group, rows in enumerate(sizes.tolist()):
            if rows < 2 * learned.part_rows or problem is None:
                plans.append(GroupPlan(first))
                packed += rows
            else:
                first, packed = first + bool(packed), 0
                part = stretch(progress, group / len(sizes), (group + 1) / len(sizes), "cutting the table")
                own = problem.part(np.flatnonzero(of_row == group))
                plans.append(_cut_group(own, learned, rows, effort, seed, first, part))
                first += plans[-1].pieces
            if packed >= learned.part_rows:
                first, packed = first + 1, 0
        asked = None if problem is None else problem.part(np.zeros(0, dtype=np.int64))
        return cls(kept, tuple(plans), asked, seed)

    @property
    def cuts(self) -> bool:
        """Whether some group is cut."""
        return any(group.cut is not None for group in self.groups)

    def pieces_of(self, table: CodedTable, random: RandomNumbers) -> Ints:
        """Return the piece of each row, which has a random number (`random_of_rows`)."""
        groups = group_of_rows(table.frame, self.kept, table.policy)
        pieces = np.array([group.first for group in self.groups])[groups]
        if not self.cuts:
            return pieces
        axes, codes = axis_codes(table), judged_codes(table)
        for group in np.unique(groups).tolist():
            if (cut := self.groups[group].cut) is not None:
                rows = np.flatnonzero(groups == group) if len(self.groups) > 1 else slice(None)
                pieces[rows] += cut.parts_of(axes[rows], codes[rows], random[rows])
        return pieces


@dataclass(eq=False, repr=False)
class PieceCounts:
    """Exact counts of all pieces, added up over batches; pieces that are not admitted are joined."""

    plan: PartPlan
    learned: LearnedTable
    counts: dict[int, PartCounts] = field(default_factory=dict)  # by group
    persons: dict[int, set[int]] = field(default_factory=dict)  # of each piece, until there are k

    def add(self, table: CodedTable, pieces: Ints) -> None:
        """Count the rows of a batch."""
        if not self.plan.cuts:
            return
        domains = [len(column.reference) for column in table.judged.values()]
        codes = judged_codes(table)
        for group, plan in enumerate(self.plan.groups):
            if plan.cut is not None:
                rows = (pieces >= plan.first) & (pieces < plan.first + plan.pieces)
                found = PartCounts.of(pieces[rows] - plan.first, plan.pieces, codes[rows], domains)
                self.counts[group] = self.counts[group] + found if group in self.counts else found
        if table.policy.person is not None:
            self._add_persons(table.frame[table.policy.person], pieces)

    def add_counts(self, other: PieceCounts) -> None:
        """Add what was counted elsewhere."""
        for group, found in other.counts.items():
            self.counts[group] = self.counts[group] + found if group in self.counts else found
        for piece, persons in other.persons.items():
            self.persons.setdefault(piece, set()).update(persons)

    def _add_persons(self, persons: pl.Series, pieces: Ints) -> None:
        """Note whom the rows of each piece belong to, until there are k persons."""
        few = [piece for piece in np.unique(pieces).tolist() if len(self.persons.get(piece, ())) < self._least]
        unknown = pl.Series(lacking(persons.alias(""), self.learned.policy.missing))  # all of them count as one person
        numbers = pl.select(pl.when(~unknown).then(persons.alias(""))).to_series().hash().to_numpy()
        for piece in few:
            self.persons.setdefault(piece, set()).update(np.unique(numbers[pieces == piece])[: self._least].tolist())

    @property
    def _least(self) -> int:
        return 1 if self.plan.problem is None else self.plan.problem.k

    def parts(self) -> list[list[int]]:
        """Return the pieces of each part: what is admitted stands alone, other pieces are joined with neighbours."""
        return [pieces for group in range(len(self.plan.groups)) for pieces in self._parts_of(group)] or [[0]]

    def _parts_of(self, group: int) -> Iterator[list[int]]:
        plan = self.plan.groups[group]
        if plan.cut is None:
            if group == 0 or self.plan.groups[group - 1].first != plan.first:
                yield [plan.first]
            return
        assert self.plan.problem is not None
        asked = (self.plan.problem.sensitive, self._least, plan.share)
        admitted = repaired(plan.cut, self.counts[group], *asked, self._have_persons(plan))
        part_of_piece = plan.cut.parts_in(admitted)
        for part in range(admitted.parts):
            yield (plan.first + np.flatnonzero(part_of_piece == part)).tolist()

    def _have_persons(self, plan: GroupPlan) -> Bools | None:
        """Tell, per node of a cut, whether its rows are of k persons; nothing where rows are counted."""
        if self.learned.policy.person is None:
            return None
        assert plan.cut is not None
        spans = (plan.first + plan.cut.spans).tolist()
        found = [set().union(*(self.persons.get(piece, ()) for piece in range(*span))) for span in spans]
        return np.array([len(persons) for persons in found]) >= self._least


def whole_of_part(plan: PartPlan, pieces: Sequence[int]) -> WholeTable | None:
    """Return the group that a part was cut from; None where the part has whole groups."""
    cut = (group for group in plan.groups if group.cut is not None)
    return next((group.whole for group in cut if group.first <= pieces[0] < group.first + group.pieces), None)


def group_of_rows(rows: pl.DataFrame, kept: pl.DataFrame, policy: Policy) -> Ints:
    """Return the group of kept values of each row."""
    if not policy.keep:
        return np.zeros(rows.height, dtype=np.int64)
    keys = list(map(str, range(len(policy.keep))))
    known = pl.DataFrame(dict(zip(keys, kept.iter_columns(), strict=True))).with_row_index("group")
    shown = pl.DataFrame(dict(zip(keys, (rows[name] for name in policy.keep), strict=True)))
    found = shown.join(known, on=keys, how="left", nulls_equal=True, maintain_order="left")
    return found["group"].cast(pl.Int64).to_numpy()


def judged_codes(table: CodedTable) -> Ints:
    """Return the codes of everything that closeness is asked of: rows × attributes."""
    columns = [column.codes for column in table.judged.values()]
    return np.stack(columns, axis=1) if columns else np.zeros((len(table), 0), dtype=np.int64)


def _cut_group(
    sample: Problem,
    learned: LearnedCounts,
    rows: int,
    effort: EffortName | None,
    seed: int,
    first: int,
    progress: Progress,
) -> GroupPlan:
    """Learn how a group of many rows is cut; without rows in the sample, it is not."""
    if sample.rows < 2 * learned.sampled:
        return GroupPlan(first)
    choosing, cutting = stretch(progress, 0.0, 0.5), stretch(progress, 0.5, 1.0)
    whole = WholeTable(rows) if effort is None else whole_of(sample, effort, rows, choosing)
    share = share_of(effort, whole)
    cut = learn_cut(
        replace(sample, axes=sample.all_axes),
        total_rows=rows,
        part_rows=learned.part_rows,
        share=share,
        seed=seed,
        sampled=learned.sampled,
        progress=cutting,
    )
    return GroupPlan(first, cut, whole, share)


def _in_order(groups: pl.DataFrame, count: int) -> Ints:
    """Return the groups in the order of their cells, which depends on no row."""
    ranks = [column.alias("").cast(pl.String).rank("dense").fill_null(0).to_numpy() for column in groups.iter_columns()]
    return np.lexsort(ranks[::-1]) if ranks else np.arange(count)
