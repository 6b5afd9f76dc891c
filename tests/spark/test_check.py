"""A check on a cluster gives what `tclose.check` gives of the collected frame, field by field, under every setting."""

from __future__ import annotations

import math
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from tclose import Cancelled, InputError, LeakWarning, Policy, TcloseError, check

pytest.importorskip("pyspark", reason="Spark is not installed: pip install 'tclose[spark]'")
import tclose.spark
from tclose.spark import cluster as executors

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore::tclose.LeakWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),  # of py4j
]
ROWS = 90
TABLE = pl.DataFrame(
    {
        "zone": [["-0", "0", "1", "0.0", None, "2"][row % 6] for row in range(ROWS)],
        "^sex$": [["f", "m", None][row * row % 7 % 3] for row in range(ROWS)],
        "a.b`c": [[0.0, -0.0, 1.5, None, math.nan][row % 13 % 5] for row in range(ROWS)],
        "Zone": [date(2024, 1, 1 + row % 2) for row in range(ROWS)],
        "ranked": [[1, 2, 3, 4, 5, 99][row * 7 % 11 % 6] for row in range(ROWS)],
        "measured": [[0.5, 1.25, 7.0, 100.0, -0.0, None][row * 5 % 17 % 6] for row in range(ROWS)],
        "named": [["flu", "cold", "Flu", "?", "", "-0"][row * 3 % 19 % 6] for row in range(ROWS)],
        "who": [["p", "q", "r", "s", "", None][row // 2 % 6] for row in range(ROWS)],
    }
)
VALUE, SUPPRESS = {"missing": "value"}, {"missing": "suppress"}
EQUAL = {"distance": "equal", **VALUE}
EVERY = {"ranked": {"t": 0.25, **VALUE}, "measured": {"t": 0.25, **VALUE}, "named": {"t": 0.5, **EQUAL}}
NAMED = {"named": {"t": 0.5, **EQUAL}}
TREE = {"rows": [[name, "ill" if name < "d" else "well", "*"] for name in ("-0", "Flu", "cold", "flu")]}
ASKED: dict[str, dict[str, Any]] = {
    "plain": {},
    "rows withheld": {
        "sensitive": {"measured": {"t": 0.2, **SUPPRESS}, "named": {"t": 0.5, "l": 2, **EQUAL, **SUPPRESS}}
    },
    "models": {
        "sensitive": {
            "ranked": {"t": 0.25, "alpha": 0.6, "beta": 1, "enhanced_beta": 2, "delta": 0.5, "kl": 0.2, **VALUE},
            "named": {"l": 2, "entropy_l": 1.5, "recursive": {"c": 2, "l": 2}, **EQUAL},
        }
    },
    "persons": {"person": "who", "sensitive": {"ranked": {"t": 0.3, "l": 2, **VALUE}, "named": {"l": 2, **EQUAL}}},
    "(n,t)": {"sensitive": {"ranked": {"t": 0.25, "n": 20, **VALUE}}},
    "average_t": {"sensitive": {"ranked": {"t": 0.5, "average_t": 0.1, **VALUE}}},
    "groups": {"sensitive": {"ranked": {"t": 0.3, "t_by": {"column": "Zone", "t": {"2024-01-01": 0.1}}, **VALUE}}},
    "joint": {"joint": [{"attributes": ["ranked", "measured"], "t": 0.3, "distance": "product"}], "sensitive": EVERY},
    "bins": {"sensitive": {"ranked": {"t": 0.2, "bins": {"quantiles": 3}, **VALUE}, "measured": {"t": 0.3, **VALUE}}},
    "hierarchies": {"sensitive": {"named": {"t": 0.4, "hierarchy": TREE, **VALUE}}},
    "two roles": {
        "both": ["ranked"],
        "quasi": {"ranked": {}, "zone": {}},
        "sensitive": {"ranked": {"t": 0.4, **VALUE}},
    },
}


def policy_of(asked: dict[str, Any]) -> Policy:
    """Return a policy that asks for something, with columns of odd names, two of which differ in case only."""
    more = {"quasi": ["zone", "^sex$"], "keep": ["a.b`c", "Zone"], "sensitive": EVERY, "missing": ["", "?", "99"]}
    return Policy.from_dict({"k": 2, "others": "drop", **more, **asked})


@pytest.fixture(scope="module")
def frame(cluster: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The table as a Spark frame of three files."""
    return in_files(cluster, tmp_path_factory.mktemp("table"), TABLE)


def in_files(cluster: SimpleNamespace, folder: Path, table: pl.DataFrame) -> Any:
    """Return a table as a Spark frame of three files; names that differ in case only are two names."""
    for place, part in enumerate(table.iter_slices(-(-table.height // 3))):
        part.write_parquet(folder / f"part-{place}.parquet")
    session = cluster.spark.newSession()
    session.conf.set("spark.sql.caseSensitive", "true")
    return session.read.parquet(str(folder))


@pytest.mark.one_in(2)  # each takes seconds of waiting for a cluster; laws/test_places.py has more settings
@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_every_setting_is_judged_as_in_memory(frame: Any, asked: dict[str, Any]) -> None:
    policy = policy_of(asked)
    found = tclose.spark.check(frame, policy)
    assert found == check(frame.toArrow(), policy)
    assert found.rows + found.withheld == ROWS


def test_types_are_those_that_spark_hands_over(cluster: SimpleNamespace) -> None:
    session = cluster.spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    frame = session.sql(
        """SELECT CAST(id % 5 AS DECIMAL(20, 3)) / 4 AS paid, timestamp_seconds(id * 1000000) AS seen,
        CAST(timestamp_seconds(id % 7 * 86400) AS TIMESTAMP_NTZ) AS came, id % 2 = 0 AS known,
        CAST(NULL AS VOID) AS empty, CAST(id % 3 AS FLOAT) / 3 AS score, id % 4 AS ward,
        collate(if(id % 8 < 4, 'a', 'A'), 'UTF8_LCASE') AS tribe, MAP(1, 2) AS more FROM range(40)"""
    )
    policy = Policy.from_dict(
        {
            "quasi": ["ward", "tribe", "empty"],
            "keep": ["known"],
            "sensitive": {"paid": {"t": 0.2}, "came": {"t": 0.2}, "seen": {"t": 0.4}, "score": {"t": 0.4}},
            "others": "drop",
        }
    )
    found = tclose.spark.check(frame, policy)
    assert found == check(frame.drop("more").toArrow(), policy)
    assert found.classes == 8  # a and A are two values, though not to Spark's collation


def test_the_same_warnings_are_given(frame: Any) -> None:
    policy = policy_of({"identifiers": ["who", "not there"], "unlinkable": ["measured"], "sensitive": NAMED})
    with pytest.warns(LeakWarning) as found:
        tclose.spark.check(frame, policy)
    with pytest.warns(LeakWarning) as expected:
        check(frame.toArrow(), policy)
    leaks = sorted(str(each.message) for each in found if each.category is LeakWarning)
    assert leaks == sorted(str(each.message) for each in expected if each.category is LeakWarning)
    assert any("identifier 'who' repeats" in str(each.message) for each in found)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("SELECT id % 2 AS q, IF(id IN (3, 7, 8), double('nan'), id) AS s FROM range(0, 10, 1, 4)",
         "column 's' has NaN or infinity in 3 rows, first in row 4: make it missing or a number"),
        ("SELECT array(id) AS q, id AS s FROM range(3)",
         "column 'q' is of type List: make it text, a number or a date"),
        ("SELECT id AS q, id AS s FROM range(3) WHERE id > 5", "the table has no rows"),
        ("SELECT id AS q, id AS s, id AS q FROM range(3)", "a column name stands in the frame twice: rename one"),
        ("SELECT id AS q, id AS t FROM range(3)", "sensitive.s: the table has no column 's'"),
        ("SELECT id AS q, CAST('A-' || id AS INT) AS s FROM range(3)",
         "Spark could not do its part (CAST_INVALID_INPUT): its log says why"),
    ],
)  # fmt: skip
def test_what_cannot_be_judged_is_refused_in_a_sentence(cluster: SimpleNamespace, query: str, sentence: str) -> None:
    policy = Policy(quasi=["q"], sensitive={"s": {"t": 0.5}}, others="drop")
    with pytest.raises(TcloseError) as refused:
        tclose.spark.check(cluster.spark.sql(query), policy)
    assert refused.value.sentence == sentence


def test_presence_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "population.csv").write_text("zone,^sex$\n0,f\n")
    asked = {"presence": {"population": "population.csv", "max": 0.5}, "quasi": ["zone"], "sensitive": {"s": {"t": 1}}}
    policy = Policy.from_dict(asked, folder=tmp_path)
    with pytest.raises(InputError, match="which Spark does not read"):
        tclose.spark.check(None, policy)


def test_cancelling_stops_the_jobs(cluster: SimpleNamespace) -> None:
    endless = cluster.spark.sql("SELECT id AS q, id AS s FROM range(1000000000000)")
    shares: list[float] = []

    def impatient(share: float, phase: str = "") -> None:
        shares.append(share)
        if len(shares) > 8:
            raise Cancelled

    with pytest.raises(Cancelled):
        tclose.spark.check(endless, {"quasi": ["q"], "sensitive": {"s": {"t": 0.5}}}, progress=impatient)
    assert cluster.spark.range(3).count() == 3  # the cores are free again


def test_what_is_missing_on_executors_is_said(cluster: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "version", lambda _: "0.0.1")
    policy = Policy(quasi=["q"], sensitive={"s": {"t": 0.5}})
    with pytest.raises(InputError, match="the executors have another version of tclose than the driver"):
        tclose.spark.check(cluster.spark.sql("SELECT id AS q, id AS s FROM range(3)"), policy)


def test_threads_obey_the_cores_of_a_task(cluster: SimpleNamespace) -> None:
    nothing = executors.on_executor(iter)

    def threads(batches: executors.Batches) -> executors.Batches:
        list(nothing(batches))
        import polars
        import pyarrow

        yield pyarrow.record_batch([pyarrow.array([polars.thread_pool_size()], pyarrow.int32())], names=["threads"])

    assert {row.threads for row in cluster.spark.range(2).mapInArrow(threads, "threads int").collect()} == {1}
