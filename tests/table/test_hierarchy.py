"""Hierarchies, from files and by rule, validated when made."""

from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose import InputError
from tclose.policy import Builder
from tclose.policy.settings import exact
from tclose.table.classes import Classes
from tclose.table.hierarchies import Hierarchy, build
from tclose.table.quasi import LabelColumn
from tclose.table.values import values_of

ADULT = Path(__file__).parents[3] / "shared" / "data" / "adult_hierarchies"


def tree(hierarchy: Hierarchy) -> dict[str, list[str]]:
    """Return each leaf with the labels above it."""
    above = zip(hierarchy.labels[1:], hierarchy.levels[1:], strict=True)
    paths = [[labels[node] for node in level] for labels, level in above]
    return {leaf: [path[i] for path in paths] for i, leaf in enumerate(hierarchy.leaves)}


def loaded(folder: Path, text: str | bytes) -> Hierarchy:
    path = folder / "tree.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return Hierarchy.load(path)


@pytest.mark.parametrize(
    "text",
    [
        "flu;lung;*\nulcer;stomach;*\nasthma;lung;*\n",
        "flu,lung,*\r\nulcer,stomach,*\r\nasthma,lung,*",
        "\ufeffflu\tlung\t*\n\nulcer\tstomach\t*\nasthma\tlung\t*\n\n",
        '"flu";"lung";"*"\n"ulcer";"stomach";"*"\n"asthma";"lung";"*"\n',
    ],
)
def test_a_file_of_arx_rows(tmp_path: Path, text: str) -> None:
    hierarchy = loaded(tmp_path, text)
    assert tree(hierarchy) == {"flu": ["lung", "*"], "asthma": ["lung", "*"], "ulcer": ["stomach", "*"]}
    assert hierarchy.height == 2
    assert all((level[1:] >= level[:-1]).all() for level in hierarchy.levels)


def test_a_short_path_is_padded_with_its_leaf(tmp_path: Path) -> None:
    hierarchy = loaded(tmp_path, "flu;lung;inside;*\nburn;*\nulcer;inside;*\n")
    assert tree(hierarchy) == {
        "flu": ["lung", "inside", "*"],
        "burn": ["burn", "burn", "*"],
        "ulcer": ["ulcer", "inside", "*"],
    }


@pytest.mark.parametrize(
    ("text", "leaves"),
    [
        ('"a, b";"x, y, z";*\nc;d;*\n', ("a, b", "c")),
        ('"a\nb";x;*\nc;x;*\n', ("a\nb", "c")),
        ("a\u2028b;x;*\nc\x85d;x;*\n", ("a\u2028b", "c\x85d")),
    ],
)
def test_odd_labels_are_read_as_they_are(tmp_path: Path, text: str, leaves: tuple[str, ...]) -> None:
    assert loaded(tmp_path, text).leaves == leaves


@pytest.mark.parametrize(
    ("text", "says", "detail"),
    [
        ("", "the hierarchy file {path} is empty", ""),
        ("\n\n", "the hierarchy file {path} is empty", ""),
        (b"caf\xe9;*\n", "the hierarchy file {path} is not UTF-8 text", ""),
        (
            "flu;lung;*\nulcer;stomach;*\nflu;lung;*\n",
            "the hierarchy tree.csv names a leaf twice, in rows 1 and 3: keep one",
            "the leaf is 'flu'",
        ),
        (
            "flu;lung;*\nulcer;stomach;all\n",
            "the hierarchy tree.csv has 2 roots: every row must end with the same label, such as *",
            "",
        ),
        (
            "flu;lung;inner;*\nasthma;lung;outer;*\n",
            "the hierarchy tree.csv puts a label of level 1 under two parents, in rows 1 and 2",
            "the label is 'lung'",
        ),
    ],
)
def test_a_file_that_is_no_hierarchy(tmp_path: Path, text: str | bytes, says: str, detail: str) -> None:
    with pytest.raises(InputError) as caught:
        loaded(tmp_path, text)
    assert str(caught.value) == says.format(path=tmp_path / "tree.csv")
    assert caught.value.detail == detail


