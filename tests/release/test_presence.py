"""δ-presence: the examples that showed the old rule wrong, releases, certificates, verify, attacks, and refusals.

The laws against a brute-force oracle are in `tests/laws/test_presence.py`.
"""

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

import tclose
from tclose.measure.attack.base import Finding
from tclose.measure.presence_claim import PresenceClaim
from tclose.release.certificate import digest_of
from tclose.types import Claim


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
        "quasi": {"age": {}, "zip": {"hierarchy": {"prefix": [3]}}, "sex": {}},
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


def released(folder: Path, method: str | None = None, **limits: Any) -> tclose.Release:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tclose.LeakWarning)
        return tclose.anonymize(tclose.read(folder / "table.csv"), policy(folder, **limits), method=method, seed=1)


# --- the examples of the proof ---


AGES = list(range(20, 100))


def ages(folder: Path, **limits: Any) -> tclose.Policy:
    """Return a policy for the 80 ages, of which a table has the 40 even ones."""
    pl.DataFrame({"age": AGES}).write_csv(folder / "ages.csv")
    asked = {"quasi": ["age"], "sensitive": {"pay": {"t": 0.5}}, "k": 2, "others": "drop"}
    return tclose.Policy.from_dict({**asked, "presence": {"population": "ages.csv", **limits}}, folder=folder)


