"""Modules that lie in the current folder, or beside a table, are run neither by the studio nor by its processes."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest

from . import conftest
from .client import Browser
from .conftest import start, stop, wait_for

PLANTED = ("json", "pathlib", "typing", "polars", "numpy", "tclose", "sitecustomize", "uvicorn", "starlette")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
def test_modules_beside_a_table_are_not_run(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, marker = tmp_path / "own", tmp_path / "run"
    own.mkdir()
    for name in PLANTED:
        (own / f"{name}.py").write_text(f"from builtins import open\nopen({str(marker)!r}, 'a').write('{name} ')\n")
    table = pl.DataFrame({"age": [20, 30] * 10, "ill": ["flu", "cold"] * 10})
    getattr(table, f"write_{ending}" if ending != "xlsx" else "write_excel")(own / f"t.{ending}")
    monkeypatch.chdir(own)
    monkeypatch.setattr(conftest, "TCLOSE", (str(Path(sys.executable).with_name("tclose")),))
    studio = start(tmp_path / "home", f"t.{ending}")
    try:
        (project,) = (path.parent.name for path in (tmp_path / "home" / ".tclose" / "studio").glob("*/project.json"))
        assert Browser(studio).ask("GET", f"/p/{project}/open").status == 200
        assert wait_for(studio, project)["state"] == "done"
        assert "age" in Browser(studio).ask("GET", f"/p/{project}/columns").text
    finally:
        stop(studio)
    assert not marker.exists(), marker.read_text()
