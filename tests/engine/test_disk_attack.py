"""Attacks out of core: files, refusals, notes; that findings are those of memory is a law
(`tests/laws/test_counted_attack.py`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tclose import Attacks, Cancelled, InputError, Policy, anonymize, steps
from tclose.engine import choosing, disk_attack
from tclose.engine.disk_attack import Asked
from tclose.examples import hospital
from tclose.measure.attack import RAW, RELEASE
from tclose.table import grouped, spill

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
    release.write(folder / "guarded.csv", certificate=folder / "guarded.json", guard_formulas=True)
    return folder


@pytest.fixture(scope="module")
def in_memory(made: Path) -> Attacks:
    return steps.attack(made / "r.csv", original=made / "t.csv", policy=POLICY)


@pytest.fixture
def spilling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing stay in memory."""
    monkeypatch.setattr(disk_attack, "BUDGET", 0)
    monkeypatch.setattr(grouped, "PENDING", 1)


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
        ({"register": "t.csv"}, "a register is not compared out of core"),
        ({"population": "t.csv"}, "a population is not compared out of core"),
        ({"guard_formulas": True}, "a release that is guarded against formulas is not attacked out of core"),
        ({"method": "fragmentation"}, "the k-anonymous table, which the method makes, is not made out of core"),
        ({"policy": BOTH}, "a release of two tables (both) is not attacked out of core"),
        ({"policy": replace(POLICY, presence={"population": "x.csv", "max": 0.5})}, "presence is judged against"),
        ({"original": FRAME}, "a frame is in memory already"),
    ],
)
def test_what_cannot_be_attacked_out_of_core_is_refused_first(changes: dict[str, Any], sentence: str) -> None:
    given: dict[str, Any] = {"original": "absent.csv", "policy": POLICY, **changes}
    with pytest.raises(InputError) as caught:
        steps.attack("absent", engine="disk", **given)
    assert sentence in str(caught.value)


def written(made: Path, tmp_path: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> Path:
    """Write the release after a change."""
    change(pl.read_csv(made / "r.csv", infer_schema=False)).write_csv(tmp_path / "r.csv")
    return tmp_path / "r.csv"


@pytest.mark.parametrize("spilled", [False, True])
@pytest.mark.parametrize(
    "change",
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
    with pytest.raises(InputError, match="standard input"):
        steps.attack("-", **asked)


@pytest.mark.usefixtures("spilling")
def test_cancelling_leaves_nothing(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill.tempfile, "tempdir", str(tmp_path))
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
    files, temporary = [0], spill.tempfile.TemporaryFile

    def opened(**given: Any) -> Any:
        files[0] += 1
        return temporary(**given) if files[0] <= room else Path("/dev/full").open("r+b", buffering=0)

    monkeypatch.setattr(spill.tempfile, "TemporaryFile", opened)
    with pytest.raises(InputError, match=r"^a temporary file in .* \(no space is left\)"):
        steps.attack(made / "parts", original=made / "t.parquet", policy=POLICY, engine="disk")


def test_auto_goes_by_the_size_of_the_files(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = [made / "t.csv", made / "r.csv"]
    assert not choosing.attacked_on_disk("auto", tables, POLICY, Asked())
    assert not choosing.attacked_on_disk("memory", tables, POLICY, Asked())
    monkeypatch.setattr(choosing, "LARGE", dict.fromkeys(choosing.LARGE, tables[0].stat().st_size))
    assert choosing.attacked_on_disk("auto", tables, POLICY, Asked())
    assert not choosing.attacked_on_disk("auto", [made / "r.csv"], POLICY, Asked())
    assert not choosing.attacked_on_disk("auto", [*tables, "-"], POLICY, Asked())
    assert not choosing.attacked_on_disk("auto", [FRAME, made / "t.csv"], POLICY, Asked())
    assert not choosing.attacked_on_disk("auto", tables, POLICY, Asked(register=True))
    assert not choosing.attacked_on_disk("auto", tables, BOTH, Asked())
