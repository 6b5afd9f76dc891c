"""Signed certificates on the command line: who signed, and that nothing forged, stripped, swapped or expired passes."""

from __future__ import annotations

import base64
import json
import os
import select
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography", reason="signing is not installed: pip install 'tclose[sign]'")

from tclose import steps, verify
from tclose.cli import run
from tclose.errors import InputError
from tclose.release.certificate import digest_of
from tclose.release.signatures import Envelope, load_signing_key, statement_of

Run = Callable[..., Any]
TABLE = "age,ward,pay\n" + "".join(
    f"{age},{ward},{pay}\n"
    for age, ward, pay in zip(range(20, 100, 5), "aaaaaaaabbbbbbbb", "1234432112344321", strict=True)
)
POLICY = "keep = ['ward']\nk = 4\n[quasi.age]\n[sensitive.pay]\nt = '1/5'\n"
ANONYMIZE = ("anonymize", "t.csv", "--policy", "p.toml", "--method", "mondrian")
VERIFY = ("verify", "r.csv", "--certificate")
BOTH = ("--signer", "steward.pub", "--signer", "officer.pub")
WORD = "correct horse battery"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, three keys, and a release that the steward and the officer have signed."""
    folder = tmp_path_factory.mktemp("signed")
    (folder / "t.csv").write_text(TABLE)
    (folder / "p.toml").write_text(POLICY)
    before = Path.cwd()
    os.chdir(folder)
    try:
        assert run(["keygen", "--out", "steward"]) == 0
        assert run(["keygen", "--out", "officer", "--format", "openssh", "--comment", "Dr. Ann"]) == 0
        assert run(["keygen", "--out", "stranger"]) == 0
        files = ["--out", "r.csv", "--certificate", "c.json", "--record", "rec.json"]
        assert run([*ANONYMIZE, *files, "--sign", "steward", "--valid-until", "2099-12-31"]) == 0
        assert run(["sign", "c.json", "--key", "officer"]) == 0
    finally:
        os.chdir(before)
    return folder


@pytest.fixture(autouse=True)
def here(made: Path, folder: Path) -> Path:
    shutil.copytree(made, folder, dirs_exist_ok=True)
    return folder


def certificate() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path("c.json").read_text())
    return content


def envelope() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path("c.dsse.json").read_text())
    return content


def rewrite(content: dict[str, Any]) -> None:
    Path("c.dsse.json").write_text(json.dumps(content))


def refused(outcome: Any, *fragments: str) -> None:
    assert outcome.status == 1, outcome.err
    said = " ".join(outcome.out.split())
    assert "Do not trust this release:" in said
    for fragment in fragments:
        assert fragment in said, said


def no_certificate(outcome: Any, *fragments: str) -> None:
    outcome.refuses("is not a certificate of tclose", *fragments)


# It holds


@pytest.mark.parametrize("file", ["c.json", "c.dsse.json"])
def test_a_signed_release_holds(tclose: Run, file: str) -> None:
    outcome = tclose(*VERIFY, file, *BOTH)
    assert (outcome.status, outcome.err) == (0, "")
    assert "Signed by 2 keys of 2 given (2 required):\n  - SHA256:" in outcome.out
    assert "(Dr. Ann, officer.pub)\n" in outcome.out
    assert outcome.out.endswith("The release is the one that was certified, and it meets its policy.\n")
    assert "valid until 2099-12-31" in " ".join(outcome.out.split())
    found = json.loads(tclose(*VERIFY, file, *BOTH, "--json").out)
    assert found["holds"]
    signatures = found["signatures"]
    assert [signatures[key] for key in ("checked", "required", "distinct", "others")] == [True, 2, 2, 0]
    assert [signer["signed"] for signer in signatures["signers"]] == [True, True]
    assert signatures["signers"][1]["comment"] == "Dr. Ann"


def test_without_keys_signatures_are_not_checked(tclose: Run) -> None:
    outcome = tclose(*VERIFY, "c.dsse.json")
    assert outcome.status == 0
    assert "The certificate carries 2 signatures, not checked: give --signer PUB." in outcome.out
    assert json.loads(tclose(*VERIFY, "c.dsse.json", "--json").out)["signatures"] == {"checked": False, "signatures": 2}
    assert "ignature" not in tclose(*VERIFY, "c.json").out


def test_in_python() -> None:
    keys = ["steward.pub", "officer.pub", "stranger.pub"]
    found = verify("r.csv", "c.json", signers=keys[:2])
    assert found.holds
    assert found.signatures is not None
    assert found.signatures.distinct == 2
    assert not verify("r.csv", "c.json", signers=keys).holds
    assert verify("r.csv", "c.json", signers=keys, required=2).holds
    for nothing in (0, -1, True, 1.5, "1"):
        with pytest.raises(InputError, match="a whole number of at least 1: leave it out to require all"):
            verify("r.csv", "c.json", signers=keys, required=nothing)  # type: ignore[arg-type]


def test_the_envelope_is_dsse_with_an_in_toto_statement() -> None:
    content = envelope()
    assert content["payloadType"] == "application/vnd.in-toto+json"
    statement = json.loads(base64.b64decode(content["payload"]))
    assert statement["predicate"] == certificate()
    assert [subject["name"] for subject in statement["subject"]] == ["r.csv"]
    assert all(each["keyid"].startswith("SHA256:") for each in content["signatures"])
    assert stat.S_IMODE(Path("rec.json").stat().st_mode) == 0o600 or os.name != "posix"


def test_as_many_keys_as_are_asked_for(tclose: Run) -> None:
    three = (*BOTH, "--signer", "stranger.pub")
    assert tclose(*VERIFY, "c.json", *three, "--signers", "2").status == 0
    assert tclose(*VERIFY, "c.json", "--signer", "officer.pub").status == 0
    refused(
        tclose(*VERIFY, "c.json", *three), "3 keys must have signed, and 2 of those given have", "stranger.pub) has"
    )
    tclose(*VERIFY, "c.json", *BOTH, "--signers", "3").refuses("and only 2 different keys given")
    assert tclose(*VERIFY, "c.json", *BOTH, "--signers", "0").status == 2
    tclose(*VERIFY, "c.json", "--signers", "1").refuses("no key is given: add --signer PUB")
    same = ("--signer", "steward.pub", "--signer", "steward.pub")
    tclose(*VERIFY, "c.json", *same, "--signers", "2").refuses("only 1 different key given")
    assert "1 more signature in the envelope" in tclose(*VERIFY, "c.json", "--signer", "officer.pub").out


# Forged, stripped, signed by others, swapped, expired


def test_signed_by_somebody_else(tclose: Run) -> None:
    refused(
        tclose(*VERIFY, "c.json", "--signer", "stranger.pub"), "1 key must have signed, and 0", "stranger.pub) has not"
    )


def test_stripped_signatures(tclose: Run) -> None:
    content = envelope()
    rewrite({**content, "signatures": []})
    for file in ("c.json", "c.dsse.json"):
        refused(tclose(*VERIFY, file, "--signer", "steward.pub"), "steward.pub) has not signed the certificate")
    rewrite({**content, "signatures": content["signatures"][:1] * 2})
    refused(tclose(*VERIFY, "c.json", *BOTH), "2 keys must have signed, and 1 of those given has")
    Path("c.dsse.json").unlink()
    refused(tclose(*VERIFY, "c.json", "--signer", "steward.pub"), "is not signed: there is no c.dsse.json beside it")


def test_a_forged_signature(tclose: Run) -> None:
    content = envelope()
    signature = bytearray(base64.b64decode(content["signatures"][0]["sig"]))
    signature[5] ^= 1
    content["signatures"][0]["sig"] = base64.b64encode(signature).decode()
    rewrite(content)
    refused(tclose(*VERIFY, "c.json", *BOTH), "the signature in the name of SHA256:", "does not fit: it is forged")


def test_every_byte_of_the_payload_counts(tclose: Run) -> None:
    """Change single bytes all over the statement: it is no statement any more, or no key has signed it."""
    content, statuses = envelope(), set()
    payload = base64.b64decode(content["payload"])
    for place in range(0, len(payload), 53):
        forged = bytearray(payload)
        forged[place] ^= 1
        rewrite({**content, "payload": base64.b64encode(forged).decode()})
        outcome = tclose(*VERIFY, "c.dsse.json", "--signer", "steward.pub")
        assert outcome.status in (1, 2), place
        statuses.add(outcome.status)
    assert statuses == {1, 2}


def forged(change: Callable[[dict[str, Any]], object], *, key: str | None = None) -> None:
    """Change the certificate and give it a digest that fits, and all subjects; sign it with another key, if at all."""
    content = certificate()
    del content["digest"]
    change(content)
    whole = {**content, "digest": digest_of(content)}
    Path("c.json").write_text(json.dumps(whole))
    before = Envelope.from_dict(envelope())
    changed = Envelope(statement_of(whole), before.signatures)
    Path("c.dsse.json").write_bytes((changed.signed_with(load_signing_key(key)) if key else changed).to_bytes())


def test_a_changed_certificate_with_everything_that_fits(tclose: Run) -> None:
    """Without keys, a later day passes: nobody can know. With them, it does not, also if somebody else signs."""
    for key in (None, "stranger"):
        forged(lambda content: content.update(valid_until="2100-12-31"), key=key)
        assert tclose(*VERIFY, "c.dsse.json").status == 0
        for file in ("c.json", "c.dsse.json"):
            refused(tclose(*VERIFY, file, *BOTH), "does not fit: it is forged, or what was signed has been changed")


def test_a_plain_certificate_beside_the_signed_one(tclose: Run) -> None:
    """Only the plain certificate is changed."""
    content = certificate()
    del content["digest"], content["valid_until"]
    Path("c.json").write_text(json.dumps({**content, "digest": digest_of(content)}))
    assert tclose(*VERIFY, "c.json").status == 0
    refused(tclose(*VERIFY, "c.json", *BOTH), "is not the one that was signed: it differs from the one in c.dsse.json")
    Path("c.dsse.json").write_text(Path("c.json").read_text())
    refused(tclose(*VERIFY, "c.json", *BOTH), "is not the one that was signed", "0 of those given have")


def test_a_changed_release(tclose: Run) -> None:
    text = Path("r.csv").read_text()
    Path("r.csv").write_text(text.replace(",1\n", ",2\n", 1))
    refused(tclose(*VERIFY, "c.dsse.json", *BOTH), "its SHA-256 differs")


def test_the_certificate_of_another_release(tclose: Run) -> None:
    other = ("--out", "r2.csv", "--certificate", "c2.json", "--sign", "steward")
    Path("p.toml").write_text(POLICY.replace("k = 4", "k = 8"))
    assert tclose(*ANONYMIZE, *other).status == 0
    refused(tclose(*VERIFY, "c2.json", "--signer", "steward.pub"), "its SHA-256 differs")
    shutil.copy("c2.dsse.json", "c.dsse.json")
    refused(tclose(*VERIFY, "c.json", "--signer", "steward.pub"), "is not the one that was signed")


def test_files_that_changed_places(tclose: Run) -> None:
    files = ("--out", "a.csv", "--certificate", "a.json", "--sign", "steward")
    Path("p.toml").write_text("k = 4\nquasi = ['age', 'ward']\n[sensitive.pay]\nl = 2\n")
    anatomy = ("anonymize", "t.csv", "--policy", "p.toml", "--method", "anatomy")
    assert tclose(*anatomy, *files).status == 0
    check = ("verify", "a.csv", "--certificate", "a.dsse.json", "--signer", "steward.pub")
    assert tclose(*check).status == 0
    names = [file["name"] for file in json.loads(Path("a.json").read_text())["files"]]
    first, second = (Path(name).read_bytes() for name in names)
    Path(names[0]).write_bytes(second)
    Path(names[1]).write_bytes(first)
    refused(tclose(*check), "its SHA-256 differs")


def test_an_expired_certificate(tclose: Run) -> None:
    refused(tclose(*VERIFY, "c.json", "--on", "2100-01-01", *BOTH), "has expired: it was valid until 2099-12-31")
    assert tclose(*VERIFY, "c.json", "--on", "2099-12-31", *BOTH).status == 0
    day = ("--out", "r2.csv", "--certificate", "c2.json", "--valid-until")
    tclose(*ANONYMIZE, *day, "2025-12-31").refuses("would have expired already: 2025-12-31 is past")
    assert tclose(*ANONYMIZE, *day, "2026-01-01").status == 0  # the day of SOURCE_DATE_EPOCH
    check = ("verify", "r2.csv", "--certificate", "c2.json")
    refused(tclose(*check), "has expired: it was valid until 2026-01-01")
    tclose(*ANONYMIZE, *day, "soon").refuses("does not match the format", usage=True)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda content: content.update(payloadType="application/json"), "its payload type is not"),
        (lambda content: content.update(payload="=" + content["payload"]), "its payload is not base64"),
        (lambda content: content["signatures"][0].update(sig="x"), "a signature in it is not base64"),
        (lambda content: content.update(signatures=content["signatures"] * 60), "more than 100 signatures"),
    ],
)
def test_envelopes_that_are_none(tclose: Run, change: Callable[[dict[str, Any]], object], says: str) -> None:
    content = envelope()
    change(content)
    rewrite(content)
    no_certificate(tclose(*VERIFY, "c.dsse.json", *BOTH), says)


# sign


def test_sign_adds_one_signature(tclose: Run) -> None:
    before = envelope()
    outcome = tclose("sign", "c.dsse.json", "--key", "stranger", "--out", "new.dsse.json")
    assert outcome.status == 0
    assert "new.dsse.json has 3 signatures." in outcome.out
    assert "The certificate says: r.csv, made from t.csv" in outcome.out
    assert envelope() == before
    assert tclose(*VERIFY, "new.dsse.json", *BOTH, "--signer", "stranger.pub").status == 0
    told = json.loads(tclose("sign", "c.json", "--key", "officer", "--json").out)
    assert (told["signatures"], told["added"]) == (2, False)
    assert envelope() == before
    tclose("sign", "c.json", "--key", "officer", "--out", "c.json").refuses("is read and would be overwritten")
    tclose("sign", "c.json", "--key", "officer", "--out", "r.csv").refuses("r.csv exists already")


def test_sign_makes_an_envelope(tclose: Run) -> None:
    Path("c.dsse.json").unlink()
    assert tclose("sign", "c.json", "--key", "officer").status == 0
    assert tclose(*VERIFY, "c.json", "--signer", "officer.pub").status == 0
    refused(tclose(*VERIFY, "c.json", *BOTH), "steward.pub) has not signed")


def test_sign_refuses_what_is_not_whole(tclose: Run) -> None:
    content = certificate()
    Path("c.json").write_text(json.dumps({**content, "rows": 17}))
    tclose("sign", "c.json", "--key", "officer").refuses("c.json was changed after it was made")
    del content["digest"]
    content["withheld"] = 1
    Path("c.json").write_text(json.dumps({**content, "digest": digest_of(content)}))
    tclose("sign", "c.json", "--key", "officer").refuses("c.dsse.json is of another certificate")
    first = {**content, "format": "tclose-certificate-1", "sha256": "0"}
    del first["files"]
    Path("one.json").write_text(json.dumps({**first, "digest": digest_of(first)}))
    tclose("sign", "one.json", "--key", "officer").refuses("is of format 1, which is not signed")
    no_certificate(tclose("sign", "r.csv", "--key", "officer"))
    tclose("sign", "c.json", "--key", "absent").refuses("c.dsse.json is of another certificate")
    tclose("sign", "c.dsse.json", "--key", "absent").refuses("there is no file absent")
    tclose("sign", "c.dsse.json", "--key", ".").refuses(". cannot be read: Is a directory")
    tclose("sign", "c.dsse.json", "--key", "officer", "--out", "officer", "--force").refuses("would be overwritten")


# anonymize


def test_nothing_is_left_if_it_cannot_be_signed(tclose: Run, here: Path) -> None:
    before = sorted(path.name for path in here.iterdir())
    files = ("--out", "r2.csv", "--certificate", "c2.json")
    tclose(*ANONYMIZE, *files, "--sign", "absent").refuses("there is no file absent")
    tclose(*ANONYMIZE, *files, "--sign", "steward.pub").refuses("holds a public key: sign with the private one")
    tclose(*ANONYMIZE, "--out", "r2.csv", "--sign", "steward").refuses("add --certificate FILE")
    tclose(*ANONYMIZE, "--out", "r2.csv", "--valid-until", "2099-01-01").refuses("add --certificate FILE")
    tclose(*ANONYMIZE, *files, "--commit").refuses("add --record FILE")
    tclose(*ANONYMIZE, "--out", "r2.csv", "--certificate", "steward", "--sign", "steward", "--force").refuses(
        "steward is read and would be overwritten"
    )
    Path("c2.dsse.json").write_text("mine")
    tclose(*ANONYMIZE, *files, "--sign", "steward").refuses("c2.dsse.json exists already")
    assert sorted(path.name for path in here.iterdir()) == sorted([*before, "c2.dsse.json"])
    infeasible = ("--out", "r2.csv", "--certificate", "c3.json", "--sign", "steward")
    Path("p.toml").write_text(POLICY.replace("k = 4", "k = 99"))
    assert tclose(*ANONYMIZE, *infeasible).status == 1
    assert not list(here.glob("c3*"))


def test_a_certificate_without_additions_has_no_new_keys(tclose: Run) -> None:
    assert tclose(*ANONYMIZE, "--out", "r2.csv", "--certificate", "c2.json", "--record", "rec2.json").status == 0
    content = json.loads(Path("c2.json").read_text())
    assert not {"valid_until", "previous", "commitments"} & content.keys()
    assert "commitment_keys" not in json.loads(Path("rec2.json").read_text())
    signed = certificate()
    assert set(signed) - set(content) == {"valid_until", "commitments"}


def test_earlier_releases(tclose: Run) -> None:
    new = ("--out", "r2.csv", "--certificate", "c2.json", "--previous")
    assert tclose(*ANONYMIZE, *new, "c.json").status == 0
    assert json.loads(Path("c2.json").read_text())["previous"] == [certificate()["digest"]]
    assert tclose(*ANONYMIZE, *new, "c.dsse.json", "--previous", "c2.json", "--force").status == 2  # c2 is read
    third = ("--out", "r3.csv", "--certificate", "c3.json", "--previous", "c.dsse.json", "--previous", "c2.json")
    assert tclose(*ANONYMIZE, *third).status == 0
    digests = [certificate()["digest"], json.loads(Path("c2.json").read_text())["digest"]]
    assert json.loads(Path("c3.json").read_text())["previous"] == digests
    outcome = tclose("verify", "r3.csv", "--certificate", "c3.json", "--json")
    assert "previous" in json.loads(outcome.out)["not_verifiable"]
    Path("c.json").write_text(json.dumps({**certificate(), "rows": 1}))
    tclose(*ANONYMIZE, "--out", "r4.csv", "--certificate", "c4.json", "--previous", "c.json").refuses("was changed")


def test_the_record_opens_commitments(tclose: Run) -> None:
    outcome = tclose(*VERIFY, "c.json", "--record", "rec.json", "--original", "t.csv")
    assert outcome.status == 0
    assert "As the certificate commits to: the seed of the record and the original table." in outcome.out
    found = json.loads(tclose(*VERIFY, "c.json", "--record", "rec.json", "--json").out)
    assert found["opened"] == ["commitments.seed"]
    assert "commitments.source" in found["not_verifiable"]
    assert "commitments.seed" not in found["not_verifiable"]
    Path("other.csv").write_text(TABLE.replace("20,a", "21,a"))
    swapped = tclose(*VERIFY, "c.json", "--record", "rec.json", "--original", "other.csv")
    refused(swapped, "other.csv is not the table that the certificate commits to")
    record = json.loads(Path("rec.json").read_text())
    Path("rec.json").write_text(json.dumps({**record, "seed": record["seed"] + 1}))
    refused(tclose(*VERIFY, "c.json", "--record", "rec.json"), "the record is not that of this release")
    tclose(*VERIFY, "c.json", "--original", "t.csv").refuses("add --record FILE")
    tclose(*VERIFY, "c.json", "--record", "rec.json", "--original", "absent.csv").refuses("there is no file absent.csv")


def test_commitments_on_request(tclose: Run, process: Run) -> None:
    files = ("--out", "r2.csv", "--certificate", "c2.json", "--record", "rec2.json")
    assert tclose(*ANONYMIZE, *files, "--commit").status == 0
    check = ("verify", "r2.csv", "--certificate", "c2.json", "--record", "rec2.json", "--original")
    assert tclose(*check, "t.csv").status == 0
    piped = ("anonymize", "-", *ANONYMIZE[2:], "--force", *files)
    tclose(*piped, "--commit").refuses("commitments need a table in a file")
    assert process(*piped, "--sign", "steward", stdin=TABLE.encode()).status == 0
    assert json.loads(Path("c2.json").read_text())["commitments"].keys() == {"scheme", "seed"}
    assert tclose(*check[:-1]).status == 0
    tclose(*check, "t.csv").refuses("commits to no table")
    tclose(*VERIFY, "c2.json", "--record", "absent.json").refuses("cannot be read")
    plain = ("--out", "r3.csv", "--certificate", "c3.json", "--record", "rec3.json")
    assert tclose(*ANONYMIZE, *plain).status == 0
    none = tclose("verify", "r3.csv", "--certificate", "c3.json", "--record", "rec3.json")
    none.refuses("has no commitments, so no record is needed")


def test_a_folder_and_the_engine_disk(tclose: Run) -> None:
    files = ("--certificate", "c2.json", "--record", "rec2.json", "--sign", "officer", "--valid-until", "2099-01-01")
    parts = ("anonymize", "t.csv", "--policy", "p.toml", "--engine", "disk", "--effort", "fast", "--out", "parts")
    assert tclose(*parts, "--part-rows", "8", *files).status == 0
    opened = ("--record", "rec2.json", "--original", "t.csv")
    for name in ("c2.json", "c2.dsse.json"):
        check = ("verify", "parts", "--engine", "disk", "--certificate", name, "--signer", "officer.pub")
        assert tclose(*check, *opened).status == 0
        refused(tclose(*check[:-1], "steward.pub"), "steward.pub) has not signed")
        refused(tclose(*check, "--on", "2099-01-02"), "has expired")
    for name in ("c2.json", "c2.dsse.json"):
        shutil.move(name, f"parts/{name}")
    for name in ("c2.json", "c2.dsse.json"):
        assert tclose("verify", "parts", "--certificate", f"parts/{name}", "--signer", "officer.pub").status == 0


# Secrets, passphrases, and the real command line


def secrets(folder: Path) -> list[str]:
    """Return everything that must never be printed or published."""
    record = json.loads((folder / "rec.json").read_text())
    lines = [line for name in ("steward", "officer", "locked") for line in (folder / name).read_text().splitlines()]
    keys = [line for line in lines if "-----" not in line]
    return [str(record["seed"]), *record["commitment_keys"].values(), *keys, WORD]


def test_the_command_line_end_to_end_shows_no_secret(
    tclose: Run, process: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TCLOSE_KEY_PASSPHRASE", WORD)
    made = tclose("keygen", "--out", "locked", "--passphrase")
    assert made.status == 0
    assert b"ENCRYPTED" in (here / "locked").read_bytes()
    files = ("--out", "r2.csv", "--certificate", "c2.json", "--record", "rec.json", "--force")
    signed = process(*ANONYMIZE, *files, "--sign", "locked")
    assert signed.status == 0
    check = ("verify", "r2.csv", "--certificate", "c2.dsse.json", "--signer", "locked.pub")
    verified = tclose(*check, "--record", "rec.json", "--original", "t.csv")
    assert verified.status == 0
    monkeypatch.setenv("TCLOSE_KEY_PASSPHRASE", "another")
    wrong = tclose("sign", "c2.json", "--key", "locked")
    wrong.refuses("the passphrase is wrong, or the file is damaged")
    monkeypatch.delenv("TCLOSE_KEY_PASSPHRASE")
    nobody = tclose("sign", "c2.json", "--key", "locked")
    nobody.refuses("locked is protected by a passphrase: set TCLOSE_KEY_PASSPHRASE, or run tclose in a terminal")
    tclose("keygen", "--out", "x", "--passphrase").refuses("nobody can be asked for a passphrase")
    told = "".join(outcome.out + outcome.err for outcome in (made, signed, verified, wrong, nobody))
    published = "".join((here / name).read_text() for name in ("r2.csv", "c2.json", "c2.dsse.json", "locked.pub"))
    published += base64.b64decode(json.loads((here / "c2.dsse.json").read_text())["payload"]).decode()
    for secret in secrets(here):
        assert secret not in told
        assert secret not in published


def typed(folder: Path, *arguments: str, words: list[str]) -> tuple[int, str]:
    """Run a command at a terminal, and type a word at every prompt."""
    terminal, other = os.openpty()
    command = [sys.executable, "-c", "from tclose.cli import main; main()", *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "TCLOSE_KEY_PASSPHRASE"}
    streams: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), other)
    process = subprocess.Popen(command, **streams, cwd=folder, env=environment, start_new_session=True)
    os.close(other)
    said, left = "", list(words)
    try:
        while select.select([terminal], [], [], 60)[0] and (chunk := os.read(terminal, 4096)):
            said += chunk.decode()
            if said.endswith(": ") and left:
                os.write(terminal, f"{left.pop(0)}\n".encode())
    except OSError:  # the other end is closed
        pass
    os.close(terminal)
    return process.wait(60), said


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such terminals")
def test_a_passphrase_is_asked_for_at_a_terminal(here: Path) -> None:
    steps.keygen(here / "asked", passphrase=WORD)
    status, said = typed(here, "sign", "c.json", "--key", "asked", words=[WORD])
    assert status == 0, said
    assert "Passphrase of asked: " in said
    assert "c.dsse.json has 3 signatures." in said
    assert WORD not in said


def test_the_commands_of_the_documentation(tclose: Run, here: Path) -> None:
    for name in ("steward", "officer", "steward.pub", "officer.pub"):
        (here / name).unlink()
    (here / "t.csv").rename("patients.csv")
    (here / "p.toml").rename("policy.toml")
    text = (Path(__file__).parents[2] / "docs" / "signing.md").read_text(encoding="utf-8")
    commands = [shlex.split(line)[1:] for line in text.splitlines() if line.startswith("    tclose ")]
    assert len(commands) == 7
    for command in commands:
        outcome = tclose(*command)
        assert outcome.status == 0, outcome.err
    assert "Signed by 2 keys of 2 given" in tclose(*commands[-2]).out


def test_without_the_library_the_line_that_installs_it(tclose: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    line = "signing needs cryptography: pip install 'tclose[sign]'"
    tclose("keygen", "--out", "k").refuses(line)
    tclose("sign", "c.json", "--key", "officer").refuses(line)
    tclose(*VERIFY, "c.json", "--signer", "officer.pub").refuses(line)
    tclose(*ANONYMIZE, "--out", "x.csv", "--certificate", "x.json", "--sign", "officer").refuses(line)
    assert tclose(*VERIFY, "c.dsse.json").status == 0
