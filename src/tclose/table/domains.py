"""What is known of a table whose rows are not at hand: the domains of its columns, and the counts of its classes.

What `encode` learns from rows is learned here from groups of rows, and the classes are counted bucket by bucket. The
domains and the reference counts are those of all rows that are to be published. By these domains, any rows of the table
can be coded; so a part of it, on disk or on a cluster, is split and judged against the whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import polars as pl

from tclose.errors import InputError, Mistakes
from tclose.policy import Joint, Policy
from tclose.table.classes import classes_of, forms_classes, order_of_cells
from tclose.table.coded import (
    NOTHING_LEFT,
    CodedTable,
    checked_hierarchies,
    groupings_of,
    persons_of,
    sensitive_columns,
    warn_of_like_values,
)
from tclose.table.groups import Answer, BucketedRows, Extra, Grouping, Groups, lacking
from tclose.table.hierarchies import Hierarchy
from tclose.table.quasi import NumberColumn, QuasiColumn, QuasiDomain
from tclose.table.sensitive import JointColumn, SensitiveColumn, SensitiveDomain, asked_by
from tclose.table.sources.base import FIRST, ROWS
from tclose.table.values import Respelling, Tally, ValueDomain, Values, respelled, with_one_float_zero
from tclose.types import Bools, Ints

# A table as counts: what the judge needs


_NO_CODES = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class CountedTable:
    """What the judge knows of a table whose rows are not at hand: the columns have domains, and no codes."""

    groups: BucketedRows
    domains: Mapping[str, ValueDomain]
    sensitive: Mapping[str, SensitiveColumn]
    joint: Mapping[str, JointColumn]
    hierarchies: Mapping[str, Hierarchy]  # of quasi-identifiers, from their files

    @classmethod
    def of(cls, groups: BucketedRows, policy: Policy) -> CountedTable:
        """Learn the domains of all columns, as `encode` does."""
        if not groups.rows:
            raise InputError(NOTHING_LEFT if groups.withheld else "the table has a header but no rows")
        tallies = groups.tallies(tallied(policy))
        domains = {
            name: ValueDomain.of(tally, policy.missing, policy.below.get(name)) for name, tally in tallies.items()
        }
        mistakes = Mistakes()
        hierarchies = checked_hierarchies(policy, domains.__getitem__, mistakes)
        sensitive = sensitive_columns(
            policy,
            lambda name, spec: SensitiveColumn(SensitiveDomain.of_values(domains[name], spec), _NO_CODES),
            mistakes,
        )
        mistakes.report()
        warn_of_like_values(sensitive)
        table = cls(groups, domains, sensitive, {}, hierarchies)
        joint = {}
        for number, each in enumerate(policy.joint, start=1):
            with asked_by(number):
                joint[each.name] = table.joint_column(each)
        return replace(table, joint=joint)

    def __len__(self) -> int:
        return self.groups.rows

    @property
    def judged(self) -> Mapping[str, SensitiveColumn | JointColumn]:
        """Everything that closeness can be asked of: each sensitive attribute, then attributes together."""
        return {**self.sensitive, **self.joint}

    def domain(self, name: str) -> ValueDomain:
        """Return the different values of a column that is compared."""
        return self.domains[name]

    def by_bucket(self, work: Callable[[CountedClasses], Answer]) -> Iterator[Answer]:
        """Do some work on the classes of each bucket, and yield the answers."""
        return self.groups.each(partial(_on_classes, self, work))

    def all_classes(self, *, by_cells: bool = False) -> CountedClasses:
        """Return all classes, where they are in one bucket: as rows first show them, or in the order of their cells."""
        groups = self.groups.only_bucket()
        order = order_of_cells(groups[()].select(self.groups.grouping.keys_of())) if by_cells else None
        return CountedClasses(self, groups, order)

    def joint_column(self, joint: Joint) -> JointColumn:
        """Find the tuples of some attributes, and how many rows show each."""
        found = list(self.by_bucket(partial(_tuples, names=joint.attributes)))
        names = list(map(str, range(len(joint.attributes))))
        tuples = pl.concat(found).group_by(names).agg(pl.col(ROWS).sum())
        parts = {
            name: SensitiveColumn(self.sensitive[name].domain, tuples[key].to_numpy())
            for key, name in zip(names, joint.attributes, strict=True)
        }
        return JointColumn.of(joint, parts, tuples[ROWS].to_numpy())


class CountedClasses:
    """Classes, by default in the order of their first rows, and how many rows of each show which cells."""

    def __init__(self, table: CountedTable, groups: Groups, order: Ints | None = None) -> None:
        others = {extra: frame for extra, frame in groups.items() if extra}
        numbered = groups[()].sort(FIRST) if order is None else groups[()][order]
        self.table, self._groups = table, {(): numbered, **others}
        shown = [self._shown(extra) for extra in self._groups]
        labels = classes_of(pl.concat(shown)).labels_by_row()
        ends = np.cumsum([frame.height for frame in shown])[:-1]
        self._labels = dict(zip(self._groups, np.split(labels, ends), strict=True))

    def __len__(self) -> int:
        return self._groups[()].height

    @property
    def sizes(self) -> Ints:
        """How many rows each class has."""
        return self._groups[()][ROWS].to_numpy()

    @property
    def firsts(self) -> Ints:
        """The first row of each class, counted from 0 in the table as it was read."""
        return self._groups[()][FIRST].to_numpy()

    def shown(self, classes: Bools) -> pl.DataFrame:
        """Return the visible keys of some classes."""
        return self._shown(()).filter(pl.Series(classes))

    def supersets(self) -> Iterator[Ints]:
        """Yield groupings of the classes: those that agree on some of the visible columns, on few of them first."""
        yield from groupings_of(self._shown(()))

    def labels(self, extra: Extra) -> Ints:
        """Return the class of each group of rows that is counted by some columns."""
        return self._labels[extra]

    def rows(self, extra: Extra) -> Ints:
        """Return how many rows each of these groups has."""
        return self._groups[extra][ROWS].to_numpy()

    def values(self, extra: Extra, name: str) -> Ints:
        """Return the value that each of these groups shows in a column, -1 where it is missing."""
        return self.table.domains[name].codes(self._cells(extra, name))

    def codes(self, column: SensitiveColumn | JointColumn, extra: Extra) -> Ints:
        """Return the code of a judged column that each of these groups shows."""
        if isinstance(column, SensitiveColumn):
            return column.domain.codes_of(self.values(extra, column.name))
        names = list(map(str, range(len(column.parts))))
        shown = {name: self.codes(part, extra) for name, part in zip(names, column.parts, strict=True)}
        known = pl.DataFrame(dict(zip(names, column.tuples.T, strict=True))).with_row_index("code")
        found = pl.DataFrame(shown).join(known, on=names, how="left", maintain_order="left")
        return found["code"].cast(pl.Int64).to_numpy()

    def persons(self, extra: Extra, person: str) -> Ints:
        """Return a number for the person of each of these groups."""
        return classes_of(self._cells(extra, person).to_frame()).labels_by_row()

    def _cells(self, extra: Extra, name: str) -> pl.Series:
        return self._groups[extra][self._grouping.key(name)]

    def _shown(self, extra: Extra) -> pl.DataFrame:
        return self._groups[extra].select(self._grouping.keys_of())

    @cached_property
    def _grouping(self) -> Grouping:
        return self.table.groups.grouping


def _on_classes(table: CountedTable, work: Callable[[CountedClasses], Answer], groups: Groups) -> Answer:
    return work(CountedClasses(table, groups))


def _tuples(classes: CountedClasses, names: Sequence[str]) -> pl.DataFrame:
    """Return the tuples of codes that classes show, and how many rows show each."""
    extra = tuple(names)
    columns = [classes.codes(classes.table.sensitive[name], extra) for name in names]
    keys = list(map(str, range(len(names))))
    shown = pl.DataFrame({**dict(zip(keys, columns, strict=True)), ROWS: classes.rows(extra)})
    return shown.group_by(keys).agg(pl.col(ROWS).sum())


def tallied(policy: Policy) -> list[str]:
    """Return the columns whose values must be known: sensitive ones, groups of persons, and those of hierarchies."""
    by_file = [name for name, spec in policy.quasi.items() if isinstance(spec.hierarchy, Path)]
    groups = [spec.t_by.column for spec in policy.sensitive.values() if spec.t_by is not None]
    return list(dict.fromkeys([*by_file, *policy.sensitive, *groups]))


def grouping_of(policy: Policy, by_person: Sequence[str]) -> Grouping:
    """Return what has to be counted for a policy; of the attributes `by_person`, persons are counted, too."""
    extras: list[Extra] = [(), *((name,) for name in policy.sensitive), *(joint.attributes for joint in policy.joint)]
    groups = ((name, spec.t_by.column) for name, spec in policy.sensitive.items() if spec.t_by is not None)
    extras += [tuple(dict.fromkeys(pair)) for pair in groups]
    if policy.person is not None:
        extras += [(policy.person,), *((name, policy.person) for name in by_person)]
    return Grouping(
        visible=policy.visible,
        extras=tuple(dict.fromkeys(extras)),
        compared=frozenset(tallied(policy)),
        suppressed=tuple(name for name, spec in policy.sensitive.items() if spec.missing == "suppress"),
        person=policy.person,
        missing=policy.missing,
    )


def linked_grouping(policy: Policy, *, compares_visible: bool) -> Grouping:
    """Return what has to be counted for attacks: rows by each sensitive attribute, and by all of them together.

    With `compares_visible`, the cells of columns that form classes must be text, numbers or dates.
    """
    names, joint = tuple(policy.sensitive), (joint.attributes for joint in policy.joint)
    compared = frozenset([*tallied(policy), *(policy.visible if compares_visible else ())])
    extras = tuple(dict.fromkeys([(), *((name,) for name in names), *joint, names]))
    return replace(grouping_of(policy, ()), extras=extras, compared=compared, person=None)


def persons_grouping(person: str, policy: Policy) -> Grouping:
    """Return how the rows of each person are counted, without the rows that are withheld."""
    suppressed = grouping_of(policy, ()).suppressed
    extras = tuple(dict.fromkeys([(), suppressed]))
    return Grouping((person,), extras, frozenset(), suppressed, person, policy.missing)


def identifiers_to_count(columns: pl.DataFrame, policy: Policy) -> list[str]:
    """Return the identifiers among columns, given without rows, that are counted to warn where they repeat."""
    if policy.person is not None:
        return []
    present = {column.name for column in columns.iter_columns() if forms_classes(column.dtype)}
    return [name for name in policy.identifiers if name in present]


def repeats_of(identifier: str, policy: Policy) -> Grouping:
    """Return how the values of an identifier are counted, to warn where they repeat."""
    return Grouping((identifier,), ((),), frozenset(), (), None, policy.missing)


# A table by its domains: what coding any of its rows needs


_TEXT = (pl.String, pl.Categorical, pl.Enum)


def columns_read(policy: Policy, columns: Iterable[str]) -> tuple[str, ...]:
    """Return the columns of a table that a release of it needs, in the table's order."""
    needed = {*policy.quasi, *policy.sensitive, *policy.keep, *policy.unlinkable}
    if policy.person is not None:
        needed.add(policy.person)
    return tuple(name for name in columns if name in needed)


