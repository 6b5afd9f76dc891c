"""The engines memory, disk and Spark: the table of what each can do, and which one takes a table.

Disk and Spark make a release in parts. What needs all rows together makes one part there, which is the way of memory.
What the table does not list needs all rows. So no place ignores a new setting of the policy that it does not know.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tclose.errors import InputError, NotInBatches, WholeTableWarning
from tclose.messages import say
from tclose.policy import Policy, Quasi, Sensitive
from tclose.policy.source import PLAIN, SourceSettings
from tclose.table.disk_files import source_of, table_on_disk
from tclose.table.sources import is_folder
from tclose.table.sources.csv import CSV
from tclose.table.sources.formats import PARQUET

if TYPE_CHECKING:
    from tclose.run.evaluation import AttackRequest


@dataclass(frozen=True)
class ClusterEngine:
    """An engine that a folder of its own supplies: it works on a cluster, reads files and writes folders of files."""

    called: str
    rows: str  # the module and its context manager, which holds the rows of a request and yields them with the seed
    frames: str  # what publishes the frames of the cluster


CLUSTERS = {"spark": ClusterEngine("Spark", "tclose.spark.rows:spark_rows", "tclose.spark.anonymize")}
ENGINES = ("auto", "memory", "disk")
Engine = Literal["auto", "memory", "disk"]
PUBLISHING_ENGINES = (*ENGINES, *CLUSTERS)
PublishingEngine = Literal["auto", "memory", "disk", "spark"]

Kind = Literal["policy", "quasi", "sensitive", "output", "method", "table"]
PLACES = ("memory", "disk", *CLUSTERS)
MOST_IN_ONE_PART = 1_000_000  # rows that come to the driver of a cluster, or together after parts without classes
LARGE_PART = say("one part of more than {most_in_one_part:,} rows", most_in_one_part=MOST_IN_ONE_PART)
NO_CLASSES = "no classes are found for the rows of one part"
ONLY_PARQUET = "Spark reads Parquet files"
REFUSED = {
    "resume": dict.fromkeys(("memory", "spark"), "only a run in parts, from disk, leaves something to continue"),
    "master": dict.fromkeys(("memory", "disk"), "only Spark has a master"),
    "replay": {"spark": "Spark divides a table anew each time, so the parts would not be the same"},
    "CSV files": {"spark": ONLY_PARQUET},
    "other files": {"spark": ONLY_PARQUET},
    "databases": {"spark": f"{ONLY_PARQUET}, not tables of databases"},
    LARGE_PART: {"spark": "its rows would all lie in the memory of the driver"},
    "frames": {"spark": f"{ONLY_PARQUET}; tclose.spark takes its frames"},
}
AT_ONCE = "looks at all classes at once"
ALL_ROWS = "is made from all rows at once"
READ_WHOLE = "is read as a whole"
TAKES_ALL = "is made again of all rows"
OTHER_TABLES = "does not publish one table of classes"
WORKS = ""


@dataclass(frozen=True)
class Capability:
    """How a setting of `anonymize` works at each place; in memory, which has one part, all of them do."""

    kind: Kind
    name: str
    in_parts: str = WORKS  # or why all rows make one part
    persons_only: bool = False  # whether `in_parts` and `auto` apply only where persons are counted
    but: tuple[str, ...] = ()  # values to which neither `in_parts` nor `auto` applies
    called: str = ""  # what it makes, where a sentence names that instead of the setting
    auto: bool = True  # whether the engine auto may choose disk with it; it never did where this is False

    @property
    def places(self) -> dict[str, str]:
        """What is said of each place: that it works, that it makes one part, or why it is refused."""
        why = say("one part: it {in_parts}", in_parts=self.in_parts)
        refused = REFUSED.get(self.name, {}) if self.kind in ("output", "table") else {}
        found = {place: "works" if place == "memory" or not self.in_parts else why for place in PLACES}
        return {**found, **{place: f"refused: {why}" for place, why in refused.items()}}

    def limits(self, value: Any, policy: Policy) -> bool:
        """Tell whether `in_parts` and `auto` apply to a value of the setting in a policy."""
        return value not in self.but and not (self.persons_only and policy.person is None)

    def where(self, said: str) -> list[str]:
        """Return the places of which this is said."""
        return [place for place, each in self.places.items() if each == said]


def _all(kind: Kind, *names: str) -> tuple[Capability, ...]:
    return tuple(Capability(kind, name) for name in names)


CAPABILITIES = (
    *_all("policy", "quasi", "sensitive", "identifiers", "person", "keep", "unlinkable", "others", "k", "suppress"),
    *_all("policy", "missing", "joint", "context", "source"),
    Capability("policy", "loss", but=("gcp", "discernibility"), auto=False),
    *(Capability("policy", name, AT_ONCE) for name in ("both", "presence")),
    Capability("policy", "pseudonym", "keeps all rows of a person in one class"),
    Capability("policy", "temper", auto=False),
    *_all("quasi", "hierarchy", "step", "top", "bottom", "below", "weight"),
    Capability("quasi", "publish", auto=False),
    *_all("sensitive", "t", "n", "l", "alpha", "beta", "enhanced_beta", "delta", "kl", "average_t", "distance"),
    *_all("sensitive", "hierarchy", "matrix", "bins", "publish", "below", "order", "domain", "missing"),
    Capability("sensitive", "t_by", AT_ONCE),
    *(Capability("sensitive", name, auto=False, persons_only=True) for name in ("entropy_l", "recursive")),
    *_all("output", "certificate", "record", "replay", "part_rows", "endorsement", "public", "bound_seconds"),
    *_all("output", "seed", "engine", "master", "resume", "force"),
    Capability("output", "profile", "measures the release beside single rows of its original", called="a profile"),
    Capability("output", "bound", ALL_ROWS, called="a bound"),
    Capability("output", "bound_proof", ALL_ROWS, called="a bound"),
    *(Capability("output", name, auto=False) for name in ("report", "release_format", "describe", "room")),
    Capability("output", "guard_formulas", auto=False),
    *_all("method", "weave", "effort"),
    *(Capability("method", name, auto=False) for name in ("fragmentation", "mondrian", "kanonymity", "sabre")),
    *(Capability("method", name, auto=False) for name in ("microaggregation", "burel", "clustering", "pca")),
    Capability("method", "incognito", "chooses the same levels for all rows"),
    Capability("method", "exact", "solves all rows as one problem"),
    *(Capability("method", name, OTHER_TABLES) for name in ("anatomy", "projections", "permutation")),
    *_all("table", "Parquet files", "CSV files", LARGE_PART),
    *(Capability("table", name, READ_WHOLE) for name in ("other files", "databases")),
    Capability("table", "frames", "is at hand already"),
    Capability("table", "classes of several parts that are not admitted as one", TAKES_ALL),
    Capability("table", "parts without classes", f"{TAKES_ALL}; a table of more than {MOST_IN_ONE_PART:,} is refused"),
)
_BY_NAME = {(each.kind, each.name): each for each in CAPABILITIES}


def one_part_for(policy: Policy) -> str | None:
    """Say which setting of a policy needs all rows together, and why; None where all of them work in parts."""
    for kind, name, value in settings_in_use(policy):
        known = _known(kind, name)
        if known.in_parts and known.limits(value, policy):
            return f"{name} {known.in_parts}"
    return None


def one_part_by(method: str) -> str | None:
    """Say why a method needs all rows together; None where it splits a table part by part."""
    known = _known("method", method)
    return f"{method} {known.in_parts}" if known.in_parts else None


def splits_in_memory(policy: Policy, method: str) -> bool:
    """Tell whether the engine auto takes memory for a policy or a method, so that no seed gives another release."""
    if one_part_by(method) or one_part_for(policy) or not _known("method", method).auto:
        return True
    used = ((_known(kind, name), value) for kind, name, value in settings_in_use(policy))
    return any(not known.auto and known.limits(value, policy) for known, value in used)


def _known(kind: Kind, name: str) -> Capability:
    return _BY_NAME.get((kind, name), Capability(kind, name, "is not known to work in parts"))


def made_at_once(outputs: Iterable[str]) -> list[str]:
    """Say which of some outputs need all rows together, and why; one that is not listed does."""
    return list(dict.fromkeys(f"{each.called} {each.in_parts}" for each in _of_outputs(outputs) if each.in_parts))


def stays_in_memory(outputs: Iterable[str]) -> bool:
    """Tell whether the engine auto takes memory for some of these outputs."""
    return any(each.in_parts or not each.auto for each in _of_outputs(outputs))


def _of_outputs(names: Iterable[str]) -> list[Capability]:
    return [_BY_NAME.get(("output", name), Capability("output", name, ALL_ROWS, called=name)) for name in names]


def settings_in_use(policy: Policy) -> Iterator[tuple[Kind, str, Any]]:
    """Yield the settings that are not at their defaults; those of the policy itself come first."""
    yield from (("policy", *each) for each in _set(policy))
    for quasi in policy.quasi.values():
        yield from (("quasi", *each) for each in _set(quasi))
    for sensitive in policy.sensitive.values():
        yield from (("sensitive", *each) for each in _set(sensitive))


def _set(settings: Policy | Quasi | Sensitive) -> Iterator[tuple[str, Any]]:
    for each in fields(settings):
        if (value := getattr(settings, each.name)) != _default(each):
            yield each.name, value


def _default(each: Field[Any]) -> Any:
    return each.default if each.default_factory is MISSING else each.default_factory()


# The choice of an engine: `auto` takes disk for tables that are too large for memory


AT_HAND = "a frame is at hand already"
MANY_ROWS = 1_000_000  # from which on `auto` publishes a table out of core
LARGE = {PARQUET.name: 16 << 20, CSV.name: 128 << 20}  # bytes from which on `auto` chooses `disk` (decision 096)


def not_in_batches(path: Any, said: SourceSettings | None = None) -> str | None:
    """Say why a table is only read as a whole; None where it is read in batches."""
    try:
        table_on_disk(path, said).check()
    except NotInBatches as error:
        return error.sentence
    return None


def _held_in_memory(why: str) -> bool:
    """Warn that the engine disk holds all rows, and why."""
    warnings.warn(say("all rows are held in memory: {why}", why=why), WholeTableWarning, stacklevel=4)
    return False


def on_disk(engine: str, table: Any, policy: Policy | None = None) -> bool:
    """Tell whether a table is judged out of core; a frame never is, and nor is a policy that needs its rows."""
    if engine == "memory":
        return False
    is_path, source = isinstance(table, str | Path), None if policy is None else policy.source
    if engine == "disk" and not is_path:
        return _held_in_memory(AT_HAND)
    if not is_path or (engine == "auto" and not _is_large(table, source)):
        return False
    from tclose.run.disk import judgement_refusal

    why = None if policy is None else judgement_refusal(policy)
    if engine == "auto":
        return why is None
    why = why or not_in_batches(table, source)
    return True if why is None else _held_in_memory(why)


def attacked_on_disk(request: AttackRequest) -> bool:
    """Tell whether a release is attacked out of core: where `auto` may choose, if one of the files is large."""
    if request.engine == "memory":
        return False
    from tclose.run.disk import attack_refusal

    are_paths = all(isinstance(table, str | Path) for table in request.tables)
    if request.engine == "disk":
        if not are_paths:
            return _held_in_memory(AT_HAND)
        reasons = (not_in_batches(table, source) for table, source in _given(request))
        why = attack_refusal(request) or next(filter(None, reasons), None)
        return True if why is None else _held_in_memory(why)
    if not are_paths or attack_refusal(request) is not None:
        return False
    given = _given(request)
    shares = [_share_of_large(*each) for each in given]
    large = None not in shares and any(share >= 1 for share in shares if share is not None)
    return large and all(_in_batches(*each) for each in given)


def _given(request: AttackRequest) -> list[tuple[Any, SourceSettings | None]]:
    """Return the tables of an attack, each with what is said of how it is written."""
    original, *releases = request.tables
    return [(original, request.asked.source), *((release, None) for release in releases)]


def published_on_disk(engine: str, table: Any, policy: Policy, method: str, options: Mapping[str, Any]) -> bool:
    """Tell whether a table is published out of core: where `auto` may choose, by the number of its rows alone.

    So the same seed gives the same release on any machine.
    """
    if engine == "disk":
        return True
    from tclose.run.rows import parts_refusal as in_parts_refusal

    is_path = isinstance(table, str | Path) and str(table) != "-"
    if engine != "auto" or not is_path or splits_in_memory(policy, method):
        return False
    if in_parts_refusal(policy, method, options) is not None:
        return False
    if _is_file_below(table, MANY_ROWS):  # a row has a byte at least
        return False
    try:
        source = table_on_disk(table, policy.source)
        if source.size < MANY_ROWS or source.count_rows() < MANY_ROWS:
            return False
        source.check()
    except InputError:  # the engine memory can read it, or says why not
        return False
    return True


def verified_on_disk(
    engine: str, release: str | Path, certificate: str | Path, *, has_population: bool = False
) -> bool:
    """Tell whether a release is verified out of core; several tables never are."""
    if engine == "memory" or (engine == "auto" and not _is_large(release, PLAIN)):
        return False
    from tclose.release.certificate import load
    from tclose.release.verify import judged_whole

    why = judged_whole(load(certificate).certificate)
    why = "presence is judged against the rows of a population" if has_population else why
    if engine == "auto":
        return why is None
    why = why or (None if is_folder(release) else not_in_batches(release, PLAIN))
    return True if why is None else _held_in_memory(why)


def _is_large(path: str | Path, said: SourceSettings | None) -> bool:
    if _is_file_below(path, min(LARGE.values())):
        return False
    share = _share_of_large(path, said)
    return share is not None and share >= 1 and _in_batches(path, said)


def _is_file_below(path: str | Path, size: int) -> bool:
    """Tell whether a table is a file below a size: how it is written need not be looked at to know it is not large."""
    try:
        return Path(path).is_file() and Path(path).stat().st_size < size
    except (OSError, ValueError):  # it cannot be read, which is said later
        return False


def _in_batches(path: str | Path, said: SourceSettings | None) -> bool:
    """Tell whether a table can be read in batches; the engine memory can read all others, or says why not."""
    try:
        table_on_disk(path, said).check()
    except InputError:
        return False
    return True


def _share_of_large(path: str | Path, said: SourceSettings | None = None) -> float | None:
    """Return the size of a table as a share of one that is large; None where it is not read out of core."""
    try:
        table = table_on_disk(path, said)
        return table.size / LARGE[PARQUET.name if table.folder else source_of(Path(path))]
    except InputError:  # the engine memory can read it, or says why not
        return None
