"""Which of the 18 identifiers of the Safe Harbor a published column holds: yes, no, or a person must say.

Three kinds of evidence, in this order:

1. Cells that can be nothing else (an e-mail address), or a name and cells that agree (`zip` and five digits): held.
2. A column that is understood (`meanings.py`), or whose cells leave no room for the identifier: not held.
3. Everything else is not decided. A name without a meaning, or one cell that is not understood, is such a case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tclose.policy.draft import names
from tclose.policy.draft.shapes import FULL, is_card_number, is_iban
from tclose.report.profiles.cells import MARKS, PublishedColumn
from tclose.report.profiles.identifiers import IDENTIFIERS, Identifier
from tclose.report.profiles.meanings import OLDEST, meaning_of, shows_age_over_89, years_of
from tclose.types import Answer

ZIP_DIGITS = 3
MONTHS = (
    "jan feb mar mär mae apr may mai maj jun jul aug sep oct okt nov dec dez déc fév fev avr ago set ene abr dic gen"
    " mag giu lug ott mei"
)
DAY = re.compile(
    r"[0-9]{4}-(?:[01][0-9]|Q[1-4]|W[0-9]{2})(?:-[0-9]{2})?(?:[T ].*)?|Q[1-4][ /-]?[0-9]{4}"
    r"|[0-9]{1,2}([./-])[0-9]{1,2}\1(?:[0-9]{2}|[0-9]{4})(?: .*)?|[0-9]{4}([./])[0-9]{1,2}(?:\2[0-9]{1,2})?"
    r"|[01]?[0-9][./-](?:18|19|20|21)[0-9]{2}"
    rf"|(?:[0-9]{{1,2}}\.? ?(?:of )?)?(?:{'|'.join(MONTHS.split())})[^\W\d]*\.?,? ?[0-9][0-9, ]*"
    rf"|[0-9]{{1,2}}\.?[ -]?(?:{'|'.join(MONTHS.split())})[^\W\d]*(?:[ -][0-9]{{2,4}})?",
    re.IGNORECASE,
)
COMPACT_DAY = re.compile(r"(?:18|19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])")
SIGNS: Mapping[str, tuple[tuple[str, Callable[[str], object]], ...]] = {  # what a cell shows by itself
    "B": (
        ("street addresses", re.compile(FULL["street"], re.IGNORECASE).fullmatch),
        ("pairs of coordinates", re.compile(r"\(?-?[0-9]{1,3}\.[0-9]+[,;] ?-?[0-9]{1,3}\.[0-9]+\)?|POINT ?\(.*\)").fullmatch),
    ),
    "C": (("dates finer than a year", DAY.fullmatch),),
    "D": (("phone numbers", re.compile(r"\+[0-9][0-9 ()/.-]{6,}|\([0-9]{3,5}\) ?[0-9][0-9 -]{4,}").fullmatch),),
    "F": (("e-mail addresses", re.compile(r"[^@\s]+ ?(?:@|\(at\)|\[at\]) ?[^@\s]+\.[^@\s]{2,}").search),),
    "G": (("social security numbers", re.compile(r"[0-9]{3}-[0-9]{2}-[0-9]{4}").fullmatch),),
    "J": (
        ("bank accounts (IBAN)", is_iban),
        ("numbers of payment cards", lambda value: not value.isdigit() and is_card_number(value)),
    ),
    "M": (("MAC addresses of devices", re.compile(FULL["mac"]).fullmatch),),
    "N": (("web addresses", re.compile(r"(?:[a-z]+://|www\.)\S+|\S+\.[a-z]{2,}/\S+", re.IGNORECASE).fullmatch),),
    "O": (
        ("internet addresses", re.compile(r"(?:[0-9]{1,3}\.){3}(?:[0-9]{1,3}|\*|x+)|[0-9a-fA-F:]*::[0-9a-fA-F:*]*|(?:[0-9a-fA-F]{3,4}:){3,}[0-9a-fA-F:*]+").fullmatch),
    ),
    "Q": (("pictures", re.compile(r"data:image/.*|\S+\.(?:jpe?g|png|gif|bmp|tiff?|dcm|heic|webp)", re.IGNORECASE).fullmatch),),
    "R": (("UUIDs", re.compile(FULL["uuid"]).fullmatch),),
}  # fmt: skip


def _digits(value: str) -> int:
    return sum(map(str.isdigit, value))


def _letters(value: str) -> int:
    return sum(map(str.isalpha, value))


def _is_code(value: str) -> bool:
    return _digits(value) >= 3 or (_digits(value) >= 1 and _letters(value) >= 1)


NAMED: Mapping[str, Callable[[str], object]] = {  # what a cell shows at least, where the name of its column says it
    "A": lambda value: _letters(value) >= 2 or (_letters(value) and not value.isascii()),
    "D": lambda value: _digits(value) >= 5,
    "E": lambda value: _digits(value) >= 5,
    "F": re.compile(r"@|\(at\)|\[at\]").search,
    "G": lambda value: _digits(value) >= 4,
    "H": lambda value: _digits(value) >= 1 and "." not in value and "," not in value,
    "I": _is_code,
    "J": _is_code,
    "K": _is_code,
    "L": _is_code,
    "M": _is_code,
    "N": re.compile(r"[^\W\d]\.[^\W\d]|/").search,
    "O": re.compile(r"[0-9a-fA-F]*[.:][0-9a-fA-F*]*[.:]|[0-9]{8}").search,
    "P": lambda value: len(value) >= 8,
    "Q": re.compile(r".{100}|\.[a-z]{3,4}$", re.IGNORECASE | re.DOTALL).search,
    "R": lambda value: len(value) >= 6 and _digits(value) >= 1,
}
ROOM: Mapping[str, Callable[[PublishedColumn], object]] = {  # whether cells of a nameless column may hold it
    "A": lambda column: any(map(_letters, column.values)),
    "D": lambda column: column.most_digits >= 4,
    "E": lambda column: column.most_digits >= 4,
    "F": lambda column: column.any_other(re.compile(r"[@＠]|%40|\W ?at ?\W| at ", re.IGNORECASE)),
    "G": lambda column: column.most_digits >= 4,
    "N": lambda column: column.any_other(re.compile(r"/|\\|www| dot |[^\W\d]\.[^\W\d]|\.[^\W\d]{2}", re.IGNORECASE)),
    "O": lambda column: column.most_digits >= 8 or column.any_other(re.compile(r"[.:].*[.:]|[0-9a-fA-F]{8}")),
    "P": lambda column: column.longest > 6,
    "Q": lambda column: (
        column.longest >= 100
        or column.any_other(re.compile(r"\.[a-z]{3,4}$|/|\\|im(?:g|age)|dsc|pic|photo|foto", re.IGNORECASE))
    ),
}
NAMELESS = "its name and its cells do not say what it shows"
VAGUE_NAME = "its name points to this, its cells do not"
POSTCODES = "do more than 20,000 people live in each area, by the current census?"


@dataclass(frozen=True)
class Finding:
    """What one column says about one identifier: whether the column is free of it, and why."""

    answer: Answer  # yes: it holds none; no: it holds some
    why: str


@dataclass(frozen=True)
class HarborFinding:
    """One of the 18 identifiers in a release: the columns that hold it, and those that may, each with the reason."""

    identifier: Identifier
    present: tuple[tuple[str, str], ...] = ()
    unclear: tuple[tuple[str, str], ...] = ()

    @property
    def answer(self) -> Answer:
        """Whether the release is free of it."""
        return "no" if self.present else "undecided" if self.unclear else "yes"


def safe_harbor(columns: Sequence[PublishedColumn], year: int) -> tuple[HarborFinding, ...]:
    """Look for each of the 18 identifiers in all columns of a release of some year."""
    answers = {column.name: findings_of(column, year) for column in columns}

    def with_answer(letter: str, answer: Answer) -> tuple[tuple[str, str], ...]:
        found = ((name, each[letter]) for name, each in answers.items())
        return tuple((name, each.why) for name, each in found if each.answer == answer)

    return tuple(
        HarborFinding(each, with_answer(each.letter, "no"), with_answer(each.letter, "undecided"))
        for each in IDENTIFIERS
    )


def findings_of(column: PublishedColumn, year: int) -> dict[str, Finding]:
    """Say of each identifier whether one column is free of it."""
    if column.pseudonym:
        return _rest({"R": Finding("no", "pseudonyms of an identifier")}, _free("a pseudonym"))
    if (meaning := meaning_of(column)) is not None:
        return _rest(_of_understood(column, meaning.kind, year), _free(meaning.shows))
    found, covered = _found(column, year)
    return _rest(found, _free("another identifier") if covered else _by_room(column))


def _rest(found: Mapping[str, Finding], rest: Callable[[str], Finding]) -> dict[str, Finding]:
    return {each.letter: found.get(each.letter) or rest(each.letter) for each in IDENTIFIERS}


def _free(why: str) -> Callable[[str], Finding]:
    return lambda letter: Finding("yes", why)


def _by_room(column: PublishedColumn) -> Callable[[str], Finding]:
    """Return what is said of an identifier that nothing points to: its cells may leave no room for it."""

    def finding(letter: str) -> Finding:
        room = ROOM.get(letter)
        free = room is not None and not room(column)
        return Finding("yes", "its cells cannot be this") if free else Finding("undecided", NAMELESS)

    return finding


def _of_understood(column: PublishedColumn, kind: str, year: int) -> dict[str, Finding]:
    """Compare the ages and the years of an understood column with the rule."""
    if kind == "age" and any(map(shows_age_over_89, column.values)):
        return {"C": Finding("no", f"ages over {OLDEST}: set top = {OLDEST + 1}")}
    if kind == "year" and any(_shows_old_year(value, year) for value in column.values):
        return {"C": Finding("no", f"years so long ago that somebody was {OLDEST + 1} in {year}")}
    return {}


def _shows_old_year(value: str, year: int) -> bool:
    """Tell whether a year shows an age over 89 in the year of the release; all older years together may stand."""
    oldest = min(years_of(value) or (0,))
    return oldest <= year - OLDEST - 1 and not (value[0] == "≤" and oldest == year - OLDEST - 1)


def _found(column: PublishedColumn, year: int) -> tuple[dict[str, Finding], bool]:
    """Return what cells show by themselves or with their name, and whether this explains every cell."""
    found: dict[str, Finding] = {}
    covered = False
    for letter, what, whole in _shown(column):
        found.setdefault(letter, Finding("no", what))
        covered = covered or whole
    for letter, finding, whole in _named(column):
        if letter not in found or finding.answer == "no":
            found[letter] = finding
        covered = covered or whole
    if covered and "D" in found and "E" not in found:
        found["E"] = Finding("undecided", "it can be the number of a fax")
    return found, covered


def _shown(column: PublishedColumn) -> Iterator[tuple[str, str, bool]]:
    """Yield what cells show by themselves: the letter, what it is, and whether every cell shows it."""
    for letter, signs in SIGNS.items():
        for what, shows in signs:
            count = sum(1 for value in column.others if shows(value))
            if count:
                yield letter, what, count == len(column.values)
    if column.numbers and all(map(COMPACT_DAY.fullmatch, column.numbers)):
        yield "C", "dates such as 20240331", column.only_numbers


def _named(column: PublishedColumn) -> Iterator[tuple[str, Finding, bool]]:
    """Yield what the name of a column says, and whether its cells agree."""
    name = names.words(column.name)
    yield from _place(column, name)
    for identifier in IDENTIFIERS:
        shows = NAMED.get(identifier.letter)
        if shows is None or not identifier.name.search(name):
            continue
        if any(map(shows, column.values)):
            yield identifier.letter, Finding("no", "by its name and its cells"), all(map(shows, column.values))
        else:
            yield identifier.letter, Finding("undecided", VAGUE_NAME), False
    others = any(each.name.search(name) for each in IDENTIFIERS if each.letter not in "ABC")
    if names.ID.search(name) and any(map(_digits, column.values)) and not others:
        yield "R", Finding("no", "its name says that it numbers rows or persons"), False


def _place(column: PublishedColumn, name: str) -> Iterator[tuple[str, Finding, bool]]:
    """Yield what a column says that has the name of a place."""
    values = column.values
    if names.POSTCODE.search(name):
        if any(_digits(value) > ZIP_DIGITS or _letters(value.strip("xX")) for value in values):
            yield "B", Finding("no", f"more than {ZIP_DIGITS} digits of a postal code"), True
        elif all(re.fullmatch(r"[0-9]{1,3}[*xX]*", value) for value in values):
            yield "B", Finding("undecided", f"the first digits of a postal code: {POSTCODES}"), True
    elif _PLACE.search(name) and not _OTHER_ADDRESS.search(name):
        if any(_letters(value) >= 2 or _is_number_of_place(value) for value in values):
            yield "B", Finding("no", "by its name and its cells"), True
        else:
            yield "B", Finding("undecided", VAGUE_NAME), False


_OTHER_ADDRESS = re.compile("(?:ip|mac|web|e?_?mail|internet)_?addr")
_PLACE = next(each.name for each in IDENTIFIERS if each.letter == "B")


def _is_number_of_place(value: str) -> bool:
    return _digits(value) >= 1 and value.lstrip(MARKS) not in ("0", "1")
