"""What was proved about a release, in a file that anyone can check without the original table."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tclose.errors import InputError, PolicyError
from tclose.policy import Policy
from tclose.privacy.judge import judge, supersets_of, verdicts
from tclose.privacy.results import AttributeFinding, CheckResult
from tclose.recode.guard import cells_unguarded, unguarded
from tclose.release.files import check_targets, pending, publish, sha256
from tclose.release.marks import combined, group_policy, join_problems, projection_policy, sibling
from tclose.table import CodedTable, encode
from tclose.table.sources import parse, read_bytes
from tclose.words import counted

FORMAT = "tclose-certificate-1"
MOST_LISTED = 100
BY_ROWS = ("distance", "closeness", "worst_class")  # of an attribute: the same whether or not persons are told apart
GUARD = "guard_formulas"  # whether text that a spreadsheet would run has an apostrophe in front


@dataclass(frozen=True)
class Certificate:
    """The policy, what was found, what it cost, and the fingerprint of the release."""

    content: Mapping[str, Any]  # everything but the digest

    @property
    def digest(self) -> str:
        """The SHA-256 of the content as canonical JSON: it finds accidents and naive edits, and is no signature."""
        canonical = json.dumps(self.content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()

    @property
    def policy(self) -> Policy:
        """What the release is judged by; it holds everything itself and names no files."""
        policy = Policy.from_dict(self.content["policy"])
        if policy.files:
            raise PolicyError("a certificate cannot name files: what a release is judged by stands in it")
        return policy

    def to_bytes(self) -> bytes:
        """Return the file's bytes."""
        return (json.dumps({**self.content, "digest": self.digest}, indent=2, ensure_ascii=False) + "\n").encode()

    def save(self, path: str | Path) -> None:
        """Write the certificate."""
        check_targets([Path(path)])
        with pending({"certificate": Path(path)}) as files:
            files["certificate"].write(lambda file: file.write(self.to_bytes()))
            publish(files.values())


@dataclass(frozen=True)
class Verification:
    """Whether a release is what its certificate says, and everything that it is not."""

    problems: tuple[str, ...]
    result: CheckResult | None
    files: tuple[str, ...] = ()  # of a release of several tables
    identity_protected: bool = True

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        found = {} if self.result is None else self.result.to_dict()
        if self.files:
            found |= {"files": list(self.files)}
        if not self.identity_protected:
            found |= {"identity_protected": False}
        return {"holds": self.holds, "problems": list(self.problems), **found}


def load(path: str | Path) -> tuple[Certificate, str]:
    """Read a certificate and the digest that stands in it."""
    data = read_bytes(path)
    try:
        content = json.loads(data, object_pairs_hook=_once)
        digest = content.pop("digest")
        if content["format"] != FORMAT or not isinstance(digest, str) or not isinstance(content["policy"], dict):
            raise ValueError
        _check_tables(content)
        certificate = Certificate(content)
        certificate.digest.encode()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{path} is not a certificate of tclose") from None
    return certificate, digest


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that stands twice: people might read the one, and we the other."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _check_tables(content: Mapping[str, Any]) -> None:
    """Refuse several tables that are not told as they should be; a file is named, never a path to it."""
    tables = content.get("tables", ())
    names = [table["file"] for table in tables]
    if len(set(names)) < len(names) or ("tables" in content and not names):
        raise ValueError
    if not all(isinstance(name, str) for name in (*names, content.get("group", ""))):
        raise ValueError
    if not all(isinstance(table.get("sensitive", {}), dict) for table in tables):
        raise ValueError
    if any(name in ("", ".", "..") or set(name) & set("/\\:\0") for name in names):
        raise ValueError


