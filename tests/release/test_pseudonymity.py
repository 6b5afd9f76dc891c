"""Releases with pseudonyms: whole persons in classes, the same pseudonyms everywhere, and what verify sees."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose import InputError, LeakWarning, Policy, PolicyError, Release, anonymize, attack, check, read, verify
from tclose.errors import Infeasible, Unsuited
from tclose.release.certificate import digest_of
from tclose.release.files import sha256
from tclose.steps import pseudonym_key


def visits(persons: int = 40, seed: int = 1) -> pl.DataFrame:
    """Return visits of invented patients, in random order; the first columns are the patient's."""
    random = np.random.default_rng(seed)
    who = np.repeat(np.arange(persons), random.integers(1, 5, persons))
    random.shuffle(who)
    return pl.DataFrame(
        {
            "ssn": [f"A{each:03d}-SECRET" for each in who.tolist()],
            "age": random.integers(20, 80, persons)[who],
            "sex": random.choice(["f", "m"], persons)[who],
            "ldl": random.integers(60, 200, len(who)),
            "ill": random.choice(["flu", "cold", "cough"], len(who)),
        }
    )


ASKED: dict[str, Any] = {
    "identifiers": ["ssn"],
    "quasi": ["age", "sex"],
    "sensitive": {"ldl": {"t": 0.3}, "ill": {"t": 0.4, "l": 2}},
    "k": 3,
    "pseudonym": {"ssn": {"key": "secret.key"}},
}


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Release]:
    """Return a function that publishes a table with a key of this test."""
    pseudonym_key(tmp_path / "secret.key")

    def publish(frame: pl.DataFrame, **changes: Any) -> Release:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LeakWarning)
            policy = Policy.from_dict({**ASKED, **changes}, folder=tmp_path)
            return anonymize(frame, policy, seed=1, effort="fast")

    return publish


def shown(release: Release) -> Iterator[tuple[tuple[Any, ...], pl.DataFrame]]:
    yield from release.frame.group_by(list(release.policy.visible))


# Classes of whole persons


@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)), min_size=4, max_size=40),
    st.integers(1, 3),
    st.sampled_from([None, 0.2, 0.5]),
    st.integers(1, 2),
)
@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_person_is_in_one_class_and_persons_are_counted(
    made: Callable[..., Release], rows: list[tuple[int, int]], k: int, t: float | None, least: int
) -> None:
    frame = pl.DataFrame(
        {
            "ssn": [str(person) for person, _ in rows],
            "age": [7 * person % 5 for person, _ in rows],
            "sex": ["f" if (person + place) % 2 else "m" for place, (person, _) in enumerate(rows)],  # it may change
            "ill": [str(value) for _, value in rows],
        }
    )
    level = {} if t is None else {"t": t}
    try:
        release = made(frame, sensitive={"ill": {"l": least, "distance": "equal", **level}}, k=k)
    except Infeasible:
        values, people = frame["ill"].n_unique(), frame["ssn"].n_unique()
        assert people < k or min(values, people) < least
        return
    classes, people = list(shown(release)), frame["ssn"].n_unique()
    assert sum(part["ssn"].n_unique() for _, part in classes) == people == release.frame["ssn"].n_unique()
    assert all(part["ssn"].n_unique() >= k for _, part in classes)
    assert all(min(part["ill"].n_unique(), part["ssn"].n_unique()) >= least for _, part in classes)
    whole = frame["ill"].value_counts(normalize=True, name="share")
    for _, part in classes if t is not None else ():
        both = whole.join(part["ill"].value_counts(normalize=True, name="own"), on="ill", how="left").fill_null(0)
        assert float((both["share"] - both["own"]).abs().sum()) / 2 <= float(t or 0) + 1e-9


