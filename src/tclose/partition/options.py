"""A method's own options: the keywords of its `partition` besides seed and progress, checked before any work."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal

from tclose.errors import PolicyError, did_you_mean
from tclose.partition import METHODS, method_named
from tclose.settings import exact

COMMON = ("problem", "seed", "progress")
WORDS = {"true": True, "yes": True, "false": False, "no": False}
KINDS: dict[Any, tuple[str, tuple[type, ...]]] = {  # what is expected, and which values of Python will do
    bool: ("true or false", (bool,)),
    int: ("a whole number", (int,)),
    float: ("a number", (int, float, Fraction)),
    Fraction: ("a number", (int, float, Fraction)),
    str: ("a word", (str,)),
}


def checked(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a method, or say in one sentence what is wrong with them."""
    for name, value in options.items():
        _check(method, name, value)
    return dict(options)


def from_texts(method: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """Read options that were given as text, as in `--option sizing=gcd`."""
    return checked(method, {name: _read(method, name, text) for name, text in texts.items()})


def _hint(method: str, name: str) -> Any:
    """Return what an option takes: a type, a union or a choice of words."""
    if not (known := _known(method)):
        raise PolicyError(f"method '{method}' has no options of its own, so no '{name}'")
    if name not in known:
        hint = did_you_mean(name, known) or f"; it has {', '.join(known)}"
        raise PolicyError(f"method '{method}' has no option '{name}'{hint}")
    about = METHODS[method]
    return Literal[about.choices] if name == about.option and about.choices else known[name]


def _known(method: str) -> dict[str, Any]:
    """Return every option of a method with what it takes, in the order of its `partition`."""
    partition = method_named(method)
    hints = typing.get_type_hints(partition)
    names = (name for name in inspect.signature(partition).parameters if name not in COMMON)
    return {name: hints.get(name, Any) for name in names}


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


def _check(method: str, name: str, value: Any) -> None:
    hint = _hint(method, name)
    if not any(_fits(value, one) for one in _alternatives(hint)):
        raise PolicyError(f"option '{name}' of method '{method}' takes {_expected(hint)}")


def _fits(value: Any, hint: Any) -> bool:
    if typing.get_origin(hint) is Literal:
        return isinstance(value, str) and value in typing.get_args(hint)
    if hint not in KINDS:
        return hint is not types.NoneType or value is None  # what else there is, its method judges
    return isinstance(value, KINDS[hint][1]) and (hint is bool or not isinstance(value, bool))


def _expected(hint: Any) -> str:
    told = []
    for one in _alternatives(hint):
        words = ", ".join(typing.get_args(one)) if typing.get_origin(one) is Literal else KINDS.get(one, ("",))[0]
        told += [words] if words and words not in told else []
    return " or ".join(told) or "what only Python code can give"


def _read(method: str, name: str, text: str) -> Any:
    hint = _hint(method, name)
    for one in _alternatives(hint):
        try:
            return _value(text, one)
        except (ValueError, KeyError, ArithmeticError):
            continue
    raise PolicyError(f"option '{name}' of method '{method}' takes {_expected(hint)}")


def _value(text: str, hint: Any) -> Any:
    """Read a text as one kind of value; it raises where that is not possible."""
    if hint is bool:
        return WORDS[text.lower()]
    if hint is float or hint is Fraction:
        number = exact(text)
        return number if hint is Fraction else float(number)
    if hint is int:
        return int(text)
    if hint is str or (typing.get_origin(hint) is Literal and text in typing.get_args(hint)):
        return text
    raise ValueError
