"""What a draft of a policy needs to know about each column of a table: the look of its values and counts, never a cell.

The time grows with the number of cells. Columns that say the same (age and age²) are found by a digest of how each
divides or orders the rows. In tables of few columns, each is also compared with each: a day tells its month. Whether
whole numbers are codes of places or groups is found in a sample, whose arrays `policy/draft/profile.py` judges.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.policy.column_settings import Below
from tclose.policy.draft import AMBIGUOUS, MISSING, OWN_ROWS, ColumnProfile, NumberLook, shape_of
from tclose.policy.draft.profile import FEWEST, MOST, OtherColumn, range_settings, signs_of
from tclose.table.numbers import NO_ODD_CELLS, OddCells, are_numbers, odd_cells
from tclose.table.values import Tally, ValueDomain, Values, comparable, values_of
from tclose.types import Bools, Ints

# Codes of places or groups, from a sample


CODE_SAMPLE = 20_000  # rows
MOST_BESIDE = 64  # columns that a code is compared with
NEARLY_UNIQUE = 0.95  # different texts per row: too many to say anything


def with_code_signs(
    frame: pl.DataFrame, columns: Sequence[ColumnProfile], missing: Sequence[str]
) -> list[ColumnProfile]:
    """Say of each column of whole numbers what speaks for a code of a place or a group."""
    candidates = {column.name for column in columns if _may_be_code(column)}
    if not candidates:
        return list(columns)
    rows = np.unique(np.linspace(0, len(frame) - 1, min(CODE_SAMPLE, len(frame))).astype(np.int64))
    sample = frame if len(rows) == len(frame) else frame[rows]
    compared = [column.name for column in columns if column.distinct > 1][:MOST_BESIDE]
    limits = {column.name: Below() for column in columns if column.limits}
    read = dict.fromkeys([*compared, *candidates])
    values = {name: values_of(sample[name], missing, below=limits.get(name)) for name in read}
    beside = {name: _beside(values[name]) for name in compared if _tells(values[name])}
    return [
        replace(column, code=signs_of(column.name, values[column.name].codes, _without(beside, column.name)))
        if column.name in candidates
        else column
        for column in columns
    ]


def _may_be_code(column: ColumnProfile) -> bool:
    return column.numbers is not None and column.numbers.whole and FEWEST <= column.distinct <= MOST


def _tells(values: Values) -> bool:
    return values.units is not None or len(values.texts) <= NEARLY_UNIQUE * len(values.codes)


def _beside(values: Values) -> OtherColumn:
    return OtherColumn(values.codes, ordered=values.units is not None)


def _without(beside: dict[str, OtherColumn], name: str) -> dict[str, OtherColumn]:
    return {other: each for other, each in beside.items() if other != name}


# The profile of each column


SAMPLE = 5000  # rows in which columns that say the same are looked for
LEAST_ROWS = 20  # in fewer rows, columns agree by chance
LEAST_SURPRISE = 20  # rows that would differ if two columns had nothing to do with each other
MOST_COMPARED = 64  # columns of which each is compared with each
LEAST_APART = 10  # rows outside the largest group, for the same reason
STEPS = 50  # about so many round steps make up the usual range of a column
STRAY = frozenset({9, 99, 999, 9999, 99999, 999999, -1, -7, -8, -9, -99, -999, -9999})
HEAVIEST = 1500  # no body weighs more, in any unit that is in use, kilograms or pounds
DAY_DIGITS = 8
LEAST_VALUES = 20  # different values: fewer hardly number persons
MOST_ROWS_EACH = 25  # rows of a value, on average: more rather number groups of persons
MOST_CODES = 20_000  # different codes of places or groups
WAVES = 0.2  # share of the values that have the largest number of rows, where values number persons


@dataclass(frozen=True, eq=False)
class _Look:
    """A column's profile, and what is needed to compare it with others: its values in a sample of rows."""

    profile: ColumnProfile
    digest: bytes | None  # of how the values divide or order the sample; none where that says nothing
    codes: Ints


def profiles(frame: pl.DataFrame) -> list[ColumnProfile]:
    """Describe every column."""
    rows = np.unique(np.linspace(0, len(frame) - 1, min(SAMPLE, len(frame))).astype(np.int64))
    sample = frame if len(rows) == len(frame) else frame[rows]
    columns = list(zip(frame.get_columns(), sample.get_columns(), strict=True))
    looks = [_look(column, some, MISSING) for column, some in columns]
    missing = _missing_cells([look.profile for look in looks])
    for place, look in enumerate(looks):
        if not set(look.profile.markers) <= set(missing) or _shows_others(columns[place][0], missing, look.profile):
            own = {*look.profile.words, *look.profile.beyond}  # which are found again
            looks[place] = _look(*columns[place], [cell for cell in missing if cell not in own])
    return with_code_signs(frame, _compared(frame, looks, missing, whole=sample is frame), missing)


