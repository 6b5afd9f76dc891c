"""The screens about releases: publish one, and verify one."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response

from tclose import steps
from tclose.errors import InputError, TcloseError
from tclose.policy import Policy
from tclose.studio import register
from tclose.studio.home import Dropped, keep_upload, named_file, safe_name
from tclose.studio.pages import Screen, back, count_of, page, project_page, start, text_of, texts_of, whole_of
from tclose.studio.project import PRIVATE_FOLDER, Project
from tclose.studio.publication import FIELDS, FORMATS, POSTED, PROPOSED, SigningKeys, files_of, requested
from tclose.studio.register import CONTEXT
from tclose.studio.screens.candidates import chosen_candidate

if TYPE_CHECKING:
    from tclose.studio.server import Studio

# Publish: what will be written, then done; everything also as a policy and as the command that does the same


def show_publish(request: Request, project: Project) -> Response:
    """Show what can be published, and every release that was; or hand files over."""
    releases = register.releases(project)
    if not {"all", "file"}.isdisjoint(request.query_params):
        return _handed_over(request, project)
    keys = _keys(request)
    if asked := request.query_params.get("public"):
        return FileResponse(keys.public(asked), filename=keys.public(asked).name, media_type="text/plain")
    deleted = [line for line in register.lines(project) if line.get("deleted")]
    if project.is_closed:
        return project_page(request, project, "publish", template="releases", releases=releases, deleted=deleted)
    if project.result("look") is None:
        return back(request, "open")
    return project_page(
        request,
        project,
        "publish",
        releases=releases,
        deleted=deleted,
        candidate=chosen_candidate(request, project),
        formats=FORMATS,
        fields=FIELDS,
        said=project.settings.get("context", {}),
        keys=keys.names,
        planned=files_of(_requested(project, PROPOSED), signed=False),
    )


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
    given, wrong = request.query_params, ""
    planned: dict[str, str] = {}
    lacks: tuple[str, ...] = ()
    try:
        asked = _requested(project, given)
        planned = files_of(asked, signed=bool(_signer(_keys(request), given)))
        lacks = _lacking(project, asked.profile, given)
    except TcloseError as error:
        wrong = error.sentence
    return page(request, "plan.html", planned=planned, wrong=wrong, profile=given.get("profile"), lacks=lacks)


def _requested(project: Project, given: Mapping[str, str]) -> steps.Request:
    """Return what a form asks for; a mistake in it is found before the work begins."""
    return requested(given, table=project.table, policy=project.folder / "policy.toml", folder=project.folder)


def _lacking(project: Project, profile: str | None, given: Mapping[str, str]) -> tuple[str, ...]:
    """Return what a profile asks for and neither the policy nor the form says."""
    if profile is None:
        return ()
    written = {name: given[name].strip() for name in CONTEXT if name in given}
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
    said = {name: text_of(form, name) for name in form}
    asked: dict[str, Any] = {name: said[name] for name in (*POSTED, "valid_until") if name in said}
    _requested(project, asked)
    asked["key"] = _signer(_keys(request), said)
    _say(project, {name: text_of(form, name).strip() for name in CONTEXT if name in form})
    asked["context"] = project.settings.get("context", {})  # of this form: another tab may say another recipient
    start(request, project, "publish", number=number, asked=asked, passphrase=text_of(form, "passphrase"))
    return back(request, "publish")


def remove(request: Request, project: Project, form: FormData) -> Response:
    """Delete the files of one release, by the number that the confirmation names."""
    number = whole_of(form, "number")
    release = register.release_of(project, number)
    if number is None or whole_of(form, "sure") != number:
        raise InputError("nothing was deleted: tick the box that names release {number}", number=release["number"])
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


def _signer(keys: SigningKeys, given: Mapping[str, str]) -> str:
    """Return the file of the key that signs: one that was made here, or one elsewhere; nothing where nobody signs."""
    own, elsewhere = given.get("signer", ""), given.get("key", "").strip()
    if own and elsewhere:
        raise InputError("choose one key: one of yours, or the path of another")
    if elsewhere and named_file(elsewhere) is None:
        raise InputError("there is no such key on this machine")
    return str(keys.private(own)) if own else elsewhere and str(Path(elsewhere).expanduser())


def _say(project: Project, said: dict[str, str]) -> None:
    """Keep what the steward says about the release in the policy."""
    with project.lock:
        settings = project.settings
        context = {**settings.get("context", {}), **said}
        kept = {name: value for name, value in context.items() if value}
        others = {name: value for name, value in settings.items() if name != "context"}
        project.change({**others, **({"context": kept} if kept else {})})


PUBLISH = Screen("publish", show_publish, {"run": publish, "key": make_key, "remove": remove}, {"plan": plan})


# Verify: a release and its certificate, judged again, and who signed it; the original is not needed


def show_verify(request: Request, project: Project) -> Response:
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
        release, certificate = (_kept(form, dropped.folder, name) for name in ("release", "certificate"))
        signer = _kept(form, dropped.folder, "signer")
        if not (release and certificate):
            raise InputError("choose a release and its certificate")
        start(
            request, project, "verify", after=dropped.remove,
            release=release, certificate=certificate, signer=signer, name="verified",
        )  # fmt: skip
    except BaseException:
        dropped.remove()
        raise
    return back(request, "verify")


def _kept(form: FormData, folder: Path, name: str) -> str:
    """Copy what was dropped in a field, and return the path; nothing where the field is empty."""
    given = form.get(name)
    if not isinstance(given, UploadFile) or not given.filename:
        return ""
    (folder / name).mkdir(mode=PRIVATE_FOLDER)  # two files may be called the same
    path = folder / name / safe_name(given.filename, name)
    keep_upload(given, path)
    return str(path)


VERIFY = Screen("verify", show_verify, {"run": verify})
