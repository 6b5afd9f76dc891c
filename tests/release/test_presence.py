"""δ-presence: against a naive oracle, in releases, certificates, verify and attack, and what cannot be used."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tclose
from tclose.measure.linkage import Links, packed
from tclose.measure.presence import PresenceCounts
from tclose.release.certificate import digest_of


def people(rows: int = 400, seed: int = 2) -> pl.DataFrame:
    chance = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": chance.integers(20, 80, rows),
            "zip": chance.choice(["02101", "02139", "02142", "98101"], rows),
            "sex": chance.choice(["f", "m"], rows),
            "ill": chance.choice(["flu", "cold", "ulcer"], rows),
        }
    )


def policy(folder: Path, **limits: Any) -> tclose.Policy:
    """Return a policy whose population is in a file of the folder."""
    asked = {
        "quasi": {"age": {"step": 5}, "zip": {"hierarchy": {"prefix": [3]}}, "sex": {}},
        "sensitive": {"ill": {"t": 0.5}},
        "k": 3,
        "presence": {"population": "everyone.csv", **limits},
    }
    return tclose.Policy.from_dict(asked, folder=folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a population and a table that is drawn from it."""
    people().drop("ill").write_csv(tmp_path / "everyone.csv")
    people()[:100].write_csv(tmp_path / "table.csv")
    return tmp_path


def released(folder: Path, method: str = "weave", **limits: Any) -> tclose.Release:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tclose.LeakWarning)
        return tclose.anonymize(tclose.read(folder / "table.csv"), policy(folder, **limits), method=method, seed=1)


# --- the counts ---


def chances_of_everyone(fits: Any, sizes: Any) -> list[tuple[Fraction, Fraction]]:
    """Return the least and the largest chance of each row of a population, one by one."""
    answers = []
    for row in fits:
        shares = [Fraction(int(sizes[c]), int(fits[:, c].sum())) for c in np.flatnonzero(row)]
        answers.append((min(shares, default=Fraction(0)), max(shares, default=Fraction(0))))
    return answers


@settings(max_examples=40, deadline=None)
@given(
    fits=st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=9),
    sizes=st.lists(st.integers(1, 4), min_size=3, max_size=3),
    least=st.fractions(0, 1, max_denominator=6),
    largest=st.fractions(0, 1, max_denominator=6),
)
def test_presence_is_that_of_every_row_of_the_population(
    fits: list[list[bool]], sizes: list[int], least: Fraction, largest: Fraction
) -> None:
    fitting = np.array(fits)
    links = Links.of([np.arange(len(fits))], [packed(fitting.T, np.arange(3))], np.array(sizes))
    found = PresenceCounts.of(links)
    assert found.people.tolist() == fitting.sum(axis=0).tolist()
    assert found.population == len(fits)
    if found.lacking:
        assert (fitting.sum(axis=0) < sizes).any()
        return
    each = chances_of_everyone(fitting, sizes)
    assert (found.least, found.largest) == (min(low for low, _ in each), max(high for _, high in each))
    holds = all(least <= low and high <= largest for low, high in each if high) and not (
        least > 0 and any(not high for _, high in each)
    )
    assert (not found.failing(least, largest).any()) == holds


# --- releases ---


@pytest.mark.parametrize("method", ["weave", "mondrian"])
def test_a_release_keeps_the_limit(folder: Path, method: str) -> None:
    plain, release = released(folder, method, max=1), released(folder, method, max=0.4)
    claim = release.certificate.presence
    assert claim is not None
    assert plain.certificate.presence is not None
    assert Fraction(claim.largest) <= Fraction(2, 5) < Fraction(plain.certificate.presence.largest)
    assert claim.population_rows == 400
    assert release.certificate.claims.classes > 1  # type: ignore[operator]
    assert not policy(folder, max=0.4).to_dict()["presence"]["population"].startswith("/")
    assert "everyone" not in json.dumps(release.certificate.to_dict())


def test_the_classes_of_a_release_are_counted_by_hand(folder: Path) -> None:
    release = released(folder, max=0.4)
    everyone, shares = tclose.read(folder / "everyone.csv"), []
    for cells, rows in release.frame.group_by(["age", "zip", "sex"]):
        low, high = (int(end) for end in (str(cells[0]).strip("[]").split(", ") * 2)[:2])
        fits = everyone.filter(
            pl.col("age").cast(int).is_between(low, high)
            & pl.col("zip").cast(str).str.zfill(5).str.starts_with(str(cells[1]).rstrip("*"))
            & pl.col("sex").is_in(str(cells[2]).strip("{}").split(", "))
        )
        shares.append(Fraction(rows.height, fits.height))
    claim = release.certificate.presence
    assert claim is not None
    assert Fraction(claim.largest) == max(shares)


def test_what_cannot_be_found_is_not_called_impossible(folder: Path) -> None:
    for limits in ({"max": 0.1}, {"min": 0.9}):
        with pytest.raises(tclose.Infeasible, match="no partition was found for presence"):
            released(folder, "mondrian", **limits)
    with pytest.raises(tclose.Unsuited, match="does not publish: choose another"):
        released(folder, "anatomy", max=0.5)


