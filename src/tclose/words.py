"""How counts, shares, levels and names are written for people: one place for the terminal, the page and notebooks."""

from __future__ import annotations

import html
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


def rows_in_classes(rows: int, classes: int, *, smallest: int, withheld: int = 0, published: bool = False) -> str:
    """Say how many rows there are, in how many classes, and how many are left out.

    >>> rows_in_classes(6524, 324, smallest=5, withheld=1350, published=True)
    '6,524 rows published in 324 classes; 1,350 rows withheld; the smallest class has 5 rows'
    """
    where = f"{counted(rows, 'row')} {'published ' if published else ''}in {counted(classes, 'class')}"
    without = f"; {counted(withheld, 'row')} withheld" if withheld else ""
    return f"{where}{without}; the smallest class has {counted(smallest, 'row')}"


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
    head = "".join(f"<th>{html.escape(plain(cell))}</th>" for cell in headings)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(plain(cell))}</td>' for cell in row)}</tr>" for row in rows)
    title = html.escape(plain(caption))
    return f"<table><caption>{title}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
