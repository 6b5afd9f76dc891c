"""Profiles: every requirement is filled with a figure or a sentence, or the page says what is missing."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tclose import InputError, LeakWarning, Policy, anonymize, steps
from tclose.measure.presence import PresenceCounts
from tclose.policy import PROFILES, Context, SignOff
from tclose.policy.context import SENTENCES
from tclose.policy.draft import NumberLook
from tclose.policy.draft import Profile as Look
from tclose.report.profiles import BY_NAME, Evidence, FilledProfile, population_of
from tclose.report.profiles.identifiers import IDENTIFIERS, PublishedColumn, safe_harbor
from tclose.report.profiles.section import section, status
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
    safe_harbor={"town": "The town of the hospital."},
    sign_off=SignOff("A. Steward", date(2026, 11, 16)),
    review_date=date(2027, 11, 16),
    sampling_fraction=0.25,  # type: ignore[arg-type]
)


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
    looks = [Look(name=name, kind=kind, rows=80, distinct=9, missing=0) for name, kind in
             (("age", "number"), ("town", "text"), ("ldl", "number"), ("ill", "text"))]  # fmt: skip
    return Evidence(
        release.certificate,
        release.policy,
        [release.judged[0].table.classes.sizes],
        release.exposed,
        published=("age", "town", "ldl", "ill"),
        raw_sizes=np.array([1] * 30 + [2] * 25),
        columns=lambda: [PublishedColumn(look, ["[20, 45]", "x"]) for look in looks],
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
    assert all(each.title.replace("'", "&#x27;") in said for each in profile.missing)


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_with_every_sentence_is_complete(name: str, evidence: Evidence) -> None:
    profile = filled(evidence, name, FULL, population=1000)
    assert profile.complete, profile.warning
    assert profile.warning is None
    assert "Complete." in status(profile)
    assert all(each.answer for each in profile.requirements if each.needed)


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
    assert set(said) == {"name", "complete", "requirements"}
    names = [each["name"] for each in said["requirements"]]
    assert len(set(names)) == len(names)
    keys = {"name", "part", "title", "verdict", "answer", "needed"}
    assert all(keys <= set(each) <= {*keys, "add", "clause"} for each in said["requirements"])


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


@settings(deadline=None, max_examples=50)
@given(text=st.text(min_size=1, max_size=80).filter(lambda text: bool(text.strip())))
def test_any_sentence_is_escaped(text: str, evidence: Evidence) -> None:
    page = section(filled(evidence, "wp216", Context(recipient=text)), public=False).html()
    tags = set(re.findall(r"<\s*(\w+)", page))
    assert tags <= {"section", "h2", "h3", "p", "dl", "dt", "dd", "div", "span", "code", "br"}


def test_a_public_page_leaves_out_the_original(evidence: Evidence) -> None:
    profile = filled(evidence, "iso27559", FULL, population=1000)
    raw = of(profile, "population_uniqueness")
    assert raw.about_raw
    assert "30 rows" in raw.answer
    assert raw.answer in section(profile, public=False).html().replace("&#x27;", "'")
    public = section(profile, public=True).html()
    assert "30 rows" not in public
    assert "Left out" in public


def test_the_three_criteria(evidence: Evidence) -> None:
    small = replace(evidence, exposed=replace(evidence.exposed, findings=()))
    verdicts = {each.name: each.verdict for each in filled(small, "wp216", FULL).requirements}
    assert [verdicts[name] for name in ("singling_out", "linkability", "inference")] == ["met", "met", "met"]
    alone = filled(small, "wp216", FULL, sizes=[np.array([1, 5])])
    assert of(alone, "singling_out").verdict == of(alone, "linkability").verdict == "not met"
    unjudged = replace(small, policy=replace(small.policy, unlinkable=("day",)))
    singling = of(BY_NAME["wp216"].filled(unjudged), "singling_out")
    assert singling.verdict == "not met"
    assert "not judged (unlinkable): 'day'" in singling.answer
    pseudonym = of(filled(small, "wp216", FULL, published=("age", "name")), "linkability")
    assert pseudonym.verdict == "not met"
    assert "'name'" in pseudonym.answer


def test_what_remains_exposed_fails_a_criterion(evidence: Evidence) -> None:
    finding = replace(evidence.exposed, findings=())
    rare = evidence.exposed.findings[0] if evidence.exposed.findings else None
    assert rare is not None, "this release has an exposed row"
    for kind, name in (("rare_value", "singling_out"), ("same_value", "inference"), ("known_value", "inference")):
        exposed = replace(finding, findings=(replace(rare, kind=kind),))  # type: ignore[arg-type]
        assert of(filled(evidence, "wp216", FULL, exposed=exposed), name).verdict == "not met"


@pytest.mark.parametrize(("smallest", "verdict"), [(11, "not met"), (12, "met"), (2, "not met")])
def test_the_threshold_of_the_agency_is_compared_exactly(smallest: int, verdict: str, evidence: Evidence) -> None:
    profile = filled(evidence, "ema0070", FULL, sizes=[np.array([smallest, 40])])
    assert of(profile, "maximum_risk").verdict == verdict


def test_several_tables_count_with_the_worst(evidence: Evidence) -> None:
    profile = filled(evidence, "iso27559", FULL, sizes=[np.array([10, 10]), np.array([4, 16])])
    assert of(profile, "maximum_risk").answer.startswith("0.25:")
    assert of(profile, "average_risk").answer.startswith("0.1:")


def test_a_register_gives_a_k_map(evidence: Evidence) -> None:
    counts = PresenceCounts(np.array([4, 6]), np.array([40, 12]), 3, 55)
    answer = of(filled(evidence, "iso27559", FULL, register=counts), "sample_risk").answer
    assert "at least 12 of the 55 rows of the population" in answer
    assert "0.08333 for the most exposed row" in answer


def test_an_expert_changes_what_is_needed(evidence: Evidence) -> None:
    harbor = filled(evidence, "hipaa", FULL)
    assert harbor.complete
    assert "names no expert" in harbor.lead
    expert = filled(evidence, "hipaa", replace(FULL, expert="Dr. X, statistician.", knowledge="", safe_harbor={}))
    assert expert.complete
    assert of(expert, "safe_harbor_B").needed is False
    assert not filled(evidence, "hipaa", replace(FULL, expert="Dr. X", threshold="")).complete


def column(
    name: str, texts: Sequence[str], kind: Any = "text", *, identifier: bool = False, **look: Any
) -> PublishedColumn:
    given = {"rows": 500, "distinct": 50, "missing": 0, **look}
    return PublishedColumn(Look(name=name, kind=kind, **given), texts, identifier)


@pytest.mark.parametrize(
    ("published", "present", "unclear"),
    [
        (column("Patient Name", ["Ann", "Bob"]), "A", ""),
        (column("who", ["Ann Lee", "Bob Ray"], shape="person"), "A", ""),
        (column("zip", ["02139", "02140"]), "B", ""),
        (column("zip", ["[10115, 10999]"], "number"), "B", ""),
        (column("zip", ["021**", "9**"]), "", "B"),
        (column("zip", ["*"]), "", ""),
        (column("PLZ", ["10*", "80*"]), "", "B"),
        (column("city", ["Bonn", "{Bonn, Ulm}"]), "B", ""),
        (column("county", ["Kent", "Essex"]), "B", ""),
        (column("state", ["MA", "NY"]), "", ""),
        (column("country", ["US", "CA"]), "", ""),
        (column("region", ["north", "south"]), "", "B"),
        (column("home", ["1 Main Street", "2 Main Street"], shape="street"), "B", ""),
        (column("admission_date", ["2024-03-01", "2024-03-02"], "date"), "C", ""),
        (column("admission_date", ["2024-03", "2024-04"], "date"), "C", ""),
        (column("admission_date", ["2024", "[2019, 2023]"], "date"), "", ""),
        (column("seen", ["31.12.2024", "30.12.2024"], shape="dates"), "C", ""),
        (column("seen", ["20240331"], "number", numbers=NumberLook(whole=True, days=True)), "C", ""),
        (column("birth_date", ["1980", "[1930, 1940]"], "date"), "", "C"),
        (column("birth_date", ["1980-01", "1970-03"], "date"), "C", ""),
        (column("age", ["[20, 89]", "5"], "number"), "", ""),
        (column("age", ["[20, 90]"], "number"), "C", ""),
        (column("age", ["[85, ≥90]", "≥90"], "number"), "", ""),
        (column("age", ["[85, ≥95]"], "number"), "C", ""),
        (column("age", ["89.5", "3"], "number"), "C", ""),
        (column("dosage", ["100", "200"], "number"), "", ""),
        (column("phone", ["+49 228 1234"], shape="phone"), "D", ""),
        (column("phone", ["yes", "no"], shape="answer"), "", ""),
        (column("fax_number", ["12345"]), "E", ""),
        (column("contact", ["a@b.de"], shape="email"), "F", ""),
        (column("ssn", ["123-45-6789"], shape="official"), "G", ""),
        (column("MRN", ["12", "13"], "number"), "H", ""),
        (column("patient_id", ["12", "13"], "number"), "H", ""),
        (column("member_id", ["12", "13"], "number"), "I", ""),
        (column("iban", ["DE00"], shape="iban"), "J", ""),
        (column("passport", ["C01X"]), "K", ""),
        (column("license_plate", ["BN-X 1"]), "L", ""),
        (column("device_id", ["77"]), "M", ""),
        (column("homepage", ["https://x.example"], shape="url"), "N", ""),
        (column("ip", ["10.0.0.1"], shape="ip"), "O", ""),
        (column("fingerprint", ["aa11"]), "P", ""),
        (column("photo", ["a.png"]), "Q", ""),
        (column("key", ["a-b"], shape="uuid"), "R", ""),
        (column("nr", ["x", "y"], identifier=True), "R", ""),
        (column("remarks", ["seen at night"], shape="prose"), "", "R"),
        (column("notes", ["seen", "came"], distinct=40), "", "R"),
        (column("notes", ["x", "y"], distinct=2), "", ""),
        (column("code", ["A1", "A2"], distinct=500), "", "R"),
        (column("ldl", ["100", "101"], "number"), "", ""),
        (column("diagnosis", ["flu", "cold"]), "", ""),
    ],
    ids=lambda value: f"{value.look.name}: {value.texts[0]}" if isinstance(value, PublishedColumn) else None,
)
def test_safe_harbor(published: PublishedColumn, present: str, unclear: str) -> None:
    findings = safe_harbor([published])
    assert "".join(each.identifier.letter for each in findings if each.present) == present
    assert "".join(each.identifier.letter for each in findings if each.unclear) == unclear


def test_there_are_eighteen_identifiers() -> None:
    assert "".join(each.letter for each in IDENTIFIERS) == "ABCDEFGHIJKLMNOPQR"


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
