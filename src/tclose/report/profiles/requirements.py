"""Requirements that several profiles share: roles, criteria of identification, risks, sign-off and review."""

from __future__ import annotations

from collections.abc import Iterator

from tclose.measure import risk
from tclose.measure.attack import RELEASE, skewness
from tclose.measure.attack.linkage import MARKETER, UNIQUENESS
from tclose.release.claims import Claims
from tclose.report.profiles.base import (
    ProfileRequirement,
    Sentence,
    Step,
    judged_requirement,
    reported_requirement,
    sentence_step,
    stated_requirement,
)
from tclose.report.profiles.evidence import Evidence, GivenAway, PolicyEvidence, Records
from tclose.types import Answer
from tclose.words import columns, counted, legible, number, percent, rows_of, some_columns

# Roles, criteria of identification, sign-off and review


NO_RECORDS = "the tables of the release, joined by somebody who knows how they belong together"


def roles(part: str, clause: str = "") -> Sentence:
    """Ask why every published column has its role; identifiers, which are never published, need no reason."""

    def fill(said: PolicyEvidence) -> ProfileRequirement:
        policy, given = said.policy, said.context.roles
        published = dict.fromkeys((*policy.quasi, *policy.sensitive, *policy.keep, *policy.unlinkable))
        without = [name for name in published if not given.get(name)]
        text = "" if without else "\n".join(f"{legible(name)}: {given[name]}" for name in published)
        title = "Why each column is a quasi-identifier, sensitive, or kept"
        ask = f"[context.roles] {some_columns(without)}" if without else ""
        return stated_requirement("roles", part, title, text, ask=ask, clause=clause)

    return Sentence(fill)


def sign_off(part: str, title: str = "Who signs off the release") -> Sentence:
    """Ask who takes the responsibility."""

    def fill(said: PolicyEvidence) -> ProfileRequirement:
        signed = said.context.sign_off
        text = "" if signed is None else f"{signed.name}, {signed.date.isoformat()}"
        return stated_requirement("sign_off", part, title, text, ask="[context] sign_off")

    return Sentence(fill)


def review(part: str) -> Sentence:
    """Ask when the risk is looked at again."""

    def fill(said: PolicyEvidence) -> ProfileRequirement:
        day = said.context.review_date
        text = "" if day is None else day.isoformat()
        return stated_requirement(
            "review_date", part, "When the risk is assessed again", text, ask="[context] review_date"
        )

    return Sentence(fill)


def evaluation(part: str) -> Sentence:
    """Ask for what people found where figures alone do not decide the three criteria."""
    return sentence_step("evaluation", "Evaluation of the criteria that are not met or not decided", part=part)


def mitigation(part: str, clause: str = "") -> Step:
    """Say how the table was transformed."""

    def step(evidence: Evidence) -> Iterator[ProfileRequirement]:
        certificate, policy = evidence.certificate, evidence.policy
        lost = certificate.measures.get("gcp")
        kept = "" if lost is None else f" {percent(1 - lost)} of the detail of the quasi-identifiers is kept."
        says = (
            f"Published less exactly by the method {certificate.method}: "
            f"{columns(list(policy.quasi)) if policy.quasi else 'no column'}. Every class has at least k = {policy.k} "
            f"{certificate.counted}; {counted(certificate.withheld, 'row')} withheld. No identifier is published as it "
            f"is.{kept}"
        )
        yield reported_requirement("mitigation", part, "How the data were transformed", says, clause=clause)

    return step


def adversarial_test(part: str) -> Step:
    """Say what attacks find in the release."""

    def step(evidence: Evidence) -> Iterator[ProfileRequirement]:
        title = "What attacks on the release find"
        if evidence.attacks is None:
            says = "No attacks were made: they need a release of one table, and a k-anonymous table to compare with."
            yield reported_requirement("attacks", part, title, says)
            return
        findings = [(result.attack.label, result.findings[RELEASE]) for result in evidence.attacks.results]
        made = [f"{label}: {rows_of(found.rows, found.of)}" for label, found in findings if found.figure is not None]
        says = f"Rows affected, by attack; the section Attacks explains each. {'; '.join(made)}. Lower is better."
        yield reported_requirement("attacks", part, title, says)

    return step


def criteria(part: str) -> Step:
    """Answer each of singling out, linkability and inference."""

    def step(evidence: Evidence) -> Iterator[ProfileRequirement]:
        yield _singling_out(evidence, part)
        yield _linkability(evidence, part)
        yield _inference(evidence, part)

    return step


