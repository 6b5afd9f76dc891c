"""The findings of a verification: what a certificate claims, compared with what was found in the files.

Parts of a table are read one after the other, each once: what is judged is what the fingerprint was taken of.

Every key of a certificate is compared here, is compared by its layout, or is listed by `not_verifiable`. Persons are
not published, unless by pseudonyms. So a level that counts persons can only be compared with the one that counts rows.
The layouts put these pieces together; `verify.py` is the command.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tclose.errors import InputError, PolicyError
from tclose.measure.information_loss import MEASURES, MeasuredPartition, class_sizes, rounded
from tclose.messages import joined, say
from tclose.policy import Policy
from tclose.policy.settings import exact
from tclose.privacy import requirement
from tclose.privacy.class_counts import FailingModel, JudgedCounts
from tclose.privacy.judge import judge
from tclose.privacy.registry import MODELS
from tclose.privacy.results import AttributeFinding, CheckResult
from tclose.recode.frame import GUARDS
from tclose.release.certificate import Certificate, CertifiedFile, Origin
from tclose.release.certificate_format import MOST_ROWS, NEWEST
from tclose.release.claims import AttributeClaim, Claims, ModelClaim, release_problems
from tclose.release.files import sha256
from tclose.release.signatures import SignatureFindings
from tclose.table import CodedTable, encode
from tclose.table.disk_files import temporary_copy
from tclose.table.sources import read_bytes
from tclose.table.sources.door import Reader, a_reader, parse_with
from tclose.table.sources.folder import joined as joined_parts
from tclose.table.sources.folder import part
from tclose.types import Beat, Claim, Ints, Progress, stretch
from tclose.words import counted, html_table, legible

# The certified files


CHANGED = "the release is not the file that was certified: its SHA-256 differs"


@dataclass(frozen=True, eq=False)
class CertifiedFiles:
    """The files of a release, and how to read them; what is wrong about one is noted when it is read."""

    certified: Sequence[CertifiedFile]
    data: Mapping[str | None, bytes | Path]  # by the name that the certificate gives them
    guard: int  # the rule of the guard against formulas, 0 for none
    folder: bool = False  # whose files are parts of one table
    absent: Sequence[str] = ()  # what is wrong about the files that are there, and about those that are not
    changed: dict[str | None, str] = field(default_factory=dict)
    miscounted: dict[str | None, str] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """Whether a table of parts has all of its parts, and no others."""
        return not (self.folder and self.absent)

    def has(self, file: CertifiedFile) -> bool:
        """Tell whether a file is there."""
        return file.name in self.data

    def frame(self, *files: CertifiedFile) -> pl.DataFrame:
        """Read a published table from its file, or from its parts, without the apostrophes that guard it."""
        with a_reader() as reader:
            names = [str(file.name) for file in files]
            frame = joined_parts(names, (self._restored(self._read(file, reader)) for file in files))
        if not frame.height:
            raise InputError("the table has a header but no rows")
        return frame

    def problems(self) -> list[str]:
        """Say what is wrong about the files; those that nobody has read are read for it."""
        for file in self.certified:
            if self.has(file) and file.name not in self.changed:
                self._content(file)
        found = {name: say("{name}: ", name=legible(name)) if name and self._named else "" for name in self.changed}
        notes = (
            joined("", (found[name], say(note)))
            for notes in (self.changed, self.miscounted)
            for name, note in notes.items()
            if note
        )
        return [*self.absent, *notes]

    @property
    def _named(self) -> bool:
        return self.folder or len(self.certified) > 1

    def _content(self, file: CertifiedFile) -> bytes:
        """Return a file's bytes, compared with its fingerprint."""
        found = self.data[file.name]
        data = read_bytes(found) if isinstance(found, Path) else found
        self.note_digest(file, sha256(data))
        return data

    def note_digest(self, file: CertifiedFile, digest: str) -> None:
        """Compare the fingerprint of a file with what the certificate says."""
        self.changed[file.name] = self.changed.get(file.name, "") if digest == file.sha256 else CHANGED

    def note_rows(self, file: CertifiedFile, rows: int) -> None:
        """Compare how many rows a file has with what the certificate says."""
        if file.rows is not None and file.rows != rows:
            self.miscounted[file.name] = say(
                "the file has {rows}, the certificate says {claimed:,}", rows=counted(rows, "row"), claimed=file.rows
            )

    @contextmanager
    def copied(self, file: CertifiedFile, beat: Beat) -> Iterator[Path]:
        """Hold a private copy of a file, which is compared with its fingerprint while it is copied.

        Nobody else writes to the copy. So what is judged is what the fingerprint was taken of, though the file may be
        too large for memory, and may change meanwhile.
        """
        with temporary_copy(Path(str(self.data[file.name])), beat) as (path, digest):
            self.note_digest(file, digest)
            yield path

    def _read(self, file: CertifiedFile, reader: Reader) -> pl.DataFrame:
        data = self._content(file)
        frame = part(str(file.name), data, reader) if self.folder else parse_with(reader, data)
        self.note_rows(file, frame.height)
        return frame

    def _restored(self, frame: pl.DataFrame) -> pl.DataFrame:
        return GUARDS[self.guard].restored(frame) if self.guard else frame


