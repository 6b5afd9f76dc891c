"""anonymize(): what is published, in which kind of frame, under which guarantee, and when nothing is."""

from __future__ import annotations

import datetime
import json
import os
import signal
import stat
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from tests.pairs import in_turns

from tclose import (
    InputError,
    InternalError,
    LeakWarning,
    Policy,
    PolicyError,
    Release,
    anonymize,
    check,
    read,
    verify,
)
from tclose.examples import hospital
from tclose.table.sources import parse

FRAME = pl.DataFrame(
    {
        "pay": ["1.10", "2.50", "1.10", "2.50"],
        "name": ["Ann", "Bob", "Cyd", "Dan"],
        "age": ["30", "40", "50", "60"],
        "ward": ["01", "01", "1", "1"],
        "sex": ["f", "m", "m", "f"],
    }
)
POLICY = Policy(identifiers=["name"], keep=["ward"], quasi=["sex", "age"], sensitive={"pay": {"t": 0}}, k=2)


def released(frame: Any, *, seed: int = 1, **policy: Any) -> Release:
    """Anonymise with a seed, whose warning is expected."""
    with pytest.warns(LeakWarning, match="seed"):
        return anonymize(frame, Policy.from_dict(policy), seed=seed)


# What is published


def test_columns_and_cells_and_rows() -> None:
    table = anonymize(FRAME, POLICY).table
    assert table.columns == ["pay", "age", "ward", "sex"]
    assert table.rows() == [
        ("1.10", "[30, 40]", "01", "{f, m}"),
        ("1.10", "[50, 60]", "1", "{f, m}"),
        ("2.50", "[30, 40]", "01", "{f, m}"),
        ("2.50", "[50, 60]", "1", "{f, m}"),
    ]


def test_other_columns_and_persons_are_dropped() -> None:
    frame = FRAME.with_columns(extra=pl.lit("x"), who=pl.Series(["p", "q", "r", "s"]))
    asked = {**POLICY.to_dict(), "person": "who"}
    with pytest.raises(PolicyError, match="gives no role to 'extra'"):
        anonymize(frame, Policy.from_dict(asked))
    table = anonymize(frame, Policy.from_dict({**asked, "others": "drop"})).table
    assert table.columns == ["pay", "age", "ward", "sex"]


def test_an_identifier_that_is_not_there_is_refused() -> None:
    with pytest.raises(PolicyError, match=r"^identifiers: the table has no column 'name'"):
        anonymize(FRAME.drop("name"), POLICY)


def test_ranges_come_from_the_final_members() -> None:
    """t = 1 would allow a class per row; l = 2 merges them, and the ranges follow."""
    frame = pl.DataFrame({"age": [20, 30, 70, 80], "ill": ["a", "a", "b", "b"]})
    release = anonymize(frame, Policy(quasi=["age"], sensitive={"ill": {"t": 1, "l": 2}}), method="fragmentation")
    for shown, rows in release.table.group_by("age"):
        low, high = json.loads(str(shown[0]))
        assert low < high
        assert rows["ill"].n_unique() == 2
        assert rows.height == frame.filter(pl.col("age").is_between(low, high)).height


def test_rows_are_ordered_by_published_values_only() -> None:
    asked = {"quasi": ["zip", "age", "sex"], "sensitive": {"ldl": {"t": 0.3}}, "others": "drop"}
    release = released(hospital(300, seed=5), **asked)
    assert release.table.equals(release.table.sort(release.table.columns))
    assert release.table.height == 300


def test_columns_with_names_that_polars_takes_for_patterns() -> None:
    frame = pl.DataFrame({"^s.*$": ["x", "y"] * 2, "^w$": ["a", "a", "b", "b"], "^.*$": [1, 2, 3, 4]})
    release = anonymize(frame, Policy(keep=["^w$"], quasi=["^.*$"], sensitive={"^s.*$": {"t": 0}}, k=2))
    assert release.table.rows() == [
        ("x", "a", "[1, 2]"),
        ("x", "b", "[3, 4]"),
        ("y", "a", "[1, 2]"),
        ("y", "b", "[3, 4]"),
    ]


# Which kind of frame


