"""Imports go one way, numerics see no frames, a check loads nothing heavy, and no module grows beyond reading."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tclose

SOURCE = Path(tclose.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
LAYERS = [  # a module imports only from layers before its own, and from its own folder
    "errors", "wording", "settings", "policy", "table", "distance", "privacy", "findings", "judging", "partition",
    "recode", "measure", "feasibility", "splitting", "sheets", "layouts", "certificate", "report", "several",
    "publication", "release", "staging", "attacking", "keeping", "counting", "trial", "supervising", "comparing",
    "tradeoff",
    "drafting", "doctor", "progress", "talk", "listing", "examples", "cli",
]  # fmt: skip
FRAMES = {"polars", "narwhals", "pandas", "pyarrow"}
HEAVY = {"numba", "scipy", "altair", "pandas", "pyspark", "pyarrow", "matplotlib", "sklearn"}
LONGEST = 500


def layer(path: Path) -> str:
    """Return the folder or module, directly below tclose, that a file belongs to."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[str]:
    """Yield every module that a file imports, at its top or in a function, in full."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: import by full name"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def identity(path: Path) -> str:
    return str(path.relative_to(SOURCE))


@pytest.mark.parametrize("path", MODULES, ids=identity)
def test_imports_go_one_way(path: Path) -> None:
    own = layer(path)
    if own == "__init__":
        return
    assert own in LAYERS, f"give {own} its place in LAYERS"
    for name in imported(path):
        package, _, rest = name.partition(".")
        if package == "tclose":
            other = rest.partition(".")[0]
            assert LAYERS.index(other) <= LAYERS.index(own), f"{own} imports {other}, which stands after it"


@pytest.mark.parametrize("path", MODULES, ids=identity)
def test_numerics_see_no_frames(path: Path) -> None:
    if layer(path) in ("distance", "privacy", "partition", "measure"):
        assert not FRAMES & {name.partition(".")[0] for name in imported(path)}


@pytest.mark.parametrize("path", MODULES, ids=identity)
def test_modules_say_what_they_are_and_stay_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), "a module begins with a docstring"
    assert len(text.splitlines()) <= LONGEST


def loaded_after(code: str, folder: Path) -> set[str]:
    """Return the packages that a fresh Python has loaded after running some code."""
    told = f"import json, sys\n{code}\njson.dump(sorted(sys.modules), sys.stderr)"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, cwd=folder, check=True, text=True)
    return {name.partition(".")[0] for name in json.loads(done.stderr)}


def test_importing_loads_nothing_heavy(tmp_path: Path) -> None:
    assert not HEAVY & loaded_after("import tclose, tclose.cli", tmp_path)


@pytest.mark.parametrize("extra", ["", ", '--json'"])
def test_checking_loads_nothing_heavy(tmp_path: Path, extra: str) -> None:
    (tmp_path / "t.csv").write_text("zone,pay,day,ill\na,1,2024-01-01,flu\nb,2.5,2024-01-02,cold\na,3,2024-01-03,flu\n")
    (tmp_path / "p.toml").write_text(
        "k = 2\nquasi = ['zone']\n[sensitive.pay]\nt = 0.1\nbins = { width = 1 }\n[sensitive.day]\nt = 0.1\n"
        "distance = 'value'\n[sensitive.ill]\nt = 0.1\nl = 2\nentropy_l = 2\n"
    )
    code = f"from tclose.cli import run\nassert run(['check', 't.csv', '--policy', 'p.toml'{extra}]) == 1"
    assert not HEAVY & loaded_after(code, tmp_path)