AMBIGUOUS = "nobody could tell them apart, so rename the label"


@pytest.mark.parametrize(
    ("text", "says", "label"),
    [
        ("a;x;*\nb;x;*\nx;y;*\n", f"a label of level 1, in row 1, that is also the value of row 3: {AMBIGUOUS}", "x"),
        ("x;y;*\nb;x;*\na;x;*\n", f"a label of level 1, in row 2, that is also the value of row 1: {AMBIGUOUS}", "x"),
        ("x;x;*\na;x;*\n", f"a label of level 1, in row 1, that is also the value of row 1: {AMBIGUOUS}", "x"),
        ("a;*\n*;*\n", f"a label of level 1, in row 1, that is also the value of row 2: {AMBIGUOUS}", "*"),
        ("a;b;*\nb;c;*\n", f"a label of level 1, in row 1, that is also the value of row 2: {AMBIGUOUS}", "b"),
        ("39.0;40;*\n40.0;40;*\n", f"a label of level 1, in row 1, that is also the value of row 2: {AMBIGUOUS}", "40"),
        (
            "a;x;z;*\nb;x;z;*\nc;w;z;*\nd;v;x;*\ne;u;x;*\n",
            "one label for different values, of level 1 in row 1 and of level 2 in row 4: rename one of the two",
            "x",
        ),
    ],
)
def test_a_label_that_stands_for_different_values(tmp_path: Path, text: str, says: str, label: str) -> None:
    with pytest.raises(InputError) as caught:
        loaded(tmp_path, text)
    assert str(caught.value) == f"the hierarchy tree.csv has {says}"
    assert caught.value.detail == f"the label is '{label}'"


@pytest.mark.parametrize(
    "text",
    [
        "a;x;x;*\nb;x;x;*\nc;y;y;*\n",  # a label that repeats, with the same values
        "a;a;*\nb;x;*\nc;x;*\n",  # a value that is its own parent
        "a;*;*\nb;*;*\n",
        "39.0;39;*\n40.0;40;*\n",
        "1;1**;1**;*\n12;12*;1**;*\n123;12*;1**;*\n",  # 1** of level 1 has one child, so it is never published
        "*\n",
    ],
)
def test_a_label_that_repeats_with_one_meaning(tmp_path: Path, text: str) -> None:
    assert loaded(tmp_path, text).leaves


rows_of_labels = st.lists(
    st.tuples(*[st.sampled_from("abcxy")] * 3), min_size=1, max_size=6, unique_by=lambda row: row[0]
)


@given(rows_of_labels)
def test_a_published_label_means_one_set_of_values(rows: list[tuple[str, str, str]]) -> None:
    """Whatever class is formed: no other class publishes the same label for other values."""
    try:
        hierarchy = Hierarchy.from_rows([(*row, "*") for row in rows])
    except InputError:
        return
    column = LabelColumn("q", hierarchy, np.arange(len(hierarchy.leaves)))
    meaning: dict[str, set[int]] = {}
    for members in (set(chosen) for size in (1, 2, 3) for chosen in combinations(range(len(hierarchy.leaves)), size)):
        labels = [int(leaf not in members) for leaf in column.codes]
        height, node, _ = column.nodes(Classes.from_labels(np.array(labels)))
        below = set(np.flatnonzero(hierarchy.levels[height[0]] == node[0]).tolist())
        assert meaning.setdefault(hierarchy.labels[height[0]][node[0]], below) == below


@pytest.mark.skipif(not ADULT.exists(), reason="needs ../shared/data/adult_hierarchies")
def test_hierarchies_as_arx_writes_them_still_load() -> None:
    for path in ADULT.glob("*.csv"):
        assert Hierarchy.load(path).leaves


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^there is no hierarchy file .*nope\.csv$"):
        Hierarchy.load(tmp_path / "nope.csv")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        Hierarchy.load(tmp_path)


