"""How a column is published, so that nothing that belongs to one row is, and what its steward should know."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tclose.policy.below import HALF
from tclose.policy.draft import names
from tclose.policy.draft.comparing import BINS, compared_in, quantiles
from tclose.policy.draft.profile import AMBIGUOUS, MISSING, OWN_ROWS, Profile
from tclose.policy.draft.roles import MANY_NUMBERS, MANY_ROWS, Role, is_code
from tclose.policy.draft.spelling import toml
from tclose.words import counted

AS_CODES = "its numbers look like those of places or groups, so bins are published, and none exactly"
FEW_ANSWERS = 10  # different values: no more are levels, such as blood types A, B, AB and 0
MOST_NAMED = 5  # odd cells of a column
LONGEST_CODE = 6  # letters of a postal code that prefixes are made of

Settings = tuple[dict[str, Any], tuple[str, ...]]  # keys of the column's table in the policy, and why they are set


def settings_of(column: Profile, role: Role) -> Settings:
    """Return the settings that a column needs in its role, with the reasons."""
    if role == "identifier":
        return {}, ()
    settings, reasons = _quasi_settings(column) if role == "quasi" else _sensitive_settings(column)
    return ({**settings, "below": HALF} if column.limits and "hierarchy" not in settings else settings), reasons


def remarks_on(column: Profile) -> tuple[str, ...]:
    """Return what a steward should know about a column, whatever its role."""
    name = names.words(column.name)
    return tuple(remark for remarks in _REMARKS for remark in remarks(column, name))


def _quasi_settings(column: Profile) -> Settings:
    name, numbers = names.words(column.name), column.numbers
    if column.kind == "date":
        units = [*(["day"] if column.time_of_day else []), "month", "year", "decade"]
        said = "exact dates single people out: a class publishes the month, the year or the decade that its rows share"
        return {"hierarchy": {"date": units}}, (said,)
    if names.POSTCODE.search(name) and column.kind != "boolean" and column.longest > 1:
        lengths = list(range(min(column.longest, LONGEST_CODE) - 1, 0, -1))
        return {"hierarchy": {"prefix": lengths}}, ("a class publishes the first digits that its rows share",)
    if numbers is not None and numbers.as_ranges is not None and is_code(column):
        said = "codes have no order: a class publishes a range of several, whose ends are no codes, and none exactly"
        return dict(numbers.as_ranges), (said, *_asked(column))
    if numbers is not None and numbers.round_step is not None and has_own_numbers(column):
        said = f"{_own_rows(column)}: the ends of ranges are rounded, so that they are nobody's exact numbers"
        return {"step": numbers.round_step}, (said, *_asked_of_measure(column))
    return {}, _asked_of_measure(column)


def _asked(column: Profile) -> tuple[str, ...]:
    """Ask where nothing but the name speaks for a code."""
    if column.code is not None and column.code.surely:
        return ()
    return ("Decide: does it number places or groups? Only its name says so. If it counts or measures, delete step",)


def _asked_of_measure(column: Profile) -> tuple[str, ...]:
    """Ask where a single sign speaks for a code, and the column is taken for something else."""
    if column.code is None or not column.code.asked or is_code(column):
        return ()
    asked = f"Decide: does it number places or groups ({column.code.sentence})?"
    return (f"{asked} If so, make it a quasi-identifier with a step, or an identifier",)


def _sensitive_settings(column: Profile) -> Settings:
    settings: dict[str, Any] = {}
    remarks: tuple[str, ...] = ()
    coded = column.code is not None and column.code.surely
    if has_own_numbers(column) or column.limits or coded:
        settings = {"bins": {"quantiles": quantiles(column)}, "publish": "bin"}
        remarks = (f"{_own_rows(column)}: these would single them out, so bins are published",)
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


def _published_own_rows(column: Profile) -> str:
    """Say that some rows publish a value of their own, and how to hide it."""
    if column.kind == "number":
        bins = "" if compared_in(column)[0] else f"bins = {{ quantiles = {BINS} }} and "
        cure = f'add {bins}publish = "bin"'
    else:
        cure = "write common values in place of the rare ones"
    return f"{_own_rows(column, 'value')}, which is published: to hide it, {cure}"


def has_own_numbers(column: Profile) -> bool:
    """Tell whether many rows have a number of their own, so that exact numbers are not published."""
    return column.kind == "number" and column.own_share > MANY_NUMBERS and column.distinct > OWN_ROWS


def _own_rows(column: Profile, noun: str = "number") -> str:
    rows = f"{column.own:,} of {counted(column.present, 'row')}"
    return f"{rows} have a {noun} of their own (at most two rows or persons share it)"


def _weight_remarks(column: Profile, name: str) -> Sequence[str]:
    numbers = column.numbers
    if numbers is None:
        return ()
    by_look = names.AMBIGUOUS_WEIGHT.search(name) and numbers.like_sampling_weights and not names.BIRTH.search(name)
    if not (names.SAMPLING_WEIGHT.search(name) or by_look):
        return ()
    return (
        "a sampling weight? It says nothing sensitive, but it tells which stratum a person was drawn from: "
        "if nobody needs it, move it to identifiers",
    )


def _missing_remarks(column: Profile, name: str) -> Sequence[str]:
    place = names.PLACE.search(name)
    doubtful = [  # a word that is not among the usual ones was found among the numbers of another column
        marker
        for marker in column.markers
        if marker in AMBIGUOUS or marker not in MISSING or (marker == "NA" and place)
    ]
    remarks = []
    if doubtful and column.kind in ("text", "mixed", "boolean"):
        shown = ", ".join(toml(marker) for marker in doubtful)
        remarks.append(f'{shown} means "no value" here: if it is an answer, write it differently in the table')
    if column.levels:
        shown = ", ".join(toml(level) for level in column.levels)
        remarks.append(f'{shown} counts as an answer here: if it means "no value", add it to missing')
    return remarks


def _number_remarks(column: Profile, name: str) -> Sequence[str]:
    if column.numbers is None or not column.numbers.stray_end:
        return ()
    return ('its first or last number stands apart: if it is a code for "no value", such as 999, add it to missing',)


def _mixed_remarks(column: Profile, name: str) -> Sequence[str]:
    if column.kind != "mixed" or column.distinct <= FEW_ANSWERS or names.POSTCODE.search(name):
        return ()
    return ("numbers or dates, and other texts: to have it read as numbers, correct the texts or list them in missing",)


def _odd_remarks(column: Profile, name: str) -> Sequence[str]:
    """Name the odd cells among numbers, with their rows, and what becomes of them."""
    said = {
        'no numbers, so read as "no value": if one is an answer, write a number in its place': column.words,
        "placed at half of the limit and published as a range or bin from 0 to the limit or beyond": column.limits,
        'above a limit, so read as "no value": to publish them, write numbers in their place': column.beyond,
    }
    return [f"{_rows_of(cells)} (with the number of rows): {what}" for what, cells in said.items() if cells]


def _rows_of(cells: Mapping[str, int]) -> str:
    """Name cells with their rows, as in: "k.A." 12, "n.b." 1."""
    named = [f"{toml(cell)} {rows:,}" for cell, rows in list(cells.items())[:MOST_NAMED]]
    return ", ".join(named) + (f" and {len(cells) - MOST_NAMED:,} more" if len(cells) > MOST_NAMED else "")


def _postcode_remarks(column: Profile, name: str) -> Sequence[str]:
    if column.kind != "number" or not names.POSTCODE.search(name):
        return ()
    return ("read as numbers: if leading zeros were lost (1234 for 01234), restore them first",)


_REMARKS: tuple[Callable[[Profile, str], Sequence[str]], ...] = (
    _weight_remarks,
    _missing_remarks,
    _number_remarks,
    _mixed_remarks,
    _odd_remarks,
    _postcode_remarks,
)
