"""A release written as typed columns: made from its published cells, and read back from the finished file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from tclose.errors import InputError, Unsuited
from tclose.policy import Policy
from tclose.recode.spelling import Form
from tclose.recode.typed import check_kept, check_typed_names, typed_table
from tclose.recode.typed_values import USE_TEXT
from tclose.recode.untyped import text_table
from tclose.release.certificate import RELEASE_FORMATS
from tclose.release.formats import OutputFormat
from tclose.release.layouts import Layout, layout_of
from tclose.release.layouts.one_table import ENTRY, OneTable

OTHER_LAYOUT = (
    "typed columns are for a release of one table in which each class publishes one value per quasi-identifier, and "
    f"this method or policy publishes something else: {USE_TEXT}"
)


def check_release_format(release_format: str, method: str, policy: Policy) -> None:
    """Refuse typed columns where the method or the policy publishes more than one table, or a name would clash."""
    _check_known(release_format)
    if release_format == "text":
        return
    if layout_of(method, has_both=bool(policy.both)) is not ENTRY:
        raise Unsuited(OTHER_LAYOUT)
    check_typed_names(policy)


def _check_known(release_format: str) -> None:
    if release_format not in RELEASE_FORMATS:
        raise InputError(f"a release is written as {' or '.join(RELEASE_FORMATS)}, not as '{release_format}'")


@dataclass(frozen=True, eq=False)
class TypedColumns:
    """The published table, and how its cells are typed."""

    published: pl.DataFrame
    policy: Policy
    forms: Mapping[str, Form | None]

    @classmethod
    def of(cls, release_format: str, layout: Layout, policy: Policy) -> TypedColumns | None:
        """Take the only table of a layout; none where the release stays text."""
        _check_known(release_format)
        if release_format == "text":
            return None
        if not isinstance(layout, OneTable):
            raise Unsuited(OTHER_LAYOUT)
        check_typed_names(policy)
        (frame,), (table,) = layout.frames, layout.tables
        as_read = replace(policy, sensitive=table.judge.policy.sensitive)  # which lists the bins
        return cls(frame, as_read, table.forms)

    def written(self, kind: OutputFormat) -> pl.DataFrame:
        """Return the typed columns as a format holds them."""
        made = typed_table(self.published, self.policy, self.forms, lists=kind.lists)
        check_kept(self.published, made, self.policy)
        return made

    def read_back(self, found: pl.DataFrame) -> pl.DataFrame:
        """Return the cells that a finished file holds; refuse a file that holds other values than were published."""
        made = typed_table(self.published, self.policy, self.forms)
        text, expected = text_table(found, self.policy), text_table(made, self.policy)
        if not text.equals(expected):
            raise InputError(f"it would not hold the values that are published: {USE_TEXT}")
        return text
