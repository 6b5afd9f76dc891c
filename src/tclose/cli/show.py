"""What people see: tables and sentences on stdout; warnings and errors on stderr."""

from __future__ import annotations

import shlex
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from tclose import steps
from tclose.cli.terminal import Console, Table, Text, echo_error, echo_json, echo_lines, stacked
from tclose.errors import SourceWarning, TcloseError
from tclose.words import (
    NOTHING_LIMITS,
    NT_MEANING,
    counted,
    direction,
    legible,
    level,
    lowered_loss,
    number,
    percent,
    plain,
    required,
    rows_in_classes,
)

if TYPE_CHECKING:
    from tclose.steps import (
        Allowance,
        Attacks,
        Capability,
        CheckResult,
        Explanation,
        ModelFinding,
        Publication,
        Verification,
    )

SCALE = "0 means equal, 1 means as far as possible"
HEADINGS = (("in the", "table"), ("in a class", "at most"), ("one value", "from t ="), ("nothing", "below t ="))
ALLOWED = (
    "One value: from this t on, a class may show one value (or bin) only. Nothing: below this t, no class makes it "
    "half-way certain that a row has a value which fewer than half of the rows have."
)
VERDICT = "The release meets every requirement of its policy."
OPENED = {"commitments.seed": "the seed of the record", "commitments.source": "the original table"}
NO_CERTIFICATE = "No certificate was written (--certificate FILE): without one, nobody can verify the release."


def show_check(result: CheckResult) -> None:
    """Print a verdict that a steward understands: what fails, in which class, by how much."""
    console = Console()
    smallest = result.smallest_class
    console.print(f"{rows_in_classes(result.rows, result.classes, smallest=smallest, withheld=result.withheld)}.")
    console.print()
    classes = (stacked("worst", "class"), stacked("failing", "classes"))
    table = _table("attribute", "model", numbers=("required", "reached", *classes))
    table.add_column("")
    for finding in result.models:
        table.add_row(*_row(finding, result))
    console.print(table)
    console.print()
    _show_allowed(console, result.allows)
    for note in result.notes:
        console.print(Text(f"Note: {plain(note)}."))
    if result.presence is not None:
        console.print(Text(f"Presence: {result.presence.says}."))
    for words in _verdict(result):
        console.print(words)


