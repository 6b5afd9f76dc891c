"""Profiles: every requirement is filled with a figure or a sentence, or the page says what is missing."""

from __future__ import annotations

import re
import warnings
from dataclasses import fields, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose import InputError, LeakWarning, Policy, anonymize, steps
from tclose.measure.presence import PresenceCounts
from tclose.policy import PROFILES, Context, SignOff
from tclose.policy.tables import SENTENCES
from tclose.report.profiles import BY_NAME, Evidence, FilledProfile, PolicyEvidence, population_of
from tclose.report.profiles.columns import PublishedColumn
from tclose.report.profiles.evidence import GivenAway, Records
from tclose.report.release_sections import section, status
from tclose.table import encode_quietly

POLICY: dict[str, Any] = {
    "identifiers": ["name"],
    "quasi": ["age", "town"],
    "sensitive": {"ldl": {"t": 0.5}, "ill": {"t": 0.5, "distance": "equal"}},
    "k": 3,
}
FULL = Context(
    **{name: f"Sentence about {name}." for name in SENTENCES if name != "expert"},
    roles={name: f"Reason for {name}." for name in ("age", "town", "ldl", "ill")},
    safe_harbor={name: f"No identifier: {name}." for name in ("age", "town", "ldl", "ill")},
    sign_off=SignOff("A. Steward", date(2026, 11, 16)),
    review_date=date(2027, 11, 16),
    sampling_fraction=0.25,  # type: ignore[arg-type]
)


CROWDED = Records(80, 0, 12, ("age", "town", "ldl", "ill"), True, (GivenAway("ill", 0, 0, 0.6, 0.5),))


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    """The figures of a small release, without a context."""
    chance = np.random.default_rng(3)
    table = pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(80)],
            "age": chance.integers(20, 80, 80),
            "town": chance.choice(["a", "b"], 80),
            "ldl": chance.integers(60, 64, 80),
            "ill": chance.choice(["flu", "cold"], 80),
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)
        release = anonymize(table, Policy.from_dict(POLICY), method="mondrian", seed=1)
    return Evidence(
        release.certificate,
        release.policy,
        [release.judged[0].table.classes.sizes],
        lambda: [PublishedColumn(name, ("[20, 45]", "x")) for name in ("age", "town", "ldl", "ill")],
        published=("age", "town", "ldl", "ill"),
        records=CROWDED,
        raw_sizes=np.array([1] * 30 + [2] * 25),
    )


def filled(evidence: Evidence, name: str, context: Context | None, **changes: Any) -> FilledProfile:
    return BY_NAME[name].filled(replace(evidence, policy=replace(evidence.policy, context=context), **changes))


def of(profile: FilledProfile, name: str) -> Any:
    return next(each for each in profile.requirements if each.name == name)


def test_the_registry_has_every_name() -> None:
    assert tuple(BY_NAME) == PROFILES


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_without_a_context_is_incomplete(name: str, evidence: Evidence) -> None:
    profile = filled(evidence, name, None)
    assert not profile.complete
    assert {"recipient", "purpose"} & {each.name for each in profile.missing} or name == "ema0070"
    assert profile.warning is not None
    assert "[context] " in profile.warning
    said = status(profile)
    assert "Incomplete." in said
    asks = [ask for each in profile.missing for ask in each.asks]
    assert all(said.count(ask.replace("'", "&#x27;")) == 1 for ask in asks)


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_with_every_sentence_is_complete(name: str, evidence: Evidence) -> None:
    profile = filled(evidence, name, FULL, population=1000)
    assert profile.complete, profile.warning
    assert profile.warning is None
    assert "Complete." in status(profile)
    assert all(each.claim.says for each in profile.requirements if each.needed)


@pytest.mark.parametrize("name", PROFILES)
def test_each_missing_sentence_is_asked_for(name: str, evidence: Evidence) -> None:
    """Taking away any sentence that the profile shows makes it incomplete, and the page asks for this sentence."""
    shown = {each.name for each in filled(evidence, name, FULL).requirements if each.verdict == "stated"}
    for key in shown & {each.name for each in fields(Context)}:
        empty: Any = {} if key == "roles" else "" if key in SENTENCES else None
        lacking = filled(evidence, name, replace(FULL, **{key: empty}))
        asked = [ask for each in lacking.missing for ask in each.asks]
        needed = of(lacking, key).needed
        assert (len(asked) == 1 and key in asked[0]) if needed else not asked


