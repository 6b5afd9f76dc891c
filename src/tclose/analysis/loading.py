"""Load a release for analysis: text or typed columns, in any format, with its certificate or without."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import polars as pl

from tclose.analysis.cells import cells_of_column
from tclose.analysis.columns import ExactColumn, ListColumn, PublishedColumn, columns_of, parsed_lists
from tclose.analysis.counting import number_of
from tclose.analysis.estimates import Number
from tclose.analysis.loaded import LoadedRelease
from tclose.errors import InputError, did_you_mean
from tclose.policy import Builder, Policy, Quasi
from tclose.recode.cell import Cell
from tclose.recode.forms import guessed_form
from tclose.recode.spelling import Form, RangeCell, SetCell, readings
from tclose.recode.typed import CLASS, CLASS_SIZE, LABEL, LOW, MEAN, SUFFIXES, bins_of, typed_table
from tclose.recode.typed_values import USE_TEXT, exact_texts, typed
from tclose.recode.untyped import suffixes_of, text_table
from tclose.release.certificate import load as load_certificate
from tclose.release.finding import files_of
from tclose.table.sources import read_plain

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
        raise InputError(f"a release is loaded as a polars or a pandas frame, not as '{as_}'")
    if withheld is not None and (type(withheld) is not int or withheld < 0):
        raise InputError("withheld is a number of rows, such as 11")
    frame, roles = _from_file(release, means) if certificate is None else _certified(release, certificate)
    known = {*frame.columns, *roles.policy.quasi}
    for name in (*means, *(hierarchies or ()), *(domains or ())):
        if name not in known and name not in bins_of(roles.policy):
            raise InputError(f"the release has no column '{name}'{did_you_mean(name, known)}")
    for name, domain in (domains or {}).items():
        if isinstance(domain, str) or not isinstance(domain, Collection) or not domain:
            raise InputError(f"the domain of '{name}' is both ends, such as (0, 120), or a list of texts")
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
        raise InputError(f"{certificate} was changed after it was made: its digest does not fit its content")
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
            raise InputError(f"the release has no column '{name}'")
        texts = frame[name].alias("").cast(pl.String).drop_nulls().unique().to_list()
        form = roles.form(name)
        labels = form == "labels" or isinstance(form, Builder)
        forms[name] = guessed_form(texts, hierarchy=labels, mean=form == "means")
    try:
        return typed_table(frame, roles.policy, forms, apart=False)
    except InputError as error:
        raise InputError(f"the release cannot be loaded: {error.sentence.removesuffix(f': {USE_TEXT}')}") from None


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
