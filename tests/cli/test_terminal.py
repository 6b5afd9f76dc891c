"""No table, file name or certificate can send anything to the terminal but visible text, one line per line of ours."""

from __future__ import annotations

import ast
import csv
import io
import json
import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import examples

import tclose.cli
from tclose.cli import run
from tclose.cli.terminal import Console, Text, stacked
from tclose.errors import LeakWarning
from tclose.policy import Policy
from tclose.words import plain

PIECES = (
    "\x1b[2J\x1b[H", "\x1b]8;;x\x07", "\x1b]0;title\x07", "\x9b31m", "\x9d", "\x07", "\b\b", "\r", "\t", "\x7f",
    "\x85",     "\nFORGED", "\r\nFORGED", "\x0bFORGED", "\x0cFORGED", "\x1cFORGED", "\u2028FORGED", "\u2029FORGED",
    "\u202e", "\u2066", "\u200b", "\u2060", "\ufeff", "\u3164", "\ufe0f", "\U000e0041",
    "[bold red]", "[/]", "[link=http://x]", "[@click=x]", ":warning:", "$", "{", "\\",
    "'", '"', ",", ";", "=", "ä", "a", " ",
)  # fmt: skip
HOSTILE = st.lists(st.sampled_from(PIECES) | st.characters(codec="utf-8"), min_size=1, max_size=6).map("".join)
FILE_NAME = HOSTILE.map(lambda name: name.replace("/", "").replace("\0", "")[:40] or "a")


@pytest.fixture(autouse=True, scope="module")
def wide() -> Iterator[None]:
    """Let no line be broken, so that every line that is printed is one of ours."""
    with patch.dict(os.environ, {"COLUMNS": "100000"}):
        yield


@pytest.fixture(autouse=True)
def own_folder() -> Iterator[None]:
    """Work in a folder of its own; `tmp_path` would be one for all examples."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        yield


def printed(*arguments: str) -> str:
    """Run a command; assert that it prints nothing but visible lines of its own, and return stdout."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        status = run(list(arguments))
    assert status in (0, 1, 2), err.getvalue()
    for text in (out.getvalue(), err.getvalue()):
        for line in text.split("\n"):
            assert line == plain(line), ascii(line)
            assert not line.lstrip(" -").startswith("FORGED"), ascii(line)
    assert "--json" not in arguments or out.getvalue().isascii()
    return out.getvalue()


def write_table(names: tuple[str, str], cells: tuple[str, str], path: str = "t.csv") -> None:
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        rows = [names, *((str(age), cell) for age in (20, 30, 40, 50) for cell in cells)]
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(rows)


def write_policy(names: tuple[str, str], path: str = "p.toml", t: str = "0.5", **more: str) -> None:
    quasi, sensitive = (json.dumps(name).replace("\x7f", r"\u007f") for name in names)
    settings = "".join(f"{name} = {json.dumps(value)}\n" for name, value in more.items())
    Path(path).write_text(f"k = 2\n[quasi.{quasi}]\n[sensitive.{sensitive}]\nt = {t}\n{settings}", encoding="utf-8")


def write_example() -> None:
    write_table(("age", "ill"), ("flu", "cold"))
    write_policy(("age", "ill"))


law = settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@law
@given(st.tuples(HOSTILE, HOSTILE), st.tuples(HOSTILE, HOSTILE))
def test_names_and_cells_are_shown_and_never_obeyed(names: tuple[str, str], cells: tuple[str, str]) -> None:
    try:
        write_table(names, cells)
        write_policy(names, t="0")
        Policy.load("p.toml")
    except (UnicodeEncodeError, tclose.PolicyError):
        return
    files = ("--out", "r.csv", "--certificate", "c.json")
    for path in ("r.csv", "c.json"):
        Path(path).unlink(missing_ok=True)
    for extra in ((), ("--json",)):
        printed("check", "t.csv", "--policy", "p.toml", *extra)
        printed("check", "t.csv", "--policy", "p.toml", "--show-values", *extra)
        printed("explain", "t.csv", "--policy", "p.toml", "--attribute", names[1], "--class", "1", *extra)
        printed("explain", "t.csv", "--policy", "p.toml", "--attribute", names[0], "--class", "1", *extra)
        printed("init", "t.csv", *extra)
    printed("anonymize", "t.csv", "--policy", "p.toml", "--method", "mondrian", *files)
    if Path("r.csv").exists():
        for extra in ((), ("--json",)):
            printed("verify", "r.csv", "--certificate", "c.json", *extra)
            printed("attack", "r.csv", "--original", "t.csv", "--policy", "p.toml", *extra)


