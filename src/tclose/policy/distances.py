"""What a policy can say about the ground distance of a sensitive attribute: one entry per distance.

How far values are apart is computed in `distance/`, whose registry has an entry of the same name for each distance
here. This table holds what can be known from the policy alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tclose.policy.model import Sensitive

Domain = Literal["numbers", "values", "hierarchy", "matrix"]


@dataclass(frozen=True)
class DistanceSettings:
    """What a distance compares, and which other settings go with it.

    `domain` is where its values come from: numbers and dates (or an `order`, if it takes one) on a line, any values,
    the leaves of the `hierarchy`, or the values of the `matrix`.
    """

    domain: Domain
    takes: tuple[str, ...] = ()  # further settings that say which values there are
    missing: bool = False  # whether a missing value can be a value of its own

    @property
    def needs(self) -> str | None:
        """The setting that the distance cannot do without."""
        return self.domain if self.domain in ("hierarchy", "matrix") else None

    def allows(self, setting: str) -> bool:
        """Tell whether a setting that says which values there are goes with the distance."""
        return setting in (*self.takes, self.needs)


DISTANCES = {
    "ordered": DistanceSettings("numbers", takes=("order", "bins", "domain"), missing=True),
    "value": DistanceSettings("numbers", takes=("domain",), missing=True),
    "equal": DistanceSettings("values", takes=("bins", "domain"), missing=True),
    "hierarchical": DistanceSettings("hierarchy", missing=True),
    "matrix": DistanceSettings("matrix"),
}
IMPLIED = {"hierarchy": "hierarchical", "matrix": "matrix", "order": "ordered", "bins": "ordered"}
OF_NUMBERS, OF_OTHERS = "ordered", "equal"  # where neither the distance nor a setting is given


def implied_by_settings(spec: Sensitive) -> str | None:
    """Return the distance that the policy names or that another setting implies; none where the values decide."""
    given = (distance for setting, distance in IMPLIED.items() if getattr(spec, setting) is not None)
    return spec.distance or next(given, None)


def distances_that_take(setting: str) -> list[str]:
    """Return the distances that a setting goes with."""
    return [name for name, distance in DISTANCES.items() if distance.allows(setting)]
