"""Hierarchies for an editor: the values of a column, the rows of a file, and a file of edited rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tclose.errors import InputError
from tclose.policy import Policy, PolicyLike
from tclose.steps.given import as_frame
from tclose.table import to_polars
from tclose.table.combinations import Combinations, combinations_by_level
from tclose.table.hierarchy import Hierarchy
from tclose.table.tally import Tally
from tclose.table.values import ValueDomain
from tclose.types import Progress, silent, stretch

MOST_VALUES = 2000  # that an editor shows


def column_values(
    table: Any, policy: PolicyLike, column: str, *, most: int = MOST_VALUES, progress: Progress = silent
) -> list[tuple[str, int]]:
    """Return the different values of a column in their order, with the rows that show each; too many are refused."""
    asked = Policy.of(policy)
    progress(0.0, "reading")
    frame = to_polars(as_frame(table, asked))
    if column not in frame.columns:
        raise InputError("there is no such column")
    domain = ValueDomain.of(Tally.of(frame[column]), asked.missing, asked.below.get(column))
    if len(domain.texts) > most:
        raise InputError(
            f"the column has {len(domain.texts):,} different values, and the editor shows at most {most:,}: "
            "choose first letters, ranges or dates, or give the hierarchy as a file"
        )
    return list(zip(domain.texts, np.asarray(domain.counts).tolist(), strict=True))


def hierarchy_rows(path: str | Path) -> list[tuple[str, ...]]:
    """Return the rows of a hierarchy file, each from a value to the root; what is no hierarchy is refused."""
    return Hierarchy.load(Path(path)).rows()


def hierarchy_text(rows: Sequence[Sequence[str]]) -> str:
    """Return the content of a hierarchy file (value;level 1;…;*); rows that are no hierarchy are refused.

    >>> hierarchy_text([("flu", "lungs", "*"), ("ulcer", "stomach", "*")]).splitlines()
    ['flu;lungs;*', 'ulcer;stomach;*']
    """
    Hierarchy.from_rows(rows)
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=";", lineterminator="\n").writerows(rows)
    return text.getvalue()


def preview_classes(table: Any, policy: PolicyLike, *, progress: Progress = silent) -> list[Combinations]:
    """Count the combinations of quasi-identifiers at every level of their hierarchies; no class is made."""
    asked = Policy.of(policy)
    progress(0.0, "reading")
    frame = to_polars(as_frame(table, asked))
    counting = stretch(progress, 0.5, 1.0, "counting combinations")
    return combinations_by_level(frame, asked, counting)
