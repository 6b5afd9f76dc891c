"""Imports go one way, numerics see no frames, a check loads nothing heavy, and no module grows beyond reading."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import tclose
from tclose import steps
from tclose.partition import METHODS

SOURCE = Path(tclose.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
BASE = {"errors", "threads", "types", "words"}
NUMERICS = {*BASE, "policy", "table", "distance", "privacy"}
EDGES = {  # the folders and modules that each may import at the top of a file, its own aside
    "errors": set(),
    "types": set(),
    "threads": set(),
    "lazily": set(),
    "__main__": {"cli"},
    "words": {"errors", "types"},
    "policy": BASE,
    "table": {*BASE, "policy"},
    "distance": BASE,
    "privacy": {*BASE, "policy", "table", "distance"},
    "partition": NUMERICS,
    "recode": {*BASE, "policy", "table"},
    "sql": {*BASE, "policy", "table"},
    "analysis": {*BASE, "policy", "table", "recode", "release"},
    "measure": {*NUMERICS, "recode", "partition"},
    "release": {*NUMERICS, "partition", "recode", "measure"},
    "run": {*NUMERICS, "partition", "recode", "measure", "release"},
    "engine": {*NUMERICS, "partition", "recode", "measure", "release", "run"},
    "comparison": {*NUMERICS, "partition", "recode", "measure", "release", "engine"},
    "report": {*NUMERICS, "partition", "recode", "measure", "release", "comparison"},
    "spark": {*NUMERICS, "partition", "recode", "measure", "release", "engine"},
    "sklearn": {*NUMERICS, "partition", "recode", "measure", "release", "engine"},
    "integrations": {*NUMERICS, "sql", "run", "__init__"},
    "pandas": {*BASE, "integrations"},
    "examples": {*BASE, "table"},
    "steps": {*NUMERICS, "partition", "recode", "measure", "release", "sql", "run", "lazily"},
    "cli": {*BASE, "policy", "steps"},
    "studio": {*BASE, "policy", "steps"},
}
IN_FUNCTIONS = {  # further edges, taken only when somebody asks
    "release": {"report"},
    "run": {"report"},
    "comparison": {"report"},
    "steps": {"engine", "comparison", "report", "examples", "spark"},
    "cli": {"studio"},
    "integrations": {"measure", "release"},
}
SEES_FRAMES = {
    "table", "recode", "release", "run", "analysis", "engine", "spark", "sklearn", "integrations", "cli", "examples",
}  # fmt: skip
BUILT_ON = {"parts": {"weave"}}  # what is no method, but brings one to tables of another size
FRAMES = {"polars", "narwhals", "pandas", "pyarrow"}
HEAVY = {"numba", "scipy", "altair", "pandas", "pyspark", "pyarrow", "matplotlib", "sklearn", "sqlglot", "cryptography"}
LONGEST = 500


def layer(path: Path) -> str:
    """Return the folder or module, directly below tclose, that a file belongs to."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@cache