@pytest.mark.parametrize("name", PROFILES)
def test_names_are_unique_and_json_is_plain(name: str, evidence: Evidence) -> None:
    said = filled(evidence, name, FULL).to_dict()
    assert {"name", "complete", "requirements"} <= set(said)
    assert said["answer"] in ("no", "undecided")
    names = [each["name"] for each in said["requirements"]]
    assert len(set(names)) == len(names)
    keys = {"name", "part", "title", "verdict", "answer", "says", "needed"}
    assert all(keys <= set(each) <= {*keys, "needs", "add", "clause"} for each in said["requirements"])
    by_verdict = {"met": "yes", "not met": "no"}
    assert all(each["answer"] == by_verdict.get(each["verdict"], "undecided") for each in said["requirements"])


def test_clauses_are_cited_only_of_the_text_that_was_read(evidence: Evidence) -> None:
    for name in PROFILES:
        clauses = {each.clause for each in filled(evidence, name, FULL).requirements} - {""}
        assert all(clause.startswith("45 CFR 164.514(b)") for clause in clauses)
        assert bool(clauses) == (name == "hipaa")


HOSTILE = "</dd><script>alert(1)</script>\r\n\x1b[2J\u202e <img src=x onerror=y>\u2028'\"&amp;"


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("public", [False, True])
def test_hostile_sentences_stay_text(name: str, public: bool, evidence: Evidence) -> None:
    columns = ("age", "town", "ldl", "ill")
    context = replace(
        FULL,
        **dict.fromkeys(SENTENCES, HOSTILE),
        roles=dict.fromkeys(columns, HOSTILE),
        safe_harbor=dict.fromkeys(columns, HOSTILE),
        sign_off=SignOff(HOSTILE, date(2026, 1, 1)),
    )
    profile = filled(evidence, name, context)
    page = section(profile, public=public).html() + status(profile)
    assert "<script" not in page
    assert "<img" not in page
    assert not re.search("[\x1b\u202e\u2028\r]", page)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


@settings(deadline=None, max_examples=examples(50))
@given(text=st.text(min_size=1, max_size=80).filter(lambda text: bool(text.strip())))
def test_any_sentence_is_escaped(text: str, evidence: Evidence) -> None:
    page = section(filled(evidence, "wp216", Context(recipient=text)), public=False).html()
    tags = set(re.findall(r"<\s*(\w+)", page))
    assert tags <= {"section", "h2", "h3", "p", "dl", "dt", "dd", "div", "span", "code", "br"}


def test_a_public_page_leaves_out_the_original(evidence: Evidence) -> None:
    profile = filled(evidence, "iso27559", FULL, population=1000)
    raw = of(profile, "population_uniqueness")
    assert raw.about_raw
    assert "30 rows" in raw.claim.says
    assert raw.claim.says in section(profile, public=False).html().replace("&#x27;", "'")
    public = section(profile, public=True).html()
    assert "30 rows" not in public
    assert "Left out" in public


def test_the_three_criteria(evidence: Evidence) -> None:
    """Linkability and inference have no figure that meets them; singling out needs every published column."""
    names = ("singling_out", "linkability", "inference")
    verdicts = {each.name: each.verdict for each in filled(evidence, "wp216", FULL).requirements}
    assert [verdicts[name] for name in names] == ["met", "not decided", "not decided"]
    single = filled(evidence, "wp216", FULL, sizes=[np.array([1, 5])])
    assert of(single, "singling_out").verdict == of(single, "linkability").verdict == "not met"
    unique = filled(evidence, "wp216", FULL, records=replace(CROWDED, alone=70, fewest=1))
    assert of(unique, "singling_out").verdict == of(unique, "linkability").verdict == "not met"
    assert (
        "70 rows (87.5 %) differ from every other row in the published columns" in of(unique, "singling_out").claim.says
    )
    several = filled(evidence, "wp216", FULL, records=replace(CROWDED, whole=False))
    assert of(several, "singling_out").verdict == "not decided"
    assert "joined" in of(several, "singling_out").claim.needs
    pseudonym = of(filled(evidence, "wp216", FULL, published=("age", "name")), "linkability")
    assert pseudonym.verdict == "not met"
    assert "'name'" in pseudonym.claim.says


@pytest.mark.parametrize("given", [GivenAway("ill", 3, 0, 1.0, 0.5), GivenAway("ill", 0, 3, 0.6, 0.5)])
def test_a_value_that_follows_with_certainty_fails_inference(given: GivenAway, evidence: Evidence) -> None:
    found = of(filled(evidence, "wp216", FULL, records=replace(CROWDED, given=(given,))), "inference")
    assert found.verdict == "not met"
    assert "ill: " in found.claim.says


@pytest.mark.parametrize(
    ("smallest", "fewest", "verdict"),
    [(11, 11, "not met"), (12, 12, "met"), (12, 11, "not decided"), (40, 1, "not decided"), (2, 2, "not met")],
)
def test_the_threshold_of_the_agency_is_compared_exactly(
    smallest: int, fewest: int, verdict: str, evidence: Evidence
) -> None:
    records = replace(CROWDED, fewest=fewest)
    profile = filled(evidence, "ema0070", FULL, sizes=[np.array([smallest, 40])], records=records)
    assert of(profile, "maximum_risk").verdict == verdict