# Claims compared with what was found


FILE_NAME = "files.1.name"
DESCRIPTIONS = (
    "version",
    "tool",
    "created",
    "table",
    "file",
    FILE_NAME,
    "method",
    "base",
    "withheld",
    "loss",
    "batch",
    "cells",
)  # of how it was made
OF_SIZES = tuple(measure for measure in MEASURES if measure.of_sizes)
COMPARED = (*(measure.name for measure in OF_SIZES), "class_sizes", "reconstruction_error")
COUNTED = ("rows", "persons")
WORDS = {
    "version": "the version of tclose",
    "tool": "the tool",
    "created": "the date",
    "table": "the name of the table",
    "file": "the name of the release",
    FILE_NAME: "the name of the release",
    "method": "the method",
    "base": "the base method",
    "loss": "the loss that was lowered",
    "withheld": "the number of withheld rows",
    "batch": "the rows that were added to the release before",
    "cells": "what the cells of quasi-identifiers are",
    "policy.suppress": "the share of rows that may be withheld",
    "counted": "that persons were counted",
    "temper.share": "how much rows were swapped at random (temper)",
    "temper.gcp_before": "detail lost (GCP) before rows were swapped at random",
    "presence": "how likely anyone of the population is in the table (presence; give --population)",
    "bound": "the lower bound on the detail lost",
    "bound_proof_sha256": "the fingerprint of its proof",
    "valid_until": "until when the certificate is valid",
    "previous": "the certificates before it",
    "commitments.source": "which table was published (give --record and --original)",
    "commitments.seed": "which seed was used (give --record)",
    **{f"measures.{measure.name}": measure.title for measure in MEASURES},
}


def count_problems(claims: Claims, result: CheckResult) -> list[str]:
    """Compare how many rows and classes there are."""
    smallest = say("{rows} in its smallest class", rows=counted(result.smallest_class, "row"))
    figures = (
        (claims.rows, result.rows, counted(result.rows, "row")),
        (claims.classes, result.classes, counted(result.classes, "class")),
        (claims.smallest_class, result.smallest_class, smallest),
    )
    return [
        say("the release has {counts}, the certificate says {claimed}", counts=words, claimed=claimed)
        for claimed, number, words in figures
        if claimed != number
    ]


