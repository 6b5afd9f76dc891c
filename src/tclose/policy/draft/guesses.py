"""The guess about every column (its role, how it is published, what its steward should know), and the draft as TOML.

Nothing that belongs to one row is published. Sensitive numbers are compared by quantile bins, because by rank a t would
limit little. Most values of a bell-shaped number lie close together, and rare extremes lengthen the line of ranks. A
class that shows one middle value only is then within 0.15 of the whole table. In bins of equally many rows it is 0.25
away, or more.

Columns of which each can be computed from the other (age and age², a code and its label) are twins. If one of them is a
quasi-identifier, which a class hides in a range, and the other is published row by row, nothing is hidden. So their
roles must fit.

The draft has a comment for every guess, and a `[source]` that says how the table's file was read, so that a second run
does not guess.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tclose.messages import Message, joined, say
from tclose.policy.column_settings import HALF
from tclose.policy.draft import patterns
from tclose.policy.draft.profile import AMBIGUOUS, MISSING, OWN_ROWS, ColumnProfile, quoted
from tclose.policy.draft.roles import (
    MANY_NUMBERS,
    MANY_ROWS,
    NAMES_PERSONS,
    Guess,
    Role,
    fitness_as_person,
    is_code,
    role_of,
)
from tclose.policy.source import SourceSettings
from tclose.policy.toml import toml_key, toml_value
from tclose.words import counted

# How sensitive numbers are compared


BINS = 20
LEAST_BINS = 10  # fewer are too coarse where values are published as they are: t does not tell values of a bin apart
LEAST_IN_BIN = 5  # rows; a small table gets fewer bins
FEW_LEVELS = 10  # different numbers: no more are levels, such as 1 to 5, which are compared as they are
ASKED = ("0.05", "0.1", "0.2")  # levels of t, of which a draft says what they allow


def quantiles(column: ColumnProfile) -> int:
    """Return how many bins of equally many rows a column gets."""
    return max(1, min(BINS, column.present // LEAST_IN_BIN))


def compared_in(column: ColumnProfile) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return how the numbers of a column are compared, which are published as they are, and why."""
    bins = quantiles(column)
    if column.kind != "number" or column.distinct <= FEW_LEVELS or bins < LEAST_BINS:
        return {}, ()
    said = say("compared in {count} bins of about equally many rows, published as they are", count=bins)
    return {"bins": {"quantiles": bins}}, (joined("; ", [said, say(WITHOUT_BINS)]),)


# How a column is published, and what its steward should know


WITHOUT_BINS = "without bins it is compared by rank, and t limits less"
AS_CODES = "its numbers look like those of places or groups, so bins are published, and none exactly"
FEW_ANSWERS = 10  # different values: no more are levels, such as blood types A, B, AB and 0
MOST_NAMED = 5  # odd cells of a column
LONGEST_CODE = 6  # letters of a postal code that prefixes are made of

Settings = tuple[dict[str, Any], tuple[str, ...]]  # keys of the column's table in the policy, and why they are set


def settings_of(column: ColumnProfile, role: Role) -> Settings:
    """Return the settings that a column needs in its role, with the reasons."""
    if role == "identifier":
        return {}, ()
    settings, reasons = _quasi_settings(column) if role == "quasi" else _sensitive_settings(column)
    return ({**settings, "below": HALF} if column.limits and "hierarchy" not in settings else settings), reasons


def remarks_on(column: ColumnProfile) -> tuple[str, ...]:
    """Return what a steward should know about a column, whatever its role."""
    name = patterns.words(column.name)
    return tuple(remark for remarks in _REMARKS for remark in remarks(column, name))


def _quasi_settings(column: ColumnProfile) -> Settings:
    name, numbers = patterns.words(column.name), column.numbers
    if column.kind == "date":
        units = [*(["day"] if column.time_of_day else []), "month", "year", "decade"]
        said = "exact dates single people out: a class publishes the month, the year or the decade that its rows share"
        return {"hierarchy": {"date": units}}, (said,)
    if patterns.POSTCODE.search(name) and column.kind != "boolean" and column.longest > 1:
        lengths = list(range(min(column.longest, LONGEST_CODE) - 1, 0, -1))
        return {"hierarchy": {"prefix": lengths}}, ("a class publishes the first digits that its rows share",)
    if numbers is not None and numbers.as_ranges is not None and is_code(column):
        said = "codes have no order: a class publishes a range of several, whose ends are no codes, and none exactly"
        return dict(numbers.as_ranges), (said, *_asked(column))
    if numbers is not None and numbers.round_step is not None and has_own_numbers(column):
        ends = "{own}: the ends of ranges are rounded, so that they are nobody's exact numbers"
        return {"step": numbers.round_step}, (say(ends, own=_own_rows(column)), *_asked_of_measure(column))
    return {}, _asked_of_measure(column)


