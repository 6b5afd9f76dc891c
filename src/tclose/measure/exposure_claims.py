"""The four lines of what remains exposed: each a claim with its figure, what is known without it, and its cures.

The question of every line is: *does what remains exposed stay within the cut-off?* So "yes" is good, as in every claim
of tclose. The cut-offs are those of decision 135; they were frozen before any new table was looked at.

Every release gives something away by chance: rows are dealt at random into classes of the sizes of the release, so the
rows of a class that show a value are drawn without replacement, and their number is hypergeometric.

A column that no closeness protects can be read off by anyone who knows a person's other quasi-identifiers. Leave one
out (line 4 of decision 135): of the sampled rows with an uncommon value of a column, those count for which all other
columns lead only to classes that publish this one exact value. All other columns are known as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from tclose.measure.exposure_counts import LineCounts, MarkedRows, Recognised, ShownColumn
from tclose.messages import joined, say
from tclose.types import Answer, Bools, Claim, Floats, Ints
from tclose.words import counted, legible, percent, rows_of, some_columns

# What random classes of the same sizes would give away


LARGEST = 200  # rows of a class; in a larger one, chance brings hardly any value half-way to certainty (below 1e-11)
NEGLIGIBLE = 1e-12


def suspicion_by_chance(sizes: Mapping[int, int], held: int, units: int) -> Fraction:
    """Return the mean share of a value in the classes of those who have it, if classes were random.

    In a class of s rows it is 1/s + (1 - 1/s) · (n_v - 1) / (n - 1): the row itself, and the others' chance.

    >>> suspicion_by_chance({2: 3}, held=1, units=6)
    Fraction(1, 2)
    """
    if units < 2:
        return Fraction(1)
    others, classes = Fraction(held - 1, units - 1), sum(sizes.values())
    return (classes + (units - classes) * others) / units


def given_away_by_chance(sizes: Mapping[int, int], columns: Iterable[Ints], units: int) -> float:
    """Return the expected share of rows with a value that random classes make at least half-way certain.

    `columns` count, for each column, the rows that show each cell. The shares of the columns are added up, so with
    several columns it is an upper limit.
    """
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, units + 1)))))
    total = 0.0
    for holders in columns:
        held, cells = np.unique(holders[(holders > 0) & (2 * holders < units)], return_counts=True)
        for size, classes in sizes.items():
            if size <= LARGEST and len(held):
                total += classes * float((cells * _marked(size, held, units, logs)).sum())
    return min(total / max(units, 1), 1.0)


def _marked(size: int, held: Ints, units: int, logs: Floats) -> Floats:
    """Return, for values that so many rows show, the expected rows of one random class that are marked."""
    least = -(-size * (units + held) // (2 * units))  # the fewest rows of the class that bring it half-way
    found = np.zeros(len(held))
    for drawn in range(int(least.min()), size + 1):
        possible = (drawn >= least) & (drawn <= held) & (size - drawn <= units - held)
        if not possible.any():
            continue
        of = held[possible]
        ways = _choose(of, drawn, logs) + _choose(units - of, size - drawn, logs) - _choose(units, size, logs)
        chance = np.exp(ways)
        found[possible] += drawn * chance
        if drawn > int(least.max()) and chance.max() < NEGLIGIBLE:
            break
    return found


def _choose(of: Ints | int, drawn: int, logs: Floats) -> Floats:
    return np.asarray(logs[of] - logs[drawn] - logs[of - drawn])


# What can be read off a column that no closeness protects


Fits = Callable[[slice], Bools]  # some of the rows × classes

SAMPLED = 400  # rows with an uncommon value, of each column
UNCOMMON = 4  # a value that fewer than one row in so many has
BLOCK = 4_000_000  # cells of a rows × classes block
SEVERAL = -2  # a class that does not publish one exact value


@dataclass(frozen=True)
class ReadOff:
    """Of some rows with an uncommon value of a column: how many there are, and how many can be read off."""

    sampled: int
    read: int
    expected: float  # mean share of these values in the table: what anyone guesses without the release


def sampled_rows(codes: Ints, counts: Ints) -> Ints:
    """Return rows with an uncommon value, drawn at random where there are many; `codes` are -1 where missing."""
    uncommon = np.flatnonzero((codes >= 0) & (UNCOMMON * np.append(counts, 0)[codes] < len(codes)))
    if len(uncommon) <= SAMPLED:
        return uncommon
    return np.sort(np.random.default_rng(0).choice(uncommon, SAMPLED, replace=False))


def read_off(values: Ints, shares: Floats, exact: Ints, others: Sequence[Fits]) -> ReadOff:
    """Count the rows whose value can be read off.

    `values` and `shares` are those of the rows, and `exact` is the one value that each class publishes of the column.
    `others` tell, for each other column, which class each row fits.
    """
    if not len(values):
        return ReadOff(0, 0, 0.0)
    step, read = max(1, BLOCK // len(exact)), 0
    for start in range(0, len(values), step):
        block = slice(start, start + step)
        fits = np.ones((len(values[block]), len(exact)), dtype=bool)
        for column in others:
            fits &= column(block)
        other = exact[None, :] != values[block][:, None]
        read += int(np.count_nonzero(fits.any(axis=1) & ~(fits & other).any(axis=1)))
    return ReadOff(len(values), read, float(shares.mean()))


# The four lines


Name = Literal["class_alone", "stands_out", "one_more_fact", "unprotected"]
TITLES: Mapping[Name, str] = {
    "class_alone": "Class alone",
    "stands_out": "Stands out",
    "one_more_fact": "One more fact",
    "unprotected": "Unprotected columns",
}
VERDICTS: Mapping[Answer, str] = {
    "yes": "within the cut-off",
    "no": "beyond the cut-off",
    "undecided": "not decided",
}
KINDS: Mapping[Name, str] = {  # what `kind` said before; deprecated
    "class_alone": "same_value",
    "stands_out": "rare_value",
    "one_more_fact": "known_value",
    "unprotected": "unprotected",
}

# The cut-offs of decision 135, as shares of rows; the gain is the share of the way from p to certainty.
MOST_GAIN = Fraction(15, 100)  # of the suspicion of an uncommon label, on average over those who have it
MOST_GIVEN_AWAY = Fraction(5, 100)  # rows whose value the class makes at least half-way certain
MOST_OWN = Fraction(10, 100)  # rows with a cell of their own, or an own number that ends a range
MOST_IN_FEW = Fraction(2, 100)  # rows in classes of fewer than k persons
MOST_ALONE = Fraction(20, 100)  # rows that are alone with a fact that neighbours know
MOST_READ_OFF = Fraction(20, 100)  # uncommon values of an unprotected column; not in the research's score

MOST_SUSPICIONS = 10  # that are listed
NOTHING_LOOKS_LIKE_A_CODE = say(
    "No published column looks like the code of a place, a group or a person. The guarantee assumes that nobody knows "
    "a person's sensitive values; a known one usually singles the row out."
)


@dataclass(frozen=True)
class Cure:
    """A setting, and how many rows its line counts after it: computed before it is printed."""

    setting: str
    rows_after: int

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON has."""
        return {"setting": self.setting, "rows_after": self.rows_after}


