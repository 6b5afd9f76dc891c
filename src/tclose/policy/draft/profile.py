"""What a draft knows about a column: its name, the kind and the look of its values, and counts. Never a cell.

It also knows which whole numbers are codes of places, schools or clusters: labels that are written as numbers. A
measurement changes little from one number to the next; a label does not know its neighbours. Signs of a label:

- jumps: another column's mean, by number, jumps from number to number (von Neumann's ratio of successive differences)
- in blocks: the file lists equal numbers together
- decides: another, coarser column has one value for each number, as a village has one district
- its name

Two of the four, or clear jumps in two columns, make a code; the name alone makes a question. The figures are measured
in decision 137. All functions about codes take arrays: the rank of each row's value, and -1 where it has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from typing import Any, Literal

import numpy as np

from tclose.messages import Message, joined, say
from tclose.policy.draft import patterns
from tclose.policy.source import MISSING as MISSING
from tclose.policy.toml import toml_value
from tclose.types import Bools, Floats, Ints

# Signs of codes of places, schools or clusters


FEWEST, MOST = 12, 1500  # different numbers: fewer are levels, more are rather numbers of persons
ROWS_EACH = 3  # of a number, on average, at least
LEAST_ROWS = 100
JUMPS, CLEAR_JUMPS, ASKED_JUMPS = (
    0.10,
    0.15,
    0.20,
)  # share of a column's variance that lies between numbers, times its roughness
ROUGH = 0.8  # median roughness where jumps in two columns are enough; 1: labels, 0: a smooth curve
MANY_NUMBERS = 20  # where jumps in two columns are enough
LEAST_BETWEEN = 0.03  # share of the variance between numbers: below it, roughness is noise
LEAST_F = 1.5  # the same, against chance
SPIKE = 0.2  # of the rows: a number as frequent as this is the zero of a count
AGREE = 0.99  # of the rows of a number that show one value of a column which it decides
BETTER = 0.02  # than the commonest value alone
LEAST_ROUGH = 0.2  # where another column is decided: below it, both may count the same
MOST_YEARS = 25  # at school
IN_A_STEP = 3  # codes that occur in each step of a published range
LARGEST = 2**62
MOST_NAMED = 2  # columns that a sentence names


@dataclass(frozen=True, eq=False)
class OtherColumn:
    """Another column, as it is compared with numbers: the rank of each row's value, and whether ranks mean anything."""

    codes: Ints
    ordered: bool
    places: Floats = field(init=False)  # from 0 to 1, so that no outlier decides

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", _places(self.codes, ordered=self.ordered))


@dataclass(frozen=True)
class Signs:
    """What speaks for a code."""

    named: bool = False
    in_blocks: bool = False
    jumps: tuple[str, ...] = ()  # columns that jump from number to number
    decides: tuple[str, ...] = ()  # coarser columns with one value per number
    jumps_clearly: bool = False  # in two columns
    strongest: float = 0.0  # of the jumps

    @property
    def surely(self) -> bool:
        """Whether the column is a code: two signs, or clear jumps in two columns."""
        return self.jumps_clearly or sum(map(bool, (self.named, self.in_blocks, self.jumps, self.decides))) > 1

    @property
    def possibly(self) -> bool:
        """Whether its steward must be asked."""
        return self.named or self.surely

    @property
    def asked(self) -> bool:
        """Whether a single sign, which does not decide, must be put to the steward (research: J of 0.20 or more)."""
        one = self.named or self.in_blocks or bool(self.decides) or self.strongest >= ASKED_JUMPS
        return one and not self.surely

    @property
    def sentence(self) -> str:
        """Say what speaks for a code, as in: its name says so; the file lists equal numbers together."""
        said = [
            say("its name says so") if self.named else "",
            say("the file lists equal numbers together") if self.in_blocks else "",
            *(say("{column} jumps from number to number", column=quoted(name)) for name in self.jumps[:MOST_NAMED]),
            *(say("each number has one value of {column}", column=quoted(name)) for name in self.decides[:MOST_NAMED]),
        ]
        return joined("; ", filter(None, said))


def quoted(name: str) -> Message:
    """Spell a column as a policy does; another language has quotation marks of its own."""
    spelled = toml_value(name)
    return say('"{column}"', column=spelled[1:-1]) if spelled[0] == '"' else say("{column}", column=spelled)


def is_named(name: str, different: int) -> bool:
    """Tell whether a name is that of a code; "school" with few different numbers rather means years at school."""
    words = patterns.words(name)
    if patterns.MEASURED.search(words) or patterns.COUNT.search(words):
        return False
    return patterns.NAMED_CODE.search(words) is not None or (words.endswith("_school_") and different > MOST_YEARS)


