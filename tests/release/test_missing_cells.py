"""Missing sensitive cells of different spellings are judged as one value, so readers see one."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tclose import anonymize, read, verify

POLICY = {
    "quasi": {"zone": {}},
    "sensitive": {"ill": {"t": 0.1, "missing": "value"}},
    "missing": ["NA", "?"],
    "k": 2,
}


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("cells", [["NA", "flu", "?", "flu"], [None, "flu", "", "flu"], ["", "flu", "NA", "flu"]])
def test_no_class_shows_another_spelling_than_the_others(tmp_path: Path, ending: str, cells: list[str | None]) -> None:
    frame = pl.DataFrame({"zone": ["a", "a", "b", "b"], "ill": cells})
    release, proof = tmp_path / f"r.{ending}", tmp_path / "c.json"
    anonymize(frame, POLICY).write(release, certificate=proof)
    shown = read(release)
    missing = shown["ill"].to_list()
    assert sorted(cell for cell in missing if cell == "flu") == ["flu", "flu"]
    assert len({cell for cell in missing if cell != "flu"}) == 1
    assert verify(release, proof).holds


def test_a_single_spelling_stays(tmp_path: Path) -> None:
    frame = pl.DataFrame({"zone": ["a", "a", "b", "b"], "ill": ["NA", "flu", "NA", "flu"]})
    assert sorted(anonymize(frame, POLICY).table["ill"]) == ["NA", "NA", "flu", "flu"]
