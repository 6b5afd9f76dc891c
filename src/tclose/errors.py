"""What can go wrong, as one tree.

    TcloseError
    ├── InputError        the table (or a file beside it) cannot be used as it is     exit 2
    │   └── NotInBatches  the table can be read, but only as a whole                  exit 2
    ├── PolicyError       the policy asks for something unclear or impossible         exit 2
    │   └── Unsuited      the method cannot serve this policy; another can            exit 2
    ├── MissingExtra      an optional dependency is not installed                     exit 2
    ├── Infeasible        the guarantee asked for cannot be reached                   exit 1
    ├── Cancelled         somebody stopped the work; nothing was written              exit 130
    └── InternalError     a bug in tclose                                             exit 70

    UserWarning
    ├── LeakWarning       nothing is wrong, but somebody may learn more than you think
    ├── GapWarning        what was found holds, but is not proven to be the best
    ├── CacheWarning      the answer is right, but every run takes longer than it has to
    ├── ProfileWarning    the page of a release will be incomplete; the policy can say what is missing
    ├── WholeTableWarning the answer is right, but all rows were held in memory, though another engine was asked for
    └── SourceWarning     how a table's file is written was detected; [source] in the policy can say it

Messages name columns, row numbers and counts. A cell's own value goes into `detail`, which is shown only
on request (`--show-values`), so that a log never holds personal data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from tclose.messages import Message, joined, say

OF_COLUMN = re.compile(r"(sensitive|quasi)\.(\"(?:[^\"\\]|\\.)*\"|[\w-]+)(?:\.(.+))?")  # a place in a policy


class TcloseError(Exception):
    """Base of every error that tclose raises on purpose."""

    exit_status = 2
    _several: tuple[TcloseError, ...] = ()

    def __init__(self, message: str, *, detail: str = "", **places: object) -> None:
        super().__init__(say(message, **places))
        self.detail = detail

    @property
    def mistakes(self) -> tuple[TcloseError, ...]:
        """The single mistakes that the error reports, each an error of its own; mostly there is only one."""
        return self._several or (self,)

    @property
    def sentence(self) -> Message:
        """The same on one line, for a message that quotes it."""
        parts = [error.args[0] for error in self.mistakes]
        return parts[0] if len(parts) == 1 else joined("; ", parts)


class InputError(TcloseError):
    """The table, or a file beside it, cannot be used as it is."""


class NotInBatches(InputError):
    """The table can be read, but only as a whole."""


class PolicyError(TcloseError):
    """The policy is unclear or impossible; `place` says where, as in `sensitive.ldl.t`."""

    def __init__(self, message: str, *, place: str = "", detail: str = "", **places: object) -> None:
        self.message, self.place = say(message, **places), place
        super().__init__(_at(place, self.message) if place else self.message, detail=detail)

    def within(self, parent: str) -> PolicyError:
        """Return the same error, seen from one level further up; of several mistakes, each gets its place."""
        if self._several:
            return _together([each.within(parent) for each in self._several if isinstance(each, PolicyError)])
        place = f"{parent}.{self.place}" if self.place else parent
        return PolicyError(self.message, place=place, detail=self.detail)


class Unsuited(PolicyError):
    """The method cannot serve this policy, as its paper has it; the message says what stands in the way."""


class MissingExtra(TcloseError):
    """An optional dependency is not installed; the message holds the line that installs it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        needs = "{purpose} needs {package}: pip install 'tclose[{extra}]'"
        super().__init__(say(needs, purpose=purpose, package=package, extra=extra))

    @classmethod
    def of_file(cls, what: str, extra: str) -> MissingExtra:
        """Return the error for a file whose reader is not installed; `what` says what the file is."""
        error = cls("", extra, "")
        error.args = (say("{what}: pip install 'tclose[{extra}]'", what=what, extra=extra),)
        return error


class Infeasible(TcloseError):
    """What was asked for cannot be reached, or no partition was found; the message says which level can be."""

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


class ProfileWarning(UserWarning):
    """The policy leaves empty what a report profile asks for; said before anything is written."""


class WholeTableWarning(UserWarning):
    """All rows were held in memory, though another engine was asked for; the message says what needs them together."""


class SourceWarning(UserWarning):
    """How a table's file is written was detected, since no policy says it; the message says what it was read as."""


class Mistakes:
    """Collects the mistakes in a policy, or between a policy and a table, to report all of them at once.

    >>> mistakes = Mistakes()
    >>> for k in (0, 5, -1):
    ...     with mistakes.collected():
    ...         if k < 1:
    ...             raise PolicyError("{number} is too small", number=k, place="k")
    >>> try:
    ...     mistakes.report()
    ... except PolicyError as error:
    ...     print(error)
    k: 0 is too small
    k: -1 is too small
    """

    def __init__(self) -> None:
        self._errors: list[PolicyError | InputError] = []

    def add(self, error: PolicyError | InputError) -> None:
        """Take note of a mistake."""
        self._errors.append(error)

    @contextmanager
    def collected(self, within: str = "") -> Iterator[None]:
        """Take note of a mistake and go on; `within` is the place of what is read, if readers do not know it."""
        try:
            yield
        except PolicyError as error:
            self.add(error.within(within) if within else error)
        except InputError as error:
            self.add(error)

    def report(self) -> None:
        """Raise one error for all mistakes, if there are any: a single one as it is, several with a line each."""
        if len(self._errors) == 1:
            raise self._errors[0]
        if self._errors:
            raise _together(self._errors)


def _together(errors: Iterable[PolicyError | InputError]) -> PolicyError:
    """Return one error for several; what a table and a policy disagree about is the policy's mistake, too."""
    mistakes = tuple(mistake for error in errors for mistake in error.mistakes)
    whole = PolicyError(joined("\n", [mistake.args[0] for mistake in mistakes]))
    whole._several = mistakes
    return whole


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ` (did you mean 'ldl'?)`, or nothing when no known word is near.

    >>> did_you_mean("sensitve", ["sensitive", "quasi"])
    " (did you mean 'sensitive'?)"
    >>> did_you_mean("ldl", ["LDL"])
    " (did you mean 'LDL'?)"
    """
    near = nearest(word, known)
    return "" if near is None else say(" (did you mean '{word}'?)", word=near)


def _at(place: str, message: Message) -> Message:
    """Put the place in a policy before a message; names of columns are places of their own."""
    said = say(place)
    if (found := OF_COLUMN.fullmatch(place)) is not None:
        role, name, key = found.groups()
        column = say('"{column}"', column=name[1:-1]) if name[0] == '"' else say("{column}", column=name)
        setting = "" if key is None else say(".{setting}", setting=say(key))
        template = "sensitive.{column}{setting}" if role == "sensitive" else "quasi.{column}{setting}"
        said = say(template, column=column, setting=setting)
    elif place.startswith("source."):
        said = say("source.{setting}", setting=say(place.removeprefix("source.")))
    return say("{place}: {message}", place=said, message=message)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that is most like a given one, if any is."""
    from difflib import get_close_matches  # which only mistakes need

    spelled = {name.casefold(): name for name in known}
    near = get_close_matches(word.casefold(), spelled, n=1, cutoff=0.6)
    return spelled[near[0]] if near else None
