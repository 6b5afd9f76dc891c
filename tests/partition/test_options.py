"""A method's own options: read from text, checked, refused in one sentence."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from tclose import Policy, PolicyError, anonymize
from tclose.partition.options import checked_options, options_from_texts

TABLE = pl.DataFrame({"age": [20, 30, 40, 50], "pay": [1, 2, 1, 2]})
POLICY = Policy(quasi=["age"], sensitive={"pay": {"t": 0.5}})


def test_texts_become_what_the_option_takes(misbehave: None) -> None:
    texts = {"kind": "two", "parts": "3", "share": "1/4", "fast": "Yes", "most": "7"}
    found = options_from_texts("chosen", texts)
    assert found == {"kind": "two", "parts": 3, "share": 0.25, "fast": True, "most": 7}
    assert [type(value) for value in found.values()] == [str, int, float, bool, int]
    assert options_from_texts("weave", {"effort": "fast"}) == {"effort": "fast"}
    assert options_from_texts("fragmentation", {"bound": "published", "sizing": "gcd"}) == {
        "bound": "published",
        "sizing": "gcd",
    }


def test_options_passed_on_to_the_base_method() -> None:
    texts = {"tables": "2", "base": "weave", "effort": "fast"}
    assert options_from_texts("projections", texts) == {"tables": 2, "base": "weave", "effort": "fast"}
    assert checked_options("projections", {"groups": [["pay"], ["ill"]], "base": "fragmentation", "sizing": "gcd"})
    with pytest.raises(PolicyError, match="method 'projections' has no option 'effort'"):
        options_from_texts("projections", {"base": "fragmentation", "effort": "fast"})
    with pytest.raises(
        PolicyError, match="option 'groups' of method 'projections' takes a value that only Python code can give"
    ):
        options_from_texts("projections", {"groups": "pay"})


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("kind", "three", "takes one, two"),
        ("parts", "1.5", "takes a whole number"),
        ("parts", "", "takes a whole number"),
        ("share", "half", "takes a number"),
        ("share", "1/0", "takes a number"),
        ("fast", "perhaps", "takes true or false"),
        ("most", "none", "takes a whole number"),
        ("measure", "euclid", "takes a value that only Python code can give"),
        ("part", "2", r"method 'chosen' has no option 'part' \(did you mean 'parts'\?\)"),
        ("xyz", "2", "method 'chosen' has no option 'xyz'; it has kind, parts, share, fast, most, measure"),
        ("seed", "2", "method 'chosen' has no option 'seed'"),
        ("problem", "2", "method 'chosen' has no option 'problem'"),
    ],
)
def test_bad_texts(misbehave: None, name: str, text: str, says: str) -> None:
    with pytest.raises(PolicyError, match=says):
        options_from_texts("chosen", {name: text})


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"kind": "three"}, "takes one, two"),
        ({"kind": 1}, "takes one, two"),
        ({"parts": 1.5}, "takes a whole number"),
        ({"parts": True}, "takes a whole number"),
        ({"fast": 1}, "takes true or false"),
        ({"parts": None}, "takes a whole number"),
    ],
)
def test_bad_values(misbehave: None, options: dict[str, Any], says: str) -> None:
    with pytest.raises(PolicyError, match=f"option '{next(iter(options))}' of method 'chosen' {says}"):
        checked_options("chosen", options)


def test_good_values(misbehave: None) -> None:
    good = {"kind": "one", "parts": 2, "share": 1, "fast": False, "most": None, "measure": len}
    assert checked_options("chosen", good) == good


def test_a_method_without_options(misbehave: None) -> None:
    with pytest.raises(PolicyError, match="method 'whole' has no options of its own, so no 'x'"):
        checked_options("whole", {"x": 1})


@pytest.mark.parametrize(
    ("method", "options", "says"),
    [
        ("fragmentation", {"strateg": "sum"}, r"no option 'strateg' \(did you mean 'strategy'\?\)"),
        ("fragmentation", {"strategy": "best"}, "takes psi, sum, squares"),
        ("weave", {"effort": "most"}, "takes balanced, fast, best"),
        ("weve", {"effort": "fast"}, "there is no method 'weve'"),
    ],
)
def test_anonymize_refuses_in_one_sentence(method: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(PolicyError, match=says):
        anonymize(TABLE, POLICY, method=method, **options)
