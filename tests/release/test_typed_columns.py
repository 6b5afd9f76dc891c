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
from tclose.recode import untyped
from tclose.release import typed_columns
from tclose.release.formats import FORMATS, OutputFormat
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


@pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.name)
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
    back = untyped.text_table(tclose.read(tmp_path / "r.parquet"), release.policy)
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

    monkeypatch.setattr(typed_columns.TypedColumns, "written", _written_rounded(typed_columns.TypedColumns.written))
    with pytest.raises(InputError, match="would not hold the values"):
        made(tmp_path).write(tmp_path / "r.csv", certificate=tmp_path / "c.json", release_format="columns")
    assert not (tmp_path / "r.csv").exists()
    assert not (tmp_path / "c.json").exists()


def _written_rounded(written: Any) -> Any:
    return lambda self, kind: written(self, kind).with_columns(pl.col("pay") // 2 * 2)


def test_the_judge_reads_the_typed_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells that break the policy are found although nothing but the finished file has them."""

    def one_illness(self: Any, found: pl.DataFrame) -> pl.DataFrame:
        return untyped.text_table(found.with_columns(ill=pl.Series(sorted(found["ill"]))), self.policy)

    monkeypatch.setattr(typed_columns.TypedColumns, "read_back", one_illness)
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


@pytest.mark.parametrize("engine", ["disk", "spark"])
def test_other_engines_refuse_typed_columns(tmp_path: Path, engine: Any) -> None:
    table().write_csv(tmp_path / "t.csv")
    with pytest.raises(InputError, match="typed columns cannot be made out of core"):
        steps.anonymize(
            tmp_path / "t.csv",
            policy(tmp_path),
            out=tmp_path / "r",
            engine=engine,
            release_format="columns",
            part_rows=9,
        )


def test_typed_columns_are_verified_in_memory(tmp_path: Path) -> None:
    made(tmp_path).write(tmp_path / "r.csv", certificate=tmp_path / "c.json", release_format="columns")
    with pytest.raises(InputError, match="use the engine memory"):
        steps.verify(tmp_path / "r.csv", tmp_path / "c.json", engine="disk")
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
