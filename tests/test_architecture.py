"""Imports go one way, numerics see no frames, a check loads nothing heavy, and no module grows beyond reading."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import tclose
from tclose import steps
from tclose.partition import METHODS

SOURCE = Path(tclose.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
BASE = {"errors", "messages", "types", "words"}
NUMERICS = {*BASE, "policy", "table", "distance", "privacy"}
EDGES = {  # the folders and modules that each may import at the top of a file, its own aside
    "messages": set(),
    "errors": {"messages"},
    "types": set(),
    "lazy_imports": set(),
    "__main__": {"cli"},
    "words": {"errors", "messages", "types"},
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
    "run": {*NUMERICS, "partition", "recode", "measure", "release", "sql"},
    "comparison": {*NUMERICS, "partition", "recode", "measure", "release", "run"},
    "papers": {*NUMERICS, "partition", "measure", "release", "run"},
    "report": {*NUMERICS, "partition", "recode", "measure", "release", "comparison", "papers"},
    "spark": {*NUMERICS, "partition", "recode", "measure", "release", "run"},
    "sklearn": {*NUMERICS, "partition", "recode", "measure", "release", "run"},
    "integrations": {*NUMERICS, "sql", "run", "__init__"},
    "pandas": {*BASE, "integrations"},
    "examples": {*BASE, "table"},
    "steps": {"lazy_imports"},
    "cli": {*BASE, "policy", "steps"},
    "studio": {*BASE, "policy", "steps"},
}
IN_FUNCTIONS = {  # further edges, taken only when somebody asks
    "release": {"report"},
    "run": {"report", "spark", "comparison", "examples"},
    "comparison": {"report"},
    "papers": {"report"},
    "steps": {*NUMERICS, "comparison", "examples", "measure", "papers", "partition", "release", "run", "sql"},
    "cli": {"studio"},
    "integrations": {"measure", "release"},
}
SEES_FRAMES = {
    "table", "recode", "measure", "release", "run", "analysis", "spark", "sklearn", "integrations", "cli", "examples",
}  # fmt: skip
BUILT_ON = {"parts": {"weave"}}  # what is no method, but brings one to tables of another size
FRAMES = {"polars", "narwhals", "pandas", "pyarrow"}
HEAVY = {"numba", "scipy", "altair", "pandas", "pyspark", "pyarrow", "matplotlib", "sklearn", "sqlglot", "cryptography"}
LONGEST, MOST_MODULES = 600, 300
MOST_PARAMETERS = 8  # of a function; numba's kernels take arrays one by one
KERNELS = {"kernel", "slow_kernel", "part", "rare_part"}  # decorators of functions that numba compiles
PUBLIC_WITH_MANY = {("comparison/comparison.py", "compare"), ("release/release.py", "write")}  # keywords for users
MADE_IN = {  # what a command finds, and where it is made: whoever offers the command calls this place
    "PreparedRelease": {"run/pipeline.py", "release/continuation.py"},  # anonymize, apply
    "CheckResult": {"privacy/judge.py", "release/layouts/projections.py"},  # of a table, and of several together
    "Verification": {"release/verify.py"},
    "Attacks": {"measure/attack/results.py"},
    "Publication": {"release/release.py"},
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def layer(path: Path) -> str:
    """Return the folder or module, directly below tclose, that a file belongs to."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imported(path: Path, *, anywhere: bool = True) -> list[str]:
    """Return every module that a file imports in full: anywhere, or only what is imported when the file is."""
    tree = parsed(path)
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


def test_imports_follow_the_allowed_edges() -> None:
    assert {layer(path) for path in MODULES} - {"__init__"} <= {*EDGES}, "give each folder its edges"
    forbidden = {}
    for path in MODULES:
        if (own := layer(path)) != "__init__":
            beyond = ours(path, anywhere=False) - EDGES[own]
            beyond |= ours(path, anywhere=True) - EDGES[own] - IN_FUNCTIONS.get(own, set())
            forbidden |= {identity(path): beyond} if beyond else {}
    assert forbidden == {}


def test_allowed_edges_form_no_circle() -> None:
    left = dict(EDGES)
    while left:
        free = [name for name, edges in left.items() if not edges & left.keys()]
        assert free, f"a circle among {sorted(left)}"
        for name in free:
            del left[name]


def test_no_modules_import_each_other() -> None:
    """Functions may import later what their module's top may not; a cycle at the top would make the order matter."""
    by_name = {".".join(("tclose", *path.relative_to(SOURCE).with_suffix("").parts)): path for path in MODULES}
    by_name |= {name.removesuffix(".__init__"): path for name, path in by_name.items()}
    graph = {
        path: {by_name.get(name) or by_name.get(name.rpartition(".")[0]) for name in imported(path, anywhere=False)}
        for path in MODULES
    }
    TopologicalSorter({path: {*others} - {None, path} for path, others in graph.items()}).prepare()


