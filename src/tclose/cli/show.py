"""What people see: tables and sentences on stdout, warnings, errors and progress on stderr."""

from __future__ import annotations

import shlex
import sys
import traceback
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tclose.errors import TcloseError
from tclose.measure.attack import Finding
from tclose.measure.attack.base import percent
from tclose.measure.utility import MEASURES
from tclose.privacy.results import CheckResult, Explanation, ModelFinding
from tclose.release.attacking import RELEASE, Attacks
from tclose.release.attacking import Comparison as AttackComparison
from tclose.release.certificate import Certificate, Verification
from tclose.release.marks import NO_IDENTITY
from tclose.words import counted, number

NO_CERTIFICATE = "No certificate was asked for (--certificate FILE): without one, nobody can verify the release."


def show_check(result: CheckResult) -> None:
    """Print a verdict that a steward understands: what fails, in which class, by how much."""
    console = Console(highlight=False)
    rows, classes = counted(result.rows, "row"), counted(result.classes, "class")
    withheld = f", {result.withheld:,} withheld" if result.withheld else ""
    console.print(f"{rows}{withheld} in {classes}; the smallest has {result.smallest_class:,}.\n")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading, side in [("attribute", "left"), ("model", "left"), ("asked", "right"), ("found", "right")]:
        table.add_column(heading, justify=side)  # type: ignore[arg-type]
    table.add_column("worst class", justify="right")
    table.add_column("failing", justify="right")
    table.add_column("")
    for found in result.models:
        table.add_row(*_row(found, result))
    console.print(table)
    console.print()
    console.print(_verdict(result))


def _row(found: ModelFinding, result: CheckResult) -> list[Text]:
    title = found.title
    verdict = Text("holds", "green") if found.satisfied else Text("fails", "bold red")
    if found.attribute is not None and found.model in ("t", "(n,t)"):
        title += f", {result.sensitive[found.attribute].distance}"
    asked, reached = found.asked, number(found.reached)
    if not found.satisfied and asked.endswith(f" {reached}"):  # four digits do not tell them apart
        reached = str(found.reached)
    cells = [
        found.attribute or "(all)",
        title,
        asked,
        reached,
        f"{found.worst_class:,}" if found.worst_class else "",
        f"{found.failing_classes:,}" if found.worst_class else "",
    ]
    return [*(Text(plain(cell)) for cell in cells), verdict]


def _verdict(result: CheckResult) -> Text:
    if result.satisfied:
        return Text("The table holds what was asked for.", "bold green")
    failing = [found for found in result.models if not found.satisfied]
    words = Text("The table does not hold what was asked for", "bold red").append(
        f": {len(failing)} of {len(result.models)} requirements fail.", "default not bold"
    )
    close = [found for found in failing if found.model == "t"]
    if close:
        worst = max(close, key=lambda found: float(found.reached))
        attribute = plain(str(worst.attribute))
        words.append(
            f"\nClass {worst.worst_class:,} tells most: whoever is known to be in it, the distribution of "
            f"'{attribute}' is {number(worst.reached)} away from the whole table's. See why with: "
            f"tclose explain … --attribute {shlex.quote(attribute)} --class {worst.worst_class}",
            "default not bold",
        )
    return words


