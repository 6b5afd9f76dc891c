"""Work that shows what settings would mean: nothing is published, and what was found stays in the project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tclose import steps
from tclose.studio.project import Project
from tclose.types import Progress


def curve(folder: Path, progress: Progress, *, methods: list[str]) -> dict[str, Any]:
    """Measure what protection costs, with the default method and others."""
    project = Project(folder)
    name, policy = f"curve-{project.fingerprint}", project.policy
    chosen = list(dict.fromkeys([steps.DEFAULT_METHOD, *methods]))
    project.keep(name, steps.cost_curve(project.table, policy, methods=chosen, progress=progress).to_dict())
    return {"result": name}
