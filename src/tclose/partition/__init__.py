"""Step 3, split: one folder or file per published method; each turns a problem into one class label per row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from typing import Any

from tclose.errors import PolicyError, Unsuited, did_you_mean
from tclose.messages import joined, say
from tclose.partition.problem import STARTED, Attribute, Finish, Problem, Split, Start, WholeTable
from tclose.partition.registry import DEFAULT_METHOD, METHODS, Method
from tclose.partition.shared.merge import merged
from tclose.policy import Policy
from tclose.types import Ints, Progress, silent, stretch

__all__ = [
    "DEFAULT_METHOD",
    "METHODS",
    "Attribute",
    "Method",
    "Problem",
    "Split",
    "Splitter",
    "check_suited",
    "chosen_method",
    "classes_of_base",
    "lowers_loss",
    "merged",
    "method_and_options",
    "method_called",
    "method_named",
    "tempering_of",
]


def method_called(name: str) -> Method:
    """Return what is known about a method, without loading it."""
    if name not in METHODS:
        hint = did_you_mean(name, METHODS) or say("; known are {methods}", methods=", ".join(METHODS))
        raise PolicyError("there is no method '{name}'{hint}", name=name, hint=hint)
    return METHODS[name]


def method_and_options(name: str) -> tuple[str, dict[str, Any]]:
    """Return the method and the options of a name: `sabre:slack` is a variant, `weave:fast` a choice of an option.

    >>> method_and_options("mondrian"), method_and_options("mondrian:relaxed")
    (('mondrian', {}), ('mondrian', {'cuts': 'relaxed'}))
    """
    method, colon, chosen = name.partition(":")
    about = method_called(method)
    if not colon:
        return method, {}
    if chosen in about.variants:
        return method, dict(about.variants[chosen])
    if chosen in about.choices:
        return method, {about.option: chosen}
    known = dict.fromkeys((*about.variants, *about.choices))
    raise PolicyError(
        "'{method}' has no variant '{chosen}'; it has {known}",
        method=method,
        chosen=chosen,
        known=", ".join(known) or "none",
    )


def lowers_loss(name: str, options: Mapping[str, Any]) -> bool:
    """Tell whether a method lowers the loss that the policy chooses; some leave that to their base method."""
    base = options.get("base") or DEFAULT_METHOD
    return method_called(base if method_called(name).based else name).lowers_loss


def method_named(name: str) -> Callable[..., Ints]:
    """Return a method's `partition(problem, *, seed, progress, ...)`, imported on use: kernels load slowly."""
    method_called(name)
    method: Any = import_module(f"tclose.partition.{name}")
    partition: Callable[..., Ints] = method.partition
    return partition


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Splitter:
    """A method, and what it is told beside the problem.

    `rival_problem` is the problem as rivals see it, without persons, if it differs. `finish` merges classes for models
    that the problem does not know. At most `exact_rows` rows are solved exactly; `first` are further starts. A part of
    a `whole` table is not compared with rivals, whose classes of all rows are not at hand.
    """

    method: str
    seed: int
    options: Mapping[str, Any]
    rival_problem: Problem | None = None
    exact_rows: int = 0
    finish: Finish | None = None
    first: Sequence[Start] = ()
    whole: WholeTable | None = None

    def split(self, problem: Problem, progress: Progress = silent) -> Split | None:
        """Return the classes that the method makes; a method that takes starts is given those of the cheap rivals.

        With starts, `finish` is called for each of them, so that finished partitions are compared; the result is
        finished, or None where nothing could be. Without starts, the result is still to be finished.
        """
        about, seed = METHODS[self.method], self.seed
        partition = method_named(self.method)
        if not about.takes_starts:
            return Split(partition(problem, seed=seed, progress=progress, **self.options))
        best: Any = import_module(f"tclose.partition.{self.method}").best_partition
        starts = chain(self.first, self._rivals(problem, stretch(progress, 0.0, STARTED)))
        found: Split | None = best(
            problem, starts, seed=seed, finish=self.finish, whole=self.whole, progress=progress, **self.options
        )
        return found

    def _rivals(self, problem: Problem, progress: Progress) -> Iterable[Start]:
        """Return the classes of the cheap rivals, one after the other."""
        if self.whole is not None:
            return ()
        from tclose.partition.starts import starts_of

        effort = str(self.options.get("effort", METHODS[self.method].choices[0]))
        return starts_of(self.rival_problem or problem, effort, self.seed, self.exact_rows, progress)