@pytest.mark.parametrize("asked", [{"alpha": 0.6}, {"entropy_l": 1.5}, {"l": 3}, {"t": 0}])
def test_classes_stay_small_where_the_rows_of_each_person_are_diverse(
    made: Callable[..., Release], asked: dict[str, float]
) -> None:
    """Everyone shows the same three values, so every class of three persons is admitted, whoever stands for them."""
    rows = [(str(person), 20 + person, value) for person in range(12) for value in "abc"]
    frame = pl.DataFrame(rows, schema=["ssn", "age", "ill"], orient="row")
    assert made(frame, quasi=["age"], sensitive={"ill": asked}).results[0].classes == 4


def test_each_person_keeps_the_own_rows(made: Callable[..., Release]) -> None:
    """Whatever the pseudonyms are, the sensitive values of persons are those of the table."""
    frame = visits()
    release = made(frame).frame

    def of_persons(table: pl.DataFrame) -> list[Any]:
        rows = table.group_by("ssn").agg(pl.struct("ldl", "ill").sort_by("ldl", "ill").alias("all"))["all"].to_list()
        return sorted(rows, key=str)

    assert of_persons(frame) == of_persons(release)
    assert not set(frame["ssn"]) & set(release["ssn"])
    assert release["ssn"].str.contains("^[a-z2-7]{32}$").all()


def test_rows_are_ordered_by_what_they_publish_alone(made: Callable[..., Release]) -> None:
    frame = visits()
    first, second = made(frame).frame, made(frame.sample(fraction=1, shuffle=True, seed=9)).frame
    for release in (first, second):
        assert release.equals(release.sort(release.columns))
    assert first["ssn"].to_list() == second["ssn"].to_list()


def test_the_same_key_gives_the_same_pseudonyms_in_every_table_and_file(
    made: Callable[..., Release], tmp_path: Path
) -> None:
    """As text, as integers and as floats, in every format, and in a table about the same persons."""
    texts = visits().with_columns(ssn=pl.col("ssn").str.slice(1, 3).str.to_integer().cast(pl.String))
    tables = [texts, *(texts.with_columns(ssn=pl.col("ssn").cast(dtype)) for dtype in (pl.Int32, pl.Float64))]
    found = []
    for number, table in enumerate(tables):
        path = tmp_path / f"r{number}.{('csv', 'parquet', 'arrow')[number]}"
        made(table).write(path)
        found.append(read(path))
    assert len({tuple(table["ssn"].to_list()) for table in found}) == 1
    other = made(texts.select("ssn", "age", "sex", pl.col("ldl").reverse(), pl.col("ill").reverse()).tail(90)).frame
    assert set(other["ssn"]) <= set(found[0]["ssn"])


# What certificates say, and what verify sees


@pytest.fixture
def pair(made: Callable[..., Release], tmp_path: Path) -> tuple[Path, Path]:
    release, paper = tmp_path / "r.csv", tmp_path / "c.json"
    made(visits()).write(release, certificate=paper, record=tmp_path / "record.json")
    return release, paper


def test_a_certificate_tells_of_linkability_and_never_of_the_key(pair: tuple[Path, Path]) -> None:
    release, paper = pair
    content = json.loads(paper.read_text())
    entry = content["pseudonyms"]["ssn"]
    assert entry["key"] == re.fullmatch(r"[0-9a-f]{32}", entry["key"])[0]  # type: ignore[index]
    assert (entry["algorithm"], entry["bits"], content["counted"]) == ("HMAC-SHA-256", 160, "persons")
    assert "in every other that was made with the same key" in entry["linkable"]
    assert content["policy"]["person"] == "ssn"
    found = verify(release, paper)
    assert found.problems == ()
    assert "pseudonyms.ssn.key" in found.not_verifiable
    assert "the fingerprint of the key of 'ssn'" in found.not_verifiable_in_words
    assert not any("by persons" in key or key == "counted" for key in found.not_verifiable)
    secret = (paper.parent / "secret.key").read_bytes()
    for path in (release, paper, paper.parent / "record.json"):
        data = path.read_bytes()
        assert b"SECRET" not in data
        assert b"secret.key" not in data or path.name == "record.json"  # which repeats the policy, for the steward
        assert all(form not in data for form in (secret, secret.hex().encode(), secret.hex().upper().encode()))


