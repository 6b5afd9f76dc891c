"""A release in parts, step by step; that it is the release of memory is a law (`tests/laws/test_in_parts.py`)."""

from __future__ import annotations

import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose import InputError, Policy, read, steps, verify
from tclose.engine import choosing
from tclose.engine.in_parts import learning
from tclose.engine.in_parts.buckets import by_bucket, finished_bucket
from tclose.engine.in_parts.learning import Learned, Learning
from tclose.engine.in_parts.lines import about_columns
from tclose.engine.in_parts.planning import PartPlan, PieceCounts, whole_of_part
from tclose.engine.in_parts.refusing import refusal
from tclose.engine.in_parts.shared_values import attributes_of
from tclose.engine.in_parts.splitting import PublishedColumns, split_part
from tclose.engine.work_folder import WorkFolder
from tclose.examples import hospital
from tclose.partition.parts import random_of_rows
from tclose.privacy.judge import verdicts
from tclose.table.classes import Classes

pytestmark = pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
FRAME = hospital(1200, seed=4)
ASKED: dict[str, Any] = {
    "quasi": ["age", "zip"],
    "sensitive": {"ldl": {"t": 0.3}, "diagnosis": {"t": 0.6, "l": 2}},
    "k": 3,
    "others": "drop",
}


def learned_from(frame: pl.DataFrame, asked: dict[str, Any], part_rows: int | None = None, batch: int = 100) -> Learned:
    found = Learning(Policy.from_dict(asked), frame.columns, 7, part_rows=part_rows)
    for rows in frame[list(found.columns)].iter_slices(batch):
        found.add(rows)
    return found.finished()


def parts_of(learned: Learned, frame: pl.DataFrame) -> tuple[PartPlan, list[pl.DataFrame], list[list[int]]]:
    """Cut a table, with a plan that was sent to another process."""
    plan = pickle.loads(pickle.dumps(PartPlan.of(learned, "fast", 7)))
    table = pickle.loads(pickle.dumps(learned.table))
    rows = table.publishable(frame[list(table.columns)])
    counts, coded = PieceCounts(plan, table), table.coded(rows)
    pieces = plan.pieces_of(coded, random_of_rows(plan.seed, 0, len(coded)))
    half = len(pieces) // 2
    for part in (np.arange(half), np.arange(half, len(pieces))):
        counts.add(table.coded(rows[part]), pieces[part])
    parts = counts.parts()
    return plan, [rows.filter(pl.Series(np.isin(pieces, own))) for own in parts], parts


def test_a_table_is_cut_into_parts_that_are_within_t() -> None:
    learned = learned_from(FRAME, ASKED, part_rows=150)
    plan, frames, parts = parts_of(learned, FRAME)
    assert len(parts) > 3
    assert sum(frame.height for frame in frames) == 1200
    for own, frame in zip(parts, frames, strict=True):
        coded = learned.table.coded(frame)
        assert frame.height >= 100
        assert whole_of_part(plan, own) is not None
        assert coded.sensitive["ldl"].reference.sum() == 1200  # that of the whole table
        one_class = Classes.from_labels(np.zeros(frame.height, dtype=np.int64))
        assert all(verdict.judgement.satisfied for verdict in verdicts(coded, one_class, learned.table.policy))


def test_small_groups_are_packed_and_large_ones_are_cut() -> None:
    frame = FRAME.with_columns(ward=pl.when(pl.int_range(1200) < 900).then(pl.lit("large")).otherwise(
        pl.concat_str(pl.lit("w"), pl.int_range(1200) % 5)
    ))  # fmt: skip
    asked = {**ASKED, "keep": ["ward"], "sensitive": {"ldl": {"t": 0.5}}}
    learned = learned_from(frame, asked, part_rows=120)
    plan, frames, _ = parts_of(learned, frame)
    wards = [set(part["ward"]) for part in frames]
    assert [len(ward) for ward in wards if "large" in ward] == [1] * sum("large" in ward for ward in wards)
    assert sum("large" in ward for ward in wards) > 1
    assert sorted(len(ward) for ward in wards if "large" not in ward) == [1, 2, 2]  # of sixty rows each
    assert sum(group.cut is not None for group in plan.groups) == 1


