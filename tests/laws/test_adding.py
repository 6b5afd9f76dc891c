"""Adding a part touches few files: a test adds a distance, a policy key with its model, and a format to one copy.

A distance takes three files, a key of the policy six, a format of releases two; the docs are counted, too. The copy is
used as a steward would use it: check, anonymize with a page and a certificate, verify. The methods with compiled loops
are tried on new distances and models in this process, where the loops are compiled already.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numba.core.caching import UserProvidedCacheLocator
from tests.policy_keys import differences

import tclose
from tclose.distance import Counts, Distance, Hierarchical, Matrix, Ratios, Value
from tclose.errors import Unsuited
from tclose.partition import METHODS, Attribute, Problem, merged, method_named
from tclose.privacy import Judgement, Rule, Sign
from tclose.types import Ints

OF_DISTANCE, OF_KEY, OF_FORMAT = 3, 6, 2  # files, at most
SOURCE = Path(tclose.__file__).parent
DOCS = SOURCE.parents[1] / "docs"
RUN = "import sys; from tclose.cli import run; sys.exit(run(sys.argv[1:]))"
FACTS = """
import json
from tclose import steps
from tclose.studio.pages import catalogue
from tclose.studio.publication import FORMATS
from tclose.studio.settings import FIELDS
json.dump({
    "schema": steps.schema(),
    "labels": {language: catalogue(language) for language in ("en", "de")},
    "fields": FIELDS,
    "places": {each.name: each.places for each in steps.CAPABILITIES if each.kind == "sensitive"},
    "endings": [ending for each in steps.OUTPUT_FORMATS for ending in each.suffixes],
    "offered": FORMATS,
    "help": steps.knobs(steps.Request)["out"][0].help,
}, __import__("sys").stdout)
"""


@dataclass
class Package:
    """A copy of the package and of pages of the docs, and the files that were written or changed in it."""

    folder: Path
    touched: set[str] = field(default_factory=set)

    def write(self, name: str, text: str) -> None:
        """Add a file."""
        self.touched.add(name)
        (self.folder / name).write_text(text, encoding="utf-8")

    def insert(self, name: str, before: str, text: str) -> None:
        """Put lines into a file, before the first line that begins so."""
        lines = (self.folder / name).read_text(encoding="utf-8").splitlines(keepends=True)
        place = next(number for number, line in enumerate(lines) if line.startswith(before))
        self.write(name, "".join([*lines[:place], text, *lines[place:]]))

    def run(self, *arguments: str, expect: int = 0) -> str:
        """Run a command of the copy, and return its messages."""
        return self.python(RUN, *arguments, expect=expect).stderr

    def facts(self) -> dict[str, Any]:
        """Return what the copy knows of keys and formats."""
        found: dict[str, Any] = json.loads(self.python(FACTS).stdout)
        return found

    def python(self, code: str, *arguments: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
        """Run code with the copy."""
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code, *arguments],
            env={**os.environ, "PYTHONPATH": str(self.folder.parent), "NUMBA_OPT": "1"},  # its page compiles kernels
            cwd=self.folder.parent.parent,
            capture_output=True,
            text=True,
            timeout=1800,
        )
        assert done.returncode == expect, done.stderr
        return done


def keep_kernels(copy: Path) -> None:
    """Give a copy the compiled kernels of the package: numba keeps them by the path of their sources."""
    compiled = SOURCE / "partition" / "__pycache__"
    subfolder = UserProvidedCacheLocator.get_suitable_cache_subpath
    for kept in compiled.glob("tclose-kernels-*"):
        for sources in {file.parent for file in SOURCE.rglob("*.py")}:
            own, place = (subfolder(str(folder / "a.py")) for folder in (sources, copy / sources.relative_to(SOURCE)))
            if (kept / own).exists():
                into = copy / "partition" / "__pycache__" / kept.name
                shutil.copytree(kept / own, into / place)
                into.chmod(0o700)


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package and a table; the kernels of the page are compiled in it once for both additions."""
    folder = tmp_path_factory.mktemp("copied")
    copy = folder / "src" / "tclose"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("tclose-*"))
    keep_kernels(copy)
    for page in ("guide.md", "files.md"):
        shutil.copy(DOCS / page, copy)
    rows = "".join(f"{20 + i % 30},{'fm'[i % 2]},{(7 * i) % 11}\n" for i in range(120))
    (folder / "t.csv").write_text("age,sex,pay\n" + rows)
    return copy


