"""A release that is asked for: the only list of its settings. Options of the command line are made from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from tclose.errors import InputError
from tclose.partition import check_suited, chosen_method, method_and_options
from tclose.policy import PROFILES, Policy, PolicyLike, ProfileName
from tclose.policy.settings import exact
from tclose.release.certificate import RELEASE_FORMATS, ReleaseFormat
from tclose.release.continuing import check_room
from tclose.release.describing import FORMATS
from tclose.release.endorsement import NOTHING_ADDED, Endorsement
from tclose.release.layouts import check_both
from tclose.release.output import Output
from tclose.release.pseudonymity import check_keys
from tclose.release.targets import check_release_targets, sources_of
from tclose.release.typed_columns import check_release_format
from tclose.run.places import PUBLISHING_ENGINES, PublishingEngine, made_at_once

ALWAYS = ("table", "policy", "out", "method", "options")  # the settings of every request; they are judged by themselves
Kind = Literal["text", "file", "flag", "count", "seconds", "choice"]


@dataclass(frozen=True)
class Knob:
    """How a setting is said on a command line, and in one sentence what it does."""

    help: str
    kind: Kind = "text"
    flag: str | None = None  # where it is not the name of the setting
    choices: tuple[str, ...] = ()
    metavar: str | None = None
    least: int | None = None
    many: bool = False
    show_default: bool = False


def knob(knob: Knob, default: Any = MISSING) -> Any:
    """Declare a setting; without a default, it must be given."""
    return field(default=default, metadata={"knob": knob})


def file(text: str, metavar: str | None = None) -> Any:
    """Declare a file that may be written or read."""
    return knob(Knob(text, "file", metavar=metavar), None)


@dataclass(frozen=True, kw_only=True, eq=False)
class Request:
    """What is published, how it is split, and what is written. Fields with a `Knob` are options of `anonymize`."""

    table: Any
    policy: PolicyLike
    out: str | Path = knob(Knob("The release to write: .csv, .parquet, .arrow, .xlsx, .dta or .sav.", "file"))
    method: str | None = knob(
        Knob("How rows are split; see `tclose methods`. Without it, weave; mondrian for [presence]."), None
    )
    options: Mapping[str, Any] | None = None  # of the method; the command line has --effort, --option … for them
    seed: int | None = knob(
        Knob(
            "For tests: the same seed gives the same bytes. Anyone who guesses it can repeat the split.",
            "count",
            least=0,
        ),
        None,
    )
    certificate: str | Path | None = file("Write the certificate here: what was proved about the release.")
    record: str | Path | None = file("Write what --replay and apply need here, readable by you alone.")
    replay: str | Path | None = file("Repeat the release that this record is of, byte for byte.", "RECORD")
    room: float | str | Fraction = knob(
        Knob("Leave this share of every t to rows that apply adds later.", metavar="SHARE"), "0"
    )
    report: str | Path | None = file("Write an HTML page about the release here.")
    public: bool = knob(Knob("Leave out of the page everything about the original table.", "flag"), False)
    profile: ProfileName | None = knob(
        Knob(
            "Add a profile to the page: its requirements, filled with figures and with [context] of the policy.",
            "choice",
            choices=tuple(PROFILES),
        ),
        None,
    )
    guard_formulas: bool = knob(
        Knob("Put ' before text that a spreadsheet would run; verify removes it again.", "flag"), False
    )
    release_format: ReleaseFormat = knob(
        Knob(
            "Cells such as [20, 35] as text, or as typed columns: age_low, age_high, age_mid, lists, class, "
            "class_size.",
            "choice",
            flag="--format",
            choices=tuple(RELEASE_FORMATS),
            show_default=True,
        ),
        "text",
    )
    part_rows: int | None = knob(
        Knob("Write a folder of Parquet files of N rows each.", "count", least=1, metavar="N"), None
    )
    describe: Sequence[str] = knob(
        Knob("Describe the release in a file beside it; can be repeated.", "choice", choices=tuple(FORMATS), many=True),
        (),
    )
    engine: PublishingEngine = knob(
        Knob(
            "Where the release is made: in memory, or in parts: from disk, on Spark; auto takes disk from a million "
            "rows.",
            "choice",
            choices=PUBLISHING_ENGINES,
        ),
        "memory",
    )
    master: str | None = knob(
        Knob("The cluster of the engine spark: spark://HOST:7077, yarn, sc://HOST:15002.", metavar="URL"), None
    )
    resume: bool = knob(Knob("Continue a run of the engine disk that was killed.", "flag"), False)
    bound: bool = knob(Knob("Also prove how much of the detail every release must lose.", "flag"), False)
    bound_seconds: float | None = knob(
        Knob("Search for the bound for about this time; 60 seconds if absent.", "seconds", metavar="N"), None
    )
    bound_proof: str | Path | None = file("Write the proof of the bound here, readable by you alone; implies --bound.")
    endorsement: Endorsement = NOTHING_ADDED  # the command line has --sign, --valid-until, --previous, --commit
    force: bool = False

    @property
    def output(self) -> Output:
        """What is written, and where."""
        return Output(
            out=self.out,
            certificate=self.certificate,
            record=self.record,
            report=self.report,
            bound_proof=self.bound_proof,
            guard_formulas=self.guard_formulas,
            release_format=self.release_format,
            part_rows=self.part_rows,
            describe=self.describe,
            endorsement=self.endorsement,
            force=self.force,
        )

    @property
    def asked(self) -> Policy:
        """The policy, which is read by now."""
        return Policy.of(self.policy)

    @property
    def asks_bound(self) -> bool:
        """Whether a lower bound is searched for."""
        return self.bound or self.bound_proof is not None

    @property
    def needs_all_rows(self) -> list[str]:
        """What is asked for that cannot be made in parts."""
        values = {each.name: (getattr(self, each.name), each.default) for each in fields(self)}
        return made_at_once(
            name for name, (value, usual) in values.items() if name not in ALWAYS and value and value != usual
        )

    def checked(self) -> Request:
        """Refuse contradictions before any work.

        The policy and the room are read then, what a record says stands in the fields, and the method is a plain name
        with all of its options.
        """
        from tclose.run.replaying import replayed

        policy, room = Policy.of(self.policy), checked_room(self.room)
        _check_profile(self.profile, self.report)
        asked = replayed(replace(self, policy=policy, room=room))
        method, preset = method_and_options(chosen_method(asked.method, policy))
        asked = replace(asked, method=method, options={**preset, **(asked.options or {})})
        check_suited(method, policy, asked.options or {})
        check_both(method, policy)
        check_release_format(asked.release_format, method, policy)
        if asked.room:
            check_room(policy, asked.release_format)
        check_keys(policy)
        asked._check_files(sources_of(self.table, self.policy, policy))
        return asked

    def _check_files(self, sources: list[Path]) -> None:
        """Refuse files that could not be written, or that are read."""
        assert self.method is not None
        read = [*sources, *self.endorsement.sources, *([] if self.replay is None else [Path(self.replay)])]
        check_release_targets(
            Path(self.out),
            list(self.output.beside.values()),
            read,
            method=self.method,
            policy=self.asked,
            force=self.force,
            part_rows=self.part_rows or (1 if self.engine == "spark" else None),  # which always writes a folder
        )


def knobs() -> dict[str, tuple[Knob, Any]]:
    """Return the settings that have a knob, with their defaults; `MISSING` where one must be given."""
    return {each.name: (each.metadata["knob"], each.default) for each in fields(Request) if "knob" in each.metadata}


def checked_room(room: Any) -> Fraction:
    """Read the share of every t that is left unused."""
    try:
        share = exact(room)
    except (ValueError, ArithmeticError, TypeError):
        share = Fraction(-1)
    if not 0 <= share < 1:
        raise InputError("the room for new rows is a share of every t: from 0 to less than 1")
    return share


def _check_profile(name: str | None, report: str | Path | None) -> None:
    """Refuse a profile that does not exist, or that has no page to stand on."""
    if name is None:
        return
    from tclose.report.profiles import profile_named

    profile_named(name)
    if report is None:
        raise InputError("a profile stands on the page of a release: say where to write it, with --report")
