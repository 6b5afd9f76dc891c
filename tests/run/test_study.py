"""What a process keeps of tables: the same answer as without it, whatever has changed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tclose import Policy
from tclose.run.study import ReleaseStudy, Study, state_of, tables_kept

ASKED: dict[str, Any] = {"k": 2, "quasi": {"zip": {}}, "sensitive": {"pay": {"t": 1, "distance": "equal"}}}


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "t.csv").write_text("zip,pay\nx1,1\nx2,-9\ny1,'=3\n")
    with tables_kept():
        yield tmp_path / "t.csv"


def test_a_file_that_takes_the_place_of_another_is_another_one(table: Path, tmp_path: Path) -> None:
    """It has as many bytes, and the time that the first had: a clock ticks a few hundred times a second."""
    before, found = state_of(table), table.stat()
    other = tmp_path / "other.csv"
    other.write_text(table.read_text().replace("y1", "y2"))
    os.utime(other, ns=(found.st_atime_ns, found.st_mtime_ns))
    other.replace(table)
    assert (table.stat().st_size, table.stat().st_mtime_ns) == (found.st_size, found.st_mtime_ns)
    assert state_of(table) != before


def test_cells_that_mean_missing_are_those_of_each_policy(table: Path) -> None:
    """A column of numbers with commas has other cells only where these mean "missing"."""
    table.write_text('zip,pay\nx1,"1,5"\nx2,"2,25"\ny1,unknown\n')
    asked = {**ASKED, "source": {"decimal": ","}}

    def cells(*missing: str) -> list[str]:
        return Study(table, Policy.from_dict({**asked, "missing": list(missing)})).frame["pay"].to_list()

    assert cells("unknown") == ["1.5", "2.25", "unknown"]
    assert cells() == ["1,5", "2,25", "unknown"]
    assert cells("unknown") == ["1.5", "2.25", "unknown"]


def test_a_hierarchy_that_has_changed_is_read_again(table: Path, tmp_path: Path) -> None:
    def labels() -> Any:
        asked = {**ASKED, "quasi": {"zip": {"hierarchy": "zip.csv"}}}
        return Study(table, Policy.from_dict(asked, folder=tmp_path)).coded.quasi["zip"].hierarchy.labels  # type: ignore[union-attr]

    (tmp_path / "zip.csv").write_text("x1;x;*\nx2;x;*\ny1;y;*\n")
    first = labels()
    assert labels() is first
    (tmp_path / "zip.csv").write_text("x1;x;*\nx2;y;*\ny1;yy;*\n")
    assert labels() != first


def test_a_release_is_kept_with_its_apostrophes_and_without(table: Path) -> None:
    policy = Policy.from_dict(ASKED)
    plain, guarded = ReleaseStudy(table, policy), ReleaseStudy(table, policy, guarded=True)
    assert plain.frame["pay"].to_list()[-1] == "'=3"
    assert guarded.frame["pay"].to_list()[-1] == "=3"
