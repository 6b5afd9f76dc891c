"""How much time weave spends: `fast`, `balanced` or `best`, each by the number of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

from tclose.partition.shared.whole import Whole

EffortName = Literal["fast", "balanced", "best"]
EFFORTS: tuple[EffortName, ...] = get_args(EffortName)

FEW_ROWS = 500  # of a table on which further passes cost almost nothing
VERY_FEW_ROWS = 100  # of a table on which several starts cost almost nothing
MANY_ROWS = 200_000  # from which on steps per row are few, and classes are formed with one share of t
SHARES = (0.4, 0.55, 0.7, 0.85)  # of t that a cell may use up, in every effort
LARGE_SHARES = (1.0, 0.9)  # of which one is chosen for many rows
SLICE, SLICE_STEPS = 8, 5e4  # steps of one slice, per row and in all, at least
MOST_SLICES = 6  # of a pass
STEPS_AT_ONE = 34  # per row, of a pass whose first price is one
MOST_PRICE = 10.0  # the first, at most
AXIS_HEAT = 0.03  # per quasi-identifier, of `best`
RECUTS = (8000, 8000, 4000, 2000)  # rows of groups of cells
MANY_SLICE = 1.5  # steps of one slice, per row, of many rows
PAYS = 0.05  # of the loss, by one step for each row


@dataclass(frozen=True)
class Pass:
    """One pass over all groups of classes: some are carved again, then rows are exchanged."""

    steps: float  # per row
    heat: tuple[float, float] = (0.3, 0.003)  # the first and the last temperature, in loss
    price: tuple[float, float] = (3.0, 1000.0)  # of one row·distance beyond a limit, the first and the last
    candidates: int = 8  # classes that a row chooses from, at most
    drawn: int = 1  # rows of which a step takes the one whose class loses most
    tries: int = 16  # rows of the other class that a swap tries
    moves: float = 0.25  # of the steps; the others are swaps
    rounds: float = 1.0  # carvings for each class
    slices: int = 1  # of the steps; the groups change after each
    axis_heat: float = 0.0  # per quasi-identifier: the first temperature, at least
    pays: float = 0.0  # share of the loss that a step for each row must have taken away before, for all steps
    few_steps: float = 0.0  # per row, where exchanges have not paid


@dataclass(frozen=True)
class Effort:
    """How many starts are improved, and for how long. The first start of an effort is what a smaller one made."""

    shares: tuple[float, ...]  # of t that a cell may use up; classes are formed with each, or with one of them
    group: int  # rows of a group, within which classes exchange rows
    passes: tuple[Pass, ...]  # the first improves every start, the others the best of them
    starts: int = 1
    joined: int = 4  # classes carved again together
    piloted: bool = False  # whether one share is chosen, on samples
    formed: float = 0.0  # progress when classes have been formed
    recuts: tuple[int, ...] = ()  # rows of the groups in which cells are cut again, one number for each time


def effort_within(name: EffortName, whole: Whole) -> Effort:
    """Return what an effort means for a part of a table: the same as for all of it."""
    effort = effort_for(name, whole.rows)
    return effort if whole.share is None else replace(effort, shares=(whole.share,), piloted=False)


def effort_for(name: EffortName, rows: int) -> Effort:
    """Return what an effort means for a table of so many rows; a large table gets fewer steps for each of its rows."""
    if rows >= MANY_ROWS:
        formed = 0.4 if name == "fast" else 0.0
        plan = _pass_over_many(name, rows)
        return Effort(LARGE_SHARES, 8000, (plan,), piloted=True, formed=formed, recuts=RECUTS)
    if name == "fast":
        return Effort(SHARES, 8000, (_steps(rows, least=2.5, shared=4e5, most=20),), formed=0.4)
    if name == "balanced":
        plan = _continued(_steps(rows, least=20, shared=1e6, most=220))
    else:
        plan = replace(_continued(_steps(rows, least=100, shared=2.7e6, most=2350)), drawn=2, axis_heat=AXIS_HEAT)
    passes = (plan, _again(plan), _again(plan)) if rows <= FEW_ROWS else (plan,)
    return Effort(SHARES, 16_000, passes, starts=4 if rows <= VERY_FEW_ROWS else 1)


def _pass_over_many(name: EffortName, rows: int) -> Pass:
    """Return the pass of an effort over many rows: nothing is carved again, and `best` begins colder and dearer."""
    if name == "fast":
        plan = _many_steps(rows, least=0.5, shared=4e5)
    elif name == "balanced":
        plan = replace(_many_steps(rows, least=8, shared=1e6), pays=PAYS, few_steps=_few_steps(rows))
    else:
        plan = replace(_many_steps(rows, least=25, shared=2.7e6), price=(10.0, 1000.0))
    return replace(plan, heat=(0.03 if name == "best" else 0.1, 0.001))


def _many_steps(rows: int, *, least: float, shared: float) -> Pass:
    """Return a pass over many rows: more moves, fewer tries, and groups that change often."""
    steps = least + shared / rows
    return Pass(steps, drawn=4, tries=8, moves=0.6, rounds=0.0, slices=_slices(steps))


def _slices(steps: float) -> int:
    """Return into how many slices the steps over many rows are cut."""
    return min(max(round(steps / MANY_SLICE), 1), MOST_SLICES)


def _few_steps(rows: int) -> float:
    """Return the steps of `balanced` where exchanges pay little; from a million rows on, the same for each row."""
    return min(6.0, max(1.5, 1.5 * (1e6 / rows) ** 2))


def worthwhile(plan: Pass, gained: float) -> Pass:
    """Return as much of a pass as is worth its time, if a step for each row has just taken away a share of the loss."""
    if gained >= plan.pays:
        return plan
    return replace(plan, steps=plan.few_steps, slices=_slices(plan.few_steps))


def _continued(plan: Pass) -> Pass:
    """Return a pass over classes that have been improved before: it begins colder, and dearer where it is long."""
    first = min((plan.steps / STEPS_AT_ONE) ** 2, MOST_PRICE)
    return replace(plan, heat=(0.1, plan.heat[1]), price=(first, plan.price[1]))


def _again(plan: Pass) -> Pass:
    """Return a shorter pass that begins still colder."""
    return colder(replace(plan, steps=plan.steps / 4), (0.03, plan.heat[1]), (30.0, plan.price[1]))


def colder(plan: Pass, heat: tuple[float, float], price: tuple[float, float]) -> Pass:
    """Return the pass with just this course of temperature and price."""
    return replace(plan, heat=heat, price=price, axis_heat=0.0)


def _steps(rows: int, *, least: float, shared: float, most: float) -> Pass:
    """Return a pass with some steps for each row, and others that all rows share."""
    steps = min(most, least + shared / max(rows, 1))
    slices = min(round(steps / SLICE), round(steps * rows / SLICE_STEPS), MOST_SLICES)
    return Pass(steps, slices=max(slices, 1))
