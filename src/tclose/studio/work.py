"""What a project's process does: each piece of work calls a step and keeps what it returns in the project's folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from tclose import steps
from tclose.errors import InputError, PolicyError
from tclose.policy import Policy
from tclose.policy.source import source_settings
from tclose.studio import findings, previews, publication
from tclose.studio.holding import held
from tclose.studio.project import Project, drafted, read_settings, write_whole
from tclose.studio.recovery import remove_incomplete
from tclose.studio.wording import sentence
from tclose.types import Progress, stretch
from tclose.words import rows_in_classes

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
    project.keep("sheets", sheets := steps.sheets_of(project.table))
    if len(sheets) > 1 and (source is None or source.sheet is None):
        raise InputError(f"the workbook has {len(sheets)} sheets: choose one of them below")
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
    words: dict[str, Any] = {"sentence": sentence(told), "notes": list(map(sentence, result.notes))}
    words["alone"] = _alone(project, stretch(progress, 0.5, 0.7))
    words["worst"] = _worst_classes(project, policy, result, stretch(progress, 0.7, 1.0))
    project.keep(name, {**result.to_dict(), "models": findings.requirements(result), **words})
    return {"result": name}


def _alone(project: Project, progress: Progress) -> dict[str, Any] | None:
    """Return how many rows have a combination of quasi-identifiers of their own; None where it cannot be counted."""
    name = previews.preview_name(project)
    if project.result(name) is None:
        previews.preview(project.folder, progress)
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
        published = steps.anonymize(
            project.table,
            policy,
            out=place / RELEASE,
            certificate=place / CERTIFICATE,
            record=place / publication.RECORD,
            method=method,
            options=options,
            engine="auto",
            progress=stretch(progress, 0.0, 0.9),
        )
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
        write_whole(place / "result.json", json.dumps(told))
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
    write_whole(place / "attack.json", json.dumps(found.to_dict()))
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
    write_whole(place / "inside.json", json.dumps(told))
    return {"candidate": number}


def _compare(project: Project, policy: Policy, place: Path, progress: Progress) -> None:
    """Compare a candidate with its table, column by column and class by class; that is done once."""
    publication.check_table(project.table, place)
    by_column, by_class = stretch(progress, 0.0, 0.5), stretch(progress, 0.5, 1.0)
    changes = steps.column_changes(place / RELEASE, project.table, policy, progress=by_column)
    listed = steps.class_list(place / RELEASE, project.table, policy, place / CERTIFICATE, progress=by_class)
    write_whole(place / CHANGES, json.dumps([each.to_dict() for each in changes]))
    write_whole(place / CLASSES, json.dumps(listed.to_dict()))


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
    Project(folder).keep(name, {**findings.verification(found), "release": Path(release).name, "asked": bool(signer)})
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
    "curve": previews.curve,
    "values": previews.values,
    "preview": previews.preview,
    "attack": attack,
    "inside": inside,
    "publish": publication.publish,
    "verify": verify,
}
