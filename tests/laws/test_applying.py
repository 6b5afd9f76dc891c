"""New rows join a release: every release and every difference of two holds, whatever the tables are."""

from __future__ import annotations

import json
import stat
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tclose import Infeasible, LeakWarning, Policy, explain, verify
from tclose.steps import Applied, anonymize, apply

ZIPS = ["111", "112", "121", "211", "212", "2222"]
PAYS = [[str(value), f"{value // 2}x", "*"] for value in range(5)]
ROWS = [[place, f"{place[:2]}*", f"{place[0]}**", "*"] for place in ZIPS]
QUASI: list[dict[str, Any]] = [
    {"age": {}, "zip": {"hierarchy": {"prefix": [2, 1]}}, "city": {}},
    {"age": {"step": 5, "top": 50, "bottom": 25}, "zip": {"hierarchy": {"rows": ROWS}}},
    {"age": {"hierarchy": {"width": [5, 10]}}, "born": {"hierarchy": {"date": ["month", "year"]}}},
    {"born": {}, "city": {}},
]
MODELS: list[dict[str, Any]] = [
    {"t": 0.4},
    {"t": 0.3, "l": 2},
    {"l": 2},
    {"t": 0.4, "distance": "ordered"},
    {"t": 0.5, "alpha": 0.7},
    {"t": 0.5, "beta": 3},
    {"t": 0.4, "missing": "value"},
    {"t": 0.4, "bins": {"quantiles": 3}, "publish": "bin"},
    {"t": 0.4, "bins": {"width": 2}},
    {"t": 0.5, "order": [5, 4, 3, 2, 1, 0]},
    {"t": 0.5, "hierarchy": {"rows": PAYS}, "missing": "suppress"},
    {"t": 0.5, "kl": 1},
]
Row = tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """One chain of releases: what is asked for, and the size of the first table and of each batch."""

    model: dict[str, Any]
    quasi: dict[str, Any]
    keep: tuple[str, ...]
    k: int
    ending: str
    seed: int
    sizes: tuple[int, int, int]

    @property
    def policy(self) -> Policy:
        roles = {
            "identifiers": ["name"],
            "quasi": self.quasi,
            "sensitive": {"pay": self.model},
            "keep": list(self.keep),
        }
        return Policy.from_dict({**roles, "k": self.k, "suppress": 1, "others": "drop"})


CASES = st.builds(
    Case,
    model=st.sampled_from(MODELS),
    quasi=st.sampled_from(QUASI),
    keep=st.sampled_from([(), ("sex",)]),
    k=st.integers(2, 4),
    ending=st.sampled_from(["csv", "parquet"]),
    seed=st.integers(0, 2**20),
    sizes=st.tuples(st.integers(20, 60), st.integers(1, 40), st.integers(1, 30)),
)


def frame_of(path: Path) -> pl.DataFrame:
    return pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path, infer_schema=False)


def rows_of(path: Path) -> list[Row]:
    return frame_of(path).with_columns(pl.all().fill_null("")).rows()


def table(rows: int, rng: np.random.Generator, *, first: int, missing: bool) -> pl.DataFrame:
    """Return rows in which every identifier is used once, so that a row can be known again."""
    pay = [str(value) for value in rng.integers(0, 6 if first else 5, rows)]
    return pl.DataFrame(
        {
            "name": [f"N{first + number}" for number in range(rows)],
            "age": rng.integers(20, 60, rows).astype(str).tolist(),
            "zip": rng.choice(ZIPS, rows).tolist(),
            "born": [f"19{number // 10}-0{number % 9 + 1}-11" for number in rng.integers(600, 700, rows)],
            "city": rng.choice(["a", "b", "c"], rows).tolist(),
            "sex": rng.choice(["f", "m"], rows).tolist(),
            "pay": ["" if missing and rng.random() < 0.1 else value for value in pay],
        }
    )


