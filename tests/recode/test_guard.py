"""The guard against formulas: it touches text alone, can be undone exactly, and verify judges what was meant."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tclose import Policy, Release, anonymize, verify
from tclose.recode.frame import GUARDS, NEWEST
from tclose.release.certificate import Certificate
from tclose.release.formats import CSV, write_table
from tclose.run import disk

TEXT = st.text() | st.text(alphabet="'=+-@\t\r\n1.e;|, \"＝－＠x\ufeff", max_size=8)
STARTS = tuple("=+-@＝＋－＠")
GUARD = GUARDS[NEWEST]
pytestmark = pytest.mark.filterwarnings("ignore::tclose.LeakWarning")


@pytest.mark.parametrize("rule", GUARDS)
@settings(deadline=None)
@given(st.lists(st.none() | TEXT, min_size=1), TEXT)
def test_the_guard_is_undone_exactly(rule: int, cells: list[str | None], name: str) -> None:
    guard = GUARDS[rule]
    for column in ("^x$", name):
        frame = pl.DataFrame({column: pl.Series(cells, dtype=pl.String)})
        written = guard.guarded(frame)
        assert guard.unguarded(written).equals(frame)
        assert guard.unguarded(written).columns == [column]
        assert guard.misses(written) == 0


@settings(deadline=None)
@given(st.lists(TEXT, min_size=1), TEXT)
def test_no_guarded_text_is_run(cells: list[str], name: str) -> None:
    """Neither a cell, nor a name, nor what a spreadsheet would take for a cell of its own."""
    written = GUARD.guarded(pl.DataFrame({name: cells}))
    for cell in (*written.to_series().to_list(), *written.columns):
        assert not cell.startswith(("\t", "\r", "\n"))
        for part in re.split(r"[;|\t\r\n]", cell):
            opens = part.lstrip(' "\ufeff\u200b')
            if opens.startswith(STARTS):
                float(part)


@given(st.lists(st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_numbers_stay(numbers: list[float]) -> None:
    texts = pl.DataFrame({"x": [str(number) for number in numbers]})
    assert GUARD.guarded(texts).equals(texts)
    typed = pl.DataFrame({"x": pl.Series(numbers, dtype=pl.Float64, strict=False)})
    assert GUARD.guarded(typed).equals(typed)


@pytest.mark.parametrize("published", ["[-5, -3]", "[20, 35] or missing", "{-a, +b}", "2020-01-01", "a-b", "x;-5"])
def test_what_is_no_formula_stays(published: str) -> None:
    frame = pl.DataFrame({published: [published]})
    assert GUARD.guarded(frame).equals(frame)


@pytest.mark.parametrize("dtype", [pl.Categorical(), pl.Enum(["=1+1", "b"])])
def test_categories_are_text(dtype: pl.DataType) -> None:
    frame = pl.DataFrame({"x": pl.Series(["=1+1", "b"], dtype=dtype)})
    assert GUARD.guarded(frame)["x"].to_list() == ["'=1+1", "b"]


def release() -> Release:
    odd = ["=1+1", "'=1+1", "x;=2", "@x", "fine", "+49 30", "\tx", '1;"=cmd();2']
    frame = pl.DataFrame(
        {"=place": ["=a", "b", "-5", "-5"] * 8, "change": [-3, 4, -3, 4] * 8, "a;-note": odd * 4},
    )
    policy = Policy(
        quasi=["=place"],
        sensitive={"a;-note": {"t": "0.9", "distance": "equal", "domain": odd}, "change": {"t": 1}},
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
    assert certificate.files[0].sha256 != plain.files[0].sha256
    found = verify(out, proof)
    assert found.problems == ()
    if ending != "arrow":
        assert disk.verify(out, proof) == found
    if ending == "csv":
        written = pl.read_csv(out, infer_schema=False)
        assert written.columns == ["'=place", "change", "a;'-note"]
        assert not written["a;'-note"].str.contains(r"(^|[;\t])[\" ]*[=+\-@\t]").any()
        assert written["change"].to_list() == [str(number) for number in made.frame["change"].to_list()]


def test_verify_finds_a_cell_that_is_not_guarded(tmp_path: Path) -> None:
    out, proof = tmp_path / "r.csv", tmp_path / "r.json"
    release().write(out, certificate=proof, guard_formulas=True)
    out.write_bytes(out.read_bytes().replace(b"'@x", b"@x", 1))
    found = verify(out, proof)
    assert any("1 cell cannot have been written by the guard" in problem for problem in found.problems)
    assert disk.verify(out, proof) == found
    out.write_bytes(out.read_bytes().replace(b"'@x", b"@x"))
    found = verify(out, proof)
    assert any("4 cells cannot have been written by the guard" in problem for problem in found.problems)
    assert disk.verify(out, proof) == found


def test_verify_judges_values_without_the_guard(tmp_path: Path) -> None:
    """The policy declares the values as they are: with their apostrophes they would not be in its domain."""
    out, proof = tmp_path / "r.csv", tmp_path / "r.json"
    release().write(out, certificate=proof, guard_formulas=True)
    content = json.loads(proof.read_text(encoding="utf-8"))
    del content["digest"], content["guard_formulas"]
    Certificate.from_dict(content).save(proof)
    (problem,) = verify(out, proof).problems
    assert "the table has no column '=place'" in problem
    assert disk.verify(out, proof).problems == (problem,)


def test_a_guarded_release_of_version_1_is_verified(tmp_path: Path) -> None:
    """Its certificate names no rule: cells were guarded at their beginning alone, and names not at all."""
    out, proof = tmp_path / "r.csv", tmp_path / "r.json"
    made = release()
    made.write(out, certificate=proof)
    write_csv(GUARDS[1].guarded(made.frame), out)
    content = json.loads(proof.read_text(encoding="utf-8")) | {"guard_formulas": True}
    content["files"][0]["sha256"] = hashlib.sha256(out.read_bytes()).hexdigest()
    del content["digest"]
    first = Certificate.from_dict(content)
    assert first.guard == 1
    proof.write_text(json.dumps(content | {"digest": first.digest}), encoding="utf-8")
    assert verify(out, proof).problems == disk.verify(out, proof).problems == ()


def write_csv(frame: pl.DataFrame, path: Path) -> None:
    with path.open("wb") as file:
        write_table(frame, CSV, file)
