"""What weave may spend (its effort) and what each class has to hold (its limits)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tclose.partition.problem import Attribute, WholeTable
from tclose.partition.shared.kernels import array, kernel_struct
from tclose.partition.weave.trees import LimitTree, limit_trees
from tclose.privacy.base import Rule
from tclose.types import Ints, SmallInts

EffortName = Literal["fast", "balanced", "best"]
EFFORTS: tuple[EffortName, ...] = get_args(EffortName)

FEW_ROWS = 500  # of a table on which further passes cost almost nothing
VERY_FEW_ROWS = 100  # of a table on which several starts cost almost nothing
MANY_ROWS = 200_000  # from which on steps per row are few, and classes are formed with one share of t
SHARES = (0.4, 0.55, 0.7, 0.85)  # of t that a cell may use up, in every effort
LARGE_SHARES = (1.0, 0.9)  # of which one is chosen for many rows
SLICE, SLICE_STEPS = 8, 5e4  # steps of one slice, per row and in all, at least
MOST_SLICES = 6  # of a pass
STEPS_AT_ONE = 34  # per row, of a pass whose first price is one
MOST_PRICE = 10.0  # the first, at most
AXIS_HEAT = 0.03  # per quasi-identifier, of `best`
RECUTS = (8000, 8000, 4000, 2000)  # rows of groups of cells
MANY_SLICE = 1.5  # steps of one slice, per row, of many rows
PAYS = 0.05  # of the loss, by one step for each row


@dataclass(frozen=True)
class Pass:
    """One pass over all groups of classes: some are carved again, then rows are exchanged."""

    steps: float  # per row
    heat: tuple[float, float] = (0.3, 0.003)  # the first and the last temperature, in loss
    price: tuple[float, float] = (3.0, 1000.0)  # of one row·distance beyond a limit, the first and the last
    candidates: int = 8  # classes that a row chooses from, at most
    drawn: int = 1  # rows of which a step takes the one whose class loses most
    tries: int = 16  # rows of the other class that a swap tries
    moves: float = 0.25  # of the steps; the others are swaps
    rounds: float = 1.0  # carvings for each class
    slices: int = 1  # of the steps; the groups change after each
    axis_heat: float = 0.0  # per quasi-identifier: the first temperature, at least
    pays: float = 0.0  # share of the loss that a step for each row must have taken away before, for all steps
    few_steps: float = 0.0  # per row, where exchanges have not paid


@dataclass(frozen=True)
class Effort:
    """How many starts are improved, and for how long. The first start of an effort is what a smaller one made."""

    shares: tuple[float, ...]  # of t that a cell may use up; classes are formed with each, or with one of them
    group: int  # rows of a group, within which classes exchange rows
    passes: tuple[Pass, ...]  # the first improves every start, the others the best of them
    starts: int = 1
    joined: int = 4  # classes carved again together
    piloted: bool = False  # whether one share is chosen, on samples
    formed: float = 0.0  # progress when classes have been formed
    recuts: tuple[int, ...] = ()  # rows of the groups in which cells are cut again, one number for each time


def effort_within(name: EffortName, whole: WholeTable) -> Effort:
    """Return what an effort means for a part of a table: the same as for all of it."""
    effort = effort_for(name, whole.rows)
    return effort if whole.share is None else replace(effort, shares=(whole.share,), piloted=False)


def effort_for(name: EffortName, rows: int) -> Effort:
    """Return what an effort means for a table of so many rows; a large table gets fewer steps for each of its rows."""
    if rows >= MANY_ROWS:
        formed = 0.4 if name == "fast" else 0.0
        plan = _pass_over_many(name, rows)
        return Effort(LARGE_SHARES, 8000, (plan,), piloted=True, formed=formed, recuts=RECUTS)
    if name == "fast":
        return Effort(SHARES, 8000, (_steps(rows, least=2.5, shared=4e5, most=20),), formed=0.4)
    if name == "balanced":
        plan = _continued(_steps(rows, least=20, shared=1e6, most=220))
    else:
        plan = replace(_continued(_steps(rows, least=100, shared=2.7e6, most=2350)), drawn=2, axis_heat=AXIS_HEAT)
    passes = (plan, _again(plan), _again(plan)) if rows <= FEW_ROWS else (plan,)
    return Effort(SHARES, 16_000, passes, starts=4 if rows <= VERY_FEW_ROWS else 1)


def _pass_over_many(name: EffortName, rows: int) -> Pass:
    """Return the pass of an effort over many rows: nothing is carved again, and `best` begins colder and dearer."""
    if name == "fast":
        plan = _many_steps(rows, least=0.5, shared=4e5)
    elif name == "balanced":
        plan = replace(_many_steps(rows, least=8, shared=1e6), pays=PAYS, few_steps=_few_steps(rows))
    else:
        plan = replace(_many_steps(rows, least=25, shared=2.7e6), price=(10.0, 1000.0))
    return replace(plan, heat=(0.03 if name == "best" else 0.1, 0.001))


def _many_steps(rows: int, *, least: float, shared: float) -> Pass:
    """Return a pass over many rows: more moves, fewer tries, and groups that change often."""
    steps = least + shared / rows
    return Pass(steps, drawn=4, tries=8, moves=0.6, rounds=0.0, slices=_slices(steps))


def _slices(steps: float) -> int:
    """Return into how many slices the steps over many rows are cut."""
    return min(max(round(steps / MANY_SLICE), 1), MOST_SLICES)


def _few_steps(rows: int) -> float:
    """Return the steps of `balanced` where exchanges pay little; from 700,000 rows on, the same for each row."""
    return min(6.0, max(3.0, 1.5 * (1e6 / rows) ** 2))


def worthwhile(plan: Pass, gained: float) -> Pass:
    """Return as much of a pass as is worth its time, if a step for each row has just taken away a share of the loss."""
    if gained >= plan.pays:
        return plan
    return replace(plan, steps=plan.few_steps, slices=_slices(plan.few_steps))


def _continued(plan: Pass) -> Pass:
    """Return a pass over classes that have been improved before: it begins colder, and dearer where it is long."""
    first = min((plan.steps / STEPS_AT_ONE) ** 2, MOST_PRICE)
    return replace(plan, heat=(0.1, plan.heat[1]), price=(first, plan.price[1]))


def _again(plan: Pass) -> Pass:
    """Return a shorter pass that begins still colder."""
    return colder(replace(plan, steps=plan.steps / 4), (0.03, plan.heat[1]), (30.0, plan.price[1]))


def colder(plan: Pass, heat: tuple[float, float], price: tuple[float, float]) -> Pass:
    """Return the pass with just this course of temperature and price."""
    return replace(plan, heat=heat, price=price, axis_heat=0.0)


def _steps(rows: int, *, least: float, shared: float, most: float) -> Pass:
    """Return a pass with some steps for each row, and others that all rows share."""
    steps = min(most, least + shared / max(rows, 1))
    slices = min(round(steps / SLICE), round(steps * rows / SLICE_STEPS), MOST_SLICES)
    return Pass(steps, slices=max(slices, 1))


# Distances as sums that 64 bits can hold


SAFE = 2**61  # sums and products of two such numbers fit into 64 bits
LARGEST = 2**63 - 1  # that 64 bits can hold
NEGLIGIBLE = Fraction(1, 2**17)  # of t, lost by rounding
MOST_BITS, LEAST_BITS = 30, 12  # of the rows that may stand for the table's


@dataclass(frozen=True)
class ScaledTree:
    """The numbers of a tree as kernels read them; they never allow more than t does."""

    total: int  # rows that stand for the table's
    reference: list[int]  # per edge
    weights: list[int]  # per edge
    level: Fraction  # work allowed per row of a class
    scale: float  # the work per row of a distance of 1


@dataclass(frozen=True)
class _Scaling:
    """One way to scale a tree: how many rows stand for the table's, and by what the weights are divided."""

    total: int
    divisor: int
    moved: Fraction  # the distance by which the counts move
    widened: Fraction  # the share by which the weights grow

    def loss(self, t: Fraction) -> Fraction:
        """Return how much of t is lost, about."""
        return t * self.widened + self.moved


