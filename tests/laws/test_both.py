"""What holds for every release with a column that is both quasi-identifier and sensitive, judged from its two files.

The judge below is written from the definitions, on fractions and on the cells of the two CSV files. Every table has a
column of row numbers that is published as it is, so that each published row can be traced back to where it came from.
"""

from __future__ import annotations

import csv
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose import Infeasible, anonymize, check, verify
from tclose.errors import Unsuited
from tclose.measure.pair import TablePair, read_published
from tclose.partition import METHODS
from tclose.release.certificate import digest_of
from tclose.release.files import sha256
from tclose.table import encode_quietly

pytestmark = [pytest.mark.filterwarnings("ignore::tclose.LeakWarning")]
RARE = [HealthCheck.too_slow, HealthCheck.filter_too_much]
some = settings(max_examples=examples(3), deadline=None, suppress_health_check=RARE)
many = settings(max_examples=examples(5), deadline=None, suppress_health_check=RARE)
ONE_TABLE = [name for name, method in METHODS.items() if method.tables == "one" and not method.needs]
AREAS = ["x1;x;*", "x2;x;*", "y1;y;*"]
Cells = tuple[str, ...]


def emd(kind: str, mine: Counter[Any], whole: Counter[Any]) -> Fraction:
    """The distance of a class from the table, whose values stand in order: by rank, or all equally far apart."""
    domain = sorted(whole)
    extra = [Fraction(mine[value], mine.total()) - Fraction(whole[value], whole.total()) for value in domain]
    if kind == "equal":
        return sum(map(abs, extra), Fraction(0)) / 2
    running = (abs(sum(extra[: end + 1], Fraction(0))) for end in range(len(domain) - 1))
    return sum(running, Fraction(0)) / max(len(domain) - 1, 1)


class TwoFiles:
    """A release as a reader sees it: the cells of its two files, by class."""

    def __init__(self, folder: Path, visible: Sequence[str]) -> None:
        self.rows, self.listed = (_records(folder / name) for name in ("r.csv", "r-both.csv"))
        self.visible = visible

    def of(self, record: dict[str, str]) -> Cells:
        """The class that a record of either file is about."""
        return tuple(record[name] for name in self.visible)

    def classes(self) -> dict[Cells, list[dict[str, str]]]:
        found: dict[Cells, list[dict[str, str]]] = defaultdict(list)
        for record in self.rows:
            found[self.of(record)].append(record)
        return found

    def counts(self, column: str, read: Callable[[str], Any]) -> dict[Cells, Counter[Any]]:
        found: dict[Cells, Counter[Any]] = defaultdict(Counter)
        for record in self.listed:
            if record["column"] == column:
                found[self.of(record)][read(record["value"])] += int(record["count"])
        return found


