"""The independent verifier of a lower bound: a proof and the table in, yes or no out, in Python's integers.

Nothing of the search is used here, only the losses and the ground distances (problem.py). A proof is a sum of parts
about different quasi-identifiers. docs/bound.md proves each rule, and lists a verifier for one simple case.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np

from tclose.measure.bound.problem import UNIT, AxisLosses, BoundProblem, GroundDistance, least_rows
from tclose.partition.problem import Attribute
from tclose.types import Beat, Ints, still

FORMAT = 1
NOWHERE = -(10**60)  # below every price, as the price of a value that a box does not show
FAR = 2**60
MOST_CELLS = 16  # of a set, whose subsets are all listed

Cell = tuple[int, ...]


@dataclass(frozen=True)
class BoundVerdict:
    """Whether a proof holds for a table, and why not."""

    holds: bool
    reason: str = ""


class _Wrong(Exception):
    """The proof does not fit the table."""


def verify_bound(proof: Mapping[str, Any], problem: BoundProblem, beat: Beat = still) -> BoundVerdict:
    """Check a proof against the table: it holds if what it claims is at most what its prices prove."""
    try:
        _check_heading(proof, problem)
        claimed = Fraction(proof["bound"])
        proven = sum((part_value(part, problem, beat) for part in proof["parts"]), Fraction(0))
    except _Wrong as wrong:
        return BoundVerdict(False, str(wrong))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError):
        return BoundVerdict(False, "the file is not a proof of a lower bound, or it is damaged")
    proven /= max(len(problem.axes), 1)
    if claimed > proven:
        return BoundVerdict(False, "the proof shows less than it claims")
    return BoundVerdict(True)


def _check_heading(proof: Mapping[str, Any], problem: BoundProblem) -> None:
    if proof["format"] != FORMAT:
        raise _Wrong("the proof has another format than this version of tclose can read")
    if proof["table"] != problem.digest:
        raise _Wrong("the proof is about another table, or another policy")
    used = [axis for part in proof["parts"] for axis in part["axes"]]
    if len(used) != len(set(used)):
        raise _Wrong("the proof counts a quasi-identifier twice")
    if not set(used) <= set(problem.axis_names):
        raise _Wrong("the proof names a quasi-identifier that the table does not have")


def part_value(part: Mapping[str, Any], problem: BoundProblem, beat: Beat = still) -> Fraction:
    """Return the loss that one part proves: the mean over rows, summed over its quasi-identifiers."""
    checks = {"prices": _prices, "lattice": _lattice, "ball": _ball}
    return Fraction(checks[part["kind"]](part, problem, beat), UNIT * problem.rows)


def _prices(part: Mapping[str, Any], problem: BoundProblem, beat: Beat) -> int:
    """Return Σ over rows of u − δ in millionths."""
    ground = GroundDistance.of(problem.attributes[problem.attribute_names.index(part["attribute"])])
    rows = _counted(part, problem)
    prices = _whole(part["prices"], len(rows))
    dearest: dict[Cell, dict[int, int]] = {}
    for (cell, node), price in zip(rows, prices, strict=True):
        dearest.setdefault(cell, {})[node] = price
    axes = [_boxes(problem.losses[q], cut, cells) for q, cut, cells in _cuts(part, problem)]
    if part["kept"]:
        axes.insert(0, [([group], 0) for group in range(int(problem.groups.max(initial=-1)) + 1)])
    multipliers = iter(_whole(part["multipliers"], _count(axes)))
    delta = dict.fromkeys(dearest, 0)
    for box in product(*axes):
        beat()
        over = _violation(box, next(multipliers), dearest, ground)
        if over > 0:
            for cell in product(*(cells for cells, _ in box)):
                if cell in delta:
                    delta[cell] = max(delta[cell], over)
    return sum(count * (price - delta[cell]) for ((cell, _), count), price in zip(rows.items(), prices, strict=True))


def _violation(
    box: tuple[tuple[list[int], int], ...], multiplier: int, dearest: dict[Cell, dict[int, int]], ground: GroundDistance
) -> int:
    """Return by how much a class in the box may exceed the box's loss with its mean price."""
    shown: dict[int, int] = {}
    for cell in product(*(cells for cells, _ in box)):
        for node, price in dearest.get(cell, {}).items():
            shown[node] = max(price, shown.get(node, NOWHERE))
    loss, dearest_row = sum(loss for _, loss in box), max(shown.values(), default=0)
    if not shown or dearest_row <= loss:
        return 0
    return min(dearest_row, highest_mean(shown, max(multiplier, 0), ground)) - loss


