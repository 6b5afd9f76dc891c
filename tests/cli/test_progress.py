"""Progress bars: what they say, and what they never say."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.progress import TimeRemainingColumn

from tclose.cli.progress import Bar, Bars
from tclose.words import compiling


def drawn(bar: Bar | Bars) -> str:
    """Return what a bar would show now."""
    console = Console(file=io.StringIO(), width=120)
    console.print(bar._progress.get_renderable())
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_a_bar_shows_the_share_and_the_phase() -> None:
    bar = Bar()
    bar(0.25, "splitting")
    bar(0.5)
    assert "splitting" in drawn(bar)
    assert "50%" in drawn(bar)
    bar(0.5, "judging [1/2]")
    assert "judging [1/2]" in drawn(bar)


@pytest.mark.parametrize("kind", [Bar, Bars])
def test_no_bar_makes_up_a_remaining_time(kind: type[Bar] | type[Bars]) -> None:
    assert not any(isinstance(column, TimeRemainingColumn) for column in kind()._progress.columns)


def test_one_bar_for_each_method_also_while_its_kernels_are_compiled() -> None:
    bars = Bars()
    bars(0.0, "weave")
    bars(0.1, f"weave, {compiling(12)}")
    bars(0.7, "sabre:nearest")
    assert [line.split()[0] for line in drawn(bars).splitlines()] == ["weave,", "sabre:nearest"]
    assert "weave, compiling, once per machine (about 12 s)" in drawn(bars)
    bars(0.2, "weave")
    assert "compiling" not in drawn(bars)


def test_nothing_is_drawn_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with Bar() as bar:
        bar(1.0, "done")
    assert capsys.readouterr() == ("", "")
