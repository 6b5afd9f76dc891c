"""A release is verified on a cluster as it is in memory: what is right about it, and what is wrong."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from tclose import InputError, Policy, Verification, anonymize, verify
from tclose.examples import hospital
from tclose.release.certificate import digest_of

pytest.importorskip("pyspark", reason="Spark is not installed: pip install 'tclose[spark]'")
import tclose.spark

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore::tclose.LeakWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),  # of py4j
]
POLICY = Policy.from_dict(
    {
        "quasi": ["age", "sex"],
        "sensitive": {"ldl": {"t": 0.3}, "diagnosis": {"t": 0.6, "l": 2}},
        "k": 2,
        "others": "drop",
    }
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a release in parts, as one file and as CSV."""
    folder = tmp_path_factory.mktemp("made")
    release = anonymize(hospital(200, seed=3), POLICY, method="mondrian", seed=1)
    release.write(folder / "parts", certificate=folder / "parts.json", part_rows=70)
    release.write(folder / "one.parquet", certificate=folder / "one.json")
    release.write(folder / "text.csv", certificate=folder / "text.json")
    formulas = hospital(200, seed=3).with_columns(pl.format("={}", "diagnosis").alias("diagnosis"))
    guarded = anonymize(formulas, POLICY, method="mondrian", seed=1)
    guarded.write(folder / "guarded", certificate=folder / "guarded.json", part_rows=70, guard_formulas=True)
    guarded.write(folder / "unguarded", part_rows=70)
    return folder


@pytest.mark.parametrize("name", ["parts", "one.parquet"])
def test_a_release_that_is_as_certified(cluster: SimpleNamespace, made: Path, name: str) -> None:
    certificate = (made / name).with_suffix(".json")
    found = tclose.spark.verify(cluster.spark, f"file://{made / name}", certificate)
    assert found == verify(made / name, certificate)
    assert found.holds


def test_a_release_that_is_guarded_against_formulas(cluster: SimpleNamespace, made: Path) -> None:
    found = tclose.spark.verify(cluster.spark, f"file://{made / 'guarded'}", made / "guarded.json")
    assert found == verify(made / "guarded", made / "guarded.json")
    assert found.holds
    bare = tclose.spark.verify(cluster.spark, f"file://{made / 'unguarded'}", made / "guarded.json")
    assert [each for each in bare.problems if "cannot have been written by the guard" in each], bare.problems


def exchanged(folder: Path) -> None:
    first, second = (folder / f"part-0000{number}.parquet" for number in (0, 1))
    data = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(data)


def damaged(folder: Path) -> None:
    part = folder / "part-00001.parquet"
    part.write_bytes(part.read_bytes()[:-20])


def renamed(folder: Path) -> None:
    (folder / "part-00001.parquet").rename(folder / "a b%20c[1].parquet")
    (folder / "part-00000.parquet").unlink()


def more(folder: Path) -> None:
    (folder / "sub").mkdir()
    shutil.copy(folder / "part-00000.parquet", folder / "sub" / "part-00007.parquet")
    (folder / "_SUCCESS").touch()


@pytest.mark.parametrize("change", [exchanged, damaged, renamed, more])
def test_files_that_are_not_as_certified(
    cluster: SimpleNamespace, made: Path, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    shutil.copytree(made / "parts", folder := tmp_path / "x%20y")
    change(folder)
    shutil.copy(made / "parts.json", folder / "certificate.json")  # which is no part of the table
    found = tclose.spark.verify(cluster.spark, str(folder), folder / "certificate.json")
    assert found == verify(folder, folder / "certificate.json")
    assert not found.holds


def test_claims_that_are_wrong(cluster: SimpleNamespace, made: Path, tmp_path: Path) -> None:
    claimed = json.loads((made / "parts.json").read_text())
    claimed["policy"]["k"] = 30  # many classes are smaller
    claimed["files"][0]["rows"] += 1
    claimed["digest"] = digest_of(claimed)
    (tmp_path / "wrong.json").write_text(json.dumps(claimed))
    found: Verification = tclose.spark.verify(cluster.spark, made / "parts", tmp_path / "wrong.json", digest="0")
    assert found == verify(made / "parts", tmp_path / "wrong.json", digest="0")
    assert any("fails in" in problem for problem in found.problems)


def test_what_cannot_be_verified_is_refused_in_a_sentence(cluster: SimpleNamespace, made: Path) -> None:
    with pytest.raises(InputError, match=r"there is no file .*nowhere"):
        tclose.spark.verify(cluster.spark, made / "nowhere", made / "parts.json")
    with pytest.raises(InputError, match="the certificate is of a table in 3 files: name the folder that holds them"):
        tclose.spark.verify(cluster.spark, made / "one.parquet", made / "parts.json")
    found = tclose.spark.verify(cluster.spark, made / "text.csv", made / "text.json")
    assert "text.csv is no Parquet file" in found.problems[-1]
