"""Descriptions beside a release, made from its files and its certificate alone; each format is one file here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tclose.errors import InputError, did_you_mean
from tclose.release.certificate import Certificate
from tclose.release.describing import codebook, croissant, datapackage, ddi
from tclose.release.describing.facts import Description, check_certified

__all__ = ["FORMATS", "check_formats", "description_files", "descriptions"]


@dataclass(frozen=True)
class DescriptionFormat:
    """A format: the ending of its file, what it is, and how it is written."""

    ending: str
    what: str
    describe: Callable[[Description], bytes]  # the bytes depend on the description alone


FORMATS: Mapping[str, DescriptionFormat] = {
    "datapackage": DescriptionFormat(".datapackage.json", "a Frictionless Data Package", datapackage.describe),
    "croissant": DescriptionFormat(".croissant.json", "Croissant 1.1, for machine learning", croissant.describe),
    "ddi": DescriptionFormat(".ddi.xml", "DDI-Codebook 2.5, for archives", ddi.describe),
    "codebook": DescriptionFormat(".codebook.md", "a codebook in plain words", codebook.describe),
}


def check_formats(names: Sequence[str]) -> tuple[str, ...]:
    """Return each format once; refuse those that nobody knows."""
    if isinstance(names, str):
        raise InputError(f'formats of descriptions are a list: say ["{names}"]')
    for name in names:
        if name not in FORMATS:
            hint = did_you_mean(str(name), FORMATS) or f"; known are {', '.join(FORMATS)}"
            raise InputError(f"there is no description '{name}'{hint}")
    return tuple(dict.fromkeys(names))


def description_files(out: Path, names: Sequence[str]) -> dict[str, Path]:
    """Return the file of each description, beside the release.

    >>> [path.name for path in description_files(Path("out/release.csv"), ["ddi", "codebook"]).values()]
    ['release.ddi.xml', 'release.codebook.md']
    """
    return {name: out.with_name(f"{out.stem}{FORMATS[name].ending}") for name in check_formats(names)}


def descriptions(
    names: Sequence[str], out: Path, certificate: Certificate, files: Mapping[str, Path], *, folder: bool
) -> dict[str, bytes]:
    """Describe a release that is to be called `out`; its files are given by the names that the certificate has."""
    if not names:
        return {}
    description = Description.of(out, certificate, files, folder=folder)
    check_certified(description)
    return {name: FORMATS[name].describe(description) for name in names}
