"""[source] says how the steward's file is written: it is read, and it never leaves the house."""

from __future__ import annotations

from pathlib import Path

import pytest

import tclose
from tclose import PolicyError, steps
from tclose.policy.draft.guesses import draft_source
from tclose.policy.source import SourceSettings

SAID = {"encoding": "cp1252", "decimal": ",", "thousands": ".", "dates": ["dd.mm.yyyy", "yyyy/mm/dd"], "sheet": "Süd"}


def test_a_policy_reads_its_source() -> None:
    policy = tclose.Policy.of({"quasi": ["age"], "k": 2, "source": SAID})
    assert policy.source == SourceSettings(
        encoding="windows-1252", decimal=",", thousands=".", dates=("dd.mm.yyyy", "yyyy/mm/dd"), sheet="Süd"
    )
    assert "source" not in policy.to_dict()
    with pytest.raises(PolicyError, match="source: unknown key 'decimel'"):
        tclose.Policy.of({"quasi": ["age"], "k": 2, "source": {"decimel": ","}})


def test_the_draft_is_read_back_and_says_nothing_of_a_plain_file(tmp_path: Path) -> None:
    assert draft_source(SourceSettings(), ()) == ""
    assert draft_source(None, ()) == ""
    (tmp_path / "t.csv").write_bytes("age;größe\n30;1,75\n40;1,80\n".encode("cp1252"))
    with pytest.warns(UserWarning, match="read as Windows-1252, separator ;, decimal comma"):
        draft = steps.init(tmp_path / "t.csv").policy
    policy = tmp_path / "p.toml"
    policy.write_text(draft.replace("# t = 0.?", "t = 0.5 #"), encoding="utf-8")
    assert tclose.Policy.of(policy).source == SourceSettings(
        encoding="windows-1252", separator=";", decimal=",", thousands=""
    )
    assert steps.check(tmp_path / "t.csv", policy).rows == 2  # without a warning, which would be an error here


def test_what_is_open_stands_in_the_draft(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('age,pay\n30,"1,234"\n40,"2,345"\n')
    draft = steps.init(tmp_path / "t.csv").policy
    assert "\n[source]\n" in draft
    assert "# Decide: the numbers of column 'pay' have commas, as in 1,234" in draft
    (tmp_path / "p.toml").write_text("k = 1\n[quasi.age]\n[sensitive.pay]\nt = 1\n")
    with pytest.raises(tclose.InputError, match="may stand before decimals or between thousands"):
        steps.check(tmp_path / "t.csv", tmp_path / "p.toml")
