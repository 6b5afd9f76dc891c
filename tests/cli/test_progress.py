"""Progress bars: what they say, and what they never say."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.progress import TimeRemainingColumn

from tclose.cli.terminal import ProgressBar, ProgressBars
from tclose.words import compiling


class Terminal(io.StringIO):
    """A stream that somebody looks at."""

    def isatty(self) -> bool:
        return True


def watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let somebody look: in a fixture, pytest would still exchange the stream."""
    monkeypatch.setattr("sys.stderr", Terminal())


def drawn(bar: ProgressBar | ProgressBars) -> str:
    """Return what a bar would show now."""
    console = Console(file=io.StringIO(), width=120)
    console.print(bar._progress.get_renderable())
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_a_bar_shows_the_share_and_the_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    watch(monkeypatch)
    bar = ProgressBar()
    bar(0.25, "splitting")
    bar(0.5)
    assert "splitting" in drawn(bar)
    assert "50%" in drawn(bar)
    bar(0.5, "judging [1/2]")
    assert "judging [1/2]" in drawn(bar)


@pytest.mark.parametrize("kind", [ProgressBar, ProgressBars])
def test_no_bar_makes_up_a_remaining_time(kind: type[ProgressBar] | type[ProgressBars]) -> None:
    assert not any(isinstance(column, TimeRemainingColumn) for column in kind()._progress.columns)


def test_one_bar_for_each_method_also_while_its_kernels_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    watch(monkeypatch)
    bars = ProgressBars()
    bars(0.0, "weave")
    bars(0.1, f"weave, {compiling(12)}")
    bars(0.7, "sabre:nearest")
    assert [line.split()[0] for line in drawn(bars).splitlines()] == ["weave,", "sabre:nearest"]
    assert "weave, compiling, once per machine (about 12 s)" in drawn(bars)
    bars(0.2, "weave")
    assert "compiling" not in drawn(bars)


def test_bars_appear_after_a_while_and_go(monkeypatch: pytest.MonkeyPatch) -> None:
    watch(monkeypatch)
    monkeypatch.setattr("tclose.cli.terminal.PATIENCE_SECONDS", 0.0)
    with ProgressBar() as bar:
        bar(0.5, "judging")
        bar._timer.join()
        assert bar._progress.live.is_started
    assert not bar._progress.live.is_started


def test_nothing_is_drawn_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressBar() as bar:
        bar(1.0, "done")
    assert capsys.readouterr() == ("", "")
