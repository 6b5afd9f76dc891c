"""The draft's `[source]`: how the table's file was read, so that a second run does not guess."""

from __future__ import annotations

from collections.abc import Sequence

from tclose.policy.draft.spelling import key, toml
from tclose.policy.source import SourceSettings

HEAD = "# How the table's file is written, as it was detected. Nothing is guessed when these lines are there."


def draft_source(found: SourceSettings | None, questions: Sequence[str]) -> str:
    """Return the lines of the draft; none for plain CSV."""
    given = {} if found is None else found.to_dict()
    if not given and not questions:
        return ""
    asked = [f"# Decide: {question}" for question in questions]
    said = {**given, **({} if questions else _closed(given))}
    return (
        "\n".join(["", "[source]", HEAD, *asked, *(f"{key(name)} = {toml(value)}" for name, value in said.items())])
        + "\n"
    )


def _closed(given: dict[str, object]) -> dict[str, object]:
    """Say the marks of numbers in full where one of them is other than plain."""
    if not given.keys() & {"decimal", "thousands"}:
        return {}
    return {"decimal": given.get("decimal", "."), "thousands": given.get("thousands", "")}
