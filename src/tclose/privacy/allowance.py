"""What the t of an attribute means in the attribute's own shares, before any release is made; and rigid policies.

Three figures stand beside every t, all exact and from the counts of the whole table:
- the least and the largest share that some of the values can have in a class within t;
- `one_value_from`: the least distance of a class that shows one value only. From this t on, t does not limit the
  attribute. Values that half of the rows have are left out, for a class that shows only the usual value tells little;
  so are values that fewer than k rows have, and values that another model (such as l = 2) keeps from being alone;
- `nothing_given_away_below`: below this t, no class makes a value, which fewer than half of the rows have, at least
  half-way certain: its share q in a class and p in the table have (q - p) / (1 - p) < 1/2.

Values are those that are published. An attribute that is compared in bins and published as it is has several values
in a bin, and t does not tell these apart.

A policy is rigid where the smallest class can be made up of sensitive values in one way only. If every class of the
smallest size must show the same values, an adversary who knows the algorithm has an easy task (docs/method.md). All
ways to make up a class are tried, as long as there are not too many of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np

from tclose.distance import Counts, Geometry, Line, LineWithLeaf, Metric
from tclose.distance.worst_class import least, least_to_one_value, least_to_reach, most
from tclose.messages import joined, say
from tclose.policy import Bins, Policy, Sensitive
from tclose.privacy.judge import JudgedColumn, distance_of
from tclose.privacy.registry import class_models_of
from tclose.privacy.results import CheckResult
from tclose.table import CodedTable, CountedTable, JointColumn, SensitiveColumn
from tclose.table.sensitive import SensitiveDomain
from tclose.types import Answer, Bools, Claim, Ints
from tclose.words import columns, counted, legible, number, percent

# Rigid policies


MOST_WAYS = 20_000  # to make up a class of one size
MOST_SOLVED = 500  # the same, where a solver computes the distance
MOST_SIZES = 50


@dataclass(frozen=True)
class Rigidity:
    """An attribute of which the smallest class can show one composition only, and the k that admits more."""

    attribute: str
    rows: int  # of the smallest class
    opening_k: int | None  # None where it is not known

    @property
    def sentence(self) -> str:
        """The same for people."""
        opening = "" if self.opening_k is None else say("; k = {k:,} admits more than one", k=self.opening_k)
        return say(
            "the policy admits only one composition of {columns} in the smallest possible class ({rows}), "
            "so all these classes show the same values, which helps an adversary who knows the "
            "algorithm{opening}",
            columns=columns([self.attribute]),
            rows=counted(self.rows, "row"),
            opening=opening,
        )


def rigid_attributes(table: CodedTable | CountedTable, policy: Policy) -> tuple[Rigidity, ...]:
    """Find the attributes of which the smallest class can show one composition only; persons are not looked at."""
    if policy.person is not None:
        return ()
    found = (_rigidity(column, len(table), policy) for column in table.sensitive.values())
    return tuple(rigidity for rigidity in found if rigidity is not None)


def _rigidity(column: SensitiveColumn, rows: int, policy: Policy) -> Rigidity | None:
    spec, smallest = policy.sensitive[column.name], None
    if spec.n is not None or np.count_nonzero(column.reference) < 2:
        return None
    for size in range(policy.k, min(policy.k + MOST_SIZES, rows + 1)):
        ways = _admitted_ways(column, policy, size)
        if ways is None:
            break
        if ways > 1:
            return None if smallest is None else Rigidity(column.name, smallest, size)
        smallest = size if smallest is None and ways else smallest
    return None if smallest is None else Rigidity(column.name, smallest, None)


def _admitted_ways(column: SensitiveColumn, policy: Policy, size: int) -> int | None:
    """Count the admitted ways to make up a class of some rows; None where there are too many to try."""
    distance, present = distance_of(column), np.flatnonzero(column.reference)
    solved = isinstance(distance.geometry(len(column.labels)), Metric)
    if comb(size + len(present) - 1, size) > (MOST_SOLVED if solved else MOST_WAYS):
        return None
    ways = compositions(size, column.reference[present].tolist())
    if not len(ways):
        return 0
    which, place = np.nonzero(ways)
    starts = np.searchsorted(which, np.arange(len(ways)))
    counts = Counts(starts, present[place], ways[which, place], len(column.labels))
    admitted = np.ones(len(ways), dtype=bool)
    for model in class_models_of(policy.sensitive[column.name], distance):
        admitted &= model.judge(counts, column.reference).admitted
    return int(admitted.sum())


def compositions(size: int, most: list[int]) -> Ints:
    """Return every way, one per row, to add up to a size with numbers from 0 to the most of each.

    >>> compositions(2, [1, 2]).tolist()
    [[0, 2], [1, 1]]
    """
    ways, left = np.zeros((1, 0), dtype=np.int64), np.array([size])
    for place, limit in enumerate(most):
        low, high = np.maximum(left - sum(most[place + 1 :]), 0), np.minimum(left, limit)
        choices = np.maximum(high - low + 1, 0)
        before = np.repeat(np.arange(len(ways)), choices)
        number = low[before] + np.arange(len(before)) - (np.cumsum(choices) - choices)[before]
        ways, left = np.column_stack([ways[before], number]), left[before] - number
    return np.asarray(ways[left == 0])


# What a t allows


TENTHS = 10  # one of them, at an end of a line, is what an allowance speaks of
QUANTILES = 20  # bins of about equally many rows, that numbers are advised to be compared in
_NO_CODES = np.zeros(0, dtype=np.int64)
SHORT = {"its highest values": "highest", "its lowest values": "lowest", "a value": "rarest"}  # in a table
PLACES = 1000  # to which levels of t are rounded for people, to the safe side


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """What one t allows in the classes of any release, in shares of the attribute's own values."""

    attribute: str
    t: Fraction
    of: str  # which values the shares are about, as in "its highest values"
    share: Fraction  # of the rows that have them in the table
    least: Fraction  # their smallest and their largest share in a class
    most: Fraction
    noun: str  # what a class may be reduced to: one value, or one bin
    one_value_from: Fraction | None  # None: at no t
    nothing_given_away_below: Fraction | None  # None: there is no value that could be given away
    from_superset: bool = False  # (n,t)-closeness: t is no limit on the distance from the whole table
    in_quantiles: Fraction | None = None  # the t from which on a class may show one bin only, if compared in such bins

    @property
    def answer(self) -> Answer:
        """Whether t limits the attribute: no class shows one value only."""
        if self.from_superset:
            return "undecided"
        return "yes" if self.one_value_from is None or self.t < self.one_value_from else "no"

    @property
    def claim(self) -> Claim:
        """The same in a sentence."""
        if self.answer == "undecided":
            needs = say("{columns} without n, or the groups of classes of a release", columns=columns([self.attribute]))
            return Claim(answer="undecided", says=self._of_supersets(), needs=needs)
        says = joined("; ", filter(None, (self.shares, self.alone, self.below)))
        return Claim(answer=self.answer, says=say("with t = {t}, {says}", t=number(self.t), says=says))

    @property
    def most_up(self) -> Fraction:
        """The largest share, rounded up."""
        return _up(self.most)

    @property
    def shares(self) -> str:
        """Say which shares some of the values can have in a class."""
        least_, most_ = percent(float(_down(self.least))), percent(float(self.most_up))
        rows = percent(float(self.share))
        return say(
            "{values} ({rows} of the rows) can be {least} to {most} of a class",
            values=say(self.of),
            rows=rows,
            least=least_,
            most=most_,
        )

    @property
    def alone(self) -> str:
        """Say from which t on a class may show one value only."""
        if self.one_value_from is None:
            return say("at no t does a class show one value only, unless half of the rows have it, or fewer than k")
        level = _level(self.one_value_from, up=True)
        return say("from t = {t} on, a class may show one {noun} only", t=level, noun=say(self.noun))

    @property
    def below(self) -> str:
        """Say below which t no value is given away."""
        if not self.nothing_given_away_below:
            return ""
        return say("below t = {level}, no value is given away", level=_level(self.nothing_given_away_below, up=False))

    @property
    def warning(self) -> str | None:
        """Say that t limits nothing, if so, and what would."""
        if self.answer != "no" or self.one_value_from is None:
            return None
        begins = _level(self.one_value_from, up=True)
        sentence = say(
            "t = {t} does not limit {columns}: from t = {begins} on, a class may show one {noun} only",
            t=number(self.t),
            columns=columns([self.attribute]),
            begins=begins,
            noun=say(self.noun),
        )
        if self.in_quantiles is not None and self.in_quantiles > self.t:
            later = _level(self.in_quantiles, up=False)
            return say(
                "{sentence}; compare it on bins = {{ quantiles = {quantiles} }}, where this begins at t = {later}",
                sentence=sentence,
                quantiles=QUANTILES,
                later=later,
            )
        return say("{sentence}; choose t below {level}", sentence=sentence, level=_level(self.one_value_from, up=False))

    def cells(self) -> tuple[str, ...]:
        """Return the row of a table: attribute, t, which values, their shares, and both levels."""
        asked = legible(self.attribute), number(self.t)
        if self.from_superset:
            return *asked, "not decided", "", "", "", ""
        alone = "never" if self.one_value_from is None else _level(self.one_value_from, up=True)
        below = _level(self.nothing_given_away_below, up=False) if self.nothing_given_away_below else "–"
        shares = percent(float(self.share)), percent(float(self.most_up))
        return *asked, SHORT[self.of], *shares, alone, below

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        claim = self.claim.to_dict()
        if self.from_superset:
            return {"t": float(self.t), **claim}
        return {
            "t": float(self.t),
            **claim,
            "of": self.of,
            "share": float(self.share),
            "least": float(self.least),
            "most": float(self.most),
            "one_value_from": _float(self.one_value_from),
            "nothing_given_away_below": _float(self.nothing_given_away_below),
        }

    def _of_supersets(self) -> str:
        return say(
            "t = {t} limits the distance from larger groups of rows, not from the table, so what a class "
            "may show of the table's values is not decided",
            t=number(self.t),
        )


