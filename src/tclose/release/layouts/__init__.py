"""The layouts of a release: each declares its files, how it is made and how it is verified."""

from __future__ import annotations

from collections.abc import Mapping

from tclose.release.layouts import anatomy, one_table, projections
from tclose.release.layouts.base import About, Layout, LayoutEntry, WrittenFile, sibling
from tclose.release.published import Options, ReleaseInput

__all__ = ["LAYOUTS", "About", "Layout", "WrittenFile", "laid_out", "layout_of", "possible_marks", "sibling"]

LAYOUTS: Mapping[str, LayoutEntry] = {
    entry.name: entry for entry in (one_table.ENTRY, projections.ENTRY, anatomy.ENTRY)
}


def layout_of(method: str) -> LayoutEntry:
    """Return the layout that a method publishes: its own where there is one of its name, else one table."""
    return LAYOUTS.get(method, one_table.ENTRY)


def laid_out(given: ReleaseInput, method: str, options: Options) -> Layout:
    """Make the tables of a release, as its method does."""
    return layout_of(method).make(given, method, options)


def possible_marks(method: str, attributes: int) -> tuple[str, ...]:
    """Return the endings of all files that a method may write for so many sensitive attributes."""
    return layout_of(method).possible_marks(attributes)
