"""Help and lists fit the terminal, whole."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click
import pytest
from rich.console import Console

import tclose.cli as cli_module
from tclose import steps
from tclose.cli import cli, evaluation
from tclose.comparison.comparison import LEVELS, LIMIT_SECONDS
from tclose.run.bound_search import SECONDS
from tclose.words import number

Run = Callable[..., Any]
CONTEXT = click.Context(cli)
COMMANDS = {name: cli.get_command(CONTEXT, name) for name in cli.list_commands(CONTEXT)}


def words(text: str) -> str:
    return " ".join(text.split())


def test_help_lists_every_command_with_its_whole_description(tclose: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = tclose("--help").out.splitlines()
    assert max(map(len, lines)) <= 80
    assert set(COMMANDS) == {
        "anonymize", "apply", "attack", "bound", "check", "compare", "demo", "doctor", "explain", "init", "methods",
        "reproduce", "schema", "sql", "verify", "keygen", "sign", "pseudonym-key", "studio",
    }  # fmt: skip
    width = max(map(len, COMMANDS))
    for name, (_, does) in cli_module.COMMANDS.items():
        assert f"  {name:{width}}  {does}" in lines
        assert does.endswith(".")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command(tclose: Run, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = tclose(name, "--help").out
    assert max(map(len, out.splitlines())) <= 80
    assert "..." not in out
    for parameter in COMMANDS[name].params:
        if text := getattr(parameter, "help", None):
            assert words(text) in words(out)
            assert re.fullmatch(r"[A-Z].*[.]", text), "a sentence"
        else:
            assert parameter.param_type_name == "argument", f"{parameter.name} has no help"


def test_defaults_in_help_are_the_defaults(tclose: Run) -> None:
    out = words(tclose("compare", "--help").out)
    assert f"{number(LIMIT_SECONDS)} seconds if absent" in out
    assert f"{','.join(number(level) for level in LEVELS)} if absent" in out
    for command in ("anonymize", "bound", "compare"):
        assert f"{number(SECONDS)} seconds if absent" in words(tclose(command, "--help").out)


def everything(out: str) -> None:
    """Assert that the list fits 100 columns and names everything about every method."""
    assert max(len(line.rstrip()) for line in out.splitlines()) <= 100
    shown = words(out)
    for name, method in steps.methods().items():
        assert words(f"{name} {method.what} {method.who}, {method.year};") in shown
        assert words(f"time grows as {method.growth}") in shown
    assert "--option effort=balanced|fast|best" in shown


def test_methods_in_a_pipe(tclose: Run) -> None:
    outcome = tclose("methods")
    assert (outcome.status, outcome.err) == (0, "")
    everything(outcome.out)


@pytest.mark.parametrize("columns", [100, 200])
def test_methods_in_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: int
) -> None:
    terminal = lambda **more: Console(**more, force_terminal=True, color_system=None, width=columns)  # noqa: E731
    monkeypatch.setattr(evaluation, "Console", terminal)
    evaluation.show_methods(steps.methods())
    everything(re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out))
