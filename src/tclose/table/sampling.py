"""A part of a large table, for quick answers: whole persons where rows belong to persons."""

from __future__ import annotations

import polars as pl


def sampled(frame: pl.DataFrame, most: int, *, person: str | None, seed: int) -> pl.DataFrame:
    """Return at most so many rows in their order; all rows of a person, or none."""
    if frame.height <= most:
        return frame
    if person is None or person not in frame.columns:
        return frame.with_row_index("\0row").sample(most, seed=seed).sort("\0row").drop("\0row")
    persons = frame.group_by(person, maintain_order=True).agg(pl.len().alias("\0rows"))
    drawn = persons.sample(fraction=1.0, shuffle=True, seed=seed)
    chosen = drawn.filter(pl.col("\0rows").cum_sum() <= most)
    return frame.join(chosen, on=person, how="semi", nulls_equal=True, maintain_order="left")