def _table(*texts: str, numbers: tuple[str | Text, ...] = ()) -> Table:
    """Return an empty table without lines: columns of text, then columns of numbers."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for text in texts:
        table.add_column(text)
    for heading in numbers:
        table.add_column(heading, justify="right")
    return table


def _row(finding: ModelFinding, result: CheckResult) -> list[Text]:
    name = finding.title
    verdict = Text("holds", "green") if finding.satisfied else Text("fails", "bold red")
    if finding.attribute is not None and finding.model in ("t", "(n,t)"):
        name += f", {result.attributes[finding.attribute].distance}"
    needed, reached = finding.asked, str(number(finding.reached))
    if not finding.satisfied and needed.endswith(f" {reached}"):  # four digits do not tell them apart
        reached = str(finding.reached)
    cells = [
        legible(finding.attribute or "(all)"),
        name,
        needed,
        reached,
        f"{finding.worst_class:,}" if finding.worst_class else "",
        f"{finding.failing_classes:,}" if finding.worst_class else "",
    ]
    return [*(Text(plain(cell)) for cell in cells), verdict]


def _verdict(result: CheckResult) -> Iterator[Text]:
    requirements = counted(len(result.models), "requirement")
    if result.satisfied:
        yield Text(f"The table meets its {requirements}.", "bold green")
        if not result.attributes:
            yield Text(NOTHING_LIMITS, "bold yellow")
        return
    failing = [finding for finding in result.models if not finding.satisfied]
    yield Text(f"The table fails {len(failing)} of its {requirements}.", "bold red")
    close = [finding for finding in failing if finding.model == "t"]
    if close:
        worst = max(close, key=lambda finding: float(finding.reached))
        attribute = legible(str(worst.attribute))
        option = shlex.quote(attribute) if attribute == plain(str(worst.attribute)) else "ATTRIBUTE"
        yield Text(
            f"Class {worst.worst_class:,} reveals most: anyone who knows that a person is in it learns that the "
            f"distribution of '{attribute}' there is {number(worst.reached)} away from the whole table's ({SCALE}). "
            f"See why with: tclose explain … --attribute {option} --class {worst.worst_class}"
        )


def show_explanation(explanation: Explanation, *, every_move: bool) -> None:
    """Print the moves that make a class equal to the table, as the tutorial does; of a long domain, between groups."""
    console, grouped = Console(), explanation.grouped and not every_move
    what = f"attribute '{legible(explanation.attribute)}', distance {explanation.distance}"
    console.print(
        Text(
            f"Class {explanation.class_number:,} ({counted(explanation.rows, 'row')}) against the whole table, {what}: "
            "the cheapest moves that give the class the table's distribution."
        )
    )
    shows = ", ".join(f"{legible(name)} = {legible(cell)}" for name, cell in explanation.shows.items())
    console.print(Text(f"The class shows: {shows}."))
    if grouped:
        groups = counted(len(explanation.bins), "group")
        console.print(f"Its values are put into {groups}; the costliest moves come first. --all lists every move.")
    console.print()
    console.print(_moves_between_groups(explanation) if grouped else _all_moves(explanation))
    closeness = explanation.closeness
    console.print()
    console.print(f"Earth mover's distance, the sum of the costs: {closeness} = {float(closeness):.4f} ({SCALE})")
    for note in explanation.notes:
        console.print(note)


def _all_moves(explanation: Explanation) -> Table:
    table = _table("", "from", "to", numbers=("share of rows", "distance", "cost"))
    for order, move in enumerate(explanation.moves, start=1):
        ends = (Text(plain(move.source)), Text(plain(move.target)))
        table.add_row(f"{order}.", *ends, str(move.mass), str(move.distance), f"{float(move.cost):.4f}")
    return table


def _moves_between_groups(explanation: Explanation) -> Table:
    table = _table("", "from", "to", numbers=("share of rows", "mean distance", "cost"))
    for order, move in enumerate(explanation.moves_between_bins, start=1):
        within = move.source == move.target
        ends = (Text(legible(move.source)), Text("within the group" if within else legible(move.target)))
        figures = percent(float(move.mass)), f"{float(move.distance):.4f}", f"{float(move.cost):.4f}"
        table.add_row(f"{order}.", *ends, *figures)
    return table


def show_release(publication: Publication) -> None:
    """Print what was released and what remains exposed, then what is proved of it and what it cost."""
    console, certificate = Console(), publication.certificate
    files = ", ".join(str(path) for path in publication.files)
    console.print(Text(f"Released {files}: {_extent(publication)}."))
    console.print()
    _show_exposed(console, publication)
    for loss in publication.lost:
        console.print(Text(f"{plain(loss.sentence)} {plain(loss.advice)}", "bold red"))
        console.print()
    for note in publication.notes_on_policy:
        console.print(Text(f"Note: {plain(note)}."))
    console.print(Text(VERDICT, "bold green"))
    if not certificate.claims.attributes:
        console.print(Text(NOTHING_LIMITS, "bold yellow"))
    console.print()
    _show_closeness(console, publication)
    console.print()
    _show_allowed(console, publication.allows)
    console.print("What it cost:")
    console.print(_costs(certificate.measures))
    if certificate.loss is not None:
        console.print(Text(f"The rows were split so as to lower this loss: {plain(lowered_loss(certificate.loss))}."))
    if certificate.temper is not None:
        console.print()
        console.print(Text(certificate.temper.words))
    if certificate.presence is not None:
        console.print()
        console.print(Text(certificate.presence.words))
    _show_bound(console, publication)
    if certificate.scope is not None:
        console.print()
        console.print(Text(f"Note: {certificate.scope}.", "bold"))
    file = publication.certificate_file
    console.print()
    console.print(Text(f"Certificate: {file}, digest {certificate.digest}" if file else NO_CERTIFICATE))
    if publication.envelope_file is not None:
        console.print(Text(f"Signed: {publication.envelope_file}, the certificate with its signature"))
    for description in publication.descriptions:
        console.print(Text(f"Description: {description}"))


def show_method_of_presence(method: str) -> None:
    """Print which method was taken for a policy with presence, where none was named."""
    Console().print(Text(f"Method: {plain(method)}, because the policy asks for presence and no --method was given."))


def _show_exposed(console: Console, publication: Publication) -> None:
    """Print the four lines of what remains exposed, each with the settings that lower it."""
    console.print(Text("What remains exposed:", "bold"))
    table = Table.grid(padding=(0, 1))
    for figure in publication.exposed.figures:
        style = "" if figure.answer == "yes" else "yellow"
        table.add_row(" -", Text(f"{figure.title} ({figure.verdict}): {plain(figure.claim.says)}", style))
        if figure.claim.needs:
            table.add_row("", Text(f"To decide it: {plain(figure.claim.needs)}."))
        for cure in figure.remedies if figure.answer != "yes" else ():
            table.add_row("", Text(f"Cure: {plain(cure)}."))
    console.print(table)
    console.print()


def _show_allowed(console: Console, allowed: Mapping[str, Allowance]) -> None:
    """Print what every t means in the attribute's own shares, whatever the classes are."""
    if not allowed:
        return
    console.print("What each t allows, in shares of rows:")
    table = _table("attribute", numbers=("t",))
    table.add_column("values")
    for heading in HEADINGS:
        table.add_column(stacked(*heading), justify="right")
    for each in allowed.values():
        table.add_row(*(Text(plain(cell)) for cell in each.cells()))
    console.print(table)
    console.print(ALLOWED)
    console.print()