def test_check_judges_presence(folder: Path) -> None:
    result = tclose.check(tclose.read(folder / "table.csv"), policy(folder, max=0.4))
    found = {finding.model: finding for finding in result.models}
    assert found["presence_max"].reached == 1
    assert not found["presence_max"].satisfied
    assert found["presence_min"].satisfied
    release = released(folder, max=0.4)
    again = tclose.check(release.frame, policy(folder, max=0.4))
    assert all(finding.satisfied for finding in again.models if finding.model.startswith("presence"))


def test_verify_judges_presence_again(folder: Path) -> None:
    release, paths = released(folder, max=0.4), (folder / "release.csv", folder / "certificate.json")
    release.write(paths[0], certificate=paths[1])
    plain = tclose.verify(*paths)
    assert plain.holds
    assert "presence" in plain.not_verifiable
    whole = tclose.verify(*paths, population=folder / "everyone.csv")
    assert whole.holds
    assert "presence" not in whole.not_verifiable
    pl.concat([people(), people(50, seed=5)]).drop("ill").write_csv(folder / "others.csv")
    other = tclose.verify(*paths, population=folder / "others.csv")
    assert "which is not what the certificate says" in other.problems[0]
    claimed = json.loads(paths[1].read_text())
    forged = json.loads(paths[1].read_text())
    del forged["digest"], forged["presence"]["quasi"]["age"]
    paths[1].write_text(json.dumps({**forged, "digest": digest_of(forged)}))
    assert "quasi-identifiers are not those of the policy" in str(
        tclose.verify(*paths, population=folder / "everyone.csv").problems
    )
    claimed["presence"]["largest"] = "1/2"
    paths[1].write_text(json.dumps(claimed))
    assert any("presence is not within" in problem for problem in tclose.verify(*paths).problems)


def test_hierarchies_of_files_stand_in_the_certificate(folder: Path) -> None:
    codes = ["02101", "02139", "02142", "98101"]
    (folder / "zip.csv").write_text("".join(f"{code};{code[:2]};*\n" for code in codes))
    asked = policy(folder, max=0.4).to_dict()
    asked["quasi"]["zip"] = {"hierarchy": "zip.csv"}
    located = tclose.Policy.from_dict({**asked, "presence": {"population": "everyone.csv", "max": 0.4}}, folder=folder)
    with pytest.warns(tclose.LeakWarning):
        release = tclose.anonymize(people()[:100], located, method="mondrian", seed=1)
    paths = (folder / "r.csv", folder / "c.json")
    release.write(paths[0], certificate=paths[1])
    assert tclose.verify(*paths, population=people().drop("ill")).holds


def test_an_adversary_with_the_population(folder: Path) -> None:
    table, release = tclose.read(folder / "table.csv"), released(folder, max=0.4)
    asked = tclose.Policy.from_dict({k: v for k, v in policy(folder, max=0.4).to_dict().items() if k != "presence"})
    found = tclose.attack(release, original=table, policy=asked, population=folder / "everyone.csv")["membership"]
    assert found.findings["raw"].figure == 1
    assert found.findings["raw"].rows > 0
    assert found.findings["release"].figure <= 0.4
    assert found.findings["release"].rows == 0
    alone = tclose.attack(release, original=table, policy=asked)["membership"].findings["release"]
    assert alone.figure is None
    assert "--population" in alone.sentence


@pytest.mark.parametrize("other", [{"person": "ill"}, {"both": ["age"]}])
def test_what_presence_does_not_go_with(folder: Path, other: dict[str, Any]) -> None:
    asked = {**policy(folder, max=0.4).to_dict(), **other}
    with pytest.raises(tclose.PolicyError, match=f"presence does not go with {next(iter(other))}"):
        tclose.Policy.from_dict(asked, folder=folder)


# --- populations that cannot be used, or only seem so ---


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda frame: frame.drop("age"), "it has no column 'age'"),
        (lambda frame: frame.with_columns(age=pl.lit("old")), "column 'age' is not all numbers, as the table's is"),
        (lambda frame: frame[:20], "does not hold the table"),
        (lambda frame: frame.filter(pl.col("sex") == "f"), "does not hold the table"),
        (lambda frame: frame[:0], "no rows"),
    ],
)
def test_a_population_that_cannot_be_used(folder: Path, change: Any, sentence: str) -> None:
    change(people().drop("ill")).write_csv(folder / "everyone.csv")
    with pytest.raises(tclose.InputError, match=sentence) as refusal:
        released(folder, max=0.4)
    assert "\n" not in str(refusal.value)


def test_a_population_with_other_values_and_columns(folder: Path) -> None:
    """Older people, another sex and a further column: they fit no class, and only `min` minds."""
    more = people(30, seed=9).with_columns(age=pl.col("age") + 100, sex=pl.lit("x"), name=pl.lit("n")).drop("ill")
    pl.concat([people().drop("ill"), more], how="diagonal_relaxed").write_csv(folder / "everyone.csv")
    claim = released(folder, max=0.4).certificate.presence
    assert claim is not None
    assert (claim.least, claim.population_rows) == ("0/1", 430)
    with pytest.raises(tclose.Infeasible, match="no partition was found"):
        released(folder, "mondrian", min=0.01, max=0.9)


def test_rows_of_a_population_are_a_number(folder: Path) -> None:
    claim = released(folder, max=0.4).certificate.presence
    assert claim is not None
    assert claim.problems() == []
    for rows in ("x", 0, -3, True, 2.5, None):
        problems = replace(claim, population_rows=rows).problems()
        assert problems == ["what the certificate says about presence is not readable"]
