"""What a draft knows about a column: its name, the kind and the look of its values, and counts. Never a cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from tclose.policy.draft.codes import Signs
from tclose.policy.source import MISSING as MISSING

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
class Profile:
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
