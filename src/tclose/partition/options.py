"""A method's own options: the keywords of its `partition` besides seed and progress, checked before any work."""

from __future__ import annotations

import inspect
import sys
import types
import typing
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal

from tclose.errors import PolicyError, did_you_mean
from tclose.messages import say
from tclose.partition import DEFAULT_METHOD, METHODS, method_named
from tclose.policy.settings import exact

PASSED_ON = inspect.Parameter.VAR_KEYWORD
COMMON = ("problem", "seed", "progress")
WORDS = {"true": True, "yes": True, "false": False, "no": False}
KINDS: dict[Any, tuple[str, tuple[type, ...]]] = {  # what is expected, and which values of Python will do
    bool: ("true or false", (bool,)),
    int: ("a whole number", (int,)),
    float: ("a number", (int, float, Fraction)),
    Fraction: ("a number", (int, float, Fraction)),
    str: ("a word", (str,)),
}


def checked_options(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a method, or say in one sentence what is wrong with them."""
    for name, value in options.items():
        hint = _hint(method, name, options)
        if not any(_fits(value, kind) for kind in _alternatives(hint)):
            raise PolicyError(
                "option '{name}' of method '{method}' takes {expected}",
                name=name,
                method=method,
                expected=_expected(hint),
            )
    return dict(options)


def options_from_texts(method: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """Read options that were given as text, as in `--option sizing=gcd`."""
    return checked_options(
        method, {name: _read(method, name, text, _hint(method, name, texts)) for name, text in texts.items()}
    )


def _hint(method: str, name: str, given: Mapping[str, Any]) -> Any:
    """Return what an option takes: a type, a union or a choice of words."""
    if not (known := _known(method, given)):
        raise PolicyError("method '{method}' has no options of its own, so no '{name}'", method=method, name=name)
    if name not in known:
        hint = did_you_mean(name, known) or say("; it has {known}", known=", ".join(known))
        raise PolicyError("method '{method}' has no option '{name}'{hint}", method=method, name=name, hint=hint)
    return known[name]


def _known(method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return every option of a method with what it takes.

    A module may list in `OPTIONS` those that are not for its `partition`. One that passes options on to another method
    has those of its `base`, too.
    """
    partition, about = method_named(method), METHODS[method]
    parameters, hints = inspect.signature(partition).parameters.values(), typing.get_type_hints(partition)
    known = {
        parameter.name: hints.get(parameter.name, Any)
        for parameter in parameters
        if parameter.name not in COMMON and parameter.kind != PASSED_ON
    }
    known |= getattr(sys.modules[f"tclose.partition.{method}"], "OPTIONS", {})
    if about.choices:
        known[about.option] = Literal[about.choices]
    if (base := base_of(method, given)) is not None:
        known = {**_known(base, {}), **known}
    return known


def base_of(method: str, given: Mapping[str, Any]) -> str | None:
    """Return the method that one passes options on to, if it does."""
    parameters = inspect.signature(method_named(method)).parameters.values()
    return (
        str(given.get("base", DEFAULT_METHOD)) if any(parameter.kind == PASSED_ON for parameter in parameters) else None
    )


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


def _fits(value: Any, hint: Any) -> bool:
    if typing.get_origin(hint) is Literal:
        return isinstance(value, str) and value in typing.get_args(hint)
    if hint not in KINDS:
        return hint is not types.NoneType or value is None  # the method itself checks other kinds
    return isinstance(value, KINDS[hint][1]) and (hint is bool or not isinstance(value, bool))


def _expected(hint: Any) -> str:
    expected: list[str] = []
    for kind in _alternatives(hint):
        words = ", ".join(typing.get_args(kind)) if typing.get_origin(kind) is Literal else KINDS.get(kind, ("",))[0]
        expected += [words] if words and words not in expected else []
    return " or ".join(expected) or "a value that only Python code can give"


def _read(method: str, name: str, text: str, hint: Any) -> Any:
    for kind in _alternatives(hint):
        try:
            return _value(text, kind)
        except (ValueError, KeyError, ArithmeticError):
            continue
    raise PolicyError(
        "option '{name}' of method '{method}' takes {expected}", name=name, method=method, expected=_expected(hint)
    )


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
