"""The papers' experiments: the printed figures come out, the files are named, and the work can be stopped."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tclose import Cancelled, InputError, PolicyError
from tclose.papers import li_2007, liang_yuan, soria_comas, weber
from tclose.papers.li_2007 import Adult
from tclose.papers.reproduction import (
    MODULES,
    NOT_GIVEN,
    SHARES,
    DataFolder,
    ExperimentPart,
    check_files,
    experiments,
    reproduce,
)
from tclose.report.comparison_pages import MOST_LINES
from tclose.types import silent


@pytest.fixture(scope="module")
def tables(data: Path) -> DataFolder:
    return DataFolder(data)


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the experiment without a table take a second."""
    monkeypatch.setattr(liang_yuan, "INSTANCES", 1)
    monkeypatch.setattr(liang_yuan, "TABLES", 3)


def found(*parts: ExperimentPart) -> dict[str, tuple[str, str]]:
    return {figure.what: (figure.paper, figure.ours) for part in parts for figure in part.figures}


# The registry


def test_every_experiment_has_its_name_and_its_share() -> None:
    assert [experiment.name for experiment in experiments("all")] == [*MODULES] == [*SHARES]
    assert sum(SHARES.values()) == pytest.approx(1)
    for name, module in MODULES.items():
        assert import_module(f"tclose.papers.{module}").EXPERIMENT.name == name


def test_a_misspelt_name_gets_a_hint() -> None:
    with pytest.raises(PolicyError, match=r"no experiment 'webber' \(did you mean 'weber'\?\)"):
        experiments("webber")
    with pytest.raises(PolicyError, match="known are li-2007, weber, liang-yuan, soria-comas, all"):
        experiments("x")


def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    (tmp_path / "census_casc.csv").write_text("x\n")
    with pytest.raises(InputError) as refused:
        check_files(experiments("soria-comas"), tmp_path)
    assert str(refused.value).startswith(f"soria-comas: put tarragona.csv, eia.csv into {tmp_path}, or name")
    with pytest.raises(InputError, match=r"^li-2007, weber, soria-comas: put "):  # liang-yuan needs no files
        check_files(experiments("all"), tmp_path)


@pytest.mark.parametrize(
    ("table", "said"),
    [("a,b\n1,2\n", "no column 'TAXINC'"), ("TAXINC,POTHVAL\n1,x\n", "no numbers"), ("TAXINC,POTHVAL\n1,\n", "no num")],
)
def test_another_table_of_the_same_name_is_refused(tmp_path: Path, table: str, said: str) -> None:
    (tmp_path / "census_casc.csv").write_text(table)
    with pytest.raises(InputError, match=f"census_casc.csv is not the table that the paper uses: .*{said}"):
        DataFolder(tmp_path).numbers("census_casc.csv", soria_comas.QUASI)


def test_all_files_are_among_the_shared_ones(tables: DataFolder) -> None:
    assert check_files(experiments("all"), tables.path) == tables


# Progress


class Listener:
    """Takes note of the shares, and cancels when it has heard enough."""

    def __init__(self, patience: int) -> None:
        self.shares: list[float] = []
        self.patience = patience

    def __call__(self, share: float, phase: str = "") -> None:
        if len(self.shares) == self.patience:
            raise Cancelled
        self.shares.append(share)


@pytest.mark.usefixtures("brief")
def test_progress_rises_and_can_cancel(tmp_path: Path) -> None:
    whole = Listener(10_000)
    outcome = reproduce("liang-yuan", data=tmp_path, progress=whole).outcomes[0]
    assert whole.shares == sorted(whole.shares)
    assert whole.shares[-1] == 1
    assert len(outcome.parts) == 3
    for patience in (0, 5):
        with pytest.raises(Cancelled):
            reproduce("liang-yuan", data=tmp_path, progress=Listener(patience))


# The figures


@pytest.mark.usefixtures("brief")
def test_liang_and_yuan(tmp_path: Path) -> None:
    tables, reductions, algorithms = reproduce("liang-yuan", data=tmp_path).outcomes[0].parts
    printed = {what: figures for what, figures in found(tables).items() if figures[0] != NOT_GIVEN}
    assert len(printed) == 4
    assert all(paper == ours for paper, ours in printed.values())
    assert {ours for _, ours in found(reductions).values()} == {"1 of 1 instances agree"}
    assert [bool(figure.remark) for figure in reductions.figures] == [False] * 3 + [True] * 3
    assert len(reductions.figures) == 6
    assert [ours for _, ours in found(algorithms).values()][1] == "the optimum on 3 of 3 tables"


def test_weber_prints_what_comes_out() -> None:
    figures = found(weber._worked_examples())
    assert figures.pop("thesis figure 19, relaxed") == (NOT_GIVEN, "49 of 20 to 41 rows")
    assert len(figures) == 11
    assert all(paper == ours for paper, ours in figures.values())


@pytest.fixture(scope="module")
def adult(tables: DataFolder) -> Adult:
    return Adult.of(tables)


def test_li_similarity(adult: Adult) -> None:
    figures = found(li_2007._similarity(adult, silent))
    assert figures["raw table: rows open to the attack"] == (NOT_GIVEN, "11,816 of 30,162")
    assert figures["entropy 2-diversity: minimal tables of Incognito"] == ("21", "16")
    assert figures["entropy 2-diversity: of these, open to the attack"] == ("13", "4")
    assert figures["entropy 2-diversity: most open rows in one table"] == ("916", "13")
    assert figures["recursive (4,4)-diversity: minimal tables of Incognito"] == ("26", "10")
    assert figures["recursive (4,4)-diversity: of these, open to the attack"] == ("17", "0")
    assert figures["t = 0.2: of these, open to the attack"] == (NOT_GIVEN, "0")


def test_li_quality_is_not_cheap(adult: Adult, monkeypatch: pytest.MonkeyPatch) -> None:
    """The paper calls the cost of t = 0.2 minimal. Entropy 14-diversity of 14 values is beyond the whole table."""
    monkeypatch.setattr(li_2007, "LEVELS", (5, 14))
    part = li_2007._quality(adult, silent)
    figures = found(part)
    assert figures["k-anonymity, k = l = 5: rows per class"][1] == "943"
    assert figures["k and t = 0.2, k = l = 5: rows per class"][1] == "4,309"
    assert figures["cost of t = 0.2: rows per class, as a multiple of k alone"] == ("minimal", "4.6 times")
    points = {line.name: [place for place, _ in line.points] for line in part.charts[0].lines}
    assert points["entropy l-diversity"] == [5]
    assert points["k-anonymity"] == [5, 14]


def test_li_efficiency_has_a_line_for_each_measure(adult: Adult) -> None:
    lines = li_2007._timed(adult, [(2.0, 5, 2), (3.0, 5, 3)], silent)
    assert [line.name for line in lines] == [*li_2007.MEASURES]
    assert len(lines) <= MOST_LINES
    assert all([place for place, _ in line.points] == [2, 3] for line in lines)


def test_more_attributes_make_larger_classes(tables: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weber, "COMPARED_METHODS", ("mondrian:strict",))
    monkeypatch.setattr(weber, "LABS", weber.LABS[:2])
    frame: Any = tables.read(weber.TABLE)
    sizes, losses = (chart.lines[0].points for chart in weber.larger_classes(frame, silent).charts)
    assert sizes[0][1] < sizes[1][1]
    assert losses[0][1] < losses[1][1]
    reached = weber.diminishing_closeness(frame, silent).charts[0].lines[0].points
    assert reached[0][1] < reached[1][1]