def _records(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    rows = draw(st.integers(1, 24))
    column = {"age": st.integers(1, 6), "area": st.sampled_from(["x1", "x2", "y1"]), "ward": st.sampled_from("ab")}
    cells = {name: draw(st.lists(values, min_size=rows, max_size=rows)) for name, values in column.items()}
    ill = draw(st.lists(st.sampled_from(["flu", "cold", "cut"]), min_size=rows, max_size=rows))
    return pl.DataFrame({"row": range(rows), **cells, "ill": ill})


@st.composite
def policies(draw: st.DrawFn) -> dict[str, Any]:
    levels = st.sampled_from([0.2, 0.3, 0.5, 0.8, 1])
    both = draw(st.sampled_from([["age"], ["area"], ["age", "area"]]))
    keep, quasi = draw(st.sampled_from([[], ["ward"]])), {"age": {}, "area": draw(st.sampled_from(AREA_SETTINGS))}
    quasi |= {} if keep else {"ward": {}}
    sensitive: dict[str, Any] = {name: {"t": draw(levels), "l": draw(st.integers(1, 2))} for name in both}
    sensitive |= {"ill": {"t": draw(levels)}} if draw(st.booleans()) else {}
    asked = {"quasi": quasi, "keep": keep, "unlinkable": ["row"], "both": both, "sensitive": sensitive}
    return {**asked, "others": "drop", "k": draw(st.integers(1, 3))}


AREA_SETTINGS: list[dict[str, Any]] = [{}, {"hierarchy": {"rows": [row.split(";") for row in AREAS]}}]
KINDS: dict[str, tuple[str, Callable[[str], Any]]] = {"age": ("ordered", int), "area": ("equal", str)}


@pytest.mark.parametrize("method", ONE_TABLE)
@some
@given(tables(), policies())
def test_the_two_files_hold_what_was_asked_for(method: str, table: pl.DataFrame, asked: dict[str, Any]) -> None:
    try:
        release = anonymize(table, asked, method=method, seed=3)
    except (Infeasible, Unsuited):
        reject()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        proof = release.write(folder / "r.csv", certificate=folder / "c.json")
        found = TwoFiles(folder, [*asked["quasi"], *asked["keep"]])
        assert verify(folder / "r.csv", folder / "c.json").problems == ()
    classes = found.classes()
    assert min(map(len, classes.values())) >= asked["k"]
    for column in asked["both"]:
        kind, read = KINDS[column]
        counts, spec = found.counts(column, read), asked["sensitive"][column]
        whole = Counter(table[column].to_list())
        assert counts == {
            shown: Counter(table[column][int(record["row"])] for record in records)
            for shown, records in classes.items()
        }
        worst = max(emd(kind, mine, whole) for mine in counts.values())
        assert worst <= Fraction(str(spec["t"]))
        assert str(worst) == str(Fraction(proof.content["sensitive"][column]["closeness_exact"]))
        assert min(map(len, counts.values())) >= spec["l"]


@many
@given(tables(), policies(), st.randoms(use_true_random=False))
def test_the_list_is_in_a_neutral_order_and_names_nothing_twice(
    table: pl.DataFrame, asked: dict[str, Any], chance: Any
) -> None:
    """The same rows in another order, with the same classes, give the same list."""
    order = list(range(len(table)))
    chance.shuffle(order)
    try:
        lists = [anonymize(rows, asked, method="incognito", seed=3).tables[1] for rows in (table, table[order])]
    except Infeasible:
        reject()
    assert lists[0].equals(lists[1])
    assert not lists[0].drop("count").is_duplicated().any()
    place = {name: number for number, name in enumerate(asked["both"])}
    keys = [(*row[:-3], place[row[-3]], row[-2]) for row in lists[0].rows()]
    assert keys == sorted(keys)  # single digits sort alike as texts and as numbers


@many
@given(tables(), policies())
def test_a_raw_table_is_checked_by_its_exact_values(table: pl.DataFrame, asked: dict[str, Any]) -> None:
    visible = [*asked["quasi"], *asked["keep"]]
    result = check(table, asked)
    for column in asked["both"]:
        kind, _ = KINDS[column]
        groups: dict[Any, Counter[Any]] = defaultdict(Counter)
        for row in table.iter_rows(named=True):
            groups[tuple(row[name] for name in visible)][row[column]] += 1
        whole = Counter(table[column].to_list())
        assert result.sensitive[column].closeness == max(emd(kind, mine, whole) for mine in groups.values())


@many
@given(tables(), policies(), st.sampled_from(["mondrian", "incognito"]))
def test_people_fit_a_class_that_covers_them_and_lists_their_value(
    table: pl.DataFrame, asked: dict[str, Any], method: str
) -> None:
    """Counts tell an adversary more than ranges do: attacks have to know it."""
    try:
        release = anonymize(table, asked, method=method, seed=3)
    except Infeasible:
        reject()
    original = encode_quietly(table, release.policy)
    beside = TablePair.of(original, read_published(release.tables[0], original, counts=release.tables[1]))
    fits = np.concatenate([fits for _, fits in beside.people.blocks()])[beside.people.row_of]
    classes = beside.published.classes
    for number in range(len(classes)):
        members = release.tables[0]["row"].to_numpy()[classes.members(number)]
        listed = {name: set(table[name].to_numpy()[members].tolist()) for name in asked["both"]}
        for row in range(len(table)):
            covered = [bool(each.covers[each.text_of_class[number], each.cell_of_row[row]]) for each in beside.columns]
            known = [table[name][row] in listed[name] for name in asked["both"]]
            assert fits[row, number] == all(covered + known)


# --- tampering ---

FRAME = pl.DataFrame(
    {"age": [20, 30, 40, 50] * 6, "sex": ["m", "f"] * 12, "ill": ["flu", "cold", "cut"] * 8, "row": range(24)}
)
ASKED: dict[str, Any] = {
    "quasi": ["age", "sex"],
    "both": ["age"],
    "unlinkable": ["row"],
    "sensitive": {"age": {"t": 0.3}, "ill": {"t": 0.5}},
    "k": 3,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    anonymize(FRAME, ASKED, method="mondrian", seed=1).write(tmp_path / "r.csv", certificate=tmp_path / "c.json")
    return tmp_path


def _tampered(folder: Path, change: Callable[[list[list[str]]], object], *, trusted: bool) -> tuple[str, ...]:
    """Change the counts; a forger also gives the certificate their fingerprint. Return what verify says."""
    path, paper = folder / "r-both.csv", folder / "c.json"
    with path.open(newline="") as file:
        lines = list(csv.reader(file))
    change(lines)
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)
    if trusted:
        content = json.loads(paper.read_text())
        del content["digest"]
        content["files"][1]["sha256"] = sha256(path.read_bytes())
        paper.write_text(json.dumps({**content, "digest": digest_of(content)}))
    return verify(folder / "r.csv", paper).problems


def _set(line: int, place: int, cell: str) -> Callable[[list[list[str]]], object]:
    return lambda lines: lines[line].__setitem__(place, cell)


def _one_age(lines: list[list[str]]) -> None:
    """Say that everybody in the first class has one age, of which the class has as many rows as before."""
    first = [line for line in lines[1:] if line[:2] == lines[1][:2]]
    lines[1][4] = str(sum(int(line[4]) for line in first))
    for line in first[1:]:
        lines.remove(line)


TAMPERED: dict[str, tuple[Callable[[list[list[str]]], object], str]] = {
    "one row more": (_set(1, 4, "9"), "the counts of 'age' do not add up to the rows of 1 class"),
    "no number": (_set(1, 4, "-1"), "the counts hold something else than numbers of rows"),
    "a huge number": (_set(1, 4, "9" * 40), "the counts hold something else than numbers of rows"),
    "another column": (_set(1, 2, "ill"), "the counts name a column that is not both"),
    "a class that is none": (_set(1, 0, "[1, 2]"), "the counts of 'age' do not add up to the rows of 2 classes"),
    "a line twice": (lambda lines: lines.append(lines[1]), "the counts list a value of a class twice"),
    "a line less": (lambda lines: lines.pop(), "the counts of 'age' do not add up to the rows of 1 class"),
    "a title": (_set(0, 4, "n"), "the counts do not have the columns that the policy gives them"),
    "one age": (_one_age, "t of 'age' fails in"),
    "another age": (_set(1, 3, "30"), "which is not what the certificate says"),
}


@pytest.mark.parametrize("trusted", [False, True], ids=["found by its fingerprint", "fingerprint forged"])
@pytest.mark.parametrize("name", TAMPERED)
def test_a_tampered_list_is_found(folder: Path, name: str, trusted: bool) -> None:
    change, sentence = TAMPERED[name]
    problems = _tampered(folder, change, trusted=trusted)
    assert any(sentence in problem for problem in problems), problems
    assert trusted != any("r-both.csv: the release is not the file that was certified" in each for each in problems)


def test_without_the_list_nothing_is_judged(folder: Path) -> None:
    (folder / "r-both.csv").unlink()
    problems = verify(folder / "r.csv", folder / "c.json").problems
    assert "there is no file r-both.csv beside r.csv: all tables are judged together" in problems
    assert "the classes cannot be judged: they take the table and the counts" in problems


def test_a_certificate_that_leaves_the_list_out_is_found(folder: Path) -> None:
    content = json.loads((folder / "c.json").read_text())
    del content["digest"]
    del content["tables"], content["files"][1]
    (folder / "c.json").write_text(json.dumps({**content, "digest": digest_of(content)}))
    problems = verify(folder / "r.csv", folder / "c.json").problems
    assert "the method that the certificate names does not publish such tables" in problems
