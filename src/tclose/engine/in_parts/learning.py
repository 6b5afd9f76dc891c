"""Everything that is learned from a table while each of its rows is looked at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tclose.partition.parts import random_of_rows
from tclose.partition.parts.cut import RandomNumbers
from tclose.policy import Policy
from tclose.privacy.feasible_counts import publishable_groups
from tclose.table import CountedTable
from tclose.table.coded import warn_of_repeats
from tclose.table.counted import identifiers_to_count, repeats_of
from tclose.table.grouped import BUDGET, GroupedRows
from tclose.table.learned import (
    LearnedTable,
    Spellings,
    columns_read,
    counted_rows,
    learning_of,
    without_categories,
)
from tclose.types import Beat, Ints, still

PART_ROWS = 60_000  # of a part, at least
SAMPLED = 4000  # rows of the sample for each part
MOST_SAMPLED = 2_000_000  # rows of the sample; of larger tables, parts have more rows


@dataclass(frozen=True, eq=False)
class Learned:
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


class Learning:
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

    def finished(self) -> Learned:
        """Find the rows that can be published, and learn the domains from them."""
        counted = publishable_groups(self.groups, self.policy, self._beat)
        table = LearnedTable.of(counted, self.policy, self.columns, self.spellings)
        classes = counted.all_classes()
        keys = classes.shown(np.ones(len(classes), dtype=bool))
        groups = dict(zip(self.policy.keep, keys.iter_columns(), strict=False))  # without kept columns, none
        sample = pl.concat([rows for rows, _ in self._sample]) if self._sample else pl.DataFrame()
        return Learned(
            table=table,
            counted=counted,
            groups=pl.DataFrame(groups),
            sizes=classes.sizes,
            sample=table.publishable(sample) if sample.height else sample,
            part_rows=self._part_rows << self._halvings,
            sampled=self._sampled,
            repeating=self.repeating,
        )