def allowances(table: CodedTable | CountedTable, policy: Policy) -> dict[str, Allowance]:
    """Return what every t of a policy allows, by attribute; from the counts of the whole table alone."""
    found = ((name, allowance(column, policy)) for name, column in table.judged.items())
    return {name: each for name, each in found if each is not None}


def with_policy_notes(result: CheckResult, table: CodedTable | CountedTable, policy: Policy) -> CheckResult:
    """Add to a result what the steward should know about the policy, whatever the classes are."""
    allowed = allowances(table, policy)
    rigid = (rigidity.sentence for rigidity in rigid_attributes(table, policy))
    return replace(result, allows=allowed, notes=(*warnings_of(allowed), *rigid))


def warnings_of(allowed: Mapping[str, Allowance]) -> tuple[str, ...]:
    """Return a sentence for every t that limits nothing."""
    return tuple(warning for each in allowed.values() if (warning := each.warning) is not None)


def allowance(column: JudgedColumn, policy: Policy) -> Allowance | None:
    """Return what the t of one attribute allows; None if there is no t, or if all rows publish the same value."""
    spec, reference = policy.required[column.name], column.reference
    domain = _of_several_values(column, spec)
    published = reference if domain is None else np.append(domain.values.counts, domain.values.missing)
    if spec.t is None or np.count_nonzero(published) < 2:
        return None
    geometry, total = distance_of(column).geometry(len(reference)), int(reference.sum())
    of, chosen = _chosen(geometry, reference, spec.t, policy.k)
    found = Allowance(
        attribute=column.name,
        t=spec.t,
        of=of,
        share=Fraction(int(reference[chosen].sum()), total),
        least=least(geometry, reference, chosen, spec.t),
        most=most(geometry, reference, chosen, spec.t),
        noun="bin" if _in_bins(column) or spec.publish == "bin" else "value",
        one_value_from=one_value_from(column, policy),
        nothing_given_away_below=given_away_from(column, spec),
        from_superset=spec.n is not None,
    )
    return found if found.answer != "no" else replace(found, in_quantiles=_in_quantiles(column, policy))


