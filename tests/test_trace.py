"""The trace budget: how often each command may read a file, code a table, parse a policy and make a distance.

The limits are those that hold today. They may fall, and must not rise. `anonymize` and `apply` code the table that they
work on, and the finished files, which the judge reads. `apply` parses the policy that was asked for and the reader's.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tclose import steps
from tclose.errors import LeakWarning
from tclose.examples import hospital
from tclose.studio import work
from tclose.studio.project import Project

from .tracing import Trace, traced

COLUMNS = ("age", "zip", "sex", "ldl", "diagnosis")
POLICY = """
k = 2
quasi = ["age", "zip", "sex"]
[sensitive.ldl]
t = 0.2
bins = { quantiles = 10 }
[sensitive.diagnosis]
t = 0.6
"""
SENSITIVE = 2  # columns, each of which has a distance


class Desk:
    """A table with its policy, and where its files lie."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.table, self.policy = folder / "table.csv", folder / "policy.toml"
        self.release, self.certificate, self.record = (folder / f"r.{end}" for end in ("csv", "json", "record"))
        hospital(150, seed=3).select(COLUMNS).write_csv(self.table)
        self.policy.write_text(POLICY)

    def anonymize(self, **more: object) -> None:
        files = {"out": self.release, "certificate": self.certificate, "record": self.record}
        steps.anonymize(self.table, self.policy, **files, method="mondrian", force=True, **more)  # type: ignore[arg-type]

    def page(self) -> None:
        self.anonymize(report=self.folder / "page.html")

    def check(self) -> None:
        steps.check(self.table, self.policy)

    def explain(self) -> None:
        steps.explain(self.table, self.policy, attribute="ldl", class_number=1)

    def verify(self) -> None:
        assert steps.verify(self.release, self.certificate).holds

    def attack(self) -> None:
        steps.attack(self.release, original=self.table, policy=self.policy)

    def apply(self) -> None:
        batch = self.folder / "batch.csv"
        hospital(20, seed=9).select(COLUMNS).write_csv(batch)
        steps.apply(self.record, batch, release=self.release, out=self.folder / "next.csv")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


BUDGET: dict[Callable[[Desk], None], Trace] = {
    Desk.check: Trace(reads=1, encodes=1, policies=1, distances=SENSITIVE),
    Desk.explain: Trace(reads=1, encodes=1, policies=1, distances=1),
    Desk.anonymize: Trace(reads=1, encodes=2, policies=1, distances=SENSITIVE),
    Desk.page: Trace(reads=1, encodes=2, policies=1, distances=SENSITIVE),
    Desk.verify: Trace(reads=1, encodes=1, policies=1, distances=SENSITIVE),
    Desk.attack: Trace(reads=2, encodes=2, policies=1, distances=SENSITIVE),
    Desk.apply: Trace(reads=2, encodes=2, policies=2, distances=SENSITIVE),
}


@pytest.mark.filterwarnings("ignore::tclose.errors.LeakWarning")
@pytest.mark.parametrize("command", BUDGET, ids=lambda command: command.__name__)
def test_a_command_does_nothing_twice(desk: Desk, command: Callable[[Desk], None]) -> None:
    if command in (Desk.verify, Desk.attack, Desk.apply):
        desk.anonymize(room="0.3") if command is Desk.apply else desk.anonymize()
    with traced() as trace:
        command(desk)
    assert trace == BUDGET[command]


# The studio: its process works on the same files again and again


def project(folder: Path) -> Project:
    """Make a project whose policy is complete."""
    made = Project.create(folder / "project", name="table.csv", table="table.csv")
    Desk(folder).table.rename(made.table)
    work.look(made.folder, silent)
    made.change(tomllib.loads(POLICY))
    return made


def silent(share: float, phase: str = "") -> None:
    """Say nothing."""


@pytest.fixture
def risen(tmp_path: Path) -> Iterator[Project]:
    with steps.files_kept():
        yield project(tmp_path)


@pytest.mark.filterwarnings("ignore::tclose.errors.LeakWarning")
def test_a_judgement_in_the_studio_reads_and_codes_once_and_then_never(risen: Project) -> None:
    with traced() as trace:
        work.check(risen.folder, silent)
    assert (trace.reads, trace.encodes) == (1, 1)
    settings = risen.settings
    risen.change(
        {**settings, "sensitive": {**settings["sensitive"], "ldl": {**settings["sensitive"]["ldl"], "t": 0.1}}}
    )
    with traced() as trace:
        work.check(risen.folder, silent)
        work.explain(risen.folder, silent, attribute="ldl", class_number=2)
    assert (trace.reads, trace.encodes) == (0, 0)


@pytest.mark.filterwarnings("ignore::tclose.errors.LeakWarning")
def test_the_first_class_of_a_release_reads_two_tables_and_the_next_none(risen: Project) -> None:
    number = work.attempt(risen.folder, silent, method="mondrian", effort=None)["candidate"]
    steps.forget_files()
    with traced() as trace:
        work.inside(risen.folder, silent, number=number, class_number=1)
    assert (trace.reads, trace.encodes) == (2, 1)
    with traced() as trace:
        work.inside(risen.folder, silent, number=number, class_number=2)
    assert (trace.reads, trace.encodes) == (0, 0)


@pytest.mark.filterwarnings("ignore::tclose.errors.LeakWarning")
def test_a_table_that_changes_is_read_again(risen: Project) -> None:
    work.check(risen.folder, silent)
    text = risen.table.read_text()
    risen.table.write_text(text.replace("F", "M"))  # as long as before
    with traced() as trace:
        work.check(risen.folder, silent)
    assert (trace.reads, trace.encodes) == (1, 1)


@pytest.mark.filterwarnings("ignore::tclose.errors.LeakWarning")
def test_warnings_are_given_whenever_a_table_is_judged(tmp_path: Path) -> None:
    table, policy = tmp_path / "t.csv", {"quasi": ["a"], "unlinkable": ["b"], "k": 2}
    table.write_text("a,b\n1,2\n1,3\n")
    with steps.files_kept():
        for _ in range(2):
            with pytest.warns(LeakWarning, match="published as it is and not judged"):
                steps.check(table, policy)
