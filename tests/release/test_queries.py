"""Counts asked of a release: read from its published tables alone, against the original."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose import Policy, anonymize
from tclose.measure.queries import LinkedRows, error_of_counts
from tclose.policy.variants import group_policy, projection_policy
from tclose.table import encode_quietly

CHANCE = np.random.default_rng(3)
ROWS = 400
TABLE = pl.DataFrame(
    {
        "age": (age := CHANCE.integers(18, 60, ROWS)),
        "zone": CHANCE.choice(["north", "south", 'we"st, far', None], ROWS),
        "leaf": CHANCE.choice(list("abcd"), ROWS),
        "day": pl.Series(CHANCE.integers(0, 90, ROWS)).cast(pl.Date),
        "pay": np.where(age > 40, 10, 0) + CHANCE.integers(0, 10, ROWS),
        "ill": CHANCE.choice(["flu", "cold", "none"], ROWS),
    }
)
TREE = {"rows": [["a", "x", "*"], ["b", "x", "*"], ["c", "*"], ["d", "*"]]}
QUASI = {"age": {}, "zone": {}, "leaf": {"hierarchy": TREE}, "day": {}}


def policy(t: float = 1, k: int = 1, **more: Any) -> Policy:
    return Policy(quasi=QUASI, sensitive={"pay": {"t": t, **more}, "ill": {"t": t}}, k=k, suppress=0.9)


def error(
    table: pl.DataFrame, asked: Policy, tables: Sequence[pl.DataFrame], reader: Policy, seed: int = 0, group: str = ""
) -> float:
    """Ask the same queries of a table and of published tables; a group links the first of these to the second."""
    original = encode_quietly(table, asked, ignore_others=True)
    if group:
        coded = [encode_quietly(tables[1], group_policy(reader, group), ignore_others=True)]
        answer = error_of_counts(table, original, coded, seed, linked=LinkedRows(tables[0], group))
    else:
        policies = (
            projection_policy(reader, [c for c in frame.columns if c in reader.sensitive], first=False)
            for frame in tables
        )
        coded = [encode_quietly(frame, one, ignore_others=True) for frame, one in zip(tables, policies, strict=True)]
        answer = error_of_counts(table, original, coded, seed)
    assert answer is not None
    return answer.median


def median(asked: Policy, table: pl.DataFrame = TABLE, seed: int = 0) -> float:
    release = anonymize(table, asked, method="fragmentation")
    return error(table, asked, release.tables, release.certificate.policy, seed)


def test_what_is_published_as_it_is_answers_exactly() -> None:
    assert median(policy()) == pytest.approx(0, abs=1e-12)
    assert median(policy(bins={"width": 3})) == pytest.approx(0, abs=1e-12)
    assert median(policy(bins={"width": 3}, publish="bin")) == pytest.approx(0, abs=1e-12)


def test_an_error_is_what_a_class_mixes() -> None:
    """One pay per 20 years, every age once: ranges within 20 years answer exactly, wider ones do not."""
    age = np.arange(ROWS)
    table = pl.DataFrame({"age": age, "pay": age // 20})
    asked = Policy(quasi=["age"], sensitive={"pay": {"t": 1}})
    reader = anonymize(table, asked, method="fragmentation").certificate.policy

    def of_width(width: int, seed: int = 0) -> float:
        low = age // width * width
        ranges = [f"[{a}, {b}]" for a, b in zip(low.tolist(), (low + width - 1).tolist(), strict=True)]
        return error(table, asked, [table.with_columns(age=pl.Series(ranges))], reader, seed)

    assert [of_width(10), of_width(20)] == pytest.approx([0, 0], abs=1e-12)
    assert of_width(400) > 0.01
    assert of_width(400, seed=1) != of_width(400)


def test_rows_withheld_are_missed() -> None:
    """Exact as the rest may be, a count of all rows that leaves out two of three is wrong by two thirds."""
    lacking = TABLE.with_columns(pl.when(pl.int_range(ROWS) % 3 == 0).then("pay").alias("pay"))
    assert median(policy(missing="suppress"), lacking) == pytest.approx(0, abs=1e-12)  # no query finds a missing value
    alone = Policy(quasi=QUASI, sensitive={"ill": {"t": 1, "missing": "suppress"}}, suppress=0.9, others="drop")
    ill = TABLE.with_columns(pl.when(pl.int_range(ROWS) % 3 == 0).then("ill").alias("ill"))
    assert median(alone, ill) == pytest.approx(0, abs=1e-12)


def test_a_release_that_knows_fewer_values_and_spells_them_otherwise() -> None:
    """The only row with 3 is withheld; 1.0 and 1 are one number, which the release spells as the shorter."""
    table = pl.DataFrame(
        {
            "q": ["a", "a", "b", "b", "c", "c"],
            "kept": ["x", "x", "x", "x", "x", "y"],
            "pay": ["1.0", "2", "1.0", "2", "1", "3"],
        }
    )
    asked = Policy(quasi=["q"], keep=["kept"], sensitive={"pay": {"t": 1}}, k=2, suppress=0.5)
    release = anonymize(table, asked, method="fragmentation")
    assert release.certificate.withheld == 1
    assert sorted(release.table["pay"].to_list()) == ["1", "1", "1", "2", "2"]
    assert error(table, asked, release.tables, release.certificate.policy) >= 0


# Several tables


def test_tables_that_share_out_the_sensitive_attributes() -> None:
    asked = policy()
    release = anonymize(TABLE, asked, method="fragmentation")
    tables = [release.table.drop(name) for name in ("pay", "ill")]
    assert error(TABLE, asked, tables, release.certificate.policy) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("rows_of_a_group", [1, ROWS])
def test_exact_quasi_identifiers_joined_by_a_group(rows_of_a_group: int) -> None:
    """A group for each row tells everything; one group of all rows, what independence of the columns would."""
    asked = policy()
    reader = anonymize(TABLE, asked, method="fragmentation").certificate.policy
    numbered = TABLE.with_columns(group=pl.int_range(ROWS, 0, -1) // rows_of_a_group + 5)
    numbered = numbered.with_columns(pl.col("group").clip(5, 5)) if rows_of_a_group == ROWS else numbered
    tables = [numbered.drop("pay", "ill"), numbered.select("group", "pay", "ill").sample(ROWS, shuffle=True, seed=1)]
    wrong = error(TABLE, asked, tables, reader, group="group")
    if rows_of_a_group == 1:
        assert wrong == pytest.approx(0, abs=1e-12)
    else:
        assert 0.02 < wrong < median(policy(0))
