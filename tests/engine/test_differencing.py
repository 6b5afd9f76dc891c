"""What two releases reveal together: a table that is published anew with more rows, against rows that joined."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tclose import LeakWarning, Policy
from tclose.examples import hospital
from tclose.measure.attack import Finding
from tclose.measure.attack.composition import DIFFERENCE, INTERSECTION
from tclose.measure.attack.scenes import Adversary, twins
from tclose.run.study import Study
from tclose.steps import Applied, anonymize, apply
from tclose.table import encode_quietly

POLICY = Policy.from_dict(
    {
        "quasi": ["age", "zip"],
        "sensitive": {"diagnosis": {"t": 0.5, "l": 2}, "ldl": {"t": 0.5, "l": 2}},
        "k": 4,
        "others": "drop",
    }
)
COMMON: dict[str, Any] = {"method": "mondrian", "seed": 1}


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Applied]:
    """Publish a table, let 50 rows join, and publish the table with these rows anew."""
    folder, table = tmp_path_factory.mktemp("releases"), hospital(450, seed=3)
    table[:400].write_csv(folder / "first.csv")
    table[400:].write_csv(folder / "more.csv")
    table.write_csv(folder / "all.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)
        anonymize(folder / "first.csv", POLICY, out=folder / "r1.csv", record=folder / "rec.json", room=0.1, **COMMON)
        applied = apply(folder / "rec.json", folder / "more.csv", out=folder / "joined.csv", seed=1)
        anonymize(folder / "all.csv", POLICY, out=folder / "anew.csv", **COMMON)
    return folder, applied


def findings(folder: Path, second: str) -> dict[str, Finding]:
    """Attack the first release beside a second one, by the two attacks that look at both."""
    read = [pl.read_csv(folder / name, infer_schema=False) for name in ("all.csv", "r1.csv", second)]
    adversary = Adversary(encode_quietly(read[0], POLICY))
    old, new = (Study(adversary.original, POLICY).beside(frame).in_codes() for frame in read[1:])
    same = twins(old.published, new.published)
    scene = adversary.published(old).with_second(adversary.published(new), same)
    return {attack.name: attack.run(scene) for attack in (INTERSECTION, DIFFERENCE)}


def test_rows_that_joined_reveal_no_more_than_the_certificate_states(releases: tuple[Path, Applied]) -> None:
    folder, applied = releases
    assert applied.joined + applied.formed > 0
    found = findings(folder, "joined.csv")
    difference = found["differencing"]
    assert difference.of == applied.joined + applied.formed
    assert difference.rows == 0
    assert difference.figure is not None
    assert difference.figure >= POLICY.k
    assert all(distance <= 0.5 for distance in difference.details["distance"].values())
    assert (found["intersection"].figure, found["intersection"].rows) == (1.0, 0)


def test_a_table_published_anew_reveals_more(releases: tuple[Path, Applied]) -> None:
    folder, _ = releases
    found = findings(folder, "anew.csv")
    difference = found["differencing"]
    assert difference.figure is not None
    assert difference.figure < POLICY.k
    assert difference.rows > 0
    assert max(difference.details["distance"].values()) > 0.5
    assert found["intersection"].figure is not None
    assert found["intersection"].figure > 1
