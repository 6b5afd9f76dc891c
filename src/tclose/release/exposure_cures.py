"""Settings that lower what remains exposed, each with the rows that its line counts after it.

Nothing here is tried out: a cure is printed where its figure follows exactly from counts or from a theorem, whatever
classes the next release has. Decision 135 has the reasons.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from tclose.measure.exposure import shared_by
from tclose.measure.line_counts import LineCounts, ShownColumn
from tclose.measure.recognition import Recognised
from tclose.measure.remaining import Cure, Name
from tclose.policy import Bins, Policy
from tclose.policy.draft.profile import OWN_ROWS
from tclose.privacy.allowance import given_away_from
from tclose.release.original_facts import OriginalFacts
from tclose.table import SensitiveColumn
from tclose.table.bins import bin_of, edges_of
from tclose.table.values import ValueDomain
from tclose.types import Bools, Ints
from tclose.words import columns, number

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
        yield Cure("; ".join(f"t = {number(t)} for {columns(names)}" for t, names in levels.items()), 0)


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
    settings = [f'bins = {{ quantiles = {m} }} and publish = "bin" for {columns(names)}' for m, names in bins.items()]
    settings += [f"{columns(dropped)} in identifiers"] if dropped else []
    for name in ends:
        step = None if original is None else original.steps.get(name)
        if step is None:
            return
        settings.append(f"step = {number(step)} for {columns([name])}")
    if counts.few:
        if original is None or original.person is None:
            return
        settings.append(f'person = "{original.person}"')
    yield Cure("; ".join(settings), counts.stands_when_cured)


# Other roles


def _quasi(counts: LineCounts, policy: Policy, recognised: Mapping[str, Recognised]) -> Iterator[Cure]:
    """Yield that known codes become quasi-identifiers: then they are part of the class."""
    known = [name for name, each in recognised.items() if each.how == "surely"]
    yield Cure(f"{columns(known)} as {'a quasi-identifier' if len(known) == 1 else 'quasi-identifiers'}", 0)
    if set(known) < set(policy.sensitive):
        yield Cure(f"{columns(known)} in identifiers", 0)


def _sensitive(policy: Policy, original: OriginalFacts | None) -> Iterator[Cure]:
    """Yield that columns of unknown meaning become sensitive: then closeness protects them."""
    unknown = () if original is None else original.unprotected
    if unknown and set(unknown) < {*policy.quasi, *policy.keep}:
        yield Cure(f"{columns(unknown)} as sensitive, with a t", 0)
