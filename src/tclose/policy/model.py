"""What the steward asks for: the policy, from TOML or from Python, validated once.

Every setting is one field, which declares how it is read. Numbers are exact throughout: 0.15 means 15/100, never the
nearest binary float. All mistakes of a policy are reported at once (`_read`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_type_hints

from tclose.errors import Mistakes, PolicyError, did_you_mean
from tclose.policy import column_settings, settings
from tclose.policy.column_settings import (
    DISTANCES,
    Below,
    Bins,
    Builder,
    ByGroup,
    CostTable,
    Presence,
    Recursive,
    distances_that_take,
    read_below,
)
from tclose.policy.settings import (
    SettingReader,
    above,
    above_up_to,
    at_least,
    between,
    check_readable,
    join,
    kind_of,
    one_of,
    spelled,
    whole,
)
from tclose.policy.source import SourceSettings, source_settings
from tclose.policy.tables import (
    Context,
    Joint,
    Pseudonym,
    context_contradictions,
    joint_contradictions,
    joints,
    located,
    mistakes_of_both,
    mistakes_of_presence,
    mistakes_of_pseudonyms,
    pseudonyms,
    second_role,
)
from tclose.policy.tables import context as read_context

HOTTEST = 10  # times the mean loss of a class; swaps are all but random long before

LossName = Literal["gcp", "sse", "discernibility", "queries"]
LOSSES: tuple[LossName, ...] = get_args(LossName)  # what a method may lower


@dataclass(frozen=True)
class Setting:
    """What a field declares: how it is read, whether it asks for a privacy model, and which setting it goes with."""

    reader: SettingReader[Any]
    model: bool = False
    needs: str | None = None


@cache
def declared(kind: Any) -> dict[str, Setting]:
    """Return the settings that a class declares, by name."""
    hints = get_type_hints(kind, include_extras=True)
    return {each.name: hints[each.name].__metadata__[0] for each in fields(kind)}


@dataclass(frozen=True)
class GivenSettings:
    """The settings of one table as they were given, and those of them that can be read."""

    given: Mapping[str, Any]
    read: Mapping[str, Any]
    all_known: bool  # an unknown key may be a misspelt setting, so nothing is surely absent then

    def has(self, name: str) -> bool:
        """Tell whether a setting is given, readable or not."""
        return name in self.given

    def lacks(self, name: str) -> bool:
        """Tell whether a setting is surely absent."""
        return self.all_known and name not in self.given

    def is_empty(self, name: str) -> bool:
        """Tell whether a setting is absent or names nothing; an unreadable table may mean more than it says."""
        return self.given.keys() == self.read.keys() and not self.read.get(name)


def _read(kind: Any, given: object) -> dict[str, Any]:
    """Read the settings of a class, each as its field declares; every mistake in them is reported."""
    mistakes, readers = Mistakes(), {name: setting.reader for name, setting in declared(kind).items()}
    read = settings.readable(readers, given, "", mistakes)
    assert isinstance(given, Mapping)
    present = {name: value for name, value in given.items() if value is not None}
    for place, why in kind.contradictions(GivenSettings(present, read, present.keys() <= readers.keys())):
        mistakes.add(PolicyError(why, place=place))
    mistakes.report()
    return read


@dataclass(frozen=True, kw_only=True)
class Quasi:
    """How one quasi-identifier is published."""

    hierarchy: Annotated[Path | Builder | None, Setting(column_settings.hierarchy)] = None
    step: Annotated[Fraction | None, Setting(above(0))] = None
    top: Annotated[Fraction | None, Setting(settings.number)] = None
    bottom: Annotated[Fraction | None, Setting(settings.number)] = None
    publish: Annotated[Literal["mean"] | None, Setting(one_of("mean"))] = None
    below: Annotated[Below | None, Setting(read_below)] = None  # where cells such as <0.2 are placed
    weight: Annotated[Fraction, Setting(settings.weight)] = Fraction(1)  # in the loss, compared with the others

    def __post_init__(self) -> None:
        _normalise(self)

    @staticmethod
    def contradictions(settings: GivenSettings) -> Iterator[tuple[str, str]]:
        """Yield each setting that does not fit the others, and why."""
        if settings.has("publish") and any(map(settings.has, ("hierarchy", "step", "top", "bottom"))):
            yield "publish", "a mean has no hierarchy, step, top or bottom"
        if settings.has("hierarchy") and any(map(settings.has, ("step", "top", "bottom"))):
            yield "hierarchy", "a hierarchy has labels of its own: drop step, top and bottom"
        if settings.has("below") and (settings.has("hierarchy") or settings.has("publish")):
            yield "below", "cells below a limit are published as a range up to it: drop hierarchy and publish, or below"
        top, bottom = settings.read.get("top"), settings.read.get("bottom")
        if top is not None and bottom is not None and top <= bottom:
            yield "top", "top must lie above bottom"


@dataclass(frozen=True, kw_only=True)
class Sensitive:
    """What is guaranteed for one sensitive attribute, and how its values are compared."""

    t: Annotated[Fraction | None, Setting(between(0, 1), model=True)] = None
    n: Annotated[int | None, Setting(whole(1), needs="t")] = None
    t_by: Annotated[ByGroup | None, Setting(column_settings.by_group, needs="t")] = None
    l: Annotated[int | None, Setting(whole(1), model=True)] = None  # noqa: E741 - the name that policies and papers use
    entropy_l: Annotated[Fraction | None, Setting(at_least(1), model=True)] = None
    recursive: Annotated[Recursive | None, Setting(column_settings.recursive, model=True)] = None
    alpha: Annotated[Fraction | None, Setting(between(0, 1), model=True)] = None
    beta: Annotated[Fraction | None, Setting(above(0), model=True)] = None
    enhanced_beta: Annotated[Fraction | None, Setting(above(0), model=True)] = None
    delta: Annotated[Fraction | None, Setting(above(0), model=True)] = None
    kl: Annotated[Fraction | None, Setting(at_least(0), model=True)] = None
    average_t: Annotated[Fraction | None, Setting(between(0, 1), model=True)] = None
    distance: Annotated[str | None, Setting(one_of(*DISTANCES))] = None
    hierarchy: Annotated[Path | Builder | None, Setting(column_settings.hierarchy)] = None
    matrix: Annotated[Path | CostTable | None, Setting(column_settings.matrix)] = None
    bins: Annotated[Bins | None, Setting(column_settings.bins)] = None
    publish: Annotated[Literal["bin"] | None, Setting(one_of("bin"))] = None
    below: Annotated[Below | None, Setting(read_below)] = None  # where cells such as <0.2 are placed
    order: Annotated[tuple[Any, ...] | None, Setting(settings.values)] = None
    domain: Annotated[tuple[Any, ...] | None, Setting(settings.values)] = None
    missing: Annotated[Literal["value", "suppress"] | None, Setting(one_of("value", "suppress"))] = None

    def __post_init__(self) -> None:
        _normalise(self)

    @staticmethod
    def contradictions(settings: GivenSettings) -> Iterator[tuple[str, str]]:
        """Yield each setting that does not fit the others, and why."""
        if all(map(settings.lacks, MODELS)):
            yield "", f"nothing is asked for: say t, or another model ({', '.join(MODELS[1:])})"
        else:
            yield from _unaccompanied(settings)
        yield from _against_t(settings)
        if "distance" in settings.read:
            yield from _against_distance(settings, settings.read["distance"])
        if "publish" in settings.read and settings.lacks("bins"):
            yield "publish", 'publish = "bin" needs bins'
        if settings.has("below") and (settings.lacks("bins") or settings.lacks("publish")):
            yield "below", 'cells below a limit are published in bins: say bins and publish = "bin" as well'
        first, *others = [name for name in _WHAT if settings.has(name)] or [""]
        for name in others:
            yield name, f"{_WHAT[first]} already says which values there are: drop one of the two"

    @property
    def limit(self) -> Fraction | None:
        """The largest distance that any class may have from the whole table; with n, t does not bind every class."""
        return self.t if self.n is None else None

    def scaled(self, factor: Fraction) -> Sensitive:
        """Return the same settings with t, also that of each group, multiplied by a factor, to 1 at most."""
        if self.t is None:
            return self
        by_group = None if self.t_by is None else self.t_by.scaled(factor)
        return replace(self, t=min(self.t * factor, Fraction(1)), t_by=by_group)


MODELS = tuple(name for name, setting in declared(Sensitive).items() if setting.model)
LEVELS = tuple(name for name, setting in declared(Sensitive).items() if setting.model or setting.needs)
S = TypeVar("S", Quasi, Sensitive, Presence)


def _quasi(value: object, place: str) -> dict[str, Quasi]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        value = {column: {} for column in settings.names(value, place)}
    return _each(value, place, lambda spec: spec if isinstance(spec, Quasi) else Quasi(**_read(Quasi, spec)))


def _sensitive(value: object, place: str) -> dict[str, Sensitive]:
    return _each(
        value, place, lambda spec: spec if isinstance(spec, Sensitive) else Sensitive(**_read(Sensitive, spec))
    )


def _each(value: object, place: str, read: Callable[[Any], S]) -> dict[str, S]:
    if not isinstance(value, Mapping):
        raise PolicyError(f"expected one [{place}.COLUMN] table per column, not {kind_of(value)}", place=place)
    specs, mistakes = {}, Mistakes()
    for name, spec in value.items():
        with mistakes.collected(within=join(place, str(name))):
            specs[str(name)] = read(spec)
    mistakes.report()
    return specs


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Which columns play which role, and what has to hold.

    Every setting may be given as the TOML file has it.

    >>> policy = Policy(quasi=["age", "sex"], sensitive={"ldl": {"t": 0.15}}, k=5)
    >>> policy.sensitive["ldl"].t
    Fraction(3, 20)
    """

    quasi: Annotated[Mapping[str, Quasi], Setting(_quasi)] = field(default_factory=dict)
    sensitive: Annotated[Mapping[str, Sensitive], Setting(_sensitive)] = field(default_factory=dict)
    identifiers: Annotated[tuple[str, ...], Setting(settings.names)] = ()
    person: Annotated[str | None, Setting(settings.text)] = None
    keep: Annotated[tuple[str, ...], Setting(settings.names)] = ()
    unlinkable: Annotated[tuple[str, ...], Setting(settings.names)] = ()
    both: Annotated[tuple[str, ...], Setting(settings.names)] = ()  # quasi-identifiers that are sensitive, too
    others: Annotated[Literal["error", "drop"], Setting(one_of("error", "drop"))] = "error"
    k: Annotated[int, Setting(whole(1))] = 1
    suppress: Annotated[Fraction, Setting(between(0, 1))] = Fraction(0)
    missing: Annotated[tuple[str, ...], Setting(settings.names)] = ("",)
    loss: Annotated[LossName, Setting(one_of(*LOSSES))] = "gcp"
    temper: Annotated[Fraction | None, Setting(above_up_to(0, HOTTEST))] = None
    presence: Annotated[Presence | None, Setting(column_settings.presence)] = None
    joint: Annotated[tuple[Joint, ...], Setting(joints)] = ()
    context: Annotated[Context | None, Setting(read_context)] = field(default=None, repr=False)  # for a page alone
    pseudonym: Annotated[Mapping[str, Pseudonym] | None, Setting(pseudonyms)] = None
    source: Annotated[SourceSettings | None, Setting(source_settings)] = None  # how the table's file is written

    def __post_init__(self) -> None:
        _normalise(self)
        if self.pseudonym and self.person is None:  # whose rows it links
            object.__setattr__(self, "person", next(iter(self.pseudonym)))

    @staticmethod
    def contradictions(settings: GivenSettings) -> Iterator[tuple[str, str]]:
        """Yield each column that has two roles, and say where the policy asks for nothing."""
        named: dict[str, str] = {}
        roles = _roles(settings)
        for column, place in _columns(roles):
            first = named.setdefault(column, place)
            if first != place and (mistake := second_role(column, first, place, roles.get("both", ()))):
                yield place, mistake
        yield from mistakes_of_both(roles)
        yield from mistakes_of_pseudonyms(roles)
        yield from joint_contradictions(settings.read.get("joint", ()), roles)
        written = isinstance(settings.given.get("context"), Mapping)  # by a person; a derived policy may name fewer
        if written and settings.given.keys() == settings.read.keys():
            yield from context_contradictions(settings.read.get("context"), roles, set(named))
        if settings.is_empty("quasi") and settings.is_empty("keep"):
            yield "", "the policy names no quasi-identifier: add a [quasi.COLUMN] table"
        if settings.is_empty("sensitive") and (settings.lacks("k") or settings.read.get("k") == 1):
            yield "", "the policy asks for nothing: add a [sensitive.COLUMN] table, or a k above 1"
        yield from _against_groups(settings)
        averaged = [name for name, spec in settings.read.get("sensitive", {}).items() if spec.average_t is not None]
        if averaged and settings.has("temper"):
            yield "temper", f"random swaps can raise the average distance of '{averaged[0]}': drop temper or average_t"
        yield from mistakes_of_presence(settings.read, averaged)

    @classmethod
    def of(cls, given: PolicyLike) -> Policy:
        """Return a policy, given as one, as a mapping shaped as the TOML file is, or as the path of that file.

        >>> Policy.of({"quasi": ["age"], "k": 5}).k
        5
        """
        if isinstance(given, Policy):
            return given
        if isinstance(given, Mapping):
            return cls.from_dict(given)
        if isinstance(given, str | Path):
            return cls.load(given)
        raise PolicyError(f"expected a Policy, a mapping or the path of a policy file, not {kind_of(given)}")

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Read a policy from a TOML file; paths in it are relative to the file."""
        path = Path(path)
        return cls.from_dict(_read_toml(path), folder=path.parent)

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], *, folder: str | Path = ".") -> Policy:
        """Make a policy from a mapping shaped as the TOML file is; relative paths start at `folder`."""
        read = _read(cls, given)
        for role in ("quasi", "sensitive"):
            read[role] = {
                name: replace(spec, **_paths(spec, Path(folder))) for name, spec in read.get(role, {}).items()
            }
        if "presence" in read:
            read["presence"] = replace(read["presence"], **_paths(read["presence"], Path(folder)))
        if "pseudonym" in read:
            read["pseudonym"] = located(read["pseudonym"], Path(folder))
        return cls(**read)

    def to_dict(self) -> dict[str, Any]:
        """Return the policy shaped as the TOML file is, ready for JSON; settings at their default are left out.

        `[context]` is left out, too: it is for the page that asks for it, and for nothing else. So is `source`: how the
        steward's file is written concerns no reader of a certificate.
        """
        plain: dict[str, Any] = _plain(replace(self, source=None))
        plain.pop("context", None)
        return plain

    @property
    def weights(self) -> dict[str, Fraction]:
        """How much each quasi-identifier counts; empty where all count the same."""
        weights = {name: spec.weight for name, spec in self.quasi.items()}
        return weights if len(set(weights.values())) > 1 else {}

    @property
    def chosen_loss(self) -> dict[str, Any]:
        """The loss that is to be lowered, the weights in it, and the class means, which lose their squared error."""
        weights = {name: settings.spelled(weight) for name, weight in self.weights.items()}
        means = [name for name, spec in self.quasi.items() if spec.publish == "mean"] if self.loss != "sse" else []
        name = "sse" if self.loss == "gcp" and means == list(self.quasi) else self.loss
        chosen = {"name": name, "weights": weights, "means": means if name == self.loss else []}
        return {key: value for key, value in chosen.items() if value}

    @property
    def loses_gcp(self) -> bool:
        """Whether the loss that is to be lowered is the GCP: no other one, no weights and no class means."""
        means = any(spec.publish == "mean" for spec in self.quasi.values())
        return self.loss == "gcp" and not self.weights and not means

    @property
    def visible(self) -> tuple[str, ...]:
        """The columns whose equal values form a class: quasi-identifiers, then kept columns."""
        return (*self.quasi, *self.keep)

    @property
    def required(self) -> Mapping[str, Sensitive]:
        """What is required of each sensitive attribute, and then of attributes together."""
        return {**self.sensitive, **{joint.name: Sensitive(t=joint.t) for joint in self.joint}}

    @property
    def below(self) -> dict[str, Below]:
        """Where the cells that lie below a limit are placed, of each column that has some."""
        quasi = {name: spec.below for name, spec in self.quasi.items() if spec.below is not None}
        return quasi | {name: spec.below for name, spec in self.sensitive.items() if spec.below is not None}

    @property
    def not_numbers(self) -> tuple[str, ...]:
        """The cells that stand in columns of numbers and are written as none."""
        return (*self.missing, *dict.fromkeys(cell for each in self.below.values() for cell in each.unread))

    @property
    def supersets(self) -> dict[str, dict[str, Any]]:
        """The n and t of every attribute that (n,t)-closeness is required of."""
        return {name: {"n": spec.n, "t": spec.t} for name, spec in self.sensitive.items() if spec.n is not None}

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that the policy names: hierarchies, matrices, the population and the key of pseudonyms."""
        specs = (*self.quasi.values(), *self.sensitive.values(), *([self.presence] if self.presence else []))
        specs += tuple((self.pseudonym or {}).values())
        return tuple(path for spec in specs for path in _paths(spec).values())

    def columns(self) -> Iterator[tuple[str, str]]:
        """Yield every column that the policy names once, with the place that names it, or the last of two."""
        yield from dict(_columns(vars(self))).items()