@pytest.fixture
def package(copied: Path) -> Package:
    return Package(copied)


def publish(package: Package, setting: str) -> dict[str, Any]:
    """Check a table, publish it with a page and a certificate, and verify; return what was certified."""
    folder = package.folder.parent.parent
    (folder / "p.toml").write_text(f"k = 3\nquasi = ['age', 'sex']\n[sensitive.pay]\n{setting}\n")
    package.run("check", "t.csv", "--policy", "p.toml", expect=1)
    package.run(
        *("anonymize", "t.csv", "--policy", "p.toml", "--method", "mondrian", "--seed", "1"),
        *("--out", "r.csv", "--certificate", "c.json", "--report", "r.html", "--force"),
    )
    package.run("verify", "r.csv", "--certificate", "c.json")
    found: dict[str, Any] = json.loads((folder / "c.json").read_text(encoding="utf-8"))
    return found


DISTANCE = '''
"""Values as far apart as their ranks, where high ranks lie farther apart than low ones."""

import numpy as np

from tclose.distance.ground import Value


class Stretched(Value):
    """A line on which the gap after rank i is i + 1."""

    name = "stretched"

    def __init__(self, domain_size: int) -> None:
        super().__init__(np.cumsum(np.arange(domain_size, dtype=np.int64)))
'''
DISTANCE_ENTRY = """    DistanceEntry(
        "stretched", "line", "high values count as farther apart", lambda facts: Stretched(facts.size)
    ),
"""


def test_a_new_distance_takes_three_files(package: Package) -> None:
    package.write("distance/stretched.py", DISTANCE)
    package.insert("distance/registry.py", "from tclose.errors", "from tclose.distance.stretched import Stretched\n")
    package.insert("distance/registry.py", ")", DISTANCE_ENTRY)  # at the end of the list
    package.insert("policy/column_settings.py", '    "matrix":', '    "stretched": DistanceSettings("numbers"),\n')
    assert len(package.touched) <= OF_DISTANCE
    certified = publish(package, "t = 0.2\ndistance = 'stretched'")
    assert certified["sensitive"]["pay"]["distance"] == "stretched"
    assert certified["sensitive"]["pay"]["closeness"] <= 0.2
    page = (package.folder.parent.parent / "r.html").read_text(encoding="utf-8")
    assert "high values count as farther apart" in page


MODEL = '''
"""Variety: at least some share of a class has another value than the commonest."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from tclose.distance import Counts, Ratios
from tclose.privacy.base import Judgement, Level, Rule, Sign, at_least
from tclose.types import Ints


@dataclass(frozen=True)
class Variety:
    """At least `required` of a class has another value than the commonest."""

    required: Fraction

    name: ClassVar[str] = "variety"
    title: ClassVar[str] = "variety of values"
    sign: ClassVar[Sign] = "≥"
    counts_persons: ClassVar[bool] = False
    alone: ClassVar[bool] = True
    persons_imply_rows: ClassVar[bool] = True
    merging_keeps: ClassVar[bool] = True

    def rule(self, shares: Sequence[Fraction]) -> Rule:
        """Return the largest share of a value."""
        return Rule(most=(1 - self.required,) * len(shares))

    def judge(self, counts: Counts, reference: Ints) -> Judgement:
        """Judge every class by the share of its commonest value."""
        commonest = Ratios(np.maximum.reduceat(counts.counts, counts.starts), counts.sizes, 1)
        share, worst = commonest.largest()
        return Judgement(commonest.at_most(1 - self.required), 1 - share, worst)

    def attainable(self, reached: Level, counts: Counts, reference: Ints) -> str:
        """Say which level these classes can be asked for."""
        return at_least(reached)
'''