def test_a_class_of_several_parts_is_one_class() -> None:
    learned = learned_from(FRAME, ASKED, part_rows=150)
    plan, frames, parts = parts_of(learned, FRAME)
    columns = PublishedColumns.of(learned.table)
    split = [
        split_part(frame, learned.table, effort="fast", seed=number, whole=whole_of_part(plan, own))
        for number, (frame, own) in enumerate(zip(frames, parts, strict=True))
    ]
    twice = [*split, split[0]]  # as if two parts had the same classes
    about = about_columns(learned, attributes_of(learned))
    found: list[pl.DataFrame] = []
    for bucket in range(3):
        own = [piece for part in twice for number, piece in by_bucket(part, columns, 3) if number == bucket]
        finished = finished_bucket(own, columns, about)
        classes = finished.frame.group_by("age", "zip").len()
        assert sorted(classes["len"]) == sorted(finished.sizes.tolist())
        found.append(finished.frame)
    shown = [row for frame in found for row in set(frame.select("age", "zip").iter_rows())]
    assert len(shown) == len(set(shown))
    assert sum(frame.height for frame in found) == 1200 + frames[0].height


def test_a_sample_that_is_too_large_makes_larger_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "MOST_SAMPLED", 300)
    monkeypatch.setattr(learning, "SAMPLED", 50)
    learned = learned_from(FRAME, ASKED, part_rows=100)
    assert learned.part_rows == 200
    assert 200 < learned.sample.height <= 300
    assert learned_from(FRAME, ASKED, part_rows=100, batch=1200).sample.equals(learned.sample)


def test_missing_values_have_one_spelling() -> None:
    rows = {"zone": [*"aabb"] * 5, "^pay$": ["1", "2", "", None, "?"] * 4, "ward": ["", None] * 10}
    asked = {
        "quasi": ["zone"],
        "keep": ["ward"],
        "sensitive": {"^pay$": {"t": 0.9, "missing": "value"}},
        "missing": ["?"],
    }
    several = learned_from(pl.DataFrame(rows), asked, batch=3).table
    assert (several.spellings, several.rows) == ({}, 20)
    one = learned_from(pl.DataFrame({**rows, "ward": ["x", None] * 10}), asked).table
    assert one.spellings == {"ward": None}
    assert one.original("ward", pl.Series(["", "x"])).to_list() == [None, "x"]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"quasi": {}, "keep": ["sex"]}, "without quasi-identifiers"),
        ({"loss": "queries"}, "loss is measured on all rows at once"),
        ({"quasi": {"age": {"publish": "mean"}}}, "publish is measured on all rows at once"),
        ({"temper": 0.2}, "temper looks at all classes at once"),
        ({"sensitive": {"ldl": {"t": 0.5, "t_by": {"column": "ldl", "t": {"90": 0.1}}}}}, "t_by looks"),
        ({"sensitive": {"ldl": {"entropy_l": 2}}, "person": "name"}, "entropy_l of persons looks"),
    ],
)
def test_what_cannot_be_made_in_parts(more: dict[str, Any], why: str) -> None:
    assert why in str(refusal(Policy.from_dict({**ASKED, **more}), "weave", {}))


def test_auto_decides_by_the_number_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "MANY_ROWS", 1200)
    FRAME.write_parquet(tmp_path / "t.parquet")
    FRAME.head(1100).write_csv(tmp_path / "few.csv")
    made: dict[str, Any] = {"engine": "auto", "seed": 1, "options": {"effort": "fast"}}
    policy = Policy.from_dict(ASKED)
    large = steps.anonymize(tmp_path / "t.parquet", policy, out=tmp_path / "r.csv", certificate=tmp_path / "c", **made)
    assert large.release is None
    assert (
        steps.anonymize(tmp_path / "few.csv", policy, out=tmp_path / "few", part_rows=500, **made).release is not None
    )
    in_memory = steps.anonymize(tmp_path / "t.parquet", policy, out=tmp_path / "m.arrow", **made)
    assert in_memory.release is not None
    assert verify(tmp_path / "r.csv", tmp_path / "c").holds
    with pytest.raises(InputError, match="a frame is in memory already"):
        steps.anonymize(read(tmp_path / "t.parquet"), policy, out=tmp_path / "x.csv", engine="disk")


