"""Descriptions beside a release: true of its files, made from nothing else, and there with it or not at all."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tclose import InputError, LeakWarning, Policy, Release, anonymize, read
from tclose.release import description_formats
from tclose.release.description_formats import FORMATS, description_files
from tclose.release.files import sha256
from tclose.steps import pseudonym_key

RAW = "RAW-CELL"  # of a column that is not published
FRAME = pl.DataFrame(
    {
        "id": [f"{RAW}{number // 2}" for number in range(24)],
        "age": [20 + number // 2 for number in range(24)],
        "ward": ["a", "a", "b", "b"] * 6,
        "pay": [1.5, 2.5, 3.0, 4.0] * 6,
        "ill": ["flu", "cold", None] * 8,
        "odd | <name>\n`*": ["=1", "<b>", "x|y", ""] * 6,
    }
)
ASKED: dict[str, Any] = {
    "identifiers": ["id"],
    "quasi": ["age"],
    "sensitive": {"pay": {"t": 0.6}, "ill": {"l": 2, "missing": "value"}},
    "unlinkable": ["odd | <name>\n`*"],
    "keep": ["ward"],
    "k": 2,
}
BOTH = {"both": ["age"], "sensitive": {"age": {"t": 1}, "pay": {"t": 0.6}}, "others": "drop", "unlinkable": []}
KINDS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {  # file, method, changes to the policy, options
    "csv": ("my release.csv", "mondrian", {}, {}),
    "guarded": ("r.csv", "mondrian", {}, {"guard_formulas": True}),
    "parquet": ("r.parquet", "mondrian", {}, {}),
    "arrow": ("r.arrow", "mondrian", {}, {}),
    "folder": ("r.parquet", "mondrian", {}, {"part_rows": 10}),
    "anatomy": ("r.csv", "anatomy", {}, {}),
    "permutation": ("r.csv", "permutation", {}, {}),
    "projections": ("r.parquet", "projections", {}, {}),
    "both": ("r.csv", "mondrian", BOTH, {}),
    "pseudonyms": ("r.csv", "weave", {"keep": [], "others": "drop", "pseudonym": {"id": {"key": "secret.key"}}}, {}),
}


@cache
def released(kind: str) -> Release:
    """Return a release of a kind, which several tests write: it takes longer to make than to write."""
    _, method, changes, _ = KINDS[kind]
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        if kind == "pseudonyms":
            pseudonym_key(Path(folder) / "secret.key")
        warnings.simplefilter("ignore", LeakWarning)
        return anonymize(FRAME, Policy.from_dict({**ASKED, **changes}, folder=folder), method=method, seed=1)


def write(folder: Path, kind: str, formats: list[str]) -> dict[str, Path]:
    """Write a release of a kind with descriptions; return the file of each."""
    name, _, _, options = KINDS[kind]
    folder.mkdir(exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)
        released(kind).write(folder / name, certificate=folder / "c.json", describe=formats, **options)
    return description_files(folder / name, formats)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


def tables(folder: Path, kind: str) -> Iterator[tuple[list[Path], pl.DataFrame]]:
    """Yield the files of each table, and the table as any reader reads it."""
    content = json.loads((folder / "c.json").read_text())
    place = folder / KINDS[kind][0] if kind == "folder" else folder
    files = [place / file["name"] for file in content["files"]]
    if kind == "folder":
        yield files, pl.concat([read(file) for file in files])
    else:
        yield from (([file], read(file)) for file in files)


# Every format is true of the files


def test_a_data_package_fits_its_files(tmp_path: Path, kind: str) -> None:
    package = json.loads(write(tmp_path, kind, ["datapackage"])["datapackage"].read_text())
    certified = json.loads((tmp_path / "c.json").read_text())
    assert package["$schema"] == "https://datapackage.org/profiles/2.0/datapackage.json"
    assert package["created"] == certified["created"]
    assert package["id"].endswith(certified["digest"])
    for resource, (files, frame) in zip(package["resources"], tables(tmp_path, kind), strict=True):
        one = isinstance(resource["path"], str)
        paths = [resource["path"]] if one else resource["path"]
        hashes = [resource["hash"]] if one else [part["hash"] for part in resource["parts"]]
        assert [tmp_path / path for path in paths] == files
        assert hashes == [f"sha256:{sha256(file.read_bytes())}" for file in files]
        assert resource["bytes"] == sum(file.stat().st_size for file in files)
        assert [field["name"] for field in resource["schema"]["fields"]] == frame.columns
        for field in resource["schema"]["fields"]:
            fits(field, frame[field["name"]].cast(pl.String).to_list(), resource["schema"]["missingValues"])


def fits(field: dict[str, Any], cells: list[str | None], missing: list[str]) -> None:
    """Assert that cells have a field's type and keep its constraints, as the standard defines them."""
    present = [cell for cell in cells if cell is not None and cell not in missing]
    limits = field.get("constraints", {})
    assert limits.get("required", False) == (len(present) == len(cells))
    if field["type"] in ("integer", "number"):
        numbers = [(int if field["type"] == "integer" else float)(cell) for cell in present]
        assert (min(numbers), max(numbers)) == (limits["minimum"], limits["maximum"])
    if "enum" in limits:
        assert set(present) == set(limits["enum"])
    assert all(re.search(limits.get("pattern", ""), cell) for cell in present)