KEY = """    variety: Annotated[
        Fraction | None,
        Setting(between(0, 1), "At least this share has other values.", "Share of other values, at least", model=True),
    ] = None
"""
ROW = "| `variety = 0.8` | at least this share has other values than the commonest | larger |\n"


def test_a_new_key_with_its_model_takes_six_files(package: Package) -> None:
    package.write("privacy/variety.py", MODEL)
    package.insert("privacy/registry.py", "from tclose.types", "from tclose.privacy.variety import Variety\n")
    package.insert("privacy/registry.py", '    Requirement("suppress"', "    _by_name(Variety),\n")
    package.insert("policy/model.py", "    distance: Annotated", KEY)
    package.insert("run/engines.py", '    Capability("sensitive", "t_by"', '    *_all("sensitive", "variety"),\n')
    package.insert("studio/texts/de.toml", "average_t = ", 'variety = "Anteil anderer Werte, mindestens"\n')
    package.insert("guide.md", "| `average_t = 0.1`", ROW)
    assert len(package.touched) <= OF_KEY
    known = package.facts()
    keys = known["schema"]["properties"]["sensitive"]["additionalProperties"]["properties"]
    assert keys["variety"]["maximum"] == 1
    guide = (package.folder / "guide.md").read_text(encoding="utf-8")
    assert differences(guide, "### The keys of a sensitive attribute", keys) == []
    assert known["labels"]["en"].keys() == known["labels"]["de"].keys()
    assert known["labels"]["en"]["keys.variety"] == "Share of other values, at least"
    assert "variety" in known["fields"]["sensitive"]
    assert set(known["places"]["variety"].values()) == {"works"}
    certified = publish(package, "variety = 0.8")
    (model,) = (model for model in certified["models"] if model["model"] == "variety")
    assert model["satisfied"]
    assert (model["required"], model["attribute"]) == (0.8, "pay")
    page = (package.folder.parent.parent / "r.html").read_text(encoding="utf-8")
    assert "variety of values" in page
    assert "variety = 0.8" in page  # where the page lists what the policy asks of each column
    policy = "k = 3\nquasi = ['age', 'sex']\n[sensitive.pay]\nvariety = 0.99\n"
    (package.folder.parent.parent / "p.toml").write_text(policy)
    arguments = ("anonymize", "t.csv", "--policy", "p.toml", "--method", "mondrian", "--out", "s.csv")
    said = " ".join(package.run(*arguments, expect=1).split())
    assert "variety of 'pay' = 0.99 cannot be reached: 0.9083 can be" in said


FORMAT = """    OutputFormat(
        "JSON lines", (".jsonl",), "application/jsonl", lambda frame, file: frame.write_ndjson(file)
    ),
"""


def test_a_new_format_takes_two_files(package: Package) -> None:
    package.insert("release/formats.py", '    _statistical("Stata"', FORMAT)
    page = package.folder / "files.md"
    package.write(
        "files.md", page.read_text(encoding="utf-8").replace("`.ndjson`) | yes | –", "`.ndjson`) | yes | `.jsonl`")
    )
    assert len(package.touched) <= OF_FORMAT
    known = package.facts()
    written = [row.split(" | ")[2] for row in page.read_text(encoding="utf-8").splitlines() if row.count(" | ") > 3]
    assert all(any(f"`{ending}`" in cell for cell in written) for ending in known["endings"])
    assert ".jsonl" in known["endings"]
    assert known["offered"]["jsonl"] == "JSON lines"
    assert ", .jsonl" in known["help"]
    folder = package.folder.parent.parent
    (folder / "p.toml").write_text("k = 3\nquasi = ['age', 'sex']\n[sensitive.pay]\nt = 0.4\n")
    beside = ("--certificate", "f.json", "--describe", "datapackage", "--describe", "croissant")
    package.run("anonymize", "t.csv", "--policy", "p.toml", "--method", "mondrian", "--out", "r.jsonl", *beside)
    package.run("verify", "r.jsonl", "--certificate", "f.json")
    assert json.loads((folder / "r.jsonl").read_text(encoding="utf-8").splitlines()[0]).keys() == {"age", "sex", "pay"}