def with_persons(frame: pl.DataFrame, columns: Sequence[ColumnProfile], person: str) -> list[ColumnProfile]:
    """Count a value as somebody's own where at most two persons have it, in however many rows."""
    persons = comparable(frame[person])
    return [
        profile if profile.name == person else replace(profile, own=_own(column, persons, profile.markers))
        for profile, column in zip(columns, frame.get_columns(), strict=True)
    ]


def _own(column: pl.Series, persons: pl.Series, markers: Sequence[str]) -> int:
    """Count the rows whose value at most two persons have."""
    pairs = pl.DataFrame({"value": comparable(column), "person": persons})
    cells = pairs.group_by("value").agg(pl.col("person").n_unique().alias("persons"), pl.len().alias("rows"))
    missing = pl.col("value").is_null() | pl.col("value").cast(pl.String).is_in(["", *markers])
    return int(cells.filter((pl.col("persons") <= OWN_ROWS) & ~missing)["rows"].sum())


def _missing_cells(columns: Sequence[ColumnProfile]) -> list[str]:
    """Return the cells that mean "no value"; "None" does only if it stands among numbers or dates somewhere."""
    read = {marker for column in columns if column.kind in ("number", "date") for marker in column.markers}
    odd = dict.fromkeys(word for column in columns for word in (*column.words, *column.beyond))
    return [*(marker for marker in MISSING if marker not in AMBIGUOUS or marker in read), *odd]


def _shows_others(column: pl.Series, missing: Sequence[str], known: ColumnProfile) -> bool:
    """Tell whether a column shows words that mean "no value" in other columns."""
    words = [cell for cell in missing if cell not in MISSING and cell not in known.markers]
    return bool(words) and column.dtype == pl.String and bool(column.alias("").is_in(words).any())


def _look(column: pl.Series, sample: pl.Series, missing: Sequence[str]) -> _Look:
    domain, odd = ValueDomain.of(Tally.of(column), missing), NO_ODD_CELLS
    if domain.kind == "mixed":
        odd = _odd_cells(domain)
        missing = [*missing, *odd.not_numbers]
    below = Below() if odd.limits else None
    if odd is not NO_ODD_CELLS:
        domain = ValueDomain.of(domain.tally, missing, below)
    codes = _codes(domain, sample, missing, below)
    return _Look(_profile(column, domain, missing, odd), _digest(codes, ordered=domain.units is not None), codes)


def _odd_cells(domain: ValueDomain) -> OddCells:
    """Return the few cells of a column that keep it from being a column of numbers."""
    texts = pl.Series(domain.texts, dtype=pl.String)
    return odd_cells(texts, domain.counts, are_numbers(texts).to_numpy())


def _profile(column: pl.Series, domain: ValueDomain, missing: Sequence[str], odd: OddCells) -> ColumnProfile:
    counts = domain.counts
    texts = domain.texts if domain.kind in ("text", "mixed") else ()
    shown = _shown(domain.tally, missing)
    return ColumnProfile(
        name=column.name,
        kind=domain.kind,
        rows=len(column),
        distinct=len(domain.texts),
        missing=domain.missing,
        markers=tuple(marker for marker in shown if marker in missing),
        levels=tuple(marker for marker in shown if marker not in missing),
        own=int(counts[counts <= OWN_ROWS].sum()),
        shape=shape_of(texts),
        numbers=_number_look(domain, counts) if domain.kind == "number" else None,
        time_of_day=domain.kind == "date" and all(len(text) > len("2024-03-31") for text in domain.texts),
        longest=max(map(len, domain.texts), default=0),
        words=odd.words,
        limits=odd.limits,
        beyond=odd.beyond,
        in_blocks=domain.kind in ("number", "text", "mixed") and _in_blocks(domain.tally, counts),
    )


def _shown(tally: Tally, missing: Sequence[str]) -> list[str]:
    """Return those of the usual spellings of a missing value that the column shows, apart from the empty cell."""
    cells = tally.cells
    if cells.dtype != pl.String:
        return []
    spellings = list(dict.fromkeys([*MISSING, *missing]))
    if len(cells) > SAMPLE:
        cells = cells.filter(cells.is_in(pl.Series(spellings, dtype=pl.String).implode()))
    shown = set(cells.to_list())
    return [marker for marker in spellings if marker and marker in shown]


