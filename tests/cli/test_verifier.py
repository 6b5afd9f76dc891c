"""docs/verifier.py: it is short, needs no tclose, takes what is true and refuses what is forged."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

pytest.importorskip("cryptography", reason="signing is not installed: pip install 'tclose[sign]'")

from tclose import steps
from tclose.release.certificate import digest_of
from tclose.release.signatures import Envelope, load_signing_key, statement_of

SCRIPT = Path(__file__).parents[2] / "docs" / "verifier.py"
ALONE = """
import json, runpy, sys
sys.modules["tclose"] = None  # as if it were not installed
answers = []
for arguments in json.load(sys.stdin):
    sys.argv = [sys.argv[0], *arguments]
    try:
        runpy.run_path(sys.argv[0])
        answers.append("")
    except SystemExit as ended:
        answers.append(str(ended))
json.dump(answers, sys.stderr)
"""


def answers(cases: list[list[str]], folder: Path) -> list[str]:
    """Run the verifier on each case, in one process of its own; return why it refused each, or nothing."""
    command = [sys.executable, "-c", ALONE.replace("sys.argv[0], *", f"{str(SCRIPT)!r}, *").strip()]
    done = subprocess.run(
        command, input=json.dumps(cases), capture_output=True, cwd=folder, check=True, text=True, encoding="utf-8"
    )
    found: list[str] = json.loads(done.stderr)
    assert done.stdout.count("Signed, unchanged and valid: 8 rows in ") == found.count("")
    return found


def test_it_is_short_and_needs_the_standard_library_and_cryptography_only() -> None:
    lines = SCRIPT.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 60
    assert "tclose" not in {word for line in lines if line.startswith(("import", "from")) for word in line.split()}


def test_what_is_true_passes_and_what_is_forged_does_not(tmp_path: Path) -> None:
    table = pl.DataFrame({"age": [20, 30, 40, 50] * 2, "ill": ["flu", "cold"] * 4})
    policy = {"quasi": ["age"], "k": 4, "sensitive": {"ill": {"t": "1/2"}}}
    steps.keygen(tmp_path / "steward")
    steps.keygen(tmp_path / "officer", key_format="openssh", comment="Dr. Ann")
    files = {"out": tmp_path / "r.csv", "certificate": tmp_path / "c.json"}
    steps.anonymize(table, policy, **files, method="mondrian", endorsement=steps.endorsement(key=tmp_path / "steward"))
    steps.sign(tmp_path / "c.json", tmp_path / "officer", out=tmp_path / "both.dsse.json")
    steps.sign(tmp_path / "c.json", tmp_path / "officer")

    content = json.loads((tmp_path / "c.json").read_text())
    good = json.loads((tmp_path / "c.dsse.json").read_text())
    key = load_signing_key(tmp_path / "steward")

    def put(name: str, **more: Any) -> None:
        (tmp_path / name).write_text(json.dumps(good | more))

    def sign(name: str, **more: Any) -> None:
        said = {**content, **more}
        del said["digest"]
        statement = statement_of({**said, "digest": digest_of(said)})
        (tmp_path / name).write_bytes(Envelope(statement).signed_with(key).to_bytes())

    payload = base64.b64decode(good["payload"])
    put("byte.json", payload=base64.b64encode(payload.replace(b'"rows": 8', b'"rows": 9', 1)).decode())
    put("stripped.json", signatures=[])
    put("swapped.json", signatures=[{"sig": base64.b64encode(key.sign(payload)).decode()}])
    put("urlsafe.json", payload=base64.urlsafe_b64encode(payload).decode())
    sign("expired.json", valid_until="2020-01-01")
    sign("valid.json", valid_until="2999-01-01")
    sign("larger.json", policy={**content["policy"], "k": 5})
    (tmp_path / "twice.json").write_text((tmp_path / "c.dsse.json").read_text().replace("{", '{"payload": "",', 1))
    unchecked = "this script checks k of rows in one CSV file of text cells only, so use tclose verify"
    sign("typed.json", release_format="columns")
    sign("persons.json", counted="persons")
    sign("other.json", policy={**content["policy"], "quasi": {"age": {}, "sex": {}}})
    (tmp_path / "x.csv").write_bytes((tmp_path / "r.csv").read_bytes().replace(b"flu", b"flx", 1))

    cases = {
        ("c.dsse.json", "steward.pub", "r.csv"): "",
        ("c.dsse.json", "officer.pub", "r.csv"): "",
        ("urlsafe.json", "officer.pub", "r.csv"): "",
        ("valid.json", "steward.pub", "r.csv"): "",
        ("valid.json", "officer.pub", "r.csv"): "this key has not signed it",
        ("byte.json", "steward.pub", "r.csv"): "this key has not signed it",
        ("stripped.json", "steward.pub", "r.csv"): "this key has not signed it",
        ("swapped.json", "steward.pub", "r.csv"): "this key has not signed it",
        ("twice.json", "steward.pub", "r.csv"): "a key stands twice in its JSON",
        ("expired.json", "steward.pub", "r.csv"): "the certificate has expired",
        ("larger.json", "steward.pub", "r.csv"): "a class is smaller than k",
        ("typed.json", "steward.pub", "r.csv"): unchecked,
        ("persons.json", "steward.pub", "r.csv"): unchecked,
        ("other.json", "steward.pub", "r.csv"): "it lacks a column that the certificate names",
        ("c.dsse.json", "steward.pub", "x.csv"): "these are not the signed files",
        ("c.dsse.json", "steward.pub"): "these are not the signed files",
        ("c.dsse.json", "steward.pub", "r.csv", "x.csv"): "these are not the signed files",
    }
    found = answers([list(case) for case in cases], tmp_path)
    assert found == [says and f"Do not trust this release: {says}" for says in cases.values()]
