"""A release that is asked for: the only list of its settings, and the recipe, the replay and the command of it.

Options of the command line, fields of the studio and entries of a record are made from the fields of `Request`.
"""

from __future__ import annotations

import secrets
import shlex
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tclose.errors import InputError, LeakWarning, PolicyError
from tclose.messages import say
from tclose.partition import check_suited, chosen_method, lowers_loss, method_and_options
from tclose.partition.options import checked_options
from tclose.policy import PROFILES, Policy, PolicyLike, ProfileName
from tclose.policy.settings import without_password
from tclose.policy.variants import scaled
from tclose.release.certificate import RELEASE_FORMATS, ReleaseFormat
from tclose.release.claims import check_keys
from tclose.release.continuation import check_room
from tclose.release.description_formats import FORMATS
from tclose.release.files import ENDINGS
from tclose.release.formats import ENDINGS_IN_WORDS
from tclose.release.layouts import check_both
from tclose.release.output import NOTHING_ADDED, Endorsement, Output, check_release_targets, sources_of, table_name
from tclose.release.record import Record, RecordedSeed, file_digest, load_record, policy_digest, written_down
from tclose.release.tables import check_release_format
from tclose.run.engines import CLUSTERS, PUBLISHING_ENGINES, PublishingEngine, made_at_once, stays_in_memory
from tclose.run.knob import BOUND_SECONDS, POLICY, SEED, FormField, Knob, changed, checked_room, file, knob, knobs
from tclose.words import lowered_loss

ALWAYS = ("table", "policy", "out", "method", "options")  # the settings of every request; they are judged by themselves


