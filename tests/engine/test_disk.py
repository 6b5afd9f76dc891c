"""Out of core: files, refusals, releases; that results are those of memory is a law (`tests/laws/test_counted.py`)."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

from tclose import Cancelled, InputError, LeakWarning, Policy, Verification, anonymize, read, steps, verify
from tclose.errors import WholeTableWarning
from tclose.examples import hospital
from tclose.release.certificate import digest_of
from tclose.run import disk, engines
from tclose.table import disk_files, groups
from tclose.table.disk_files import table_on_disk
from tclose.types import silent

pytestmark = pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
FRAME = hospital(200, seed=3)
ASKED = {
    "quasi": ["age", "sex"],
    "sensitive": {"ldl": {"t": 0.3}, "diagnosis": {"t": 0.6, "l": 2}},
    "k": 2,
    "others": "drop",
}
POLICY = Policy.from_dict(ASKED)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a table, and a release of it as CSV, as Parquet and in parts."""
    folder = tmp_path_factory.mktemp("made")
    FRAME.write_parquet(folder / "t.parquet")
    release = anonymize(FRAME, POLICY, method="mondrian", seed=1)
    release.write(folder / "r.csv", certificate=folder / "csv.json")
    release.write(folder / "r.parquet", certificate=folder / "parquet.json")
    release.write(folder / "parts", certificate=folder / "parts.json", part_rows=70)
    return folder


