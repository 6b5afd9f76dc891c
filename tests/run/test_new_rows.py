"""New rows beside a release: which of them a class can show, how few are enough for one, and what becomes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose.errors import InputError
from tclose.partition.new_rows import GroupJudge, joined
from tclose.policy import Policy
from tclose.release.continuation import read_release
from tclose.release.record import load_record
from tclose.run import new_rows
from tclose.run.new_rows import JoinableRelease, NewRows, continued
from tclose.steps import Applied, anonymize, apply
from tclose.table import encode
from tclose.types import still

pytestmark = pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
K = 3
POLICY = Policy.from_dict(
    {
        "quasi": {"zip": {"hierarchy": {"prefix": [2]}}, "city": {}},
        "sensitive": {
            "pay": {"t": 1, "bins": {"edges": [0, 5, 10]}},
            "ill": {"t": 1, "distance": "equal", "missing": "value"},
        },
        "k": K,
    }
)
TABLE = pl.DataFrame(
    {
        "zip": ["111", "112", "113", "211", "212", "213"] * 4,
        "city": ["a"] * 12 + ["b"] * 12,
        "pay": ["1", "6"] * 12,
        "ill": ["flu", "cold", ""] * 8,
    }
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a release of the table and its record."""
    made = tmp_path_factory.mktemp("released")
    anonymize(TABLE, POLICY, out=made / "r.csv", record=made / "rec.json", method="mondrian", seed=1)
    return made


@pytest.fixture(scope="module")
def released(folder: Path) -> JoinableRelease:
    record = load_record(folder / "rec.json")
    return JoinableRelease.of(read_release(record, folder / "r.csv"), record)


def rows(*given: tuple[str, str, str, str]) -> pl.DataFrame:
    return pl.DataFrame(list(given), schema=TABLE.schema, orient="row")


def added(folder: Path, out: Path, given: pl.DataFrame, **asked: Any) -> Applied:
    return apply(folder / "rec.json", given, out=out / "r2.csv", new_record=out / "rec2.json", **asked)


@pytest.mark.parametrize(
    ("row", "place"),
    [
        (("111", "a", "1", "flu"), [0]),
        (("1111", "a", "1", "flu"), []),  # its label would be longer than those of the release
        (("11", "a", "1", "flu"), [0]),
        (("111", "a", "10", "flu"), [0]),  # the end of the last bin
        (("111", "a", "11", "flu"), []),
        (("111", "a", "", "flu"), []),
        (("111", "a", "1", ""), [0]),  # a missing value is a value here
    ],
)
def test_which_rows_a_class_could_show(released: JoinableRelease, row: Any, place: list[int]) -> None:
    assert NewRows.of(rows(row), released).places.tolist() == place


def test_as_many_candidates_as_k_are_enough() -> None:
    judge = GroupJudge(encode(TABLE, POLICY), POLICY)
    every = np.arange(K)
    taken = joined(lambda _: np.ones(K, dtype=bool), [0], every, judge, K, still)
    assert [group.tolist() for group in taken.values()] == [every.tolist()]
    assert joined(lambda _: np.ones(K - 1, dtype=bool), [0], every[1:], judge, K, still) == {}


def test_as_many_rows_as_k_join_a_class(folder: Path, tmp_path: Path) -> None:
    """By themselves, these equal rows would form a class of other cells."""
    found = added(folder, tmp_path, pl.concat([TABLE[:1]] * K))
    assert (found.joined, found.formed, found.waiting) == (K, 0, 0)
    record = load_record(tmp_path / "rec2.json")
    batches = record.notes.batches
    assert batches is not None
    assert np.bincount(batches).tolist() == [len(TABLE), K]


def test_a_release_that_rows_have_joined_is_not_replayed(folder: Path, tmp_path: Path) -> None:
    added(folder, tmp_path, TABLE[:K])
    with pytest.raises(InputError, match="new rows have joined"):
        anonymize(TABLE, POLICY, out=tmp_path / "again.csv", replay=tmp_path / "rec2.json")


def test_rows_that_were_added_are_a_batch_of_their_own(released: JoinableRelease) -> None:
    cells = released.frame[:2]
    _, batches = continued(released, new_rows.JoinedRows(cells, np.arange(2), 2, 0, 2))
    assert np.bincount(batches).tolist() == [len(TABLE), 2]


def test_new_classes_are_split_by_the_seed(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds, split = [], new_rows.split

    def seen(rows: Any, policy: Any, method: str, seed: int, *more: Any) -> Any:
        seeds.append(seed)
        return split(rows, policy, method, seed, *more)

    monkeypatch.setattr(new_rows, "split", seen)
    found = added(folder, tmp_path, TABLE.with_columns(city=pl.lit("c")), seed=7)
    assert (found.joined, found.formed) == (0, len(TABLE))
    assert seeds == [7]


def test_options_of_the_first_method_are_not_those_of_weave(tmp_path: Path) -> None:
    files = {"out": tmp_path / "r.csv", "record": tmp_path / "rec.json"}
    anonymize(TABLE, POLICY, **files, method="mondrian", options={"cuts": "relaxed"}, seed=1)
    assert apply(tmp_path / "rec.json", TABLE, out=tmp_path / "r2.csv").joined == len(TABLE)


def test_the_rows_that_wait_are_those_that_could_not_join(folder: Path, tmp_path: Path) -> None:
    """A row with a longer label stands between three that join."""
    given = pl.concat([TABLE[:2], rows(("1111", "a", "6", "flu")), TABLE[:1], TABLE[12:15]])
    found = added(folder, tmp_path, given, waiting=tmp_path / "w.parquet")
    assert (found.joined + found.formed, found.waiting) == (6, 1)
    assert pl.read_parquet(tmp_path / "w.parquet").equals(given[2:3])
