"""A table as its steward sees it before anything is decided: its first rows, and what is in each column."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from tclose.errors import InputError
from tclose.policy import SourceSettings
from tclose.policy.column_settings import Below
from tclose.policy.draft import ColumnProfile, Draft, person_of
from tclose.policy.draft import draft as draft_policy
from tclose.policy.draft import guess as guess_roles
from tclose.policy.draft.guesses import draft_source
from tclose.table.profile import profiles, with_persons
from tclose.table.values import Tally, ValueDomain
from tclose.types import Floats, Ints

ROWS = 50  # that are shown
BARS = 16  # of a distribution of numbers or dates
VALUES = 12  # of a distribution of texts; the rest is one bar
MOST_COUNTED = 2_000  # values whose rows are kept, from which a screen says what a t allows
EXAMPLES = 3  # masked cells of a column
CELL = 200  # letters of a cell that are shown


@dataclass(frozen=True)
class DistributionBar:
    """One bar of a distribution: which values it stands for, and how many rows show one of them."""

    label: str
    rows: int
    rank: float | None = None  # of numbers and dates: where these rows lie on average by rank, from 0 to 1
    place: float | None = None  # and by magnitude, from 0 to 1


@dataclass(frozen=True)
class ColumnLook:
    """What a steward sees of one column."""

    name: str
    kind: str
    distinct: int  # different values
    own: int  # rows with a value that at most two rows have
    missing: int  # rows without a value
    nearly_unique: bool
    examples: tuple[str, ...]  # with x for letters and 9 for digits
    bars: tuple[DistributionBar, ...]
    role: str  # proposed
    why: str
    remarks: tuple[str, ...]
    settings: Mapping[str, Any]  # proposed, beside the role
    counted: Mapping[str, int]  # rows of each value; empty of identifiers and of more than 2,000 values


@dataclass(frozen=True)
class TableLook:
    """What a steward sees of a table."""

    rows: int
    columns: tuple[ColumnLook, ...]
    first: tuple[tuple[str | None, ...], ...]  # rows, as they are
    person: str | None  # the column that tells persons apart, where they have several rows
    missing: tuple[str, ...]  # cells that mean: no value
    source: Mapping[str, Any]  # how the file is written, beyond plain CSV
    source_words: str
    questions: tuple[str, ...]  # what could not be detected

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return asdict(self)


def drafted(
    frame: pl.DataFrame,
    source: SourceSettings | None,
    questions: Sequence[str],
    labels: Mapping[str, str] | None = None,
) -> tuple[list[ColumnProfile], Draft]:
    """Describe the columns of a table, and draft its policy.

    `source` is how its file is written, `labels` what the file says about columns.
    """
    described = [replace(column, described=(labels or {}).get(column.name, "")) for column in profiles(frame)]
    person = person_of(guess_roles(described))
    if person is not None:
        described = with_persons(frame, described, person)
    guesses = guess_roles(described)
    return described, Draft(
        draft_policy(described) + draft_source(source, questions), tuple(guesses), person_of(guesses)
    )


def look_at(
    frame: pl.DataFrame,
    source: SourceSettings | None = None,
    questions: Sequence[str] = (),
    labels: Mapping[str, str] | None = None,
) -> TableLook:
    """Look at a table; `source` is how its file is written, `questions` what could not be detected."""
    described, draft = drafted(frame, source, questions, labels)
    missing = tuple(dict.fromkeys(["", *(marker for profile in described for marker in profile.markers)]))
    columns = [
        _column(frame[profile.name], profile, guess.to_dict(), missing)
        for profile, guess in zip(described, draft.columns, strict=True)
    ]
    first = frame.head(ROWS).select(pl.all().cast(pl.String, strict=False).str.slice(0, CELL)).rows()
    said = {} if source is None else source.to_dict()
    words = "" if source is None else source.words
    return TableLook(frame.height, tuple(columns), tuple(first), draft.person, missing, said, words, tuple(questions))


def _column(column: pl.Series, profile: ColumnProfile, guess: Mapping[str, Any], missing: Sequence[str]) -> ColumnLook:
    domain = ValueDomain.of(Tally.of(column), missing, Below() if profile.limits else None)
    return ColumnLook(
        name=profile.name,
        kind=profile.kind,
        distinct=profile.distinct,
        own=profile.own,
        missing=profile.missing,
        nearly_unique=profile.nearly_unique,
        examples=_examples(domain),
        bars=bars_of(domain),
        role=guess["role"],
        why=guess["why"],
        remarks=tuple(guess["remarks"]),
        settings=guess["settings"],
        counted={} if guess["role"] == "identifier" else _counted(domain),
    )


def masked(cell: str) -> str:
    """Return the look of a cell: x for each letter, 9 for each digit."""
    shape = re.sub(r"\d", "9", re.sub(r"[^\W\d_]", "x", cell[:40]))
    return shape + ("…" if len(cell) > 40 else "")


def _counted(domain: ValueDomain) -> dict[str, int]:
    if len(domain.texts) > MOST_COUNTED:
        return {}
    return dict(zip(domain.texts, domain.counts.tolist(), strict=True))


def _examples(domain: ValueDomain) -> tuple[str, ...]:
    ends = max(len(domain.texts) - 1, 0)
    places = dict.fromkeys(np.linspace(0, ends, min(20, len(domain.texts))).astype(int).tolist())
    return tuple(dict.fromkeys(masked(domain.texts[place]) for place in places))[:EXAMPLES]


def bars_of(domain: ValueDomain) -> tuple[DistributionBar, ...]:
    """Return the bars of a distribution, in the order of the values; the last may stand for all other texts."""
    if not domain.texts:
        return ()
    places = bar_of_value(domain)
    rows = np.bincount(places, domain.counts).astype(int).tolist()
    labels = [_label(domain, np.flatnonzero(places == place)) for place in range(len(rows))]
    if domain.units is None:
        return tuple(DistributionBar(label, count) for label, count in zip(labels, rows, strict=True))
    scales = (np.arange(len(places)), domain.units)
    ranks, magnitudes = (_means(scale.astype(np.float64), places, domain.counts) for scale in scales)
    return tuple(map(DistributionBar, labels, rows, ranks, magnitudes))


def _means(scale: Floats, places: Ints, counts: Ints) -> list[float]:
    """Return where the rows of each bar lie on average on a scale that is stretched from 0 to 1."""
    stretched = (scale - scale[0]) / ((scale[-1] - scale[0]) or 1.0)
    means: list[float] = (np.bincount(places, counts * stretched) / np.bincount(places, counts)).round(6).tolist()
    return means


def bar_of_value(domain: ValueDomain) -> Ints:
    """Return the bar of each value: of equal width for many numbers or dates, one each for the commonest texts."""
    count = len(domain.texts)
    if domain.units is not None and count > BARS:
        units = domain.units.astype(np.float64)
        cut = np.minimum(((units - units[0]) / (units[-1] - units[0]) * BARS).astype(np.int64), BARS - 1)
        return np.unique(cut, return_inverse=True)[1].astype(np.int64)
    if domain.units is not None or count <= VALUES:
        return np.arange(count)
    places = np.full(count, VALUES, dtype=np.int64)
    places[np.sort(np.argsort(-domain.counts, kind="stable")[:VALUES])] = np.arange(VALUES)
    return places


def _label(domain: ValueDomain, inside: Ints) -> str:
    first, last = (str(domain.texts[place])[:CELL] for place in (inside[0], inside[-1]))
    if first == last:
        return first
    return f"{first} – {last}" if domain.units is not None else "…"


@dataclass(frozen=True)
class ClassDistribution:
    """The distribution of one attribute, as shares: in the whole table, and in one class."""

    name: str
    labels: tuple[str, ...]
    table: tuple[float, ...]
    own: tuple[float, ...]


@dataclass(frozen=True)
class ChosenClass:
    """One class, closely."""

    number: int
    rows: int
    attributes: tuple[ClassDistribution, ...]
    first: tuple[tuple[str | None, ...], ...]


@dataclass(frozen=True)
class ReleaseLook:
    """What a reader sees of a release: its columns, and one of its classes closely."""

    columns: tuple[str, ...]
    visible: tuple[str, ...]
    chosen: ChosenClass

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return asdict(self)


def look_into(frame: pl.DataFrame, visible: Sequence[str], attributes: Sequence[str], number: int) -> ReleaseLook:
    """Look closely at one class of a release; classes are told apart by the visible columns, and counted from 1."""
    found = frame[list(visible)].unique(maintain_order=True)
    if not 1 <= number <= found.height:
        raise InputError(
            "the release has {height:,} classes: there is no class {number:,}", height=found.height, number=number
        )
    inside = frame.join(found[number - 1], on=list(visible), how="semi", nulls_equal=True)
    compared = tuple(_compared_with(frame[name], inside[name]) for name in attributes)
    chosen = ChosenClass(number, inside.height, compared, shown_cells(inside, ROWS))
    return ReleaseLook(tuple(frame.columns), tuple(visible), chosen)


def shown_cells(frame: pl.DataFrame, most: int) -> tuple[tuple[str | None, ...], ...]:
    """Return the first rows as text, long cells cut."""
    return tuple(frame.head(most).select(pl.all().cast(pl.String, strict=False).str.slice(0, CELL)).rows())


def _compared_with(table: pl.Series, inside: pl.Series) -> ClassDistribution:
    """Count a class's values under the bars of the whole table."""
    domain = ValueDomain.of(Tally.of(table), ("",))
    codes = domain.codes(inside)
    own = np.bincount(codes[codes >= 0], minlength=len(domain.texts))
    bars = bars_of(domain)
    places = bar_of_value(domain)
    sums = np.bincount(places, own, minlength=len(bars)) if len(places) else np.zeros(len(bars))
    whole = max(sum(bar.rows for bar in bars), 1)
    labels = tuple(bar.label for bar in bars)
    shares = tuple(bar.rows / whole for bar in bars)
    return ClassDistribution(table.name, labels, shares, tuple((sums / max(own.sum(), 1)).tolist()))
