"""How counts, shares, levels and names are written for people: one place for the terminal, the page and notebooks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from tclose.messages import Message, joined, say

INVISIBLE = re.compile(  # letters and marks that Python calls printable, but of which nothing is drawn
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
LONGEST_NAME = 60  # letters; an ellipsis stands for the rest
MOST_CLASSES = 5  # class numbers in a sentence
MOST_ATTRIBUTES = 3  # named in a sentence, each with its level
NT_MEANING = "t applies to classes of fewer than n rows, each measured against a superset of at least n rows"


def counted(number: int, noun: str) -> Message:
    """Say how many there are.

    >>> counted(1, "row"), counted(1200, "row"), counted(2, "class")
    ('1 row', '1,200 rows', '2 classes')
    """
    ending = "" if number == 1 else "es" if noun.endswith("s") else "s"
    return say(f"{{count:,}} {noun}{ending}", count=number)


def plain(text: str) -> str:
    r"""Spell out line breaks, control characters and all that is invisible: a name must not break a line or a terminal.

    >>> plain("blood\npressure"), plain("\x1b[2J\u202e\u200b\x85")
    ('blood\\npressure', '\\x1b[2J\\u202e\\u200b\\x85')
    """
    if text.isprintable() and not INVISIBLE.search(text):
        return text
    return "".join(ascii(letter)[1:-1] if _is_hidden(letter) else letter for letter in text)


def _is_hidden(letter: str) -> bool:
    return not letter.isprintable() or INVISIBLE.match(letter) is not None


def legible(name: str) -> str:
    r"""Spell a name: nothing invisible, nothing that turns the line around, and not too long.

    >>> legible("blood\npressure"), len(legible("x" * 1000))
    ('blood\\npressure', 60)
    """
    shown = plain(name[: 2 * LONGEST_NAME])
    return shown if len(shown) <= LONGEST_NAME else shown[: LONGEST_NAME - 1] + "…"


def number(level: int | float | Fraction) -> Message:
    """Spell a level: four digits are enough, and a whole number stays whole.

    >>> number(Fraction(3, 20)), number(Fraction(1, 3)), number(5), number(float("inf"))
    ('0.15', '0.3333', '5', '∞')
    """
    figure = float(level)
    if figure == math.inf:
        return say("∞")
    return say("{figure:,.0f}" if figure.is_integer() or figure >= 10_000 else "{figure:.4g}", figure=figure)


def level(spelled: Any) -> float:
    """Read a level as JSON spells it: a number, or text such as 1/3.

    >>> level("1/4"), level(0.3)
    (0.25, 0.3)
    """
    numerator, _, denominator = str(spelled).partition("/")
    return float(numerator) / float(denominator or 1)


def percent(share: float) -> Message:
    """Spell a share as a percentage: only nothing reads as 0 %, and only everything reads as 100 %.

    >>> percent(0.716), percent(0.25), percent(0.0), percent(0.0001), percent(0.99999)
    ('71.6 %', '25.0 %', '0 %', 'under 0.1 %', 'over 99.9 %')
    """
    if share in (0, 1):
        return say("{share:.0f} %", share=100 * share)
    if share < 0.001 or share > 0.999:
        return say("under 0.1 %" if share < 0.5 else "over 99.9 %")
    return say("{share:.1f} %", share=100 * share)


def rows_of(rows: int, whole: int) -> Message:
    """Say how many rows that are, and which share of all.

    >>> rows_of(3, 9), rows_of(0, 0)
    ('3 rows (33.3 %)', '0 rows (0 %)')
    """
    return say("{rows} ({share})", rows=counted(rows, "row"), share=percent(rows / whole if whole else 0.0))


def columns(names: Sequence[str]) -> Message:
    """Spell column names in a sentence.

    >>> columns(["pay"]), columns(["pay", "age", "disease"])
    ("'pay'", "'pay', 'age' and 'disease'")
    """
    quoted = [say("'{name}'", name=legible(name)) for name in names]
    return quoted[0] if len(quoted) == 1 else joined(", ", quoted, last=" and ")


def class_numbers(numbers: Sequence[int], most: int = MOST_CLASSES) -> Message:
    """Name some classes.

    >>> class_numbers([1]), class_numbers([1, 4]), class_numbers([1, 2, 3, 4, 5, 6, 7])
    ('class 1', 'classes 1, 4', 'classes 1, 2, 3, 4, 5 and 2 more')
    """
    shown = joined(", ", [say("{number:,}", number=number) for number in numbers[:most]])
    if len(numbers) > most:
        return say("classes {numbers} and {count:,} more", numbers=shown, count=len(numbers) - most)
    return say("classes {numbers}" if len(numbers) > 1 else "class {numbers}", numbers=shown)


def required(given: Any) -> Message:
    """Spell what a model requires, as a policy or a certificate has it.

    >>> required(Fraction(1, 5)), required("1/3"), required({"c": 3, "l": 2})
    ('0.2', '1/3', 'c = 3, l = 2')
    """
    if isinstance(given, Mapping):
        return joined(
            ", ", [say("{setting} = {value}", setting=name, value=required(part)) for name, part in given.items()]
        )
    return number(given) if isinstance(given, Fraction) else figure(str(given))


def figure(text: str) -> Message:
    """Take a text for a number that is spelled already: other languages change its marks.

    >>> figure("0.25"), figure("1/3")
    ('0.25', '1/3')
    """
    return say("{figure:s}", figure=text)


def nt_closeness(levels: Mapping[str, Any]) -> Message:
    """Say what (n,t)-closeness requires of attributes; it is no limit on the distance of every class from the table.

    >>> nt_closeness({"hiv": {"n": 20, "t": Fraction(1, 20)}}).partition(":")[0]
    '(n,t)-closeness of hiv (n = 20, t = 0.05)'
    """
    listed = [say("{name} ({level})", name=legible(name), level=required(level)) for name, level in levels.items()]
    more = say(", and {count:,} more", count=len(listed) - MOST_ATTRIBUTES) if len(listed) > MOST_ATTRIBUTES else ""
    named = joined(", ", listed[:MOST_ATTRIBUTES]) + more
    return say("(n,t)-closeness of {levels}: {meaning}", levels=named, meaning=say(NT_MEANING))


def direction(better: str, low: float, high: float | None) -> str:
    """Say what a figure can be, and which way is better.

    >>> direction("lower", 0, 1), direction("higher", 0, None)
    ('from 0 to 1, lower is better', 'from 0, higher is better')
    """
    to = "" if high is None else f" to {number(high)}"
    return f"from {number(low)}{to}, {better} is better"


LOSSES = {
    "gcp": "detail lost (GCP)",
    "sse": "information loss (squared error)",
    "discernibility": "discernibility (sum of the squared class sizes)",
    "queries": "rows cut by random ranges of queries",
}


def lowered_loss(loss: Mapping[str, Any]) -> str:
    """Say which loss was chosen, with which weights, and which columns lose their squared error all the same.

    >>> lowered_loss({"name": "gcp", "weights": {"age": 2, "sex": 1}})
    'detail lost (GCP); with the weights age 2, sex 1'
    """
    weights = loss.get("weights") or {}
    listed = ", ".join(f"{legible(str(name))} {weight}" for name, weight in weights.items())
    means = ", ".join(legible(str(name)) for name in loss.get("means") or ())
    return (
        LOSSES[loss["name"]]
        + (f"; squared error of {means}, published as class means" if means else "")
        + (f"; with the weights {listed}" if weights else "")
    )


def rows_in_classes(rows: int, classes: int, *, smallest: int, withheld: int = 0, published: bool = False) -> Message:
    """Say how many rows there are, in how many classes, and how many are left out.

    >>> rows_in_classes(6524, 324, smallest=5, withheld=1350, published=True)
    '6,524 rows published in 324 classes; 1,350 rows withheld; the smallest class has 5 rows'
    """
    template = "{rows} published in {classes}" if published else "{rows} in {classes}"
    parts = [say(template, rows=counted(rows, "row"), classes=counted(classes, "class"))]
    parts += [say("{rows} withheld", rows=counted(withheld, "row"))] if withheld else []
    return joined("; ", [*parts, say("the smallest class has {rows}", rows=counted(smallest, "row"))])


def some_columns(names: Sequence[str], conjunction: str = "and") -> Message:
    """Spell the first few of many column names in a sentence.

    >>> some_columns(["pay"]), some_columns(["pay", "age"], "or"), some_columns(["a", "b", "c", "d", "e"])
    ("'pay'", "'pay' or 'age'", "'a', 'b', 'c' and 2 more")
    """
    quoted = [say("'{name}'", name=legible(name)) for name in names[:MOST_ATTRIBUTES]]
    quoted += [say("{count:,} more", count=len(names) - MOST_ATTRIBUTES)] if len(names) > MOST_ATTRIBUTES else []
    return quoted[0] if len(quoted) == 1 else joined(", ", quoted, last=f" {conjunction} ")


NOTHING_LIMITS = (
    "The policy names no sensitive column: nothing limits what is learned about a person beyond who the person is."
)


def exposure_sentence(
    kind: str, rows: int, whole: int, names: Sequence[str], *, crowd: int, counted_as: str, table: int | None = None
) -> Message:
    """Say how many rows of a release remain exposed through which attributes, and who learns what.

    >>> exposure_sentence("same_value", 3, 9, ["pay"], crowd=5, counted_as="rows", table=2)
    "In table 2, 3 rows (33.3 %) are in classes that show one value of 'pay': anyone who knows the class learns it."
    """
    some, any_of = rows_of(rows, whole), some_columns(names, "or")
    some = some if table is None else say("In table {table}, {rows}", table=table, rows=some)
    if kind == "same_value":
        return say(
            "{rows} is in classes that show one value of {columns}: anyone who knows the class learns it."
            if rows == 1
            else "{rows} are in classes that show one value of {columns}: anyone who knows the class learns it.",
            rows=some,
            columns=any_of,
        )
    if kind == "rare_value":
        return say(
            "{rows} shows a value of {columns} that fewer than {crowd:,} {counted_as} share: anyone who knows the "
            "value finds the row."
            if rows == 1
            else "{rows} show a value of {columns} that fewer than {crowd:,} {counted_as} share: anyone who knows the "
            "value finds the row.",
            rows=some,
            columns=any_of,
            crowd=crowd,
            counted_as=say(counted_as),
        )
    return say(
        "{rows} is given away by one known value: anyone who knows a person's class and the value of {columns} learns "
        "another sensitive value."
        if rows == 1
        else "{rows} are given away by one known value: anyone who knows a person's class and the value of {columns} "
        "learns another sensitive value.",
        rows=some,
        columns=any_of,
    )


def exposure_cure(kind: str, cells: Mapping[str, str], *, several_tables: bool) -> Message:
    """Say which setting cures an exposure; `cells` says whether each attribute is a number, a bin or something else.

    >>> exposure_cure("same_value", {"ill": "other"}, several_tables=False)
    "l = 2 for 'ill', or a smaller t"
    >>> exposure_cure("rare_value", {"pay": "bin", "job": "other"}, several_tables=False)
    "wider bins for 'pay'; common values in place of the rare ones of 'job'"
    """
    if kind == "same_value":
        return say("l = 2 for {columns}, or a smaller t", columns=some_columns(list(cells)))
    named = {
        how: some_columns(names)
        for how in ("number", "bin", "other")
        if (names := [n for n in cells if cells[n] == how])
    }
    cures = []
    if "number" in named:
        cures.append(say('bins and publish = "bin" for {columns}', columns=named["number"]))
    if "bin" in named:
        cures.append(say("wider bins for {columns}", columns=named["bin"]))
    if kind == "known_value":
        apart = "--method projections, which puts the attributes into different tables"
        return joined("; or ", [*cures, say("more tables (--tables)" if several_tables else apart)])
    if "other" in named:
        cures.append(say("common values in place of the rare ones of {columns}", columns=named["other"]))
    return joined("; ", cures)


def nothing_exposed(attributes: Sequence[int], *, crowd: int, counted_as: str, apart: bool = False) -> Message:
    """Say what was looked at in a release, by the number of sensitive attributes in each table, if nothing was found.

    `apart` says that no row shows the values of some attribute, which are counted by class.

    >>> nothing_exposed([1], crowd=5, counted_as="rows")
    'Nothing was found: no class shows one sensitive value only, and at least 5 rows share each sensitive value.'
    """
    if not any(attributes):
        return say("Nothing was looked for: the policy names no sensitive attribute.")
    shared = "at least {crowd:,} {counted_as} share each sensitive value"
    if apart:
        shared = "at least {crowd:,} {counted_as} share each sensitive value that a row shows"
    common = say(shared, crowd=crowd, counted_as=say(counted_as))
    found = say("no class shows one sensitive value only")
    if max(attributes) > 1:
        found = joined(", ", [found, say("no class and one known value reveal another")])
    if len(attributes) > 1:
        return say("Nothing was found in any table by itself: {found}, and {common}.", found=found, common=common)
    return say("Nothing was found: {found}, and {common}.", found=found, common=common)


def own_values(name: str, rows: int, whole: int, *, role: str, counted_as: str) -> str:
    """Warn of a column in which many rows have a value of their own; `role` says how the column is published."""
    column = say("'{name}'", name=legible(name))
    of_rows = say("{count:,} of {rows}", count=rows, rows=counted(whole, "row"))
    persons = say(counted_as)
    if role == "set":
        return say(
            "the published sets of {column} spell out nearly unique texts: {rows} have a text that at most two "
            "{persons} have; give it a hierarchy, or list it in identifiers",
            column=column,
            rows=of_rows,
            persons=persons,
        )
    if role == "both":
        return say(
            "the exact values of {column} are counted by class, and {rows} have a value that at most two {persons} "
            "have: "
            'anyone who knows the value finds the class; publish bins (bins with publish = "bin")',
            column=column,
            rows=of_rows,
            persons=persons,
        )
    cures = {
        "number": 'publish bins (bins with publish = "bin"), or list it in identifiers',
        "bin": "choose wider bins, or list it in identifiers",
        "keep": "make it a quasi-identifier, or list it in identifiers",
        "quasi": "choose another method, which publishes classes, or list it in identifiers",
    }
    return say(
        "{column} is published in bins, and {rows} have a value that at most two {persons} have: anyone who knows the "
        "value finds the row; {cure}"
        if role == "bin"
        else "{column} is published exactly, and {rows} have a value that at most two {persons} have: anyone who knows "
        "the value finds the row; {cure}",
        column=column,
        rows=of_rows,
        persons=persons,
        cure=say(cures.get(role, "list it in identifiers, or replace its values by common ones")),
    )


def worse_attack(title: str, shares: tuple[float, float], figures: tuple[str, str], figure: str, *, k: int) -> str:
    """Say on which attack a release does worse than a k-anonymous table; shares and figures of both, in this order.

    >>> worse_attack("skewness attack", (0.2, 0.1), ("3", "2"), "largest gain", k=5)
    'Skewness attack: 20.0 % of the rows are affected; in a table that is only 5-anonymous, 10.0 % would be.'
    >>> worse_attack("skewness attack", (0.1, 0.1), ("3", "2"), "largest gain", k=5)
    'Skewness attack: the figure (largest gain) is 3; in a table that is only 5-anonymous, it would be 2.'
    """
    there = f"in a table that is only {k}-anonymous"
    if shares[0] != shares[1]:
        affected, others = percent(shares[0]), percent(shares[1])
        return f"{title.capitalize()}: {affected} of the rows are affected; {there}, {others} would be."
    return f"{title.capitalize()}: the figure ({figure}) is {figures[0]}; {there}, it would be {figures[1]}."


def lost_everything(
    rows: int, gcp: float, *, one_class: bool, withheld: int, linked: bool, table: int | None = None
) -> str:
    """Say that a release, or one of its tables, lost everything.

    >>> lost_everything(9, 1.0, one_class=True, withheld=0, linked=True, table=2)
    'Table 2 lost everything: all 9 rows are in one class. Its quasi-identifiers tell almost nothing (GCP 1 of 1).'
    """
    if withheld > rows:
        lost = rows_of(withheld, withheld + rows)
        return say("This release lost almost everything: {rows} are withheld.", rows=lost)
    where = say("all {rows} are in one class" if linked else "all {rows} are in one group", rows=counted(rows, "row"))
    subject = say("This release") if table is None else say("Table {table}", table=table)
    if not linked:
        unlinked = "{subject} lost everything: {where}, so no sensitive value is linked to any quasi-identifier."
        return say(unlinked, subject=subject, where=where)
    nothing = say("quasi-identifiers tell almost nothing (GCP {gcp} of 1).", gcp=number(gcp))
    if one_class:
        return say("{subject} lost everything: {where}. Its {nothing}", subject=subject, where=where, nothing=nothing)
    return say("{subject} lost everything: its {nothing}", subject=subject, nothing=nothing)


def level_that_keeps(levels: Mapping[str, Fraction] | None, kept: float, *, sample: int, rows: int) -> str:
    """Say which t would keep detail, by an estimate on a sample; no levels mean that no t does.

    >>> level_that_keeps({"pay": Fraction(1, 4)}, 0.3, sample=100, rows=900).partition(" (")[0]
    "t = 0.25 for 'pay' would keep about 30.0 % of the detail"
    """
    how = say(
        "estimated by weave, effort fast, on all {rows}"
        if sample == rows
        else "estimated by weave, effort fast, on {sample:,} of {rows}",
        rows=counted(rows, "row"),
        sample=sample,
    )
    if levels is None:
        return say(
            "No t helps: even t = 1 would keep only about {share} of the detail ({how}). Choose a smaller k, or ask "
            "for less of the other models.",
            share=percent(kept),
            how=how,
        )
    by_level: dict[Fraction, list[str]] = {}
    for name, t in levels.items():
        by_level.setdefault(t, []).append(name)
    listed = [say("t = {t} for {columns}", t=number(t), columns=columns(names)) for t, names in by_level.items()]
    return say(
        "{levels} would keep about {share} of the detail ({how}). tclose compare --out PAGE draws what each t costs.",
        levels=joined(" and ", listed),
        share=percent(kept),
        how=how,
    )


def kept_classes(method: str, start: str) -> str:
    """Say which classes a method kept that considers those of other methods, too: one start for each group of rows.

    >>> kept_classes("weave", "own, refined mondrian:strict")
    'weave compared its own classes with those of other methods and kept its own, those of mondrian:strict (refined).'
    """
    names = start.split(", ")
    listed = joined(", ", map(_classes_of, names[:_LISTED])) + (say(" and others") if len(names) > _LISTED else "")
    compared = "{method} compared its own classes with those of other methods and kept {classes}."
    return say(compared, method=method, classes=listed)


_LISTED = 3  # starts that a sentence names
_KEPT = {
    "own": "its own",
    "equality classes": "those of equal rows",
    "one class": "one class of all rows",
    "every division": "the best of all divisions",
}


def _classes_of(start: str) -> str:
    name = start.removeprefix("refined ")
    classes = say(_KEPT[name]) if name in _KEPT else say("those of {method}", method=name)
    return classes if name == start else say("{classes} (refined)", classes=classes)


def compiling(seconds: float, *, each_run: bool = False) -> str:
    """Say that the compiler runs, and about how long it takes.

    >>> compiling(11.7)
    'compiling, once per machine (about 12 s)'
    """
    template = (
        "compiling (about {seconds:.0f} s)" if each_run else "compiling, once per machine (about {seconds:.0f} s)"
    )
    return say(template, seconds=seconds)


def html_table(caption: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a small HTML table for a notebook: everything is escaped, nothing is loaded from elsewhere.

    >>> html_table("2", ["a"], [["<b>"]])
    '<table><caption>2</caption><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    from html import escape  # and its long list of names, which only notebooks need

    head = "".join(f"<th>{escape(plain(cell))}</th>" for cell in headings)
    body = "".join(f"<tr>{''.join(f'<td>{escape(plain(cell))}</td>' for cell in row)}</tr>" for row in rows)
    title = escape(plain(caption))
    return f"<table><caption>{title}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
