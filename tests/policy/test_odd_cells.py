"""Columns of numbers with a few odd cells: words become missing, cells below a limit are placed, all are named."""

from __future__ import annotations

import json
import random
import re
import tomllib
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from tests.conftest import TIMES

import tclose
from tclose import InputError, Policy, PolicyError, steps
from tclose.cli import run
from tclose.policy import Bins
from tclose.policy.column_settings import Below, limit_of
from tclose.policy.draft import guess
from tclose.table.bins import edges_with_limit
from tclose.table.profile import profiles

pytestmark = pytest.mark.filterwarnings("ignore::tclose.errors.SourceWarning")  # files have decimal commas
ROWS = 400
LOCALES = {  # separator, decimal mark, words, a cell below a limit
    "German": (";", ",", ("k.A.", "n.b."), "<0,2"),
    "English": (",", ".", ("n/d", "not done"), "<0.2"),
    "French": (";", ",", ("n.c.", "inconnu"), "< 0,2"),
    "Spanish": (";", ",", ("sin dato", "n.d."), "≤0,2"),
}


def lab_values(locale: str, chance: random.Random, *, words: float = 0.05, below: float = 0.2) -> list[str]:
    """Return cells as a laboratory writes them; the first one is a number."""
    _, mark, odd, limit = LOCALES[locale]

    def cell() -> str:
        drawn = chance.random()
        if drawn < words:
            return chance.choice(odd)
        return limit if drawn < words + below else f"{chance.uniform(0.2, 9):.1f}".replace(".", mark)

    return [f"1{mark}5", *(cell() for _ in range(ROWS - 1))]


def written(path: Path, locale: str, cells: list[str], chance: random.Random) -> Path:
    separator = LOCALES[locale][0]
    rows = [f"{chance.randint(18, 90)}{separator}{chance.choice('mf')}{separator}{cell}" for cell in cells]
    path.write_text("\n".join([separator.join(["age", "sex", "crp"]), *rows]) + "\n", encoding="utf-8")
    return path


def filled_in(text: str) -> str:
    return re.sub(r"^# t = 0\.\?", "t = 0.5 #", text, flags=re.MULTILINE)


@pytest.mark.parametrize("locale", LOCALES)
def test_odd_cells_are_named_counted_and_published_as_bins(locale: str, tmp_path: Path) -> None:
    chance = random.Random(locale)
    cells = lab_values(locale, chance)
    table = written(tmp_path / "labs.csv", locale, cells, chance)
    words, limit = LOCALES[locale][2:]

    draft = steps.init(table)
    crp = draft.columns[2]
    assert (crp.role, crp.kind) == ("sensitive", "number")
    assert crp.settings["below"] == "half"
    assert crp.settings["publish"] == "bin"
    assert "to hide it" not in draft.policy  # bins hide it already
    for word in (*words, limit):
        assert f"{json.dumps(word, ensure_ascii=False)} {cells.count(word)}" in " ".join(crp.remarks)
    assert set(words) <= set(tomllib.loads(draft.policy)["missing"])
    assert limit not in tomllib.loads(draft.policy)["missing"]

    policy, release, certificate = (tmp_path / name for name in ("policy.toml", "release.csv", "release.json"))
    policy.write_text(filled_in(draft.policy), encoding="utf-8")
    steps.anonymize(table, policy, out=release, certificate=certificate, options={"effort": "fast"})
    assert steps.verify(release, certificate).holds
    shown = tclose.read(release)["crp"].drop_nulls()
    assert shown.is_in(["[0, 0.2]"]).sum() == cells.count(limit) + sum(cell in ("0,2", "0.2") for cell in cells)
    assert not shown.str.contains(r"^[0-9<≤]").any(), "no number is published, measured or placed"
    assert "half" not in certificate.read_text(), "a reader needs to know bins alone"


