"""Guess the role of every column of a table; columns that say the same get roles that fit each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tclose.policy.draft import names
from tclose.policy.draft.guesses import Guess
from tclose.policy.draft.profile import Profile
from tclose.policy.draft.publishing import remarks_on, settings_of
from tclose.policy.draft.roles import NAMES_PERSONS, fitness_as_person, role_of
from tclose.policy.draft.twins import with_twins, without_tellers
from tclose.words import counted


def guess(columns: Sequence[Profile]) -> list[Guess]:
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


def _without_false_persons(columns: Sequence[Profile], guesses: Sequence[Guess]) -> list[Guess]:
    """Where another identifier gives each row a person of its own, only a column that names persons can number them."""
    one_each = any(
        column.present and column.distinct == column.present and names.NUMBER_OF_PERSON.search(names.words(column.name))
        for column, each in zip(columns, guesses, strict=True)
        if each.role == "identifier"
    )
    return [replace(each, person=0) if one_each and each.person < NAMES_PERSONS else each for each in guesses]


def _guess(column: Profile) -> Guess:
    role, why, by_name = role_of(column)
    kind = "numbers and text" if column.kind == "mixed" else column.kind
    reason = f"{why}; {kind}, {counted(column.distinct, 'different value')} in {counted(column.rows, 'row')}"
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


def _finished(column: Profile, each: Guess) -> Guess:
    """Add the settings that the role needs to publish nothing that belongs to one row."""
    settings, reasons = settings_of(column, each.role)
    return replace(each, settings=settings, remarks=(*reasons, *remarks_on(column), *each.remarks))
