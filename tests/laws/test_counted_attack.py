"""A release that is read in batches and attacked by counts: every attack finds exactly what it finds in memory."""

from __future__ import annotations

import warnings
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose import Attacks, Policy, TcloseError, anonymize
from tclose.measure.attack import ATTACKS, RAW, RELEASE, attack_results, results
from tclose.measure.attack.scenes import Adversary
from tclose.run import disk
from tclose.run.study import Study
from tclose.table import encode_quietly, groups

from .test_counted import Slices

BY_COUNTS = tuple(attack for attack in ATTACKS if not attack.needs_rows)
COLUMNS = ["age", "^sex$", "zip", "ward", "ranked", "measured", "named", "who"]
ROW = st.tuples(
    st.sampled_from(["20", "20.0", "31", "-0", "0", "44", "", None]),
    st.sampled_from(["f", "m", None]),
    st.sampled_from(["02139", "02142", "98101"]),
    st.sampled_from([0.0, -0.0, 1.5, None]),
    st.integers(1, 5) | st.just(99),
    st.sampled_from([0.5, 1.25, 7.0, 100.0]) | st.just(-0.0) | st.none(),
    st.sampled_from(["flu", "cold", "ulcer"]) | st.sampled_from(["", "?"]),
    st.sampled_from(["p", "q", "r"]) | st.uuids().map(str) | st.none(),
)
ILLNESSES = {"rows": [["flu", "lungs", "*"], ["cold", "lungs", "*"], ["ulcer", "stomach", "*"]]}
RANKED = ({}, {"bins": {"width": 2}}, {"bins": {"width": 2}, "publish": "bin"}, {"distance": "equal"})
NAMED = ({"distance": "equal"}, {"hierarchy": ILLNESSES})
CHOSEN = (["ranked", "measured", "named"], ["named", "ranked"], ["measured", "named"], ["ranked"], [])
QUASI = ({"age": {}, "^sex$": {}}, {"age": {"step": 10, "top": 40}, "zip": {"hierarchy": {"prefix": [3]}}}, {"zip": {}})


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    missing = {"missing": draw(st.sampled_from(["value", "suppress"]))}
    sensitive = {
        "ranked": {"t": 1, **draw(st.sampled_from(RANKED)), **missing},
        "measured": {"t": 1, **missing},
        "named": {"t": 1, **draw(st.sampled_from(NAMED)), **missing},
    }
    chosen = draw(st.sampled_from(CHOSEN))
    joint = {"joint": [{"attributes": chosen[:2], "t": 1}]} if len(chosen) > 1 and draw(st.booleans()) else {}
    return Policy.from_dict(
        {
            "quasi": draw(st.sampled_from(QUASI)),
            "keep": draw(st.sampled_from([[], ["ward"]])),
            "sensitive": {name: sensitive[name] for name in chosen},
            "k": draw(st.integers(2, 3)),
            "suppress": 0.9,
            "missing": ["", "?", "99"],
            "others": "drop",
            **({"person": "who"} if draw(st.booleans()) else {}),
            **joint,
        }
    )


def outcome(work: Any) -> Any:
    """Return a result, or say that there is none; of several mistakes, each engine may report another one first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return work()
        except TcloseError:
            return None


def in_memory(frame: pl.DataFrame, releases: list[pl.DataFrame], policy: Policy) -> Attacks:
    """Attack rows, without a k-anonymous table to compare with."""
    adversary = Adversary(encode_quietly(frame, policy))
    scene, *second = (
        adversary.published(Study(adversary.original, policy).beside(each).in_codes()) for each in releases
    )
    scenes = {RAW: adversary.raw(), RELEASE: scene.with_second(second[0]) if second else scene}
    return attack_results(scenes, register_rows=adversary.register_rows, several_rows=adversary.several_rows())


@settings(max_examples=examples(12))
@given(
    rows=st.lists(ROW, min_size=8, max_size=30),
    policy=policies(),
    batch=st.integers(1, 9),
    spilled=st.booleans(),
    two=st.booleans(),
    untouched=st.booleans(),
)
def test_counts_are_attacked_as_rows_are(
    rows: list[Any], policy: Policy, batch: int, spilled: bool, two: bool, untouched: bool
) -> None:
    frame = pl.DataFrame(rows, schema=COLUMNS, orient="row", strict=False)
    published = outcome(lambda: anonymize(frame, policy, method="mondrian", seed=1).frame)
    named = [*policy.visible, *(name for name in policy.sensitive if name not in policy.visible)]
    release = frame[3:][named] if published is None or untouched else published
    releases = [release, release.reverse()[: 1 + len(release) // 2]] if two else [release]
    tables: Any = [Slices(each, batch) for each in (frame, *releases)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results, "ATTACKS", BY_COUNTS)
        if spilled:
            patch.setattr(disk, "BUDGET", 0)
        patch.setattr(groups, "PENDING", 3)
        found = outcome(lambda: disk.attack_tables(tables[0], tables[1:], policy))
        expected = outcome(lambda: in_memory(frame, releases, policy))
    if expected is None:
        assert found is None
        return
    assert found.notes
    assert (found.tables, found.k, found.register_rows) == (expected.tables, expected.k, expected.register_rows)
    for result, same in zip(found.results, expected.results, strict=True):
        assert result == same