@pytest.mark.parametrize("publish", ["bin", "range"])
def test_the_numbers_that_a_policy_places_decide(publish: str, tmp_path: Path) -> None:
    chance = random.Random(publish)
    cells = lab_values("German", chance, words=0)
    table = written(tmp_path / "labs.csv", "German", cells, chance)
    asked = {
        "quasi": {"age": {}},
        "sensitive": {"sex": {"t": 0.5}},
        "k": 5,
        "source": {"separator": ";", "decimal": ","},
    }
    column = {"below": {"<0,2": 0.15}}
    if publish == "range":
        asked["quasi"]["crp"] = column  # type: ignore[index]
    else:
        asked["sensitive"]["crp"] = column | {"t": 0.5, "bins": {"edges": [0, 0.2, 1, 9]}, "publish": "bin"}  # type: ignore[index]
    out = tmp_path / "release.csv"
    steps.anonymize(table, asked, out=out, certificate=tmp_path / "c.json", options={"effort": "fast"})
    assert steps.verify(out, tmp_path / "c.json").holds
    shown = tclose.read(out)["crp"].cast(pl.String)
    assert not shown.str.contains("0.15").any()
    at_most = sum(cell in ("<0,2", "0,2") for cell in cells)
    if publish == "bin":
        assert shown.is_in(["(0, 0.2]"]).sum() == at_most
    else:
        covering_all = shown.str.contains("≤0.2").sum()
        assert covering_all >= at_most


def test_on_disk_as_in_memory(tmp_path: Path) -> None:
    chance = random.Random(5)
    frame = pl.DataFrame(
        {
            "age": [str(chance.randint(20, 40)) for _ in range(600)],
            "crp": lab_values("English", chance, words=0) + ["0.7"] * (600 - ROWS),
            "tsh": lab_values("English", chance, words=0) + ["0.7"] * (600 - ROWS),
        }
    )
    frame.write_parquet(tmp_path / "labs.parquet")
    bins = {"quantiles": 5}
    policy = {
        "quasi": {"age": {}, "crp": {"below": "half"}},
        "sensitive": {"tsh": {"t": 0.4, "below": "half", "bins": bins, "publish": "bin"}},
    }
    in_memory, on_disk = (
        steps.check(tmp_path / "labs.parquet", policy, engine=engine) for engine in ("memory", "disk")
    )
    assert in_memory.to_dict() == on_disk.to_dict()
    out = tmp_path / "release.csv"
    steps.anonymize(
        tmp_path / "labs.parquet", policy, out=out, certificate=tmp_path / "c.json", engine="disk", method="weave"
    )
    assert steps.verify(out, tmp_path / "c.json").holds


@pytest.mark.parametrize("seed", range(30 * TIMES))
def test_one_bin_holds_everything_from_0_to_the_limit(seed: int) -> None:
    chance = random.Random(seed)
    edges = sorted(
        {Fraction(chance.randint(-3, 60), 10) for _ in range(chance.randint(3, 12))} | {Fraction(6), Fraction(7)}
    )
    kind = chance.choice(["quantiles", "count", "width"])
    limit = Fraction(chance.randint(1, 80), 10)
    made = edges_with_limit(edges, Bins(kind, 3), limit)  # type: ignore[arg-type]
    assert made == sorted(set(made))
    assert any(low <= 0 and limit <= high for low, high in pairwise(made))
    assert {edge for edge in edges[1:-1] if edge > limit} <= set(made), "no other bin is lost"


@pytest.mark.parametrize(
    ("below", "sentence"),
    [
        ({">500": 600}, "lies above a limit"),
        ({"<0,2": 0.3}, "at the limit or below it"),
        ({"<0,2": 0}, "above 0"),
        ({"<1,234": 1}, 'expected a cell such as "<0.2"'),
        ({"x": 1}, 'expected a cell such as "<0.2"'),
        ({"<0,3": "1/7"}, "decimal number"),
        ({}, 'expected "half", or a number for each cell'),
        ("third", 'expected "half", or a number for each cell'),
    ],
)
def test_what_below_refuses(below: object, sentence: str) -> None:
    with pytest.raises(PolicyError, match=re.escape(sentence)):
        Policy(quasi={"crp": {"below": below}}, k=2)


def test_below_asks_for_bins_and_survives_a_round_trip() -> None:
    with pytest.raises(PolicyError, match='say bins and publish = "bin" as well'):
        Policy(quasi=["age"], sensitive={"crp": {"t": 0.2, "below": "half"}})
    with pytest.raises(PolicyError, match="drop hierarchy and publish, or below"):
        Policy(quasi={"crp": {"below": "half", "publish": "mean"}}, k=2)
    for setting in ("half", {"<0,2": 0.1}):
        policy = Policy(quasi={"crp": {"below": setting}}, k=2)
        assert policy.to_dict()["quasi"]["crp"]["below"] == setting
        assert Policy.of(policy.to_dict()) == policy


