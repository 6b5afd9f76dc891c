"""A table in which a sixth of the laboratory values is missing: every command works, and no row is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

ROWS = 240
POLICY = """
k = 3
[quasi.age]
[quasi.zone]
[sensitive.ldl]
t = 0.3
missing = "value"
[sensitive.hdl]
t = 0.3
distance = "value"
missing = "value"
[sensitive.weight]
t = 0.4
bins = { quantiles = 6 }
publish = "bin"
missing = "value"
"""


@pytest.fixture
def patients(folder: Path) -> Path:
    random = np.random.default_rng(4)
    ages, zones = random.integers(18, 90, ROWS), random.choice(["a", "b", "c"], ROWS)
    labs = [np.round(random.normal(mean, 20, ROWS), 1).astype(str) for mean in (120, 60, 75)]
    for lab in labs:
        lab[random.random(ROWS) < 0.17] = ""
    lines = [",".join(map(str, row)) for row in zip(ages, zones, *labs, strict=True)]
    Path("t.csv").write_text("\n".join(["age,zone,ldl,hdl,weight", *lines]) + "\n")
    Path("p.toml").write_text(POLICY)
    return folder


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "method", ["weave", "mondrian", "projections", "fragmentation", "anatomy", "clustering", "pca"]
)
@pytest.mark.usefixtures("patients")
def test_no_row_is_lost(tclose: Callable, method: str) -> None:
    published = tclose(
        *("anonymize", "t.csv", "--policy", "p.toml", "--out", "r.csv", "--certificate", "c.json"),
        *("--method", method, "--json"),
    )
    assert published.status == 0, published.err
    content = json.loads(published.out)
    assert (content["rows"], content["withheld"]) == (ROWS, 0)
    assert tclose("verify", "r.csv", "--certificate", "c.json").status == 0


@pytest.mark.usefixtures("patients")
def test_what_is_missing_stays_missing_and_is_judged(tclose: Callable) -> None:
    assert tclose("anonymize", "t.csv", "--policy", "p.toml", "--out", "r.csv", "--method", "mondrian").status == 0
    before = [line.split(",")[2:] for line in Path("t.csv").read_text().splitlines()[1:]]
    after = [line.rsplit(",", 3) for line in Path("r.csv").read_text().replace(", ", ";").splitlines()[1:]]
    for column in (0, 1):
        assert sorted(row[column] for row in before) == sorted(row[column + 1] for row in after)
    assert sum(row[2] == "" for row in before) == sum(row[3] == "" for row in after)
    shown = tclose("explain", "t.csv", "--policy", "p.toml", "--attribute", "ldl", "--class", "1", "--json")
    assert shown.status == 0, shown.err
    assert "(missing)" in shown.out
    attacked = tclose("attack", "r.csv", "--original", "t.csv", "--policy", "p.toml", "--json")
    assert attacked.status == 0, attacked.err


@pytest.mark.usefixtures("patients")
def test_the_page_shows_the_missing_value_as_a_bar_of_its_own(tclose: Callable) -> None:
    pytest.importorskip("altair")
    made = tclose(
        "anonymize", "t.csv", "--policy", "p.toml", "--out", "r.csv", "--report", "r.html", "--method", "mondrian"
    )
    assert made.status == 0, made.err
    assert "(missing)" in Path("r.html").read_text()
