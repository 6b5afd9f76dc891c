"""`loss` and `weight` of a policy, as a steward meets them: in terminal, certificate, page and comparison."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Run = Callable[..., Any]
QUASI = "[quasi.age]\n[quasi.pay]\n[quasi.zone]\n[sensitive.ill]\nt = 0.3\ndistance = 'equal'\n"
PUBLISH = ("anonymize", "t.csv", "--policy", "p.toml", "--out", "r.csv", "--seed", "1", "--certificate", "r.json")


@pytest.fixture(autouse=True)
def sources(folder: Path) -> None:
    random = np.random.default_rng(4)
    rows = zip(
        random.integers(18, 90, 160),
        random.lognormal(8, 1, 160).astype(int),
        random.choice(list("abcd"), 160),
        random.choice(["flu", "cold", "none"], 160),
        strict=True,
    )
    (folder / "t.csv").write_text("age,pay,zone,ill\n" + "".join(f"{a},{p},{z},{i}\n" for a, p, z, i in rows))


def policy(folder: Path, *lines: str, quasi: str = QUASI) -> None:
    (folder / "p.toml").write_text("k = 3\n" + "".join(f"{line}\n" for line in lines) + quasi)


def certificate(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "r.json").read_text())
    return content


def test_without_a_choice_the_detail_lost_is_lowered(tclose: Run, folder: Path) -> None:
    policy(folder)
    outcome = tclose(*PUBLISH, "--report", "r.html")
    assert outcome.status == 0, outcome.err
    said = certificate(folder)
    assert said["loss"] == {"name": "gcp", "value": said["measures"]["gcp"]}
    assert "weighted_gcp" not in said["measures"]
    assert "loss" not in said["policy"]
    assert "weighted" not in outcome.out
    sentence = "The rows were split so as to lower this loss: detail lost (GCP)."
    assert sentence in " ".join(outcome.out.split())
    assert sentence in (folder / "r.html").read_text()


def test_each_loss_is_lowered_and_named(tclose: Run, folder: Path) -> None:
    words = {
        "gcp": "detail lost (GCP)",
        "sse": "information loss (squared error)",
        "discernibility": "discernibility (sum of the squared class sizes)",
        "queries": "rows cut by random ranges of queries",
    }
    measures = {}
    for name, title in words.items():
        policy(folder, f'loss = "{name}"')
        outcome = tclose(*PUBLISH, "--force")
        assert outcome.status == 0, outcome.err
        assert f"lower this loss: {title}." in " ".join(outcome.out.split())
        said = certificate(folder)
        assert said["loss"]["name"] == name
        assert ("value" in said["loss"]) == (name != "queries")  # it would tell of cells that are not published
        measures[name] = said["measures"]
        verified = tclose("verify", "r.csv", "--certificate", "r.json")
        assert verified.status == 0
        assert "the loss that was lowered" in " ".join(verified.out.split())
    for name in ("sse", "discernibility"):
        assert measures[name][name] == min(figures[name] for figures in measures.values())
        assert measures[name]["gcp"] > measures["gcp"]["gcp"]


def test_weights(tclose: Run, folder: Path) -> None:
    lost = {}
    for column in ("age", "pay"):
        policy(folder, quasi=QUASI.replace(f"[quasi.{column}]", f"[quasi.{column}]\nweight = 9"))
        outcome = tclose(*PUBLISH, "--force", "--report", "r.html")
        assert outcome.status == 0, outcome.err
        said = certificate(folder)
        weights = {"age": 1, "pay": 1, "zone": 1, column: 9}
        assert said["loss"] == {"name": "gcp", "weights": weights, "value": said["measures"]["weighted_gcp"]}
        listed = ", ".join(f"{name} {weight}" for name, weight in weights.items())
        assert f"detail lost (GCP); with the weights {listed}." in " ".join(outcome.out.split())
        page = (folder / "r.html").read_text()
        assert f"with the weights {listed}." in page
        assert "detail lost, weighted" in page
        lost[column] = said["measures"]["weighted_gcp"], said["measures"]["gcp"]
    assert all(weighted < plain for weighted, plain in lost.values())  # the column that counts loses less


def test_class_means_imply_the_squared_error(tclose: Run, folder: Path) -> None:
    means = QUASI.replace("[quasi.age]", "[quasi.age]\npublish = 'mean'")
    policy(folder, quasi=means)
    assert tclose(*PUBLISH).status == 0
    assert certificate(folder)["loss"].items() >= {"name": "gcp", "means": ["age"]}.items()
    policy(folder, quasi="[quasi.age]\npublish = 'mean'\n[sensitive.ill]\nt = 0.3\ndistance = 'equal'\n")
    (folder / "t.csv").write_text(
        "\n".join(",".join(line.split(",")[::3]) for line in (folder / "t.csv").read_text().split())
    )
    assert tclose(*PUBLISH, "--force").status == 0
    said = certificate(folder)
    assert said["loss"] == {"name": "sse", "value": said["measures"]["sse"]}


@pytest.mark.parametrize("how", ['loss = "sse"', "weight"])
def test_other_methods_say_that_they_follow_their_own_rule(tclose: Run, folder: Path, how: str) -> None:
    policy(
        folder, *([how] if "=" in how else []), quasi=QUASI if "=" in how else QUASI.replace("ge]", "ge]\nweight = 2")
    )
    outcome = tclose(*PUBLISH, "--method", "mondrian")
    assert outcome.status == 0
    assert "warning: the method 'mondrian' follows its own rule: only weave lowers the loss" in outcome.err
    assert "loss" not in certificate(folder)
    assert "lower this loss" not in outcome.out
    policy(folder)
    assert "own rule" not in tclose(*PUBLISH, "--method", "mondrian", "--force").err


def test_projections_lower_it_if_their_base_method_does(tclose: Run, folder: Path) -> None:
    policy(folder, 'loss = "sse"', quasi=QUASI + "[sensitive.zip]\nt = 0.3\ndistance = 'equal'\n")
    lines = (folder / "t.csv").read_text().split()
    (folder / "t.csv").write_text(
        "\n".join([lines[0] + ",zip", *(f"{line},{i % 3}" for i, line in enumerate(lines[1:]))])
    )
    outcome = tclose(*PUBLISH, "--method", "projections", "--tables", "2")
    assert outcome.status == 0, outcome.err
    assert "own rule" not in outcome.err
    assert certificate(folder)["loss"]["name"] == "sse"
    assert tclose("verify", "r.csv", "--certificate", "r.json").status == 0
    outcome = tclose(*PUBLISH, "--method", "projections", "--tables", "2", "--base", "mondrian", "--force")
    assert "follows its own rule" in outcome.err
    assert "loss" not in certificate(folder)


KNOWN = "loss: expected one of gcp, sse, discernibility, queries, not"
WEIGHT = "quasi.age.weight: expected a number above 0, up to 1,000,000, not"


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("loss = 'gpc'\n" + QUASI, f"{KNOWN} 'gpc' (did you mean"),
        ("loss = 3\n" + QUASI, f"{KNOWN} '3'"),
        (QUASI.replace("ge]", "ge]\nweight = 0"), f"{WEIGHT} 0"),
        (QUASI.replace("ge]", "ge]\nweight = -2"), f"{WEIGHT} -2"),
        (QUASI.replace("ge]", "ge]\nweight = 1e9"), f"{WEIGHT} 1E+9"),
        (QUASI.replace("ge]", "ge]\nweight = 'much'"), "quasi.age.weight: expected a number such as 0.15"),
    ],
)
def test_mistakes(tclose: Run, folder: Path, lines: str, says: str) -> None:
    (folder / "p.toml").write_text("k = 3\n" + lines)
    tclose(*PUBLISH).refuses(says)


def test_a_comparison_ranks_by_the_loss(tclose: Run, folder: Path) -> None:
    methods = ("--methods", "mondrian:strict,weave,anatomy")
    policy(folder, 'loss = "discernibility"')
    outcome = tclose("compare", "t.csv", "--policy", "p.toml", *methods, "--json")
    found = json.loads(outcome.out)
    assert found["loss"] == {"name": "discernibility"}
    assert found["ranking"] == ["weave", "mondrian:strict"]
    assert [method["caveat"] for method in found["methods"]] == ["", "", "does not hide who is in the table"]
    for method in found["methods"]:
        assert method["loss"] == method["discernibility"]
    policy(folder, 'loss = "queries"')
    outcome = tclose("compare", "t.csv", "--policy", "p.toml", *methods, "--out", "page.html", "--levels", "1")
    assert outcome.out.splitlines()[0].split()[:3] == ["method", "loss", "classes"]
    words = " ".join(outcome.out.split())
    assert "loss: the policy's loss: rows cut by random ranges of queries, lower is better;" in words
    assert words.endswith("Ranked by the policy's loss, the least first: weave, mondrian:strict.")
    assert words.count("† anatomy does not hide who is in the table, so it is not ranked with the others.") == 2
    page = (folder / "page.html").read_text()
    assert "weave has the least loss" in page
    assert "The policy's loss: rows cut by random ranges of queries." in page.replace("&#x27;", "'").replace(
        "&#39;", "'"
    )


def test_a_comparison_without_a_choice_ranks_by_the_detail_lost(tclose: Run, folder: Path) -> None:
    policy(folder)
    outcome = tclose("compare", "t.csv", "--policy", "p.toml", "--methods", "mondrian:strict,weave")
    assert outcome.out.splitlines()[0].split()[:2] == ["method", "classes"]
    assert outcome.out.endswith("Ranked by detail lost, the least first: weave, mondrian:strict.\n")
    assert "weighted" not in outcome.out
