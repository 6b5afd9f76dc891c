"""Certificates of format 1, as commits up to 4728dec wrote them, and one of the first commit: they stay verifiable.

The files in `format1` are kept as they were written, with their releases; nothing here makes them anew.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from tclose import Certificate, InputError, Verification, read, verify
from tclose.release.certificate import digest_of, load

pytestmark = pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
HERE = Path(__file__).with_name("format1")
CASES = sorted(path.name for path in HERE.iterdir())
LAYOUTS = {"anatomy": "anatomy", "both": "both", "permutation": "permutation", "projections": "projections"}
every_case = pytest.mark.parametrize("case", CASES)


def release_of(folder: Path) -> Path:
    return min(path for path in folder.iterdir() if path.name.startswith("release"))


def verified(folder: Path) -> Verification:
    people = folder / "population.csv"
    return verify(release_of(folder), folder / "certificate.json", population=people if people.exists() else None)


def rewritten(folder: Path, path: tuple[Any, ...], value: Any) -> None:
    """Change one value of a certificate, and give it the digest that fits."""
    content = json.loads((folder / "certificate.json").read_text())
    del content["digest"]
    place = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    (folder / "certificate.json").write_text(json.dumps({**content, "digest": digest_of(content)}))


def test_every_layout_is_there() -> None:
    found = {load(HERE / case / "certificate.json").certificate.layout for case in CASES}
    assert found == {"one table", *LAYOUTS.values()}


@every_case
def test_it_verifies(case: str) -> None:
    found = verified(HERE / case)
    assert found.problems == ()
    assert found.result is not None


@every_case
def test_it_is_read_and_written_as_it_is(case: str) -> None:
    content = json.loads((HERE / case / "certificate.json").read_text())
    digest = content.pop("digest")
    certificate = Certificate.from_dict(content)
    assert (certificate.format, certificate.digest, certificate.content) == (1, digest, content)
    assert certificate.layout == LAYOUTS.get(case, "one table")


@every_case
def test_in_format_2_it_says_the_same(case: str, tmp_path: Path) -> None:
    copytree(HERE / case, tmp_path / "r")
    first = load(HERE / case / "certificate.json").certificate
    files = tuple(replace(file, rows=read(HERE / case / (file.name or "release.csv")).height) for file in first.files)
    newer = replace(first, format=2, tool=first.tool or "", created=first.created or "", files=files)
    newer.save(tmp_path / "r" / "certificate.json")
    found = verified(tmp_path / "r")
    if case == "first-commit":  # whose figures have more digits than those of format 2
        assert found.problems == ("c_avg is 3.4286, which is not what the certificate says",)
    else:
        assert found.problems == ()
        assert replace(load(tmp_path / "r" / "certificate.json").certificate, format=1) == replace(first, files=files)


def test_a_guard_without_a_number_is_the_first_one() -> None:
    content = json.loads((HERE / CASES[0] / "certificate.json").read_text())
    assert Certificate.from_dict(content).guard == 0
    assert Certificate.from_dict({**content, "guard_formulas": True}).guard == 1
    assert Certificate.from_dict({**content, "guard_formulas": True, "guard_rule": 2}).guard == 2


@every_case
def test_a_changed_release_is_found(case: str, tmp_path: Path) -> None:
    copytree(HERE / case, tmp_path / "r")
    release = release_of(tmp_path / "r")
    release.write_bytes(release.read_bytes() + b"\n")
    assert any("its SHA-256 differs" in problem for problem in verified(tmp_path / "r").problems)


@pytest.mark.parametrize(
    ("case", "path", "value"),
    [
        ("one-table", ("rows",), 47),
        ("one-table", ("sha256",), "0" * 64),
        ("first-commit", ("measures", "c_avg"), 3.4284),
        ("projections", ("tables", 1, "classes"), 1),
        ("both", ("tables", 1, "holds"), "rows"),
        ("permutation", ("group",), "ward"),
    ],
)
def test_a_changed_claim_is_found(case: str, path: tuple[Any, ...], value: Any, tmp_path: Path) -> None:
    copytree(HERE / case, tmp_path / "r")
    rewritten(tmp_path / "r", path, value)
    assert verified(tmp_path / "r").problems


@pytest.mark.parametrize("name", ["../release-1.csv", "/etc/passwd", "..", "", "a\\b", "C:a", 7, None, ["a"]])
def test_a_name_is_no_path(name: Any, tmp_path: Path) -> None:
    copytree(HERE / "projections", tmp_path / "r")
    rewritten(tmp_path / "r", ("tables", 0, "file"), name)
    with pytest.raises(InputError, match="is not a certificate of tclose"):
        verified(tmp_path / "r")
