"""Information: what columns tell about each other, and how far a release is from its table (Kifer & Gehrke 2006).

Both take the view of a reader who shares each published text out evenly among the cells that it covers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.measure.detail import Detail, Exact, Kept, joint
from tclose.measure.linkage import BLOCK
from tclose.types import Floats

VALUES = 1024  # of an attribute, looked at together


def mutual_information(shares: Floats) -> float:
    """Return Σ p·ln(p / (row · column)) of a table of shares, in nats.

    >>> round(mutual_information(np.array([[0.5, 0.0], [0.0, 0.5]])), 4), mutual_information(np.full((2, 2), 0.25))
    (0.6931, 0.0)
    """
    alone = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0, keepdims=True)
    there = shares > 0
    return max(float((shares[there] * np.log(shares[there] / alone[there])).sum()), 0.0)


def information_kept(detail: Detail) -> float | None:
    """Return how much of what quasi-identifiers tell about sensitive values is left, over all pairs."""
    before = after = 0.0
    for column in detail.visible:
        for other in detail.sensitive:
            before += mutual_information(joint(column, other, after=False))
            after += mutual_information(joint(column, other, after=True))
    return after / before if before > 1e-12 else None


def divergence(detail: Detail, other: Exact) -> float | None:
    """Return Σ p·ln(p/q) over all combinations of quasi-identifiers and one sensitive value, in nats.

    p is the table's share; q the one that a reader gives, who shares the rows of each class out among all combinations
    of the cells that it covers. None where the release says that a combination of the table does not exist, as may be
    when rows were withheld.
    """
    links, rows = detail.own, len(other.before)
    volume = np.ones(len(links.sizes))
    first = _first_rows(detail.labels)
    for column in detail.visible:
        volume *= column.covered[column.texts[first]]
    key, counts = np.unique(links.row_of * other.domain + other.before, return_counts=True)
    who, value = np.divmod(key, other.domain)
    believed = np.zeros(len(key))
    for low in range(0, other.domain, VALUES):
        weight = _per_cell(detail, other, low) / (volume[:, None] * len(detail.labels))
        step = max(1, BLOCK // max(len(links.sizes), VALUES))
        for start in range(0, len(links.rows), step):
            mine = slice(start, min(start + step, len(links.rows)))
            q = links.fitting(mine).astype(np.float64) @ weight
            here = (who >= mine.start) & (who < mine.stop) & (value >= low) & (value < low + VALUES)
            believed[here] = q[who[here] - mine.start, value[here] - low]
    if (believed == 0).any():
        return None
    p = counts / rows
    return max(float((p * np.log(p / believed)).sum()), 0.0)


def _first_rows(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.unique(labels, return_index=True)[1].astype(np.int64)


def _per_cell(detail: Detail, other: Exact, low: int) -> Floats:
    """Count classes × some values."""
    width = min(VALUES, other.domain - low)
    inside = (other.after >= low) & (other.after < low + VALUES)
    key = detail.labels[inside] * width + other.after[inside] - low
    counts = np.bincount(key, minlength=len(detail.own.sizes) * width)
    return counts.reshape(-1, width).astype(np.float64)


def mean_divergence(detail: Detail) -> float | None:
    """Return the mean over all sensitive attributes."""
    found = [divergence(detail, other) for other in detail.sensitive]
    known = [one for one in found if one is not None]
    return float(np.mean(known)) if known and len(known) == len(found) else None


KEPT = Kept("information", "share of mutual information kept", "higher", 0.0, None, information_kept)
DIVERGENCE = Kept("divergence", "divergence from the table (KL, nats)", "lower", 0.0, None, mean_divergence)