def claim_problems(claims: Claims, result: CheckResult, promised: Certificate) -> list[str]:
    """Compare everything that is claimed about each attribute and about each model."""
    problems = [
        problem
        for claimed, found in ((claims.sensitive, result.sensitive), (claims.joint, result.joint))
        for name, finding in found.items()
        for problem in _attribute_problems(name, finding, claimed.get(name), claims)
    ]
    if more := len(claims.sensitive.keys() - result.sensitive.keys()) + len(claims.joint.keys() - result.joint.keys()):
        problems.append(
            say(
                "the certificate has claims about {attributes} that the release does not have",
                attributes=counted(more, "attribute"),
            )
        )
    problems += broken(claims.models)
    if claims.satisfied != result.satisfied:
        problems.append("whether everything holds is not what the certificate says")
    by_persons = _unseen_persons(promised)
    if not (_models_alike(claims, result) if by_persons else claims.models == Claims.of(result).models):
        problems.append("what the certificate says about the models is not what was found")
    return problems


def broken(models: Iterable[ModelClaim]) -> Iterator[str]:
    """Say which claims refute themselves: the level that is reached is not the one that is required.

    That needs no look at the release, so it also holds where a reader cannot count, as with persons.
    """
    for claim in models:
        if claim.model not in MODELS or not isinstance(claim.satisfied, bool):
            yield say("the certificate has a claim about {model} that cannot be read", model=legible(str(claim.model)))
        elif not _reaches(claim):
            of_attribute = "" if claim.attribute is None else say(" of '{attribute}'", attribute=claim.attribute)
            level = say("the level of {model}{of_attribute}", model=claim.model, of_attribute=of_attribute)
            yield say("{level} that the certificate says is reached is not what it requires", level=level)


def _attribute_problems(
    name: str, finding: AttributeFinding, claimed: AttributeClaim | None, claims: Claims
) -> list[str]:
    actual = AttributeClaim.from_dict(finding.to_dict())
    if claimed is None or claimed.closeness_exact != actual.closeness_exact:
        return [
            say(
                "'{name}' is {closeness_exact}-close, which is not what the certificate says (class {worst_class:,})",
                name=name,
                closeness_exact=actual.closeness_exact,
                worst_class=finding.worst_class,
            )
        ]
    expected = actual.to_dict() | ({"t": None} if _judged_by_persons_alone(claims, name) else {})
    return (
        []
        if claimed.to_dict() == expected
        else [say("what the certificate says about '{name}' is not what was found", name=name)]
    )


def _judged_by_persons_alone(claims: Claims, name: str) -> bool:
    """Tell whether all models of an attribute count persons: a reader's policy then asks for t = 1 in their place."""
    models = [claim.model for claim in claims.models if claim.attribute == name]
    return bool(models) and all(model in MODELS and not requirement(model).persons_imply_rows for model in models)


def _models_alike(claims: Claims, result: CheckResult) -> bool:
    """Compare models where the certificate counts persons and the release shows rows."""
    found = {(claim.model, claim.attribute): claim for claim in Claims.of(result).models}
    claimed = {(claim.model, claim.attribute): claim for claim in claims.models}
    missed = [key for key in found.keys() - claimed.keys() if not _stands_in(key, found, claims)]
    known = {None, *result.attributes}
    if missed or len(claimed) < len(claims.models) or any(claim.attribute not in known for claim in claims.models):
        return False
    return all(_alike(claim, found.get(key)) for key, claim in claimed.items())


def _stands_in(key: tuple[Any, Any], found: Mapping[tuple[Any, Any], ModelClaim], claims: Claims) -> bool:
    """Tell whether a model is the t = 1 that a reader judges by where all models count persons."""
    return key[0] == "t" and found[key].required == 1 and _judged_by_persons_alone(claims, str(key[1]))


def _alike(claim: ModelClaim, found: ModelClaim | None) -> bool:
    """Compare one model; persons are at most as many as rows, and show at most as many values."""
    if claim.model not in MODELS:
        return False
    entry = requirement(claim.model)
    if not entry.counts_persons:
        return claim == found
    if not entry.persons_imply_rows:
        return found is None and claim.attribute is not None and claim.satisfied is True and _reaches(claim)
    same = found is not None and claim.required == found.required and claim.satisfied is found.satisfied
    return same and found is not None and _reaches(claim) and _level(claim.reached) <= _level(found.reached)


