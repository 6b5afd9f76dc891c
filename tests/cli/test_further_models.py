"""kl, average_t and t_by on the command line: from check to a verified release and its page, and bad settings."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

Run = Callable
ROWS = 240
MODELS = {
    "kl": "kl = 0.3",
    "average_t": "t = 0.5\naverage_t = 0.12",
    "t_by, sensitive": 't = 0.4\nt_by = { column = "group", t = { minor = 0.1 } }',
    "t_by, kept": 't = 0.5\nt_by = { column = "ward", t = { n = 0.25, "x" = 0.3 } }',
}
every_model = pytest.mark.parametrize("model", MODELS)


def policy(setting: str, *, keep: bool = False) -> str:
    kept = "keep = ['ward']" if keep else "[quasi.ward]"
    head, tail = (kept, "") if keep else ("", kept)
    return f"{head}\nk = 3\nquasi.age = {{}}\n{tail}\n[sensitive.pay]\n{setting}\n[sensitive.group]\nalpha = 1\n"


@pytest.fixture
def people(folder: Path) -> Path:
    random = np.random.default_rng(8)
    ages = random.integers(8, 80, ROWS)
    pays = np.clip(ages // 12 + random.integers(0, 5, ROWS), 0, 9)
    groups = np.where(ages < 18, "minor", "adult")
    wards = random.choice(["n", "s", "x"], ROWS)
    rows = [",".join(map(str, row)) for row in zip(ages, wards, pays, groups, strict=True)]
    Path("t.csv").write_text("\n".join(["age,ward,pay,group", *rows]) + "\n")
    return folder


def write_policy(model: str) -> None:
    Path("p.toml").write_text(policy(MODELS[model], keep=model == "t_by, kept"))


# --- judges that know nothing of tclose ---


def classes() -> list[list[dict[str, str]]]:
    found = defaultdict(list)
    for row in pl.read_csv("r.csv", infer_schema=False).to_dicts():
        found[row["age"], row["ward"]].append(row)
    return list(found.values())


def shares(rows: Iterable[dict[str, str]], domain: list[str]) -> list[Fraction]:
    count = Counter(row["pay"] for row in rows)
    return [Fraction(count[value], count.total()) for value in domain]


def figures() -> list[tuple[list[dict[str, str]], Fraction, float]]:
    """The members of each class, its earth mover's distance by ranks, and its KL divergence."""
    everyone = [row for mine in classes() for row in mine]
    domain = sorted({row["pay"] for row in everyone}, key=int)
    q, found = shares(everyone, domain), []
    for mine in classes():
        p = shares(mine, domain)
        sums = [abs(sum(p[:i], Fraction(0)) - sum(q[:i], Fraction(0))) for i in range(1, len(domain))]
        divergence = sum(float(a) * math.log(a / b) for a, b in zip(p, q, strict=True) if a)
        found.append((mine, sum(sums, Fraction(0)) / (len(domain) - 1), divergence))
    return found


def assert_lawful(model: str) -> None:
    if model == "kl":
        assert max(divergence for *_, divergence in figures()) <= 0.3 + 1e-12
    elif model == "average_t":
        assert sum(len(mine) * distance for mine, distance, _ in figures()) <= ROWS * Fraction(12, 100)
        assert max(distance for _, distance, _ in figures()) <= Fraction(1, 2)
    else:
        smaller = {"minor": Fraction(1, 10), "n": Fraction(1, 4), "x": Fraction(3, 10)}
        column, usual = ("group", Fraction(4, 10)) if model == "t_by, sensitive" else ("ward", Fraction(1, 2))
        for mine, distance, _ in figures():
            named = [smaller[row[column]] for row in mine if row[column] in smaller]
            assert distance <= min([usual, *named])


@pytest.mark.one_in(2)
@every_model
@pytest.mark.usefixtures("people")
def test_a_release_is_lawful_certified_verified_and_explained_on_a_page(tclose: Run, model: str) -> None:
    write_policy(model)
    assert tclose("check", "t.csv", "--policy", "p.toml").status == 1
    made = tclose(
        *("anonymize", "t.csv", "--policy", "p.toml", "--out", "r.csv", "--certificate", "c.json", "--seed", "1"),
        *("--report", "r.html", "--option", "effort=fast"),
    )
    assert made.status == 0, made.err
    assert len(classes()) > 3
    assert_lawful(model)
    assert tclose("verify", "r.csv", "--certificate", "c.json").status == 0
    name = model.partition(",")[0]
    certified = [claim for claim in json.loads(Path("c.json").read_text())["models"] if claim["model"] == name]
    assert [claim["satisfied"] for claim in certified] == [True]
    page = Path("r.html").read_text()
    for word in {"kl": ["KL divergence"], "average_t": ["Average t-closeness"], "t_by": ["smallest t of its"]}[name]:
        assert word in page