def signs_of(
    name: str, codes: Ints, others: Mapping[str, OtherColumn], *, ordered: bool = True, as_filed: bool = True
) -> Signs | None:
    """Look for signs that whole numbers are codes; None where they are too few, too many or too rare to tell.

    `codes` are the ranks of the numbers, in the order of the file, and `others` the columns beside them. Where the rows
    have been put into another order (`as_filed`), blocks say nothing; words (not `ordered`) have no neighbours from
    which others could jump.
    """
    present = codes[codes >= 0]
    counts = np.bincount(present)
    different = int(np.count_nonzero(counts))
    if not FEWEST <= different <= MOST or len(present) < max(LEAST_ROWS, ROWS_EACH * different):
        return None
    if patterns.MEASURED.search(patterns.words(name)):
        return None
    usable = counts <= SPIKE * len(present)
    if ordered:
        usable[[0, -1]] = False  # a count's zero and a coded end stand apart
    compared = [(other, _compared(codes, beside, usable)) for other, beside in others.items()]
    found = [(other, each) for other, each in compared if each is not None]
    telling = sorted(((each.jumps, each.rough, other) for other, each in found if each.tells and ordered), reverse=True)
    roughness = float(np.median([rough for _, rough, _ in telling])) if telling else 0.0
    return Signs(
        named=is_named(name, different),
        in_blocks=as_filed and _in_blocks(present, counts),
        jumps=tuple(other for jumps, _, other in telling if jumps >= JUMPS),
        decides=tuple(other for other, each in found if each.decided),
        jumps_clearly=len(telling) > 1
        and telling[0][0] >= CLEAR_JUMPS
        and roughness >= ROUGH
        and different >= MANY_NUMBERS,
        strongest=telling[0][0] if telling else 0.0,
    )


def _in_blocks(present: Ints, counts: Ints) -> bool:
    """Tell whether equal numbers stand together, far more than in an order of chance."""
    different = int(np.count_nonzero(counts))
    runs = 1 + int(np.count_nonzero(present[1:] != present[:-1]))
    by_chance = 1 + (len(present) - 1) * (1 - float(((counts / len(present)) ** 2).sum()))
    return runs <= 2 * different and runs < 0.35 * by_chance


@dataclass(frozen=True)
class _Compared:
    """How another column behaves from number to number."""

    between: float  # share of its variance that lies between numbers, beyond chance
    rough: float  # 1: neighbouring numbers have nothing in common, 0: a smooth curve
    f: float  # the variance between numbers against that within
    decided: bool

    @property
    def tells(self) -> bool:
        return self.f > LEAST_F and self.between >= LEAST_BETWEEN

    @property
    def jumps(self) -> float:
        return self.between * min(max(self.rough, 0.0), 1.0)


def _compared(codes: Ints, beside: OtherColumn, usable: Bools) -> _Compared | None:
    """Compare a column with numbers that at least two rows show; None where there is too little of it."""
    rows = np.flatnonzero((codes >= 0) & (beside.codes >= 0))
    rows = rows[usable[codes[rows]]]
    if len(rows) < LEAST_ROWS:
        return None
    weight = np.bincount(codes[rows], minlength=len(usable)).astype(np.float64)
    repeated = weight > 1
    if np.count_nonzero(repeated) < FEWEST - 2:
        return None
    rows = rows[repeated[codes[rows]]]
    numbers, places = codes[rows], beside.places[rows]
    sums = np.bincount(numbers, places, minlength=len(usable)).astype(np.float64)[repeated]
    between, rough, f = _variances(places, weight[repeated], sums)
    decided = rough > LEAST_ROUGH and _is_decided(numbers, beside.codes[rows])
    return _Compared(between, rough, f, decided)


def _variances(places: Floats, weight: Floats, sums: Floats) -> tuple[float, float, float]:
    """Return the share of the variance between numbers, its roughness, and F: all without what chance adds."""
    total = float(((places - places.mean()) ** 2).sum())
    if total < 1e-9:
        return 0.0, 0.0, 0.0
    means, numbers = sums / weight, len(weight)
    between = float((weight * (means - places.mean()) ** 2).sum())
    noise = (total - between) / max(len(places) - numbers, 1)  # variance within a number
    pairs = np.minimum(weight[1:], weight[:-1])
    chance = noise * float((pairs * (1 / weight[1:] + 1 / weight[:-1])).sum())
    steps = float((pairs * np.diff(means) ** 2).sum()) - chance
    away = (means - np.average(means, weights=weight)) ** 2
    spread = float((pairs * (away[1:] + away[:-1])).sum()) - chance
    rough = steps / spread if spread > 1e-9 else 0.0
    share = max(between - (numbers - 1) * noise, 0.0) / total
    return share, rough, between / (numbers - 1) / max(noise, 1e-12)


def _is_decided(numbers: Ints, values: Ints) -> bool:
    """Tell whether nearly every row shows the commonest value of its number, and there are fewer values than numbers.

    Both are ranks. The values are renumbered, so that the table of counts stays small.
    """
    shown = np.bincount(values)
    kinds = int(np.count_nonzero(shown))
    if not 1 < kinds < np.count_nonzero(np.bincount(numbers)):
        return False
    number_of = np.cumsum(shown > 0) - 1
    table = np.bincount(numbers * kinds + number_of[values], minlength=(int(numbers.max()) + 1) * kinds)
    agreeing = float(table.reshape(-1, kinds).max(axis=1).sum()) / len(values)
    return agreeing >= AGREE and agreeing > shown.max() / len(values) + BETTER


