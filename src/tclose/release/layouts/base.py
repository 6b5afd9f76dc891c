"""What every layout of a release can do: which tables there are, who confirms them, what the certificate says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol

import polars as pl

from tclose.errors import InputError
from tclose.measure.information_loss import DIGITS
from tclose.privacy.judge import JudgedTable
from tclose.privacy.results import CheckResult
from tclose.release.certificate import Certificate, CertifiedFile
from tclose.release.claims import Claims, PseudonymClaims
from tclose.release.lower_bound import BoundClaim
from tclose.release.published_table import Options, PublishedTable, ReleaseInput
from tclose.release.verification import CertifiedFiles, TableFindings
from tclose.types import Progress

GUARANTEE = (
    "anyone who knows a person's class, and nothing about how the classes were made, sees distributions of sensitive "
    "values that meet these requirements; nothing is claimed about an adversary who knows the algorithm"
)


@dataclass(frozen=True)
class LayoutFacts:
    """What a certificate says of a release whatever its layout."""

    version: str
    method: str
    settings: Mapping[str, Any]  # the policy that a reader judges by
    withheld: int
    counted: Literal["rows", "persons"]
    tool: str
    created: str
    table: str | None
    loss: Mapping[str, Any] | None  # that was lowered, if the method lowers the policy's
    bound: BoundClaim | None = None  # on the detail lost, if asked for
    pseudonyms: PseudonymClaims | None = None  # by column, if there are any
    guarantee: str = GUARANTEE
    cells: Mapping[str, Any] | None = None  # what those of each quasi-identifier are

    def with_loss(self, values: Sequence[float | None]) -> LayoutFacts:
        """Say of the loss that was lowered also its mean over tables, if that may be published.

        How likely queries cut rows depends on cells that are not published (decision 023).
        """
        known = [value for value in values if value is not None]
        if self.loss is None or self.loss["name"] == "queries" or len(known) < len(values):
            return self
        return replace(self, loss={**self.loss, "value": round(sum(known) / len(known), DIGITS)})

    def certificate(
        self, files: Iterable[CertifiedFile], result: CheckResult, measures: Mapping[str, Any]
    ) -> Certificate:
        """Return a certificate of what was found; a layout adds its own facts with `replace`."""
        return Certificate(
            version=self.version,
            method=self.method,
            settings=self.settings,
            withheld=self.withheld,
            counted=self.counted,
            measures=measures,
            claims=Claims.of(result),
            files=tuple(files),
            guarantee=self.guarantee,
            tool=self.tool,
            created=self.created,
            table=self.table,
            loss=self.loss,
            pseudonyms=self.pseudonyms,
            bound=self.bound,
            cells=self.cells,
        )


class Layout(Protocol):
    """The tables of one release."""

    @property
    def frames(self) -> tuple[pl.DataFrame, ...]:
        """The tables."""

    @property
    def marks(self) -> tuple[str, ...]:
        """What is added to the release's file name for each table."""

    @property
    def tables(self) -> tuple[PublishedTable, ...]:
        """The tables whose classes are judged."""

    @property
    def comparable(self) -> bool:
        """Whether one judged table shows all rows and their classes, so that it can be compared with the original."""

    def judge(self, frames: Sequence[pl.DataFrame], progress: Progress) -> tuple[JudgedTable, ...]:
        """Judge tables, these or those read back from files; what does not hold must never be released."""

    def certificate(
        self, about: LayoutFacts, results: Sequence[CheckResult], files: Sequence[CertifiedFile]
    ) -> Certificate:
        """Say what was found."""


@dataclass(frozen=True)
class LayoutEntry:
    """One layout: how the certificate calls it, which files it may write, how it is made and how it is verified."""

    name: str
    meaning: str  # for people
    possible_marks: Callable[[int], tuple[str, ...]]  # by the number of sensitive attributes
    make: Callable[[ReleaseInput, str, Options], Layout]
    verify: Callable[[Certificate, CertifiedFiles, Progress], TableFindings]
    exact_quasi: bool = False  # whether each row publishes its own quasi-identifiers
    scope: str | None = None  # what the certificate says that the guarantee does not cover
    holds: tuple[str, ...] = ()  # what the certificate says that each of its tables holds


def sibling(path: Path, mark: str) -> Path:
    """Return the file of one table.

    >>> sibling(Path("out/release.csv"), "-sensitive").name
    'release-sensitive.csv'
    """
    if not path.name:
        raise InputError("a release needs the name of a file")
    return path.with_name(f"{path.stem}{mark}{path.suffix}")
