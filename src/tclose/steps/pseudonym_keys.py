"""Make the secret key of pseudonyms."""

from __future__ import annotations

import os
from pathlib import Path

from tclose.errors import InputError
from tclose.release.files import check_targets, pending, publish
from tclose.table.pseudonym_key import PseudonymKey, new_secret


def pseudonym_key(path: str | Path) -> str:
    """Write a new key, readable by its owner alone, and return its fingerprint; an existing file is refused."""
    target, secret = Path(path), new_secret()
    if os.path.lexists(target):
        raise InputError(f"{target} exists already, and a key that was used must not get lost: name another file")
    check_targets([target])
    with pending({"key": target}, private={"key"}, force=False) as files:
        files["key"].write(lambda file: file.write(secret))
        publish(files.values())
    return PseudonymKey(secret).fingerprint
