"""Releases of typed columns: written in every format, judged from the finished bytes, verified; or refused."""

from __future__ import annotations

import json
import shutil
import subprocess
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose import InputError, InternalError, LeakWarning, PolicyError, Release, steps
from tclose.errors import WholeTableWarning
from tclose.recode import typed_table
from tclose.release import tables
from tclose.release.certificate import digest_of
from tclose.release.files import sha256
from tclose.release.formats import OUTPUT_FORMATS, OutputFormat
from tclose.release.verify import verify
from tclose.table.sources import read_plain

ROWS = 60
WARDS = "a;x;*\nb, c;x;*\nd;y;*\n"


def table() -> pl.DataFrame:
    rng = np.random.default_rng(7)
    weight = np.where(rng.random(ROWS) < 0.1, "", rng.normal(80, 10, ROWS).round(1).astype(str))
    return pl.DataFrame(
        {
            "name": [f"P{i}" for i in range(ROWS)],
            "age": rng.integers(10, 99, ROWS),
            "weight": weight.astype(str),
            "day": pl.Series([f"2024-{m:02}-{d:02}" for m, d in rng.integers(1, 13, (ROWS, 2))]),
            "ward": rng.choice(["a", "b, c", "d"], ROWS),
            "town": rng.choice(["=cmd", "Ulm", "Köln"], ROWS),
            "sex": rng.choice(["f", "m"], ROWS),
            "ill": rng.choice(["flu", "cold"], ROWS),
            "pay": rng.integers(1, 9, ROWS).astype(str),
        }
    )


def policy(folder: Path, **more: Any) -> dict[str, Any]:
    (folder / "ward.csv").write_text(WARDS)
    return {
        "identifiers": ["name"],
        "keep": ["sex"],
        "quasi": {
            "age": {"top": 90, "bottom": 18, "step": 5},
            "weight": {},
            "day": {},
            "ward": {"hierarchy": str(folder / "ward.csv")},
            "town": {},
        },
        "sensitive": {"ill": {"t": 0.5}, "pay": {"t": 0.5}},
        "k": 2,
        **more,
    }


def made(folder: Path, **more: Any) -> Release:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)
        return tclose.anonymize(table(), policy(folder, **more), method="mondrian", seed=1)


@pytest.mark.parametrize("kind", OUTPUT_FORMATS, ids=lambda kind: kind.name)
def test_every_format_is_written_and_verified(tmp_path: Path, kind: OutputFormat) -> None:
    guard = not kind.lists  # the table has a cell that a spreadsheet would run
    release, out, certificate = made(tmp_path), tmp_path / f"r{kind.suffixes[0]}", tmp_path / "c.json"
    written = release.write(out, certificate=certificate, release_format="columns", guard_formulas=guard)
    assert written.content["release_format"] == "columns"
    assert written.content["policy"] == release.certificate.content["policy"]
    assert verify(out, certificate).problems == ()
    columns = read_plain(out)
    assert {"age_low", "age_bottom", "weight_missing", "day_mid", "ward_label", "class", "class_size"} <= {
        *columns.columns
    }
    if kind.lists:
        assert columns.schema["town"] == pl.List(pl.String)
        assert (columns.schema["age_low"], columns.schema["day_low"]) == (pl.Int64, pl.Date)


def test_a_folder_of_parts_has_typed_columns(tmp_path: Path) -> None:
    made(tmp_path).write(tmp_path / "r", certificate=tmp_path / "c.json", part_rows=25, release_format="columns")
    assert verify(tmp_path / "r", tmp_path / "c.json").holds


def test_typed_columns_say_what_the_text_says(tmp_path: Path) -> None:
    release = made(tmp_path)
    release.write(tmp_path / "r.parquet", release_format="columns")
    back = typed_table.text_table(tclose.read(tmp_path / "r.parquet"), release.policy)
    for name in ("age", "day", "ward", "town"):
        assert back[name].to_list() == release.frame[name].to_list()