def _asked(column: ColumnProfile) -> tuple[str, ...]:
    """Ask where nothing but the name speaks for a code."""
    if column.code is not None and column.code.surely:
        return ()
    return ("Decide: does it number places or groups? Only its name says so. If it counts or measures, delete step",)


def _asked_of_measure(column: ColumnProfile) -> tuple[str, ...]:
    """Ask where a single sign speaks for a code, and the column is taken for something else."""
    if column.code is None or not column.code.asked or is_code(column):
        return ()
    asked = (
        "Decide: does it number places or groups ({signs})? If so, make it a quasi-identifier with a step, or an "
        "identifier"
    )
    return (say(asked, signs=column.code.sentence),)


def _sensitive_settings(column: ColumnProfile) -> Settings:
    settings: dict[str, Any] = {}
    remarks: tuple[str, ...] = ()
    coded = column.code is not None and column.code.surely
    if has_own_numbers(column) or column.limits or coded:
        settings = {"bins": {"quantiles": quantiles(column)}, "publish": "bin"}
        remarks = (say("{own}: these would single them out, so bins are published", own=_own_rows(column)),)
        remarks = remarks if has_own_numbers(column) else (AS_CODES,) if coded else ()
    elif column.kind in ("text", "boolean", "mixed"):
        settings = {"distance": "equal"}
    if not settings.get("publish") and not remarks and column.own >= MANY_ROWS:
        remarks = (_published_own_rows(column),)
    if not settings:
        settings, why = compared_in(column)
        remarks = (*remarks, *why)
    if column.missing:
        settings["missing"] = "value"
    return settings, (*_asked_of_measure(column), *remarks)


def _published_own_rows(column: ColumnProfile) -> str:
    """Say that some rows publish a value of their own, and how to hide it."""
    own = _own_rows(column, "value")
    if column.kind != "number":
        return say("{own}, which is published: to hide it, write common values in place of the rare ones", own=own)
    if compared_in(column)[0]:
        return say('{own}, which is published: to hide it, add publish = "bin"', own=own)
    bins = '{own}, which is published: to hide it, add bins = {{ quantiles = {count} }} and publish = "bin"'
    return say(bins, own=own, count=BINS)


def has_own_numbers(column: ColumnProfile) -> bool:
    """Tell whether many rows have a number of their own, so that exact numbers are not published."""
    return column.kind == "number" and column.own_share > MANY_NUMBERS and column.distinct > OWN_ROWS


def _own_rows(column: ColumnProfile, noun: str = "number") -> str:
    template = "{count:,} of {rows} have a number of their own (at most two rows or persons share it)"
    if noun == "value":
        template = "{count:,} of {rows} have a value of their own (at most two rows or persons share it)"
    return say(template, count=column.own, rows=counted(column.present, "row"))


def _weight_remarks(column: ColumnProfile, name: str) -> Sequence[str]:
    numbers = column.numbers
    if numbers is None:
        return ()
    by_look = (
        patterns.AMBIGUOUS_WEIGHT.search(name) and numbers.like_sampling_weights and not patterns.BIRTH.search(name)
    )
    if not (patterns.SAMPLING_WEIGHT.search(name) or by_look):
        return ()
    return (
        "a sampling weight? It says nothing sensitive, but it tells which stratum a person was drawn from: "
        "if nobody needs it, move it to identifiers",
    )


def _missing_remarks(column: ColumnProfile, name: str) -> Sequence[str]:
    place = patterns.PLACE.search(name)
    doubtful = [  # a word that is not among the usual ones was found among the numbers of another column
        marker
        for marker in column.markers
        if marker in AMBIGUOUS or marker not in MISSING or (marker == "NA" and place)
    ]
    remarks = []
    if doubtful and column.kind in ("text", "mixed", "boolean"):
        shown = ", ".join(toml_value(marker) for marker in doubtful)
        remarks.append(
            say('{cells} means "no value" here: if it is an answer, write it differently in the table', cells=shown)
        )
    if column.levels:
        shown = ", ".join(toml_value(level) for level in column.levels)
        remarks.append(say('{cells} counts as an answer here: if it means "no value", add it to missing', cells=shown))
    return remarks


