"""The cut of a table into parts, as rules that tell the part of any row from the row itself.

A rule is one cut of weave's bisection, written down: the order of the quasi-identifiers, how many strata of the
sensitive values it needed, and for every stratum the first row, in that order, that goes to the right. Rows that are
alike where the cut falls are divided by a random number of their own, and so are rows that share the sensitive value
at which a stratum ends. So a row's part depends on nothing but the row, in whatever order and place it is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.errors import InternalError
from tclose.partition.shared.kernels import kernel, part
from tclose.partition.shared.structs import array, kernel_struct
from tclose.partition.weave.bisection import DEPTH
from tclose.types import Bools, Ints, SmallInts

RandomNumbers = NDArray[np.uint64]
Codes = NDArray[np.signedinteger[Any]]

STRATA = (1 << DEPTH) - 1  # places at which strata are halved, all levels together
LOWEST, HIGHEST = -(2**62), 2**62  # below and above every code and every random number
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # of SplitMix64 (Steele, Lea and Flood 2014), as are the next two
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def random_of_rows(seed: int, first: int, rows: int) -> RandomNumbers:
    """Return a random number for each row from number `first` on; it depends on the seed and the row's number only."""
    return random_of_numbers(seed, np.arange(first, first + rows, dtype=np.uint64))


def random_of_numbers(seed: int, numbers: RandomNumbers) -> RandomNumbers:
    """Return a random number for each row, given the rows' own numbers."""
    start = np.random.default_rng(seed).integers(2**64, dtype=np.uint64)
    x = (numbers + np.uint64(1)) * GOLDEN + start
    x = (x ^ (x >> np.uint64(30))) * FIRST
    x = (x ^ (x >> np.uint64(27))) * SECOND
    return x ^ (x >> np.uint64(31))


def halves_of(random: RandomNumbers) -> tuple[Ints, Ints]:
    """Return two independent numbers per row: one divides sensitive values, the other rows with equal values."""
    return (random >> np.uint64(32)).astype(np.int64), (random & np.uint64(0xFFFFFFFF)).astype(np.int64)


@kernel_struct
class CutRules:
    """The arrays of a cut as the kernel reads them."""

    limit_attribute: Ints = array(np.int64)  # per limit: the sensitive attribute whose values it orders
    limit_start: Ints = array(np.int64)  # per limit: where the places of its values begin
    places: Ints = array(np.int64)  # per value of every limit: its place in the limit's order
    strata: Ints = array(np.int64, 2)  # per halving of a stratum: place and random number of the first row above
    children: Ints = array(np.int64, 2)  # per node: the nodes to the left and to the right, -1 for none
    axis: Ints = array(np.int64)  # per node: the first quasi-identifier of its order; the others follow cyclically
    bits: Ints = array(np.int64)  # per node: halvings of the sensitive values
    first: Ints = array(np.int64)  # per node: where its thresholds begin, one per stratum
    thresholds: Ints = array(np.int64, 2)  # codes in the node's order and random number of the first row to the right