def as_kind(kind: str, frame: pl.DataFrame) -> Any:
    if kind == "pandas":
        return pd.DataFrame({name: frame[name].to_list() for name in frame.columns}, index=range(7, 7 + frame.height))
    if kind == "pyarrow":
        table = pa.table({name: frame[name].to_list() for name in frame.columns})
        return table.replace_schema_metadata({"origin": "S3CR3T"})
    return frame.lazy() if kind == "lazy" else frame


@pytest.mark.parametrize(
    ("kind", "made"),
    [("pandas", pd.DataFrame), ("pyarrow", pa.Table), ("polars", pl.DataFrame), ("lazy", pl.DataFrame)],
)
def test_the_same_kind_of_frame_comes_out(kind: str, made: type) -> None:
    table = anonymize(as_kind(kind, FRAME), POLICY).table
    assert isinstance(table, made)
    assert pl.DataFrame(table).cast(pl.String).rows() == anonymize(FRAME, POLICY).table.rows()


def test_a_pandas_frame_has_a_fresh_index_and_nothing_else() -> None:
    frame = as_kind("pandas", FRAME)
    frame.attrs["origin"] = "S3CR3T"
    frame.index.name = "S3CR3T"
    table = anonymize(frame, POLICY).table
    assert (list(table.index), table.index.name, table.attrs) == ([0, 1, 2, 3], None, {})


def test_an_arrow_table_has_no_metadata() -> None:
    table = anonymize(as_kind("pyarrow", FRAME), POLICY).table
    assert table.schema.metadata is None
    assert all(field.metadata is None for field in table.schema)


def test_types_of_cells_stay() -> None:
    frame = pl.DataFrame(
        {
            "age": [1, 2],
            "small": pl.Series([1, 2], dtype=pl.Int8),
            "pay": [Decimal("1.10"), Decimal("2.50")],
            "day": [datetime.date(2024, 1, 1), None],
            "whole": [2**60 + 1, None],
            "ratio": [0.5, None],
            "sure": [True, None],
        }
    )
    policy = Policy(quasi=["age"], unlinkable=frame.columns[1:], k=2)
    with pytest.warns(LeakWarning, match="unlinkable"):
        table = anonymize(frame, policy).table
    assert table.drop("age").schema == frame.drop("age").schema
    with pytest.warns(LeakWarning, match="unlinkable"):
        pandas = anonymize(
            frame.to_pandas().astype({"whole": "Int64"}).assign(whole=pd.array([2**60 + 1, None], "Int64")), policy
        )
    assert sorted(map(str, pandas.table["whole"])) == ["1152921504606846977", "<NA>"]


def categories(kind: str) -> Any:
    """A frame whose dictionaries hold a value that no row has."""
    cells, known = ["b", "a", "b", "a"], ["a", "b", "S3CR3T"]
    if kind == "pandas":
        return pd.DataFrame(
            {"age": [1, 2, 3, 4], "ill": pd.Categorical(cells, known), "ward": pd.Categorical(cells, known)}
        )
    if kind == "pyarrow":
        coded = pa.DictionaryArray.from_arrays(pa.array([1, 0, 1, 0]), pa.array(known))
        return pa.table({"age": [1, 2, 3, 4], "ill": coded, "ward": coded})
    column = pl.Series(cells, dtype=pl.Enum(known) if kind == "enum" else pl.Categorical)
    return pl.DataFrame({"age": [1, 2, 3, 4], "ill": column, "ward": column})


@pytest.mark.parametrize("kind", ["pandas", "pyarrow", "enum", "categorical"])
def test_no_unused_value_of_a_dictionary_comes_out(kind: str, tmp_path: Path) -> None:
    release = anonymize(categories(kind), Policy(quasi=["age"], keep=["ward"], sensitive={"ill": {"t": 0.5}}, k=2))
    if kind == "pandas":
        assert not any(isinstance(dtype, pd.CategoricalDtype) for dtype in release.table.dtypes)
    if kind == "pyarrow":
        assert not any(pa.types.is_dictionary(field.type) for field in release.table.schema)
    for name in ("r.csv", "r.parquet", "r.arrow"):
        release.write(tmp_path / name)
        assert b"S3CR3T" not in (tmp_path / name).read_bytes()