def _number_remarks(column: ColumnProfile, name: str) -> Sequence[str]:
    if column.numbers is None or not column.numbers.stray_end:
        return ()
    return ('its first or last number stands apart: if it is a code for "no value", such as 999, add it to missing',)


def _mixed_remarks(column: ColumnProfile, name: str) -> Sequence[str]:
    if column.kind != "mixed" or column.distinct <= FEW_ANSWERS or patterns.POSTCODE.search(name):
        return ()
    return ("numbers or dates, and other texts: to have it read as numbers, correct the texts or list them in missing",)


def _odd_remarks(column: ColumnProfile, name: str) -> Sequence[str]:
    """Name the odd cells among numbers, with their rows, and what becomes of them."""
    said = (
        ('no numbers, so read as "no value": if one is an answer, write a number in its place', column.words),
        ("placed at half of the limit and published as a range or bin from 0 to the limit or beyond", column.limits),
        ('above a limit, so read as "no value": to publish them, write numbers in their place', column.beyond),
    )
    return [
        say("{cells} (with the number of rows): {meaning}", cells=_rows_of(cells), meaning=say(what))
        for what, cells in said
        if cells
    ]


def _rows_of(cells: Mapping[str, int]) -> str:
    """Name cells with their rows, as in: "k.A." 12, "n.b." 1."""
    shown = list(cells.items())[:MOST_NAMED]
    named = joined(", ", [say("{cell} {rows:,}", cell=toml_value(cell), rows=rows) for cell, rows in shown])
    return named + say(" and {count:,} more", count=len(cells) - MOST_NAMED) if len(cells) > MOST_NAMED else named


def _postcode_remarks(column: ColumnProfile, name: str) -> Sequence[str]:
    if column.kind != "number" or not patterns.POSTCODE.search(name):
        return ()
    return ("read as numbers: if leading zeros were lost (1234 for 01234), restore them first",)


_REMARKS: tuple[Callable[[ColumnProfile, str], Sequence[str]], ...] = (
    _weight_remarks,
    _missing_remarks,
    _number_remarks,
    _mixed_remarks,
    _odd_remarks,
    _postcode_remarks,
)


# Twins: columns of which each can be computed from the other


def with_twins(columns: Sequence[ColumnProfile], guesses: Sequence[Guess]) -> list[Guess]:
    """Give columns that say the same, each in its own words (age and age², a code and its label), roles that fit."""
    places = {column.name: place for place, column in enumerate(columns)}
    groups: dict[int, list[int]] = {}
    for place, column in enumerate(columns):
        if column.twin is not None:
            groups.setdefault(places[column.twin], [places[column.twin]]).append(place)
    settled = list(guesses)
    for group in groups.values():
        members = [settled[place] for place in group]
        for place, twin in zip(group, _settled_twins([columns[p] for p in group], members), strict=True):
            settled[place] = twin
    return settled


def without_tellers(columns: Sequence[ColumnProfile], guesses: Sequence[Guess]) -> list[Guess]:
    """Keep columns that are published as they are from telling a quasi-identifier, as a month tells the season."""
    settled = {each.column: each for each in guesses}
    for column in columns:
        teller = settled[column.name]
        known = [name for name in column.tells if settled[name].role == "quasi"]
        if not known or teller.role != "sensitive" or has_own_numbers(column):
            continue
        if teller.by_name:
            told = {name: _dropped(settled[name], _computed(teller.column)) for name in known}
            settled.update(told)
        else:
            why = say("{column} can be computed from it, so it gets the same role", column=quoted(known[0]))
            settled[column.name] = replace(teller, role="quasi", why=_instead(why, teller))
    return [settled[each.column] for each in guesses]


def _computed(name: str) -> str:
    return say("it can be computed from {column}, which is published", column=quoted(name))