def _number_look(domain: ValueDomain, counts: Ints) -> NumberLook:
    """Describe numbers; `units` are the different ones in rising order."""
    one = 10**domain.scale
    assert domain.units is not None
    units = domain.units if one < 2**62 else domain.units.astype(object)
    whole = bool((units % one == 0).all())
    numbers = units // one if whole else units
    unique = len(units) >= 0.9 * int(counts.sum())
    return NumberLook(
        whole=whole,
        consecutive=whole and _is_consecutive(numbers),
        rising=whole and unique and _rises(domain.tally),
        digits=_digits(numbers) if whole else 0,
        days=whole and _are_days(numbers),
        round_step=_round_step(numbers, 0 if whole else domain.scale),
        like_sampling_weights=_like_sampling_weights(units, one, counts),
        stray_end=whole and _has_stray_end(numbers),
        as_ranges=range_settings(numbers) if whole and FEWEST <= len(numbers) <= MOST_CODES else None,
    )


def _middle(units: NDArray[Any]) -> NDArray[Any]:
    """Return the values without the outer twentieth at each end."""
    cut = len(units) // 20
    return units[cut : len(units) - cut]


def _is_consecutive(numbers: NDArray[Any]) -> bool:
    """Tell whether more than half of the whole numbers between the ends occur; a few stray ones do not count."""
    middle = _middle(numbers)
    return int(middle[-1]) - int(middle[0]) + 1 < 2 * len(middle)


def _rises(tally: Tally) -> bool:
    assert tally.column is not None
    steps = tally.column.cast(pl.Float64, strict=False).drop_nulls().diff().drop_nulls()
    return len(steps) > 0 and bool((steps > 0).all() or (steps < 0).all())


