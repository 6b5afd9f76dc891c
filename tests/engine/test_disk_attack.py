"""Attacks out of core: files, refusals, notes; that findings are those of memory is a law
(`tests/laws/test_counted_attack.py`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.pairs import in_turns

from tclose import Attacks, Cancelled, InputError, Policy, anonymize, steps
from tclose.errors import WholeTableWarning
from tclose.examples import hospital
from tclose.measure.attack import RAW, RELEASE
from tclose.run import disk, engines
from tclose.run.evaluation import AttackRequest
from tclose.table import disk_files, groups

pytestmark = pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
FRAME = hospital(200, seed=3)
ASKED = {
    "quasi": ["age", "sex"],
    "sensitive": {"ldl": {"t": 0.3}, "diagnosis": {"t": 0.6, "l": 2}},
    "k": 2,
    "others": "drop",
}
POLICY = Policy.from_dict(ASKED)
BOTH = replace(POLICY, both=("age",), sensitive={"age": {"t": 0.5}})
LEFT_OUT = {"exchange", "differencing", "membership"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a table and a release of it, as CSV, as Parquet and in parts."""
    folder = tmp_path_factory.mktemp("made")
    FRAME.write_parquet(folder / "t.parquet")
    FRAME.write_csv(folder / "t.csv")
    release = anonymize(FRAME, POLICY, method="mondrian", seed=1)
    release.write(folder / "r.csv", certificate=folder / "csv.json")
    release.write(folder / "r.parquet", certificate=folder / "parquet.json")
    release.write(folder / "parts", certificate=folder / "parts.json", part_rows=70)
    return folder


@pytest.fixture(scope="module")
def in_memory(made: Path) -> Attacks:
    return steps.attack(made / "r.csv", original=made / "t.csv", policy=POLICY)


