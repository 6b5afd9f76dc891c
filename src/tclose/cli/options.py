"""Options that several commands share, how what they are given is read, and options made from a request's fields."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import MISSING
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tclose import steps
from tclose.errors import PolicyError
from tclose.policy import Policy, PolicyLike
from tclose.policy.settings import check_name, number

if TYPE_CHECKING:
    from tclose.steps import Knob


class _File(click.Path):
    """The path of a file or a folder; click would fail on a NUL in it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read a path."""
        check_name(value)
        return super().convert(value, param, ctx)


FILE = _File(path_type=Path)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
show_values = click.option(  # the whole command line looks for it (`cli/__init__.py`), no command does
    "--show-values", is_flag=True, expose_value=False, help="Let error messages quote cells of the table."
)
policy_file = click.option(
    "--policy", "policy_file", type=FILE, required=True, help="The policy: a TOML file that says what has to hold."
)
engine = click.option(
    "--engine",
    type=click.Choice(steps.ENGINES),
    default="auto",
    help="Where the table is judged: in memory, or from disk in batches; auto takes disk for large files.",
)
force = click.option("--force", is_flag=True, help="Overwrite files that exist already.")


def policy_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the ways to say what has to hold: a policy file, or a few options in its place."""
    for option in (
        show_values,
        click.option("--k", type=int, help="The smallest class that is allowed, with --qi."),
        click.option("--distance", multiple=True, metavar="COLUMN=NAME", help="The distance of a sensitive column."),
        click.option("--sensitive", multiple=True, metavar="COLUMN=T", help="A sensitive column and its t, with --qi."),
        click.option("--qi", metavar="A,B", help="The quasi-identifiers, instead of --policy; others are ignored."),
        click.option("--policy", "policy_file", type=FILE, help="The policy: a TOML file that says what has to hold."),
    ):
        command = option(command)
    return command


def policy_of(
    *,
    policy_file: Path | None,
    qi: str | None,
    sensitive: tuple[str, ...],
    distance: tuple[str, ...],
    k: int | None,
) -> tuple[PolicyLike, bool]:
    """Return the policy that the options give, and whether columns that it does not name are ignored."""
    if policy_file is not None:
        if qi is not None or sensitive or distance or k is not None:
            raise click.UsageError("give either --policy, or --qi with --sensitive, not both")
        return policy_file, False
    if not qi or not (sensitive or k is not None):
        raise click.UsageError("say what has to hold: --policy FILE, or --qi a,b --sensitive x=0.2")
    columns: dict[str, dict[str, str]] = {name: {"t": t} for name, t in (_pair(text, "t") for text in sensitive)}
    if len(columns) < len(sensitive):
        raise PolicyError("a column is named twice by --sensitive: name it once")
    for name, kind in (_pair(text, "distance") for text in distance):
        if name not in columns:
            raise PolicyError("--distance names '{name}', which --sensitive does not", name=name)
        columns[name]["distance"] = kind
    smallest = {} if k is None else {"k": k}
    return Policy.from_dict({"quasi": names(qi), "sensitive": columns, **smallest}), True


def _pair(text: str, what: str) -> tuple[str, str]:
    name, equals, value = text.rpartition("=")
    if not equals or not name:
        raise click.UsageError(f"expected COLUMN={what.upper()}, not '{text}'")
    return name, value


def names(text: str) -> list[str]:
    """Read names with commas between them."""
    try:
        (names,) = csv.reader([text], skipinitialspace=True)
    except csv.Error:
        raise click.UsageError("expected names with commas between them, as in --qi age,sex") from None
    return names


def levels(text: str) -> list[Fraction]:
    """Read by how much every t is multiplied."""
    try:
        return [number(level.strip(), "--levels") for level in text.split(",")]
    except PolicyError:
        raise click.UsageError("expected numbers with commas between them, as in --levels 0.5,1,2") from None


def method_options(
    method: str, given: tuple[str, ...], *, effort: str | None, tables: int | None, base: str | None
) -> dict[str, Any]:
    """Return the options of the method itself."""
    name = method.partition(":")[0]
    based = [each for each, method in steps.METHODS.items() if method.based]  # they leave the splitting to another one
    if effort is not None and "weave" not in (name, base or (steps.DEFAULT_METHOD if name in based else None)):
        raise click.UsageError("--effort is for --method weave")
    if tables is not None and name != "projections":
        raise click.UsageError("--tables is for --method projections")
    if base is not None and name not in based:
        raise click.UsageError(f"--base is for --method {' or '.join(based)}")
    pairs = [(name, value) for name, equals, value in (text.partition("=") for text in given) if name and equals]
    if len(pairs) < len(given):
        raise click.UsageError("expected --option NAME=VALUE")
    short = {"effort": effort, "tables": tables, "base": base}
    pairs += [(name, str(value)) for name, value in short.items() if value is not None]
    if len(dict(pairs)) < len(pairs):
        raise click.UsageError("an option of the method is given twice: give it once")
    return steps.method_options(method, dict(pairs))


# Options made from the fields of a request; those of `anonymize` for methods stand after --method


OF_METHODS = (
    click.option("--effort", type=click.Choice(["fast", "balanced", "best"]), help="How long weave searches."),
    click.option("--tables", type=click.IntRange(1), help="How many tables the method projections writes."),
    click.option(
        "--base", help="The method that splits each table of projections, or makes the groups of permutation."
    ),
)
TYPES = {"file": FILE, "seconds": float, "names": names, "numbers": levels}  # of all other kinds, text


def request_options(request: type[Any]) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Add an option for every knob of a request."""
    options = []
    for name, (knob, default) in steps.knobs(request).items():
        options.append(_option(name, knob, default if knob.default is None else knob.default))
        options += OF_METHODS if (request, name) == (steps.Request, "method") else ()

    def add(command: Callable[..., int]) -> Callable[..., int]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def _option(name: str, knob: Knob, default: Any) -> Callable[..., Any]:
    flag = knob.option(name)
    if knob.kind == "flag":
        return click.option(flag, name, is_flag=True, help=knob.help)
    if knob.many or knob.kind == "pairs":
        return click.option(flag, name, type=_type(knob), multiple=True, metavar=knob.metavar, help=knob.help)
    if default is MISSING:
        return click.option(flag, name, type=_type(knob), required=True, metavar=knob.metavar, help=knob.help)
    shown = knob.show_default
    return click.option(
        flag, name, type=_type(knob), default=default, show_default=shown, metavar=knob.metavar, help=knob.help
    )


def _type(knob: Knob) -> Any:
    if knob.kind == "choice":
        return click.Choice(knob.choices)
    return click.IntRange(knob.least) if knob.kind == "count" else TYPES.get(knob.kind, str)
