"""Persons and their rows: keyed pseudonyms in place of identifiers, one row per person, samples of whole persons.

A pseudonym is one text for each identifier, whatever type its column has. A whole number is spelled in plain digits, so
that 7, 7.0 and the text "7" are one identifier. Text stays as it is, but for spaces at its ends and its Unicode form:
"007" is another identifier than "7".

By a table with one row per person, the rows of a person are put into a class together. A person's row shows the
quasi-identifiers of the person's middle row. For closeness, it shows the lowest, the middle and the highest sensitive
value as columns of their own. If each of these is close to the table's in every class, and everyone has as many rows,
then so are all values, because the distance of a mixture is at most the mean of distances. Where people have different
numbers of rows, the judge decides, and classes are merged where that fails.
"""

from __future__ import annotations

import base64
import hmac
import os
import secrets
import stat
import unicodedata
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl

from tclose.errors import InputError, InternalError
from tclose.policy import Policy, Sensitive
from tclose.policy.settings import check_name
from tclose.policy.variants import asking
from tclose.table.classes import Classes, classes_of, forms_classes
from tclose.table.coded import CodedTable, encode_quietly
from tclose.table.values import marked_missing
from tclose.types import Ints
from tclose.words import counted, some_columns

# The secret key of pseudonyms: its file, its fingerprint, the pseudonym of a text


BYTES = 32  # of a key, at least
MOST_BYTES = 1 << 16
FEWEST_KINDS = 8  # of different bytes: 32 random bytes all but never have fewer than 20, hexadecimal text about 14
LENGTH = 32  # letters of a pseudonym, of 5 bits each
BITS = 5 * LENGTH
SHOWN = 32  # hexadecimal digits of a fingerprint
LETTERS = "a-z2-7"
OF_IDENTIFIERS, OF_THE_KEY = b"tclose pseudonym 1\0", b"tclose pseudonym key fingerprint 1\0"


