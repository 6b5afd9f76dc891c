"""A lower bound as it is stated: rounded down, never above the loss, its proof for the steward alone."""

from __future__ import annotations

import json
import os
import stat
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import count_looks

from tclose import Certificate, InputError, InternalError, LowerBound, Policy, PolicyError, anonymize, bound, verify
from tclose.release.certificate import digest_of
from tclose.release.lower_bound import BoundClaim, ProofFile, rounded_down

TABLE = pl.DataFrame({"age": list(range(20, 60)), "pay": [i // 10 for i in range(40)]})
ASKED: dict[str, Any] = {"quasi": ["age"], "sensitive": {"pay": {"t": 0.2}}, "k": 2}
PROOF = b'{"format": 1, "table": "x", "bound": "1/3", "parts": []}'
SHA = "a" * 64


@pytest.fixture(scope="module")
def released() -> Any:
    with pytest.MonkeyPatch.context() as monkeypatch:
        count_looks(monkeypatch)
        return anonymize(TABLE, ASKED, method="mondrian", bound=True, bound_seconds=1)


def found(exact: Fraction, **more: Any) -> LowerBound:
    return LowerBound(exact, "balls around each row", 1.23, PROOF, **more)


@given(st.fractions(0, 1))
def test_a_bound_is_rounded_down_to_four_digits(exact: Fraction) -> None:
    stated = Fraction(str(rounded_down(exact)))
    assert stated <= exact < stated + Fraction(1, 10_000)
    assert found(exact).to_dict()["exact"] == str(exact)


@given(st.fractions(0, 1), st.floats(0, 1))
def test_a_loss_above_the_bound_never_contradicts_it_once_both_are_rounded(exact: Fraction, more: float) -> None:
    lost = float(exact) + more * (1 - float(exact))
    assert BoundClaim(rounded_down(exact), SHA).problems(round(lost, 4)) == []


@pytest.mark.parametrize(
    ("stated", "lost", "says"),
    [
        (0.2, 0.3, "66.6 % of this loss is unavoidable: every release of this table under this policy"),
        (0.25, 1.0, "25.0 % of this loss is unavoidable: "),
        (
            0.2499,
            1.0,
            "Every release of this table under this policy (one table, all rows) loses at least 0.2499 (GCP).",
        ),
        (0.3, 0.3, "100 % of this loss is unavoidable: "),
        (0.0, 0.3, "No lower bound above 0 was proved for the detail lost."),
        (0.0, 0.0, "No detail was lost."),
        (0.0, None, "No detail was lost."),
    ],
)
def test_a_share_is_stated_where_it_says_much(stated: float, lost: float | None, says: str) -> None:
    assert BoundClaim(stated).sentence(lost).startswith(says)


@given(st.integers(1, 10_000), st.integers(0, 10_000))
def test_the_share_is_never_overstated(bound: int, more: int) -> None:
    lost = min(bound + more, 10_000) / 10_000
    sentence = BoundClaim(bound / 10_000).sentence(lost)
    if "%" in sentence and "over" not in sentence:
        assert float(sentence.split(" %")[0]) / 100 <= bound / 10_000 / lost + 1e-9


@pytest.mark.parametrize("stated", [0.3001, -0.1, True, None, "0.1", float("nan"), [0.1]])
def test_a_claim_that_cannot_be_true_is_a_problem(stated: Any) -> None:
    assert BoundClaim(stated, SHA).problems(0.3)
    with pytest.raises(InternalError, match="above the detail"):
        BoundClaim(stated, SHA).confirm(0.3)


@pytest.mark.parametrize("lost", [None, "0.9", True, float("nan")])
def test_a_bound_needs_a_loss_that_it_can_be_compared_with(lost: Any) -> None:
    assert BoundClaim(0.1, SHA).problems(lost)


# A release with its bound


def test_a_release_has_its_bound_and_the_certificate_only_its_number(released: Any, tmp_path: Path) -> None:
    content = released.certificate.to_dict()
    assert 0 < content["bound"] <= content["measures"]["gcp"]
    assert content["bound"] == released.bound.bound
    released.bound.save(tmp_path / "b.json")
    assert content["bound_proof_sha256"] == released.bound.claim.proof_sha256
    text = released.certificate.to_bytes().decode() + repr(released) + repr(released.bound)
    for secret in ('"prices"', '"radii"', '"cuts"', json.loads(released.bound.proof)["salt"], str(released.seed)):
        assert secret not in text
    assert Certificate.from_dict(content) == released.certificate


def test_two_proofs_of_one_bound_have_different_fingerprints() -> None:
    """Otherwise anyone who knows all rows but one could try values for it until the fingerprint fits."""
    pair = [bound(TABLE.head(4), {**ASKED, "k": 1}, seconds=0.1).proof for _ in range(2)]
    salts = {json.loads(proof)["salt"] for proof in pair}
    assert len(salts) == 2
    assert all(len(salt) == 32 for salt in salts)


def test_verify_lists_the_bound_and_refuses_contradictions(released: Any, tmp_path: Path) -> None:
    released.write(tmp_path / "r.csv", certificate=tmp_path / "c.json")
    listed = verify(tmp_path / "r.csv", tmp_path / "c.json")
    assert listed.holds
    assert {"bound", "bound_proof_sha256"} <= set(listed.not_verifiable)
    assert "the lower bound on the detail lost" in listed.not_verifiable_in_words
    content = released.certificate.to_dict()
    for change, says in [
        (
            {"measures": {**content["measures"], "gcp": content["bound"] / 2}},
            "lower bound is above the detail lost that it states",
        ),
        ({"bound": "much"}, "lower bound is no number from 0 to 1"),
        ({"bound_proof_sha256": "0"}, "fingerprint of the proof of its lower bound is no SHA-256"),
        ({"policy": {**content["policy"], "suppress": 0.1}}, "needs a release of one table with all its rows"),
    ]:
        forged = {**content, **change}
        (tmp_path / "c.json").write_text(json.dumps({**forged, "digest": digest_of(forged)}))
        problems = verify(tmp_path / "r.csv", tmp_path / "c.json").problems
        assert any(says in problem for problem in problems), (change, problems)


def test_certificates_without_a_bound_stay_as_they_were() -> None:
    content = anonymize(TABLE, ASKED, method="mondrian").certificate.to_dict()
    assert not {"bound", "bound_proof_sha256"} & content.keys()
    assert Certificate.from_dict(content).bound is None


def test_the_option_bound_of_a_method_is_not_the_lower_bound() -> None:
    release = anonymize(TABLE, ASKED, method="fragmentation", bound="published", sizing="gcd")
    assert release.bound is None


@pytest.mark.parametrize(
    ("asked", "options", "says"),
    [
        ({"suppress": 0.1}, {}, "suppress allows rows to be withheld"),
        ({"quasi": {"age": {"publish": "mean"}}}, {}, "class means"),
        ({}, {"method": "anatomy"}, "the method 'anatomy' publishes several tables"),
        ({}, {"bound_seconds": 0}, "a number of seconds above 0"),
        ({}, {"bound_seconds": float("inf")}, "a number of seconds above 0"),
    ],
)
def test_no_bound_is_refused_before_rows_are_split(asked: Any, options: Any, says: str) -> None:
    phases: list[str] = []
    with pytest.raises(PolicyError, match=says):
        anonymize(
            TABLE, {**ASKED, **asked}, bound=True, progress=lambda share, phase="": phases.append(phase), **options
        )
    assert not [phase for phase in phases if phase and phase != "reading"]


def test_rows_without_a_sensitive_value_are_withheld_so_no_bound_is_given() -> None:
    table = TABLE.with_columns(pay=pl.when(pl.col("age") == 20).then(None).otherwise(pl.col("pay")))
    policy = Policy.from_dict({**ASKED, "sensitive": {"pay": {"t": 0.2, "missing": "suppress"}}, "suppress": 0.1})
    with pytest.raises(PolicyError, match="every row"):
        bound(table, policy, seconds=1)


# The file


def test_the_proof_is_for_its_owner_alone_and_overwrites_only_with_force(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    found(Fraction(1, 3)).save(path)
    assert path.read_bytes() == PROOF
    if os.name != "nt":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(InputError, match="exists already"):
        found(Fraction(1, 3)).save(path, force=False)
    assert ProofFile.load(path).exact == Fraction(1, 3)


@pytest.mark.parametrize(
    "content",
    [
        b"", b"[]", b"3", b"{", b"[" * 100_000, b'{"format": 1}', b"\xff\xfe",
        b'{"format": 1, "table": "x", "bound": "1e999999999", "parts": []}',
        b'{"format": 1, "table": "x", "bound": 0.5, "parts": []}',
        b'{"format": 1, "table": "x", "bound": "1/0", "parts": []}',
        b'{"format": 1, "table": "x", "bound": "-1/2", "parts": []}',
        b'{"format": 1, "table": 5, "bound": "1/2", "parts": []}',
        b'{"format": 1, "table": "x", "bound": "1/2", "parts": [[]]}',
        b'{"format": 1, "table": "x", "bound": "1/2", "parts": 7}',
    ],
)  # fmt: skip
def test_a_file_that_is_no_proof_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "b.json").write_bytes(content)
    with pytest.raises(InputError, match="is not a proof of a lower bound"):
        ProofFile.load(tmp_path / "b.json")
