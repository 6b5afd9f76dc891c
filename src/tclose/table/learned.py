"""What is known of a whole table whose rows are elsewhere: by its domains, any rows of it can be coded.

The domains and the reference counts are those of all rows that are to be published. So a part of a table, on disk or on
a cluster, is split and judged against the whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from tclose.errors import Mistakes
from tclose.policy import Policy
from tclose.table.buckets import Extra, Grouping, lacking
from tclose.table.coded import CodedTable, persons_of
from tclose.table.counted import CountedTable
from tclose.table.hierarchy import Hierarchy
from tclose.table.joint import JointColumn
from tclose.table.quasi import QuasiDomain
from tclose.table.sensitive import SensitiveColumn
from tclose.table.sources.base import FIRST, ROWS
from tclose.table.spellings import Respelling, respelled, with_one_float_zero
from tclose.table.tally import Tally
from tclose.table.values import ValueDomain, Values
from tclose.types import Bools

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


@dataclass(frozen=True, eq=False)
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
