"""The estimator: `fit` makes a release, `fit_transform` returns its values, `transform` recodes further rows.

A further row gets the texts of the nearest class. Classes and distances come from published texts and from the policy,
so that a fitted model that is passed on holds no value of the table that its release does not show. A distance is 0
where the text covers the value, and at most 1.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from tclose.errors import InputError, LeakWarning, PolicyError
from tclose.partition import DEFAULT_METHOD
from tclose.policy import Builder, Policy, PolicyLike
from tclose.policy.column_settings import Below
from tclose.recode.cell import (
    AT_LEAST,
    AT_MOST,
    Form,
    LabelCell,
    MeanCell,
    MissingCell,
    RangeCell,
    SetCell,
    Spelling,
    ValueCell,
    readings,
)
from tclose.recode.coverage import LARGEST, worth_of
from tclose.recode.meaning import KnownValues, form_of
from tclose.release.release import Release
from tclose.run.anonymization import anonymize
from tclose.table import bins, hierarchies
from tclose.table.frames import from_polars, kind_of, to_polars
from tclose.table.hierarchies import Hierarchy
from tclose.table.quasi import LabelColumn, QuasiColumn, read_quasi
from tclose.table.sensitive import SensitiveDomain
from tclose.table.values import Kind, Tally, Values, exact_values, values_of
from tclose.types import Bools, Floats, Ints

# What the classes publish in one column, and how far a new value is from each text


PathsOf = Callable[[Values], list[set[str]]]  # the labels that cover each value of a column


@dataclass(frozen=True, eq=False)
class NumberTexts:
    """Ranges or means of numbers or dates: their ends, which are infinite where a coded tail leaves them open."""

    kind: Kind
    low: Floats  # NaN where nothing but "missing" is published
    high: Floats
    missing: Bools  # whether each text covers a missing value

    @classmethod
    def of(cls, texts: Sequence[str], form: Form, kind: Kind) -> NumberTexts:
        """Read the texts of a column."""
        known = KnownValues(kind, (), ())
        cells = [readings(text, form)[0] for text in texts]
        ends = np.array([_ends(cell, known) for cell in cells])
        return cls(kind, ends[:, 0], ends[:, 1], np.array([_covers_missing([cell]) for cell in cells]))

    @property
    def span(self) -> float:
        """How far the published ends lie apart; 1 where they do not."""
        ends = np.concatenate([self.low, self.high])
        ends = ends[np.isfinite(ends)]
        return float(np.ptp(ends)) or 1.0 if len(ends) else 1.0

    def distances(self, values: Values) -> Floats:
        """Return values × texts, with a missing value last."""
        if values.texts and values.kind != self.kind:
            raise InputError(
                "column '{name}' is not all {kind}s, as that of the fitted table is", name=values.name, kind=self.kind
            )
        worth = worth_of(values.domain)
        given = np.zeros((0, 1)) if worth is None or not values.texts else worth[:, None]
        gaps = np.maximum(np.maximum(self.low - given, given - self.high), 0.0) / self.span
        return np.vstack([np.where(np.isnan(gaps), 1.0, gaps / (1.0 + gaps)), 1.0 - self.missing])

    def breadths(self) -> Floats:
        """Return how wide each text is."""
        return np.nan_to_num(np.minimum((self.high - self.low) / self.span, 1.0), nan=0.0)

    def midpoints(self) -> Floats:
        """Return the middle of the published ends; the only end of a coded tail, and days since 1970 for dates."""
        low = np.where(np.isinf(self.low), self.high, self.low)
        middle = (low + np.where(np.isinf(self.high), self.low, self.high)) / 2
        return middle / MICROSECONDS_PER_DAY if self.kind == "date" else middle


MICROSECONDS_PER_DAY = 86_400_000_000


@dataclass(frozen=True, eq=False)
class NamedTexts:
    """Labels of a hierarchy, sets of values, or kept values: the names that each text can stand for."""

    names: tuple[frozenset[str], ...]  # of each text
    missing: Bools
    paths_of: PathsOf

    @classmethod
    def of(cls, texts: Sequence[str], form: Form, paths_of: PathsOf, missing: Sequence[str] = ()) -> NamedTexts:
        """Read the texts of a column in every way that the grammar allows; `missing` are cells that mean "missing"."""
        ways = [readings(text, form) for text in texts]
        covers = [_covers_missing(cells) or text in missing for cells, text in zip(ways, texts, strict=True)]
        return cls(tuple(map(_names, ways)), np.array(covers), paths_of)

    def distances(self, values: Values) -> Floats:
        """Return values × texts, with a missing value last."""
        covered = np.zeros((len(values.texts) + 1, len(self.names)), dtype=bool)
        for row, path in zip(covered, self.paths_of(values), strict=False):
            row[[number for name in path for number in self._texts_with.get(name, ())]] = True
        covered[-1] = self.missing
        return 1.0 - covered

    @cached_property
    def _texts_with(self) -> dict[str, list[int]]:
        """The numbers of the texts that can stand for each name."""
        found: dict[str, list[int]] = {}
        for number, names in enumerate(self.names):
            for name in names:
                found.setdefault(name, []).append(number)
        return found

    def breadths(self) -> Floats:
        """Return how many names each text has, as a share of the most."""
        sizes = np.array([len(names) for names in self.names], dtype=np.float64)
        return sizes / max(float(sizes.max(initial=1.0)), 1.0)

    def midpoints(self) -> None:
        """Return nothing: names have no middle."""


PublishedTexts = NumberTexts | NamedTexts


def texts_of(column: QuasiColumn, texts: Sequence[str]) -> PublishedTexts:
    """Take the texts that classes publish for a quasi-identifier; of the column, its kind and its rule are kept."""
    form = form_of(column)
    if isinstance(column, LabelColumn):
        by_rule = column.builder is not None and column.builder.kind != "rows"
        return NamedTexts.of(texts, form, _Paths(column.builder if by_rule else None, column.hierarchy, texts))
    if form in (RangeCell, MeanCell):
        return NumberTexts.of(texts, form, column.values.kind)
    return NamedTexts.of(texts, form, _alone)


def kept_texts(texts: Sequence[str], missing: Sequence[str]) -> PublishedTexts:
    """Take the texts of a kept column."""
    return NamedTexts.of(texts, ValueCell, _alone, missing)


def _alone(values: Values) -> list[set[str]]:
    return [{text} for text in values.texts]


class _Paths:
    """Finds the labels above new values: by the policy's rule, or in the hierarchy that the policy lists."""

    def __init__(self, rule: Builder | None, listed: Hierarchy, texts: Sequence[str]) -> None:
        self._rule, self._listed = rule, None if rule is not None else listed  # a rule's tree holds the table's values
        self._longest = max(map(len, texts))  # as long as a published prefix is

    def __call__(self, values: Values) -> list[set[str]]:
        if not values.texts:
            return []
        if self._rule is None:
            assert self._listed is not None
            return _above(self._listed, values)
        if self._rule.kind == "prefix":
            lengths = [length for length in self._rule.levels if length < self._longest]
            return [{text, hierarchies.ROOT, *self._prefixes(text, lengths)} for text in values.texts]
        return _above(hierarchies.build(self._rule, values.domain), values)

    def _prefixes(self, text: str, lengths: Sequence[int]) -> Iterator[str]:
        return (text[:length].ljust(self._longest, "*") for length in lengths)


