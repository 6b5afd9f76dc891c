"""Linkage attacks: which rows can be linked to a person, by a register, a population or a known sensitive value.

Linkage with a register: the figures are those of `measure/risk.py`.

Membership (Nergiz, Atzori & Clifton 2007): who of a population is in the table at all.

Rare values: sensitive values are published as they are, and a value that few rows share identifies a person.

Background join (Fang et al., as described in Weber's thesis, section 2.4): one sensitive value reveals the others.
Sensitive values are published as they are. Anyone who knows a person's class and one of the person's values looks up
the rows of the class that show it; where these rows agree on another attribute, that value is known, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tclose.distance import Counts
from tclose.measure import risk
from tclose.measure.attack.base import NO_SECRET, Attack, Finding, Scene, Secret, SomeClasses, not_applicable
from tclose.measure.linkage import RowsOfPersons
from tclose.measure.presence import Membership
from tclose.messages import say
from tclose.types import Bools, Ints
from tclose.words import columns, counted, number, percent, rows_of

# Linkage with a register: prosecutor, journalist, marketer, uniqueness


NOBODY = (
    "No person of the register fits any class, so nothing could be linked. This attack needs a register of people of "
    "the table, spelled as the table is."
)


def run_prosecutor(scene: Scene) -> Finding:
    """Look for a person who is known to be in the table."""
    rows, least = scene.rows, int(scene.sizes.min())
    chance = risk.prosecutor(scene.sizes)
    finding = Finding(chance, int(scene.sizes[scene.sizes < scene.crowd].sum()), rows, "")
    if least == 1:
        alone = rows_of(int((scene.sizes == 1).sum()), rows)
        return finding.saying(
            say("{alone} are alone in their class: anyone who looks for these people finds their rows.", alone=alone)
        )
    return finding.saying(
        say(
            "Every person shares a class of at least {least:,} rows, so a guess is right with a chance of at "
            "most {share}.",
            least=least,
            share=percent(chance),
        )
    )


def run_journalist(scene: Scene) -> Finding:
    """Look for any person of the register."""
    if not scene.people.any():
        return not_applicable(scene, NOBODY)
    crowds = risk.crowds(scene.sizes, scene.people)
    small = (crowds > 0) & (crowds < scene.crowd)
    chance = risk.journalist(scene.sizes, scene.people)
    finding = Finding(chance, int(scene.sizes[small].sum()), scene.rows, "")
    fewest = int(crowds[crowds > 0].min())
    return finding.saying(
        say(
            "The most exposed row fits 1 person and is alone in its class: a link is right with a chance of {share}."
            if fewest == 1
            else "The most exposed row hides among {fewest:,} rows or people: a link is right with a "
            "chance of {share}.",
            fewest=fewest,
            share=percent(chance),
        )
    )


def run_marketer(scene: Scene) -> Finding:
    """Link as many rows as possible."""
    if not scene.people.any():
        return not_applicable(scene, NOBODY)
    share, whole = risk.marketer(scene.sizes, scene.people), scene.rows
    right = round(share * whole)
    sentence = say(
        "If every row is linked to a person of the register who fits, about {rows} are right.",
        rows=rows_of(right, whole),
    )
    return Finding(share, right, whole, sentence)


def run_uniqueness(scene: Scene) -> Finding:
    """Count rows that are alone in their class and fit exactly one person."""
    if not scene.people.any():
        return not_applicable(scene, NOBODY)
    rows, whole = int(risk.unique(scene.sizes, scene.people).sum()), scene.rows
    sentence = say(
        "{rows} are alone in their class and fit exactly one person of the register.", rows=rows_of(rows, whole)
    )
    return Finding(rows / whole, rows, whole, sentence)


PROSECUTOR = Attack(
    "prosecutor",
    "prosecutor attack",
    "The adversary knows that a person is in the table and looks for the person's row. Rows in classes of fewer than k "
    "rows count as affected.",
    "chance of finding the most exposed row",
    "share",
    "lower",
    run_prosecutor,
    cure="a larger k",
    counts_people=True,
)
JOURNALIST = Attack(
    "journalist",
    "journalist attack",
    "The adversary has a register and looks for any person in it. A row hides among the rows of its class or the "
    "people who fit it, whichever are more. Rows that fit a person and hide among fewer than k count as affected.",
    "chance of linking the most exposed row",
    "share",
    "lower",
    run_journalist,
    cure="a larger k",
    counts_people=True,
)
MARKETER = Attack(
    "marketer",
    "marketer attack",
    "The adversary links every row to a person of the register who fits. Some of these links are right.",
    "share of rows linked to the right person",
    "share",
    "lower",
    run_marketer,
    cure="a larger k",
    counts_people=True,
)
UNIQUENESS = Attack(
    "uniqueness",
    "uniqueness",
    "If a row is alone in its class and fits exactly one person of the register, the adversary links it to this "
    "person.",
    "share of rows that are alone in their class and fit exactly one person",
    "share",
    "lower",
    run_uniqueness,
    cure="a larger k",
    counts_people=True,
)


# Membership attack


def run_membership(scene: Scene) -> Finding:
    """Find how likely anyone of the population is in the table, and who surely is."""
    found = scene.presence
    if found is None:
        return not_applicable(scene, "This attack needs the population that the table is drawn from (--population).")
    return Finding(float(found.at_least), found.certain, scene.rows, _sentences(found))


def _sentences(found: Membership) -> str:
    if found.counts.everybody:
        people = counted(found.counts.population, "row")
        return say(
            "Everybody of the population ({people}) is certainly in the table: it has as many rows.", people=people
        )
    return (_exactly(found) if found.exact else _at_least(found)) + _outside(found)


def _exactly(found: Membership) -> str:
    counts = found.counts
    least, largest = number(counts.least), number(counts.largest)
    chance = (
        say("of exactly {least}", least=least)
        if counts.least == counts.largest
        else say("from {least} to {largest}", least=least, largest=largest)
    )
    certain = say("Nobody is")
    if found.certain:
        template = "{persons} is" if found.certain == 1 else "{persons} are"
        certain = say(template, persons=counted(found.certain, "person"))
    return say(
        "Everybody of the population ({rows}) fits exactly one class and is in the table with a chance "
        "{chance}. {certain} certainly in the table.",
        rows=counted(counts.population, "row"),
        chance=chance,
        certain=certain,
    )


def _at_least(found: Membership) -> str:
    population = say("of the population ({rows})", rows=counted(found.counts.population, "row"))
    if not found.certain:
        chance = number(found.at_least)
        return say(
            "Somebody {population} is in the table with a chance of at least {chance}. Nobody was found who "
            "is certainly in it.",
            population=population,
            chance=chance,
        )
    return say(
        "At least {persons} {population} is certainly in the table: everybody who fits their class is, or nobody else "
        "has a value that their class publishes as the end of a range, in a set or as missing."
        if found.certain == 1
        else "At least {persons} {population} are certainly in the table: everybody who fits their class is, or nobody "
        "else has a value that their class publishes as the end of a range, in a set or as missing.",
        persons=counted(found.certain, "person"),
        population=population,
    )


def _outside(found: Membership) -> str:
    outside, withheld = found.counts.outside, found.counts.withheld
    if not outside:
        return ""
    persons = counted(outside, "person")
    if withheld:  # nobody sees what withheld rows show
        template = " {persons} fit no class: of these, at most {withheld:,} can be in the table, in withheld rows."
        if outside == 1:
            template = " {persons} fits no class: of these, at most {withheld:,} can be in the table, in withheld rows."
        return say(template, persons=persons, withheld=withheld)
    template = " {persons} fit no class and are certainly not in it."
    return say(" {persons} fits no class and is certainly not in it." if outside == 1 else template, persons=persons)


MEMBERSHIP = Attack(
    "membership",
    "membership attack",
    "The adversary has the population that the table is drawn from, such as all people of a town, and asks who is in "
    "the table. Rows count as affected if their persons are certainly in it: everybody who fits their class is, or "
    "nobody else has a value that their class publishes as the end of a range, in a set or as missing.",
    "largest chance that anyone of the population is in the table; where classes overlap, at least this",
    "share",
    "lower",
    run_membership,
    cure="max in [presence]; a larger k",
    counts_people=True,
    needs_rows=True,
)


# Rare value attack


UNLINKED = "No row shows a sensitive value: the values of each class are counted apart from its rows."


def run_rare_value(scene: Scene) -> Finding:
    """Find the rarest value, and the rows whose value fewer than k rows share."""
    secrets = [secret for secret in scene.secrets if secret.linked]
    if not secrets:
        return not_applicable(scene, UNLINKED if scene.secrets else NO_SECRET)
    shared = {secret.name: secret.shared for secret in secrets}
    fewest = {name: int(rows[rows > 0].min()) for name, rows in shared.items()}
    least, names = min(fewest.values()), [name for name, rows in fewest.items() if rows < scene.crowd]
    rows = _rows(scene, {name: shared[name] < scene.crowd for name in names}) if names else 0
    sentence = say("At least {least:,} rows share every sensitive value.", least=least)
    if rows:
        sentence = say(
            "{rows} show a value of {columns} that fewer than {crowd:,} rows share: anyone who knows the "
            "value finds the row.",
            rows=rows_of(rows, scene.rows),
            columns=columns(names),
            crowd=scene.crowd,
        )
    return Finding(least, rows, scene.rows, sentence)


def _rows(scene: Scene, rare: Mapping[str, Bools]) -> int:
    """Count the rows that show a rare value of some attribute."""
    rows = 0
    for classes in scene.some_classes():
        shown = [rare[secret.name][secret.cells] for secret in classes.secrets if secret.name in rare]
        rows += classes.number_of(np.any(shown, axis=0))
    return rows


RARE_VALUE = Attack(
    "rarity",
    "rare value attack",
    "Anyone who knows a person's rare disease or exact salary finds the person's row, whatever its class.",
    "rows that share the rarest value",
    "rows",
    "higher",
    run_rare_value,
    cure='bins and publish = "bin"',
    counts_people=True,
)


# Background join attack


def run_background_join(scene: Scene) -> Finding:
    """Find the rows for which one known value reveals another, and the share of rows that it singles out."""
    rows, secrets = scene.rows, [secret for secret in scene.secrets if secret.linked]
    if len(secrets) < 2 and (scene.linked is None or not secrets):
        return not_applicable(
            scene, "This attack needs two sensitive attributes: one that the adversary knows, and one to learn."
        )
    telling = {secret.name for secret in secrets if np.ptp(secret.cells)}
    singled_out, affected = dict.fromkeys((secret.name for secret in secrets), 0), 0
    for classes in scene.some_classes():
        learnt = np.zeros(len(classes.labels), dtype=bool)
        for known in classes.linked:
            group = _groups(classes, known)
            singled_out[known.name] += classes.number_of(np.bincount(group, classes.rows)[group] == 1)
            for other in classes.linked:
                if other is not known and other.name in telling:
                    learnt |= _agree(group, other)
        affected += classes.number_of(_with_persons(scene.linked, learnt, secrets))
    share, name = max((number / rows, name) for name, number in singled_out.items())
    sentence = say(
        "Anyone who knows a person's class and {columns} singles out {share} of the rows; for {rows}, the "
        "class and one known value reveal another value.",
        columns=columns([name]),
        share=percent(share),
        rows=rows_of(affected, rows),
    )
    return Finding(share, affected, rows, sentence)


def _with_persons(linked: RowsOfPersons | None, learnt: Bools, secrets: Sequence[Secret]) -> Bools:
    """Mark also what the other rows of a person tell, where pseudonyms link them."""
    if linked is None:
        return learnt
    learnt = linked.all_rows(learnt)
    for known in secrets:
        learnt |= linked.revealed_by(known.name, {secret.name: secret.cells for secret in secrets})
    return learnt


def _groups(classes: SomeClasses, known: Secret) -> Ints:
    """Give numbers to the rows of each class that show the same known value."""
    key = classes.labels * (int(known.cells.max()) + 1) + known.cells
    return np.asarray(np.unique(key, return_inverse=True)[1], dtype=np.int64)


def _agree(group: Ints, secret: Secret) -> Bools:
    """Tell for each row whether its group shows one value only."""
    distinct = Counts.from_codes(group, secret.cells, int(secret.cells.max()) + 1).distinct
    return np.asarray((distinct == 1)[group])


BACKGROUND_JOIN = Attack(
    "background_join",
    "background join attack",
    "Anyone who knows a person's class and one sensitive value, such as a salary, looks up the person's other values.",
    "largest share of rows singled out by one known value",
    "share",
    "lower",
    run_background_join,
    cure='bins and publish = "bin", wider bins where there are some, or --method projections',
)