# What is written


def test_the_same_release_in_every_format(tmp_path: Path) -> None:
    release = anonymize(FRAME, POLICY)
    for name in ("r.csv", "r.parquet", "r.arrow", "r.feather", "r.ipc"):
        proof = release.write(tmp_path / name, certificate=tmp_path / f"{name}.json")
        assert read(tmp_path / name).equals(release.table)
        assert verify(tmp_path / name, tmp_path / f"{name}.json", digest=proof.digest).holds
    assert (tmp_path / "r.csv").read_bytes() == (
        b"pay,age,ward,sex\n"
        b'1.10,"[30, 40]",01,"{f, m}"\n1.10,"[50, 60]",1,"{f, m}"\n'
        b'2.50,"[30, 40]",01,"{f, m}"\n2.50,"[50, 60]",1,"{f, m}"\n'
    )
    assert pyarrow.feather.read_table(tmp_path / "r.feather").num_rows == 4
    assert set(pq.read_metadata(tmp_path / "r.parquet").metadata or {}) <= {b"ARROW:schema"}


def test_the_certificate_in_hand_is_that_of_the_csv(tmp_path: Path) -> None:
    release = anonymize(FRAME, POLICY)
    release.certificate.save(tmp_path / "c.json")
    release.write(tmp_path / "r.csv")
    assert verify(tmp_path / "r.csv", tmp_path / "c.json").holds
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.json", "r.csv"]


@pytest.mark.parametrize(
    ("name", "certificate", "says"),
    [
        ("r.txt", None, "a release is written as"),
        ("absent/r.csv", None, "there is no folder"),
        ("r.csv", "absent/c.json", "there is no folder"),
        ("r.csv", "r.csv", "the same name"),
        ("r.csv", "./r.csv", "the same name"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path: Path, name: str, certificate: str | None, says: str) -> None:
    release = anonymize(FRAME, POLICY)
    with pytest.raises(InputError, match=says):
        release.write(tmp_path / name, certificate=certificate and f"{tmp_path}/{certificate}")
    assert list(tmp_path.iterdir()) == []


def test_the_record_replays_the_release(tmp_path: Path) -> None:
    frame, asked = hospital(300, seed=5), {"quasi": ["age", "zip"], "sensitive": {"ldl": {"t": 0.3}}, "others": "drop"}
    anonymize(frame, Policy.from_dict(asked)).write(tmp_path / "r.csv", record=tmp_path / "seed.json")
    assert stat.S_IMODE((tmp_path / "seed.json").stat().st_mode) == 0o600
    notes = json.loads((tmp_path / "seed.json").read_text())
    assert notes.keys() >= {"seed", "method", "version"}
    assert notes["format"] == 2
    released(frame, seed=notes["seed"], **asked).write(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "r.csv").read_bytes()


# Cells that are odd in a frame


def roundtrip(tmp_path: Path, frame: Any, **policy: Any) -> None:
    """Release in every format; each must verify."""
    release = anonymize(frame, Policy.from_dict(policy))
    for name in ("r.csv", "r.parquet", "r.arrow"):
        release.write(tmp_path / name, certificate=tmp_path / "c.json")
        found = verify(tmp_path / name, tmp_path / "c.json")
        assert found.holds, (name, found.problems)


def test_null_and_empty_text_in_a_kept_column(tmp_path: Path) -> None:
    """Two groups in the frame and in Parquet, one to the reader of a CSV: a certificate tells what its file shows."""
    frame = pl.DataFrame({"ward": [None, None, "", ""], "age": [1, 1, 1, 1], "pay": [1, 2, 1, 2]})
    roundtrip(tmp_path, frame, keep=["ward"], quasi=["age"], sensitive={"pay": {"t": 0}}, k=2)


MINUS_ZEROS: dict[str, Any] = {
    "polars": pl.Series([0.0, -0.0, 0.0, -0.0]),
    "polars, narrow": pl.Series([0.0, -0.0, 0.0, -0.0], dtype=pl.Float32),
    "whole numbers": pl.Series(["0", "-0", "0", "-0"]),
    "decimals": pl.Series(["0.0", "-0.0", "0.0", "-0.0"]),
    "exponents": pl.Series(["0e5", "-0e5", "0e5", "-0e5"]),
    "only one of them": pl.Series([-0.0] * 4),
}


@pytest.mark.parametrize(("name", "kind"), in_turns([*MINUS_ZEROS], ["polars", "pandas", "pyarrow"]))
def test_minus_zero_is_zero(tmp_path: Path, name: str, kind: str) -> None:
    """As a kept value it makes one group, as a quasi-identifier one value, as a sensitive value one value."""
    zero = MINUS_ZEROS[name]
    frame = pl.DataFrame({"ward": zero, "zone": zero, "age": [1, 2, 3, 4], "ill": zero, "pay": [1, 2, 1, 2]})
    given = {"polars": frame, "pandas": frame.to_pandas(), "pyarrow": frame.to_arrow()}[kind]
    asked: dict[str, Any] = {"keep": ["ward"], "quasi": ["zone", "age"], "k": 2}
    asked |= {"sensitive": {"pay": {"t": 0}, "ill": {"t": 0}}}
    found = check(given, {**asked, "quasi": ["zone"], "keep": ["ward"]}, ignore_others=True)
    assert (found.classes, found.satisfied) == (1, True)
    released = anonymize(given, Policy.from_dict(asked))
    for column in ("ward", "zone", "ill"):
        (text,) = set(released.frame[column].cast(pl.String))
        assert not text.startswith("-")
    roundtrip(tmp_path, given, **asked)


def test_minus_zero_beside_text_is_text() -> None:
    frame = pl.DataFrame({"code": ["-0", "0", "x"], "pay": [1, 1, 1]})
    assert check(frame, Policy(quasi=["code"], sensitive={"pay": {"t": 1}})).classes == 3


def test_minus_zero_is_missing_where_zero_is() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3], "pay": [-0.0, 1.0, 2.0]})
    policy = Policy(quasi=["age"], sensitive={"pay": {"t": 1, "missing": "suppress"}}, missing=["0"], suppress=1)
    assert check(frame, policy).withheld == 1


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_moments(tmp_path: Path, unit: Any) -> None:
    moments = [datetime.datetime(2024, 1, day, 12) for day in (1, 2, 3, 4)]
    frame = pl.DataFrame({"born": moments, "seen": moments}).cast(pl.Datetime(unit))
    roundtrip(tmp_path, frame, quasi=["born"], sensitive={"seen": {"t": 0.5, "distance": "value"}}, k=2)


