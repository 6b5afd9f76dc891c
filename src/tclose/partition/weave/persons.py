"""Whether a class has rows of enough persons, where a person may have several rows.

Persons are counted by looking back: a row counts if no earlier row of the class is of the same person. That takes no
memory, and it ends as soon as there are enough, so it takes little time where most rows are of different persons.
`limits.persons` is empty where every row is a person of its own; then the number of rows decides, and nothing is
counted here.
"""

from __future__ import annotations

from tclose.partition.shared.kernels import part
from tclose.partition.weave.limits import Limits
from tclose.types import Bools, Ints, SmallInts


@part
def enough_persons(limits: Limits, rows: Ints, first: int, end: int) -> bool:
    """Tell whether some rows, given as a part of a list, are of enough persons."""
    if len(limits.persons) == 0:
        return True
    persons = 0
    for i in range(first, end):
        person, j = limits.persons[rows[i]], i - 1
        while j >= first and limits.persons[rows[j]] != person:
            j -= 1
        if j < first:
            persons += 1
            if persons >= limits.least_persons[0]:
                return True
    return False


@part
def enough_persons_on_side(limits: Limits, orders: SmallInts, right: Bools, side: int) -> bool:
    """Tell whether the rows that go to one side (0: left, 1: right) are of enough persons."""
    if len(limits.persons) == 0:
        return True
    persons = 0
    for i in range(orders.shape[1]):
        if right[orders[0, i]] != (side == 1):
            continue
        person, j = limits.persons[orders[0, i]], i - 1
        while j >= 0 and (right[orders[0, j]] != (side == 1) or limits.persons[orders[0, j]] != person):
            j -= 1
        if j < 0:
            persons += 1
            if persons >= limits.least_persons[0]:
                return True
    return False


@part
def keeps_persons(limits: Limits, members: SmallInts, c: int, size: int, leaving: int, joining: int) -> bool:
    """Tell whether a class of enough persons is so after one row leaves and another joins; -1 if none joins."""
    if len(limits.persons) == 0:
        return True
    joined = limits.persons[joining] if joining >= 0 else -1
    if joined == limits.persons[leaving]:
        return True
    persons = 1 if joining >= 0 else 0
    for i in range(size):
        if persons >= limits.least_persons[0]:
            return True
        row = members[c, i]
        person, j = limits.persons[row], i - 1
        if row == leaving or person == joined:
            continue
        while j >= 0 and (members[c, j] == leaving or limits.persons[members[c, j]] != person):
            j -= 1
        if j < 0:
            persons += 1
    return bool(persons >= limits.least_persons[0])
