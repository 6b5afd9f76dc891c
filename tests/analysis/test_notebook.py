"""The notebooks of the documentation, and the Python of its page for analysts, run from top to bottom."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

import tclose
from tclose.examples import hospital

DOCS = Path(__file__).parents[2] / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


def test_there_is_a_notebook() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["regression"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path: Path) -> None:
    names: dict[str, Any] = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        assert cell.get("outputs", []) == []  # nobody's machine stands in it
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"{path.name} {cell['id']}", "exec"), names)
    for fit in names["fits"].values():
        assert ((fit.lower <= names["coefficients"]) & (names["coefficients"] <= fit.upper)).all()
    assert (names["wider"] <= 4).all()  # of the direction `fit`


def test_the_page_for_analysts_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = hospital(300, seed=7).select("age", "sex", "diagnosis", "ldl", "systolic")
    policy = {"quasi": ["age", "sex"], "sensitive": {name: {"t": 0.5} for name in raw.columns[2:]}, "k": 3}
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tclose.LeakWarning)
        release = tclose.anonymize(raw, policy, method="mondrian", seed=1)
        release.write("release.parquet", certificate="release.json", release_format="columns")
    blocks = re.findall("```python\n(.*?)```", (DOCS / "analysts.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 4
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)
    assert names["fit"].rows == 300
