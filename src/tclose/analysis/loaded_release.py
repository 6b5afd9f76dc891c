"""`tclose.load`: a release as analysts use it, with intervals, midpoints and weights, and estimates with honest bounds.

Ranges are structs in polars and intervals in pandas.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
import polars as pl

from tclose.analysis import estimates
from tclose.analysis.columns import (
    ExactColumn,
    KnownCells,
    ListColumn,
    MeanColumn,
    NumberCells,
    PublishedColumn,
    RangeColumn,
    TextCells,
    cells_of_column,
    columns_of,
    interval_frame,
    pandas_frame,
    parsed_lists,
)
from tclose.analysis.estimates import (
    Estimate,
    MatchingRows,
    Number,
    count,
    estimate,
    fit_of,
    number_of,
    rows_that_fit,
    series,
)
from tclose.analysis.regression import Direction, Regression, fitted
from tclose.analysis.synthetic import Draw
from tclose.errors import InputError, did_you_mean
from tclose.policy import Builder, Policy, Quasi
from tclose.recode.cell import Cell, Form, RangeCell, SetCell, readings
from tclose.recode.frame import new_name
from tclose.recode.meaning import guessed_form
from tclose.recode.typed_table import (
    CLASS,
    CLASS_SIZE,
    LABEL,
    LOW,
    MEAN,
    MID,
    SUFFIXES,
    bins_of,
    suffixes_of,
    text_table,
    typed_table,
)
from tclose.recode.typed_values import USE_TEXT, exact_texts, typed
from tclose.release.certificate import load as load_certificate
from tclose.release.verify import files_of
from tclose.table.sources import read_plain
from tclose.types import Floats, Ints
from tclose.words import counted

# The release


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

    def _mean(self, name: str, chosen: MatchingRows) -> Estimate:
        cells = self._numbers(name)
        if isinstance(self._columns[name], MeanColumn):
            cells = estimates.of_whole_classes(cells, chosen.fit, self._labels)
        sample = estimates.Sample.of(cells, chosen.fit, chosen.withheld)
        return self._of_numbers(cells, estimates.mean(sample))

    def quantile(self, column: str, q: float) -> Estimate:
        """Return the smallest value that a share `q` of the rows does not exceed."""
        if not 0 <= q <= 1:
            raise InputError("a quantile is asked for by a share between 0 and 1")
        self._refuse_means(column)
        cells, every = self._numbers(column), rows_that_fit({}, {}, self.rows, self._unseen)
        sample = estimates.Sample.of(cells, every.fit, every.withheld)
        return self._of_numbers(cells, estimates.quantile(sample, Fraction(repr(float(q)))))

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
                raise InputError("group by a column of values or of bins: '{by}' has ranges", by=by)
            return [*none, *cells.labels]
        if not cells.closed:
            raise InputError("rows cannot be grouped by '{by}': {leaves_of}", by=by, leaves_of=self._leaves_of(by))
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
            raise InputError("column '{name}' holds class means, which say nothing about single rows", name=name)

    def _numbers(self, name: str) -> NumberCells:
        self._column(name)
        cells = self._known(name)
        if not isinstance(cells, NumberCells):
            raise InputError("column '{name}' holds no numbers", name=name)
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
            raise InputError("y must be published exactly or in bins, and '{y}' is not", y=y)
        chosen = {name: self._column(name) for name in x}
        for name, column in chosen.items():
            if isinstance(column, ListColumn) and not column.leaves:
                raise InputError("no regression on '{name}': {leaves_of}", name=name, leaves_of=self._leaves_of(name))
        return fitted(
            target, chosen, self._labels,
            level=level, direction=direction, draws=draws, seed=seed, withheld=self.withheld,
        )  # fmt: skip

    @property
    def _labels(self) -> Ints:
        return self.typed[CLASS].rank("dense").cast(pl.Int64).to_numpy() - 1

    def _column(self, name: str) -> PublishedColumn:
        if name not in self._columns:
            raise InputError(
                "the release has no column '{name}'{hint}", name=name, hint=did_you_mean(name, self._columns)
            )
        return self._columns[name]


def _as_published(numbers: Floats, column: RangeColumn) -> pl.Series:
    """Return drawn numbers in the type of their column."""
    cells = pl.Series(numbers).fill_nan(None)
    if column.is_date:
        moments = (cells * 86_400_000_000).round().cast(pl.Int64).cast(pl.Datetime("us"))
        return moments.cast(pl.Date) if column.whole else moments
    return cells.cast(pl.Int64) if column.whole else cells


# How it is read


Kind = Literal["polars", "pandas"]


UNSEEN = "how many rows were withheld"
UNREAD = "which cells are labels or class means"
PERMUTED = (
    "a permutation is not loaded: its sensitive values stand beside other rows of their group, and estimates would "
    "take them for those of the row. Read the file with tclose.read, and compare groups instead of rows"
)


@dataclass(frozen=True, eq=False)
class _Roles:
    """The columns of a release, and how its cells are written."""

    policy: Policy  # its quasi-identifiers, kept columns, bins and cells that mean "missing"
    columns: bool  # whether they are typed
    withheld: int | None = None  # none where nobody knows
    cells: Mapping[str, Any] = field(default_factory=dict)  # what those of a quasi-identifier are, where that is known

    def form(self, name: str) -> str | Builder | None:
        """Return whether the cells of a quasi-identifier are values, means or labels, or the rule of the labels."""
        form = self.cells.get(name)
        return Quasi(hierarchy=form).hierarchy if isinstance(form, Mapping) else form  # type: ignore[arg-type,return-value]


def load(
    release: str | Path,
    certificate: str | Path | None = None,
    *,
    means: Collection[str] = (),
    as_: Kind = "polars",
    hierarchies: Mapping[str, Any] | None = None,
    domains: Mapping[str, Collection[Any]] | None = None,
    withheld: int | None = None,
) -> LoadedRelease:
    """Load a release of one table for analysis; with its certificate, the file must be the one that was certified.

    Bounds of estimates then hold for the original table, rows that were withheld included. Without a certificate,
    quasi-identifiers are recognised by their cells, and bounds are those of the published rows; `withheld` says how
    many more there were. `hierarchies` are files, rows or rules, as a policy has them, of columns of labels whose
    values nobody knows otherwise; None says that a column has no hierarchy. `domains` are the values that columns can
    have, or both ends: withheld rows and open ends lie between them, and a domain without a published value is refused.
    `means` names columns of a text release without a
    certificate that hold class means: such text looks like an exact value. `as_` says which library `.frame` and
    `.resample` use.

    >>> import tempfile, tclose
    >>> table = pl.DataFrame({"age": [20, 30, 40, 50], "salary": [3, 4, 3, 4]})
    >>> policy = {"quasi": ["age"], "sensitive": {"salary": {"t": 0.1}}, "k": 2}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     out, certificate = Path(folder, "release.parquet"), Path(folder, "release.json")
    ...     written = tclose.anonymize(table, policy, method="mondrian").write(out, certificate=certificate)
    ...     load(out, certificate).mean("age")
    Estimate(expected=35.0, lower=30.0, upper=40.0)
    """
    if as_ not in ("polars", "pandas"):
        raise InputError("a release is loaded as a polars or a pandas frame, not as '{as_}'", as_=as_)
    if withheld is not None and (type(withheld) is not int or withheld < 0):
        raise InputError("withheld is a number of rows, such as 11")
    frame, roles = _from_file(release, means) if certificate is None else _certified(release, certificate)
    known = {*frame.columns, *roles.policy.quasi}
    for name in (*means, *(hierarchies or ()), *(domains or ())):
        if name not in known and name not in bins_of(roles.policy):
            raise InputError("the release has no column '{name}'{hint}", name=name, hint=did_you_mean(name, known))
    for name, domain in (domains or {}).items():
        if isinstance(domain, str) or not isinstance(domain, Collection) or not domain:
            raise InputError("the domain of '{name}' is both ends, such as (0, 120), or a list of texts", name=name)
    roles = _with_given(roles, means, hierarchies or {}, withheld)
    made = _typed_file(frame, roles) if roles.columns else _typed_text(frame, roles)
    quasi, bins = tuple(roles.policy.quasi), _bins(made, roles)
    added = {CLASS, CLASS_SIZE, *(name + suffix for name in (*quasi, *bins) for suffix in ("", *SUFFIXES))}
    others = tuple(name for name in made.columns if name not in added)
    columns = columns_of(made, quasi, others, rules=_rules(made, roles), bins=bins)
    declared = _domains(roles.policy, domains or {}, columns)
    for name in columns.keys() & (domains or {}).keys():
        cells_of_column(columns[name], declared[name])  # refuses a domain that holds no value of a published cell
    needs = _needs(roles, certified=certificate is not None)
    return LoadedRelease(made, columns, roles.withheld, as_, domains=declared, needs=needs)


def _with_given(roles: _Roles, means: Collection[str], hierarchies: Mapping[str, Any], withheld: int | None) -> _Roles:
    """Add what the reader says; the certificate knows better what was withheld and which columns are means."""
    given = {name: Quasi(hierarchy=hierarchy) for name, hierarchy in hierarchies.items()}
    forms: dict[str, Any] = dict.fromkeys(means, "means")
    for name, spec in given.items():
        rule = isinstance(spec.hierarchy, Builder) and spec.hierarchy.kind != "rows"
        forms[name] = "values" if spec.hierarchy is None else hierarchies[name] if rule else "labels"
    policy = replace(roles.policy, quasi={**roles.policy.quasi, **given}) if given else roles.policy
    if roles.withheld is None:
        roles = replace(roles, withheld=withheld)
    return replace(roles, policy=policy, cells={**forms, **roles.cells, **{name: forms[name] for name in given}})


def _certified(release: str | Path, certificate: str | Path) -> tuple[pl.DataFrame, _Roles]:
    """Read the files that a certificate is about; others are refused."""
    loaded = load_certificate(certificate)
    if loaded.digest != loaded.written_digest:
        raise InputError(
            "{certificate} was changed after it was made: its digest does not fit its content", certificate=certificate
        )
    promised = loaded.certificate
    if promised.layout == "permutation":
        raise InputError(PERMUTED)
    if promised.layout != "one table":
        raise InputError("only a release of one table can be loaded, and the certificate is of several tables")
    files = files_of(release, promised, Path(certificate))
    frame = files.frame(*promised.files) if files.whole else None
    problems = files.problems()
    if frame is None or problems:
        raise InputError(problems[0])
    columns = promised.release_format == "columns"
    if columns:
        text_table(frame, promised.policy)  # refuses cells that do not fit together
    withheld = loaded.content.get("withheld")
    known = withheld if isinstance(withheld, int) else None
    return frame, _Roles(promised.policy, columns, known, promised.cells or {})


def _from_file(release: str | Path, means: Collection[str]) -> tuple[pl.DataFrame, _Roles]:
    """Read a release without a certificate, and recognise its quasi-identifiers."""
    frame = read_plain(release)
    columns = {CLASS, CLASS_SIZE} <= {*frame.columns}
    generalised = (each.name for each in frame.iter_columns() if each.name in means or _is_generalised(each))
    quasi = _typed_names(frame) if columns else list(generalised)
    if not quasi:
        raise InputError("no column of the release looks like a quasi-identifier: give its certificate")
    return frame, _Roles(Policy.from_dict({"quasi": quasi, "k": 2}), columns)


def _bins(made: pl.DataFrame, roles: _Roles) -> dict[str, dict[str, Cell]]:
    """Return the bins of sensitive columns that are typed; older releases of typed columns hold their labels."""
    return {name: bins for name, bins in bins_of(roles.policy).items() if name + LOW in made.columns}


def _rules(made: pl.DataFrame, roles: _Roles) -> dict[str, Builder | None]:
    """Return the columns whose lists hold labels instead of leaves, with their rule if it is known."""
    rules: dict[str, Builder | None] = {}
    for name in roles.policy.quasi:
        form = roles.form(name)
        if "" not in (suffixes_of(made.columns, name) or ()) or form == "values":
            continue
        if isinstance(form, Builder):
            rules[name] = form
        elif not _lists_leaves(made, name, certain=form == "labels" and roles.policy.quasi[name].hierarchy is not None):
            rules[name] = None
    return rules


def _lists_leaves(made: pl.DataFrame, name: str, *, certain: bool) -> bool:
    """Tell whether lists surely hold values: a label alone in its own list may stand for values that nobody knows."""
    if certain:
        return True
    lists = made[name]
    if bool((lists.list.len() > 1).any()):
        return True
    return name + LABEL in made.columns and not (lists.list.first().eq_missing(made[name + LABEL])).all()


def _needs(roles: _Roles, *, certified: bool) -> str:
    """Say what bounds of the original table need beside what is given; nothing, as a rule."""
    told = roles.columns or (all(name in roles.cells for name in roles.policy.quasi) and certified)
    unknown = [*([UNSEEN] if roles.withheld is None else []), *([] if told else [UNREAD])]
    why = "the certificate is older than version 0.3.0 and does not say" if certified else "nobody knows"
    needed = "a newer certificate" if certified else "the certificate"
    return f"{needed}: {why} {' and '.join(unknown)}; bounds are those of the published cells" if unknown else ""


def _domains(
    policy: Policy, given: Mapping[str, Collection[Any]], columns: Mapping[str, PublishedColumn]
) -> dict[str, Collection[Any]]:
    """Return the declared domain of each column, exact where its values are numbers or dates."""
    bins = bins_of(policy)
    listed = {name: spec.domain or spec.order for name, spec in policy.sensitive.items() if name not in bins}
    declared = {**{name: domain for name, domain in listed.items() if domain}, **given}
    texts = [name for name in declared if _is_text(columns.get(name))]
    return {name: domain if name in texts else _ends(name, domain) for name, domain in declared.items()}


def _ends(name: str, domain: Collection[Any]) -> list[Number]:
    """Return the values of a domain as numbers; a certificate spells them."""
    spelled = [str(value) for value in domain]
    kind, values = exact_texts(spelled)
    return list(values) if kind != "mixed" else [number_of(name, value) for value in domain]


def _is_text(column: PublishedColumn | None) -> bool:
    if isinstance(column, ListColumn):
        return column.rule is None or column.rule.kind == "prefix"
    return isinstance(column, ExactColumn) and not column.is_number


def _typed_names(frame: pl.DataFrame) -> list[str]:
    """Return the names that the quasi-identifiers of typed columns had, in the order of the columns."""
    names = []
    for column in frame.iter_columns():
        suffix = next((suffix for suffix in (LOW, MEAN) if column.name.endswith(suffix)), "")
        name = column.name.removesuffix(suffix)
        if _is_list(column) if not suffix else suffix in (suffixes_of(frame.columns, name) or ()):
            names.append(name)
    return names


def _is_list(column: pl.Series) -> bool:
    if column.dtype == pl.String:
        return bool(len(column) and column.str.contains(r'^\[(?:"|\])').all())
    return column.dtype == pl.List


def _is_generalised(column: pl.Series) -> bool:
    """Tell whether some cell of a column is a range, a set, or may be missing; and none is of another form."""
    if column.dtype != pl.String:
        return False
    texts = column.alias("").drop_nulls().unique().to_list()
    form = guessed_form(texts)
    cells = [cell for text in texts for cell in readings(text, form)[-1:]]
    if form is RangeCell:
        return any(isinstance(cell, RangeCell) and (cell.low != cell.high or cell.missing) for cell in cells)
    return any(isinstance(cell, SetCell) and (len(cell.members) > 1 or cell.missing) for cell in cells)


def _typed_text(frame: pl.DataFrame, roles: _Roles) -> pl.DataFrame:
    """Type the cells of a text release."""
    forms: dict[str, Form | None] = {}
    for name in roles.policy.quasi:
        if name not in frame.columns:
            raise InputError("the release has no column '{name}'", name=name)
        texts = frame[name].alias("").cast(pl.String).drop_nulls().unique().to_list()
        form = roles.form(name)
        labels = form == "labels" or isinstance(form, Builder)
        forms[name] = guessed_form(texts, hierarchy=labels, mean=form == "means")
    try:
        return typed_table(frame, roles.policy, forms, apart=False)
    except InputError as error:
        why = error.sentence.removesuffix(f": {USE_TEXT}")
        raise InputError("the release cannot be loaded: {why}", why=why) from None


def _typed_file(frame: pl.DataFrame, roles: _Roles) -> pl.DataFrame:
    """Type the columns of a file that may hold text only."""
    lists = {name for name in roles.policy.quasi if "" in (suffixes_of(frame.columns, name) or ())}
    labels = {name + LABEL for name in lists}
    columns = {}
    for column in frame.iter_columns():
        if column.name in lists:
            columns[column.name] = parsed_lists(column)
        else:
            columns[column.name] = column if column.name in labels else typed(column, roles.policy.missing)
    return pl.DataFrame(columns)