@dataclass(frozen=True)
class Suspicion:
    """How much the class makes people suspect an uncommon value of those who have it."""

    column: str
    value: str
    table: Fraction  # the value's share of the table: p
    group: Fraction  # its mean share in the classes of those who have it: B
    chance: Fraction  # the same, in random classes of the same sizes

    @property
    def gain(self) -> Fraction:
        """The share of the way from what the table says to certainty."""
        return (self.group - self.table) / (1 - self.table)

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON has."""
        return {
            "column": self.column,
            "value": self.value,
            "table": float(self.table),
            "class": float(self.group),
            "chance": float(self.chance),
        }


@dataclass(frozen=True)
class Figure:
    """One line of what remains exposed."""

    name: Name
    claim: Claim
    rows: int | None  # None where it could not be counted
    of: int  # rows that were looked at
    baseline: float | None  # the share without the release, or by chance
    columns: Mapping[str, int] = field(default_factory=dict)  # rows through each column, most first
    cures: tuple[Cure, ...] = ()
    suspicion: tuple[Suspicion, ...] | None = None  # of the class alone only
    table: int | None = None  # which of several tables, counted from 1
    multiple: float = 0.0  # the figure, as a multiple of its cut-off: from 1 on, it is beyond

    @property
    def share(self) -> float | None:
        """The share of the rows that were looked at."""
        return None if self.rows is None else self.rows / self.of if self.of else 0.0

    @property
    def answer(self) -> Answer:
        """Whether what remains exposed stays within the cut-off."""
        return self.claim.answer

    @property
    def severity(self) -> tuple[int, float]:
        """How bad it is, to choose among several tables."""
        return ("yes", "undecided", "no").index(self.answer), self.share or 0.0

    @property
    def title(self) -> str:
        """What the line is called."""
        return TITLES[self.name]

    @property
    def verdict(self) -> str:
        """The answer, for people."""
        return VERDICTS[self.answer]

    @property
    def remedies(self) -> tuple[str, ...]:
        """The cures, for people."""
        return tuple(
            say("{setting} ({rows} after it)", setting=cure.setting, rows=counted(cure.rows_after, "row"))
            for cure in self.cures
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints; the last four keys are deprecated."""
        suspicion = {} if self.suspicion is None else {"suspicion": [each.to_dict() for each in self.suspicion]}
        return {
            "name": self.name,
            **self.claim.to_dict(),
            "rows": self.rows,
            "of": self.of,
            "share": self.share,
            "baseline": self.baseline,
            "of_cut_off": round(self.multiple, 6),
            "cures": [cure.to_dict() for cure in self.cures],
            **suspicion,
            **({} if self.table is None else {"table": self.table}),
            "kind": KINDS[self.name],
            "attributes": dict(self.columns),
            "sentence": self.claim.says,
            "cure": joined("; or ", [cure.setting for cure in self.cures]),
        }


