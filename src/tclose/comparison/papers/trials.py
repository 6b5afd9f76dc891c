"""Releases and class sizes for experiments: made and measured in memory, never written."""

from __future__ import annotations

from typing import Any

from tclose.comparison.papers.base import no_release
from tclose.engine.memory import anonymize
from tclose.policy import Policy
from tclose.release.release import Release
from tclose.types import Progress

SEED = 1  # the same for every method: nothing is published


def released(frame: Any, policy: Policy, method: str, progress: Progress) -> Release:
    """Return the release that a method makes."""
    with no_release():
        return anonymize(frame, policy, method=method, seed=SEED, progress=progress)


def rows_per_class(release: Release) -> float:
    """Return the average size of a class."""
    claims = release.certificate.claims
    assert claims.rows is not None
    assert claims.classes is not None
    return claims.rows / claims.classes


def detail_lost(release: Release) -> float:
    """Return the GCP of a release."""
    lost = release.certificate.measures["gcp"]
    assert lost is not None
    return float(lost)
