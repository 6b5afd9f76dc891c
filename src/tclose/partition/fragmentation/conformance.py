"""The relaxed-conformance theorem: how far a class can be from the table, known before any row is chosen.

Let a class take e_f of its s rows from fragment f, w_f = e_f/s, p_f = N_f/N, and let M^w be the table with its
fragments reweighted to w. Then EMD(E, M) ≤ EMD(M^w, M) + Σ_f w_f·Δ(f)/p_f, whatever rows are taken; w = p is the
published theorem 20. docs/method.md has the proof.
"""

from __future__ import annotations

from fractions import Fraction
from math import gcd, lcm

import numpy as np

from tclose.distance import Counts
from tclose.partition.fragmentation.attribute import SpreadAttribute
from tclose.types import Ints


def relaxed_bound(attribute: SpreadAttribute, fragments: Ints, taken: Ints) -> Fraction:
    """Return the theorem's bound for a class that takes `taken[f]` rows of each fragment f."""
    return attribute.sensitive.distance.emd(reweighted(attribute, fragments, taken), attribute.sensitive.reference)[
        0
    ] + _inside(attribute, fragments, taken)


def reweighted(attribute: SpreadAttribute, fragments: Ints, taken: Ints) -> Counts:
    """Return M^w as one class of integer counts: each row of fragment f counts taken[f]/N_f times a common multiple."""
    sizes = np.bincount(fragments, minlength=len(taken))
    multiple = lcm(*(int(n) // gcd(int(n), int(e)) for n, e in zip(sizes, taken, strict=True)))
    weights = np.array([int(e) * multiple // int(n) for n, e in zip(sizes, taken, strict=True)], dtype=np.int64)
    counts = np.zeros(len(attribute.row_counts), dtype=np.int64)
    np.add.at(counts, attribute.codes, weights[fragments])
    return Counts.from_dense(counts)


def _inside(attribute: SpreadAttribute, fragments: Ints, taken: Ints) -> Fraction:
    """Return Σ_f w_f·Δ(f)/p_f: what the choice of rows within the fragments can add."""
    worst = attribute.spread.worst(fragments, attribute.codes)
    sizes = np.bincount(fragments)
    per_fragment = (Fraction(int(e) * int(w), int(n)) for e, w, n in zip(taken, worst, sizes, strict=True))
    return sum(per_fragment, Fraction(0)) / (int(taken.sum()) * attribute.unit)
