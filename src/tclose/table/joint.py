"""Sensitive attributes taken together: one further column of tuples, which is judged and never published.

The tuples are those that the rows at hand show. So a reader of a release learns the same tuples from its published
values, and rows that are withheld leave no trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np

from tclose.errors import MissingExtra, PolicyError
from tclose.policy import DISTANCES, Joint
from tclose.table.sensitive import SensitiveColumn
from tclose.types import Ints

MOST_TUPLES = 2000  # of a product: each class is a transportation problem over the tuples
BETWEEN = " · "  # between the values of a tuple, as people read it


@dataclass(frozen=True, eq=False)
class JointColumn:
    """Several sensitive attributes as one: the tuples that occur, in lexicographic order, and the tuple of every row.

    `made` holds the ground distance between the tuples, which is computed once (`privacy/judge.py`).
    """

    joint: Joint
    parts: tuple[SensitiveColumn, ...]
    tuples: Ints  # tuples × attributes: the codes of the values
    codes: Ints  # the tuple of each row
    reference: Ints  # how often the whole table shows each tuple
    made: dict[str, Any]

    @classmethod
    def of(cls, joint: Joint, sensitive: Mapping[str, SensitiveColumn], rows: Ints | None = None) -> JointColumn:
        """Find the tuples of coded attributes; a distance that cannot compare them is refused.

        `rows` says how many rows each code stands for, where it is not one.
        """
        parts = tuple(sensitive[name] for name in joint.attributes)
        if joint.distance == "lexicographic":
            _check_orders(parts)
        codes = np.zeros(len(parts[0].codes), dtype=np.int64)
        for part in parts:  # ranks keep the order, and their number stays below that of the rows
            codes = np.unique(codes * len(part.labels) + part.codes, return_inverse=True)[1].astype(np.int64)
        _, first, counts = np.unique(codes, return_index=True, return_counts=True)
        if joint.distance == "product":
            _check_product(len(first))
        tuples = np.stack([part.codes[first] for part in parts], axis=1)
        if rows is not None:
            counts = np.bincount(codes, rows)
        return cls(joint, parts, tuples, codes, counts.astype(np.int64), {})

    @property
    def name(self) -> str:
        """What the tuples are called."""
        return self.joint.name

    @property
    def distance(self) -> str:
        """How tuples are compared, as a policy calls it."""
        return self.joint.distance

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The tuples, as people read them."""
        texts = ([part.labels[code] for code in codes] for part, codes in zip(self.parts, self.tuples.T, strict=True))
        return tuple(map(BETWEEN.join, zip(*texts, strict=True)))


def joint_columns(joint: tuple[Joint, ...], sensitive: Mapping[str, SensitiveColumn]) -> dict[str, JointColumn]:
    """Return the columns of tuples that a policy asks about; a mistake says which of its tables asks."""
    columns = {}
    for number, each in enumerate(joint, start=1):
        with asked_by(number):
            columns[each.name] = JointColumn.of(each, sensitive)
    return columns


@contextmanager
def asked_by(number: int) -> Iterator[None]:
    """Let a mistake say which table of the policy asks for what cannot be judged."""
    try:
        yield
    except PolicyError as error:
        raise error.within(f"joint.{number}") from None


def _check_orders(parts: tuple[SensitiveColumn, ...]) -> None:
    """Refuse attributes whose values have no order, or whose missing values have no place in it."""
    for part in parts:
        if DISTANCES[part.distance].domain != "numbers":
            raise PolicyError(
                f"the values of '{part.name}' have no order (distance {part.distance}): "
                'say order = [...] for it, or distance = "product" here',
                place="distance",
            )
        if part.missing_beside_others:
            raise PolicyError(
                f"the missing values of '{part.name}' have no place in an order: "
                'say missing = "suppress" for it, or distance = "product" here',
                place="distance",
            )


def _check_product(tuples: int) -> None:
    if tuples > MOST_TUPLES:
        raise PolicyError(
            f"the attributes have {tuples:,} different tuples, and a product can compare {MOST_TUPLES:,}: "
            'put values into bins, or say distance = "lexicographic"',
            place="attributes",
        )
    if find_spec("scipy") is None:
        raise MissingExtra("scipy", "solve", 'distance = "product"')
