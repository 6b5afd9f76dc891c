"""Verify a release without the original table: judge it again and compare with its certificate.

A verifier may demand more than the claims: who must have signed, by which day, and what the record opens.

A release of one table is one file, or a folder whose files are the parts of the table. The files of several tables lie
beside each other. Only files in the folder that was named are opened: names in a certificate are never paths, and links
that lead elsewhere are not followed.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from tclose.errors import InputError
from tclose.messages import say
from tclose.release.certificate import ONE_TABLE, Certificate, CertifiedFile, LoadedCertificate, load
from tclose.release.claims import claim_problems as pseudonym_problems
from tclose.release.commitments import Commitments, OpenedRecord
from tclose.release.layouts import LAYOUTS, layout_of, sibling
from tclose.release.layouts.base import GUARANTEE
from tclose.release.layouts.one_table import ONE_TABLE_ENTRY
from tclose.release.signatures import Envelope, PublicKey, SignatureFindings, envelope_path, forms_of, load_public_key
from tclose.release.verification import (
    CHANGED,
    COUNTED,
    CertifiedFiles,
    TableFindings,
    Verification,
    bound_problems,
    not_verifiable,
)
from tclose.table import CodedTable
from tclose.table.sources import is_folder, read_bytes
from tclose.table.sources.folder import no_part, visible_names
from tclose.types import Claim, Progress, silent, stretch
from tclose.words import counted, legible

# What a verifier demands


OTHER = "the certificate is not the one that was signed: it differs from the one in {}"


@dataclass(frozen=True)
class Demands:
    """Everything that is asked of a certificate besides its claims."""

    signers: tuple[PublicKey, ...] = ()
    required: int | None = None  # keys that must have signed; None for all that are given
    on: date | None = None  # the day by which `valid_until` is judged; None for today
    record: Path | None = None  # the steward's, which opens the commitments
    original: str | Path | None = None  # the table that was published

    def __post_init__(self) -> None:
        """Refuse what can never be met, or would say nothing."""
        keys, required = len(set(self.signers)), self.required
        whole = isinstance(required, int) and not isinstance(required, bool)
        if required is not None and not (whole and required >= 1):
            raise InputError(
                "how many of the signers are required is a whole number of at least 1: leave it out to require all"
            )
        if required is not None and required > keys:
            needed = say("{keys} must have signed", keys=counted(required, "key"))
            given = say("only {keys} given", keys=counted(keys, "different key")) if keys else say("no key is given")
            raise InputError("{needed}, and {given}: add --signer PUB", needed=needed, given=given)
        if self.original is not None and self.record is None:
            raise InputError("the original table is compared with the help of the record: add --record FILE")

    def examined(self, loaded: LoadedCertificate, path: Path) -> ExaminedCertificate:
        """Look at everything that is asked."""
        problems = loaded.certificate.steward.problems(self.on)
        envelope = loaded.envelope
        if self.signers and envelope is None:
            beside = envelope_path(path)
            envelope = self._beside(loaded, beside, problems)
        findings = None
        if self.signers or envelope is not None:
            findings = SignatureFindings.of(envelope, self.signers, self.required)
            problems += findings.problems()
        opened, wrong = self._opened(loaded.certificate)
        return ExaminedCertificate((*problems, *wrong), findings, opened)

    def _beside(self, loaded: LoadedCertificate, beside: Path, problems: list[str]) -> Envelope | None:
        """Return the signatures that lie beside a plain certificate, which must be the one that was signed."""
        if not beside.exists():
            problems.append(say("the certificate is not signed: there is no {name} beside it", name=beside.name))
            return None
        signed = load(beside)
        if signed.envelope is None or (signed.digest, signed.written_digest) != (loaded.digest, loaded.written_digest):
            problems.append(OTHER.format(beside.name))
        return signed.envelope

    def _opened(self, certificate: Certificate) -> tuple[tuple[str, ...], list[str]]:
        """Return the commitments that the record opens, and what is wrong about them."""
        if self.record is None:
            return (), []
        kept: Commitments | None = certificate.steward.commitments
        if kept is None:
            raise InputError("the certificate has no commitments, so no record is needed")
        record, opened, wrong = OpenedRecord.load(self.record), ["commitments.seed"], []
        if not hmac.compare_digest(record.keys.of_seed(record.seed), kept.seed):
            wrong.append("the record is not that of this release: its seed is not the one that was committed to")
        if self.original is not None:
            if kept.source is None:
                raise InputError("the certificate commits to no table: it was not made from a file")
            opened.append("commitments.source")
            if not hmac.compare_digest(record.keys.of_source(self.original), kept.source):
                wrong.append(say("{original} is not the table that the certificate commits to", original=self.original))
        return tuple(opened), wrong


@dataclass(frozen=True)
class ExaminedCertificate:
    """What was found about a certificate besides its claims."""

    problems: tuple[str, ...]
    signatures: SignatureFindings | None
    opened: tuple[str, ...]  # commitments


NO_DEMANDS = Demands()


# Where the files of a release lie


MOST_NAMED = 10  # files in a sentence


def files_of(
    release: str | Path, promised: Certificate, certificate: Path, *, in_memory: bool = True
) -> CertifiedFiles:
    """Find the files that a certificate is about; without `in_memory`, the only file of a table is not read yet."""
    files, guard = promised.files, promised.guard
    folder = is_folder(release)
    if promised.layout not in ONE_TABLE:
        absent, data = _siblings(Path(release), files, folder)
        return CertifiedFiles(files, data, guard, absent=absent)
    if folder:
        if files[0].name is None:
            raise InputError("the certificate does not say what the file of the release is called: name the file")
        absent, data = _parts(Path(release), files, certificate)
        return CertifiedFiles(files, data, guard, folder=True, absent=absent)
    if len(files) > 1:
        raise InputError(
            "the certificate is of a table in {count:,} files: name the folder that holds them", count=len(files)
        )
    return CertifiedFiles(files, {files[0].name: read_bytes(release) if in_memory else Path(release)}, guard)


def _siblings(
    release: Path, files: Sequence[CertifiedFile], folder: bool
) -> tuple[list[str], dict[str | None, bytes | Path]]:
    """Read the files of several tables; say what is wrong about them."""
    names, place = [str(file.name) for file in files], release if folder else release.parent
    problems: list[str] = []
    if not folder and release.name not in names and sibling(release, "-1").name != names[0]:
        problems.append(
            say("the certificate is of {names}, not of {name}", names=", ".join(map(legible, names)), name=release.name)
        )
    data: dict[str | None, bytes | Path] = {}
    for name in names:
        where = say("in {release}", release=release) if folder else say("beside {name}", name=release.name)
        if not _exists(place / name):
            problems.append(
                say("there is no file {name} {where}: all tables are judged together", name=legible(name), where=where)
            )
        elif name != release.name and _leads_elsewhere(place / name):
            problems.append(
                say("{name} is a link to another folder, which is not followed: put the file there", name=legible(name))
            )
        else:
            data[name] = read_bytes(place / name)
    if not data and not any(_exists(place / name) for name in names):
        raise InputError("there is no file {where}", where=place / names[0])
    return problems, data


def _exists(path: Path) -> bool:
    """Tell whether a file is there; one whose name is too long for any file is not."""
    try:
        return path.exists()
    except OSError:
        return False


def _leads_elsewhere(path: Path) -> bool:
    return path.is_symlink() and Path(os.path.realpath(path)).parent != Path(os.path.realpath(path.parent))


def _parts(
    folder: Path, files: Sequence[CertifiedFile], certificate: Path
) -> tuple[list[str], dict[str | None, bytes | Path]]:
    """Compare the files of a folder with those that were certified; its own certificate may lie among them."""
    certified = {str(file.name) for file in files}
    present = [name for name in visible_names(folder) if not _same(folder / name, certificate)]
    strange = {name: why for name in present if name in certified and (why := no_part(folder / name)) is not None}
    problems: list[str] = [
        say("{name} {why}, not the file that was certified", name=legible(name), why=why)
        for name, why in strange.items()
    ]
    problems += name_problems(files, present, partial(_digests, folder))
    return problems, {str(f.name): folder / str(f.name) for f in files if f.name in present and f.name not in strange}


def name_problems(
    files: Sequence[CertifiedFile],
    present: Sequence[str],
    digests_of: Callable[[Sequence[str]], Mapping[str, str | None]],
) -> list[str]:
    """Compare the names of the files in a folder with those that were certified.

    `digests_of` returns the fingerprints of files, by which those that were renamed are known.
    """
    certified = {str(file.name): file for file in files}
    missing, more = [name for name in certified if name not in present], [n for n in present if n not in certified]
    renamed = _renamed([certified[name] for name in missing], digests_of(more)) if missing and more else {}
    problems: list[str] = [
        say("{old} is called {new} in the folder", old=legible(old), new=legible(new)) for new, old in renamed.items()
    ]
    if absent := [name for name in missing if name not in renamed.values()]:
        problems.append(
            say(
                "the folder lacks {files}: {listed}",
                files=counted(len(absent), "certified file"),
                listed=_listed(absent),
            )
        )
    if others := [name for name in more if name not in renamed]:
        problems.append(
            say(
                "the folder has {files} that nobody certified: {listed}",
                files=counted(len(others), "file"),
                listed=_listed(others),
            )
        )
    return problems


def _renamed(missing: Sequence[CertifiedFile], digests: Mapping[str, str | None]) -> dict[str, str]:
    """Return what certified files are called now, where their fingerprints tell; by their new names."""
    sought, renamed = {file.sha256: str(file.name) for file in missing}, {}
    for name, digest in digests.items():
        if digest is not None and (old := sought.pop(digest, None)) is not None:
            renamed[name] = old
    return renamed


def _digests(folder: Path, names: Sequence[str]) -> dict[str, str | None]:
    """Return the fingerprints of files; what is no ordinary file has none."""
    return {name: _digest(folder / name) if no_part(folder / name) is None else None for name in names}


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError("{path} cannot be read: {why}", path=path, why=error.strerror) from None


def _same(path: Path, certificate: Path) -> bool:
    """Tell whether a file is the certificate, plain or with its signatures."""
    return any(path.exists() and each.exists() and path.samefile(each) for each in forms_of(certificate))


def _listed(names: Sequence[str]) -> str:
    more = say(" and {count:,} more", count=len(names) - MOST_NAMED) if len(names) > MOST_NAMED else ""
    return ", ".join(map(legible, names[:MOST_NAMED])) + more


# The verification


TableJudge = Callable[[Certificate, CertifiedFiles, Progress], TableFindings]
FindFiles = Callable[[Certificate], CertifiedFiles]


def verify(
    release: str | Path,
    certificate: str | Path,
    *,
    digest: str | None = None,
    population: Any = None,
    signers: Sequence[str | Path] = (),
    required: int | None = None,
    progress: Progress | None = None,
) -> Verification:
    """Judge a release again, from its published values alone, and compare with what its certificate says.

    The files of a release of several tables are found beside `release` (the name that was given when it was written,
    or one of theirs) by the names in the certificate. A folder of Parquet files is judged as one table. With a
    `population`, δ-presence is judged, too. `signers` are files of public keys: as many of them as are `required`, or
    all, must have signed the certificate.

    >>> import polars as pl, tempfile, tclose
    >>> table = pl.DataFrame({"age": [20, 30, 40, 50], "salary": [3, 4, 3, 4]})
    >>> policy = {"quasi": ["age"], "sensitive": {"salary": {"t": 0.1}}, "k": 2}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = Path(folder, "release.csv"), Path(folder, "certificate.json")
    ...     _ = tclose.anonymize(table, policy, method="mondrian").write(paths[0], certificate=paths[1])
    ...     verify(*paths).holds
    True
    """
    demands = Demands(tuple(map(load_public_key, signers)), required)
    return verify_with(
        None,
        release,
        certificate,
        digest=digest,
        population=population,
        demands=demands,
        progress=progress or silent,
    )


def verify_with(
    judge: TableJudge | None,
    release: str | Path,
    certificate: str | Path,
    *,
    digest: str | None,
    population: Any = None,
    progress: Progress,
    find: FindFiles | None = None,
    demands: Demands = NO_DEMANDS,
) -> Verification:
    """Verify a release, whose only table is judged by `judge`, or as its layout does where there is none.

    `find` finds its files where they are not on this machine.
    """
    progress(0.0, "reading")
    loaded = load(certificate)
    promised = loaded.certificate
    if population is not None and promised.presence is None:
        raise InputError("the certificate says nothing about presence, so no population is needed")
    examined = demands.examined(loaded, Path(certificate))
    problems = [*examined.problems, *_digest_problems(loaded, digest)]
    problems += [*_layout_problems(promised), *bound_problems(promised)]
    layout = LAYOUTS[promised.layout]
    if judge is not None and (why := judged_whole(promised)) is not None:
        raise InputError("{why}, so it is judged with all its rows in memory: use tclose.verify", why=why)
    files = find(promised) if find else files_of(release, promised, Path(certificate), in_memory=judge is None)
    judged = (judge or layout.verify)(promised, files, stretch(progress, 0.1, 1.0)) if files.whole else None
    verified = judged or TableFindings([], None)
    of_files, judging = files.problems(), [*verified.problems]
    presence, wrong = _presence(promised, population, verified.table)
    judging += wrong
    problems += [*of_files, *judging]
    leading = [problem for problem in of_files if problem in files.absent or problem.endswith(CHANGED)]
    following = tuple(p for p in (*of_files, *judging) if p not in leading) if any(files.changed.values()) else ()
    one_table, origin = promised.layout in ONE_TABLE, promised.origin
    unverifiable = not_verifiable(
        promised,
        loaded.unknown_keys,
        opened=examined.opened,
        population=population is not None,
        any_name=one_table and not files.folder,
    )
    names = () if one_table and not files.folder else origin.files
    tables = 1 if one_table else len(names)
    protected = not layout.exact_quasi
    found = Verification(tuple(problems), verified.result, names, protected, unverifiable, origin, tables)
    return replace(
        found, signatures=examined.signatures, opened=examined.opened, presence=presence, following=following
    )


def judged_whole(promised: Certificate) -> str | None:
    """Say why a release is judged with all its rows in memory; None where counts are enough."""
    reasons = {
        "the release has several tables": promised.layout != ONE_TABLE_ENTRY.name,
        "the release has typed columns": promised.release_format != "text",
        "the release has pseudonyms": promised.pseudonyms is not None,
    }
    return next((why for why, holds in reasons.items() if holds), None)


def _presence(promised: Certificate, population: Any, published: CodedTable | None) -> tuple[Claim | None, list[str]]:
    """Say whether what the certificate claims about presence holds; without the population, that stays open."""
    entry = promised.presence
    if entry is None:
        return None, []
    if problems := entry.problems(promised.claims.rows, promised.withheld):
        return Claim(answer="no", says=problems[0]), []  # which are listed already
    if population is None or published is None:
        return entry.open_claim, []
    return entry.judged(population, promised.policy, published, promised.withheld)


def _layout_problems(promised: Certificate) -> list[str]:
    """Compare what the certificate says about the tables with what such tables are."""
    entry, files = LAYOUTS[promised.layout], promised.files
    projections, exact = promised.layout == "projections", entry.exact_quasi
    method = promised.method if isinstance(promised.method, str) else ""
    published = layout_of(method, has_both=bool(promised.settings.get("both")))
    held = tuple(file.holds for file in files if file.holds is not None)
    statements = {
        "the method that the certificate names does not publish such tables": published is entry,
        "the certificate's scope is not what such tables guarantee": promised.scope == entry.scope,
        "the certificate's guarantee is not what tclose guarantees": promised.guarantee in (None, GUARANTEE),
        "the certificate counts neither rows nor persons": promised.counted in COUNTED,
        "the certificate says that identity is not protected, but it is": promised.identity_protected or exact,
        "the certificate names a base method or a group that such tables do not have": (
            (promised.base is not None) == projections and (promised.group is not None) == exact
        ),
        "the certificate has claims about a table that is not judged on its own": (
            projections or not any(file.claims or file.measures for file in files)
        ),
        "what each table holds is not what the certificate says": held == entry.holds,
    }
    tempering = [] if promised.temper is None else promised.temper.problems(method, promised.measures.get("gcp"))
    presence = [] if promised.presence is None else promised.presence.problems(promised.claims.rows, promised.withheld)
    linked = pseudonym_problems(promised.pseudonyms, promised.settings.get("person"), promised.counted)
    return [*(problem for problem, holds in statements.items() if not holds), *tempering, *presence, *linked]


def _digest_problems(loaded: LoadedCertificate, expected: str | None) -> list[str]:
    problems = []
    if loaded.digest != loaded.written_digest:
        problems.append("the certificate was changed after it was made: its digest does not fit its content")
    if expected is not None and expected.strip().lower() != loaded.digest:
        problems.append("this is not the certificate whose digest you gave: the two digests differ")
    return problems