def verify(release: str | Path, certificate: str | Path, *, digest: str | None = None) -> Verification:
    """Judge a release again, from its published values alone, and compare with what its certificate says.

    The files of a release of several tables are found beside `release` (the name that was given when it was written,
    or one of theirs) by the names in the certificate.

    >>> import tempfile, tclose
    >>> table = pl.DataFrame({"age": [20, 30, 40, 50], "salary": [3, 4, 3, 4]})
    >>> policy = Policy(quasi=["age"], sensitive={"salary": {"t": 0.1}}, k=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = Path(folder, "release.csv"), Path(folder, "certificate.json")
    ...     _ = tclose.anonymize(table, policy, method="mondrian").write(paths[0], certificate=paths[1])
    ...     verify(*paths).holds
    True
    """
    promised, written = load(certificate)
    problems = _paper_problems(promised, written, digest)
    if "tables" in promised.content:
        found = _verified_together(Path(release), promised)
        return replace(found, problems=(*problems, *found.problems))
    data = read_bytes(release)
    problems += _fingerprint_problems(data, promised.content)
    more, result = _examined(partial(_read, data, promised), lambda: promised.policy, promised.content)
    return Verification((*problems, *more), result)


def _read(data: bytes, promised: Certificate) -> pl.DataFrame:
    """Read a published table, without the apostrophes that guard it."""
    frame = parse(data)
    if promised.content.get(GUARD) is not True:
        return frame
    if missed := cells_unguarded(frame):
        raise InputError(f"{counted(missed, 'cell')} not as the guard against formulas writes them")
    return unguarded(frame)


def _fingerprint_problems(data: bytes, content: Mapping[str, Any]) -> list[str]:
    same = sha256(data) == content.get("sha256")
    return [] if same else ["the release is not the file that was certified: its SHA-256 differs"]


def _examined(
    read: Callable[[], pl.DataFrame], policy_of: Callable[[], Policy], content: Mapping[str, Any]
) -> tuple[list[str], CheckResult | None]:
    """Judge one table, and compare with what was promised of it."""
    try:
        policy = policy_of()
        table = encode(read(), policy)
    except (InputError, PolicyError) as error:
        return [f"the release cannot be judged as the certificate says: {error}"], None
    result = judge(table, policy, lambda share, what: None)
    return [*_count_problems(content, result), *_failures(table, policy), *_closeness_problems(content, result)], result


def _verified_together(release: Path, promised: Certificate) -> Verification:
    """Judge all tables of a release."""
    content = promised.content
    names = [table["file"] for table in content["tables"]]
    problems = []
    if release.name not in names and sibling(release, "-1").name != names[0]:
        problems.append(f"the certificate is of {', '.join(names)}, not of {release.name}")
    data = {}
    for table in content["tables"]:
        name = table["file"]
        if (release.parent / name).exists():
            data[name] = read_bytes(release.parent / name)
            problems += _of(name, _fingerprint_problems(data[name], table))
        else:
            problems.append(f"there is no file {name} beside {release.name}: all tables are judged together")
    if not data:
        raise InputError(f"there is no file {release.parent / names[0]}")
    more, result = (_anatomy if "group" in content else _projections)(promised, data)
    return Verification((*problems, *more), result, tuple(names), "group" not in content)


def _of(name: str, problems: Iterable[str]) -> list[str]:
    return [f"{name}: {problem}" for problem in problems]


def _projections(promised: Certificate, data: Mapping[str, bytes]) -> tuple[list[str], CheckResult | None]:
    """Judge each projection on its own, then compare what all hold with the promise."""
    problems, results = [], []
    for number, table in enumerate(promised.content["tables"]):
        if (name := table["file"]) in data:
            more, result = _examined(
                partial(_read, data[name], promised), partial(_projection_policy, promised, number), table
            )
            problems += _of(name, more)
            results += [] if result is None else [result]
    shared = [name for result in results for name in result.sensitive]
    if len(results) < len(promised.content["tables"]):
        return problems, None
    if sorted(shared) != sorted(promised.policy.sensitive):
        problems.append("the tables do not hold every sensitive attribute exactly once")
    if len({result.rows for result in results}) > 1:
        problems.append("the tables do not have equally many rows")
    whole = combined(results)
    return [*problems, *_count_problems(promised.content, whole), *_closeness_problems(promised.content, whole)], whole