def show_explanation(explanation: Explanation) -> None:
    """Print the moves of earth, as the tutorial does."""
    console = Console(highlight=False)
    rows = counted(explanation.rows, "row")
    console.print(
        Text(
            f"Class {explanation.class_number:,} ({rows}) against the whole table, "
            f"attribute '{plain(explanation.attribute)}', distance {explanation.distance}: "
            "these moves of earth make them alike.\n"
        )
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("", "from", "to"):
        table.add_column(heading)
    for heading in ("share of rows", "distance", "cost"):
        table.add_column(heading, justify="right")
    for order, move in enumerate(explanation.moves, start=1):
        table.add_row(
            f"{order}.",
            Text(plain(move.source)),
            Text(plain(move.target)),
            str(move.mass),
            str(move.distance),
            f"{float(move.cost):.4f}",
        )
    console.print(table)
    console.print(f"\nEarth mover's distance: {explanation.closeness} = {float(explanation.closeness):.4f}")


def show_release(path: Path, certificate: Path | None, proof: Certificate) -> None:
    """Print what was released, what is proved of it and what it cost."""
    console, content = Console(highlight=False), proof.content
    withheld = f", {content['withheld']:,} withheld" if content["withheld"] else ""
    rows, classes = counted(content["rows"], "row"), counted(content["classes"], "class")
    smallest = f"the smallest has {content['smallest_class']:,}"
    classes = classes if "base" not in content else f"at least {classes} each"
    files = [str(path.with_name(table["file"])) for table in content.get("tables", ())]
    console.print(Text(f"Released {', '.join(files) or path}: {rows}{withheld} in {classes}; {smallest}.\n"))
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("attribute")
    for heading in ("asked", "reached"):
        table.add_column(heading, justify="right")
    for name, found in content["sensitive"].items():
        table.add_row(Text(plain(name)), "" if found["t"] is None else f"≤ {found['t']}", f"{found['closeness']:.4f}")
    console.print(table)
    console.print("\nWhat it cost:")
    for measure in MEASURES:
        if (figure := content["measures"][measure.name]) is not None:
            console.print(f"  {measure.title}: {number(figure)}")
    if "scope" in content:
        console.print(Text(f"\nMind: {content['scope']}.", "bold"))
    told = f"Certificate: {certificate}, digest {proof.digest}" if certificate else NO_CERTIFICATE
    console.print(Text(f"\n{told}"))


def show_attacks(result: Attacks) -> None:
    """Print every attack side by side, then what it gets out of the release, in words."""
    console, headings = Console(highlight=False), {"raw": "raw table", "k_anonymous": f"{result.k}-anonymous"}
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("attack")
    for name in result.tables:
        table.add_column(headings.get(name, name), justify="right", no_wrap=True)
    for one in result.comparisons:
        if one.found[RELEASE].figure is not None:
            table.add_row(Text(one.attack.title), *(_attacked(one, found) for found in one.found.values()))
    console.print(table)
    console.print(
        "\nIn brackets the share of rows affected. What the figures are, and what they mean for the release:\n"
    )
    for one in result.comparisons:
        console.print(Text(f"{one.attack.title} ({one.attack.figure}; {one.attack.better} is better)", "bold"))
        console.print(Text(f"  {plain(one.found[RELEASE].sentence)}"))


def _attacked(one: AttackComparison, found: Finding) -> Text:
    if found.figure is None:
        return Text("–")
    figure = percent(found.figure, 1) if one.attack.unit == "share" else number(found.figure)
    return Text(f"{figure} ({percent(found.rows, found.of)})", "" if found.rows else "green")


def show_verification(found: Verification) -> None:
    """Print whether a release is what its certificate says, and everything that it is not."""
    console = Console(highlight=False)
    if found.result is not None:
        rows, classes = counted(found.result.rows, "row"), counted(found.result.classes, "class")
        tables = f" ({counted(len(found.files), 'table')})" if found.files else ""
        console.print(f"{rows} in {classes}{tables}, judged from the release alone.")
    if found.holds:
        words = "The release is the one that was certified, and it holds what its policy asks for."
        console.print(Text(words, "bold green"))
        if not found.identity_protected:
            console.print(Text(f"Mind: {NO_IDENTITY}."))
        return
    console.print(Text("This release must not be trusted:", "bold red"))
    for problem in found.problems:
        console.print(Text(f"  - {problem}"))


def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning as one line on stderr."""
    _stderr(f"warning: {message}")


def show_error(error: TcloseError, *, show_values: bool) -> None:
    """Print an error as one line on stderr; a cell's own value only on request."""
    _stderr(f"error: {error}")
    if show_values and error.detail:
        _stderr(f"       {error.detail}")


def show_misuse(error: click.ClickException) -> None:
    """Print how a command is used, and what was wrong about this use."""
    context = getattr(error, "ctx", None)
    if context is not None:
        sys.stderr.write(f"{context.get_usage()}\nTry '{context.command_path} --help' for help.\n")
    _stderr(f"error: {error.format_message()}")


def show_bug(error: BaseException) -> None:
    """Print where a bug struck, but not its message: that could hold a cell."""
    _stderr(f"error: this is a bug in tclose ({type(error).__name__}); please report these lines, they hold no data:")
    for frame in traceback.extract_tb(error.__traceback__):
        _stderr(f"  {frame.filename}:{frame.lineno} in {frame.name}")


def _stderr(line: str) -> None:
    sys.stderr.write(plain(line) + "\n")


def plain(text: str) -> str:
    r"""Spell out line breaks and control characters: a name or a cell must not break a line, or the terminal.

    >>> plain("blood\npressure")
    'blood\\npressure'
    """
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
