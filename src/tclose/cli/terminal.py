"""The one way to the terminal. What a table, a file name or a certificate holds is shown there, and never obeyed.

Every line that a command prints passes through this module: tables and sentences through `Console`, `Text` and `Table`,
plain lines through `echo`, `echo_lines` and `echo_error`, JSON through `echo_json`. No other module of the command line
imports rich's output, writes to a stream or calls `click.echo`; a test says so. So three things hold of every text:

- Control characters, invisible characters and those that turn a line around are spelled by their codes.
- A text is one line. A line break inside it is spelled, so that no cell can forge a line of its own.
- Nothing in a text is markup: `[bold]` is six letters.

The streams forgive a reader that is gone, so that the exit status stays the command's own.
"""

from __future__ import annotations

import errno
import io
import json
import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO

import rich.console
import rich.text
from rich.segment import Segment
from rich.style import Style
from rich.table import Table

from tclose.cli.process import check_ended
from tclose.words import plain

if TYPE_CHECKING:
    from rich.progress import Progress, Task, TaskID

__all__ = [
    "Console",
    "Table",
    "Text",
    "echo",
    "echo_answer",
    "echo_error",
    "echo_json",
    "echo_lines",
    "forgive_stderr",
    "protect_streams",
    "stacked",
]

READER_GONE = {errno.EPIPE, errno.EBADF, errno.ESHUTDOWN, errno.EINVAL}  # Windows calls a closed pipe EINVAL


class Text(rich.text.Text):
    r"""A line of text with a style; whatever it holds is spelled.

    >>> Text("pay\x1b[2J\n[bold]").plain
    'pay\\x1b[2J\\n[bold]'
    """

    def __init__(self, text: str = "", style: str | Style = "", **options: Any) -> None:
        super().__init__(plain(text), style, **options)

    def append(self, text: rich.text.Text | str, style: str | Style | None = None) -> Text:
        """Add more to the same line."""
        super().append(plain(text) if isinstance(text, str) else text, style)
        return self


def stacked(*lines: str) -> Text:
    """Return texts one below the other, as in the heading of a narrow column."""
    first, *others = map(Text, lines)
    for line in others:
        first.append(rich.text.Text("\n")).append(line)
    return first


class Console(rich.console.Console):
    """Prints texts and tables; a `str` is a text like any other, without markup."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, *, style: Any = "", justify: Any = None, overflow: Any = None, **_: Any) -> Text:
        """Turn what is given as a `str`, in a table too, into one line without markup."""
        return Text(text, style, justify=justify, overflow=overflow)

    def render(self, renderable: Any, options: rich.console.ConsoleOptions | None = None) -> Iterable[Segment]:
        """Spell whatever reached this far some other way; rich's own control codes are marked as such."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=_spelled(segment.text))


def _spelled(text: str) -> str:
    """Spell control characters in text whose line breaks are our own."""
    return text if text.isprintable() else "\n".join(map(plain, text.split("\n")))


def echo(line: str) -> None:
    """Print one line."""
    _write(sys.stdout, plain(line))


def echo_lines(text: str, *, stderr: bool = False) -> None:
    """Print text whose line breaks are our own, as those of a drafted policy."""
    _write(sys.stderr if stderr else sys.stdout, _spelled(text.removesuffix("\n")))


def echo_error(line: str) -> None:
    """Print one line on stderr."""
    _write(sys.stderr, plain(line))


def echo_json(answer: Mapping[str, Any]) -> None:
    """Print one JSON object on a line, in ASCII: right whatever encoding stdout has, and harmless to a terminal."""
    _write(sys.stdout, json.dumps(answer).replace("\x7f", r"\u007f"))  # which JSON allows


def echo_answer(answer: Any, show: Callable[[Any], None], *, as_json: bool) -> None:
    """Print an answer: as JSON, or as `show` prints it for people."""
    if as_json:
        echo_json(answer.to_dict())
    else:
        show(answer)


def _write(stream: TextIO, text: str) -> None:
    stream.write(text + "\n")
    stream.flush()


