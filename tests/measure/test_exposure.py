"""What remains exposed: counted as its definition says, and as the attacks of the same name count it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tclose.measure.attack.base import Scene, Secret
from tclose.measure.attack.homogeneity import run_homogeneity
from tclose.measure.attack.linkage import run_background_join, run_rare_value
from tclose.measure.exposure import (
    Cells,
    PublishedAttribute,
    PublishedClasses,
    ReleaseExposure,
    exposed_in,
    rows_with_own_values,
)
from tclose.policy.draft.profile import OWN_ROWS
from tclose.policy.draft.roles import MANY_ROWS
from tclose.types import Ints

ATTACKS = {"same_value": run_homogeneity, "rare_value": run_rare_value, "known_value": run_background_join}


def classes(
    labels: list[int],
    values: Mapping[str, list[int]],
    *,
    crowd: int = 2,
    persons: list[int] | None = None,
    cells: Cells = "other",
) -> PublishedClasses:
    sorted_labels, order = np.sort(labels), np.argsort(labels, kind="stable")
    attributes = [PublishedAttribute(name, np.array(column), cells) for name, column in values.items()]
    starts = np.flatnonzero(np.diff(sorted_labels, prepend=-1))
    return PublishedClasses(order, starts, attributes, crowd, None if persons is None else np.array(persons))


def rows(exposed: ReleaseExposure) -> dict[str, int]:
    return {finding.kind: finding.rows for finding in exposed.findings}


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[int], dict[str, list[int]], int]:
    size, attributes = draw(st.integers(1, 14)), draw(st.integers(1, 3))
    drawn = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    labels = np.unique(drawn, return_inverse=True)[1].tolist()
    column = st.lists(st.integers(0, 3), min_size=size, max_size=size)
    return labels, {f"s{i}": draw(column) for i in range(attributes)}, draw(st.integers(2, 4))


@settings(deadline=None)
@given(tables())
def test_rows_are_counted_as_the_definitions_say(table: tuple[list[int], dict[str, list[int]], int]) -> None:
    labels, values, crowd = table
    every = range(len(labels))

    def alike(column: list[int], chosen: list[int]) -> bool:
        return len({column[i] for i in chosen}) == 1 < len(set(column))

    def same(row: int) -> bool:
        return any(alike(column, [i for i in every if labels[i] == labels[row]]) for column in values.values())

    def rare(row: int) -> bool:
        return any(column.count(column[row]) < crowd for column in values.values())

    def known(row: int) -> bool:
        return any(
            alike(other, [i for i in every if (labels[i], column[i]) == (labels[row], column[row])])
            for column in values.values()
            for other in values.values()
            if other is not column
        )

    ways = {"same_value": same, "rare_value": rare, "known_value": known}
    expected = {kind: sum(map(way, every)) for kind, way in ways.items()}
    exposed = exposed_in([classes(labels, values, crowd=crowd)])
    assert rows(exposed) == {kind: count for kind, count in expected.items() if count}
    assert [finding.rows for finding in exposed.findings] == sorted(rows(exposed).values(), reverse=True)


@settings(deadline=None)
@given(tables())
def test_the_attacks_of_the_page_count_the_same_rows(table: tuple[list[int], dict[str, list[int]], int]) -> None:
    labels, values, crowd = table
    secrets = [Secret(name, np.array(column), np.array(column), 4) for name, column in values.items()]
    scene = Scene(np.array(labels), secrets, crowd, np.zeros(4, dtype=np.int64))
    found = rows(exposed_in([classes(labels, values, crowd=crowd)]))
    assert found == {kind: count for kind, attack in ATTACKS.items() if (count := attack(scene).rows)}


def test_each_attribute_is_named_with_its_rows_most_first() -> None:
    exposed = exposed_in([classes([0, 0, 0, 1, 1, 1], {"a": [0, 0, 0, 1, 2, 2], "b": [0, 0, 1, 3, 3, 3]}, crowd=2)])
    (same,) = [finding for finding in exposed.findings if finding.kind == "same_value"]
    assert (same.rows, same.share, dict(same.attributes)) == (6, 1.0, {"a": 3, "b": 3})
    (rare,) = [finding for finding in exposed.findings if finding.kind == "rare_value"]
    assert (rare.rows, dict(rare.attributes)) == (2, {"a": 1, "b": 1})
    assert rare.sentence == (
        "2 rows (33.3 %) show a value of 'a' or 'b' that fewer than 2 rows share: anyone who knows the value finds the "
        "row."
    )


def test_a_value_that_one_person_shows_in_many_rows_is_rare() -> None:
    labels, values, persons = [0] * 6, {"a": [0, 0, 0, 1, 1, 1]}, [5, 5, 5, 6, 7, 8]
    assert rows(exposed_in([classes(labels, values, crowd=3)])) == {}
    exposed = exposed_in([classes(labels, values, crowd=3, persons=persons)])
    assert rows(exposed) == {"rare_value": 3}
    assert "fewer than 3 persons share" in exposed.findings[0].sentence


@pytest.mark.parametrize(
    ("cells", "cures"),
    [
        (
            "number",
            {
                "same_value": "l = 2 for 'a', or a smaller t",
                "rare_value": "bins and publish = \"bin\" for 'a'",
                "known_value": "bins and publish = \"bin\" for 'b' and 'a'; or --method projections, which puts the "
                "attributes into different tables",
            },
        ),
        (
            "other",
            {
                "same_value": "l = 2 for 'a', or a smaller t",
                "rare_value": "common values in place of the rare ones of 'a'",
                "known_value": "--method projections, which puts the attributes into different tables",
            },
        ),
    ],
)
def test_every_exposure_has_its_cure(cells: Cells, cures: dict[str, str]) -> None:
    values = {"a": [0, 0, 1, 2, 2, 2], "b": [0, 1, 0, 1, 0, 1]}
    exposed = exposed_in([classes([0, 0, 1, 1, 1, 1], values, crowd=3, cells=cells)])
    assert {finding.kind: finding.cure for finding in exposed.findings} == cures


def test_several_tables_are_looked_at_one_by_one() -> None:
    first, second = classes([0, 0], {"a": [0, 1]}), classes([0, 1], {"b": [0, 0]})
    exposed = exposed_in([first, second])
    assert [(finding.table, finding.kind, finding.rows) for finding in exposed.findings] == [(1, "rare_value", 2)]
    assert exposed.findings[0].sentence.startswith("In table 1, 2 rows (100 %) show")
    assert exposed.findings[0].to_dict()["table"] == 1


def test_a_table_among_several_is_cured_by_more_tables() -> None:
    together, alone = classes([0, 0], {"a": [0, 1], "b": [1, 0]}), classes([0, 0], {"c": [0, 0]})
    (known,) = [found for found in exposed_in([alone, together]).findings if found.kind == "known_value"]
    assert (known.table, known.cure) == (2, "more tables (--tables)")


def test_nothing_exposed_says_what_was_looked_at() -> None:
    one = classes([0, 0, 0, 0], {"a": [0, 0, 1, 1]})
    assert exposed_in([one]).findings == ()
    nothing = (
        "Nothing was found: no class shows one sensitive value only, and at least 2 rows share each sensitive value."
    )
    assert exposed_in([one]).nothing == nothing
    two = classes([0] * 8, {"a": [0, 0, 0, 0, 1, 1, 1, 1], "b": [0, 1] * 4})
    assert exposed_in([two]).findings == ()
    assert "no class and one known value reveal another" in exposed_in([two]).nothing
    assert "another" not in exposed_in([one, one]).nothing  # nobody looked at two tables together
    assert exposed_in([classes([0], {})]).nothing == (
        "Nothing was looked for: the policy names no sensitive attribute."
    )


def own(values: list[int], persons: Ints | None = None) -> int:
    return rows_with_own_values(np.array(values), persons)


def test_many_rows_with_a_value_of_their_own() -> None:
    assert own(list(range(40))) == 40
    assert own([i // OWN_ROWS for i in range(40)]) == 40  # a patient number in two rows each
    assert own([i // (OWN_ROWS + 1) for i in range(39)]) == 0
    assert own(list(range(MANY_ROWS - 1))) == 0  # in a table of so few rows, every value is
    assert own([*range(10), *[10] * 30]) == 10
    assert own([*range(10), *[10] * 31]) == 0  # less than a quarter of the rows


def test_rows_without_a_value_have_none_of_their_own() -> None:
    assert own([-1] * 40) == 0
    assert own([*range(10), *[-1] * 1000]) == 10  # everyone who has a telephone has a number of their own


def test_a_value_that_only_one_person_shows_is_the_persons_own() -> None:
    persons = np.arange(60) // 6
    assert own((np.arange(60) // 6).tolist(), persons) == 60
    assert own((np.arange(60) // 6).tolist()) == 0
