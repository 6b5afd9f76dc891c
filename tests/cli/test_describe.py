"""`anonymize --describe`: files beside the release, in a process of its own, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Outcome

Run = Callable[..., Outcome]
FORMATS = ("datapackage", "croissant", "ddi", "codebook")
FILES = ["r.codebook.md", "r.croissant.json", "r.csv", "r.datapackage.json", "r.ddi.xml"]


def write_table(folder: Path) -> tuple[str, ...]:
    rows = "".join(f"{20 + number},{number % 2}\n" for number in range(12))
    (folder / "t.csv").write_text("age,pay\n" + rows)
    (folder / "p.toml").write_text("k = 3\nquasi = ['age']\n[sensitive.pay]\nt = 0.5\n")
    return "anonymize", "t.csv", "--policy", "p.toml", "--out", "r.csv", "--method", "mondrian"


def test_descriptions_lie_beside_the_release(tclose: Run, folder: Path) -> None:
    arguments = write_table(folder)
    formats = [part for name in FORMATS for part in ("--describe", name)]
    done = tclose(*arguments, *formats, "--json")
    assert done.status == 0, done.err
    assert sorted(path.name for path in folder.glob("r.*")) == FILES
    assert sorted(json.loads(done.out)["descriptions"]) == [name for name in FILES if name != "r.csv"]
    sha256 = json.loads(done.out)["files"][0]["sha256"]
    assert all(sha256 in (folder / name).read_text() for name in FILES if name != "r.csv")


def test_what_is_refused(tclose: Run, folder: Path) -> None:
    arguments = write_table(folder)
    tclose(*arguments, "--describe", "word").refuses("'word' is not one of", usage=True)
    (folder / "r.ddi.xml").write_text("mine")
    tclose(*arguments, "--describe", "ddi").refuses("r.ddi.xml exists already")
    tclose(*arguments, "--describe", "ddi", "--certificate", "r.ddi.xml", "--force").refuses("have the same name")
    assert not (folder / "r.csv").exists()
    assert (folder / "r.ddi.xml").read_text() == "mine"
    done = tclose(*arguments, "--describe", "ddi", "--force")
    assert done.status == 0
    assert "Description: r.ddi.xml" in done.out


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".xlsx", ".dta", ".sav"])
@pytest.mark.parametrize("release_format", ["text", "columns"])
def test_every_file_format_and_typed_columns_are_described(
    tclose: Run, folder: Path, ending: str, release_format: str
) -> None:
    """Lists have a type of their own, and no typed column is called something that it is not."""
    for package in {".xlsx": ("xlsxwriter", "fastexcel"), ".dta": ("pyreadstat",), ".sav": ("pyreadstat",)}.get(
        ending, ()
    ):
        pytest.importorskip(package, reason="pip install 'tclose[excel,stata]'")
    rows = "".join(f"{20 + number},{'abc'[number % 3]},{number % 2}\n" for number in range(24))
    (folder / "t.csv").write_text("age,city,pay\n" + rows)
    (folder / "p.toml").write_text("k = 3\nquasi = ['age', 'city']\n[sensitive.pay]\nt = 0.5\n")
    formats = [part for name in FORMATS for part in ("--describe", name)]
    made = ("anonymize", "t.csv", "--policy", "p.toml", "--out", f"r{ending}", "--format", release_format)
    done = tclose(*made, "--method", "mondrian", *formats)
    assert done.status == 0, done.err
    (resource,) = json.loads((folder / "r.datapackage.json").read_text())["resources"]
    assert resource["format"] == ending[1:]
    fields = {field["name"]: field for field in resource["schema"]["fields"]}
    assert not any("counts of exact values" in field["description"] for field in fields.values())
    if release_format == "columns":
        assert [*fields] == ["age_low", "age_high", "age_mid", "city", "pay", "class", "class_size"]
        assert fields["city"]["type"] == ("array" if ending == ".parquet" else "string")
        assert "Quasi-identifier age: no value in the class is smaller" in (folder / "r.codebook.md").read_text()
        assert "[20, 29]" not in (folder / "r.codebook.md").read_text()
