from __future__ import annotations

import pytest

from tclose.errors import PolicyError
from tclose.policy import DISTANCES, Sensitive, implied_by_settings


@pytest.mark.parametrize(
    ("settings", "distance"),
    [
        ({}, None),
        ({"distance": "value"}, "value"),
        ({"hierarchy": "h.csv"}, "hierarchical"),
        ({"matrix": "m.csv"}, "matrix"),
        ({"order": ["low", "high"]}, "ordered"),
        ({"bins": {"width": 5}}, "ordered"),
        ({"bins": {"width": 5}, "distance": "equal"}, "equal"),
        ({"domain": [1, 2]}, None),
    ],
)
def test_what_a_policy_implies(settings: dict, distance: str | None) -> None:
    assert implied_by_settings(Sensitive(t=0.1, **settings)) == distance


@pytest.mark.parametrize("name", DISTANCES)
def test_a_domain_goes_only_with_distances_that_do_not_bring_their_own(name: str) -> None:
    assert DISTANCES[name].allows("domain") == (DISTANCES[name].needs is None)


def test_a_setting_that_does_not_fit_names_the_distances_that_it_fits() -> None:
    with pytest.raises(PolicyError, match='bins is for distance = "ordered" or "equal", not "value"'):
        Sensitive(t=0.1, distance="value", bins={"width": 1})