def imported(path: Path, *, anywhere: bool = True) -> list[str]:
    """Return every module that a file imports in full: anywhere, or only what is imported when the file is."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = set() if anywhere else {inner for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
                                     or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
                                     for inner in ast.walk(node)}  # fmt: skip
    names: list[str] = []
    for node in (node for node in ast.walk(tree) if node not in inside):
        if isinstance(node, ast.Import):
            names += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: import by full name"
            names += (f"{node.module}.{alias.name}" for alias in node.names)
    return names


def identity(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def ours(path: Path, *, anywhere: bool) -> set[str]:
    """Return the folders and modules of tclose that a file imports, its own aside."""
    names = (name.split(".") for name in imported(path, anywhere=anywhere))
    return {parts[1] for parts in names if parts[0] == "tclose" and len(parts) > 1} - {layer(path)}


@pytest.mark.parametrize("path", MODULES, ids=identity)
def test_imports_follow_the_allowed_edges(path: Path) -> None:
    own = layer(path)
    if own == "__init__":
        return
    assert own in EDGES, f"give {own} its edges"
    assert ours(path, anywhere=False) <= EDGES[own]
    assert ours(path, anywhere=True) <= EDGES[own] | IN_FUNCTIONS.get(own, set())


def test_allowed_edges_form_no_circle() -> None:
    left = dict(EDGES)
    while left:
        free = [name for name, edges in left.items() if not edges & left.keys()]
        assert free, f"a circle among {sorted(left)}"
        for name in free:
            del left[name]


@pytest.mark.parametrize("path", [p for p in MODULES if layer(p) == "partition"], ids=identity)
def test_no_method_imports_another(path: Path) -> None:
    own = path.relative_to(SOURCE / "partition").parts[0].removesuffix(".py")
    names = (name.split(".") for name in imported(path) if name.startswith("tclose.partition."))
    methods = {parts[2] for parts in names} & set(METHODS)
    assert methods <= {own} | BUILT_ON.get(own, set())


@pytest.mark.parametrize("path", MODULES, ids=identity)
def test_few_folders_see_frames(path: Path) -> None:
    if layer(path) not in SEES_FRAMES:
        assert not FRAMES & {name.partition(".")[0] for name in imported(path)}


def test_the_root_shows_the_architecture() -> None:
    assert len(list(SOURCE.glob("*.py"))) <= 7  # __main__.py among them


@pytest.mark.parametrize("path", MODULES, ids=identity)
def test_modules_say_what_they_are_and_stay_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), "a module begins with a docstring"
    assert len(text.splitlines()) <= LONGEST


def loaded_after(code: str, folder: Path) -> set[str]:
    """Return the packages, and the modules, that a fresh Python has loaded after running some code."""
    told = f"import json, sys\n{code}\njson.dump(sorted(sys.modules), sys.stderr)"
    environment = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}  # which is checked
    command = [sys.executable, "-c", told]
    done = subprocess.run(command, capture_output=True, cwd=folder, check=True, text=True, env=environment)
    modules = json.loads(done.stderr)
    return {*modules, *(name.partition(".")[0] for name in modules)}


def test_importing_loads_nothing_heavy(tmp_path: Path) -> None:
    everything = "import tclose, tclose.cli\n[getattr(tclose, name) for name in tclose.__all__]"
    assert not HEAVY & loaded_after(everything, tmp_path)


@pytest.mark.parametrize("code", ["import tclose", "from tclose.cli import run\nassert run(['--help']) == 0"])
def test_what_only_names_things_loads_no_frames(tmp_path: Path, code: str) -> None:
    assert not {"numpy", *FRAMES} & loaded_after(code, tmp_path)


def test_every_public_name_has_its_home() -> None:
    for package in (tclose, steps):
        homes = package._HOMES
        assert sorted([*homes, *({"__version__"} & set(package.__all__))]) == sorted(package.__all__)
        assert all(getattr(package, name) is not None for name in package.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'anonymise'"):
        tclose.anonymise  # noqa: B018


@pytest.mark.parametrize("extra", ["", ", '--json'"])
def test_checking_loads_nothing_heavy(tmp_path: Path, extra: str) -> None:
    (tmp_path / "t.csv").write_text("zone,pay,day,ill\na,1,2024-01-01,flu\nb,2.5,2024-01-02,cold\na,3,2024-01-03,flu\n")
    (tmp_path / "p.toml").write_text(
        "k = 2\nquasi = ['zone']\n[sensitive.pay]\nt = 0.1\nbins = { width = 1 }\n[sensitive.day]\nt = 0.1\n"
        "distance = 'value'\n[sensitive.ill]\nt = 0.1\nl = 2\nentropy_l = 2\n"
    )
    code = f"from tclose.cli import run\nassert run(['check', 't.csv', '--policy', 'p.toml'{extra}]) == 1"
    assert not HEAVY & loaded_after(code, tmp_path)
    folders = {"release", "partition", "measure", "recode", "report", "sql"}
    assert not {f"tclose.{folder}" for folder in folders} & loaded_after(code, tmp_path)
