"""A release in parts, step by step; that it is the release of memory is a law (`tests/laws/test_in_parts.py`)."""

from __future__ import annotations

import pickle
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose import InputError, Policy, read, steps, verify
from tclose.errors import InternalError, WholeTableWarning
from tclose.examples import hospital
from tclose.partition.parts import random_of_rows
from tclose.privacy.judge import verdicts
from tclose.run import engines
from tclose.run.parts import buckets, plan
from tclose.run.parts.buckets import PublishedColumns, Totals, by_bucket, finished_bucket, split_part
from tclose.run.parts.exposure import about_columns, attributes_of
from tclose.run.parts.file_rows import FileRows, WorkFolder
from tclose.run.parts.plan import LearnedCounts, PartPlan, PieceCounts, TableLearner, whole_of_part
from tclose.run.rows import parts_refusal
from tclose.table.classes import Classes
from tclose.table.quasi import NumberColumn
from tclose.table.random_ranges import chances_of

pytestmark = pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
FRAME = hospital(1200, seed=4)
FAST = {"effort": "fast"}
ASKED: dict[str, Any] = {
    "quasi": ["age", "zip"],
    "sensitive": {"ldl": {"t": 0.3}, "diagnosis": {"t": 0.6, "l": 2}},
    "k": 3,
    "others": "drop",
}


def learned_from(
    frame: pl.DataFrame, asked: dict[str, Any], part_rows: int | None = None, batch: int = 100
) -> LearnedCounts:
    found = TableLearner(Policy.from_dict(asked), frame.columns, 7, part_rows=part_rows)
    for rows in frame[list(found.columns)].iter_slices(batch):
        found.add(rows)
    return found.finished()


def parts_of(learned: LearnedCounts, frame: pl.DataFrame) -> tuple[PartPlan, list[pl.DataFrame], list[list[int]]]:
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
    plan, frames, parts = parts_of(learned, frame)
    wards = [set(part["ward"]) for part in frames]
    assert [len(ward) for ward in wards if "large" in ward] == [1] * sum("large" in ward for ward in wards)
    assert sum("large" in ward for ward in wards) > 1
    assert sorted(len(ward) for ward in wards if "large" not in ward) == [1, 2, 2]  # of sixty rows each
    assert sum(group.cut is not None for group in plan.groups) == 1
    assert [whole_of_part(plan, own) is not None for own in parts] == ["large" in ward for ward in wards]


def test_a_class_of_several_parts_is_one_class() -> None:
    learned = learned_from(FRAME, ASKED, part_rows=150)
    plan, frames, parts = parts_of(learned, FRAME)
    columns = PublishedColumns.of(learned.table)
    split = [
        split_part(frame, learned.table, method="weave", options=FAST, seed=number, whole=whole_of_part(plan, own))
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


def test_numbers_of_a_part_are_measured_by_the_whole_table() -> None:
    table = learned_from(FRAME, {**ASKED, "loss": "sse"}).table
    rows = table.publishable(FRAME[list(table.columns)])
    whole, part = (table.coded(some).quasi["age"] for some in (rows, rows.sort("age").head(100)))
    assert isinstance(whole, NumberColumn)
    assert isinstance(part, NumberColumn)
    assert (whole.whole, part.points().std() < whole.deviation() / 2) == (None, True)
    assert part.deviation() == pytest.approx(whole.deviation())
    assert [each.ranks.tolist() for each in chances_of([part], [])] == [
        each.ranks.tolist() for each in chances_of([whole], [])
    ]


def test_classes_of_one_mean_lose_the_range_of_them_all() -> None:
    ages = [30, 40, 34, 36, 35, 35, None, None]
    frame = pl.DataFrame({"age": ages, "ill": ["a", "b"] * 4})
    asked = {"quasi": {"age": {"publish": "mean"}}, "sensitive": {"ill": {"t": 0.9, "distance": "equal"}}, "k": 2}
    learned = learned_from(frame, asked)
    columns = PublishedColumns.of(learned.table)
    split = [
        split_part(rows, learned.table, method="weave", options=FAST, seed=1, whole=None)
        for rows in frame.iter_slices(2)
    ]
    finished = finished_bucket(split, columns, about_columns(learned, attributes_of(learned)))
    assert sorted(finished.sizes.tolist()) == [2, 6]
    assert finished.lost.tolist() == [6.0]
    totals = Totals(learned)
    totals.add(finished)
    _, loss = totals.figures()
    places = np.array([0, 1, 0.4, 0.6, 0.5, 0.5, 0.5, 0.5])
    assert loss == round(float(np.square(places - 0.5).sum() / places.var()) / 8, 4)


def test_a_sample_that_is_too_large_makes_larger_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "MOST_SAMPLED", 300)
    monkeypatch.setattr(plan, "SAMPLED", 50)
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
        ({"sensitive": {"ldl": {"t": 0.5, "t_by": {"column": "ldl", "t": {"90": 0.1}}}}}, "t_by looks"),
    ],
)
def test_what_cannot_be_made_in_parts(more: dict[str, Any], why: str) -> None:
    assert why in str(parts_refusal(Policy.from_dict({**ASKED, **more}), "weave", {}))


