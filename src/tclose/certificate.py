"""What was proved about a release, in a file that anyone can check without the original table."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tclose.errors import InputError, PolicyError
from tclose.findings import AttributeFinding, CheckResult
from tclose.judging import judge, supersets_of, verdicts
from tclose.policy import Policy
from tclose.recode.output import check_targets, pending, publish, sha256
from tclose.table import CodedTable, encode
from tclose.table.files import parse, read_bytes
from tclose.wording import counted

FORMAT = "tclose-certificate-1"
MOST_LISTED = 100


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

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        found = {} if self.result is None else self.result.to_dict()
        return {"holds": self.holds, "problems": list(self.problems), **found}


def load(path: str | Path) -> tuple[Certificate, str]:
    """Read a certificate and the digest that stands in it."""
    data = read_bytes(path)
    try:
        content = json.loads(data, object_pairs_hook=_once)
        digest = content.pop("digest")
        if content["format"] != FORMAT or not isinstance(digest, str) or not isinstance(content["policy"], dict):
            raise ValueError
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


def verify(release: str | Path, certificate: str | Path, *, digest: str | None = None) -> Verification:
    """Judge a release again, from its published values alone, and compare with what its certificate says."""
    promised, written = load(certificate)
    problems = list(_paper_problems(promised, written, digest))
    data = read_bytes(release)
    if sha256(data) != promised.content.get("sha256"):
        problems.append("the release is not the file that was certified: its SHA-256 differs")
    try:
        policy = promised.policy
        table = encode(parse(data), policy)
    except (InputError, PolicyError) as error:
        return Verification((*problems, f"the release cannot be judged as the certificate says: {error}"), None)
    result = judge(table, policy, lambda share, what: None)
    problems += _count_problems(promised.content, result)
    problems += _failures(table, policy)
    problems += _closeness_problems(promised.content, result)
    return Verification(tuple(problems), result)


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
    return [
        f"'{name}' is {_fraction(found)}-close, which is not what the certificate says (class {found.worst_class:,})"
        for name, found in result.sensitive.items()
        if _promised_closeness(content, name) != _fraction(found)
    ]


def _promised_closeness(content: Mapping[str, Any], name: str) -> object:
    try:
        return content["sensitive"][name]["closeness_exact"]
    except (KeyError, TypeError):
        return None


def _fraction(found: AttributeFinding) -> str:
    return f"{found.closeness.numerator}/{found.closeness.denominator}"
