"""Values that the policy names itself: leaves of a hierarchy, a declared order or domain, the edges of bins."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

from tclose.errors import PolicyError
from tclose.policy import Builder, Policy, Sensitive, implied_by_settings
from tclose.policy.settings import join
from tclose.table.hierarchy import Hierarchy
from tclose.table.values import Kind, exact_values

PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?")  # as values are spelled once zeros are cut off
SAFE_DIGITS = 18  # literals of that many digits are whole numbers in every dialect
KINDS: tuple[Kind, ...] = ("number", "date", "boolean")


@dataclass(frozen=True)
class Declared:
    """The values that a policy lists, in their order, where each lies on a line, and the tree above them."""

    values: tuple[str, ...]
    positions: tuple[int, ...] | None = None
    hierarchy: Hierarchy | None = None


def declared_of(policy: Policy, name: str) -> Declared | None:
    """Return the values that the policy lists for an attribute; None where the table says which there are."""
    spec = policy.sensitive[name]
    if spec.hierarchy is not None:
        made = _of_hierarchy(spec.hierarchy)
        setting = "hierarchy"
    elif spec.order is not None or spec.domain is not None:
        setting = "domain" if spec.order is None else "order"
        made = _of_list(spec, setting, join("sensitive", name))
    else:
        return None
    _check_spelling(made.values, f"{join('sensitive', name)}.{setting}")
    return made


def _of_hierarchy(given: Path | Builder) -> Declared:
    tree = Hierarchy.load(given) if isinstance(given, Path) else Hierarchy.from_rows(given.levels)
    return Declared(tree.leaves, hierarchy=tree)


def _of_list(spec: Sensitive, setting: str, place: str) -> Declared:
    given: Sequence[Any] = getattr(spec, setting)
    texts = tuple(str(value).lower() if isinstance(value, bool) else str(value) for value in given)
    if setting == "order":
        return Declared(texts, tuple(range(len(texts))))
    if implied_by_settings(spec) not in ("ordered", "value"):
        return Declared(texts)
    exact = next((found for kind in KINDS if None not in (found := exact_values(texts, kind))), None)
    if exact is None:
        raise PolicyError(
            "its values have no order: they must all be numbers, or all be dates", place=f"{place}.domain"
        )
    known = sorted(zip(cast(list[Fraction], exact), texts, strict=True))
    in_order = tuple(text for _, text in known)
    if implied_by_settings(spec) == "ordered":
        return Declared(in_order, tuple(range(len(in_order))))
    positions = _positions([value for value, _ in known])
    if positions[-1] >= 10**SAFE_DIGITS:
        raise PolicyError("its numbers span too many digits for numbers of 38 digits", place=f"{place}.domain")
    return Declared(in_order, positions)


def _positions(values: Sequence[Fraction]) -> tuple[int, ...]:
    """Return whole numbers that are as far apart as the values."""
    common = math.lcm(*(value.denominator for value in values))
    return tuple(int((value - values[0]) * common) for value in values)


def _check_spelling(texts: Sequence[str], place: str) -> None:
    """Refuse spellings that the query would have to compare by value: it compares text."""
    for kind in KINDS:
        known = [value for value in exact_values(texts, kind) if value is not None]
        if len(set(known)) < len(known):
            raise PolicyError("a value stands in the list twice: name it once", place=place)
    numbers = (text for text, value in zip(texts, exact_values(texts, "number"), strict=True) if value is not None)
    if any(not PLAIN_NUMBER.fullmatch(text) or text == "-0" for text in numbers):
        raise PolicyError("a query compares text: spell numbers without needless zeros or exponents", place=place)
