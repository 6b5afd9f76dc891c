"""Which candidate a screen is about: the one that is asked for, or the newest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from starlette.requests import Request

from tclose.studio.project import Project


def chosen(request: Request, project: Project) -> dict[str, Any] | None:
    """Return a candidate; None where there is none yet."""
    candidates = project.candidates()
    asked = request.query_params.get("candidate", "")
    return next((each for each in candidates if str(each["number"]) == asked), candidates[0] if candidates else None)


def kept(place: Path, name: str) -> Any:
    """Return what was found about a candidate; None where nobody has looked."""
    try:
        return json.loads((place / f"{name}.json").read_text())
    except (OSError, ValueError):
        return None
