"""The options of `anonymize`, made from the fields of `Request`; those of methods stand after --method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING
from typing import TYPE_CHECKING, Any

import click

from tclose import steps
from tclose.cli.options import FILE

if TYPE_CHECKING:
    from tclose.steps import Knob

OF_METHODS = (
    click.option("--effort", type=click.Choice(["fast", "balanced", "best"]), help="How long weave searches."),
    click.option("--tables", type=click.IntRange(1), help="How many tables the method projections writes."),
    click.option(
        "--base", help="The method that splits each table of projections, or makes the groups of permutation."
    ),
    click.option("--option", "given", multiple=True, metavar="NAME=VALUE", help="An option of the method itself."),
)
DEFAULTS = {"engine": "auto"}  # of the command line, where they are not those of a Python program


def request_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add an option for every knob of a request."""
    options = []
    for name, (knob, default) in steps.knobs().items():
        options.append(_option(name, knob, DEFAULTS.get(name, default)))
        options += OF_METHODS if name == "method" else ()
    for option in reversed(options):
        command = option(command)
    return command


def _option(name: str, knob: Knob, default: Any) -> Callable[..., Any]:
    flag = knob.flag or f"--{name.replace('_', '-')}"
    if knob.kind == "flag":
        return click.option(flag, name, is_flag=True, help=knob.help)
    if knob.many:
        return click.option(flag, name, type=_type(knob), multiple=True, metavar=knob.metavar, help=knob.help)
    if default is MISSING:
        return click.option(flag, name, type=_type(knob), required=True, metavar=knob.metavar, help=knob.help)
    shown = knob.show_default
    return click.option(
        flag, name, type=_type(knob), default=default, show_default=shown, metavar=knob.metavar, help=knob.help
    )


def _type(knob: Knob) -> Any:
    types = {"file": FILE, "count": click.IntRange(knob.least), "seconds": float, "text": str}
    return click.Choice(knob.choices) if knob.kind == "choice" else types[knob.kind]
