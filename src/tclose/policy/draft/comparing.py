"""How sensitive numbers are compared: by quantile bins, for by rank a t would limit little.

Most values of a bell-shaped number lie close together, and rare extremes lengthen the line of ranks. A class that shows
one middle value only is then within 0.15 of the whole table. In bins of equally many rows it is 0.25 away, or more.
"""

from __future__ import annotations

from typing import Any

from tclose.policy.draft.profile import Profile

BINS = 20
LEAST_BINS = 10  # fewer are too coarse where values are published as they are: t does not tell values of a bin apart
LEAST_IN_BIN = 5  # rows; a small table gets fewer bins
FEW_LEVELS = 10  # different numbers: no more are levels, such as 1 to 5, which are compared as they are
ASKED = ("0.05", "0.1", "0.2")  # levels of t, of which a draft says what they allow


def quantiles(column: Profile) -> int:
    """Return how many bins of equally many rows a column gets."""
    return max(1, min(BINS, column.present // LEAST_IN_BIN))


def compared_in(column: Profile) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return how the numbers of a column are compared, which are published as they are, and why."""
    bins = quantiles(column)
    if column.kind != "number" or column.distinct <= FEW_LEVELS or bins < LEAST_BINS:
        return {}, ()
    said = (
        f"compared in {bins} bins of about equally many rows, published as they are; "
        "without bins it is compared by rank, and t limits less"
    )
    return {"bins": {"quantiles": bins}}, (said,)
