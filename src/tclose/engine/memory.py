"""The steps of tclose, readable as prose: read, judge, split, write, tell."""

from __future__ import annotations

import secrets
import warnings
from importlib.metadata import version
from typing import Any

import numpy as np

from tclose.errors import InputError, LeakWarning, PolicyError, did_you_mean
from tclose.partition import DEFAULT_METHOD
from tclose.partition.options import checked
from tclose.policy import Policy, PolicyLike
from tclose.privacy.feasibility import publishable
from tclose.privacy.judge import Progress, distance_of, judge
from tclose.privacy.results import CheckResult, Explanation, Step
from tclose.release.certificate import FORMAT
from tclose.release.layouts import laid_out
from tclose.release.published import Work
from tclose.release.release import Release
from tclose.table import encode, to_polars
from tclose.table.coded import check_columns
from tclose.table.frames import kind_of
from tclose.table.quasi import read_quasis


def check(
    frame: Any, policy: PolicyLike, *, ignore_others: bool = False, progress: Progress | None = None
) -> CheckResult:
    """Say whether a table holds what a policy asks for; the table is judged as it is, nothing is changed.

    `frame` is a pandas, polars or pyarrow frame; `policy` a `Policy`, a mapping or the path of a TOML file. Rows that
    show equal quasi-identifiers and kept columns form a class. With `ignore_others`, columns that the policy does not
    name play no role.

    >>> import polars as pl
    >>> table = pl.DataFrame({"zone": ["a", "a", "b", "b"], "salary": [3, 4, 3, 4]})
    >>> check(table, Policy(quasi=["zone"], sensitive={"salary": {"t": 0.1}}, k=2)).satisfied
    True
    """
    policy, tell = Policy.of(policy), progress or (lambda share, what: None)
    tell(0.0, "reading")
    table = encode(to_polars(frame), policy, ignore_others=ignore_others)
    tell(0.5, "judging")
    return judge(table, policy, lambda share, what: tell(0.5 + share / 2, what))


def explain(frame: Any, policy: PolicyLike, *, attribute: str, class_number: int) -> Explanation:
    """Return the cheapest moves that turn one class's distribution into the whole table's.

    Classes are counted from 1 in the order in which the table shows them first.

    >>> import polars as pl
    >>> table = pl.DataFrame({"zone": ["a", "b"], "salary": [3, 4]})
    >>> policy = Policy(quasi=["zone"], sensitive={"salary": {"t": 0.5}})
    >>> explain(table, policy, attribute="salary", class_number=1).closeness
    Fraction(1, 2)
    """
    policy = Policy.of(policy)
    table = encode(to_polars(frame), policy, ignore_others=True)
    if attribute not in table.sensitive:
        hint = did_you_mean(attribute, table.sensitive)
        raise InputError(f"'{attribute}' is no sensitive attribute of the policy{hint}")
    classes, column = table.classes, table.sensitive[attribute]
    if not 1 <= class_number <= len(classes):
        raise InputError(f"there is no class {class_number:,}: the table has classes 1 to {len(classes):,}")
    mine = column.codes[classes.members(class_number - 1)]
    row = np.bincount(mine, minlength=len(column.labels)).astype(np.int64)
    moves = distance_of(column).plan(row, column.reference)
    return Explanation(
        attribute=attribute,
        class_number=class_number,
        rows=len(mine),
        distance=column.distance,
        moves=tuple(
            Step(column.labels[move.source], column.labels[move.target], move.mass, move.distance) for move in moves
        ),
    )


def anonymize(
    frame: Any,
    policy: PolicyLike,
    *,
    method: str = DEFAULT_METHOD,
    seed: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Release:
    """Split a table into classes that hold what the policy asks for, and publish one common value per class.

    Sensitive and kept cells stay as they are. The release is judged from its published values before it is returned;
    what cannot be reached raises `Infeasible`. `options` go to the method. Without a seed, chance is drawn from the
    system's secure source. The methods `projections` and `anatomy` publish several tables.

    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [20, 30, 40, 50], "salary": [3, 4, 3, 4]})
    >>> policy = Policy(quasi=["age"], sensitive={"salary": {"t": 0.1}}, k=2)
    >>> anonymize(table, policy, method="mondrian").frame["age"].to_list()
    ['[20, 30]', '[20, 30]', '[40, 50]', '[40, 50]']
    """
    policy = Policy.of(policy)
    tell = progress or (lambda share, what: None)
    chance = secrets.randbits(63) if seed is None else _given(seed)
    options = checked(method, options)

    tell(0.0, "reading")
    whole = to_polars(frame)
    check_columns(whole, policy, identifiers_too=True)
    possible = publishable(whole, policy)
    quasi = [column.only(possible.rows) for column in read_quasis(whole, policy)]

    tell(0.1, "splitting")
    work = Work(possible, policy, quasi, chance, lambda share: tell(0.1 + 0.7 * share, "splitting"))
    layout = laid_out(work, method, options)

    tell(0.9, "judging")
    results = layout.confirm(layout.frames)
    found = {
        "format": FORMAT,
        "version": version("tclose"),
        "method": method,
        "policy": work.reader_policy.to_dict(),
        "withheld": possible.withheld,
        "counted": "rows" if possible.table.persons is None else "persons",
    }
    tell(1.0, "done")
    return Release(layout, results, found, chance, kind_of(frame), policy)


def _given(seed: int) -> int:
    """Take a seed that somebody chose, with a warning."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise PolicyError("a seed is a whole number of at least 0")
    warnings.warn("who guesses the seed can replay the partition: leave it out for a real release", LeakWarning, 3)
    return int(seed)
