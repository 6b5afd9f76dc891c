"""Requirements about the risk of identification that several profiles share."""

from __future__ import annotations

from collections.abc import Iterator

from tclose.measure import population, risk
from tclose.report.profiles.base import Requirement, Step, judged, reported
from tclose.report.profiles.common import people_of
from tclose.report.profiles.evidence import Evidence
from tclose.types import Answer
from tclose.words import counted, number, percent

KNOWABLE = "a person who judges whether an adversary can know published values that are no quasi-identifiers"
NO_FRACTION = (
    "No sampling_fraction or sampling_weight is given, so the table counts as the whole population: everyone is known "
    "to be in it."
)


def maximum(part: str, *, limit: float | None = None, limit_words: str = "", **more: str) -> Step:
    """Say the largest risk of any row, compared with a limit if there is one."""

    def step(evidence: Evidence) -> Iterator[Requirement]:
        chance = max(risk.prosecutor(sizes) for sizes in evidence.sizes)
        least = counted(evidence.smallest, evidence.noun)
        says = f"{number(chance)}: 1 divided by the smallest class, which has {least}. Lower is better."
        title = "Largest risk of a person who is known to be in the table (prosecutor)"
        if limit is None:
            yield reported("maximum_risk", part, title, says, **more)
            return
        answer, beside = _within(evidence, chance, limit)
        says = f"{says} {limit_words}{beside}"
        yield judged("maximum_risk", part, title, answer, says, needs=KNOWABLE, **more)

    return step


def _within(evidence: Evidence, chance: float, limit: float) -> tuple[Answer, str]:
    """Compare the risk with a limit, by quasi-identifiers and then by all published columns."""
    if chance > limit:
        return "no", ""
    records = evidence.records
    if records is not None and records.whole and records.fewest and 1 / records.fewest <= limit:
        return "yes", " In all published columns taken together, too."
    fewest = "" if records is None else f"; the smallest such group has {counted(records.fewest, evidence.noun)}"
    return "undecided", f" This counts quasi-identifiers only. All published columns together exceed the limit{fewest}."


def average(part: str, **more: str) -> Step:
    """Say the mean risk over all rows."""

    def step(evidence: Evidence) -> Iterator[Requirement]:
        chance = max(risk.average_prosecutor(sizes) for sizes in evidence.sizes)
        says = (
            f"{number(chance)}: the mean of 1 divided by the size of the class, over all {evidence.noun}s. Lower is "
            "better."
        )
        title = "Average risk of a person who is known to be in the table"
        yield reported("average_risk", part, title, says, **more)

    return step


def sample_based(part: str, **more: str) -> Step:
    """Say the risk of a journalist and of a marketer, by a register, or by a sampling fraction."""

    def step(evidence: Evidence) -> Iterator[Requirement]:
        title = "Risk if the adversary does not know who is in the table (journalist, marketer)"
        yield reported("sample_risk", part, title, _by_sample(evidence), **more)

    return step


def _by_sample(evidence: Evidence) -> str:
    if evidence.register is not None:
        return _by_register(evidence)
    fraction = evidence.fraction
    if fraction is None:
        return NO_FRACTION
    chances = [population.journalist_by_sample(sizes, fraction) for sizes in evidence.sizes]
    largest = max(float(chance.max()) for chance in chances)
    means = [float(chance @ sizes) / int(sizes.sum()) for chance, sizes in zip(chances, evidence.sizes, strict=True)]
    return (
        f"The table is {percent(fraction)} of a population of {evidence.population or 0:,}. Expected chance of a right "
        f"link, if the adversary has a register of this population: {number(largest)} for the most exposed row "
        f"(journalist), {number(max(means))} on average (marketer). Model: Benedetti & Franconi 1998. Lower is better."
    )


def _by_register(evidence: Evidence) -> str:
    found = evidence.register
    assert found is not None
    largest, share = risk.journalist(found.sizes, found.people), risk.marketer(found.sizes, found.people)
    return (
        f"k-map: each class is fitted by at least {int(found.people.min()):,} of the {found.population:,} rows of the "
        f"population that the policy names. Chance of a right link: {number(largest)} for the most exposed "
        f"row (journalist), {number(share)} on average (marketer). Lower is better."
    )


def uniqueness(part: str, **more: str) -> Step:
    """Say how many people were alone in the original, and in its population."""

    def step(evidence: Evidence) -> Iterator[Requirement]:
        if evidence.raw_sizes is not None:
            title = "People who were unique before, in the original table and in the population"
            yield reported("population_uniqueness", part, title, _before(evidence), about_raw=True, **more)

    return step


def _before(evidence: Evidence) -> str:
    sizes, noun = evidence.raw_sizes, evidence.noun
    assert sizes is not None
    people, alone = int(sizes.sum()), int((sizes == 1).sum())
    before = f"{people_of(alone, people, noun)} of the original were alone with their quasi-identifiers."
    if evidence.population is None:
        return f"{before} Without a sampling_fraction or sampling_weight, the population is not estimated."
    estimates = [
        ("Hoshino 2001, Pitman's model", population.pitman(sizes, evidence.population)),
        ("Zayatz 1991", population.zayatz(sizes, evidence.population)),
    ]
    spelled = "; ".join(f"{percent(found.population / evidence.population)} ({name})" for name, found in estimates)
    return (
        f"{before} Of the population of {evidence.population:,}, an estimated share is alone: {spelled}. The two "
        "estimates can differ much; both are estimates of a model and no bound."
    )
