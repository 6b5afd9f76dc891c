"""The command line: it parses arguments and prints what the steps return.

Exit status 0: it holds; 1: it does not; 2: bad usage or input; 70: a bug; 129, 130, 143: hung up, interrupted, ended.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import warnings
from importlib import import_module
from typing import Any

import click

from tclose import steps
from tclose.cli.process import BAD, HOLDS, TOO_LATE, Ended, came_too_late, clean_up_when_ended, contained, shortage
from tclose.cli.terminal import echo_error, end_at_once, forgive_stderr, protect_streams
from tclose.errors import LeakWarning, ProfileWarning, SourceWarning, TcloseError, WholeTableWarning

INTERRUPTED, BUG = 130, 70
SLEEP_SOON = ("OPENBLAS_THREAD_TIMEOUT", "18")  # threads of numpy wait 2^18 cycles for work, not 2^26
OBJECTS_OF_LIBRARIES = 200_000  # so many are made, at most, while polars, numpy and tclose are loaded


_warned: set[str] = set()  # what this command has warned of


def main() -> None:
    """Run tclose and turn every outcome into its exit status."""
    collect_later()
    os.environ.setdefault(*SLEEP_SOON)
    protect_streams()
    clean_up_when_ended()
    sys.unraisablehook = threading.excepthook = _show_lost
    with contained(_discard_unfinished):
        forgive_stderr()  # which is another stream now
        status = run(sys.argv[1:])
        if came_too_late():
            echo_error(TOO_LATE)
    prints = "duckdb" in sys.modules  # which prints about itself while Python ends
    if prints or any(thread.daemon for thread in threading.enumerate()):  # a solver that nobody waits for any more
        end_at_once(status)
    sys.exit(status)


def collect_later() -> None:
    """Look for garbage once more objects exist than libraries make, which are none; then as often as usual."""
    usual = gc.get_threshold()

    def begin(phase: str, _: object) -> None:
        gc.callbacks.remove(begin)
        gc.set_threshold(*usual)

    gc.set_threshold(OBJECTS_OF_LIBRARIES, *usual[1:])
    gc.callbacks.append(begin)


def _show_lost(lost: Any) -> None:
    """Print where an error struck that cannot be raised, without its message, which Python would print."""
    if isinstance(lost.exc_value, Exception):
        from tclose.cli import show

        show.show_bug(lost.exc_value)


def run(arguments: list[str]) -> int:
    """Run one command; return the exit status."""
    warnings.showwarning = _show_warning
    _warned.clear()
    for shown in (LeakWarning, ProfileWarning, SourceWarning, WholeTableWarning):
        warnings.simplefilter("always", shown)
    try:
        if "SOURCE_DATE_EPOCH" in os.environ:
            steps.check_clock()
        return int(cli.main(arguments or ["--help"], prog_name="tclose", standalone_mode=False) or HOLDS)
    except TcloseError as error:
        from tclose.cli import show

        show.show_error(error, show_values="--show-values" in arguments)
        return error.exit_status
    except click.ClickException as error:
        from tclose.cli import show

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
        from tclose.cli import show

        show.show_bug(error)
        return BUG


def _show_warning(message: Any, *about: Any, **more: Any) -> None:
    """Show a warning; a table that is looked at again, as one part, gives those of before once more."""
    from tclose.cli import show

    if str(message) not in _warned:
        _warned.add(str(message))
        show.show_warning(message, *about, **more)


def _discard_unfinished() -> None:
    """Remove unfinished files, if anything of this command could have begun one."""
    if "tclose.release.files" in sys.modules:
        steps.discard_unfinished()


def _say(line: str, status: int) -> int:
    echo_error(line)
    return status


COMMANDS = {  # where each is, and what it does: help loads none of them
    "anonymize": ("publication.anonymize", "Publish a table so that it holds what its policy asks for."),
    "apply": ("publication.apply", "Let new rows join a release, a batch at a time."),
    "attack": ("evaluation.attack", "Measure what an adversary learns from a release."),
    "bound": ("verification.bound", "Prove how much detail every release must lose."),
    "check": ("check.check", "Say whether a table holds what a policy asks for."),
    "compare": ("evaluation.compare", "Try every method on a table and compare the results."),
    "demo": ("publication.demo", "Make an example table, check it, publish it and verify it."),
    "doctor": ("tools.doctor", "Show what is installed; --warm compiles all kernels ahead."),
    "explain": ("check.explain", "Show why a class is as far from the table as it is."),
    "init": ("publication.init", "Draft a policy for a table."),
    "keygen": ("verification.keygen", "Make a key to sign certificates with."),
    "methods": ("evaluation.methods", "List the methods and what each can do."),
    "pseudonym-key": ("tools.pseudonym_key", "Make a secret key for pseudonyms."),
    "reproduce": ("evaluation.reproduce", "Run the papers' experiments again, beside their figures."),
    "schema": ("tools.schema", "Print the JSON Schema of a policy, for editors."),
    "sign": ("verification.sign", "Sign a certificate."),
    "sql": ("tools.sql", "Print the check as a query for a warehouse."),
    "studio": ("tools.studio", "Do the whole job in a browser, on this machine."),
    "verify": ("verification.verify", "Check a release against its certificate."),
}


class Commands(click.Group):
    """The commands, each of which is loaded when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return their names."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one of them."""
        if cmd_name not in COMMANDS:
            return None
        module, _, own = COMMANDS[cmd_name][0].partition(".")
        command: click.Command = getattr(import_module(f"tclose.cli.{module}"), own)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List them with what they do."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, does) for name, (_, does) in COMMANDS.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tclose")
def cli() -> None:
    """Publish tables about people with a guarantee: (t₁,…,tₙ)-closeness, judged exactly."""
