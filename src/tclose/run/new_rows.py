"""New rows join a release, a batch at a time, so that neither a release nor the difference of two reveals more.

The story: leave out rows that would move the table's distribution too far from an old class, let old classes take
groups of rows that fit their cells, form new classes of the rest, and accept the groups that hold together. What is
left waits. The finished files are judged as any release is, and so is their difference from every earlier release.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from tclose.distance import Distance
from tclose.errors import Infeasible, InputError
from tclose.measure.linkage import Links, packed
from tclose.partition import DEFAULT_METHOD
from tclose.partition.new_rows import GroupJudge, accepted, balanced, joined, trimmed
from tclose.partition.split import split
from tclose.policy import Builder, Policy, Sensitive
from tclose.policy.variants import scaled
from tclose.privacy.feasibility import Publishable
from tclose.privacy.judge import distance_of
from tclose.recode.frame import ordered, recoded
from tclose.recode.meaning import cells_of_rows, covered
from tclose.release.continuation import all_hold, differences
from tclose.release.record import Notes, Record
from tclose.run.compile_notice import method_compile_notice
from tclose.run.request import given_seed
from tclose.table import CodedTable, encode_quietly, hierarchies
from tclose.table.bins import bin_of
from tclose.table.classes import Classes, classes_of
from tclose.table.coded import check_columns
from tclose.table.hierarchies import Hierarchy
from tclose.table.quasi import NumberColumn, QuasiColumn, QuasiDomain, SetColumn
from tclose.table.values import Values, known_places, marked_missing, values_of, with_one_number
from tclose.types import Beat, Bools, Ints, Repeating, still, stretch
from tclose.words import legible

# New rows beside a release: their cells as they would be published, and the classes that they fit


@dataclass(frozen=True, eq=False, repr=False)
class JoinableRelease:
    """A release that new rows may join."""

    frame: pl.DataFrame
    policy: Policy  # by which a reader judges it
    asked: Policy  # what was asked for, by which new rows are published
    notes: Notes

    @classmethod
    def of(cls, frame: pl.DataFrame, record: Record) -> JoinableRelease:
        """Take a release and its record."""
        return cls(frame, record.judged_by, record.policy, record.notes)

    @property
    def visible(self) -> pl.DataFrame:
        """The columns whose equal cells form a class."""
        return self.frame[list(self.policy.visible)]

    @property
    def batches(self) -> Ints:
        """The batch that each row came with."""
        batches = self.notes.batches
        assert batches is not None
        return batches


@dataclass(frozen=True, eq=False, repr=False)
class NewRows:
    """Rows that could be published: cells as a release shows them, but quasi-identifiers still as they are."""

    cells: pl.DataFrame  # in the columns of the release
    quasi: dict[str, QuasiColumn]
    places: Ints  # where each row stands in the table that was given
    given: int  # rows of that table

    @classmethod
    def of(cls, table: pl.DataFrame, released: JoinableRelease) -> NewRows:
        """Read new rows; those that no class could show, since a value is missing or unknown, are left out."""
        check_columns(table, released.asked)
        columns, usable = {}, np.ones(table.height, dtype=bool)
        for name in released.frame.columns:
            column = with_one_number(table[name], released.policy.missing)
            if name in released.policy.sensitive:
                column, known = _sensitive(column, released, name)
                usable &= known
            elif name in released.asked.quasi:
                usable &= _short_enough(column, released, name)
            columns[name] = column if name in released.asked.quasi else _typed(column, released.frame[name])
        places = np.flatnonzero(usable)
        cells = pl.DataFrame(columns)[places]
        quasi = {name: _quasi(cells[name], released, name) for name in released.asked.quasi} if len(places) else {}
        return cls(cells, quasi, places, table.height)

    def __len__(self) -> int:
        return len(self.places)

    def fits(self, released: JoinableRelease, classes: Classes, beat: Beat = still) -> Links:
        """Find which of the rows fit which classes of the release."""
        first = released.visible[classes.rows[classes.starts]]
        codes, bits = [], []
        for name in released.policy.visible:
            texts = first[name].alias("").cast(pl.String).fill_null("").to_list()
            number_of = {text: number for number, text in enumerate(dict.fromkeys(texts))}
            missing = released.policy.missing
            column = self.quasi[name] if name in self.quasi else values_of(self.cells[name], missing)
            covers = covered(column, list(number_of), missing)
            bits.append(packed(covers, np.array([number_of[text] for text in texts]), beat))
            codes.append(cells_of_rows(column, covers.shape[1] - 1))
        return Links.of(codes, bits, classes.sizes, beat)


def _sensitive(column: pl.Series, released: JoinableRelease, name: str) -> tuple[pl.Series, Bools]:
    """Return the cells that would be published, and which of them the release's reader could judge."""
    spec, missing = released.policy.sensitive[name], released.policy.missing
    values = values_of(column, missing, below=released.asked.below.get(name))
    _check_no_limit(values, name)
    known = (values.codes >= 0) | (spec.missing == "value")
    if released.asked.sensitive[name].publish == "bin":
        column, inside = _bins(values, released, name, column)
        return _one_spelling(column, values, released, name), known & inside
    _check_kind(values, values_of(released.frame[name], missing), name)
    unknown = _unknown(values, spec)
    known &= ~np.append(unknown, False)[values.codes]
    return _one_spelling(column, values, released, name), known


