"""Publish a table that need not fit into memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tclose.errors import InputError
from tclose.partition import METHODS
from tclose.partition.options import checked
from tclose.policy import Policy
from tclose.release.formats import ARROW
from tclose.release.naming import table_name
from tclose.release.publication import Publication
from tclose.types import Progress


@dataclass(frozen=True, eq=False)
class LargeTable:
    """A table and what is asked of its release; where it is made depends on the engine."""

    table: Any
    policy: Policy
    out: Path
    method: str
    options: Mapping[str, Any]
    whole: Sequence[str]  # what is asked for that needs all rows in memory

    def on_disk(self, engine: str) -> bool:
        """Tell whether the table is published out of core; `auto` takes memory for what needs it."""
        from tclose.engine import choosing

        if engine == "auto" and (self.whole or self.out.suffix.lower() in ARROW.suffixes):
            return False
        return choosing.published_on_disk(engine, self.table, self.policy, self.method, self.options)

    def published(
        self,
        others: Mapping[str, str | Path | None],
        *,
        seed: int | None,
        part_rows: int | None,
        resume: bool,
        force: bool,
        progress: Progress,
    ) -> Publication:
        """Publish the table out of core; `others` are files to write beside the release."""
        from tclose.engine import disk_release, memory
        from tclose.engine.in_parts.refusing import check_in_parts

        if self.whole:
            raise InputError(f"{' and '.join(self.whole)} cannot be made out of core: use the engine memory")
        check_in_parts(self.policy, self.method, self.options)
        settings = checked(self.method, self.options)
        asked = disk_release.Asked(
            effort=str(settings.get("effort", METHODS[self.method].choices[0])),
            part_rows=part_rows,
            seed=None if seed is None else memory.given_seed(seed),
            resume=resume,
            name=table_name(self.table),
        )
        paths = {name: Path(path) for name, path in others.items() if path is not None}
        written = disk_release.anonymize(
            self.table, self.policy, out=self.out, others=paths, asked=asked, force=force, progress=progress
        )
        return Publication(
            certificate=written.certificate,
            out=self.out,
            files=(self.out,),
            exposed=written.exposed,
            certificate_file=paths.get("certificate"),
            lost=written.lost,
            rigid=written.rigid,
            leaks=written.leaks,
        )
