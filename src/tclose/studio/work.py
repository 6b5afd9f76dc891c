"""What a project's process does: each piece of work calls a step and keeps what it returns in the project's folder."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from tclose import steps
from tclose.errors import Cancelled, InputError, PolicyError, TcloseError
from tclose.policy import Policy
from tclose.policy.source import source_settings
from tclose.studio import publication
from tclose.studio.project import Project, drafted, held, read_settings, write_json, write_whole
from tclose.studio.register import remove_incomplete
from tclose.types import Progress, stretch
from tclose.words import rows_in_classes

# Work that shows what settings would mean: nothing is published, and what was found stays in the project


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


# Work on a table, its candidates and its releases


ROLE_KEYS = {"identifiers", "quasi", "sensitive", "keep"}
MOST_MOVES = 12  # that are shown
MOST_WORST = 3  # classes that are told in words
MOST_EXPLAINED = 1_000_000  # rows of a table whose classes are
RELEASE, CERTIFICATE = "release.csv", "certificate.json"
CHANGES, CLASSES = "before-after.json", "classes.json"  # of a candidate, made when it is first looked at


def look(folder: Path, progress: Progress, *, written: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Look at the table, and begin a policy where there is none.

    `written` is what the steward now says about the file; the rest is detected. Nothing changes if it cannot be read.
    """
    project = Project(folder)
    said = project.settings.get("source") if written is None else written or None
    source = None if said is None else source_settings(said, "source")
    project.keep("sheets", sheets := steps.sheet_names(project.table))
    if len(sheets) > 1 and (source is None or source.sheet is None):
        raise InputError("the workbook has {count} sheets: choose one of them below", count=len(sheets))
    state, before = project.table_state, project.result("look")
    detect = written is not None
    found = steps.look(project.table, source=source, detect=detect, progress=progress).to_dict()
    project.keep("look", {**found, "table_state": state})
    project.change(_fitting(project.settings, found, None if before is None else drafted(before)))
    return {"rows": found["rows"]}


