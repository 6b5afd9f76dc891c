"""Columns of which each can be computed from the other: age and age², a code and its label.

If one of them is a quasi-identifier, which a class hides in a range, and the other is published row by row, nothing is
hidden. So their roles must fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tclose.policy.draft.guesses import Guess
from tclose.policy.draft.profile import Profile
from tclose.policy.draft.publishing import has_own_numbers
from tclose.policy.draft.spelling import toml


def with_twins(columns: Sequence[Profile], guesses: Sequence[Guess]) -> list[Guess]:
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


def without_tellers(columns: Sequence[Profile], guesses: Sequence[Guess]) -> list[Guess]:
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
            why = f"{toml(known[0])} can be computed from it, so it gets the same role"
            settled[column.name] = replace(teller, role="quasi", why=f"{why}; {teller.why.partition('; ')[2]}")
    return [settled[each.column] for each in guesses]


def _computed(name: str) -> str:
    return f"it can be computed from {toml(name)}, which is published"


def _settled_twins(columns: Sequence[Profile], members: Sequence[Guess]) -> list[Guess]:
    """Settle the roles of columns of which each can be computed from each other."""
    first, roles = members[0].column, {each.role for each in members}
    settled = list(members)
    for place, each in enumerate(members):
        other = next(other.column for other in members if other.column != each.column)
        if "identifier" in roles and each.role != "identifier" and not _is_measured(columns[place], each):
            settled[place] = _dropped(each, f"each of its values belongs to one value of {toml(other)}, an identifier")
        elif {"quasi", "sensitive"} <= roles:
            settled[place] = _settled_pair(each, members)
        elif each.column != first and each.role != "identifier":
            settled[place] = replace(each, remarks=(*each.remarks, _twin_remark(members[0])))
    return settled


def _is_measured(column: Profile, each: Guess) -> bool:
    """Tell whether a column holds a measurement of its own that happens to differ from person to person."""
    return column.kind == "number" and (each.by_name or column.nearly_unique)


def _twin_remark(first: Guess) -> str:
    if first.role == "identifier":
        return f"it rises and falls with {toml(first.column)}, an identifier: if it numbers the rows, move it there"
    return f"computed from {toml(first.column)} or the other way round: if analysts need only one of them, drop one"


def _settled_pair(each: Guess, members: Sequence[Guess]) -> Guess:
    """Keep a sensitive column from publishing, word for word, what a quasi-identifier hides."""
    sensitive = [other for other in members if other.role == "sensitive" and other.by_name]
    quasi = next(other for other in members if other.role == "quasi")
    if sensitive and each.role == "quasi":
        return _dropped(each, _computed(sensitive[0].column))
    if not sensitive and each.role == "sensitive":
        why = f"it can be computed from {toml(quasi.column)}, so it gets the same role"
        return replace(each, role="quasi", why=f"{why}; {each.why.partition('; ')[2]}")
    return each


def _dropped(each: Guess, why: str) -> Guess:
    return replace(each, role="identifier", why=f"{why}; {each.why.partition('; ')[2]}")
