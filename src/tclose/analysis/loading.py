"""Load a release for analysis: text or typed columns, in any format, with its certificate or without."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from tclose.analysis.columns import columns_of, parsed_lists
from tclose.analysis.loaded import LoadedRelease
from tclose.errors import InputError
from tclose.policy import Policy
from tclose.recode.forms import guessed_form
from tclose.recode.spelling import Form, RangeCell, SetCell, readings
from tclose.recode.typed import CLASS, CLASS_SIZE, LABEL, LOW, MEAN, SUFFIXES, typed_table
from tclose.recode.typed_values import USE_TEXT, typed
from tclose.recode.untyped import suffixes_of, text_table
from tclose.release.certificate import load as load_certificate
from tclose.release.finding import files_of
from tclose.table.sources import read_plain

Kind = Literal["polars", "pandas"]


@dataclass(frozen=True, eq=False)
class _Roles:
    """The columns of a release, and how its cells are written."""

    policy: Policy  # its quasi-identifiers, kept columns and cells that mean "missing"
    columns: bool  # whether they are typed
    withheld: int = 0


def load(
    release: str | Path,
    certificate: str | Path | None = None,
    *,
    means: Collection[str] = (),
    as_: Kind = "polars",
) -> LoadedRelease:
    """Load a release of one table for analysis; with its certificate, the file must be the one that was certified.

    Without a certificate, quasi-identifiers are recognised by their cells. `means` names columns of a text release that
    hold class means: such text looks like an exact value. `as_` says which library `.frame` and `.resample` use.

    >>> import tempfile, tclose
    >>> table = pl.DataFrame({"age": [20, 30, 40, 50], "salary": [3, 4, 3, 4]})
    >>> policy = {"quasi": ["age"], "sensitive": {"salary": {"t": 0.1}}, "k": 2}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     out = Path(folder, "release.parquet")
    ...     _ = tclose.anonymize(table, policy, method="mondrian").write(out, release_format="columns")
    ...     load(out).mean("age")
    Estimate(expected=35.0, lower=30.0, upper=40.0)
    """
    if as_ not in ("polars", "pandas"):
        raise InputError(f"a release is loaded as a polars or a pandas frame, not as '{as_}'")
    frame, roles = _from_file(release, means) if certificate is None else _certified(release, certificate)
    unknown = [name for name in means if name not in frame.columns]
    if unknown:
        raise InputError(f"the release has no column '{unknown[0]}'")
    made = _typed_file(frame, roles) if roles.columns else _typed_text(frame, roles, means)
    quasi = tuple(roles.policy.quasi)
    added = {CLASS, CLASS_SIZE, *(name + suffix for name in quasi for suffix in ("", *SUFFIXES))}
    others = tuple(name for name in made.columns if name not in added)
    return LoadedRelease(made, columns_of(made, quasi, others), roles.withheld, as_)


def _certified(release: str | Path, certificate: str | Path) -> tuple[pl.DataFrame, _Roles]:
    """Read the files that a certificate is about; others are refused."""
    promised = load_certificate(certificate).certificate
    if promised.layout != "one table":
        raise InputError("only a release of one table can be loaded, and the certificate is of another one")
    files = files_of(release, promised, Path(certificate))
    frame = files.frame(*promised.files) if files.whole else None
    problems = files.problems()
    if frame is None or problems:
        raise InputError(problems[0])
    columns = promised.release_format == "columns"
    if columns:
        text_table(frame, promised.policy)  # refuses cells that do not fit together
    return frame, _Roles(promised.policy, columns, promised.withheld if isinstance(promised.withheld, int) else 0)


def _from_file(release: str | Path, means: Collection[str]) -> tuple[pl.DataFrame, _Roles]:
    """Read a release without a certificate, and recognise its quasi-identifiers."""
    frame = read_plain(release)
    columns = {CLASS, CLASS_SIZE} <= {*frame.columns}
    generalised = (each.name for each in frame.iter_columns() if each.name in means or _is_generalised(each))
    quasi = _typed_names(frame) if columns else list(generalised)
    if not quasi:
        raise InputError("no column of the release looks like a quasi-identifier: give its certificate")
    return frame, _Roles(Policy.from_dict({"quasi": quasi, "k": 2}), columns)


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


def _typed_text(frame: pl.DataFrame, roles: _Roles, means: Collection[str]) -> pl.DataFrame:
    """Type the cells of a text release."""
    forms: dict[str, Form | None] = {}
    for name in roles.policy.quasi:
        if name not in frame.columns:
            raise InputError(f"the release has no column '{name}'")
        texts = frame[name].alias("").cast(pl.String).drop_nulls().unique().to_list()
        forms[name] = guessed_form(texts, mean=name in means)
    try:
        return typed_table(frame, roles.policy, forms)
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