def _digits(numbers: NDArray[Any]) -> int:
    """Return how many digits nine of ten whole numbers have; 0 where they differ."""
    lengths = [len(str(abs(int(number)))) for number in numbers[:: max(1, len(numbers) // 1000)]]
    usual = max(set(lengths), key=lengths.count)
    return usual if lengths.count(usual) >= 0.9 * len(lengths) and int(numbers[0]) >= 0 else 0


def _are_days(numbers: NDArray[Any]) -> bool:
    """Tell whether whole numbers read as dates such as 20240331."""
    if len(str(int(numbers[0]))) != DAY_DIGITS or len(str(int(numbers[-1]))) != DAY_DIGITS or int(numbers[0]) < 0:
        return False
    year, month, day = numbers // 10000, numbers // 100 % 100, numbers % 100
    fits = (year >= 1850) & (year < 2150) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    return bool(fits.all())


def _round_step(units: NDArray[Any], scale: int) -> Fraction | None:
    """Return a round number near a fiftieth of the usual range, unless the numbers are coarser than that."""
    middle = _middle(units)
    aim = Fraction(int(middle[-1]) - int(middle[0]), STEPS * 10**scale)
    if not aim:
        return None
    power = Fraction(10) ** (len(str(int(aim))) - 1 if aim >= 1 else -len(str(int(1 / aim))))
    step = max(digit * power for digit in (1, 2, 5, 10) if digit * power <= max(aim, power))
    return step if step * 10**scale > 1 else None


def _like_sampling_weights(units: NDArray[Any], one: int, counts: Ints) -> bool:
    """Tell whether numbers lie around 1 on average, with decimals, or are too large for the weight of a body."""
    if units.dtype == object or int(units[0]) < 0:
        return False
    values = units / one
    mean = float(values @ counts) / int(counts.sum())
    return bool(np.median(values) > HEAVIEST or (0.8 < mean < 1.25 and one > 1 and len(units) > 2))


def _has_stray_end(numbers: NDArray[Any]) -> bool:
    """Tell whether the first or last of whole numbers reads as a code for "no value" and stands apart."""
    if len(numbers) < 3:
        return False
    first, second, last_but_one, last = (int(numbers[place]) for place in (0, 1, -2, -1))
    return (first in STRAY and first < 0 <= second) or (last in STRAY and last > 2 * max(last_but_one, 1) and last > 9)


def _in_blocks(tally: Tally, counts: Ints) -> bool:
    """Tell whether values repeat as the number of a person does who has several rows.

    Either the rows of each value stand together, or many values have the largest number of rows, as persons have who
    took part in every wave. Of a measurement, few values are the most frequent.
    """
    rows = int(counts.sum())
    if len(counts) < LEAST_VALUES or not len(counts) < rows <= MOST_ROWS_EACH * len(counts):
        return False
    if np.count_nonzero(counts == counts.max()) >= WAVES * len(counts):
        return True
    column = tally.column
    assert column is not None
    return int(column.ne_missing(column.shift()).sum()) <= len(tally.cells) + min(tally.nulls, 1)


def _compared(
    frame: pl.DataFrame, looks: Sequence[_Look], missing: Sequence[str], *, whole: bool
) -> list[ColumnProfile]:
    """Mark each column that says the same as an earlier one, or from which others can be computed."""
    alike = _groups([look.digest for look in looks])
    if not whole:
        alike = {place: leader for group in _members(alike) for place, leader in _confirmed(frame, group, missing)}
    names = frame.columns
    tells = _told_by_each(frame, looks, whole=whole)
    return [
        replace(
            look.profile,
            twin=names[alike[place]] if alike.get(place, place) != place else None,
            tells=tuple(names[other] for other in tells.get(place, ()) if alike.get(other) != alike.get(place, place)),
        )
        for place, look in enumerate(looks)
    ]


def _told_by_each(frame: pl.DataFrame, looks: Sequence[_Look], *, whole: bool) -> dict[int, list[int]]:
    """Return, for each column, those that can be computed from it: each of its values has one value of theirs.

    Every column is compared with every other, so wide tables are left out.
    """
    if len(looks) > MOST_COMPARED or len(frame) < LEAST_ROWS:
        return {}
    told = {place: _told_by(look.codes, looks) for place, look in enumerate(looks)}
    if whole:
        return told
    return {
        place: [other for other in others if _tells_everywhere(frame, place, other)] for place, others in told.items()
    }


def _told_by(codes: Ints, looks: Sequence[_Look]) -> list[int]:
    """Return the columns that have equal values wherever these codes are equal, and not by chance."""
    order = np.argsort(codes, kind="stable")
    order = order[np.searchsorted(codes[order], 0) :]  # rows with a value
    equal = codes[order][1:] == codes[order][:-1]
    if np.count_nonzero(equal) < LEAST_SURPRISE:
        return []
    return [other for other, look in enumerate(looks) if look.codes is not codes and _is_told(look.codes[order], equal)]


def _is_told(others: Ints, equal: Bools) -> bool:
    if (equal & (others[1:] != others[:-1])).any():
        return False
    rare = 1 - np.bincount(others + 1).max() / len(others)
    return bool(np.count_nonzero(equal) * rare >= LEAST_SURPRISE)


def _tells_everywhere(frame: pl.DataFrame, place: int, other: int) -> bool:
    pairs = pl.DataFrame({"one": comparable(frame.to_series(place)), "other": comparable(frame.to_series(other))})
    pairs = pairs.drop_nulls("one")
    return pairs["one"].n_unique() == pairs.n_unique()


def _groups(digests: Sequence[bytes | None]) -> dict[int, int]:
    """Return, for each column with a digest, the first column with the same."""
    first: dict[bytes, int] = {}
    return {place: first.setdefault(digest, place) for place, digest in enumerate(digests) if digest is not None}


def _members(alike: dict[int, int]) -> list[list[int]]:
    groups: dict[int, list[int]] = {}
    for place, leader in alike.items():
        groups.setdefault(leader, []).append(place)
    return [group for group in groups.values() if len(group) > 1]


def _confirmed(frame: pl.DataFrame, group: list[int], missing: Sequence[str]) -> list[tuple[int, int]]:
    """Compare, in all rows, the columns that agree in a sample of rows."""
    values = [values_of(frame.to_series(place), missing) for place in group]
    alike = _groups([_digest(each.codes, ordered=each.units is not None) for each in values])
    return [(group[place], group[leader]) for place, leader in alike.items()]


def _digest(codes: Ints, *, ordered: bool) -> bytes | None:
    """Digest how values divide rows, or order them where nearly every row has a value of its own."""
    if len(codes) < LEAST_ROWS:
        return None
    sizes = np.bincount(codes + 1)
    if len(codes) - int(sizes.max()) < LEAST_APART:
        return None
    if np.count_nonzero(sizes == 1) < 0.5 * len(codes):
        first, back = np.unique(codes, return_index=True, return_inverse=True)[1:]
        return _hashed(b"groups", np.argsort(np.argsort(first))[back])
    if not ordered:
        return None
    falling = np.where(codes >= 0, int(codes.max()) - codes, -1)
    return min(_hashed(b"order", codes), _hashed(b"order", falling))


def _codes(domain: ValueDomain, rows: pl.Series, missing: Sequence[str], below: Below | None = None) -> Ints:
    """Return the value of each row, in the order of the values; -1 where it is missing."""
    cells = domain.tally.cells
    if len(cells) > SAMPLE:
        return values_of(rows, missing, below=below).codes  # quicker than to look the rows up among so many cells
    code_of = dict(zip(cells.to_list(), domain.code_of_cell.tolist(), strict=True))
    return np.array([code_of.get(cell, -1) for cell in rows.to_list()], dtype=np.int64)


def _hashed(how: bytes, codes: Ints) -> bytes:
    return hashlib.blake2b(how + codes.astype(np.int64).tobytes(), digest_size=16).digest()
