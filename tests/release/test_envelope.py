"""DSSE envelopes and in-toto statements: what is signed, what fits, and everything that is refused."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("cryptography", reason="signing is not installed: pip install 'tclose[sign]'")
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tclose.errors import InputError
from tclose.release.certificate_format import Unreadable
from tclose.release.signatures import (
    PAYLOAD_TYPE,
    Envelope,
    PublicKey,
    Signature,
    SignatureFindings,
    SigningKey,
    pae,
    statement_of,
    unwrapped,
)
from tclose.release.verify import Demands

KEYS = [SigningKey(Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32), Path("key")) for n in range(1, 5)]
FILES = [{"name": "r.csv", "rows": 2, "sha256": "a" * 64}, {"name": "s.csv", "rows": 2, "sha256": "b" * 64}]
CERTIFICATE = {"format": "tclose-certificate-2", "files": FILES, "note": "ü €", "digest": "0"}


def parsed(envelope: Envelope) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(envelope.to_bytes())
    return content


NAMES = st.text("a1 ü", max_size=6)
DATA = st.binary(max_size=3) | st.sampled_from([b"1 a", b" 1 a", b"a 1 "])


@given(NAMES, DATA, NAMES, DATA)
def test_different_things_are_encoded_differently(name: str, data: bytes, other: str, more: bytes) -> None:
    """Law of the PAE: it gives back both parts."""
    assert (pae(name, data) == pae(other, more)) == ((name, data) == (other, more))


@given(st.binary(max_size=60), st.sets(st.sampled_from(range(4))))
def test_an_envelope_survives_its_file(payload: bytes, signers: set[int]) -> None:
    envelope = Envelope(payload)
    for number in [*signers, *signers]:  # a second time changes nothing
        envelope = envelope.signed_with(KEYS[number])
    again = Envelope.from_dict(parsed(envelope))
    assert again == envelope
    assert len(again.signatures) == len(signers)
    assert {number for number in range(4) if again.signed_by(KEYS[number].public)} == signers


@given(st.binary(min_size=1, max_size=40), st.integers(0, 10**6), st.integers(1, 255))
def test_one_changed_byte_is_noticed(payload: bytes, place: int, change: int) -> None:
    envelope = Envelope(payload).signed_with(KEYS[0])
    forged = bytearray(payload)
    forged[place % len(payload)] ^= change
    assert not Envelope(bytes(forged), envelope.signatures).signed_by(KEYS[0].public)
    signature = bytearray(envelope.signatures[0].value)
    signature[place % 64] ^= change
    damaged = Envelope(payload, (Signature("", bytes(signature)),))
    assert not damaged.signed_by(KEYS[0].public)
    for length in (0, 63, 65):
        cut = (envelope.signatures[0].value + b"\0")[:length]
        assert not Envelope(payload, (Signature("", cut),)).signed_by(KEYS[0].public)


def test_the_type_is_signed_too() -> None:
    """A signature of the same bytes under another type does not count."""
    signature = KEYS[0].sign(pae("text/plain", b"data"))
    assert not Envelope(b"data", (Signature("", signature),)).signed_by(KEYS[0].public)
    assert not Envelope(b"data", (Signature("", KEYS[0].sign(b"data")),)).signed_by(KEYS[0].public)


def test_both_spellings_of_base64_are_read() -> None:
    envelope = Envelope(b"\xff\xfe\xfb>?").signed_with(KEYS[0])
    content = parsed(envelope)
    assert set("+/") & set(content["payload"])
    for field in (content, content["signatures"][0]):
        name = "payload" if "payload" in field else "sig"
        field[name] = field[name].translate(str.maketrans("+/", "-_"))
    assert Envelope.from_dict(content) == envelope


@pytest.mark.parametrize(
    "text", ["//4=\n", " //4=", "//4", "/_4=", "//5=", "//4==", "//4=A", "!!!!", 5, None, ["//4="]]
)
def test_other_spellings_are_refused(text: Any) -> None:
    for content in (
        {"payloadType": PAYLOAD_TYPE, "payload": text, "signatures": []},
        {"payloadType": PAYLOAD_TYPE, "payload": "", "signatures": [{"sig": text}]},
    ):
        with pytest.raises(Unreadable, match="is not base64"):
            Envelope.from_dict(content)


def test_what_nobody_knows_is_ignored_as_the_specification_asks() -> None:
    content = parsed(Envelope(b"data").signed_with(KEYS[0])) | {"note": 1}
    for more in ({"keyid": None}, {"keyid": ""}, {"cert": "x"}):
        content["signatures"][0] |= more
        assert Envelope.from_dict(content).signed_by(KEYS[0].public) == [0]
    del content["signatures"][0]["keyid"]
    assert Envelope.from_dict(content).signed_by(KEYS[0].public) == [0]


# Statements


def wrapped(statement: Any, **more: Any) -> bytes:
    payload = statement if isinstance(statement, bytes) else json.dumps(statement).encode()
    content = {"payloadType": PAYLOAD_TYPE, "payload": base64.b64encode(payload).decode(), "signatures": []}
    return json.dumps(content | more).encode()


def statement() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(statement_of(CERTIFICATE))
    return found


def test_a_statement_names_every_file() -> None:
    assert statement() == {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [
            {"name": "r.csv", "digest": {"sha256": "a" * 64}},
            {"name": "s.csv", "digest": {"sha256": "b" * 64}},
        ],
        "predicateType": "urn:tclose:certificate:2",
        "predicate": CERTIFICATE,
    }
    content, envelope = unwrapped(wrapped(statement_of(CERTIFICATE)))
    assert content == CERTIFICATE
    assert envelope is not None
    assert unwrapped(json.dumps(CERTIFICATE).encode()) == (CERTIFICATE, None)


def without_name() -> dict[str, Any]:
    return {**CERTIFICATE, "files": [{**FILES[0], "name": None}]}


def test_a_file_that_was_never_written_has_no_name() -> None:
    assert json.loads(statement_of(without_name()))["subject"] == [{"digest": {"sha256": "a" * 64}}]
    assert unwrapped(wrapped(statement_of(without_name())))[0] == without_name()


Change = Callable[[dict[str, Any]], Any]
STRANGE: dict[str, Change] = {
    "a subject removed": lambda said: said["subject"].pop(),
    "a subject more": lambda said: said["subject"].append({"name": "x", "digest": {"sha256": "c" * 64}}),
    "a subject twice": lambda said: said["subject"].append(said["subject"][0]),
    "subjects swapped": lambda said: said["subject"].reverse(),
    "another digest": lambda said: said["subject"][0]["digest"].update(sha256="c" * 64),
    "another algorithm": lambda said: said["subject"][0]["digest"].update(sha512="c" * 128),
    "another name": lambda said: said["subject"][0].update(name="x.csv"),
    "more about a subject": lambda said: said["subject"][0].update(uri="file:///x"),
    "no subjects": lambda said: said.pop("subject"),
    "subjects that are none": lambda said: said.update(subject="r.csv"),
    "a key more": lambda said: said.update(note="trust me"),
    "another type": lambda said: said.update(_type="https://in-toto.io/Statement/v0.1"),
    "no type": lambda said: said.pop("_type"),
    "another predicate": lambda said: said.update(predicateType="https://slsa.dev/provenance/v1"),
    "no predicate": lambda said: said.update(predicate=None),
    "another format": lambda said: said["predicate"].update(format="tclose-certificate-1"),
    "a later format": lambda said: said["predicate"].update(format="tclose-certificate-3"),
    "no files": lambda said: said["predicate"].pop("files"),
    "files that are none": lambda said: said["predicate"].update(files=5),
    "files without names": lambda said: said["predicate"].update(files=[{}]),
}


@pytest.mark.parametrize("change", STRANGE.values(), ids=STRANGE.keys())
def test_a_statement_says_what_its_certificate_says_and_no_more(change: Change) -> None:
    said = statement()
    change(said)
    with pytest.raises(Unreadable):
        unwrapped(wrapped(said))


@pytest.mark.parametrize(
    "data",
    [
        wrapped(b""),
        wrapped(b"{"),
        wrapped(b"[]"),
        wrapped(b"5"),
        wrapped(b"[" * 100_000),
        wrapped(b"\xff"),
        wrapped(statement_of(CERTIFICATE).replace(b'"rows": 2', b'"rows": 200, "rows": 2', 1)),
        wrapped(statement_of(CERTIFICATE).replace(b'"rows": 2', b'"rows": NaN', 1)),
        wrapped(statement(), payloadType="application/json"),
        wrapped(statement(), payloadType=None),
        wrapped(statement(), signatures=None),
        wrapped(statement(), signatures={}),
        wrapped(statement(), signatures=[5]),
        wrapped(statement(), signatures=[{}]),
        wrapped(statement(), signatures=[{"keyid": 5, "sig": ""}]),
        wrapped(statement(), signatures=[{"sig": ""}] * 101),
    ],
)
def test_damaged_envelopes_are_refused(data: bytes) -> None:
    with pytest.raises(Unreadable):
        unwrapped(data)


def test_a_key_that_stands_twice_in_an_envelope() -> None:
    data = wrapped(statement()).replace(b'"signatures"', b'"signatures": [], "signatures"', 1)
    with pytest.raises(ValueError, match="twice"):
        unwrapped(data)


# Who has signed


def found(signed: list[int], asked: list[int], required: int | None = None) -> SignatureFindings:
    envelope = Envelope(b"data")
    for number in signed:
        envelope = envelope.signed_with(KEYS[number])
    return SignatureFindings.of(envelope, [KEYS[number].public for number in asked], required)


@given(st.sets(st.integers(0, 3)), st.lists(st.integers(0, 3), min_size=1, max_size=6), st.integers(1, 4))
def test_distinct_keys_are_counted(signed: set[int], asked: list[int], required: int) -> None:
    findings = found(sorted(signed), asked, required)
    assert findings.distinct == len(signed & set(asked))
    assert (not findings.problems()) == (len(signed & set(asked)) >= required)
    assert findings.others == len(signed - set(asked))
    assert (not found(sorted(signed), asked).problems()) == (set(asked) <= signed)


def test_a_signature_twice_counts_once() -> None:
    once = Envelope(b"data").signed_with(KEYS[0])
    twice = Envelope(b"data", once.signatures * 2)
    findings = SignatureFindings.of(twice, [KEYS[0].public, KEYS[1].public], 2)
    assert findings.distinct == 1
    assert findings.problems()[0] == "2 keys must have signed, and 1 of those given has"


def test_a_key_in_two_files_is_one_key() -> None:
    raw = KEYS[0].public.raw
    findings = SignatureFindings.of(
        Envelope(b"data").signed_with(KEYS[0]), [PublicKey(raw, "a", "a.pub"), PublicKey(raw, "b", "b.pem")], None
    )
    assert (findings.required, findings.distinct, findings.problems()) == (1, 1, [])


def test_a_name_on_a_signature_counts_for_nothing() -> None:
    """The keyid is a hint: a wrong one harms nobody, and a stolen one helps nobody."""
    key, thief = KEYS[0], KEYS[1]
    forged = Envelope(b"data", (Signature(key.public.fingerprint, thief.sign(pae(PAYLOAD_TYPE, b"data"))),))
    findings = SignatureFindings.of(forged, [key.public], None)
    assert findings.distinct == 0
    assert "does not fit: it is forged" in findings.problems()[1]
    assert SignatureFindings.of(forged, [thief.public], None).distinct == 1


@pytest.mark.parametrize("nothing", [0, -1, True, 1.5])
def test_at_least_one_key_must_be_required(nothing: Any) -> None:
    with pytest.raises(InputError, match="at least 1"):
        Demands((KEYS[0].public,), required=nothing)