@pytest.fixture
def spilling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing stay in memory."""
    monkeypatch.setattr(disk, "BUDGET", 0)
    monkeypatch.setattr(groups, "PENDING", 1)


@pytest.mark.parametrize(("release", "original"), [("r.csv", "t.csv"), ("r.parquet", "t.csv"), ("parts", "t.parquet")])
def test_files_and_folders_are_attacked_as_in_memory(
    made: Path, in_memory: Attacks, release: str, original: str
) -> None:
    found = steps.attack(made / release, original=made / original, policy=POLICY, engine="disk")
    assert list(found.tables) == [RAW, RELEASE]
    assert found.tables == {name: in_memory.tables[name] for name in found.tables}
    assert (found.k, found.register_rows) == (in_memory.k, in_memory.register_rows)
    for result in found.results:
        same = in_memory[result.attack.name]
        if result.attack.name in LEFT_OUT:
            assert all("is not run out of core" in finding.sentence for finding in result.findings.values())
            assert all(finding.figure is None for finding in result.findings.values())
        else:
            assert result.findings == {name: same.findings[name] for name in found.tables}


@pytest.mark.parametrize("rows", [1, 2])
def test_attacks_that_count_people_need_one_row_for_each(made: Path, tmp_path: Path, rows: int) -> None:
    who = [f"p{row // rows}" for row in range(FRAME.height)]
    FRAME.with_columns(who=pl.Series(who)).write_csv(tmp_path / "t.csv")
    asked = replace(POLICY, person="who")
    found = steps.attack(made / "r.csv", original=tmp_path / "t.csv", policy=asked, engine="disk")
    count = [each for each in found.results if each.attack.counts_people and each.attack.name not in LEFT_OUT]
    assert {each.findings[RELEASE].figure is not None for each in count} == {rows == 1}


def test_a_guarded_release(tmp_path: Path) -> None:
    frame = FRAME.with_columns(pl.format("={}", "diagnosis").alias("diagnosis"))
    frame.write_csv(tmp_path / "t.csv")
    release = anonymize(frame, POLICY, method="mondrian", seed=1)
    for name, guard in {"plain": False, "guarded": True}.items():
        release.write(tmp_path / f"{name}.csv", guard_formulas=guard)
    given: dict[str, Any] = {"original": tmp_path / "t.csv", "policy": POLICY, "engine": "disk"}
    plain = steps.attack(tmp_path / "plain.csv", **given)
    assert steps.attack(tmp_path / "guarded.csv", guard_formulas=True, **given).to_dict() == plain.to_dict()
    for engine in ("disk", "memory"):
        with pytest.raises(InputError, match="200 cells cannot have been written by the guard"):
            steps.attack(tmp_path / "plain.csv", guard_formulas=True, **given | {"engine": engine})


def test_what_was_left_out_is_said(made: Path, in_memory: Attacks) -> None:
    found = steps.attack(made / "r.csv", original=made / "t.csv", policy=POLICY, engine="disk").to_dict()
    (note,) = found["notes"]
    for words in (
        "not run out of core",
        "exchange, differencing and membership attacks",
        "k-anonymous table",
        "memory",
    ):
        assert words in note
    assert "notes" not in in_memory.to_dict()


def test_two_releases(made: Path) -> None:
    found = steps.attack(made / "r.csv", original=made / "t.csv", policy=POLICY, second=made / "parts", engine="disk")
    both = found["intersection"].findings[RELEASE]
    assert (both.figure, both.rows) == (pytest.approx(1), 0)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"register": "t.csv"}, "the register's rows are compared"),
        ({"population": "t.csv"}, "the population's rows are compared"),
        ({"method": "fragmentation"}, "a method splits the rows for the k-anonymous table"),
        ({"policy": BOTH}, "the release has two tables"),
        ({"policy": replace(POLICY, presence={"population": "x.csv", "max": 0.5})}, "presence is judged against"),
    ],
)
def test_attacks_that_need_all_rows_hold_them_and_say_so(made: Path, changes: dict[str, Any], sentence: str) -> None:
    given: dict[str, Any] = {"original": made / "t.csv", "policy": POLICY, **changes}
    with pytest.warns(WholeTableWarning, match=sentence), pytest.raises(InputError, match="there is no file"):
        steps.attack("absent.csv", engine="disk", **given)


def test_a_frame_is_at_hand_already() -> None:
    held = pytest.warns(WholeTableWarning, match="a frame is at hand already")
    with held, pytest.raises(InputError, match="there is no file"):
        steps.attack("absent.csv", original=FRAME, policy=POLICY, engine="disk")


def written(made: Path, tmp_path: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> Path:
    """Write the release after a change."""
    change(pl.read_csv(made / "r.csv", infer_schema=False)).write_csv(tmp_path / "r.csv")
    return tmp_path / "r.csv"


@pytest.mark.parametrize(
    ("change", "spilled"),
    in_turns(
        [
            lambda release: release.with_columns(age=pl.lit("[30, 35]")),
            lambda release: release.with_columns(age=pl.lit("[300, 350]")),
            lambda release: release.with_columns(sex=pl.lit("nobody")),
            lambda release: release.with_columns(ldl=pl.lit("5")),
            lambda release: pl.concat([release, release]),
            lambda release: release.drop("sex"),
            lambda release: release.with_columns(group=pl.lit("1")),
            lambda release: release.with_columns(more=pl.lit("1")),
        ],
        [False, True],
    ),
)
def test_a_release_of_another_table_is_refused_as_in_memory(
    made: Path, tmp_path: Path, request: pytest.FixtureRequest, change: Any, spilled: bool
) -> None:
    if spilled:
        request.getfixturevalue("spilling")
    path = written(made, tmp_path, change)
    with pytest.raises(InputError) as expected:
        steps.attack(path, original=made / "t.csv", policy=POLICY)
    with pytest.raises(InputError) as found:
        steps.attack(path, original=made / "t.csv", policy=POLICY, engine="disk")
    assert str(found.value) == str(expected.value)
    assert str(found.value).startswith("the release ")


def test_files_that_cannot_be_read(made: Path, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"original": made / "t.csv", "policy": POLICY, "engine": "disk"}
    data = (made / "r.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(data[:-20])
    with pytest.raises(InputError, match="the table looks like Parquet"):
        steps.attack(tmp_path / "cut.parquet", **asked)
    with pytest.raises(InputError, match="there is no file"):
        steps.attack(tmp_path / "absent.csv", **asked)


@pytest.mark.usefixtures("spilling")
def test_cancelling_leaves_nothing(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_files.tempfile, "tempdir", str(tmp_path))
    shares: list[float] = []

    def cancel(share: float, phase: str = "") -> None:
        shares.append(share)
        if phase == "homogeneity attack":
            raise Cancelled

    asked: dict[str, Any] = {"original": made / "t.parquet", "policy": POLICY, "engine": "disk"}
    with pytest.raises(Cancelled):
        steps.attack(made / "parts", **asked, progress=cancel)
    assert shares == sorted(shares)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("spilling")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("room", [0, 1])
def test_a_full_disk_is_no_answer(made: Path, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    """Where there is room for one temporary file, the counts of the release find none."""
    files, temporary = [0], disk_files.tempfile.TemporaryFile

    def opened(**given: Any) -> Any:
        files[0] += 1
        return temporary(**given) if files[0] <= room else Path("/dev/full").open("r+b", buffering=0)

    monkeypatch.setattr(disk_files.tempfile, "TemporaryFile", opened)
    with pytest.raises(InputError, match=r"^a temporary file in .* \(no space is left\)"):
        steps.attack(made / "parts", original=made / "t.parquet", policy=POLICY, engine="disk")


def test_auto_goes_by_the_size_of_the_files(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = AttackRequest(original=made / "t.csv", release=made / "r.csv", policy=POLICY, engine="auto")
    assert not engines.attacked_on_disk(asked)
    assert not engines.attacked_on_disk(replace(asked, engine="memory"))
    monkeypatch.setattr(engines, "LARGE", dict.fromkeys(engines.LARGE, (made / "t.csv").stat().st_size))
    assert engines.attacked_on_disk(asked)
    assert not engines.attacked_on_disk(replace(asked, original=made / "r.csv"))
    assert not engines.attacked_on_disk(replace(asked, second="-"))
    assert not engines.attacked_on_disk(replace(asked, original=FRAME, release=made / "t.csv"))
    assert not engines.attacked_on_disk(replace(asked, register="people.csv"))
    assert not engines.attacked_on_disk(replace(asked, policy=BOTH))
