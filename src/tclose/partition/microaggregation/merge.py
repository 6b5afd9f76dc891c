"""Merging (algorithm 1 of Soria-Comas et al. 2015): the class farthest beyond t joins its nearest, until none is."""

from __future__ import annotations

import numpy as np

from tclose.distance import Counts
from tclose.partition.problem import Attribute
from tclose.types import Floats, Ints, Progress


def joined(points: Floats, labels: Ints, sensitive: tuple[Attribute, ...], progress: Progress) -> Ints:
    """Return the classes with those beyond some t merged into others; one class of all rows must be within every t."""
    beyond = excess(labels, sensitive)
    order, sizes = np.argsort(labels, kind="stable"), np.bincount(labels)
    members = np.split(order, np.cumsum(sizes)[:-1])
    centres = np.stack([np.bincount(labels, weights=column) for column in points.T], axis=1) / sizes[:, None]
    failing = max(int((beyond > 0).sum()), 1)
    while beyond[worst := int(beyond.argmax())] > 0:
        progress(max(1 - int((beyond > 0).sum()) / failing, 0.0))
        gaps = ((centres - centres[worst]) ** 2).sum(axis=1)
        gaps[worst] = np.inf
        other = int(gaps.argmin())
        members[other] = np.concatenate((members[other], members[worst]))
        centres[other] = points[members[other]].mean(axis=0)
        centres[worst], members[worst], beyond[worst] = np.inf, members[worst][:0], -np.inf
        beyond[other] = _excess_of(members[other], sensitive)
    numbers = np.empty(len(labels), dtype=np.int64)
    for number, rows in enumerate(rows for rows in members if len(rows)):
        numbers[rows] = number
    return numbers


def excess(labels: Ints, sensitive: tuple[Attribute, ...]) -> Floats:
    """Return by how much each class is beyond the t that it breaks most; what is within, exactly, is not above 0."""
    worst = np.full(int(labels.max()) + 1, -1.0)
    for attribute in sensitive:
        if attribute.t is not None:
            emd = attribute.distance.emd(
                Counts.from_codes(labels, attribute.codes, len(attribute.reference)), attribute.reference
            )
            beyond = np.maximum(emd.floats() - float(attribute.t), np.finfo(float).tiny)
            worst = np.maximum(worst, np.where(emd.at_most(attribute.t), -1.0, beyond))
    return worst


def _excess_of(rows: Ints, sensitive: tuple[Attribute, ...]) -> float:
    """Return the same for one class of these rows."""
    some = tuple(
        Attribute(attribute.codes[rows], attribute.reference, attribute.distance, attribute.t)
        for attribute in sensitive
        if attribute.t is not None
    )
    return float(excess(np.zeros(len(rows), dtype=np.int64), some)[0])