def test_edges_must_leave_room_for_a_cell_below_its_limit() -> None:
    frame = pl.DataFrame({"age": ["20"] * 9, "crp": ["<0.2", "0.1", "3"] * 3})
    bins = {"bins": {"edges": [0, 0.1, 5]}, "publish": "bin", "below": "half", "t": 0.9}
    with pytest.raises(PolicyError, match=r"no bin holds everything from 0 to 0\.2"):
        tclose.check(frame, {"quasi": ["age"], "sensitive": {"crp": bins}})
    with pytest.raises(PolicyError, match=r"top must lie above the limit 0\.2"):
        tclose.anonymize(frame.select("crp"), {"quasi": {"crp": {"below": "half", "top": 0.1}}, "k": 2})


@pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
def test_an_anonymizer_places_cells_below_a_limit() -> None:
    pytest.importorskip("sklearn")
    from tclose.sklearn import Anonymizer

    chance = random.Random(6)
    crp = lab_values("English", chance, words=0)
    frame = pl.DataFrame({"age": [chance.randint(20, 60) for _ in range(ROWS)], "crp": crp})
    policy = {"quasi": {"crp": {"below": "half"}, "age": {}}, "k": 5}
    fitted = Anonymizer(policy, method="mondrian").fit(frame)
    shown = fitted.transform(pl.DataFrame({"age": [30, 30], "crp": ["<0.2", "8.9"]}))["crp"].to_list()
    assert shown[0].startswith("≤0.2") or shown[0].startswith("[≤0.2")
    assert "0.2" not in shown[1]


@pytest.mark.parametrize("role", ["quasi", "sensitive"])
def test_new_rows_with_cells_below_a_limit_do_not_join(role: str, tmp_path: Path) -> None:
    chance = random.Random(role)
    below = {"below": "half", "t": 0.5, "bins": {"quantiles": 4}, "publish": "bin"}
    policy = {
        "quasi": {"age": {}, **({"crp": {"below": "half"}} if role == "quasi" else {})},
        "sensitive": {"sex": {"t": 0.5}, **({"crp": below} if role == "sensitive" else {})},
        "k": 5,
    }
    first, more = (tmp_path / name for name in ("first.csv", "more.csv"))
    written(first, "English", lab_values("English", chance, words=0), chance)
    written(more, "English", ["0.5", "<0.2", "0.7"], chance)
    files = {name: tmp_path / f"{name}.json" for name in ("certificate", "record")}
    steps.anonymize(first, policy, out=tmp_path / "release.csv", options={"effort": "fast"}, **files)
    with pytest.raises(InputError, match="cells below a limit, and new rows with such cells cannot join"):
        steps.apply(files["record"], more, out=tmp_path / "next.csv")
    written(more, "English", ["0.5", "0.7"], chance)
    steps.apply(files["record"], more, out=tmp_path / "next.csv", release=tmp_path / "release.csv")


def test_a_query_refuses_cells_below_a_limit() -> None:
    with pytest.raises(PolicyError, match="a query cannot place cells below a limit"):
        steps.sql_check(Policy(quasi={"crp": {"below": "half"}}, k=2), table="t", dialect="duckdb")


@pytest.mark.parametrize(
    "cell", ["<0", "<", "<-1", "< a", "<1,234", "<1.234", "<10.000", "<.", "<,", "<.0", "0.2", "<<1"]
)
def test_what_is_no_cell_below_a_limit(cell: str) -> None:
    assert limit_of(cell) is None
    assert Below().place_of(cell) is None


def test_a_limit_may_begin_with_its_decimal_mark() -> None:
    frame = pl.DataFrame({"crp": ["<.2", "<,5", *(f"{row}.5" for row in range(30))]})
    (column,) = profiles(frame)
    assert column.kind == "number"
    assert set(column.limits) == {"<.2", "<,5"}
    assert Below().place_of("<.2") == (Fraction(1, 10), Fraction(1, 5))


