"""The share of t that the cells of a large table may use up: tried on samples, because forming classes takes long.

With one sensitive attribute, cells hardly need slack below t; with several, cells at t leave some attribute none.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from tclose.partition.weave.table import WeaveTable
from tclose.types import Progress, stretch

SAMPLES, SAMPLE_ROWS = 2, 25_000
CLEARLY = 0.97  # times the loss of the first share, or less, is better: a sample has wider cells than the table


def chosen_share(table: WeaveTable, shares: Sequence[float], progress: Progress) -> float:
    """Return the share with which samples of the rows lose least when classes are formed; the first unless clearly."""
    random, losses = np.random.default_rng(len(table)), np.zeros(len(shares))
    steps = pairwise(np.linspace(0.0, 1.0, SAMPLES * len(shares) + 1).tolist())
    for _ in range(SAMPLES):
        part = table.part(np.sort(random.choice(len(table), min(SAMPLE_ROWS, len(table)), replace=False)))
        for number, share in enumerate(shares):
            losses[number] += part.loss(part.form_classes(share, stretch(progress, *next(steps))))
    best = int(losses.argmin())
    return shares[best if losses[best] < CLEARLY * losses[0] else 0]
