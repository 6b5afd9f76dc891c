"""The steps of tclose, readable as prose: read, judge, split, write, tell."""

from __future__ import annotations

import json
import secrets
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.certificate import FORMAT, Certificate
from tclose.errors import InputError, InternalError, LeakWarning, PolicyError, did_you_mean
from tclose.feasibility import Publishable, publishable
from tclose.findings import CheckResult, Explanation, Step
from tclose.judging import Progress, distance_of, judge
from tclose.measure.utility import Outcome, class_sizes, measured
from tclose.partition import DEFAULT_METHOD
from tclose.partition.options import checked
from tclose.policy import Policy
from tclose.recode.frame import ordered, recoded
from tclose.recode.output import (
    check_targets,
    fingerprint,
    format_of,
    give_back_memory,
    pending,
    publish,
    sha256,
    write_table,
)
from tclose.recode.reader import reader_policy
from tclose.splitting import join_failing, split
from tclose.table import encode, to_polars
from tclose.table.classes import Classes, classes_of
from tclose.table.coded import check_columns
from tclose.table.files import parse, read_bytes
from tclose.table.frames import from_polars, kind_of
from tclose.table.quasi import NumberColumn, QuasiColumn, read_quasis

Ints = NDArray[np.int64]


def check(frame: Any, policy: Policy, *, ignore_others: bool = False, progress: Progress | None = None) -> CheckResult:
    """Tell whether a table holds what a policy asks for; the table is judged as it is, nothing is changed.

    `frame` is a pandas, polars or pyarrow frame. Rows that show equal quasi-identifiers and kept columns form a
    class. With `ignore_others`, columns that the policy does not name play no role.

    >>> import polars as pl
    >>> table = pl.DataFrame({"zone": ["a", "a", "b", "b"], "salary": [3, 4, 3, 4]})
    >>> check(table, Policy(quasi=["zone"], sensitive={"salary": {"t": 0.1}}, k=2)).satisfied
    True
    """
    tell = progress or (lambda share, what: None)
    tell(0.0, "reading")
    table = encode(to_polars(frame), policy, ignore_others=ignore_others)
    tell(0.5, "judging")
    return judge(table, policy, lambda share, what: tell(0.5 + share / 2, what))


def explain(frame: Any, policy: Policy, *, attribute: str, class_number: int) -> Explanation:
    """Tell which earth has to move where to turn one class's distribution into the whole table's.

    Classes are counted from 1 in the order in which the table shows them first.
    """
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
    policy: Policy,
    *,
    method: str = DEFAULT_METHOD,
    seed: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Release:
    """Split a table into classes that hold what the policy asks for, and publish one common value per class.

    Sensitive and kept cells stay as they are. The release is judged from its published values before it is returned;
    what cannot be reached raises `Infeasible`. `options` go to the method. Without a seed, chance is drawn from the
    system's secure source.
    """
    tell = progress or (lambda share, what: None)
    chance = secrets.randbits(63) if seed is None else _given(seed)
    options = checked(method, options)

    tell(0.0, "reading")
    whole = to_polars(frame)
    check_columns(whole, policy, identifiers_too=True)
    possible = publishable(whole, policy)
    quasi = [column.only(possible.rows) for column in read_quasis(whole, policy)]

    tell(0.1, "splitting")
    labels = split(possible, policy, quasi, method, chance, lambda share: tell(0.1 + 0.7 * share, "splitting"), options)

    tell(0.8, "writing")
    rows = _recoded(possible, policy, quasi, labels)
    published, order = ordered(rows)
    persons = possible.table.persons

    tell(0.9, "judging")
    judge_of = Judge(
        reader_policy(policy, possible.table.sensitive, knows_persons=True),
        None if persons is None else persons[order],
    )
    result = judge_of.confirm(published)
    content = {
        "format": FORMAT,
        "version": version("tclose"),
        "method": method,
        "policy": reader_policy(policy, possible.table.sensitive).to_dict(),
        "withheld": possible.withheld,
        "counted": "rows" if persons is None else "persons",
        "measures": _measures(possible, quasi, rows, policy),
        **result.to_dict(),
    }
    tell(1.0, "done")
    return Release(published, content, chance, judge_of, kind_of(frame))


