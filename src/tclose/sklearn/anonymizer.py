"""The estimator: `fit` makes a release, `fit_transform` returns its values, `transform` recodes further rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from tclose.engine.memory import anonymize
from tclose.errors import InputError, LeakWarning, PolicyError
from tclose.partition import DEFAULT_METHOD
from tclose.policy import Policy, PolicyLike
from tclose.release.release import Release
from tclose.sklearn.fitted_classes import FittedClasses
from tclose.table.frames import from_polars, kind_of, to_polars

NO_GUARANTEE = (
    "new rows are only recoded into the classes of the fitted table, and no guarantee holds for them: "
    "to publish rows, fit them"
)
NUMBERS = ("ranges", "midpoints")
ARRAY = "numpy"


class Anonymizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Publish the rows that it is fitted on by a policy; recode further rows into the same classes.

    `policy` is a `Policy`, a mapping, the path of a TOML file, or a function that gets the column names and returns one
    of these. `target` is the name under which y joins the table, as a sensitive attribute of the policy. With
    `numbers="midpoints"`, ranges of numbers become the middle of their ends (dates: days since 1970), for estimators
    that need numbers. `method` and `options` are those of `tclose.anonymize`. There is no seed: scikit-learn prints
    every parameter.

    After `fit`, `release_` is the release, judged as any other; it is left out when the estimator is pickled.

    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [20, 30, 40, 50], "salary": [3, 4, 3, 4]})
    >>> policy = {"quasi": ["age"], "sensitive": {"salary": {"t": 0.1}}, "k": 2}
    >>> anonymizer = Anonymizer(policy, method="mondrian", numbers="midpoints")
    >>> anonymizer.fit_transform(table)["age"].to_list()
    [25.0, 25.0, 45.0, 45.0]
    """

    def __init__(
        self,
        policy: PolicyLike | Callable[[Sequence[str]], PolicyLike],
        *,
        target: str | None = None,
        numbers: Literal["ranges", "midpoints"] = "ranges",
        method: str = DEFAULT_METHOD,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.policy = policy
        self.target = target
        self.numbers = numbers
        self.method = method
        self.options = options

    def fit(self, X: Any, y: Any = None) -> Self:
        """Publish a table, and learn what its classes show."""
        self._fit(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Publish a table and return what the release shows of each of its rows, in the order of the rows.

        Rows that are withheld have no value in any column. The order is yours alone: publish `release_`, whose rows
        stand in an order that reveals nothing.
        """
        places, columns = self._fit(X, y), self.release_.frame.iter_columns()
        published = pl.DataFrame({each.name: each.gather(places) for each in columns if each.name != self.target})
        return self._given_back(published, X)

    def transform(self, X: Any) -> Any:
        """Recode rows into the published values of the nearest fitted class; no guarantee holds for these rows."""
        check_is_fitted(self, "fitted_classes_")
        table = self._table(X, reset=False)
        warnings.warn(NO_GUARANTEE, LeakWarning, 3)
        return self._given_back(self.fitted_classes_.recoded(table), X)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the published columns; `input_features` must be those of `fit`, if given."""
        check_is_fitted(self, "fitted_classes_")
        names_in = getattr(self, "feature_names_in_", None)
        given = None if input_features is None else np.asarray(input_features, dtype=object)
        if given is not None and names_in is not None and not np.array_equal(given, names_in):
            raise ValueError("input_features is not equal to feature_names_in_")
        if given is not None and len(given) != self.n_features_in_:
            raise ValueError(f"input_features should have length equal to number of features ({self.n_features_in_})")
        names = [name for name in self.fitted_classes_.columns if name != self.target]
        return np.asarray(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        """Say that text and missing values are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        tags.target_tags.required = self.target is not None
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Leave the release out: it knows the seed, and which row is in which class."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "release_"}

    def _fit(self, X: Any, y: Any) -> pl.Series:
        """Publish the table; return the place of each of its rows in the release."""
        if self.numbers not in NUMBERS:
            raise PolicyError(f"numbers is one of {', '.join(NUMBERS)}")
        table = self._table(X, reset=True)
        policy = Policy.of(self.policy(table.columns) if callable(self.policy) else self.policy)
        if self.target is not None:
            table = _with_target(table, self.target, y)
        release = anonymize(table, policy, method=self.method, **(self.options or {}))
        places = _places(release, table.height)
        self.release_ = release
        self.fitted_classes_ = FittedClasses.of(release.frame, table, policy)
        return places

    def _table(self, X: Any, *, reset: bool) -> pl.DataFrame:
        """Return rows as a frame; the columns of an array are x0, x1, …, as scikit-learn names them."""
        if _is_frame(X):
            validate_data(self, X, skip_check_array=True, reset=reset)
            return to_polars(X)
        cells = validate_data(self, X, dtype=None, ensure_all_finite="allow-nan", reset=reset)
        return pl.DataFrame({f"x{i}": _column(cells[:, i]) for i in range(cells.shape[1])})

    def _given_back(self, published: pl.DataFrame, X: Any) -> Any:
        """Return published rows as the kind of table that was given."""
        shown = self.fitted_classes_.midpoints(published) if self.numbers == "midpoints" else published
        if not _is_frame(X):
            return shown.to_numpy()
        frame = from_polars(shown, kind := kind_of(X))
        return frame.set_axis(X.index) if kind == "pandas" else frame


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") or hasattr(X, "column_names")


def _column(cells: Any) -> pl.Series:
    """Return the cells of an array's column; NaN means missing."""
    if cells.dtype.kind == "O":
        return pl.Series([None if cell is None or cell != cell else str(cell) for cell in cells], dtype=pl.String)
    return pl.Series(cells).fill_nan(None) if cells.dtype.kind == "f" else pl.Series(cells)


def _with_target(table: pl.DataFrame, name: str, y: Any) -> pl.DataFrame:
    """Add y to the table."""
    if y is None:
        raise InputError(f"the policy judges y as '{name}': fit needs y")
    if name in table.columns:
        raise InputError(f"the table has a column '{name}' already: y needs a name of its own")
    cells = check_array(np.asarray(y), ensure_2d=False, dtype=None, ensure_all_finite="allow-nan")
    if cells.ndim != 1 or len(cells) != table.height:
        raise InputError(f"y must have one value for each of the {table.height:,} rows")
    return table.with_columns(_column(cells).alias(name))


def _places(release: Release, height: int) -> pl.Series:
    """Return the place of each row of a table in its release of one table; null where the row is withheld."""
    (first, *others) = release.layout.tables
    if others or len(release.layout.frames) > 1 or first.rows is None:
        raise InputError("this method or policy publishes several tables, or no classes: choose one that publishes one")
    places = np.full(height, -1, dtype=np.int64)
    places[first.rows] = np.arange(len(first.rows))
    return pl.Series(places).replace(-1, None)
