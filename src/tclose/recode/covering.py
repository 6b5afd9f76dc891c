"""What a published value covers: the way back from `published.py`, for an adversary who holds a register.

A register cell fits a published text when it lies in its range, below its label, or in its set; a missing cell
fits where the text says "or missing". Everything is done once per different text and per different cell, so that a
register of any length costs one look-up per row.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl

from tclose.errors import InputError
from tclose.policy import Builder, Quasi
from tclose.recode.spelling import MISSING
from tclose.table import builders
from tclose.table.hierarchy import Hierarchy
from tclose.table.values import Values, exact_values, values_of
from tclose.types import Bools, Floats, Ints
from tclose.words import counted

OR_MISSING = f" or {MISSING}"
ENDLESS = re.compile(r"[eE][+-]?[0-9]{5}")  # an exponent whose number would fill the memory
RANGE = re.compile(r"\[(.+), (.+)\]")
ELEMENT = re.compile(r'("(?:[^"\\]|\\.)*"|[^",{}]+)(?:, |$)')


@dataclass(frozen=True, eq=False)
class Covering:
    """One column: `covers[text, cell]`, and the number of each class's text and of each register row's cell.

    The last cell stands for "missing"; the others follow each other as the values do, and `numbers` say what they are
    worth, where they are numbers or dates.
    """

    name: str
    covers: Bools
    text_of_class: Ints
    cell_of_row: Ints
    numbers: Floats | None
    means: Floats | None = None  # of the texts, where they are means

    def spread(self) -> Floats:
        """Return texts × cells: how a reader who knows nothing else shares a text out among the cells it covers.

        A mean goes to the cell next to it.
        """
        if self.means is None or self.numbers is None:
            return np.asarray(self.covers / self.covers.sum(axis=1, keepdims=True))
        shares = np.zeros(self.covers.shape)
        nearest = np.abs(self.means[:, None] - self.numbers).argmin(axis=1)
        shares[np.arange(len(shares)), np.where(np.isnan(self.means), len(self.numbers), nearest)] = 1
        return shares

    def worth(self) -> Floats | None:
        """Return the number that a reader would put in the place of each text, if the column has numbers."""
        if self.numbers is None or self.means is not None:
            return self.means
        covers = self.covers[:, :-1].astype(np.float64)
        width = covers.sum(axis=1)
        return np.where(width > 0, covers @ self.numbers / np.maximum(width, 1), np.nan)


def covering(
    name: str, spec: Quasi, missing: Sequence[str], *, original: pl.Series, register: pl.Series, shown: pl.Series
) -> Covering:
    """Read what a column shows per class, against the cells of the register.

    Labels of a hierarchy built by rule depend on the values of the table that was published, hence `original`.
    """
    both = pl.concat([_text(original), _text(register)])
    values = values_of(both.alias(name), missing)
    if spec.hierarchy is None or (isinstance(spec.hierarchy, Builder) and spec.hierarchy.kind in ("width", "date")):
        _check_kind(name, original, values, missing)
    texts = _text(shown).fill_null("")
    different = texts.unique(maintain_order=True)
    place = {text: number for number, text in enumerate(different.to_list())}
    covers = _Reader(values, spec, missing, _text(original)).read(list(place))
    return Covering(
        name=name,
        covers=covers,
        text_of_class=np.array([place[text] for text in texts.to_list()], dtype=np.int64),
        cell_of_row=np.where(values.codes < 0, len(values.texts), values.codes)[original.len() :],
        numbers=worth_of(values),
        means=_means(list(place)) if spec.publish == "mean" else None,
    )


def _text(column: pl.Series) -> pl.Series:
    return column.alias("").cast(pl.String)


def _check_kind(name: str, original: pl.Series, values: Values, missing: Sequence[str]) -> None:
    known = values_of(original, missing).kind
    if known in ("number", "date") and values.kind != known:
        raise InputError(f"the register's column '{name}' is not all {known}s, as the table's is")


def worth_of(values: Values) -> Floats | None:
    """Return what each value is worth, where they are numbers or dates."""
    if values.kind not in ("number", "date") or values.units is None:
        return None
    return np.array([float(Fraction(int(unit), 10**values.scale)) for unit in values.units])


def _means(texts: Sequence[str]) -> Floats:
    """Read published means; one of missing values alone is none."""
    bare = [text.removesuffix(OR_MISSING) for text in texts]
    return np.array([np.nan if text in ("", MISSING) else float(Fraction(text)) for text in bare])


class _Reader:
    """Reads the published texts of one column."""

    def __init__(self, values: Values, spec: Quasi, missing: Sequence[str], original: pl.Series) -> None:
        self.values, self.spec, self.missing = values, spec, {"", *missing}
        self.known = {text: code for code, text in enumerate(values.texts)}
        self.numbers = exact_values(values.texts, values.kind) if values.kind in ("number", "date") else None
        self.labels = None if spec.hierarchy is None else _labels(values, spec, original, missing)

    def read(self, texts: Sequence[str]) -> Bools:
        """Return which cells each text covers; refuse texts that nothing could have published."""
        covers = np.zeros((len(texts), len(self.values.texts) + 1), dtype=bool)
        odd = [text for row, text in enumerate(texts) if not self._mark(text, covers[row])]
        if odd:
            raise InputError(
                f"the release does not belong to the table: column '{self.values.name}' shows "
                f"{counted(len(odd), 'value')} that the policy could not have published",
                detail=f"the first is '{odd[0]}'",
            )
        return covers

    def _mark(self, text: str, row: Bools) -> bool:
        """Mark what a text covers, in every way in which it can be read; tell whether there is one."""
        read = self._value(text, row)
        if text == MISSING or text in self.missing:
            read = row[-1] = True
        if text.endswith(OR_MISSING) and self._value(text.removesuffix(OR_MISSING), row):
            read = row[-1] = True
        return bool(read)

    def _value(self, text: str, row: Bools) -> bool:
        if self.labels is not None:
            return self._label(text, row, self.labels)
        if self.numbers is not None:
            return self._range(text, row)
        return self._set(text, row)

    def _label(self, text: str, row: Bools, labels: Mapping[str, Ints]) -> bool:
        if text in labels:
            row[labels[text]] = True
        elif text in self.known:  # a leaf in another spelling, such as 39.0
            row[self.known[text]] = True
        return text in labels or text in self.known

    def _range(self, text: str, row: Bools) -> bool:
        found = RANGE.fullmatch(text)
        low, high = self._end(found[1] if found else text), self._end(found[2] if found else text)
        if low is None or high is None:
            return False
        if self.spec.publish == "mean":  # of any numbers whatever
            row[:-1] = True
            return True
        assert self.numbers is not None
        first = 0 if low[0] is None else bisect_left(self.numbers, low[0])  # type: ignore[type-var]
        after = len(row) - 1 if high[1] is None else bisect_right(self.numbers, high[1])  # type: ignore[type-var]
        row[first:after] = True
        return True

    def _end(self, text: str) -> tuple[Fraction | None, Fraction | None] | None:
        """Return the least and the largest value that an end stands for, none where it is open, if it can be read."""
        bare = text.lstrip("≤≥")
        try:
            if ENDLESS.search(bare):
                return None
            number = exact_values([bare], "date")[0] if self.values.kind == "date" else Fraction(bare)
        except (ValueError, ZeroDivisionError):
            return None
        if number is None:
            return None
        return (None if text.startswith("≤") else number, None if text.startswith("≥") else number)

    def _set(self, text: str, row: Bools) -> bool:
        ways = [[text]]
        if text.startswith("{") and text.endswith("}"):
            ways.append([_unquoted(part) for part in ELEMENT.findall(text[1:-1])])
        readable = [way for way in ways if all(member in self.known for member in way)]
        for way in readable:
            row[[self.known[member] for member in way]] = True
        return bool(readable)


def _unquoted(part: str) -> str:
    return str(json.loads(part)) if part.startswith('"') else part


def _labels(values: Values, spec: Quasi, original: pl.Series, missing: Sequence[str]) -> dict[str, Ints]:
    """Return the cells below each label, at whatever height it stands; cells outside lie below the root alone."""
    hierarchy, leaf = _hierarchy(values, spec, original, missing)
    below: dict[str, list[Ints]] = {}
    for names, level in zip(hierarchy.labels, hierarchy.levels, strict=True):
        node = np.append(level, -1)[leaf]
        order = np.argsort(node, kind="stable")
        starts = np.searchsorted(node[order], np.arange(len(names) + 1))
        for number, name in enumerate(names):
            below.setdefault(name, []).append(order[starts[number] : starts[number + 1]])
    below.setdefault(hierarchy.labels[-1][0], []).append(np.flatnonzero(leaf < 0))
    return {name: np.concatenate(cells) for name, cells in below.items()}


def _hierarchy(values: Values, spec: Quasi, original: pl.Series, missing: Sequence[str]) -> tuple[Hierarchy, Ints]:
    """Return the hierarchy and each value's leaf in it, -1 where it has none."""
    if isinstance(spec.hierarchy, Path):
        hierarchy = Hierarchy.load(spec.hierarchy)
    else:
        assert spec.hierarchy is not None
        made_of = values
        if spec.hierarchy.kind == "prefix":  # a longer value of the register would change every label
            longest = max((len(text) for text in values_of(original, missing).texts), default=0)
            texts = pl.Series([text for text in values.texts if len(text) <= longest], dtype=pl.String)
            made_of = values_of(texts, ())
        hierarchy = builders.build(spec.hierarchy, made_of.domain)
    place = {text: code for code, text in enumerate(hierarchy.leaves)}
    leaf = [place.get(text, -1) for text in values.texts]
    if values.units is not None and -1 in leaf:
        by_value = {value: code for code, value in enumerate(exact_values(hierarchy.leaves, values.kind))}
        exact = exact_values(values.texts, values.kind)
        leaf = [by_value.get(value, -1) if code < 0 else code for code, value in zip(leaf, exact, strict=True)]
    return hierarchy, np.array(leaf, dtype=np.int64)