def _above(tree: Hierarchy, values: Values) -> list[set[str]]:
    """Return the labels above each value, found by text or by size (39.0 is 39); the root is above all."""
    root, paths = tree.labels[-1][0], {path[0]: set(path) for path in tree.rows()}
    by_size: dict[Fraction | None, set[str]] = {}
    sizes: Sequence[Fraction | None] = [None] * len(values.texts)
    if values.units is not None:
        numbers = exact_values(tree.leaves, values.kind)
        by_size = {number: paths[leaf] for leaf, number in zip(tree.leaves, numbers, strict=True) if number is not None}
        sizes = exact_values(values.texts, values.kind)
    return [
        {text, *(paths.get(text) or by_size.get(size) or {root})}
        for text, size in zip(values.texts, sizes, strict=True)
    ]


def _ends(cell: Spelling, known: KnownValues) -> tuple[float, float]:
    """Return the two ends of a range, or a mean twice."""
    match cell:
        case MeanCell(mean):
            return (_float(known, mean),) * 2
        case RangeCell(low, high):
            return (
                -np.inf if low.startswith(AT_MOST) else _float(known, low),
                np.inf if high.startswith(AT_LEAST) else _float(known, high),
            )
    return np.nan, np.nan


def _float(known: KnownValues, text: str) -> float:
    number = known.number(text.lstrip(AT_MOST + AT_LEAST))
    assert number is not None, "a published end is a number"
    return float(number) if abs(number) < LARGEST else math.copysign(LARGEST, number)


