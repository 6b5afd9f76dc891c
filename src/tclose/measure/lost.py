"""A release that lost everything: nothing of the quasi-identifiers is left, and which t would keep some of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tclose.words import level_that_keeps, lost_everything

LOST = 0.95  # a release that loses at least this share of detail (GCP) has lost everything
KEPT = 0.25  # share of detail that the estimated t keeps at least


@dataclass(frozen=True)
class LevelEstimate:
    """The smallest thresholds, all scaled by one factor, that keep a quarter of the detail of a sample."""

    levels: Mapping[str, Fraction] | None  # t of each attribute; None where even t = 1 keeps less
    kept: float  # share of detail that they keep on the sample, from 0 to 1
    rows: int  # of the sample
    of: int  # rows of the table

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        levels = None if self.levels is None else {name: float(t) for name, t in self.levels.items()}
        return {"t": levels, "detail_kept": round(self.kept, 4), "sample_rows": self.rows, "rows": self.of}


@dataclass(frozen=True)
class LostDetail:
    """How much detail a table of a release lost, and which t would keep some where it lost everything."""

    rows: int
    one_class: bool  # whether all rows are in one class
    gcp: float
    withheld: int = 0  # rows of the input that are not in it
    linked: bool = True  # whether its rows show quasi-identifiers; those of an anatomy show a group
    table: int | None = None  # which of several tables, counted from 1
    estimate: LevelEstimate | None = None  # None where no t was estimated

    @property
    def everything(self) -> bool:
        """Whether the table lost everything.

        It did if almost no detail is left, or if all rows are in one class that is less exact than the rows were: a
        class of rows that were alike from the beginning loses nothing.
        """
        return self.gcp >= LOST or (self.one_class and self.rows > 1 and (self.gcp > 0 or not self.linked))

    @property
    def sentence(self) -> str:
        """What was lost."""
        return lost_everything(
            self.rows,
            self.gcp,
            one_class=self.one_class,
            withheld=self.withheld,
            linked=self.linked,
            table=self.table,
        )

    @property
    def withheld_most(self) -> bool:
        """Whether it lost everything because most rows are withheld: a larger t would not be the cure."""
        return self.withheld > self.rows

    @property
    def advice(self) -> str:
        """Which t would keep detail, as far as it was estimated."""
        if self.withheld_most:
            return 'Say missing = "value" where values are missing, keep fewer columns, or ask for less.'
        if self.estimate is None:
            return "Ask for less: a larger t, a smaller k, or less of the other models."
        estimate = self.estimate
        return level_that_keeps(estimate.levels, estimate.kept, sample=estimate.rows, rows=estimate.of)

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        table = {} if self.table is None else {"table": self.table}
        estimate = None if self.estimate is None else self.estimate.to_dict()
        figures = {"rows": self.rows, "one_class": self.one_class, "gcp": self.gcp, "estimate": estimate}
        return {**table, **figures, "sentence": self.sentence, "advice": self.advice}
