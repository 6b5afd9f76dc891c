"""The tree in which weave measures tuples of values, its leeway, and releases that only the distance itself admits."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose import anonymize
from tclose.distance import Counts, Equal, Ordered, Product
from tclose.partition.problem import Attribute
from tclose.partition.weave.trees import TupleTree, leeway, limit_trees

few = settings(max_examples=examples(25), deadline=None)


def attribute_of(rows: list[tuple[int, int]], t: str = "1/4") -> Attribute:
    """Return tuples of a line of five values and of three values that are equally far apart."""
    tuples, codes = np.unique(np.array(rows), axis=0, return_inverse=True)
    made = Product.of([(Ordered(5).geometry(5), tuples[:, 0]), (Equal().geometry(3), tuples[:, 1])])
    return Attribute(codes.astype(np.int64), np.bincount(codes).astype(np.int64), made, Fraction(t))


rows_of_tuples = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=2, max_size=25)


@few
@given(rows=rows_of_tuples)
def test_no_two_tuples_are_nearer_in_the_tree(rows: list[tuple[int, int]]) -> None:
    attribute = attribute_of(rows)
    tree = TupleTree.of(attribute.geometry, attribute.reference)  # type: ignore[arg-type]
    one = np.eye(len(attribute.reference), dtype=np.int64)
    for i in range(len(one)):
        for j in range(len(one)):
            assert tree.distance(one[i], one[j]) >= float(attribute.distance.between(i, j)) - 1e-12


@few
@given(rows=rows_of_tuples, share=st.integers(1, 5))
def test_a_class_within_t_by_the_tree_is_within_t(rows: list[tuple[int, int]], share: int) -> None:
    """The limit as kernels read it, computed here from its definition in integers."""
    attribute = attribute_of(rows)
    (limit,) = limit_trees((attribute,))
    codes = attribute.codes[:: share + 1]
    beyond = np.zeros(len(limit.weight), dtype=np.int64)
    np.add.at(beyond, limit.above[codes].ravel(), 1)
    extra = [abs(limit.total * int(c) - len(codes) * r) for c, r in zip(beyond, limit.reference, strict=True)]
    padding = len(limit.weight) - 1
    work = sum(w * e for w, e in zip(limit.weight[:padding], extra[:padding], strict=True))
    counts = Counts.from_codes(np.zeros_like(codes), codes, len(attribute.reference))
    assert (
        Fraction(work, limit.unit * len(codes) * limit.total) >= attribute.distance.emd(counts, attribute.reference)[0]
    )


def test_leeway_is_what_random_classes_show_and_the_limit_takes_it() -> None:
    chance = np.random.default_rng(1)
    rows = [(int(a), int(b)) for a, b in zip(chance.integers(0, 5, 300), chance.integers(0, 3, 300), strict=True)]
    attribute = attribute_of(rows, "1/5")
    factor = leeway(attribute)
    assert 1 < factor < 6
    assert factor == leeway(attribute)
    (limit,) = limit_trees((replace(attribute, leeway=factor),))
    assert limit.t == factor / 5


@pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
def test_leeway_never_reaches_a_release_where_persons_are_counted() -> None:
    """With persons, classes are finished by merging for k alone, so tuples must be within t before."""
    chance = np.random.default_rng(0)
    first = chance.integers(0, 5, 120)
    table = pl.DataFrame(
        {
            "age": chance.integers(20, 60, 120),
            "zip": chance.integers(0, 50, 120),
            "who": chance.integers(0, 80, 120),
            "ldl": first,
            "hdl": (first + chance.integers(0, 3, 120)) % 5,
        }
    )
    policy = {
        "quasi": ["age", "zip"],
        "sensitive": {"ldl": {"t": 0.4}, "hdl": {"t": 0.4}},
        "joint": [{"attributes": ["ldl", "hdl"], "t": 0.15}],
        "person": "who",
        "k": 3,
    }
    release = anonymize(table, policy, seed=1, effort="fast")
    assert (release.certificate.claims.joint["ldl + hdl"].closeness or 1) <= 0.15
    assert (release.certificate.claims.classes or 0) > 5
