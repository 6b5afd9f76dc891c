"""Which rows of a counted table can be published at all: the groups of kept values are judged by their counts.

It is what `feasibility.py` does for rows in memory, but no smaller classes are searched: a group that some model does
not admit as one class is withheld, within the policy's limit, or the request is refused.
"""

from __future__ import annotations

import warnings

from tclose.errors import Infeasible, LeakWarning
from tclose.policy import Policy
from tclose.privacy.feasibility import (
    Groups,
    advice,
    check_lacking,
    check_withheld,
    groups_to_withhold,
    infeasible,
)
from tclose.privacy.group_counts import CountsOfGroups
from tclose.privacy.judge import judge_counts
from tclose.table import CountedTable
from tclose.table.grouped import GroupedRows
from tclose.types import Beat, still


def publishable_groups(groups: GroupedRows, policy: Policy, beat: Beat = still) -> CountedTable:
    """Leave out the groups that cannot be published; return what is learned from the rest.

    `groups` counts every sensitive column by the kept ones (`learning_of`), in memory.
    """
    whole, refused = groups.read, ""
    check_lacking(groups.withheld, whole, policy)
    table = CountedTable.of(groups, policy)
    while True:
        beat()
        classes = table.all_classes()
        given = CountsOfGroups(classes, policy)
        _, verdicts = judge_counts(given, table.judged, policy, ())
        failing = [verdict for verdict in verdicts if not verdict.judgement.satisfied]
        if not failing:
            break
        refused = refused or infeasible(failing, Groups(given, table.judged, len(classes), lambda _: True), policy)
        hopeless = groups_to_withhold(failing, classes.sizes)
        if hopeless.all():
            raise Infeasible(f"{refused}{advice(policy)}")
        groups.leave_out(classes.shown(hopeless), int(classes.sizes[hopeless].sum()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LeakWarning)  # given when all rows were looked at
            table = CountedTable.of(groups, policy)
    check_withheld(groups.withheld, whole, policy, refused)
    return table
