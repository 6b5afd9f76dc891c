"""What protection costs: the methods that serve a policy, tried again with stricter and looser thresholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from tclose.comparison.comparison import LIMIT_SECONDS, Comparison, compare
from tclose.comparison.curve import Curve
from tclose.engine.bounding import SECONDS
from tclose.errors import PolicyError
from tclose.policy import Policy, PolicyLike
from tclose.policy.derived import scaled
from tclose.types import Progress, silent

LEVELS = (Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(2))  # times the policy's own thresholds


@dataclass(frozen=True, eq=False)
class Tradeoff:
    """A comparison, and the same methods under other thresholds."""

    comparison: Comparison
    others: Mapping[Fraction, Comparison]  # by how many times the policy's thresholds they were given

    @property
    def levels(self) -> dict[Fraction, Comparison]:
        """All comparisons, the strictest first."""
        return dict(sorted({Fraction(1): self.comparison, **self.others}.items()))

    def curve(self) -> Curve:
        """Return the loss of every method at each level."""
        trials = {level: comparison.released for level, comparison in self.levels.items()}
        return Curve.of(trials, self.comparison.policy, self._bounds())

    def _bounds(self) -> dict[Fraction, float]:
        """Return the lower bound at each level; what holds for some t holds for every smaller one, too."""
        bounds: dict[Fraction, float] = {}
        for level, comparison in reversed(self.levels.items()):
            if comparison.bound is not None:
                bounds[level] = max(comparison.bound.bound, *bounds.values(), 0.0)
        return bounds

    def report(self, path: str | Path, *, table: str | None = None, force: bool = True) -> None:
        """Write a page that shows the methods side by side, and what protection costs with each."""
        self.comparison.report(path, curve=self.curve(), table=table, force=force)

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        levels = [{"times": str(level), **comparison.to_dict()} for level, comparison in self.levels.items()]
        return {**self.comparison.to_dict(), "tradeoff": levels}


def tradeoff(
    frame: Any,
    policy: PolicyLike,
    *,
    methods: Sequence[str] | None = None,
    levels: Sequence[Fraction] = LEVELS,
    limit: float = LIMIT_SECONDS,
    seed: int = 0,
    detail: bool = False,
    bound: bool = False,
    bound_seconds: float = SECONDS,
    progress: Progress = silent,
) -> Tradeoff:
    """Compare methods, then those that gave a release again with every t multiplied by each level, to 1 at most."""
    if any(level <= 0 for level in levels):
        raise PolicyError("a level is a number above 0, by which every t is multiplied")
    policy = Policy.of(policy)
    shared: dict[str, Any] = {"limit": limit, "seed": seed, "progress": progress}
    shared |= {"bound": bound, "bound_seconds": bound_seconds}
    first = compare(frame, policy, methods=methods, detail=detail, **shared)
    served = [trial.name for trial in first.released]
    others = {}
    for level in levels if served else ():
        asked = scaled(policy, level)
        if asked != policy:
            others[level] = compare(frame, asked, methods=served, **shared)
    return Tradeoff(first, others)