def test_several_tables_count_with_the_worst(evidence: Evidence) -> None:
    profile = filled(evidence, "iso27559", FULL, sizes=[np.array([10, 10]), np.array([4, 16])])
    assert of(profile, "maximum_risk").claim.says.startswith("0.25:")
    assert of(profile, "average_risk").claim.says.startswith("0.1:")


def test_a_register_gives_a_k_map(evidence: Evidence) -> None:
    counts = PresenceCounts(np.array([4, 6]), np.array([40, 12]), 3, 55)
    answer = of(filled(evidence, "iso27559", FULL, register=counts), "sample_risk").claim.says
    assert "at least 12 of the 55 rows of the population" in answer
    assert "0.08333 for the most exposed row" in answer


def test_an_expert_changes_what_is_needed(evidence: Evidence) -> None:
    harbor = filled(evidence, "hipaa", FULL)
    assert harbor.complete
    assert "names no expert" in harbor.lead
    expert = filled(evidence, "hipaa", replace(FULL, expert="Dr. X, statistician.", knowledge="", safe_harbor={}))
    assert expert.complete, expert.warning
    assert of(expert, "safe_harbor_B").needed is False
    assert not filled(evidence, "hipaa", replace(FULL, expert="Dr. X", threshold="")).complete


@pytest.mark.parametrize("name", PROFILES)
def test_what_is_missing_is_known_before_the_release_is_made(name: str, evidence: Evidence) -> None:
    """The policy and the split rows tell all that the finished page asks for; the policy alone tells its sentences."""
    profile, policy = BY_NAME[name], evidence.policy
    after = filled(evidence, name, None)
    assert profile.warning_before(PolicyEvidence(policy, evidence.columns)) == after.warning
    alone = set(profile.missing_before(PolicyEvidence(policy)))
    asks = {ask for each in after.missing for ask in each.asks}
    assert {ask for ask in asks if "safe_harbor" not in ask} == {ask for ask in alone if "safe_harbor" not in ask}
    full = replace(policy, context=FULL)
    assert profile.warning_before(PolicyEvidence(full, evidence.columns)) is None
    assert profile.missing_before(PolicyEvidence(full)) == ()


WEIGHTED = {"quasi": ["age"], "k": 2, "others": "drop", "context": {"sampling_weight": "w"}}


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.5, 2.5], None),
        ([0.5, 0.25], "add up to 1, fewer than the table's 2 rows"),
        ([1, None], "numbers above 0 in every row"),
        ([-1, 5], "numbers above 0 in every row"),
        (["x", "y"], "numbers above 0 in every row"),
        (None, "the table has no column 'w'"),
    ],
)
def test_sampling_weights(weights: list[Any] | None, words: str | None) -> None:
    columns = {"age": [1, 2]} | ({} if weights is None else {"w": weights})
    table = encode_quietly(pl.DataFrame(columns), Policy.from_dict(WEIGHTED))
    if words is None:
        assert population_of(table) == 4
        return
    with pytest.raises(InputError, match=re.escape(words)):
        population_of(table)


def test_people_are_counted_once() -> None:
    policy = Policy.from_dict({"quasi": ["age"], "k": 2, "person": "id", "context": {"sampling_fraction": 0.5}})
    rows = {"age": [1, 2, 1, 3, 3], "id": ["a", "a", "b", "c", "c"]}
    assert population_of(encode_quietly(pl.DataFrame(rows), policy)) == 6


def test_weights_do_not_count_persons() -> None:
    policy = Policy.from_dict({**WEIGHTED, "person": "id"})
    table = encode_quietly(pl.DataFrame({"age": [1, 1], "id": ["a", "a"], "w": [5, 5]}), policy)
    with pytest.raises(InputError, match="sampling_fraction instead"):
        population_of(table)


def test_a_page_from_python(tmp_path: Path, ordinary: Any) -> None:
    page = tmp_path / "r.html"
    ordinary.release.report(page, original=ordinary.frame, attacks=ordinary.attacks, profile="wp216", public=True)
    assert "Linkability" in page.read_text(encoding="utf-8")
    with pytest.raises(InputError, match="give it as original"):
        ordinary.release.report(page, profile="wp216")
    with pytest.raises(InputError, match=r"there is no profile 'wp21' .did you mean 'wp216'"):
        ordinary.release.report(page, original=ordinary.frame, profile="wp21")
    with pytest.raises(InputError, match="say where to write it, with --report"):
        steps.anonymize(ordinary.frame, ordinary.policy, out=tmp_path / "r.csv", profile="wp216")
