"""Make the secret key of pseudonyms."""

from __future__ import annotations

from pathlib import Path

from tclose.release.files import check_targets, pending, publish
from tclose.table.pseudonym_key import PseudonymKey, new_secret


def pseudonym_key(path: str | Path) -> str:
    """Write a new key, readable by its owner alone, and return its fingerprint; an existing file is refused."""
    target, secret = Path(path), new_secret()
    check_targets([target], force=False)
    with pending({"key": target}, private={"key"}, force=False) as files:
        files["key"].write(lambda file: file.write(secret))
        publish(files.values())
    return PseudonymKey(secret).fingerprint
