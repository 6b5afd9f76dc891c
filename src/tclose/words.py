"""How counts, shares, levels and names are written for people: one place for the terminal, the page and notebooks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

INVISIBLE = re.compile(  # letters and marks that Python calls printable, but of which nothing is drawn
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
LONGEST_NAME = 60  # letters; an ellipsis stands for the rest
MOST_CLASSES = 5  # class numbers in a sentence
MOST_ATTRIBUTES = 3  # named in a sentence, each with its level
NT_MEANING = "t applies to classes of fewer than n rows, each measured against a superset of at least n rows"


def counted(number: int, noun: str) -> str:
    """Say how many there are.

    >>> counted(1, "row"), counted(1200, "row"), counted(2, "class")
    ('1 row', '1,200 rows', '2 classes')
    """
    ending = "" if number == 1 else "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{ending}"


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


def number(level: int | float | Fraction) -> str:
    """Spell a level: four digits are enough, and a whole number stays whole.

    >>> number(Fraction(3, 20)), number(Fraction(1, 3)), number(5), number(float("inf"))
    ('0.15', '0.3333', '5', '∞')
    """
    figure = float(level)
    if figure == math.inf:
        return "∞"
    return f"{figure:,.0f}" if figure.is_integer() or figure >= 10_000 else f"{figure:.4g}"


def level(spelled: Any) -> float:
    """Read a level as JSON spells it: a number, or text such as 1/3.

    >>> level("1/4"), level(0.3)
    (0.25, 0.3)
    """
    numerator, _, denominator = str(spelled).partition("/")
    return float(numerator) / float(denominator or 1)


def percent(share: float) -> str:
    """Spell a share as a percentage: only nothing reads as 0 %, and only everything reads as 100 %.

    >>> percent(0.716), percent(0.25), percent(0.0), percent(0.0001), percent(0.99999)
    ('71.6 %', '25.0 %', '0 %', 'under 0.1 %', 'over 99.9 %')
    """
    if share in (0, 1):
        return f"{100 * share:.0f} %"
    if share < 0.001 or share > 0.999:
        return "under 0.1 %" if share < 0.5 else "over 99.9 %"
    return f"{100 * share:.1f} %"


def rows_of(rows: int, whole: int) -> str:
    """Say how many rows that are, and which share of all.

    >>> rows_of(3, 9), rows_of(0, 0)
    ('3 rows (33.3 %)', '0 rows (0 %)')
    """
    return f"{counted(rows, 'row')} ({percent(rows / whole if whole else 0.0)})"


def columns(names: Sequence[str]) -> str:
    """Spell column names in a sentence.

    >>> columns(["pay"]), columns(["pay", "age", "disease"])
    ("'pay'", "'pay', 'age' and 'disease'")
    """
    quoted = [f"'{legible(name)}'" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def class_numbers(numbers: Sequence[int], most: int = MOST_CLASSES) -> str:
    """Name some classes.

    >>> class_numbers([1]), class_numbers([1, 4]), class_numbers([1, 2, 3, 4, 5, 6, 7])
    ('class 1', 'classes 1, 4', 'classes 1, 2, 3, 4, 5 and 2 more')
    """
    shown = ", ".join(f"{number:,}" for number in numbers[:most])
    more = f" and {len(numbers) - most:,} more" if len(numbers) > most else ""
    return f"class{'es' if len(numbers) > 1 else ''} {shown}{more}"


def required(given: Any) -> str:
    """Spell what a model requires, as a policy or a certificate has it.

    >>> required(Fraction(1, 5)), required("1/3"), required({"c": 3, "l": 2})
    ('0.2', '1/3', 'c = 3, l = 2')
    """
    if isinstance(given, Mapping):
        return ", ".join(f"{name} = {required(part)}" for name, part in given.items())
    return number(given) if isinstance(given, Fraction) else str(given)


def nt_closeness(levels: Mapping[str, Any]) -> str:
    """Say what (n,t)-closeness requires of attributes; it is no limit on the distance of every class from the table.

    >>> nt_closeness({"hiv": {"n": 20, "t": Fraction(1, 20)}}).partition(":")[0]
    '(n,t)-closeness of hiv (n = 20, t = 0.05)'
    """
    listed = [f"{legible(name)} ({required(level)})" for name, level in levels.items()]
    more = f", and {len(listed) - MOST_ATTRIBUTES:,} more" if len(listed) > MOST_ATTRIBUTES else ""
    return f"(n,t)-closeness of {', '.join(listed[:MOST_ATTRIBUTES])}{more}: {NT_MEANING}"


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


def rows_in_classes(rows: int, classes: int, *, smallest: int, withheld: int = 0, published: bool = False) -> str:
    """Say how many rows there are, in how many classes, and how many are left out.

    >>> rows_in_classes(6524, 324, smallest=5, withheld=1350, published=True)
    '6,524 rows published in 324 classes; 1,350 rows withheld; the smallest class has 5 rows'
    """
    where = f"{counted(rows, 'row')} {'published ' if published else ''}in {counted(classes, 'class')}"
    without = f"; {counted(withheld, 'row')} withheld" if withheld else ""
    return f"{where}{without}; the smallest class has {counted(smallest, 'row')}"


def some_columns(names: Sequence[str], conjunction: str = "and") -> str:
    """Spell the first few of many column names in a sentence.

    >>> some_columns(["pay"]), some_columns(["pay", "age"], "or"), some_columns(["a", "b", "c", "d", "e"])
    ("'pay'", "'pay' or 'age'", "'a', 'b', 'c' and 2 more")
    """
    more = [f"{len(names) - MOST_ATTRIBUTES:,} more"] if len(names) > MOST_ATTRIBUTES else []
    quoted = [*(f"'{legible(name)}'" for name in names[:MOST_ATTRIBUTES]), *more]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} {conjunction} {quoted[-1]}"


NOTHING_LIMITS = (
    "The policy names no sensitive column: nothing limits what is learned about a person beyond who the person is."
)


def exposure_sentence(
    kind: str, rows: int, whole: int, names: Sequence[str], *, crowd: int, counted_as: str, table: int | None = None
) -> str:
    """Say how many rows of a release remain exposed through which attributes, and who learns what.

    >>> exposure_sentence("same_value", 3, 9, ["pay"], crowd=5, counted_as="rows", table=2)
    "In table 2, 3 rows (33.3 %) are in classes that show one value of 'pay': anyone who knows the class learns it."
    """
    some, be, any_of = rows_of(rows, whole), "is" if rows == 1 else "are", some_columns(names, "or")
    some = some if table is None else f"In table {table}, {some}"
    if kind == "same_value":
        return f"{some} {be} in classes that show one value of {any_of}: anyone who knows the class learns it."
    if kind == "rare_value":
        shown = f"{some} {'shows' if rows == 1 else 'show'} a value of {any_of}"
        return f"{shown} that fewer than {crowd:,} {counted_as} share: anyone who knows the value finds the row."
    known = f"anyone who knows a person's class and the value of {any_of} learns another sensitive value"
    return f"{some} {be} given away by one known value: {known}."


def exposure_cure(kind: str, cells: Mapping[str, str], *, several_tables: bool) -> str:
    """Say which setting cures an exposure; `cells` says whether each attribute is a number, a bin or something else.

    >>> exposure_cure("same_value", {"ill": "other"}, several_tables=False)
    "l = 2 for 'ill', or a smaller t"
    >>> exposure_cure("rare_value", {"pay": "bin", "job": "other"}, several_tables=False)
    "wider bins for 'pay'; common values in place of the rare ones of 'job'"
    """
    if kind == "same_value":
        return f"l = 2 for {some_columns(list(cells))}, or a smaller t"
    coarser = {
        "number": 'bins and publish = "bin" for {}',
        "bin": "wider bins for {}",
        "other": "common values in place of the rare ones of {}",
    }
    named = {how: [name for name, cell in cells.items() if cell == how] for how in coarser}
    cures = {how: cure.format(some_columns(named[how])) for how, cure in coarser.items() if named[how]}
    if kind == "known_value":
        apart = "--method projections, which puts the attributes into different tables"
        cures["other"] = "more tables (--tables)" if several_tables else apart
    return "; or ".join(cures.values()) if kind == "known_value" else "; ".join(cures.values())


def nothing_exposed(attributes: Sequence[int], *, crowd: int, counted_as: str, apart: bool = False) -> str:
    """Say what was looked at in a release, by the number of sensitive attributes in each table, if nothing was found.

    `apart` says that no row shows the values of some attribute, which are counted by class.

    >>> nothing_exposed([1], crowd=5, counted_as="rows")
    'Nothing was found: no class shows one sensitive value only, and at least 5 rows share each sensitive value.'
    """
    if not any(attributes):
        return "Nothing was looked for: the policy names no sensitive attribute."
    found = ["no class shows one sensitive value only"]
    found += ["no class and one known value reveal another"] if max(attributes) > 1 else []
    where = " in any table by itself" if len(attributes) > 1 else ""
    value = "sensitive value that a row shows" if apart else "sensitive value"
    common = f"at least {crowd:,} {counted_as} share each {value}"
    return f"Nothing was found{where}: {', '.join(found)}, and {common}."


def own_values(name: str, rows: int, whole: int, *, role: str, counted_as: str) -> str:
    """Warn of a column in which many rows have a value of their own; `role` says how the column is published."""
    listed, of_rows = f"'{legible(name)}'", f"{rows:,} of {counted(whole, 'row')}"
    if role == "set":
        return (
            f"the published sets of {listed} spell out nearly unique texts: {of_rows} have a text that at most two "
            f"{counted_as} have; give it a hierarchy, or list it in identifiers"
        )
    if role == "both":
        return (
            f"the exact values of {listed} are counted by class, and {of_rows} have a value that at most two "
            f"{counted_as} have: anyone who knows the value finds the class; publish bins (bins with "
            'publish = "bin")'
        )
    cures = {
        "number": 'publish bins (bins with publish = "bin"), or list it in identifiers',
        "bin": "choose wider bins, or list it in identifiers",
        "keep": "make it a quasi-identifier, or list it in identifiers",
        "quasi": "choose another method, which publishes classes, or list it in identifiers",
    }
    cure = cures.get(role, "list it in identifiers, or replace its values by common ones")
    exactly = "in bins" if role == "bin" else "exactly"
    return (
        f"{listed} is published {exactly}, and {of_rows} have a value that at most two {counted_as} have: anyone who "
        f"knows the value finds the row; {cure}"
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
        return f"This release lost almost everything: {rows_of(withheld, withheld + rows)} are withheld."
    where = f"all {counted(rows, 'row')} are in one {'class' if linked else 'group'}"
    subject = "This release" if table is None else f"Table {table}"
    if not linked:
        return f"{subject} lost everything: {where}, so no sensitive value is linked to any quasi-identifier."
    nothing = f"quasi-identifiers tell almost nothing (GCP {number(gcp)} of 1)."
    return (
        f"{subject} lost everything: {where}. Its {nothing}"
        if one_class
        else f"{subject} lost everything: its {nothing}"
    )


def level_that_keeps(levels: Mapping[str, Fraction] | None, kept: float, *, sample: int, rows: int) -> str:
    """Say which t would keep detail, by an estimate on a sample; no levels mean that no t does.

    >>> level_that_keeps({"pay": Fraction(1, 4)}, 0.3, sample=100, rows=900).partition(" (")[0]
    "t = 0.25 for 'pay' would keep about 30.0 % of the detail"
    """
    how = f"estimated by weave, effort fast, on {'all' if sample == rows else f'{sample:,} of'} {counted(rows, 'row')}"
    if levels is None:
        least = f"even t = 1 would keep only about {percent(kept)} of the detail ({how})"
        return f"No t helps: {least}. Choose a smaller k, or ask for less of the other models."
    by_level: dict[Fraction, list[str]] = {}
    for name, t in levels.items():
        by_level.setdefault(t, []).append(name)
    listed = " and ".join(f"t = {number(t)} for {columns(names)}" for t, names in by_level.items())
    draws = "tclose compare --out PAGE draws what each t costs"
    return f"{listed} would keep about {percent(kept)} of the detail ({how}). {draws}."


def kept_classes(method: str, start: str) -> str:
    """Say which classes a method kept that considers those of other methods, too: one start for each group of rows.

    >>> kept_classes("weave", "own, refined mondrian:strict")
    'weave compared its own classes with those of other methods and kept its own, those of mondrian:strict (refined).'
    """
    names = start.split(", ")
    listed = ", ".join(map(_classes_of, names[:_LISTED])) + (" and others" if len(names) > _LISTED else "")
    return f"{method} compared its own classes with those of other methods and kept {listed}."


_LISTED = 3  # starts that a sentence names
_KEPT = {
    "own": "its own",
    "equality classes": "those of equal rows",
    "one class": "one class of all rows",
    "every division": "the best of all divisions",
}


def _classes_of(start: str) -> str:
    name = start.removeprefix("refined ")
    classes = _KEPT.get(name) or f"those of {name}"
    return classes if name == start else f"{classes} (refined)"


def compiling(seconds: float, *, each_run: bool = False) -> str:
    """Say that the compiler runs, and about how long it takes.

    >>> compiling(11.7)
    'compiling, once per machine (about 12 s)'
    """
    return f"compiling{'' if each_run else ', once per machine'} (about {seconds:.0f} s)"


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