def highest_mean(shown: Mapping[int, int], multiplier: int, ground: GroundDistance) -> int:
    """Return a whole number that no class within t has a higher mean price than, for any multiplier ≥ 0."""
    unit, t, total = ground.unit, ground.t, int(ground.counts.sum())
    best = [shown[node] * unit if node in shown else NOWHERE for node in range(len(ground.parents))]
    if ground.costs.size:
        offers = [(price * unit, ground.costs[node].tolist()) for node, price in shown.items()]
        best = [max(price - multiplier * costs[node] for price, costs in offers) for node in range(len(best))]
    else:
        for node, parent, length in reversed(ground.edges):
            if best[node] - multiplier * length > best[parent]:
                best[parent] = best[node] - multiplier * length
        for node, parent, length in ground.edges:
            if best[parent] - multiplier * length > best[node]:
                best[node] = best[parent] - multiplier * length
    work = sum(count * best[node] for node, count in ground.rows)
    whole = work * t.denominator + multiplier * unit * t.numerator * total
    return -(-whole // (total * unit * t.denominator))


def _counted(part: Mapping[str, Any], problem: BoundProblem) -> dict[tuple[Cell, int], int]:
    """Count the rows of each cell and node, in the order of the prices."""
    attribute = problem.attributes[problem.attribute_names.index(part["attribute"])]
    columns = [cells for _, _, cells in _cuts(part, problem)]
    if part["kept"]:
        columns.insert(0, problem.groups.tolist())
    counts: dict[tuple[Cell, int], int] = {}
    for *cell, value in zip(*columns, attribute.codes.tolist(), strict=True):
        counts[tuple(cell), value] = counts.get((tuple(cell), value), 0) + 1
    nodes = GroundDistance.of(attribute).node_of_value.tolist()
    return {(cell, nodes[value]): counts[cell, value] for cell, value in sorted(counts)}


def _cuts(part: Mapping[str, Any], problem: BoundProblem) -> Iterator[tuple[int, Any, list[int]]]:
    """Yield the axes of a part with their cuts, and the cell of every row."""
    for name, cut in zip(part["axes"], part["cuts"], strict=True):
        q = problem.axis_names.index(name)
        yield q, cut, _cells(problem.losses[q], cut)


def _cells(losses: AxisLosses, cut: Any) -> list[int]:
    """Return the cell of every row; missing cells get the number after the last."""
    codes = losses.codes.tolist()
    if losses.is_number:
        if cut[0] != 0 or any(b <= a for a, b in pairwise(cut)) or cut[-1] >= len(losses.low):
            raise _Wrong("the proof cuts a number in an impossible way")
        return [len(cut) if code < 0 else bisect_right(cut, code) - 1 for code in codes]
    if not losses.is_label:
        if any(type(cell) is not int or not 0 <= cell < MOST_CELLS for cell in cut):
            raise _Wrong("the proof cuts a set in an impossible way")
        return [cut[code] for code in codes]
    if type(cut) is not int or not 0 <= cut < len(losses.levels):
        raise _Wrong("the proof cuts a hierarchy in an impossible way")
    nodes = losses.levels[cut].tolist()
    used = sorted({nodes[code] for code in codes if code >= 0})
    place = {node: number for number, node in enumerate(used)}
    return [len(used) if code < 0 else place[nodes[code]] for code in codes]


def _boxes(losses: AxisLosses, cut: Any, cells: list[int]) -> list[tuple[list[int], int]]:
    """List the boxes of an axis: the cells of each, and its loss. A missing cell joins every box for nothing."""
    missing = [max(cells)] if bool((losses.codes < 0).any()) else []
    listed = _intervals(losses, cut) if losses.is_number else _nodes(losses, cut) if losses.is_label else None
    if listed is None:
        return _subsets(max(cells) + 1, losses.steps)
    return [([*held, *missing], max(loss, 0)) for held, loss in listed] + [(missing, 0)] * bool(missing)


def _intervals(losses: AxisLosses, cut: list[int]) -> Iterator[tuple[list[int], int]]:
    """From the last value of the first cell to the first value of the last cell is what a class loses at least."""
    low, high, ends = losses.low.tolist(), losses.high.tolist(), [*cut, len(losses.low)]
    for i in range(len(cut)):
        yield [i], min(high[code] - low[code] for code in range(ends[i], ends[i + 1]))
        for j in range(i + 1, len(cut)):
            yield list(range(i, j + 1)), high[ends[j]] - low[ends[i + 1] - 1]


def _nodes(losses: AxisLosses, height: int) -> Iterator[tuple[list[int], int]]:
    """All nodes above the cells that occur; below the height of the cells nothing counts as lost."""
    level = losses.levels[height].tolist()
    leaf_of = {level[code]: code for code in losses.codes.tolist() if code >= 0}
    leaves = [leaf_of[node] for node in sorted(leaf_of)]
    for h in range(height, len(losses.levels)):
        nodes, shares = losses.levels[h].tolist(), losses.shares(h).tolist()
        for node in sorted({nodes[leaf] for leaf in leaves}):
            held = [cell for cell, leaf in enumerate(leaves) if nodes[leaf] == node]
            yield held, shares[node] if h > height else 0


def _subsets(cells: int, steps: int) -> list[tuple[list[int], int]]:
    """All sets of cells: d cells show at least d values."""
    chosen = ([cell for cell in range(cells) if bits >> cell & 1] for bits in range(1, 1 << cells))
    return [(held, (len(held) - 1) * UNIT // steps) for held in chosen]


def _lattice(part: Mapping[str, Any], problem: BoundProblem, beat: Beat) -> int:
    """Return Σ over rows of u − δ in millionths, over all combinations of heights."""
    attribute = problem.attributes[problem.attribute_names.index(part["attribute"])]
    if not GroundDistance.of(attribute).is_star:
        raise _Wrong("the proof takes values for equally far apart that are not")
    cuts = zip(part["axes"], part["cuts"], strict=True)
    axes = [_heights(problem.losses[problem.axis_names.index(name)], cut) for name, cut in cuts]
    columns = [problem.groups.tolist(), *(heights[0][0] for heights in axes)]
    rows: dict[tuple[Cell, int], int] = {}
    for *cell, value in zip(*columns, attribute.codes.tolist(), strict=True):
        rows[tuple(cell), value] = rows.get((tuple(cell), value), 0) + 1
    prices = dict(zip(sorted(rows), _whole(part["prices"], len(rows)), strict=True))
    first = {cell: row for row, cell in reversed(list(enumerate(zip(*columns, strict=True))))}
    table = _LatticeTable(attribute, least_rows(problem), rows, prices, list(first))
    delta = dict.fromkeys(first, 0)
    kept = [cell[0] for cell in first]
    for heights in product(*axes):
        beat()
        box_of_cell, loss_of_cell = kept, [0] * len(first)
        for nodes, losses in heights:
            width = len(losses)
            box_of_cell = [box * width + nodes[row] for box, row in zip(box_of_cell, first.values(), strict=True)]
            loss_of_cell = [loss + losses[nodes[row]] for loss, row in zip(loss_of_cell, first.values(), strict=True)]
        table.raise_delta(delta, box_of_cell, loss_of_cell)
    return sum(count * (prices[group] - delta[group[0]]) for group, count in rows.items())


def _heights(losses: AxisLosses, cut: int) -> list[tuple[list[int], list[int]]]:
    """Return, per height, the node of every row and the loss of each node; a set has one value or several."""
    if losses.is_number or bool((losses.codes < 0).any()):
        raise _Wrong("the proof lists nodes of a quasi-identifier that has none, or has missing cells")
    codes = losses.codes
    if losses.is_label:
        heights = [(level[codes].tolist(), losses.shares(h).tolist()) for h, level in enumerate(losses.levels)]
    else:
        heights = [(codes.tolist(), [0] * (int(codes.max()) + 1)), ([0] * len(codes), [UNIT // losses.steps])]
    if type(cut) is not int or not 0 <= cut < len(heights):
        raise _Wrong("the proof cuts a hierarchy in an impossible way")
    nodes, shares = heights[cut]
    return [(nodes, [0] * len(shares)), *heights[cut + 1 :]]


class _LatticeTable:
    """The groups of a lattice: shares are counted in units of 1/(rows of the table × rows of the smallest class)."""

    def __init__(
        self,
        attribute: Attribute,
        least: int,
        rows: Mapping[tuple[Cell, int], int],
        prices: Mapping[tuple[Cell, int], int],
        cells: list[Cell],
    ) -> None:
        assert attribute.t is not None
        total = int(attribute.reference.sum())
        self.whole = total * least
        self.allowed = -(-attribute.t.numerator * self.whole // attribute.t.denominator)
        self.shares = [count * least for count in attribute.reference.tolist()]
        self.cells, self.dearest = cells, max(prices.values(), default=0)
        self.groups: dict[Cell, list[tuple[int, int, int]]] = {cell: [] for cell in cells}
        for (cell, value), price in prices.items():
            self.groups[cell].append((value, price, rows[cell, value] * total))

    def raise_delta(self, delta: dict[Cell, int], box_of_cell: list[int], loss_of_cell: list[int]) -> None:
        """Raise δ of all cells to the violations of the boxes of one combination of heights."""
        boxes: dict[int, list[Cell]] = {}
        losses = {}
        for cell, box, loss in zip(self.cells, box_of_cell, loss_of_cell, strict=True):
            if loss < self.dearest:
                boxes.setdefault(box, []).append(cell)
                losses[box] = loss
        for box, cells in boxes.items():
            groups = [group for cell in cells for group in self.groups[cell]]
            shown = {value for value, _, _ in groups}
            if self.whole - sum(self.shares[value] for value in shown) <= self.allowed:
                over = self.highest_mean(groups) - losses[box]
                for cell in cells if over > 0 else ():
                    delta[cell] = max(delta[cell], over)

    def highest_mean(self, groups: list[tuple[int, int, int]]) -> int:
        """Return the highest mean price of a class of these groups within t, rounded up; NOWHERE if there is none.

        What a value has up to the table's share is free; what it has beyond is limited by t. Start with everything
        that is free, fill up with the dearest of the rest, then exchange cheap free rows for dear ones beyond.
        """
        free, beyond, left = [], [], dict(enumerate(self.shares))
        for value, price, cap in sorted(groups, key=lambda group: -group[1]):
            inside = min(cap, left[value])
            left[value] -= inside
            free.append([price, inside])
            beyond.append((price, cap - inside))
        lacking = self.whole - sum(mass for _, mass in free)
        total, exchanged = sum(price * mass for price, mass in free), self.allowed - lacking
        for price, mass in beyond:
            filled = min(mass, lacking)
            total, lacking, mass = total + price * filled, lacking - filled, mass - filled
            while mass and exchanged > 0 and free and free[-1][0] < price:
                moved = min(mass, exchanged, free[-1][1])
                total, exchanged, mass = total + moved * (price - free[-1][0]), exchanged - moved, mass - moved
                free[-1][1] -= moved
                if not free[-1][1]:
                    free.pop()
        return NOWHERE if lacking > 0 or exchanged < 0 else -(-total // self.whole)


def _ball(part: Mapping[str, Any], problem: BoundProblem, beat: Beat) -> int:
    """Return Σ over rows of the radius of their cell in millionths, after a look at every pair of cells."""
    codes = np.stack([problem.groups, *(losses.codes for losses in problem.losses)], axis=1)
    cells, cell_of_row, rows = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    radii, least = _whole(part["radii"], len(cells)), least_rows(problem)
    if part["axes"] != list(problem.axis_names):
        raise _Wrong("the proof leaves quasi-identifiers out of its balls")
    for cell, radius in enumerate(radii):
        beat()
        if radius > 0:
            inside = _within(problem, cells, cell, radius)
            if int(rows[inside].sum()) >= least and _values_suffice(problem, inside[cell_of_row.reshape(-1)]):
                raise _Wrong("the proof claims that a class cannot be formed where it can")
    return sum(int(count) * max(radius, 0) for count, radius in zip(rows, radii, strict=True))


def _within(problem: BoundProblem, cells: Ints, cell: int, radius: int) -> Any:
    """Mark the cells that one box with a given cell holds for less than the radius."""
    total = np.where(cells[:, 0] == cells[cell, 0], 0, FAR)
    for q, losses in enumerate(problem.losses, start=1):
        a, b = np.minimum(cells[:, q], cells[cell, q]), np.maximum(cells[:, q], cells[cell, q])
        if losses.is_number:
            loss = np.maximum(losses.high[b] - losses.low[a], 0)
        elif losses.is_label:
            loss = np.full(len(cells), UNIT)
            for h in reversed(range(len(losses.levels))):
                level = losses.levels[h]
                loss = np.where(level[a] == level[b], losses.shares(h)[level[a]], loss)
        else:
            loss = np.where(a == b, 0, UNIT // losses.steps)
        total = total + np.where(a < 0, 0, loss)
    return total < radius


def _values_suffice(problem: BoundProblem, rows: Any) -> bool:
    """Tell whether the values of these rows could, in any shares, be within every t."""
    for attribute in problem.attributes:
        ground = GroundDistance.of(attribute)
        shown = dict.fromkeys(ground.node_of_value[np.unique(attribute.codes[rows])].tolist(), 0)
        multiplier = int(ground.counts.sum()) * ground.unit * ground.t.denominator  # so large that nothing is rounded
        if highest_mean(shown, multiplier, ground) < 0:  # all prices are 0: the way to the values shown is beyond t
            return False
    return True


def _whole(numbers: Any, count: int) -> list[int]:
    """Take a list of so many whole numbers."""
    if len(numbers) != count or any(type(number) is not int for number in numbers):
        raise _Wrong("the proof has another number of prices than the table has groups of rows")
    return list(numbers)


def _count(axes: list[list[tuple[list[int], int]]]) -> int:
    count = 1
    for boxes in axes:
        count *= len(boxes)
    return count
