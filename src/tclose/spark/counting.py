"""A table counted on a cluster: the groups stay there, in buckets, and work on them goes there."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np
import polars as pl
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from tclose.engine.disk import Counting
from tclose.privacy.counted import needs_all_classes
from tclose.spark.executors import Batches, on_executor
from tclose.spark.jobs import rows_of
from tclose.spark.parcels import ANSWERS_IN_SPARK, FACTS, PartFacts, WhatIsCounted, on_bucket
from tclose.table.buckets import Answer, BucketedRows, Groups, Notes
from tclose.table.coded import warn_of_repeats
from tclose.table.grouped import with_notes
from tclose.table.sources.base import FIRST, ROWS
from tclose.table.tally import comparable
from tclose.types import Beat, Ints

SHUFFLED = "spark.sql.shuffle.partitions"


class ClusterRows(BucketedRows):
    """One counting of the rows of a table, whose groups lie on a cluster."""

    def __init__(self, parcels: DataFrame, what: WhatIsCounted, place: int, facts: Sequence[PartFacts], beat: Beat):
        self.grouping, self._several = what.groupings[place], what.buckets > 1
        found = [part.counted[place] for part in facts]
        self.rows, self.withheld = sum(rows for rows, _, _ in found), sum(withheld for _, withheld, _ in found)
        self.notes = reduce(with_notes, (notes for _, _, notes in found), Notes())
        self._parcels, self._beat = parcels.filter(F.col("counting") == place).select("extra", "payload"), beat

    def __getstate__(self) -> dict[str, Any]:
        """Leave the frame and the progress with the driver: executors look at one bucket only."""
        return {**self.__dict__, "_parcels": None, "_beat": None}

    @property
    def in_buckets(self) -> bool:
        """Whether there are several buckets."""
        return self._several

    def each(self, work: Callable[[Groups], Answer]) -> Iterator[Answer]:
        """Do some work on every bucket, on the executors, and yield the answers."""
        job = partial(on_bucket, grouping=self.grouping, spellings=self.spellings, work=work)
        for row in rows_of(_answers(self._parcels, job), self._beat):
            yield pickle.loads(row.answer)


@dataclass(frozen=True, eq=False)
class CountedOnCluster:
    """A table that was counted: what is known of its parts, and everything that was counted."""

    parcels: DataFrame
    beat: Beat
    facts: list[PartFacts]  # in the order of their rows
    counted: list[ClusterRows]

    def check_cells(self) -> None:
        """Refuse cells that cannot be compared, and say in which rows they are."""
        refused = [each for part in self.facts for each in part.refused]
        for name in dict.fromkeys(name for name, _ in refused):
            cells = pl.concat([frame for other, frame in refused if other == name]).sort(FIRST)
            rows = self._row_numbers(cells[FIRST].to_numpy())
            comparable(cells["cell"].alias(name), rows, cells[ROWS].to_numpy())

    def payloads(self, counting: int) -> list[bytes]:
        """Bring parcels here that hold no groups."""
        return payloads_of(self.parcels, counting, self.beat)

    def answers(self, counting: int, work: Callable[[Batches], Batches]) -> list[Any]:
        """Do some work on parcels that hold no groups, and bring the answers here."""
        chosen = self.parcels.filter(F.col("counting") == counting).select("payload")
        return [pickle.loads(row.answer) for row in rows_of(_answers(chosen, work), self.beat)]

    def warn_of_repeats(self, identifiers: Iterable[str]) -> tuple[str, ...]:
        """Warn about identifiers that repeat, and return them; they were counted after the table, in this order."""
        repeated = {name: groups.repeated() for name, groups in zip(identifiers, self.counted[1:], strict=True)}
        warn_of_repeats(repeated)
        return tuple(name for name, rows in repeated.items() if rows)

    def _row_numbers(self, firsts: Ints) -> Ints:
        """Return where rows stand in the table, from 0, though numbers leave gaps between parts."""
        starts, read = (np.array([getattr(part, name) for part in self.facts]) for name in ("start", "read"))
        part = np.searchsorted(starts, firsts, side="right") - 1
        rows: Ints = (np.cumsum(read) - read)[part] + firsts - starts[part]
        return rows


def counted_of(counting: Counting, spark: SparkSession) -> WhatIsCounted:
    """Return what is counted for a policy, and into how many buckets it goes."""
    groupings = [counting.groups.grouping, *(groups.grouping for groups in counting.identifiers.values())]
    buckets = 1 if needs_all_classes(counting.policy) else int(spark.conf.get(SHUFFLED) or 1)
    return WhatIsCounted(tuple(groupings), max(1, buckets))


@contextmanager
def counted_on_cluster(parcels: DataFrame, what: WhatIsCounted, beat: Beat) -> Iterator[CountedOnCluster]:
    """Count a table once, let it be looked at, and drop the groups in the end.

    `parcels` are what the parts of the table give (`PartCounting`).
    """
    kept = parcels.repartition("bucket").persist(StorageLevel.MEMORY_AND_DISK)
    try:
        facts: list[PartFacts] = [pickle.loads(payload) for payload in payloads_of(kept, FACTS, beat)]
        facts = sorted((part for part in facts if part.read or part.file is not None), key=lambda part: part.start)
        counted = [ClusterRows(kept, what, place, facts, beat) for place in range(len(what.groupings))]
        yield CountedOnCluster(kept, beat, facts, counted)
    finally:
        kept.unpersist()


def _answers(parcels: DataFrame, work: Callable[[Batches], Batches]) -> DataFrame:
    return parcels.mapInArrow(on_executor(work), ANSWERS_IN_SPARK)


def payloads_of(parcels: DataFrame, counting: int, beat: Beat) -> list[bytes]:
    """Bring the payloads of some parcels to the driver."""
    return [row.payload for row in rows_of(parcels.filter(F.col("counting") == counting).select("payload"), beat)]
