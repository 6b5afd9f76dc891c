"""What a policy asks for beside single columns, and what does not go with it: `[[joint]]`, `[pseudonym]` and others.

- `[[joint]]`: closeness of sensitive attributes together. Li, Li & Venkatasubramanian (2007, section 8) name the joint
  distribution as the other way to treat several sensitive attributes; Bagai, Weber & Gowda (2023, section 2.4) describe
  it with pairs in lexicographic order.
- `[pseudonym]`: identifiers that are published as keyed pseudonyms.
- `[context]`: the steward's sentences for a report profile. No figure can tell who receives a release, what for and
  under which controls. These sentences stand on the page that `--profile` asks for, and nowhere else.
- `both`: columns that are quasi-identifier and sensitive.
- `[presence]`: δ-presence does not go with settings by which a release tells of members, or moves them between its
  boxes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from tclose.errors import Mistakes, PolicyError, did_you_mean
from tclose.messages import say
from tclose.policy import settings
from tclose.policy.settings import (
    Setting,
    above_up_to,
    between,
    by_name,
    join,
    kind_of,
    one_of,
    table_of,
    takes,
)

# [[joint]]: sensitive attributes together


JointDistance = Literal["product", "lexicographic"]
JOINT_DISTANCES: tuple[JointDistance, ...] = get_args(JointDistance)
TWO_AT_LEAST = 'expected at least two sensitive attributes, as in ["ldl", "hdl"]'


@takes({**settings.names.schema, "minItems": 2})
def _several(value: object, place: str) -> tuple[str, ...]:
    names = settings.names(value, place)
    if len(names) < 2:
        raise PolicyError(TWO_AT_LEAST, place=place)
    return names


@dataclass(frozen=True)
class Joint:
    """How close the tuples of several sensitive attributes must be, and how tuples are compared."""

    attributes: Annotated[tuple[str, ...], Setting(_several, "Two or more sensitive attributes.")]
    t: Annotated[Fraction, Setting(between(0, 1), "Every class has a closeness of at most t.")]
    distance: Annotated[JointDistance, Setting(one_of(*JOINT_DISTANCES), "How far two tuples of values are apart.")] = (
        "product"
    )

    @property
    def name(self) -> str:
        """What the tuples are called beside the attributes themselves."""
        return " + ".join(self.attributes)


@takes({"type": "array", "items": table_of(Joint).schema})
def joints(value: object, place: str) -> tuple[Joint, ...]:
    """Read all `[[joint]]` tables; every mistake in them is reported."""
    if isinstance(value, Mapping | str) or not isinstance(value, Sequence):
        raise PolicyError("expected [[joint]] tables, not {kind_of}", kind_of=kind_of(value), place=place)
    read, mistakes = [], Mistakes()
    for number, given in enumerate(value, start=1):
        with mistakes.collected():
            read.append(_joint(vars(given) if isinstance(given, Joint) else given, join(place, str(number))))
    mistakes.report()
    return tuple(read)


def _joint(given: object, place: str) -> Joint:
    read = table_of(Joint)(given, place)
    if "attributes" not in read:
        raise PolicyError(TWO_AT_LEAST, place=f"{place}.attributes")
    if "t" not in read:
        raise PolicyError("expected a number between 0 and 1: say t as well", place=f"{place}.t")
    return Joint(**read)


def joint_contradictions(joint: Sequence[Joint], roles: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each `[[joint]]` table that does not fit the sensitive attributes, or repeats another one."""
    sensitive, both = roles.get("sensitive", ()), roles.get("both", ())
    taken = dict.fromkeys(sensitive, "a sensitive attribute")
    for number, each in enumerate(joint, start=1):
        place = join("joint", str(number))
        for name in each.attributes:
            if name not in sensitive:
                hint = did_you_mean(name, sensitive) or ": give it a [sensitive.COLUMN] table"
                yield (
                    f"{place}.attributes",
                    say("'{name}' is no sensitive attribute of the policy{hint}", name=name, hint=hint),
                )
            elif name in both:
                unlinked = say("the values of '{name}', which is both, are published apart from the rows", name=name)
                yield (
                    f"{place}.attributes",
                    say("{unlinked}, so nobody could judge them together with others", unlinked=unlinked),
                )
        if each.name in taken:
            yield (
                f"{place}.attributes",
                say("'{name}' is the name of {taken} already", name=each.name, taken=taken[each.name]),
            )
        taken.setdefault(each.name, "another joint table")


# [pseudonym]: identifiers as keyed pseudonyms


PLACE = "pseudonym"


@dataclass(frozen=True)
class Pseudonym:
    """How one identifier is published; `key` is the file of the secret key."""

    key: Annotated[Path, Setting(settings.path, "The file of the secret key.")]