def protect_streams() -> None:
    """Let stdout and stderr be closed, or lose their readers, without an effect on the command and its exit status."""
    if sys.stdin is None:  # closed, as by `<&-`: no file that is opened later may take its number
        os.open(os.devnull, os.O_RDONLY)
    sys.stdout = _forgiving(sys.stdout)
    forgive_stderr()


def forgive_stderr() -> None:
    """Let nothing that cannot be written to stderr have an effect on the command: there is nobody to tell."""
    sys.stderr = _forgiving(sys.stderr, every_error=True)


def _forgiving(stream: TextIO | None, *, every_error: bool = False) -> TextIO:
    """Return the same stream, for which a reader that is gone is no error; ≤ must not break a console without ≤."""
    if stream is None:  # closed, as by `>&-`
        return os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.flush()
    raw = _Forgiving(stream, every_error)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors="replace",
        line_buffering=stream.line_buffering,
    )


class _Forgiving(io.RawIOBase):
    """A stream that raises an error once at most, and none when its reader is gone, or none at all."""

    def __init__(self, stream: io.TextIOWrapper, every_error: bool) -> None:
        self._stream = stream  # kept, since it closes its file when nobody holds it
        self._raw: Any = getattr(stream.buffer, "raw", stream.buffer)  # without a buffer under PYTHONUNBUFFERED
        self._every_error, self._gone = every_error, False

    def write(self, data: Any) -> int | None:
        if not self._gone:
            try:
                written: int | None = self._raw.write(data)
                return written
            except OSError as error:
                self._gone = True  # what is left in a buffer must not fail again when the process ends
                if not self._is_forgiven(error):
                    raise
        return len(data)

    def _is_forgiven(self, error: OSError) -> bool:
        hung_up = error.errno == errno.EIO and self.isatty()
        return self._every_error or error.errno in READER_GONE or hung_up

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return bool(self._raw.isatty())

    def fileno(self) -> int:
        return int(self._raw.fileno())


def end_at_once(status: int) -> None:
    """End the process without unloading libraries: one that is still at work would abort it."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(status)


def bars() -> Progress:
    """Return bars on stderr, of which none is left when the work is done."""
    from rich.progress import BarColumn, Progress, ProgressColumn, TaskProgressColumn, TimeElapsedColumn

    class PhaseColumn(ProgressColumn):
        """The current phase, as text."""

        def render(self, task: Task) -> Text:
            """Show a task's phase."""
            return Text(task.description)

    columns = (PhaseColumn(), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


# Progress bars on stderr, shown once the work takes longer than a second and somebody is looking.
# They show the share done and the time that has passed, never a time that remains: it could only be made up. Where
# nobody looks, the bars of rich are not even loaded.


PATIENCE_SECONDS = 1.0


class _PatientBars:
    """Bars that appear after a while, and go when the work is done."""

    def __init__(self) -> None:
        self._watched = sys.stderr.isatty()

    @cached_property
    def _progress(self) -> Progress:

        return bars()

    @cached_property
    def _timer(self) -> threading.Timer:
        timer = threading.Timer(PATIENCE_SECONDS, self._progress.start)
        timer.daemon = True
        return timer

    def __enter__(self) -> Self:
        if self._watched:
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._watched:
            return
        self._timer.cancel()
        if self._timer.is_alive():
            self._timer.join()  # it may be starting the bars right now
        if self._progress.live.is_started:
            self._progress.stop()


class ProgressBar(_PatientBars):
    """A progress that one bar shows: the share done, and the current phase."""

    @cached_property
    def _task(self) -> TaskID:
        return self._progress.add_task("", total=1.0)

    def __call__(self, share: float, phase: str = "") -> None:
        """Take note of how far the work is."""
        check_ended()
        if self._watched:
            self._progress.update(self._task, completed=share, description=phase or None)


class ProgressBars(_PatientBars):
    """A progress that shows one bar for each phase; what follows a comma in a phase is about the same bar."""

    def __init__(self) -> None:
        super().__init__()
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, share: float, phase: str = "") -> None:
        """Take note of how far one of them is."""
        check_ended()
        if not self._watched:
            return
        name = phase.partition(",")[0]
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(name, total=1.0)
        self._progress.update(self._tasks[name], completed=share, description=phase)
