"""The detail lost (GCP) is measured against what is published: any reader can compute it, and withheld rows hide."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.conftest import TIMES

import tclose
from tclose import Policy
from tclose.steps import anonymize

pytestmark = pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
TABLES = 4 * TIMES
RANGE = re.compile(r"\[(-?\d+), (-?\d+)\]")


def tables() -> Iterator[tuple[int, pl.DataFrame, dict[str, Any]]]:
    """Yield tables whose rows without a value have the most extreme ages."""
    for seed in range(TABLES):
        draw = np.random.default_rng(seed)
        rows = int(draw.integers(20, 60))
        values = draw.integers(0, 3, rows).astype(object)
        values[: int(draw.integers(1, 5))] = None
        age = draw.integers(20, 60, rows)
        age[0] = 500 + seed
        table = pl.DataFrame({"age": age, "sex": draw.choice(["f", "m", "x"], rows), "ill": values.tolist()})
        sensitive = {"t": 0.6, "missing": "suppress", "distance": "equal"}
        yield seed, table, {"quasi": ["age", "sex"], "sensitive": {"ill": sensitive}, "k": 3, "suppress": 0.3}


def by_a_reader(published: pl.DataFrame, withheld: int) -> float:
    """Return the mean NCP of published ranges and sets, each against all that is published."""
    ends = [(int(m[1]), int(m[2])) if (m := RANGE.fullmatch(a)) else (int(a), int(a)) for a in published["age"]]
    span = max(high for _, high in ends) - min(low for low, _ in ends)
    sets = [text.strip("{}").split(", ") for text in published["sex"]]
    domain = len({member for members in sets for member in members})
    lost = [(high - low) / max(span, 1) for low, high in ends]
    lost += [(len(members) - 1) / max(domain - 1, 1) for members in sets]
    return (sum(lost) / 2 + withheld) / (len(ends) + withheld)


def test_a_reader_computes_the_detail_lost() -> None:
    for seed, table, policy in tables():
        release = tclose.anonymize(table, policy, method="mondrian", seed=1)
        withheld = release.certificate.withheld
        assert withheld
        found = by_a_reader(release.frame.cast(pl.String), withheld)
        assert release.certificate.measures["gcp"] == pytest.approx(found, abs=6e-5), seed


def test_a_release_in_parts_is_measured_alike(tmp_path: Path) -> None:
    _, table, policy = next(tables())
    table.write_csv(tmp_path / "t.csv")
    files = {"out": tmp_path / "r.csv", "certificate": tmp_path / "r.json"}
    anonymize(tmp_path / "t.csv", Policy.from_dict(policy), engine="disk", seed=1, **files)
    certificate = json.loads((tmp_path / "r.json").read_text())
    found = by_a_reader(pl.read_csv(tmp_path / "r.csv", infer_schema=False), certificate["withheld"])
    assert certificate["measures"]["gcp"] == pytest.approx(found, abs=6e-5)


def test_nothing_about_withheld_extremes_is_told() -> None:
    """Two tables that differ only in the age of a withheld person give the same release and the same figures."""
    for _, table, policy in tables():
        other = table.with_columns(pl.when(pl.col("age") >= 500).then(99_999).otherwise(pl.col("age")).alias("age"))
        first, second = (tclose.anonymize(each, policy, method="mondrian", seed=1) for each in (table, other))
        assert first.frame.equals(second.frame)
        assert first.certificate.to_dict() == second.certificate.to_dict()