@dataclass(frozen=True, kw_only=True, eq=False)
class Request:
    """What is published, how it is split, and what is written. Fields with a `Knob` are options of `anonymize`."""

    table: Any = field(repr=False)  # a frame would show its cells
    policy: PolicyLike = knob(POLICY)
    out: str | Path = knob(Knob(f"The release to write: {ENDINGS_IN_WORDS}.", "file", recorded=False))
    method: str | None = knob(
        Knob("How rows are split; see `tclose methods`. Without it, weave; mondrian for [presence].", recorded=True),
        None,
    )
    options: Mapping[str, Any] | None = knob(  # the command line also has --effort, --tables and --base for them
        Knob("An option of the method itself.", "pairs", recorded=True, flag="--option", metavar="NAME=VALUE"), None
    )
    seed: int | None = knob(
        Knob(f"{SEED} Anyone who guesses it can repeat the split.", "count", recorded=True, least=0),
        None,
        shown=False,
    )
    certificate: str | Path | None = file("Write the certificate here: what was proved about the release.")
    record: str | Path | None = file("Write what --replay and apply need here, readable by you alone.")
    replay: str | Path | None = file("Repeat the release that this record is of, byte for byte.", "RECORD")
    room: float | str | Fraction = knob(
        Knob("Leave this share of every t to rows that apply adds later.", "share", recorded=True, metavar="SHARE"), "0"
    )
    report: str | Path | None = file(
        "Write an HTML page about the release here.", form=FormField("report", checked=True)
    )
    public: bool = knob(
        Knob("Leave out of the page everything about the original table.", "flag", recorded=False), False
    )
    profile: ProfileName | None = knob(
        Knob(
            "Add a profile to the page: its requirements, filled with figures and with [context] of the policy.",
            "choice",
            recorded=False,
            choices=tuple(PROFILES),
            form=FormField("profile"),
        ),
        None,
    )
    guard_formulas: bool = knob(
        Knob("Put ' before text that a spreadsheet would run; verify removes it again.", "flag", recorded=True), False
    )
    release_format: ReleaseFormat = knob(
        Knob(
            "Cells such as [20, 35] as text, or as typed columns: age_low, age_high, age_mid, lists, class, "
            "class_size.",
            "choice",
            recorded=True,
            flag="--format",
            choices=tuple(RELEASE_FORMATS),
            show_default=True,
            form=FormField("columns"),
        ),
        "text",
    )
    part_rows: int | None = knob(
        Knob("Write a folder of Parquet files of N rows each.", "count", recorded=True, least=1, metavar="N"), None
    )
    describe: Sequence[str] = knob(
        Knob(
            "Describe the release in a file beside it; can be repeated.",
            "choice",
            recorded=False,
            choices=tuple(FORMATS),
            many=True,
        ),
        (),
    )
    engine: PublishingEngine = knob(
        Knob(
            "Where the release is made: in memory, or in parts: from disk, on Spark; auto takes disk from a million "
            "rows.",
            "choice",
            recorded=True,
            choices=PUBLISHING_ENGINES,
            default="auto",
        ),
        "memory",
    )
    master: str | None = knob(
        Knob(
            "The cluster of the engine spark: spark://HOST:7077, yarn, sc://HOST:15002.",
            recorded=False,
            metavar="URL",
        ),
        None,
    )
    resume: bool = knob(Knob("Continue a run of the engine disk that was killed.", "flag", recorded=False), False)
    bound: bool = knob(
        Knob("Also prove how much of the detail every release must lose.", "flag", recorded=False), False
    )
    bound_seconds: float | None = knob(BOUND_SECONDS, None)
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
            folder=self._is_folder,
            describe=self.describe,
            endorsement=self.endorsement,
            force=self.force,
        )

    @property
    def _is_folder(self) -> bool:
        """Whether the release is a folder of Parquet files: a cluster writes one, unless `out` names another format."""
        by_cluster = self.engine in CLUSTERS and Path(self.out).suffix.lower() in ENDINGS
        return self.part_rows is not None or by_cluster

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
        return made_at_once(self._outputs)

    @property
    def stays_in_memory(self) -> bool:
        """Whether something is asked for with which the engine auto takes memory."""
        return stays_in_memory(self._outputs)

    @property
    def _outputs(self) -> list[str]:
        """The settings of outputs that are not at their defaults."""
        values = {each.name: (getattr(self, each.name), each.default) for each in fields(self)}
        return [name for name, (value, usual) in values.items() if name not in ALWAYS and value and value != usual]

    def checked(self) -> Request:
        """Refuse contradictions before any work.

        The policy and the room are read then, what a record says stands in the fields, and the method is a plain name
        with all of its options.
        """
        policy, room = Policy.of(self.policy), checked_room(self.room)
        _check_profile(self.profile, self.report)
        asked = replayed(replace(self, policy=policy, room=room))
        method, preset = method_and_options(chosen_method(asked.method, policy))
        options = {**preset, **(asked.options or {})}
        asked = replace(asked, method=method, options=options, room=checked_room(asked.room))
        check_suited(method, policy, asked.options or {})
        check_both(method, policy)
        check_release_format(asked.release_format, method, policy)
        if asked.room:
            check_room(policy, asked.release_format, folder=asked._is_folder and asked.replay is None)
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
            part_rows=self.output.file_rows,
        )


def recorded_settings() -> dict[str, tuple[Knob, Any]]:
    """Return the settings that a record keeps and --replay reads back, with their defaults."""
    return {name: (knob, default) for name, (knob, default) in knobs(Request).items() if knob.recorded}


def _check_profile(name: str | None, report: str | Path | None) -> None:
    """Refuse a profile that does not exist, or that has no page to stand on."""
    if name is None:
        return
    from tclose.report.profiles import profile_named

    profile_named(name)
    if report is None:
        raise InputError("a profile stands on the page of a release: say where to write it, with --report")


# The recipe: by which policy, method, options and seed a release is made, whatever is written of it


