"""The keys with which a steward signs: made here, kept beside the projects, readable by the steward alone."""

from __future__ import annotations

import re
from pathlib import Path

from tclose import steps
from tclose.errors import InputError
from tclose.studio.project import PRIVATE_FOLDER

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
ENDING = ".pub"  # of a public key


class SigningKeys:
    """A folder of keys, each by its name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def names(self) -> list[str]:
        """The names of all keys whose two halves are there."""
        public = self.folder.glob(f"*{ENDING}") if self.folder.is_dir() else ()
        return sorted(each.stem for each in public if NAME.fullmatch(each.stem) and (self.folder / each.stem).is_file())

    def make(self, name: str, passphrase: str) -> str:
        """Make a key, and return its fingerprint; a key is never overwritten."""
        if not NAME.fullmatch(name):
            raise InputError("the name of a key has letters, digits, hyphens and underscores, at most 40")
        if name in self.names:
            raise InputError(f"there is a key {name} already: choose another name")
        self.folder.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
        made = steps.keygen(self.folder / name, key_format="openssh", comment=name, passphrase=passphrase or None)
        return made.fingerprint

    def private(self, name: str) -> Path:
        """Return the file of a key."""
        if name not in self.names:
            raise InputError("there is no such key")
        return self.folder / name

    def public(self, name: str) -> Path:
        """Return the file of the public half of a key, which readers need."""
        private = self.private(name)
        return private.with_name(f"{name}{ENDING}")
