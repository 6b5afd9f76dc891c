"""How much time weave spends: `fast`, `balanced` or `best`, each by the number of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

EffortName = Literal["fast", "balanced", "best"]
EFFORTS: tuple[EffortName, ...] = get_args(EffortName)

FEW_ROWS = 500  # of a table on which further passes cost almost nothing
MANY_ROWS = 200_000  # from which on steps per row are few, and cells hardly need slack below t
SLICE, SLICE_STEPS = 8, 5e4  # steps of one slice, per row and in all, at least
MOST_SLICES = 6  # of a pass


@dataclass(frozen=True)
class Pass:
    """One pass over all groups of classes: some are carved again, then rows are exchanged."""

    steps: float  # per row
    heat: tuple[float, float] = (0.3, 0.003)  # the first and the last temperature, in loss
    price: tuple[float, float] = (3.0, 1000.0)  # of one row·distance beyond a limit, the first and the last
    candidates: int = 8  # classes that a row chooses from, at most
    rounds: float = 1.0  # carvings for each class
    slices: int = 1  # of the steps; the groups change after each


@dataclass(frozen=True)
class Effort:
    """How many starts are compared, and how long the best of them is improved."""

    shares: tuple[float, ...]  # of t that a cell may use up; each share is one start
    rates: tuple[float, ...]  # loss per row of excess work, at which classes are grown
    cell: int  # rows of a cell, out of which classes are carved
    group: int  # rows of a group, within which classes exchange rows
    passes: tuple[Pass, ...]
    trial: Pass  # the short pass after which the starts are compared
    sample: int  # rows on which the starts of a larger table are compared
    joined: int = 4  # classes carved again together
    chosen: float = 0.0  # progress when the start has been chosen
    started: float = 0.0  # progress when its classes have been formed


def effort_for(name: EffortName, rows: int) -> Effort:
    """Return what an effort means for a table of so many rows; a large table gets fewer steps for each of its rows."""
    many = rows >= MANY_ROWS
    if name == "fast":
        steps = _steps(rows, least=2.5, shared=4e5, most=20)
        effort = Effort((0.5, 0.9), (1.0,), 100, 8000, (steps,), Pass(3.0, rounds=0.5), 4000)
        return replace(effort, shares=(1.0,) if many else effort.shares, chosen=0.0 if many else 0.2, started=0.5)
    shares = (0.9, 1.0) if many else (0.5, 0.7, 0.9, 1.0)
    if name == "balanced":
        steps = _steps(rows, least=12 if many else 40, shared=1.2e6, most=250)
        passes = (steps, _again(steps), _again(steps)) if rows <= FEW_ROWS else (steps,)
        effort = Effort(shares, (1.0,), 100, 16_000, passes, Pass(6.0, rounds=0.5), 10_000)
        effort = replace(effort, chosen=0.2, started=0.3)
    else:
        steps = _steps(rows, least=50, shared=1.4e7, most=1000)
        effort = Effort(shares, (0.5, 2.0), 200, 40_000, (steps, _again(steps)), Pass(6.0, rounds=0.5), 20_000)
        effort = replace(effort, chosen=0.1, started=0.2)
    return replace(effort, group=8000, sample=40_000) if many else effort


def _again(plan: Pass) -> Pass:
    """Return a shorter pass that begins colder."""
    return replace(plan, steps=plan.steps / 4, heat=(0.1 * plan.heat[0], plan.heat[1]), price=(30.0, 1000.0))


def _steps(rows: int, *, least: float, shared: float, most: float) -> Pass:
    """Return a pass with some steps for each row, and others that all rows share."""
    steps = min(most, least + shared / max(rows, 1))
    slices = min(round(steps / SLICE), round(steps * rows / SLICE_STEPS), MOST_SLICES)
    plan = Pass(steps, slices=max(slices, 1))
    return replace(plan, heat=(0.1, 0.001), rounds=0.0) if rows >= MANY_ROWS else plan
