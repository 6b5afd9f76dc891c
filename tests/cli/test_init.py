"""tclose init in a process of its own: after the t's are filled in, nothing that identifies a row is published."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

Run = Callable[..., Any]


def patients() -> pl.DataFrame:
    """Two rows for each of 150 patients, as R's table colon has them."""
    chance = random.Random(5)
    rows = range(300)
    return pl.DataFrame(
        {
            "patient": [1 + row // 2 for row in rows],
            "age": [30 + row // 2 % 50 for row in rows],
            "sex": [("f", "m")[row // 2 % 2] for row in rows],
            "time": [chance.randrange(3000) for _ in rows],
            "ldl": [None if row % 6 == 0 else chance.randrange(60, 200) for row in rows],  # 17 % are missing
        }
    )


def test_a_release_from_a_draft(tclose: Run) -> None:
    patients().write_csv("t.csv")
    assert tclose("init", "t.csv", "--out", "p.toml").status == 0
    draft = Path("p.toml").read_text(encoding="utf-8")
    Path("p.toml").write_text(re.sub(r"^# t = 0\.\?", "t = 0.5 #", draft, flags=re.MULTILINE), encoding="utf-8")
    done = tclose("anonymize", "t.csv", "--policy", "p.toml", "--out", "r.csv", "--effort", "fast")
    assert done.status == 0, done.err

    release = pl.read_csv("r.csv", infer_schema=False)
    assert release.columns == ["age", "sex", "time", "ldl"]
    assert len(release) == 300
    assert release["ldl"].is_null().sum() == 50
    assert release["time"].str.contains(r"^[\[(]\d+, \d+\]$").all()
    assert release["time"].n_unique() <= 20


def test_what_the_terminal_and_json_say(tclose: Run) -> None:
    patients().write_csv("t.csv")
    answer = json.loads(tclose("init", "t.csv", "--json").out)
    assert answer["person"] == "patient"
    columns = {column["column"]: column for column in answer["columns"]}
    assert columns["patient"]["role"] == "identifier"
    assert columns["time"]["settings"] == {"bins": {"quantiles": 20}, "publish": "bin"}
    assert columns["ldl"]["settings"]["missing"] == "value"
    assert "have a number of their own" in columns["time"]["remarks"][0]
    assert tclose("init", "t.csv").out == answer["policy"]


def test_the_draft_says_how_to_choose_t(tclose: Run) -> None:
    patients().write_csv("t.csv")
    out = tclose("init", "t.csv").out
    assert "# How to choose t: it is the largest distance, from 0 to 1" in out
    assert "#   tclose compare TABLE --policy POLICY --out costs.html" in out
    assert max(map(len, out.splitlines())) <= 160


def test_a_table_without_rows(tclose: Run) -> None:
    Path("t.csv").write_text("name,age\n")
    tclose("init", "t.csv").refuses("the table has a header but no rows")
