"""tclose.load: the same release, whatever its format and its cells, gives the same answers."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose import InputError, LeakWarning, Release
from tclose.release.certificate import ReleaseFormat, digest_of
from tclose.release.formats import OUTPUT_FORMATS, OutputFormat

ROWS = 80
CELLS: tuple[ReleaseFormat, ...] = ("text", "columns")


def table() -> pl.DataFrame:
    rng = np.random.default_rng(11)
    ages = rng.integers(18, 95, ROWS)
    return pl.DataFrame(
        {
            "age": np.where(rng.random(ROWS) < 0.05, "", ages.astype(str)),
            "ward": rng.choice(["a", "b, c", "d"], ROWS),
            "day": pl.Series([f"2024-01-{day:02}" for day in rng.integers(1, 29, ROWS)]),
            "pay": (ages / 10 + rng.normal(size=ROWS)).round(1).astype(str),
            "ill": rng.choice(["flu", "cold"], ROWS),
        }
    )


@pytest.fixture(scope="module")
def release() -> Release:
    policy = {
        "quasi": {"age": {"top": 90, "bottom": 20}, "ward": {}, "day": {}},
        "sensitive": {"pay": {"t": 0.4}, "ill": {"t": 0.4}},
        "k": 4,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)
        return tclose.anonymize(table(), policy, method="mondrian", seed=1)


def answers(loaded: tclose.LoadedRelease) -> list[Any]:
    estimates = [
        loaded.mean("age"),
        loaded.quantile("day", 0.5),
        loaded.expected_counts({"age": (30, 50), "ward": "b, c", "ill": "flu", "day": (None, "2024-01-15")}),
    ]
    return [
        *((each.expected, each.lower, each.upper) for each in estimates),
        loaded.regression("pay", ["age", "ward"], draws=2).frame.rows(),
        loaded.resample(3).rows(),
        loaded.class_sizes.tolist(),
    ]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory, release: Release) -> list[Any]:
    """The answers of a CSV file of typed columns."""
    first = tmp_path_factory.mktemp("first") / "first.csv"
    release.write(first, release_format="columns")
    return answers(tclose.load(first))


@pytest.mark.parametrize("kind", OUTPUT_FORMATS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("cells", CELLS)
def test_every_format_gives_the_same_answers(
    tmp_path: Path, release: Release, expected: list[Any], kind: OutputFormat, cells: ReleaseFormat
) -> None:
    out, certificate = tmp_path / f"r{kind.suffixes[0]}", tmp_path / "c.json"
    release.write(out, certificate=certificate, release_format=cells)
    assert answers(tclose.load(out, certificate)) == expected
    assert answers(tclose.load(out)) == expected


def test_a_folder_of_parts_is_loaded(tmp_path: Path, release: Release) -> None:
    release.write(tmp_path / "r", certificate=tmp_path / "c.json", part_rows=30, release_format="columns")
    assert tclose.load(tmp_path / "r", tmp_path / "c.json").rows == ROWS


def test_the_frame_has_intervals(tmp_path: Path, release: Release) -> None:
    release.write(tmp_path / "r.parquet", release_format="columns")
    loaded = tclose.load(tmp_path / "r.parquet")
    assert loaded.frame.columns == ["age", "ward", "day", "pay", "ill", "class", "class_size"]
    assert loaded.frame.schema["age"] == pl.Struct({"low": pl.Int64, "high": pl.Int64})
    assert loaded.midpoints.columns == ["age", "day"]
    assert loaded.weights.tolist() == [1.0] * ROWS
    assert "80 rows" in repr(loaded)
    frame = tclose.load(tmp_path / "r.parquet", as_="pandas").frame
    assert str(frame["age"].dtype) == "interval[float64, both]"
    assert str(frame["day"].dtype).startswith("interval[datetime64")
    assert (frame["age"].array.left <= frame["age"].array.right).sum() == loaded.typed["age_missing"].ne("all").sum()


def test_labels_keep_their_leaves(tmp_path: Path) -> None:
    rows = [["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"]]
    raw = pl.DataFrame({"ward": ["a", "b", "c", "c"], "pay": [1, 2, 1, 2]})
    policy = {"quasi": {"ward": {"hierarchy": {"rows": rows}}}, "sensitive": {"pay": {"t": 0.5}}, "k": 2}
    made = tclose.anonymize(raw, policy, method="mondrian")
    for name in ("r.csv", "r.parquet"):
        made.write(tmp_path / name, release_format="columns")
        found = tclose.load(tmp_path / name).expected_counts({"ward": "a"})
        assert (found.expected, found.lower, found.upper) == (1.0, 0, 2)


def test_means_are_told_by_name(tmp_path: Path) -> None:
    raw = pl.DataFrame({"age": [20, 31, 40, 50], "pay": [1, 2, 1, 2]})
    policy = {"quasi": {"age": {"publish": "mean"}}, "sensitive": {"pay": {"t": 0.5}}, "k": 2}
    made = tclose.anonymize(raw, policy, method="mondrian")
    made.write(tmp_path / "r.csv", certificate=tmp_path / "c.json")
    assert tclose.load(tmp_path / "r.csv", means=["age"]).mean("age").expected == 35.25
    loaded = tclose.load(tmp_path / "r.csv", tmp_path / "c.json", means=["age"])
    assert loaded.mean("age").expected == 35.25
    with pytest.raises(InputError, match="class means"):
        loaded.regression("pay", ["age"])


def test_kept_columns_and_look_alikes_need_no_certificate(tmp_path: Path) -> None:
    """Classes differ in what is kept; `bp` and `bp_low` are sensitive columns, and no ends of a range."""
    raw = pl.DataFrame({"age": [20, 30] * 4, "sex": ["f", "f", "m", "m"] * 2, "bp": [1, 2] * 4, "bp_low": [3, 4] * 4})
    sensitive = {"bp": {"t": 0.5}, "bp_low": {"t": 0.5}}
    made = tclose.anonymize(raw, {"quasi": ["age"], "keep": ["sex"], "sensitive": sensitive, "k": 4}, method="mondrian")
    for name in ("r.csv", "r.parquet"):
        made.write(tmp_path / name, release_format="columns")
        loaded = tclose.load(tmp_path / name)
        assert loaded.frame.columns == ["age", "sex", "bp", "bp_low", "class", "class_size"]
        assert loaded.mean("bp").expected == 1.5
        assert loaded.class_sizes.tolist() == [4] * 8


def test_numbers_that_no_float_holds_are_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(f'age,pay\n"[1, 2]",{"1" * 30}\n"[1, 2]",2\n')
    with pytest.raises(InputError, match=r"cannot be loaded: column 'pay' has a whole number beyond 64 bits$"):
        tclose.load(tmp_path / "r.csv")


def test_withheld_rows_weigh(tmp_path: Path) -> None:
    raw = pl.DataFrame({"age": ["20", "20", "40", "40", "60"], "pay": ["1", "2", "1", "2", ""]})
    policy = {"quasi": ["age"], "sensitive": {"pay": {"t": 0.5, "missing": "suppress"}}, "k": 2, "suppress": 0.5}
    tclose.anonymize(raw, policy, method="mondrian").write(tmp_path / "r.csv", certificate=tmp_path / "c.json")
    assert tclose.load(tmp_path / "r.csv", tmp_path / "c.json").weights.tolist() == [1.25] * 4


def test_files_that_are_not_the_certified_ones_are_refused(tmp_path: Path, release: Release) -> None:
    release.write(tmp_path / "r.csv", certificate=tmp_path / "c.json", release_format="columns")
    (tmp_path / "r.csv").write_text((tmp_path / "r.csv").read_text().replace("flu", "cold"))
    with pytest.raises(InputError, match="SHA-256 differs"):
        tclose.load(tmp_path / "r.csv", tmp_path / "c.json")


def test_what_cannot_be_loaded_is_said(tmp_path: Path, release: Release) -> None:
    (tmp_path / "plain.csv").write_text("age,pay\n20,1\n30,2\n")
    with pytest.raises(InputError, match="give its certificate"):
        tclose.load(tmp_path / "plain.csv")
    release.write(tmp_path / "r.csv", certificate=tmp_path / "c.json")
    with pytest.raises(InputError, match="polars or a pandas"):
        tclose.load(tmp_path / "r.csv", as_="excel")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no column 'x'"):
        tclose.load(tmp_path / "r.csv", means=["x"])
    content = {**json.loads((tmp_path / "c.json").read_text()), "group": "g"}
    del content["digest"]
    (tmp_path / "d.json").write_text(json.dumps({**content, "digest": digest_of(content)}))
    with pytest.raises(InputError, match="a permutation is not loaded: its sensitive values stand beside other rows"):
        tclose.load(tmp_path / "r.csv", tmp_path / "d.json")


@pytest.mark.parametrize(
    ("y", "x", "why"),
    [("age", ["pay"], "published exactly"), ("pay", ["wage"], "no column 'wage'"), ("pay", "age", "list of columns")],
)
def test_regressions_that_make_no_sense_are_refused(tmp_path: Path, release: Release, y: str, x: Any, why: str) -> None:
    release.write(tmp_path / "r.csv", release_format="columns")
    with pytest.raises(InputError, match=why):
        tclose.load(tmp_path / "r.csv").regression(y, x)


@pytest.mark.parametrize("certified", [True, False])
def test_nothing_is_detected_in_a_release(tmp_path: Path, certified: bool) -> None:
    """Cells such as 1,5 that were published as text are no decimal commas, with a certificate or without."""
    (tmp_path / "r.csv").write_text(
        'age,answers\n"[20, 29]","1,5"\n"[20, 29]","2,5"\n"[30, 39]","1,5"\n"[30, 39]","2,5"\n'
    )
    if certified:
        frame = pl.DataFrame({"age": [20, 29, 30, 39], "answers": ["1,5", "2,5"] * 2})
        policy = {"quasi": ["age"], "sensitive": {"answers": {"t": 0.5}}, "k": 2}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LeakWarning)
            made = tclose.anonymize(frame, policy, method="mondrian", seed=1)
        made.write(tmp_path / "r.csv", certificate=tmp_path / "c.json")
    loaded = tclose.load(tmp_path / "r.csv", tmp_path / "c.json" if certified else None)
    assert sorted(loaded.frame["answers"]) == ["1,5", "1,5", "2,5", "2,5"]


def test_a_kept_code_of_digits_is_asked_for_as_text(tmp_path: Path) -> None:
    """A CSV file reads 10115 as a number where no code begins with 0; people write ZIP codes as text."""
    for codes in (["10115", "10117"], ["10115", "01050"]):
        table = pl.DataFrame({"age": list(range(24)), "zip": codes * 12, "pay": [1, 2, 3] * 8})
        policy = {"quasi": ["age"], "keep": ["zip"], "sensitive": {"pay": {"t": 0.9}}, "k": 3}
        files = tmp_path / "r.csv", tmp_path / "c.json"
        tclose.anonymize(table, policy, method="mondrian").write(files[0], certificate=files[1], force=True)
        release = tclose.load(*files)
        for code in codes:
            found = release.expected_counts({"zip": code})
            assert (found.expected, found.lower, found.upper) == (12, 12, 12)
        assert release.expected_counts({"zip": codes}).expected == 24
