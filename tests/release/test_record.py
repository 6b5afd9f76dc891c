"""Records: what they hold, what they never show, and what is read again."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose import InputError, Policy, anonymize
from tclose.release.record import (
    Notes,
    RecordedSeed,
    classes_of_record,
    load_record,
    policy_digest,
    rolled,
    unrolled,
    written_down,
)
from tclose.table import encode

TABLE = pl.DataFrame({"age": [20, 30, 40, 50], "zip": ["x1", "x2", "y1", "y1"], "pay": [3, 4, 3, 4]})


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    (tmp_path / "zip.csv").write_text("x1;x;*\nx2;x;*\ny1;y;*\n")
    (tmp_path / "pay.csv").write_text(",3,4\n3,0,1\n4,1,0\n")
    asked = {"age": {}, "zip": {"hierarchy": "zip.csv"}}
    return Policy.from_dict(
        {"quasi": asked, "sensitive": {"pay": {"t": 0.2, "matrix": "pay.csv"}}, "k": 2}, folder=tmp_path
    )


@given(st.lists(st.integers(0, 3), min_size=1))
def test_batches_are_written_as_runs(batches: list[int]) -> None:
    assert unrolled(rolled(np.array(batches))).tolist() == batches


def test_a_record_is_read_again(tmp_path: Path, policy: Policy) -> None:
    release = anonymize(TABLE, policy, method="mondrian")
    certificate = release.write(tmp_path / "r.csv", certificate=tmp_path / "c.json", record=tmp_path / "rec.json")
    record = load_record(tmp_path / "rec.json")
    assert (record.format, record.seed, record.method) == (2, release.seed, "mondrian")
    assert str(record.seed) not in repr(record)
    assert record.policy == written_down(policy)
    assert not record.policy.files
    assert record.judged_by.to_dict() == certificate.settings
    assert (record.files[0].name, record.files[0].sha256) == ("r.csv", certificate.files[0].sha256)
    assert record.certificate_digest == certificate.digest
    assert record.notes.kinds == {"age": "number", "zip": "label"}
    classes, published = record.content["classes"], pl.read_csv(tmp_path / "r.csv", infer_schema=False)
    assert sum(classes["rows"]) == published.height
    assert set(map(tuple, classes["cells"])) == set(published.select(classes["columns"]).rows())
    assert [sum(values.values()) for values in classes["values"]["pay"]] == classes["rows"]


def test_missing_values_of_a_class_are_counted_as_the_empty_text() -> None:
    table = pl.DataFrame({"zone": ["a", "a", "a", "b"], "pay": ["3", "", "", "4"]})
    asked = Policy.from_dict({"quasi": ["zone"], "sensitive": {"pay": {"t": 1, "missing": "value"}}})
    assert classes_of_record(encode(table, asked))["values"] == {"pay": [{"3": 1, "": 2}, {"4": 1}]}


def test_room_is_noted_beside_the_policy_that_was_asked_for(policy: Policy) -> None:
    noted = Notes().with_room(policy, Fraction(1, 5))
    assert (noted.room, noted.policy) == (Fraction(1, 5), written_down(policy).to_dict())
    assert Notes().with_room(policy, Fraction(0)).policy is None


def test_the_digest_of_a_policy_is_about_what_its_files_say(tmp_path: Path, policy: Policy) -> None:
    before = policy_digest(written_down(policy).to_dict())
    (tmp_path / "zip.csv").write_text("x1;X;*\nx2;X;*\ny1;y;*\n")
    assert policy_digest(written_down(policy).to_dict()) != before


def test_a_recorded_seed_shows_nothing(tmp_path: Path, policy: Policy) -> None:
    anonymize(TABLE, policy, method="mondrian").write(tmp_path / "r.csv", record=tmp_path / "rec.json")
    seed = RecordedSeed.of(load_record(tmp_path / "rec.json"))
    assert str(int(seed)) not in repr(seed)
    assert json.dumps(seed) == str(int(seed))
    with pytest.raises(InputError, match="not repeated byte for byte"):
        seed.confirm(["0" * 64], "0.1.0")


@pytest.mark.parametrize("made", [("b", "a"), ("a",), ("a", "b", "b"), ("a", "c"), ()])
def test_a_replay_is_all_the_recorded_files_in_their_order(made: tuple[str, ...]) -> None:
    seed = RecordedSeed(1)
    seed.expected, seed.version = ("a", "b"), "0.3.0"
    seed.confirm(["a", "b"], "0.3.0")
    with pytest.raises(InputError, match="not repeated byte for byte"):
        seed.confirm(made, "0.3.0")