def _settled_twins(columns: Sequence[ColumnProfile], members: Sequence[Guess]) -> list[Guess]:
    """Settle the roles of columns of which each can be computed from each other."""
    first, roles = members[0].column, {each.role for each in members}
    settled = list(members)
    for place, each in enumerate(members):
        other = next(other.column for other in members if other.column != each.column)
        if "identifier" in roles and each.role != "identifier" and not _is_measured(columns[place], each):
            why = say("each of its values belongs to one value of {column}, an identifier", column=quoted(other))
            settled[place] = _dropped(each, why)
        elif {"quasi", "sensitive"} <= roles:
            settled[place] = _settled_pair(each, members)
        elif each.column != first and each.role != "identifier":
            settled[place] = replace(each, remarks=(*each.remarks, _twin_remark(members[0])))
    return settled


def _is_measured(column: ColumnProfile, each: Guess) -> bool:
    """Tell whether a column holds a measurement of its own that happens to differ from person to person."""
    return column.kind == "number" and (each.by_name or column.nearly_unique)


def _twin_remark(first: Guess) -> str:
    if first.role == "identifier":
        template = "it rises and falls with {column}, an identifier: if it numbers the rows, move it there"
    else:
        template = "computed from {column} or the other way round: if analysts need only one of them, drop one"
    return say(template, column=quoted(first.column))


def _settled_pair(each: Guess, members: Sequence[Guess]) -> Guess:
    """Keep a sensitive column from publishing, word for word, what a quasi-identifier hides."""
    sensitive = [other for other in members if other.role == "sensitive" and other.by_name]
    quasi = next(other for other in members if other.role == "quasi")
    if sensitive and each.role == "quasi":
        return _dropped(each, _computed(sensitive[0].column))
    if not sensitive and each.role == "sensitive":
        why = say("it can be computed from {column}, so it gets the same role", column=quoted(quasi.column))
        return replace(each, role="quasi", why=_instead(why, each))
    return each


def _dropped(each: Guess, why: str) -> Guess:
    return replace(each, role="identifier", why=_instead(why, each))


def _instead(why: str, each: Guess) -> str:
    """Put a reason in the place of the first one of a guess."""
    return joined("; ", [why, *_reasons(each.why)[1:]])


def _reasons(why: str) -> list[str]:
    if not isinstance(why, Message) or why.template != "; ":
        return [why]
    return [each for part in why.places for each in _reasons(part)]


# The guess about every column of a table


def guess(columns: Sequence[ColumnProfile]) -> list[Guess]:
    """Guess the role of every column from its name and its profile."""
    guesses = _without_false_persons(columns, [_guess(column) for column in columns])
    guesses = without_tellers(columns, with_twins(columns, guesses))
    chosen = _class_former(guesses)
    finished = zip(columns, guesses, strict=True)
    return [_finished(column, _as_quasi(each) if each is chosen else each) for column, each in finished]


def person_of(guesses: Sequence[Guess]) -> str | None:
    """Return the identifier whose values repeat and number persons, if there is one."""
    best = max(guesses, key=lambda each: each.person, default=None)
    return best.column if best is not None and best.person else None


def _without_false_persons(columns: Sequence[ColumnProfile], guesses: Sequence[Guess]) -> list[Guess]:
    """Where another identifier gives each row a person of its own, only a column that names persons can number them."""
    one_each = any(
        column.present
        and column.distinct == column.present
        and patterns.NUMBER_OF_PERSON.search(patterns.words(column.name))
        for column, each in zip(columns, guesses, strict=True)
        if each.role == "identifier"
    )
    return [replace(each, person=0) if one_each and each.person < NAMES_PERSONS else each for each in guesses]


def _guess(column: ColumnProfile) -> Guess:
    role, why, by_name = role_of(column)
    facts = say(
        "{kind}, {values} in {rows}",
        kind=say("numbers and text" if column.kind == "mixed" else column.kind),
        values=counted(column.distinct, "different value"),
        rows=counted(column.rows, "row"),
    )
    reason = joined("; ", [say(why), facts])
    person = fitness_as_person(column) if role == "identifier" else 0
    return Guess(column.name, role, column.kind, reason, column.missing, by_name=by_name, person=person)


def _class_former(guesses: Sequence[Guess]) -> Guess | None:
    """Choose a sensitive column to form the classes where no other does; without any, nothing can be judged."""
    if any(each.role == "quasi" for each in guesses):
        return None
    sensitive = [each for each in guesses if each.role == "sensitive"]
    return min(sensitive, key=lambda each: each.by_name, default=None)


