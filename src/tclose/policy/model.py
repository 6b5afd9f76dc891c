"""What the steward asks for: the policy, from TOML or from Python, validated once.

Numbers are exact throughout: 0.15 means 15/100, never the nearest binary float.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeVar

from tclose.errors import PolicyError
from tclose.policy import settings
from tclose.policy.settings import Reader, above, at_least, between, join, kind_of, one_of, whole

MODELS = ("t", "l", "entropy_l", "recursive", "alpha", "beta", "enhanced_beta", "delta")


@dataclass(frozen=True)
class Builder:
    """A hierarchy made by rule, `prefix` of text, `width` of number intervals, `date` units, or given as `rows`."""

    kind: Literal["prefix", "width", "date", "rows"]
    levels: tuple[Any, ...]


@dataclass(frozen=True)
class CostTable:
    """The costs between values, given in place: `costs[i][j]` between values i and j."""

    values: tuple[str, ...]
    costs: tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class Bins:
    """How a number is judged in bins (low, high]: by `width`, `edges`, `count` or `quantiles`."""

    kind: Literal["width", "edges", "count", "quantiles"]
    setting: Any  # a Fraction, a tuple of Fractions, a whole number, a whole number


@dataclass(frozen=True, kw_only=True)
class Quasi:
    """How one quasi-identifier is published."""

    hierarchy: Path | Builder | None = None
    step: Fraction | None = None
    top: Fraction | None = None
    bottom: Fraction | None = None
    publish: Literal["mean"] | None = None

    def __post_init__(self) -> None:
        _normalise(self, _QUASI)
        _check_range(self)


@dataclass(frozen=True, kw_only=True)
class Sensitive:
    """What is guaranteed for one sensitive attribute, and how its values are compared."""

    t: Fraction | None = None
    n: int | None = None
    l: int | None = None  # noqa: E741 - the name that policies and papers use
    entropy_l: Fraction | None = None
    recursive: tuple[Fraction, int] | None = None
    alpha: Fraction | None = None
    beta: Fraction | None = None
    enhanced_beta: Fraction | None = None
    delta: Fraction | None = None
    distance: Literal["ordered", "value", "equal", "hierarchical", "matrix"] | None = None
    hierarchy: Path | Builder | None = None
    matrix: Path | CostTable | None = None
    bins: Bins | None = None
    publish: Literal["bin"] | None = None
    order: tuple[Any, ...] | None = None
    domain: tuple[Any, ...] | None = None
    missing: Literal["value", "suppress"] | None = None

    def __post_init__(self) -> None:
        _normalise(self, _SENSITIVE)
        _check_coherent(self, "")


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Which columns play which role, and what has to hold.

    Every setting may be given as the TOML file has it.

    >>> policy = Policy(quasi=["age", "sex"], sensitive={"ldl": {"t": 0.15}}, k=5)
    >>> policy.sensitive["ldl"].t
    Fraction(3, 20)
    """

    quasi: Mapping[str, Quasi] = field(default_factory=dict)
    sensitive: Mapping[str, Sensitive] = field(default_factory=dict)
    identifiers: tuple[str, ...] = ()
    person: str | None = None
    keep: tuple[str, ...] = ()
    unlinkable: tuple[str, ...] = ()
    others: Literal["error", "drop"] = "error"
    k: int = 1
    suppress: Fraction = Fraction(0)
    missing: tuple[str, ...] = ("",)

    def __post_init__(self) -> None:
        _normalise(self, _POLICY)
        _check_roles(self)

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
        read = _POLICY(given, "")
        for role in ("quasi", "sensitive"):
            read[role] = {name: _located(spec, Path(folder)) for name, spec in read.get(role, {}).items()}
        return cls(**read)

    def to_dict(self) -> dict[str, Any]:
        """Return the policy shaped as the TOML file is, ready for JSON; settings at their default are left out."""
        plain: dict[str, Any] = _plain(self)
        return plain

    @property
    def visible(self) -> tuple[str, ...]:
        """The columns whose equal values form a class: quasi-identifiers, then kept columns."""
        return (*self.quasi, *self.keep)

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that the policy names: hierarchies and matrices."""
        specs = (*self.quasi.values(), *self.sensitive.values())
        return tuple(value for spec in specs for value in vars(spec).values() if isinstance(value, Path))

    def columns(self) -> Iterator[tuple[str, str]]:
        """Yield every column that the policy names, with the place that names it."""
        for role in ("identifiers", "keep", "unlinkable"):
            yield from ((column, role) for column in getattr(self, role))
        for role in ("quasi", "sensitive"):
            yield from ((column, join(role, column)) for column in getattr(self, role))
        if self.person is not None and self.person not in self.identifiers:
            yield self.person, "person"


PolicyLike = Policy | Mapping[str, Any] | str | Path


def _plain(value: Any) -> Any:
    """Turn settings into what JSON and TOML have, exactly."""
    if isinstance(value, Builder | Bins):
        return {value.kind: _plain(value.levels if isinstance(value, Builder) else value.setting)}
    if isinstance(value, Policy | Quasi | Sensitive | CostTable):
        given = ((each, getattr(value, each.name)) for each in fields(value))
        shown = {each.name: _plain(setting) for each, setting in given if setting not in (None, each.default)}
        return (
            shown
            if "recursive" not in shown
            else {**shown, "recursive": dict(zip("cl", shown["recursive"], strict=True))}
        )
    if isinstance(value, Mapping):
        return {name: _plain(setting) for name, setting in value.items()}
    if isinstance(value, tuple):
        return [_plain(setting) for setting in value]
    if isinstance(value, Path):
        return value.name
    return settings.spelled(value) if isinstance(value, Fraction | Decimal) else value


def _read_toml(path: Path) -> dict[str, Any]:
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


def _normalise(given: Any, reader: Reader[dict[str, Any]]) -> None:
    """Read every setting of a frozen object, so that Python code may write 0.15 where a fraction is kept."""
    read = reader(vars(given), "")
    for each in fields(given):
        default = each.default if each.default_factory is MISSING else each.default_factory()
        object.__setattr__(given, each.name, read.get(each.name, default))


def _check_roles(policy: Policy) -> None:
    named: dict[str, str] = {}
    for column, place in policy.columns():
        if column in named:
            raise PolicyError(f"column '{column}' has a role already, in {named[column]}: name it once", place=place)
        named[column] = place
    if not policy.visible:
        raise PolicyError("the policy names no quasi-identifier: add a [quasi.COLUMN] table")
    if not policy.sensitive and policy.k == 1:
        raise PolicyError("the policy asks for nothing: add a [sensitive.COLUMN] table, or a k above 1")


S = TypeVar("S", Quasi, Sensitive)


def _located(spec: S, folder: Path) -> S:
    """Return the same settings with paths that start at `folder`."""
    paths: dict[str, Any] = {name: folder / value for name, value in vars(spec).items() if isinstance(value, Path)}
    return replace(spec, **paths)


def _quasi(value: object, place: str) -> dict[str, Quasi]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        value = {column: {} for column in settings.names(value, place)}
    return _each(value, place, lambda spec: spec if isinstance(spec, Quasi) else Quasi(**_QUASI(spec, "")))


def _sensitive(value: object, place: str) -> dict[str, Sensitive]:
    return _each(value, place, lambda spec: spec if isinstance(spec, Sensitive) else Sensitive(**_SENSITIVE(spec, "")))


def _each(value: object, place: str, read: Callable[[Any], S]) -> dict[str, S]:
    if not isinstance(value, Mapping):
        raise PolicyError(f"expected one [{place}.COLUMN] table per column, not {kind_of(value)}", place=place)
    found = {}
    for name, spec in value.items():
        try:
            found[str(name)] = read(spec)
        except PolicyError as error:
            raise error.within(join(place, str(name))) from None
    return found


def _check_range(spec: Quasi) -> None:
    if spec.publish is not None and any(
        setting is not None for setting in (spec.hierarchy, spec.step, spec.top, spec.bottom)
    ):
        raise PolicyError("a mean has no hierarchy, step, top or bottom", place="publish")
    if spec.hierarchy is not None and any(setting is not None for setting in (spec.step, spec.top, spec.bottom)):
        raise PolicyError("a hierarchy has labels of its own: drop step, top and bottom", place="hierarchy")
    if spec.top is not None and spec.bottom is not None and spec.top <= spec.bottom:
        raise PolicyError("top must lie above bottom", place="top")


def _check_coherent(spec: Sensitive, place: str) -> None:
    """Refuse settings that contradict each other or would be ignored."""
    for name, why in _contradictions(spec):
        raise PolicyError(why, place=join(place, name) if name else place)


def _contradictions(spec: Sensitive) -> Iterator[tuple[str, str]]:
    """Yield each setting that does not fit the others, and why."""
    if all(getattr(spec, model) is None for model in MODELS):
        yield "", f"nothing is asked for: say t, or another model ({', '.join(MODELS[1:])})"
    if spec.n is not None and spec.t is None:
        yield "n", "n goes with t: (n,t)-closeness"
    for name, distance in (("hierarchy", "hierarchical"), ("matrix", "matrix"), ("order", "ordered")):
        if getattr(spec, name) is not None and spec.distance not in (None, distance):
            yield name, f'{_WHAT[name]} is for distance = "{distance}", not "{spec.distance}"'
    if spec.distance == "hierarchical" and spec.hierarchy is None:
        yield "distance", 'say hierarchy = "FILE.csv"'
    if spec.distance == "matrix" and spec.matrix is None:
        yield "distance", 'say matrix = "COSTS.csv"'
    if spec.bins is not None and spec.distance not in (None, "ordered", "equal"):
        yield "bins", f'bins do not go with "{spec.distance}"'
    if spec.publish is not None and spec.bins is None:
        yield "publish", 'publish = "bin" needs bins'
    first, *others = [name for name in _WHAT if getattr(spec, name) is not None] or [""]
    for name in others:
        yield name, f"{_WHAT[first]} already says which values there are: drop one of the two"


_WHAT = {  # each of these says which values there are, so only one of them can
    "hierarchy": "a hierarchy",
    "matrix": "a matrix",
    "bins": "a list of bins",
    "order": "an order",
    "domain": "a domain",
}


def _hierarchy(value: object, place: str) -> Path | Builder:
    if not isinstance(value, Mapping):
        return value if isinstance(value, Builder) else settings.path(value, place)
    kind, levels = _BUILDER(value, place)
    return Builder(kind, levels)  # type: ignore[arg-type]


def _rows(value: object, place: str) -> tuple[tuple[str, ...], ...]:
    return tuple(
        tuple(settings.text(cell, place) for cell in settings.listed(row, place))
        for row in settings.listed(value, place)
    )


def _matrix(value: object, place: str) -> Path | CostTable:
    if isinstance(value, CostTable) or not isinstance(value, Mapping):
        return value if isinstance(value, CostTable) else settings.path(value, place)
    read = settings.table({"values": settings.names, "costs": settings.listed})(value, place)
    if set(read) != {"values", "costs"}:
        raise PolicyError("expected both, as in { values = [...], costs = [[...], ...] }", place=place)
    rows = (settings.listed(row, place) for row in read["costs"])
    return CostTable(read["values"], tuple(tuple(settings.number(cost, place) for cost in row) for row in rows))


def _prefixes(value: object, place: str) -> tuple[int, ...]:
    lengths = tuple(whole(1)(length, place) for length in settings.values(value, place))
    if any(b >= a for a, b in pairwise(lengths)):
        raise PolicyError("prefix lengths go from long to short, as in [5, 3, 1]", place=place)
    return lengths


def _widths(value: object, place: str) -> tuple[Fraction, ...]:
    widths = tuple(above(0)(width, place) for width in settings.values(value, place))
    if any(b <= a or (b / a).denominator != 1 for a, b in pairwise(widths)):
        raise PolicyError("widths rise, each a multiple of the one before, as in [5, 10, 20]", place=place)
    return widths


DATE_UNITS = ("day", "month", "quarter", "year")


def _date_units(value: object, place: str) -> tuple[str, ...]:
    units = tuple(one_of(*DATE_UNITS)(unit, place) for unit in settings.values(value, place))
    if list(units) != sorted(units, key=DATE_UNITS.index):
        raise PolicyError('date units go from fine to coarse, as in ["month", "year"]', place=place)
    return units


def _bins(value: object, place: str) -> Bins:
    return value if isinstance(value, Bins) else Bins(*_BINS(value, place))  # type: ignore[arg-type]


def _recursive(value: object, place: str) -> tuple[Fraction, int]:
    if isinstance(value, tuple) and len(value) == 2:
        value = {"c": value[0], "l": value[1]}
    read = settings.table({"c": above(0), "l": whole(2)})(value, place)
    if set(read) != {"c", "l"}:
        raise PolicyError("expected both numbers, as in { c = 3, l = 2 }", place=place)
    return read["c"], read["l"]


_BINS = settings.choice(
    {"width": above(0), "edges": settings.rising, "count": whole(1), "quantiles": whole(1)},
    "{ width = 0.5 }, { edges = [0, 10, 20] }, { count = 20 }, { quantiles = 10 }",
)
_BUILDER = settings.choice(
    {"prefix": _prefixes, "width": _widths, "date": _date_units, "rows": _rows},
    'a file name, { prefix = [5, 3, 1] }, { width = [5, 10] }, { date = ["month", "year"] }',
)
_QUASI: Reader[dict[str, Any]] = settings.table(
    {
        "hierarchy": _hierarchy,
        "step": above(0),
        "top": settings.number,
        "bottom": settings.number,
        "publish": one_of("mean"),
    }
)
_SENSITIVE: Reader[dict[str, Any]] = settings.table(
    {
        "t": between(0, 1),
        "n": whole(1),
        "l": whole(1),
        "entropy_l": at_least(1),
        "recursive": _recursive,
        "alpha": between(0, 1),
        "beta": above(0),
        "enhanced_beta": above(0),
        "delta": above(0),
        "distance": one_of("ordered", "value", "equal", "hierarchical", "matrix"),
        "hierarchy": _hierarchy,
        "matrix": _matrix,
        "bins": _bins,
        "publish": one_of("bin"),
        "order": settings.values,
        "domain": settings.values,
        "missing": one_of("value", "suppress"),
    }
)
_POLICY: Reader[dict[str, Any]] = settings.table(
    {
        "identifiers": settings.names,
        "person": settings.text,
        "keep": settings.names,
        "unlinkable": settings.names,
        "others": one_of("error", "drop"),
        "k": whole(1),
        "suppress": between(0, 1),
        "missing": settings.names,
        "quasi": _quasi,
        "sensitive": _sensitive,
    }
)
