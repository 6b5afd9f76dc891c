"""The check of a Spark frame: its rows are counted where they lie, and classes are judged there, bucket by bucket."""

from __future__ import annotations

from functools import partial

from pyspark.sql import DataFrame

from tclose.engine.disk import Counting
from tclose.errors import InputError
from tclose.policy import Policy, PolicyLike
from tclose.privacy.allowance import told_of_policy
from tclose.privacy.counted import judge_counted
from tclose.privacy.judge import check_groups
from tclose.privacy.results import CheckResult
from tclose.spark.columns import ROW, columns_of, numbered, selected
from tclose.spark.counting import CountedOnCluster, counted_of, counted_on_cluster
from tclose.spark.executors import on_executor
from tclose.spark.parcels import CHANGED, PARCELS_IN_SPARK, counted_rows
from tclose.table import CountedTable
from tclose.types import Progress, Repeating, silent

READ, LEARNED = 0.7, 0.85  # shares of the work after which rows are counted, and domains are known


def check(
    df: DataFrame, policy: PolicyLike, *, ignore_others: bool = False, progress: Progress | None = None
) -> CheckResult:
    """Say whether a Spark frame holds what a policy asks for, as `tclose.check` says it of `df.toArrow()`.

    The table is read once, on the executors. Only counts of a few classes, and 16 bytes per class, come to the driver.
    Classes have the numbers that they would have there, if the frame has an order.
    """
    policy, told = Policy.of(policy), Repeating(progress or silent)
    check_possible(policy)
    told(0.0, "reading")
    columns = columns_of(df, {name for name, _ in policy.columns()}, told.beat)
    counting = Counting(policy, ignore_others, told.beat)
    counting.wanted(columns)
    what = counted_of(counting, df.sparkSession)
    rows = numbered(selected(df, what.columns))
    parcels = rows.mapInArrow(on_executor(partial(counted_rows, what=what, row=ROW)), PARCELS_IN_SPARK)
    with counted_on_cluster(parcels, what, told.beat) as cluster:
        told(READ, "learning")
        return _judged(cluster, counting, told)


def check_possible(policy: Policy) -> None:
    """Refuse a policy that needs more than the counts of a table."""
    if policy.presence is not None:
        raise InputError("presence is judged against the rows of a population, which Spark does not read: use memory")


def _judged(cluster: CountedOnCluster, counting: Counting, told: Repeating) -> CheckResult:
    cluster.check_cells()
    rows, policy = cluster.counted[0], counting.policy
    if not rows.rows + rows.withheld:
        raise InputError("the table has no rows")
    table = CountedTable.of(rows, policy)
    cluster.warn_of_repeats(counting.identifiers)
    check_groups(table.domain, policy)
    told(LEARNED, "judging")
    judged = judge_counted(table, policy)
    if int(judged.sizes.sum()) != len(table):
        raise InputError(CHANGED)
    told(1.0)
    return told_of_policy(judged.result, table, policy)