VALIDATING = """
import json, logging, sys, mlcroissant
logging.disable(logging.CRITICAL)
for path in sys.argv[1:]:
    dataset = mlcroissant.Dataset(path)
    tables = {}
    for records in dataset.metadata.record_sets:  # it does not read Arrow files
        rows = None if "arrow" in path else sum(1 for _ in dataset.records(records.uuid))
        tables[records.name] = [rows, *(field.name for field in records.fields)]
    version = [str(getattr(each, "value", each)) for each in dataset.metadata.conforms_to]
    print(json.dumps([list(dataset.metadata.issues.errors), version, list(tables.values())]))
"""


def test_mlcroissant_accepts_the_croissant_and_reads_the_records(tmp_path: Path) -> None:
    """In a process of its own, which is allowed to warn and to leave files open."""
    if importlib.util.find_spec("mlcroissant") is None:
        pytest.skip("pip install mlcroissant")
    paths = [write(tmp_path / kind, kind, ["croissant"])["croissant"] for kind in KINDS]
    command = [sys.executable, "-W", "ignore", "-c", VALIDATING, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for kind, line in zip(KINDS, done.stdout.splitlines(), strict=True):
        shapes = [(frame.height, frame.columns) for _, frame in tables(tmp_path / kind, kind)]
        expected = [[None if kind == "arrow" else height, *names] for height, names in shapes]
        assert json.loads(line) == [[], ["http://mlcommons.org/croissant/1.1"], expected], kind


def test_croissant_names_the_fingerprints_of_files(tmp_path: Path, kind: str) -> None:
    described = json.loads(write(tmp_path, kind, ["croissant"])["croissant"].read_text())["distribution"]
    files = [part for part in described if part["@type"] == "cr:FileObject"]
    found = [path for paths, _ in tables(tmp_path, kind) for path in paths]
    assert [tmp_path / file["contentUrl"] for file in files] == found
    assert [file["sha256"] for file in files] == [sha256(path.read_bytes()) for path in found]
    assert [file["contentSize"] for file in files] == [f"{path.stat().st_size} B" for path in found]


ORDER = {  # of the children of each element, as the schema of DDI-Codebook 2.5 has it; others may be left out
    "codeBook": "docDscr stdyDscr fileDscr dataDscr",
    "docDscr": "citation",
    "stdyDscr": "citation stdyInfo notes",
    "citation": "titlStmt prodStmt biblCit",
    "titlStmt": "titl IDNo",
    "prodStmt": "prodDate software",
    "stdyInfo": "abstract",
    "fileDscr": "fileTxt notes",
    "fileTxt": "fileName fileCont dimensns fileType",
    "dimensns": "caseQnty varQnty",
    "dataDscr": "var",
    "var": "labl valrng invalrng txt catgry varFormat",
    "valrng": "range",
    "invalrng": "item",
    "catgry": "catValu",
}


def test_a_ddi_codebook_has_the_structure_of_the_standard(tmp_path: Path, kind: str) -> None:
    root = ElementTree.fromstring(write(tmp_path, kind, ["ddi"])["ddi"].read_bytes())
    space = "{ddi:codebook:2_5}"
    assert root.tag == f"{space}codeBook"
    for element in root.iter():
        allowed = ORDER.get(element.tag.removeprefix(space), "").split()
        places = [allowed.index(child.tag.removeprefix(space)) for child in element]
        assert places == sorted(places), element.tag
    files = {file.get("ID"): file for file in root.iter(f"{space}fileDscr")}
    names = [[] for _ in range(len(list(tables(tmp_path, kind))))]
    of_table: dict[str, int] = {}
    for variable in root.iter(f"{space}var"):
        place = of_table.setdefault(str(variable.get("files")), len(of_table))
        names[place].append(variable.get("name"))
    found = list(tables(tmp_path, kind))
    assert names == [frame.columns for _, frame in found]
    prints = [file.findtext(f"{space}notes") for file in files.values()]
    assert prints == [sha256(path.read_bytes()) for paths, _ in found for path in paths]
    identifiers = [element.get("ID") for element in root.iter() if element.get("ID")]
    assert len(set(identifiers)) == len(identifiers)
    rows = sum(int(file.findtext(f".//{space}caseQnty") or 0) for file in files.values())
    assert rows == sum(frame.height for _, frame in found)


def test_a_codebook_says_what_is_promised(tmp_path: Path, kind: str) -> None:
    text = write(tmp_path, kind, ["codebook"])["codebook"].read_text()
    certified = json.loads((tmp_path / "c.json").read_text())
    for heading in (
        "Files",
        "How quasi-identifiers read",
        "What is promised",
        "What not to conclude",
        "How to cite it",
    ):
        assert f"\n## {heading}\n" in text
    assert "- all columns: k-anonymity ≥ 2 (reached " in text
    assert "pay: t-closeness ≤ 0.6 (reached " in text
    assert certified["digest"] in text
    assert ("k and l count persons" in text) == (kind == "pseudonyms")
    assert ("who is in the table is not hidden" in text) == (kind in ("anatomy", "permutation"))
    for lines in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in lines.splitlines()}
        assert len(widths) == 1, lines
    assert "<b>" not in text.replace("\\<b\\>", "")


