"""A table that is published out of core: in one part it is the release of memory; in many, the release is verified."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose import Infeasible, LeakWarning, Policy, Progress, TcloseError, anonymize, read, verify
from tclose.measure.exposure_claims import Figure
from tclose.partition.starts import EQUALITY
from tclose.release.release import Publication
from tclose.run.parts.file_rows import file_rows
from tclose.run.pipeline import UnwrittenRelease
from tclose.run.request import Request
from tclose.run.rows import parts_refusal
from tclose.table.disk_files import RowBatch
from tclose.types import Repeating, silent

COLUMNS = ["zone", "^sex$", "age", "ward", "ranked", "named", "who", "note", "nr"]
ROW = st.tuples(
    st.sampled_from(["-0", "0", "1", "0.0", "", None]) | st.sampled_from(["a", "b", "c"]),
    st.sampled_from(["f", "m", None]),
    st.integers(20, 40) | st.none(),
    st.sampled_from(["w1", "w1", "w1", "w2", "", None]),
    st.integers(1, 5) | st.just(99),
    st.sampled_from(["flu", "cold", "none"]) | st.sampled_from(["", "?"]),
    st.sampled_from(list("pqrstuvwxyz")) | st.sampled_from(["", None]),
    st.sampled_from(["x", "y"]),
    st.integers(1, 30),
)
ASKED: dict[str, dict[str, Any]] = {
    "plain": {"t": 0.3},
    "several": {"t": 0.4, "alpha": 0.9, "beta": 3, "kl": 0.9},
    "diverse": {"t": 0.5, "l": 2},
    "entropy": {"entropy_l": 1.2},
    "superset": {"t": 0.3, "n": 12},
    "average": {"t": 0.5, "average_t": 0.3},
}
EXTRAS: tuple[dict[str, Any], ...] = ({}, {"bins": {"width": 2}, "publish": "bin"}, {"distance": "equal"})
FAST = {"effort": "fast"}
SEED = "anyone who guesses the seed can replay the partition: leave it out for a real release"


class Slices:
    """A table that comes in batches of a few rows."""

    def __init__(self, frame: pl.DataFrame, rows: int) -> None:
        self.frame, self.batch, self.parts = frame, rows, ()

    def states(self) -> list[tuple[int, ...]]:
        return []

    def rows(self, wanted: Any, progress: Progress) -> Generator[RowBatch]:
        columns = wanted(self.frame.clear())
        for part in self.frame.iter_slices(self.batch):
            yield RowBatch("", pl.DataFrame({str(place): part[name] for place, name in enumerate(columns)}))


def from_batches(source: Any, request: Request) -> Publication:
    """Publish rows that come in batches."""
    told, request = Repeating(silent), request.checked()
    with file_rows(request, told, source) as (rows, seed):
        return UnwrittenRelease.of(rows, request, seed, told).written(told)


def without_cures(figure: Figure) -> dict[str, Any]:
    """Return a figure without its cures: in parts, nobody knows how many persons a bin would have."""
    return {key: value for key, value in figure.to_dict().items() if key not in ("cures", "cure")}


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    missing = {"missing": draw(st.sampled_from(["value", "suppress"]))}
    ranked = {**ASKED[draw(st.sampled_from([*ASKED]))], **draw(st.sampled_from(EXTRAS)), **missing}
    named = {**ASKED[draw(st.sampled_from(["plain", "diverse"]))], "distance": "equal", **missing}
    joint = [{"attributes": ["ranked", "named"], "t": 0.5, "distance": "product"}] if draw(st.booleans()) else []
    age = draw(
        st.sampled_from([{}, {"step": 5}, {"hierarchy": {"width": [5, 10]}}, {"weight": 3}, {"publish": "mean"}])
    )
    quasi: dict[str, Any] = {"zone": {}, "^sex$": {}, "age": age}
    asked = {
        "quasi": quasi,
        "keep": ["ward"] if draw(st.booleans()) else [],
        "unlinkable": ["note"] if draw(st.booleans()) else [],
        "sensitive": {"ranked": ranked, "named": named},
        "joint": joint,
        "k": draw(st.integers(1, 3)),
        "suppress": 0.9,
        "missing": ["", "?", "99"],
        "others": "drop",
        "identifiers": ["nr"] if draw(st.booleans()) else [],
        **({"person": "who"} if draw(st.booleans()) else {}),
        **({"temper": 0.5} if "average_t" not in ranked and draw(st.booleans()) else {}),
        "loss": draw(st.sampled_from(["gcp", "discernibility", "sse", "queries"])),
    }
    return Policy.from_dict(asked)


def table_of(rows: list[Any]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=COLUMNS, orient="row", strict=False)


def lines(path: Path) -> Counter[str]:
    return Counter(path.read_text(encoding="utf-8").splitlines())


@settings(max_examples=examples(10))
@given(rows=st.lists(ROW, min_size=4, max_size=40), policy=policies(), batch=st.integers(1, 9))
def test_one_part_is_released_as_in_memory(rows: list[Any], policy: Policy, batch: int) -> None:
    assume(parts_refusal(policy, "weave", {}) is None)
    frame = table_of(rows)
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        folder = Path(name)
        try:
            release = anonymize(frame, policy, seed=1, effort="fast")
        except TcloseError:
            return
        assume(release.layout.tables[0].start != EQUALITY)  # disk does not ask whether the table holds as it is
        expected = release.write(folder / "memory.csv")
        in_memory = {str(each.message) for each in told}
        told.clear()
        source: Any = Slices(frame, batch)
        files = {"out": folder / "disk.csv", "certificate": folder / "c.json"}
        written = from_batches(source, Request(table=frame, policy=policy, seed=1, options=FAST, **files))
        found, on_disk = written.certificate, {str(each.message) for each in told}
        assert lines(folder / "disk.csv") == lines(folder / "memory.csv")
        assert verify(folder / "disk.csv", folder / "c.json").holds
        assert not list(folder.glob(".*"))
    drop = ("created", "files", "digest", "table")
    assert {k: v for k, v in found.content.items() if k not in drop} == {
        k: v for k, v in expected.content.items() if k not in drop
    }
    assert written.exposed.findings == release.exposed.findings
    for in_parts, whole in zip(written.exposed.figures, release.exposed.figures, strict=True):
        if in_parts.claim.says.endswith("; more rows may stand out than can be seen here."):
            assert in_parts.answer in ("undecided", whole.answer)
            assert (in_parts.rows or 0) <= (whole.rows or 0)
        else:
            assert in_parts.answer == "undecided" or without_cures(in_parts) == without_cures(whole)
    assert {*on_disk, SEED} == in_memory


def test_of_groups_that_are_equally_far_the_same_one_is_withheld(tmp_path: Path) -> None:
    policy = Policy.from_dict(
        {
            "quasi": ["age"],
            "keep": ["ward"],
            "sensitive": {"ranked": {"t": 0.3, "missing": "value"}},
            "suppress": 0.9,
            "missing": ["", "99"],
        }
    )
    cells = {"age": [None, 20, None, None], "ward": ["w1", "", "w2", ""], "ranked": [99, 1, 99, 1]}
    frame = pl.DataFrame(cells)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)
        anonymize(frame, policy, seed=1, effort="fast").write(tmp_path / "memory.csv")
        asked = Request(table=frame, policy=policy, seed=1, options=FAST, out=tmp_path / "disk.csv")
        from_batches(Slices(frame, 1), asked)
    assert lines(tmp_path / "disk.csv") == lines(tmp_path / "memory.csv")


@settings(max_examples=examples(4))
@given(
    rows=st.lists(ROW, min_size=30, max_size=70), policy=policies(), batch=st.integers(5, 50), part=st.integers(5, 20)
)
def test_releases_in_parts_are_verified(rows: list[Any], policy: Policy, batch: int, part: int) -> None:
    assume(parts_refusal(policy, "weave", {}) is None)
    frame = table_of(rows)
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name)
        try:
            anonymize(frame, policy, seed=1, effort="fast")
        except TcloseError:
            return
        source: Any = Slices(frame, 3 * part)
        files = {"out": folder / "parts", "certificate": folder / "c.json"}
        try:
            asked = Request(table=frame, policy=policy, seed=1, part_rows=part, options=FAST, **files)
            from_batches(source, asked)
        except Infeasible:
            return
        checked = verify(folder / "parts", folder / "c.json")
        assert checked.holds, checked.problems
        released = read(folder / "parts")
        assert released.height + checked_withheld(folder / "c.json") == frame.height


def checked_withheld(certificate: Path) -> int:
    withheld: int = json.loads(certificate.read_text())["withheld"]
    return withheld
