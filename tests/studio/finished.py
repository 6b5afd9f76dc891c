"""A project in which everything was done once, made by the studio's own work without its server."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from tclose.examples import hospital
from tclose.studio import work
from tclose.studio.project import Project
from tclose.studio.publication import publish
from tclose.studio.settings import with_setting

KEY = "done"
SCREENS = ("open", "columns", "quasi", "sensitive", "risk", "try", "inside", "attack", "publish", "verify")
COLUMNS = ("name", "zip", "age", "sex", "ldl", "diagnosis")


def ready(folder: Path, rows: int = 120) -> Project:
    """Make a project that was looked at, and whose policy is complete."""
    project = Project.create(folder, name="patients.csv", table="patients.csv")
    hospital(rows, seed=3).select(COLUMNS).write_csv(project.table)
    work.look(folder, silent)
    for name in ("ldl", "diagnosis"):
        project.change(with_setting(project.settings, "sensitive", name, "t", "0.45"))
    return project


def finish(home: Path) -> Project:
    """Do everything once, with the cheapest method."""
    folder = home / ".tclose" / "studio" / KEY
    before = os.umask(0o077)  # as the studio's own process has it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        project = ready(folder)
        _do_everything(folder)
    os.umask(before)
    return project


def _do_everything(folder: Path) -> None:
    work.check(folder, silent)
    work.explain(folder, silent, attribute="ldl", class_number=1)
    for _ in range(2):
        work.attempt(folder, silent, method="mondrian", effort=None)
    work.attack(folder, silent, number=2)
    work.inside(folder, silent, number=2, class_number=1)
    publish(folder, silent, number=2, asked={"format": "csv"})
    release, certificate = (str(folder / "releases" / "1" / name) for name in ("release.csv", "certificate.json"))
    work.verify(folder, silent, release=release, certificate=certificate, name="verified")


def silent(share: float, phase: str = "") -> None:
    """Say nothing."""
