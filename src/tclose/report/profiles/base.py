"""What a profile is: requirements, each with a title in plain words and with what fills it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from tclose.report.profiles.evidence import Evidence
from tclose.words import counted

Verdict = Literal["met", "not met", "figure", "stated", "empty"]


@dataclass(frozen=True)
class Requirement:
    """One requirement: who fills it, with what, and the verdict where a figure can be compared with a limit."""

    name: str  # in JSON
    part: str  # the heading that it stands below
    title: str
    verdict: Verdict
    answer: str = ""  # a figure in a sentence, or the steward's words
    asks: tuple[str, ...] = ()  # what to write where it is empty: the table of the policy, and the key in it
    clause: str = ""  # of a text that was read
    about_raw: bool = False  # the answer is about the original table, or names columns that are not published
    needed: bool = True  # whether the page is incomplete without it

    @property
    def missing(self) -> bool:
        """Whether the page is incomplete because of this requirement."""
        return self.needed and self.verdict == "empty"

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        said: dict[str, Any] = {"name": self.name, "part": self.part, "title": self.title, "verdict": self.verdict}
        said |= {"answer": self.answer or None, "needed": self.needed}
        said |= {"add": list(self.asks)} if self.asks else {}
        return said | ({"clause": self.clause} if self.clause else {})


@dataclass(frozen=True)
class Profile:
    """A text that officers know, as a list of requirements, and which text was read for it."""

    name: str
    title: str
    read: str  # which text the requirements were written from
    require: Callable[[Evidence], Iterable[Requirement]]
    lead: Callable[[Evidence], str] | None = None  # a sentence that depends on the release

    def filled(self, evidence: Evidence) -> FilledProfile:
        """Fill every requirement."""
        lead = "" if self.lead is None else self.lead(evidence)
        return FilledProfile(self, tuple(self.require(evidence)), evidence, lead)


@dataclass(frozen=True, eq=False)
class FilledProfile:
    """A profile of one release: its requirements with figures and sentences, and whether some are still empty."""

    profile: Profile
    requirements: tuple[Requirement, ...]
    evidence: Evidence
    lead: str

    @property
    def missing(self) -> tuple[Requirement, ...]:
        """The requirements without which the page is incomplete."""
        return tuple(each for each in self.requirements if each.missing)

    @property
    def failed(self) -> tuple[Requirement, ...]:
        """The requirements whose figure is beyond its limit."""
        return tuple(each for each in self.requirements if each.verdict == "not met")

    @property
    def about_raw(self) -> bool:
        """Whether an answer is about the original table."""
        return any(each.about_raw for each in self.requirements)

    @property
    def complete(self) -> bool:
        """Whether every requirement that is needed is filled."""
        return not self.missing

    @property
    def empty(self) -> str:
        """How many requirements are empty."""
        return f"{counted(len(self.missing), 'requirement')} {'is' if len(self.missing) == 1 else 'are'} empty"

    @property
    def warning(self) -> str | None:
        """What to tell the steward where requirements are empty."""
        if self.complete:
            return None
        by_table: dict[str, list[str]] = {}
        for table, _, key in (ask.partition("] ") for each in self.missing for ask in each.asks):
            by_table.setdefault(f"{table}]", []).append(key)
        asked = "; ".join(f"{table} {', '.join(keys)}" for table, keys in by_table.items())
        return f"the profile {self.profile.name} is incomplete, {self.empty}. Add to the policy: {asked}"

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        requirements = [each.to_dict() for each in self.requirements]
        return {"name": self.profile.name, "complete": self.complete, "requirements": requirements}


def stated(
    evidence: Evidence, key: str, title: str, *, part: str, clause: str = "", needed: bool = True
) -> Requirement:
    """Return a requirement that a sentence of `[context]` fills."""
    text = str(getattr(evidence.context, key))
    filled = {"verdict": "stated", "answer": text} if text else {"verdict": "empty", "asks": (f"[context] {key}",)}
    return Requirement(key, part, title, **filled, clause=clause, needed=needed)


def judged(name: str, part: str, title: str, met: bool, answer: str, **more: Any) -> Requirement:
    """Return a requirement that a figure fills, which was compared with a limit."""
    return Requirement(name, part, title, "met" if met else "not met", answer, **more)


def reported(name: str, part: str, title: str, answer: str, **more: Any) -> Requirement:
    """Return a requirement that a figure fills; whether it is good enough is for people to say."""
    return Requirement(name, part, title, "figure", answer, **more)
