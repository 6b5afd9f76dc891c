"""A pytest plugin: the CPU seconds of each test, the longest tests, and a limit for all that long_tests.toml omits.

A test of more than `LIMIT` belongs on the list; it fails from `MARGIN` times as many, so that no machine is too slow.

The CPU of a test is that of its own process and of the child processes that ended in it, with the fixtures of the test.
What a fixture for several tests uses counts against none of them; it has a line of its own. Processes that outlive a
test, such as a browser or a cluster, count nowhere. Kernels are compiled before the first test (warm_kernels.py).

A machine that is busy with other work makes each CPU second do less: there a test that takes too many is not failed.
"""

from __future__ import annotations

import json
import os
import resource
import tomllib
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

LIMIT = 3.0  # CPU seconds of a test
MARGIN = 4.0  # times the limit from which a test fails: the same work takes more CPU seconds on some machines
SHOWN = 20
BUSY = 4.0  # processes that want to run, for each core: more come from other work than from two tests at a time
LIST = Path(__file__).with_name("long_tests.toml")
Report = Generator[None, pytest.TestReport, pytest.TestReport]
CPU, SHARED = "cpu seconds", "cpu seconds of shared fixtures"


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def reasons() -> dict[str, str]:
    """Return the tests that may exceed the limit, and why; a name without parameters holds for all of them."""
    return {f"tests/{name}": reason for name, reason in tomllib.loads(LIST.read_text())["tests"].items()}


def is_listed(test: str, listed: dict[str, str]) -> bool:
    """Tell whether a test may exceed the limit, by its node id."""
    return test in listed or test.partition("[")[0] in listed


def is_busy() -> bool:
    """Tell whether other work makes CPU seconds longer."""
    return os.getloadavg()[0] > BUSY * (os.cpu_count() or 1)


class SharedFixtures:
    """The CPU of fixtures that several tests share, to be taken off the test that happens to make or end one."""

    def __init__(self) -> None:
        self.by_name: dict[str, float] = defaultdict(float)
        self._since: list[float] = []  # a fixture that needs others makes them first, so these nest
        self._inner: list[float] = []

    @property
    def total(self) -> float:
        return sum(self.by_name.values())

    def begin(self) -> None:
        self._since.append(cpu_seconds())
        self._inner.append(0.0)

    def end(self, name: str) -> None:
        all_of_it = cpu_seconds() - self._since.pop()
        self.by_name[name] += all_of_it - self._inner.pop()
        if self._inner:
            self._inner[-1] += all_of_it


class Measuring:
    """Runs where tests run, so in each worker: measures, and fails a test that exceeds the limit."""

    def __init__(self, *, may_fail: bool) -> None:
        self._may_fail, self._listed, self._shared = may_fail, reasons(), SharedFixtures()
        self._began = 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        """Measure what a shared fixture uses, when it is made and when it ends."""
        if fixturedef.scope == "function":
            return (yield)
        name = f"fixture {fixturedef.argname}"
        fixturedef.addfinalizer(lambda: self._shared.end(name))  # the last that is called
        self._shared.begin()
        try:
            return (yield)
        finally:
            self._shared.end(name)
            fixturedef.addfinalizer(self._shared.begin)  # the first that is called

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, Any, Any]:
        """Take note where a test begins."""
        self._shared.by_name.clear()
        self._began = cpu_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Report:
        """Put the seconds into the last report of a test, and fail it if there are too many."""
        if call.when != "teardown":
            return (yield)
        seconds = cpu_seconds() - self._began - self._shared.total
        item.user_properties += [(CPU, seconds), (SHARED, dict(self._shared.by_name))]
        report = yield
        too_long = (
            seconds > MARGIN * LIMIT
            and item.get_closest_marker("soak") is None
            and not is_listed(item.nodeid, self._listed)
        )
        if too_long and self._may_fail and report.passed and not is_busy():
            report.outcome = "failed"
            report.longrepr = (
                f"{item.nodeid} used {seconds:.1f} CPU seconds; a test may use {LIMIT:g}.\n"
                f"Make it cheaper, mark it `soak` if a shorter one is like it, or list it in {LIST.name} with a reason."
            )
        return report


class Telling:
    """Runs where reports are gathered: prints the tests and shared fixtures that used most."""

    def __init__(self, log: Path | None) -> None:
        self._log, self._tests = log, 0
        self._seconds: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Gather the seconds of each test."""
        used: dict[str, Any] = dict(report.user_properties) if report.when == "teardown" else {}
        if CPU in used:
            self._tests += 1
            for name, seconds in {report.nodeid: used[CPU], **used[SHARED]}.items():
                self._seconds[name] += seconds
            if self._log is not None:
                with self._log.open("a", encoding="utf-8") as log:
                    log.write(json.dumps([report.nodeid, round(used[CPU], 3), used[SHARED]]) + "\n")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the slowest; the line of pytest's own with the outcome comes after this."""
        if self._tests <= 1:
            return
        listed = reasons()
        total = sum(self._seconds.values())
        terminalreporter.write_sep("=", f"{SHOWN} longest of {self._tests} tests, which used {total:.0f} CPU seconds")
        for name, seconds in sorted(self._seconds.items(), key=lambda item: -item[1])[:SHOWN]:
            mark = "  (listed)" if is_listed(name, listed) else ""
            terminalreporter.write_line(f"{seconds:7.2f}  {name}{mark}")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the seconds of all tests be written to a file."""
    parser.addoption("--cpu-log", type=Path, help="add the CPU seconds of every test to this file, as JSON lines")


def register(config: pytest.Config, *, may_fail: bool) -> None:
    """Measure in this process if it runs tests, and print if it is the one that the user started."""
    config.pluginmanager.register(Measuring(may_fail=may_fail), "measuring-cpu")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Telling(config.getoption("--cpu-log")), "telling-cpu")
