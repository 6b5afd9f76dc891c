"""δ-presence against an oracle that reads the published texts by itself and counts persons one by one."""

from __future__ import annotations

import itertools
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.conftest import TIMES

import tclose

Person = tuple[Any, ...]
TOWNS = {"aa": "a", "ab": "a", "ba": "b", "bb": "b", "bc": "b"}  # a hierarchy of two levels below *


# --- the oracle: nothing of tclose ---


def fits(value: Any, text: str) -> bool:
    """Tell whether a cell fits a published text."""
    bare = text.removesuffix(" or missing")
    if value is None:
        return text == "missing" or bare != text
    if bare == "missing":
        return False
    if isinstance(value, int | float):
        ends = [float(end) for end in re.findall(r"-?[0-9.]+", bare)]
        return ends[0] <= value <= ends[-1]
    return bare in {"*", value, TOWNS.get(value)} or value in bare.strip("{}").split(", ")


def hull(values: Sequence[Any], kind: str) -> str:
    """Return what a class of all these values publishes."""
    present = sorted({value for value in values if value is not None})
    if not present:
        return "missing"
    if kind == "town":
        towns = {TOWNS[value] for value in present}
        text = present[0] if len(present) == 1 else towns.pop() if len(towns) == 1 else "*"
    elif len(present) == 1:
        text = f"{present[0]}"
    else:
        text = f"[{present[0]}, {present[-1]}]" if kind == "number" else "{" + ", ".join(present) + "}"
    return text + (" or missing" if None in values else "")


def boxes_of(frame: pl.DataFrame, columns: Sequence[str]) -> Counter[tuple[str, ...]]:
    """Return how many rows publish each box."""
    return Counter(frame.select(pl.col(columns).cast(pl.String)).rows())


def fitting(person: Person, boxes: Sequence[tuple[str, ...]]) -> list[int]:
    return [
        number
        for number, box in enumerate(boxes)
        if all(fits(value, text) for value, text in zip(person, box, strict=True))
    ]


def counted(people: Sequence[Person], boxes: Counter[tuple[str, ...]], withheld: int = 0) -> list[Fraction] | None:
    """Return the chance of every person, all withheld ones in its box; none where somebody does not fit exactly one."""
    named = list(boxes)
    where = [fitting(person, named) for person in people]
    if any(len(found) != 1 for found in where):
        return None
    persons = Counter(found[0] for found in where)
    most = ((boxes[named[found[0]]] + withheld, persons[found[0]]) for found in where)
    return [Fraction(min(members, fitting_it), fitting_it) for members, fitting_it in most]


# --- small random populations ---


class Case:
    """A population of few persons, the members of a table, and what is asked for."""

    def __init__(self, seed: int, most: int, *, lacking: bool = False) -> None:
        chance = np.random.default_rng(seed)
        kinds = list(chance.choice(["number", "text", "town"], int(chance.integers(1, 4))))
        self.kinds = {f"q{number}": str(kind) for number, kind in enumerate(kinds)}
        size = int(chance.integers(4, most + 1))
        missing = float(chance.choice([0, 0, 0.15]))
        self.people = [tuple(self._cell(kind, chance, missing) for kind in kinds) for _ in range(size)]
        members = np.sort(chance.choice(size, int(chance.integers(2, size + 1)), replace=False)).tolist()
        self.members: list[int] = members
        self.secrets: list[str | None] = [str(value) for value in chance.choice(["x", "y"], len(members))]
        if lacking and chance.random() < 0.4:  # withheld, since a sensitive value is missing
            self.secrets[: len(members) // 4] = [None] * (len(members) // 4)
        mean = Fraction(len(members), size)
        self.limits = {
            "max": min(1.0, float(mean) + float(chance.choice([0.05, 0.3, 1]))),
            "min": max(0.0, float(mean) - float(chance.choice([0.1, 0.5, 1]))),
        }
        self.asked = {"k": int(chance.integers(1, 4)), "t": float(chance.choice([0.3, 1.0]))}

    @staticmethod
    def _cell(kind: str, chance: np.random.Generator, missing: float) -> Any:
        if chance.random() < missing:
            return None
        if kind == "number":
            return int(chance.integers(0, 12))
        return str(chance.choice(["p", "q", "r"] if kind == "text" else list(TOWNS)))

    @property
    def population(self) -> pl.DataFrame:
        types = {name: pl.Int64 if kind == "number" else pl.String for name, kind in self.kinds.items()}
        return pl.DataFrame(self.people, schema=types, orient="row")

    @property
    def table(self) -> pl.DataFrame:
        return self.population[self.members].with_columns(ill=pl.Series(self.secrets, dtype=pl.String))

    def policy(self, folder: Path) -> tclose.Policy:
        rows = tuple((town, above, "*") for town, above in TOWNS.items())
        towns = {"hierarchy": {"rows": rows}}
        self.population.write_csv(folder / "everyone.csv", null_value="NA")  # blank lines of a CSV are no rows
        return tclose.Policy.from_dict(
            {
                "quasi": {name: towns if kind == "town" else {} for name, kind in self.kinds.items()},
                "sensitive": {"ill": {"t": self.asked["t"], "missing": "suppress"}},
                "suppress": 0.3,
                "k": self.asked["k"],
                "missing": ["", "NA"],
                "presence": {"population": "everyone.csv", **self.limits},
            },
            folder=folder,
        )


def cases(count: int, most: int, seed: int = 0, *, lacking: bool = False) -> Iterator[Case]:
    yield from (Case(seed + number, most, lacking=lacking) for number in range(count))


def released(case: Case, folder: Path) -> tclose.Release | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tclose.LeakWarning)
        try:
            return tclose.anonymize(case.table, case.policy(folder))
        except tclose.Infeasible:
            return None


