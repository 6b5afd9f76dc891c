"""Where the files of a release lie that a certificate is about, and which are missing or too many.

A release of one table is one file, or a folder whose files are the parts of the table. The files of several tables lie
beside each other. Only files in the folder that was named are opened: names in a certificate are never paths, and links
that lead elsewhere are not followed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from tclose.errors import InputError
from tclose.release.certificate import ONE_TABLE, Certificate, CertifiedFile
from tclose.release.envelope import forms_of
from tclose.release.layouts import sibling
from tclose.release.published_files import FilesOf
from tclose.table.sources import is_folder, read_bytes
from tclose.table.sources.folder import no_part, visible_names
from tclose.words import counted, legible

MOST_NAMED = 10  # files in a sentence


def files_of(release: str | Path, promised: Certificate, certificate: Path, *, in_memory: bool = True) -> FilesOf:
    """Find the files that a certificate is about; without `in_memory`, the only file of a table is not read yet."""
    files, guard = promised.files, promised.guard
    folder = is_folder(release)
    if promised.layout not in ONE_TABLE:
        absent, data = _siblings(Path(release), files, folder)
        return FilesOf(files, data, guard, absent=absent)
    if folder:
        if files[0].name is None:
            raise InputError("the certificate does not say what the file of the release is called: name the file")
        absent, data = _parts(Path(release), files, certificate)
        return FilesOf(files, data, guard, folder=True, absent=absent)
    if len(files) > 1:
        raise InputError(f"the certificate is of a table in {len(files):,} files: name the folder that holds them")
    return FilesOf(files, {files[0].name: read_bytes(release) if in_memory else Path(release)}, guard)


def _siblings(
    release: Path, files: Sequence[CertifiedFile], folder: bool
) -> tuple[list[str], dict[str | None, bytes | Path]]:
    """Read the files of several tables; say what is wrong about them."""
    names, place = [str(file.name) for file in files], release if folder else release.parent
    problems: list[str] = []
    if not folder and release.name not in names and sibling(release, "-1").name != names[0]:
        problems.append(f"the certificate is of {', '.join(map(legible, names))}, not of {release.name}")
    data: dict[str | None, bytes | Path] = {}
    for name in names:
        where = f"in {release}" if folder else f"beside {release.name}"
        if not _exists(place / name):
            problems.append(f"there is no file {legible(name)} {where}: all tables are judged together")
        elif name != release.name and _leads_elsewhere(place / name):
            problems.append(f"{legible(name)} is a link to another folder, which is not followed: put the file there")
        else:
            data[name] = read_bytes(place / name)
    if not data and not any(_exists(place / name) for name in names):
        raise InputError(f"there is no file {place / names[0]}")
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
    problems = [f"{legible(name)} {why}, not the file that was certified" for name, why in strange.items()]
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
    problems = [f"{legible(old)} is called {legible(new)} in the folder" for new, old in renamed.items()]
    if absent := [name for name in missing if name not in renamed.values()]:
        problems.append(f"the folder lacks {counted(len(absent), 'certified file')}: {_listed(absent)}")
    if others := [name for name in more if name not in renamed]:
        problems.append(f"the folder has {counted(len(others), 'file')} that nobody certified: {_listed(others)}")
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
        raise InputError(f"{path} cannot be read: {error.strerror}") from None


def _same(path: Path, certificate: Path) -> bool:
    """Tell whether a file is the certificate, plain or with its signatures."""
    return any(path.exists() and each.exists() and path.samefile(each) for each in forms_of(certificate))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(map(legible, names[:MOST_NAMED])) + more
