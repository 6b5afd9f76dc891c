"""What a release in parts costs and what remains exposed in it, added up over its buckets; and its certificate."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np

from tclose.engine.in_parts.buckets import FinishedBucket
from tclose.engine.in_parts.learning import Learned
from tclose.engine.in_parts.lines import about_columns, figures_in_parts
from tclose.engine.in_parts.shared_values import attributes_of
from tclose.errors import InternalError
from tclose.measure.base import DIGITS
from tclose.measure.chosen_loss import summed_loss
from tclose.measure.exposure import Exposed, ExposedCounts, PublishedClasses, exposed_in_parts
from tclose.measure.line_counts import LineCounts
from tclose.measure.lost import LostDetail
from tclose.measure.utility import Spread, SummedPartition, class_sizes, measured, z_scores
from tclose.partition import DEFAULT_METHOD
from tclose.policy import Policy
from tclose.policy.derived import cell_forms
from tclose.privacy.allowance import Allowance, allowances
from tclose.privacy.counted import JudgedCounts
from tclose.privacy.results import CheckResult
from tclose.privacy.rigidity import rigid_attributes
from tclose.release.certificate import Certificate
from tclose.release.layouts import About, WrittenFile, with_sizes
from tclose.release.layouts.one_table import certificate_of
from tclose.release.naming import tool
from tclose.release.reader import reader_policy
from tclose.table.quasi import NumberColumn
from tclose.types import Floats, Ints

_NO_ROWS = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class ReleaseInParts:
    """A release that was made in parts, wherever: what was proved, and what its steward should know."""

    certificate: Certificate
    result: CheckResult
    exposed: Exposed
    lost: tuple[LostDetail, ...]
    leaks: tuple[str, ...]  # warnings about columns that give rows away
    rigid: tuple[str, ...]  # of which attributes the smallest class can show one composition only
    allows: Mapping[str, Allowance]  # what each t means in shares


@dataclass(eq=False)
class Totals:
    """What the buckets of a release add up to."""

    learned: Learned
    rows: int = 0
    sizes: list[Ints] = field(default_factory=list)
    lost: Floats | float = 0.0
    between: Floats | float = 0.0  # per numeric quasi-identifier
    exposed: ExposedCounts = field(default_factory=lambda: ExposedCounts({}))
    lines: LineCounts = field(default_factory=LineCounts)

    def add(self, bucket: FinishedBucket) -> None:
        """Add one more bucket."""
        self.rows += int(bucket.sizes.sum())
        self.sizes.append(bucket.sizes)
        self.lost = self.lost + bucket.lost
        self.exposed = self.exposed + bucket.exposed
        self.lines = self.lines + bucket.lines
        slopes, starts = (np.array([line[place] for line in self._lines]) for place in range(2))
        sums = bucket.sums * slopes + bucket.sizes[:, None] * starts
        self.between = self.between + (sums**2 / bucket.sizes[:, None]).sum(axis=0)

    @cached_property
    def _lines(self) -> list[tuple[float, float, float]]:
        """How the places of each number become z-scores, a slope and a start, and what their squares add up to."""
        return [_line(column, counts) for column, counts in self._numbers]

    @property
    def _numbers(self) -> list[tuple[NumberColumn, Ints]]:
        """The numeric quasi-identifiers, and how many rows are at each place; those that are missing come last."""
        domains = self.learned.table.quasi.values()
        columns = [(domain.column(_NO_ROWS), domain.values) for domain in domains]
        return [
            (column, np.append(values.counts, values.missing))
            for column, values in columns
            if isinstance(column, NumberColumn)
        ]

    @property
    def partition(self) -> SummedPartition:
        """What the measures are computed from."""
        policy = self.learned.table.policy
        between = np.broadcast_to(self.between, len(self._lines)).tolist()
        spreads = [Spread(part, whole) for part, (_, _, whole) in zip(between, self._lines, strict=True) if whole]
        return SummedPartition(
            sizes=np.concatenate(self.sizes),
            lost=np.broadcast_to(self.lost, len(policy.quasi)).tolist(),
            spreads=spreads,
            withheld=self.learned.table.withheld,
            k=policy.k,
            weights=[float(weight) for weight in policy.weights.values()],
        )

    def release(
        self,
        judged: JudgedCounts,
        files: Sequence[WrittenFile],
        leaks: tuple[str, ...],
        *,
        begun: str,
        name: str | None,
    ) -> ReleaseInParts:
        """Say what was found, what it cost and what remains exposed; what does not hold must never be released."""
        if not judged.result.satisfied or int(judged.sizes.sum()) != self.learned.table.rows:
            raise InternalError("the finished release does not hold what was asked for, so it was not released")
        policy = self.learned.table.policy
        certificate = with_sizes(self._certificate(judged.result, files, begun, name), [judged.sizes], policy.k)
        return ReleaseInParts(
            certificate=certificate,
            result=judged.result,
            exposed=self._exposed(),
            lost=self._lost(certificate),
            leaks=leaks,
            rigid=tuple(each.sentence for each in rigid_attributes(self.learned.counted, policy)),
            allows=allowances(self.learned.counted, policy),
        )

    def _exposed(self) -> Exposed:
        """Return what remains exposed in the whole release."""
        about = about_columns(self.learned, attributes_of(self.learned))
        attributes = list(about.attributes.values())
        policy = self.learned.table.policy
        persons = None if policy.person is None else _NO_ROWS
        seen = PublishedClasses(_NO_ROWS, _NO_ROWS, attributes, max(policy.k, 2), persons)
        found = exposed_in_parts([self.exposed], seen, self.rows)
        return replace(found, figures=figures_in_parts(self.lines, self.learned, about))

    def _certificate(
        self, result: CheckResult, files: Sequence[WrittenFile], begun: str, name: str | None
    ) -> Certificate:
        partition, policy = self.partition, self.learned.table.policy
        measures: dict[str, Any] = {**measured(partition), "class_sizes": class_sizes(partition)}
        loss = round(summed_loss(policy, partition), DIGITS)
        about = about_release(self.learned, begun=begun, name=name)
        return certificate_of(about, result, files, measures=measures, loss=loss)

    def _lost(self, certificate: Certificate) -> tuple[LostDetail, ...]:
        """Return that everything was lost, if that is so."""
        sizes: Any = certificate.measures["class_sizes"]
        gcp: Any = certificate.measures["gcp"]
        loss = LostDetail(self.rows, sizes["largest"] == self.rows, gcp, self.learned.table.withheld)
        return (loss,) if loss.everything else ()


def about_release(learned: Learned, *, begun: str, name: str | None) -> About:
    """Return what the certificate of a release in parts says whatever was found."""
    table, policy = learned.table, learned.table.policy
    return About(
        version=version("tclose"),
        method=DEFAULT_METHOD,
        settings=reader_policy(policy, table.sensitive).to_dict(),
        withheld=table.withheld,
        counted="rows" if policy.person is None else "persons",
        tool=tool(),
        created=begun,
        table=name,
        loss=policy.chosen_loss,
        cells=cell_forms(policy),
    )


def record_of(seed: int) -> bytes:
    """Return the notes that allow a release to be repeated, for its steward's eyes only."""
    notes = {"seed": seed, "method": DEFAULT_METHOD, "version": version("tclose")}
    return (json.dumps(notes) + "\n").encode()


def judging_policy(learned: Learned) -> Policy:
    """Return the policy by which we judge the whole release: unlike a reader, we can tell persons apart."""
    return reader_policy(learned.table.policy, learned.table.sensitive, knows_persons=True)


def _line(column: NumberColumn, counts: Ints) -> tuple[float, float, float]:
    """Return how places become z-scores: slope · place + start; and the sum of their squares, 0 if all are equal."""
    places = column.all_places()
    if (scores := z_scores(places, counts)) is None:
        return 0.0, 0.0, 0.0
    low, high = int(np.argmin(places)), int(np.argmax(places))
    slope = float((scores[high] - scores[low]) / (places[high] - places[low]))
    return slope, float(scores[low] - slope * places[low]), float(counts @ scores**2)