def _extent(publication: Publication) -> str:
    """Say how many rows were published, in how many classes."""
    certificate, claims = publication.certificate, publication.certificate.claims
    size = rows_in_classes(
        claims.rows or 0,
        claims.classes or 0,
        smallest=claims.smallest_class or 0,
        withheld=certificate.withheld,
        published=True,
    )
    return size if certificate.base is None else f"{size} (other tables may have more classes)"


def _show_closeness(console: Console, publication: Publication) -> None:
    """Print how close every attribute is; with n, t is no limit on the distance from the whole table."""
    claims = publication.certificate.claims
    console.print(f"How far the worst class is from the whole table ({SCALE}):")
    table = _table("attribute", numbers=("required", "reached"))
    for name, claim in claims.attributes.items():
        limit = f"≤ {claims.limits[name]}" if name in claims.limits else ""
        table.add_row(Text(legible(name)), limit, f"{claim.closeness:.4f}")
    console.print(table)
    if claims.supersets:
        console.print()
        console.print(Text(f"(n,t)-closeness: {NT_MEANING}."))
        table = _table("attribute", numbers=("required", "reached"))
        for name, model in claims.supersets.items():
            table.add_row(Text(legible(name)), required(model.required), number(level(model.reached)))
        console.print(table)


def _show_bound(console: Console, publication: Publication) -> None:
    """Print how much of the loss is unavoidable, if that was searched for."""
    found = publication.bound
    if found is not None:
        console.print()
        console.print(Text(found.claim.about_release(publication.certificate.measures["gcp"])))
        if found.note:
            console.print(Text(f"Note: {found.note}", "yellow"))
    if publication.bound_proof is not None:
        console.print(Text(f"Proof of the bound: {publication.bound_proof}. {steps.PROOF_STAYS}"))


def _costs(figures: Mapping[str, float | None]) -> Table:
    table = Table.grid(padding=(0, 2))
    for measure in steps.MEASURES:
        if (figure := figures.get(measure.name)) is not None:
            scale = direction(measure.better, measure.low, measure.high)
            table.add_row(f"  {measure.title}", number(figure), Text(scale, "dim"))
    return table


def show_attacks(result: Attacks) -> None:
    """Print every attack on every table, then what it means for the release, in words."""
    console, table = Console(), _table("attack")
    for heading in result.headings.values():
        table.add_column(heading, justify="right", no_wrap=True)
    for comparison in result.results:
        if comparison.findings[steps.RELEASE].figure is not None:
            unit = comparison.attack.unit
            findings = (_finding(finding, unit) for finding in comparison.findings.values())
            table.add_row(Text(comparison.attack.title), *findings)
    console.print(table)
    console.print()
    console.print("In brackets: the share of rows affected. Each figure, and what it says about the release:")
    console.print()
    for comparison in result.results:
        attack = comparison.attack
        console.print(Text(f"{attack.title} ({attack.figure}; {attack.better} is better)", "bold"))
        console.print(Text(f"  {plain(comparison.findings[steps.RELEASE].sentence)}"))
    for note in result.notes:
        console.print()
        console.print(Text(f"Note: {plain(note)}."))