def learning_of(policy: Policy) -> Grouping:
    """Return what has to be counted of a table before it is split: every published column, by kept values."""
    published = (*policy.quasi, *policy.sensitive, *policy.unlinkable)
    extras: list[Extra] = [(), *((name,) for name in published), *(joint.attributes for joint in policy.joint)]
    if policy.person is not None:
        shown = (*policy.sensitive, *policy.keep, *policy.unlinkable, *policy.quasi)
        extras += [(policy.person,), *((name, policy.person) for name in shown)]
    return Grouping(
        visible=policy.keep,
        extras=tuple(dict.fromkeys(extras)),
        compared=frozenset((*policy.quasi, *policy.sensitive, *policy.keep, *policy.unlinkable)),
        suppressed=tuple(name for name, spec in policy.sensitive.items() if spec.missing == "suppress"),
        person=policy.person,
        missing=policy.missing,
    )


class Spellings:
    """How the cells of a table say "no value", in columns whose missing cells readers must not tell apart.

    While a table is read, all of them are the empty text. What is published is the only spelling that occurs, or the
    empty text where there are several.
    """

    def __init__(self, policy: Policy) -> None:
        counted_as_value = (name for name, spec in policy.sensitive.items() if spec.missing == "value")
        self._means: dict[str, Sequence[str]] = dict.fromkeys(policy.keep, ("",))
        self._means |= dict.fromkeys(counted_as_value, ("", *policy.missing))
        self.seen: dict[str, set[str | None]] = {name: set() for name in self._means}

    def unified(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return rows whose cells say "no value" in one way, and remember in which ways they said it."""
        return pl.DataFrame({column.name: self._unified(column) for column in frame.iter_columns()})

    def _unified(self, column: pl.Series) -> pl.Series:
        if column.name not in self._means or column.dtype not in _TEXT:
            return column
        text = column.alias("").cast(pl.String)
        absent = text.is_null() | text.is_in(list(self._means[column.name]))
        self.seen[column.name].update(text.filter(absent).unique().to_list())
        return text.set(absent, "").alias(column.name)

    @property
    def original(self) -> dict[str, str | None]:
        """The only spelling of each column that has one, if it is not the empty text."""
        only = {name: next(iter(seen)) for name, seen in self.seen.items() if len(seen) == 1}
        return {name: spelling for name, spelling in only.items() if spelling != ""}


@dataclass(frozen=True, eq=False, repr=False)
class LearnedTable:
    """The domains of a table, learned from all rows that are to be published."""

    policy: Policy
    columns: tuple[str, ...]  # that are read, in the table's order
    domains: Mapping[str, ValueDomain]  # of quasi-identifiers and sensitive columns
    quasi: Mapping[str, QuasiDomain]
    sensitive: Mapping[str, SensitiveColumn]  # without codes
    joint: Mapping[str, JointColumn]  # without codes
    hierarchies: Mapping[str, Hierarchy]
    spellings: Mapping[str, str | None]  # of "no value", where the table has one other than the empty text
    folded: Mapping[str, Respelling]  # of columns of text whose numbers have several spellings
    left_out: pl.DataFrame | None  # the kept cells whose rows are withheld
    rows: int  # to be published
    withheld: int

    @classmethod
    def of(cls, counted: CountedTable, policy: Policy, columns: Sequence[str], spellings: Spellings) -> LearnedTable:
        """Take what was counted; the quasi-identifiers are learned as well."""
        groups, mistakes = counted.groups, Mistakes()
        tallies = groups.tallies([name for name in policy.quasi if name not in counted.domains])
        domains = {**counted.domains, **_domains(tallies, policy)}
        quasi = {}
        for name, spec in policy.quasi.items():
            with mistakes.collected():
                quasi[name] = QuasiDomain.of(domains[name], spec, counted.hierarchies.get(name))
        mistakes.report()
        left_out = groups.left_out
        if left_out is not None:
            left_out = pl.DataFrame(dict(zip(policy.keep, left_out.iter_columns(), strict=True)))
        return cls(
            policy=policy,
            columns=columns_read(policy, columns),
            domains=domains,
            quasi=quasi,
            sensitive=counted.sensitive,
            joint={name: replace(column, made={}) for name, column in counted.joint.items()},
            hierarchies=counted.hierarchies,
            spellings=spellings.original,
            folded=groups.folded,
            left_out=left_out,
            rows=groups.rows,
            withheld=groups.withheld,
        )

    def publishable(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return rows as they are compared, those that are withheld left out; cells that say "no value" are unified."""
        kept = np.ones(frame.height, dtype=bool)
        for name, spec in self.policy.sensitive.items():
            if spec.missing == "suppress":
                kept &= ~lacking(frame[name].alias(""), self.policy.missing)
        rows = pl.DataFrame({column.name: self._compared(column) for column in frame.iter_columns()})
        if self.left_out is not None:
            kept &= self._not_left_out(rows)
        return rows if kept.all() else rows.filter(pl.Series(kept))

    def _compared(self, column: pl.Series) -> pl.Series:
        """Return a column with one spelling of every number."""
        if column.dtype.is_float():
            return with_one_float_zero(column)
        return respelled(column, self.folded[column.name]) if column.name in self.folded else column

    def _not_left_out(self, rows: pl.DataFrame) -> Bools:
        assert self.left_out is not None
        keys = list(map(str, range(self.left_out.width)))
        left_out = self.left_out.rename(dict(zip(self.left_out.columns, keys, strict=True)))
        kept = pl.DataFrame(dict(zip(keys, (rows[name] for name in self.policy.keep), strict=True)))
        found = kept.with_row_index("row").join(left_out, on=keys, how="semi", nulls_equal=True)["row"]
        mask = np.ones(rows.height, dtype=bool)
        mask[found.to_numpy()] = False
        return mask

    def coded(self, frame: pl.DataFrame) -> CodedTable:
        """Code rows that are to be published (`publishable`) by the whole table's domains."""
        read = {name: Values(domain, domain.codes(frame[name])) for name, domain in self.domains.items()}
        sensitive = {
            name: replace(column, codes=column.domain.codes_of(read[name].codes))
            for name, column in self.sensitive.items()
        }
        person = self.policy.person
        table = CodedTable(
            frame=frame,
            policy=self.policy,
            sensitive=sensitive,
            persons=None if person is None else persons_of(frame[person], self.policy),
            rows=np.arange(frame.height),
            withheld=0,
            hierarchies=self.hierarchies,
            read=read,
            joint={name: _with_codes(column, sensitive) for name, column in self.joint.items()},
        )
        quasi = {name: domain.column(read[name].codes) for name, domain in self.quasi.items()}
        if frame.height < self.rows:
            quasi = {name: _of_part(column, self.domains[name]) for name, column in quasi.items()}
        vars(table)["quasi"] = quasi  # so that no hierarchy is built again
        return table

    @cached_property
    def fingerprint(self) -> bytes:
        """A fingerprint of everything that the rows of a part are split by, apart from these rows."""
        digest = hashlib.sha256(json.dumps(self.policy.to_dict(), sort_keys=True, default=str).encode())
        for domain in self.domains.values():
            digest.update("\0".join((domain.name, *domain.texts)).encode())
            digest.update(np.append(domain.counts, domain.missing).tobytes())
        for column in self.joint.values():
            digest.update(column.reference.tobytes())
        return digest.digest()

    def original(self, name: str, cells: pl.Series) -> pl.Series:
        """Return the cells of a column with the table's own spelling of "no value"."""
        if name not in self.spellings:
            return cells
        text = cells.alias("").cast(pl.String)
        spelled = pl.lit(self.spellings[name], dtype=pl.String)
        return pl.select(pl.when(text != "").then(text).otherwise(spelled)).to_series()


def _of_part(column: QuasiColumn, whole: ValueDomain) -> QuasiColumn:
    """Return a column of some rows of a table; numbers are measured by all of its rows."""
    return replace(column, whole=whole) if isinstance(column, NumberColumn) else column


def without_categories(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows without categories, whose numbers are those of a file, and without columns of nothing but nulls."""
    kinds = (pl.Categorical, pl.Enum, pl.Null)
    return pl.DataFrame(
        {
            column.name: column.cast(pl.String) if isinstance(column.dtype, kinds) else column
            for column in rows.iter_columns()
        }
    )


def counted_rows(frame: pl.DataFrame, grouping: Grouping) -> pl.DataFrame:
    """Return rows as groups of one row each, as `GroupedRows` adds them up."""
    cells = {grouping.key(name): frame[name] for name in grouping.columns}
    rows = np.arange(frame.height, dtype=np.int64)
    return pl.DataFrame({**cells, ROWS: np.ones_like(rows), FIRST: rows})


def _domains(tallies: Mapping[str, Tally], policy: Policy) -> dict[str, ValueDomain]:
    return {name: ValueDomain.of(tally, policy.missing, policy.below.get(name)) for name, tally in tallies.items()}


def _with_codes(column: JointColumn, sensitive: Mapping[str, SensitiveColumn]) -> JointColumn:
    """Return the tuple of each row; all of them occur in the whole table."""
    parts = tuple(sensitive[part.name] for part in column.parts)
    key = np.zeros(len(parts[0].codes), dtype=np.int64)
    known = np.zeros(len(column.tuples), dtype=np.int64)
    for place, part in enumerate(parts):
        domain = len(part.labels)
        joined = np.concatenate([known * domain + column.tuples[:, place], key * domain + part.codes])
        ranks = np.unique(joined, return_inverse=True)[1].astype(np.int64)
        known, key = ranks[: len(known)], ranks[len(known) :]
    code_of = np.full(int(max(known.max(), key.max(initial=0))) + 1, -1, dtype=np.int64)
    code_of[known] = np.arange(len(known))
    return replace(column, parts=parts, codes=code_of[key])
