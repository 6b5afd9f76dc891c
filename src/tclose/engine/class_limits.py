"""How near one class of a release comes to what its policy allows, attribute by attribute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tclose.distance import Counts
from tclose.errors import InputError
from tclose.policy import Policy
from tclose.privacy.judge import counts_of, distance_of
from tclose.table import to_polars
from tclose.table.coded import encode_quietly
from tclose.types import Floats


@dataclass(frozen=True)
class AttributeLimit:
    """The distance of one attribute in one class, and the t that it must not exceed."""

    name: str
    distance: float
    t: float

    @property
    def used(self) -> float:
        """The share of t that the class uses."""
        return self.distance / self.t if self.t else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {**asdict(self), "used": self.used}


def class_limits(
    frame: Any, policy: Policy, class_number: int, apart: Mapping[str, Any] | None = None
) -> list[AttributeLimit]:
    """Return every attribute that has a t, the one nearest to its limit first; classes are counted from 1.

    `apart` holds the cells that the release counts by class, beside its rows.
    """
    table = encode_quietly(to_polars(frame), policy, ignore_others=True, apart=apart)
    classes = table.classes
    if not 1 <= class_number <= len(classes):
        raise InputError(f"there is no class {class_number:,}: the table has classes 1 to {len(classes):,}")
    members, found = classes.members(class_number - 1), []
    for name, column in table.sensitive.items():
        if (t := policy.sensitive[name].t) is not None:
            counts = np.bincount(column.codes[members], minlength=len(column.reference))
            distance = distance_of(column).emd(Counts.from_dense([counts]), column.reference)[0]
            found.append(AttributeLimit(name, float(distance), float(t)))
    return sorted(found, key=lambda limit: -limit.used)


def shares_of_t(frame: Any, policy: Policy, apart: Mapping[str, Any] | None = None) -> Floats | None:
    """Return the largest share of its t that any attribute of each class uses; None where no attribute has a t."""
    table = encode_quietly(to_polars(frame), policy, ignore_others=True, apart=apart)
    shares = [
        _share_of(distance_of(column).emd(counts_of(column, table.classes), column.reference).floats(), float(t))
        for name, column in table.sensitive.items()
        if (t := policy.sensitive[name].t) is not None
    ]
    return np.max(shares, axis=0) if shares else None


def _share_of(distances: Floats, t: float) -> Floats:
    return distances / t if t else np.ones(len(distances))
