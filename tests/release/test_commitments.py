"""Commitments and the other claims of the steward: what they hide, what they bind, and that all are accounted for."""

from __future__ import annotations

import hashlib
import hmac
import json
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose import InputError, anonymize, verify
from tclose.release.certificate import Certificate, digest_of
from tclose.release.certificate_format import Unreadable
from tclose.release.commitments import CommitmentKeys, Commitments, OpenedRecord, StewardClaims, file_of, is_committable
from tclose.release.output import NOTHING_ADDED, Endorsement
from tclose.release.verify import Demands, verify_with
from tclose.types import silent

KEYS = CommitmentKeys(b"k" * 32, b"s" * 32)
HASH = "0123456789abcdef" * 4
SAID: dict[str, Any] = {
    "valid_until": "2099-12-31",
    "previous": [HASH, HASH[::-1]],
    "commitments": {"scheme": "HMAC-SHA-256", "source": HASH, "seed": HASH[::-1]},
}


@given(st.binary(max_size=100), st.integers(0, 2**64))
def test_commitments_are_what_the_documentation_says(data: bytes, seed: int) -> None:
    """The oracle is the one-shot HMAC, written down a second time."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        committed = KEYS.of_source(file.name)
    begins = b"tclose-commitment-1\0"
    assert committed == hmac.digest(KEYS.source, begins + b"source\0file\0" + data, "sha256").hex()
    assert KEYS.of_seed(seed) == hmac.digest(KEYS.seed, begins + b"seed\0" + str(seed).encode(), "sha256").hex()
    assert committed != hashlib.sha256(data).hexdigest()


def test_a_folder_is_bound_by_names_and_bytes(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    for name, cells in (("a", [1]), ("b", [2])):
        pl.DataFrame({"x": cells}).write_parquet(folder / f"{name}.parquet")
    first = KEYS.of_source(folder)
    assert KEYS.of_source(folder) == first
    for other in ("aa.parquet", "c.parquet"):  # before b and after it
        (folder / "a.parquet").rename(folder / other)
        assert KEYS.of_source(folder) != first
        (folder / other).rename(folder / "a.parquet")
    (folder / "_SUCCESS").touch()  # which is no part of the table
    assert KEYS.of_source(folder) == first
    pl.DataFrame({"x": [3]}).write_parquet(folder / "b.parquet")
    assert KEYS.of_source(folder) != first


def test_what_can_be_shown_again(tmp_path: Path) -> None:
    table = tmp_path / "book.xlsx"
    table.write_bytes(b"PK")
    assert file_of(f"{table}#Sheet 1") == table
    assert is_committable(table)
    assert is_committable(f"{table}#Sheet 1")
    assert not any(map(is_committable, ["-", tmp_path / "absent", "postgresql://host/x#t", pl.DataFrame(), "#a"]))


def test_keys_are_drawn_and_never_shown(tmp_path: Path) -> None:
    keys = CommitmentKeys.new()
    assert len({keys.source, keys.seed, CommitmentKeys.new().source}) == 3
    record = keys.in_record(b'{"seed": 9143852166887805387, "method": "weave"}\n')
    (tmp_path / "r.json").write_bytes(record)
    opened = OpenedRecord.load(tmp_path / "r.json")
    assert (opened.seed, opened.keys) == (9143852166887805387, keys)
    for secret in ("9143852166887805387", keys.source.hex(), keys.seed.hex(), str(keys.source)):
        assert secret not in f"{opened!r}{keys!r}"
    assert json.loads(record)["method"] == "weave"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "5",
        '{"commitment_keys": {}}',
        '{"seed": "S3CR3T", "commitment_keys": {}}',
        '{"seed": true, "commitment_keys": {}}',
        '{"seed": 31337, "commitment_keys": {}}',
        '{"seed": 31337, "commitment_keys": ["S3CR3T"]}',
        '{"seed": 31337, "commitment_keys": {"source": "S3CR3T", "seed": "00"}}',
        '{"seed": 31337}',
        "[" * 100_000,
    ],
)
def test_records_that_are_none_are_not_repeated(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(InputError, match="record") as caught:
        OpenedRecord.load(tmp_path / "r.json")
    assert "S3CR3T" not in str(caught.value)
    assert "31337" not in str(caught.value)
    with pytest.raises(InputError, match="cannot be read"):
        OpenedRecord.load(tmp_path / "absent.json")


# In a certificate


def test_claims_of_the_steward_survive_their_json() -> None:
    claims = StewardClaims.from_dict(SAID)
    assert claims.to_dict() == SAID
    assert claims.commitments == Commitments(HASH[::-1], HASH)
    assert StewardClaims.from_dict({}) == StewardClaims()
    assert StewardClaims().to_dict() == {}


BROKEN: list[dict[str, Any]] = [
    *({"valid_until": value} for value in ("20991231", "2099-12-32", "2099-W01-1", "2099-12-31T00:00", "", None, 2099)),
    *({"previous": value} for value in ([], None, HASH, [HASH.upper()], [HASH[1:]], [5], [[HASH]], {HASH: 1})),
    *({"commitments": value} for value in (None, {}, [], HASH, {"scheme": "HMAC-SHA-256"})),
    *({"commitments": {**SAID["commitments"], name: "x"}} for name in ("scheme", "seed", "source")),
    {"commitments": {**SAID["commitments"], "source": None}},
]


@pytest.mark.parametrize("said", BROKEN)
def test_claims_that_cannot_be_read_are_refused(said: dict[str, Any]) -> None:
    with pytest.raises(Unreadable):
        StewardClaims.from_dict(said)


def test_the_last_day_is_a_valid_one() -> None:
    claims = StewardClaims(date(2027, 12, 31))
    assert claims.problems(date(2027, 12, 31)) == []
    assert claims.problems(date(2028, 1, 1)) == ["the certificate has expired: it was valid until 2027-12-31"]
    assert StewardClaims(date(2020, 1, 1)).problems() != []  # by the clock
    assert StewardClaims(date.max).problems() == []


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A release and the content of its certificate."""
    folder = tmp_path_factory.mktemp("release")
    frame = pl.DataFrame({"age": [20, 30, 40, 50], "pay": [1, 2, 1, 2]})
    policy = {"quasi": ["age"], "k": 2, "sensitive": {"pay": {"t": 1}}}
    anonymize(frame, policy, method="mondrian").write(folder / "r.csv", certificate=folder / "c.json")
    content: dict[str, Any] = json.loads((folder / "c.json").read_text())
    del content["digest"]
    return folder, content


