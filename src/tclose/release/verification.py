"""How published tables are compared with what their certificate says; the layouts put these pieces together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from tclose.errors import InputError, PolicyError
from tclose.policy import Policy
from tclose.privacy.counted import FailingModel, JudgedCounts
from tclose.privacy.judge import judge
from tclose.privacy.results import CheckResult
from tclose.release.certificate import Certificate, Origin
from tclose.release.claims import Claims
from tclose.release.comparing import claim_problems, count_problems, in_words, measure_problems
from tclose.release.pseudonymity import release_problems
from tclose.release.signatures import SignatureFindings
from tclose.table import CodedTable, encode
from tclose.types import Claim, Progress, stretch
from tclose.words import counted, html_table

NO_IDENTITY = "quasi-identifiers are published exactly: who is in the table is not hidden, only what is sensitive"


@dataclass(frozen=True)
class Verified:
    """What is wrong about a table, and what was found about it, if it could be judged."""

    problems: Sequence[str]
    result: CheckResult | None
    table: CodedTable | None = None


@dataclass(frozen=True)
class Verification:
    """Whether a release is what its certificate says, and everything that it is not."""

    problems: tuple[str, ...]
    result: CheckResult | None
    files: tuple[str, ...] = ()  # of a release of several tables, or of one table in a folder
    identity_protected: bool = True
    not_verifiable: tuple[str, ...] = ()  # keys of the certificate about which the release alone says nothing
    origin: Origin | None = None  # what the certificate says that the release is
    tables: int = 1  # that the files hold
    signatures: SignatureFindings | None = None  # where keys were given, or the certificate came with signatures
    opened: tuple[str, ...] = ()  # commitments that were compared with the steward's record
    presence: Claim | None = None  # how likely anyone of the population is in the table, where the certificate says so
    following: tuple[str, ...] = ()  # problems that need no other reason than that a file was changed

    @property
    def leading(self) -> tuple[str, ...]:
        """The problems that do not follow from another one."""
        return tuple(problem for problem in self.problems if problem not in self.following)

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    @property
    def not_verifiable_in_words(self) -> tuple[str, ...]:
        """What the release alone says nothing about, for people."""
        return tuple(map(in_words, self.not_verifiable))

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        answer = {} if self.result is None else self.result.to_dict()
        if self.files:
            answer |= {"files": list(self.files)}
        if not self.identity_protected:
            answer |= {"identity_protected": False}
        answer |= {"not_verifiable": list(self.not_verifiable)}
        if self.origin is not None:
            answer |= {"certificate": self.origin.to_dict()}
        answer |= {} if self.signatures is None else {"signatures": self.signatures.to_dict()}
        answer |= {} if self.presence is None else {"presence": self.presence.to_dict()}
        answer |= {"opened": list(self.opened)} if self.opened else {}
        return {"holds": self.holds, "problems": list(self.problems), **answer}

    def _repr_html_(self) -> str:
        verdict = "is the one that was certified, and it meets its policy" if self.holds else "is not what is certified"
        rows = [("problem", problem) for problem in self.problems]
        rows += [("not verifiable from the release alone", what) for what in self.not_verifiable_in_words]
        return html_table(f"The release {verdict}.", ("", "what"), rows)


def examined(
    read: Callable[[], pl.DataFrame],
    policy_of: Callable[[], Policy],
    claims: Claims,
    measures: Mapping[str, Any],
    promised: Certificate,
    progress: Progress,
    apart: Callable[[pl.DataFrame, Policy], Mapping[str, pl.Series]] = lambda *_: {},
) -> Verified:
    """Judge one table, each model once, and compare with the claims and measures that the certificate has for it.

    `apart` reads the cells that are published apart from the rows, where there are any.
    """
    progress(0.0, "reading")
    try:
        policy = policy_of()
        frame = read()
        progress(0.3)
        table = encode(frame, policy, apart=apart(frame, policy))
    except (InputError, PolicyError) as error:
        return not_judged(error)
    progress(0.5, "judging")
    judged = judge(table, policy, stretch(progress, 0.5, 1.0))
    failing = [FailingModel.of(verdict) for verdict in judged.verdicts]
    counts = JudgedCounts(judged.result, failing, judged.table.classes.sizes)
    problems = [*release_problems(table), *table_problems(counts, claims, measures, promised)]
    return Verified(problems, judged.result, judged.table)


def not_judged(error: InputError | PolicyError) -> Verified:
    """Say why a table could not be judged."""
    return Verified([f"the release cannot be judged as the certificate says: {error.sentence}"], None)


def table_problems(
    judged: JudgedCounts, claims: Claims, measures: Mapping[str, Any], promised: Certificate
) -> list[str]:
    """Compare what was found about a table with the claims and measures that the certificate has for it."""
    return [
        *count_problems(claims, judged.result),
        *_failures(judged.failing),
        *claim_problems(claims, judged.result, promised),
        *measure_problems(measures, judged.sizes, promised),
    ]


def prefixed(name: str, problems: Iterable[str]) -> list[str]:
    """Name the file before each of its problems."""
    return [f"{name}: {problem}" for problem in problems]


def _failures(failing: Sequence[FailingModel]) -> list[str]:
    """Name every model and class that fails."""
    problems = []
    for model in failing:
        if model.classes:
            of_attribute = "" if model.attribute is None else f" of '{model.attribute}'"
            listed = ", ".join(f"{number:,}" for number in model.numbers)
            more = f" and {model.classes - len(model.numbers):,} more" if model.classes > len(model.numbers) else ""
            problems.append(f"{model.model}{of_attribute} fails in {counted(model.classes, 'class')}: {listed}{more}")
    return problems