@dataclass(frozen=True, eq=False)
class ExposureFacts:
    """What the lines need to know of a published table besides its counts."""

    rows: int
    units: int
    columns: Sequence[ShownColumn]  # without their rows
    labels: Callable[[str, int], str]  # the text of a published cell
    k: int
    counted: Literal["rows", "persons"] = "rows"
    sensitive: bool = True  # whether the policy names a sensitive attribute
    recognised: Mapping[str, Recognised] = field(default_factory=dict)
    unseen: tuple[str, ...] = ()  # what could not be looked at for "stands out", as sentences say what it needs
    unlooked: str = ""  # why columns were not looked at for "one more fact"
    read_off: Mapping[str, ReadOff] | None = None  # of unprotected columns; None where it could not be computed
    cures: Mapping[Name, Sequence[Cure]] = field(default_factory=dict)
    people_unknown: bool = False  # whether the policy counts persons, whom a reader cannot tell apart


def figures_of(counts: LineCounts, facts: ExposureFacts) -> tuple[Figure, ...]:
    """Return the four lines of one table."""
    lines = (_class_alone, _stands_out, _one_more_fact, _unprotected)
    found = (line(counts, facts) for line in lines)
    return tuple(replace(each, cures=_smaller(each, facts.cures.get(each.name, ()))) for each in found)


def _smaller(figure: Figure, cures: Iterable[Cure]) -> tuple[Cure, ...]:
    """Keep the cures after which fewer rows are counted."""
    return tuple(cure for cure in cures if figure.rows is not None and cure.rows_after < figure.rows)


def of_all_tables(tables: Sequence[Sequence[Figure]]) -> tuple[Figure, ...]:
    """Return each line of the table where it is worst; readers cannot join the rows of several tables."""
    if len(tables) == 1:
        return tuple(tables[0])
    worst = []
    for line in zip(*tables, strict=True):
        number = max(range(len(line)), key=lambda place: line[place].severity)
        figure = line[number]
        claim = replace(figure.claim, says=say("Table {number}: {says}", number=number + 1, says=figure.claim.says))
        worst.append(replace(figure, claim=claim, table=number + 1))
    return tuple(worst)


# 1: what the class alone tells


def suspicions(counts: LineCounts, facts: ExposureFacts) -> tuple[Suspicion, ...]:
    """Return how much classes make people suspect each uncommon label, the largest gain first."""
    found = [
        Suspicion(
            column=column.name,
            value=facts.labels(column.name, cell),
            table=Fraction(held, facts.units),
            group=sum((Fraction(total, size) for size, total in squares.items()), Fraction(0)) / held,
            chance=suspicion_by_chance(counts.sizes, held, facts.units),
        )
        for column in facts.columns
        for cell, squares in counts.squares.get(column.name, {}).items()
        if (held := int(column.holders[cell]))
    ]
    return tuple(sorted(found, key=lambda each: (-each.gain, each.column, each.value)))


def _class_alone(counts: LineCounts, facts: ExposureFacts) -> Figure:
    if not facts.sensitive:
        says = "The policy names no sensitive column, so what a class tells was not looked at."
        claim = Claim(answer="undecided", says=says, needs="which columns nobody may learn: make them sensitive")
        return Figure("class_alone", claim, None, facts.rows, None, suspicion=())
    found, given = suspicions(counts, facts), counts.given_away
    holders = [column.holders for column in facts.columns if column.sensitive]
    chance = given_away_by_chance(counts.sizes, holders, facts.units)
    gain = found[0].gain if found else Fraction(0)
    multiple = max(gain / MOST_GAIN, _multiple(given.rows, facts.rows, MOST_GIVEN_AWAY))
    away = say(
        "{for_rows}, some value is as good as given away, at least half-way to certainty",
        for_rows=_for_rows(given.rows, facts.rows),
    )
    says = say(
        "{suspected}{away}; in random classes of these sizes, {share}.",
        suspected=_suspected(found),
        away=away,
        share=percent(chance),
    )
    return Figure(
        name="class_alone",
        claim=Claim(answer=_within(multiple), says=says),
        rows=given.rows,
        of=facts.rows,
        baseline=round(chance, 6),
        columns=_most_first(given),
        suspicion=found[:MOST_SUSPICIONS],
        multiple=float(multiple),
    )