def put(folder: Path, content: dict[str, Any]) -> Path:
    (folder / "new.json").write_text(json.dumps({**content, "digest": digest_of(content)}))
    return folder / "new.json"


def test_every_claim_of_the_steward_is_listed_or_compared(pair: tuple[Path, dict[str, Any]]) -> None:
    folder, content = pair
    found = verify(folder / "r.csv", put(folder, content | SAID))
    assert found.holds
    named = {"valid_until", "previous", "commitments.source", "commitments.seed"}
    assert named <= set(found.not_verifiable)
    assert not [key for key in found.not_verifiable if key.startswith("commitments") and key not in named]
    assert "until when the certificate is valid" in found.not_verifiable_in_words
    plain = verify(folder / "r.csv", put(folder, content))
    assert not named & set(plain.not_verifiable)


def test_an_expired_certificate_fails(pair: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    folder, content = pair
    expired = put(folder, content | {"valid_until": "2026-01-01"})
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")  # which must not turn the clock of a verifier back
    problem = "the certificate has expired: it was valid until 2026-01-01"
    assert verify(folder / "r.csv", expired).problems == (problem,)
    asked: dict[str, Any] = {"digest": None, "population": None, "progress": silent}
    held = verify_with(None, folder / "r.csv", expired, **asked, demands=Demands(on=date(2025, 12, 31)))
    assert held.holds
    assert held.to_dict()["certificate"]["valid_until"] == "2026-01-01"


@pytest.mark.parametrize("said", BROKEN)
def test_a_certificate_with_claims_that_cannot_be_read(pair: tuple[Path, dict[str, Any]], said: dict[str, Any]) -> None:
    folder, content = pair
    with pytest.raises(InputError, match="is not a certificate of tclose: "):
        verify(folder / "r.csv", put(folder, content | said))


def test_a_file_that_is_too_large_is_not_read(pair: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    folder, _ = pair
    with (tmp_path / "c.json").open("wb") as file:
        file.truncate(257 << 20)  # a hole, which takes no space
    with pytest.raises(InputError, match="is too large for a certificate: at most 256 MB"):
        verify(folder / "r.csv", tmp_path / "c.json")


def test_a_table_that_changes_during_the_work_is_not_committed_to(
    pair: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    _, content = pair
    table = tmp_path / "t.csv"
    table.write_text("age\n1\n")
    begun = Endorsement(commit=True).begun(table, record=True, created="2026-01-01T00:00:00Z")
    certificate = Certificate.from_dict(content)
    kept = begun.endorsed(certificate, 7).steward.commitments
    assert begun.keys is not None
    assert kept == Commitments(begun.keys.of_seed(7), begun.keys.of_source(table))
    table.write_text("age\n12\n")
    with pytest.raises(InputError, match="the table"):
        begun.endorsed(certificate, 7)
    assert NOTHING_ADDED.begun(table, record=True, created="2026").endorsed(certificate, 7) is certificate