def test_moments_with_a_zone_need_more_than_a_csv(tmp_path: Path) -> None:
    moments = [datetime.datetime(2024, 1, day, tzinfo=datetime.UTC) for day in (1, 2)]
    release = anonymize(
        pl.DataFrame({"age": [1, 2], "seen": moments}), Policy(quasi=["age"], sensitive={"seen": {"t": 0}})
    )
    release.write(tmp_path / "r.parquet", certificate=tmp_path / "c.json")
    assert verify(tmp_path / "r.parquet", tmp_path / "c.json").holds
    with pytest.raises(InputError, match="written in this format, the release cannot be judged"):
        release.write(tmp_path / "r.csv")
    assert not (tmp_path / "r.csv").exists()


def test_nulls_that_count_as_a_value(tmp_path: Path) -> None:
    """In a CSV they are empty cells, which mean "missing" to the reader even where the policy only lists NA."""
    rows = [["flu", "lung", "*"], ["cold", "lung", "*"]]
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "ill": ["flu", None, "flu", None]})
    for spec in ({"hierarchy": {"rows": rows}}, {"distance": "equal"}):
        sensitive = {"ill": {"t": 0, "missing": "value", **spec}}
        roundtrip(tmp_path, frame, quasi=["age"], sensitive=sensitive, k=2, missing=["NA"])


MISSING_AND_REAL: list[tuple[dict[str, Any], str]] = [
    ({"distance": "equal"}, "(missing)"),
    ({"distance": "equal", "domain": ["(missing)", "((missing))", "flu"]}, "(missing)"),
    ({"hierarchy": {"rows": [["flu", "ill", "*"], ["(missing)", "ill", "*"]]}}, "(missing)"),
    ({"hierarchy": {"rows": [["flu", "(missing)", "*"], ["cold", "(missing)", "*"]]}}, "cold"),
]


