"""Verify a release without the original table: judge it again and compare with its certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tclose.errors import InputError
from tclose.release.certificate import ONE_FILE, Certificate, CertifiedFile, LoadedCertificate, load
from tclose.release.comparing import COUNTED, bound_problems, not_verifiable
from tclose.release.files import sha256
from tclose.release.layouts import LAYOUTS, layout_of, sibling
from tclose.release.layouts.base import GUARANTEE
from tclose.release.verification import FilesOf, Verification
from tclose.table.sources import read_bytes
from tclose.types import Progress, silent, stretch


def verify(
    release: str | Path,
    certificate: str | Path,
    *,
    digest: str | None = None,
    population: Any = None,
    progress: Progress | None = None,
) -> Verification:
    """Judge a release again, from its published values alone, and compare with what its certificate says.

    The files of a release of several tables are found beside `release` (the name that was given when it was written,
    or one of theirs) by the names in the certificate. With a `population`, δ-presence is judged, too.

    >>> import polars as pl, tempfile, tclose
    >>> table = pl.DataFrame({"age": [20, 30, 40, 50], "salary": [3, 4, 3, 4]})
    >>> policy = {"quasi": ["age"], "sensitive": {"salary": {"t": 0.1}}, "k": 2}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = Path(folder, "release.csv"), Path(folder, "certificate.json")
    ...     _ = tclose.anonymize(table, policy, method="mondrian").write(paths[0], certificate=paths[1])
    ...     verify(*paths).holds
    True
    """
    report = progress or silent
    report(0.0, "reading")
    loaded = load(certificate)
    promised = loaded.certificate
    if population is not None and promised.presence is None:
        raise InputError("the certificate says nothing about presence, so no population is needed")
    problems = [*_digest_problems(loaded, digest), *_layout_problems(promised), *bound_problems(promised)]
    if promised.layout in ONE_FILE:
        only = promised.files[0]
        data: dict[str | None, bytes] = {only.name: read_bytes(release)}
        problems += _fingerprint_problems(data[only.name], only)
    else:
        more, data = _siblings(Path(release), promised.files)
        problems += more
    files = FilesOf(data, promised.guard)
    verified = LAYOUTS[promised.layout].verify(promised, files, stretch(report, 0.1, 1.0))
    origin = promised.origin
    names = () if promised.layout in ONE_FILE else origin.files
    protected = not LAYOUTS[promised.layout].exact_quasi
    problems += verified.problems
    if promised.presence is not None and population is not None and verified.table is not None:
        problems += promised.presence.problems_with(population, promised.policy, verified.table)
    unverifiable = not_verifiable(promised, loaded.unknown_keys, population=population is not None)
    return Verification(tuple(problems), verified.result, names, protected, unverifiable, origin)


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
    presence = [] if promised.presence is None else promised.presence.problems()
    return [*(problem for problem, holds in statements.items() if not holds), *tempering, *presence]


def _siblings(release: Path, files: tuple[CertifiedFile, ...]) -> tuple[list[str], dict[str | None, bytes]]:
    """Read the files of a release of several tables; say what is wrong about them."""
    names = [str(file.name) for file in files]
    problems: list[str] = []
    if release.name not in names and sibling(release, "-1").name != names[0]:
        problems.append(f"the certificate is of {', '.join(names)}, not of {release.name}")
    data: dict[str | None, bytes] = {}
    for name, file in zip(names, files, strict=True):
        if (release.parent / name).exists():
            data[name] = read_bytes(release.parent / name)
            problems += [f"{name}: {problem}" for problem in _fingerprint_problems(data[name], file)]
        else:
            problems.append(f"there is no file {name} beside {release.name}: all tables are judged together")
    if not data:
        raise InputError(f"there is no file {release.parent / names[0]}")
    return problems, data


def _fingerprint_problems(data: bytes, file: CertifiedFile) -> list[str]:
    same = sha256(data) == file.sha256
    return [] if same else ["the release is not the file that was certified: its SHA-256 differs"]


def _digest_problems(loaded: LoadedCertificate, expected: str | None) -> list[str]:
    problems = []
    if loaded.digest != loaded.written_digest:
        problems.append("the certificate was changed after it was made: its digest does not fit its content")
    if expected is not None and expected.strip().lower() != loaded.digest:
        problems.append("this is not the certificate whose digest you gave: the two digests differ")
    return problems
