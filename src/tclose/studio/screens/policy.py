"""The screens on which a policy is made: columns, quasi-identifiers and their hierarchies, sensitive, risk."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tclose import steps
from tclose.errors import InputError, TcloseError
from tclose.studio.pages import (
    QUIET,
    Action,
    Screen,
    back,
    count_of,
    in_address,
    page,
    project_page,
    start,
    text_of,
    whole_of,
)
from tclose.studio.project import Project, write_whole
from tclose.studio.settings import (
    BINS,
    FIELDS,
    ROLES,
    EditedHierarchy,
    place_of,
    read,
    role_of,
    save_hierarchy,
    with_k,
    with_person,
    with_role,
    with_setting,
)
from tclose.studio.work import preview_name, values_name

# One setting of one column, as the forms of two screens send it


def column_at(project: Project, role: str, form: FormData) -> str:
    """Return the column that a form means by its place among those of its role."""
    columns = [str(name) for name in project.settings.get(role, {})]
    return columns[place_of(columns, whole_of(form, "place"), text_of(form, "column"))]


def set_column(role: str, allowed: frozenset[str], request: Request, project: Project, form: FormData) -> Response:
    """Take over every setting that a form gives for one column."""
    with project.lock:
        column = column_at(project, role, form)
        settings = project.settings
        for name, text in _given(form).items():
            if name in allowed:
                settings = with_setting(settings, role, column, name, text)
        project.change(settings)
    return back(request, role, anchor=f"column-{text_of(form, 'place')}")


def _given(form: FormData) -> dict[str, str]:
    """Return the texts of a form; a hierarchy comes as its kind and its levels, and bins as their kind and numbers."""
    given = {name: text_of(form, name) for name in form}
    if "hierarchy_kind" in given:
        kind, levels = given["hierarchy_kind"], given.get("hierarchy_levels", "")
        given["hierarchy"] = f"{kind} {levels}" if kind else ""
    if "bins_kind" in given:
        given["bins"] = bins_text(given["bins_kind"], given.get("bins_of", ""))
    return given


def bins_text(kind: str, numbers: str) -> str:
    """Put the two fields of bins together; nothing where no kind is chosen."""
    return f"{kind} {numbers}" if kind else ""


def set_k(request: Request, project: Project, form: FormData) -> Response:
    """Set the smallest class."""
    with project.lock:
        project.change(with_k(project.settings, text_of(form, "k")))
    return back(request, "quasi")


# Columns: what each one holds, the role that is proposed and why; a role changes with one click or key


def show_columns(request: Request, project: Project) -> Response:
    """Show every column with its role."""
    look, settings = project.look, project.settings
    if look is None:
        return back(request, "open")
    roles = {column["name"]: role_of(settings, column["name"]) for column in look["columns"]}
    return project_page(request, project, "columns", roles=roles, all_roles=ROLES)


def set_role(request: Request, project: Project, form: FormData) -> Response:
    """Give a column another role."""
    columns = (project.look or {"columns": []})["columns"]
    names = [column["name"] for column in columns]
    place = place_of(names, whole_of(form, "place"), text_of(form, "column"))
    column, role = columns[place], text_of(form, "role")
    proposed = column["settings"] if column["role"] == role else {}
    with project.lock:
        project.change(with_role(project.settings, column["name"], role, proposed))
    return back(request, "columns", anchor=f"column-{place}")


def set_person(request: Request, project: Project, form: FormData) -> Response:
    """Say which identifier tells persons apart."""
    with project.lock:
        project.change(with_person(project.settings, text_of(form, "person") or None))
    return back(request, "columns")


COLUMNS = Screen("columns", show_columns, {"role": set_role, "person": set_person})


# The editor of a hierarchy: values in groups, groups in groups; import and export as rows value;level 1;…;*


LARGEST = 1 << 20  # bytes of a file that is imported


def show_hierarchy(request: Request, project: Project) -> Response:
    """Show the groups of one level."""
    place = request.query_params.get("place", "")
    column = column_at(project, "quasi", FormData([("place", place)]))
    values = project.result(values_name(project, column))
    tree = None if values is None else _tree(project, column, values)
    job = request.app.state.studio.jobs.of(project.folder).current
    tried = job is not None and job.kind == "values" and job.failed_for(project.fingerprint)
    waits = job is not None and job.running and job.kind not in QUIET  # a release that is being made goes on
    if values is None and not tried and not waits:
        start(request, project, "values", column=column)
    level = min(max(count_of(request.query_params.get("level", "1")) or 1, 1), 1 if tree is None else tree.levels)
    return project_page(
        request,
        project,
        "quasi",
        template="tree",
        column=column,
        place=place,
        tree=tree,
        groups={} if tree is None else tree.groups(level),
        level=level,
        rows_of=dict(values or ()),
        path=f"{request.url.path}?{request.url.query}",  # where another language leads back to
    )


def _tree(project: Project, column: str, values: list[tuple[str, int]] | None = None) -> EditedHierarchy:
    """Return the hierarchy of a column, or the one to begin with."""
    known = [value for value, _ in values or project.result(values_name(project, column)) or []]
    given = project.settings["quasi"][column].get("hierarchy")
    if not isinstance(given, str):
        return EditedHierarchy.flat(known)
    tree = EditedHierarchy(tuple(steps.hierarchy_rows(project.folder / given)))
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
        return _back(request, place, level, said=error.sentence)
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
        _keep(project, column_at(project, "quasi", form), EditedHierarchy(tuple(rows)))
    return _back(request, text_of(form, "place"), 1)


def export(request: Request, project: Project) -> Response:
    """Hand the hierarchy over as a file."""
    place = request.query_params.get("place", "")
    text = steps.hierarchy_text(_tree(project, column_at(project, "quasi", FormData([("place", place)]))).rows)
    named = {"content-disposition": 'attachment; filename="hierarchy.csv"'}
    return Response(text, media_type="text/csv", headers=named)


def _keep(project: Project, column: str, tree: EditedHierarchy) -> None:
    name = save_hierarchy(project, tree.rows)
    project.change(with_setting(project.settings, "quasi", column, "hierarchy", f"file {name}"))


def _back(request: Request, place: str, level: int, *, said: str = "") -> Response:
    query = urlencode({"place": place, "level": level, **({"said": in_address(said)} if said else {})})
    return RedirectResponse(f"/p/{request.path_params['project']}/quasi/tree?{query}", 303)


HIERARCHY_ACTIONS: dict[str, Action] = {"change": change, "import": bring}


# Quasi-identifiers: how each is coarsened, how much it matters, and how small a class may be


QUASI_SETTINGS = frozenset({*FIELDS["quasi"], "hierarchy"})
RULES = ("prefix", "width", "date")


def show_quasi(request: Request, project: Project) -> Response:
    """Show every quasi-identifier with its settings."""
    look = project.look
    if look is None:
        return back(request, "open")
    columns = {column["name"]: column for column in look["columns"]}
    shown = [(name, columns.get(name), own) for name, own in project.settings.get("quasi", {}).items()]
    return project_page(request, project, "quasi", shown=shown, fields=FIELDS["quasi"], rules=RULES)


def preview(request: Request, project: Project) -> Response:
    """Show how many combinations there would be at each level; where nobody has counted, count."""
    found = project.result(preview_name(project))
    if found is None and not request.app.state.studio.jobs.of(project.folder).busy:
        start(request, project, "preview")
    return page(request, "preview.html", project=project, found=found, k=max(project.settings.get("k", 2), 2))


QUASI_ACTIONS: dict[str, Action] = {"column": partial(set_column, "quasi", QUASI_SETTINGS), "k": set_k}
QUASI = Screen(
    "quasi",
    show_quasi,
    {**QUASI_ACTIONS, **HIERARCHY_ACTIONS},
    {"preview": preview, "tree": show_hierarchy, "export": export},
)


# Sensitive attributes: how far a class may be from the table, and how values are compared


MODELS = [name for name in FIELDS["sensitive"] if name not in ("t", "l")]  # which have places of their own
SENSITIVE_SETTINGS = frozenset({*FIELDS["sensitive"], "distance", "bins", "publish", "missing"})
LIVE = ("t", "distance", "bins")  # what the drawing follows before it is saved


def show_sensitive(request: Request, project: Project) -> Response:
    """Show every sensitive attribute with its settings."""
    look = project.look
    if look is None:
        return back(request, "open")
    columns = {column["name"]: column for column in look["columns"]}
    shown = [
        (name, columns.get(name), own, _worst(project, columns.get(name), own), _said(project, columns.get(name), own))
        for name, own in project.settings.get("sensitive", {}).items()
    ]
    return project_page(request, project, "sensitive", shown=shown, models=MODELS, bins=BINS)


def worst(request: Request, project: Project) -> Response:
    """Show the worst class that the settings of a form, not saved yet, would allow."""
    given, columns = request.query_params, project.settings.get("sensitive", {})
    place, look = count_of(given.get("place", "")), project.look
    if look is None or place is None or place >= len(columns):
        raise InputError("there is no such column")
    name, own = list(columns.items())[place]
    column = next((each for each in look["columns"] if each["name"] == name), None)
    try:
        texts = {**given, "bins": bins_text(given.get("bins_kind", ""), given.get("bins_of", ""))}
        asked = {key: read(key, texts[key]) for key in LIVE if key in texts}
    except TcloseError:  # a number that is not finished yet
        asked = {"t": None}
    drawn, said = _worst(project, column, {**own, **asked}), _said(project, column, {**own, **asked})
    return page(request, "worst.html", worst=drawn, said=said, level=asked.get("t", own.get("t")))


def _worst(project: Project, column: Mapping[str, Any] | None, own: Mapping[str, Any]) -> steps.WorstClass | None:
    """Return the worst class that a column's settings allow; none where there is no t or nothing to draw."""
    t = own.get("t")
    if column is None or not isinstance(t, int | float) or not 0 <= t <= 1:
        return None
    file, bins = own.get("hierarchy"), own.get("bins")
    usual = "hierarchical" if file else "ordered" if bins or column["kind"] in ("number", "date") else "equal"
    distance = own.get("distance") or usual
    try:
        if distance == "ordered" and bins:
            distance = "quantiles" if "quantiles" in bins else "value"
        hierarchy = project.folder / file if isinstance(file, str) else None
        return steps.worst_allowed(column["bars"], distance, t, hierarchy=hierarchy)
    except TcloseError:
        return None