@pytest.mark.parametrize(("spec", "value"), MISSING_AND_REAL)
def test_a_value_may_be_spelled_like_the_label_of_missing_ones(
    tmp_path: Path, spec: dict[str, Any], value: str
) -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, 4, 5, 6], "ill": ["flu", value, None] * 2})
    sensitive = {"ill": {"t": 0, "missing": "value", **spec}}
    roundtrip(tmp_path, frame, quasi=["age"], sensitive=sensitive, k=3)
    released = anonymize(frame, Policy.from_dict({"quasi": ["age"], "sensitive": sensitive, "k": 3}))
    assert sorted(released.frame["ill"].to_list(), key=str) == sorted(frame["ill"].to_list(), key=str)
    assert released.results[0].rows == 6


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_a_bare_cr_is_published_as_it_is(tmp_path: Path, suffix: str) -> None:
    """In a cell at either end of a record, and in a name."""
    cells = ["x\r", "\ry", "x\r", "\ry"]
    frame = pl.DataFrame({"first\r": cells, "age": [1, 2, 3, 4], "pay": [1, 2, 1, 2], "ill\r": cells})
    asked = {"keep": ["first\r"], "quasi": ["age"], "sensitive": {"pay": {"t": 1}, "ill\r": {"t": 1}}}
    release, path = anonymize(frame, Policy.from_dict(asked)), tmp_path / f"r{suffix}"
    release.write(path, certificate=tmp_path / "c.json")
    read = parse(path.read_bytes())
    assert read.columns == frame.columns
    assert sorted(read["first\r"]) == sorted(cells)
    assert sorted(read["ill\r"]) == sorted(cells)
    assert verify(path, tmp_path / "c.json").holds


def test_one_column_is_enough(tmp_path: Path) -> None:
    roundtrip(tmp_path, pl.DataFrame({"ward": ["", "", "x", "x"]}), keep=["ward"], k=2)