@takes(table_of(Pseudonym).schema)
def _pseudonym(value: object, place: str) -> Pseudonym:
    if isinstance(value, Pseudonym):
        return value
    read = table_of(Pseudonym)(value, place)
    if "key" not in read:
        raise PolicyError('say where the secret key is: key = "FILE"', place=place)
    return Pseudonym(read["key"])


pseudonyms = by_name(_pseudonym, "expected one [{place}.COLUMN] table per identifier, not {kind}")


def mistakes_of_pseudonyms(roles: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong about pseudonyms; `roles` holds the settings that can be read."""
    named = roles.get("pseudonym") or {}
    for name in named:
        if name not in roles.get("identifiers", ()):
            yield (
                join(PLACE, name),
                say("only an identifier can get a pseudonym: list '{name}' in identifiers", name=name),
            )
    if len(named) > 1:
        yield PLACE, "only one identifier can get a pseudonym: two would need one class for all rows that either links"
    elif named and roles.get("person") not in (None, *named):
        yield PLACE, "rows with the same pseudonym are rows of one person: name the same column as person, or none"
    if named:
        yield from _not_beside(roles)


def _not_beside(roles: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each setting that does not go with pseudonyms."""
    moves = "moves single rows between classes, but all rows of a pseudonym must stay in one class"
    reasons = {
        "temper": moves,
        "both": "publishes values apart from rows, but a pseudonym links the rows of a person",
        "presence": "counts rows against people, but rows of a pseudonym are one person's",
    }
    for name, why in reasons.items():
        if roles.get(name):
            yield name, say("{name} {why}: leave one of the two out", name=name, why=why)
    given = roles.get("sensitive")
    for column, spec in given.items() if isinstance(given, Mapping) else ():
        for name in ("n", "average_t"):
            if getattr(spec, name) is not None:
                why = "looks at several classes at once, which the search for classes of whole persons does not"
                yield (
                    join(join("sensitive", column), name),
                    say("{name} {why}: leave {name} or the pseudonym out", name=name, why=why),
                )


# [context]: the steward's sentences for a report profile


ProfileName = Literal["iso27559", "wp216", "hipaa", "ema0070"]
PROFILES: tuple[ProfileName, ...] = get_args(ProfileName)  # of report/profiles
LONGEST = 5000  # letters of a sentence; a whole document is rather named in it


@takes({"type": "string"}, f"at most {LONGEST:,} letters")
def _sentence(value: object, place: str) -> str:
    """Read a sentence, or several; blanks around it do not count."""
    text = settings.text(value, place).strip()
    if len(text) > LONGEST:
        raise PolicyError(
            "expected at most {longest:,} letters, not {count:,}: name the document that has the rest",
            longest=LONGEST,
            count=len(text),
            place=place,
        )
    return text


@takes({"type": "string", "pattern": "^[0-9]{4}"}, "a day such as 2027-01-31, with or without quotes")
def _day(value: object, place: str) -> date:
    """Read a day, as TOML has it or as text."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        raise PolicyError("expected a day such as 2027-01-31", place=place) from None


@dataclass(frozen=True)
class SignOff:
    """Who takes the responsibility for a release, and since when."""

    name: Annotated[str, Setting(_sentence, "Who signs.")]
    date: Annotated[date, Setting(_day, "The day of the signature.")]


@takes(table_of(SignOff).schema, "the name is not empty")
def _sign_off(value: object, place: str) -> SignOff:
    if isinstance(value, SignOff):
        value = vars(value)
    read = table_of(SignOff)(value, place)
    if not read.get("name") or "date" not in read:
        raise PolicyError('expected both, as in { name = "A. Steward", date = 2026-11-16 }', place=place)
    return SignOff(**read)


_sentences = by_name(_sentence, 'expected COLUMN = "a sentence", not {kind}')


@dataclass(frozen=True)
class Context:
    """What a steward says about a release; everything is optional, and a sentence may have several lines."""

    recipient: Annotated[str, Setting(_sentence, "Who gets the release.")] = ""
    purpose: Annotated[str, Setting(_sentence, "What the recipient does with it.")] = ""
    controls: Annotated[str, Setting(_sentence, "What keeps the recipient from identifying people.")] = ""
    threat_model: Annotated[str, Setting(_sentence, "Who may try to identify people, why, and what they know.")] = ""
    data_subjects: Annotated[str, Setting(_sentence, "Whom the table is about.")] = ""
    harm: Annotated[str, Setting(_sentence, "What identification would mean for them.")] = ""
    transparency: Annotated[str, Setting(_sentence, "What they and the public are told.")] = ""
    other_releases: Annotated[str, Setting(_sentence, "Other data about the same people.")] = ""
    utility: Annotated[str, Setting(_sentence, "Which detail the purpose needs.")] = ""
    evaluation: Annotated[
        str, Setting(_sentence, "What people found about the criteria of WP216 that are not met or not decided.")
    ] = ""
    threshold: Annotated[str, Setting(_sentence, "Why this level of risk is acceptable.")] = ""
    knowledge: Annotated[str, Setting(_sentence, "That you know of no way to identify anybody in the release.")] = ""
    expert: Annotated[str, Setting(_sentence, "Who determined that the risk is very small, with which experience.")] = (
        ""
    )
    incidents: Annotated[str, Setting(_sentence, "What happens if somebody is identified.")] = ""
    roles: Annotated[Mapping[str, str], Setting(_sentences, "Why a column has its role.")] = field(default_factory=dict)
    safe_harbor: Annotated[
        Mapping[str, str], Setting(_sentences, "Why a column is none of the 18 identifiers, or is allowed.")
    ] = field(default_factory=dict)
    sign_off: Annotated[SignOff | None, Setting(_sign_off, "Who takes the responsibility for the release.")] = None
    review_date: Annotated[date | None, Setting(_day, "When the risk is assessed again.")] = None
    sampling_fraction: Annotated[
        Fraction | None, Setting(above_up_to(0, 1), "Which part of the population is in the table.")
    ] = None
    sampling_weight: Annotated[
        str | None,
        Setting(settings.text, "The column that says how many people of the population each row stands for."),
    ] = None


SENTENCES = tuple(each.name for each in fields(Context) if each.default == "")


@takes({**table_of(Context).schema, "not": {"required": ["sampling_fraction", "sampling_weight"]}})
def context(value: object, place: str) -> Context:
    """Read a `[context]` table; every mistake in it is reported."""
    if isinstance(value, Context):
        value = vars(value)
    read = table_of(Context)(value, place)
    if "sampling_fraction" in read and "sampling_weight" in read:
        raise PolicyError("say either sampling_fraction or sampling_weight, not both", place=place)
    return Context(**read)


def context_contradictions(
    given: Context | None, roles: Mapping[str, Any], columns: set[str]
) -> Iterator[tuple[str, str]]:
    """Yield each column that the context speaks of and that the policy does not name; it may name all or some."""
    if given is None or roles.get("others") == "drop":
        return
    for table, sentences in (("roles", given.roles), ("safe_harbor", given.safe_harbor)):
        for name in sentences:
            if name not in columns:
                hint = did_you_mean(name, columns)
                yield (
                    join(f"context.{table}", name),
                    say("the policy names no column '{name}'{hint}", name=name, hint=hint),
                )


# both: columns that are quasi-identifier and sensitive


CODED = ("step", "top", "bottom", "below")  # settings that make a published number less exact


def second_role(column: str, first: str, second: str, both: tuple[str, ...]) -> str | None:
    """Say what is wrong about a second role of a column, given the places of both; None where it may have two."""
    may_be_both = (first, second) == (join("quasi", column), join("sensitive", column))
    if may_be_both and column in both:
        return None
    alternative = ", or list it in both" if may_be_both else ""
    return say(
        "column '{column}' has a role already, in {first}: name it once{alternative}",
        column=column,
        first=first,
        alternative=alternative,
    )


def mistakes_of_both(roles: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong about the columns that are both; `roles` holds the settings that can be read."""
    both = roles.get("both", ())
    for column in both:
        absent = [f"[{join(role, column)}]" for role in ("quasi", "sensitive") if column not in roles.get(role, ())]
        if absent:
            yield (
                "both",
                say(
                    "column '{column}' is both quasi-identifier and sensitive: add {absent}",
                    column=column,
                    absent=" and ".join(absent),
                ),
            )
        else:
            yield from _coded_in_vain(column, roles)
    if both and roles.get("person") is not None:
        yield "both", "which value belongs to which person is not published, so both does not go with person"


def _coded_in_vain(column: str, roles: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Refuse steps and tails of a column whose exact values are published as counts."""
    if not all(isinstance(roles[role], Mapping) for role in ("quasi", "sensitive")):  # it has mistakes of its own
        return
    quasi, sensitive = roles["quasi"][column], roles["sensitive"][column]
    given = [name for name in CODED if getattr(quasi, name) is not None]
    if given and sensitive.publish != "bin":
        yield (
            join("quasi", column),
            say(
                "exact values of '{column}' are published as counts, so {given} would hide nothing: leave it "
                'out, or say bins and publish = "bin" in [{value}]',
                column=column,
                given=" and ".join(given),
                value=join("sensitive", column),
            ),
        )


# [presence]: what does not go with it


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
        yield (
            "presence",
            say(
                "boxes are judged one by one, but average_t of '{averaged}' is about all: say t instead",
                averaged=averaged[0],
            ),
        )
    means = [name for name, spec in read.get("quasi", {}).items() if spec.publish == "mean"]
    if means:
        yield (
            "presence",
            say("a class mean tells who is a member: publish ranges of '{mean}' instead of means", mean=means[0]),
        )
