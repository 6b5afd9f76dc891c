"""The command line: it parses arguments and prints what the steps return.

Exit status 0: it holds; 1: it does not; 2: bad usage or input; 70: a bug; 129, 130, 143: hung up, interrupted, ended.
"""

from __future__ import annotations

import sys
import threading
import warnings
from typing import Any

import click

from tclose import steps
from tclose.cli import show
from tclose.cli.applying import apply
from tclose.cli.bounding import bound
from tclose.cli.endings import TOO_LATE, Ended, came_too_late, clean_up_when_ended
from tclose.cli.health import doctor
from tclose.cli.judging import check, explain, sql, verify
from tclose.cli.libraries import contained, shortage
from tclose.cli.options import BAD, HOLDS
from tclose.cli.pseudonym_keys import pseudonym_key
from tclose.cli.publishing import anonymize, demo, init
from tclose.cli.reproducing import reproduce
from tclose.cli.signing import keygen, sign
from tclose.cli.studio import studio
from tclose.cli.studying import attack, compare, methods
from tclose.cli.terminal import echo_error, end_at_once, forgive_stderr, protect_streams
from tclose.errors import LeakWarning, ProfileWarning, SourceWarning, TcloseError

INTERRUPTED, BUG = 130, 70


def main() -> None:
    """Run tclose and turn every outcome into its exit status."""
    protect_streams()
    clean_up_when_ended()
    sys.unraisablehook = threading.excepthook = _show_lost
    with contained(steps.discard_unfinished):
        forgive_stderr()  # which is another stream now
        status = run(sys.argv[1:])
        if came_too_late():
            echo_error(TOO_LATE)
    prints = "duckdb" in sys.modules  # which prints about itself while Python ends
    if prints or any(thread.daemon for thread in threading.enumerate()):  # a solver that nobody waits for any more
        end_at_once(status)
    sys.exit(status)


def _show_lost(lost: Any) -> None:
    """Print where an error struck that cannot be raised, without its message, which Python would print."""
    if isinstance(lost.exc_value, Exception):
        show.show_bug(lost.exc_value)


def run(arguments: list[str]) -> int:
    """Run one command; return the exit status."""
    warnings.showwarning = show.show_warning
    for shown in (LeakWarning, ProfileWarning, SourceWarning):
        warnings.simplefilter("always", shown)
    try:
        steps.check_clock()
        return int(cli.main(arguments or ["--help"], prog_name="tclose", standalone_mode=False) or HOLDS)
    except TcloseError as error:
        show.show_error(error, show_values="--show-values" in arguments)
        return error.exit_status
    except click.ClickException as error:
        show.show_misuse(error)
        return BAD
    except (click.Abort, KeyboardInterrupt):
        return _say("interrupted", INTERRUPTED)
    except Ended as ended:
        return _say(ended.words, ended.exit_status)
    except OSError as error:
        what = f"{error.filename}: " if error.filename else "the answer cannot be written: "
        return _say(f"error: {what}{error.strerror or type(error).__name__}", BAD)
    except BaseException as error:  # a bug must never look like an answer; polars panics with a BaseException
        if sentence := shortage(error):
            return _say(sentence, BAD)
        show.show_bug(error)
        return BUG


def _say(line: str, status: int) -> int:
    echo_error(line)
    return status


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tclose")
def cli() -> None:
    """Publish tables about people with a guarantee: (t₁,…,tₙ)-closeness, judged exactly."""


for command in (
    anonymize,
    apply,
    attack,
    bound,
    check,
    compare,
    demo,
    doctor,
    explain,
    init,
    methods,
    reproduce,
    sql,
    studio,
    verify,
):
    cli.add_command(command)
for command in (keygen, sign):
    cli.add_command(command)
cli.add_command(pseudonym_key)
