"""Short labels for axes: each fits beside its chart on a phone, and no two are alike.

A chart's tooltip and its table have the whole names.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal

from tclose.report.markup import shown

FONT_PIXELS = 13
WIDEST_PIXELS = 170  # of a label; a phone leaves about 360 for a whole chart
WIDTHS = {**dict.fromkeys(" .,:;'|!()[]{}/-ijltfrI", 0.38), **dict.fromkeys("mwMW@%…", 1.0)}  # in ems of a wide font
NUMBER = r"-?\d+(?:\.\d+)?"
RANGE = re.compile(
    rf"(?P<open>[(\[]|from |[≤≥])?(?P<low>{NUMBER})(?:(?P<sep> – |, )(?P<high>{NUMBER}))?(?P<close>[\])])?"
)
UNITS = ((12, "tn"), (9, "bn"), (6, "M"), (3, "k"), (0, ""))  # powers of ten


def short_labels(names: Sequence[str]) -> list[str]:
    """Shorten names: numbers to the digits that tell ranges apart, texts to what differs.

    >>> short_labels(["1115369472 – 6809200000", "7097144834 – 12531000000"])
    ['1.12 bn – 6.81 bn', '7.1 bn – 12.5 bn']
    >>> short_labels(["malignant neoplasm of the colon, unspecified", "malignant neoplasm of the lung", "flu"])
    ['…colon, unspecified', '…lung', 'flu']
    """
    whole = _with_short_numbers([shown(name) for name in names])
    cut = [_cut(name) for name in whole]
    pairs = zip(whole, cut, strict=True)
    return _numbered([label if cut.count(label) == 1 else _distinct_part(name, whole, cut) for name, label in pairs])


def width(text: str) -> float:
    """Return about how many ems a text takes in a wide font."""
    return sum(_letter_width(letter) for letter in text)


def _letter_width(letter: str) -> float:
    if letter in WIDTHS:
        return WIDTHS[letter]
    if unicodedata.combining(letter):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF" or letter > "\uffff":
        return 1.4
    return 0.8 if letter.isupper() or letter > "\u024f" else 0.64


def _cut(name: str, pixels: float = WIDEST_PIXELS) -> str:
    """Cut a text to a width; an ellipsis stands for the rest."""
    if width(name) * FONT_PIXELS <= pixels:
        return name
    end = len(name)
    while end and width(name[:end].rstrip() + "…") * FONT_PIXELS > pixels:
        end -= 1
    return name[:end].rstrip() + "…"


def _distinct_part(name: str, whole: Sequence[str], cut: Sequence[str]) -> str:
    """Leave out how a name begins where others that look the same when cut begin so, too."""
    alike = [other for other, label in zip(whole, cut, strict=True) if label == _cut(name)]
    common = _common_start(min(alike), max(alike))
    start = max(common.rfind(letter) for letter in " -_/:") + 1
    return _cut("…" + name[start:]) if start and len(set(alike)) > 1 else _cut(name)


def _common_start(first: str, last: str) -> str:
    end = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:end]


def _numbered(labels: Sequence[str]) -> list[str]:
    """Put numbers behind labels that are still alike."""
    seen: dict[str, int] = {}
    numbered = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        mark = "" if seen[label] == 1 else f" ({seen[label]})"
        numbered.append(_cut(label, WIDEST_PIXELS - width(mark) * FONT_PIXELS) + mark)
    return numbered


def _with_short_numbers(names: Sequence[str]) -> list[str]:
    """Spell long ends of ranges with as few digits, from three on, as keep all ranges and their ends apart."""
    if not any(RANGE.fullmatch(name) and width(name) * FONT_PIXELS > WIDEST_PIXELS for name in names):
        return list(names)
    for digits in range(3, 7):
        spelled = [_range(name, digits) for name in names]
        if len(set(spelled)) == len(set(names)) and None not in spelled:
            return [name for name in spelled if name is not None]
    return list(names)


def _range(name: str, digits: int) -> str | None:
    """Return a range with short ends; None if so few digits make one number of two."""
    parts = RANGE.fullmatch(name)
    if parts is None or (parts["high"] is None and parts["open"] is None):  # a single value may be a code
        return name
    low, high = (end and _short_number(end, digits) for end in (parts["low"], parts["high"]))
    if low == high and parts["low"] != parts["high"]:
        return None
    return "".join(part for part in (parts["open"], low, parts["sep"], high, parts["close"]) if part)


def _short_number(text: str, digits: int) -> str:
    number = Decimal(text)
    rounded = Decimal(f"{number:.{digits - 1}e}")
    if rounded.adjusted() >= 15:
        return f"{rounded:.{digits - 1}e}"
    power, unit = next((power, unit) for power, unit in UNITS if rounded.adjusted() >= power or not power)
    spelled = f"{rounded.scaleb(-power).normalize():f}"
    return f"{spelled} {unit}".rstrip()
