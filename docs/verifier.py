"""Check a signed release without tclose: python verifier.py release.dsse.json steward.pub release.csv [more files].

Needs the package cryptography. Checks signature, files, valid_until and k of a CSV file; tclose verify judges the rest.
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

TYPE = "application/vnd.in-toto+json"


def need(holds, sentence):
    if not holds:
        sys.exit(f"Do not trust this release: {sentence}")


def once(pairs):
    return dict(pairs) if len(dict(pairs)) == len(pairs) else need(False, "a key stands twice in its JSON")


def signed(key, signature, message):
    try:
        key.verify(base64.urlsafe_b64decode(signature["sig"].translate(str.maketrans("+/", "-_"))), message)
    except InvalidSignature:
        return False
    return True


envelope_file, key_file, *files = map(pathlib.Path, sys.argv[1:])
load = load_ssh_public_key if key_file.read_bytes().startswith(b"ssh-") else load_pem_public_key
key = load(key_file.read_bytes())
need(isinstance(key, Ed25519PublicKey), "the key is no Ed25519 key")
envelope = json.loads(envelope_file.read_bytes(), object_pairs_hook=once)
payload = base64.urlsafe_b64decode(envelope["payload"].translate(str.maketrans("+/", "-_")))
message = b"DSSEv1 %d %b %d %b" % (len(TYPE), TYPE.encode(), len(payload), payload)
need(any(signed(key, each, message) for each in envelope["signatures"]), "this key has not signed it")
statement = json.loads(payload, object_pairs_hook=once)
need(statement["predicateType"] == "urn:tclose:certificate:2", "what was signed is no certificate of tclose")
certificate, policy = statement["predicate"], statement["predicate"]["policy"]
found = sorted(hashlib.sha256(path.read_bytes()).hexdigest() for path in files)
need(found == sorted(each["digest"]["sha256"] for each in statement["subject"]), "these are not the signed files")
need(found == sorted(each["sha256"] for each in certificate["files"]), "the certificate is of other files")
today = f"{datetime.now(UTC):%Y-%m-%d}"
need(today <= certificate.get("valid_until", today), "the certificate has expired")
if len(files) == 1 and files[0].suffix == ".csv" and not {"tables", "group"} & certificate.keys():
    rows = csv.DictReader(io.StringIO(files[0].read_bytes().decode(), newline=""))
    classes = Counter(tuple(map(row.get, (*policy["quasi"], *policy.get("keep", ())))) for row in rows)
    need(min(classes.values()) >= policy.get("k", 1), "a class is smaller than k")
print(f"Signed, unchanged and valid: {certificate['rows']} rows in {certificate['classes']} classes.")