def test_names_that_look_like_several(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age;sex;zip": ["1", "2"], "pay": [1, 2]})
    roundtrip(tmp_path, frame, quasi=["age;sex;zip"], sensitive={"pay": {"t": 0}})


# Chance


def test_a_seed_is_warned_about_and_repeats() -> None:
    asked = {"quasi": ["age", "zip"], "sensitive": {"ldl": {"t": 0.3}}, "others": "drop"}
    frame = hospital(300, seed=5)
    first, second, other = (released(frame, seed=seed, **asked) for seed in (3, 3, 4))
    assert first.table.equals(second.table)
    assert first.certificate == second.certificate
    assert not first.table.equals(other.table)


def test_without_a_seed_two_runs_differ() -> None:
    policy = Policy(quasi=["age", "zip"], sensitive={"ldl": {"t": 0.3}}, others="drop")
    frame = hospital(300, seed=5)
    first, second = anonymize(frame, policy), anonymize(frame, policy)  # no warning, or the test would fail
    assert first.prepared.seed != second.prepared.seed
    assert not first.table.equals(second.table)


@pytest.mark.parametrize("seed", [-1, True, 1.5, "7"])
def test_a_seed_that_is_none(seed: Any) -> None:
    with pytest.raises(PolicyError, match="a seed is a whole number of at least 0"):
        anonymize(FRAME, POLICY, seed=seed)


def test_what_is_unlinkable_is_told_once() -> None:
    """And not again when a group is withheld and the rest judged anew."""
    frame = FRAME.with_columns(batch=pl.Series(["a", "b", "c", "d"]), ward=pl.Series(["1", "1", "1", "2"]))
    policy = Policy.from_dict({**POLICY.to_dict(), "unlinkable": ["batch"], "suppress": 1})
    with pytest.warns(LeakWarning) as told:
        release = anonymize(frame, policy)
    assert release.certificate.content["withheld"] == 1
    assert [str(warning.message) for warning in told] == ["'batch' is published as it is and not judged (unlinkable)"]
    assert release.certificate.content["policy"]["unlinkable"] == ["batch"]


# Methods and their options


def test_options_go_to_the_method() -> None:
    frame = pl.DataFrame({"age": range(13), "pay": range(13)})
    policy = Policy(quasi=["age"], sensitive={"pay": {"t": 0.2}})
    printed = anonymize(frame, policy, method="fragmentation", sizing="gcd", bound="published")
    assert printed.certificate.content["classes"] == 1
    assert anonymize(frame, policy, method="fragmentation").certificate.content["classes"] > 1


def test_an_unknown_method() -> None:
    with pytest.raises(PolicyError, match=r"there is no method 'fragmentatoin' \(did you mean 'fragmentation'\?\)"):
        anonymize(FRAME, POLICY, method="fragmentatoin")


def test_progress_goes_from_0_to_1_and_never_back() -> None:
    told: list[float] = []
    frame = hospital(300, seed=5)
    policy = Policy(quasi=["age"], keep=["sex"], sensitive={"ldl": {"t": 0.5}}, others="drop")
    anonymize(frame, policy, progress=lambda share, what: told.append(share))
    assert told == sorted(told)
    assert (told[0], told[-1]) == (0, 1)


# (n,t) beside kept columns


def test_a_group_of_n_rows_may_be_far_from_the_table() -> None:
    frame = pl.DataFrame({"ward": ["a"] * 4 + ["b"] * 4, "age": range(8), "pay": [1, 1, 1, 1, 9, 9, 9, 9]})
    spec = {"t": 0.1, "n": 4}
    release = anonymize(frame, Policy(keep=["ward"], quasi=["age"], sensitive={"pay": spec}))
    assert release.certificate.content["classes"] == 8  # all rows of a ward are alike, so each may be a class
    assert release.certificate.content["satisfied"] is True


# Persons


def test_persons_are_counted_not_rows(tmp_path: Path) -> None:
    frame = pl.DataFrame({"ssn": ["1", "1", "1", "2", "2", "3"], "age": [1, 2, 3, 4, 5, 6], "ill": list("ababab")})
    spec = {"t": 1, "l": 2, "entropy_l": 1.5, "recursive": {"c": 3, "l": 2}}
    asked: dict[str, Any] = {"identifiers": ["ssn"], "quasi": ["age"], "sensitive": {"ill": spec}, "k": 2}
    with pytest.warns(LeakWarning, match="repeats"):
        by_row = anonymize(frame, Policy.from_dict(asked))
    assert by_row.certificate.content["counted"] == "rows"
    release = anonymize(frame, Policy.from_dict({**asked, "person": "ssn"}))
    content = release.certificate.content
    assert content["counted"] == "persons"
    assert {model["model"]: model["reached"] for model in content["models"]}["k"] >= 2
    release.write(tmp_path / "r.csv", certificate=tmp_path / "c.json")
    assert verify(tmp_path / "r.csv", tmp_path / "c.json").holds
    assert set(content["policy"]["sensitive"]["ill"]) == {"t", "l", "distance"}  # what rows alone can show


def test_rows_of_one_person_are_no_class(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"who": list("pqpqrs"), "age": [1, 2, 1, 2, 8, 9]})
    labels = np.array([0, 1, 0, 1, 2, 2])
    monkeypatch.setattr("tclose.partition.method_named", lambda name: lambda problem, **_: labels)
    release = anonymize(frame, Policy(quasi=["age"], person="who", k=2), method="mondrian")
    assert release.table["age"].to_list() == ["[1, 2]"] * 4 + ["[8, 9]"] * 2