class PseudonymKey:
    """A secret key; it shows itself nowhere, and what it makes tells nothing about it."""

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def __repr__(self) -> str:
        return "<PseudonymKey>"

    @classmethod
    def load(cls, path: Path) -> PseudonymKey:
        """Read a key; refuse one that others can read, or that anyone could guess."""
        check_name(path)
        try:
            _check_kind(path, path.stat())  # a pipe would be empty when the key is read again
            with path.open("rb") as file:
                _check_mode(path, os.fstat(file.fileno()))
                secret = file.read(MOST_BYTES + 1)
        except FileNotFoundError:
            raise InputError(
                "there is no key file {path}: make one with tclose pseudonym-key {path}", path=path
            ) from None
        except OSError as error:
            raise InputError("the key file {path} cannot be read: {why}", path=path, why=error.strerror) from None
        if not BYTES <= len(secret) <= MOST_BYTES:
            raise InputError(
                "a key has {bytes} to {most_bytes:,} random bytes, and {path} has not",
                bytes=BYTES,
                most_bytes=MOST_BYTES,
                path=path,
            )
        if len(set(secret)) < FEWEST_KINDS:
            raise InputError("the bytes of {path} are not random: make a key with tclose pseudonym-key", path=path)
        return cls(secret)

    @property
    def fingerprint(self) -> str:
        """What tells two keys apart without telling anything about them: 128 bits, hexadecimal."""
        return hmac.digest(self._secret, OF_THE_KEY, "sha256").hex()[:SHOWN]

    def pseudonym(self, text: str) -> str:
        """Return the first 160 bits of the HMAC-SHA-256 of an identifier's text, in base32."""
        code = hmac.digest(self._secret, OF_IDENTIFIERS + text.encode(), "sha256")
        return base64.b32encode(code[: BITS // 8]).decode().lower()


def new_secret() -> bytes:
    """Return the bytes of a new key."""
    return secrets.token_bytes(BYTES)


def _check_kind(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise InputError("the key file {path} is no ordinary file", path=path)


def _check_mode(path: Path, found: os.stat_result) -> None:
    """Refuse a key that others can read or change; Windows has no such modes."""
    if os.name != "nt" and stat.S_IMODE(found.st_mode) & 0o077:
        raise InputError("others than you may read or change the key file {path}: chmod 600 {path}", path=path)


# Pseudonyms in place of identifiers


MOST_EXACT = 2**53  # from which on floats skip whole numbers
PSEUDONYM_PATTERN = f"^[{LETTERS}]{{{LENGTH}}}$"


def with_pseudonyms(frame: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return a table with pseudonyms in the place of the identifier that the policy publishes so."""
    for name, spec in (policy.pseudonym or {}).items():
        key = PseudonymKey.load(spec.key)
        frame = pl.DataFrame(
            {c.name: _pseudonyms(c, key, policy) if c.name == name else c for c in frame.iter_columns()}
        )
    return frame


def _pseudonyms(column: pl.Series, key: PseudonymKey, policy: Policy) -> pl.Series:
    texts = identifier_texts(column, policy.missing)
    different = texts.unique()
    pseudonyms = pl.Series([key.pseudonym(text) for text in different], dtype=pl.String)
    if pseudonyms.n_unique() < len(different):
        raise InternalError("two identifiers have the same pseudonym, so nothing was released")
    return texts.replace_strict(different, pseudonyms)


def identifier_texts(column: pl.Series, missing: tuple[str, ...]) -> pl.Series:
    """Return the text of each identifier; rows without one are refused."""
    name, column = column.name, column.alias("")  # polars takes names such as ^x$ for patterns
    if not forms_classes(column.dtype):
        raise InputError(
            "column '{name}' is of type {base_type}: make it text or a whole number",
            name=name,
            base_type=column.dtype.base_type(),
        )
    cells = _whole(name, column)
    texts = cells.cast(pl.String)
    spelled = texts.unique().drop_nulls()
    plain = pl.Series([unicodedata.normalize("NFC", text).strip() for text in spelled], dtype=pl.String)
    texts = texts.replace_strict(spelled, plain, return_dtype=pl.String)
    marks = (*missing, "")
    lacking = int(np.count_nonzero(marked_missing(texts.fill_null(""), marks)))
    if lacking:
        have = "row has" if lacking == 1 else "rows have"
        raise InputError(
            "{lacking:,} {have} no '{name}', and a pseudonym needs one: add it, or leave these rows out",
            lacking=lacking,
            have=have,
            name=name,
        )
    return texts


def _whole(name: str, column: pl.Series) -> pl.Series:
    """Return numbers as whole numbers, and any other column as it is."""
    if not (column.dtype.is_float() or column.dtype.is_decimal()):
        return column
    numbers = column.cast(pl.Float64)
    known = numbers.drop_nulls()
    if not ((known.abs() < MOST_EXACT) & (known == known.round())).all():
        raise InputError(
            "'{name}' holds numbers that are not whole, or too large to be exact: store it as text", name=name
        )
    return numbers.cast(pl.Int64)


def are_pseudonyms(column: pl.Series) -> bool:
    """Tell whether all cells of a column look like pseudonyms."""
    text = column.alias("")
    return text.dtype == pl.String and not text.null_count() and bool(text.str.contains(PSEUDONYM_PATTERN).all())


def persons_apart(table: CodedTable, classes: Classes) -> int:
    """Count the persons whose rows are not all in one class."""
    assert table.persons is not None
    labels, persons = classes.labels_by_row(), table.persons
    lowest = np.full(int(persons.max()) + 1, len(labels), dtype=np.int64)
    highest = np.full(len(lowest), -1, dtype=np.int64)
    np.minimum.at(lowest, persons, labels)
    np.maximum.at(highest, persons, labels)
    return int(np.count_nonzero(highest > lowest))


def check_kept_by_person(table: CodedTable) -> None:
    """Refuse rows of one person with different kept values, which would be in different classes."""
    policy = table.policy
    if not policy.keep or table.persons is None:
        return
    apart = [name for name in policy.keep if persons_apart(table, classes_of(table.frame[[name]]))]
    if apart:
        persons = persons_apart(table, table.groups)
        raise InputError(
            "all rows of a pseudonym must be in one class, but {persons} show different values of {columns}, "
            "which the policy keeps: leave that out of keep",
            persons=counted(persons, "person"),
            columns=some_columns(apart),
        )


def middle_rows(persons: Ints) -> Ints:
    """Return one row of each person 0, 1, 2, …: the middle one of the person's rows, in the table's order.

    >>> middle_rows(np.array([1, 0, 1, 1]))
    array([1, 2])
    """
    return ranked_rows(persons, np.zeros(len(persons), dtype=np.int64), 1, 2)


def ranked_rows(persons: Ints, codes: Ints, part: int, parts: int) -> Ints:
    """Return the row of each person 0, 1, 2, … that stands at a part of the way through the person's sorted rows.

    >>> ranked_rows(np.array([0, 0, 0, 1]), np.array([7, 5, 9, 4]), 2, 2)
    array([2, 3])
    """
    order = np.lexsort((codes, persons))
    sizes = np.bincount(persons)
    starts = np.cumsum(sizes) - sizes
    return np.asarray(order[starts + (sizes - 1) * part // parts])


# A table with one row per person


MOST_RANKS = 3


@dataclass(frozen=True, eq=False, repr=False)
class PersonTable:
    """One row per person, and the person of each row of the whole table."""

    table: CodedTable
    persons: Ints  # of each row of the whole table, numbered as the rows of `table`

    @classmethod
    def of(cls, whole: CodedTable, policy: Policy, *, t_alone: bool = False) -> PersonTable:
        """Choose the cells that stand for each person; with `t_alone`, no other model is asked of them."""
        assert whole.persons is not None
        persons = np.unique(whole.persons, return_inverse=True)[1].astype(np.int64)
        middle = middle_rows(persons)
        columns = {name: whole.frame[name].gather(middle) for name in policy.visible}
        ranks = min(MOST_RANKS, int(np.bincount(persons).max())) - 1
        sensitive: dict[str, Sensitive] = {}
        for name, spec in policy.sensitive.items():
            cells, codes = whole.frame[name], whole.sensitive[name].codes
            columns[name] = cells.gather(ranked_rows(persons, codes, 1, 2))
            sensitive[name] = _t_alone(spec) if t_alone else spec
            for rank in _further_ranks(spec, ranks):
                other = f"{name}\0{rank}"  # which no column of a table is called
                columns[other] = cells.gather(ranked_rows(persons, codes, rank, ranks))
                sensitive[other] = _t_alone(spec)
        asked = replace(
            policy,
            person=None,
            pseudonym=None,
            identifiers=(),
            unlinkable=(),
            sensitive=sensitive,
            suppress=Fraction(0),
        )
        frame = pl.DataFrame({name: column.alias("") for name, column in columns.items()})
        return cls(encode_quietly(frame, asked), persons)


def _further_ranks(spec: Sensitive, ranks: int) -> tuple[int, ...]:
    """Return the ranks beside the middle one: the lowest and the highest, where there is a t for them."""
    if spec.t is None or ranks == 0:
        return ()
    return (0, ranks) if ranks > 1 else (1,)  # of two, the middle one is the lowest


def _t_alone(spec: Sensitive) -> Sensitive:
    """Return settings that ask for t and nothing else; without a t, any class will do (alpha = 1)."""
    return asking(spec, t=spec.t, alpha=Fraction(1) if spec.t is None else None)


# A part of a large table, for quick answers


def sampled(frame: pl.DataFrame, most: int, *, person: str | None, seed: int) -> pl.DataFrame:
    """Return at most so many rows in their order; all rows of a person, or none."""
    if frame.height <= most:
        return frame
    if person is None or person not in frame.columns:
        return frame.with_row_index("\0row").sample(most, seed=seed).sort("\0row").drop("\0row")
    persons = frame.group_by(person, maintain_order=True).agg(pl.len().alias("\0rows"))
    drawn = persons.sample(fraction=1.0, shuffle=True, seed=seed)
    chosen = drawn.filter(pl.col("\0rows").cum_sum() <= most)
    return frame.join(chosen, on=person, how="semi", nulls_equal=True, maintain_order="left")
