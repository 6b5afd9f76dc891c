"""The code in README.md and docs/*.md runs: Python, commands with the output that is shown, policies, the CI recipe.

Blocks of one page run in their order, in one folder that has patients.csv, policy.toml and diagnosis.csv (that of the
tutorial is empty). A block that is not meant to run has a comment before it: `<!-- not run: the reason -->`.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest

import tclose
from tclose.cli import cli, run
from tclose.examples import write_example

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
FENCE = re.compile(
    r"(?:<!-- not run: (?P<reason>[^>]+) -->\n)?^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)
COMMAND = re.compile(r"^    (tclose [a-z](?:.*\\\n)*.*)$", re.MULTILINE)  # in a block that is indented
STATUS = re.compile(r"#.*exit status (\d)")
ELSEWHERE = {  # pages whose Python needs more than this folder has, and the test that runs it
    "analysts.md": "tests/analysis/test_notebook.py",
    "signing.md": "tests/cli/test_signing.py",
}
EMPTY = {"tutorial.md"}  # pages that begin in an empty folder
NOT_RUN = 10  # blocks of all pages that may carry the comment: few


@dataclass(frozen=True)
class Block:
    """A block of code on a page."""

    language: str
    code: str
    reason: str | None  # why it is not run
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(found["language"], found["code"], found["reason"], text[: found.start("code")].count("\n") + 1)
        for found in FENCE.finditer(text)
    ]


def with_code(*languages: str) -> list[Path]:
    here = [page for page in PAGES if page.name not in ELSEWHERE]
    return [page for page in here if any(block.language in languages and not block.reason for block in blocks(page))]


def name(page: Path) -> str:
    return page.name


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as the pages assume it, which is the current one; `tclose` is a command in it."""
    table, _ = write_example(tmp_path, rows=400, seed=7)
    table.rename(tmp_path / "patients.csv")
    programs = tmp_path.parent / f"{tmp_path.name}-programs"
    programs.mkdir()
    for program, code in (("tclose", '-c "from tclose.cli import main; main()" '), ("python", "")):
        (programs / program).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {code}"$@"\n')
        (programs / program).chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(programs), os.environ["PATH"]]))
    monkeypatch.setenv("PYTHONPATH", str(Path(tclose.__file__).parents[1]))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_few_blocks_are_not_run() -> None:
    assert sum(block.reason is not None for page in PAGES for block in blocks(page)) <= NOT_RUN


def test_code_that_runs_elsewhere_does() -> None:
    for page in {page.name for page in PAGES} & ELSEWHERE.keys():
        assert page in (ROOT / ELSEWHERE[page]).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", with_code("python", "console", "sh"), ids=name)
@pytest.mark.filterwarnings("ignore")
def test_the_code_of_a_page_runs(page: Path, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"__name__": "docs"}
    for file in folder.iterdir() if page.name in EMPTY else ():
        file.unlink()
    for block in blocks(page):
        if block.reason:
            continue
        if block.language == "python":
            code = compile(ast.parse(block.code), f"{page.name}:{block.line}", "exec")
            exec(code, names)
        elif block.language in ("console", "sh"):
            run_commands(block, capfd, f"{page.name}:{block.line}")


def run_commands(block: Block, capfd: pytest.CaptureFixture[str], place: str) -> None:
    for command, shown in commands(block):
        expected = int(found[1]) if (found := STATUS.search(command)) else 0
        capfd.readouterr()
        status = run_command(command)
        said = capfd.readouterr()
        assert status == expected, f"{place}: {command} ended with {status}: {said.err}"
        if block.language == "console":
            assert matches(shown, said.out), f"{place}: {command} printed\n{said.out}\nand the page says\n{shown}"


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Yield each command of a block, and the output that is shown below it."""
    if block.language == "sh":
        yield from ((line, "") for line in block.code.splitlines() if line and not line.startswith("#"))
        return
    for part in re.split(r"^\$ ", block.code, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def run_command(command: str) -> int:
    """Run a command of tclose in this process, and any other in a shell."""
    words = shlex.split(command, comments=True)
    if words[0] == "tclose" and not {"|", ">", "&&"} & set(words):
        with warnings.catch_warnings():
            return run(words[1:])
    return subprocess.run(command, shell=True, check=False).returncode


def matches(shown: str, printed: str) -> bool:
    """Tell whether output is as a page shows it; an ellipsis stands for anything, and spaces for any white space."""
    flat, given = " ".join(shown.split()), " ".join(printed.split())
    pattern = ".*".join(re.escape(part.strip()) for part in flat.split("…"))
    return re.fullmatch(re.sub(r"(\\ )+", r"\\s+", pattern), given, re.DOTALL) is not None


def test_what_a_page_shows_must_be_printed() -> None:
    assert matches("a … c\n", "a b\nc\n")
    assert matches("a\n…\n", "a\n")
    assert not matches("a … c\n", "a b\n")
    assert not matches("", "a\n")


@pytest.mark.parametrize("page", with_code("toml"), ids=name)
def test_policies_on_a_page_can_be_read(page: Path) -> None:
    for block in blocks(page):
        if block.language == "toml" and not block.reason:
            assert tomllib.loads(block.code)


# Commands in indented blocks are examples for files that nobody has: their options must exist


def documented() -> list[tuple[str, str]]:
    lines = [(page.name, line) for page in PAGES for line in COMMAND.findall(page.read_text(encoding="utf-8"))]
    return [(page, line) for page, line in lines if "…" not in line.partition("  #")[0] and "..." not in line]


@pytest.mark.parametrize(("page", "line"), documented())
def test_every_command_that_is_shown_exists(page: str, line: str, folder: Path) -> None:
    words = shlex.split(line.replace("\\\n", " "), comments=True)[1:]
    if {"|", ">", "&&"} & set(words):
        words = words[: min(words.index(sign) for sign in ("|", ">", "&&") if sign in words)]
    command = cli.get_command(click.Context(cli), words[0])
    assert command is not None
    context = click.Context(command, info_name=words[0])
    command.parse_args(context, words[1:])


# The recipe for CI


def test_the_recipe_for_ci_is_yaml_and_its_commands_hold_a_change_back(folder: Path) -> None:
    yaml = pytest.importorskip("yaml", reason="pip install pyyaml")
    page = blocks(ROOT / "docs" / "ci.md")
    recipe, hook = (yaml.safe_load(block.code) for block in page if block.language == "yaml")
    (policy,) = (block.code for block in page if block.language == "toml")
    steps = [step["run"] for step in recipe["jobs"]["policy"]["steps"] if "run" in step]
    assert steps[0] == "pip install tclose"
    prepare(folder, policy)
    assert [run_command(step) for step in steps[1:]] == [0, 0]
    assert run_command(hook["repos"][0]["hooks"][0]["entry"]) == 0
    release = folder / "release.csv"
    release.write_text("".join(release.read_text().splitlines(keepends=True)[:-3]))
    assert run_command(steps[1]) == 1
    release.write_text("age,sex,ldl\n20,f,90\n30,m,120\n")
    assert [run_command(step) for step in steps[1:]] == [1, 1]
    release.unlink()
    assert [run_command(step) for step in steps[1:]] == [2, 2]


def prepare(folder: Path, policy: str) -> None:
    """Write the release, the certificate and the policy that the recipe is about."""
    table = tclose.read(folder / "patients.csv").select("age", "sex", "ldl")
    (folder / "policy.toml").write_text(policy)
    release = tclose.anonymize(table, folder / "policy.toml", method="mondrian")
    release.write(folder / "release.csv", certificate=folder / "release.json")