def test_thousands_are_no_limits_of_one(tmp_path: Path) -> None:
    """<1.000 among numbers such as 1.234,5 is below one thousand: read as below one, its bin would be false."""
    chance = random.Random(7)
    cells = ["<1.000"] * 9 + [f"{chance.randint(1, 9)}.{chance.randint(100, 999)},5" for _ in range(ROWS - 9)]
    table = written(tmp_path / "labs.csv", "German", cells, chance)
    assert "<1.000" not in str(steps.init(table).columns[2].settings)
    assert "below" not in steps.init(table).columns[2].settings
    with pytest.raises(PolicyError, match="can be read in one way only"):
        Policy(quasi={"crp": {"below": {"<1.000": 500}}}, k=2)


def test_a_word_among_numbers_that_is_an_answer_elsewhere_is_asked_about() -> None:
    numbers = [*(f"{row}.5" for row in range(95)), *["none"] * 5]
    frame = pl.DataFrame({"drinks": numbers, "complication": ["none", "fever", "bleeding", "none"] * 25})
    drinks, complication = guess(profiles(frame))
    assert '"none" 5' in " ".join(drinks.remarks)
    assert '"none" means "no value" here: if it is an answer' in " ".join(complication.remarks)
    assert "here: if it is an answer" not in " ".join(drinks.remarks)


def test_more_than_a_few_words_leave_the_column_as_it_is() -> None:
    numbers = [f"{row}.5" for row in range(85)]
    (few,) = guess(profiles(pl.DataFrame({"x": [*numbers, *["k.A."] * 9]})))
    (many,) = guess(profiles(pl.DataFrame({"x": [*numbers, *["k.A."] * 15]})))
    (digits,) = guess(profiles(pl.DataFrame({"x": [*numbers, "12a"]})))
    (levels,) = guess(profiles(pl.DataFrame({"x": ["0", "1", "2", "3"] * 30 + ["many"] * 5})))
    assert [each.kind for each in (few, many, digits, levels)] == ["number", "mixed", "mixed", "mixed"]


def test_numbers_above_a_limit_are_named_and_missing() -> None:
    frame = pl.DataFrame({"x": [*(f"{row}.5" for row in range(95)), ">500", ">500", "90+"]})
    (column,) = profiles(frame)
    assert dict(column.beyond) == {">500": 2, "90+": 1}
    assert column.missing == 3


def test_a_draft_without_a_sensitive_column_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"age": [20, 30] * 50, "colour": ["red", "blue"] * 50}).write_csv("t.csv")
    assert run(["init", "t.csv"]) == 0
    shown = capsys.readouterr()
    assert "# Decide: which column must nobody learn about a person?" in shown.out
    assert shown.err.startswith("warning: the draft has no sensitive column")
    assert run(["init", "t.csv", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["warnings"]) == 1


@pytest.mark.parametrize(
    "name",
    [
        "hiv2004",
        "Diagnose",
        "Krankheit",
        "Laborwert",
        "outcome",
        "deny",
        "ph.ecog",
        "stage",
        "nbaffairs",
        "hlth",
        "Todesursache",
        "smoker",
        "Raucher",
        "pregnant",
        "Schwangerschaft",
        "relapse",
        "Rezidiv",
        "status",
        "arrests",
    ],
)
def test_diseases_results_and_outcomes_are_sensitive(name: str) -> None:
    (found,) = [each for each in guess(profiles(pl.DataFrame({"age": [20, 30] * 9, name: ["a", "b"] * 9}))) if
                each.column == name]  # fmt: skip
    assert found.role == "sensitive"


@pytest.mark.parametrize(
    ("text", "role"), [("Ever diagnosed with diabetes", "sensitive"), ("Alter in Jahren; Beruf", "quasi")]
)
def test_a_description_tells_what_a_name_does_not(text: str, role: str, tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    pandas = pl.DataFrame({"sex": [1.0, 2.0] * 20, "v7": [1.0, 1.0, 1.0, 2.0] * 10}).to_pandas()
    pyreadstat.write_sav(pandas, str(tmp_path / "t.sav"), column_labels=["Sex", text])
    found = steps.init(tmp_path / "t.sav").columns[1]
    assert found.role == role
    assert found.why.startswith("its description")