def resealed(release: Path, paper: Path, frame: pl.DataFrame) -> tuple[str, ...]:
    """Write another table, with a certificate whose fingerprint and digest fit; return what verify says."""
    frame.write_csv(release)
    content = json.loads(paper.read_text())
    del content["digest"]
    content["files"][0] |= {"sha256": sha256(release.read_bytes()), "rows": frame.height}
    paper.write_text(json.dumps({**content, "digest": digest_of(content)}))
    return verify(release, paper).problems


def test_a_person_in_two_classes_is_noticed(pair: tuple[Path, Path]) -> None:
    frame = read(pair[0])
    classes = frame.select("age", "sex").unique(maintain_order=True)
    first = frame.join(classes.head(1), on=["age", "sex"])["ssn"][0]
    other = frame.with_row_index().join(classes.tail(1), on=["age", "sex"])["index"][0]
    moved = frame.with_row_index().with_columns(
        ssn=pl.when(pl.col("index") == other).then(pl.lit(first)).otherwise(pl.col("ssn"))
    )
    assert "rows of 1 person are in several classes" in resealed(*pair, moved.drop("index"))


def test_identifiers_in_the_place_of_pseudonyms_are_noticed(pair: tuple[Path, Path]) -> None:
    frame = read(pair[0])
    raw = {each: f"A{number:03d}" for number, each in enumerate(frame["ssn"].unique())}
    assert resealed(*pair, frame.with_columns(pl.col("ssn").replace(raw))) == ("cells of 'ssn' are no pseudonyms",)


def test_fewer_persons_than_k_are_noticed(pair: tuple[Path, Path]) -> None:
    """Rows stay as they are; only whom they belong to is changed."""
    frame = read(pair[0])
    one = frame.group_by("age", "sex").agg(pl.col("ssn").first().alias("one"))
    problems = resealed(*pair, frame.join(one, on=["age", "sex"]).with_columns(ssn="one").select(frame.columns))
    assert any(problem.startswith("k fails in ") for problem in problems)


def test_a_certificate_without_its_entry_is_refused(pair: tuple[Path, Path]) -> None:
    content = json.loads(pair[1].read_text())
    del content["digest"], content["pseudonyms"]
    pair[1].write_text(json.dumps({**content, "digest": digest_of(content)}))
    assert "the column that tells persons apart is not the one with pseudonyms" in verify(*pair).problems


# What is exposed


