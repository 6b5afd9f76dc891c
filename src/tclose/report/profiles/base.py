"""What a profile is: steps, each of which yields requirements with a claim and with what would decide it.

A claim of tclose has three answers. Yes and no rest on figures that were compared with a limit. Everything else is
undecided: a figure without a limit, a sentence of the steward, which no program can check, and what nobody has said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tclose.policy import Policy
from tclose.report.profiles.evidence import Evidence, PolicyEvidence
from tclose.types import Answer, Claim, together
from tclose.words import counted

Verdict = Literal["met", "not met", "not decided", "figure", "stated", "empty"]
VERDICTS: dict[Answer, Verdict] = {"yes": "met", "no": "not met", "undecided": "not decided"}
JUDGE_FIGURE = "a person who judges whether this figure is good enough: the text sets no limit that tclose knows"
JUDGE_SENTENCE = "a person who judges whether this sentence is true and enough: tclose cannot"


@dataclass(frozen=True)
class ProfileRequirement:
    """One requirement: who fills it, with what, and the claim that tclose makes about it."""

    name: str  # in JSON
    part: str  # the heading that it stands below
    title: str
    verdict: Verdict
    claim: Claim
    asks: tuple[str, ...] = ()  # what to write where it is empty: the table of the policy, and the key in it
    clause: str = ""  # of a text that was read
    about_raw: bool = False  # the claim is about the original table, or names columns that are not published
    needed: bool = True  # whether the page is incomplete without it

    @property
    def missing(self) -> bool:
        """Whether the page is incomplete because of this requirement."""
        return self.needed and self.verdict == "empty"

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        said: dict[str, Any] = {"name": self.name, "part": self.part, "title": self.title, "verdict": self.verdict}
        said |= {**self.claim.to_dict(), "needed": self.needed}
        said |= {"add": list(self.asks)} if self.asks else {}
        return said | ({"clause": self.clause} if self.clause else {})


Step = Callable[[Evidence], Iterable[ProfileRequirement]]


@dataclass(frozen=True)
class Sentence:
    """A step that the policy alone fills, so that what is missing is known before anything is published."""

    fill: Callable[[PolicyEvidence], ProfileRequirement | None]

    def __call__(self, evidence: Evidence) -> Iterator[ProfileRequirement]:
        """Yield the requirement, if the release needs it."""
        yield from self.of(evidence.said)

    def of(self, said: PolicyEvidence) -> Iterator[ProfileRequirement]:
        """Yield the requirement of a policy, before there is a release."""
        if (requirement := self.fill(said)) is not None:
            yield requirement


@dataclass(frozen=True)
class ReportProfile:
    """A text that officers know, as a list of requirements, and which text was read for it."""

    name: str
    title: str
    read: str  # which text the requirements were written from
    steps: Sequence[Step]
    lead: Callable[[Evidence], str] | None = None  # a sentence that depends on the release

    def require(self, evidence: Evidence) -> Iterator[ProfileRequirement]:
        """Yield every requirement, filled."""
        for step in self.steps:
            yield from step(evidence)

    def filled(self, evidence: Evidence) -> FilledProfile:
        """Fill every requirement."""
        lead = "" if self.lead is None else self.lead(evidence)
        return FilledProfile(self, tuple(self.require(evidence)), evidence, lead)

    def missing_before(self, said: PolicyEvidence) -> tuple[str, ...]:
        """Return what the policy still has to say, as far as it is known before the release is made."""
        sentences = (step for step in self.steps if isinstance(step, Sentence))
        return missing_keys(requirement for each in sentences for requirement in each.of(said))

    def warning_before(self, said: PolicyEvidence) -> str | None:
        """Return what to tell the steward before publishing."""
        asks = self.missing_before(said)
        return incomplete(self.name, asks)


@dataclass(frozen=True, eq=False)
class FilledProfile:
    """A profile of one release: its requirements with figures and sentences, and whether some are still empty."""

    profile: ReportProfile
    requirements: tuple[ProfileRequirement, ...]
    evidence: Evidence
    lead: str

    @property
    def missing(self) -> tuple[ProfileRequirement, ...]:
        """The requirements without which the page is incomplete."""
        return tuple(each for each in self.requirements if each.missing)

    @property
    def failed(self) -> tuple[ProfileRequirement, ...]:
        """The requirements that are needed and not met."""
        return tuple(each for each in self.requirements if each.needed and each.verdict == "not met")

    @property
    def about_raw(self) -> bool:
        """Whether a claim is about the original table."""
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
    def claim(self) -> Claim:
        """What tclose says of all needed requirements together."""
        answers = [each.claim.answer for each in self.requirements if each.needed]
        answer, counts = together(answers), {name: answers.count(name) for name in ("yes", "no", "undecided")}
        says = (
            f"Of {counted(len(answers), 'requirement')} that this text needs, tclose found {counts['yes']:,} met and "
            f"{counts['no']:,} not met, and left {counts['undecided']:,} to people: figures without a limit, and "
            "sentences that no program can check"
        )
        needs = "a person who reads every requirement that is not decided" if answer == "undecided" else ""
        return Claim(answer=answer, says=says, needs=needs)

    @property
    def warning(self) -> str | None:
        """What to tell the steward where requirements are empty."""
        return incomplete(self.profile.name, missing_keys(self.missing))

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        requirements = [each.to_dict() for each in self.requirements]
        of_all = {"name": self.profile.name, "complete": self.complete, **self.claim.to_dict()}
        return {**of_all, "requirements": requirements}


def missing_keys(requirements: Iterable[ProfileRequirement]) -> tuple[str, ...]:
    """Return what empty requirements ask for, each key once."""
    return tuple(dict.fromkeys(ask for each in requirements if each.missing for ask in each.asks))


def incomplete(name: str, asks: Sequence[str]) -> str | None:
    """Say what a profile asks for, if it asks for something."""
    return f"the profile {name} is incomplete. Add to the policy: {spelled_keys(asks)}" if asks else None


def spelled_keys(asks: Iterable[str]) -> str:
    """Spell keys of a policy, table by table.

    >>> spelled_keys(["[context] purpose", "[context.roles] age", "[context] recipient"])
    '[context] purpose, recipient; [context.roles] age'
    """
    by_table: dict[str, list[str]] = {}
    for table, _, key in (ask.partition("] ") for ask in asks):
        by_table.setdefault(f"{table}]", []).append(key)
    return "; ".join(f"{table} {', '.join(keys)}" for table, keys in by_table.items())


def stated_requirement(name: str, part: str, title: str, text: str, *, ask: str, **more: Any) -> ProfileRequirement:
    """Return a requirement that the steward's words fill, or that asks for them."""
    if text:
        return ProfileRequirement(name, part, title, "stated", _undecided(text, JUDGE_SENTENCE), **more)
    return ProfileRequirement(name, part, title, "empty", _undecided("", f"the steward's words: {ask}"), (ask,), **more)


