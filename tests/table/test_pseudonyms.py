"""Pseudonyms of identifiers: the text that stands for each, the key and its file."""

from __future__ import annotations

import base64
import datetime
import hashlib
import hmac
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose.errors import InputError
from tclose.policy import Policy
from tclose.table.coded import encode_quietly
from tclose.table.persons import (
    PersonTable,
    PseudonymKey,
    are_pseudonyms,
    identifier_texts,
    ranked_rows,
    with_pseudonyms,
)

SECRET = bytes(range(40, 72))


def key_file(folder: Path, secret: bytes = SECRET, mode: int = 0o600) -> Path:
    path = folder / "secret.key"
    path.write_bytes(secret)
    path.chmod(mode)
    return path


def asked(folder: Path) -> Policy:
    return Policy.from_dict(
        {"identifiers": ["id"], "quasi": ["age"], "k": 2, "pseudonym": {"id": {"key": "secret.key"}}}, folder=folder
    )


def test_a_pseudonym_is_what_the_docs_say() -> None:
    """Computed by hand, as anyone can who has the key."""
    code = hmac.new(SECRET, b"tclose pseudonym 1\0" + "Müller".encode(), hashlib.sha256).digest()
    assert PseudonymKey(SECRET).pseudonym("Müller") == base64.b32encode(code[:20]).decode().lower()


@pytest.mark.parametrize(
    "cells",
    [
        pl.Series(["7", "8"]),
        pl.Series([7, 8]),
        pl.Series([7.0, 8.0]),
        pl.Series([7, 8], dtype=pl.UInt8),
        pl.Series([Decimal("7.00"), Decimal("8.00")]),
        pl.Series(["7", "8"], dtype=pl.Categorical),
        pl.Series([" 7", "8\t"]),
    ],
    ids=str,
)
def test_one_identifier_has_one_text_whatever_its_type(cells: pl.Series) -> None:
    assert identifier_texts(cells.alias("id"), ("",)).to_list() == ["7", "8"]


def test_what_texts_mean() -> None:
    texts = pl.Series("id", ["007", "7", "Cafe\u0301", "Café", "7.0", "a", "A"])
    assert identifier_texts(texts, ("",)).to_list() == ["007", "7", "Café", "Café", "7.0", "a", "A"]
    dates = pl.Series("id", [datetime.date(2026, 1, 2)])
    assert identifier_texts(dates, ("",)).to_list() == ["2026-01-02"]


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (pl.Series("id", ["1", None, ""]), "2 rows have no 'id', and a pseudonym needs one"),
        (pl.Series("id", ["1", "n/a"]), "1 row has no 'id'"),
        (pl.Series("id", [1, None]), "1 row has no 'id'"),
        (pl.Series("id", [1.5, 2.0]), "not whole, or too large"),
        (pl.Series("id", [2.0**60]), "not whole, or too large"),
        (pl.Series("id", [float("nan")]), "not whole, or too large"),
        (pl.Series("id", [b"x"]), "of type Binary"),
    ],
)
def test_identifiers_that_are_none(cells: pl.Series, says: str) -> None:
    with pytest.raises(InputError, match=says):
        identifier_texts(cells, ("", "n/a"))


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=30))
def test_equal_texts_and_only_these_have_equal_pseudonyms(ids: list[str]) -> None:
    ids = [f"x{each}x" for each in ids]  # neither missing nor with spaces at its ends
    key = PseudonymKey(SECRET)
    made = [key.pseudonym(text) for text in identifier_texts(pl.Series("id", ids), ("",))]
    assert are_pseudonyms(pl.Series(made))
    import unicodedata

    plain = [unicodedata.normalize("NFC", each) for each in ids]
    assert [made.index(each) for each in made] == [plain.index(each) for each in plain]