def _as_quasi(each: Guess) -> Guess:
    return replace(each, role="quasi", why="no column looks like something that others know: is it this one?")


def _finished(column: ColumnProfile, each: Guess) -> Guess:
    """Add the settings that the role needs to publish nothing that belongs to one row."""
    settings, reasons = settings_of(column, each.role)
    return replace(each, settings=settings, remarks=(*reasons, *remarks_on(column), *each.remarks))


# The draft's [source]


SOURCE_HEAD = "# How the table's file is written, as it was detected. Nothing is guessed when these lines are there."


def draft_source(found: SourceSettings | None, questions: Sequence[str]) -> str:
    """Return the lines of the draft; none for plain CSV."""
    given = {} if found is None else found.to_dict()
    if not given and not questions:
        return ""
    asked = [f"# Decide: {question}" for question in questions]
    said = {**given, **({} if questions else _closed(given))}
    return (
        "\n".join(
            [
                "",
                "[source]",
                SOURCE_HEAD,
                *asked,
                *(f"{toml_key(name)} = {toml_value(value)}" for name, value in said.items()),
            ]
        )
        + "\n"
    )


def _closed(given: dict[str, object]) -> dict[str, object]:
    """Say the marks of numbers in full where one of them is other than plain."""
    if not given.keys() & {"decimal", "thousands"}:
        return {}
    return {"decimal": given.get("decimal", "."), "thousands": given.get("thousands", "")}


# The draft as TOML, with a comment for every guess


DRAFT_HEAD = """\
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


def draft(columns: Sequence[ColumnProfile]) -> str:
    """Return a policy in TOML, with a comment for every guess; it asks for a t before it can be used."""
    guesses = guess(columns)
    published = [each for each in guesses if each.role != "identifier"]
    lines = [
        DRAFT_HEAD,
        *_advice({each.role for each in published}),
        "",
        *_identifiers(guesses),
        *_person(columns, guesses),
        "k = 5  # the smallest class: so many rows, or persons, publish the same quasi-identifiers",
        f"missing = {toml_value(_missing_cells(columns))}  # cells that mean: no value",
    ]
    for each in published:
        lines += ["", *_section(each)]
    return "\n".join(lines) + "\n"


def with_told(policy: str, told: Mapping[str, Sequence[str]]) -> str:
    """Add comments to a drafted policy, below the line that asks for the t of a column."""
    lines, column = [], ""
    sections = {f"[sensitive.{toml_key(name)}]": name for name in told}
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
    lines = [f"identifiers = {toml_value([each.column for each in identifiers])}  # never published"]
    for each in identifiers:
        lines += [f"# {toml_key(each.column)}: {each.why}", *(f"#   {remark}" for remark in each.remarks)]
    return lines


def _person(columns: Sequence[ColumnProfile], guesses: Sequence[Guess]) -> list[str]:
    person = person_of(guesses)
    if person is None:
        return []
    (column,) = (column for column in columns if column.name == person)
    counts = f"{counted(column.distinct, 'value')} in {counted(column.present, 'row')}"
    return [
        f"person = {toml_value(person)}  # {counts}: rows with the same value count as one person",
        "# Delete the line above if rows with the same value can belong to different persons.",
        f'# To publish its pseudonyms, add [pseudonym.{toml_key(person)}] with key = "FILE" (docs/pseudonyms.md).',
    ]


def _section(each: Guess) -> list[str]:
    lines = [f"[{each.role}.{toml_key(each.column)}]", f"# {each.why}", *(f"# {remark}" for remark in each.remarks)]
    if each.role == "sensitive":
        lines.append(ASK_FOR_T)
    return lines + [f"{name} = {toml_value(value)}{_comment(each, name)}" for name, value in each.settings.items()]


def _comment(each: Guess, name: str) -> str:
    if name == "distance":
        return '  # or "hierarchical" with hierarchy = "FILE.csv"'
    if name == "missing":
        return f'  # no value in {counted(each.missing, "row")}: counts as a value; "suppress" withholds such rows'
    return ""


def _missing_cells(columns: Sequence[ColumnProfile]) -> list[str]:
    """Return the cells that mean "missing" in some column; an empty cell always does."""
    shown = {marker for column in columns for marker in column.markers}
    odd = dict.fromkeys(word for column in columns for word in (*column.words, *column.beyond))
    return [*(marker for marker in MISSING if not marker or marker in shown), *odd]
