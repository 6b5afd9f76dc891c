"""Verify: a release and its certificate, judged again, and who signed it; the original is not needed."""

from __future__ import annotations

from pathlib import Path

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tclose.errors import InputError
from tclose.studio.dropped import Dropped
from tclose.studio.pages import back, project_page
from tclose.studio.project import PRIVATE_FOLDER, Project
from tclose.studio.screens.base import Screen, start
from tclose.studio.uploads import keep, safe_name


def show(request: Request, project: Project) -> Response:
    """Show what verification found."""
    return project_page(request, project, "verify", found=project.result("verified"))


def enter(request: Request) -> Response:
    """Go to the place where releases of others are verified; it needs no table."""
    project = request.app.state.studio.home.verification()
    return RedirectResponse(f"/p/{project.key}/verify", 303)


def verify(request: Request, project: Project, form: FormData) -> Response:
    """Verify files that were dropped here: a release, its certificate, and the public key of its signer, if given."""
    project.forget("verified")  # an old verdict must not stand beside new files
    dropped = Dropped(project.folder)
    try:
        paths = _kept(form, dropped.folder)
        start(request, project, "verify", after=dropped.remove, **paths, name="verified")
    except BaseException:
        dropped.remove()
        raise
    return back(request, "verify")


def _kept(form: FormData, folder: Path) -> dict[str, str]:
    """Copy what was dropped; return the path of each file by what it is."""
    paths = {}
    for name in ("release", "certificate", "signer"):
        given = form.get(name)
        if not isinstance(given, UploadFile) or not given.filename:
            if name == "signer":
                continue
            raise InputError("choose a release and its certificate")
        (folder / name).mkdir(mode=PRIVATE_FOLDER)  # both may be called the same
        path = folder / name / safe_name(given.filename, name)
        keep(given, path)
        paths[name] = str(path)
    return paths


SCREEN = Screen("verify", show, {"run": verify})