# --- in this process: every method serves what it has never heard of ---


class ToyLine(Value):
    """A line that no method knows by its class or name."""

    name = "toy line"


class ToyTree(Hierarchical):
    """A tree that no method knows by its class or name."""

    name = "toy tree"


class ToyMetric(Matrix):
    """A metric that no method knows by its class or name."""

    name = "toy metric"


@dataclass(frozen=True)
class ToyModel:
    """No value makes up more than 2/3 of a class; with or without a rule that says so."""

    ruled: bool
    required: Fraction = Fraction(2, 3)

    name: ClassVar[str] = "toy"
    title: ClassVar[str] = "toy model"
    sign: ClassVar[Sign] = "≤"
    counts_persons: ClassVar[bool] = False
    alone: ClassVar[bool] = True
    persons_imply_rows: ClassVar[bool] = True
    merging_keeps: ClassVar[bool] = True

    def rule(self, shares: Sequence[Fraction]) -> Rule | None:
        return Rule(most=(self.required,) * len(shares)) if self.ruled else None

    def judge(self, counts: Counts, reference: Ints) -> Judgement:
        shares = Ratios(np.maximum.reduceat(counts.counts, counts.starts), counts.sizes, 1)
        reached, worst = shares.largest()
        return Judgement(shares.at_most(self.required), reached, worst)

    def attainable(self, reached: Any, counts: Counts, reference: Ints) -> str:
        return ""


PLACES = np.array([0, 2, 3, 9])
TOYS: dict[str, Distance] = {
    "line": ToyLine(PLACES),
    "tree": ToyTree((np.arange(4), np.array([0, 0, 1, 1]), np.zeros(4, dtype=np.int64))),
    "metric": ToyMetric(np.abs(PLACES[:, None] - PLACES)),
}
REFUSING = {  # shapes, and methods that their papers give no way to serve them
    "sabre": {"metric"},
    "microaggregation": {"line", "tree", "metric"},  # its strata are ranks, and the toy line has gaps
    "burel": {"line", "tree", "metric"},  # which is for beta
    "kanonymity": {"line", "tree", "metric"},  # which is for k
}
ONE_TABLE = [name for name, method in METHODS.items() if method.tables == "one"]


def problem(distance: Distance, rows: int, *models: ToyModel) -> Problem:
    random = np.random.default_rng(3)
    codes = random.integers(0, 4, size=rows)
    attribute = Attribute(codes, np.bincount(codes, minlength=4), distance, Fraction(1, 4), models=models)
    return Problem(random.random((rows, 2)), (attribute,), 2)


@pytest.mark.parametrize("shape", TOYS)
@pytest.mark.parametrize("method", ONE_TABLE)
def test_every_method_serves_a_new_distance_or_says_why_not(method: str, shape: str) -> None:
    asked = problem(TOYS[shape], 12 if method == "exact" else 80)
    if method in REFUSING and shape in REFUSING[method]:
        with pytest.raises(Unsuited):
            method_named(method)(asked, seed=1)
    else:
        assert asked.admitted(method_named(method)(asked, seed=1)).all()


@pytest.mark.parametrize("ruled", [True, False])
@pytest.mark.parametrize("method", ["weave", "mondrian", "fragmentation", "exact"])
def test_methods_serve_a_new_model(method: str, ruled: bool) -> None:
    asked = problem(TOYS["line"], 12 if method == "exact" else 80, ToyModel(ruled))
    labels = method_named(method)(asked, seed=1)
    together = np.zeros(asked.rows, dtype=np.int64)
    kept = merged(labels, together, asked.points, lambda labels: ~asked.admitted(labels))
    assert asked.admitted(kept).all()
    if method == "weave" and ruled:
        assert asked.admitted(labels).all()  # weave keeps the rule itself, so that nothing is left to merging