@dataclass(frozen=True, eq=False, kw_only=True)
class Recipe:
    """How the rows of a table become a release."""

    policy: Policy  # by which they are split: where room is left for new rows, every t is smaller than asked for
    method: str
    options: Mapping[str, Any]  # all that the method has
    seed: int = field(repr=False)
    part_rows: int | None = None  # of each file, and of each part where the table is cut
    name: str | None = None  # of the table, for the certificate
    room: Fraction = Fraction(0)  # the share of every t that is left to rows which join later

    @classmethod
    def of(cls, policy: Policy, method: str | None, options: Mapping[str, Any], *, seed: int) -> Recipe:
        """Choose the method if none is named; settings that do not fit together are refused."""
        named, preset = method_and_options(chosen_method(method, policy))
        settings = checked_options(named, {**preset, **options})
        check_suited(named, policy, settings)
        check_both(named, policy)
        return cls(policy=policy, method=named, options=settings, seed=seed)

    @classmethod
    def asked(cls, request: Request, seed: int) -> Recipe:
        """Take what a request, which is checked, asks for."""
        made = cls.of(lowered(request), request.method, request.options or {}, seed=seed)
        return replace(made, part_rows=request.part_rows, name=table_name(request.table), room=Fraction(request.room))

    @property
    def unused_loss(self) -> str | None:
        """That the method does not lower the loss that the policy chooses; None where it does, or none is chosen."""
        policy = self.policy
        if (policy.loss == "gcp" and not policy.weights) or lowers_loss(self.method, self.options):
            return None
        return say(
            "the method '{method}' follows its own rule: only weave lowers the loss that the policy chooses "
            "({lowered_loss})",
            method=self.method,
            lowered_loss=lowered_loss(policy.chosen_loss),
        )


def lowered(request: Request) -> Policy:
    """Return the policy by which rows are split: where room is left for new rows, every t is smaller than asked for."""
    room = Fraction(request.room)
    return scaled(request.asked, 1 - room) if room else request.asked


def seed_of(given: int | None) -> int:
    """Return the seed that is given, or one from the system's secure source."""
    return drawn() if given is None else given_seed(given)


def drawn() -> int:
    """Return a seed from the system's secure source."""
    return secrets.randbits(63)


def given_seed(seed: int) -> int:
    """Take a seed that somebody chose, with a warning; one of a record was not chosen."""
    if isinstance(seed, RecordedSeed):
        return seed
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise PolicyError("a seed is a whole number of at least 0")
    warnings.warn(
        "anyone who guesses the seed can replay the partition: leave it out for a real release", LeakWarning, 4
    )
    return int(seed)


# Replay: every setting that is declared as recorded is the one of the record


GIVEN = (
    "--replay takes the method, its options, the seed, --room, --format, --part-rows and --guard-formulas from the "
    "record"
)
REPLACED = ("method", "engine")  # by those of the record; the command line refuses them beside --replay


def replayed(request: Request) -> Request:
    """Return a request with what its record says.

    Another table or policy than those of the release, and settings beside the record's, are refused. A record of
    format 1 says no more than the method and the seed.
    """
    if request.replay is None:
        return request
    record = load_record(request.replay)
    if request.seed is not None:
        raise InputError(GIVEN)
    seed = RecordedSeed.of(record)
    if record.format == 1:
        return replace(request, method=record.method, seed=seed)
    made = recalled(record)
    if any(_contradicts(request, name, value) for name, value in made.items()):
        raise InputError(GIVEN)
    _check(record, request.table, request.asked, Path(request.out))
    return replace(changed(request, made), seed=seed)


def recalled(record: Record) -> dict[str, Any]:
    """Return the recorded settings but the seed; one that the record does not have, or not so, is the default."""
    said = {name: (knob, record.content.get(name), usual) for name, (knob, usual) in recorded_settings().items()}
    return {name: value if knob.fits(value) else usual for name, (knob, value, usual) in said.items() if name != "seed"}


def _says(request: Request, name: str) -> bool:
    """Tell whether a request says something of a setting, besides its default."""
    knob, usual = recorded_settings()[name]
    return bool(knob.read(getattr(request, name)) != knob.read(usual))


def _contradicts(request: Request, name: str, recorded: Any) -> bool:
    """Tell whether a request says of a setting what the record is to say; a choice may be said again as it was."""
    again = recorded_settings()[name][0].kind == "choice" and getattr(request, name) == recorded
    return name not in REPLACED and _says(request, name) and not again