def test_a_changed_file_does_not_verify(tmp_path: Path) -> None:
    out, certificate = tmp_path / "r.csv", tmp_path / "c.json"
    made(tmp_path).write(out, certificate=certificate, release_format="columns")
    frame = pl.read_csv(out, infer_schema=False)
    for change, why in [
        (pl.col("class_size").replace("2", "3"), "sizes"),
        (pl.lit("1").alias("class"), "number the classes"),
        (pl.lit("flu").alias("ill"), "close"),
    ]:
        frame.with_columns(change).write_csv(out)
        problems = verify(out, certificate).problems
        assert any("SHA-256" in problem for problem in problems)
        assert any(why in problem for problem in problems)


def test_a_file_that_holds_other_values_gets_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A format that rounds numbers must not be published."""

    monkeypatch.setattr(tables.TypedColumns, "written", _written_rounded(tables.TypedColumns.written))
    with pytest.raises(InputError, match="would not hold the values"):
        made(tmp_path).write(tmp_path / "r.csv", certificate=tmp_path / "c.json", release_format="columns")
    assert not (tmp_path / "r.csv").exists()
    assert not (tmp_path / "c.json").exists()


def _written_rounded(written: Any) -> Any:
    return lambda self, kind: written(self, kind).with_columns(pl.col("pay") // 2 * 2)


def test_the_judge_reads_the_typed_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells that break the policy are found although nothing but the finished file has them."""

    def one_illness(self: Any, found: pl.DataFrame) -> pl.DataFrame:
        return typed_table.text_table(found.with_columns(ill=pl.Series(sorted(found["ill"]))), self.policy)

    monkeypatch.setattr(tables.TypedColumns, "read_back", one_illness)
    with pytest.raises(InternalError):
        made(tmp_path, sensitive={"ill": {"t": 0.1}, "pay": {"t": 1}}).write(
            tmp_path / "r.csv", release_format="columns"
        )
    assert not (tmp_path / "r.csv").exists()


@pytest.mark.parametrize(
    ("method", "more", "why"),
    [
        ("anatomy", {}, "one table"),
        ("projections", {}, "one table"),
        ("permutation", {}, "one table"),
        ("mondrian", {"both": ["town"], "sensitive": {"town": {"t": 0.5}}}, "one table"),
        ("mondrian", {"quasi": ["age", "age_low"]}, "'age_low'"),
        ("mondrian", {"keep": ["Class"]}, "'Class'"),
    ],
)
def test_other_layouts_and_clashes_are_refused_before_any_work(
    tmp_path: Path, method: str, more: dict[str, Any], why: str
) -> None:
    asked = policy(tmp_path, **more)
    out = tmp_path / "r.csv"
    with pytest.raises((InputError, PolicyError), match=why):
        steps.anonymize(tmp_path / "absent.csv", asked, out=out, method=method, release_format="columns")


def test_a_release_of_several_tables_is_not_written_as_columns(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)
        release = tclose.anonymize(table(), policy(tmp_path), method="anatomy", seed=1)
    with pytest.raises(PolicyError, match="one table"):
        release.write(tmp_path / "r.csv", release_format="columns")


def test_a_format_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    unknown: Any = "Columns"
    with pytest.raises(InputError, match="text or columns, not as 'Columns'"):
        made(tmp_path).write(tmp_path / "r.csv", release_format=unknown)
    with pytest.raises(InputError, match="text or columns"):
        steps.anonymize(table(), policy(tmp_path), out=tmp_path / "r.csv", release_format=unknown)
    assert not (tmp_path / "r.csv").exists()


