"""How a request declares its settings: options of the command line are made from these declarations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, Literal, TypeVar

from tclose.errors import InputError
from tclose.policy.settings import exact

R = TypeVar("R")

Kind = Literal["text", "file", "flag", "count", "seconds", "choice", "share", "pairs", "names", "numbers"]


@dataclass(frozen=True)
class FormField:
    """How the studio's release form asks for a setting; its label stands in the studio's texts under the same name."""

    name: str
    checked: bool = False  # whether a box is ticked before anybody has chosen


@dataclass(frozen=True)
class Knob:
    """How a setting is said on a command line, in one sentence what it does, and where else it is asked for."""

    help: str
    kind: Kind = "text"
    recorded: bool | None = None  # whether a record keeps it, so that --replay takes it from there: it changes bytes
    flag: str | None = None  # where it is not the name of the setting
    choices: tuple[str, ...] = ()
    metavar: str | None = None
    least: int | None = None
    many: bool = False
    show_default: bool = False
    default: Any = None  # of the command line, where it is not that of a Python program
    form: FormField | None = None  # where the studio asks for it

    def option(self, name: str) -> str:
        """Return the option of a setting."""
        return self.flag or f"--{name.replace('_', '-')}"

    def read(self, value: Any) -> Any:
        """Return a value as it is compared with others."""
        if self.kind == "share":
            return checked_room(value)
        return dict(value or {}) if self.kind == "pairs" else tuple(value) if self.many else value

    def fits(self, value: Any) -> bool:
        """Tell whether a record can say this."""
        match self.kind:
            case "flag":
                return isinstance(value, bool)
            case "count":
                return isinstance(value, int) and not isinstance(value, bool)
            case "choice":
                return value in self.choices
            case "share":
                return isinstance(value, str | int | float) and not isinstance(value, bool)
            case "pairs":
                return isinstance(value, Mapping)
            case _:
                return isinstance(value, str)


def knob(knob: Knob, default: Any = MISSING, *, shown: bool = True) -> Any:
    """Declare a setting; without a default, it must be given. The `repr` of a request lacks what is not shown."""
    return field(default=default, metadata={"knob": knob}, repr=shown)


def file(text: str, metavar: str | None = None, *, flag: str | None = None, form: FormField | None = None) -> Any:
    """Declare a file that may be written or read."""
    return knob(Knob(text, "file", recorded=False, flag=flag, metavar=metavar, form=form), None)


def knobs(request: type[Any]) -> dict[str, tuple[Knob, Any]]:
    """Return the settings of a request that have a knob, with their defaults; `MISSING` where one must be given."""
    return {each.name: (each.metadata["knob"], each.default) for each in fields(request) if "knob" in each.metadata}


def changed(request: R, settings: Mapping[str, Any]) -> R:
    """Return a request with other values of some settings, which a record or a form says by their names."""
    return replace(request, **settings)  # type: ignore[type-var]


def checked_room(room: Any) -> Fraction:
    """Read the share of every t that is left unused."""
    try:
        share = exact(room)
    except (ValueError, ArithmeticError, TypeError):
        share = Fraction(-1)
    if not 0 <= share < 1:
        raise InputError("the room for new rows is a share of every t: from 0 to less than 1")
    return share


POLICY = Knob("The policy: a TOML file that says what has to hold.", "file", recorded=False)  # a record has its text
BOUND_SECONDS = Knob(
    "Search for the bound for about this time; 60 seconds if absent.", "seconds", recorded=False, metavar="N"
)
SEED = "For tests: the same seed gives the same bytes."
