"""Numbers and dates as people write them: read as what they are, asked about where that is open, never text unseen."""

from __future__ import annotations

import warnings
from datetime import date, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose import InputError, read
from tclose.errors import SourceWarning
from tclose.policy.source import DATES, SourceSettings, source_settings
from tclose.table.sources.content import TableRead, read_data
from tclose.table.sources.csv import parse
from tclose.table.sources.notation import OTHERS, PLAIN, Notation

NUMBER = st.decimals(-(10**9), 10**9, places=3).map(lambda number: f"{number:f}") | st.integers(-(10**7), 10**7).map(
    str
)
NUMBERS = st.lists(NUMBER, min_size=1, max_size=8)


def written(number: str, notation: Notation) -> str:
    """Write a plain number in another notation, the naive way."""
    sign, digits = ("-", number[1:]) if number.startswith("-") else ("", number)
    whole, _, fraction = digits.partition(".")
    groups = f"{int(whole):,}".replace(",", notation.thousands) if notation.thousands else whole
    return sign + groups + (notation.decimal + fraction if fraction else "")


def csv(**columns: list[str]) -> bytes:
    rows = [list(columns), *map(list, zip(*columns.values(), strict=True))]
    return "\n".join(";".join(f'"{cell}"' for cell in row) for row in rows).encode() + b"\n"


def found(data: bytes, **said: str) -> TableRead:
    return read_data(data, source_settings(said, "source") if said else None)


def question(data: bytes, **said: str) -> str:
    (asked,) = found(data, **said).questions
    return asked


@settings(deadline=None, max_examples=examples(80))
@given(NUMBERS, st.sampled_from(OTHERS))
@example(["1234.567"], Notation(",", "."))
@example(["1.234"], Notation(".", ","))
def test_declared_numbers_read_back(numbers: list[str], notation: Notation) -> None:
    data = csv(x=["word"] * len(numbers), pay=[written(number, notation) for number in numbers])
    read = found(data, decimal=notation.decimal, thousands=notation.thousands)
    assert read.questions == ()
    assert read.frame["pay"].to_list() == numbers


@settings(deadline=None, max_examples=examples(80))
@given(NUMBERS, st.sampled_from([PLAIN, *OTHERS]))
def test_detected_numbers_are_right_or_asked_about(numbers: list[str], notation: Notation) -> None:
    """Whatever the file shows: the numbers come back, or the steward is asked, or they were plain to begin with."""
    cells = [written(number, notation) for number in numbers]
    read = found(csv(x=["word"] * len(cells), pay=cells, more=cells))
    plain = PLAIN.fits(pl.Series(cells))
    codes = notation.thousands == " " and len(set(map(len, cells))) == 1
    right = [float(cell) for cell in numbers]
    assert read.questions or plain or codes or [float(cell) for cell in read.frame["pay"]] == right


@settings(deadline=None, max_examples=examples(60))
@given(
    st.lists(st.sampled_from(["3", "-0.5", "1e-3", "007", "word", "2024-01-31", "", "NA", "[1, 2]", "a b"]), min_size=1)
)
def test_a_plain_file_is_read_as_ever(cells: list[str]) -> None:
    rows = "".join(f"{cell if ',' not in cell else f'{chr(34)}{cell}{chr(34)}'},x\n" for cell in cells)
    data = f"a,b\n{rows}".encode()
    read = found(data)
    assert read.frame.equals(parse(data))
    assert read.sentence is None


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["3,5", "4"], ["3.5", "4"]),
        (["1.234,5", "3,25"], ["1234.5", "3.25"]),
        (["1 234,5", "3,25"], ["1234.5", "3.25"]),
        (["1\u202f234,5", "3,25"], ["1234.5", "3.25"]),
        (["1'234.5", "3.25"], ["1234.5", "3.25"]),
        (["1’234.5", "3.25"], ["1234.5", "3.25"]),
        (["1,234.5", "3.25"], ["1234.5", "3.25"]),
        (["1.234.567", "1.234"], ["1234567", "1234"]),
        (["-3,5", "NA", ""], ["-3.5", "NA", ""]),
        (["3,5e-2", "1"], ["3.5e-2", "1"]),
    ],
)
def test_the_whole_column_tells(cells: list[str], numbers: list[str]) -> None:
    assert found(csv(x=["w"] * len(cells), pay=cells)).frame["pay"].to_list() == numbers


@pytest.mark.parametrize(
    "cells", [["1,2,3", "1,2"], ["3,5", "abc"], ["123 456", "654 321"], ["01,5", "2,5"], ["1.2.3", "1.2"], ["a,b", "c"]]
)
def test_other_text_stays_text(cells: list[str]) -> None:
    assert found(csv(x=["w"] * len(cells), pay=cells)).frame["pay"].to_list() == cells


def test_a_column_that_is_nearly_numbers_is_named() -> None:
    read = found(csv(x=["w"] * 3, pay=["3,5", "4,5", "<0,1"]))
    assert "column 'pay' stays text, since not all of its cells are numbers" in (read.sentence or "")


def test_the_file_tells_what_a_column_does_not() -> None:
    german = found(csv(x=["1,234", "2,345"], y=["3,5", "12,75"], z=["1.234", "999"]))
    assert german.frame.rows() == [("1.234", "3.5", "1234"), ("2.345", "12.75", "999")]
    assert german.found.to_dict() == {"separator": ";", "decimal": ",", "thousands": "."}
    english = found(csv(x=["1,234", "2,345"], y=["3.5", "12.75"]))
    assert english.frame.rows() == [("1234", "3.5"), ("2345", "12.75")]