def _said(project: Project, column: Mapping[str, Any] | None, own: Mapping[str, Any]) -> steps.Allowance | None:
    """Return what a column's t allows, from the counts of its values; none where these are not known."""
    settings = project.settings
    read_alike = set(settings.get("missing", [])) == set((project.look or {}).get("missing", []))
    if column is None or not column.get("counted") or own.get("t") is None or not read_alike:
        return None
    return steps.allowed_by(column, own, settings.get("k", 1), project.folder)


SENSITIVE = Screen(
    "sensitive", show_sensitive, {"column": partial(set_column, "sensitive", SENSITIVE_SETTINGS)}, {"worst": worst}
)


# Risk today: the raw table judged, and why its worst classes reveal so much


def show_risk(request: Request, project: Project) -> Response:
    """Show the verdict on the table under the current policy, and what explains it."""
    if project.look is None:
        return back(request, "open")
    result = project.result(f"check-{project.fingerprint}")
    explained = project.result(f"explain-{project.fingerprint}")
    return project_page(request, project, "risk", result=result, explained=explained)


def judge(request: Request, project: Project, form: FormData) -> Response:
    """Judge the raw table."""
    start(request, project, "check")
    return back(request, "risk")


def explain(request: Request, project: Project, form: FormData) -> Response:
    """Explain the distance of one class."""
    number = whole_of(form, "number")
    if number is None:
        raise InputError("there is no such class")
    start(request, project, "explain", attribute=text_of(form, "attribute"), class_number=number)
    return back(request, "risk", anchor="why")


RISK = Screen("risk", show_risk, {"judge": judge, "explain": explain})
