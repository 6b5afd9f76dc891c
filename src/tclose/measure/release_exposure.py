"""The exposure of a release: from its coded tables to the lines of `exposure_claims.py`, with the cures of each.

A cure is a setting that lowers what remains exposed, with the rows that its line counts after it. Nothing here is tried
out: a cure is printed where its figure follows exactly from counts or from a theorem, whatever classes the next release
has. Decision 135 has the reasons.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from tclose.measure.attack.scenes import numbered_cells
from tclose.measure.exposure import (
    WARNED_SHARE,
    PublishedAttribute,
    PublishedClasses,
    ReleaseExposure,
    exposed_in,
    rows_with_own_values,
    shared_by,
)
from tclose.measure.exposure_claims import Cure, ExposureFacts, Figure, Name, figures_of, of_all_tables
from tclose.measure.exposure_counts import (
    MOST_ROWS,
    Cells,
    LineCounts,
    PublishedCodes,
    Recognised,
    ShownColumn,
    ShownTable,
    line_counts,
    recognised,
)
from tclose.measure.original_facts import OriginalFacts
from tclose.messages import joined, say
from tclose.policy import Bins, Policy, Sensitive
from tclose.policy.draft.profile import OWN_ROWS
from tclose.privacy.allowance import given_away_from
from tclose.privacy.judge import JudgedTable
from tclose.recode.coverage import worth_of
from tclose.table import CodedTable, SensitiveColumn
from tclose.table.bins import bin_of, edges_of
from tclose.table.quasi import NumberColumn, QuasiColumn, SetColumn
from tclose.table.values import Kind, ValueDomain
from tclose.types import Bools, Ints
from tclose.words import columns, number, own_values, some_columns

# Cures


QUANTILES = (20, 10, 5)  # bins that a column of own numbers is published in: as many as leave no own bin
PLACES = (2, 3, 4)  # decimal places of a t that is proposed


def cures_of(
    counts: LineCounts,
    policy: Policy,
    sensitive: Mapping[str, SensitiveColumn],
    shown: Sequence[ShownColumn],
    recognised: Mapping[str, Recognised],
    original: OriginalFacts | None,
) -> dict[Name, Sequence[Cure]]:
    """Return the cures of each line."""
    return {
        "class_alone": list(_smaller_t(policy, sensitive)) if counts.given_away.rows else [],
        "stands_out": list(_coarser(counts, policy, shown, original)) if counts.stands else [],
        "one_more_fact": list(_quasi(counts, policy, recognised)) if counts.alone.rows else [],
        "unprotected": list(_sensitive(policy, original)),
    }


# A t below which nothing is given away


def _smaller_t(policy: Policy, sensitive: Mapping[str, SensitiveColumn]) -> Iterator[Cure]:
    """Yield the t that excludes it: a theorem says that no class within it gives a value away."""
    if policy.suppress or policy.pseudonym or set(sensitive) != set(policy.sensitive):
        return  # other rows would be withheld; t limits shares of rows, not of persons; or others are in other tables
    asked = {}
    for name, column in sensitive.items():
        spec = policy.sensitive[name]
        least = given_away_from(column, spec)
        if least is None:
            continue
        if spec.limit is not None and spec.limit < least and spec.t_by is None:
            continue
        below = _below(least)
        if below is None or spec.n is not None or spec.t_by is not None:
            return
        asked[name] = below
    if asked:
        levels = {t: [name for name, level in asked.items() if level == t] for t in sorted(set(asked.values()))}
        yield Cure(
            joined(
                "; ", [say("t = {t} for {columns}", t=number(t), columns=columns(names)) for t, names in levels.items()]
            ),
            0,
        )


def _below(least: Fraction) -> Fraction | None:
    """Return the largest short decimal below a number."""
    for places in PLACES:
        steps = -(-least.numerator * 10**places // least.denominator) - 1
        if steps > 0:
            return Fraction(steps, 10**places)
    return None


# Coarser cells


def own_when_binned(domain: ValueDomain, persons: Ints | None, codes: Ints) -> tuple[int, Bools]:
    """Return into how many bins a column is put, and of each cell, whether its bin is still a row's own.

    The missing cell comes last; it is so if at most two rows, or persons, have it.
    """
    own = np.zeros(0, dtype=bool)
    for quantiles in QUANTILES:
        own = _own_in_bins(domain, quantiles, persons, codes)
        if not own.any():
            break
    return quantiles, own


def _own_in_bins(domain: ValueDomain, quantiles: int, persons: Ints | None, codes: Ints) -> Bools:
    assert domain.units is not None
    edges = edges_of(Bins("quantiles", quantiles), domain.units, domain.scale, domain.counts)
    bins = bin_of(edges, domain.units, domain.scale, learned=True)
    bins = np.append(bins, int(bins.max()) + 1)
    if persons is None:
        shared = np.bincount(bins, np.append(domain.counts, domain.missing)).astype(np.int64)
    else:
        shared = np.append(shared_by(bins[codes], persons), 0)
    found = np.append(shared, 0)[np.minimum(bins, len(shared))]
    return np.asarray((found > 0) & (found <= OWN_ROWS))


def _coarser(
    counts: LineCounts, policy: Policy, shown: Sequence[ShownColumn], original: OriginalFacts | None
) -> Iterator[Cure]:
    """Yield the settings that together end every way in which rows stand out."""
    cells, ends = list(counts.cells.columns), list(counts.ends.columns)
    bins: dict[int, list[str]] = {}
    for column in shown:
        if column.name in cells and column.quantiles is not None:
            bins.setdefault(column.quantiles, []).append(column.name)
    dropped = [column.name for column in shown if column.name in cells and column.quantiles is None]
    if policy.suppress and (bins or ends):
        return  # other rows would be withheld
    if dropped and set(dropped) >= set(policy.sensitive):
        return  # nothing would be left to protect
    settings = [
        say('bins = {{ quantiles = {m} }} and publish = "bin" for {columns}', m=m, columns=columns(names))
        for m, names in bins.items()
    ]
    settings += [say("{columns} in identifiers", columns=columns(dropped))] if dropped else []
    for name in ends:
        step = None if original is None else original.steps.get(name)
        if step is None:
            return
        settings.append(say("step = {step} for {columns}", step=number(step), columns=columns([name])))
    if counts.few:
        if original is None or original.person is None:
            return
        settings.append(say('person = "{person}"', person=original.person))
    yield Cure(joined("; ", settings), counts.stands_when_cured)


# Other roles


def _quasi(counts: LineCounts, policy: Policy, recognised: Mapping[str, Recognised]) -> Iterator[Cure]:
    """Yield that known codes become quasi-identifiers: then they are part of the class."""
    known = [name for name, each in recognised.items() if each.how == "surely"]
    role = "{columns} as a quasi-identifier" if len(known) == 1 else "{columns} as quasi-identifiers"
    yield Cure(say(role, columns=columns(known)), 0)
    if set(known) < set(policy.sensitive):
        yield Cure(say("{columns} in identifiers", columns=columns(known)), 0)


def _sensitive(policy: Policy, original: OriginalFacts | None) -> Iterator[Cure]:
    """Yield that columns of unknown meaning become sensitive: then closeness protects them."""
    unknown = () if original is None else original.unprotected
    if unknown and set(unknown) < {*policy.quasi, *policy.keep}:
        yield Cure(say("{columns} as sensitive, with a t", columns=columns(unknown)), 0)


# What remains exposed, and which columns give rows away


NEEDS_ORIGINAL = "the original table, which has the numbers that end ranges and says whose rows they are"
NEEDS_OTHER_BOXES = "which numbers end the boxes of δ-presence: they are those of the population"


def exposed_rows(
    judged: Sequence[JudgedTable],
    policy: Policy,
    originals: Sequence[OriginalFacts | None] = (),
    *,
    knows_persons: bool = True,
) -> ReleaseExposure:
    """Return what remains exposed in judged tables.

    `originals` say what only the original table tells of each; without it, some figures are undecided. A reader of the
    release cannot tell persons apart, unless pseudonyms do.
    """
    found = exposed_in([_published(each.table, policy, knows_persons=knows_persons) for each in judged])
    facts = originals or [None] * len(judged)
    lines = [
        _figures(each.table, policy, original, knows_persons=knows_persons)
        for each, original in zip(judged, facts, strict=True)
    ]
    return replace(found, figures=of_all_tables(lines))


# The four lines


def _figures(
    table: CodedTable, policy: Policy, original: OriginalFacts | None, *, knows_persons: bool
) -> tuple[Figure, ...]:
    linked = bool(policy.pseudonym)
    persons = table.persons if knows_persons or linked else None
    if policy.person is None:
        persons = None
    codes = recognised_codes(table, policy)
    columns = shown_columns(table, policy, persons, codes)
    shown = ShownTable(
        labels=table.classes.labels_by_row(),
        columns=columns,
        units=len(table) if not linked or persons is None else int(persons.max()) + 1,
        persons=persons,
        linked=linked,
        ends={} if original is None else original.ends,
        few=None if original is None else original.few,
    )
    counts = line_counts(shown)
    if original is not None and original.exact is not None:
        counts = counts.beside(original.exact)
    facts = ExposureFacts(
        rows=len(table),
        units=shown.units,
        columns=columns,
        labels=lambda name, cell: (*table.values(name).texts, "(missing)")[cell],
        k=policy.k,
        counted="rows" if persons is None else "persons",
        sensitive=bool(policy.sensitive),
        recognised=codes,
        unseen=_unseen(table, policy, original, persons),
        read_off=None if original is None else original.read_off,
        people_unknown=policy.person is not None and persons is None,
        cures=cures_of(counts, policy, table.sensitive, columns, codes, original),
    )
    return figures_of(counts, facts)


def shown_columns(
    table: CodedTable,
    policy: Policy,
    persons: Ints | None = None,
    codes: Mapping[str, Recognised] | None = None,
) -> list[ShownColumn]:
    """Return the columns that a table publishes value by value, as the lines count them."""
    linked, known = bool(policy.pseudonym), codes or {}
    return [_shown(table, policy, name, persons, known, linked=linked) for name in _published_names(table, policy)]


def _published_names(table: CodedTable, policy: Policy) -> list[str]:
    others = [name for name in (*policy.unlinkable, *policy.keep) if name in table.frame.columns]
    return [*table.sensitive, *others]


def _shown(
    table: CodedTable,
    policy: Policy,
    name: str,
    persons: Ints | None,
    codes: Mapping[str, Recognised],
    *,
    linked: bool,
) -> ShownColumn:
    values, domain = numbered_cells(table, name), len(table.values(name).texts) + 1
    sharing = _padded(shared_by(values, persons), domain)
    cells: Cells = _cells(table, policy, name) if name in table.sensitive else "other"
    column = ShownColumn(
        name=name,
        values=values,
        holders=sharing if linked else np.bincount(values, minlength=domain),
        sharing=sharing,
        cells=cells,
        linked=name not in policy.both,
        sensitive=name in table.sensitive,
        recognised=codes[name].how if name in codes else "no",
    )
    if cells == "number" and policy.sensitive[name].domain is None and column.own[values].any():
        quantiles, own = own_when_binned(table.domain(name), persons, values)
        return replace(column, quantiles=quantiles, own_when_cured=own)
    return column


def _padded(counts: Ints, length: int) -> Ints:
    return np.append(counts, np.zeros(length - len(counts), dtype=np.int64))


def recognised_codes(table: CodedTable, policy: Policy) -> dict[str, Recognised]:
    """Return which sensitive columns that are published exactly are, or may be, codes that neighbours know."""
    wanted = [name for name in table.sensitive if policy.sensitive[name].publish != "bin" and name not in policy.both]
    if not wanted:
        return {}
    rows = np.unique(np.linspace(0, len(table) - 1, min(MOST_ROWS, len(table))).astype(np.int64))
    names = (name for name in _published_names(table, policy) if name not in policy.both)
    bins = {name for name in table.sensitive if policy.sensitive[name].publish == "bin"}
    seen = [published_cells(table, name, rows, in_bins=name in bins) for name in names]
    found = recognised(seen, wanted)
    return {name: each for name, each in found.items() if each.how != "no"}


def published_cells(table: CodedTable, name: str, rows: Ints, *, in_bins: bool) -> PublishedCodes:
    """Return some cells of a column that is published value by value; bins are numbered in their order."""
    values = table.values(name)
    codes = values.codes[rows]
    if in_bins:
        places = table.sensitive[name].codes[rows].astype(np.float64)
        return PublishedCodes(name, codes, np.where(codes < 0, np.nan, places))
    worth = worth_of(values.domain)
    return PublishedCodes(name, codes, None if worth is None else np.append(worth, np.nan)[codes])


def _unseen(table: CodedTable, policy: Policy, original: OriginalFacts | None, persons: Ints | None) -> tuple[str, ...]:
    """Say what is needed to find all rows that stand out."""
    if policy.presence:
        return (NEEDS_OTHER_BOXES,)
    whose = policy.person is not None and persons is None
    elsewhere = [name for name in (*policy.unlinkable, *policy.keep) if name not in table.frame.columns]
    return (
        *((NEEDS_ORIGINAL,) if original is None or whose else ()),
        *((say("the table of the release that has {columns}", columns=some_columns(elsewhere)),) if elsewhere else ()),
    )


# What was looked at before decision 135; deprecated


def _published(table: CodedTable, policy: Policy, *, knows_persons: bool) -> PublishedClasses:
    attributes = [
        PublishedAttribute(name, numbered_cells(table, name), _cells(table, policy, name), name not in policy.both)
        for name in table.sensitive
    ]
    linked_by = next(iter(policy.pseudonym or ()), None)
    classes, persons = table.classes, table.persons if knows_persons or linked_by else None
    return PublishedClasses(classes.rows, classes.starts, attributes, max(policy.k, 2), persons, linked_by)


def _cells(table: CodedTable, policy: Policy, name: str) -> Cells:
    return cells_of(table.values(name).kind, policy.sensitive[name])


def cells_of(kind: Kind, spec: Sensitive) -> Cells:
    """Say which setting would make the cells of a sensitive column coarser: bins need numbers."""
    if spec.publish == "bin":
        return "bin"
    listed = any(setting is not None for setting in (spec.hierarchy, spec.matrix, spec.order))  # bins would contradict
    return "number" if kind == "number" and not listed else "other"


def columns_of_own_values(table: CodedTable, policy: Policy, *, exact_quasi: bool) -> Iterator[str]:
    """Yield a warning for each published column in which many rows have a value of their own.

    `table` holds the rows to publish. Numeric quasi-identifiers, and those with a hierarchy, are published as ranges
    and labels; `exact_quasi` says that the layout publishes all quasi-identifiers as they are.
    """
    counted = "rows" if table.persons is None else "persons"
    for name, role, values in _published_values(table, policy, exact_quasi=exact_quasi):
        if rows := rows_with_own_values(values, table.persons, WARNED_SHARE):
            yield own_values(name, rows, len(table), role=role, counted_as=counted)


def _published_values(table: CodedTable, policy: Policy, *, exact_quasi: bool) -> Iterator[tuple[str, str, Ints]]:
    """Yield each column that is published value by value, how it is published, and the value of every row."""
    for name, column in table.sensitive.items():
        cells = _cells(table, policy, name)
        codes = column.codes if cells == "bin" else table.values(name).codes
        yield name, "both" if name in policy.both and cells != "bin" else cells, codes
    for role in ("keep", "unlinkable"):
        for name in getattr(policy, role):
            yield name, role, table.values(name).codes
    for name, quasi in table.quasi.items():
        if exact_quasi:
            yield name, "quasi", _exact_cells(quasi)
        elif isinstance(quasi, SetColumn):
            yield name, "set", quasi.codes


def _exact_cells(quasi: QuasiColumn) -> Ints:
    """Return a number for the cell that each row publishes by itself, after steps and tails; -1 where it is missing."""
    if not isinstance(quasi, NumberColumn) or not quasi.values.texts:
        return quasi.codes
    ends = quasi.ends()
    numbers: dict[tuple[str, str], int] = {}
    of_value = [numbers.setdefault(cell, len(numbers)) for cell in zip(ends.low_texts, ends.high_texts, strict=True)]
    return np.append(of_value, -1)[quasi.codes]
