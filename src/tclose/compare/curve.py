"""What protection costs: the loss of each method at several thresholds, as a page draws it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tclose.compare.trial import Trial
from tclose.policy import Policy


@dataclass(frozen=True)
class Curve:
    """The loss of each method against t: (method, t, loss)."""

    title: str
    points: Sequence[tuple[str, float, float]]

    @classmethod
    def of(cls, trials: Mapping[Fraction, Sequence[Trial]], policy: Policy) -> Curve:
        """Return the curve of trials under thresholds that are so many times those of the policy."""
        thresholds = {spec.t for spec in policy.sensitive.values() if spec.t is not None}
        unit = thresholds.pop() if len(thresholds) == 1 else None
        points = [
            (trial.name, float(level * unit if unit else level), trial.gcp)
            for level, tried in trials.items()
            for trial in tried
            if trial.gcp is not None
        ]
        return cls("t" if unit else "t, as a multiple of the policy's own", points)

    @property
    def levels(self) -> list[float]:
        """The different values of t."""
        return sorted({t for _, t, _ in self.points})

    def losses(self, method: str) -> list[float | None]:
        """Return a method's loss at each level, none where it gave no release."""
        loss_at = {t: loss for name, t, loss in self.points if name == method}
        return [loss_at.get(level) for level in self.levels]