def _check_kind(values: Values, before: Values, name: str) -> None:
    """Refuse values that cannot be compared with those of the release."""
    if values.texts and before.texts and before.kind in ("number", "date") and values.kind != before.kind:
        raise InputError(
            "column '{name}' of the new rows is not all {kind}s, as it is in the release", name=name, kind=before.kind
        )


def _unknown(values: Values, spec: Sensitive) -> Bools:
    """Mark the values that the bins, the hierarchy, the matrix or the list of the policy does not have."""
    if spec.bins is not None and values.units is not None:
        edges = list(spec.bins.setting)
        bins = bin_of(edges, values.units, values.scale, learned=False)
        return np.asarray((bins < 0) | (bins >= len(edges) - 1))
    listed: Sequence[Any] | None = spec.order or spec.domain
    if isinstance(spec.hierarchy, Builder):
        listed = [row[0] for row in spec.hierarchy.levels]
    elif spec.matrix is not None:
        listed = spec.matrix.values  # type: ignore[union-attr]
    if listed is None:
        return np.zeros(len(values.texts), dtype=bool)
    return np.array(known_places([_spelled(value) for value in listed], values.domain), dtype=np.int64) < 0


def _spelled(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _bins(values: Values, released: JoinableRelease, name: str, cells: pl.Series) -> tuple[pl.Series, Bools]:
    """Return the published bin of each cell, and whether it lies in one; a missing cell stays as it is."""
    spec, asked = released.policy.sensitive[name], released.asked.sensitive[name]
    edges = list(released.notes.edges[name])
    if values.texts and values.units is None:
        raise InputError("column '{name}' of the new rows has bins, but its values are not numbers", name=name)
    if not values.texts:
        return cells.cast(pl.String), np.ones(len(values.codes), dtype=bool)
    assert values.units is not None
    place = bin_of(edges, values.units, values.scale, learned=False)
    if asked.bins is not None and asked.bins.kind in ("count", "quantiles"):  # whose first edge was put below its label
        below = [Fraction(int(unit), 10**values.scale) < edges[0] + 1 for unit in values.units]
        place = np.where(below, -1, place)
    labels = [*map(str, spec.order or spec.domain or ())]
    inside = np.append((place >= 0) & (place < len(labels)), True)[values.codes]
    texts = pl.Series([*labels, ""], dtype=pl.String)
    shown = texts.gather(np.append(np.clip(place, 0, len(labels) - 1), len(labels))[values.codes])
    lacking = pl.Series(values.codes < 0)
    return pl.select(pl.when(lacking).then(cells.alias("").cast(pl.String)).otherwise(shown)).to_series(), inside


def _one_spelling(column: pl.Series, values: Values, released: JoinableRelease, name: str) -> pl.Series:
    """Return a column whose missing cells are spelled as in the release, if any are there."""
    lacking, before = values.codes < 0, released.frame[name].alias("")
    if not lacking.any() or column.dtype != pl.String or before.dtype != pl.String:
        return column
    spelled = before.filter(pl.Series(marked_missing(before.fill_null(""), released.policy.missing)) | before.is_null())
    text = spelled[0] if len(spelled) else ""
    cells, mark = column.alias(""), pl.lit(text, dtype=pl.String)
    return pl.select(pl.when(pl.Series(lacking)).then(mark).otherwise(cells)).to_series().alias(name)


def _short_enough(column: pl.Series, released: JoinableRelease, name: str) -> Bools:
    """Mark the cells whose labels have the length that the labels of the release have: prefixes are padded."""
    longest = released.notes.longest.get(name)
    if longest is None:
        return np.ones(len(column), dtype=bool)
    return (column.alias("").cast(pl.String).fill_null("").str.len_chars() <= longest).to_numpy()


def _typed(column: pl.Series, before: pl.Series) -> pl.Series:
    """Return a column with the type that it has in the release."""
    if column.dtype == before.dtype:
        return column.alias(before.name)
    try:
        return column.alias("").cast(before.dtype, strict=True).alias(before.name)
    except pl.exceptions.PolarsError:  # its message would quote cells
        raise InputError(
            "column '{name}' of the new rows cannot be written as {dtype}, as in the release",
            name=legible(before.name),
            dtype=before.dtype,
        ) from None


def _check_no_limit(values: Values, name: str) -> None:
    """Refuse cells below a limit: whether a class of the release covers them depends on the limits before."""
    if values.domain.limit is not None:
        raise InputError(
            "column '{name}' of the new rows has cells below a limit, and new rows with such cells cannot join "
            "a release: leave these rows out, or publish both tables as a new release",
            name=name,
        )


def _quasi(cells: pl.Series, released: JoinableRelease, name: str) -> QuasiColumn:
    """Code a quasi-identifier as its policy publishes it, in the manner of the release."""
    spec, kind = released.asked.quasi[name], released.notes.kinds[name]
    values = values_of(cells, released.asked.missing, below=spec.below)
    _check_no_limit(values, name)
    if kind == "label":
        tree = _hierarchy(values, spec.hierarchy, released.notes.longest.get(name, 0))
        return QuasiDomain.of(values.domain, spec, tree).column(values.codes)
    if kind == "text" or not values.texts:
        return SetColumn(values.domain, len(values.texts) + bool(values.missing), values.codes)
    if values.kind != kind:
        raise InputError(
            "column '{name}' of the new rows is not all {kind}s, as it is in the release", name=name, kind=kind
        )
    return NumberColumn(values.domain, spec, values.codes)


def _hierarchy(values: Values, given: Any, longest: int) -> Hierarchy:
    return hierarchies.build(given, values.domain, longest)


def text_cells(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return columns as text, so that the rows of a release and new rows can be compared."""
    return pl.DataFrame({name: frame[name].alias("").cast(pl.String).fill_null("") for name in names})


def labels_by_text(frames: Sequence[pl.DataFrame], names: Sequence[str]) -> Ints:
    """Return the class of every row of several frames, one behind the other: rows that show the same text are one."""
    return classes_of(pl.concat([text_cells(frame, names) for frame in frames])).labels_by_row()


# Which new rows join old classes, which form new ones, and which wait


TRIES = 120  # judgements of the whole table, at most, to find the rows, and then the groups, that hold together
MARGIN = Fraction(49, 50)  # of every t, for groups of new rows: the distribution may still move a little
CHOSEN, JOINED, FORMED = 0.3, 0.5, 0.8  # shares of the work after which a phase is done


@dataclass(frozen=True, eq=False, repr=False)
class JoinedRows:
    """New rows that can be published, their cells, and how many of them joined classes of the release."""

    cells: pl.DataFrame  # as they are published
    places: Ints  # where each stands in the table that was given
    joined: int
    classes_formed: int
    given: int
    distances: tuple[Distance, ...] = ()  # of the sensitive columns: while they are in use, the judge makes none again

    @property
    def formed(self) -> int:
        """How many rows are in new classes."""
        return self.cells.height - self.joined

    @property
    def waiting(self) -> Ints:
        """Where the rows that have to wait stand in the table that was given."""
        return np.setdiff1d(np.arange(self.given), self.places)


@dataclass(frozen=True, eq=False, repr=False)
class NewRowGroup:
    """New rows that are published together: their numbers, and their cells."""

    rows: Ints
    cells: pl.DataFrame


class BatchJoin:
    """One batch of new rows on its way into a release."""

    def __init__(
        self, released: JoinableRelease, new: NewRows, seed: int | None, options: Mapping[str, Any], told: Repeating
    ):
        self.released, self.new, self.options, self.told = released, new, options, told
        self.seed = secrets.randbits(63) if seed is None else given_seed(seed)

    @cached_property
    def classes(self) -> Classes:
        """The classes of the release."""
        return classes_of(self.released.visible)

    @cached_property
    def labels(self) -> Ints:
        """The class of every row of the release."""
        return self.classes.labels_by_row()

    @cached_property
    def everything(self) -> CodedTable:
        """The release with all new rows behind it; their quasi-identifiers play no role, so none are shown.

        Whatever is tried has some of these rows, so its codes are learned from these.
        """
        old, cells, visible = self.released.frame, self.new.cells, self.released.policy.visible
        new = {c.name: c.clear(len(cells)) if c.name in visible else cells[c.name] for c in old.clear().iter_columns()}
        return encode_quietly(pl.concat([old, pl.DataFrame(new)]), self.released.policy)

    @property
    def _least(self) -> int:
        """The smallest group that is worth a search: the release has no smaller class, and was made of more rows."""
        return int(self.classes.sizes.min())

    def run(self) -> JoinedRows:
        """Choose rows, let them join, form classes, and keep the groups that hold together."""
        # the distribution first: it decides about all rows together, classes and groups only about some
        rows = self._chosen() if len(self.new) else np.zeros(0, dtype=np.int64)
        groups: list[NewRowGroup] = []
        if len(rows):
            judge = GroupJudge(self._table(rows), scaled(self.released.policy, MARGIN))
            groups = self._joined(rows, judge)
            taken = np.concatenate([np.zeros(0, dtype=np.int64), *(group.rows for group in groups)])
            groups += self._formed(rows, np.setdiff1d(rows, taken), judge)
        self.told(FORMED, "judging together")
        # each group holds by itself; whether the whole release holds with them has to be tried
        kept = accepted(groups, self._together, TRIES)
        return self._result(kept)

    def _table(self, rows: Ints) -> CodedTable:
        """Return the release and some new rows behind it."""
        self.told.beat()
        return self.everything.only(self._behind(rows))

    def _behind(self, rows: Ints) -> Ints:
        """Return where the rows of the release, and some new ones behind them, stand in `everything`."""
        old = len(self.released.frame)
        return np.concatenate([np.arange(old), old + rows])

    def _chosen(self) -> Ints:
        """Leave out the new rows that would move the distribution too far from a class of the release."""
        self.told(0.05, "comparing with the release")
        everything, old = self.everything, len(self.released.frame)
        groups = list(differences(self.labels, self.released.batches, newest=int(self.released.batches.max())))
        published = Classes(np.concatenate([g.rows for g in groups]), np.concatenate([g.sizes for g in groups]))
        rows = balanced(everything, self.released.policy, published, np.arange(old, len(everything)), self.told.beat)
        kinds = GroupJudge(everything, self.released.policy).kinds[old:]
        first, later = (
            part[np.argsort(kinds[part], kind="stable")].tolist()
            for part in (rows - old, np.setdiff1d(np.arange(len(self.new)), rows - old))
        )

        def hold(chosen: list[int]) -> bool:
            table = self._table(np.array(chosen, dtype=np.int64))
            return all_hold(table, self.released.policy, self.labels, self.released.batches)

        kept = accepted(first, hold, TRIES)
        more = accepted(later, lambda part: hold([*kept, *part]), TRIES // 2)
        return np.sort(np.array([*kept, *more], dtype=np.int64))

    def _joined(self, rows: Ints, judge: GroupJudge) -> list[NewRowGroup]:
        """Let classes take rows that fit their cells, those first that fit the fewest rows."""
        self.told(CHOSEN, "joining classes")
        links, old = self.new.fits(self.released, self.classes, self.told.beat), len(self.released.frame)
        people, least = links.people, self.released.policy.k
        # classes that few rows fit come first, or rows that fit many classes would be gone
        order = [number for number in np.argsort(people, kind="stable").tolist() if people[number] >= least]

        def fitting(number: int) -> Any:
            kinds = np.arange(len(links.rows))
            return links.fit(kinds, np.full(len(kinds), number))[links.row_of[rows]]

        place = np.arange(len(rows)) + old
        taken = joined(fitting, order, place, judge, self._least, self.told.beat)
        return [self._into(number, rows[group - old]) for number, group in taken.items()]

    def _into(self, number: int, rows: Ints) -> NewRowGroup:
        """Return rows with the cells of a class of the release."""
        visible, first = self.released.policy.visible, self.released.frame[[int(self.classes.members(number)[0])]]
        cells = self.new.cells[rows]
        shown = {
            c.name: first[c.name].new_from_index(0, len(rows)) if c.name in visible else c for c in cells.iter_columns()
        }
        return NewRowGroup(rows, pl.DataFrame(shown))

    def _formed(self, chosen: Ints, rest: Ints, judge: GroupJudge) -> list[NewRowGroup]:
        """Form new classes of rows that joined none, by weave; rows without which no class holds are left out."""
        self.told(JOINED, "forming new classes")
        if not len(rest):
            return []
        old, place = len(self.released.frame), np.searchsorted(chosen, rest)
        kept = classes_of(self.new.cells[rest][list(self.released.policy.keep)]) if self.released.policy.keep else None
        parts = [place] if kept is None else [place[kept.members(number)] for number in range(len(kept))]
        admitted = [
            found for part in parts if (found := trimmed(part + old, judge, self._least, self.told.beat)) is not None
        ]
        if not admitted:
            return []
        behind = np.sort(np.concatenate(admitted))
        rows = chosen[behind - old]
        policy = replace(self.released.asked, sensitive=judge.policy.sensitive, joint=judge.policy.joint)
        part = self._part(judge.table, behind, rows, policy)
        try:
            with method_compile_notice(stretch(self.told, JOINED, FORMED), DEFAULT_METHOD, self.options) as report:
                labels = split(Publishable(part, 0), policy, DEFAULT_METHOD, self.seed, report, self.options).labels
        except Infeasible:
            return []
        classes = Classes.from_labels(labels)
        shown = recoded(part, policy, classes)
        return [NewRowGroup(rows[members], shown[members]) for members in map(classes.members, range(len(classes)))]

    def _part(self, table: CodedTable, behind: Ints, rows: Ints, policy: Policy) -> CodedTable:
        """Return some new rows as a table that is judged against the whole."""
        part = CodedTable(
            frame=self.new.cells[rows],
            policy=policy,
            sensitive={name: replace(column, codes=column.codes[behind]) for name, column in table.sensitive.items()},
            persons=None,
            rows=np.arange(len(rows)),
            withheld=0,
            hierarchies={},
            joint={name: replace(column, codes=column.codes[behind]) for name, column in table.joint.items()},
        )
        vars(part)["quasi"] = {name: column.only(rows) for name, column in self.new.quasi.items()}
        return part

    def _together(self, groups: Sequence[NewRowGroup]) -> bool:
        """Tell whether the release holds with these groups, and the difference from every earlier release."""
        if not groups:
            return True
        frame, batches = self._with(groups)
        rows = self._behind(np.concatenate([group.rows for group in groups]))
        table = self.everything.published_as(frame, self.released.policy, rows)
        self.told.beat()
        return all_hold(table, self.released.policy, table.classes.labels_by_row(), batches)

    def _with(self, groups: Sequence[NewRowGroup]) -> tuple[pl.DataFrame, Ints]:
        """Return the release with some groups behind it, and the batch of every row."""
        old, added = self.released.frame, [group.cells.select(self.released.frame.columns) for group in groups]
        frame = pl.concat([old, *added])
        newest = int(self.released.batches.max()) + 1
        batches = np.append(self.released.batches, np.full(frame.height - old.height, newest))
        return frame, batches

    def _result(self, groups: Sequence[NewRowGroup]) -> JoinedRows:
        cells = pl.concat([group.cells for group in groups]) if groups else self.released.frame.clear()
        rows = np.concatenate([np.zeros(0, dtype=np.int64), *(group.rows for group in groups)])
        labels = labels_by_text([self.released.frame, cells], self.released.policy.visible)
        old, new = labels[: self.released.frame.height], labels[self.released.frame.height :]
        known = np.isin(new, old)
        formed = len(np.unique(new[~known]))
        distances = tuple(map(distance_of, self.everything.judged.values())) if groups else ()
        return JoinedRows(cells, self.new.places[rows], int(known.sum()), formed, self.new.given, distances)


def continued(released: JoinableRelease, added: JoinedRows) -> tuple[pl.DataFrame, Ints]:
    """Return the new release in its neutral order, and the batch of every row."""
    frame = pl.concat([released.frame, added.cells.select(released.frame.columns)])
    batches = np.append(released.batches, np.full(added.cells.height, int(released.batches.max()) + 1))
    shown, order = ordered(frame)
    return shown, batches[order]