# --- the laws ---


def test_the_certified_chance_is_what_counting_gives(tmp_path: Path) -> None:
    made = several = lacking = 0
    for case in cases(25 * TIMES, most=40, lacking=True):
        release = released(case, tmp_path)
        if release is None:
            continue
        boxes = boxes_of(release.frame, list(case.kinds))
        withheld = case.secrets.count(None)
        chances, upper = counted(case.people, boxes), counted(case.people, boxes, withheld)
        assert chances is not None, "somebody does not fit exactly one box"
        assert upper is not None
        claim = release.certificate.presence
        assert claim is not None
        assert (Fraction(claim.least), Fraction(claim.largest)) == (min(chances), max(upper))
        assert min(chances) >= Fraction(str(case.limits["min"]))
        assert max(upper) <= Fraction(str(case.limits["max"]))
        assert sum(chances) == len(case.members) - withheld, "the mean chance is members / persons"
        lacking += withheld > 0
        for box in boxes:
            inside = [person for person in case.people if fitting(person, [box])]
            kinds = list(case.kinds.values())
            assert box == tuple(hull([person[q] for person in inside], kind) for q, kind in enumerate(kinds))
        made, several = made + 1, several + (len(boxes) > 1)
    assert made > 7 * TIMES
    assert several > 4 * TIMES
    assert lacking > TIMES


def test_check_agrees_with_counting_on_any_release(tmp_path: Path) -> None:
    """Ordinary releases, whose ranges end at members: the answer is yes only where the definition holds."""
    answers: Counter[str] = Counter()
    for case in cases(24 * TIMES, most=14, seed=10_000):
        policy = case.policy(tmp_path)
        plain = tclose.Policy.from_dict({k: v for k, v in policy.to_dict().items() if k != "presence"})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tclose.LeakWarning)
            try:
                release = tclose.anonymize(case.table, plain, method="mondrian", seed=1).frame
            except tclose.Infeasible:
                continue
            found = tclose.check(release, policy).presence
        assert found is not None
        boxes = boxes_of(release, list(case.kinds))
        chances, kinds = counted(case.people, boxes), list(case.kinds.values())
        hulls = all(
            text == hull([person[q] for person in case.people if fitting(person, [box])], kind)
            for box in boxes
            for q, (text, kind) in enumerate(zip(box, kinds, strict=True))
            if kind != "town"  # a label may be a higher one
        )
        within = chances is not None and all(
            Fraction(str(case.limits["min"])) <= chance <= Fraction(str(case.limits["max"])) for chance in chances
        )
        assert found.answer == ("yes" if within and hulls else "no")
        answers[found.answer] += 1
    assert min(answers["yes"], answers["no"]) > 3


def test_all_tables_that_are_consistent_with_a_release_give_the_chance(tmp_path: Path) -> None:
    """Each person is in m/P of all equally likely sets of members that publish the same boxes."""
    made = 0
    for case in cases(14 * TIMES, most=9, seed=20_000):
        release = released(case, tmp_path)
        if release is None:
            continue
        boxes = boxes_of(release.frame, list(case.kinds))
        named = list(boxes)
        where = [fitting(person, named)[0] for person in case.people]
        everyone = range(len(case.people))
        possible = [
            members
            for members in itertools.combinations(everyone, len(case.members))
            if Counter(where[member] for member in members) == Counter({at: boxes[box] for at, box in enumerate(named)})
        ]
        chances = counted(case.people, boxes)
        assert chances == [Fraction(sum(one in members for members in possible), len(possible)) for one in everyone]
        made += 1
    assert made > 5


