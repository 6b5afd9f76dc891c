"""The editor of a hierarchy: values in groups, groups in groups; import and export as rows value;level 1;…;*."""

from __future__ import annotations

import secrets
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tclose import steps
from tclose.errors import InputError, TcloseError
from tclose.studio.pages import QUIET, project_page
from tclose.studio.previews import values_name
from tclose.studio.project import Project, write_whole
from tclose.studio.screens.base import Action, count_of, start, text_of, whole_of
from tclose.studio.screens.settings_form import column_at
from tclose.studio.settings import with_setting
from tclose.studio.trees import Tree, saved
from tclose.studio.wording import sentence

LARGEST = 1 << 20  # bytes of a file that is imported


def show(request: Request, project: Project) -> Response:
    """Show the groups of one level."""
    place = request.query_params.get("place", "")
    column = column_at(project, "quasi", FormData([("place", place)]))
    values = project.result(values_name(project, column))
    shown: dict[str, Any] = {"column": column, "place": place, "tree": None, "groups": {}, "level": 1, "rows_of": {}}
    shown["path"] = f"{request.url.path}?{request.url.query}"  # where another language leads back to
    job = request.app.state.studio.jobs.of(project.folder).current
    tried = job is not None and job.kind == "values" and job.failed_for(project.fingerprint)
    waits = job is not None and job.running and job.kind not in QUIET  # a release that is being made goes on
    if values is None and not tried and not waits:
        start(request, project, "values", column=column)
    elif values is not None:
        tree = _tree(project, column, values)
        level = min(max(count_of(request.query_params.get("level", "1")) or 1, 1), tree.levels)
        shown |= {"tree": tree, "level": level, "groups": tree.groups(level), "rows_of": dict(values)}
    return project_page(request, project, "quasi", template="tree", **shown)


def _tree(project: Project, column: str, values: list[tuple[str, int]] | None = None) -> Tree:
    """Return the hierarchy of a column, or the one to begin with."""
    known = [value for value, _ in values or project.result(values_name(project, column)) or []]
    given = project.settings["quasi"][column].get("hierarchy")
    if not isinstance(given, str):
        return Tree.flat(known)
    tree = Tree(tuple(steps.hierarchy_rows(project.folder / given)))
    return (tree if tree.levels else tree.with_level()).covering(known)


def change(request: Request, project: Project, form: FormData) -> Response:
    """Move values, rename a group, or add or take away a level; a mistake is said above the groups."""
    level, place = whole_of(form, "level"), text_of(form, "place")
    column = column_at(project, "quasi", form)
    if level is None:
        raise InputError("there is no such level")
    try:
        at = _changed(project, column, level, form)
    except TcloseError as error:
        return _back(request, place, level, said=sentence(error.sentence))
    return _back(request, place, at)


def _changed(project: Project, column: str, at: int, form: FormData) -> int:
    """Change the groups of a level, and return the level to show."""
    with project.lock:
        tree, done = _tree(project, column), text_of(form, "do")
        if not 1 <= at <= tree.levels:
            raise InputError("there is no such level")
        if done == "move":
            tree = tree.moved(at, [str(each) for each in form.getlist("below")], text_of(form, "group"))
        elif done == "rename":
            tree = tree.renamed(at, text_of(form, "old"), text_of(form, "name"))
        elif done in ("add", "remove"):
            tree = tree.with_level() if done == "add" else tree.without_level()
            at = tree.levels
        _keep(project, column, tree)
    return at


def bring(request: Request, project: Project, form: FormData) -> Response:
    """Take a hierarchy from a file."""
    given = form.get("file")
    if not isinstance(given, UploadFile) or not given.filename:
        raise InputError("choose a file first")
    content = given.file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise InputError("a hierarchy file has at most 1 MB here")
    dropped = project.folder / "results" / f"hierarchy-{secrets.token_hex(4)}.csv"
    write_whole(dropped, content)
    try:
        rows = steps.hierarchy_rows(dropped)
    except InputError as error:
        raise InputError(error.sentence.replace(dropped.name, "file")) from None
    finally:
        dropped.unlink()
    with project.lock:
        _keep(project, column_at(project, "quasi", form), Tree(tuple(rows)))
    return _back(request, text_of(form, "place"), 1)


def export(request: Request, project: Project) -> Response:
    """Hand the hierarchy over as a file."""
    place = request.query_params.get("place", "")
    text = steps.hierarchy_text(_tree(project, column_at(project, "quasi", FormData([("place", place)]))).rows)
    named = {"content-disposition": 'attachment; filename="hierarchy.csv"'}
    return Response(text, media_type="text/csv", headers=named)


def _keep(project: Project, column: str, tree: Tree) -> None:
    name = saved(project, tree.rows)
    project.change(with_setting(project.settings, "quasi", column, "hierarchy", f"file {name}"))


def _back(request: Request, place: str, level: int, *, said: str = "") -> Response:
    query = urlencode({"place": place, "level": level, **({"said": said} if said else {})})
    return RedirectResponse(f"/p/{request.path_params['project']}/quasi/tree?{query}", 303)


ACTIONS: dict[str, Action] = {"change": change, "import": bring}
