"""How many threads work side by side: as many as the machine has cores, unless TCLOSE_THREADS says otherwise."""

from __future__ import annotations

import os

CHOSEN = "TCLOSE_THREADS"


def threads() -> int:
    """Return the number of threads that work may take.

    >>> threads() >= 1
    True
    """
    chosen = os.environ.get(CHOSEN, "")
    return int(chosen) if chosen.isdecimal() and int(chosen) else os.cpu_count() or 1
