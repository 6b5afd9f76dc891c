"""Publish: what will be written, then done; everything also as a policy and as the command that does the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from tclose.errors import InputError
from tclose.studio.pages import back, project_page
from tclose.studio.project import Project
from tclose.studio.screens.base import Screen, start, text_of
from tclose.studio.screens.candidates import chosen

FORMATS = {"csv": "CSV", "xlsx": "Excel", "parquet": "Parquet", "dta": "Stata", "sav": "SPSS"}


def show(request: Request, project: Project) -> Response:
    """Show what can be published, and what was; or hand a published file over."""
    if asked := request.query_params.get("file"):
        made = {file.name: file for file in (project.folder / "release").iterdir()}
        if asked not in made:
            raise InputError("there is no such file")
        return FileResponse(made[asked], filename=asked, media_type="application/octet-stream")
    if project.result("look") is None:
        return back(request, "open")
    files = sorted(file.name for file in (project.folder / "release").iterdir() if not file.name.startswith("."))
    shown: dict[str, Any] = {"candidate": chosen(request, project), "files": files, "formats": FORMATS}
    return project_page(request, project, "publish", **shown, published=project.result("published"))


def publish(request: Request, project: Project, form: FormData) -> Response:
    """Publish a candidate."""
    number, kind = text_of(form, "candidate"), text_of(form, "format")
    if not number.isdigit() or kind not in FORMATS:
        raise InputError("choose a candidate and a format")
    key, until = text_of(form, "key").strip(), text_of(form, "valid_until").strip()
    if key and not Path(key).expanduser().is_file():
        raise InputError("there is no such key on this machine")
    asked = {"report": bool(text_of(form, "report")), "key": key and str(Path(key).expanduser()), "valid_until": until}
    start(request, project, "publish", number=int(number), suffix=kind, **asked)
    return back(request, "publish")


SCREEN = Screen("publish", show, {"run": publish})