def test_classes_that_look_alike_hold_for_persons_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first two classes publish the same step. Each is even, but p, who is in both, counts once in their union."""
    frame = pl.DataFrame(
        {
            "who": ["p", "q", "p", "r", "s", "q"],
            "age": [1, 2, 3, 4, 30, 40],
            "ill": ["a", "b", "a", "b", "a", "b"],
        }
    )
    monkeypatch.setattr("tclose.partition.method_named", lambda name: lambda problem, **_: np.arange(6) // 2)
    policy = Policy.from_dict({"person": "who", "quasi": {"age": {"step": 10}}, "sensitive": {"ill": {"entropy_l": 2}}})
    content = anonymize(frame, policy, method="mondrian").certificate.content
    assert (content["classes"], content["satisfied"]) == (1, True)


# A wrong method is caught

Wrong = Callable[..., Any]


def halves(problem: Any, **_: Any) -> Any:
    """Put the lower half of the pay into one class and the upper into the other."""
    return (problem.sensitive[0].codes >= len(problem.sensitive[0].reference) / 2).astype(np.int64)


WRONG: dict[str, Wrong] = {
    "not close": halves,
    "a row dropped": lambda problem, **_: np.zeros(problem.rows - 1, dtype=np.int64),
    "a row twice": lambda problem, **_: np.zeros(problem.rows + 1, dtype=np.int64),
    "a row in no class": lambda problem, **_: np.arange(problem.rows) - 1,
    "an empty class": lambda problem, **_: np.arange(problem.rows) * 2,
    "no whole numbers": lambda problem, **_: np.zeros(problem.rows),
    "no array": lambda problem, **_: None,
    "a table": lambda problem, **_: np.zeros((problem.rows, 1), dtype=np.int64),
}


def test_persons_are_judged_by_what_no_reader_can_count() -> None:
    """A reader sees that entropy l was asked for by persons, and cannot judge it: we must."""
    frame = pl.DataFrame({"who": [*"ppqqrrss"], "age": [1, 2] * 4, "ill": [*"aabbaabb"]})
    asked = Policy.from_dict({"person": "who", "quasi": ["age"], "sensitive": {"ill": {"entropy_l": 2}}, "k": 2})
    release = anonymize(frame, asked, method="mondrian")
    assert {model.model for model in release.results[0].models} == {"k", "entropy_l"}
    judge = release.layout.tables[0].judge
    alike = release.frame.with_columns(ill=pl.lit("a"))
    with pytest.raises(InternalError, match="not released"):
        judge.confirm(alike)


def test_withheld_rows_count_as_lost() -> None:
    """All rows that are published keep their age; one of four, in a ward of its own, is not."""
    frame = pl.DataFrame({"age": [30, 30, 30, 40], "ward": [*"xxxy"], "pay": [1, 2, 1, 2]})
    asked = Policy.from_dict(
        {"quasi": ["age"], "keep": ["ward"], "sensitive": {"pay": {"t": 1}}, "k": 2, "suppress": 0.25}
    )
    release = anonymize(frame, asked, method="mondrian")
    assert (release.certificate.withheld, release.certificate.measures["gcp"]) == (1, 0.25)


@pytest.fixture(params=WRONG)
def wrong(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tclose.partition.method_named", lambda name: WRONG[request.param])


@pytest.mark.usefixtures("wrong")
def test_a_wrong_method_is_caught() -> None:
    frame = pl.DataFrame({"age": range(12), "pay": range(12)})
    with pytest.raises(InternalError, match=r"not released|nothing was released"):
        anonymize(frame, Policy(quasi=["age"], sensitive={"pay": {"t": 0.2}}), method="mondrian")


def test_a_method_that_splits_too_far_is_mended_by_merging(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tclose.partition.method_named", lambda name: lambda problem, **_: np.arange(problem.rows))
    frame = pl.DataFrame({"age": range(12), "ill": ["a", "b", "c"] * 4})
    policy = Policy(quasi=["age"], sensitive={"ill": {"t": 1, "l": 2, "alpha": 0.5}}, k=3)
    release = anonymize(frame, policy, method="mondrian")
    assert release.certificate.content["classes"] > 1
    assert check(release.table, policy).satisfied


def test_a_file_that_changed_on_its_way_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge reads the finished file: should writing go wrong, there is no release."""
    frame = pl.DataFrame({"age": range(12), "pay": range(12)})
    release = anonymize(frame, Policy(quasi=["age"], sensitive={"pay": {"t": 0.2}}))
    (tmp_path / "r.csv").write_text("old")
    swapped = release.table.with_columns(pl.col("pay").sort())

    def write(frame: pl.DataFrame, kind: str, file: Any) -> None:
        swapped.write_csv(file)

    monkeypatch.setattr("tclose.release.output.write_table", write)
    with pytest.raises(InternalError, match="not released"):
        release.write(tmp_path / "r.csv", certificate=tmp_path / "c.json", record=tmp_path / "seed")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"r.csv": "old"}


