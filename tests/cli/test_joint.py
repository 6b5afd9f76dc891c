"""`[[joint]]` in a policy, as its users see it: what is refused, and what every command says of attributes together."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tclose.partition import METHODS
from tclose.release.certificate import digest_of

Run = Callable[..., Any]
NUMBERS = random.Random(2)
ROWS = [(NUMBERS.randint(20, 60), ldl := NUMBERS.randint(1, 4), 5 - ldl, NUMBERS.choice("xyz")) for _ in range(80)]
BASE = "k = 2\nquasi = ['age']\n[sensitive.ldl]\nt = 0.4\n[sensitive.hdl]\nt = 0.4\n[sensitive.site]\nt = 0.9\n"
JOINT = "[[joint]]\nattributes = ['ldl', 'hdl']\nt = 0.2\n"
PUBLISH = ("anonymize", "t.csv", "--policy", "p.toml", "--out", "r.csv", "--certificate", "c.json", "--seed", "1")
VERIFY = ("verify", "r.csv", "--certificate", "c.json")
NAME = "ldl + hdl"


@pytest.fixture(autouse=True)
def table(folder: Path) -> None:
    lines = [",".join(map(str, row)) for row in ROWS]
    (folder / "t.csv").write_text("\n".join(["age,ldl,hdl,site", *lines]) + "\n")
    (folder / "p.toml").write_text(BASE + JOINT)


def asking(joint: str, base: str = BASE) -> None:
    Path("p.toml").write_text(base + joint)


REFUSED = {
    "[[joint]]\nattributes = ['ldl', 'hdI']\nt = 0.2\n": (
        "joint.1.attributes: 'hdI' is no sensitive attribute of the policy (did you mean 'hdl'?)"
    ),
    "[[joint]]\nattributes = ['ldl', 'age']\nt = 0.2\n": "'age' is no sensitive attribute of the policy",
    "[[joint]]\nattributes = ['ldl']\nt = 0.2\n": "joint.1.attributes: expected at least two sensitive attributes",
    "[[joint]]\nt = 0.2\n": "joint.1.attributes: expected at least two sensitive attributes",
    "[[joint]]\nattributes = ['ldl', 'ldl']\nt = 0.2\n": "joint.1.attributes: 'ldl' is named twice: name it once",
    "[[joint]]\nattributes = ['ldl', 'hdl']\nt = 1.5\n": "joint.1.t: 1.5 is outside [0, 1]",
    "[[joint]]\nattributes = ['ldl', 'hdl']\n": "joint.1.t: expected a number between 0 and 1",
    JOINT + "distance = 'equal'\n": "joint.1.distance: expected one of product, lexicographic, not 'equal'",
    JOINT + "n = 100\n": "joint.1: unknown key 'n'",
    "[joint]\nattributes = ['ldl', 'hdl']\nt = 0.2\n": "joint: expected [[joint]] tables, not a table",
    JOINT + JOINT: "joint.2.attributes: 'ldl + hdl' is the name of another joint table already",
    "[sensitive.'ldl + hdl']\nt = 1\n" + JOINT: "'ldl + hdl' is the name of a sensitive attribute already",
    "[[joint]]\nattributes = ['ldl', 'site']\nt = 0.2\ndistance = 'lexicographic'\n": (
        "joint.1.distance: the values of 'site' have no order (distance equal)"
    ),
}


@pytest.mark.parametrize(("joint", "says"), REFUSED.items(), ids=list(REFUSED.values()))
def test_a_mistake_is_one_sentence(tclose: Run, joint: str, says: str) -> None:
    asking(joint)
    tclose("check", "t.csv", "--policy", "p.toml").refuses(says)


def test_too_many_tuples_are_refused_before_any_work(tclose: Run) -> None:
    rows = [f"{i % 40},{i},{i % 7},x" for i in range(2001)]
    Path("t.csv").write_text("\n".join(["age,ldl,hdl,site", *rows]) + "\n")
    tclose("check", "t.csv", "--policy", "p.toml").refuses(
        "joint.1.attributes: the attributes have 2,001 different tuples, and a product can compare 2,000"
    )
    asking(JOINT + "distance = 'lexicographic'\n")
    assert tclose("check", "t.csv", "--policy", "p.toml").err == ""


def test_missing_values_have_no_place_in_a_lexicographic_order(tclose: Run) -> None:
    Path("t.csv").write_text("age,ldl,hdl,site\n1,1,2,x\n2,,3,x\n1,2,2,y\n2,1,3,z\n")
    base = BASE.replace("[sensitive.ldl]\n", "[sensitive.ldl]\nmissing = 'value'\n")
    asking(JOINT + "distance = 'lexicographic'\n", base)
    tclose("check", "t.csv", "--policy", "p.toml").refuses("the missing values of 'ldl' have no place in an order")
    asking(JOINT, base)
    assert tclose("check", "t.csv", "--policy", "p.toml").err == ""


def test_distances_of_too_many_digits_are_refused(tclose: Run) -> None:
    Path("t.csv").write_text("age,ldl,hdl,site\n1,1,0,x\n2,9007199254740995,7,x\n1,2,3,y\n")
    asking(JOINT, BASE.replace("[sensitive.ldl]\n", "[sensitive.ldl]\ndistance = 'value'\n"))
    tclose("check", "t.csv", "--policy", "p.toml").refuses("(product) have too many digits: put values into bins")


def test_the_extra_is_named_where_it_is_missing(tclose: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    tclose("check", "t.csv", "--policy", "p.toml").refuses(
        "distance = \"product\" needs scipy: pip install 'tclose[solve]'"
    )


@pytest.mark.parametrize("method", [name for name, about in METHODS.items() if about.joint is not None])
def test_methods_that_cannot_say_so_before_they_read_the_table(tclose: Run, method: str) -> None:
    Path("t.csv").unlink()
    able = "variant = merge or method 'weave'" if METHODS[method].joint else "method 'weave'"
    tclose(*PUBLISH, "--method", method).refuses(
        f"method '{method}' cannot keep sensitive attributes close together ([[joint]]): choose {able}"
    )


def test_every_command_speaks_of_attributes_together(tclose: Run) -> None:
    raw = tclose("check", "t.csv", "--policy", "p.toml", "--json")
    found = json.loads(raw.out)["joint"][NAME]
    assert raw.status == 1
    assert (found["distance"], found["t"], found["satisfied"]) == ("product", 0.2, False)
    explained = tclose(
        "explain", "t.csv", "--policy", "p.toml", "--attribute", NAME, "--class", str(found["worst_class"])
    )
    assert explained.status == 0, explained.err
    assert f"{found['closeness_exact']} = {found['closeness']:.4f}" in explained.out
    released = tclose(*PUBLISH, "--option", "effort=fast", "--report", "r.html")
    assert released.status == 0, released.err
    assert "ldl + hdl" in released.out
    page = Path("r.html").read_text()
    assert "attributes together, distance product" in page
    assert "tuples count as near when their values are near on average" in page
    assert Path("r.csv").read_text().splitlines()[0] == "age,ldl,hdl,site"
    content = json.loads(Path("c.json").read_text())
    assert content["policy"]["joint"] == [{"attributes": ["ldl", "hdl"], "t": 0.2}]
    assert content["joint"][NAME]["closeness"] <= 0.2
    assert {"model": "t", "attribute": NAME, "required": 0.2, "satisfied": True}.items() <= content["models"][
        -1
    ].items()
    assert tclose(*VERIFY).status == 0


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("closeness_exact", "'ldl + hdl' is "),
        ("distance", "what the certificate says about 'ldl + hdl' is not what was found"),
        ("name", "the certificate has claims about 1 attribute that the release does not have"),
    ],
)
def test_a_forged_claim_is_found(tclose: Run, place: str, says: str) -> None:
    asking(JOINT + "distance = 'lexicographic'\n")
    assert tclose(*PUBLISH, "--method", "mondrian").status == 0
    content = json.loads(Path("c.json").read_text())
    del content["digest"]
    if place == "name":
        content["joint"]["other"] = content["joint"][NAME]
    else:
        content["joint"][NAME][place] = "product" if place == "distance" else "0/1"
    Path("c.json").write_text(json.dumps({**content, "digest": digest_of(content)}))
    outcome = tclose(*VERIFY)
    assert outcome.status == 1
    assert says in " ".join(outcome.out.split())


def test_the_attack_shows_what_closeness_of_each_attribute_hides(tclose: Run) -> None:
    """Every class has the table's ldl and hdl, but class 1 pairs them one way and class 2 the other."""
    Path("t.csv").write_text("age,ldl,hdl,site\n" + "1,1,1,x\n1,2,2,x\n2,1,2,x\n2,2,1,x\n" * 3)
    asking("", BASE.replace("[sensitive.site]\nt = 0.9\n", "[sensitive.site]\nalpha = 1\n"))
    assert tclose("check", "t.csv", "--policy", "p.toml").status == 0
    attack = ("attack", "t.csv", "--original", "t.csv", "--policy", "p.toml", "--json")
    (found,) = [one for one in json.loads(tclose(*attack).out)["attacks"] if one["name"] == "joint_skewness"]
    assert found["release"]["figure"] == pytest.approx(1 / 6)  # half of the rows move by one rank of three
    assert found["release"]["rows"] == 12
    assert "in either attribute alone, no class is farther than 0; 12 rows (100 %)" in found["release"]["sentence"]
    asking(JOINT, BASE)
    assert tclose("check", "t.csv", "--policy", "p.toml").status == 1
