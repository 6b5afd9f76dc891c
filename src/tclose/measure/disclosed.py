"""What classes disclose on average: the mutual information of class and sensitive value.

It is the mean KL divergence of the classes from the whole table, each class counted as often as it has rows
(Rebollo-Monedero, Forné & Domingo-Ferrer 2010). The model `kl` bounds the divergence of every class.
"""

from __future__ import annotations

import numpy as np

from tclose.measure.detail import Detail, DetailMeasure, ExactColumn
from tclose.types import Ints


def disclosed_by_classes(labels: Ints, values: Ints) -> float:
    """Return Σ share·ln(share / (share of the class · share of the value)) over pairs that occur, in nats.

    >>> round(disclosed_by_classes(np.array([0, 0, 1, 1]), np.array([5, 5, 6, 6])), 4)
    0.6931
    """
    rows, domain = len(labels), int(values.max()) + 1
    pairs, count = np.unique(labels * domain + values, return_counts=True)
    of_class, of_value = np.bincount(labels), np.bincount(values)
    ratio = count / of_class[pairs // domain] * (rows / of_value[pairs % domain])
    return max(float(count @ np.log(ratio)) / rows, 0.0)  # rounding may leave less than nothing


def mean_disclosed(detail: Detail) -> float | None:
    """Return the mean over all sensitive attributes."""
    disclosed = [_of_attribute(detail, attribute) for attribute in detail.sensitive]
    return float(np.mean(disclosed)) if disclosed else None


def _of_attribute(detail: Detail, attribute: ExactColumn) -> float:
    return disclosed_by_classes(detail.labels, attribute.after)


DISCLOSED = DetailMeasure(
    name="disclosed",
    title="information that classes disclose (nats)",
    short="disclosed",
    meaning="What a person's class tells about the person's sensitive value on average: the mutual information of "
    "class and value, or the mean KL divergence of the classes; the mean over the sensitive attributes.",
    better="lower",
    low=0.0,
    high=None,
    compute=mean_disclosed,
)