@dataclass(frozen=True, eq=False)
class Cut:
    """A tree of rules over rows as codes; node 0 is the whole table, and `part` numbers the parts by their nodes.

    The arrays are those of `CutRules`. A cut is small and can be pickled; `to_dict` has plain integers only.
    """

    axes: int  # quasi-identifiers
    limit_attribute: Ints
    limit_start: Ints
    places: Ints
    strata: Ints
    children: Ints
    axis: Ints
    bits: Ints
    first: Ints
    thresholds: Ints
    part: Ints  # per node: the part of its rows; -1 where its children are different parts

    @property
    def parts(self) -> int:
        """How many parts there are."""
        return int(self.part.max()) + 1

    def parts_of(self, axis_codes: Codes, sensitive_codes: Codes, random: RandomNumbers) -> Ints:
        """Return the part of each row, counted from 0.

        `axis_codes` are rows × quasi-identifiers, `sensitive_codes` rows × sensitive attributes, and `random` has one
        number per row (`random_of_rows`).
        """
        return self.part[self.placed(axis_codes, sensitive_codes, random)[0]]

    def placed(self, axis_codes: Codes, sensitive_codes: Codes, random: RandomNumbers) -> tuple[SmallInts, SmallInts]:
        """Return the last node that each row reaches, and its stratum."""
        rows = len(random)
        judged = int(self.limit_attribute.max(initial=-1)) + 1
        shape = (len(sensitive_codes), min(sensitive_codes.shape[1], judged))
        if axis_codes.shape != (rows, self.axes) or shape != (rows, judged):
            raise InternalError("a cut needs a code per row and quasi-identifier, and a random number per row")
        nodes, strata = np.empty(rows, dtype=np.int32), np.empty(rows, dtype=np.int32)
        rules = CutRules(*(getattr(self, member.name) for member in fields(CutRules)))
        axes, sensitive = (np.ascontiguousarray(each, dtype=np.int32) for each in (axis_codes, sensitive_codes))
        _place(rules, axes, sensitive, np.ascontiguousarray(random, dtype=np.uint64), nodes, strata)
        return nodes, strata

    @property
    def spans(self) -> Ints:
        """The first part of each node, and the part after its last one; the parts of a cut that is not joined."""
        spans = np.stack([self.part, self.part + 1], axis=1)
        for node in range(len(spans) - 1, -1, -1):
            left, right = self.children[node]
            if left >= 0:
                spans[node] = spans[left, 0], spans[right, 1]
        return spans

    def joined(self, admitted: Bools) -> Cut:
        """Return the cut in which every part that is not admitted, per node, has climbed to an ancestor that is.

        The parts below that ancestor are one part. At worst all rows are, whether they are admitted or not.
        """
        whole = np.zeros(len(self.part), dtype=np.bool_)
        parent = np.full(len(self.part), -1, dtype=np.int64)
        for node, children in enumerate(self.children.tolist()):
            parent[[child for child in children if child >= 0]] = node
        for node in np.flatnonzero(self.part >= 0).tolist():
            while not admitted[node] and parent[node] >= 0:
                node = int(parent[node])
            whole[node] = True
        return self._numbered(whole)

    def parts_in(self, joined: Cut) -> Ints:
        """Return, for each part, its part in a cut that was made by joining parts of this one."""
        leaves = np.flatnonzero(self.children[:, 0] < 0)
        parts = np.empty(self.parts, dtype=np.int64)
        parts[self.part[leaves]] = joined.part[leaves]
        return parts

    def numbered(self) -> Cut:
        """Return the cut with its leaves as parts, numbered from left to right."""
        return self._numbered(self.children[:, 0] < 0)

    def _numbered(self, whole: Bools) -> Cut:
        """Return the cut whose parts are the uppermost nodes that are whole."""
        part, parts, stack = np.full(len(self.part), -1, dtype=np.int64), 0, [(0, False)]
        while stack:
            node, inside = stack.pop()
            if not inside and whole[node]:
                parts += 1
            inside = inside or bool(whole[node])
            part[node] = parts - 1 if inside else -1
            left, right = self.children[node].tolist()
            if left >= 0:
                stack += [(right, inside), (left, inside)]
        return replace(self, part=part)

    def to_dict(self) -> dict[str, Any]:
        """Return the cut as plain integers, which any format can hold."""
        lists = {name: numbers.tolist() for name, numbers in self._arrays().items()}
        return {"axes": self.axes, **lists}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Cut:
        """Return the cut that `to_dict` has written down."""
        axes = int(plain["axes"])
        widths = {"strata": 2, "children": 2, "thresholds": axes + 1}
        arrays = {
            member.name: _array(plain[member.name], widths.get(member.name))
            for member in fields(cls)
            if member.name != "axes"
        }
        return cls(axes=axes, **arrays)

    def _arrays(self) -> dict[str, Ints]:
        return {member.name: getattr(self, member.name) for member in fields(self) if member.name != "axes"}


def _array(numbers: Sequence[Any], width: int | None) -> Ints:
    made = np.array(numbers, dtype=np.int64)
    return made if width is None else made.reshape(-1, width)


@kernel
def _place(
    rules: CutRules, axes: SmallInts, sensitive: SmallInts, random: RandomNumbers, nodes: SmallInts, strata: SmallInts
) -> None:
    """Set the last node and the stratum of every row."""
    for row in range(len(random)):
        high, low = int(random[row] >> np.uint64(32)), int(random[row] & np.uint64(0xFFFFFFFF))
        stratum = _stratum(rules, sensitive, row, high)
        node = 0
        while rules.children[node, 0] >= 0:
            threshold = rules.first[node] + (stratum >> (DEPTH - rules.bits[node]))
            right = _is_right(rules, axes, row, low, rules.axis[node], threshold)
            node = rules.children[node, 1 if right else 0]
        nodes[row], strata[row] = node, stratum


@part
def _stratum(rules: CutRules, sensitive: SmallInts, row: int, number: int) -> int:
    """Return the stratum of a row: at every halving, whether it is in the upper half."""
    stratum, limits = 0, len(rules.limit_attribute)
    if limits == 0:
        return 0
    for level in range(DEPTH):
        limit, half = level % limits, (1 << level) - 1 + stratum
        place = rules.places[rules.limit_start[limit] + sensitive[row, rules.limit_attribute[limit]]]
        bound = rules.strata[half, 0]
        upper = place > bound or (place == bound and number >= rules.strata[half, 1])
        stratum = 2 * stratum + (1 if upper else 0)
    return stratum


@part
def _is_right(rules: CutRules, axes: SmallInts, row: int, number: int, axis: int, threshold: int) -> bool:
    """Tell whether a row does not come before a threshold, in the order that begins with an axis."""
    count = axes.shape[1]
    for step in range(count):
        code = axes[row, (axis + step) % count]
        bound = rules.thresholds[threshold, step]
        if code != bound:
            return bool(code > bound)
    return bool(number >= rules.thresholds[threshold, count])