def test_interrupted_at_every_step_of_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Either nothing has changed, or it was too late and everything is there."""
    release = anonymize(FRAME, POLICY)
    targets = {"r.csv": "path", "c.json": "certificate", "seed": "record"}
    last = steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1
        if steps == last:
            os.kill(os.getpid(), signal.SIGINT)

    def watched(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **more: Any) -> Any:
            step()
            found = original(*given, **more)
            step()
            return found

        return call

    def write() -> bool:
        try:
            release.write(**{what: tmp_path / name for name, what in targets.items()})
        except KeyboardInterrupt:
            return False
        return True

    for name in ("open", "fsync", "replace", "chmod"):
        monkeypatch.setattr(os, name, watched(getattr(os, name)))
    assert write()
    total, whole = steps, []
    assert total > 20
    for last in range(1, total + 1):  # noqa: B007 - step() looks at it
        for name in targets:
            (tmp_path / name).write_text("old")
        steps = 0
        whole.append(write())
        found = {path.name: path.read_text() for path in tmp_path.iterdir()}
        assert set(found) == set(targets)
        assert {text == "old" for text in found.values()} == {not whole[-1]}
    assert set(whole) == {False, True}


# What no output may hold

SECRETS = ("Ann Example", "123-45-6789", "a most secret disease", "another secret disease")


def secret_frame() -> pl.DataFrame:
    """Ward z has a single patient, whose disease only this row shows, and one row lacks its pay."""
    return pl.DataFrame(
        {
            "name": [SECRETS[0], "Bob", "Cyd", "Dan", "Eve", "Fay"],
            "ssn": [SECRETS[1], "2", "3", "4", "5", "6"],
            "age": ["30", "31", "32", "33", "34", "35"],
            "ward": ["a", "a", "a", "a", "z", "a"],
            "ill": ["flu", "cold", "flu", "cold", SECRETS[2], SECRETS[3]],
            "pay": ["1", "2", "1", "2", "7", ""],
        }
    )


ASKED: dict[str, Any] = {
    "identifiers": ["name", "ssn"],
    "keep": ["ward"],
    "quasi": ["age"],
    "sensitive": {"ill": {"t": 0.1}, "pay": {"t": 0.1, "missing": "suppress"}},
    "k": 2,
    "suppress": 0.5,
}


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_what_is_withheld_appears_nowhere(kind: str, tmp_path: Path) -> None:
    release = anonymize(as_kind(kind, secret_frame()), Policy.from_dict(ASKED))
    assert release.certificate.content["withheld"] == 2
    for ending in ("csv", "parquet", "arrow"):
        release.write(tmp_path / f"r.{ending}", certificate=tmp_path / f"{ending}.json", record=tmp_path / "seed")
    if kind == "pyarrow":
        pyarrow.feather.write_feather(release.table, tmp_path / "own.feather", compression="uncompressed")
    if kind == "polars":
        release.table.write_ipc(tmp_path / "own.arrow")
    for path in tmp_path.iterdir():
        for secret in SECRETS:
            assert secret.encode() not in path.read_bytes(), path.name


def test_the_reference_is_what_is_left() -> None:
    """With ward z gone the domain has two values and the rest is even: judged against the old table it was not."""
    frame = secret_frame()
    release = anonymize(frame, Policy.from_dict(ASKED))
    found = release.certificate.content["sensitive"]
    assert found["ill"]["closeness_exact"] == found["pay"]["closeness_exact"] == "0/1"
    assert Fraction(1, 10) < check(frame.filter(pl.col("pay") != ""), POLICY_OF_THE_REST).sensitive["ill"].closeness


POLICY_OF_THE_REST = Policy(
    identifiers=["name", "ssn"], keep=["ward"], sensitive={"ill": {"t": 0.1}, "pay": {"t": 0.1}}, others="drop"
)


def test_modes_follow_the_mask(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        anonymize(FRAME, POLICY).write(tmp_path / "r.csv", certificate=tmp_path / "c.json")
    finally:
        os.umask(mask)
    for name in ("r.csv", "c.json"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o640
