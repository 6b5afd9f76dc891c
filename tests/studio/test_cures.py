"""Findings lead to the field that cures them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tclose.measure.attack.registry import ATTACKS
from tclose.studio import cures
from tclose.studio.cures import Cure

SETTINGS = {"sensitive": {"pay": {}, "ill": {}}}


@pytest.mark.parametrize(
    ("kind", "field"), [("same_value", "l"), ("rare_value", "bins"), ("known_value", "bins"), ("row_count", "column")]
)
def test_exposed_rows_lead_to_their_column(kind: str, field: str) -> None:
    found = {"kind": kind, "attributes": {"ill": 7, "gone": 2}}
    assert cures.of_exposure(found, SETTINGS) == [Cure("sensitive", f"{field}-1", "ill")]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_every_attack_leads_to_a_setting_that_its_cure_names(attack: Any) -> None:
    found = {"cure": attack.cure, "classes": [], "release": {"rows": 3, "sentence": "3 rows show 'pay'."}}
    for cure in cures.of_attack(found, SETTINGS):
        assert cure.anchor == "k" if cure.screen == "quasi" else cure.column == "pay"
        assert re.search(rf"\b{cure.anchor.partition('-')[0]}\b", attack.cure)
    nobody = {**found, "release": {"rows": 0, "sentence": ""}}
    assert cures.of_attack(nobody, SETTINGS) == []