def test_no_method_imports_another() -> None:
    found = {}
    for path in (each for each in MODULES if layer(each) == "partition"):
        own = path.relative_to(SOURCE / "partition").parts[0].removesuffix(".py")
        names = (name.split(".") for name in imported(path) if name.startswith("tclose.partition."))
        others = {parts[2] for parts in names} & set(METHODS) - {own} - BUILT_ON.get(own, set())
        found |= {identity(path): others} if others else {}
    assert found == {}


def test_few_folders_see_frames() -> None:
    blind = [path for path in MODULES if layer(path) not in SEES_FRAMES]
    assert len(blind) > 50
    seen = {identity(path): FRAMES & {name.partition(".")[0] for name in imported(path)} for path in blind}
    assert {path: frames for path, frames in seen.items() if frames} == {}


def test_a_class_name_means_one_thing() -> None:
    homes = defaultdict(list)
    for path in MODULES:
        for each in parsed(path).body:
            if isinstance(each, ast.ClassDef):
                homes[each.name].append(identity(path))
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_the_house_stays_small() -> None:
    assert len(MODULES) <= MOST_MODULES


def test_the_root_shows_the_architecture() -> None:
    assert len(list(SOURCE.glob("*.py"))) <= 8  # __main__.py and steps.py among them


def test_modules_say_what_they_are_and_stay_short() -> None:
    assert [identity(path) for path in MODULES if not ast.get_docstring(parsed(path))] == [], "begin with a docstring"
    lengths = {identity(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {path: lines for path, lines in lengths.items() if lines > LONGEST} == {}


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


def is_of_tclose(node: ast.AST) -> bool:
    """Tell whether a node imports names of commands."""
    return isinstance(node, ast.ImportFrom) and str(node.module).startswith("tclose.") and node.col_offset > 0


def test_every_public_name_has_its_home() -> None:
    assert sorted([*tclose._HOMES, "__version__"]) == sorted(tclose.__all__)
    tree = ast.parse(Path(str(steps.__file__)).read_text(encoding="utf-8"))
    typed = {node.module: sorted(each.name for each in node.names) for node in ast.walk(tree) if is_of_tclose(node)}
    assert typed == {home: sorted(own for own in steps._HOMES if steps._HOMES[own] == home) for home in typed}
    for package in (tclose, steps):
        assert all(getattr(package, name) is not None for name in package._HOMES)
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


def functions(tree: ast.AST) -> Iterator[Function]:
    """Return the functions and methods of a module, those within others as well."""
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def parameters(function: Function) -> list[str]:
    """Return the names of the parameters besides self and cls; `*args` and `**kwargs` are one each."""
    given = function.args
    named = [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]
    return [each.arg for each in named if each is not None and each.arg not in ("self", "cls")]


def is_kernel(function: Function) -> bool:
    """Tell whether numba compiles a function, which cannot take objects."""
    called = (each.func if isinstance(each, ast.Call) else each for each in function.decorator_list)
    return any(isinstance(each, ast.Name) and each.id in KERNELS for each in called)


def made(tree: ast.Module) -> set[str]:
    """Return the names of the classes of which a module makes objects."""
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    own = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return called | {each.name for each in own if "cls" in made_of(each.body)}


def made_of(body: list[ast.stmt]) -> set[str]:
    return made(ast.Module([each for each in body if isinstance(each, Function)], []))


@pytest.mark.parametrize("name", MADE_IN)
def test_a_command_is_done_in_one_place(name: str) -> None:
    assert {identity(path) for path in MODULES if name in made(parsed(path))} == MADE_IN[name]


def test_no_function_has_many_parameters() -> None:
    """What always travels together is a value with a name, such as a `Request`."""
    found = {
        (identity(path), function.name): len(parameters(function))
        for path in MODULES
        for function in functions(parsed(path))
        if not is_kernel(function)
    }
    many = {name for name, number in found.items() if number > MOST_PARAMETERS}
    assert many == PUBLIC_WITH_MANY, "give what travels together a name"


def literals(function: ast.AST) -> set[str]:
    """Return the names that a function gives to dictionaries that it spells out."""
    names: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            pairs = [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            pairs = [(node.target, node.value)]
        else:
            continue
        for target, value in pairs:
            each = zip(target.elts, value.elts, strict=False) if is_unpacked(target, value) else [(target, value)]
            names |= {one.id for one, spelled in each if isinstance(one, ast.Name) and is_spelled_out(spelled)}
    return names


def is_unpacked(target: ast.expr, value: ast.expr) -> bool:
    return isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)


def whole_of(value: ast.expr) -> ast.expr:
    """Return what an expression takes an item, an attribute or a copy of."""
    while isinstance(value, ast.Subscript | ast.Attribute | ast.Call):
        value = value.func if isinstance(value, ast.Call) else value.value
    return value


def is_spelled_out(value: ast.expr) -> bool:
    """Tell whether an expression is a dictionary that is spelled out, or chosen or put together from such."""
    if isinstance(value, ast.BoolOp):
        return any(is_spelled_out(each) and ast.unparse(each) != "{}" for each in value.values)
    if isinstance(value, ast.IfExp):
        return is_spelled_out(value.body) or is_spelled_out(value.orelse)
    if isinstance(value, ast.BinOp):
        return is_spelled_out(value.left) or is_spelled_out(value.right)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "dict":
        return True
    return isinstance(value, ast.DictComp | ast.Dict)


def unpacked_literals(tree: ast.AST) -> list[int]:
    """Return the lines where a function unpacks a dictionary into a call that it, or its module, spells out."""
    lines, shared = set(), literals(ast.Module([each for each in tree.body if not isinstance(each, Function)], []))
    for function in functions(tree):
        own = literals(function) | shared
        for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
            for given in (keyword.value for keyword in call.keywords if keyword.arg is None):
                if is_spelled_out(given) or (isinstance(whole := whole_of(given), ast.Name) and whole.id in own):
                    lines.add(call.lineno)
    return sorted(lines)


def test_no_dictionary_of_keywords_is_unpacked_into_a_call() -> None:
    """The type checker sees keywords and values with names; it does not see what is in a dictionary."""
    found = {identity(path): lines for path in MODULES if (lines := unpacked_literals(parsed(path)))}
    assert not found, "say the keywords, or give what travels together a name"


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("asked: dict[str, Any] = {'a': 1}\n    g(**asked)", True),
        ("x, asked = 1, {'a': 1}\n    g(**asked)", True),
        ("asked = {'a': 1} if x else {}\n    g(**asked)", True),
        ("asked = {name: 1 for name in x}\n    g(**asked)", True),
        ("asked = {}\n    asked |= {'a': 1}\n    g(**asked)", True),
        ("asked = {}\n    asked['a'] = 1\n    g(**asked)", True),
        ("asked = dict(a=1)\n    g(**asked)", True),
        ("asked = x or {'a': 1}\n    g(**asked)", True),
        ("asked = {'a': 1}\n    g(**asked.copy())", True),
        ("asked = {'a': {'b': 1}}\n    g(**asked['a'])", True),
        ("g(**{**x, 'a': 1})", True),
        ("g(**(x | {'a': 1}))", True),
        ("g(**x)", False),
        ("g(**x or {})", False),
        ("g(**vars(x))", False),
        ("asked = {'a': 1}\n    g(asked, {**asked})", False),
    ],
)
def test_a_dictionary_that_is_unpacked_is_found(code: str, found: bool) -> None:
    assert bool(unpacked_literals(ast.parse(f"def f(x):\n    {code}"))) == found


