"""The trace budget: how often each command may read a file, code a table, parse a policy and make a distance.

The limits are those that hold today. They may fall, and must not rise; DESIGN says where they are to arrive.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tclose import steps
from tclose.examples import hospital

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
    Desk.page: Trace(reads=1, encodes=3, policies=2, distances=SENSITIVE),
    Desk.verify: Trace(reads=1, encodes=1, policies=1, distances=SENSITIVE),
    Desk.attack: Trace(reads=2, encodes=3, policies=1, distances=SENSITIVE),
    Desk.apply: Trace(reads=2, encodes=5, policies=2, distances=3 * SENSITIVE),
}


@pytest.mark.filterwarnings("ignore::tclose.errors.LeakWarning")
@pytest.mark.parametrize("command", BUDGET, ids=lambda command: command.__name__)
def test_a_command_does_nothing_twice(desk: Desk, command: Callable[[Desk], None]) -> None:
    if command in (Desk.verify, Desk.attack, Desk.apply):
        desk.anonymize(room="0.3") if command is Desk.apply else desk.anonymize()
    with traced() as trace:
        command(desk)
    assert trace == BUDGET[command]
