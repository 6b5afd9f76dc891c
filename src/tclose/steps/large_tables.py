"""Publish a table that need not fit into memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tclose.errors import InputError
from tclose.partition import METHODS
from tclose.partition.options import checked
from tclose.policy import Policy
from tclose.release.endorsement import NOTHING_ADDED, Endorsement
from tclose.release.formats import AT_ONCE
from tclose.release.naming import table_name
from tclose.release.publication import Publication
from tclose.release.record_notes import file_digest
from tclose.table.batches import table_on_disk
from tclose.table.sources.locations import Location
from tclose.types import Progress, stretch

if TYPE_CHECKING:
    from tclose.engine.in_parts.finishing import ReleaseInParts


@dataclass(frozen=True, eq=False)
class LargeTable:
    """A table and what is asked of its release; where it is made depends on the engine."""

    table: Any
    policy: Policy
    out: Path
    method: str
    options: Mapping[str, Any]
    whole: Sequence[str]  # what is asked for that needs all rows in memory
    endorsement: Endorsement = NOTHING_ADDED  # what the steward adds to the certificate

    def on_disk(self, engine: str) -> bool:
        """Tell whether the table is published out of core; `auto` takes memory for what needs it."""
        from tclose.engine import choosing

        if engine == "auto" and (self.whole or self.out.suffix.lower() in AT_ONCE):
            return False
        return choosing.published_on_disk(engine, self.table, self.policy, self.method, self.options)

    def published(
        self,
        engine: str,
        others: Mapping[str, str | Path | None],
        *,
        master: str | None,
        seed: int | None,
        part_rows: int | None,
        resume: bool,
        force: bool,
        progress: Progress,
    ) -> Publication | None:
        """Publish the table in parts, if the engine does; `others` are files to write beside the release."""
        if master is not None and engine != "spark":
            raise InputError("only the engine spark has a master: leave --master out, or say --engine spark")
        if engine == "spark" and isinstance(self.table, str | Path) and Location.of(self.table).scheme:
            raise InputError("the engine spark reads Parquet files, not tables of databases: use the engine memory")
        on_disk = engine != "spark" and self.on_disk(engine)
        if resume and not on_disk:
            raise InputError("only a run of the engine disk can be continued: leave --resume out")
        common: dict[str, Any] = {"seed": seed, "part_rows": part_rows, "force": force, "progress": progress}
        if on_disk:
            return self._published_on_disk(others, resume=resume, **common)
        return self._published_on_spark(others, master, **common) if engine == "spark" else None

    def _published_on_disk(
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

        asked = disk_release.Asked(
            effort=self._effort(),
            part_rows=part_rows,
            seed=None if seed is None else memory.given_seed(seed),
            resume=resume,
            name=table_name(self.table),
            endorsement=self.endorsement,
            table_sha256=None if others.get("record") is None else file_digest(self.table),
        )
        paths = {name: Path(path) for name, path in others.items() if path is not None}
        source = table_on_disk(self.table, self.policy.source)
        written = disk_release.anonymize(
            source, self.policy, out=self.out, others=paths, asked=asked, force=force, progress=progress
        )
        return self._publication(written, paths)

    def _published_on_spark(
        self,
        others: Mapping[str, str | Path | None],
        master: str | None,
        *,
        seed: int | None,
        part_rows: int | None,
        force: bool,
        progress: Progress,
    ) -> Publication:
        """Publish a table of Parquet files on a cluster; `others` are files to write beside the release."""
        effort = self._effort()
        if master is None:
            raise InputError("say which cluster: --master spark://HOST:7077, yarn, local[4] or sc://HOST:15002")
        from tclose.spark.publishing import published
        from tclose.spark.sessions import session, table_at

        paths = {name: Path(path) for name, path in others.items() if path is not None}
        making, writing = stretch(progress, 0.0, 0.95), stretch(progress, 0.95, 1.0)
        with (
            session(master) as spark,
            published(
                table_at(spark, str(self.table)), self.policy, effort, part_rows, seed, table_name(self.table), making
            ) as release,
        ):
            certified = release.write(self.out, **paths, endorsement=self.endorsement, force=force, progress=writing)
        return replace(self._publication(release, paths), certificate=certified)

    def _effort(self) -> str:
        """Return the effort of a release in parts; refuse what cannot be made in parts."""
        from tclose.engine.in_parts.refusing import check_in_parts

        if self.whole:
            raise InputError(f"{' and '.join(self.whole)} cannot be made out of core: use the engine memory")
        check_in_parts(self.policy, self.method, self.options)
        settings = checked(self.method, self.options)
        return str(settings.get("effort", METHODS[self.method].choices[0]))

    def _publication(self, written: ReleaseInParts, paths: Mapping[str, Path]) -> Publication:
        return Publication(
            certificate=written.certificate,
            out=self.out,
            files=(self.out,),
            exposed=written.exposed,
            certificate_file=paths.get("certificate"),
            envelope_file=paths.get("envelope"),
            lost=written.lost,
            rigid=written.rigid,
            allows=written.allows,
            leaks=written.leaks,
        )