def classes_of_base(base: str, problem: Problem, seed: int, options: Mapping[str, Any], progress: Progress) -> Ints:
    """Return the classes that a base method makes for a method that leaves the splitting to it."""
    split = Splitter(method=base, seed=seed, options=options).split(problem, progress)
    assert split is not None
    return split.labels


def chosen_method(name: str | None, policy: Policy) -> str:
    """Return the method that is named, or else the default one; for a policy with `[presence]`, the one that keeps it.

    >>> chosen_method(None, Policy(quasi=["age"], k=2)), chosen_method("mondrian:relaxed", Policy(quasi=["age"], k=2))
    ('weave', 'mondrian:relaxed')
    """
    if name is not None:
        return name
    return DEFAULT_METHOD if policy.presence is None else next(name for name, each in METHODS.items() if each.presence)


def check_suited(name: str, policy: Policy, options: Mapping[str, Any]) -> None:
    """Refuse what a method cannot do for a policy, before the work begins."""
    _check_temper(name, policy)
    _check_joint(name, policy, options)
    _check_groups(name, policy)
    _check_presence(name, policy, options)
    _check_pseudonym(name, policy)


def _check_temper(name: str, policy: Policy) -> None:
    """Refuse a policy with `temper` for a method that has no such stage."""
    if policy.temper is not None and not method_called(name).tempers:
        able = " or ".join(f"'{other}'" for other, method in METHODS.items() if method.tempers)
        raise Unsuited(
            "temper is a last stage of method {able}, not of '{name}': choose {able}, or leave temper out",
            able=able,
            name=name,
        )


def _check_joint(name: str, policy: Policy, options: Mapping[str, Any]) -> None:
    """Refuse a policy with `[[joint]]` for a method that cannot keep attributes close together."""
    about = method_called(name)
    if not policy.joint or about.joint is None or options.get(about.option, "") in about.joint:
        return
    able = [
        *(say("{option} = {choice}", option=about.option, choice=choice) for choice in about.joint),
        say("method '{default_method}'", default_method=DEFAULT_METHOD),
    ]
    raise Unsuited(
        "method '{name}' cannot keep sensitive attributes close together ([[joint]]): choose {able}",
        name=name,
        able=joined(" or ", able),
    )


def _check_groups(name: str, policy: Policy) -> None:
    """Refuse a policy with `t_by` for a method that publishes no table of classes, or several tables."""
    if method_called(name).tables != "one" and any(spec.t_by is not None for spec in policy.sensitive.values()):
        raise Unsuited(
            "method '{name}' cannot keep a t for groups of persons (t_by): choose a method that publishes one "
            "table of classes, or leave t_by out",
            name=name,
        )


def _check_presence(name: str, policy: Policy, options: Mapping[str, Any]) -> None:
    """Refuse a policy with `[presence]` for a method that does not cut the population into boxes."""
    about = method_called(name)
    if policy.presence is None or options.get(about.option, next(iter(about.choices), "")) in about.presence:
        return
    able = " or ".join(f"'{other}'" for other, method in METHODS.items() if method.presence)
    if about.presence:
        raise Unsuited(
            "{option} = {option_2} puts equal values into several classes, but presence needs classes that "
            "share nobody: choose {option} = {presence}",
            option=about.option,
            option_2=options[about.option],
            presence=" or ".join(about.presence),
        )
    raise Unsuited(
        "method '{name}' cannot keep presence, which needs classes cut from the population: choose method "
        "{able}, or leave [presence] out",
        name=name,
        able=able,
    )


def _check_pseudonym(name: str, policy: Policy) -> None:
    """Refuse a policy with `[pseudonym]` for a method that cannot keep the rows of a person in one class."""
    if policy.pseudonym and not method_called(name).counts_persons:
        able = " or ".join(f"'{other}'" for other, method in METHODS.items() if method.counts_persons)
        raise Unsuited(
            "method '{name}' cannot keep all rows of a pseudonym in one class: choose method {able}, or leave "
            "[pseudonym] out",
            name=name,
            able=able,
        )


def tempering_of(name: str) -> Callable[..., Ints]:
    """Return a method's `tempered(problem, labels, share, seed, progress)`, imported on use."""
    module: Any = import_module(f"tclose.partition.{name}.temper")
    tempered: Callable[..., Ints] = module.tempered
    return tempered
