"""The editor of hierarchies: whatever is clicked, the file stays a hierarchy that covers every value."""

from __future__ import annotations

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from tclose import steps
from tclose.errors import InputError
from tclose.studio.settings import EditedHierarchy

VALUES = ["flu", "cold", "ulcer", "gastritis", "none"]
LABELS = st.sampled_from([*VALUES, "lungs", "stomach", "ill", "", "*"])
CLICKS = st.lists(
    st.tuples(st.sampled_from(["move", "rename", "add", "remove"]), st.integers(1, 6), st.sets(LABELS), LABELS, LABELS),
    max_size=8,
)


def clicked(tree: EditedHierarchy, click: tuple[str, int, set[str], str, str]) -> EditedHierarchy:
    done, level, below, old, name = click
    level = min(level, tree.levels)
    if done == "move":
        return tree.moved(level, below, name)
    if done == "rename":
        return tree.renamed(level, old, name)
    return tree.with_level() if done == "add" else tree.without_level()


@given(CLICKS)
def test_whatever_is_clicked_every_value_keeps_one_path_to_the_root(
    clicks: list[tuple[str, int, set[str], str, str]],
) -> None:
    tree = EditedHierarchy.flat(VALUES)
    for click in clicks:
        with contextlib.suppress(InputError):
            new = clicked(tree, click)
            steps.hierarchy_text(new.rows)  # what it refuses is said, and not saved
            tree = new
    assert sorted(row[0] for row in tree.rows) == sorted(VALUES)
    assert len({len(row) for row in tree.rows}) == 1
    assert {row[-1] for row in tree.rows} == {"*"}


def test_a_value_dragged_onto_another_makes_a_group_with_a_name_of_its_own() -> None:
    tree = EditedHierarchy.flat(["flu", "cold", "ulcer"]).moved(1, ["flu"], "cold")
    assert tree.groups(1) == {"flu + cold": ["flu", "cold"], "ulcer": ["ulcer"]}
    assert steps.hierarchy_text(tree.rows).splitlines()[0] == "flu;flu + cold;*"


def test_groups_are_renamed_joined_and_grouped_again() -> None:
    tree = EditedHierarchy.flat(["flu", "cold", "ulcer"]).moved(1, ["flu", "cold"], "lungs").with_level()
    tree = tree.renamed(1, "ulcer", "stomach").moved(2, ["lungs", "stomach"], "ill")
    assert tree.rows == (
        ("flu", "lungs", "ill", "*"),
        ("cold", "lungs", "ill", "*"),
        ("ulcer", "stomach", "ill", "*"),
    )
    assert tree.renamed(1, "stomach", "lungs").groups(1) == {"lungs": ["flu", "cold", "ulcer"]}
    assert tree.without_level().covering(["flu", "new"]).rows[-1] == ("new", "new", "*")