def test_the_place_of_rows_and_the_other_columns_stay(tmp_path: Path) -> None:
    key_file(tmp_path)
    frame = pl.DataFrame({"age": [1, 2, 3], "^id$": ["a", "b", "a"], "id": [9, 8, 9]})
    made = with_pseudonyms(frame, asked(tmp_path))
    assert made.drop("id").equals(frame.drop("id"))
    assert made["id"].to_list() == [PseudonymKey(SECRET).pseudonym(text) for text in ("9", "8", "9")]


def test_another_key_gives_other_pseudonyms_and_another_fingerprint() -> None:
    one, other = PseudonymKey(SECRET), PseudonymKey(SECRET[::-1])
    assert one.pseudonym("7") != other.pseudonym("7")
    assert one.fingerprint != other.fingerprint
    assert one.fingerprint == PseudonymKey(SECRET).fingerprint
    assert len(one.fingerprint) == 32


# The key's file


@pytest.mark.parametrize(
    ("secret", "says"),
    [
        (b"", "32 to 65,536 random bytes"),
        (SECRET[:31], "32 to 65,536 random bytes"),
        (b"\0" * 32, "are not random"),
        (b"password" * 9, "are not random"),
        (os.urandom(65_537), "32 to 65,536 random bytes"),
    ],
)
def test_keys_that_anyone_could_guess(tmp_path: Path, secret: bytes, says: str) -> None:
    with pytest.raises(InputError, match=says) as refused:
        PseudonymKey.load(key_file(tmp_path, secret))
    assert "password" not in str(refused.value)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o610])
def test_a_key_that_others_can_read(tmp_path: Path, mode: int) -> None:
    with pytest.raises(InputError, match=r"others than you may read or change .*chmod 600"):
        PseudonymKey.load(key_file(tmp_path, mode=mode))


def test_a_key_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no key file .*tclose pseudonym-key"):
        PseudonymKey.load(tmp_path / "none")
    for other in (tmp_path, Path("/dev/zero")):
        with pytest.raises(InputError, match="is no ordinary file"):
            PseudonymKey.load(other)
    with pytest.raises(InputError, match="cannot be read"):
        PseudonymKey.load(tmp_path / ("x" * 5000))


def test_a_key_shows_itself_nowhere(tmp_path: Path) -> None:
    key = PseudonymKey.load(key_file(tmp_path))
    shown = f"{key!r} {key} {vars(PseudonymKey)} {asked(tmp_path)!r} {asked(tmp_path).to_dict()}"
    assert SECRET.decode() not in shown
    assert str(SECRET)[2:20] not in shown
    assert SECRET.hex() not in shown


# One row per person

ROWS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), min_size=1, max_size=40)


@given(ROWS, st.integers(0, 2))
def test_ranked_rows_are_those_of_a_sorted_list(rows: list[tuple[int, int]], part: int) -> None:
    persons = np.unique([person for person, _ in rows], return_inverse=True)[1]
    codes = np.array([code for _, code in rows])
    chosen = ranked_rows(persons, codes, part, 2)
    for person, row in enumerate(chosen.tolist()):
        own = sorted(codes[persons == person].tolist())
        assert persons[row] == person
        assert codes[row] == own[(len(own) - 1) * part // 2]


def test_a_table_of_persons_shows_lowest_middle_and_highest_values() -> None:
    frame = pl.DataFrame({"id": ["a", "b", "a", "a"], "age": [1, 2, 1, 1], "pay": [5, 7, 9, 6]})
    given: dict[str, Any] = {"quasi": ["age"], "sensitive": {"pay": {"t": 0.5, "l": 2}}, "person": "id"}
    policy = Policy(**given)
    people = PersonTable.of(encode_quietly(frame, policy), policy)
    assert people.persons.tolist() == [0, 1, 0, 0]
    assert people.table.frame.to_dict(as_series=False) == {
        "age": [1, 2],
        "pay": [6, 7],
        "pay\0" + "0": [5, 7],
        "pay\0" + "2": [9, 7],
    }
    assert [spec.l for spec in people.table.policy.sensitive.values()] == [2, None, None]
