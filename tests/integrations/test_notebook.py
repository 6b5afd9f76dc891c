"""A real notebook, run by Jupyter: tables as HTML, and a progress bar that is updated in its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SCRIPT = """
import json, sys
import nbformat
from nbclient import NotebookClient

cells = [
    "import polars as pl, tclose\\n"
    "table = pl.DataFrame({'age': [20, 30, 40, 50], '<b>pay</b>': [3, 4, 3, 4]})\\n"
    "policy = {'quasi': ['age'], 'sensitive': {'<b>pay</b>': {'t': 0.1}}, 'k': 2}",
    "table.tclose.check(policy)",
    "release = table.tclose.anonymize(policy, method='mondrian')",
    "release",
]
book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
NotebookClient(book, timeout=1800, kernel_name="python3").execute()
json.dump([[output.get("data", {}) for output in cell.outputs] for cell in book.cells], sys.stdout)
"""


def test_a_notebook_shows_tables_and_a_bar(tmp_path: Path, run_there: Any) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = run_there("python", "script.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    _, checked, released, shown = json.loads(done.stdout)
    assert "does not meet its policy" in checked[-1]["text/html"]
    assert "<b>" not in checked[-1]["text/html"]
    (bar,) = released
    assert bar["text/html"].endswith("100 % done")
    assert "Release of 4 rows in 2 classes" in shown[-1]["text/html"]
