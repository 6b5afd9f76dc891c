"""A release as analysts use it: a frame with intervals, midpoints and weights, and estimates with honest bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

import numpy as np
import polars as pl

from tclose.analysis import counting, summaries
from tclose.analysis.columns import ExactColumn, ListColumn, MeanColumn, PublishedColumn, RangeColumn
from tclose.analysis.counting import Estimate
from tclose.analysis.drawing import Draw
from tclose.analysis.frames import interval_frame, pandas_frame
from tclose.analysis.regression import Direction, Regression, fitted
from tclose.errors import InputError, did_you_mean
from tclose.recode.typed import CLASS, CLASS_SIZE, MID
from tclose.types import Floats, Ints

SYNTHETIC = "_synthetic"


class LoadedRelease:
    """A loaded release, as `load` returns it; `typed` has its typed columns, and `withheld` counts withheld rows.

    Columns are asked for by the names that they had in the table.
    """

    def __init__(
        self,
        typed: pl.DataFrame,
        columns: Mapping[str, PublishedColumn],
        withheld: int,
        kind: Literal["polars", "pandas"],
    ) -> None:
        self.typed = typed
        self._columns = columns
        self.withheld = withheld
        self._kind = kind

    def __repr__(self) -> str:
        """Say how large the release is."""
        return f"<LoadedRelease of {self.rows:,} rows in {self.typed[CLASS].n_unique():,} classes>"

    @property
    def rows(self) -> int:
        """How many rows are published."""
        return self.typed.height

    @property
    def frame(self) -> Any:
        """The release with one column per column of the table.

        A range is a struct of `low` and `high` in polars and an interval (`IntervalDtype`) in pandas; a set is a list.
        """
        return (
            pandas_frame(self.typed, self._columns)
            if self._kind == "pandas"
            else interval_frame(self.typed, self._columns)
        )

    @property
    def midpoints(self) -> pl.DataFrame:
        """The midpoints of ranges and the means of classes, by the names that the columns had."""
        numbers = {
            name: column.middle if isinstance(column, RangeColumn) else column.means
            for name, column in self._columns.items()
            if isinstance(column, RangeColumn | MeanColumn)
        }
        shown = {name: self.typed[name + MID] for name in numbers if name + MID in self.typed.columns}
        return pl.DataFrame({name: shown.get(name, pl.Series(values)) for name, values in numbers.items()})

    @property
    def weights(self) -> Floats:
        """How many rows of the table each published row stands for: more than one where rows were withheld."""
        return np.full(self.rows, (self.rows + self.withheld) / self.rows)

    @property
    def class_sizes(self) -> Ints:
        """The size of each row's class."""
        return self.typed[CLASS_SIZE].to_numpy()

    def expected_counts(self, conditions: Mapping[str, Any]) -> Estimate:
        """Return how many rows fulfil all conditions, such as `{"age": (30, 40), "ill": "flu"}`.

        A tuple is a range, both ends included; None leaves one open. A list names several values.
        """
        for name in conditions:
            self._column(name)
        return counting.count(self._columns, self.rows, conditions)

    @overload
    def mean(self, column: str) -> Estimate: ...
    @overload
    def mean(self, column: str, by: str) -> pl.DataFrame: ...
    def mean(self, column: str, by: str | None = None) -> Estimate | pl.DataFrame:
        """Return the mean of a column; with `by`, a frame with the mean for each value of an exact column."""
        if by is None:
            return summaries.mean(self._column(column))
        groups = self._column(by)
        if not isinstance(groups, ExactColumn):
            raise InputError(f"group by a column that is published exactly, and '{by}' is not")
        rows = []
        for value in groups.cells.unique().sort():
            chosen = (groups.cells.is_null() if value is None else groups.cells == value).fill_null(False).to_numpy()
            found = summaries.mean(self._column(column), chosen)
            rows.append((value, int(chosen.sum()), found.expected, found.lower, found.upper))
        return pl.DataFrame(rows, schema=[by, "rows", "expected", "lower", "upper"], orient="row")

    def quantile(self, column: str, q: float) -> Estimate:
        """Return the smallest value that a share `q` of the rows does not exceed."""
        return summaries.quantile(self._column(column), q)

    def resample(self, seed: int) -> Any:
        """Return a frame of exact values, drawn at random within what is published, for tools that need such values.

        The names of drawn columns end in `_synthetic`: they are nobody's values. Columns that are published exactly
        stay as they are; class means are left out.
        """
        draw = Draw(self._labels, np.random.default_rng(seed))
        made: dict[str, pl.Series] = {}
        for name, column in self._columns.items():
            if isinstance(column, ExactColumn):
                made[name] = column.cells
            elif isinstance(column, RangeColumn):
                made[name + SYNTHETIC] = _as_published(draw.numbers(column), column)
            elif isinstance(column, ListColumn):
                texts = pl.Series([*column.values, None], dtype=pl.String)
                made[name + SYNTHETIC] = texts.gather(
                    np.where((codes := draw.values(column)) < 0, len(texts) - 1, codes)
                )
        frame = pl.DataFrame(made)
        return pandas_frame(frame, {}) if self._kind == "pandas" else frame

    def regression(
        self,
        y: str,
        x: Sequence[str],
        *,
        level: float = 0.95,
        direction: Direction = "any",
        draws: int = 20,
        seed: int = 0,
    ) -> Regression:
        """Fit a linear regression of a sensitive or kept column on other columns, with intervals that are honest.

        Within a class, a release hides which value of `x` belongs to which `y`. With the direction `any`, each interval
        holds the coefficient for any pairs. `fit` and `same` give narrower intervals, which rest on an assumption that
        the release cannot show to hold: the result's `assumes` names it (docs/analysts.md). The result's `claims` say
        whether the release tells the sign of each coefficient.
        """
        if isinstance(x, str):
            raise InputError("x is a list of columns")
        target = self._column(y)
        if not isinstance(target, ExactColumn):
            raise InputError(f"y must be published exactly, and '{y}' is not")
        chosen = {name: self._column(name) for name in x}
        return fitted(
            target, chosen, self._labels,
            level=level, direction=direction, draws=draws, seed=seed, withheld=self.withheld,
        )  # fmt: skip

    @property
    def _labels(self) -> Ints:
        return self.typed[CLASS].rank("dense").cast(pl.Int64).to_numpy() - 1

    def _column(self, name: str) -> PublishedColumn:
        if name not in self._columns:
            raise InputError(f"the release has no column '{name}'{did_you_mean(name, self._columns)}")
        return self._columns[name]


def _as_published(numbers: Floats, column: RangeColumn) -> pl.Series:
    """Return drawn numbers in the type of their column."""
    cells = pl.Series(numbers).fill_nan(None)
    if column.is_date:
        moments = (cells * 86_400_000_000).round().cast(pl.Int64).cast(pl.Datetime("us"))
        return moments.cast(pl.Date) if column.whole else moments
    return cells.cast(pl.Int64) if column.whole else cells
