"""Which classes stay admitted when one value leaves and another joins, judged exactly, each question asked once."""

from __future__ import annotations

import numpy as np

from tclose.distance import Counts
from tclose.measure.exchange.attacked import AttackedRows
from tclose.partition import Attribute
from tclose.types import Beat, Bools, Ints

NONE = -1  # in place of a row that leaves or joins
QUESTIONS = 20_000  # that are judged together


def admitted_changes(rows: AttackedRows, classes: Ints, leaving: Ints, joining: Ints, beat: Beat) -> Bools:
    """Tell for each change whether the class stays admitted; `leaving` and `joining` are rows, or -1 for none."""
    admitted = rows.sizes[classes] + (joining != NONE) - (leaving != NONE) >= rows.k
    for number, (attribute, counts) in enumerate(zip(rows.attributes, rows.counts, strict=True)):
        codes = np.append(rows.codes[:, number], NONE)
        out, into = codes[leaving], codes[joining]
        asked = np.flatnonzero(admitted & (out != into))
        domain = len(attribute.reference) + 1
        key = (classes[asked] * domain + out[asked] + 1) * domain + into[asked] + 1
        questions, which = np.unique(key, return_inverse=True)
        answers = np.empty(len(questions), dtype=bool)
        for start in range(0, len(questions), QUESTIONS):
            beat()
            some = questions[start : start + QUESTIONS]
            one, other = some // domain % domain - 1, some % domain - 1
            answers[start : start + QUESTIONS] = _admits(attribute, counts, some // domain**2, one, other)
        admitted[asked] = answers[which]
    return np.asarray(admitted)


def _admits(attribute: Attribute, counts: Counts, classes: Ints, out: Ints, into: Ints) -> Bools:
    """Judge classes after one value left and another joined."""
    chosen, domain = counts.only(classes), counts.domain_size
    number = np.arange(len(classes))
    key = [chosen.per_entry(number) * domain + chosen.codes]
    change = [chosen.counts]
    for codes, by in ((out, -1), (into, 1)):
        given = codes != NONE
        key.append(number[given] * domain + codes[given])
        change.append(np.full(int(given.sum()), by))
    cells, which = np.unique(np.concatenate(key), return_inverse=True)
    left = np.bincount(which, weights=np.concatenate(change)).astype(np.int64)
    cells, left = cells[left > 0], left[left > 0]
    starts = np.searchsorted(cells // domain, number)
    return np.asarray(attribute.admits(Counts(starts, cells % domain, left, domain)))