def test_auto_decides_by_the_number_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "MANY_ROWS", 1200)
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
    with pytest.warns(WholeTableWarning, match="a frame is at hand already"):
        steps.anonymize(read(tmp_path / "t.parquet"), policy, out=tmp_path / "x.csv", seed=1, engine="disk")


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


def test_random_swaps_stay_in_their_part_and_are_paid_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "PART_ROWS", 150)
    monkeypatch.setattr(buckets, "BUCKET_ROWS", 300)
    FRAME.write_parquet(tmp_path / "t.parquet")
    certificates = {}
    for share in (None, 0.5):
        policy, out = Policy.from_dict({**ASKED, "temper": share} if share else ASKED), tmp_path / f"{share}.csv"
        made: dict[str, Any] = {"engine": "disk", "seed": 3, "options": FAST, "certificate": tmp_path / f"{share}.json"}
        certificates[share] = steps.anonymize(tmp_path / "t.parquet", policy, out=out, **made).certificate
        assert verify(out, tmp_path / f"{share}.json").holds
    temper, plain = certificates[0.5].temper, certificates[None]
    assert temper is not None
    assert temper.gcp_before == plain.measures["gcp"] < temper.gcp_after == certificates[0.5].measures["gcp"]


def test_classes_that_are_not_admitted_together_are_one_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FRAME.with_columns(who=pl.int_range(1200) // 2).write_parquet(tmp_path / "t.parquet")
    usual, asked = FileRows.judged, {**ASKED, "person": "who", "sensitive": {"diagnosis": {"entropy_l": 1.5}}}

    def judged(*given: Any) -> Any:
        refused: Any = SimpleNamespace(satisfied=False)
        return replace(usual(*given), result=refused)

    monkeypatch.setattr(FileRows, "judged", judged)
    made: dict[str, Any] = {"seed": 3, "options": FAST, "force": True}
    made |= {"out": tmp_path / "r.csv", "certificate": tmp_path / "c.json"}
    with pytest.warns(WholeTableWarning, match="publish the same values are not admitted as one class"):
        steps.anonymize(tmp_path / "t.parquet", Policy.from_dict(asked), engine="disk", **made)
    assert verify(tmp_path / "r.csv", tmp_path / "c.json").holds
    with pytest.raises(InternalError, match="does not hold what was asked"):
        steps.anonymize(tmp_path / "t.parquet", Policy.from_dict(ASKED), engine="disk", **made)


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tables of these tests have several parts and buckets."""
    monkeypatch.setattr("tclose.run.parts.plan.PART_ROWS", 300)
    monkeypatch.setattr("tclose.run.parts.rows.buckets_for", lambda rows, part_rows: 5)
    monkeypatch.setattr("tclose.run.parts.files.GROUP_ROWS", 100)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("name", ["r.csv", "r.xlsx", "r.arrow"])
def test_new_rows_join_a_release_in_parts(tmp_path: Path, name: str) -> None:
    FRAME.head(1000).write_parquet(tmp_path / "t.parquet")
    FRAME.tail(200).write_parquet(tmp_path / "new.parquet")
    files = {"out": tmp_path / name, "record": tmp_path / "record"}
    steps.anonymize(
        tmp_path / "t.parquet", Policy.from_dict(ASKED), **files, room="0.3", engine="disk", seed=1, options=FAST
    )
    asked = {"out": tmp_path / f"next-{name}", "certificate": tmp_path / "c.json", "seed": 1}
    added = steps.apply(tmp_path / "record", tmp_path / "new.parquet", **asked)
    assert added.joined + added.formed > 100
    assert verify(asked["out"], asked["certificate"]).holds


@pytest.mark.usefixtures("small_parts")
def test_classes_are_recorded_for_new_rows_alone(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "t.parquet")
    made = {"report": tmp_path / "r.html", "record": tmp_path / "record"}
    disk: dict[str, Any] = {"engine": "disk", "seed": 1, "options": FAST}
    steps.anonymize(tmp_path / "t.parquet", Policy.from_dict(ASKED), out=tmp_path / "r.csv", **made, **disk)
    with pytest.raises(InputError, match="made in memory or with --room"):
        steps.apply(tmp_path / "record", tmp_path / "t.parquet", out=tmp_path / "n.csv")


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("out", ["r.csv", pytest.param("r.parquet", marks=pytest.mark.soak), "folder"])
def test_what_lies_beside_a_release_changes_none_of_its_bytes(tmp_path: Path, out: str) -> None:
    FRAME.write_parquet(tmp_path / "t.parquet")
    found, record = [], tmp_path / "alone" / "record"
    asked: dict[str, Any] = {"options": FAST, "part_rows": 200 if out == "folder" else None, "seed": 1}
    runs: dict[str, dict[str, Any]] = {
        "alone": {"record": record, **asked},
        "page": {"report": tmp_path / "p.html", "replay": record},
        "described": {"describe": ("codebook",), "replay": record},
    }
    for name, said in runs.items():
        (tmp_path / name).mkdir()
        more = {"out": tmp_path / name / out, "engine": "disk", **said}
        steps.anonymize(tmp_path / "t.parquet", Policy.from_dict(ASKED), **more)
        files = (tmp_path / name / out).iterdir() if out == "folder" else [tmp_path / name / out]
        found.append({file.name: file.read_bytes() for file in files if file.suffix in (".csv", ".parquet")})
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == (5 if out == "folder" else 1)


def test_persons_are_counted_in_the_finished_files(tmp_path: Path) -> None:
    """Three rows for each, always in one class: the judge of the files is told whom each row belongs to."""
    whom = FRAME[:240].with_columns(who=pl.int_range(240) // 3)
    table = whom.with_columns(pl.col("age", "zip").first().over("who"))
    table.sample(fraction=1, shuffle=True, seed=1).write_csv(tmp_path / "t.csv")
    policy = {**ASKED, "person": "who", "sensitive": {"ldl": {"t": 0.5}}}
    certified = {}
    for engine in ("memory", "disk"):
        files = {"out": tmp_path / f"{engine}.csv", "certificate": tmp_path / f"{engine}.json"}
        made = steps.anonymize(tmp_path / "t.csv", policy, **files, engine=engine, method="mondrian", seed=1)
        certified[engine] = made.certificate.claims
    assert certified["disk"].models == certified["memory"].models
    (persons,) = [claim.reached for claim in certified["disk"].models if claim.model == "k"]
    assert 3 <= persons == certified["disk"].smallest_class // 3


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
        if phase == "judging":
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