def even() -> pl.DataFrame:
    return pl.DataFrame({"age": AGES[::2], "pay": [1 + age // 2 % 2 for age in AGES[::2]]})


def answer(frame: pl.DataFrame, policy: tclose.Policy) -> Claim:
    claim = tclose.check(frame, policy).presence
    assert claim is not None
    return claim


def ranges(*classes: tuple[str, int]) -> pl.DataFrame:
    """Return a release of ages with so many rows in each class."""
    cells = [text for text, rows in classes for _ in range(rows)]
    return pl.DataFrame({"age": cells, "pay": [1 + number % 2 for number in range(len(cells))]})


def test_a_limit_below_the_mean_chance_is_refused_at_once(tmp_path: Path) -> None:
    sentence = (
        r"max = 0.1 of presence cannot be reached: 40 of the 80 persons of the population are in the table, so their "
        r"mean chance is 1/2 \(0.5\), whatever is published; max must be at least 1/2 \(0.5\)"
    )
    with pytest.raises(tclose.Infeasible, match=sentence):
        tclose.anonymize(even(), ages(tmp_path, max=0.1))
    with pytest.raises(tclose.Infeasible, match=r"min = 0.6 .* min must be at most 1/2 \(0.5\)"):
        tclose.anonymize(even(), ages(tmp_path, min=0.6))
    claim = answer(even(), ages(tmp_path, max=0.1))
    assert claim.answer == "no"
    assert "their mean chance is 1/2" in claim.says


def test_the_chance_is_exact_and_no_end_of_a_range_tells(tmp_path: Path) -> None:
    policy = ages(tmp_path, max=0.5)
    release = tclose.anonymize(even(), policy)
    claim = release.certificate.presence
    assert isinstance(claim, PresenceClaim)
    assert (claim.least, claim.largest) == ("1/2", "1/2")
    ends = {int(end) for text in release.frame["age"].unique() for end in str(text).strip("[]").split(", ")}
    assert any(end % 2 for end in ends), "ends are those of the population, odd ages among them"
    assert answer(release.frame, policy).answer == "yes"
    plain = tclose.Policy.from_dict({k: v for k, v in policy.to_dict().items() if k != "presence"})
    attack = tclose.attack(release, original=even(), policy=policy)["membership"].findings["release"]
    assert (attack.figure, attack.rows) == (0.5, 0)
    assert "fits exactly one class and is in the table with a chance of exactly 0.5" in attack.sentence
    tight = tclose.anonymize(even(), plain, method="mondrian")
    found = tclose.attack(tight, original=even(), policy=plain, population=tmp_path / "ages.csv")["membership"]
    assert found.findings["release"].rows >= 2 * tight.certificate.claims.classes  # type: ignore[operator]
    assert found.findings["release"].figure == 1
    assert found.findings["release"].sentence.startswith("At least ")
    assert "are certainly in the table" in found.findings["release"].sentence


def test_two_classes_that_leave_persons_out(tmp_path: Path) -> None:
    """59 and 99 fit no class, and all four ends are members."""
    claim = answer(ranges(("[20, 58]", 20), ("[60, 98]", 20)), ages(tmp_path, max=0.6))
    assert claim.answer == "no"
    assert "of the 80 persons of the population 2 fit no class, but each must fit exactly one" in claim.says


def test_classes_that_overlap_give_no_chance(tmp_path: Path) -> None:
    result = tclose.check(ranges(("[20, 60]", 20), ("[58, 99]", 20)), ages(tmp_path, max=0.6))
    assert result.presence is not None
    assert "3 fit several classes" in result.presence.says
    assert [finding.model for finding in result.models if "presence" in finding.model] == ["presence_boxes"]
    assert not result.satisfied
    assert result.to_dict()["presence"]["answer"] == "no"


def test_a_range_that_is_not_the_hull_may_tell(tmp_path: Path) -> None:
    claim = answer(ranges(("[18, 59]", 20), ("[60, 99]", 20)), ages(tmp_path, max=0.6))
    assert claim.answer == "no"
    assert "the ranges of 1 of 2 classes are not those of all persons of the population" in claim.says
    assert answer(ranges(("[20, 59]", 20), ("[60, 99]", 20)), ages(tmp_path, max=0.6)).answer == "yes"


@pytest.mark.parametrize(
    ("colour", "size", "answer_is"),
    [
        ("{red, blue}", "[1, 2]", "yes"),
        ("{red, blue, green}", "[1, 2]", "no"),
        ("{red, blue}", "[1, 2] or missing", "no"),
    ],
)
def test_a_set_or_a_missing_value_that_no_person_has_may_tell(
    tmp_path: Path, colour: str, size: str, answer_is: str
) -> None:
    """Everybody fits exactly one class in all three cases."""
    colours = ["red", "blue", "red", "blue", "green", "green", "green", "green"]
    everyone = pl.DataFrame({"colour": colours, "size": [1, 1, 2, 2, 5, None, 5, None]})
    everyone.write_csv(tmp_path / "all.csv")
    asked = {"quasi": ["colour", "size"], "k": 2, "presence": {"population": "all.csv", "max": 0.5}}
    colour = "{" + ", ".join(sorted(colour.strip("{}").split(", "))) + "}"
    release = pl.DataFrame({"colour": [colour, colour, "green", "green"], "size": [size, size, *["5 or missing"] * 2]})
    assert answer(release, tclose.Policy.from_dict(asked, folder=tmp_path)).answer == answer_is


def test_a_table_of_the_whole_population_is_no_secret(tmp_path: Path) -> None:
    everybody = pl.DataFrame({"age": AGES, "pay": [1, 2] * 40})
    with pytest.raises(tclose.Infeasible, match=r"max must be at least 1$"):
        tclose.anonymize(everybody, ages(tmp_path, max=0.5))
    claim = tclose.anonymize(everybody, ages(tmp_path, min=0.5)).certificate.presence
    assert isinstance(claim, PresenceClaim)
    assert (claim.least, claim.largest) == ("1/1", "1/1")
    assert "with a chance of exactly 1 (asked for" in claim.words


def test_withheld_rows_widen_the_upper_side(tmp_path: Path) -> None:
    """Each of the 4 withheld members may be in any class."""
    table = even().with_columns(pay=pl.when(pl.col("age") < 28).then(None).otherwise(pl.col("pay")))
    policy = ages(tmp_path, max=0.9)
    settings = policy.to_dict() | {"sensitive": {"pay": {"t": 0.5, "missing": "suppress"}}, "suppress": 0.1}
    asked = tclose.Policy.from_dict({**settings, "presence": {"population": "ages.csv", "max": 0.9}}, folder=tmp_path)
    release = tclose.anonymize(table, asked)
    claim, shares = release.certificate.presence, []
    assert isinstance(claim, PresenceClaim)
    for text, rows in release.frame.group_by("age"):
        low, high = (int(end) for end in (str(text[0]).strip("[]").split(", ") * 2)[:2])
        shares.append((rows.height, high - low + 1))
    assert release.certificate.withheld == 4
    assert Fraction(claim.least) == min(Fraction(members, persons) for members, persons in shares)
    assert Fraction(claim.largest) == max(Fraction(min(members + 4, persons), persons) for members, persons in shares)
    assert Fraction(claim.largest) <= Fraction(9, 10)
    release.write(tmp_path / "r.csv", certificate=tmp_path / "c.json")
    found = tclose.verify(tmp_path / "r.csv", tmp_path / "c.json", population=tclose.read(tmp_path / "ages.csv"))
    assert (found.problems, found.presence.answer) == ((), "yes")  # type: ignore[union-attr]


def test_withheld_members_count_among_those_who_are_in_the_table(tmp_path: Path) -> None:
    """40 of 80 persons are in the table, 4 of them withheld: nobody's chance can be below 40/80 on average."""
    table = even().with_columns(pay=pl.when(pl.col("age") < 28).then(None).otherwise(pl.col("pay")))
    settings = ages(tmp_path, max=1).to_dict() | {
        "sensitive": {"pay": {"t": 0.5, "missing": "suppress"}},
        "suppress": 0.1,
    }
    presence = {"population": "ages.csv", "max": 0.48}
    asked = tclose.Policy.from_dict({**settings, "presence": presence}, folder=tmp_path)
    with pytest.raises(tclose.Infeasible, match="40 of the 80 persons"):
        tclose.anonymize(table, asked)


# --- releases ---


def test_the_classes_of_a_release_are_counted_by_hand(folder: Path) -> None:
    release = released(folder, max=0.4)
    everyone, shares, seen = tclose.read(folder / "everyone.csv"), [], 0
    for cells, rows in release.frame.group_by(["age", "zip", "sex"]):
        low, high = (int(end) for end in (str(cells[0]).strip("[]").split(", ") * 2)[:2])
        fits = everyone.filter(
            pl.col("age").cast(int).is_between(low, high)
            & pl.col("zip").cast(str).str.zfill(5).str.starts_with(str(cells[1]).rstrip("*"))
            & pl.col("sex").is_in(str(cells[2]).strip("{}").split(", "))
        )
        ends = fits["age"].cast(int)
        assert (low, high) == (ends.min(), ends.max())
        seen += fits.height
        shares.append(Fraction(rows.height, fits.height))
    claim = release.certificate.presence
    assert isinstance(claim, PresenceClaim)
    assert (Fraction(claim.least), Fraction(claim.largest)) == (min(shares), max(shares))
    assert Fraction(claim.largest) <= Fraction(2, 5)
    assert len(shares) > 3
    assert seen == everyone.height == claim.population_rows
    assert release.certificate.method == "mondrian"
    assert "everyone" not in json.dumps(release.certificate.to_dict())


@pytest.mark.parametrize("method", ["weave", "incognito", "anatomy", "projections"])
def test_other_methods_refuse_by_name(folder: Path, method: str) -> None:
    with pytest.raises(tclose.Unsuited, match=f"method '{method}' cannot keep presence.*choose method 'mondrian'"):
        released(folder, method, max=0.5)


def test_relaxed_cuts_share_persons(folder: Path) -> None:
    with pytest.raises(tclose.Unsuited, match="cuts = relaxed puts equal values into several classes"):
        released(folder, "mondrian:relaxed", max=0.5)


def test_no_lower_bound_beside_presence(folder: Path) -> None:
    with pytest.raises(tclose.PolicyError, match="presence publishes ranges of the population"):
        tclose.bound(tclose.read(folder / "table.csv"), policy(folder, max=0.5), seconds=1)


def test_a_step_whose_ranges_share_their_ends_is_refused(folder: Path) -> None:
    asked = policy(folder, max=0.5).to_dict()
    asked["quasi"]["age"] = {"step": 5}
    located = {**asked, "presence": {"population": "everyone.csv", "max": 0.5}}
    with pytest.raises(tclose.PolicyError, match=r"quasi.age.step: with this step.*hierarchy = \{ width"):
        tclose.anonymize(people()[:100], tclose.Policy.from_dict(located, folder=folder))


def test_a_step_that_keeps_ranges_apart(tmp_path: Path) -> None:
    """Nobody has a multiple of 10, so ranges that are rounded outward share nobody."""
    values = [value for value in range(1, 100) if value % 10]
    pl.DataFrame({"v": values}).write_csv(tmp_path / "all.csv")
    table = pl.DataFrame({"v": values[::3], "s": ["x", "y", "z"] * 10})
    asked = {"quasi": {"v": {"step": 10}}, "sensitive": {"s": {"t": 1}}, "k": 2, "presence": {"population": "all.csv"}}
    asked["presence"]["max"] = 0.5  # type: ignore[index]
    policy = tclose.Policy.from_dict(asked, folder=tmp_path)
    release = tclose.anonymize(table, policy)
    texts = sorted(release.frame["v"].unique().to_list())
    assert len(texts) > 4
    assert all(int(end) % 10 == 0 for text in texts for end in text.strip("[]").split(", "))
    assert answer(release.frame, policy).answer == "yes"


def test_dates_tails_and_missing_cells(tmp_path: Path) -> None:
    chance = np.random.default_rng(4)
    days = pl.date_range(pl.date(2000, 1, 1), pl.date(2000, 12, 31), eager=True)
    everyone = pl.DataFrame(
        {
            "born": days.sample(240, with_replacement=True, seed=1),
            "pay": [None if number % 9 == 0 else int(pay) for number, pay in enumerate(chance.integers(0, 120, 240))],
        }
    )
    everyone.write_csv(tmp_path / "all.csv")
    asked: dict[str, Any] = {"quasi": {"born": {}, "pay": {"top": 100}}, "sensitive": {"s": {"t": 0.9}}, "k": 3}
    asked["presence"] = {"population": "all.csv", "min": 0.1, "max": 0.8}
    policy = tclose.Policy.from_dict(asked, folder=tmp_path)
    table = everyone[:100].with_columns(s=pl.Series(chance.choice(["a", "b"], 100)))
    release = tclose.anonymize(table, policy)
    assert release.certificate.claims.classes > 3  # type: ignore[operator]
    assert answer(release.frame, policy).answer == "yes"
    shown = release.frame["pay"].unique().to_list()
    assert any("≥100" in text for text in shown)
    assert any("missing" in text for text in shown)


def test_kept_columns_are_classes_of_their_own(folder: Path) -> None:
    asked = policy(folder, max=0.4).to_dict()
    del asked["quasi"]["sex"]
    kept = {**asked, "keep": ["sex"], "presence": {"population": "everyone.csv", "max": 0.4}}
    located = tclose.Policy.from_dict(kept, folder=folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tclose.LeakWarning)
        release = tclose.anonymize(people()[:100], located)
        assert set(release.frame["sex"]) == {"f", "m"}
        assert answer(release.frame, located).answer == "yes"
        with pytest.raises(tclose.Infeasible, match="have kept values that no published row has, so they fit no box"):
            tclose.anonymize(people()[:100].filter(pl.col("sex") == "f"), located)


def test_verify_judges_presence_again(folder: Path) -> None:
    release, paths = released(folder, max=0.4), (folder / "release.csv", folder / "certificate.json")
    release.write(paths[0], certificate=paths[1])
    plain = tclose.verify(*paths)
    assert plain.holds
    assert "presence" in plain.not_verifiable
    assert plain.presence is not None
    assert (plain.presence.answer, plain.to_dict()["presence"]["answer"]) == ("undecided", "undecided")
    assert "--population FILE" in plain.presence.needs
    whole = tclose.verify(*paths, population=folder / "everyone.csv")
    assert whole.holds
    assert whole.presence is not None
    assert whole.presence.answer == "yes"
    assert "presence" not in whole.not_verifiable
    pl.concat([people(), people(50, seed=5)]).drop("ill").write_csv(folder / "others.csv")
    other = tclose.verify(*paths, population=folder / "others.csv")
    assert not other.holds
    assert other.presence is not None
    assert other.presence.answer == "no"
    claimed = json.loads(paths[1].read_text())
    forged = json.loads(paths[1].read_text())
    del forged["digest"], forged["presence"]["quasi"]["age"]
    paths[1].write_text(json.dumps({**forged, "digest": digest_of(forged)}))
    again = tclose.verify(*paths, population=folder / "everyone.csv")
    assert "quasi-identifiers are not those of the policy" in str(again.problems)
    claimed["presence"]["largest"] = "1/2"
    paths[1].write_text(json.dumps(claimed))
    beyond = tclose.verify(*paths)
    assert any("presence is not within" in problem for problem in beyond.problems)
    assert beyond.presence is not None
    assert beyond.presence.answer == "no"
    for said in ("x", None):
        claimed["presence"]["largest"] = said
        paths[1].write_text(json.dumps(claimed))
        for population in (None, folder / "everyone.csv"):
            found = tclose.verify(*paths, population=population)
            assert "what the certificate says about presence is not readable" in found.problems


def test_a_claim_below_the_mean_chance_is_refused_without_the_population(folder: Path) -> None:
    claim = released(folder, max=0.4).certificate.presence
    assert isinstance(claim, PresenceClaim)
    assert claim.problems(100, 0) == []
    forged = replace(claim, largest="1/5", least="1/10", max=0.2)
    assert forged.problems(100, 0) == [
        "what the certificate says about presence is impossible: the mean chance lies outside it"
    ]


def test_a_certificate_of_the_old_rule_cannot_be_relied_on(folder: Path) -> None:
    source = Path(__file__).parent / "format1" / "presence"
    paths = (source / "release.csv", source / "certificate.json")
    for population in (None, source / "population.csv"):
        verified = tclose.verify(*paths, population=population)
        assert verified.presence is not None
        assert verified.presence.answer == "undecided"
        assert "does not bound the chance of being in the table, so it cannot be relied on" in verified.presence.says
        assert verified.holds
    with pytest.raises(tclose.InputError, match="does not hold the table"):
        tclose.verify(*paths, population=tclose.read(source / "population.csv")[:5])


def test_an_entry_of_a_later_version_is_not_readable(folder: Path) -> None:
    release, paths = released(folder, max=0.4), (folder / "release.csv", folder / "certificate.json")
    release.write(paths[0], certificate=paths[1])
    content = json.loads(paths[1].read_text())
    content["presence"]["version"] = 3
    paths[1].write_text(json.dumps(content))
    with pytest.raises(tclose.InputError):
        tclose.verify(*paths)


def test_hierarchies_of_files_stand_in_the_certificate(folder: Path) -> None:
    codes = ["02101", "02139", "02142", "98101"]
    (folder / "zip.csv").write_text("".join(f"{code};{code[:2]};*\n" for code in codes))
    asked = policy(folder, max=0.4).to_dict()
    asked["quasi"]["zip"] = {"hierarchy": "zip.csv"}
    located = tclose.Policy.from_dict({**asked, "presence": {"population": "everyone.csv", "max": 0.4}}, folder=folder)
    with pytest.warns(tclose.LeakWarning):
        release = tclose.anonymize(people()[:100], located, seed=1)
    paths = (folder / "r.csv", folder / "c.json")
    release.write(paths[0], certificate=paths[1])
    assert tclose.verify(*paths, population=people().drop("ill")).holds


def test_labels_and_sets_of_persons_who_are_not_in_the_table(folder: Path) -> None:
    """The page, attacks and measures read boxes with values that only other persons have."""
    more = people(30, seed=9).with_columns(zip=pl.lit("021010000"), sex=pl.lit("x")).drop("ill")
    pl.concat([people().drop("ill"), more]).write_csv(folder / "everyone.csv")
    table, asked = tclose.read(folder / "table.csv"), policy(folder, max=0.6)
    release = released(folder, max=0.6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tclose.LeakWarning)
        found = tclose.attack(release, original=table, policy=asked)["membership"].findings["release"]
        kept = tclose.detail(release, original=table, policy=asked)
        release.report(folder / "page.html", original=table)
    assert found.figure is not None
    assert found.figure <= 0.6
    assert kept is not None


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


def membership(table: pl.DataFrame, population: pl.DataFrame, settings: dict[str, Any]) -> Finding:
    """Attack a release of ages, of which the rows without pay are withheld."""
    asked = {"quasi": {"age": {}}, "sensitive": {"pay": {"t": 1, "missing": "suppress"}}, "suppress": 0.2, "k": 2}
    given = tclose.Policy.from_dict(asked | settings)
    release = tclose.anonymize(table, given, method="mondrian")
    found = tclose.attack(release, original=table, policy=given, population=population)["membership"]
    return found.findings["release"]


def test_who_fits_no_class_may_be_a_withheld_member() -> None:
    """The persons of 98 and 99 years are in the table, and nobody sees their rows."""
    table = pl.DataFrame({"age": [*range(20, 60, 2), 98, 99], "pay": [*[1, 2] * 10, None, None]})
    sentence = membership(table, pl.DataFrame({"age": AGES}), {}).sentence
    assert sentence.endswith(" fit no class: of these, at most 2 can be in the table, in withheld rows.")
    seen = membership(table.head(20), pl.DataFrame({"age": AGES}), {}).sentence
    assert seen.endswith(" fit no class and are certainly not in it.")


@pytest.mark.parametrize("with_presence", [False, True])
def test_everybody_of_a_population_of_as_many_rows_is_in_the_table(tmp_path: Path, *, with_presence: bool) -> None:
    table = pl.DataFrame({"age": AGES, "pay": [*[1, 2] * 38, *[None] * 4]})
    table.select("age").write_csv(tmp_path / "all.csv")
    asked = {"presence": {"population": str(tmp_path / "all.csv"), "max": 1}} if with_presence else {}
    found = membership(table, table.select("age"), asked)
    assert (found.figure, found.rows) == (1, 80)
    assert found.sentence.startswith("Everybody of the population (80 rows) is certainly in the table")


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"person": "ill"}, "presence does not go with person"),
        ({"both": ["age"]}, "presence does not go with both"),
        ({"temper": 0.1}, "random swaps would move rows between boxes"),
        ({"sensitive": {"ill": {"average_t": 0.2}}}, "average_t of 'ill' is about all: say t instead"),
        ({"quasi": {"age": {"publish": "mean"}}}, "publish ranges of 'age' instead of means"),
    ],
)
def test_what_presence_does_not_go_with(folder: Path, other: dict[str, Any], sentence: str) -> None:
    asked = {**policy(folder, max=0.4).to_dict(), **other}
    with pytest.raises(tclose.PolicyError, match=sentence):
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
    """Older people, another sex and a further column: they fit a class as all others do."""
    more = people(30, seed=9).with_columns(age=pl.col("age") + 100, sex=pl.lit("x"), name=pl.lit("n")).drop("ill")
    pl.concat([people().drop("ill"), more], how="diagonal_relaxed").write_csv(folder / "everyone.csv")
    release = released(folder, min=0.05, max=0.4)
    claim = release.certificate.presence
    assert isinstance(claim, PresenceClaim)
    assert claim.population_rows == 430
    assert Fraction(claim.least) >= Fraction(1, 20)
    assert any("x" in str(text) for text in release.frame["sex"])


def test_figures_of_a_claim_are_numbers(folder: Path) -> None:
    claim = released(folder, max=0.4).certificate.presence
    assert isinstance(claim, PresenceClaim)
    for rows in ("x", 0, -3, True, 2.5, None):
        for forged in (replace(claim, population_rows=rows), replace(claim, boxes=rows)):
            assert forged.problems(100, 0) == ["what the certificate says about presence is not readable"]
    assert replace(claim, least=None).problems(100, 0) == ["what the certificate says about presence is not readable"]