def _suspected(found: Sequence[Suspicion]) -> str:
    if not found:
        return ""
    worst = found[0]
    return say(
        "Of those who have '{value}' ({column}), {share} of the class have it on average; of the table, "
        "{share_2}; of random classes of these sizes, {share_3}. ",
        value=legible(worst.value),
        column=legible(worst.column),
        share=percent(float(worst.group)),
        share_2=percent(float(worst.table)),
        share_3=percent(float(worst.chance)),
    )


# 2: rows that stand out without any class


def _stands_out(counts: LineCounts, facts: ExposureFacts) -> Figure:
    multiple = max(
        _multiple(counts.few, facts.rows, MOST_IN_FEW),
        _multiple(counts.own, facts.rows, MOST_OWN),
    )
    answer = _within(multiple, open_question=bool(facts.unseen))
    asked = joined("; ", map(say, facts.unseen)) if answer == "undecided" else ""
    return Figure(
        name="stands_out",
        claim=Claim(answer=answer, says=_standing(counts, facts), needs=asked),
        rows=None if answer == "undecided" and not counts.stands else counts.stands,
        of=facts.rows,
        baseline=0.0,
        columns=_most_first(counts.cells + counts.ends),
        multiple=float(multiple),
    )


def _standing(counts: LineCounts, facts: ExposureFacts) -> str:
    if not counts.stands:
        return say(
            "No row stands out among what can be seen here: at least three {persons} share every sensitive or kept "
            "value."
            if facts.unseen
            else "No row stands out: at least three {persons} share every sensitive or kept value.",
            persons=say(facts.counted),
        )
    parts = []
    if counts.cells.rows:
        where = some_columns(list(_most_first(counts.cells)), "or")
        parts.append(
            say(
                "{rows} shows a value of {columns} that at most two {persons} show: anyone who knows the value finds "
                "the {place}"
                if counts.cells.rows == 1
                else "{rows} show a value of {columns} that at most two {persons} show: anyone who knows the value "
                "finds the {place}",
                rows=rows_of(counts.cells.rows, facts.rows),
                columns=where,
                persons=say(facts.counted),
                place=_place(counts.cells, facts),
            )
        )
    if counts.ends.rows:
        where = some_columns(list(_most_first(counts.ends)), "or")
        parts.append(
            say(
                "{rows} shows a number of their own as the end of a range of {columns}: anyone who knows it finds the "
                "class and knows that the person is in it"
                if counts.ends.rows == 1
                else "{rows} show a number of their own as the end of a range of {columns}: anyone who knows it finds "
                "the class and knows that the person is in it",
                rows=rows_of(counts.ends.rows, facts.rows),
                columns=where,
            )
        )
    if counts.few:
        few = "{rows} is in classes of fewer than {k:,} persons"
        if counts.few > 1:
            few = "{rows} are in classes of fewer than {k:,} persons"
        parts.append(say(few, rows=rows_of(counts.few, facts.rows), k=facts.k))
    if facts.unseen:
        parts.append(say("more rows may stand out than can be seen here"))
    return joined("; ", parts) + "."


def _place(cells: MarkedRows, facts: ExposureFacts) -> str:
    """Say what a value finds: no row shows the values of a column whose values are counted by class."""
    linked = any(column.linked for column in facts.columns if column.name in cells.columns)
    return say("row" if linked else "class")


# 3: one more fact


def _one_more_fact(counts: LineCounts, facts: ExposureFacts) -> Figure:
    sure, doubtful = counts.alone, counts.alone_in_doubt
    sure_names = [name for name, each in facts.recognised.items() if each.how == "surely"]
    asked = [name for name, each in facts.recognised.items() if each.how == "possibly"]
    multiple = _multiple(sure.rows, facts.rows, MOST_ALONE)
    # A column in doubt matters only where it would take the figure beyond the cut-off.
    matters = bool(asked) and sure.rows + doubtful.rows >= MOST_ALONE * facts.rows
    whose = facts.people_unknown and bool(sure_names or asked)
    answer = _within(multiple, open_question=matters or whose or bool(facts.unlooked))
    needs = facts.unlooked or _what_decides(asked)
    rows: int | None = sure.rows
    if answer == "undecided" and not sure.rows:
        rows = None
    says = _known(sure, sure_names, facts) or _in_doubt(doubtful, asked, facts) or NOTHING_LOOKS_LIKE_A_CODE
    return Figure(
        name="one_more_fact",
        claim=Claim(answer=answer, says=says, needs=needs if answer == "undecided" else ""),
        rows=rows,
        of=facts.rows,
        baseline=_found_alone(facts, sure_names),
        columns=_most_first(sure if sure.rows else doubtful),
        multiple=float(multiple),
    )


