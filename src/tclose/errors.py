"""What can go wrong, as one tree.

    TcloseError
    ├── InputError        the table (or a file beside it) cannot be used as it is     exit 2
    ├── PolicyError       the policy asks for something unclear or impossible         exit 2
    │   └── Unsuited      the method cannot serve this policy; another can            exit 2
    ├── MissingExtra      an optional dependency is not installed                     exit 2
    ├── Infeasible        the guarantee asked for cannot be reached                   exit 1
    ├── Cancelled         somebody stopped the work; nothing was written              exit 130
    └── InternalError     a bug in tclose                                             exit 70

    UserWarning
    ├── LeakWarning       nothing is wrong, but somebody may learn more than you think
    ├── GapWarning        what was found holds, but is not proven to be the best
    └── CacheWarning      the answer is right, but every run takes longer than it has to

Messages name columns, row numbers and counts. A cell's own value goes into `detail`, which is shown only
on request (`--show-values`), so that a log never holds personal data.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TcloseError(Exception):
    """Base of every error that tclose raises on purpose."""

    exit_status = 2

    def __init__(self, message: str, *, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


class InputError(TcloseError):
    """The table, or a file beside it, cannot be used as it is."""


class PolicyError(TcloseError):
    """The policy is unclear or impossible; `place` says where, as in `sensitive.ldl.t`."""

    def __init__(self, message: str, *, place: str = "", detail: str = "") -> None:
        super().__init__(f"{place}: {message}" if place else message, detail=detail)
        self.message = message
        self.place = place

    def within(self, parent: str) -> PolicyError:
        """Return the same error, seen from one level further up."""
        place = f"{parent}.{self.place}" if self.place else parent
        return PolicyError(self.message, place=place, detail=self.detail)


class Unsuited(PolicyError):
    """The method cannot serve this policy, as its paper has it; the message says what stands in the way."""


class MissingExtra(TcloseError):
    """An optional dependency is not installed; the message holds the line that installs it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {package}: pip install 'tclose[{extra}]'")


class Infeasible(TcloseError):
    """What was asked for cannot be reached; the message says which level can be."""

    exit_status = 1


class Cancelled(TcloseError):
    """The work was stopped on request; nothing was written. Raise it from a `Progress` to stop any long work."""

    exit_status = 130

    def __init__(self, message: str = "cancelled") -> None:
        super().__init__(message)


class InternalError(TcloseError):
    """A bug in tclose: an invariant did not hold."""

    exit_status = 70


class LeakWarning(UserWarning):
    """Somebody may learn more from this table than its steward expects."""


class GapWarning(UserWarning):
    """A search for the optimum was stopped early; the message says how far away it may be."""


class CacheWarning(UserWarning):
    """Compiled kernels cannot be kept on disk, so that every run compiles them again."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ` (did you mean 'ldl'?)`, or nothing when no known word is near.

    >>> did_you_mean("sensitve", ["sensitive", "quasi"])
    " (did you mean 'sensitive'?)"
    >>> did_you_mean("ldl", ["LDL"])
    " (did you mean 'LDL'?)"
    """
    spelled = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(word.casefold(), spelled, n=1, cutoff=0.6)
    return f" (did you mean '{spelled[near[0]]}'?)" if near else ""