def _reaches(claim: ModelClaim) -> bool:
    """Tell whether the level that is claimed to be reached is what is required, as far as floats can tell."""
    entry, required = requirement(str(claim.model)), claim.required
    try:
        gap = _level(claim.reached) - _wanted(required, entry.compared)
    except (KeyError, TypeError, ValueError, ArithmeticError):
        return False
    return gap >= -1e-9 if entry.sign == "≥" else gap <= 1e-9


def _wanted(required: Any, compared: str) -> float:
    """Return the level that is required; of several thresholds, such as those of groups, the one that allows most."""
    if not isinstance(required, Mapping):
        return _level(required)
    return _level(required[compared]) if compared else max(map(_level, required.values()))


def _level(level: Any) -> float:
    """Read a level as JSON has it; one of any size, such as 1e999999999, is refused before it fills the memory."""
    return math.inf if level == "infinite" else float(exact(level))


def measure_problems(measures: Mapping[str, Any], sizes: Ints, promised: Certificate) -> list[str]:
    """Compare the measures that the sizes of classes give, and the share of withheld rows with the policy's limit."""
    withheld, rows = promised.withheld, int(sizes.sum())
    if isinstance(withheld, bool) or not isinstance(withheld, int) or not 0 <= withheld <= MOST_ROWS:
        return ["the number of withheld rows in the certificate is no number of rows"]
    figures = size_figures(sizes, withheld, promised.policy.k)
    problems: list[str] = [
        say("{name} is {figure}, which is not what the certificate says", name=name, figure=figure)
        for name, figure in figures.items()
        if not _same_figure(measures.get(name), figure, promised)
    ]
    if Fraction(withheld, rows + withheld) > promised.policy.suppress:
        problems.append("the certificate says that more rows were withheld than its policy allows")
    return problems


def _same_figure(claimed: Any, figure: Any, promised: Certificate) -> bool:
    """Compare a measure; the first certificates of format 1 have more digits."""
    more_digits = promised.format == 1 and isinstance(claimed, float) and not isinstance(figure, Mapping)
    return bool((rounded(claimed) if more_digits else claimed) == figure)


def bound_problems(promised: Certificate) -> list[str]:
    """Compare the lower bound with the rest of the certificate: it must not contradict what the release lost."""
    if promised.bound is None:
        return []
    problems = promised.bound.problems(promised.measures.get("gcp"))
    if promised.withheld or "suppress" in promised.settings or promised.layout not in ("one table", "both"):
        problems.append("the certificate has a lower bound, which needs a release of one table with all its rows")
    return problems


def size_figures(sizes: Ints, withheld: int, k: int) -> dict[str, Any]:
    """Return the measures that look at nothing but the sizes of classes, and these sizes."""
    partition = MeasuredPartition(sizes, [], withheld, k, np.empty(0, dtype=np.int64), [])
    figures = {measure.name: rounded(measure.compute(partition)) for measure in OF_SIZES}
    return {**figures, "class_sizes": class_sizes(partition)}


def not_verifiable(
    promised: Certificate,
    unknown_keys: tuple[str, ...],
    *,
    population: bool = False,
    any_name: bool = True,
    opened: Collection[str] = (),
) -> tuple[str, ...]:
    """List the keys of a certificate about which the release alone, or with its population, says nothing.

    `any_name` says that the release is one file, which may be called anything; `opened` are commitments that the
    steward's record opened.
    """
    content = promised.to_dict() | ({FILE_NAME: None} if any_name and promised.format == NEWEST else {})
    described = [name for name in DESCRIPTIONS if name in content]
    bound = [] if promised.bound is None else list(promised.bound.to_dict())
    steward = promised.steward.not_verifiable(opened)
    suppress = ["policy.suppress"] if "suppress" in promised.settings else []
    tempering = [] if promised.temper is None else ["temper.share", "temper.gcp_before"]
    tempering += [] if promised.presence is None or population else ["presence"]
    unseen = _unseen_persons(promised)
    persons = ["counted", *_by_persons("", promised.claims)] if unseen else []
    persons += [f"pseudonyms.{name}.key" for name in promised.pseudonyms or ()]
    measures = list(_measures("", promised.measures))
    for file in promised.files:
        persons += _by_persons(say("{file}: ", file=file.name), file.claims) if file.claims and unseen else []
        measures += _measures(say("{file}: ", file=file.name), file.measures or {})
    return (*described, *suppress, *tempering, *bound, *steward, *persons, *measures, *unknown_keys)


