"""The guard against formulas: it touches text alone, can be undone exactly, and verify judges what was meant."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose import Policy, Release, anonymize, verify
from tclose.recode.guard import cells_unguarded, guarded, unguarded
from tclose.release.certificate import Certificate

TEXT = st.text() | st.text(alphabet="'=+-@\t\r1.e", max_size=6)
pytestmark = pytest.mark.filterwarnings("ignore::tclose.LeakWarning")


@given(st.lists(st.none() | TEXT, min_size=1))
def test_the_guard_is_undone_exactly(cells: list[str | None]) -> None:
    frame = pl.DataFrame({"^x$": pl.Series(cells, dtype=pl.String)})
    written = guarded(frame)
    assert unguarded(written).equals(frame)
    assert cells_unguarded(written) == 0


@given(st.lists(TEXT, min_size=1))
def test_no_guarded_text_is_run(cells: list[str]) -> None:
    for cell in guarded(pl.DataFrame({"x": cells}))["x"].to_list():
        assert cell[:1] not in tuple("=@\t\r")
        if cell[:1] in ("+", "-"):
            float(cell)


@given(st.lists(st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_numbers_stay(numbers: list[float]) -> None:
    texts = pl.DataFrame({"x": [str(number) for number in numbers]})
    assert guarded(texts).equals(texts)
    typed = pl.DataFrame({"x": pl.Series(numbers, dtype=pl.Float64, strict=False)})
    assert guarded(typed).equals(typed)


def release() -> Release:
    odd = ["=1+1", "'=1+1", "-", "@x", "fine", "+49 30", "\tx", "''-2"]
    frame = pl.DataFrame(
        {"place": ["=a", "b", "-5", "-5"] * 8, "change": [-3, 4, -3, 4] * 8, "note": odd * 4},
    )
    policy = Policy(
        quasi=["place"],
        sensitive={"note": {"t": "0.9", "distance": "equal", "domain": odd}, "change": {"t": 1}},
        missing=[""],
        k=2,
    )
    return anonymize(frame, policy, method="mondrian", seed=1)


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_a_guarded_release_is_verified(tmp_path: Path, ending: str) -> None:
    out, proof = tmp_path / f"r.{ending}", tmp_path / "r.json"
    made = release()
    certificate = made.write(out, certificate=proof, guard_formulas=True)
    plain = made.write(tmp_path / f"plain.{ending}")
    assert certificate.content["guard_formulas"] is True
    assert "guard_formulas" not in plain.content
    assert certificate.content["sensitive"] == plain.content["sensitive"]
    assert certificate.content["sha256"] != plain.content["sha256"]
    found = verify(out, proof)
    assert found.problems == ()
    if ending == "csv":
        written = pl.read_csv(out, infer_schema=False)
        assert not written["note"].str.contains(r"^[=+\-@\t]").any()
        assert written["change"].to_list() == [str(number) for number in made.frame["change"].to_list()]


def test_verify_finds_a_cell_that_is_not_guarded(tmp_path: Path) -> None:
    out, proof = tmp_path / "r.csv", tmp_path / "r.json"
    release().write(out, certificate=proof, guard_formulas=True)
    out.write_bytes(out.read_bytes().replace(b"'@x", b"@x", 1))
    found = verify(out, proof)
    assert any("1 cell not as the guard" in problem for problem in found.problems)


def test_verify_judges_values_without_the_guard(tmp_path: Path) -> None:
    """The policy declares the values as they are: with their apostrophes they would not be in its domain."""
    out, proof = tmp_path / "r.csv", tmp_path / "r.json"
    release().write(out, certificate=proof, guard_formulas=True)
    content = json.loads(proof.read_text(encoding="utf-8"))
    del content["digest"], content["guard_formulas"]
    Certificate.from_dict(content).save(proof)
    (problem,) = verify(out, proof).problems
    assert "its declared domain misses" in problem
