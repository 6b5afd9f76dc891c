"""Verify a release without the original table: judge it again and compare with its certificate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tclose.errors import InputError
from tclose.release.certificate import ONE_TABLE, Certificate, LoadedCertificate, load
from tclose.release.comparing import COUNTED, bound_problems, not_verifiable
from tclose.release.demands import NO_DEMANDS, Demands
from tclose.release.finding import files_of
from tclose.release.keys import load_public_key
from tclose.release.layouts import LAYOUTS, layout_of
from tclose.release.layouts.base import GUARANTEE
from tclose.release.layouts.one_table import ENTRY
from tclose.release.pseudonymity import claim_problems as pseudonym_problems
from tclose.release.published_files import CHANGED, FilesOf
from tclose.release.verification import Verification, Verified
from tclose.table import CodedTable
from tclose.types import Claim, Progress, silent, stretch

TableJudge = Callable[[Certificate, FilesOf, Progress], Verified]
FindFiles = Callable[[Certificate], FilesOf]


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
    asked: dict[str, Any] = {"digest": digest, "population": population, "demands": demands}
    return verify_with(None, release, certificate, **asked, progress=progress or silent)


def verify_with(
    judge: TableJudge | None,
    release: str | Path,
    certificate: str | Path,
    *,
    digest: str | None,
    population: Any,
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
    if judge is not None and layout is not ENTRY:
        raise InputError("only a release of one table is verified out of core: use the engine memory")
    if judge is not None and promised.release_format == "columns":
        raise InputError("a release of typed columns is verified in memory: use the engine memory")
    if judge is not None and promised.pseudonyms is not None:
        raise InputError("a release with pseudonyms is not verified out of core: use the engine memory")
    files = find(promised) if find else files_of(release, promised, Path(certificate), in_memory=judge is None)
    judged = (judge or layout.verify)(promised, files, stretch(progress, 0.1, 1.0)) if files.whole else None
    verified = judged or Verified([], None)
    of_files, judging = files.problems(), [*verified.problems]
    presence, wrong = _presence(promised, population, verified.table)
    judging += wrong
    problems += [*of_files, *judging]
    leading = [problem for problem in of_files if problem in files.absent or problem.endswith(CHANGED)]
    following = tuple(p for p in (*of_files, *judging) if p not in leading) if any(files.changed.values()) else ()
    one_table, origin = promised.layout in ONE_TABLE, promised.origin
    known: dict[str, Any] = {"population": population is not None, "any_name": one_table and not files.folder}
    unverifiable = not_verifiable(promised, loaded.unknown_keys, opened=examined.opened, **known)
    names = () if one_table and not files.folder else origin.files
    tables = 1 if one_table else len(names)
    protected = not layout.exact_quasi
    found = Verification(tuple(problems), verified.result, names, protected, unverifiable, origin, tables)
    return replace(
        found, signatures=examined.signatures, opened=examined.opened, presence=presence, following=following
    )


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
