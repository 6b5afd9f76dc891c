"""Check a table as a query; verify a release; search and verify a lower bound."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tclose.errors import InputError
from tclose.policy import Policy, PolicyLike
from tclose.release.demands import NO_DEMANDS, Demands
from tclose.release.files import check_targets
from tclose.release.lower_bound import BoundVerification, LowerBound, ProofFile
from tclose.release.targets import sources_of
from tclose.release.verification import Verification
from tclose.release.verify import verify_with
from tclose.run.places import Engine
from tclose.sql import sql_check
from tclose.steps.given import as_frame
from tclose.types import Progress, silent


def sql(policy: PolicyLike, *, table: str, dialect: str) -> str:
    """Return the query that judges a table of a warehouse as `check` would."""
    return sql_check(policy, table=table, dialect=dialect)


def verify(
    release: str | Path,
    certificate: str | Path,
    *,
    digest: str | None = None,
    population: str | Path | None = None,
    demands: Demands = NO_DEMANDS,
    engine: Engine = "memory",
    progress: Progress = silent,
) -> Verification:
    """Judge a written release again, δ-presence by a `population`, and compare with its certificate.

    `demands` say who must have signed the certificate, and what else is asked of it.

    The engine `disk` judges a release of one table that need not fit into memory; `auto` chooses it for large files.
    """
    from tclose.engine import choosing, disk

    if engine == "disk" and population is not None:
        raise InputError("presence is judged in memory: leave out the population, or use the engine memory")
    if population is None and choosing.verified_on_disk(engine, release, certificate):
        return disk.verify(release, certificate, digest=digest, demands=demands, progress=progress)
    asked: dict[str, Any] = {"digest": digest, "population": population, "demands": demands}
    return verify_with(None, release, certificate, **asked, progress=progress)


def bound(
    table: Any,
    policy: PolicyLike,
    *,
    seconds: float | None = None,
    certificate: str | Path | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> LowerBound:
    """Search for a lower bound on the detail that any release of a table loses; `certificate` is a file for its proof.

    Without `force`, an existing file is refused.
    """
    from tclose.engine import memory
    from tclose.engine.bounding import SECONDS

    asked = Policy.of(policy)
    if certificate is not None:
        check_targets([Path(certificate)], sources_of(table, policy, asked), force=force)
    frame = as_frame(table, asked)
    found = memory.bound(frame, asked, seconds=SECONDS if seconds is None else seconds, progress=progress)
    if certificate is not None:
        found.save(certificate, force=force)
    return found


def verify_bound(
    table: Any, policy: PolicyLike, proof: str | Path, *, progress: Progress = silent
) -> BoundVerification:
    """Check the proof of a lower bound against a table and a policy, independently of the search that found it."""
    from tclose.engine import memory

    asked, loaded = Policy.of(policy), ProofFile.load(proof)
    return memory.verify_bound(as_frame(table, asked), asked, loaded, progress=progress)