def scaled_tree(tree: LimitTree, rows: int) -> ScaledTree:
    """Scale a tree for classes of at most so many rows; counts stay as they are where that costs next to nothing."""
    scaling = _scaling(tree, rows)
    whole = tree.unit * scaling.total
    level = max(tree.t - scaling.moved, Fraction(0)) * Fraction(whole, scaling.divisor)
    if level.numerator * rows >= SAFE or level.denominator > LARGEST:
        finest = max(1, SAFE // (rows * (math.floor(level) + 1)))
        level = Fraction(math.floor(level * finest), finest)
    return ScaledTree(
        total=scaling.total,
        reference=_scaled_counts(tree, scaling.total),
        weights=_divided(tree.weight, scaling.divisor),
        level=level,
        scale=max(whole / scaling.divisor, 1.0),
    )


def _scaling(tree: LimitTree, rows: int) -> _Scaling:
    """Return the first scaling that loses next to nothing, or else the one that loses least."""
    tried = []
    for total in _totals(tree, rows):
        scaling = _scaling_to(tree, rows, total)
        if scaling.loss(tree.t) <= tree.t * NEGLIGIBLE:
            return scaling
        tried.append(scaling)
    fitting = [each for each in tried if each.widened < 1 and each.moved < 1]  # or else sums could pass 64 bits
    return min(fitting or tried, key=lambda each: each.loss(tree.t))


def _totals(tree: LimitTree, rows: int) -> Iterator[int]:
    """Yield numbers of rows that may stand for the table's: its own, the most with undivided weights, powers of 2."""
    yield tree.total
    undivided = (math.isqrt(rows**2 + 4 * SAFE // tree.unit) - rows) // 2
    smaller = [undivided, *(2**bits for bits in range(MOST_BITS, LEAST_BITS - 1, -1))]
    yield from (total for total in smaller if 0 < total < tree.total)


def _scaling_to(tree: LimitTree, rows: int, total: int) -> _Scaling:
    divisor = -(-tree.unit * total * (rows + total) // SAFE)
    widened = Fraction(0)
    if divisor > 1:
        grown = sum(_divided(tree.weight, divisor)) * divisor
        widened = Fraction(grown, max(sum(tree.weight), 1)) - 1
    return _Scaling(total, divisor, _moved(tree, total), widened)


def _moved(tree: LimitTree, total: int) -> Fraction:
    """Return the largest difference that scaled counts make to a distance."""
    if total == tree.total:
        return Fraction(0)
    scaled = zip(tree.weight, tree.reference, _scaled_counts(tree, total), strict=True)
    moved = sum(weight * abs(new * tree.total - old * total) for weight, old, new in scaled)
    return Fraction(moved, tree.unit * total * tree.total)


def _scaled_counts(tree: LimitTree, total: int) -> list[int]:
    if total == tree.total:
        return tree.reference
    return [(2 * count * total + tree.total) // (2 * tree.total) for count in tree.reference]


def _divided(weights: list[int], divisor: int) -> list[int]:
    return [-(-weight // divisor) for weight in weights]


# The limits


__all__ = ["SAFE", "Limits", "limits_of"]

Records = NDArray[np.void]

ATTRIBUTE = np.dtype(
    [
        ("kind", "i8"),  # DISTANCE, RULE or GUARDED
        ("edge", "i8"),  # the first of its edges
        ("path_end", "i8"),  # the edges before this one are a path along the values
        ("edge_end", "i8"),
        ("value", "i8"),  # the first of its values
        ("values", "i8"),  # how many
        ("above", "i8"),  # where the edges above its first value begin in `above`
        ("depth", "i8"),  # the edges above each value
        ("total", "i8"),  # rows of the table, or those that stand for them
        ("allowed", "i8"),  # work allowed per row of a class: allowed / allowed_per
        ("allowed_per", "i8"),
        ("scale", "f8"),  # the work per row of a distance of 1
        ("free_size", "i8"),  # rows from which on a class is admitted whatever its work
        ("guard", "i8"),  # of a threshold for a group: the edge beyond which its rows are
        ("distinct", "i8"),  # of a rule: least number of different values
        ("entropy", "f8"),  # of a rule: least entropy in nats, 0 for none
        ("kl", "f8"),  # of a rule: largest divergence from the table in nats, infinite for none
        ("c", "i8"),  # of a rule: recursive (c/c_per, l)-diversity, l = 0 for none
        ("c_per", "i8"),
        ("l", "i8"),
    ],
    align=True,
)
EDGE = np.dtype([("reference", "i8"), ("weight", "i8")], align=True)
SHARE = np.dtype(
    [("most", "i8"), ("most_per", "i8"), ("least", "i8"), ("least_per", "i8"), ("surprisal", "f8")], align=True
)


@kernel_struct
class Limits:
    """The limits of all attributes; `attributes` says where each attribute's part of the other arrays begins."""

    attributes: Records = array(ATTRIBUTE)
    codes: SmallInts = array(np.int32, 2)  # rows × attributes
    edges: Records = array(EDGE)
    shares: Records = array(SHARE)  # per edge: what a rule allows as the share of a class, and −ln of the table's
    above: SmallInts = array(np.int32)  # the edges above each value, those of a path left out
    persons: SmallInts = array(np.int32)  # the person of each row; empty where no person has several rows
    least_persons: Ints = array(np.int64)  # one number: of a class, where persons are counted

    def part(self, rows: NDArray[np.signedinteger]) -> Limits:
        """Return the limits with the codes of some rows, in this order."""
        persons = self.persons[rows] if len(self.persons) else self.persons
        return replace(self, codes=self.codes.take(rows, axis=0), persons=persons)


def limits_of(sensitive: tuple[Attribute, ...], rows: int, persons: Ints | None = None, k: int = 1) -> Limits:
    """Lay the limits of all attributes out in arrays; with the persons of the rows, a class must have k of them."""
    trees = limit_trees(sensitive)
    scaled = [scaled_tree(tree, rows) for tree in trees]
    attributes, above = np.zeros(len(trees), ATTRIBUTE), [np.zeros(0, np.int32)]
    codes = np.empty((rows, len(trees)), dtype=np.int32)
    edge = value = 0
    for a, tree in enumerate(trees):
        codes[:, a] = tree.codes
        attributes[a] = _attribute(tree, scaled[a], edge, value, sum(map(len, above)), rows)
        above.append((tree.above + edge).astype(np.int32).ravel())
        edge += len(tree.weight)
        value += len(tree.above)
    edges = [pair for each in scaled for pair in zip(each.reference, each.weights, strict=True)]
    shares = [bounds for tree in trees for bounds in _share_bounds(tree, rows)]
    return Limits(
        attributes,
        codes,
        np.array(edges, EDGE),
        np.array(shares, SHARE),
        np.concatenate(above),
        np.zeros(0, np.int32) if persons is None else persons.astype(np.int32),
        np.array([k]),
    )


def _attribute(tree: LimitTree, scaled: ScaledTree, edge: int, value: int, above: int, rows: int) -> tuple[float, ...]:
    """Return the ATTRIBUTE of a limit whose edges, values and edges above values begin at these places."""
    rule = tree.rule or Rule()
    c, l = rule.recursive or (Fraction(1), 0)  # noqa: E741 - the paper's letter
    c = _fitted_c(c, rows)
    return (
        *(tree.kind, edge, edge + tree.path, edge + len(tree.weight)),
        *(value, len(tree.above), above, tree.above.shape[1]),
        *(scaled.total, scaled.level.numerator, scaled.level.denominator, scaled.scale, tree.free_size),
        *(edge + tree.guard, rule.distinct, rule.entropy, rule.divergence, c.numerator, c.denominator, l),
    )


def _fitted_c(c: Fraction, rows: int) -> Fraction:
    """Return the c of recursive (c,l)-diversity as 64 bits can hold it; every class is admitted as by c itself.

    largest < c·tail is a comparison with largest/tail, whose numerator is at most `rows`. If it reaches c, then its
    denominator is at most rows/c, and never above rows. So the smallest such fraction that reaches c can stand for c.
    """
    if max(c.numerator, c.denominator) * rows < SAFE:
        return c
    most = min(rows, max(1, math.floor(rows / c)))
    nearest = c.limit_denominator(most)
    if nearest < c:  # take its successor among the fractions with such denominators
        a, b = nearest.numerator, nearest.denominator
        first = -pow(a, -1, b) % b
        last = first + (most - first) // b * b
        nearest = Fraction(1 + last * a, b * last)
    return min(nearest, Fraction(rows + 1))


def _share_bounds(tree: LimitTree, rows: int) -> Iterator[tuple[int, int, int, int, float]]:
    """Yield the largest and the smallest share of a class per value, 1 and 0 where no rule limits it; and −ln q."""
    rule, count = tree.rule or Rule(), len(tree.weight)
    most, least = rule.most or [Fraction(1)] * count, rule.least or [Fraction(0)] * count
    for high, low, surprisal in zip(most, least, rule.surprisal or [0.0] * count, strict=True):
        upper, lower = _fitted(min(high, Fraction(1)), rows, math.floor), _fitted(low, rows, math.ceil)
        yield upper.numerator, upper.denominator, lower.numerator, lower.denominator, surprisal


def _fitted(share: Fraction, rows: int, rounded: Callable[[Fraction], int]) -> Fraction:
    """Return a share that 64 bits can hold when multiplied by rows, rounded to the strict side."""
    if share.numerator * rows < SAFE and share.denominator < SAFE:
        return share
    finest = max(1, SAFE // (2 * rows))
    return Fraction(rounded(share * finest), finest)