def _unseen_persons(promised: Certificate) -> bool:
    """Tell whether persons were counted whom no reader of the release can tell apart."""
    return promised.counted == "persons" and promised.pseudonyms is None


def in_words(key: str) -> str:
    """Say for people what a key stands for; a key without words stays as it is.

    >>> in_words("r-1.csv: measures.gcp"), in_words("note")
    ('r-1.csv: detail lost (GCP)', 'note')
    """
    file, colon, name = key.rpartition(": ")
    if not file and name.startswith("pseudonyms.") and name.endswith(".key"):
        return say("the fingerprint of the key of '{name}'", name=name[len("pseudonyms.") : -len(".key")])
    said = say(WORDS.get(name, name))
    return joined("", (file, colon, said)) if file else said


def _by_persons(place: str, claims: Claims) -> Iterator[str]:
    for claim in claims.models:
        if claim.model in MODELS and requirement(str(claim.model)).counts_persons:
            of_attribute = "" if claim.attribute is None else say(" of '{attribute}'", attribute=claim.attribute)
            yield joined(
                "", (place, say("{model}{of_attribute} by persons", model=claim.model, of_attribute=of_attribute))
            )


def _measures(place: str, measures: Mapping[str, Any]) -> Iterator[str]:
    """Yield the measures that look at the original table, or that nobody knows."""
    yield from (f"{place}measures.{name}" for name in measures if name not in COMPARED)


# Findings about tables, and about a release


NO_IDENTITY = "quasi-identifiers are published exactly: who is in the table is not hidden, only what is sensitive"


@dataclass(frozen=True, repr=False)
class TableFindings:
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
        return html_table(say("The release {verdict}.", verdict=verdict), ("", "what"), rows)


def table_findings(
    read: Callable[[], pl.DataFrame],
    policy_of: Callable[[], Policy],
    claims: Claims,
    measures: Mapping[str, Any],
    promised: Certificate,
    progress: Progress,
    apart: Callable[[pl.DataFrame, Policy], Mapping[str, pl.Series]] = lambda *_: {},
) -> TableFindings:
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
    return TableFindings(problems, judged.result, judged.table)


def not_judged(error: InputError | PolicyError) -> TableFindings:
    """Say why a table could not be judged."""
    return TableFindings(
        [say("the release cannot be judged as the certificate says: {sentence}", sentence=error.sentence)], None
    )


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
    return [joined(": ", (name, say(problem))) for problem in problems]


def _failures(failing: Sequence[FailingModel]) -> list[str]:
    """Name every model and class that fails."""
    problems = list[str]()
    for model in failing:
        if model.classes:
            of_attribute = "" if model.attribute is None else say(" of '{attribute}'", attribute=model.attribute)
            listed = joined(", ", [say("{number:,}", number=number) for number in model.numbers])
            more = (
                say(" and {classes:,} more", classes=model.classes - len(model.numbers))
                if model.classes > len(model.numbers)
                else ""
            )
            problems.append(
                say(
                    "{model}{of_attribute} fails in {classes}: {listed}{more}",
                    model=model.model,
                    of_attribute=of_attribute,
                    classes=counted(model.classes, "class"),
                    listed=listed,
                    more=more,
                )
            )
    return problems
