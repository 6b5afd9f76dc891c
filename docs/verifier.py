"""Check a signed release without tclose: python verifier.py release.dsse.json steward.pub release.csv.

Needs the package cryptography. Checks signature, file, valid_until and k; tclose verify judges the rest.
"""

import base64
import csv
import hashlib
import io
import json
import pathlib
import sys
from collections import Counter
from datetime import UTC, datetime

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key, load_ssh_public_key


def need(holds, sentence):
    if not holds:
        sys.exit(f"Do not trust this release: {sentence}")


def once(pairs):
    return dict(pairs) if len(dict(pairs)) == len(pairs) else need(False, "a key stands twice in its JSON")


def signed(key, signature, message):
    try:
        return not key.verify(base64.urlsafe_b64decode(signature["sig"].translate(str.maketrans("+/", "-_"))), message)
    except InvalidSignature:
        return False


envelope_file, key_file, *files = map(pathlib.Path, sys.argv[1:])
data = key_file.read_bytes()
key = load_ssh_public_key(data) if data.startswith(b"ssh-") else load_pem_public_key(data)
need(isinstance(key, Ed25519PublicKey), "the key is no Ed25519 key")
envelope = json.loads(envelope_file.read_bytes(), object_pairs_hook=once)
payload = base64.urlsafe_b64decode(envelope["payload"].translate(str.maketrans("+/", "-_")))
message = b"DSSEv1 28 application/vnd.in-toto+json %d %b" % (len(payload), payload)
need(any(signed(key, each, message) for each in envelope["signatures"]), "this key has not signed it")
statement = json.loads(payload, object_pairs_hook=once)
need(statement["predicateType"] == "urn:tclose:certificate:2", "what was signed is no certificate of tclose")
certificate, policy = statement["predicate"], statement["predicate"]["policy"]
found = sorted(hashlib.sha256(path.read_bytes()).hexdigest() for path in files)
need(found == sorted(each["digest"]["sha256"] for each in statement["subject"]), "these are not the signed files")
need(found == sorted(each["sha256"] for each in certificate["files"]), "the certificate is of other files")
need(f"{datetime.now(UTC):%Y-%m-%d}" <= certificate.get("valid_until", "9999"), "the certificate has expired")
text = certificate["counted"] == "rows" and not {"release_format", "tables", "group"} & certificate.keys()
text = text and [file.suffix for file in files] == [".csv"]
need(text, "this script checks k of rows in one CSV file of text cells only, so use tclose verify")
rows = csv.DictReader(io.StringIO(files[0].read_bytes().decode(), newline=""))
shown = [*policy["quasi"], *policy.get("keep", ())]
need({*shown} <= {*rows.fieldnames}, "it lacks a column that the certificate names")
classes = Counter(tuple(map(row.get, shown)) for row in rows)
need(min(classes.values()) >= policy.get("k", 1), "a class is smaller than k")
print(f"Signed, unchanged and valid: {certificate['rows']} rows in {certificate['classes']} classes.")
