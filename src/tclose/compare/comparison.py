"""Every method side by side on one table and policy, each in a process of its own with a time limit."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from tclose.compare.processes import answers
from tclose.compare.trial import Job, Trial
from tclose.engine.memory import coded
from tclose.errors import Infeasible, InputError, InternalError, PolicyError
from tclose.partition import METHODS, method_called
from tclose.policy import Policy
from tclose.privacy.feasibility import publishable
from tclose.table import to_polars
from tclose.table.frames import from_polars, kind_of

Progress = Callable[[str, float], None]  # a method, and the share of its work that is done

LIMIT_SECONDS = 30.0
DTYPES = {"str": pl.String, "Outcome": pl.String, "int | None": pl.Int64, "float | None": pl.Float64}


@dataclass(frozen=True)
class Entry:
    """A method and one choice of its own option; no choice where it has no such option."""

    method: str
    choice: str = ""

    @property
    def name(self) -> str:
        """How the entry is asked for: a default choice goes without saying, unless all choices are compared."""
        return self.method if self.choice in _unspoken(self.method) else f"{self.method}:{self.choice}"


def _unspoken(method: str) -> tuple[str, ...]:
    about = METHODS[method]
    return ("",) if about.compare_all else ("", *about.choices[:1])


@dataclass(frozen=True, eq=False)
class Comparison:
    """What each method gives for the same table and policy."""

    trials: tuple[Trial, ...]
    policy: Policy
    kind: str

    @property
    def released(self) -> tuple[Trial, ...]:
        """The methods that gave a release."""
        return tuple(trial for trial in self.trials if trial.outcome == "released")

    @property
    def exit_status(self) -> int:
        """What `tclose compare` ends with: 0 where a method gave a release, else the gravest reason why none did."""
        outcomes = {trial.outcome for trial in self.trials}
        if "released" in outcomes:
            return 0
        if "failed" in outcomes:
            return InternalError.exit_status
        return Infeasible.exit_status if outcomes & {"infeasible", "stopped"} else PolicyError.exit_status

    @cached_property
    def frame(self) -> Any:
        """One row per method, as a frame of the kind that was given."""
        columns = [
            pl.Series(each.name, [getattr(trial, each.name) for trial in self.trials], dtype=DTYPES[str(each.type)])
            for each in fields(Trial)
            if each.type in DTYPES
        ]
        columns += [
            pl.Series(f"closeness of {name}", [trial.closeness.get(name) for trial in self.trials], dtype=pl.Float64)
            for name in self.policy.sensitive
        ]
        return from_polars(pl.DataFrame(columns), self.kind)

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {"methods": [asdict(trial) for trial in self.trials]}


def compare(
    frame: Any,
    policy: Policy,
    *,
    methods: Sequence[str] | None = None,
    limit: float = LIMIT_SECONDS,
    seed: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Try methods on the same table and policy, each in a process of its own that is stopped after `limit` seconds.

    `methods` are names as in `tclose methods`, all of them if absent; `weave:fast` names a choice of a method's own
    option. Two run side by side on a core each, where there are two; time spent on compiling does not count. Nothing
    of the table is written to a disk, and no release is kept, so a known seed does no harm.
    """
    chosen, tell = entries(methods), progress or (lambda name, share: None)
    _check_numbers(limit, seed)
    whole = to_polars(frame)
    table, asked = _needed(whole, policy)
    jobs = [
        Job(asked, entry.method, {METHODS[entry.method].option: entry.choice} if entry.choice else {}, seed)
        for entry in chosen
    ]
    found = answers(jobs, _streamed(table), limit, lambda number, share: tell(chosen[number].name, share))
    trials = (
        Trial(name=entry.name, method=entry.method, choice=entry.choice, **answer)
        for entry, answer in zip(chosen, found, strict=True)
    )
    return Comparison(tuple(trials), policy, kind_of(frame))


def entries(names: Sequence[str] | None) -> list[Entry]:
    """Return what is to be tried: some methods or all, and of those whose choices are methods of their own, each."""
    wanted = list(METHODS) if names is None else names
    if not wanted or isinstance(wanted, str):
        raise PolicyError('expected a list of methods, as in ["weave", "microaggregation:merge"]')
    return list(dict.fromkeys(entry for name in wanted for entry in _entries(name)))


def _entries(name: str) -> list[Entry]:
    method, colon, choice = name.partition(":")
    about = method_called(method)
    if colon and choice not in about.choices:
        raise PolicyError(f"'{method}' has no choice '{choice}'; it has {', '.join(about.choices) or 'none'}")
    if colon:
        return [Entry(method, choice)]
    return [Entry(method, choice) for choice in (about.choices if about.compare_all else about.choices[:1]) or ("",)]


def _check_numbers(limit: float, seed: int) -> None:
    if isinstance(limit, bool) or not isinstance(limit, int | float | np.number) or not 0 < limit < float("inf"):
        raise PolicyError("a time limit is a number of seconds above 0")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise PolicyError("a seed is a whole number of at least 0")


def _needed(whole: pl.DataFrame, policy: Policy) -> tuple[pl.DataFrame, Policy]:
    """Return the columns that a release is made of; what no method could use is refused here, once, with warnings."""
    publishable(coded(whole, policy), policy)
    asked = replace(policy, identifiers=())  # names are for no process but this one
    return whole[[name for name, _ in asked.columns()]], asked


def _streamed(table: pl.DataFrame) -> memoryview:
    file = io.BytesIO()
    try:
        table.write_ipc_stream(file)
    except pl.exceptions.PolarsError:
        raise InputError("a column of the table is of an unusual type: make it text, a number or a date") from None
    return file.getbuffer()