def _names(cells: Sequence[Spelling]) -> frozenset[str]:
    names: set[str] = set()
    for cell in cells:
        match cell:
            case LabelCell(label):
                names.add(label)
            case SetCell(members):
                names.update(members)
            case ValueCell(text):
                names.add(text)
    return frozenset(names)


def _covers_missing(cells: Sequence[Spelling]) -> bool:
    return any(isinstance(cell, MissingCell) or getattr(cell, "missing", False) for cell in cells)


# The classes as the release shows them, and the nearest class of a new row


BLOCK = 512  # rows that are compared with all classes at a time


@dataclass(frozen=True, eq=False)
class PublishedBins:
    """The bins in which a sensitive column is published."""

    edges: tuple[Fraction, ...]
    labels: tuple[str, ...]

    def recoded(self, cells: pl.Series, missing: tuple[str, ...], below: Below | None) -> pl.Series:
        """Return the bin of each cell; null where it is missing, is no number, or lies in no bin."""
        values = values_of(cells, missing, below=below)
        if values.kind != "number" or values.units is None:
            return pl.Series([None] * len(cells), dtype=pl.String)
        learned = self.labels[0].startswith("[")
        places = bins.bin_of(list(self.edges), values.units, values.scale, learned=learned)
        texts = [self.labels[place] if 0 <= place < len(self.labels) else None for place in places.tolist()]
        return pl.Series([*texts, None], dtype=pl.String).gather(np.where(values.codes < 0, len(texts), values.codes))


