"""Where the work of a command may be done, and what works at each place.

What the table does not list is refused. So a new setting of the policy is never ignored at a place that does not know
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any, Literal

from tclose.policy import Policy, Quasi, Sensitive

ENGINES = ("auto", "memory", "disk")
Engine = Literal["auto", "memory", "disk"]
PUBLISHING_ENGINES = (*ENGINES, "spark")
PublishingEngine = Literal["auto", "memory", "disk", "spark"]

Kind = Literal["policy", "quasi", "sensitive", "output", "method"]
PLACES = ("memory", "disk", "spark")  # memory is the case of one part; disk and Spark make releases in parts
AT_ONCE = "looks at all classes at once"
PERSONS = " of persons"
ALL_ROWS = "is made from all rows at once"
MEASURED = "is measured on all rows at once"
WORKS = ""


@dataclass(frozen=True)
class Capability:
    """Where a setting works for `anonymize`; in memory, all of them do."""

    kind: Kind
    name: str
    in_parts: str = WORKS  # or why it does not work on disk and on Spark
    persons_only: bool = False  # whether it works in parts unless persons are counted
    but: tuple[str, ...] = ()  # values with which it works in parts all the same
    called: str = ""  # what it makes, where a sentence names that instead of the setting

    @property
    def places(self) -> dict[str, str]:
        """What is said of each place: that it works, or why not."""
        why = f"where persons are counted: {self.in_parts}" if self.persons_only else self.in_parts
        why += f"; {' and '.join(self.but)} work" if self.but else ""
        return {place: "works" if place == "memory" or not self.in_parts else why for place in PLACES}


def _all(kind: Kind, *names: str) -> tuple[Capability, ...]:
    return tuple(Capability(kind, name) for name in names)


CAPABILITIES = (
    *_all("policy", "quasi", "sensitive", "identifiers", "person", "keep", "unlinkable", "others", "k", "suppress"),
    *_all("policy", "missing", "joint", "context", "source"),
    Capability("policy", "loss", MEASURED, but=("gcp", "discernibility")),
    *(Capability("policy", name, AT_ONCE) for name in ("both", "temper", "presence", "pseudonym")),
    *_all("quasi", "hierarchy", "step", "top", "bottom", "below", "weight"),
    Capability("quasi", "publish", MEASURED),
    *_all("sensitive", "t", "n", "l", "alpha", "beta", "enhanced_beta", "delta", "kl", "average_t", "distance"),
    *_all("sensitive", "hierarchy", "matrix", "bins", "publish", "below", "order", "domain", "missing"),
    Capability("sensitive", "t_by", AT_ONCE),
    *(Capability("sensitive", name, AT_ONCE, persons_only=True) for name in ("entropy_l", "recursive")),
    *_all(
        "output", "certificate", "record", "replay", "part_rows", "endorsement", "public", "profile", "bound_seconds"
    ),
    *_all("output", "seed", "engine", "master", "resume", "force"),
    Capability("output", "report", ALL_ROWS, called="a page"),
    Capability("output", "bound", ALL_ROWS, called="a bound"),
    Capability("output", "bound_proof", ALL_ROWS, called="a bound"),
    Capability("output", "guard_formulas", ALL_ROWS, called="a guard against formulas"),
    Capability("output", "release_format", ALL_ROWS, called="typed columns"),
    Capability("output", "describe", ALL_ROWS, called="a description"),
    Capability("output", "room", ALL_ROWS, called="room for new rows"),
    *_all("method", "weave", "effort"),
)
_BY_NAME = {(each.kind, each.name): each for each in CAPABILITIES}


def refusal_in_parts(policy: Policy) -> str | None:
    """Say which setting of a policy does not work in parts, and why; None where all of them do."""
    for kind, name, value in _in_use(policy):
        known = _BY_NAME.get((kind, name), Capability(kind, name, "is not known to work in parts"))
        works = not known.in_parts or value in known.but or (known.persons_only and policy.person is None)
        if not works:
            return f"{name}{PERSONS if known.persons_only else ''} {known.in_parts}"
    return None


def made_at_once(outputs: Iterable[str]) -> list[str]:
    """Return what is made by those of some outputs that do not work in parts; one that is not listed does not."""
    known = [_BY_NAME.get(("output", name), Capability("output", name, ALL_ROWS, called=name)) for name in outputs]
    return list(dict.fromkeys(each.called for each in known if each.in_parts))


def _in_use(policy: Policy) -> Iterator[tuple[Kind, str, Any]]:
    """Yield the settings that are not at their defaults; those of the policy itself come first."""
    yield from (("policy", *each) for each in _set(policy))
    for quasi in policy.quasi.values():
        yield from (("quasi", *each) for each in _set(quasi))
    for sensitive in policy.sensitive.values():
        yield from (("sensitive", *each) for each in _set(sensitive))


def _set(settings: Policy | Quasi | Sensitive) -> Iterator[tuple[str, Any]]:
    for each in fields(settings):
        if (value := getattr(settings, each.name)) != _default(each):
            yield each.name, value


def _default(each: Field[Any]) -> Any:
    return each.default if each.default_factory is MISSING else each.default_factory()