def test_measures_are_those_of_memory(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "t.parquet")
    asked = {**ASKED, "quasi": {"age": {"weight": 2}, "zip": {"hierarchy": {"prefix": [4, 2]}}, "sex": {}}}
    policy, both = Policy.from_dict(asked), {}
    for engine in ("disk", "memory"):
        out, certificate = tmp_path / f"{engine}.csv", tmp_path / f"{engine}.json"
        kept: dict[str, Any] = {"engine": engine, "seed": 3, "options": {"effort": "fast"}}
        both[engine] = steps.anonymize(tmp_path / "t.parquet", policy, out=out, certificate=certificate, **kept)
    disk, memory = both["disk"].certificate, both["memory"].certificate
    assert disk.measures == memory.measures
    assert (disk.loss, disk.claims, disk.settings) == (memory.loss, memory.claims, memory.settings)
    disk_lines, memory_lines = (both[engine].exposed.figures for engine in ("disk", "memory"))
    assert [each.to_dict() for each in disk_lines] == [each.to_dict() for each in memory_lines]
    assert Fraction(disk.measures["gcp"]) > 0


def test_everyone_who_is_not_known_is_one_person() -> None:
    frame = FRAME.with_columns(who=pl.Series(["", "NA", "?", None, *map(str, range(56))] * 20))
    asked = {**ASKED, "person": "who", "missing": ["NA", "?"], "sensitive": {"ldl": {"t": 0.9}}}
    learned = learned_from(frame, asked, part_rows=100)
    plan = PartPlan.of(learned, "fast", 7)
    counts = PieceCounts(plan, learned.table)
    rows = learned.table.publishable(frame[list(learned.table.columns)])
    unknown = rows.filter(pl.col("who").is_in(["", "NA", "?"]) | pl.col("who").is_null())
    counts.add(learned.table.coded(unknown), np.zeros(unknown.height, dtype=np.int64))
    assert {piece: len(persons) for piece, persons in counts.persons.items()} == {0: 1}


@pytest.mark.parametrize("cells", [[0.5, float("nan")] * 600, [float("inf"), 1.0] * 600])
def test_kept_cells_that_cannot_be_compared_are_refused(cells: list[float], tmp_path: Path) -> None:
    FRAME.with_columns(dose=pl.Series(cells)).write_parquet(tmp_path / "t.parquet")
    policy = Policy.from_dict({**ASKED, "keep": ["dose"]})
    for engine in ("disk", "memory"):
        given: Any = {"engine": engine, "options": {"effort": "fast"}}
        with pytest.raises(InputError, match="'dose' has NaN or infinity in 600 rows"):
            steps.anonymize(tmp_path / "t.parquet", policy, out=tmp_path / "r.csv", **given)


def large(tmp_path: Path, during: Any, **given: Any) -> None:
    """Publish a table out of core; `during` is called whenever progress is reported."""
    FRAME.write_parquet(tmp_path / "t.parquet")
    common: dict[str, Any] = {"engine": "disk", "options": {"effort": "fast"}, "progress": during, **given}
    steps.anonymize(tmp_path / "t.parquet", Policy.from_dict(ASKED), out=tmp_path / "r.csv", **common)


def test_a_table_that_changes_between_its_two_passes_is_refused(tmp_path: Path) -> None:
    def changing(share: float, phase: str = "") -> None:
        if phase == "cutting the table" and (tmp_path / "t.parquet").stat().st_size:
            pl.concat([FRAME, FRAME]).write_parquet(tmp_path / "t.parquet")

    with pytest.raises(InputError, match="was changed while it was read"):
        large(tmp_path, changing)
    assert {path.name for path in tmp_path.iterdir()} == {"t.parquet"}


def test_a_file_that_appears_during_the_work_stays(tmp_path: Path) -> None:
    def appearing(share: float, phase: str = "") -> None:
        if share > 0.5:
            (tmp_path / "r.csv").write_text("mine")

    with pytest.raises(InputError, match="has appeared during the work and stays as it is"):
        large(tmp_path, appearing)
    assert (tmp_path / "r.csv").read_text() == "mine"


def test_progress_never_goes_back(tmp_path: Path) -> None:
    shares: list[float] = []
    large(tmp_path, lambda share, phase="": shares.append(share), part_rows=None)
    assert shares == sorted(shares)
    assert shares[-1] <= 1.0


def test_two_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    first, second = WorkFolder(tmp_path / "r"), WorkFolder(tmp_path / "r")
    assert first.begin({"a": 1}, 5, resume=False, draw=int) == 5
    with pytest.raises(InputError, match="another run is still at work"):
        second.begin({"a": 1}, None, resume=True, draw=int)
    second.discard()
    assert first.path.exists()
    first.path.chmod(0o777)
    with pytest.raises(InputError, match="cannot be continued"):
        WorkFolder(tmp_path / "r").begin({"a": 1}, None, resume=True, draw=int)
    first.discard()
    assert not first.path.exists()
    assert len(WorkFolder(tmp_path / ("x" * 250)).path.name) < 255
