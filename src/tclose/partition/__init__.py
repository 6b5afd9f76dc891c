"""Step 3, split: one folder or file per published method; each turns a problem into one class label per row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from tclose.errors import PolicyError, Unsuited, did_you_mean
from tclose.partition.problem import Attribute, Problem
from tclose.partition.registry import DEFAULT_METHOD, METHODS, Method
from tclose.partition.shared.merging import merged
from tclose.policy import Policy
from tclose.types import Ints

__all__ = [
    "DEFAULT_METHOD",
    "METHODS",
    "Attribute",
    "Method",
    "Problem",
    "check_temper",
    "lowers_loss",
    "merged",
    "method_called",
    "method_named",
    "tempering_of",
]


def method_called(name: str) -> Method:
    """Return what is known about a method, without loading it."""
    if name not in METHODS:
        hint = did_you_mean(name, METHODS) or f"; known are {', '.join(METHODS)}"
        raise PolicyError(f"there is no method '{name}'{hint}")
    return METHODS[name]


def lowers_loss(name: str, options: Mapping[str, Any]) -> bool:
    """Tell whether a method lowers the loss that the policy chooses; projections leave that to their base method."""
    base = options.get("base") or DEFAULT_METHOD
    return method_called(base if name == "projections" else name).lowers_loss


def method_named(name: str) -> Callable[..., Ints]:
    """Return a method's `partition(problem, *, seed, progress, ...)`, imported on use: kernels load slowly."""
    method_called(name)
    method: Any = import_module(f"tclose.partition.{name}")
    partition: Callable[..., Ints] = method.partition
    return partition


def check_temper(name: str, policy: Policy) -> None:
    """Refuse a policy with `temper` for a method that has no such stage."""
    if policy.temper is not None and not method_called(name).tempers:
        able = " or ".join(f"'{other}'" for other, method in METHODS.items() if method.tempers)
        raise Unsuited(f"temper is a last stage of method {able}, not of '{name}': choose {able}, or leave temper out")


def tempering_of(name: str) -> Callable[..., Ints]:
    """Return a method's `tempered(problem, labels, share, seed, progress)`, imported on use."""
    module: Any = import_module(f"tclose.partition.{name}.temper")
    tempered: Callable[..., Ints] = module.tempered
    return tempered