def alone(part: str, **more: str) -> Step:
    """Answer whether a published row is alone, in its class and in all published columns."""

    def step(evidence: Evidence) -> Iterator[ProfileRequirement]:
        people = max(int((sizes == 1).sum()) for sizes in evidence.sizes)
        whole = max(int(sizes.sum()) for sizes in evidence.sizes)
        says = f"{people_of(people, whole, evidence.noun)} are alone in their class in the release. Lower is better."
        title = "Nobody is alone in a class of the release"
        yield judged_requirement("alone", part, title, "no" if people else "yes", says, **more)
        answer, says = answer_of_records(evidence)
        title = "No row is alone when all published columns are compared, sensitive ones too"
        yield judged_requirement("alone_in_all_columns", part, title, answer, says, needs=NO_RECORDS, **more)

    return step


def answer_of_records(evidence: Evidence) -> tuple[Answer, str]:
    """Say how many rows no other row equals in all published columns."""
    records = evidence.records
    if records is None:
        people = max(int((sizes == 1).sum()) for sizes in evidence.sizes)
        says = f"Quasi-identifiers are published as they are; {counted(people, evidence.noun)} alone with theirs."
        return ("no" if people else "undecided"), says
    says = f"{rows_of(records.alone, records.rows)} differ from every other {_others(evidence)} {_in_columns(records)}."
    answer: Answer = "no" if records.alone else "yes" if records.whole else "undecided"
    apart = "" if records.whole else " The tables of the release were compared one by one, not joined."
    return answer, f"{says}{apart} Lower is better."


def _others(evidence: Evidence) -> str:
    return "row" if evidence.noun == "row" else f"{evidence.noun}'s rows"


def _in_columns(records: Records) -> str:
    return f"in the published columns {some_columns(records.columns)} taken together"


def _singling_out(evidence: Evidence, part: str) -> ProfileRequirement:
    single = max(int((sizes == 1).sum()) for sizes in evidence.sizes)
    answer, says = answer_of_records(evidence)
    says = (
        f"{says} By quasi-identifiers alone, the smallest class has {counted(evidence.smallest, evidence.noun)}. Met "
        "if no row is alone, whichever published columns a reader knows."
    )
    title = "Singling out: can the records of one person be isolated?"
    return judged_requirement("singling_out", part, title, "no" if single else answer, says, needs=NO_RECORDS)


def _linkability(evidence: Evidence, part: str) -> ProfileRequirement:
    policy = evidence.policy
    shown = [name for name in evidence.published if name in (*policy.identifiers, policy.person)]
    pseudonyms = (
        f"Pseudonyms link releases that share a key: {columns(shown)}." if shown else "No pseudonym is published."
    )
    single, found = evidence.smallest == 1, f"Every row hides among at least {evidence.smallest:,} {evidence.noun}s."
    attack = None if evidence.attacks is None else evidence.attacks[UNIQUENESS.name].findings[RELEASE]
    if evidence.attacks is not None and attack is not None and attack.figure is not None:
        marketer = evidence.attacks[MARKETER.name].findings[RELEASE].sentence
        single, found = attack.rows > 0, f"Linkage with the original people as register: {attack.sentence} {marketer}"
    unique = evidence.records is None or evidence.records.alone > 0
    says = (
        f"{found} {pseudonyms} A row can still be linked to the group of people who fit its class; by the opinion's "
        "definition, classes resist singling out, not linkability. Never met by figures of the release alone; not met "
        "if a pseudonym is published or if a row is alone, by quasi-identifiers or in all published columns."
    )
    title = "Linkability: can two records about the same person, or group of people, be linked?"
    needs = "a person who knows which other data about the same people the recipient can have"
    return judged_requirement(
        "linkability", part, title, "no" if single or shown or unique else "undecided", says, needs=needs
    )


def _inference(evidence: Evidence, part: str) -> ProfileRequirement:
    title = "Inference: can a value be deduced with significant probability from other values?"
    claims, records = evidence.certificate.claims, evidence.records
    given = () if records is None else records.given
    sure = [each for each in given if each.by_class or each.by_all]
    says = " ".join(
        (
            *([_closeness(claims)] if claims.attributes else ["No column is sensitive, so nothing limits inference."]),
            *_deduced(evidence, sure),
            *_most_telling(given),
            *_skewness(evidence),
            "Not met if a value follows with certainty; the opinion gives no number for a significant probability.",
        )
    )
    needs = "a person who judges whether the largest shares are significant"
    return judged_requirement("inference", part, title, "no" if sure else "undecided", says, needs=needs)


def _deduced(evidence: Evidence, sure: list[GivenAway]) -> Iterator[str]:
    rows = 0 if evidence.records is None else evidence.records.rows
    if evidence.records is None:
        yield "Which values follow from others was not counted: the release has no table of classes."
    elif not sure:
        yield "No value follows with certainty from the class, or from the class and all other published columns."
    for each in sure:
        yield (
            f"{legible(each.name)}: {rows_of(each.by_class, rows)} show the only value of their class; "
            f"{rows_of(each.by_all, rows)} the only value beside equal cells in all other published columns."
        )


