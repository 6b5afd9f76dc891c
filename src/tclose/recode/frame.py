"""A published frame: its cells by class, the counts beside it, and the guard against text that spreadsheets run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from tclose.errors import InputError, InternalError
from tclose.policy import Policy
from tclose.recode.cell import numbered_texts
from tclose.table import CodedTable, SensitiveColumn
from tclose.table.classes import Classes, classes_of, rows_in_order
from tclose.table.persons import are_pseudonyms
from tclose.table.quasi import QuasiColumn
from tclose.types import Beat, Ints, still
from tclose.words import counted

Change = Callable[[str], str]

SKIPPED = r"[\s\"'\ufeff\u200b]"
STARTS = r"[=+\-@＝＋－＠]"
SEPARATORS = r"[;|\t\r\n]"
RUNS = re.compile(f"{SKIPPED}*{STARTS}")
LEADS = re.compile(r"[\"']*[\t\r\n]")
NUMBER = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")
SUSPECT = rf"(^|{SEPARATORS}){SKIPPED}*{STARTS}|^[\"']*[\t\r\n]"  # what the rules below may change

FIRST_RUNS = re.compile(r"'*[=+\-@\t\r\n]")


@dataclass(frozen=True)
class Guard:
    """A way to guard text that can be undone exactly."""

    guard: Change
    unguard: Change
    names: bool = True  # whether the names of columns are guarded, too

    def guarded(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Put an apostrophe before all text that a spreadsheet could run as a formula."""
        return self._changed(frame, self.guard)

    def unguarded(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Remove the apostrophes that `guarded` added."""
        return self._changed(frame, self.unguard)

    def restored(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Remove the apostrophes from a published table; one with cells that are not guarded is refused."""
        self.check(self.misses(frame))
        return self.unguarded(frame)

    def check(self, misses: int) -> None:
        """Refuse a table with cells or names that `guarded` would not have written like this."""
        if misses:
            raise InputError(
                "{cells} cannot have been written by the guard against formulas", cells=counted(misses, "cell")
            )

    def misses(self, frame: pl.DataFrame) -> int:
        """Count the cells and names that `guarded` would not have written like this."""
        cells = sum(int(self.missed(column).sum()) for column in frame.iter_columns())
        return cells + (sum(name != self._again(name) for name in frame.columns) if self.names else 0)

    def missed(self, column: pl.Series) -> pl.Series:
        """Mark the cells that `guarded` would not have written like this."""
        text = column.alias("")
        if text.dtype != pl.String:
            return pl.repeat(False, len(text), eager=True)
        return (text != _replaced(text, self._again)).fill_null(False)

    def _again(self, text: str) -> str:
        return self.guard(self.unguard(text))

    def _changed(self, frame: pl.DataFrame, change: Change) -> pl.DataFrame:
        name_of: Change = change if self.names else str
        return pl.DataFrame({name_of(column.name): _texts(column, change) for column in frame.iter_columns()})


def _texts(column: pl.Series, change: Change) -> pl.Series:
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    return _replaced(column.alias(""), change) if column.dtype == pl.String else column


def _replaced(column: pl.Series, change: Change) -> pl.Series:
    """Change the texts that the guard is about; most columns have none. Names such as ^x$ mean something to polars."""
    suspects = column.filter(column.str.contains(SUSPECT)).unique()
    return column.replace(suspects, pl.Series([change(text) for text in suspects], dtype=pl.String))


def _runs(part: str) -> bool:
    return RUNS.match(part) is not None and NUMBER.fullmatch(part) is None


def _guard(text: str) -> str:
    r"""Guard every part of a cell.

    >>> _guard("=1+1"), _guard("-5"), _guard("'=1"), _guard("x; =1"), _guard("\tx"), _guard("fine; -5")
    ("'=1+1", '-5', "''=1", "x;' =1", "'\tx", 'fine; -5')
    """
    parts = (f"'{part}" if _runs(part) else part for part in _parts(text))
    return ("'" if LEADS.match(text) else "") + "".join(parts)


def _unguard(text: str) -> str:
    r"""Undo the guard.

    >>> _unguard("'=1+1"), _unguard("-5"), _unguard("''=1"), _unguard("x;' =1"), _unguard("'\tx")
    ('=1+1', '-5', "'=1", 'x; =1', '\tx')
    """
    parts = [part[1:] if part.startswith("'") and _runs(part[1:]) else part for part in _parts(text)]
    text = "".join(parts)
    return text[1:] if text.startswith("'") and LEADS.match(text[1:]) else text


def _parts(text: str) -> list[str]:
    return re.split(f"({SEPARATORS})", text)


def _guard_first(text: str) -> str:
    return f"'{text}" if FIRST_RUNS.match(text) and not NUMBER.fullmatch(text) else text


def _unguard_first(text: str) -> str:
    return text[1:] if text.startswith("'") and FIRST_RUNS.match(text[1:]) else text


NEWEST = 2
GUARDS = {  # by the number that a certificate gives
    1: Guard(_guard_first, _unguard_first, names=False),
    NEWEST: Guard(_guard, _unguard),
}


INLINE = 12  # bytes: polars keeps shorter texts in the column itself, longer ones in memory that columns share


def recoded(
    table: CodedTable,
    policy: Policy,
    classes: Classes | None = None,
    beat: Beat = still,
    *,
    as_categories: bool = False,
) -> pl.DataFrame:
    """Return the published cells, with rows and columns still in the table's order.

    Without classes, every row publishes its own values, with steps and tails as the policy says. `beat` is called
    before each column. With `as_categories`, quasi-identifiers are a quarter as large; `ordered` makes them text.
    """
    public = {*policy.quasi, *policy.keep, *policy.unlinkable, *policy.sensitive, *(policy.pseudonym or ())}
    columns = {}
    for name in (name for name in table.frame.columns if name in public):
        beat()
        if name in table.quasi:
            columns[name] = _classes_shown(table.quasi[name], classes, as_categories=as_categories)
        else:
            columns[name] = _unchanged(table, policy, name)
    return pl.DataFrame(columns)


def _unchanged(table: CodedTable, policy: Policy, name: str) -> pl.Series:
    """Return the cells of a column that is published as it is, or as its bins."""
    if name in (policy.pseudonym or ()) and not are_pseudonyms(table.frame[name]):
        raise InternalError("an identifier has no pseudonym, so nothing was released")
    if name in policy.sensitive and policy.sensitive[name].publish == "bin":
        return _bins(table.sensitive[name], table.frame[name])
    return _plain(table.frame[name])


def ordered(frame: pl.DataFrame) -> tuple[pl.DataFrame, Ints]:
    """Return the rows sorted by their published values, and the row of `frame` that stands at each place."""
    order = rows_in_order(frame)
    unnamed = ((column.name, column.alias("")) for column in frame.iter_columns())  # ^x$ would be a pattern
    return pl.DataFrame({name: as_text(column.gather(order)) for name, column in unnamed}), order


def as_text(column: pl.Series) -> pl.Series:
    """Return categories as text, and any other column as it is."""
    return column.cast(pl.String) if isinstance(column.dtype, pl.Categorical) else column


def new_name(name: str, columns: Iterable[str]) -> str:
    """Return a name for a new column that no other has, nor one that differs in case only.

    >>> new_name("group", ["age", "Group"])
    'group_2'
    """
    taken, number, free = {column.casefold() for column in columns}, 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def _classes_shown(column: QuasiColumn, classes: Classes | None, *, as_categories: bool) -> pl.Series:
    """Return the text of each row's class; rows with equal values form a class where none are given."""
    if classes is None:
        present = np.flatnonzero(np.bincount(column.codes + 1))
        each_value = replace(column, codes=present - 1)
        texts, numbers = numbered_texts(each_value, Classes.from_labels(np.arange(len(present))))
        of_value = np.empty(int(present[-1]) + 1, dtype=np.int64)
        of_value[present - 1] = numbers  # that of a missing value comes last
        numbers = of_value[column.codes]
    else:
        texts, numbers = numbered_texts(column, classes)
        numbers = numbers[classes.labels_by_row()]
    return _gathered(texts, numbers, pl.Categorical(pl.Categories.random()) if as_categories else pl.String())


def _gathered(texts: Iterable[str], codes: Ints, dtype: pl.DataType) -> pl.Series:
    return pl.Series(list(texts), dtype=dtype).gather(codes)


def _bins(column: SensitiveColumn, cells: pl.Series) -> pl.Series:
    """Return the bin of each cell; a missing cell stays as it is."""
    bins = _gathered(column.labels, column.codes, pl.String())
    missing = pl.Series(column.codes == column.domain.missing_code)
    return pl.select(pl.when(missing).then(_plain(cells).cast(pl.String)).otherwise(bins)).to_series()


def _plain(column: pl.Series) -> pl.Series:
    """Return a column that shares no memory with unpublished cells.

    A dictionary lists values that no row has, and text of rows that were filtered out stays in memory.
    """
    dtype = column.dtype
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        raise InputError(
            "column '{name}' is of type {base_type}: make it text, a number or a date",
            name=column.name,
            base_type=dtype.base_type(),
        )
    column = column.alias("")  # polars takes names such as ^x$ for patterns
    text = column.cast(pl.String) if isinstance(dtype, pl.Categorical | pl.Enum) else column
    if text.dtype != pl.String or int(text.str.len_bytes().max() or 0) <= INLINE:  # type: ignore[arg-type]
        return text
    return text.cast(pl.Categorical(pl.Categories.random())).cast(pl.String)


# Counts of exact values, of columns that are both quasi-identifier and sensitive


LISTED = ("column", "value", "count")
WHOLE = "^[1-9][0-9]{0,14}$"  # a number of rows


def exact_cells(table: CodedTable, policy: Policy, name: str) -> pl.Series:
    """Return the cell that each row contributes to the counts: its value, or its bin where bins are published."""
    texts, codes = _texts_and_codes(table, policy, name)
    return pl.Series(name, [*texts, None], dtype=pl.String).gather(codes)


def counts_of(rows: pl.DataFrame, table: CodedTable, policy: Policy) -> pl.DataFrame:
    """List the values of each column that is both, per class of published `rows`, which stand in the table's order."""
    visible = rows[list(policy.visible)]  # `ordered` makes texts of categories
    classes = classes_of(visible)
    shown, order = ordered(visible[classes.rows[classes.starts]])
    place = np.argsort(order)[classes.labels_by_row()]
    lists = [_counted(table, policy, name, place) for name in policy.both]
    owners = np.concatenate([owners for owners, _ in lists])
    sorting = np.argsort(owners, kind="stable")
    listed = pl.concat([frame for _, frame in lists])
    titled = listed.rename(dict(zip(LISTED, titles(policy), strict=True)))
    return shown[owners[sorting]].hstack(titled[sorting].get_columns())


def _counted(table: CodedTable, policy: Policy, name: str, place: Ints) -> tuple[Ints, pl.DataFrame]:
    """Return the class of each entry about one column, in order, and the entries."""
    texts, codes = _texts_and_codes(table, policy, name)
    width = len(texts) + 1  # a missing value comes last
    keys, counts = np.unique(place * width + codes, return_counts=True)
    values = pl.Series([*texts, None], dtype=pl.String).gather(keys % width)
    cells = {"column": pl.Series([name]).new_from_index(0, len(keys)), "value": values, "count": counts}
    return keys // width, pl.DataFrame(cells, schema_overrides={"count": pl.Int64})


def _texts_and_codes(table: CodedTable, policy: Policy, name: str) -> tuple[tuple[str, ...], Ints]:
    """Return the texts that are listed for a column, and which of them each row has; missing is one beyond them."""
    values = table.values(name)
    texts, codes = values.texts, values.codes
    if policy.sensitive[name].publish == "bin":
        texts, codes = table.sensitive[name].labels, np.where(codes < 0, -1, table.sensitive[name].codes)
    return texts, np.where(codes < 0, len(texts), codes)


def titles(policy: Policy) -> tuple[str, str, str]:
    """Return the names of the last three columns of the list, which no visible column has."""
    first, second, third = (new_name(name, policy.visible) for name in LISTED)
    return first, second, third


def cells_apart(published: pl.DataFrame, counts: pl.DataFrame, policy: Policy) -> dict[str, pl.Series]:
    """Return exact cells for the rows of a published table: each class has those that are listed for it.

    Which row of a class gets which cell means nothing. A list that does not fit the table is refused.
    """
    names = titles(policy)
    if sorted(counts.columns) != sorted([*policy.visible, *names]):
        raise InputError("the counts do not have the columns that the policy gives them")
    column, value, count = (counts[name].alias("").cast(pl.String) for name in names)
    if not count.str.contains(WHOLE).fill_null(False).all():
        raise InputError("the counts hold something else than numbers of rows")
    if not column.is_in(list(policy.both)).fill_null(False).all():
        raise InputError("the counts name a column that is not both quasi-identifier and sensitive")
    classes, owners = _matched(published, counts, policy)
    entries = pl.DataFrame({"owner": owners, "column": column, "value": value.fill_null("")})
    if len(classes_of(entries)) < len(entries):
        raise InputError("the counts list a value of a class twice")
    rows = count.cast(pl.Int64).to_numpy()
    return {name: _spread(name, (column == name).to_numpy(), value, rows, owners, classes) for name in policy.both}


def _matched(published: pl.DataFrame, counts: pl.DataFrame, policy: Policy) -> tuple[Classes, Ints]:
    """Return the classes of a published table, and the class of each entry; a class without rows is beyond them."""
    visible = list(policy.visible)
    texts = [
        pl.DataFrame([column.cast(pl.String).fill_null("") for column in frame[visible].iter_columns()])
        for frame in (published, counts)
    ]
    labels = classes_of(pl.concat(texts)).labels_by_row()  # in the order in which rows first show them
    return Classes.from_labels(labels[: published.height]), labels[published.height :]


def _spread(name: str, mine: Ints, value: pl.Series, rows: Ints, owners: Ints, classes: Classes) -> pl.Series:
    """Give the rows of each class the values that are listed for it."""
    entries = np.flatnonzero(mine)
    totals = np.zeros(max(len(classes), int(owners.max(initial=0)) + 1), dtype=np.int64)
    np.add.at(totals, owners[entries], rows[entries])
    expected = np.append(classes.sizes, np.zeros(len(totals) - len(classes), dtype=np.int64))
    if wrong := int(np.count_nonzero(totals != expected)):
        raise InputError(
            "the counts of '{name}' do not add up to the rows of {classes}", name=name, classes=counted(wrong, "class")
        )
    entries = entries[np.argsort(owners[entries], kind="stable")]
    places = np.empty(len(classes.rows), dtype=np.int64)
    places[classes.rows] = np.repeat(entries, rows[entries])
    return value.gather(places).alias(name)
