"""The layouts of a release: each declares its files, how it is made and how it is verified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tclose.release.certificate import Certificate
from tclose.release.comparing import size_figures
from tclose.release.layouts import anatomy, one_table, projections
from tclose.release.layouts.base import About, Layout, LayoutEntry, WrittenFile, sibling
from tclose.release.published import Options, ReleaseInput
from tclose.types import Ints

__all__ = [
    "LAYOUTS",
    "About",
    "Layout",
    "WrittenFile",
    "laid_out",
    "layout_of",
    "possible_marks",
    "sibling",
    "with_sizes",
]

LAYOUTS: Mapping[str, LayoutEntry] = {
    entry.name: entry for entry in (one_table.ENTRY, projections.ENTRY, anatomy.ENTRY)
}


def layout_of(method: str) -> LayoutEntry:
    """Return the layout that a method publishes: its own where there is one of its name, else one table."""
    return LAYOUTS.get(method, one_table.ENTRY)


def laid_out(given: ReleaseInput, method: str, options: Options) -> Layout:
    """Make the tables of a release, as its method does."""
    return layout_of(method).make(given, method, options)


def with_sizes(certificate: Certificate, sizes: Sequence[Ints], k: int) -> Certificate:
    """Return a certificate with the sizes of the classes that its files show.

    A CSV spells null and empty text alike, so a file can show fewer classes than the table in memory.
    """
    figures = [size_figures(each, certificate.withheld, k) for each in sizes]
    if certificate.layout != "projections":
        return replace(certificate, measures={**certificate.measures, **figures[0]})
    measures = [{**(file.measures or {}), **each} for file, each in zip(certificate.files, figures, strict=True)]
    files = tuple(replace(file, measures=each) for file, each in zip(certificate.files, measures, strict=True))
    return replace(certificate, measures=projections.mean_measures(measures), files=files)


def possible_marks(method: str, attributes: int) -> tuple[str, ...]:
    """Return the endings of all files that a method may write for so many sensitive attributes."""
    return layout_of(method).possible_marks(attributes)