def _given(seed: int) -> int:
    """Take a seed that somebody chose, with a warning."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise PolicyError("a seed is a whole number of at least 0")
    warnings.warn("who guesses the seed can replay the partition: leave it out for a real release", LeakWarning, 3)
    return int(seed)


def _recoded(possible: Publishable, policy: Policy, quasi: Sequence[QuasiColumn], labels: Ints) -> pl.DataFrame:
    """Publish the classes; those that look alike to a reader are one, which persons in both may keep from holding."""
    while True:
        rows = recoded(possible.frame, policy, quasi, possible.table.sensitive, Classes.from_labels(labels))
        if policy.person is None:
            return rows
        seen = classes_of(rows[list(policy.visible)]).labels_by_row()
        labels = join_failing(seen, possible, policy, quasi)
        if labels.max() == seen.max():
            return rows


def _measures(
    possible: Publishable, quasi: Sequence[QuasiColumn], rows: pl.DataFrame, policy: Policy
) -> dict[str, Any]:
    """Measure what the release costs, class by class as a reader sees them."""
    classes = classes_of(rows[list(policy.visible)])
    numeric = [column.points() for column in quasi if isinstance(column, NumberColumn)]
    outcome = Outcome(
        sizes=classes.sizes,
        losses=[column.loss(classes) for column in quasi],
        withheld=possible.withheld,
        k=policy.k,
        labels=classes.labels_by_row(),
        points=np.stack(numeric, axis=1) if numeric else np.zeros((rows.height, 0)),
    )
    return {**measured(outcome), "class_sizes": class_sizes(outcome)}


@dataclass(frozen=True, eq=False)
class Judge:
    """Judges a published table from its published values alone; only persons are known besides, where they count."""

    policy: Policy
    persons: Ints | None

    def confirm(self, published: pl.DataFrame) -> CheckResult:
        """Judge; what does not hold here must never be released."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LeakWarning)  # told when the table was read
            table = replace(encode(published, self.policy), persons=self.persons)
        result = judge(table, self.policy, lambda share, what: None)
        if not result.satisfied:
            raise InternalError("the finished release does not hold what was asked for, so it was not released")
        return result


@dataclass(eq=False)
class Release:
    """A published table, judged, with its certificate."""

    frame: pl.DataFrame  # rows in an order that depends on published values only
    found: Mapping[str, Any]
    seed: int
    judge: Judge
    kind: str

    @property
    def table(self) -> Any:
        """The published table, as a frame of the kind that was given."""
        return from_polars(self.frame, self.kind)

    @cached_property
    def certificate(self) -> Certificate:
        """What was proved, with the fingerprint that the release has as CSV."""
        return Certificate({**self.found, "sha256": fingerprint(self.frame, "csv")})

    def write(
        self, path: str | Path, *, certificate: str | Path | None = None, record: str | Path | None = None
    ) -> Certificate:
        """Write the release, once the judge has confirmed the finished file; it gets its name last.

        CSV, Parquet or Arrow, by the name's ending. `record` keeps the seed, for your eyes only.
        """
        targets = {"record": record, "certificate": certificate, "release": path}
        paths = {what: Path(target) for what, target in targets.items() if target is not None}
        kind = format_of(paths["release"])
        check_targets(list(paths.values()))
        give_back_memory()
        with pending(paths, private={"record"}) as files:
            files["release"].write(lambda file: write_table(self.frame, kind, file))
            proof = self._confirmed(files["release"].path)
            notes = {"seed": self.seed, "method": self.found["method"], "version": self.found["version"]}
            contents = {"record": (json.dumps(notes) + "\n").encode(), "certificate": proof.to_bytes()}
            for what in contents.keys() & files.keys():
                files[what].write(partial(_put, contents[what]))
            publish(files.values())
        return proof

    def _confirmed(self, path: Path) -> Certificate:
        """Judge the finished file from its own bytes, and certify what was found there."""
        data = read_bytes(path)
        try:
            result = self.judge.confirm(parse(data, repeated=self.judge.policy.visible))
        except (InputError, PolicyError) as error:
            raise InputError(f"written in this format, the release cannot be judged: {error}") from None
        return Certificate({**self.found, "sha256": sha256(data), **result.to_dict()})


def _put(content: bytes, file: BinaryIO) -> None:
    file.write(content)