@pytest.fixture
def spilling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing stay in memory."""
    monkeypatch.setattr(disk, "BUDGET", 0)
    monkeypatch.setattr(groups, "PENDING", 1)


@pytest.mark.parametrize("spilled", [False, True])
@pytest.mark.parametrize(
    "ldl",
    [
        {"t": 0.3},
        {"t": 0.3, "n": 20},
        {"average_t": 0.1},
        {"t": 0.9, "t_by": {"column": "diagnosis", "t": {FRAME["diagnosis"][0]: 0.05}}},
    ],
)
def test_a_file_is_checked_as_in_memory(
    made: Path, request: pytest.FixtureRequest, ldl: dict[str, Any], spilled: bool
) -> None:
    """Many classes fail; on disk they lie in several buckets, unless a model looks at all of them at once."""
    if spilled:
        request.getfixturevalue("spilling")
    policy = Policy.from_dict({**ASKED, "sensitive": {**ASKED["sensitive"], "ldl": ldl}})  # type: ignore[dict-item]
    found = steps.check(made / "t.parquet", policy, engine="disk")
    assert found == steps.check(made / "t.parquet", policy, engine="memory")
    assert not found.satisfied


@pytest.mark.parametrize("spilled", [False, True])
def test_hierarchies_and_columns_of_two_roles(tmp_path: Path, request: pytest.FixtureRequest, spilled: bool) -> None:
    if spilled:
        request.getfixturevalue("spilling")
    FRAME.write_csv(tmp_path / "t.csv")
    diagnoses = FRAME["diagnosis"].unique().sort().to_list()
    rows = "".join(f"{name};{'odd' if place % 2 else 'even'};*\n" for place, name in enumerate(diagnoses))
    (tmp_path / "diagnosis.csv").write_text(rows)
    (tmp_path / "sex.csv").write_text("".join(f"{sex};*\n" for sex in FRAME["sex"].unique().sort()))
    sensitive = {"diagnosis": {"t": 0.5, "hierarchy": "diagnosis.csv"}, "age": {"t": 0.4, "bins": {"quantiles": 4}}}
    quasi = {"age": {}, "sex": {"hierarchy": "sex.csv"}, "zip": {"hierarchy": {"prefix": [3]}}}
    asked = {"quasi": quasi, "sensitive": sensitive, "both": ["age"], "others": "drop"}
    policy = Policy.from_dict(asked, folder=tmp_path)
    assert steps.check(tmp_path / "t.csv", policy, engine="disk") == steps.check(tmp_path / "t.csv", policy)
    (tmp_path / "sex.csv").write_text("x;*\n")
    with pytest.raises(InputError, match=r"the hierarchy sex\.csv misses"):
        steps.check(tmp_path / "t.csv", policy, engine="disk")


@pytest.mark.parametrize("name", ["r.csv", "r.parquet", "parts"])
@pytest.mark.parametrize("wrong", [False, True])
def test_a_release_is_verified_as_in_memory(made: Path, tmp_path: Path, name: str, wrong: bool) -> None:
    paper = made / f"{name.removeprefix('r.')}.json"
    if wrong:
        claimed = json.loads(paper.read_text())
        claimed["policy"]["k"] = 30  # many classes are smaller
        claimed["files"][0]["rows"] += 1
        claimed["digest"] = digest_of(claimed)
        paper = tmp_path / "wrong.json"
        paper.write_text(json.dumps(claimed))
    found = steps.verify(made / name, paper, engine="disk")
    assert found == verify(made / name, paper)
    assert found.holds is not wrong
    assert wrong == any("fails in" in problem for problem in found.problems)


@pytest.mark.usefixtures("spilling")
def test_failing_classes_have_their_numbers_when_buckets_are_judged(made: Path, tmp_path: Path) -> None:
    claimed = json.loads((made / "parts.json").read_text())
    claimed["policy"] |= {"k": 30}
    (tmp_path / "wrong.json").write_text(json.dumps(claimed))
    found = steps.verify(made / "parts", tmp_path / "wrong.json", engine="disk")
    assert found == verify(made / "parts", tmp_path / "wrong.json")


@pytest.mark.parametrize("spilled", [False, True])
def test_the_same_warnings_are_given(made: Path, request: pytest.FixtureRequest, spilled: bool) -> None:
    if spilled:
        request.getfixturevalue("spilling")
    policy = replace(POLICY, identifiers=("zip", "ssn"), unlinkable=("glucose",))
    with pytest.warns(LeakWarning) as found:
        steps.check(made / "t.parquet", policy, engine="disk")
    with pytest.warns(LeakWarning) as expected:
        steps.check(made / "t.parquet", policy, engine="memory")
    assert sorted(str(each.message) for each in found) == sorted(str(each.message) for each in expected)
    assert any("identifier 'zip' repeats" in str(each.message) for each in found)


@pytest.mark.parametrize(
    ("column", "cells", "sentence"),
    [
        ("s", [1.0, 2.0, math.nan, 3.0, math.nan, math.inf], "'s' has NaN or infinity in 1 row, first in row 3: "),
        ("s", [[1], [2], [1], [1], [2], [1]], "'s' is of type List"),
        ("q", [[1], [2], [1], [1], [2], [1]], "'q' is of type List"),
    ],
)
def test_columns_that_cannot_be_judged(tmp_path: Path, column: str, cells: list[Any], sentence: str) -> None:
    frame = pl.DataFrame({"q": [1, 1, 2, 2, 3, 3], "s": [1, 2, 3, 4, 5, 6]}).with_columns(pl.Series(column, cells))
    frame.write_parquet(tmp_path / "t.parquet")
    table = replace(table_on_disk(tmp_path / "t.parquet"), batch_rows=4)
    policy = Policy.from_dict({"quasi": ["q"], "sensitive": {"s": {"t": 0.5}}})
    with pytest.raises(InputError, match=sentence):
        disk.check_table(table, policy, ignore_others=False, progress=silent)


def altered(made: Path, tmp_path: Path, change: Callable[[Path], object]) -> Verification:
    """Verify the release in parts after a change to its folder."""
    folder = tmp_path / "parts"
    shutil.copytree(made / "parts", folder)
    change(folder)
    found = steps.verify(folder, made / "parts.json", engine="disk")
    assert found == verify(folder, made / "parts.json")
    return found


def cut_short(folder: Path) -> None:
    part = folder / "part-00001.parquet"
    part.write_bytes(part.read_bytes()[:-20])


def exchange_rows(folder: Path) -> None:
    part = folder / "part-00001.parquet"
    pl.read_parquet(part).reverse().write_parquet(part)


def test_parts_that_are_not_those_certified(made: Path, tmp_path: Path) -> None:
    found = altered(made, tmp_path / "1", cut_short)
    assert any("part-00001.parquet: the table looks like Parquet" in problem for problem in found.problems)
    found = altered(made, tmp_path / "2", exchange_rows)
    assert any("SHA-256 differs" in problem for problem in found.problems)
    found = altered(made, tmp_path / "3", lambda folder: (folder / "part-00000.parquet").unlink())
    assert any("lacks" in problem for problem in found.problems)


def test_what_is_judged_is_what_the_fingerprint_was_taken_of(made: Path, tmp_path: Path) -> None:
    """A file that is exchanged while it is read is judged as it was, or it does not fit its fingerprint."""
    path = tmp_path / "r.parquet"
    expected = verify(made / "r.parquet", made / "parquet.json").result
    for last in range(12):
        shutil.copy(made / "r.parquet", path)
        moments = count()

        def exchange(share: float, phase: str = "", last: int = last, moments: Iterator[int] = moments) -> None:
            if next(moments) == last:
                pl.read_parquet(made / "r.parquet").head(9).write_parquet(path)

        found = steps.verify(path, made / "parquet.json", engine="disk", progress=exchange)
        if found.holds:
            assert found.result == expected
        else:
            assert any("SHA-256 differs" in problem for problem in found.problems)


def left(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Callable[[], list[Path]]:
    """Let temporary files lie in a folder; return a function that lists them."""
    folder.mkdir()
    monkeypatch.setattr(disk_files.tempfile, "tempdir", str(folder))
    return lambda: list(folder.iterdir())


@pytest.mark.usefixtures("spilling")
def test_cancelled_work_leaves_nothing(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = left(monkeypatch, tmp_path / "temporary")
    seen: list[str] = []

    def cancel(share: float, phase: str = "") -> None:
        seen.append(phase)
        if share > 0.95:
            raise Cancelled

    for work in (
        lambda: steps.check(made / "t.parquet", POLICY, engine="disk", progress=cancel),
        lambda: steps.verify(made / "parts", made / "parts.json", engine="disk", progress=cancel),
    ):
        with pytest.raises(Cancelled):
            cast(Any, work)()
        assert listed() == []
    assert {"reading", "judging"} <= set(seen)


@pytest.mark.usefixtures("spilling")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_no_answer(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = Path("/dev/full")
    monkeypatch.setattr(disk_files.tempfile, "TemporaryFile", lambda **_: full.open("r+b", buffering=0))
    for work in (
        lambda: steps.check(made / "t.parquet", POLICY, engine="disk"),
        lambda: steps.verify(made / "parts", made / "parts.json", engine="disk"),
    ):
        with pytest.raises(InputError, match="no space is left"):
            cast(Any, work)()


def test_what_needs_all_rows_holds_them_and_says_so(made: Path, tmp_path: Path) -> None:
    present = Policy.from_dict(ASKED | {"presence": {"population": "nowhere.csv", "max": 0.5}})
    held = partial(pytest.warns, WholeTableWarning)
    with held(match="a frame is at hand already"):
        steps.check(FRAME, POLICY, engine="disk")
    with held(match="presence is judged against"), pytest.raises(InputError, match="there is no file"):
        steps.check(tmp_path / "absent", present, engine="disk")
    with held(match="presence is judged against"), pytest.raises(InputError, match="says nothing about presence"):
        steps.verify(made / "parts", made / "parts.json", population="nowhere.csv", engine="disk")
    anonymize(FRAME, POLICY, method="anatomy", seed=1).write(tmp_path / "a.csv", certificate=tmp_path / "a.json")
    with held(match="the release has several tables"):
        assert steps.verify(tmp_path / "a.csv", tmp_path / "a.json", engine="disk").holds


def test_auto_goes_by_the_size_of_the_file(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, parts = made / "t.parquet", made / "parts"
    present = replace(POLICY, presence={"population": "nowhere.csv", "max": 0.5})
    assert not engines.on_disk("auto", table, POLICY)
    monkeypatch.setattr(engines, "LARGE", dict.fromkeys(engines.LARGE, 1))
    assert engines.on_disk("auto", table, POLICY)
    assert engines.on_disk("auto", parts, POLICY)
    assert not engines.on_disk("auto", table, present)
    assert not engines.on_disk("auto", "-", POLICY)
    assert not engines.on_disk("auto", FRAME, POLICY)
    assert not engines.on_disk("auto", tmp_path / "absent", POLICY)
    read(table).write_ipc(tmp_path / "t.arrow")
    assert not engines.on_disk("auto", tmp_path / "t.arrow", POLICY)
    assert engines.verified_on_disk("auto", parts, made / "parts.json")
