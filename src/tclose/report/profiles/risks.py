"""Requirements about the risk of identification that several profiles share."""

from __future__ import annotations

from collections.abc import Iterator

from tclose.measure import population, risk
from tclose.report.profiles.base import Requirement, judged, reported
from tclose.report.profiles.evidence import Evidence
from tclose.words import counted, number, percent, rows_of

NO_FRACTION = (
    "No sampling_fraction or sampling_weight is given, so the table counts as the whole population: everyone is known "
    "to be in it."
)


def maximum(
    evidence: Evidence, part: str, *, limit: float | None = None, limit_words: str = "", **more: str
) -> Requirement:
    """Return the largest risk of any row, compared with a limit if there is one."""
    chance = max(risk.prosecutor(sizes) for sizes in evidence.sizes)
    least = counted(evidence.smallest, evidence.noun)
    answer = f"{number(chance)}: 1 divided by the smallest class, which has {least}. Lower is better."
    title = "Largest risk of a person who is known to be in the table (prosecutor)"
    if limit is None:
        return reported("maximum_risk", part, title, answer, **more)
    return judged("maximum_risk", part, title, chance <= limit, f"{answer} {limit_words}", **more)


def average(evidence: Evidence, part: str, **more: str) -> Requirement:
    """Return the mean risk over all rows."""
    chance = max(risk.average_prosecutor(sizes) for sizes in evidence.sizes)
    answer = (
        f"{number(chance)}: the mean of 1 divided by the size of the class, over all {evidence.noun}s. Lower is better."
    )
    return reported("average_risk", part, "Average risk of a person who is known to be in the table", answer, **more)


def sample_based(evidence: Evidence, part: str, **more: str) -> Requirement:
    """Return the risk of a journalist and of a marketer, by a register, or by a sampling fraction."""
    title = "Risk if the adversary does not know who is in the table (journalist, marketer)"
    if evidence.register is not None:
        return reported("sample_risk", part, title, _by_register(evidence), **more)
    fraction = evidence.fraction
    if fraction is None:
        return reported("sample_risk", part, title, NO_FRACTION, **more)
    chances = [population.journalist_by_sample(sizes, fraction) for sizes in evidence.sizes]
    largest = max(float(chance.max()) for chance in chances)
    means = [float(chance @ sizes) / int(sizes.sum()) for chance, sizes in zip(chances, evidence.sizes, strict=True)]
    answer = (
        f"The table is {percent(fraction)} of a population of {evidence.population or 0:,}. Expected chance of a right "
        f"link, if the adversary has a register of this population: {number(largest)} for the most exposed row "
        f"(journalist), {number(max(means))} on average (marketer). Model: Benedetti & Franconi 1998. Lower is better."
    )
    return reported("sample_risk", part, title, answer, **more)


def _by_register(evidence: Evidence) -> str:
    found = evidence.register
    assert found is not None
    largest, share = risk.journalist(found.sizes, found.people), risk.marketer(found.sizes, found.people)
    return (
        f"k-map: each class is fitted by at least {int(found.people.min()):,} of the {found.population:,} rows of the "
        f"population that the policy names. Chance of a right link: {number(largest)} for the most exposed "
        f"row (journalist), {number(share)} on average (marketer). Lower is better."
    )


def uniqueness(evidence: Evidence, part: str, **more: str) -> Iterator[Requirement]:
    """Yield how many rows are alone: in the release, and in the original with its population."""
    alone = max(int((sizes == 1).sum()) for sizes in evidence.sizes)
    whole = max(int(sizes.sum()) for sizes in evidence.sizes)
    answer = f"{_people(alone, whole, evidence.noun)} are alone in their class in the release. Lower is better."
    yield judged("alone", part, "Nobody is alone in a class of the release", alone == 0, answer, **more)
    if evidence.raw_sizes is not None:
        title = "People who were unique before, in the original table and in the population"
        yield reported("population_uniqueness", part, title, _before(evidence), about_raw=True, **more)


def _before(evidence: Evidence) -> str:
    sizes, noun = evidence.raw_sizes, evidence.noun
    assert sizes is not None
    people, alone = int(sizes.sum()), int((sizes == 1).sum())
    before = f"{_people(alone, people, noun)} of the original were alone with their quasi-identifiers."
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


def _people(part: int, whole: int, noun: str) -> str:
    """Say how many there are; a person can be in several classes, so that persons have no share."""
    return rows_of(part, whole) if noun == "row" else counted(part, noun)
