"""What δ-presence does not go with: settings by which a release tells of members, or moves them between its boxes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def mistakes_of_presence(read: Mapping[str, Any], averaged: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what the settings contradict, if they ask for presence; `averaged` are the attributes with average_t."""
    if not read.get("presence"):
        return
    if read.get("person") is not None:
        yield "presence", "no reader can count the persons of a box, so presence does not go with person"
    if read.get("both"):
        yield "presence", "counts of exact values tell who fits a class, so presence does not go with both"
    if read.get("temper") is not None:
        yield "presence", "random swaps would move rows between boxes of the population: drop temper or presence"
    if averaged:
        yield "presence", f"boxes are judged one by one, but average_t of '{averaged[0]}' is about all: say t instead"
    means = [name for name, spec in read.get("quasi", {}).items() if spec.publish == "mean"]
    if means:
        yield "presence", f"a class mean tells who is a member: publish ranges of '{means[0]}' instead of means"
