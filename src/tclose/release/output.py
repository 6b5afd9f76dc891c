"""What is written of a release, and where: its file, the files beside it, and how cells are spelled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tclose.release.certificate import ReleaseFormat
from tclose.release.describing import description_files
from tclose.release.endorsement import NOTHING_ADDED, Endorsement


@dataclass(frozen=True, kw_only=True)
class Output:
    """The files of a release; those that are None are not written."""

    out: str | Path
    certificate: str | Path | None = None
    record: str | Path | None = None  # the seed, for the steward's eyes only
    report: str | Path | None = None  # a page
    bound_proof: str | Path | None = None
    guard_formulas: bool = False  # put an apostrophe before text that a spreadsheet would run
    release_format: ReleaseFormat = "text"
    part_rows: int | None = None  # of each file, where `out` is a new folder of Parquet files
    describe: Sequence[str] = ()  # formats of descriptions
    endorsement: Endorsement = NOTHING_ADDED  # what the steward adds to the certificate
    force: bool = True  # overwrite existing files

    @property
    def descriptions(self) -> dict[str, Path]:
        """The files that describe the release."""
        return description_files(Path(self.out), self.describe)

    @property
    def beside(self) -> dict[str, Path]:
        """The files beside the release, by name."""
        named = {"record": self.record, "bound_proof": self.bound_proof, "certificate": self.certificate}
        named |= {"report": self.report, **self.endorsement.files(self.certificate), **self.descriptions}
        return {what: Path(path) for what, path in named.items() if path is not None}
