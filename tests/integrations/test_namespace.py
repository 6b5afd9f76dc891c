"""`df.tclose`: the same results as the functions, registered without loading pandas."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pandas as pd
import polars as pl
import pytest

import tclose
import tclose.pandas
from tclose.integrations import namespace

TABLE = pl.DataFrame({"age": [20, 30, 40, 50], "salary": [3, 4, 3, 4]})
POLICY = {"quasi": ["age"], "sensitive": {"salary": {"t": 0.1}}, "k": 2}
KINDS: dict[str, Any] = {"polars": TABLE, "lazy": TABLE.lazy(), "pandas": TABLE.to_pandas()}


@pytest.mark.usefixtures("counted_clock")
@pytest.mark.parametrize("kind", KINDS)
def test_methods_do_what_the_functions_do(kind: str) -> None:
    frame = KINDS[kind]
    assert frame.tclose.check(POLICY) == tclose.check(TABLE, POLICY)
    release = frame.tclose.anonymize(POLICY, method="mondrian")
    assert isinstance(release.table, pd.DataFrame if kind == "pandas" else pl.DataFrame)
    assert list(release.table["age"]) == ["[20, 30]", "[20, 30]", "[40, 50]", "[40, 50]"]
    attacks = frame.tclose.attack(release, POLICY)
    assert attacks == tclose.attack(release, original=TABLE, policy=POLICY)
    found = frame.tclose.explain(POLICY, attribute="salary", class_number=1)
    assert found == tclose.explain(TABLE, POLICY, attribute="salary", class_number=1)
    assert frame.tclose.bound(POLICY, seconds=1).bound > 0


@pytest.mark.parametrize("code", ["import pandas, tclose", "import tclose, pandas", "import tclose, polars, pandas"])
def test_pandas_has_the_namespace_whichever_comes_first(code: str) -> None:
    told = f"{code}\nimport json, sys\njson.dump(hasattr(pandas.DataFrame, 'tclose'), sys.stdout)"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) is True


@pytest.mark.parametrize("code", ["import polars, tclose", "import tclose, polars"])
def test_polars_has_the_namespace_whichever_comes_first(code: str) -> None:
    told = f"{code}\nprint(hasattr(polars.DataFrame, 'tclose'), hasattr(polars.LazyFrame, 'tclose'))"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert done.stdout == "True True\n"


def test_without_pandas_the_message_says_what_to_install() -> None:
    code = "import sys\nsys.modules['pandas'] = None\nimport tclose\nimport tclose.pandas"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.endswith("ImportError: tclose.pandas needs pandas: pip install pandas\n")


def test_registering_twice_says_nothing() -> None:
    namespace.register()
    namespace.register_pandas()
    assert pl.DataFrame.tclose is namespace.Namespace  # type: ignore[attr-defined]


# The bar of a notebook


class Shown:
    def __init__(self) -> None:
        self.markup: list[str] = []

    def __call__(self, markup: str) -> None:
        self.markup.append(markup)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    shown = Shown()
    monkeypatch.setattr(namespace.NotebookProgress, "_draw", lambda _, markup: shown(markup))
    return shown


def test_a_bar_is_drawn_for_every_phase_and_at_the_end(shown: Shown) -> None:
    progress = tclose.NotebookProgress()
    for share, phase in ((0.0, "reading"), (0.01, ""), (0.02, ""), (0.5, "<b>splitting"), (1.0, "done")):
        progress(share, phase)
    assert [each.partition("> ")[2] for each in shown.markup] == [
        "0 % reading",
        "50.0 % &lt;b&gt;splitting",
        "100 % done",
    ]


def test_a_release_draws_its_phases(shown: Shown) -> None:
    tclose.anonymize(TABLE, POLICY, method="mondrian", progress=tclose.NotebookProgress())
    assert "reading" in shown.markup[0]
    assert "100 % done" in shown.markup[-1]


def test_outside_a_notebook_nothing_is_drawn() -> None:
    assert namespace.notebook_progress() is None