def remade(request: Request, path: str | Path) -> Request:
    """Return a request for another form of a recorded release, from its seed, which nobody has chosen.

    What the request says itself stays; so what is made need not be the recorded files.
    """
    record = load_record(path)
    usual = {name: value for name, value in recalled(record).items() if not _says(request, name)}
    return replace(changed(request, usual), seed=RecordedSeed(record.seed))


def _check(record: Record, table: Any, policy: Policy, out: Path) -> None:
    """Refuse what cannot give the same bytes, before the work begins."""
    batches = record.notes.batches
    if batches is not None and len(batches) and batches.max() > 0:
        raise InputError("the record is of a release that new rows have joined (apply): only its first release repeats")
    if record.engine in CLUSTERS:
        place = CLUSTERS[record.engine].called
        raise InputError("the record is of a release that was made on {where}: it cannot be repeated here", where=place)
    if policy_digest(written_down(policy).to_dict()) != record.content["policy_sha256"]:
        raise InputError("the policy is not the one of the record, so the release cannot be repeated")
    known, found = record.notes.table_sha256, file_digest(table)
    if known is not None and found is not None and known != found:
        raise InputError(
            "the table is not the one of the record: its SHA-256 differs, so the release cannot be repeated"
        )
    name = record.files[0].name
    if record.part_rows is None and name is not None and Path(name).suffix.lower() != out.suffix.lower():
        raise InputError(
            "the release was written as {suffix}, so name --out a file of this ending", suffix=Path(name).suffix
        )


# The command line that asks for the same as a request, made from the declarations of its settings


NO_FILES = "a command names every table, policy, key and certificate by its file: one that is in memory has no name"
NO_SEED = "the seed of a record is never shown: name the record, with --replay"


def command_line(request: Request) -> str:
    """Return the command that makes the same release, quoted for a shell.

    Every setting that is not at its default is an option. Beside `replay`, what the record says is left out.
    """
    return shlex.join(_words(request))


def _words(request: Request) -> Iterator[str]:
    if not isinstance(request.table, str | Path) or not isinstance(request.policy, str | Path):
        raise InputError(NO_FILES)
    yield from ("tclose", "anonymize", _argument(str(request.table)))
    for name, (declared, default) in knobs(Request).items():
        value = getattr(request, name)
        if not _is_understood(request, declared, value, default):
            yield from _option(name, declared, value)
    yield from _endorsed(request.endorsement)
    if request.force:
        yield "--force"


def _argument(table: str) -> str:
    """Return the name of a table so that it is not taken for an option, and without a password."""
    return f"./{table}" if table.startswith("-") and table != "-" else without_password(table)


def _is_understood(request: Request, knob: Knob, value: Any, default: Any) -> bool:
    """Tell whether a setting need not be said: it is the default of the command line, or comes from the record."""
    if value is None:
        return True
    usual = [default if knob.default is None else knob.default]
    usual += [default] if knob.recorded and request.replay is not None else []
    return any(knob.read(value) == knob.read(each) for each in usual)


def _option(name: str, knob: Knob, value: Any) -> Iterator[str]:
    """Yield the words of one setting: its option, and its value where it has one; several times, if it has many."""
    if isinstance(value, RecordedSeed):
        raise InputError(NO_SEED)
    if knob.kind == "flag":
        yield knob.option(name)
    elif knob.kind == "pairs":
        for key, each in value.items():
            yield from () if each is None else (knob.option(name), f"{key}={_text(each)}")
    else:
        for each in value if knob.many else [value]:
            yield from (knob.option(name), _text(each))


def _endorsed(added: Endorsement) -> Iterator[str]:
    """Yield the options for what a steward adds to the certificate."""
    previous, keys = added.sources[: len(added.previous)], added.sources[len(added.previous) :]
    if len(previous) < len(added.previous) or (added.signing_key is not None and not keys):
        raise InputError(NO_FILES)
    if added.signing_key is not None:
        yield from ("--sign", str(keys[0]))
    if added.valid_until is not None:
        yield from ("--valid-until", added.valid_until.isoformat())
    for certificate in previous:
        yield from ("--previous", str(certificate))
    if added.commit:
        yield "--commit"


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
