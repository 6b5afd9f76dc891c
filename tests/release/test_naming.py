"""What a table, a release and its time are called: names without paths, and nothing that a terminal would obey."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose import InputError
from tclose.release.output import check_names, created, file_name, table_name


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4), st.sampled_from(["/", "\\", "/home/ann/", "C:\\data\\"]))
def test_a_name_holds_no_path_and_no_control_character(parts: list[str], separator: str) -> None:
    name = file_name(separator + separator.join(parts))
    assert "/" not in name
    assert name.isprintable()
    name.encode()  # raises nothing, also where a file's name is no valid text
    assert "ann" not in name or "ann" in parts[-1]


def test_an_undecodable_name_can_be_written_down() -> None:
    assert file_name(b"caf\xe9.csv".decode(errors="surrogateescape")) == "caf\\udce9.csv"


@pytest.mark.parametrize("table", ["-", "/dev/stdin", "/dev/fd/63", "/proc/self/fd/0", pl.DataFrame({"a": [1]}), None])
def test_what_is_no_file_has_no_name(table: object) -> None:
    assert table_name(table) is None


def test_a_file_has_its_name() -> None:
    assert table_name(Path("dev/t.csv")) == "t.csv"
    assert table_name("../secret folder/t.csv") == "t.csv"


def test_the_time_obeys_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert created() == "1970-01-01T00:00:00Z"
    for wrong in ("yesterday", "1.5", "9" * 30):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", wrong)
        with pytest.raises(InputError, match="SOURCE_DATE_EPOCH must be a whole number of seconds since 1970"):
            created()
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert created() > "2026-01-01T00:00:00Z"


def test_names_of_several_tables_must_survive_their_certificate() -> None:
    check_names([Path("a:b.csv")])
    check_names([Path("a-1.csv"), Path("a-2.csv")])
    for name in ("a:b", "a\\b", "a\x1b", "caf\udce9"):
        with pytest.raises(InputError, match="several tables are found by their names"):
            check_names([Path(f"{name}-1.csv"), Path(f"{name}-2.csv")])