def _fitting(settings: Mapping[str, Any], found: Mapping[str, Any], draft: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the settings for a table that was read again; they begin anew where nothing was decided, or nothing fits.

    `draft` is what was proposed for the table as it was read before.
    """
    named = {str(column) for role in ROLE_KEYS for column in settings.get(role, ())}
    columns = [column["name"] for column in found["columns"]]  # others come with another sheet or separator
    untouched = draft is not None and _without_source(settings) == _without_source(draft)
    if untouched or not named or not named <= set(columns):
        return drafted(found)
    source = {"source": dict(found["source"])} if found["source"] else {}
    others = {} if named == set(columns) else {"others": "drop"}
    return {**_without_source(settings), **others, **source}


def _without_source(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name != "source"}


def check(folder: Path, progress: Progress) -> dict[str, Any]:
    """Judge the table as it is."""
    project = Project(folder)
    name, policy = f"check-{project.fingerprint}", project.policy
    result = steps.check(project.table, policy, engine="auto", progress=stretch(progress, 0.0, 0.5))
    told = rows_in_classes(result.rows, result.classes, smallest=result.smallest_class, withheld=result.withheld)
    words: dict[str, Any] = {"sentence": told, "notes": list(result.notes)}
    words["alone"] = _alone(project, stretch(progress, 0.5, 0.7))
    words["worst"] = _worst_classes(project, policy, result, stretch(progress, 0.7, 1.0))
    project.keep(name, {**result.to_dict(), "models": publication.requirements(result), **words})
    return {"result": name}


def _alone(project: Project, progress: Progress) -> dict[str, Any] | None:
    """Return how many rows have a combination of quasi-identifiers of their own; None where it cannot be counted."""
    name = preview_name(project)
    if project.result(name) is None:
        preview(project.folder, progress)
    levels: list[dict[str, Any]] = project.result(name)["levels"]
    return levels[0] if levels else None


def _worst_classes(
    project: Project, policy: Policy, result: steps.CheckResult, progress: Progress
) -> list[dict[str, Any]]:
    """Explain the worst class of the first attributes that fail; tables too large for memory are not explained."""
    failing: dict[str, int] = {}
    for finding in result.models:
        attribute = finding.attribute
        if attribute is not None and attribute in policy.sensitive and finding.worst_class and not finding.satisfied:
            failing.setdefault(attribute, finding.worst_class)
    if result.rows > MOST_EXPLAINED:
        return []
    words = []
    for place, (attribute, worst) in enumerate(list(failing.items())[:MOST_WORST]):
        part = stretch(progress, place / len(failing), (place + 1) / len(failing))
        words.append(_explained(project, policy, attribute, worst, part, keep=not place))
    return words


def explain(folder: Path, progress: Progress, *, attribute: str, class_number: int) -> dict[str, Any]:
    """Explain how far one class is from the table, for one attribute."""
    project = Project(folder)
    _explained(project, project.policy, attribute, class_number, progress, keep=True)
    return {"attribute": attribute, "number": class_number}


def _explained(
    project: Project, policy: Policy, attribute: str, class_number: int, progress: Progress, *, keep: bool
) -> dict[str, Any]:
    """Explain one class for one attribute; with `keep`, the page shows its moves, too."""
    found = steps.explain(project.table, policy, attribute=attribute, class_number=class_number, progress=progress)
    moves = [move.to_dict() for move in (found.moves_between_bins if found.grouped else found.moves)]
    figures = [{**move, "mass": float(Fraction(move["mass"])), "cost": float(Fraction(move["cost"]))} for move in moves]
    costliest = sorted(figures, key=lambda move: -move["cost"])
    told = found.to_dict()
    if keep:
        project.keep(f"explain-{project.fingerprint}", {**told, "moves": costliest[:MOST_MOVES]})
    return {name: told[name] for name in ("attribute", "class", "rows", "shows", "closeness")}


def attempt(folder: Path, progress: Progress, *, method: str, effort: str | None) -> dict[str, Any]:
    """Make a release and keep it as a candidate."""
    project = Project(folder)
    remove_incomplete(project)
    policy, fingerprint, place = project.policy, project.fingerprint, project.new_candidate()
    options = steps.method_options(method, {} if effort is None else {"effort": effort})
    with held(place), _all_or_nothing(place):
        asked = steps.Request(
            table=project.table,
            policy=policy,
            out=place / RELEASE,
            certificate=place / CERTIFICATE,
            record=place / publication.RECORD,
            method=method,
            options=options,
            engine="auto",
        )
        published = steps.publish(asked, stretch(progress, 0.0, 0.9))
        told = {
            **published.to_dict(),
            "detail_lost": _detail_lost(published),
            "query_error": _query_error(project, policy, place, published, stretch(progress, 0.9, 1.0)),
            "release": RELEASE,
            "fingerprint": fingerprint,
            "effort": effort,
            "nothing": published.exposed.nothing,
            "exposed_rows": published.exposed.rows,
        }
        write_whole(place / "policy.toml", (project.folder / "policy.toml").read_text())
        write_json(place / "result.json", told)
    return {"candidate": int(place.name)}


def _detail_lost(published: steps.Publication) -> float | None:
    """Return the loss that the method lowered, otherwise the GCP; None for a release of several tables."""
    content = published.certificate.content
    lost = (content.get("loss") or {}).get("value", content.get("measures", {}).get("gcp"))
    return lost if isinstance(lost, float | int) else None


def _query_error(
    project: Project, policy: Policy, place: Path, published: steps.Publication, progress: Progress
) -> float | None:
    """Return how wrong counts are that readers make; None where the release is large, or has another layout."""
    progress(0.0, "looking at the release")
    if published.certificate.content["rows"] > MOST_EXPLAINED or len(published.files) > 1:
        return None
    try:
        return steps.query_error(place / RELEASE, project.table, policy)
    except (InputError, PolicyError):
        return None


def attack(folder: Path, progress: Progress, *, number: int) -> dict[str, Any]:
    """Attack a candidate."""
    project = Project(folder)
    place = project.candidate(number)
    publication.check_table(project.table, place)
    found = steps.attack(place / RELEASE, original=project.table, policy=_policy_of(place, project), progress=progress)
    write_json(place / "attack.json", found.to_dict())
    return {"candidate": number}


def inside(folder: Path, progress: Progress, *, number: int, class_number: int) -> dict[str, Any]:
    """Look into the classes of a candidate."""
    project = Project(folder)
    place = project.candidate(number)
    policy = _policy_of(place, project)
    part = stretch(progress, 0.0, 0.2)
    told = steps.look_inside(place / RELEASE, policy, class_number=class_number, progress=part).to_dict()
    told["limits"] = _limits(place, class_number, stretch(progress, 0.2, 0.3))
    told["reasons"] = _reasons(project, policy, place, class_number, stretch(progress, 0.3, 0.4))
    if not ((place / CHANGES).exists() and (place / CLASSES).exists()):
        _compare(project, policy, place, stretch(progress, 0.4, 1.0))
    write_json(place / "inside.json", told)
    return {"candidate": number}


def _compare(project: Project, policy: Policy, place: Path, progress: Progress) -> None:
    """Compare a candidate with its table, column by column and class by class; that is done once."""
    publication.check_table(project.table, place)
    by_column, by_class = stretch(progress, 0.0, 0.5), stretch(progress, 0.5, 1.0)
    changes = steps.column_changes(place / RELEASE, project.table, policy, progress=by_column)
    listed = steps.class_list(place / RELEASE, project.table, policy, place / CERTIFICATE, progress=by_class)
    write_json(place / CHANGES, [each.to_dict() for each in changes])
    write_json(place / CLASSES, listed.to_dict())


def _limits(place: Path, class_number: int, progress: Progress) -> list[dict[str, Any]]:
    """Return what bounds a class; nothing where the release has another layout than one table."""
    try:
        found = steps.class_limits(place / RELEASE, place / CERTIFICATE, class_number=class_number, progress=progress)
    except (InputError, PolicyError):
        return []
    return [each.to_dict() for each in found]


def _reasons(
    project: Project, policy: Policy, place: Path, class_number: int, progress: Progress
) -> dict[str, Any] | None:
    """Return why a class is as it is; None where the table or a hierarchy has changed, or the layout is another."""
    try:
        publication.check_table(project.table, place)
        found = steps.class_reasons(
            place / RELEASE, project.table, policy, class_number=class_number, progress=progress
        )
    except (InputError, PolicyError):
        return None
    return found.to_dict()


def verify(
    folder: Path, progress: Progress, *, release: str, certificate: str, name: str, signer: str = ""
) -> dict[str, Any]:
    """Verify a release that was dropped here, and by whom it must have been signed, if a public key is given."""
    demands = steps.demands(signers=[signer] if signer else [])
    found = steps.verify(release, certificate, demands=demands, engine="auto", progress=progress)
    Project(folder).keep(
        name, {**publication.verification_summary(found), "release": Path(release).name, "asked": bool(signer)}
    )
    return {"result": name}


@contextmanager
def _all_or_nothing(place: Path) -> Iterator[None]:
    """Leave nothing of a folder that is not completed."""
    try:
        yield
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise


def _policy_of(place: Path, project: Project) -> Policy:
    """Return the policy of a candidate; the files that it names lie in the project."""
    return Policy.from_dict(read_settings(place / "policy.toml"), folder=project.folder)


WORK: dict[str, Callable[..., dict[str, Any]]] = {
    "look": look,
    "check": check,
    "explain": explain,
    "try": attempt,
    "curve": curve,
    "values": values,
    "preview": preview,
    "attack": attack,
    "inside": inside,
    "publish": publication.publish,
    "verify": verify,
}
