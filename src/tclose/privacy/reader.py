"""What a reader judges a release by: the policy with everything that the release itself does not show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from tclose.policy import DISTANCES, MODELS, Bins, Builder, Policy, Quasi, Sensitive
from tclose.policy.settings import declared
from tclose.privacy import requirement
from tclose.table import Hierarchy, SensitiveColumn

BY_PERSON = tuple(name for name in MODELS if not requirement(name).persons_imply_rows)  # rows do not show them


def reader_policy(policy: Policy, sensitive: Mapping[str, SensitiveColumn], *, knows_persons: bool = False) -> Policy:
    """Return the policy for the published table.

    Published quasi-identifiers are compared as text. Bins, hierarchies and costs are written down; domains that were
    learned from the table are learned again from the release. A reader can tell persons apart by pseudonyms only,
    unlike us.
    """
    told_apart = policy.person is None or knows_persons or policy.pseudonym is not None
    return Policy(
        quasi={name: Quasi() for name in policy.quasi},
        sensitive={name: _written_down(spec, sensitive[name], told_apart) for name, spec in policy.sensitive.items()},
        person=policy.person if policy.pseudonym else None,
        **_kept(policy),
    )


def _kept(policy: Policy) -> dict[str, Any]:
    """Return the settings that a reader judges a release by as they stand."""
    return {name: getattr(policy, name) for name, setting in declared(Policy).items() if setting.judged}


def _written_down(spec: Sensitive, column: SensitiveColumn, told_apart: bool) -> Sensitive:
    """Return the settings of an attribute without files, and without what is learned again from the release."""
    labels, is_binned = column.labels_of_values or None, spec.publish == "bin"
    bins = spec.bins if column.edges is None else Bins("edges", column.edges)
    in_order = is_binned and DISTANCES[column.distance].allows("order")  # published bins are labels
    written = replace(
        spec,
        distance=column.distance,
        below=None,
        missing="value" if spec.missing == "value" else None,
        hierarchy=spec.hierarchy if column.hierarchy is None else _rows_of(column.hierarchy, column),
        matrix=spec.matrix if column.costs is None else column.costs.table,
        bins=None if is_binned else bins,
        publish=None if is_binned else spec.publish,
        order=labels if spec.order is not None or in_order else None,
        domain=labels if spec.domain is not None or (is_binned and not in_order) else None,
    )
    if told_apart:
        return written
    rows_show = any(getattr(spec, model) is not None for model in MODELS if model not in BY_PERSON)
    return replace(written, t=spec.t if rows_show else Fraction(1), **dict.fromkeys(BY_PERSON))


def _rows_of(hierarchy: Hierarchy, column: SensitiveColumn) -> Builder:
    return Builder("rows", tuple(hierarchy.rows()[: len(column.labels_of_values)]))
