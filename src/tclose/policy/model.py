"""What the steward asks for: the policy, from TOML or from Python, validated once.

Every key is one field, which declares how it is read and what it means (`Setting`). Numbers are exact throughout: 0.15
means 15/100, never the nearest binary float. All mistakes of a policy are reported at once (`table_of`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from tclose.errors import PolicyError, did_you_mean
from tclose.messages import say
from tclose.policy import column_settings, settings
from tclose.policy.column_settings import (
    DISTANCES,
    WHICH_VALUES,
    Below,
    Bins,
    Builder,
    ByGroup,
    CostTable,
    Presence,
    Recursive,
    read_below,
)
from tclose.policy.settings import (
    GivenSettings,
    Setting,
    above,
    above_up_to,
    any_number,
    at_least,
    between,
    by_name,
    check_readable,
    declared,
    join,
    kind_of,
    normalise,
    one_of,
    plain,
    table_of,
    takes,
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


@dataclass(frozen=True, kw_only=True)
class Quasi:
    """How one quasi-identifier is published."""

    hierarchy: Annotated[
        Path | Builder | None,
        Setting(column_settings.hierarchy, "The labels that can be published: a file, or a rule."),
    ] = None
    step: Annotated[
        Fraction | None,
        Setting(
            above(0), "Round the ends of ranges outward to multiples of this number.", "Range ends are multiples of"
        ),
    ] = None
    top: Annotated[
        Fraction | None,
        Setting(any_number, "Publish all values from this number up as one group.", "One group from"),
    ] = None
    bottom: Annotated[
        Fraction | None,
        Setting(any_number, "Publish all values up to this number as one group.", "One group up to"),
    ] = None
    publish: Annotated[Literal["mean"] | None, Setting(one_of("mean"), "Publish class means of a number.")] = None
    below: Annotated[Below | None, Setting(read_below, "Place cells below a limit, such as <0.2.")] = None
    weight: Annotated[
        Fraction,
        Setting(settings.weight, "How much the column counts in the loss, compared with the others.", "Importance"),
    ] = Fraction(1)

    def __post_init__(self) -> None:
        normalise(self)

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

    t: Annotated[
        Fraction | None, Setting(between(0, 1), "Every class has a closeness of at most t.", "t", model=True)
    ] = None
    n: Annotated[
        int | None,
        Setting(
            whole(1),
            "Every class is within t of a group of at least n rows that contains it.",
            "Compare a class with a larger group of at least so many rows (n)",
            needs="t",
        ),
    ] = None
    t_by: Annotated[
        ByGroup | None,
        Setting(column_settings.by_group, "Every class obeys the smallest t of its members.", needs="t"),
    ] = None
    l: Annotated[  # noqa: E741 - the name that policies and papers use
        int | None,
        Setting(
            whole(1),
            "Every class shows at least l different values.",
            "Different values in each class, at least",
            model=True,
        ),
    ] = None
    entropy_l: Annotated[
        Fraction | None,
        Setting(
            at_least(1),
            "Every class has an entropy of at least ln entropy_l.",
            "Entropy of a class, at least that of so many equally common values",
            model=True,
        ),
    ] = None
    recursive: Annotated[
        Recursive | None,
        Setting(column_settings.recursive, "Every class is recursively (c,l)-diverse.", model=True),
    ] = None
    alpha: Annotated[
        Fraction | None,
        Setting(
            between(0, 1),
            "No value of a class has a share above alpha.",
            "Share of the commonest value of a class, at most",
            model=True,
        ),
    ] = None
    beta: Annotated[
        Fraction | None,
        Setting(
            above(0),
            "No value's share in a class exceeds its share in the table by more than beta times.",
            "Growth of a value’s share over its share in the table, at most (β)",
            model=True,
        ),
    ] = None
    enhanced_beta: Annotated[
        Fraction | None,
        Setting(
            above(0),
            "As beta, and by less for values with a large share in the table.",
            "The same, with a smaller limit for common values, at most (enhanced β)",
            model=True,
        ),
    ] = None
    delta: Annotated[
        Fraction | None,
        Setting(
            above(0),
            "Every class shows every value of the table, with |ln(share in class / share in table)| below delta.",
            "Change of every value’s share as a logarithm, below (δ)",
            model=True,
        ),
    ] = None
    kl: Annotated[
        Fraction | None,
        Setting(
            at_least(0),
            "Every class has a KL divergence from the table of at most kl nats.",
            "Divergence from the table in nats, at most (KL)",
            model=True,
        ),
    ] = None
    average_t: Annotated[
        Fraction | None,
        Setting(
            between(0, 1),
            "The mean closeness over all rows is at most average_t.",
            "Mean distance over all rows, at most",
            model=True,
        ),
    ] = None
    distance: Annotated[str | None, Setting(one_of(*DISTANCES), "How far apart two values are.")] = None
    hierarchy: Annotated[
        Path | Builder | None, Setting(column_settings.hierarchy, "The tree of the values: a file, or a rule.")
    ] = None
    matrix: Annotated[
        Path | CostTable | None, Setting(column_settings.matrix, "The costs between values: a file, or the costs.")
    ] = None
    bins: Annotated[
        Bins | None, Setting(column_settings.bins, "The intervals within which numbers count as equal.")
    ] = None
    publish: Annotated[Literal["bin"] | None, Setting(one_of("bin"), "Publish the bin of a number in its place.")] = (
        None
    )
    below: Annotated[Below | None, Setting(read_below, "Place cells below a limit, such as <0.2.")] = None
    order: Annotated[tuple[Any, ...] | None, Setting(settings.values, "All values in their order.")] = None
    domain: Annotated[
        tuple[Any, ...] | None, Setting(settings.values, "All values, also those that the table does not show.")
    ] = None
    missing: Annotated[
        Literal["value", "suppress"] | None,
        Setting(one_of("value", "suppress"), "What happens to rows without a value."),
    ] = None

    def __post_init__(self) -> None:
        normalise(self)

    @staticmethod
    def contradictions(settings: GivenSettings) -> Iterator[tuple[str, str]]:
        """Yield each setting that does not fit the others, and why."""
        if all(map(settings.lacks, MODELS)):
            yield "", NOTHING_ASKED_FOR
        else:
            yield from _unaccompanied(settings)
        yield from column_settings.against_t(settings)
        if "distance" in settings.read:
            yield from column_settings.against_distance(settings, settings.read["distance"])
        if "publish" in settings.read and settings.lacks("bins"):
            yield "publish", 'publish = "bin" needs bins'
        if settings.has("below") and (settings.lacks("bins") or settings.lacks("publish")):
            yield "below", 'cells below a limit are published in bins: say bins and publish = "bin" as well'
        first, *others = [name for name in WHICH_VALUES if settings.has(name)] or [""]
        for name in others:
            yield (
                name,
                say(
                    "{which_value} already says which values there are: drop one of the two",
                    which_value=WHICH_VALUES[first],
                ),
            )

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
NOTHING_ASKED_FOR = (
    "nothing is asked for: say t, or another model (l, entropy_l, recursive, alpha, beta, enhanced_beta, delta, kl, "
    "average_t)"
)
NEEDED = {name: setting.needs for name, setting in declared(Sensitive).items() if setting.needs}
LEVELS = tuple(name for name, setting in declared(Sensitive).items() if setting.model or setting.needs)
PER_COLUMN = "expected one [{place}.COLUMN] table per column, not {kind}"


@takes(table_of(Sensitive).schema, f"at least one of these keys is there: {', '.join(MODELS)}")
def _one_sensitive(value: object, place: str) -> Sensitive:
    return value if isinstance(value, Sensitive) else Sensitive(**table_of(Sensitive)(value, place))


@takes(table_of(Quasi).schema)
def _one_quasi(value: object, place: str) -> Quasi:
    return value if isinstance(value, Quasi) else Quasi(**table_of(Quasi)(value, place))


_sensitive, _each_quasi = by_name(_one_sensitive, PER_COLUMN), by_name(_one_quasi, PER_COLUMN)


@takes({"anyOf": [_each_quasi.schema, settings.names.schema]})
def _quasi(value: object, place: str) -> dict[str, Quasi]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        value = {column: {} for column in settings.names(value, place)}
    return _each_quasi(value, place)


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Which columns play which role, and what has to hold.

    Every setting may be given as the TOML file has it.

    >>> policy = Policy(quasi=["age", "sex"], sensitive={"ldl": {"t": 0.15}}, k=5)
    >>> policy.sensitive["ldl"].t
    Fraction(3, 20)
    """

    quasi: Annotated[Mapping[str, Quasi], Setting(_quasi, "The quasi-identifiers, and how each is published.")] = field(
        default_factory=dict
    )
    sensitive: Annotated[
        Mapping[str, Sensitive],
        Setting(_sensitive, "The sensitive attributes: what holds for each, and how its values are compared."),
    ] = field(default_factory=dict)
    identifiers: Annotated[tuple[str, ...], Setting(settings.names, "Columns that are never published.")] = ()
    person: Annotated[
        str | None, Setting(settings.text, "The identifier of a person, if a person can have several rows.")
    ] = None
    keep: Annotated[
        tuple[str, ...],
        Setting(settings.names, "Columns that are published exactly and are part of the class.", judged=True),
    ] = ()
    unlinkable: Annotated[
        tuple[str, ...], Setting(settings.names, "Columns that are published exactly and not judged.", judged=True)
    ] = ()
    both: Annotated[
        tuple[str, ...], Setting(settings.names, "Columns that are both quasi-identifier and sensitive.", judged=True)
    ] = ()
    others: Annotated[
        Literal["error", "drop"],
        Setting(one_of("error", "drop"), "What happens to columns that the policy does not name."),
    ] = "error"
    k: Annotated[int, Setting(whole(1), "The smallest number of rows or persons in a class.", judged=True)] = 1
    suppress: Annotated[
        Fraction, Setting(between(0, 1), "The largest share of rows that may be withheld.", judged=True)
    ] = Fraction(0)
    missing: Annotated[tuple[str, ...], Setting(settings.names, 'Further cells that mean "no value".', judged=True)] = (
        "",
    )
    loss: Annotated[LossName, Setting(one_of(*LOSSES), "What weave lowers.")] = "gcp"
    temper: Annotated[
        Fraction | None,
        Setting(
            above_up_to(0, HOTTEST),
            "Swap rows at random between finished classes, against an adversary who knows the algorithm.",
        ),
    ] = None
    presence: Annotated[
        Presence | None, Setting(column_settings.presence, "How likely anyone of a population may be in the table.")
    ] = None
    joint: Annotated[
        tuple[Joint, ...], Setting(joints, "Sensitive attributes that must be close together.", judged=True)
    ] = ()
    context: Annotated[Context | None, Setting(read_context, "Your sentences for a report profile.", in_house=True)] = (
        field(default=None, repr=False)
    )
    pseudonym: Annotated[
        Mapping[str, Pseudonym] | None, Setting(pseudonyms, "Publish a keyed pseudonym of an identifier.")
    ] = None
    source: Annotated[
        SourceSettings | None, Setting(source_settings, "How the file of the table is written.", in_house=True)
    ] = None

    def __post_init__(self) -> None:
        normalise(self)
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
            yield (
                "temper",
                say(
                    "random swaps can raise the average distance of '{averaged}': drop temper or average_t",
                    averaged=averaged[0],
                ),
            )
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
        raise PolicyError(
            "expected a Policy, a mapping or the path of a policy file, not {kind_of}", kind_of=kind_of(given)
        )

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Read a policy from a TOML file; paths in it are relative to the file."""
        path = Path(path)
        return cls.from_dict(_read_toml(path), folder=path.parent)

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], *, folder: str | Path = ".") -> Policy:
        """Make a policy from a mapping shaped as the TOML file is; relative paths start at `folder`."""
        return cls(**_located(table_of(Policy)(given, ""), Path(folder)))

    def to_dict(self) -> dict[str, Any]:
        """Return the policy shaped as the TOML file is, ready for JSON; settings at their default are left out.

        `[context]` is left out, too: it is for the page that asks for it, and for nothing else. So is `source`: how the
        steward's file is written concerns no reader of a certificate.
        """
        return {name: value for name, value in plain(self).items() if name not in IN_HOUSE}

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
        return tuple(_files_in(self))

    def columns(self) -> Iterator[tuple[str, str]]:
        """Yield every column that the policy names once, with the place that names it, or the last of two."""
        yield from dict(_columns(vars(self))).items()


IN_HOUSE = {name for name, setting in declared(Policy).items() if setting.in_house}
PolicyLike = Policy | Mapping[str, Any] | str | Path


def _read_toml(path: Path) -> dict[str, Any]:
    check_readable(path)
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"), parse_float=Decimal)
    except FileNotFoundError:
        raise PolicyError("there is no policy file {path}", path=path) from None
    except OSError as error:
        raise PolicyError("the policy file {path} cannot be read: {why}", path=path, why=error.strerror) from None
    except UnicodeDecodeError:
        raise PolicyError("the policy file {path} is not UTF-8 text", path=path) from None
    except tomllib.TOMLDecodeError as error:
        raise PolicyError("{path} is not valid TOML: {why}", path=path, why=error) from None
    except (ValueError, InvalidOperation, RecursionError):
        raise PolicyError("{path} holds a number or a nesting beyond reason", path=path) from None


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


def _located(value: Any, folder: Path) -> Any:
    """Return settings whose relative paths start at `folder`."""
    if isinstance(value, Path):
        return folder / value
    if is_dataclass(value) and any(_files_in(value)):
        return replace(value, **_located(vars(value), folder))  # type: ignore[type-var]
    return {name: _located(part, folder) for name, part in value.items()} if isinstance(value, Mapping) else value


def _files_in(value: Any) -> Iterator[Path]:
    """Yield the files that settings name."""
    if isinstance(value, Path):
        yield value
    elif isinstance(value, Mapping) or is_dataclass(value):
        for part in (value if isinstance(value, Mapping) else vars(value)).values():
            yield from _files_in(part)


def _unaccompanied(settings: GivenSettings) -> Iterator[tuple[str, str]]:
    """Yield each setting that says nothing without another one, which is absent."""
    for name, needed in NEEDED.items():
        if settings.has(name) and settings.lacks(needed):
            yield name, say("{name} goes with {needed}: say {needed} as well", name=name, needed=needed)


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
                    say(
                        "'{column}' is not published as it is, so nobody could tell the groups in a "
                        "release{hint}: name a kept column or a sensitive one that is not binned",
                        column=spec.t_by.column,
                        hint=did_you_mean(spec.t_by.column, exact),
                    )
                ),
            )
