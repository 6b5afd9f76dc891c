"""Which tests are slow, and methods that misbehave, for tests that run methods in other processes."""

from __future__ import annotations

import atexit
import os
import runpy
import shutil
import signal
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import settings

from tclose.partition.registry import METHODS
from tclose.table.sources import door

from . import cpu_seconds, warm_kernels
from .pairs import leave_to_soak

pytest_addoption = cpu_seconds.pytest_addoption
TIMES = int(os.environ.get("TCLOSE_EXAMPLES", "1"))  # `make soak` sets it
FEWEST = 3  # examples of a law


def examples(number: int) -> int:
    """Return how many examples of a law are tried: a quarter in `make test`, and `TIMES` as many in `make soak`."""
    return max(FEWEST, -(-number // 4)) * TIMES


# no test measures time: a busy machine must not fail one
settings.register_profile("tclose", max_examples=examples(30), deadline=None)
settings.load_profile("tclose")

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as in the background of a shell: tests interrupt themselves
    signal.signal(signal.SIGINT, signal.default_int_handler)

HERE = Path(__file__).parent
os.environ.setdefault("SOURCE_DATE_EPOCH", "1767225600")  # 2026-01-01: two runs of a test give the same certificate
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of processes would compile the whole package, 0.2 s each
os.environ.pop("RUST_BACKTRACE", None)  # polars would look up the names of all its functions whenever it aborts: 5 s
sys.dont_write_bytecode = False  # nor does each run rewrite the assertions of 300 files, which takes 7 s


def end_quietly() -> None:
    """Let DuckDB say nothing when the process ends.

    Its bindings list every object that something still holds then, on twenty lines amid those of pytest. This is the
    last Python code of the process: what else could be said has been said.
    """
    if "_duckdb" in sys.modules:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


atexit.register(end_quietly)
SLOW = (  # folders and files that `make test-fast` leaves out: many examples, long searches, other processes, a browser
    "laws",
    "papers",
    "partition",
    "policy/test_draft_of_real_tables.py",
    "sklearn",
    "spark",
    "sql",
    "comparison",
    "docs",
    "report",
    "typing",
    "examples",
    "integrations",
    "engine/test_attack.py",
    "engine/test_disk_attack.py",
    "engine/test_in_parts.py",
    "run/test_recorded.py",
    "recode/test_typed.py",
    "cli/test_apply.py",
    "cli/test_formats.py",
    "cli/test_profile.py",
    "table/test_databases.py",
    "release/test_mutated_certificates.py",
    "studio/test_invitations.py",
    "studio/test_planted.py",
    "studio/test_second_user.py",
    "test_trace.py",
    "engine/test_code_folder.py",
    "engine/test_disk.py",
    "engine/test_estimate.py",
    "engine/test_once.py",
    "engine/test_warm_bound.py",
    "measure",
    "recode/test_covering.py",
    "release/test_both.py",
    "release/test_describing.py",
    "release/test_permutation.py",
    "release/test_presence.py",
    "release/test_pseudonymity.py",
    "cli/test_both.py",
    "cli/test_further_models.py",
    "cli/test_joint.py",
    "cli/test_presence.py",
    "release/test_certificate.py",
    "release/test_folders.py",
    "release/test_format1.py",
    "release/test_layouts.py",
    "release/test_release.py",
    "release/test_typed_columns.py",
    "analysis",
    "cli/test_bound.py",
    "cli/test_compare.py",
    "cli/test_disk.py",
    "cli/test_ended.py",
    "cli/test_exposed.py",
    "cli/test_extremes.py",
    "cli/test_growth.py",
    "cli/test_disk_release.py",
    "cli/test_large.py",
    "cli/test_libraries.py",
    "cli/test_loss.py",
    "cli/test_missing_numbers.py",
    "test_fuzz.py",
    "cli/test_report.py",
    "cli/test_reproduce.py",
    "cli/test_several_tables.py",
    "cli/test_streams.py",
    "cli/test_temper.py",
    "cli/test_terminal.py",
    "table/test_batches.py",
    "table/test_folder.py",
    "table/test_random_ranges.py",
    "table/test_tally.py",
    "table/test_door.py",
    "test_api.py",
    "test_architecture.py",
    "test_steps.py",
)
SOAK = (  # tests that only `make soak` runs, beside parameters marked so; `make test` has a shorter one like each
    "test_a_release_of_many_columns",
    "test_one_case_again_says_whether_it_is_a_find",
    "test_planted_bugs_are_found[raise ValueError]",
    "test_planted_bugs_are_found[os.abort()]",
    "test_nhanes_is_where_the_papers_method_loses[0.1-0.15-0.121-0.747-clustering0]",
    "test_nhanes_is_where_the_papers_method_loses[0.05-0.1-0.253-0.953-clustering1]",
    "test_census",
    "test_a_page_whose_stream_gave_way_still_hears_of_the_end",
    "test_a_release_in_another_form_is_verified_and_its_command_writes_the_same_bytes",
    "test_a_page_of_several_tables[projections]",
    "test_mypy_accepts_a_script",
    "test_compare_states_the_bound",
    "test_a_comparison_names_them_as_unsuited",
    "test_a_project_of_the_version_before_is_read",
    "test_compare_says_so_once",
    "test_the_script_makes_images",
    "test_the_demonstration_in_a_folder_whose_name_is_not_utf8",
    "test_large_numbers_are_exact_or_a_problem[spark_judge]",
    "test_a_read_only_installation_keeps_kernels_in_the_home",
    *(f"test_no_partition_of_thousands_loses_less[{first}]" for first in range(1_000, 6_400, 400)),
)
STARTS_PROCESSES = {"process", "misbehaving", "misbehave", "finished", "studio", "shared_studio", "empty"}  # fixtures
PACKAGE = HERE.parent / "src" / "tclose"
NEEDS = {
    "integrations/great_expectations.py": "great_expectations",
    "integrations/pandera.py": "pandera",
    "spark": "pyspark",
}
SLOW_PLACES = {HERE / place for place in SLOW}
STUDIO = HERE / "studio"


def pytest_configure(config: pytest.Config) -> None:
    """Measure the CPU of each test; where kernels may have to be compiled in one, no test takes too long."""
    cpu_seconds.register(config, may_fail=TIMES == 1 and warm_kernels.are_complete())
    config.pluginmanager.register(WithoutExtras())


class WithoutExtras:
    """Collects no doctests of modules whose library is not installed; every other module must be importable."""

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Tell which file or folder of the package to leave out."""
        for place, library in NEEDS.items():
            if collection_path == PACKAGE / place and find_spec(library) is None:
                return True
        return None


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile kernels before workers start. One process alone compiles what it needs: it may run a single test."""
    if session.config.getoption("numprocesses", 0) and not hasattr(session.config, "workerinput"):
        reporter = session.config.pluginmanager.getplugin("terminalreporter")
        for line in warm_kernels.compile_what_is_missing(checked="not slow" not in session.config.option.markexpr):
            reporter.write_line(line)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even load what `make test-fast` leaves out."""
    return True if "not slow" in config.option.markexpr and collection_path in SLOW_PLACES else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow, in one place, so that anybody can see what the fast tests are."""
    items.sort(key=_how_late)
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if not SLOW_PLACES.isdisjoint([item.path, *item.path.parents]) or fixtures & STARTS_PROCESSES:
            item.add_marker(pytest.mark.slow)
        if item.name in SOAK:
            item.add_marker(pytest.mark.soak)
        if isinstance(item, pytest.Function) and (
            getattr(item.obj, "is_hypothesis_test", False) or hasattr(item.module, "TIMES")
        ):
            item.add_marker(pytest.mark.repeated)
    leave_to_soak(items)


def _how_late(item: pytest.Item) -> int:
    """Put tests that wait for a cluster first, then those that wait for studios and browsers.

    One worker begins with them, and xdist takes from the end of its list: so there is one cluster and one browser, and
    the other worker computes meanwhile.
    """
    fixtures = set(getattr(item, "fixturenames", ()))
    if "spark" in item.nodeid:
        return 0
    return 1 if "chromium" in fixtures or STUDIO in item.path.parents else 2


@pytest.fixture(scope="session")
def data(pytestconfig: pytest.Config) -> Path:
    """The folder of real tables, which is not part of the repository."""
    folder = Path(pytestconfig.rootpath).parent / "shared" / "data"
    if not folder.exists():
        pytest.skip(f"{folder} is not there")
    return folder


@pytest.fixture(scope="session")
def cluster() -> Iterator[SimpleNamespace]:
    """A Spark cluster of two workers: its `machines`, a session on it (`spark`), and where Spark Connect listens."""
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java: apt-get install --yes --no-install-recommends openjdk-17-jre-headless")
    pytest.importorskip("pyspark", reason="Spark is not installed: pip install 'tclose[spark]'")
    place = runpy.run_path(str(HERE / "spark" / "cluster.py"))
    port = place["free_port"]()
    with place["started"]() as machines, place["session"](machines.address, machines.folder, port) as spark:
        settings = place["settings"](machines.folder, place["free_port"]())
        yield SimpleNamespace(spark=spark, machines=machines, remote=f"sc://127.0.0.1:{port}", settings=settings)


MISBEHAVING = '''
"""Python imports this module whenever it starts: here it adds methods that no user would want."""
import os, signal, sys, threading, types
from pathlib import Path
from tclose.errors import Infeasible, InternalError, MissingExtra, Unsuited
from tclose.partition.registry import METHODS, Method

def raising(error):
    def partition(problem, *, seed=0, progress=None):
        raise error
    return partition

def endless(problem, *, seed=0, progress=None):
    Path(os.environ.get("BEGUN", os.devnull)).write_text(str(os.getpid()))
    progress(0.5)
    while not threading.Event().wait(0.05):  # in turns: polars restarts a wait that Ctrl-C interrupts
        pass

def whole(problem, *, seed=0, progress=None):
    sys.stdout.write("a library prints S3CR3T\\n")
    sys.stderr.write("and warns of S3CR3T\\n")
    problem.check_feasible()
    return problem.points[:, 0].astype("int64") * 0

def killed(problem, *, seed=0, progress=None):
    os.kill(os.getpid(), signal.SIGKILL)

def chosen(
    problem, *, kind: str = "one", parts: int = 1, share: float = 0.5, fast: bool = False, most: int | None = None,
    measure: object = None, seed=0, progress=None
):
    return whole(problem) if kind == "one" else (whole(problem).cumsum() + range(problem.rows)) // (problem.rows // 2)

def aborts(problem, *, seed=0, progress=None):
    import polars
    polars.repeat(1, 1 << 58, dtype=polars.Int64, eager=True)  # 2^61 bytes: polars aborts the process

def panics(problem, *, seed=0, progress=None):
    import polars
    polars.Series([2**31 - 1], dtype=polars.Int32).cast(polars.Date).cast(polars.String)

def prints(problem, *, seed=0, progress=None):
    os.write(2, b"a library prints S3CR3T\\n" * 100_000)
    return whole(problem)

FAKES = {
    "whole": whole,
    "unsuited": raising(Unsuited("it serves one attribute only")),
    "infeasible": raising(Infeasible("t cannot be reached")),
    "extra": raising(MissingExtra("scipy", "solve", "the programme")),
    "internal": raising(InternalError("a class is too small")),
    "crash": raising(ValueError("the cell S3CR3T")),
    "memory": raising(MemoryError()),
    "killed": killed,
    "aborts": aborts,
    "panics": panics,
    "prints": prints,
    "threads": raising(RuntimeError("can't start new thread")),
    "endless": endless,
    "chosen": chosen,
}
for name, partition in FAKES.items():
    module = types.ModuleType(f"tclose.partition.{name}")
    module.partition = partition
    sys.modules[module.__name__] = module
    METHODS[name] = Method("misbehaves", "tests", 2026)
METHODS["chosen"] = Method(
    "has choices", "tests", 2026, option="kind", choices=("one", "two"),
    variants={"one": {"kind": "one"}, "two": {"kind": "two"}},
)
'''


@pytest.fixture(scope="session")
def misbehaving(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an environment in which every Python knows methods that misbehave."""
    folder = tmp_path_factory.mktemp("misbehaving")
    (folder / "sitecustomize.py").write_text(MISBEHAVING)
    before = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join([str(folder), *([before] if before else [])]), "FAKES": str(folder)}


@pytest.fixture(scope="session", autouse=True)
def kept_readers() -> Iterator[None]:
    """Keep the processes that read files, as the studio does: the tests write their files themselves."""
    with door.kept_open():
        yield


@pytest.fixture(scope="session", autouse=True)
def compiler() -> None:
    """Load numba once for all tests of a worker: it takes half a second, which counts against none of them."""
    import_module("tclose.partition.shared.kernels")


def count_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a second of a search for a lower bound be a hundred looks at the clock, whatever the machine does besides."""
    looks = count()
    search = import_module("tclose.measure.bound").lower_bound
    monkeypatch.setitem(search.__kwdefaults__, "clock", lambda: next(looks) / 100)


@pytest.fixture
def counted_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let searches for a lower bound not depend on the clock."""
    count_looks(monkeypatch)


@pytest.fixture
def misbehave(misbehaving: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let this process know methods that misbehave, and those that it starts."""
    for name, value in misbehaving.items():
        monkeypatch.setenv(name, value)
    methods, modules = dict(METHODS), set(sys.modules)
    runpy.run_path(str(Path(misbehaving["FAKES"]) / "sitecustomize.py"))
    yield
    METHODS.clear()
    METHODS.update(methods)
    for module in set(sys.modules) - modules:
        if module.startswith("tclose.partition."):
            del sys.modules[module]
