"""The draft as TOML, with a comment for every guess."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tclose.policy.draft.guesses import Guess
from tclose.policy.draft.guessing import guess, person_of
from tclose.policy.draft.profile import MISSING, Profile
from tclose.policy.draft.spelling import key, toml
from tclose.words import counted

HEAD = """\
# Drafted by tclose init. Every role below is a guess from names and values: read it line by line.
# Identifiers are never published. Quasi-identifiers ([quasi.…]) are what others may know about a person: rows are put
# into classes, and each class publishes one common value. Sensitive values ([sensitive.…]) are published row by row."""
CHOOSING_T = """\
# How to choose t: it is the largest distance, from 0 to 1, that the distribution of a column within a class may have
# from its distribution in the whole table. Smaller protects more and keeps less detail. What a t allows depends on the
# column: below each t stands which share of a class it allows, and from which t on a class may show one value only.
# Replace every line "# t = 0.?" by "t = 0.1", say. Then let tclose draw what each t costs, and choose:
#   tclose compare TABLE --policy POLICY --out costs.html"""
NO_QUASI = "# Nothing can be published, because no column is left that forms classes: make a column [quasi.COLUMN]."
NO_SENSITIVE = """\
# Decide: which column must nobody learn about a person? No column looks sensitive, so nothing limits what a class
# tells. Make the [quasi.COLUMN] of a disease, a result or an amount a [sensitive.COLUMN], and give it a t."""
ASK_FOR_T = "# t = 0.?  choose: how far may a class's distribution be from the table's? 0 not at all, 1 anything"


def draft(columns: Sequence[Profile]) -> str:
    """Return a policy in TOML, with a comment for every guess; it asks for a t before it can be used."""
    guesses = guess(columns)
    published = [each for each in guesses if each.role != "identifier"]
    lines = [
        HEAD,
        *_advice({each.role for each in published}),
        "",
        *_identifiers(guesses),
        *_person(columns, guesses),
        "k = 5  # the smallest class: so many rows, or persons, publish the same quasi-identifiers",
        f"missing = {toml(_missing_cells(columns))}  # cells that mean: no value",
    ]
    for each in published:
        lines += ["", *_section(each)]
    return "\n".join(lines) + "\n"


def with_told(policy: str, told: Mapping[str, Sequence[str]]) -> str:
    """Add comments to a drafted policy, below the line that asks for the t of a column."""
    lines, column = [], ""
    sections = {f"[sensitive.{key(name)}]": name for name in told}
    for line in policy.splitlines():
        lines.append(line)
        column = sections.get(line, "") if line.startswith("[") else column
        if line == ASK_FOR_T:
            lines += [f"# {words}" for words in told.get(column, ())]
    return "\n".join(lines) + "\n"


def _advice(roles: set[str]) -> list[str]:
    advice = ["#", CHOOSING_T] if "sensitive" in roles else ["#", NO_SENSITIVE] if "quasi" in roles else []
    return advice if "quasi" in roles else [*advice, "#", NO_QUASI]


def _identifiers(guesses: Sequence[Guess]) -> list[str]:
    identifiers = [each for each in guesses if each.role == "identifier"]
    lines = [f"identifiers = {toml([each.column for each in identifiers])}  # never published"]
    for each in identifiers:
        lines += [f"# {key(each.column)}: {each.why}", *(f"#   {remark}" for remark in each.remarks)]
    return lines


def _person(columns: Sequence[Profile], guesses: Sequence[Guess]) -> list[str]:
    person = person_of(guesses)
    if person is None:
        return []
    (column,) = (column for column in columns if column.name == person)
    counts = f"{counted(column.distinct, 'value')} in {counted(column.present, 'row')}"
    return [
        f"person = {toml(person)}  # {counts}: rows with the same value count as one person",
        "# Delete the line above if rows with the same value can belong to different persons.",
        f'# To publish its pseudonyms, add [pseudonym.{key(person)}] with key = "FILE" (docs/pseudonyms.md).',
    ]


def _section(each: Guess) -> list[str]:
    lines = [f"[{each.role}.{key(each.column)}]", f"# {each.why}", *(f"# {remark}" for remark in each.remarks)]
    if each.role == "sensitive":
        lines.append(ASK_FOR_T)
    return lines + [f"{name} = {toml(value)}{_comment(each, name)}" for name, value in each.settings.items()]


def _comment(each: Guess, name: str) -> str:
    if name == "distance":
        return '  # or "hierarchical" with hierarchy = "FILE.csv"'
    if name == "missing":
        return f'  # no value in {counted(each.missing, "row")}: counts as a value; "suppress" withholds such rows'
    return ""


def _missing_cells(columns: Sequence[Profile]) -> list[str]:
    """Return the cells that mean "missing" in some column; an empty cell always does."""
    shown = {marker for column in columns for marker in column.markers}
    odd = dict.fromkeys(word for column in columns for word in (*column.words, *column.beyond))
    return [*(marker for marker in MISSING if not marker or marker in shown), *odd]
