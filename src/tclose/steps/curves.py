"""What protection costs: methods on a table, or on a part of it, under stricter and looser thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tclose.errors import PolicyError
from tclose.partition import DEFAULT_METHOD
from tclose.policy import Policy, PolicyLike
from tclose.policy.derived import scaled
from tclose.steps.given import as_frame
from tclose.table import to_polars
from tclose.table.sampling import sampled
from tclose.types import Progress, silent, stretch

if TYPE_CHECKING:
    from tclose.comparison.comparison import Comparison
    from tclose.comparison.tradeoff import Tradeoff

TIMES = (Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(2))
MOST_ROWS = 20_000
BOUND_SECONDS = 5.0
LIMIT_SECONDS = 60.0


@dataclass(frozen=True, eq=False)
class CostCurve:
    """A trade-off, the rows that it was measured on, and why it has no lower bound."""

    tradeoff: Tradeoff
    rows: int
    of: int  # rows of the whole table
    no_bound: str  # empty where there is one

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        drawn = self.tradeoff.curve()
        names = list(dict.fromkeys(name for name, _, _ in drawn.points))
        return {
            "rows": self.rows,
            "of": self.of,
            "no_bound": self.no_bound,
            "title": drawn.title,
            "levels": drawn.levels,
            "losses": {name: drawn.losses(name) for name in names},
            "least": drawn.least_losses() if drawn.bounds else [],
            "trials": [trial.to_dict() for trial in self.tradeoff.comparison.trials],
        }


def cost_curve(
    table: Any,
    policy: PolicyLike,
    *,
    methods: Sequence[str] = (DEFAULT_METHOD,),
    times: Sequence[Fraction] = TIMES,
    most_rows: int = MOST_ROWS,
    bound_seconds: float = BOUND_SECONDS,
    limit: float = LIMIT_SECONDS,
    seed: int = 0,
    progress: Progress = silent,
) -> CostCurve:
    """Try methods with every t multiplied by each of `times`, on at most so many rows; no release is written.

    Where a lower bound can be given for the policy, one is searched for at each level.
    """
    from tclose.comparison.comparison import compare, entries
    from tclose.comparison.tradeoff import Tradeoff

    asked = Policy.of(policy)
    names = [entry.name for entry in entries(methods)]
    progress(0.0, "reading")
    whole = to_polars(as_frame(table, asked))
    frame = sampled(whole, most_rows, person=asked.person, seed=seed)
    reason = _no_bound(frame, asked)
    levels = {Fraction(1): asked, **{level: scaled(asked, level) for level in times}}
    different = {level: each for level, each in levels.items() if level == 1 or each != asked}
    found: dict[Fraction, Comparison] = {}
    for place, (level, each) in enumerate(different.items()):
        part = stretch(progress, place / len(different), (place + 1) / len(different))
        report = _Mean(part, len(names) + (not reason))
        served = names if level == 1 else [trial.name for trial in found[Fraction(1)].released]
        if served:
            settings: dict[str, Any] = {"bound": not reason, "bound_seconds": bound_seconds}
            found[level] = compare(frame, each, methods=served, limit=limit, seed=seed, **settings, progress=report)
    first = found.pop(Fraction(1))
    return CostCurve(Tradeoff(first, found), frame.height, whole.height, reason)


def _no_bound(frame: Any, policy: Policy) -> str:
    """Return why no lower bound can be given; nothing where one can."""
    from tclose.engine.bounding import BoundSearch
    from tclose.table.coded import encode_quietly

    try:
        BoundSearch.of(encode_quietly(frame, policy), policy)
    except PolicyError as error:
        return error.sentence
    return ""


class _Mean:
    """The progress of several methods that run side by side: the mean of their shares."""

    def __init__(self, progress: Progress, parts: int) -> None:
        self._progress, self._parts, self._shares = progress, parts, dict[str, float]()

    def __call__(self, share: float, phase: str = "") -> None:
        """Take note of how far one method is; the phase begins with its name."""
        name = phase.partition(",")[0]
        self._shares[name] = max(share, self._shares.get(name, 0.0))
        self._progress(min(sum(self._shares.values()) / self._parts, 1.0), phase)
