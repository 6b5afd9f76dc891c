"""`anonymize --describe`: files beside the release, in a process of its own, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from .conftest import Outcome

Run = Callable[..., Outcome]
FORMATS = ("datapackage", "croissant", "ddi", "codebook")
FILES = ["r.codebook.md", "r.croissant.json", "r.csv", "r.datapackage.json", "r.ddi.xml"]


def write_table(folder: Path) -> tuple[str, ...]:
    rows = "".join(f"{20 + number},{number % 2}\n" for number in range(12))
    (folder / "t.csv").write_text("age,pay\n" + rows)
    (folder / "p.toml").write_text("k = 3\nquasi = ['age']\n[sensitive.pay]\nt = 0.5\n")
    return "anonymize", "t.csv", "--policy", "p.toml", "--out", "r.csv", "--method", "mondrian"


def test_descriptions_lie_beside_the_release(process: Run, folder: Path) -> None:
    arguments = write_table(folder)
    formats = [part for name in FORMATS for part in ("--describe", name)]
    done = process(*arguments, *formats, "--json")
    assert done.status == 0, done.err
    assert sorted(path.name for path in folder.glob("r.*")) == FILES
    assert sorted(json.loads(done.out)["descriptions"]) == [name for name in FILES if name != "r.csv"]
    sha256 = json.loads(done.out)["files"][0]["sha256"]
    assert all(sha256 in (folder / name).read_text() for name in FILES if name != "r.csv")


def test_what_is_refused(tclose: Run, folder: Path) -> None:
    arguments = write_table(folder)
    tclose(*arguments, "--describe", "word").refuses("'word' is not one of", usage=True)
    tclose(*arguments, "--describe", "ddi", "--engine", "disk", "--method", "weave").refuses(
        "a description cannot be made out of core"
    )
    (folder / "r.ddi.xml").write_text("mine")
    tclose(*arguments, "--describe", "ddi").refuses("r.ddi.xml exists already")
    tclose(*arguments, "--describe", "ddi", "--certificate", "r.ddi.xml", "--force").refuses("have the same name")
    assert not (folder / "r.csv").exists()
    assert (folder / "r.ddi.xml").read_text() == "mine"
    done = tclose(*arguments, "--describe", "ddi", "--force")
    assert done.status == 0
    assert "Description: r.ddi.xml" in done.out