@every_model
@pytest.mark.usefixtures("people")
def test_verify_finds_out_what_was_changed(tclose: Run, model: str) -> None:
    """Rows move between classes, and the certificate's fingerprint is not asked: the models fail by themselves."""
    write_policy(model)
    arguments = ("--policy", "p.toml", "--out", "r.csv", "--certificate", "c.json", "--seed", "1")
    assert tclose("anonymize", "t.csv", *arguments, "--method", "mondrian").status == 0
    rows = pl.read_csv("r.csv", infer_schema=False)
    rows.with_columns(pl.col("pay").sort()).write_csv("r.csv")
    found = tclose("verify", "r.csv", "--certificate", "c.json", "--json")
    assert found.status == 1
    name = model.partition(",")[0]
    answer = json.loads(found.out)
    failing = [each["failing_classes"] for each in answer["models"] if each["model"] == name]
    assert any(problem.startswith(f"{name} of 'pay' fails in {failing[0]:,} class") for problem in answer["problems"])


@pytest.mark.each_value
@pytest.mark.parametrize("method", ["mondrian", "microaggregation:merge", "clustering", "fragmentation"])
@pytest.mark.parametrize("model", ["kl", "average_t", "t_by, sensitive"])
@pytest.mark.usefixtures("people")
def test_other_methods_meet_it(tclose: Run, model: str, method: str) -> None:
    write_policy(model)
    arguments = ("--policy", "p.toml", "--out", "r.csv", "--certificate", "c.json", "--method", method, "--seed", "1")
    made = tclose("anonymize", "t.csv", *arguments)
    assert made.status == 0, made.err
    assert_lawful(model)
    assert tclose("verify", "r.csv", "--certificate", "c.json").status == 0


@pytest.mark.each_value
@pytest.mark.parametrize("method", ["anatomy", "projections"])
@pytest.mark.parametrize("model", ["kl", "average_t"])
@pytest.mark.usefixtures("people")
def test_several_tables_meet_it(tclose: Run, model: str, method: str) -> None:
    write_policy(model)
    arguments = ("--policy", "p.toml", "--out", "r.csv", "--certificate", "c.json", "--method", method, "--seed", "1")
    options = ("--option", "base=mondrian") if method == "projections" else ()
    made = tclose("anonymize", "t.csv", *arguments, *options)
    assert made.status == 0, made.err
    assert tclose("verify", "r.csv", "--certificate", "c.json").status == 0


@pytest.mark.usefixtures("people")
def test_an_average_alone_is_warned_about(tclose: Run) -> None:
    Path("p.toml").write_text(policy("average_t = 0.2"))
    assert "bounds no single class" in " ".join(tclose("check", "t.csv", "--policy", "p.toml").err.split())
    Path("p.toml").write_text(policy("average_t = 0.2\nt = 0.9"))
    assert "bounds no single class" not in " ".join(tclose("check", "t.csv", "--policy", "p.toml").err.split())


@pytest.mark.usefixtures("people")
def test_explain_says_how_a_class_stands(tclose: Run) -> None:
    Path("p.toml").write_text(
        policy('kl = 0.3\naverage_t = 0.1\nt = 0.5\nt_by = { column = "group", t = { minor = 0.1 } }')
    )
    arguments = ("explain", "t.csv", "--policy", "p.toml", "--attribute", "pay", "--class", "1")
    said = " ".join(tclose(*arguments).out.split())
    assert "nats (limit 0.3)" in said
    assert "Average distance over all rows: 0." in said
    notes = json.loads(tclose(*arguments, "--json").out)["notes"]
    assert len(notes) == 3
    young = Path("t.csv").read_text().splitlines()[1].endswith("minor")
    assert notes[2].startswith("The smallest t of the members' groups is 0.1" if young else "No member of the class is")


