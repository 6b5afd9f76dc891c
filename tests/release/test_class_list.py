"""The list of classes and the reasons of one class: a small release by hand, and the losses that methods count."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose.errors import InputError
from tclose.measure import class_list
from tclose.measure.class_list import ReleasedClasses, losses_of
from tclose.policy import Policy
from tclose.recode.frame import recoded
from tclose.table import encode_quietly
from tclose.table.classes import Classes

TREE = {"rows": [["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"], ["d", "y", "*"]]}
POLICY = Policy.of(
    {"k": 2, "quasi": {"age": {}, "zone": {"hierarchy": TREE}}, "keep": ["year"], "sensitive": {"ill": {"t": 1}}}
)
TABLE = pl.DataFrame(
    {
        "age": [0, 10, 5, 8, 8, 3, 3],
        "zone": ["a", "c", "b", "d", "d", "a", "a"],
        "year": ["1", "1", "1", "1", "1", "1", "2"],
        "ill": ["flu"] * 7,
    }
)
RELEASE = pl.DataFrame(
    {
        "age": ["[0, 10]"] * 2 + ["[3, 5]"] * 2 + ["8", "8"],
        "zone": ["*", "*", "x", "x", "d", "d"],
        "year": ["1"] * 6,
        "ill": ["flu"] * 6,
    }
)  # the last row is withheld


def test_classes_are_listed_the_worst_first() -> None:
    found = ReleasedClasses(RELEASE, TABLE, POLICY).listed(np.array([0.5, 0.1, 0.9]))
    assert [each.loss for each in found.classes] == pytest.approx([1.0, (0.2 + 0.5) / 2, 0.0])
    assert [each.cells for each in found.classes] == [("[0, 10]", "*", "1"), ("[3, 5]", "x", "1"), ("8", "d", "1")]
    assert found.orders == {"loss": (1, 2, 3), "rows": (1, 2, 3), "t": (3, 1, 2)}


def test_the_worst_of_all_classes_are_listed_not_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_list, "MOST", 1)
    found = ReleasedClasses(RELEASE, TABLE, POLICY).listed(np.array([0.5, 0.1, 0.9]))
    assert found.orders == {"loss": (1,), "rows": (1,), "t": (3,)}
    assert ([each.number for each in found.classes], found.total) == ([1, 3], 3)


def test_a_mean_does_not_tell_what_a_class_loses() -> None:
    policy = Policy.of({"quasi": {"age": {"publish": "mean"}}, "sensitive": {"ill": {"t": 1}}})
    release = pl.DataFrame({"age": ["3.5"] * 4 + ["8"] * 3, "ill": ["flu"] * 7})
    found = ReleasedClasses(release, TABLE, policy).listed(None)
    assert (list(found.orders), found.orders["rows"], found.classes[0].loss) == (["rows"], (2, 1), None)
    reasons = ReleasedClasses(release, TABLE, policy).reasons(1)
    assert (reasons.exact, reasons.costliest) == (False, None)


def test_a_class_at_the_top_of_a_hierarchy_fits_everybody_of_its_year() -> None:
    reasons = ReleasedClasses(RELEASE, TABLE, POLICY).reasons(1)
    assert (reasons.smallest, reasons.exact, reasons.fit, reasons.withheld) == (True, False, 6, 1)
    assert (reasons.costliest, reasons.share, reasons.top) == ("age", 0.5, False)
    weighted = Policy.of({**POLICY.to_dict(), "quasi": {"age": {}, "zone": {"hierarchy": TREE, "weight": 3}}})
    reasons = ReleasedClasses(RELEASE, TABLE, weighted).reasons(1)
    assert (reasons.costliest, reasons.share, reasons.top) == ("zone", 0.75, True)


def test_finer_classes_fit_fewer_rows() -> None:
    middle, exact = (ReleasedClasses(RELEASE, TABLE, POLICY).reasons(number) for number in (2, 3))
    assert (middle.costliest, middle.top, middle.fit) == ("zone", False, 2)
    assert middle.share == pytest.approx(0.5 / 0.7)
    assert (exact.exact, exact.costliest, exact.fit) == (True, None, 2)
    with pytest.raises(InputError, match="there is no class 4"):
        ReleasedClasses(RELEASE, TABLE, POLICY).reasons(4)


NUMBERS = st.one_of(st.none(), st.integers(-5, 30))
SPECS = st.sampled_from([{}, {"step": 7}, {"top": 20, "bottom": 0}, {"top": -9}])


@given(
    st.lists(st.tuples(NUMBERS, st.sampled_from([None, *"abcd"]), st.sampled_from([None, *"uvw"])), max_size=20),
    st.integers(1, 5),
    SPECS,
)
def test_losses_read_off_a_release_are_those_that_methods_count(rows: list[Any], count: int, spec: Any) -> None:
    quasi = {"n": spec, "label": {"hierarchy": TREE}, "text": {}}
    columns = zip(*[(1, "a", "u"), *rows], strict=True)
    frame = pl.DataFrame(dict(zip(quasi, columns, strict=True))).with_columns(ill=pl.lit("flu"))
    policy = Policy.of({"quasi": quasi, "sensitive": {"ill": {"t": 1}}})
    table = encode_quietly(frame, policy)
    labels = np.unique(np.arange(len(table)) % count, return_inverse=True)[1].astype(np.int64)
    classes = Classes.from_labels(labels)
    cells = recoded(table, policy, classes)[classes.rows[classes.starts]]
    for name, losses in losses_of(table.quasi, cells).items():
        assert losses == pytest.approx(table.quasi[name].loss(classes)), name
    release = recoded(table, policy, classes)
    found = ReleasedClasses(release, frame, policy).listed(None)
    assert all(ReleasedClasses(release, frame, policy).reasons(each.number).fit >= each.rows for each in found.classes)
