"""A release: tables that their judges have confirmed, and how their files get their names."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import polars as pl

from tclose.errors import InputError, LeakWarning, PolicyError
from tclose.policy import Policy
from tclose.privacy.results import CheckResult
from tclose.recode.guard import guarded, unguarded
from tclose.release.certificate import GUARD, Certificate
from tclose.release.files import (
    Pending,
    check_targets,
    fingerprint,
    format_of,
    give_back_memory,
    pending,
    publish,
    sha256,
    write_table,
)
from tclose.release.layouts import File, Layout
from tclose.release.marks import projection_marks, sibling
from tclose.report.page import save
from tclose.report.story import told
from tclose.table.frames import from_polars, to_polars
from tclose.table.sources import parse, read_bytes
from tclose.words import counted, html_table, number

UNNAMED = Path("release.csv")


class Told(Protocol):
    """What can be told as JSON."""

    def to_dict(self) -> dict[str, Any]:
        """Return it."""


@dataclass(eq=False, repr=False)
class Release:
    """Published tables, one for most methods, judged, with one certificate."""

    layout: Layout
    results: Sequence[CheckResult]
    found: Mapping[str, Any]
    seed: int
    kind: str
    policy: Policy  # as it was asked for; the certificate holds what a reader judges by

    def __repr__(self) -> str:
        """Say how large the release is; neither the seed nor anything about persons or identifiers."""
        rows, classes = (min(getattr(result, name) for result in self.results) for name in ("rows", "classes"))
        return f"<Release of {counted(rows, 'row')} in {counted(classes, 'class')} by {self.found['method']}>"

    def _repr_html_(self) -> str:
        found = {name: finding for result in self.results for name, finding in result.sensitive.items()}
        rows = [
            (name, "" if finding.t is None else f"≤ {number(finding.t)}", number(finding.closeness))
            for name, finding in found.items()
        ]
        return html_table(repr(self)[1:-1], ("attribute", "distance required", "distance reached"), rows)

    @property
    def frame(self) -> pl.DataFrame:
        """The published table, where there is one only."""
        if len(self.layout.frames) > 1:
            raise InputError(f"this release has {len(self.layout.frames)} tables: take .tables")
        return self.layout.frames[0]

    @property
    def tables(self) -> tuple[Any, ...]:
        """The published tables, as frames of the kind that was given."""
        return tuple(from_polars(frame, self.kind) for frame in self.layout.frames)

    @property
    def table(self) -> Any:
        """The published table, as a frame of the kind that was given."""
        return from_polars(self.frame, self.kind)

    @cached_property
    def certificate(self) -> Certificate:
        """What was proved, with the fingerprint that the release has as CSV."""
        return self._certified(
            self.results,
            [
                File(sibling(UNNAMED, mark).name, fingerprint(frame, "csv"))
                for mark, frame in zip(self.layout.marks, self.layout.frames, strict=True)
            ],
        )

    def _certified(self, results: Sequence[CheckResult], files: Sequence[File]) -> Certificate:
        return Certificate({**self.found, **self.layout.told(results, files)})

    def write(
        self,
        path: str | Path,
        *,
        certificate: str | Path | None = None,
        record: str | Path | None = None,
        guard_formulas: bool = False,
    ) -> Certificate:
        """Write the release, once the judges have confirmed the finished files; they get their names last.

        CSV, Parquet or Arrow, by the name's ending. A release of several tables makes several files, whose names
        start like `path`; the first of them gets its name last. `record` keeps the seed, for your eyes only.
        `guard_formulas` puts an apostrophe before text that a spreadsheet would run; `verify` takes it away again.
        """
        kind, names = format_of(Path(path)), [sibling(Path(path), mark) for mark in self.layout.marks]
        others = {"record": record, "certificate": certificate}
        paths = {what: Path(target) for what, target in others.items() if target is not None}
        paths |= {f"release{mark}": name for mark, name in reversed([*zip(self.layout.marks, names, strict=True)])}
        check_targets(list(paths.values()))
        self._warn_of_leftovers(Path(path))
        give_back_memory()
        with pending(paths, private={"record"}) as files:
            releases = [files[f"release{mark}"] for mark in self.layout.marks]
            for file, frame in zip(releases, self.layout.frames, strict=True):
                file.write(partial(write_table, guarded(frame) if guard_formulas else frame, kind))
            proof = self._confirmed(releases, guard_formulas)
            notes = {"seed": self.seed, "method": self.found["method"], "version": self.found["version"]}
            contents = {"record": (json.dumps(notes) + "\n").encode(), "certificate": proof.to_bytes()}
            for what in contents.keys() & files.keys():
                files[what].write(partial(_put, contents[what]))
            publish(files.values())
        return proof

    def report(
        self,
        path: str | Path,
        *,
        original: Any = None,
        attacks: Told | None = None,
        certificate: Certificate | None = None,
        public: bool = False,
    ) -> None:
        """Write one HTML page that shows what the release holds, why, and what it cost; it asks no network.

        With the `original` frame it also shows quasi-identifiers before and after, with `attacks` (as `attack()`
        finds them) what an adversary would have learnt; `public` leaves out all that is about the raw table. A
        release keeps no raw table, so it must be given again. `certificate` is what `write` returned.
        """
        proof = certificate or self.certificate
        found = None if attacks is None else attacks.to_dict()
        raw = None if public or original is None else to_polars(original)
        save(told(proof, self.layout.sheets, self.policy, original=raw, attacks=found, public=public), path)

    def _confirmed(self, files: Sequence[Pending], guard_formulas: bool) -> Certificate:
        """Judge the finished files from their own bytes, and certify what was found there."""
        read = [_read(file, () if guard_formulas else self.policy.visible) for file in files]
        if guard_formulas:
            read = [(digest, unguarded(frame)) for digest, frame in read]
        try:
            results = self.layout.confirm([frame for _, frame in read])
        except (InputError, PolicyError) as error:
            raise _not_judged(error) from None
        named = zip(files, read, strict=True)
        proof = self._certified(results, [File(file.target.name, digest) for file, (digest, _) in named])
        return Certificate({**proof.content, GUARD: True}) if guard_formulas else proof

    def _warn_of_leftovers(self, path: Path) -> None:
        """Warn of a projection that an earlier release, of more tables, left beside this one."""
        tables = len(self.layout.marks)
        if self.layout.marks == projection_marks(tables) and (left := sibling(path, f"-{tables + 1}")).exists():
            warnings.warn(f"{left} is of an earlier release: do not publish it beside this one", LeakWarning, 3)


def _read(file: Pending, visible: Sequence[str]) -> tuple[str, pl.DataFrame]:
    """Return a finished file's fingerprint and the table that it holds."""
    data = read_bytes(file.path)
    try:
        return sha256(data), parse(data, repeated=visible)
    except InputError as error:
        raise _not_judged(error) from None


def _not_judged(error: Exception) -> InputError:
    return InputError(f"written in this format, the release cannot be judged: {error}")


def _put(content: bytes, file: BinaryIO) -> None:
    file.write(content)
