"""Settings are read exactly, and every refusal says where, what was found and what is expected."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose import PolicyError
from tclose.policy import settings


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (0.1, Fraction(1, 10)),
        (Decimal("0.1"), Fraction(1, 10)),
        ("0.1", Fraction(1, 10)),
        (" 0.1 ", Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        (Fraction(2, 6), Fraction(1, 3)),
        (1e-7, Fraction(1, 10**7)),
        (7, Fraction(7)),
        ("-2", Fraction(-2)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.int64(7), Fraction(7)),
    ],
)
def test_a_number_means_what_it_says(given: object, meant: Fraction) -> None:
    assert settings.exact(given) == meant


@given(st.floats(min_value=1e-200, max_value=1e200), st.sampled_from([1, -1]))
def test_a_float_means_its_shortest_decimal(size: float, sign: int) -> None:
    assert settings.exact(sign * size) == sign * Fraction(repr(size))


@pytest.mark.parametrize("wrong", ["abc", "", "1/0", "nan", "inf", float("nan"), "1e999999999", True, None, [1], {}])
def test_what_is_no_number_is_refused(wrong: object) -> None:
    with pytest.raises(PolicyError, match=r'^sensitive\.x\.t: expected a number such as 0\.15 or "1/3", not '):
        settings.number(wrong, "sensitive.x.t")


def refusal(reader: settings.SettingReader[object], value: object) -> str:
    with pytest.raises(PolicyError) as caught:
        reader(value, "here")
    assert caught.value.place == "here"
    return str(caught.value)


def test_a_number_outside_its_limits_is_refused() -> None:
    assert refusal(settings.between(0, 1), Decimal("1.5")) == "here: 1.5 is outside [0, 1]"
    assert refusal(settings.between(0, 1), "-1/10") == "here: -1/10 is outside [0, 1]"
    assert refusal(settings.above(0), 0) == "here: expected a number above 0, not 0"
    assert refusal(settings.at_least(1), 0.5) == "here: expected a number of at least 1, not 0.5"
    assert refusal(settings.whole(1), 0) == "here: expected a whole number of at least 1, not 0"
    assert refusal(settings.whole(1), Decimal("2.5")) == "here: expected a whole number of at least 1, not 2.5"


def test_limits_themselves_are_within() -> None:
    assert [settings.between(0, 1)(t, "") for t in (0, 1, 1.0, "1/1")] == [0, 1, 1, 1]
    assert settings.at_least(1)(1, "") == 1
    assert settings.whole(1)(Decimal("2.0"), "") == 2


def test_a_word_is_one_of_a_few() -> None:
    read = settings.one_of("ordered", "equal")
    assert read("equal", "") == "equal"
    assert refusal(read, "orderd") == "here: expected one of ordered, equal, not 'orderd' (did you mean 'ordered'?)"
    assert refusal(read, Decimal("1.5")) == "here: expected one of ordered, equal, not '1.5'"
    assert refusal(read, True) == "here: expected one of ordered, equal, not true or false"
    assert refusal(read, ["equal"]) == "here: expected one of ordered, equal, not a list (did you mean 'equal'?)"


def test_lists_name_each_thing_once() -> None:
    assert settings.names(["a", "b"], "") == ("a", "b")
    assert settings.names([], "") == ()
    assert refusal(settings.names, ["a", "b", "a"]) == "here: 'a' is named twice: name it once"
    assert refusal(settings.names, "a") == 'here: expected a list, as in ["name", "ssn"]'
    assert refusal(settings.names, ["a", 1]) == "here: expected text in the list, not a number"
    assert refusal(settings.values, [1, 2, 1]) == "here: a value stands in the list twice: name it once"
    assert refusal(settings.values, []) == "here: expected at least one value in the list"
    assert refusal(settings.values, "ab") == "here: expected a list of values, not text"
    assert refusal(settings.values, [1, [2]]) == "here: expected plain values in the list, not a list or a table in it"


def test_edges_rise() -> None:
    assert settings.rising([0, Decimal("0.1"), "1/3"], "") == (0, Fraction(1, 10), Fraction(1, 3))
    for wrong in ([1], [1, 1.0], [2, 1]):
        assert refusal(settings.rising, wrong) == "here: expected at least two numbers that rise"


def test_unknown_names_are_refused_with_the_nearest_known_one() -> None:
    read = settings.table({"width": settings.any_number, "count": settings.any_number})
    assert read({"width": 2}, "") == {"width": 2}
    assert read({"width": None}, "") == {}
    assert refusal(read, {"wdth": 2}) == "here: unknown key 'wdth' (did you mean 'width'?)"
    assert refusal(read, {"zzz": 2}) == "here: unknown key 'zzz'; known are width, count"
    assert refusal(read, 5) == "here: expected a table of settings, not a number"


def test_a_choice_takes_exactly_one_key() -> None:
    read = settings.choice({"width": settings.any_number, "count": settings.any_number}, "{ width = 5 }, { count = 2 }")
    assert read({"width": "1/2"}, "") == ("width", Fraction(1, 2))
    expected = "here: expected one of { width = 5 }, { count = 2 }"
    assert refusal(read, {"width": 2, "count": 2}) == expected
    assert refusal(read, {}) == expected
    assert refusal(read, 5) == expected
    assert refusal(read, {"widht": 2}) == expected + " (did you mean 'width'?)"


def test_text_and_paths() -> None:
    assert settings.text("a", "") == "a"
    assert refusal(settings.text, 5) == "here: expected text, not a number"
    assert str(settings.path("a/b.csv", "")) == "a/b.csv"
    assert refusal(settings.path, 5) == "here: expected the path of a file, not a number"


@pytest.mark.parametrize(
    ("name", "place"),
    [("ldl", "sensitive.ldl"), ("blood pressure", 'sensitive."blood pressure"'), ("", 'sensitive.""')],
)
def test_places_are_spelled_as_in_toml(name: str, place: str) -> None:
    assert settings.join("sensitive", name) == place


def test_found_things_are_named_in_plain_words() -> None:
    found = [True, 1, 1.5, Decimal(1), np.int64(1), "a", [1], (1,), {}, None]
    words = ["true or false", *["a number"] * 4, "text", "a list", "a list", "a table", "NoneType"]
    assert [settings.kind_of(value) for value in found] == words
