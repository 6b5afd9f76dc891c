"""Work that shows what settings would mean: nothing is published, and what was found stays in the project."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from tclose import steps
from tclose.errors import Cancelled, TcloseError
from tclose.policy import Policy
from tclose.studio.project import Project
from tclose.types import Progress


def curve(folder: Path, progress: Progress, *, methods: list[str]) -> dict[str, Any]:
    """Measure what protection costs, with the default method and others."""
    project = Project(folder)
    name, policy = f"curve-{project.fingerprint}", project.policy
    chosen = list(dict.fromkeys([steps.DEFAULT_METHOD, *methods]))
    project.keep(name, steps.cost_curve(project.table, policy, methods=chosen, progress=progress).to_dict())
    return {"result": name}


def quasi_policy(project: Project) -> Policy:
    """Return what the policy says about quasi-identifiers alone; the rest may still have to be chosen."""
    settings = project.settings
    asked: dict[str, Any] = {name: settings[name] for name in ("quasi", "missing", "source") if name in settings}
    if "person" in settings:
        asked |= {"identifiers": [settings["person"]], "person": settings["person"]}
    return Policy.from_dict({"k": max(settings.get("k", 2), 2), **asked}, folder=project.folder)


def values_name(project: Project, column: str) -> str:
    """Return the name of the result that holds a column's values."""
    return f"values-{_digest(project, [column], 'missing', 'source')}"


def _digest(project: Project, given: list[str], *names: str) -> str:
    """Tell one table and some of its settings from others."""
    settings = project.settings
    said = [*given, project.table_state, *(settings.get(name) for name in names)]
    return hashlib.sha256(json.dumps(said, default=str).encode()).hexdigest()[:16]


def values(folder: Path, progress: Progress, *, column: str) -> dict[str, Any]:
    """Find the different values of a column."""
    project = Project(folder)
    settings = project.settings
    policy: dict[str, Any] = {name: settings[name] for name in ("missing", "source") if name in settings}
    policy |= {"k": 2, "quasi": [column]}
    name = values_name(project, column)
    project.keep(name, steps.column_values(project.table, policy, column, progress=progress))
    return {"result": name}


def preview_name(project: Project) -> str:
    """Return the name of the result that counts combinations; it depends on the quasi-identifiers only."""
    return f"preview-{_digest(project, [], 'quasi', 'k', 'person', 'missing', 'source')}"


def preview(folder: Path, progress: Progress) -> dict[str, Any]:
    """Count the combinations of quasi-identifiers; what cannot be counted is kept as a sentence."""
    project = Project(folder)
    name = preview_name(project)
    try:
        levels = steps.preview_classes(project.table, quasi_policy(project), progress=progress)
        project.keep(name, {"levels": [each.to_dict() for each in levels], "error": ""})
    except Cancelled:
        raise
    except TcloseError as error:
        project.keep(name, {"levels": [], "error": error.sentence})
    return {"result": name}