def _places(codes: Ints, *, ordered: bool) -> Floats:
    """Return where each row stands among the others, from 0 to 1; of words, whether it shows the commonest."""
    present = codes >= 0
    if not present.any():
        return np.zeros(len(codes))
    counts = np.bincount(codes[present])
    if not ordered:
        return np.asarray(codes == counts.argmax(), dtype=np.float64)
    middle = (np.cumsum(counts) - counts / 2) / counts.sum()
    return np.where(present, middle[codes], 0.0)


def range_settings(numbers: Ints) -> dict[str, Any] | None:
    """Return how codes are published as ranges: a step, and a bottom where 0 is a code; None below 0.

    `numbers` are the codes that occur, rising. Every step that holds a code holds at least three, and the ends of steps
    are no whole numbers, so that a class whose rows share one code publishes a range of several.

    >>> range_settings(np.arange(1, 120))
    {'step': Fraction(401, 100)}
    """
    low, high = int(numbers[0]), int(numbers[-1])
    if low < 0:
        return None
    for width in _round_widths():
        tenth = next(10**power for power in count(1) if width * 10**power + 1 > high)
        unit = width * tenth + 1  # whole multiples of unit / tenth are multiples of unit, which lie beyond the codes
        if unit > LARGEST // tenth:
            return None
        occupied = np.unique(numbers.astype(np.int64) * tenth // unit, return_counts=True)[1]
        if occupied.min() >= IN_A_STEP or width > high:
            return {"step": Fraction(unit, tenth), **({"bottom": width} if low == 0 else {})}
    return None


def _round_widths() -> Iterator[int]:
    for power in count(0):
        yield from (digit * 10**power for digit in (4, 5, 6, 8, 10, 15, 20, 30) if digit * 10**power)


# The profile of a column


Kind = Literal["number", "date", "boolean", "text", "mixed"]

OWN_ROWS = 2  # a value that no more rows (or persons) than this have is these rows' own
AMBIGUOUS = frozenset({"None", "-", "."})  # of MISSING, those that are also answers: "None" drinks, a blood type "-"


@dataclass(frozen=True, kw_only=True)
class NumberLook:
    """What can be said about the numbers of a column without quoting one of them."""

    whole: bool = False  # no number has decimals; 1.0 has none
    consecutive: bool = False  # more than half of the whole numbers between the ends occur
    rising: bool = False  # each number is larger than that of the row before, or each is smaller
    digits: int = 0  # of whole numbers that nearly all have as many digits; else 0
    days: bool = False  # whole numbers such as 20240331
    round_step: Fraction | None = None  # a round number, about a fiftieth of the usual range
    like_sampling_weights: bool = False  # around 1 on average, or far too large for the weight of a body
    stray_end: bool = False  # the first or last number stands apart and reads as a code, such as 999 or -9
    as_ranges: Mapping[str, Any] | None = None  # of whole numbers: how codes are published, no code exactly


@dataclass(frozen=True, kw_only=True)
class ColumnProfile:
    """What a draft looks at: a column's name, the kind of its values, and counts."""

    name: str
    kind: Kind
    rows: int
    distinct: int  # different values
    missing: int  # rows without a value
    markers: Sequence[str] = ()  # cells such as NA that are read as a missing value
    levels: Sequence[str] = ()  # cells such as None that are read as a value but may mean a missing one
    own: int = 0  # rows with a value of their own
    shape: str | None = None  # what the texts look like: a key of SHAPES
    numbers: NumberLook | None = None
    time_of_day: bool = False  # of dates: all have a time
    longest: int = 0  # letters of the longest value
    in_blocks: bool = False  # values repeat as the number of a person does who has several rows
    code: Signs | None = None  # what speaks for the code of a place or a group; None where that cannot be told
    words: Mapping[str, int] = field(default_factory=dict)  # cells among numbers that are none, and their rows
    limits: Mapping[str, int] = field(default_factory=dict)  # the same for cells such as <0.2
    beyond: Mapping[str, int] = field(default_factory=dict)  # the same for cells such as >500
    described: str = ""  # what SPSS or Stata say about the column
    tells: Sequence[str] = ()  # columns that can be computed from this one, but not the other way round
    twin: str | None = None  # an earlier column; each of its values belongs to one value of this column, and vice versa

    @property
    def present(self) -> int:
        """Rows with a value."""
        return self.rows - self.missing

    @property
    def own_share(self) -> float:
        """Share of the rows with a value that have a value of their own."""
        return self.own / self.present if self.present else 0.0

    @property
    def nearly_unique(self) -> bool:
        """Whether nearly every row has another value; a few may be missing or double."""
        return self.present > 1 and self.distinct >= 0.9 * self.present
