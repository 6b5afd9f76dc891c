"""Types that travel between folders: arrays, claims, and the one way to report progress and to be cancelled."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
SmallInts = NDArray[np.int32]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Beat = Callable[[], None]  # called by long loops that know no share of the work; it may raise `Cancelled`
Answer = Literal["yes", "no", "undecided"]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What tclose says about a release: an answer, the sentence for people, and what would decide an undecided one.

    >>> Claim(answer="no", says="2 of 9 classes have fewer than 5 rows").to_dict()
    {'answer': 'no', 'says': '2 of 9 classes have fewer than 5 rows'}
    """

    answer: Answer
    says: str
    needs: str = ""  # for an undecided claim only: what would decide it

    def __post_init__(self) -> None:
        """Refuse a claim that leaves open why it is undecided."""
        if (self.answer == "undecided") != bool(self.needs):
            raise ValueError("an undecided claim, and no other, says what would decide it")

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON has."""
        return {"answer": self.answer, "says": self.says} | ({"needs": self.needs} if self.needs else {})


def together(answers: Iterable[Answer]) -> Answer:
    """Return the answer to several questions at once: yes only if all are yes, no as soon as one is.

    >>> together(["yes", "undecided"]), together(["undecided", "no"]), together([])
    ('undecided', 'no', 'yes')
    """
    found = {*answers}
    return "no" if "no" in found else "undecided" if "undecided" in found else "yes"


class Progress(Protocol):
    """Called during long work with the share done, from 0 to 1, and the name of the current phase.

    An empty phase means that the phase has not changed. Raising `Cancelled` (or any other exception) from it stops the
    work: nothing is written, nothing is left behind. Progress is called about every second at least, between columns
    and between blocks of rows. A single operation of NumPy or polars, or the compilation of a single kernel, is not
    interrupted, and takes longer than a second on tables of some hundred thousand rows or more.
    """

    def __call__(self, share: float, phase: str = "") -> None:
        """Take note of how far the work is."""


def silent(share: float, phase: str = "") -> None:
    """Report progress to nobody."""


def still() -> None:
    """Beat for nobody."""


def stretch(progress: Progress, low: float, high: float, phase: str = "", *, only: bool = False) -> Progress:
    """Return the progress of one part of the work, which takes the whole from share `low` to share `high`.

    `phase` names the part wherever the part itself names no phase; with `only`, whatever the part names.

    >>> stretch(lambda share, phase: print(share, phase), 0.5, 1.0, "judging")(0.5)
    0.75 judging
    >>> stretch(lambda share, phase: print(share, phase), 0.5, 1.0, "judging", only=True)(0.5, "splitting")
    0.75 judging
    """
    name = phase

    def report(share: float, phase: str = "") -> None:
        progress(low + (high - low) * share, name if only else phase or name)

    return report


class Repeating:
    """A progress that can repeat its last share: a loop that knows no share calls `beat`, so that it can be stopped."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._share = progress, 0.0

    def __call__(self, share: float, phase: str = "") -> None:
        """Take note of how far the work is, and pass it on."""
        self._share = share
        self._progress(share, phase)

    @property
    def share(self) -> float:
        """How much of the work was done when it was last reported."""
        return self._share

    def beat(self) -> None:
        """Report the last share again."""
        self._progress(self._share)
