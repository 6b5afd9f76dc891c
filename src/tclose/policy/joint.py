"""Closeness of sensitive attributes together: what a `[[joint]]` table of a policy asks for.

Li, Li & Venkatasubramanian (2007, section 8) name the joint distribution as the other way to treat several sensitive
attributes; Bagai, Weber & Gowda (2023, section 2.4) describe it with pairs in lexicographic order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

from tclose.errors import Mistakes, PolicyError, did_you_mean
from tclose.policy import settings
from tclose.policy.settings import between, join, kind_of, one_of

JointDistance = Literal["product", "lexicographic"]
JOINT_DISTANCES: tuple[JointDistance, ...] = get_args(JointDistance)
_READ = settings.table(
    {"attributes": settings.names, "t": between(0, 1), "distance": one_of(*JOINT_DISTANCES)},
)


@dataclass(frozen=True)
class Joint:
    """How close the tuples of several sensitive attributes must be, and how tuples are compared."""

    attributes: tuple[str, ...]
    t: Fraction
    distance: JointDistance = "product"

    @property
    def name(self) -> str:
        """What the tuples are called beside the attributes themselves."""
        return " + ".join(self.attributes)


def joints(value: object, place: str) -> tuple[Joint, ...]:
    """Read all `[[joint]]` tables; every mistake in them is reported."""
    if isinstance(value, Mapping | str) or not isinstance(value, Sequence):
        raise PolicyError(f"expected [[joint]] tables, not {kind_of(value)}", place=place)
    read, mistakes = [], Mistakes()
    for number, given in enumerate(value, start=1):
        with mistakes.collected():
            read.append(_joint(vars(given) if isinstance(given, Joint) else given, join(place, str(number))))
    mistakes.report()
    return tuple(read)


def _joint(given: object, place: str) -> Joint:
    read = _READ(given, place)
    if len(read.get("attributes", ())) < 2:
        raise PolicyError(
            'expected at least two sensitive attributes, as in ["ldl", "hdl"]', place=f"{place}.attributes"
        )
    if "t" not in read:
        raise PolicyError("expected a number between 0 and 1: say t as well", place=f"{place}.t")
    return Joint(**read)


def contradictions(joint: Sequence[Joint], roles: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each `[[joint]]` table that does not fit the sensitive attributes, or repeats another one."""
    sensitive, both = roles.get("sensitive", ()), roles.get("both", ())
    taken = dict.fromkeys(sensitive, "a sensitive attribute")
    for number, each in enumerate(joint, start=1):
        place = join("joint", str(number))
        for name in each.attributes:
            if name not in sensitive:
                hint = did_you_mean(name, sensitive) or ": give it a [sensitive.COLUMN] table"
                yield f"{place}.attributes", f"'{name}' is no sensitive attribute of the policy{hint}"
            elif name in both:
                unlinked = f"the values of '{name}', which is both, are published apart from the rows"
                yield f"{place}.attributes", f"{unlinked}, so nobody could judge them together with others"
        if each.name in taken:
            yield f"{place}.attributes", f"'{each.name}' is the name of {taken[each.name]} already"
        taken.setdefault(each.name, "another joint table")
