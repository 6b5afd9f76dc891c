"""Classes whose average distance is within a limit: t-closeness with the largest t at which the average holds.

No class breaks `average_t` alone, so a method is given a threshold for every class, as for t, and the average of what
it returns is judged exactly. The thresholds are the policy's limits times a factor, which is searched for: with the
factor 1, the average holds wherever every group of kept rows is within the limit as one class. Classes of a group that
is farther may be as far as the group; with the factor 0 they are exactly as far, which the average allows, or else
the table could not be published.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from tclose.errors import Infeasible
from tclose.partition.problem import Problem
from tclose.partition.shared.start import Split
from tclose.policy import Policy
from tclose.privacy.average import average
from tclose.privacy.judge import counts_of, distance_of
from tclose.table import CodedTable
from tclose.table.classes import Classes
from tclose.types import Ints, Progress, stretch

TRIALS = 6  # times that a method is run, at most
CLOSE = Fraction(99, 100)  # of the limit; an average from here up to the limit is good enough
NARROW = Fraction(2, 100)  # between a factor that holds and one that does not, of the latter
MARGIN = Fraction(1, 10)  # of what lies between two factors, by which a new one stays away from both
LARGEST_STEP = 3  # times the factor before

Thresholds = Mapping[int, Fraction]  # a further threshold of some sensitive attributes, by their number


def limited(problem: Problem, limits: Thresholds) -> Problem:
    """Return the problem with further thresholds; a class may be as far as all rows together in any case."""
    if not limits:
        return problem
    sensitive = list(problem.sensitive)
    for number, limit in limits.items():
        attribute = sensitive[number]
        t = max(limit, attribute.emd_of(attribute.codes, attribute.reference))
        sensitive[number] = replace(attribute, t=t if attribute.t is None else min(t, attribute.t))
    return replace(problem, sensitive=tuple(sensitive))


def split_by_average(
    split: Callable[[Thresholds, Progress], Split], table: CodedTable, policy: Policy, progress: Progress
) -> Split:
    """Return classes whose averages hold, by the largest factor that was found; `split` makes classes within limits."""
    averages = {
        number: limit
        for number, name in enumerate(table.sensitive)
        if (limit := policy.sensitive[name].average_t) is not None
    }
    if not averages:
        return split({}, progress)
    search, best = _Search.begun(averages), None
    for trial in range(TRIALS):
        part = stretch(progress, trial / TRIALS, (trial + 1) / TRIALS)
        last = best is None and trial == TRIALS - 1
        factor = Fraction(0) if last else search.factor
        made = split({number: min(factor * limit, Fraction(1)) for number, limit in averages.items()}, part)
        strain = _strain(made.labels, averages, table)
        best = made if strain is not None and strain <= 1 else best
        search = search.after(strain)
        if search.done:
            break
    if best is None:
        names = [f"'{name}'" for number, name in enumerate(table.sensitive) if number in averages]
        raise Infeasible(f"no partition was found for average_t of {', '.join(names)}")
    return best


def _strain(labels: Ints, averages: Thresholds, table: CodedTable) -> Fraction | None:
    """Return the largest average distance as a multiple of its limit, exactly; None where a limit of 0 is passed."""
    classes, strains, columns = Classes.from_labels(labels), [Fraction(0)], list(table.sensitive.values())
    for number, limit in averages.items():
        column = columns[number]
        reached = average(distance_of(column).emd(counts_of(column, classes), column.reference))
        if limit == 0 and reached > 0:
            return None
        strains.append(reached / limit if limit else Fraction(0))
    return max(strains)


@dataclass(frozen=True)
class _Search:
    """The factor to try next, between one that holds and one that does not, as far as they are known."""

    factor: Fraction
    most: Fraction  # the factor from which on no class is limited
    low: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0))  # a factor that holds, and its strain
    high: tuple[Fraction, Fraction] | None = None  # a factor that does not hold, and its strain
    done: bool = False

    @classmethod
    def begun(cls, averages: Thresholds) -> _Search:
        """Begin with the limits themselves, where nothing lies between them and t = 1."""
        smallest = min((limit for limit in averages.values() if limit), default=Fraction(1))
        return cls(Fraction(1), 1 / smallest)

    def after(self, strain: Fraction | None) -> _Search:
        """Return the search after the factor was tried; a strain of 1 is on the line."""
        if strain is not None and strain <= 1:
            found = replace(self, low=(self.factor, strain))
            return replace(found, factor=found.next_factor(), done=strain >= CLOSE or found.is_narrow)
        found = replace(self, high=(self.factor, strain or Fraction(2)))
        return replace(found, factor=found.next_factor(), done=found.is_narrow)

    @property
    def is_narrow(self) -> bool:
        """Whether no factor is left that is worth trying."""
        if self.high is None:
            return self.low[0] >= self.most
        return self.high[0] - self.low[0] <= NARROW * self.high[0]

    def next_factor(self) -> Fraction:
        """Return a factor between the middle and the one at which the strain would be 1 if it grew evenly.

        It is kept away from those that were tried.
        """
        (low, below) = self.low
        if self.high is None:
            guess = low / below if below * LARGEST_STEP > 1 else LARGEST_STEP * low
            return min(_rounded(max(guess, low * (1 + MARGIN))), self.most)
        (high, above) = self.high
        guess = low + (high - low) * (Fraction(1, 2) + (1 - below) / (above - below)) / 2
        margin = MARGIN * (high - low)
        return _rounded(min(max(guess, low + margin), high - margin))


def _rounded(factor: Fraction) -> Fraction:
    return Fraction(round(factor * 10_000), 10_000)