def test_a_further_leaf_hangs_under_the_root() -> None:
    hierarchy = Hierarchy.from_rows([("flu", "lung", "*"), ("ulcer", "stomach", "*")]).with_leaf("none")
    assert tree(hierarchy) == {"flu": ["lung", "*"], "ulcer": ["stomach", "*"], "none": ["none", "*"]}


def built(kind: str, levels: tuple[object, ...], cells: list[object]) -> dict[str, list[str]]:
    return tree(build(Builder(kind, levels), values_of(pl.Series("x", cells), [""])))  # type: ignore[arg-type]


def test_prefixes() -> None:
    assert built("prefix", (5, 3, 1), ["02139", "02144", "94110"]) == {
        "02139": ["021**", "0****", "*"],
        "02144": ["021**", "0****", "*"],
        "94110": ["941**", "9****", "*"],
    }
    assert built("prefix", (2,), ["1", "12", "123"]) == {"1": ["1**", "*"], "12": ["12*", "*"], "123": ["12*", "*"]}


@pytest.mark.parametrize(
    ("kind", "levels", "cells"),
    [
        ("prefix", (1,), ["1*", "12", "13"]),
        ("prefix", (1,), ["*", "12"]),
        ("date", ("day",), ["2024-03-31", "2024-03-31 10:00"]),
    ],
)
def test_a_rule_whose_label_is_a_value(kind: str, levels: tuple[object, ...], cells: list[object]) -> None:
    with pytest.raises(InputError) as caught:
        built(kind, levels, cells)
    assert str(caught.value) == (
        "the hierarchy of 'x' has a label that is also a value of the column: choose other levels or write the "
        "hierarchy as a file"
    )


def test_prefixes_of_codes_of_different_lengths_are_no_clash() -> None:
    assert built("prefix", (2, 1), ["1", "12", "123"])["12"] == ["12*", "1**", "*"]


def test_intervals() -> None:
    assert built("width", (exact("2.5"), exact(5)), [0.0, 2.5, 4.9, -1.0]) == {
        "-1.0": ["[-2.5, 0)", "[-5, 0)", "*"],
        "0.0": ["[0, 2.5)", "[0, 5)", "*"],
        "2.5": ["[2.5, 5)", "[0, 5)", "*"],
        "4.9": ["[2.5, 5)", "[0, 5)", "*"],
    }


def test_dates() -> None:
    days = built("date", ("day", "month", "quarter", "year"), ["2024-03-31", "2024-04-01"])
    assert days == {
        "2024-03-31": ["2024-03", "2024-Q1", "2024", "*"],
        "2024-04-01": ["2024-04", "2024-Q2", "2024", "*"],
    }
    assert built("date", ("day", "year"), ["2024-03-31 10:00", "2024-03-31T11:00"]) == {
        "2024-03-31 10:00": ["2024-03-31", "2024", "*"],
        "2024-03-31T11:00": ["2024-03-31", "2024", "*"],
    }
    assert built("date", ("year", "decade"), ["1989-12-31", "1990-01-01"]) == {
        "1989-12-31": ["1989", "1980s", "*"],
        "1990-01-01": ["1990", "1990s", "*"],
    }


@pytest.mark.parametrize(
    ("kind", "levels", "says"),
    [
        ("width", (5,), "column 'x' is not all numbers, so it has no intervals of a width"),
        ("date", ("year",), "column 'x' is not all dates such as 2024-03-31"),
    ],
)
def test_a_rule_that_does_not_fit(kind: str, levels: tuple[object, ...], says: str) -> None:
    with pytest.raises(InputError) as caught:
        built(kind, levels, ["1", "secret"])
    assert str(caught.value) == says
