"""Findings lead to the field that cures them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tclose.measure.attack.results import ATTACKS
from tclose.studio.screens import candidates
from tclose.studio.screens.candidates import CureLink

from .client import Browser
from .conftest import Running
from .finished import KEY

SETTINGS = {"sensitive": {"pay": {}, "ill": {}}}


@pytest.mark.parametrize(
    ("kind", "field"),
    [("same_value", "t"), ("rare_value", "bins"), ("known_value", "column"), ("unprotected", "column")],
)
def test_exposed_rows_lead_to_their_column(kind: str, field: str) -> None:
    found = {"kind": kind, "attributes": {"ill": 7, "gone": 2}}
    assert candidates.links_of_exposure(found, SETTINGS) == [CureLink("sensitive", f"{field}-1", "ill")]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_every_attack_leads_to_a_setting_that_its_cure_names(attack: Any) -> None:
    found = {"cure": attack.cure, "classes": [], "release": {"rows": 3, "sentence": "3 rows show 'pay'."}}
    for cure in candidates.links_of_attack(found, SETTINGS):
        assert cure.anchor == "k" if cure.screen == "quasi" else cure.column == "pay"
        assert re.search(rf"\b{cure.anchor.partition('-')[0]}\b", attack.cure)
    nobody = {**found, "release": {"rows": 0, "sentence": ""}}
    assert candidates.links_of_attack(nobody, SETTINGS) == []


def test_attacks_that_were_not_made_have_no_rows_and_no_cure(running: Running) -> None:
    """Of a release whose persons have several rows, some attacks would say too little."""
    place = running.home / ".tclose" / "studio" / KEY / "candidates" / "0002" / "attack.json"
    found = json.loads(place.read_text())
    found["attacks"][0]["release"] |= {"figure": None, "rows": 0, "sentence": "It was left out."}
    found["attacks"][0]["cure"] = "l = 99, or less"
    found["attacks"][1] |= {"cure": "l = 98, or less"}
    found["attacks"][1]["release"] |= {"figure": 1, "rows": 5}
    place.write_text(json.dumps(found))
    text = Browser(running).page(f"/p/{KEY}/attack?candidate=2")
    assert "<td>not made</td><td>It was left out.</td><td></td>" in text
    assert text.index("l = 98, or less.") < text.index("not made")
    assert text.rindex("<td>0</td>") < text.index("not made")
    assert "l = 99" not in text