def test_the_attack_is_never_wrong_about_members(tmp_path: Path) -> None:
    """On releases without [presence]: whoever is called a certain member is one, and lower bounds are below the truth.

    The truth is counted over all sets of members that could publish these classes with the same tight ends.
    """
    certain = 0
    for case in cases(10 * TIMES, most=9, seed=30_000):
        case.asked["k"] = 2
        policy = case.policy(tmp_path)
        plain = tclose.Policy.from_dict({k: v for k, v in policy.to_dict().items() if k != "presence"})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tclose.LeakWarning)
            try:
                release = tclose.anonymize(case.table, plain, method="mondrian", seed=1)
            except tclose.Infeasible:
                continue
            attacks = tclose.attack(release, original=case.table, policy=plain, population=case.population)
        found = attacks["membership"].findings["release"]
        truth = posterior(case, boxes_of(release.frame, list(case.kinds)))
        assert found.figure is not None
        assert found.figure <= float(max(truth)) + 1e-12
        assert found.rows <= sum(chance == 1 for chance in truth)
        certain += found.rows
    assert certain > 5


def posterior(case: Case, boxes: Counter[tuple[str, ...]]) -> list[Fraction]:
    """Count, over all assignments of persons to classes that publish these texts, how often each is a member."""
    kinds, named = list(case.kinds.values()), list(boxes)
    ways: Counter[int] = Counter()
    total = 0

    def assign(at: int, taken: frozenset[int], weight: int) -> None:
        nonlocal total
        if at == len(named):
            total += weight
            ways.update(dict.fromkeys(taken, weight))
            return
        free = [one for one in range(len(case.people)) if one not in taken and fitting(case.people[one], [named[at]])]
        for chosen in itertools.combinations(free, boxes[named[at]]):
            texts = tuple(hull([case.people[one][q] for one in chosen], kind) for q, kind in enumerate(kinds))
            if texts == named[at]:
                assign(at + 1, taken | set(chosen), weight)

    assign(0, frozenset(), 1)
    return [Fraction(ways[one], total) for one in range(len(case.people))]


@pytest.mark.parametrize("seed", range(3))
def test_the_mean_chance_cannot_be_asked_away(seed: int, tmp_path: Path) -> None:
    case = Case(seed, 30)
    mean = Fraction(len(case.members), len(case.people))
    case.limits = {"min": 0, "max": float(mean) - 0.001}
    with pytest.raises(tclose.Infeasible, match=f"their mean chance is {mean}"):
        tclose.anonymize(case.table, case.policy(tmp_path))


def inverted(people: int, members: int, k: int, folder: Path) -> Fraction:
    """Return by how much somebody's chance exceeds the certified one, for a reader who runs the algorithm.

    All tables of so many members are published; those that give the same release are equally likely.
    """
    everyone = range(1, people + 1)
    pl.DataFrame({"age": everyone}).write_csv(folder / "everyone.csv")
    asked = {"quasi": ["age"], "k": k, "presence": {"population": "everyone.csv", "max": 1}}
    policy, sources = tclose.Policy.from_dict(asked, folder=folder), dict[tuple[str, ...], list[tuple[int, ...]]]()
    certified = {}
    for chosen in itertools.combinations(everyone, members):
        release = tclose.anonymize(pl.DataFrame({"age": chosen}), policy)
        published = tuple(sorted(release.frame["age"]))
        sources.setdefault(published, []).append(chosen)
        assert release.certificate.presence is not None
        certified[published] = Fraction(release.certificate.presence.largest)
    return max(
        Fraction(sum(one in table for table in tables), len(tables)) - certified[published]
        for published, tables in sources.items()
        for one in everyone
    )


def test_where_a_population_is_cut_tells_nothing_of_members(tmp_path: Path) -> None:
    """Halves of equal size say nothing; where a border followed the members, this was 1/3: somebody was certain."""
    assert inverted(8, 4, 2, tmp_path) <= 0


@pytest.mark.soak
def test_that_a_part_was_not_cut_tells_little(tmp_path: Path) -> None:
    assert inverted(9, 4, 2, tmp_path) == Fraction(4, 99)
