"""The command line: it parses arguments and prints what the steps return.

Exit status 0: it holds; 1: it does not; 2: bad usage or input; 70: a bug; 129, 130, 143: hung up, interrupted, ended.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import warnings
from types import FrameType

import click

from tclose import steps
from tclose.cli import show
from tclose.cli.health import doctor
from tclose.cli.judging import check, explain, verify
from tclose.cli.libraries import contained, shortage
from tclose.cli.options import BAD, HOLDS
from tclose.cli.publishing import anonymize, demo, init
from tclose.cli.studying import attack, compare, methods
from tclose.errors import LeakWarning, TcloseError

INTERRUPTED, BUG = 130, 70
ENDINGS = {"SIGTERM": "ended on request", "SIGHUP": "the terminal was closed"}


class Ended(BaseException):
    """Another process, or the end of the terminal, asked this one to stop: it cleans up first."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.exit_status = 128 + getattr(signal, name)
        self.words = ENDINGS[name]


def main() -> None:
    """Run tclose and turn every outcome into its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # ≤ must not break a console that has no ≤
    _clean_up_when_ended()
    with contained(steps.discard_unfinished):
        status = run(sys.argv[1:])
    sys.exit(status)


def _clean_up_when_ended() -> None:
    """Turn the signals that would end the process at once into exceptions, so that nothing is left behind."""

    def end(number: int, frame: FrameType | None) -> None:
        raise Ended(signal.Signals(number).name)

    for name in ENDINGS:
        number = getattr(signal, name, None)  # Windows knows no SIGHUP
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, end)


def run(arguments: list[str]) -> int:
    """Run one command; return the exit status."""
    warnings.showwarning = show.show_warning
    warnings.simplefilter("always", LeakWarning)
    try:
        return int(cli.main(arguments or ["--help"], prog_name="tclose", standalone_mode=False) or HOLDS)
    except TcloseError as error:
        show.show_error(error, show_values="--show-values" in arguments)
        return error.exit_status
    except click.ClickException as error:
        show.show_misuse(error)
        return BAD
    except (click.Abort, KeyboardInterrupt):
        sys.stderr.write("interrupted\n")
        return INTERRUPTED
    except Ended as ended:
        return _say(ended.words, ended.exit_status)
    except (BrokenPipeError, SystemExit):  # the reader went away, as `head` does; click and rich would exit with 1
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BAD
    except OSError as error:
        what = f"{error.filename}: " if error.filename else "the answer cannot be written: "
        return _say(f"error: {what}{error.strerror or type(error).__name__}", BAD)
    except BaseException as error:  # a bug must never look like an answer; polars panics with a BaseException
        if sentence := shortage(error):
            return _say(sentence, BAD)
        show.show_bug(error)
        return BUG


def _say(line: str, status: int) -> int:
    sys.stderr.write(f"{line}\n")
    return status


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tclose")
def cli() -> None:
    """Publish tables about people with a guarantee: (t₁,…,tₙ)-closeness, judged exactly."""


for command in (anonymize, attack, check, compare, demo, doctor, explain, init, methods, verify):
    cli.add_command(command)
