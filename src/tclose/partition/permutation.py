"""Permutation: groups of near rows within which the sensitive values are permuted.

Zhang, Q., Koudas, N., Srivastava, D., Yu, T.: Aggregate query answering on anonymized tables. ICDE 2007, 116-125;
Koudas, N., Srivastava, D., Yu, T., Zhang, Q.: Distribution based microdata anonymization. PVLDB 2(1), 2009, 958-969.
Quasi-identifiers are published as they are and sensitive values are permuted within groups, so that a count over
quasi-identifiers is exact and one that also asks for sensitive values is wrong only where it cuts a group. The 2007
paper asks that a group shows at least k values that span at least e. Here a group obeys the models of the policy, t
among them. Groups of rows that are near in their quasi-identifiers are cut least, so any method that makes classes can
make the groups.
"""

from __future__ import annotations

from typing import Any

from tclose.errors import Unsuited
from tclose.partition import DEFAULT_METHOD, classes_of_base, method_called
from tclose.partition.problem import Problem
from tclose.types import Ints, Progress, silent


def partition(
    problem: Problem,
    *,
    seed: int = 0,
    progress: Progress = silent,
    base: str = DEFAULT_METHOD,
    **options: Any,
) -> Ints:
    """Return the group of every row, found by the base method."""
    if method_called(base).tables != "one":
        raise Unsuited("'{base}' does not publish classes, so it cannot make the groups", base=base)
    return classes_of_base(base, problem, seed, options, progress)
