"""Search for a lower bound on the detail lost, and check the proof of one.

The search has kernels, so it is imported on demand: a check must not load numba.
"""

from __future__ import annotations

import json
import math
import secrets
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tclose.errors import InputError, PolicyError
from tclose.partition import method_called
from tclose.policy import Policy
from tclose.release.lower_bound import BoundVerification, LowerBound, ProofFile
from tclose.release.release import PreparedRelease
from tclose.run.compile_notice import compile_notice
from tclose.run.request import Request
from tclose.table import CodedTable
from tclose.types import Progress, Repeating, silent

if TYPE_CHECKING:
    from tclose.measure.bound import BoundProblem

SECONDS = 60.0  # that a search takes, unless another time is given


@dataclass(frozen=True, eq=False)
class BoundSearch:
    """A search that is ready to start: everything for which no bound can be given has been refused."""

    problem: BoundProblem
    seconds: float

    @classmethod
    def of(cls, table: CodedTable, policy: Policy, seconds: float = SECONDS) -> BoundSearch:
        """Prepare the search; `PolicyError` says why no bound can be given."""
        from tclose.measure.bound import bound_problem

        return cls(bound_problem(table, policy), checked_seconds(seconds))

    def run(self, progress: Progress = silent) -> LowerBound:
        """Search; the time that kernels take to compile does not count."""
        from tclose.measure.bound import lower_bound

        with compile_notice(progress) as (report, compiling):
            found = lower_bound(
                self.problem,
                seconds=self.seconds,
                progress=report,
                clock=lambda: time.monotonic() - compiling.seconds,
            )
        # Without the salt, anyone who knows all rows but one could try values until the proof's fingerprint fits.
        proof = {**found.proof, "kind": found.kind, "salt": secrets.token_hex(16)}
        content = (json.dumps(proof, separators=(",", ":")) + "\n").encode()
        return LowerBound(found.value, found.kind, found.seconds, content, found.note)


def search_for(request: Request, method: str, table: CodedTable, policy: Policy) -> BoundSearch | None:
    """Prepare the search that a request asks for, if it does."""
    if not request.asks_bound:
        return None
    return BoundSearch.of(table, policy, seconds_for(method, request.bound_seconds))


def with_bound(prepared: PreparedRelease, search: BoundSearch | None, progress: Progress = silent) -> PreparedRelease:
    """Search, and put the bound beside a release that is not written yet; without a search, change nothing."""
    if search is None:
        return prepared
    found = search.run(progress)
    found.claim.confirm(prepared.layout.tables[0].measures["gcp"])
    return replace(prepared, bound=found, about=replace(prepared.about, bound=found.claim))


def verify_proof(table: CodedTable, policy: Policy, proof: ProofFile, progress: Progress = silent) -> BoundVerification:
    """Check a proof against a table and a policy, without the search."""
    from tclose.measure.bound import bound_problem, verify_bound
    from tclose.measure.bound.verifier import FORMAT

    if proof.content["format"] != FORMAT:
        raise InputError("this version of tclose cannot read proofs of this format")
    begun, report = time.monotonic(), Repeating(progress)
    report(0.0, "checking the proof")
    verdict = verify_bound(proof.content, bound_problem(table, policy), report.beat)
    return BoundVerification(verdict.reason, proof.exact, proof.kind, time.monotonic() - begun, proof.sha256)


def seconds_for(method: str, seconds: float | None) -> float:
    """Return the time for a bound beside a release; a method for which no bound can be given is refused."""
    if (tables := method_called(method).tables) != "one":
        published = "several tables" if tables == "several" else "quasi-identifiers as they are"
        raise PolicyError(
            "a lower bound is about releases of one table of classes, but the method '{method}' publishes {published}",
            method=method,
            published=published,
        )
    return checked_seconds(SECONDS if seconds is None else seconds)


def checked_seconds(seconds: float) -> float:
    """Return a time; refuse what is none."""
    is_number = isinstance(seconds, int | float | np.number) and not isinstance(seconds, bool)
    if not is_number or not 0 < seconds < math.inf:
        raise PolicyError("the time for a lower bound is a number of seconds above 0")
    return float(seconds)