def _finding(finding: steps.Finding, unit: str) -> Text:
    if finding.figure is None:
        return Text("–")
    figure = percent(finding.figure) if unit == "share" else number(finding.figure)
    return Text(f"{figure} ({percent(finding.share)})", "" if finding.rows else "green")


def show_verification(verification: Verification) -> None:
    """Print whether a release is what its certificate says, and everything that it is not."""
    console = Console()
    if verification.result is not None:
        rows, classes = counted(verification.result.rows, "row"), counted(verification.result.classes, "class")
        several = "table" if verification.tables > 1 else "file"
        tables = f" ({counted(len(verification.files), several)})" if verification.files else ""
        console.print(f"{rows} in {classes}{tables}, judged from the release alone.")
    if verification.origin is not None and (words := verification.origin.words()):
        console.print(Text(f"The certificate says: {', '.join(words)}."))
    if claims := verification.not_verifiable_in_words:
        console.print(Text(f"Not verifiable from the release alone: {', '.join(map(plain, claims))}."))
    if (presence := verification.presence) is not None:
        needs = f" Needed to decide it: {presence.needs}." if presence.needs else ""
        console.print(Text(f"Presence: {presence.says}.{needs}"))
    for sentence in verification.signatures.sentences() if verification.signatures is not None else ():
        console.print(Text(sentence), soft_wrap=True)
    if verification.holds and verification.opened:
        names = " and ".join(OPENED[name] for name in verification.opened)
        console.print(Text(f"As the certificate commits to: {names}."))
    if verification.holds:
        open_presence = presence is not None and presence.answer == "undecided"
        besides = "; whether it keeps presence is not decided" if open_presence else ""
        verdict = f"The release is the one that was certified, and it meets its policy{besides}."
        console.print(Text(verdict, "bold green"))
        if verification.result is not None and not verification.result.attributes:
            console.print(Text(NOTHING_LIMITS, "bold yellow"))
        if not verification.identity_protected:
            console.print(Text(f"Note: {steps.NO_IDENTITY}."))
        return
    console.print(Text("Do not trust this release:", "bold red"))
    for problem in verification.leading:
        console.print(Text(f"  - {problem}"))
    if more := len(verification.problems) - len(verification.leading):
        follow = "1 finding follows" if more == 1 else f"{more:,} findings follow"
        console.print(f"{follow} from the change; --json lists all.")


def show_capabilities(capabilities: Sequence[Capability], *, as_json: bool) -> None:
    """Print how each setting of a release works at each place, and below, why some do not work in parts."""
    if as_json:
        listed = [{"kind": each.kind, "setting": each.name, **each.places} for each in capabilities]
        echo_json({"capabilities": listed})
        return
    table = Table("setting", "of", *capabilities[0].places, box=None, pad_edge=False)
    for each in capabilities:
        table.add_row(
            each.name, each.kind, *(said.partition(":")[0].partition(" where ")[0] for said in each.places.values())
        )
    console = Console()
    console.print(table)
    for each in capabilities:
        for said in dict.fromkeys(said for said in each.places.values() if ":" in said):
            console.print(Text(f"{each.name}, {' and '.join(each.where(said))}: {said}"))


def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning as one line on stderr; how a file was read is no warning but a note."""
    echo_error(f"note: {message}" if isinstance(message, SourceWarning) else f"warning: {message}")


def show_error(error: TcloseError, *, show_values: bool) -> None:
    """Print each mistake that an error reports as one line on stderr; a cell's own value only on request."""
    for mistake in error.mistakes:
        echo_error(f"error: {mistake}")
        if show_values and mistake.detail:
            echo_error(f"       {mistake.detail}")


def show_misuse(error: click.ClickException) -> None:
    """Print how a command is used, and what was wrong about this use."""
    context = getattr(error, "ctx", None)
    if context is not None:
        echo_lines(context.get_usage(), stderr=True)
        echo_error(f"Try '{context.command_path} --help' for help.")
    echo_error(f"error: {error.format_message()}")


def show_bug(error: BaseException) -> None:
    """Print where a bug struck, but not its message: that could hold a cell."""
    name = type(error).__name__
    echo_error(f"error: this is a bug in tclose ({name}); please report these lines, they hold no data:")
    for frame in traceback.extract_tb(error.__traceback__):
        echo_error(f"  {frame.filename}:{frame.lineno} in {frame.name}")
