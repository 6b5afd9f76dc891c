"""Files of others that are dropped to be verified: they lie in the project as long as the verification takes."""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import ExitStack
from pathlib import Path

from tclose.studio.holding import held
from tclose.studio.project import PRIVATE_FOLDER

FOLDER = Path("results") / "dropped"  # of a project


class Dropped:
    """The files of one verification, in a folder of their own that this process holds."""

    def __init__(self, project: Path) -> None:
        (project / FOLDER).mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        self.folder = project / FOLDER / secrets.token_hex(8)
        self.folder.mkdir(mode=PRIVATE_FOLDER)
        self._hold = ExitStack()
        self._hold.enter_context(held(self.folder))

    def remove(self) -> None:
        """Remove them; that they are gone already is no mistake."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._hold.close()


def remove_left(project: Path) -> None:
    """Remove what a killed studio left behind; what another studio is verifying stays."""
    try:
        folders = [Path(each.path) for each in os.scandir(project / FOLDER) if each.is_dir(follow_symlinks=False)]
    except OSError:
        return
    for folder in folders:
        try:
            with held(folder) as free:
                if free:
                    shutil.rmtree(folder, ignore_errors=True)
        except OSError:  # another studio has just removed it
            continue