def sentence_step(
    key: str, title: str, *, part: str, clause: str = "", needed: Callable[[Policy], bool] = lambda policy: True
) -> Sentence:
    """Return the step that a sentence of `[context]` fills."""

    def fill(said: PolicyEvidence) -> ProfileRequirement:
        text, is_needed = str(getattr(said.context, key)), needed(said.policy)
        return stated_requirement(key, part, title, text, ask=f"[context] {key}", clause=clause, needed=is_needed)

    return Sentence(fill)


def judged_requirement(
    name: str, part: str, title: str, answer: Answer, says: str, *, needs: str = "", **more: Any
) -> ProfileRequirement:
    """Return a requirement that figures of the release decide, or leave undecided."""
    claim = Claim(answer=answer, says=says, needs=needs if answer == "undecided" else "")
    return ProfileRequirement(name, part, title, VERDICTS[answer], claim, **more)


def reported_requirement(name: str, part: str, title: str, says: str, **more: Any) -> ProfileRequirement:
    """Return a requirement that a figure fills; whether it is good enough is for people to say."""
    return ProfileRequirement(name, part, title, "figure", _undecided(says, JUDGE_FIGURE), **more)


def _undecided(says: str, needs: str) -> Claim:
    return Claim(answer="undecided", says=says, needs=needs)