# They hold what is public, and always the same


def test_descriptions_hold_nothing_of_the_original(tmp_path: Path, kind: str) -> None:
    files = write(tmp_path, kind, list(FORMATS))
    for path in files.values():
        text = path.read_text()
        assert RAW not in text
        assert "secret.key" not in text
        assert str(tmp_path) not in text


def test_the_same_release_has_the_same_descriptions(tmp_path: Path) -> None:
    one = write(tmp_path / "one", "csv", list(FORMATS))
    released.cache_clear()
    other = write(tmp_path / "other", "csv", list(FORMATS))
    assert [path.read_bytes() for path in one.values()] == [path.read_bytes() for path in other.values()]


NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), min_size=1, max_size=8)


@given(st.lists(NAMES, min_size=2, max_size=2, unique_by=str.casefold), st.lists(NAMES, min_size=4, max_size=4))
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_names_and_cells_can_be_described(tmp_path: Path, names: list[str], cells: list[str]) -> None:
    frame = pl.DataFrame({f"q{names[0]}": [1, 2, 3, 4], f"s{names[1]}": [f"v{cell}" for cell in cells]})
    policy = {"quasi": [frame.columns[0]], "unlinkable": [frame.columns[1]], "k": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)
        anonymize(frame, policy, method="mondrian", seed=1).write(tmp_path / "r.parquet", describe=list(FORMATS))
    package = json.loads((tmp_path / "r.datapackage.json").read_text(encoding="utf-8"))
    assert [field["name"] for field in package["resources"][0]["schema"]["fields"]] == frame.columns
    root = ElementTree.fromstring((tmp_path / "r.ddi.xml").read_bytes())
    assert len(list(root.iter("{ddi:codebook:2_5}var"))) == 2
    dataset = json.loads((tmp_path / "r.croissant.json").read_text(encoding="utf-8"))
    identifiers = [field["@id"] for field in dataset["recordSet"][0]["field"]]
    assert len(set(identifiers)) == 2
    assert not any(re.search(r"\s", each) for each in identifiers)
    lines = (tmp_path / "r.codebook.md").read_text(encoding="utf-8").split("\n")
    assert sum(line.startswith("| ") and "| string |" in line for line in lines) == 2


# With the release, or not at all


@pytest.mark.parametrize("format_name", FORMATS)
def test_if_a_description_fails_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_name: str
) -> None:
    def fail(_: object) -> bytes:
        raise InputError("no")

    broken = description_formats.DescriptionFormat(FORMATS[format_name].ending, "", fail)
    monkeypatch.setattr(description_formats, "FORMATS", {**FORMATS, format_name: broken})
    with pytest.raises(InputError, match="no"):
        write(tmp_path, "csv", list(FORMATS))
    assert list(tmp_path.iterdir()) == []


def test_existing_descriptions_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "r.ddi.xml").write_text("mine")
    release = anonymize(FRAME.select("age", "ward"), {"quasi": ["age", "ward"], "k": 2}, method="mondrian")
    with pytest.raises(InputError, match=r"r.ddi.xml exists already"):
        release.write(tmp_path / "r.csv", describe=["ddi"], force=False)
    with pytest.raises(InputError, match="there is no description 'didi'; known are datapackage, croissant"):
        release.write(tmp_path / "r.csv", describe=["didi"])
    with pytest.raises(InputError, match="are a list"):
        release.write(tmp_path / "r.csv", describe="ddi")
    assert [path.name for path in tmp_path.iterdir()] == ["r.ddi.xml"]


def test_every_format_is_complete() -> None:
    endings = [entry.ending for entry in FORMATS.values()]
    assert len(set(endings)) == len(endings)
    assert all(entry.what and re.fullmatch(r"\.[a-z]+\.[a-z]+", entry.ending) for entry in FORMATS.values())
