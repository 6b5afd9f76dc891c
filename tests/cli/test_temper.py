"""`temper` in a policy, as its users see it: what is refused, what certificate and page say, what `verify` compares."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tclose.partition import METHODS
from tclose.release.certificate import Certificate, digest_of
from tclose.release.claims import MITIGATION

Run = Callable[..., Any]
POLICY = "k = 3\nkeep = ['ward']\n[quasi.age]\n[quasi.height]\n[sensitive.ill]\nt = '1/3'\n"
NUMBERS = random.Random(1)
ROWS = [
    (NUMBERS.randint(20, 79), NUMBERS.randint(150, 199), "ab"[i % 2], "yes" if i % 3 == 0 else "no") for i in range(120)
]
VERIFY = ("verify", "r.csv", "--certificate", "c.json")
PUBLISH = ("anonymize", "t.csv", "--policy", "p.toml", "--out", "r.csv", "--certificate", "c.json", "--seed", "1")


@pytest.fixture(autouse=True)
def table(folder: Path) -> None:
    lines = [",".join(map(str, row)) for row in ROWS]
    (folder / "t.csv").write_text("\n".join(["age,height,ward,ill", *lines]) + "\n")
    (folder / "p.toml").write_text("temper = 0.2\n" + POLICY)


def certificate() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path("c.json").read_text())
    return content


def test_the_certificate_says_what_was_asked_what_it_is_and_what_it_cost(tclose: Run) -> None:
    outcome = tclose(*PUBLISH)
    assert outcome.status == 0, outcome.err
    content = certificate()
    entry = content["temper"]
    assert list(entry) == ["share", "gcp_before", "gcp_after", "claim"]
    assert (entry["share"], entry["claim"]) == (0.2, "mitigation, not a guarantee")
    assert 0 < entry["gcp_before"] < entry["gcp_after"] == content["measures"]["gcp"]
    assert "temper" not in content["policy"]  # which readers judge by
    said = " ".join(outcome.out.split())
    assert "This is a mitigation, not a guarantee." in said
    assert f"{entry['gcp_before']} before the swaps, {entry['gcp_after']} after them." in said
    answer = tclose(*VERIFY)
    assert answer.status == 0, answer.out
    assert "how much rows were swapped at random (temper), detail lost (GCP) before rows were swapped at random" in (
        " ".join(answer.out.split())
    )


def test_rows_are_swapped_within_kept_values_and_the_release_holds(tclose: Run) -> None:
    assert tclose(*PUBLISH).status == 0
    _, *lines = Path("r.csv").read_text().splitlines()
    assert Counter(line.rsplit(",", 2)[1] for line in lines) == {"a": 60, "b": 60}
    assert certificate()["satisfied"] is True
    first = Path("r.csv").read_bytes()
    assert tclose(*PUBLISH, "--force").status == 0
    assert Path("r.csv").read_bytes() == first


def test_without_temper_nothing_is_said_about_it(tclose: Run, folder: Path) -> None:
    (folder / "p.toml").write_text(POLICY)
    outcome = tclose(*PUBLISH)
    assert (outcome.status, "temper" in outcome.out, "temper" in certificate()) == (0, False, False)


@pytest.mark.parametrize("loss", ["sse", "discernibility", "queries"])
def test_every_loss_can_be_tempered(tclose: Run, folder: Path, loss: str) -> None:
    """The temperature follows what swaps can change: classes do not fall apart where their sizes are the loss."""
    (folder / "p.toml").write_text(f"loss = '{loss}'\ntemper = 0.2\n" + POLICY)
    assert tclose(*PUBLISH).status == 0
    entry = certificate()["temper"]
    assert 0 < entry["gcp_before"] < entry["gcp_after"] < 3 * entry["gcp_before"]
    assert tclose(*VERIFY).status == 0


def test_the_page_says_it(tclose: Run) -> None:
    assert tclose(*PUBLISH, "--report", "p.html", "--public").status == 0
    assert "This is a mitigation, not a guarantee." in Path("p.html").read_text()


def test_attacks_on_such_a_release_compare_with_a_table_without_temper(tclose: Run) -> None:
    assert tclose(*PUBLISH).status == 0
    assert tclose("attack", "r.csv", "--original", "t.csv", "--policy", "p.toml", "--json").status == 0


@pytest.mark.parametrize("method", [name for name in METHODS if name != "weave"])
def test_other_methods_refuse(tclose: Run, method: str) -> None:
    tclose(*PUBLISH, "--method", method).refuses(
        f"temper is a last stage of method 'weave', not of '{method}': choose 'weave', or leave temper out"
    )
    assert not Path("r.csv").exists()


def test_a_comparison_names_them_as_unsuited(tclose: Run) -> None:
    outcome = tclose("compare", "t.csv", "--policy", "p.toml", "--methods", "weave,mondrian", "--json")
    assert outcome.status == 0, outcome.err
    trials = {trial["method"]: trial for trial in json.loads(outcome.out)["methods"]}
    assert trials["weave"]["outcome"] == "released"
    assert trials["mondrian"]["outcome"] == "unsuited"
    assert trials["mondrian"]["reason"].startswith("temper is a last stage of method 'weave'")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"claim": "a guarantee"}, "the certificate claims more of temper than it does"),
        ({"share": 11}, "the certificate's share of temper is none that a policy can ask for"),
        ({"share": None}, "the certificate's share of temper is none that a policy can ask for"),
        ({"gcp_before": -0.1}, "the detail lost before tempering is not between 0 and 1"),
        ({"gcp_after": 0.0}, "the detail lost after tempering is not the detail lost of the release"),
    ],
)
def test_verify_compares_what_it_can(tclose: Run, change: dict[str, Any], problem: str) -> None:
    assert tclose(*PUBLISH).status == 0
    content = certificate()
    content["temper"] |= change
    del content["digest"]
    Path("c.json").write_text(json.dumps({**content, "digest": digest_of(content)}))
    outcome = tclose(*VERIFY)
    assert outcome.status == 1
    assert problem in " ".join(outcome.out.split())


def test_another_method_cannot_have_tempered(tclose: Run, folder: Path) -> None:
    (folder / "p.toml").write_text(POLICY)
    assert tclose(*PUBLISH, "--method", "mondrian").status == 0
    content = certificate()
    gcp = content["measures"]["gcp"]
    content["temper"] = {"share": 0.2, "gcp_before": 0.0, "gcp_after": gcp, "claim": MITIGATION}
    del content["digest"]
    Path("c.json").write_text(json.dumps({**content, "digest": digest_of(content)}))
    outcome = tclose(*VERIFY)
    assert outcome.status == 1
    assert "the method that the certificate names has no temper" in " ".join(outcome.out.split())


@pytest.mark.parametrize("entry", ["0.2", [0.2], 0.2])
def test_an_entry_that_is_no_table_is_no_certificate(tclose: Run, entry: object) -> None:
    assert tclose(*PUBLISH).status == 0
    content = certificate()
    del content["digest"]
    with pytest.raises(ValueError, match="not an entry about temper"):
        Certificate.from_dict({**content, "temper": entry})


def test_rows_that_cannot_stay_one_class_are_refused(tclose: Run, folder: Path) -> None:
    """Entropy by persons can break where classes merge, so random swaps could leave such rows without a class."""
    rows = ["1,p,x", "1,q,y", "2,p,x", "2,r,y"]
    (folder / "t.csv").write_text("\n".join(["age,pid,ill", *rows]) + "\n")
    policy = "person = 'pid'\nidentifiers = ['pid']\n[quasi.age]\n[sensitive.ill]\nentropy_l = 2\n"
    (folder / "p.toml").write_text(policy)
    assert tclose(*PUBLISH).status == 0
    (folder / "p.toml").write_text("temper = 0.2\n" + policy)
    outcome = tclose(*PUBLISH, "--force")
    assert outcome.status == 2
    assert outcome.err.splitlines()[-1].startswith("error: temper: some rows cannot stay one class, and random swaps")
