"""Detail kept, from end to end: nothing is lost by a table that is published as it is, everything by one class."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tclose
from tclose.measure.detail_kept import DETAIL_MEASURES, Prediction
from tclose.run import anonymization
from tclose.run.study import Study
from tclose.steps import anonymize

POLICY = tclose.Policy(quasi=["age", "sex"], sensitive={"pay": {"t": 1}, "ill": {"t": 1}})
TABLE = pl.DataFrame(
    {
        "age": [20, 30, 40, 50, 60, 70],
        "sex": ["f", "m", "f", "m", "f", "m"],
        "pay": [1, 2, 3, 4, 5, 6],
        "ill": ["a", "a", "a", "b", "b", "b"],
    }
)


def kept(release: Any, *, original: pl.DataFrame, policy: tclose.Policy) -> dict[str, float | None]:
    return anonymization.detail(Study(original, policy).beside(release))


def predicted(release: Any, *, original: pl.DataFrame, policy: tclose.Policy, target: str) -> Prediction:
    return anonymization.predicted(Study(original, policy).beside(release), target=target)


def test_every_measure_declares_itself() -> None:
    names = ["marginals", "correlations", "information", "divergence", "disclosed"]
    assert [measure.name for measure in DETAIL_MEASURES] == names
    for measure in DETAIL_MEASURES:
        assert measure.title
        assert measure.better in ("lower", "higher")


def test_a_table_published_as_it_is_keeps_everything() -> None:
    published = TABLE.with_columns(age=pl.col("age").cast(str))
    assert kept(published, original=TABLE, policy=POLICY) == {
        "marginals": 1,
        "correlations": 0,
        "information": 1,
        "divergence": 0,
        "disclosed": round((np.log(6) + np.log(2)) / 2, 4),  # every class is one row
    }


def test_one_class_for_all_tells_nothing_of_anybody() -> None:
    published = TABLE.with_columns(age=pl.lit("[20, 70]"), sex=pl.lit("{f, m}"))
    found = kept(published, original=TABLE, policy=POLICY)
    assert found["marginals"] == 1  # both columns are uniform already
    assert found["information"] == 0
    assert found["disclosed"] == 0
    # each person's combination has 1/6 of the table, and in the release 1/6 (pay) or 1/2 (ill) of 1/12
    assert found["divergence"] == pytest.approx((np.log(12) + np.log(4)) / 2, abs=1e-4)
    # age and pay were one line; a column of one text has no correlation, which is not a correlation of 0
    assert found["correlations"] is None


def test_one_lost_correlation_is_not_hidden_by_the_others() -> None:
    table = TABLE.with_columns(weight=pl.Series([1, 3, 2, 6, 5, 4]))
    policy = tclose.Policy(quasi=["age", "weight"], sensitive={"pay": {"t": 1}}, others="drop")
    published = table.select("pay", age=pl.col("age").cast(str), weight=pl.lit("[1, 6]"))
    assert kept(published, original=table, policy=policy)["correlations"] is None


def test_the_page_says_why_a_figure_is_not_known(tmp_path: Path) -> None:
    TABLE.write_csv(tmp_path / "t.csv")
    policy = tclose.Policy(quasi=["age", "sex"], sensitive={"pay": {"t": 0}}, k=6, others="drop")
    anonymize(tmp_path / "t.csv", policy, method="mondrian", out=tmp_path / "r.csv", report=tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "not known: fewer than two columns of numbers, or a published one no longer varies" in page
    assert "nothing to measure it on" not in page


def test_two_classes_by_hand() -> None:
    age = pl.Series(["[20, 40]"] * 3 + ["[50, 70]"] * 3)
    policy = tclose.Policy(quasi=["age"], sensitive={"ill": {"t": 1}}, others="drop")
    published = TABLE.select(age=age, ill="ill")
    found = kept(published, original=TABLE, policy=policy)
    assert found.pop("disclosed") == pytest.approx(np.log(2), abs=1e-4)  # each class is all of one value
    assert found == {"marginals": 1, "correlations": None, "information": 1, "divergence": 0}  # age tells as much
    uneven = TABLE.with_columns(age=pl.Series([20, 20, 40, 50, 60, 70]))
    assert kept(published, original=uneven, policy=policy)["marginals"] == pytest.approx(11 / 12, abs=1e-4)


def test_means_count_as_the_values_next_to_them() -> None:
    policy = tclose.Policy(quasi={"age": {"publish": "mean"}}, sensitive={"pay": {"t": 1}}, others="drop")
    published = TABLE.select(age=pl.Series(["30"] * 3 + ["60"] * 3), pay="pay")
    found = kept(published, original=TABLE, policy=policy)
    assert found["marginals"] == pytest.approx(1 / 3, abs=1e-4)
    assert found["correlations"] == pytest.approx(1 - np.corrcoef([30] * 3 + [60] * 3, range(6))[0, 1], abs=1e-4)


def test_withheld_rows_may_leave_no_divergence() -> None:
    policy = tclose.Policy(quasi=["age"], sensitive={"ill": {"t": 1}}, others="drop", suppress=0.5)
    published = TABLE[:4].select(age=pl.lit("[20, 50]"), ill="ill")
    assert kept(published, original=TABLE, policy=policy)["divergence"] is None


def random_table(seed: int, rows: int = 60) -> pl.DataFrame:
    chance = np.random.default_rng(seed)
    age = chance.integers(20, 70, rows)
    return pl.DataFrame(
        {
            "age": age,
            "sex": chance.choice(["f", "m", "x"], rows),
            "pay": age // 5 + chance.integers(0, 3, rows),
            "ill": np.where(age + chance.integers(-9, 9, rows) > 45, "old", "young"),
        }
    )


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10_000), k=st.sampled_from([2, 5, 20]))
def test_figures_stay_in_bounds(seed: int, k: int) -> None:
    table = random_table(seed)
    policy = tclose.Policy(quasi=["age", "sex"], sensitive={"pay": {"t": 0.4}, "ill": {"t": 0.4}}, k=k)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tclose.LeakWarning)
        release = tclose.anonymize(table, policy, method="fragmentation", seed=1)
    found = kept(release, original=table, policy=policy)
    for measure in DETAIL_MEASURES:
        figure = found[measure.name]
        assert figure is not None
        assert measure.low <= figure
        assert measure.high is None or figure <= measure.high


def test_a_model_learns_less_from_a_blurred_table() -> None:
    pytest.importorskip("sklearn")
    table = random_table(3, rows=400)
    policy = tclose.Policy(quasi=["age", "sex"], sensitive={"ill": {"t": 1}}, others="drop")
    as_it_is = table.select(pl.col("age").cast(str), "sex", "ill")
    blurred = table.select(age=pl.lit(f"[{table['age'].min()}, {table['age'].max()}]"), sex="sex", ill="ill")
    same = predicted(as_it_is, original=table, policy=policy, target="ill")
    less = predicted(blurred, original=table, policy=policy, target="ill")
    assert same.score == "accuracy"
    assert same.before == same.after > 0.8 > same.guess
    assert less.before == same.before
    assert less.after < 0.65


def test_a_number_is_predicted_by_its_variance() -> None:
    pytest.importorskip("sklearn")
    table = random_table(3, rows=300)
    policy = tclose.Policy(quasi=["age", "sex"], sensitive={"pay": {"t": 1}, "ill": {"t": 1}})
    found = predicted(table.with_columns(pl.col("age").cast(str)), original=table, policy=policy, target="pay")
    assert (found.score, found.guess) == ("R²", 0)
    assert found.before == found.after > 0.5


def test_a_model_needs_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("sklearn.ensemble", "sklearn.model_selection"):
        monkeypatch.setitem(sys.modules, name, None)
    published = TABLE.with_columns(age=pl.col("age").cast(str))
    with pytest.raises(
        tclose.MissingExtra, match=r"a downstream model needs scikit-learn: pip install 'tclose\[learn\]'"
    ):
        predicted(published, original=TABLE, policy=POLICY, target="ill")


def test_only_what_is_published_as_it_is_can_be_predicted() -> None:
    arguments: dict[str, Any] = {"original": TABLE, "policy": POLICY}
    with pytest.raises(tclose.InputError, match="'age' is no sensitive attribute"):
        predicted(TABLE, target="age", **arguments)
