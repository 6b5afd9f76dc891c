"""Publish: what will be written, then done; everything also as a policy and as the command that does the same."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from tclose.errors import InputError
from tclose.policy.context import PROFILES
from tclose.studio.home import named_file
from tclose.studio.pages import back, project_page
from tclose.studio.project import Project, write_whole
from tclose.studio.publication import CONTEXT
from tclose.studio.screens.base import Screen, start, text_of, whole_of
from tclose.studio.screens.candidates import chosen

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")
FORMATS = {"csv": "CSV", "xlsx": "Excel", "parquet": "Parquet", "dta": "Stata", "sav": "SPSS"}


def show(request: Request, project: Project) -> Response:
    """Show what can be published, and what was; or hand published files over."""
    made = {file.name: file for file in (project.folder / "release").iterdir() if not file.name.startswith(".")}
    if request.query_params.get("all") and made:
        return _all(project, made)
    if asked := request.query_params.get("file"):
        if asked not in made:
            raise InputError("there is no such file")
        return FileResponse(made[asked], filename=asked, media_type="application/octet-stream")
    if project.result("look") is None:
        return back(request, "open")
    shown: dict[str, Any] = {"candidate": chosen(request, project), "files": sorted(made), "formats": FORMATS}
    shown |= {"profiles": PROFILES, "said": project.settings.get("context", {})}
    return project_page(request, project, "publish", **shown, published=project.result("published"))


def _all(project: Project, made: dict[str, Path]) -> Response:
    """Hand all published files over in one archive."""
    archive = project.folder / "results" / "release.zip"
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, file in sorted(made.items()):
            packed.write(file, name)
    write_whole(archive, content.getvalue())
    return FileResponse(archive, filename="release.zip", media_type="application/zip")


def publish(request: Request, project: Project, form: FormData) -> Response:
    """Publish a candidate."""
    number, kind, profile = whole_of(form, "candidate"), text_of(form, "format"), text_of(form, "profile")
    if number is None or kind not in FORMATS or profile not in ("", *PROFILES):
        raise InputError("choose a candidate, a format and a profile that there are")
    key, until = text_of(form, "key").strip(), text_of(form, "valid_until").strip()
    if key and named_file(key) is None:
        raise InputError("there is no such key on this machine")
    report = bool(text_of(form, "report"))
    if profile and not report:
        raise InputError("a profile is a part of the page: ask for a page, too")
    asked = {"report": report, "key": key and str(Path(key).expanduser()), "valid_until": until, "profile": profile}
    asked |= {"columns": bool(text_of(form, "columns")), "names": _names(text_of(form, "name") or "release", kind)}
    _say(project, {name: text_of(form, name).strip() for name in CONTEXT if name in form})
    start(request, project, "publish", number=number, asked=asked)
    return back(request, "publish")


def _names(stem: str, kind: str) -> dict[str, str]:
    if not NAME.fullmatch(stem):
        raise InputError("a name has letters, digits, hyphens and underscores, at most 60")
    before = "" if stem == "release" else f"{stem}-"
    return {"release": f"{stem}.{kind}", "certificate": f"{before}certificate.json", "report": f"{before}report.html"}


def _say(project: Project, said: dict[str, str]) -> None:
    """Keep what the steward says about the release in the policy."""
    with project.lock:
        settings = project.settings
        context = {**settings.get("context", {}), **said}
        kept = {name: value for name, value in context.items() if value}
        others = {name: value for name, value in settings.items() if name != "context"}
        project.change({**others, **({"context": kept} if kept else {})})


SCREEN = Screen("publish", show, {"run": publish})
