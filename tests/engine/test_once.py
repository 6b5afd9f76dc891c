"""Everything is read once: one `anonymize --report` codes few tables, reads no column twice and runs one pipeline."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tclose import LeakWarning
from tclose.cli import run
from tclose.comparison import trial
from tclose.comparison.trial import TrialJob
from tclose.examples import write_example
from tclose.measure import pair, queries
from tclose.policy import Policy
from tclose.recode import coverage
from tclose.run import pipeline
from tclose.table import coded, quasi, read

pytest.importorskip("altair", reason="pip install 'tclose[report]'")
MOST_ENCODES = (
    2  # the original, and the release as its files hold it: the k-anonymous table takes codes of the original
)


class Calls:
    """Counts calls of functions of tclose while they do their work."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch, self.noted = monkeypatch, Counter[tuple[str, Any]]()

    def count(self, module: Any, name: str, what: Callable[..., Any] = lambda *_, **__: "") -> None:
        """Count the calls of a function of a module, by what each call is about."""
        original = getattr(module, name)

        def counted(*given: Any, **named: Any) -> Any:
            self.noted[name, what(*given, **named)] += 1
            return original(*given, **named)

        self.monkeypatch.setattr(module, name, counted)

    def of(self, name: str) -> Counter[Any]:
        return Counter({about: times for (function, about), times in self.noted.items() if function == name})


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    calls = Calls(monkeypatch)
    calls.count(coded, "_encoded")
    calls.count(pipeline, "_split", lambda rows, learned, recipe, *_: recipe.method)
    for module in (coded, pair, coverage, queries, quasi):
        if hasattr(module, "values_of"):
            calls.count(module, "values_of", lambda series, *_, **__: (series.name, len(series)))
    return calls


ROWS = 300


def times_read(calls: Calls) -> Counter[str]:
    """Return how often all rows of each column were read."""
    return Counter({name: times for (name, height), times in calls.of("values_of").items() if name and height == ROWS})


def test_a_release_with_its_page(calls: Calls, tmp_path: Path) -> None:
    table, path = write_example(tmp_path, rows=ROWS, seed=1)
    files = ("--out", tmp_path / "r.csv", "--certificate", tmp_path / "r.json", "--report", tmp_path / "r.html")
    command = ("anonymize", table, "--policy", path, "--method", "mondrian", *files)
    assert run([str(part) for part in command]) == 0
    assert "Detail kept for analysts" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert calls.of("_encoded").total() <= MOST_ENCODES
    assert calls.of("_split") == {"mondrian": 2}  # the release, and the k-anonymous table
    policy = Policy.of(path)
    once = dict.fromkeys(policy.quasi, 1)  # published texts are read once per class
    assert times_read(calls) == {**dict.fromkeys(policy.sensitive, MOST_ENCODES), **once}


def test_a_method_that_is_compared(calls: Calls, tmp_path: Path) -> None:
    table, path = write_example(tmp_path, rows=ROWS, seed=1)
    policy = replace(Policy.of(path), identifiers=(), person=None, others="drop")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)  # a trial is made with a known seed
        answer = trial.attempt(TrialJob(policy, "mondrian", {}, 0, detail=True), read(table), lambda message: None)
    assert answer["outcome"] == "released"
    assert answer["query_error"] > 0
    assert set(answer["detail"]) == {"marginals", "correlations", "information", "divergence", "disclosed"}
    assert calls.of("_encoded").total() == 2  # the table and its release
    assert times_read(calls) == {**dict.fromkeys(policy.sensitive, 2), **dict.fromkeys(policy.quasi, 1)}