def applied(folder: Path, number: int, rows: pl.DataFrame, ending: str) -> Applied:
    rows.write_csv(folder / f"t{number}.csv")
    record, release = folder / f"record{number - 1}.json", f"r{number}.{ending}"
    files = {"certificate": folder / f"c{number}.json", "new_record": folder / f"record{number}.json"}
    return apply(record, folder / f"t{number}.csv", out=folder / release, **files, waiting=folder / f"w{number}.csv")


@given(CASES)
@settings(max_examples=6, deadline=None)
def test_every_release_and_every_difference_holds(case: Case) -> None:
    rng, missing = np.random.default_rng(case.seed), case.model.get("missing") is not None
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)
        folder = Path(name)
        table(case.sizes[0], rng, first=0, missing=missing).write_csv(folder / "t0.csv")
        files = {"certificate": folder / "c0.json", "record": folder / "record0.json"}
        try:
            anonymize(folder / "t0.csv", case.policy, out=folder / f"r0.{case.ending}", **files, method="mondrian")
        except Infeasible:
            return
        releases = [rows_of(folder / f"r0.{case.ending}")]
        for number, size in enumerate(case.sizes[1:], start=1):
            new = table(size, rng, first=1000 * number, missing=missing)
            outcome = applied(folder, number, new, case.ending)
            event("some rows are published" if outcome.out else "all rows wait")
            if outcome.out is None:
                assert not (folder / f"r{number}.{case.ending}").exists()
                return
            judge_chain(folder, releases, number, new, outcome)


def judge_chain(folder: Path, releases: list[list[Row]], number: int, new: pl.DataFrame, outcome: Applied) -> None:
    """Check one addition against everything that came before."""
    assert outcome.joined + outcome.formed + outcome.waiting == outcome.given == len(new)
    assert outcome.out is not None
    found = verify(outcome.out, folder / f"c{number}.json")
    assert found.holds, found.problems
    release, names = rows_of(outcome.out), set(new["name"])
    waiting = pl.read_csv(folder / f"w{number}.csv", infer_schema=False) if outcome.waiting else new.clear()
    assert stat.S_IMODE((folder / f"record{number}.json").stat().st_mode) == 0o600
    assert waiting.height == outcome.waiting
    assert set(waiting["name"]) <= names
    for before in releases:
        added = Counter(release)
        added.subtract(Counter(before))
        assert min(added.values()) >= 0, "a published row changed"
        hold_by_themselves(outcome.out, folder / f"c{number}.json", list(added.elements()))
    assert sum(added.values()) == outcome.joined + outcome.formed
    releases.append(release)


def hold_by_themselves(release: Path, certificate: Path, added: list[Row]) -> None:
    """Judge the rows that were added, class by class, against the whole new release, one class at a time."""
    policy = Policy.from_dict(json.loads(certificate.read_text())["policy"])
    whole, columns = rows_of(release), frame_of(release).columns
    visible, spec = [columns.index(name) for name in policy.visible], policy.sensitive["pay"]
    for cells in {tuple(row[place] for place in visible) for row in added}:
        group = [row for row in added if tuple(row[place] for place in visible) == cells]
        values, everything = (Counter(row[columns.index("pay")] for row in rows) for rows in (group, whole))
        assert len(group) >= policy.k
        assert spec.l is None or len(values) >= spec.l
        assert spec.alpha is None or max(values.values()) <= spec.alpha * len(group)
        for value, count in values.items() if spec.beta is not None else ():
            share, overall = Fraction(count, len(group)), Fraction(everything[value], len(whole))
            assert (share - overall) / overall <= spec.beta
        assert spec.t is None or closeness(group, whole, columns, policy) <= spec.t


def closeness(group: list[Row], whole: list[Row], columns: list[str], policy: Policy) -> Fraction:
    """Return the distance of a group from the whole, by the cheapest moves."""
    rest = Counter(whole)
    rest.subtract(Counter(group))
    rows = [("in", *row) for row in group] + [("out", *row) for row in rest.elements()]
    frame = pl.DataFrame(rows, schema=["part", *columns], orient="row")
    alone = Policy(quasi=["part"], sensitive={"pay": policy.sensitive["pay"]}, others="drop", missing=policy.missing)
    return explain(frame, alone, attribute="pay", class_number=1).closeness