def test_what_is_open_is_asked() -> None:
    assert 'say decimal = "," or thousands = "," in [source]' in question(csv(x=["1,234", "2,345"]))
    assert "column 'x' writes some numbers with a decimal comma" in question(csv(x=["3,5", "3.25"]))
    assert "columns 'x' and 'y' write numbers in different ways" in question(csv(x=["3,5"], y=["1,234,567"]))
    points = csv(x=["3,5", "1"], y=["1.234", "2.345"], z=["3.14", "0.5"])
    assert "column 'y' have points, as in 1.234" in question(points)
    assert found(points, decimal=",", thousands=".").frame["y"].to_list() == ["1234", "2345"]
    assert found(points, decimal=",", thousands="").frame["y"].to_list() == ["1.234", "2.345"]
    assert found(csv(x=["1,234", "2,345"]), decimal=",", thousands="").frame["x"].to_list() == ["1.234", "2.345"]
    assert found(csv(x=["1,5", "2,5"]), decimal=".", thousands="").frame["x"].to_list() == ["1,5", "2,5"]


def test_a_policy_that_leaves_out_the_decimal_comma_is_asked_for_it() -> None:
    assert question(csv(x=["3,5", "4"]), separator=";") == (
        "column 'x' has decimal commas: say decimal = \",\" in [source] of the policy"
    )


def test_a_comma_late_in_the_file_is_seen(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n" + "x,3\n" * 1000 + 'x,"3,5"\n')
    with pytest.warns(SourceWarning, match=r"^read as CSV, decimal comma$"):
        assert read(tmp_path / "t.csv")["b"][-1] == "3.5"


# Dates

DAY = st.dates(date(1000, 1, 1), date(9999, 12, 31))


def spelled(day: date, form: str) -> str:
    parts = {"yyyy": f"{day.year:04}", "mm": f"{day.month:02}", "dd": f"{day.day:02}"}
    for name, text in parts.items():
        form = form.replace(name, text)
    return form


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(DAY, min_size=1, max_size=6), st.sampled_from(DATES))
def test_declared_dates_read_back(days: list[date], form: str) -> None:
    read = read_data(csv(x=["w"] * len(days), day=[spelled(d, form) for d in days]), SourceSettings(dates=(form,)))
    assert read.frame["day"].to_list() == [day.isoformat() for day in days]


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(DAY, min_size=1, max_size=6), st.sampled_from([form for form in DATES if form != "yyyymmdd"]))
def test_detected_dates_are_right_or_asked_about(days: list[date], form: str) -> None:
    read = found(csv(x=["w"] * len(days), day=[spelled(d, form) for d in days]))
    assert read.questions or read.frame["day"].to_list() == [day.isoformat() for day in days]
    if read.questions:
        assert form[:2] in ("dd", "mm")
        assert '"dd' in read.questions[0]
        assert '"mm' in read.questions[0]


def test_times_are_kept_and_wrong_days_stay_text() -> None:
    read = found(
        csv(a=["1.2.2024 8:05", "31.12.2023 23:59:59"], b=["30.02.2024", "01.01.2024"], c=["24.12.45", "1.1.50"])
    )
    assert read.frame["a"].to_list() == ["2024-02-01 08:05", "2023-12-31 23:59:59"]
    assert [datetime.fromisoformat(cell).year for cell in read.frame["a"]] == [2024, 2023]
    assert read.frame["b"].to_list() == ["30.02.2024", "01.01.2024"]
    assert read.frame["c"].to_list() == ["24.12.45", "1.1.50"]


def test_a_column_that_is_nearly_dates_is_named() -> None:
    read = found(csv(x=["w"] * 3, day=["31.12.2023", "2024-01-01 00:00:00", "unknown"]))
    assert read.frame["day"].to_list() == ["31.12.2023", "2024-01-01 00:00:00", "unknown"]
    assert "column 'day' stays text, since not all of its cells are dates" in (read.sentence or "")


def test_one_column_tells_the_order_of_days_and_months_for_another() -> None:
    read = found(csv(a=["01/02/2024", "03/04/2024"], b=["25/12/2024", "01/01/2024"]))
    assert read.frame["a"].to_list() == ["2024-02-01", "2024-04-03"]
    assert read.found.dates == ("dd/mm/yyyy",)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"decimal": ";"}, "source.decimal: expected one of ., ,, not ';'"),
        ({"decimal": ",", "thousands": ","}, "source.thousands: the same mark cannot stand for decimals and"),
        ({"thousands": "."}, "source.thousands: the same mark cannot stand for decimals and"),
        ({"encodin": "x"}, "source: unknown key 'encodin' (did you mean 'encoding'?)"),
        ({"encoding": "utf-9"}, "source.encoding: unknown encoding 'utf-9' (did you mean 'utf-8'?)"),
        ({"dates": "dd.mm.yy"}, "source.dates: expected one of dd.mm.yyyy"),
        ({"dates": 5}, "source.dates: expected a list"),
        ({"sheet": 1}, "source.sheet: expected text"),
        ({"format": "xls"}, "source.format: expected one of csv"),
        ("csv", "source: expected a table of settings, not text"),
    ],
)
def test_mistakes_in_a_policy(given: object, says: str) -> None:
    with pytest.raises(Exception, match="source") as caught:
        source_settings(given, "source")
    assert str(caught.value).startswith(says)


def test_reading_with_a_source_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("a;b\nü;3,5\n".encode("cp1252"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = read(tmp_path / "t.csv", source={"encoding": "cp1252", "decimal": ",", "thousands": ""})
    assert frame.rows() == [("ü", "3.5")]
    with pytest.raises(InputError, match="say which encoding it has in"):
        read(tmp_path / "t.csv", source={"decimal": ","})
