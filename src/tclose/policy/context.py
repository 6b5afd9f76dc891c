"""The steward's sentences for a report profile: what a `[context]` table of a policy says about a release.

No figure can tell who receives a release, what for and under which controls. These sentences stand on the page that
`--profile` asks for, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Literal, get_args

from tclose.errors import Mistakes, PolicyError, did_you_mean
from tclose.policy import settings
from tclose.policy.settings import above_up_to, join, kind_of

ProfileName = Literal["iso27559", "wp216", "hipaa", "ema0070"]
PROFILES: tuple[ProfileName, ...] = get_args(ProfileName)  # of report/profiles
LONGEST = 5000  # letters of a sentence; a whole document is rather named in it


@dataclass(frozen=True)
class SignOff:
    """Who takes the responsibility for a release, and since when."""

    name: str
    date: date


@dataclass(frozen=True)
class Context:
    """What a steward says about a release; everything is optional, and a sentence may have several lines."""

    recipient: str = ""  # who gets the release
    purpose: str = ""  # what the recipient does with it
    controls: str = ""  # contracts, access, training: what keeps the recipient from identifying people
    threat_model: str = ""  # who may try to identify people, why, and what they know
    data_subjects: str = ""  # whom the table is about
    harm: str = ""  # what identification would mean for them
    transparency: str = ""  # what they and the public are told
    other_releases: str = ""  # of the same people
    utility: str = ""  # which detail the purpose needs
    evaluation: str = ""  # of the criteria of WP216 that are not met or not decided
    threshold: str = ""  # why this level of risk is acceptable
    knowledge: str = ""  # that nobody in the house knows how to identify people in the release
    expert: str = ""  # who determined the risk, with which experience
    incidents: str = ""  # what happens if somebody is identified
    roles: Mapping[str, str] = field(default_factory=dict)  # why a column has its role
    safe_harbor: Mapping[str, str] = field(default_factory=dict)  # why a column is none of the 18 identifiers
    sign_off: SignOff | None = None
    review_date: date | None = None
    sampling_fraction: Fraction | None = None  # rows of the table / people of the population
    sampling_weight: str | None = None  # a column: how many people of the population each row stands for


def context(value: object, place: str) -> Context:
    """Read a `[context]` table; every mistake in it is reported."""
    if isinstance(value, Context):
        value = {each.name: getattr(value, each.name) for each in fields(value)}
    read = _READ(value, place)
    if "sampling_fraction" in read and "sampling_weight" in read:
        raise PolicyError("say either sampling_fraction or sampling_weight, not both", place=place)
    return Context(**read)


def contradictions(given: Context | None, roles: Mapping[str, Any], columns: set[str]) -> Iterator[tuple[str, str]]:
    """Yield each column that the context speaks of and that the policy does not name; it may name all or some."""
    if given is None or roles.get("others") == "drop":
        return
    for table, sentences in (("roles", given.roles), ("safe_harbor", given.safe_harbor)):
        for name in sentences:
            if name not in columns:
                hint = did_you_mean(name, columns)
                yield join(f"context.{table}", name), f"the policy names no column '{name}'{hint}"


def _sentence(value: object, place: str) -> str:
    """Read a sentence, or several; blanks around it do not count."""
    text = settings.text(value, place).strip()
    if len(text) > LONGEST:
        raise PolicyError(
            f"expected at most {LONGEST:,} letters, not {len(text):,}: name the document that has the rest",
            place=place,
        )
    return text


def _sentences(value: object, place: str) -> dict[str, str]:
    """Read one sentence for each of some columns."""
    if not isinstance(value, Mapping):
        raise PolicyError(f'expected COLUMN = "a sentence", not {kind_of(value)}', place=place)
    read, mistakes = {}, Mistakes()
    for name, text in value.items():
        with mistakes.collected():
            read[str(name)] = _sentence(text, join(place, str(name)))
    mistakes.report()
    return read


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


def _sign_off(value: object, place: str) -> SignOff:
    if isinstance(value, SignOff):
        value = vars(value)
    read = settings.table({"name": _sentence, "date": _day})(value, place)
    if not read.get("name") or "date" not in read:
        raise PolicyError('expected both, as in { name = "A. Steward", date = 2026-11-16 }', place=place)
    return SignOff(**read)


SENTENCES = tuple(each.name for each in fields(Context) if each.default == "")
_READ = settings.table(
    {
        **dict.fromkeys(SENTENCES, _sentence),
        "roles": _sentences,
        "safe_harbor": _sentences,
        "sign_off": _sign_off,
        "review_date": _day,
        "sampling_fraction": above_up_to(0, 1),
        "sampling_weight": settings.text,
    }
)
