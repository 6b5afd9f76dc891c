"""A release as analysts use it: a frame with intervals, midpoints and weights, and estimates with honest bounds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal, overload

import numpy as np
import polars as pl

from tclose.analysis import summaries
from tclose.analysis.cells import KnownCells, NumberCells, TextCells, cells_of_column
from tclose.analysis.columns import ExactColumn, ListColumn, MeanColumn, PublishedColumn, RangeColumn
from tclose.analysis.counting import Rows, count, fit_of, rows_that_fit
from tclose.analysis.drawing import Draw
from tclose.analysis.estimates import Estimate, Number, estimate, series
from tclose.analysis.frames import interval_frame, pandas_frame
from tclose.analysis.regression import Direction, Regression, fitted
from tclose.errors import InputError, did_you_mean
from tclose.recode.frame import new_name
from tclose.recode.typed import CLASS, CLASS_SIZE, MID
from tclose.types import Floats, Ints
from tclose.words import counted

SYNTHETIC = "_synthetic"
FIGURES = ("rows", "expected", "lower", "upper", "rows_lower", "rows_upper")  # of each group


class LoadedRelease:
    """A loaded release, as `load` returns it; `typed` has its typed columns, and `withheld` counts withheld rows.

    Columns are asked for by the names that they had in the table. Where nobody knows how many rows were withheld,
    `withheld` is none.
    """

    def __init__(
        self,
        typed: pl.DataFrame,
        columns: Mapping[str, PublishedColumn],
        withheld: int | None,
        kind: Literal["polars", "pandas"],
        *,
        domains: Mapping[str, Collection[Any]] | None = None,
        needs: str = "",
    ) -> None:
        self.typed = typed
        self._columns = columns
        self.withheld = withheld
        self._kind = kind
        self._domains = domains or {}
        self._needs = needs
        self._cells: dict[str, KnownCells] = {}

    def __repr__(self) -> str:
        """Say how large the release is."""
        withheld = "" if self.withheld is not None else "; nobody knows how many more were withheld"
        return f"<LoadedRelease of {self.rows:,} rows in {self.typed[CLASS].n_unique():,} classes{withheld}>"

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
        return np.full(self.rows, (self.rows + (self.withheld or 0)) / self.rows)

    @property
    def class_sizes(self) -> Ints:
        """The size of each row's class."""
        return self.typed[CLASS_SIZE].to_numpy()

    def expected_counts(self, conditions: Mapping[str, Any]) -> Estimate:
        """Return how many rows fulfil all conditions, such as `{"age": (30, 40), "ill": "flu"}`.

        A tuple is a range, both ends included; None leaves one open. A list names several values.
        """
        for name in conditions:
            self._refuse_means(name)
        found = rows_that_fit({name: self._known(name) for name in conditions}, conditions, self.rows, self._unseen)
        unknown = [
            name for name in conditions if np.isnan(fit_of(self._known(name), conditions[name]).likely[:-1]).any()
        ]
        needs = "; ".join([*([self._needs] if self._needs else []), *map(self._leaves_of, unknown)])
        return estimate(*count(found, self.rows, self._unseen), needs=needs)

    @overload
    def mean(self, column: str) -> Estimate: ...
    @overload
    def mean(self, column: str, by: str) -> pl.DataFrame: ...
    def mean(self, column: str, by: str | None = None) -> Estimate | pl.DataFrame:
        """Return the mean of a column; with `by`, a frame with the mean for each value of another column.

        Where classes mix the values of that column, bounds hold whoever of a class has which. `rows` is then what is
        expected, and `rows_lower` and `rows_upper` are bounds. An open bound of dates is null.
        """
        if by is None:
            return self._mean(column, rows_that_fit({}, {}, self.rows, self._unseen))
        groups = self._groups(by)
        chosen = [rows_that_fit({by: self._known(by)}, {by: value}, self.rows, self._unseen) for value in groups]
        sizes = [float(each.fit.likely.sum()) for each in chosen]
        known = all(each.fit.surely.sum() == each.fit.possibly.sum() for each in chosen)
        means, is_date = [self._mean(column, each) for each in chosen], self._numbers(column).is_date
        return pl.DataFrame(
            {
                new_name(by, FIGURES): groups,
                "rows": [int(size) for size in sizes] if known else sizes,
                "expected": series([mean.expected for mean in means], towards=0, is_date=is_date),
                "lower": series([mean.lower for mean in means], towards=-1, is_date=is_date),
                "upper": series([mean.upper for mean in means], towards=1, is_date=is_date),
                "rows_lower": [each.least for each in chosen],
                "rows_upper": [each.most for each in chosen],
            }
        )

    def _mean(self, name: str, chosen: Rows) -> Estimate:
        cells = self._numbers(name)
        if isinstance(self._columns[name], MeanColumn):
            cells = summaries.of_whole_classes(cells, chosen.fit, self._labels)
        sample = summaries.Sample.of(cells, chosen.fit, chosen.withheld)
        return self._of_numbers(cells, summaries.mean(sample))

    def quantile(self, column: str, q: float) -> Estimate:
        """Return the smallest value that a share `q` of the rows does not exceed."""
        if not 0 <= q <= 1:
            raise InputError("a quantile is asked for by a share between 0 and 1")
        self._refuse_means(column)
        cells, every = self._numbers(column), rows_that_fit({}, {}, self.rows, self._unseen)
        sample = summaries.Sample.of(cells, every.fit, every.withheld)
        return self._of_numbers(cells, summaries.quantile(sample, Fraction(repr(float(q)))))

    def _of_numbers(self, cells: NumberCells, figures: tuple[Number, Number, Number]) -> Estimate:
        """Return an estimate, and say what it needs where a bound is open."""
        _, lower, upper = figures
        withheld = f"{counted(self._unseen, 'row')} withheld" if self._unseen else "some values are open"
        cure = f"{withheld}, so a bound is open: give the domain, load(…, domains={{'{cells.name}': (low, high)}})"
        is_open = any(isinstance(end, float) and np.isinf(end) for end in (lower, upper))
        needs = "; ".join([*([self._needs] if self._needs else []), *([cure] if is_open else [])])
        return estimate(*figures, is_date=cells.is_date, needs=needs)

    def _groups(self, by: str) -> list[Any]:
        """Return the values of a column by which rows are grouped; ranges must be bins, which share no values."""
        column = self._column(by)
        if isinstance(column, ExactColumn):
            return column.cells.unique().sort().to_list()
        self._refuse_means(by)
        cells = self._known(by)
        none = [None] if cells.missing[:-1].any() else []
        if isinstance(cells, NumberCells):
            if not cells.labels:
                raise InputError(f"group by a column of values or of bins: '{by}' has ranges")
            return [*none, *cells.labels]
        if not cells.closed:
            raise InputError(f"rows cannot be grouped by '{by}': {self._leaves_of(by)}")
        return [*none, *sorted({value for cell in cells.cells[:-1] for value in cell.values or ()})]

    def _leaves_of(self, name: str) -> str:
        rule = isinstance(cells := self._known(name), TextCells) and cells.rule is not None
        why = (
            f"'{name}' has labels of a hierarchy by rule"
            if rule
            else f"nobody knows the values below labels of '{name}'"
        )
        return f"{why}: list them, load(…, hierarchies={{'{name}': FILE}})"

    def _refuse_means(self, name: str) -> None:
        if isinstance(self._column(name), MeanColumn):
            raise InputError(f"column '{name}' holds class means, which say nothing about single rows")

    def _numbers(self, name: str) -> NumberCells:
        self._column(name)
        cells = self._known(name)
        if not isinstance(cells, NumberCells):
            raise InputError(f"column '{name}' holds no numbers")
        return cells

    def _known(self, name: str) -> KnownCells:
        """Return what the cells of a column say, read once."""
        if name not in self._cells:
            self._cells[name] = cells_of_column(self._column(name), self._domains.get(name))
        return self._cells[name]

    @property
    def _unseen(self) -> int:
        """How many rows were withheld as far as anybody knows."""
        return self.withheld or 0

    def resample(self, seed: int) -> Any:
        """Return a frame of exact values, drawn at random within what is published, for tools that need such values.

        The names of drawn columns end in `_synthetic`: they are nobody's values. Columns that are published exactly
        stay as they are; class means, and labels whose values nobody knows, are left out.
        """
        draw = Draw(self._labels, np.random.default_rng(seed))
        made: dict[str, pl.Series] = {}
        for name, column in self._columns.items():
            if isinstance(column, ExactColumn):
                made[name] = column.cells
            elif isinstance(column, RangeColumn):
                made[name + SYNTHETIC] = _as_published(draw.numbers(column), column)
            elif isinstance(column, ListColumn) and column.leaves:
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
        if not (isinstance(target, ExactColumn) or (isinstance(target, RangeColumn) and target.bins)):
            raise InputError(f"y must be published exactly or in bins, and '{y}' is not")
        chosen = {name: self._column(name) for name in x}
        for name, column in chosen.items():
            if isinstance(column, ListColumn) and not column.leaves:
                raise InputError(f"no regression on '{name}': {self._leaves_of(name)}")
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
