"""What protection costs: the loss of each method at several thresholds, as a page draws it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tclose.comparison.trial import Trial
from tclose.policy import Policy


@dataclass(frozen=True)
class Curve:
    """The loss of each method against t: (method, t, loss)."""

    title: str
    points: Sequence[tuple[str, float, float]]
    bounds: Sequence[tuple[float, float]] = ()  # (t, the least loss that any release must have), if searched for

    @classmethod
    def of(
        cls,
        trials: Mapping[Fraction, Sequence[Trial]],
        policy: Policy,
        bounds: Mapping[Fraction, float] | None = None,
    ) -> Curve:
        """Return the curve of trials, and of lower bounds, under thresholds so many times those of the policy.

        Methods with a caveat are left out: their loss cannot be compared.
        """
        thresholds = {spec.t for spec in policy.required.values() if spec.t is not None}
        unit = thresholds.pop() if len(thresholds) == 1 else None

        def threshold(level: Fraction) -> float:
            return float(level * unit if unit else level)

        points = [
            (trial.name, threshold(level), trial.gcp)
            for level, tried in trials.items()
            for trial in tried
            if trial.gcp is not None and not trial.caveat
        ]
        least = sorted((threshold(level), bound) for level, bound in (bounds or {}).items())
        return cls("t" if unit else "t, as a multiple of the policy's own", points, least)

    @property
    def levels(self) -> list[float]:
        """The different values of t."""
        return sorted({*(t for _, t, _ in self.points), *(t for t, _ in self.bounds)})

    def losses(self, method: str) -> list[float | None]:
        """Return a method's loss at each level, none where it gave no release."""
        loss_at = {t: loss for name, t, loss in self.points if name == method}
        return [loss_at.get(level) for level in self.levels]

    def least_losses(self) -> list[float | None]:
        """Return the lower bound at each level, none where it was not searched for."""
        bound_at = dict(self.bounds)
        return [bound_at.get(level) for level in self.levels]