def test_a_dictionary_of_a_module_that_is_unpacked_is_found() -> None:
    assert unpacked_literals(ast.parse("K = {'a': 1}\n\n\ndef f():\n    g(**K)"))


SHOWS_CELLS = re.compile(
    r"\b(pl\.(DataFrame|Series|LazyFrame)|CodedTable|CountedTable|LearnedTable|Tally|Values|ValueDomain|QuasiDomain|"
    r"SensitiveDomain|QuasiColumn|SensitiveColumn)\b"
)
TABLES = {"table", "original", "register", "population", "release", "second", "frame"}  # of type `Any`: frames or paths
HIDDEN = ("repr=False", "shown=False")


def shown_cells(tree: ast.AST) -> list[str]:
    """Return the fields of dataclasses whose `repr` would show cells of a table, or a seed."""
    found = []
    for each in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        made = [ast.unparse(line) for line in each.decorator_list if ast.unparse(line).startswith("dataclass")]
        own = any(isinstance(line, ast.FunctionDef) and line.name == "__repr__" for line in each.body)
        if not made or HIDDEN[0] in made[0] or own:
            continue
        for field in (line for line in each.body if isinstance(line, ast.AnnAssign)):
            name, kind = ast.unparse(field.target), ast.unparse(field.annotation)
            has_cells = SHOWS_CELLS.search(kind) and not kind.startswith("Callable")
            if has_cells or name == "seed" or (name in TABLES and kind.startswith("Any")):
                hidden = field.value is not None and any(word in ast.unparse(field.value) for word in HIDDEN)
                found += [] if hidden else [f"{each.name}.{name}"]
    return found


def test_no_repr_shows_cells_or_a_seed() -> None:
    """A `repr` ends up in notebooks, in debuggers and in what collects errors."""
    assert {identity(path): names for path in MODULES if (names := shown_cells(parsed(path)))} == {}


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("@dataclass(frozen=True)\nclass A:\n    frame: pl.DataFrame", True),
        ("@dataclass\nclass A:\n    seed: int = 3", True),
        ("@dataclass(kw_only=True)\nclass A:\n    table: Any", True),
        ("@dataclass(frozen=True, repr=False)\nclass A:\n    frame: pl.DataFrame", False),
        ("@dataclass\nclass A:\n    table: Any = field(repr=False)", False),
        ("class A:\n    frame: pl.DataFrame", False),
    ],
)
def test_a_repr_that_shows_cells_is_found(code: str, found: bool) -> None:
    assert bool(shown_cells(ast.parse(code))) == found
