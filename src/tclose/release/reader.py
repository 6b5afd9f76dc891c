"""What a reader judges a release by: the policy with everything that the release itself does not show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from tclose.policy import DISTANCES, MODELS, Bins, Builder, CostTable, Policy, Quasi, Sensitive
from tclose.privacy import requirement
from tclose.table import SensitiveColumn

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
        joint=policy.joint,
        keep=policy.keep,
        unlinkable=policy.unlinkable,
        both=policy.both,
        person=policy.person if policy.pseudonym else None,
        k=policy.k,
        suppress=policy.suppress,
        missing=policy.missing,
    )


def _written_down(spec: Sensitive, column: SensitiveColumn, told_apart: bool) -> Sensitive:
    changes: dict[str, Any] = {
        "distance": column.distance,
        "below": None,
        "missing": "value" if spec.missing == "value" else None,
    }
    if column.hierarchy is not None:
        rows = column.hierarchy.rows()[: len(column.labels_of_values)]
        changes["hierarchy"] = Builder("rows", tuple(rows))
    if column.costs is not None:
        costs = tuple(tuple(Fraction(int(cost)) for cost in row) for row in column.costs.matrix)
        changes["matrix"] = CostTable(column.costs.values, costs)
    if column.edges is not None:
        changes["bins"] = Bins("edges", column.edges)
    labels = column.labels_of_values or None
    changes |= {name: labels for name in ("order", "domain") if getattr(spec, name) is not None}
    if spec.publish == "bin":
        listed = "order" if DISTANCES[column.distance].allows("order") else "domain"
        changes |= {"bins": None, "publish": None, listed: labels}
    if not told_apart:
        changes |= dict.fromkeys(BY_PERSON)
        if all(getattr(spec, model) is None or model in BY_PERSON for model in MODELS):
            changes["t"] = Fraction(1)  # nothing else is asked for that rows alone could show
    return replace(spec, **changes)
