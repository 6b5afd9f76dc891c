"""Publish a table that need not fit into memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tclose.errors import InputError
from tclose.partition import METHODS
from tclose.partition.options import checked
from tclose.release.formats import AT_ONCE
from tclose.release.naming import table_name
from tclose.release.publication import Publication
from tclose.run.request import Request
from tclose.table.batches import table_on_disk
from tclose.table.sources.locations import Location
from tclose.types import Progress, stretch

if TYPE_CHECKING:
    from tclose.engine.in_parts.finishing import ReleaseInParts


def published_in_parts(request: Request, progress: Progress) -> Publication | None:
    """Publish a table in parts, if its engine does."""
    on_spark, table = request.engine == "spark", request.table
    if request.master is not None and not on_spark:
        raise InputError("only the engine spark has a master: leave --master out, or say --engine spark")
    if on_spark and isinstance(table, str | Path) and Location.of(table).scheme:
        raise InputError("the engine spark reads Parquet files, not tables of databases: use the engine memory")
    on_disk = not on_spark and _on_disk(request)
    if request.resume and not on_disk:
        raise InputError("only a run of the engine disk can be continued: leave --resume out")
    if on_disk:
        return _on_this_machine(request, progress)
    return _on_spark(request, progress) if on_spark else None


def _on_disk(request: Request) -> bool:
    """Tell whether the table is published out of core; `auto` takes memory for what needs it."""
    from tclose.engine import choosing

    if request.engine == "auto" and (request.needs_all_rows or Path(request.out).suffix.lower() in AT_ONCE):
        return False
    assert request.method is not None
    return choosing.published_on_disk(
        request.engine, request.table, request.asked, request.method, request.options or {}
    )


def _on_this_machine(request: Request, progress: Progress) -> Publication:
    """Publish the table out of core."""
    from tclose.engine import disk_release

    effort, source = _effort(request), table_on_disk(request.table, request.asked.source)
    return _publication(request, disk_release.anonymize(source, request, effort, progress=progress))


def _on_spark(request: Request, progress: Progress) -> Publication:
    """Publish a table of Parquet files on a cluster."""
    effort = _effort(request)
    if request.master is None:
        raise InputError("say which cluster: --master spark://HOST:7077, yarn, local[4] or sc://HOST:15002")
    from tclose.spark.publishing import Asked, published
    from tclose.spark.sessions import session, table_at

    asked = Asked(request.asked, effort, request.part_rows, request.seed, table_name(request.table))
    making, writing = stretch(progress, 0.0, 0.95), stretch(progress, 0.95, 1.0)
    with session(request.master) as spark, published(table_at(spark, str(request.table)), asked, making) as release:
        certified = release.write(
            request.out,
            certificate=request.certificate,
            record=request.record,
            envelope=request.output.beside.get("envelope"),
            endorsement=request.endorsement,
            force=request.force,
            progress=writing,
        )
    return replace(_publication(request, release), certificate=certified)


def _effort(request: Request) -> str:
    """Return the effort of a release in parts; refuse what cannot be made in parts."""
    from tclose.engine.in_parts.refusing import check_in_parts

    assert request.method is not None
    if whole := request.needs_all_rows:
        raise InputError(f"{' and '.join(whole)} cannot be made out of core: use the engine memory")
    check_in_parts(request.asked, request.method, request.options or {})
    settings = checked(request.method, request.options or {})
    return str(settings.get("effort", METHODS[request.method].choices[0]))


def _publication(request: Request, written: ReleaseInParts) -> Publication:
    paths = request.output.beside
    return Publication(
        certificate=written.certificate,
        out=Path(request.out),
        files=(Path(request.out),),
        exposed=written.exposed,
        certificate_file=paths.get("certificate"),
        envelope_file=paths.get("envelope"),
        lost=written.lost,
        rigid=written.rigid,
        allows=written.allows,
        leaks=written.leaks,
    )