def _most_telling(given: tuple[GivenAway, ...]) -> Iterator[str]:
    if given:
        most = max(given, key=lambda each: each.in_class - each.in_table)
        yield (
            f"Most telling short of that: a value of {legible(most.name)} has {percent(most.in_class)} of the rows of "
            f"a class and {percent(most.in_table)} of the rows of the table."
        )


def _closeness(claims: Claims) -> str:
    reached = (
        f"{legible(name)} {number(claim.closeness or 0)}"
        + (f" (limit {claims.limits[name]})" if name in claims.limits else " (no limit)")
        for name, claim in claims.attributes.items()
    )
    return f"Largest distance of a class from the whole table (t-closeness): {', '.join(reached)}."


def _skewness(evidence: Evidence) -> Iterator[str]:
    if evidence.attacks is not None:
        finding = evidence.attacks[skewness.SKEWNESS.name].findings[RELEASE]
        if finding.figure is not None:
            yield f"Skewness attack: {finding.sentence}"


def people_of(part: int, whole: int, noun: str) -> str:
    """Say how many there are; a person can be in several classes, so that persons have no share."""
    return rows_of(part, whole) if noun == "row" else counted(part, noun)


# The risk of identification


KNOWABLE = "a person who judges whether an adversary can know published values that are no quasi-identifiers"
NO_FRACTION = (
    "No sampling_fraction or sampling_weight is given, so the table counts as the whole population: everyone is known "
    "to be in it."
)


def maximum(part: str, *, limit: float | None = None, limit_words: str = "", **more: str) -> Step:
    """Say the largest risk of any row, compared with a limit if there is one."""

    def step(evidence: Evidence) -> Iterator[ProfileRequirement]:
        chance = max(risk.prosecutor(sizes) for sizes in evidence.sizes)
        least = counted(evidence.smallest, evidence.noun)
        says = f"{number(chance)}: 1 divided by the smallest class, which has {least}. Lower is better."
        title = "Largest risk of a person who is known to be in the table (prosecutor)"
        if limit is None:
            yield reported_requirement("maximum_risk", part, title, says, **more)
            return
        answer, beside = _within(evidence, chance, limit)
        says = f"{says} {limit_words}{beside}"
        yield judged_requirement("maximum_risk", part, title, answer, says, needs=KNOWABLE, **more)

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

    def step(evidence: Evidence) -> Iterator[ProfileRequirement]:
        chance = max(risk.average_prosecutor(sizes) for sizes in evidence.sizes)
        says = (
            f"{number(chance)}: the mean of 1 divided by the size of the class, over all {evidence.noun}s. Lower is "
            "better."
        )
        title = "Average risk of a person who is known to be in the table"
        yield reported_requirement("average_risk", part, title, says, **more)

    return step


def sample_based(part: str, **more: str) -> Step:
    """Say the risk of a journalist and of a marketer, by a register, or by a sampling fraction."""

    def step(evidence: Evidence) -> Iterator[ProfileRequirement]:
        title = "Risk if the adversary does not know who is in the table (journalist, marketer)"
        yield reported_requirement("sample_risk", part, title, _by_sample(evidence), **more)

    return step


def _by_sample(evidence: Evidence) -> str:
    if evidence.register is not None:
        return _by_register(evidence)
    fraction = evidence.fraction
    if fraction is None:
        return NO_FRACTION
    chances = [risk.journalist_by_sample(sizes, fraction) for sizes in evidence.sizes]
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

    def step(evidence: Evidence) -> Iterator[ProfileRequirement]:
        if evidence.raw_sizes is not None:
            title = "People who were unique before, in the original table and in the population"
            yield reported_requirement("population_uniqueness", part, title, _before(evidence), about_raw=True, **more)

    return step


def _before(evidence: Evidence) -> str:
    sizes, noun = evidence.raw_sizes, evidence.noun
    assert sizes is not None
    people, alone = int(sizes.sum()), int((sizes == 1).sum())
    before = f"{people_of(alone, people, noun)} of the original were alone with their quasi-identifiers."
    if evidence.population is None:
        return f"{before} Without a sampling_fraction or sampling_weight, the population is not estimated."
    estimates = [
        ("Hoshino 2001, Pitman's model", risk.pitman(sizes, evidence.population)),
        ("Zayatz 1991", risk.zayatz(sizes, evidence.population)),
    ]
    spelled = "; ".join(f"{percent(found.population / evidence.population)} ({name})" for name, found in estimates)
    return (
        f"{before} Of the population of {evidence.population:,}, an estimated share is alone: {spelled}. The two "
        "estimates can differ much; both are estimates of a model and no bound."
    )
