"""What the judge says of a whole table: the share of withheld rows, the worst class, and how many classes fail."""

from __future__ import annotations

from fractions import Fraction

import polars as pl

import tclose

ZONES = pl.DataFrame({"zone": [*"aabbccdd"], "pay": [1, 2, 1, 2, 1, 1, 2, 2]})


def test_withheld_rows_are_a_share_of_all_rows() -> None:
    frame = pl.concat([ZONES, pl.DataFrame({"zone": ["a", "b"], "pay": [None, None]}, schema=ZONES.schema)])
    asked = {"quasi": ["zone"], "k": 2, "sensitive": {"pay": {"t": 1, "missing": "suppress"}}}
    found = tclose.check(frame, {**asked, "suppress": 0.2})
    (share,) = (model for model in found.models if model.model == "suppress")
    assert (share.reached, share.satisfied, found.withheld) == (Fraction(1, 5), True, 2)
    assert not tclose.check(frame, {**asked, "suppress": 0.19}).satisfied


def test_failing_classes_are_counted_and_the_worst_is_named() -> None:
    policy = {"quasi": ["zone"], "k": 2, "sensitive": {"pay": {"t": 0.4}}}
    found = tclose.check(ZONES, policy).sensitive["pay"]
    assert (found.worst_class, found.failing_classes, found.satisfied) == (3, 2, False)


def test_failing_classes_of_n_t_are_counted() -> None:
    """A class of n rows passes; the others are as far from the table as they were."""
    frame = pl.concat([ZONES, pl.DataFrame({"zone": ["e"] * 8, "pay": [1, 2] * 4})])
    policy = {"quasi": ["zone"], "k": 2, "sensitive": {"pay": {"n": 8, "t": 0.4}}}
    found = tclose.check(frame, policy).sensitive["pay"]
    assert (found.worst_class, found.failing_classes, found.satisfied) == (3, 2, False)


def test_a_person_whose_group_is_missing_is_everybody_else() -> None:
    frame = ZONES.with_columns(group=pl.Series(["young"] * 4 + [None] * 4))
    by = {"column": "group", "t": {"young": 0.1}}
    policy = {"quasi": ["zone"], "keep": ["group"], "k": 2, "sensitive": {"pay": {"t": 1, "t_by": by}}}
    assert tclose.check(frame, policy).satisfied
    assert not tclose.check(frame.with_columns(group=pl.lit("young")), policy).satisfied


def test_a_class_obeys_the_smallest_t_of_its_members() -> None:
    """Each zone has a row of pay 1, and is a quarter away from the table."""
    frame = pl.DataFrame({"zone": [*"aaaabbbb"], "pay": [1, 1, 1, 2, 1, 2, 2, 2]})
    by = {"column": "pay", "t": {"1": 0.1, "2": 0.9}}
    found = tclose.check(frame, {"quasi": ["zone"], "k": 2, "sensitive": {"pay": {"t": 1, "t_by": by}}})
    (groups,) = (model for model in found.models if model.model == "t_by")
    assert (groups.satisfied, groups.reached, groups.failing_classes) == (False, Fraction(1, 4), 2)
