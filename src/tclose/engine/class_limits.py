"""How near one class of a release comes to what its policy allows, attribute by attribute."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tclose.distance import Counts
from tclose.privacy.judge import counts_of, distance_of
from tclose.run.study import class_members
from tclose.table import CodedTable
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


def class_limits(table: CodedTable, class_number: int) -> list[AttributeLimit]:
    """Return every attribute that has a t, the one nearest to its limit first; classes are counted from 1."""
    members, found = class_members(table, class_number), []
    for name, column in table.sensitive.items():
        if (t := table.policy.sensitive[name].t) is not None:
            counts = np.bincount(column.codes[members], minlength=len(column.reference))
            distance = distance_of(column).emd(Counts.from_dense([counts]), column.reference)[0]
            found.append(AttributeLimit(name, float(distance), float(t)))
    return sorted(found, key=lambda limit: -limit.used)


def shares_of_t(table: CodedTable) -> Floats | None:
    """Return the largest share of its t that any attribute of each class uses; None where no attribute has a t."""
    shares = [
        _share_of(distance_of(column).emd(counts_of(column, table.classes), column.reference).floats(), float(t))
        for name, column in table.sensitive.items()
        if (t := table.policy.sensitive[name].t) is not None
    ]
    return np.max(shares, axis=0) if shares else None


def _share_of(distances: Floats, t: float) -> Floats:
    return distances / t if t else np.ones(len(distances))
