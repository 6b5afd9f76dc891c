"""Which tables of a release lost everything."""

from __future__ import annotations

from tclose.measure.lost import LostDetail
from tclose.release.layouts import Layout
from tclose.release.layouts.anatomy import Anatomy
from tclose.release.layouts.permutation import Permutation


def lost_tables(layout: Layout, withheld: int) -> tuple[LostDetail, ...]:
    """Return the tables of a release whose quasi-identifiers, or whose groups, tell nothing any more."""
    linked, several = not isinstance(layout, Anatomy | Permutation), len(layout.tables) > 1
    losses = [
        LostDetail(
            rows=table.frame.height,
            one_class=table.measures["class_sizes"]["largest"] == table.frame.height,
            gcp=table.measures["gcp"],
            withheld=withheld,
            linked=linked,
            table=number if several else None,
        )
        for number, table in enumerate(layout.tables, start=1)
    ]
    return tuple(loss for loss in losses if loss.everything)
