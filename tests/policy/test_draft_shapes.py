"""What texts look like, whatever their column is called."""

from __future__ import annotations

import hashlib
import uuid

import pytest

from tclose.policy.draft.patterns import is_card_number, is_iban, shape_of

SHAPES = {
    "email": ["anna@example.org", "b.c+d@mail.example.co.uk"],
    "url": ["https://example.org/a?b=1", "www.example.org"],
    "uuid": [str(uuid.UUID(int=number)) for number in (1, 2**100)],
    "mac": ["00:1B:44:11:3A:B7", "00-1b-44-11-3a-b8"],
    "ip": ["192.168.0.1", "10.0.0.7", "2001:db8::1", "2001:0db8:0000:0000:0000:ff00:0042:8329"],
    "iban": ["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432"],
    "card": ["4111 1111 1111 1111", "5500-0000-0000-0004"],
    "official": ["078-05-1120", "219-09-9999", "AB 12 34 56 C", "RSSMRA85T10A562S", "12345678Z", "529.982.247-25"],
    "phone": ["+49 171 2345678", "(030) 123456-7", "0171/2345678", "555 123 4567"],
    "hash": [hashlib.sha256(b"a").hexdigest(), hashlib.md5(b"b").hexdigest(), "dGhpcyBpcyBhIHRva2VuIDEyMzQ1"],
    "coordinates": ["48.137154, 11.576124", "(52.52, 13.405)"],
    "street": ["Lindenstraße 5", "Bahnhofstr. 12a", "221 Baker Street", "rue de Rivoli 10", "Keizersgracht straat 4"],
    "person": ["Anna Meier", "Peter Schmidt", "Müller, Hans", "Maria da Silva"],
    "dates": ["31.12.1980", "1.2.1979", "12/31/1980", "2016/01/02 00:47:36", "5 Jan 2020"],
    "contact": ["call me at anna@example.org tomorrow", "no", "yes", "see below"],
    "prose": ["the patient came in with a strong pain", "he says that it began on Monday"],
    "answer": ["ja", "nein"],
    "amounts": ["12,50", "1.234,5", "7 %", "80 kg", "3 mg/dl", "<0,1", "€ 1,200"],
    "code": ["A-00123", "B-00456", "I10", "E11.9"],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(shape: str) -> None:
    assert shape_of(SHAPES[shape]) == shape


@pytest.mark.parametrize(
    "texts",
    [
        [],
        ["female", "male"],
        ["10000-19999", "20000-39999", "40000-59999"],  # brackets, not phone numbers
        ["min", "max"],
        ["Jan-2018", "Feb-2018", "Mar-2018"],  # Jan is a name, too
        ["North Carolina", "South Carolina", "Virginia", "Georgia"],
        ["5_Moderate_improvement", "6_Considerable_improvement", "1_Death"],
        ["08:15:00", "09:30:00", "23:59:59"],  # not IP addresses
        ["Never-married", "Married-civ-spouse", "Divorced"],
        ["1.234.567", "2.345.678"],
        ["A", "B", "AB", "0"],
    ],
)
def test_levels_look_like_nothing_that_identifies(texts: list[str]) -> None:
    assert shape_of(texts) in (None, "code")


def test_names_with_accents_are_names() -> None:
    assert shape_of(["Jürgen", "José", "François", "João", "Michał"]) == "person"


def test_check_digits_are_checked() -> None:
    assert is_iban("DE89370400440532013000")
    assert not is_iban("DE88370400440532013000")
    assert is_card_number("4111111111111111")
    assert not is_card_number("4111111111111112")


def test_long_texts_are_looked_at_in_time_that_grows_with_their_number() -> None:
    hostile = ["1" * 100_000, "a" * 100_000 + "@", "1 " * 50_000, "a." * 50_000, "a@" + "b." * 50_000]
    assert shape_of(hostile * 5) in (None, "prose")