def _projection_policy(promised: Certificate, number: int) -> Policy:
    names = promised.content["tables"][number].get("sensitive", ())
    policy = promised.policy
    if unknown := [name for name in names if name not in policy.sensitive]:
        raise PolicyError(f"{counted(len(unknown), 'attribute')} of the table not in the policy")
    return projection_policy(policy, names, first=number == 0)


def _anatomy(promised: Certificate, data: Mapping[str, bytes]) -> tuple[list[str], CheckResult | None]:
    """Judge the groups, and whether both tables have them."""
    content = promised.content
    files = [data.get(table["file"]) for table in content["tables"]]
    if len(files) != 2 or files[0] is None or files[1] is None:
        return ["the groups cannot be judged: they take two tables"], None
    read = partial(_read, promised=promised)
    problems, result = _examined(
        partial(read, files[1]), lambda: group_policy(promised.policy, content["group"]), content
    )
    problems = _of(content["tables"][1]["file"], problems)
    if content.get("identity_protected") is not False:
        problems.append("the certificate does not say that identity is not protected")
    try:
        problems += join_problems(read(files[0]), read(files[1]), promised.policy, content["group"])
    except (InputError, PolicyError) as error:
        problems.append(f"the tables cannot be joined: {error}")
    return problems, result


def _paper_problems(promised: Certificate, written: str, expected: str | None) -> list[str]:
    problems = []
    if promised.digest != written:
        problems.append("the certificate was changed after it was made: its digest does not fit its content")
    if expected is not None and expected.strip().lower() != promised.digest:
        problems.append("this is not the certificate that you were told of: its digest differs from --digest")
    return problems


def _count_problems(content: Mapping[str, Any], result: CheckResult) -> list[str]:
    found = {
        "rows": (result.rows, counted(result.rows, "row")),
        "classes": (result.classes, counted(result.classes, "class")),
        "smallest_class": (result.smallest_class, f"{counted(result.smallest_class, 'row')} in its smallest class"),
    }
    return [
        f"the release has {words}, the certificate says {content.get(key)}"
        for key, (number, words) in found.items()
        if content.get(key) != number
    ]


def _failures(table: CodedTable, policy: Policy) -> list[str]:
    """Name every model and class that fails."""
    problems = []
    for verdict in verdicts(table, table.classes, policy, supersets=supersets_of(table, policy)):
        failing = (np.flatnonzero(~verdict.judgement.admitted) + 1).tolist()
        if failing:
            what = verdict.model.name if verdict.attribute is None else f"{verdict.model.name} of '{verdict.attribute}'"
            listed = ", ".join(f"{number:,}" for number in failing[:MOST_LISTED])
            more = f" and {len(failing) - MOST_LISTED:,} more" if len(failing) > MOST_LISTED else ""
            problems.append(f"{what} fails in {counted(len(failing), 'class')}: {listed}{more}")
    return problems


def _closeness_problems(content: Mapping[str, Any], result: CheckResult) -> list[str]:
    """Compare everything that was found about each attribute, and about each model where it counts rows."""
    promised, rows = content.get("sensitive"), content.get("counted") == "rows"
    problems = []
    for name, found in result.sensitive.items():
        said = promised.get(name) if isinstance(promised, dict) else None
        if not isinstance(said, dict) or said.get("closeness_exact") != _fraction(found):
            what = f"'{name}' is {_fraction(found)}-close, which is not what the certificate says"
            problems.append(f"{what} (class {found.worst_class:,})")
        elif any(said.get(key) != figure for key, figure in found.to_dict().items() if rows or key in BY_ROWS):
            problems.append(f"what the certificate says about '{name}' is not what was found")
    whole = result.to_dict()
    if rows and content.get("satisfied") != whole["satisfied"]:
        problems.append("whether everything holds is not what the certificate says")
    if rows and content.get("models") != whole["models"]:
        problems.append("what the certificate says about the models is not what was found")
    return problems


def _fraction(found: AttributeFinding) -> str:
    return f"{found.closeness.numerator}/{found.closeness.denominator}"