def _what_decides(asked: Sequence[str]) -> str:
    if not asked:
        return "the original table, which says whose rows these are"
    return say(
        "whether neighbours may know {columns}: if so, make it a quasi-identifier or drop it",
        columns=some_columns(asked),
    )


def _known(sure: MarkedRows, names: Sequence[str], facts: ExposureFacts) -> str:
    if not names:
        return ""
    name = next(iter(_most_first(sure)), names[0])
    others = (
        say("; so does {columns}", columns=some_columns([each for each in names if each != name]))
        if len(names) > 1
        else ""
    )
    why = facts.recognised[name].why
    return say(
        "{columns} looks like the code of a place, a group or a person ({why}){others}. {for_rows}, anyone "
        "who knows the person's class and this code finds the row.",
        columns=some_columns([name]),
        why=say(why),
        others=others,
        for_rows=_for_rows(sure.rows, facts.rows),
    )


def _in_doubt(doubtful: MarkedRows, names: Sequence[str], facts: ExposureFacts) -> str:
    if not names:
        return ""
    return say(
        "{columns} may be the code of a place, a group or a person (by name only). {for_rows}, anyone who "
        "knows the person's class and this code finds the row.",
        columns=some_columns(names),
        for_rows=_for_rows(doubtful.rows, facts.rows),
    )


def _found_alone(facts: ExposureFacts, names: Sequence[str]) -> float:
    """Return the largest share of rows that the code finds without the class."""
    shares = [int((each.sharing == 1).sum()) / max(facts.rows, 1) for each in facts.columns if each.name in names]
    return max(shares, default=0.0)


# 4: columns that closeness does not protect


def _unprotected(counts: LineCounts, facts: ExposureFacts) -> Figure:
    if facts.read_off is None:
        needs = "the original table in the engine memory: it takes 400 rows with all their quasi-identifiers"
        says = "Whether quasi-identifiers can be read off from the others was not looked at."
        return Figure("unprotected", Claim(answer="undecided", says=says, needs=needs), None, facts.rows, None)
    found = {name: each for name, each in facts.read_off.items() if each.sampled}
    if not found:
        says = (
            "Nothing to look at: every quasi-identifier is of a kind that others may know, has no uncommon values, or "
            "follows from another one."
        )
        return Figure("unprotected", Claim(answer="yes", says=says), 0, facts.rows, 0.0)
    worst = max(found, key=lambda name: (found[name].read / found[name].sampled, found[name].sampled))
    figure = found[worst]
    multiple = _multiple(figure.read, figure.sampled, MOST_READ_OFF)
    read = f"{figure.read:,} ({percent(figure.read / figure.sampled)})"
    says = say(
        "Nothing limits what {columns} shows: of {rows} sampled among those with an uncommon value of it, "
        "{read} can be read off by anyone who knows their other quasi-identifiers; without the release, "
        "{share} would be guessed.",
        columns=some_columns([worst]),
        rows=counted(figure.sampled, "row"),
        read=read,
        share=percent(figure.expected),
    )
    return Figure(
        name="unprotected",
        claim=Claim(answer=_within(multiple), says=says),
        rows=figure.read,
        of=figure.sampled,
        baseline=round(figure.expected, 6),
        columns={name: each.read for name, each in found.items() if each.read},
        multiple=float(multiple),
    )


def _multiple(rows: int, of: int, most: Fraction) -> Fraction:
    return Fraction(rows, max(of, 1)) / most


def _within(multiple: Fraction, *, open_question: bool = False) -> Answer:
    """Answer by the figure as a multiple of its cut-off; where more can be exposed, only a figure beyond it decides."""
    return "no" if multiple >= 1 else "undecided" if open_question else "yes"


def _for_rows(rows: int, of: int) -> str:
    return say("For {rows}", rows=rows_of(rows, of)) if rows else say("For no row")


def _most_first(way: MarkedRows) -> dict[str, int]:
    return dict(sorted(way.columns.items(), key=lambda each: -each[1]))