@pytest.mark.usefixtures("people")
def test_what_cannot_be_reached_is_said_with_what_can(tclose: Run) -> None:
    """The rows of each kept ward stay apart, so the average over the wards is the least there is."""
    Path("p.toml").write_text(policy("average_t = 0.0001", keep=True))
    made = tclose("anonymize", "t.csv", "--policy", "p.toml", "--out", "r.csv")
    assert made.status == 1
    said = " ".join(made.err.split())
    assert "average_t of 'pay' = 0.0001 cannot be reached: 0." in said
    level = said.partition("cannot be reached: ")[2].partition(" can be")[0]
    Path("p.toml").write_text(policy(f"average_t = {level}", keep=True))
    assert tclose("anonymize", "t.csv", "--policy", "p.toml", "--out", "r.csv", "--method", "mondrian").status == 0


BAD = {
    "kl = -0.1": "sensitive.pay.kl: expected a number of at least 0, not -0.1",
    "kl = nan": "sensitive.pay.kl: expected a number",
    "kl = 'much'": "sensitive.pay.kl: expected a number",
    "average_t = 1.1": "sensitive.pay.average_t: 1.1 is outside [0, 1]",
    "average_t = -1": "sensitive.pay.average_t: -1 is outside [0, 1]",
    "average_t = inf": "sensitive.pay.average_t: expected a number",
    "average_t = 0.1\nt = 0.2\nn = 9": "average_t does not go with n",
    "t = 0.2\nt_by = 0.1": "sensitive.pay.t_by: expected a table of settings",
    "t = 0.2\nt_by = { column = 'group' }": "expected both",
    "t = 0.2\nt_by = { column = 'group', t = {} }": "expected a t for each group",
    "t = 0.2\nt_by = { column = 'group', t = { minor = 2 } }": "sensitive.pay.t_by.t.minor: 2 is outside [0, 1]",
    "t = 0.2\nt_by = { column = 'group', t = { minor = nan } }": "sensitive.pay.t_by.t.minor: expected a number",
    "t = 0.2\nt_by = { column = 'group', t = { minor = 0.3 } }": "0.3 is above the column's t = 0.2",
    "t = 0.2\nt_by = { column = 'group', t = { miner = 0.1 } }": "no row of 'group' is of group 'miner'",
    "t = 0.2\nt_by = { column = 'age', t = { 9 = 0.1 } }": "'age' is not published as it is",
    "t = 0.2\nt_by = { column = 'grupp', t = { minor = 0.1 } }": "did you mean 'group'?",
    "t = 0.2\nt_by = { colunm = 'group', t = { minor = 0.1 } }": "unknown key 'colunm'",
    "l = 2\nt_by = { column = 'group', t = { minor = 0.1 } }": "t_by goes with t",
    "t = 0.2\nn = 5\nt_by = { column = 'group', t = { minor = 0.1 } }": "t_by does not go with n",
}


@pytest.mark.parametrize("setting", BAD)
@pytest.mark.usefixtures("people")
def test_a_bad_setting_is_refused_in_one_sentence(tclose: Run, setting: str) -> None:
    Path("p.toml").write_text(policy(setting))
    for command in (("check", "t.csv"), ("anonymize", "t.csv", "--out", "r.csv")):
        tclose(*command, "--policy", "p.toml").refuses(BAD[setting])
    assert not Path("r.csv").exists()


@pytest.mark.usefixtures("people")
def test_temper_does_not_go_with_an_average(tclose: Run) -> None:
    Path("p.toml").write_text("temper = 0.2\n" + policy("average_t = 0.2"))
    tclose("anonymize", "t.csv", "--policy", "p.toml", "--out", "r.csv").refuses("temper: random swaps can raise")


@pytest.mark.usefixtures("people")
def test_several_tables_do_not_go_with_groups(tclose: Run) -> None:
    write_policy("t_by, sensitive")
    for method in ("anatomy", "projections"):
        made = tclose("anonymize", "t.csv", "--policy", "p.toml", "--out", "r.csv", "--method", method)
        made.refuses(f"method '{method}' cannot keep a t for groups of persons")


@pytest.mark.usefixtures("people")
def test_a_binned_column_tells_no_groups(tclose: Run) -> None:
    setting = "t = 0.3\nt_by = { column = 'pay', t = { 9 = 0.1 } }"
    Path("p.toml").write_text(policy(setting + "\nbins = { width = 3 }\npublish = 'bin'"))
    tclose("check", "t.csv", "--policy", "p.toml").refuses("'pay' is not published as it is")
    Path("p.toml").write_text(policy(setting))
    assert tclose("check", "t.csv", "--policy", "p.toml").status == 1