def test_exposure_and_attacks_combine_the_rows_of_a_person(made: Callable[..., Release], tmp_path: Path) -> None:
    """Everyone of a class has had zoster, beside another illness: it shows several values, and gives one away."""
    frame = pl.DataFrame(
        {
            "ssn": [str(number) for number in range(8) for _ in range(2)],
            "age": [20 + 10 * (number // 4) for number in range(8) for _ in range(2)],
            "sex": ["f"] * 16,
            "ill": ["zoster" if number < 4 and visit else f"ill {number}" for number in range(8) for visit in (0, 1)],
        }
    )
    policy = {"sensitive": {"ill": {"l": 2}}, "k": 4}
    release = made(frame, **policy)
    exposed = {found.kind: found for found in release.exposed.findings}
    assert exposed["same_value"].rows == 8
    assert "all persons show one same value of 'ill'" in exposed["same_value"].sentence
    assert exposed["known_value"].attributes == {"ill": 16}
    asked = Policy.from_dict({**ASKED, **policy}, folder=tmp_path)
    attacks = attack(release, original=frame, policy=asked)
    assert attacks["homogeneity"].findings["release"].rows == 8
    assert attacks["homogeneity"].findings["k_anonymous"].rows == 0
    assert attacks["background_join"].findings["release"].rows == 16


def test_a_check_needs_no_key_and_counts_persons(tmp_path: Path) -> None:
    frame = pl.DataFrame({"ssn": ["a", "a", "b"], "age": [1, 1, 1], "ill": ["x", "y", "x"]})
    policy = Policy.from_dict({**ASKED, "quasi": ["age"], "sensitive": {}, "k": 3}, folder=tmp_path)
    assert not check(frame.drop("ill"), policy).satisfied
    assert check(frame.drop("ill"), Policy.from_dict({**policy.to_dict(), "k": 2})).satisfied


# What is refused


def test_linkable_releases_warn(tmp_path: Path) -> None:
    pseudonym_key(tmp_path / "secret.key")
    with pytest.warns(LeakWarning, match=r"pseudonyms of 'ssn' link all rows .* made with the same key"):
        anonymize(visits().with_columns(ldl=pl.lit(1)), Policy.from_dict(ASKED, folder=tmp_path), effort="fast")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"identifiers": []}, "pseudonym.ssn: only an identifier can get a pseudonym: list 'ssn' in identifiers"),
        ({"identifiers": ["ssn", "x"], "person": "x"}, "name the same column as person, or none"),
        ({"pseudonym": {"ssn": {}}}, "pseudonym.ssn: say where the secret key is"),
        ({"pseudonym": {"ssn": {"key": 7}}}, "pseudonym.ssn.key: expected the path of a file"),
        ({"pseudonym": {"ssn": {"file": "x"}}}, "pseudonym.ssn: unknown key 'file'"),
        ({"pseudonym": {"ssn": "x.key"}}, "pseudonym.ssn: expected a table of settings"),
        ({"pseudonym": ["ssn"]}, "pseudonym: expected one .pseudonym.COLUMN. table per identifier"),
        (
            {"identifiers": ["ssn", "x"], "pseudonym": {"ssn": {"key": "k"}, "x": {"key": "k"}}},
            "only one identifier can get a pseudonym",
        ),
        ({"temper": 0.1}, "temper moves single rows"),
        ({"both": ["age"], "sensitive": {"age": {"t": 0.1}}}, "both publishes values apart from rows"),
        ({"presence": {"population": "p.csv", "max": 0.5}}, "presence counts rows against people"),
        ({"sensitive": {"ldl": {"t": 0.1, "n": 5}}}, "sensitive.ldl.n: n looks at several classes"),
        ({"sensitive": {"ldl": {"average_t": 0.1}}}, "sensitive.ldl.average_t: average_t looks at several classes"),
    ],
)
def test_policies_that_contradict_pseudonyms(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(PolicyError, match=says):
        Policy.from_dict({**ASKED, **changes})


def test_kept_values_that_part_a_person(made: Callable[..., Release]) -> None:
    frame = visits().with_columns(ward=pl.Series(["a", "b"] * 200).head(visits().height))
    with pytest.raises(
        InputError, match=r"all rows of a pseudonym must be in one class, but \d+ persons show .*'ward'"
    ):
        made(frame, keep=["ward"])
    wards = visits().with_columns(ward=pl.col("sex").replace({"f": "a", "m": "b"}))
    assert made(wards, keep=["ward"], k=2).results[0].satisfied


@pytest.mark.parametrize("method", ["mondrian", "anatomy", "projections", "permutation", "sabre"])
def test_methods_that_part_persons(tmp_path: Path, method: str) -> None:
    pseudonym_key(tmp_path / "secret.key")
    with pytest.raises(Unsuited, match=f"method '{method}' cannot keep all rows of a pseudonym in one class"):
        anonymize(visits(), Policy.from_dict(ASKED, folder=tmp_path), method=method)


def test_rows_without_an_identifier(made: Callable[..., Release]) -> None:
    frame = visits().with_columns(ssn=pl.when(pl.col("ldl") > 190).then(None).otherwise(pl.col("ssn")))
    with pytest.raises(InputError, match=r"\d+ rows have no 'ssn', and a pseudonym needs one"):
        made(frame)
