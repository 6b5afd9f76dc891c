"""A release that is made on a cluster is judged there, written whole or not at all, and verified anywhere."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from tclose import Infeasible, InputError, InternalError, Policy, PolicyError, check, read, steps, verify
from tclose.examples import hospital

pytest.importorskip("pyspark", reason="Spark is not installed: pip install 'tclose[spark]'")
import tclose.spark
from tclose.privacy.reader import reader_policy
from tclose.spark.cluster import table_at
from tclose.table import encode_quietly

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore::tclose.LeakWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),  # of py4j
]
ROWS = 3000
TABLE = hospital(ROWS, seed=3).with_columns(
    pl.when(pl.int_range(ROWS) % 50 == 0).then(None).otherwise(pl.col("hdl")).alias("hdl"),
    (pl.int_range(ROWS) // 2).alias("^pid$"),
    pl.date(2024, 1, 1).alias("d.ay"),
)
PLAIN = {"quasi": ["age", "sex", "zip"], "sensitive": {"ldl": {"t": 0.3}, "diagnosis": {"t": 0.6, "l": 2}}}
ASKED: dict[str, dict[str, Any]] = {
    "kept": {
        "quasi": {"age": {"step": 5}, "zip": {}},
        "keep": ["sex", "d.ay"],
        "sensitive": {"hdl": {"t": 0.3, "missing": "suppress", "bins": {"width": 10}, "publish": "bin"}},
        "unlinkable": ["glucose"],
        "suppress": 0.1,
    },
    "average": {"quasi": ["age", "sex"], "sensitive": {"ldl": {"t": 0.5, "average_t": 0.3}}},
    "persons": {"person": "^pid$", "identifiers": ["^pid$"], "quasi": ["age", "sex"], "sensitive": {"ldl": {"t": 0.4}}},
}


def policy_of(asked: dict[str, Any]) -> Policy:
    return Policy.from_dict({"k": 3, "others": "drop", **asked})


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table as a folder of three files."""
    folder = tmp_path_factory.mktemp("table")
    for place, part in enumerate(TABLE.iter_slices(-(-ROWS // 3))):
        part.write_parquet(folder / f"part-{place}.parquet")
    return folder


@pytest.mark.one_in(3)  # laws/test_places.py has the settings of the others
@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_a_release_is_verified_on_a_cluster_and_in_memory(
    cluster: SimpleNamespace, files: Path, tmp_path: Path, asked: dict[str, Any]
) -> None:
    policy, proof = policy_of(asked), tmp_path / "c.json"
    frame = cluster.spark.read.parquet(str(files))
    with tclose.spark.anonymize(frame, policy, effort="fast", part_rows=1000, seed=1) as release:
        certificate = release.write(tmp_path / "release", certificate=proof, record=tmp_path / "r.json")
        published = pl.DataFrame(pl.from_arrow(release.table.toArrow()))
    assert len(certificate.files) > 1
    assert certificate.origin.files == tuple(sorted(part.name for part in (tmp_path / "release").iterdir()))
    in_memory = verify(tmp_path / "release", proof, digest=certificate.digest)
    assert in_memory.problems == ()
    assert tclose.spark.verify(cluster.spark, tmp_path / "release", proof) == in_memory
    written = read(tmp_path / "release")
    assert published.sort(published.columns).equals(written.sort(written.columns))
    assert json.loads((tmp_path / "r.json").read_text())["seed"] == 1
    if policy.person is None:
        judged = check(written, reader_policy(policy, encode_quietly(TABLE, policy).sensitive))
        assert (judged.rows, judged.classes, judged.models) == (
            release.result.rows, release.result.classes, release.result.models
        )  # fmt: skip


@pytest.fixture(scope="module")
def release(cluster: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A release of the table, which comes as a frame of one partition, and what the engine disk makes of its file."""
    folder = tmp_path_factory.mktemp("one")
    TABLE.write_parquet(folder / "t.parquet")
    policy, asked = policy_of(PLAIN), {"part_rows": 1000, "seed": 1}
    steps.anonymize(
        folder / "t.parquet", policy, out=folder / "release", certificate=folder / "c.json", engine="disk",
        options={"effort": "fast"}, **asked,
    )  # fmt: skip
    frame = cluster.spark.read.parquet(str(folder / "t.parquet"))
    with tclose.spark.anonymize(frame, policy, effort="fast", **asked) as made:
        yield SimpleNamespace(made=made, on_disk=folder)


def test_a_frame_of_one_partition_is_split_as_from_disk(release: SimpleNamespace, tmp_path: Path) -> None:
    release.made.write(tmp_path / "release", certificate=tmp_path / "c.json")
    written, on_disk = (read(folder / "release") for folder in (tmp_path, release.on_disk))
    assert written.sort(written.columns).equals(on_disk.sort(written.columns))
    mine, others = (json.loads((folder / "c.json").read_text()) for folder in (tmp_path, release.on_disk))
    assert {name for name in others if mine[name] != others[name]} <= {"digest", "files", "sensitive", "table"}
    for name, claim in others["sensitive"].items():  # classes have other numbers, since files have other orders
        assert {**claim, "worst_class": 0} == {**mine["sensitive"][name], "worst_class": 0}


def test_columns_may_differ_in_case_only(cluster: SimpleNamespace, tmp_path: Path) -> None:
    TABLE[:9].select("age", AGE="sex").write_parquet(tmp_path / "t.parquet")
    try:
        table = table_at(cluster.spark, str(tmp_path / "t.parquet"))
        assert table.columns == ["age", "AGE"]
        assert pl.DataFrame(pl.from_arrow(table.toArrow()))["AGE"].to_list() == TABLE[:9]["sex"].to_list()
    finally:
        cluster.spark.conf.unset("spark.sql.caseSensitive")


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (TABLE[:9].drop("sex"), "b.parquet and a b.parquet do not have the same columns in the same order"),
        (TABLE[:9].with_columns(more=pl.lit(1)), "do not have the same columns in the same order"),
        (TABLE[:9].select(reversed(TABLE.columns)), "do not have the same columns in the same order"),
        (TABLE[:9].cast({"age": pl.Float64}), "are not one table: column 'age' is of type double in one and of type "),
    ],
    ids=["lacks", "more", "order", "type"],
)
def test_files_of_different_columns_are_not_one_table(
    cluster: SimpleNamespace, tmp_path: Path, second: pl.DataFrame, said: str
) -> None:
    TABLE[9:].write_parquet(tmp_path / "a b.parquet")
    second.write_parquet(tmp_path / "b.parquet")
    with pytest.raises(InputError, match=said):
        table_at(cluster.spark, str(tmp_path))


def test_what_cannot_be_published_is_refused_in_a_sentence(
    cluster: SimpleNamespace, files: Path, tmp_path: Path
) -> None:
    frame = cluster.spark.read.parquet(str(files))
    with pytest.raises(InputError, match="both looks at all classes at once: publish the table with"):
        tclose.spark.anonymize(None, policy_of({**PLAIN, "both": ["age"], "sensitive": {"age": {"t": 0.5}}}))
    with pytest.raises(PolicyError, match="effort"):
        tclose.spark.anonymize(None, policy_of(PLAIN), effort="none")
    with pytest.raises(Infeasible):
        tclose.spark.anonymize(frame, policy_of({**PLAIN, "sensitive": {"diagnosis": {"l": 500}}}))


def test_a_table_that_is_no_parquet_is_refused_in_a_sentence(cluster: SimpleNamespace, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,pay\n1,2\n" * 20)
    with pytest.raises(InputError, match=r"Spark cannot read .*t\.csv as Parquet"):
        table_at(cluster.spark, str(tmp_path / "t.csv"))
    with pytest.raises(InputError, match="there is no file"):
        table_at(cluster.spark, str(tmp_path / "absent"))


def test_a_frame_that_changes_is_refused(cluster: SimpleNamespace) -> None:
    def drawn(batches: Any) -> Any:
        import secrets

        import pyarrow

        for batch in batches:
            cells = pyarrow.array([secrets.randbelow(50) for _ in range(batch.num_rows)], pyarrow.int64())
            yield pyarrow.record_batch([batch.column("age"), cells], names=["age", "ldl"])

    changing = cluster.spark.sql("SELECT id AS age FROM range(100)").mapInArrow(drawn, "age long, ldl long")
    with pytest.raises(InputError, match="the frame gave other rows when Spark computed it again"):
        tclose.spark.anonymize(changing, Policy(quasi=["age"], sensitive={"ldl": {"t": 0.9}}))


def test_executors_without_memory_leave_nothing(cluster: SimpleNamespace, tmp_path: Path) -> None:
    def killed(batches: Any) -> Any:
        import os
        import signal

        for batch in batches:
            os.kill(os.getpid(), signal.SIGKILL)
            yield batch

    frame = cluster.spark.sql("SELECT id AS age, id AS ldl FROM range(100)")
    policy = Policy(quasi=["age"], sensitive={"ldl": {"t": 0.5}})
    with pytest.raises(InputError, match=r"Spark could not do its part \(.*\): its log says why"):
        tclose.spark.anonymize(frame.mapInArrow(killed, "age long, ldl long"), policy)
    assert cluster.spark.range(3).count() == 3


def test_a_worker_that_is_killed_is_replaced_by_others(cluster: SimpleNamespace, files: Path, tmp_path: Path) -> None:
    killed = []

    def kill(share: float, phase: str = "") -> None:
        if phase.startswith("bringing") and not killed:  # what it has split is lost
            killed.append(phase)
            cluster.machines.kill_worker()

    frame = cluster.spark.read.parquet(str(files))
    with tclose.spark.anonymize(frame, policy_of(PLAIN), effort="fast", part_rows=1000, seed=1, progress=kill) as found:
        found.write(tmp_path / "release", certificate=tmp_path / "c.json")
    cluster.machines.add_workers(1)
    assert killed
    assert verify(tmp_path / "release", tmp_path / "c.json").holds


def test_a_full_disk_leaves_nothing(release: SimpleNamespace, tmp_path: Path) -> None:
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(InputError, match="the release cannot be written: File too large"):
            release.made.write(tmp_path / "release", certificate=tmp_path / "c.json")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_not_what_was_judged_is_not_released(
    release: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tclose.spark.rows, "files_of", lambda _: b"PAR1")
    with pytest.raises(InternalError, match="a file is not what was judged, so nothing was released"):
        release.made.write(tmp_path / "release", certificate=tmp_path / "c.json")
    assert list(tmp_path.iterdir()) == []


def test_where_a_release_cannot_be_written(release: SimpleNamespace, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is on no file system of this machine"):
        release.made.write("hdfs://host/release")
    with pytest.raises(InputError, match="exists already: a release in parts needs a new folder"):
        release.made.write(tmp_path)


COMMAND = """
import os, signal, sys
from tclose.cli import main
from tclose.spark.rows import SparkRows
usual, when = SparkRows.deal, sys.argv.pop(1)

def deal(*given):
    if when == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    return usual(*given)

SparkRows.deal = deal
main()
"""


OWN_SESSION = [pytest.param(when, False, marks=pytest.mark.soak) for when in ("alive", "killed", "without memory")]
STATUS = {"alive": 0, "killed": -signal.SIGKILL, "without memory": 2}


@pytest.mark.parametrize(("when", "remote"), [("alive", True), ("killed", True), *OWN_SESSION])
def test_the_command_publishes_everything_or_nothing(
    cluster: SimpleNamespace, files: Path, tmp_path: Path, when: str, remote: bool
) -> None:
    master = cluster.remote if remote else cluster.machines.address
    (tmp_path / "p.toml").write_text('k = 3\nothers = "drop"\nquasi = ["age", "sex"]\n[sensitive.ldl]\nt = 0.3\n')
    limit = {"spark.executor.pyspark.memory": "200m"} if when == "without memory" else {}  # too little to load tclose
    settings = "\n".join(f"{name} {value}" for name, value in {**cluster.settings, **limit}.items())
    (tmp_path / "spark-defaults.conf").write_text(settings)
    asked = (
        "anonymize",
        files,
        "--policy",
        "p.toml",
        "--out",
        "release",
        "--certificate",
        "c.json",
        "--effort",
        "fast",
    )
    on_spark = ("--engine", "spark", "--master", master, "--part-rows", "1000")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", COMMAND, when, *asked, *on_spark],
        cwd=tmp_path, env={**os.environ, "SPARK_CONF_DIR": str(tmp_path)}, capture_output=True, text=True, timeout=1800,
    )  # fmt: skip
    assert done.returncode == STATUS[when], done.stderr
    if when == "alive":
        assert verify(tmp_path / "release", tmp_path / "c.json").holds
    else:
        assert {file.name for file in tmp_path.iterdir()} <= {"p.toml", "spark-defaults.conf", "spark-warehouse"}