@dataclass(frozen=True, eq=False, repr=False)
class FittedClasses:
    """What each class publishes, narrow classes first; nothing else is known of the fitted table."""

    columns: tuple[str, ...]  # of the release, in their order
    shown: pl.DataFrame  # the visible columns, one row per class
    texts: Mapping[str, PublishedTexts]  # of the different texts of each visible column
    text_of_class: Mapping[str, Ints]
    bins: Mapping[str, PublishedBins]
    missing: tuple[str, ...]
    below: Mapping[str, Below]

    @classmethod
    def of(cls, published: pl.DataFrame, table: pl.DataFrame, policy: Policy) -> FittedClasses:
        """Take the classes of a release; the published rows of its table say what the columns hold."""
        shown = published[list(policy.visible)].unique(maintain_order=True)
        texts, numbers = {}, {}
        for column in shown.iter_columns():
            cells = column.alias("").cast(pl.String).fill_null("").to_list()
            number_of = {text: number for number, text in enumerate(dict.fromkeys(cells))}
            numbers[column.name] = np.array([number_of[text] for text in cells], dtype=np.int64)
            spec = policy.quasi.get(column.name)
            texts[column.name] = (
                kept_texts(list(number_of), policy.missing)
                if spec is None
                else texts_of(read_quasi(table[column.name], spec, policy.missing), list(number_of))
            )
        order = np.argsort(sum(texts[name].breadths()[numbers[name]] for name in texts), kind="stable")
        in_bins = {name: spec for name, spec in policy.sensitive.items() if spec.publish == "bin"}
        return cls(
            columns=tuple(published.columns),
            shown=shown[order],
            texts=texts,
            text_of_class={name: number[order] for name, number in numbers.items()},
            bins={name: _bins(table[name], policy, name) for name in in_bins},
            missing=policy.missing,
            below=policy.below,
        )

    def nearest(self, table: pl.DataFrame) -> Ints:
        """Return the class that each row fits best, the narrowest of those that fit equally well."""
        blocks = range(0, table.height, BLOCK)
        return np.concatenate([self._distances(table[start : start + BLOCK]).argmin(axis=1) for start in blocks])

    def _distances(self, rows: pl.DataFrame) -> Floats:
        """Return rows × classes: the sum of the distances in all visible columns."""
        total = np.zeros((rows.height, self.shown.height))
        for name, texts in self.texts.items():
            values = values_of(rows[name], self.missing, below=self.below.get(name))
            codes = np.where(values.codes < 0, len(values.texts), values.codes)
            total += texts.distances(values)[codes][:, self.text_of_class[name]]
        return total

    def recoded(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return new rows as their nearest class publishes them; all other published columns stay as they are."""
        shown = self.shown[self.nearest(table)]
        return pl.DataFrame({name: self._cells(name, shown, table) for name in self.columns if name in table.columns})

    def _cells(self, name: str, shown: pl.DataFrame, table: pl.DataFrame) -> pl.Series:
        if name in shown.columns:
            return shown[name]
        if name in self.bins:
            return self.bins[name].recoded(table[name], self.missing, self.below.get(name))
        return table[name]

    def midpoints(self, published: pl.DataFrame) -> pl.DataFrame:
        """Return published rows with the middle of each range of numbers in its place; other columns stay."""
        return pl.DataFrame({column.name: self._midpoints(column) for column in published.iter_columns()})

    def _midpoints(self, column: pl.Series) -> pl.Series:
        middles = self.texts[column.name].midpoints() if column.name in self.texts else None
        if middles is None:
            return column
        shown = self.shown[column.name].alias("").cast(pl.String).fill_null("").to_list()
        middle_of = dict(zip(shown, middles[self.text_of_class[column.name]].tolist(), strict=True))
        cells = [np.nan if cell is None else middle_of[cell] for cell in column.to_list()]
        return pl.Series(cells, dtype=pl.Float64)


def _bins(cells: pl.Series, policy: Policy, name: str) -> PublishedBins:
    """Learn the edges of the bins again, from the rows of which each has a value."""
    lacking = values_of(cells, policy.missing).codes < 0
    domain = SensitiveDomain.of(Tally.of(cells.filter(~pl.Series(lacking))), policy.sensitive[name], policy.missing)
    assert domain.edges is not None
    return PublishedBins(domain.edges, domain.labels)


# The estimator


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
            raise PolicyError("numbers is one of {numbers}", numbers=", ".join(NUMBERS))
        table = self._table(X, reset=True)
        policy = Policy.of(self.policy(table.columns) if callable(self.policy) else self.policy)
        if self.target is not None:
            table = _with_target(table, self.target, y)
        release = anonymize(table, policy, method=self.method, **(self.options or {}))
        places = _places(release, table.height)
        self.release_ = release
        self.fitted_classes_ = FittedClasses.of(release.frame, table.filter(places.is_not_null()), policy)
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
        raise InputError("the policy judges y as '{name}': fit needs y", name=name)
    if name in table.columns:
        raise InputError("the table has a column '{name}' already: y needs a name of its own", name=name)
    cells = check_array(np.asarray(y), ensure_2d=False, dtype=None, ensure_all_finite="allow-nan")
    if cells.ndim != 1 or len(cells) != table.height:
        raise InputError("y must have one value for each of the {height:,} rows", height=table.height)
    return table.with_columns(_column(cells).alias(name))


def _places(release: Release, height: int) -> pl.Series:
    """Return the place of each row of a table in its release of one table; null where the row is withheld."""
    (first, *others) = release.layout.tables
    if others or len(release.layout.frames) > 1 or first.rows is None:
        raise InputError("this method or policy publishes several tables, or no classes: choose one that publishes one")
    places = np.full(height, -1, dtype=np.int64)
    places[first.rows] = np.arange(len(first.rows))
    return pl.Series(places).replace(-1, None)