def given_away_from(column: JudgedColumn, spec: Sensitive) -> Fraction | None:
    """Return the least t at which some class can make an uncommon value half-way certain; None if none can."""
    geometry = distance_of(column).geometry(len(column.reference))
    return least_to_reach(geometry, column.reference, _wanted(column, spec))


def allowance_of_domain(domain: SensitiveDomain, policy: Policy) -> Allowance | None:
    """Return what the t of one attribute allows, from the counts of its values."""
    return allowance(SensitiveColumn(domain, _NO_CODES), policy)


def one_value_from(column: JudgedColumn, policy: Policy) -> Fraction | None:
    """Return the least distance of a class that shows one value only; None if no class may."""
    chosen, geometry = _frequent(column, policy), distance_of(column).geometry(len(column.reference))
    if isinstance(column, JointColumn):
        for part, codes in zip(column.parts, column.tuples.T, strict=True):
            chosen &= _may_be_alone(part, policy, without=("(n,t)",))[codes]
    else:
        chosen &= _may_be_alone(column, policy, without=("t", "(n,t)"))
    return least_to_one_value(geometry, column.reference, chosen)


def _chosen(geometry: Geometry, reference: Ints, t: Fraction, k: int) -> tuple[str, Bools]:
    """Choose the values that an allowance speaks of: an end of a line, or the rarest value that could fill a class."""
    if isinstance(geometry, Line | LineWithLeaf):
        shown = np.flatnonzero(reference[:-1] if isinstance(geometry, LineWithLeaf) else reference)
        ends = {"its highest values": _tenth(reference, shown[::-1]), "its lowest values": _tenth(reference, shown)}
        of = max(ends, key=lambda end: most(geometry, reference, ends[end], t) - _share(reference, ends[end]))
        return of, ends[of]
    enough = np.flatnonzero(reference >= min(k, int(reference.max())))
    return "a value", np.arange(len(reference)) == int(enough[reference[enough].argmin()])


