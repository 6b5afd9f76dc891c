"""No profile says yes where a naive look at the published cells finds a violation: random tables, real releases."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose import LeakWarning, Policy, Release, TcloseError, anonymize
from tclose.policy import PROFILES
from tclose.release.release import WrittenRelease
from tclose.report.profiles import BY_NAME, FilledProfile, evidence_of
from tclose.report.profiles.evidence import crowds, given_away
from tclose.table import encode_quietly

from ..conftest import TIMES
from .identifier_corpus import ROWS, identifiers, ordinary

TABLES = 20 * TIMES


def profile_of(release: Release, frame: pl.DataFrame, name: str) -> FilledProfile:
    written = WrittenRelease(release, release.certificate, release.judged, release.exposed)
    return BY_NAME[name].filled(evidence_of(written, encode_quietly(frame, release.policy), attacks=None))


def released(frame: pl.DataFrame, policy: dict[str, Any]) -> Release:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)
        return anonymize(frame, Policy.from_dict(policy), method="mondrian", seed=1)


def random_release(seed: int) -> tuple[Release, pl.DataFrame, str, str, list[str]]:
    """Publish a table with one planted identifier, in a random role, among ordinary columns."""
    chance = Random(seed)
    letter, kinds = chance.choice(sorted(identifiers(chance).items()))
    names, cells = chance.choice(kinds)
    name, some = chance.choice(names), chance.randint(1, ROWS)
    cells = [cells[place % some] for place in range(ROWS)]
    beside = {other: values for other, values in ordinary(chance).items() if other != name}
    policy: dict[str, Any] = {"quasi": {}, "sensitive": {}, "unlinkable": [], "k": chance.choice([2, 3, 12])}
    for other in (*beside, name):
        role = chance.choice(["quasi", "sensitive", "unlinkable"]) if policy["quasi"] else "quasi"
        if role == "unlinkable":
            policy[role].append(other)
        else:
            policy[role][other] = {"t": 1, "distance": "equal"} if role == "sensitive" else {}
    frame = pl.DataFrame({**beside, name: cells})
    return released(frame, {key: value for key, value in policy.items() if value}), frame, letter, name, cells


def naive_crowds(frame: pl.DataFrame) -> Counter[tuple[Any, ...]]:
    return Counter(frame.cast(pl.String).rows())


def still_shown(published: list[str], cells: list[str], letter: str) -> bool:
    """Look for the planted cells in the published ones, with text alone; ages and years by their numbers."""
    values = {value for cell in cells for value in re.split(r"[\[\], ]{2,}|[\[\]]", cell) if len(value) > 1}
    if letter == "C" and all(re.fullmatch(r"[\[\]≥<>+y\d., -]+|\w+-\w+|\d\d \w+", cell) for cell in cells):
        return any(float(number) > 90 for cell in published for number in re.findall(r"\d+(?:\.\d+)?", cell))
    return any(value in cell for value in values for cell in published)


def test_no_profile_says_yes_where_a_naive_look_finds_a_violation() -> None:
    made = 0
    for seed in range(TABLES):
        try:
            release, frame, letter, name, cells = random_release(seed)
        except TcloseError:
            continue
        made += 1
        published = release.frame
        crowd = min(naive_crowds(published).values())
        classes = min(naive_crowds(published[list(release.policy.visible)]).values())
        for profile in PROFILES:
            said = {each.name: each.claim.answer for each in profile_of(release, frame, profile).requirements}
            if crowd == 1:
                assert "yes" not in (said.get("singling_out"), said.get("alone_in_all_columns")), seed
            if classes == 1:
                assert said.get("alone") != "yes", seed
            if crowd < 12:
                assert said.get("maximum_risk") != "yes", seed
            assert "yes" not in (said.get("linkability"), said.get("inference"))
            if profile == "hipaa" and still_shown(published[name].to_list(), cells, letter):
                assert said[f"safe_harbor_{letter}"] != "yes", (seed, name)
                assert said["columns"] != "yes" or said[f"safe_harbor_{letter}"] == "no", (seed, name)
    assert made > 0.8 * TABLES


@pytest.mark.parametrize("persons", [False, True])
def test_rows_are_compared_as_a_naive_reader_does(persons: bool) -> None:
    for seed in range(TABLES):
        chance = np.random.default_rng(seed)
        rows = int(chance.integers(1, 30))
        labels, values = chance.integers(0, 6, rows), chance.integers(0, 3, rows)
        others = labels * 4 + chance.integers(0, 4, rows)
        who = chance.integers(0, 8, rows) if persons else None
        crowd = crowds(labels, who)
        for row in range(rows):
            same = [other for other in range(rows) if labels[other] == labels[row]]
            assert crowd[row] == (len(same) if who is None else len({int(who[other]) for other in same}))
        found = given_away("x", values, labels, others)
        shown = [{int(values[other]) for other in range(rows) if labels[other] == labels[row]} for row in range(rows)]
        alike = [[int(values[other]) for other in range(rows) if others[other] == others[row]] for row in range(rows)]
        one_value = len(set(values.tolist())) == 1
        assert found.by_class == (0 if one_value else sum(len(each) == 1 for each in shown))
        assert found.by_all == (0 if one_value else sum(len(set(each)) == 1 < len(each) for each in alike))


def test_rows_that_are_unique_by_their_sensitive_values_are_singled_out() -> None:
    """WP216 said "singling out: met" where 125 of 150 rows are unique by their published sensitive values."""
    chance = np.random.default_rng(4)
    labs = {name: [f"{value:.0f}" for value in chance.normal(100, 5, 150)] for name in ("ldl", "hdl", "tsh")}
    frame = pl.DataFrame({"age": chance.integers(20, 80, 150), **labs})
    policy = {"quasi": {"age": {}}, "sensitive": {name: {"t": 0.5} for name in labs}, "k": 5}
    release = released(frame, policy)
    alone = sum(count for count in naive_crowds(release.frame).values() if count == 1)
    assert alone > 100
    found = next(each for each in profile_of(release, frame, "wp216").requirements if each.name == "singling_out")
    assert found.claim.answer == "no"
    assert f"{alone:,} rows" in found.claim.says


def test_a_release_in_which_nobody_stands_out_is_met() -> None:
    frame = pl.DataFrame({"sex": ["female", "male"] * 40, "smoker": ["yes", "yes", "no", "no"] * 20})
    release = released(frame, {"quasi": {"sex": {}}, "sensitive": {"smoker": {"t": 0.5, "distance": "equal"}}, "k": 12})
    said = {each.name: each.claim.answer for each in profile_of(release, frame, "wp216").requirements}
    assert said["singling_out"] == "yes"
    harbor = {each.name: each.claim.answer for each in profile_of(release, frame, "hipaa").requirements}
    assert {harbor[f"safe_harbor_{letter}"] for letter in "ABCDEFGHIJKLMNOPQR"} == {"yes"}
    assert harbor["knowledge"] == "undecided", "only a person can know this"
    risk = {each.name: each.claim.answer for each in profile_of(release, frame, "ema0070").requirements}
    assert risk["maximum_risk"] == "yes"