@pytest.mark.filterwarnings("ignore:anyone who guesses the seed")
def test_typed_columns_from_disk_are_those_of_memory(tmp_path: Path) -> None:
    table().write_csv(tmp_path / "t.csv")
    for engine in ("memory", "disk"):
        files = {"out": tmp_path / f"{engine}.csv", "certificate": tmp_path / f"{engine}.json"}
        asked: dict[str, Any] = {"engine": engine, "release_format": "columns", "seed": 1}
        steps.anonymize(tmp_path / "t.csv", policy(tmp_path), **files, **asked, options={"effort": "fast"})
        assert steps.verify(tmp_path / f"{engine}.csv", tmp_path / f"{engine}.json").holds
    assert (tmp_path / "disk.csv").read_bytes() == (tmp_path / "memory.csv").read_bytes()


def test_typed_columns_are_verified_in_memory(tmp_path: Path) -> None:
    made(tmp_path).write(tmp_path / "r.csv", certificate=tmp_path / "c.json", release_format="columns")
    with pytest.warns(WholeTableWarning, match="the release has typed columns"):
        assert steps.verify(tmp_path / "r.csv", tmp_path / "c.json", engine="disk").holds
    assert steps.verify(tmp_path / "r.csv", tmp_path / "c.json", engine="auto").holds


def test_means_are_a_column_of_their_own(tmp_path: Path) -> None:
    release = made(tmp_path, quasi={"age": {"publish": "mean"}, "ward": {}}, keep=[], unlinkable=[], identifiers=[
        "name", "weight", "day", "town", "sex"])  # fmt: skip
    release.write(tmp_path / "r.parquet", certificate=tmp_path / "c.json", release_format="columns")
    assert tclose.read(tmp_path / "r.parquet").schema["age_mean"] == pl.Float64
    assert verify(tmp_path / "r.parquet", tmp_path / "c.json").holds


def test_a_certificate_of_another_layout_cannot_say_columns(tmp_path: Path) -> None:
    made(tmp_path).write(tmp_path / "r.csv", certificate=tmp_path / "c.json", release_format="columns")
    content = json.loads((tmp_path / "c.json").read_text())
    (tmp_path / "c.json").write_text(json.dumps({**content, "release_format": "rows"}))
    with pytest.raises(InputError, match="format of the release's cells"):
        verify(tmp_path / "r.csv", tmp_path / "c.json")


def test_r_reads_numbers(tmp_path: Path) -> None:
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed: apt-get install r-base-core")
    made(tmp_path).write(tmp_path / "r.csv", release_format="columns")
    code = "r <- read.csv('r.csv'); cat(sapply(r[c('age_low','age_mid','weight_high','pay','class_size')], is.numeric))"
    done = subprocess.run(["Rscript", "-e", code], cwd=tmp_path, capture_output=True, check=True, text=True)
    assert done.stdout.split() == ["TRUE"] * 5


@pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
@pytest.mark.parametrize("kind", OUTPUT_FORMATS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("bins", [{"edges": [0, 20, 100, 200]}, {"quantiles": 3}, {"count": 3}, {"width": "0.7"}])
def test_bins_have_ends_and_a_midpoint(tmp_path: Path, kind: OutputFormat, bins: dict[str, Any]) -> None:
    """Also bins with ends that no float holds, such as thirds, and values that are missing."""
    if kind.name != "CSV" and "count" not in bins:
        pytest.skip("one kind of bins is enough for the other formats")
    raw = pl.DataFrame(
        {"age": range(12), "ldl": ["7", "13.5", "", "150", "101", "20", "99", "1", "2", "60", "70", "8"]}
    )
    policy = {
        "quasi": ["age"],
        "sensitive": {"ldl": {"t": 1, "bins": bins, "publish": "bin", "missing": "value", "distance": "equal"}},
        "k": 3,
    }
    made = tclose.anonymize(raw, policy, method="mondrian", seed=1)
    out, certificate = tmp_path / f"r{kind.suffixes[0]}", tmp_path / "c.json"
    made.write(out, certificate=certificate, release_format="columns", describe=["codebook"])
    assert verify(out, certificate).problems == ()
    found = read_plain(out)
    assert {"ldl_low", "ldl_high", "ldl_mid"} <= {*found.columns}
    assert "ldl" not in found.columns
    judged_by = tables.TypedColumns.of("columns", made.layout, made.policy)
    assert judged_by is not None
    back = typed_table.text_table(found, judged_by.policy)
    assert back["ldl"].fill_null("").to_list() == made.frame["ldl"].fill_null("").to_list()
    assert "the row's own value is at most this" in (tmp_path / "r.codebook.md").read_text()
    for change in (pl.lit("999").alias("ldl_low"), pl.lit("0.5").alias("ldl_mid")):
        with pytest.raises(InputError, match=r"policy does not have|midpoints"):
            typed_table.text_table(found.with_columns(change), judged_by.policy)


@pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
def test_a_typed_release_of_bins_is_compared_with_its_table(tmp_path: Path) -> None:
    raw = pl.DataFrame({"age": range(12), "ldl": [7, 13, 15, 150, 101, 20, 99, 1, 2, 60, 70, 8]})
    asked = {"quasi": ["age"], "sensitive": {"ldl": {"t": 1, "bins": {"quantiles": 3}, "publish": "bin"}}, "k": 3}
    made = tclose.anonymize(raw, asked, method="mondrian", seed=1)
    made.write(tmp_path / "r.csv", release_format="columns")
    made.write(tmp_path / "t.csv")
    frames = (tclose.read(tmp_path / name) for name in ("r.csv", "t.csv"))
    typed, text = (tclose.attack(frame, original=raw, policy=asked).to_dict() for frame in frames)
    assert typed == text


@pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
def test_the_codebook_sorts_bins_by_value(tmp_path: Path) -> None:
    raw = pl.DataFrame({"age": range(6), "ldl": [7, 13, 15, 150, 101, 120]})
    bins = {"t": 1, "bins": {"edges": [0, 9, 20, 110, 200]}, "publish": "bin"}
    made = tclose.anonymize(raw, {"quasi": ["age"], "sensitive": {"ldl": bins}, "k": 2}, method="mondrian", seed=1)
    made.write(tmp_path / "r.csv", certificate=tmp_path / "c.json", describe=["codebook"])
    assert r"(0, 9\], (9, 20\], (20, 110\], (110, 200\]" in (tmp_path / "r.codebook.md").read_text()


@pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
def test_older_releases_of_typed_columns_hold_labels_of_bins(tmp_path: Path) -> None:
    raw = pl.DataFrame({"age": range(6), "ldl": [7, 13, 15, 150, 101, 120]})
    bins = {"t": 1, "bins": {"edges": [0, 100, 200]}, "publish": "bin"}
    made = tclose.anonymize(raw, {"quasi": ["age"], "sensitive": {"ldl": bins}, "k": 2}, method="mondrian", seed=1)
    made.write(tmp_path / "r.csv", certificate=tmp_path / "c.json", release_format="columns")
    new = pl.read_csv(tmp_path / "r.csv", infer_schema=False)
    old = new.drop("ldl_high", "ldl_mid").rename({"ldl_low": "ldl"})
    old = old.with_columns(ldl=pl.col("ldl").replace({"0": "(0, 100]", "100": "(100, 200]"}))
    old.write_csv(tmp_path / "r.csv")
    content = json.loads((tmp_path / "c.json").read_text())
    del content["digest"], content["cells"]
    content["files"][0]["sha256"] = sha256((tmp_path / "r.csv").read_bytes())
    (tmp_path / "c.json").write_text(json.dumps({**content, "digest": digest_of(content)}))
    assert verify(tmp_path / "r.csv", tmp_path / "c.json").problems == ()
    assert tclose.load(tmp_path / "r.csv", tmp_path / "c.json").expected_counts({"ldl": "(0, 100]"}).lower == 3
