"""The layouts of a release: each declares its files, how it is made and how it is verified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tclose.errors import Unsuited
from tclose.policy import Policy
from tclose.release.certificate import Certificate
from tclose.release.layouts import groups, one_table, projections
from tclose.release.layouts.base import Layout, LayoutEntry, LayoutFacts, sibling
from tclose.release.published_table import Options, ReleaseInput
from tclose.release.verification import size_figures
from tclose.types import Ints

__all__ = [
    "LAYOUTS",
    "Layout",
    "LayoutFacts",
    "check_both",
    "laid_out",
    "layout_of",
    "possible_marks",
    "sibling",
    "with_sizes",
]

LAYOUTS: Mapping[str, LayoutEntry] = {
    entry.name: entry
    for entry in (
        one_table.ONE_TABLE_ENTRY,
        one_table.BOTH_ENTRY,
        projections.ENTRY,
        groups.ANATOMY_ENTRY,
        groups.PERMUTATION_ENTRY,
    )
}


def layout_of(method: str, *, has_both: bool = False) -> LayoutEntry:
    """Return the layout that a method publishes: its own where there is one of its name, else one table.

    `has_both` says that some column is both quasi-identifier and sensitive, which adds a table of counts.
    """
    return LAYOUTS.get(method, one_table.BOTH_ENTRY if has_both else one_table.ONE_TABLE_ENTRY)


def check_both(method: str, policy: Policy) -> None:
    """Refuse columns that are both quasi-identifier and sensitive for a method with a layout of its own."""
    if policy.both and method in LAYOUTS:
        raise Unsuited(
            "method '{method}' cannot publish a column that is both quasi-identifier and sensitive: choose a "
            "method that publishes one table, or leave both out",
            method=method,
        )


def laid_out(given: ReleaseInput, method: str, options: Options) -> Layout:
    """Make the tables of a release, as its method does."""
    return layout_of(method, has_both=bool(given.policy.both)).make(given, method, options)


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


def possible_marks(method: str, policy: Policy) -> tuple[str, ...]:
    """Return the endings of all files that a method may write for a policy."""
    return layout_of(method, has_both=bool(policy.both)).possible_marks(len(policy.sensitive))
