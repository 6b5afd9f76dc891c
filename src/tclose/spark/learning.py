"""Everything that is learned from a Spark frame before it is split: counts and a sample come to the driver, no more."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import polars as pl
from pyspark.sql import DataFrame

from tclose.engine.in_parts.learning import MOST_SAMPLED, PART_ROWS, Learned, Learning, sample_bound
from tclose.errors import InputError
from tclose.policy import Policy
from tclose.privacy.judge import check_groups
from tclose.spark.columns import ROW, columns_of, numbered, selected
from tclose.spark.counting import SHUFFLED, CountedOnCluster, counted_on_cluster
from tclose.spark.executors import on_executor
from tclose.spark.parcels import PARCELS_IN_SPARK, WhatIsCounted
from tclose.spark.row_parcels import ABOUT_SAMPLE, SAMPLE, AboutSample, learned_rows, sample_below
from tclose.table.buckets import itself
from tclose.table.coded import check_columns, warn_of_leaks
from tclose.table.grouped import GroupedRows
from tclose.types import Repeating


def learn(df: DataFrame, policy: Policy, seed: int, part_rows: int | None, told: Repeating) -> Learned:
    """Look at every row once, on the executors."""
    named = {name for name, _ in policy.columns()}
    columns = columns_of(df, named, told.beat)
    check_columns(columns, policy, identifiers_too=True)
    warn_of_leaks(columns, policy)
    learning = Learning(policy, columns.columns, seed, part_rows=part_rows, beat=told.beat)
    learning.check(columns)
    repeats = learning.identifiers
    buckets = max(1, int(df.sparkSession.conf.get(SHUFFLED) or 1))
    what = WhatIsCounted((learning.groups.grouping, *(groups.grouping for groups in repeats.values())), buckets)
    job = partial(
        learned_rows,
        what=what,
        policy=policy,
        columns=learning.columns,
        seed=seed,
        part_rows=part_rows or PART_ROWS,
        row=ROW,
    )
    parcels = numbered(selected(df, what.columns)).mapInArrow(on_executor(job), PARCELS_IN_SPARK)
    with counted_on_cluster(parcels, what, told.beat) as cluster:
        cluster.check_cells()
        learning.repeating = cluster.warn_of_repeats(repeats)
        _adopt(learning, cluster, part_rows or PART_ROWS)
    learned = learning.finished()
    check_groups(learned.counted.domain, policy)
    return learned


def _adopt(learning: Learning, cluster: CountedOnCluster, part_rows: int) -> None:
    """Bring counts and sample to the driver."""
    counted = cluster.counted[0]
    if not counted.rows + counted.withheld:
        raise InputError("the table has no rows")
    about: list[AboutSample] = [pickle.loads(payload) for payload in cluster.payloads(ABOUT_SAMPLE)]
    sampled = np.sum([part.sampled for part in about], axis=0)
    halvings = int(np.argmax(sampled <= MOST_SAMPLED))
    groups = GroupedRows.of_buckets(
        counted.grouping,
        counted.each(itself),
        rows=counted.rows,
        withheld=counted.withheld,
        notes=counted.notes,
    )
    seen = {name: set().union(*(part.seen[name] for part in about)) for name in about[0].seen}
    drawn = cluster.answers(SAMPLE, partial(sample_below, bound=sample_bound(part_rows, halvings)))
    samples = [rows for _, rows in sorted(drawn, key=lambda part: part[0])]
    learning.adopt(groups, seen, pl.concat(samples), halvings)