def _tenth(reference: Ints, order: Ints) -> Bools:
    """Choose the first values, in some order, that at most a tenth of the rows have together; at least one value."""
    few = int(np.searchsorted(np.cumsum(reference[order]), int(reference.sum()) // TENTHS, side="right"))
    return np.isin(np.arange(len(reference)), order[: max(few, 1)])


def _share(reference: Ints, chosen: Bools) -> Fraction:
    return Fraction(int(reference[chosen].sum()), int(reference.sum()))


def _frequent(column: JudgedColumn, policy: Policy) -> Bools:
    """Tell which values could fill a class without being the usual one: at least k rows have them, and less than half.

    A bin of half of the rows counts where it holds such a value.
    """
    reference, total = column.reference, int(column.reference.sum())
    frequent = np.asarray((reference >= policy.k) & (2 * reference < total))
    if (domain := _of_several_values(column, policy.required[column.name])) is not None:
        rows = domain.values.counts
        frequent[domain.code_of_value[(rows >= policy.k) & (2 * rows < total)]] = True
    return frequent


def _may_be_alone(column: SensitiveColumn, policy: Policy, without: tuple[str, ...]) -> Bools:
    """Tell which values a class may show alone by the models that a class's own counts decide."""
    shown = np.flatnonzero(column.reference)
    counts = Counts(np.arange(len(shown)), shown, column.reference[shown], len(column.reference))
    alone = np.zeros(len(column.reference), dtype=bool)
    alone[shown] = True
    for model in class_models_of(policy.sensitive[column.name], distance_of(column)):
        if model.name not in without:
            alone[shown] &= model.judge(counts, column.reference).admitted
    return alone


def _wanted(column: JudgedColumn, spec: Sensitive) -> Ints:
    """Return how many half rows give each value away, or a value of each bin; 0 where half of the rows have it."""
    reference, total = column.reference, int(column.reference.sum())
    if isinstance(column, JointColumn) and any(map(_in_bins, column.parts)):
        return np.zeros(len(reference), dtype=np.int64)  # not known: tuples of bins hold several tuples of values
    wanted = np.where((reference > 0) & (2 * reference < total), total + reference, 0)
    if (domain := _of_several_values(column, spec)) is not None:
        rows, least_ = domain.values.counts, np.full(len(reference), 2 * total)
        asked = (rows > 0) & (2 * rows < total)
        np.minimum.at(least_, domain.code_of_value[asked], total + rows[asked])
        holding = np.isin(np.arange(len(reference)), domain.code_of_value[asked])
        wanted = np.where(holding, least_, np.where(np.arange(len(reference)) == domain.missing_code, wanted, 0))
    return np.asarray(wanted, dtype=np.int64)


def _in_bins(column: JudgedColumn) -> bool:
    return isinstance(column, SensitiveColumn) and column.edges is not None


def _of_several_values(column: JudgedColumn, spec: Sensitive) -> SensitiveDomain | None:
    """Return the domain of a column that is compared in bins and published as it is."""
    published = isinstance(column, SensitiveColumn) and column.edges is not None and spec.publish != "bin"
    return column.domain if isinstance(column, SensitiveColumn) and published else None


def _in_quantiles(column: JudgedColumn, policy: Policy) -> Fraction | None:
    """Return the t from which on a class may show one bin only, were numbers compared in bins of equally many rows."""
    if isinstance(column, JointColumn) or column.domain.values.kind != "number":
        return None
    spec = policy.sensitive[column.name]
    declared = spec.order is not None or spec.domain is not None
    if column.distance != "ordered" or declared or (spec.bins is not None and spec.bins.kind == "quantiles"):
        return None
    binned = replace(spec, bins=Bins("quantiles", QUANTILES))
    domain = SensitiveDomain.of_values(column.domain.values, binned)
    asked = replace(policy, sensitive={**policy.sensitive, column.name: binned})
    return one_value_from(SensitiveColumn(domain, _NO_CODES), asked)


def _level(level: Fraction, *, up: bool) -> str:
    """Spell a level of t, rounded to the side on which the sentence stays true; a level of less than 0.001 in full."""
    rounded = _up(level) if up else _down(level)
    return number(rounded if rounded else level)


def _up(figure: Fraction) -> Fraction:
    return Fraction(math.ceil(figure * PLACES), PLACES)


def _down(figure: Fraction) -> Fraction:
    return Fraction(math.floor(figure * PLACES), PLACES)


def _float(figure: Fraction | None) -> float | None:
    return None if figure is None else float(figure)
