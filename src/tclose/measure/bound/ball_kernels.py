"""Compiled: how far from a cell one has to go until a class could be formed (see ball.py)."""

from __future__ import annotations

from tclose.partition.shared.kernels import kernel, part
from tclose.types import Ints

FAR = 2**60


@kernel
def pair_losses(
    numbers: Ints, low: Ints, high: Ints, meeting: Ints, codes: Ints, groups: Ints, cell: int, losses: Ints
) -> None:
    """Set the loss of the smallest box that holds a given cell and each other cell; FAR if no class may hold both."""
    for j in range(len(codes)):
        total = 0 if groups[j] == groups[cell] else FAR
        for q in range(codes.shape[1]):
            a = min(codes[cell, q], codes[j, q])
            b = max(codes[cell, q], codes[j, q])
            if a >= 0:
                total += max(0, high[q, b] - low[q, a]) if numbers[q] else meeting[q, a, b]
        losses[j] = total


@kernel
def loss_to_rows(losses: Ints, rows: Ints, least: int, kept: Ints, kept_rows: Ints) -> int:
    """Return the least loss within which there are at least so many rows; FAR if there are too few."""
    size = total = 0
    for j in range(len(losses)):
        if losses[j] >= FAR or (total >= least and losses[j] >= kept[size - 1]):
            continue
        place = size
        while place > 0 and kept[place - 1] > losses[j]:
            kept[place] = kept[place - 1]
            kept_rows[place] = kept_rows[place - 1]
            place -= 1
        kept[place] = losses[j]
        kept_rows[place] = rows[j]
        total += rows[j]
        size += 1
        while total - kept_rows[size - 1] >= least:
            size -= 1
            total -= kept_rows[size]
    return kept[size - 1] if total >= least else FAR


@part
def _work(parents: Ints, lengths: Ints, costs: Ints, counts: Ints, first: Ints, radius: int, near: Ints) -> int:
    """Return rows × units of the way from every row of the table to the nearest value within the radius."""
    nodes = len(counts)
    if costs.shape[0]:
        for q in range(nodes):
            near[q] = FAR
            for v in range(nodes):
                if first[v] <= radius and costs[q, v] < near[q]:
                    near[q] = costs[q, v]
    else:
        for i in range(nodes):
            near[i] = 0 if first[i] <= radius else FAR
        for i in range(nodes - 1, 0, -1):
            near[parents[i]] = min(near[parents[i]], near[i] + lengths[i])
        for i in range(1, nodes):
            near[i] = min(near[i], near[parents[i]] + lengths[i])
    total = 0
    for i in range(nodes):
        if counts[i]:
            total += counts[i] * near[i]
    return total


@kernel
def loss_to_values(
    parents: Ints,
    lengths: Ints,
    costs: Ints,
    counts: Ints,
    allowed: int,
    losses: Ints,
    cell_of_group: Ints,
    node_of_group: Ints,
    first: Ints,
    rising: Ints,
    near: Ints,
) -> int:
    """Return the least loss within which there are values enough for a class within t; FAR if there never are."""
    first[:] = FAR
    for g in range(len(cell_of_group)):
        loss = losses[cell_of_group[g]]
        if loss < first[node_of_group[g]]:
            first[node_of_group[g]] = loss
    rising[:] = first
    rising.sort()
    known = 0
    while known < len(rising) and rising[known] < FAR:
        known += 1
    if not known or _work(parents, lengths, costs, counts, first, rising[known - 1], near) > allowed:
        return FAR
    low, high = -1, known - 1
    while high - low > 1:
        middle = (low + high) // 2
        if _work(parents, lengths, costs, counts, first, rising[middle], near) <= allowed:
            high = middle
        else:
            low = middle
    return int(rising[high])
