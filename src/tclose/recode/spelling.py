"""Step 4, write: what a class publishes for each quasi-identifier."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np

from tclose.table.builders import spell
from tclose.table.classes import Classes
from tclose.table.quasi import LabelColumn, NumberColumn, QuasiColumn, SetColumn, extremes_of
from tclose.types import Ints

MISSING = "missing"


def published(column: QuasiColumn, classes: Classes) -> list[str]:
    """Return one text per class."""
    if isinstance(column, LabelColumn):
        return _labels(column, classes)
    if isinstance(column, SetColumn):
        return _sets(column, classes)
    return _means(column, classes) if column.spec.publish == "mean" else _ranges(column, classes)


def _ranges(column: NumberColumn, classes: Classes) -> list[str]:
    found, ends = extremes_of(column.codes, classes), column.ends()
    texts = []
    for low, high, missing in zip(found.low.tolist(), found.high.tolist(), found.missing.tolist(), strict=True):
        text = "" if high < 0 else _range(ends.low_texts[low], ends.high_texts[high])
        texts.append(_or_missing(text, missing))
    return texts


def _range(low: str, high: str) -> str:
    return low if low == high else f"[{low}, {high}]"


def _or_missing(text: str, missing: bool) -> str:
    if not missing:
        return text
    return f"{text} or {MISSING}" if text else MISSING


def _labels(column: LabelColumn, classes: Classes) -> list[str]:
    height, node, missing = column.nodes(classes)
    labels = column.hierarchy.labels
    return [
        _or_missing(labels[h][n] if n >= 0 else "", absent)
        for h, n, absent in zip(height.tolist(), node.tolist(), missing.tolist(), strict=True)
    ]


def _sets(column: SetColumn, classes: Classes) -> list[str]:
    codes, starts = column.members(classes)
    return [_set(column, mine) for mine in np.split(codes, starts[1:])]


def _set(column: SetColumn, codes: Ints) -> str:
    texts = [column.values.texts[code] for code in codes.tolist() if code >= 0]
    text = texts[0] if len(texts) == 1 else "{" + ", ".join(map(_quoted, texts)) + "}" if texts else ""
    return _or_missing(text, bool(codes[0] < 0))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False) if any(mark in text for mark in ',{}"') else text


def _means(column: NumberColumn, classes: Classes) -> list[str]:
    """Publish the mean of each class, with one digit more than the values have."""
    values = column.values
    assert values.units is not None
    digits = values.scale + 1
    texts = []
    for mine in np.split(column.codes[classes.rows], classes.starts[1:]):
        present = mine[mine >= 0]
        total = sum(int(unit) for unit in values.units[present])
        mean = Fraction(total, max(len(present), 1) * 10**values.scale)
        text = spell(Fraction(round(mean * 10**digits), 10**digits)) if len(present) else ""
        texts.append(_or_missing(text, len(present) < len(mine)))
    return texts
