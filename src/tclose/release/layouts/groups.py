"""What the layouts share that publish exact quasi-identifiers, and sensitive values by group only."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from tclose.errors import LeakWarning, Unsuited
from tclose.measure.anatomy import reconstruction_error
from tclose.measure.base import DIGITS
from tclose.measure.chosen_loss import chosen_loss
from tclose.measure.utility import MEASURES, MeasuredPartition, class_sizes, measured
from tclose.recode.frame import new_name, recoded
from tclose.release.beside import GROUP
from tclose.release.certificate import Certificate
from tclose.release.published import Options, ReleaseInput, losses_of, partition_of
from tclose.release.verification import NO_IDENTITY, Verified
from tclose.table import CodedTable
from tclose.table.classes import classes_of
from tclose.types import Ints

ERROR = "reconstruction_error"
OF_SIZES = {measure.name for measure in MEASURES if measure.of_sizes}


@dataclass(frozen=True, eq=False)
class GroupCost:
    """What it costs to publish sensitive values by group."""

    measures: Mapping[str, Any]
    losses: Mapping[str, float]
    chosen_loss: float


def _renumbered(labels: Ints, seed: int) -> Ints:
    """Give groups random numbers: how they came about must not show in their numbers."""
    random = np.random.default_rng([seed, len(labels)])
    return np.asarray(random.permutation(int(labels.max()) + 1)[labels])


def grouped(given: ReleaseInput, method: str, options: Options) -> tuple[pl.DataFrame, Ints, str]:
    """Warn that identity is not protected; return the rows, the group of each, and the name of the groups' column."""
    if not given.policy.sensitive:
        raise Unsuited(f"{method} parts sensitive values from their rows, and the policy names none")
    warnings.warn(NO_IDENTITY, LeakWarning, stacklevel=5)
    labels = _renumbered(given.split(method, options).labels, given.seed)
    rows = recoded(given.table, given.policy, beat=given.recoding)
    return rows, labels, new_name(GROUP, given.table.frame.columns)


def group_cost(given: ReleaseInput, rows: pl.DataFrame, labels: Ints) -> GroupCost:
    """Measure what published rows cost whose sensitive values belong to groups."""
    policy = given.policy
    cells = classes_of(rows[list(policy.quasi) or list(policy.visible)])
    partition = partition_of(given, cells)
    measures = _measures(given, partition, labels)
    loss = chosen_loss(given.table, policy, cells, partition)
    loss = measures["discernibility"] if policy.loss == "discernibility" else round(loss, DIGITS)  # of the groups
    return GroupCost(measures, losses_of(given, partition), loss)


def _measures(given: ReleaseInput, partition: MeasuredPartition, labels: Ints) -> dict[str, Any]:
    """Measure detail on quasi-identifiers as they stand, sizes on groups, and what the parting itself costs."""
    groups = replace(partition, sizes=np.bincount(labels), labels=labels, losses=[], weights=())
    of_cells, of_groups = measured(partition), measured(groups)
    return {
        **{name: (of_groups if name in OF_SIZES else of_cells)[name] for name in of_cells},
        "class_sizes": class_sizes(groups),
        ERROR: _mean_error(labels, given.table),
    }


def _mean_error(labels: Ints, table: CodedTable) -> float:
    errors = [reconstruction_error(labels, column.codes) for column in table.sensitive.values()]
    return round(float(np.mean(errors)), DIGITS)


def error_problems(promised: Certificate, verified: Verified) -> list[str]:
    """Compare the error of a reader who tells which value belongs to which row."""
    if verified.table is None:
        return []
    error, claimed = _mean_error(verified.table.classes.labels_by_row(), verified.table), promised.measures.get(ERROR)
    same = isinstance(claimed, int | float) and abs(claimed - error) <= 10**-DIGITS  # sums of floats in another order
    return [] if same else [f"{ERROR} is {error}, which is not what the certificate says"]


def kept_values_problems(rows: pl.DataFrame, keep: tuple[str, ...], group: str) -> list[str]:
    """Say that a group has rows of different kept values, if one has."""
    apart = len(classes_of(rows[[group, *keep]])) == len(classes_of(rows[[group]]))
    return [] if apart else ["a group has rows of different kept values"]