PolicyLike = Policy | Mapping[str, Any] | str | Path


def _plain(value: Any) -> Any:
    """Turn settings into what JSON and TOML have, exactly."""
    if isinstance(value, Builder | Bins):
        return {value.kind: _plain(value.levels if isinstance(value, Builder) else value.setting)}
    if isinstance(value, Policy | Quasi | Sensitive | Joint | CostTable | ByGroup | Presence | Pseudonym):
        given = ((each, getattr(value, each.name)) for each in fields(value))
        return {each.name: _plain(part) for each, part in given if part not in (None, each.default)}
    if isinstance(value, Recursive | Below):
        return _plain(value._asdict() if isinstance(value, Recursive) else value.setting)
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if isinstance(value, Path):
        return value.name
    return settings.spelled(value) if isinstance(value, Fraction | Decimal) else value


def _read_toml(path: Path) -> dict[str, Any]:
    check_readable(path)
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"), parse_float=Decimal)
    except FileNotFoundError:
        raise PolicyError(f"there is no policy file {path}") from None
    except OSError as error:
        raise PolicyError(f"the policy file {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise PolicyError(f"the policy file {path} is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{path} is not valid TOML: {error}") from None
    except (ValueError, InvalidOperation, RecursionError):
        raise PolicyError(f"{path} holds a number or a nesting beyond reason") from None


def _normalise(given: Any) -> None:
    """Read every setting of a frozen object, so that Python code may write 0.15 where a fraction is kept."""
    read = _read(type(given), vars(given))
    for each in fields(given):
        default = each.default if each.default_factory is MISSING else each.default_factory()
        object.__setattr__(given, each.name, read.get(each.name, default))


def _roles(settings: GivenSettings) -> dict[str, Any]:
    """Return the columns of each role, also of a role with mistakes in the settings of its columns."""
    tables = (role for role in ("quasi", "sensitive") if isinstance(settings.given.get(role), Mapping))
    return {**{role: [str(name) for name in settings.given[role]] for role in tables}, **settings.read}


def _columns(roles: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield every column that has a role, with the place that gives it."""
    for role in ("identifiers", "keep", "unlinkable"):
        yield from ((column, role) for column in roles.get(role, ()))
    for role in ("quasi", "sensitive"):
        yield from ((column, join(role, column)) for column in roles.get(role, ()))
    person = roles.get("person")
    if person is not None and person not in roles.get("identifiers", ()):
        yield person, "person"


def _paths(spec: Any, folder: Path = Path()) -> dict[str, Any]:
    """Return the files that settings name, with paths that start at `folder`."""
    return {name: folder / value for name, value in vars(spec).items() if isinstance(value, Path)}


def _unaccompanied(settings: GivenSettings) -> Iterator[tuple[str, str]]:
    """Yield each setting that says nothing without another one, which is absent."""
    for name, setting in declared(Sensitive).items():
        if setting.needs and settings.has(name) and settings.lacks(setting.needs):
            yield name, f"{name} goes with {setting.needs}: say {setting.needs} as well"


def _against_t(settings: GivenSettings) -> Iterator[tuple[str, str]]:
    """Yield each setting that contradicts t or n."""
    for name in ("t_by", "average_t"):
        if settings.has(name) and settings.has("n"):
            yield name, f"{name} does not go with n, which lets large classes be at any distance: drop one of the two"
    if "t" not in settings.read or "t_by" not in settings.read:
        return
    t = settings.read["t"]
    for group, own in settings.read["t_by"].t.items():
        if own > t:
            yield (
                join("t_by.t", group),
                (
                    f"{spelled(own)} is above the column's t = {spelled(t)}, which every class obeys: "
                    "a group can only be stricter"
                ),
            )


def _against_groups(settings: GivenSettings) -> Iterator[tuple[str, str]]:
    """Yield each column of groups that a release does not publish as it is, so that no reader could judge t_by."""
    sensitive = settings.read.get("sensitive", {})
    if settings.has("keep") and "keep" not in settings.read:
        return
    exact = [*settings.read.get("keep", ()), *(name for name, spec in sensitive.items() if spec.publish is None)]
    for name, spec in sensitive.items():
        if spec.t_by is not None and spec.t_by.column not in exact:
            yield (
                join("sensitive", name) + ".t_by.column",
                (
                    f"'{spec.t_by.column}' is not published as it is, so nobody could tell the groups in a release"
                    f"{did_you_mean(spec.t_by.column, exact)}: name a kept column or a sensitive one that is not binned"
                ),
            )


def _against_distance(settings: GivenSettings, distance: str) -> Iterator[tuple[str, str]]:
    """Yield each setting that does not go with the distance that the policy names, and why."""
    chosen = DISTANCES[distance]
    for name in _WHAT:
        if settings.has(name) and not chosen.allows(name):
            fitting = " or ".join(f'"{other}"' for other in distances_that_take(name))
            yield name, f'{_WHAT[name]} is for distance = {fitting}, not "{distance}"'
    if chosen.needs is not None and settings.lacks(chosen.needs):
        yield "distance", f'say {chosen.needs} = "FILE.csv"'


_WHAT = {  # each of these says which values there are, so only one of them can
    "hierarchy": "a hierarchy",
    "matrix": "a matrix",
    "bins": "a list of bins",
    "order": "an order",
    "domain": "a domain",
}
