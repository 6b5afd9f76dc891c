"""Publish: what will be written, then done; everything also as a policy and as the command that does the same."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from tclose import steps
from tclose.errors import InputError, TcloseError
from tclose.policy import Policy
from tclose.policy.context import PROFILES
from tclose.studio import register
from tclose.studio.home import named_file
from tclose.studio.pages import back, page, project_page, texts_of
from tclose.studio.project import Project
from tclose.studio.publication import files_of
from tclose.studio.register import CONTEXT
from tclose.studio.screens.base import Screen, count_of, start, text_of, whole_of
from tclose.studio.screens.candidates import chosen
from tclose.studio.signing_keys import SigningKeys

if TYPE_CHECKING:
    from tclose.studio.server import Studio

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")
FORMATS = {"csv": "CSV", "xlsx": "Excel", "parquet": "Parquet", "dta": "Stata", "sav": "SPSS"}


def show(request: Request, project: Project) -> Response:
    """Show what can be published, and every release that was; or hand files over."""
    releases = register.releases(project)
    if not {"all", "file"}.isdisjoint(request.query_params):
        return _handed_over(request, project)
    keys = _keys(request)
    if asked := request.query_params.get("public"):
        return FileResponse(keys.public(asked), filename=keys.public(asked).name, media_type="text/plain")
    deleted = [line for line in register.lines(project) if line.get("deleted")]
    shown: dict[str, Any] = {"releases": releases, "deleted": deleted}
    if project.is_closed:
        return project_page(request, project, "publish", template="releases", **shown)
    if project.result("look") is None:
        return back(request, "open")
    shown |= {"candidate": chosen(request, project), "formats": FORMATS}
    shown |= {"profiles": PROFILES, "said": project.settings.get("context", {}), "keys": keys.names}
    shown["planned"] = files_of(_asked(keys, {"format": "csv", "report": "yes"}.get))
    return project_page(request, project, "publish", **shown)


def _handed_over(request: Request, project: Project) -> Response:
    """Hand a file of a release over, or all of them in one archive; what is the steward's own is none of them."""
    number, name = request.query_params.get("release", ""), request.query_params.get("file")
    release = register.release_of(project, count_of(number))
    folder = Path(release["folder"])
    if name is None:
        return _all(release)
    if name not in release["files"]:
        raise InputError("there is no such file")
    return FileResponse(folder / name, filename=name, media_type="application/octet-stream")


def plan(request: Request, project: Project) -> Response:
    """Show which files a form, not sent yet, would write, and what its profile would lack."""
    given, wrong = request.query_params.get, ""
    planned: dict[str, str] = {}
    lacks: tuple[str, ...] = ()
    try:
        asked = _asked(_keys(request), given)
        planned = files_of(asked)
        lacks = _lacking(project, asked["profile"], given)
    except TcloseError as error:
        wrong = error.sentence
    return page(request, "plan.html", planned=planned, wrong=wrong, profile=given("profile"), lacks=lacks)


def _lacking(project: Project, profile: str, given: Callable[[str], str | None]) -> tuple[str, ...]:
    """Return what a profile asks for and neither the policy nor the form says."""
    if not profile:
        return ()
    written = {name: (given(name) or "").strip() for name in CONTEXT if given(name) is not None}
    settings = {**project.settings, "context": {**project.settings.get("context", {}), **written}}
    return steps.missing_in_profile(profile, Policy.from_dict(settings, folder=project.folder))


def _keys(request: Request) -> SigningKeys:
    studio: Studio = request.app.state.studio
    return studio.home.signing_keys


def _all(release: register.Release) -> Response:
    """Hand all files of a release over in one archive."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in release["files"]:
            packed.write(Path(release["folder"]) / name, name)
    named = {"Content-Disposition": f'attachment; filename="release-{release["number"]}.zip"'}
    return Response(content.getvalue(), media_type="application/zip", headers=named)


def publish(request: Request, project: Project, form: FormData) -> Response:
    """Publish a candidate."""
    number = whole_of(form, "candidate")
    if number is None:
        raise InputError("choose a candidate that there is")
    asked = _asked(_keys(request), lambda name: text_of(form, name))
    _say(project, {name: text_of(form, name).strip() for name in CONTEXT if name in form})
    asked["context"] = project.settings.get("context", {})  # of this form: another tab may say another recipient
    start(request, project, "publish", number=number, asked=asked, passphrase=text_of(form, "passphrase"))
    return back(request, "publish")


def remove(request: Request, project: Project, form: FormData) -> Response:
    """Delete the files of one release, by the number that the confirmation names."""
    number = whole_of(form, "number")
    release = register.release_of(project, number)
    if number is None or whole_of(form, "sure") != number:
        raise InputError(f"nothing was deleted: tick the box that names release {release['number']}")
    register.remove(project, number)
    return back(request, "publish", anchor="releases")


def make_key(request: Request, project: Project, form: FormData) -> Response:
    """Make a key to sign with."""
    name, passphrase = text_of(form, "key_name").strip(), text_of(form, "new_passphrase")
    if passphrase != text_of(form, "same_passphrase"):
        raise InputError("the two passphrases differ: write the same one twice")
    fingerprint = _keys(request).make(name, passphrase)
    said = texts_of(request)("publish.key_made", name=name, fingerprint=fingerprint)
    return back(request, "publish", said=said, anchor="signer")


def _asked(keys: SigningKeys, given: Callable[[str], str | None]) -> dict[str, Any]:
    """Return what a form asks for: the files, their form, and who signs."""
    kind, profile = given("format") or "", given("profile") or ""
    if kind not in FORMATS or profile not in ("", *PROFILES):
        raise InputError("choose a format and a profile that there are")
    report = bool(given("report"))
    if profile and not report:
        raise InputError("a profile is a part of the page: ask for a page, too")
    asked = {"report": report, "key": _signer(keys, given), "valid_until": (given("valid_until") or "").strip()}
    names = _names(given("name") or "release", kind)
    return {**asked, "profile": profile, "columns": bool(given("columns")), "names": names}


def _signer(keys: SigningKeys, given: Callable[[str], str | None]) -> str:
    """Return the file of the key that signs: one that was made here, or one elsewhere; nothing where nobody signs."""
    own, elsewhere = given("signer") or "", (given("key") or "").strip()
    if own and elsewhere:
        raise InputError("choose one key: one of yours, or the path of another")
    if elsewhere and named_file(elsewhere) is None:
        raise InputError("there is no such key on this machine")
    return str(keys.private(own)) if own else elsewhere and str(Path(elsewhere).expanduser())


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


SCREEN = Screen("publish", show, {"run": publish, "key": make_key, "remove": remove}, {"plan": plan})