@law
@given(FILE_NAME)
def test_file_names_are_shown_and_never_obeyed(name: str) -> None:
    write_example()
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        return
    for place in ("folder", "nowhere"):
        out, certificate = f"{place}/{name}.csv", f"{place}/{name}.json"
        if place == "folder":
            Path(place).mkdir(exist_ok=True)
            Path(out).unlink(missing_ok=True)
        files = ("--out", out, "--certificate", certificate)
        printed("anonymize", "t.csv", "--policy", "p.toml", "--method", "mondrian", *files)
        printed("verify", out, "--certificate", certificate)
        printed("check", out, "--policy", "p.toml")
        printed("check", "t.csv", "--policy", out)
        printed("init", "t.csv", "--out", f"{place}/{name}.toml")
        printed("anonymize", "t.csv", "--policy", "p.toml", "--out", f"t.{name}")
        printed("anonymize", "t.csv", "--policy", "p.toml", "--method", "anatomy", "--out", out)
    for command in ([name], ["check", f"--{name}"], ["check", name, name], ["compare", "t.csv", "--policy", "p.toml"]):
        printed(*command, *(("--methods", name) if command[0] == "compare" else ()))
    write_policy(("age", "ill"), "h.toml", hierarchy=name)
    printed("check", "t.csv", "--policy", "h.toml")
    for t in (json.dumps(name), f"1\n{json.dumps(name)} = 1"):
        write_policy(("age", "ill"), "h.toml", t=t.replace("\x7f", r"\u007f"))
        printed("check", "t.csv", "--policy", "h.toml")
    Path("h.toml").write_text(f"k = 2 {name}", encoding="utf-8", errors="replace")
    printed("check", "t.csv", "--policy", "h.toml")


def leaves(content: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of everything in a certificate."""
    if place:
        yield place
    parts = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, part in parts:
        yield from leaves(part, (*place, key))


@law
@given(st.data(), HOSTILE, st.sampled_from(["mondrian", "projections", "anatomy"]))
def test_certificates_are_shown_and_never_obeyed(data: st.DataObject, hostile: str, method: str) -> None:
    write_example()
    for path in Path().glob("r*"):
        path.unlink()
    chosen = ("--method", method, *(("--base", "mondrian") if method == "projections" else ()))
    printed("anonymize", "t.csv", "--policy", "p.toml", *chosen, "--out", "r.csv", "--certificate", "r.json")
    certificate = json.loads(Path("r.json").read_text(encoding="utf-8"))
    *path, last = data.draw(st.sampled_from(sorted(leaves(certificate), key=repr)))
    inner = certificate
    for key in path:
        inner = inner[key]
    if isinstance(last, str) and data.draw(st.booleans()):
        inner[hostile] = inner.pop(last)
    else:
        inner[last] = hostile
    Path("r.json").write_text(json.dumps(certificate), encoding="utf-8")
    for extra in ((), ("--json",)):
        printed("verify", "r.csv", "--certificate", "r.json", *extra)


def test_an_edited_certificate_cannot_forge_the_screen_of_verify() -> None:
    write_example()
    asked = ("anonymize", "t.csv", "--policy", "p.toml", "--method", "mondrian")
    printed(*asked, "--out", "r.csv", "--certificate", "c.json")
    certificate = json.loads(Path("c.json").read_text(encoding="utf-8"))
    forged = "\x1b[2J\x1b[H\nThe release is the one that was certified, and it meets its policy."
    certificate["policy"]["sensitive"][forged] = certificate["policy"]["sensitive"].pop("ill")
    Path("c.json").write_text(json.dumps(certificate), encoding="utf-8")
    shown = printed("verify", "r.csv", "--certificate", "c.json")
    assert r"\x1b[2J\x1b[H\nThe release is the one" in shown
    assert "Do not trust this release:" in shown.split("\n")
    assert not any(line.startswith("The release is the one") for line in shown.split("\n"))


# The pieces


@given(HOSTILE)
def test_a_text_is_one_visible_line_and_no_markup(text: str) -> None:
    for styled in (Text(text), Text("").append(text), Console().render_str(text)):
        assert styled.plain == plain(text)
        assert not styled.spans
    assert stacked(text, text).plain == f"{plain(text)}\n{plain(text)}"


def test_a_console_spells_what_reached_it_some_other_way() -> None:
    import rich.text

    with redirect_stdout(io.StringIO()) as out:
        Console().print(rich.text.Text("a\x1b[2J\u202eb"), "[bold]c[/]", soft_wrap=True)
    assert out.getvalue() == "a\\x1b[2J\\u202eb [bold]c[/]\n"


def test_only_one_module_writes_to_the_terminal() -> None:
    """Our own line breaks are lines of their own, since a line break in a text is spelled."""
    for path in Path(tclose.cli.__file__).parent.glob("*.py"):
        if path.name in ("terminal.py", "process.py"):  # the latter ends an aborted process with a fixed sentence
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
        docs = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, documented)}
        texts = {
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        assert not [text for text in texts - docs if "\n" in text], path.name
        names = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute | ast.Name)}
        assert not names & {"click.echo", "click.secho", "print", "sys.stdout", "sys.stdout.write", "sys.stderr.write"}
        modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not modules & {"rich.console", "rich.text", "rich.table", "rich"}, path.name


def test_a_warning_is_shown_once_by_each_command(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert run(["--version"]) == 0
        for _ in range(3):
            warnings.warn("a column gives rows away", LeakWarning, stacklevel=1)
    assert capsys.readouterr().err.count("gives rows away") == 2
