"""How much detail a release keeps: from a release beside its original to what `measure/detail.py` looks at."""

from __future__ import annotations

import numpy as np

from tclose.measure.detail import Detail, ExactColumn, VisibleColumn
from tclose.recode.covering import Covering
from tclose.release.beside import Beside


def detail_of(beside: Beside) -> Detail:
    """Return a table and its release as measures of detail see them."""
    visible = []
    for column in beside.columns:
        beside.people.beat()
        visible.append(_visible(column, beside))
    return Detail(
        visible=visible,
        sensitive=[
            ExactColumn(name, pair.before, pair.after, pair.domain, pair.worth)
            for name, pair in beside.cells.items()
            if name not in beside.published.apart  # whose values no row shows
        ],
        labels=beside.labels,
        people=beside.people,
    )


def _visible(column: Covering, beside: Beside) -> VisibleColumn:
    worth = None if column.numbers is None else np.append(column.numbers, np.nan)
    return VisibleColumn(
        name=column.name,
        cells=column.cell_of_row,
        texts=column.text_of_class[beside.labels],
        spread=column.spread(),
        covered=column.covers.sum(axis=1),
        before=worth,
        after=column.worth(),
    )
