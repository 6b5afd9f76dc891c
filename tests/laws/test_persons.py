"""Persons with several rows: what merging keeps, and that no refusal claims more than it knows.

The oracle is naive: it judges a class by the definitions of docs/decisions/007-persons.md, tries every division of the
rows, and shares no code with tclose.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose import Infeasible, LeakWarning, Policy, anonymize, check
from tclose.privacy.judge import verdicts
from tclose.table import encode
from tclose.table.classes import Classes


class Row(NamedTuple):
    """A row of a small table."""

    q: int
    person: int
    s: str


Rows = Sequence[Row]
rows_strategy = st.lists(
    st.builds(Row, st.integers(1, 3), st.integers(1, 3), st.sampled_from("abc")), min_size=2, max_size=6
)
LEVELS: dict[str, st.SearchStrategy[Any]] = {
    "l": st.integers(2, 3),
    "entropy_l": st.sampled_from(["1.5", "2", "2.5"]),
    "recursive": st.fixed_dictionaries({"c": st.sampled_from(["0.6", "1.5", "2"]), "l": st.integers(2, 3)}),
    "alpha": st.sampled_from(["1/2", "2/3"]),
    "t": st.sampled_from(["1/10", "1/3"]),
    "beta": st.sampled_from(["1/2"]),
    "delta": st.sampled_from(["0.5"]),
}
asked = st.dictionaries(st.sampled_from(sorted(LEVELS)), st.just(None), min_size=1, max_size=2).flatmap(
    lambda names: st.fixed_dictionaries({name: LEVELS[name] for name in names})
)


# --- the oracle ------------------------------------------------------------------------------------------------------


def persons_per_value(rows: Rows) -> list[int]:
    """Return how many persons show each value, the commonest first."""
    return sorted(Counter(s for _, s in {(row.person, row.s) for row in rows}).values(), reverse=True)


def enough_entropy(rows: Rows, level: str) -> bool:
    counts = persons_per_value(rows)
    size = sum(counts)
    required = Fraction(level)
    left = size**size * required.denominator**size
    return left >= required.numerator**size * math.prod(count**count for count in counts)


def recursive(rows: Rows, level: dict[str, Any]) -> bool:
    counts = persons_per_value(rows)
    return counts[0] < Fraction(level["c"]) * sum(counts[level["l"] - 1 :])


def shares(rows: Rows) -> dict[str, Fraction]:
    return {value: Fraction(count, len(rows)) for value, count in Counter(row.s for row in rows).items()}


def within(rows: Rows, whole: Rows, name: str, level: Any) -> bool:
    """Judge one class by one model."""
    p, q = shares(rows), shares(whole)
    if name == "l":
        return min(len(p), len({row.person for row in rows})) >= level
    if name == "entropy_l":
        return enough_entropy(rows, level)
    if name == "recursive":
        return recursive(rows, level)
    if name == "alpha":
        return max(p.values()) <= Fraction(level)
    if name == "t":  # the distance of text is "equal"
        return sum(abs(p.get(value, 0) - share) for value, share in q.items()) / 2 <= Fraction(level)
    if name == "beta":
        return all((p.get(value, 0) - share) / share <= Fraction(level) for value, share in q.items())
    assert name == "delta"
    return all(value in p and abs(math.log(p[value] / share)) < float(level) for value, share in q.items())


def admits(rows: Rows, whole: Rows, k: int, spec: dict[str, Any]) -> bool:
    enough = len({row.person for row in rows}) >= k
    return enough and all(within(rows, whole, name, level) for name, level in spec.items())


def divisions(rows: Rows) -> Iterator[list[list[Row]]]:
    """Yield every division of rows into classes."""
    if not rows:
        yield []
        return
    first, *rest = rows
    for division in divisions(rest):
        yield [[first], *division]
        for place in range(len(division)):
            yield [*division[:place], [first, *division[place]], *division[place + 1 :]]


def raw_classes(rows: Rows) -> list[list[Row]]:
    return [[row for row in rows if row.q == q] for q in {row.q for row in rows}]


# --- what tclose says ------------------------------------------------------------------------------------------------


def table_of(rows: Rows) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["q", "pid", "s"], orient="row")


def policy_of(k: int, spec: dict[str, Any], **more: Any) -> Policy:
    return Policy.from_dict(
        {"quasi": ["q"], "identifiers": ["pid"], "person": "pid", "sensitive": {"s": spec}, "k": k, **more}
    )


def refusal(rows: Rows, policy: Policy, method: str) -> str:
    """Return the sentence of a refusal; nothing where there is a release."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)
        try:
            anonymize(table_of(rows), policy, method=method, seed=0)
        except Infeasible as error:
            return str(error)
    return ""


@pytest.mark.parametrize("method", ["weave", "exact"])
@settings(max_examples=examples(40), deadline=None)
@given(rows=rows_strategy, k=st.integers(1, 2), spec=asked)
def test_a_table_that_holds_is_released_and_no_refusal_claims_too_much(
    method: str, rows: list[Row], k: int, spec: dict[str, Any]
) -> None:
    policy = policy_of(k, spec)
    holds = all(admits(members, rows, k, spec) for members in raw_classes(rows))
    assert check(table_of(rows), policy).satisfied == holds
    reachable = any(all(admits(part, rows, k, spec) for part in division) for division in divisions(rows))
    said = refusal(rows, policy, method)
    if holds:
        assert not said
    if not reachable:
        assert said
    if reachable and said:
        assert "no partition was found" in said
        assert "cannot be reached" not in said


@settings(max_examples=examples(40), deadline=None)
@given(rows=rows_strategy, k=st.integers(1, 2), spec=asked)
def test_of_few_rows_that_all_differ_a_partition_is_found_whenever_there_is_one(
    rows: list[Row], k: int, spec: dict[str, Any]
) -> None:
    different = [row._replace(q=number) for number, row in enumerate(rows)]
    reachable = any(all(admits(part, rows, k, spec) for part in division) for division in divisions(rows))
    assert bool(refusal(different, policy_of(k, spec), "mondrian")) == (not reachable)


@settings(max_examples=examples(100), deadline=None)
@given(first=rows_strategy, second=rows_strategy, others=rows_strategy, k=st.integers(1, 3), spec=asked)
def test_merging_keeps_what_declares_so_where_persons_recur(
    first: list[Row], second: list[Row], others: list[Row], k: int, spec: dict[str, Any]
) -> None:
    policy = policy_of(k, spec)
    table = encode(table_of([*first, *second, *others]), policy)
    a, b, c = len(first), len(second), len(others)
    apart = verdicts(table, Classes.from_labels(pl.Series([0] * a + [1] * b + [2] * c).to_numpy()), policy)
    merged = verdicts(table, Classes.from_labels(pl.Series([0] * (a + b) + [1] * c).to_numpy()), policy)
    for before, after in zip(apart, merged, strict=True):
        if before.model.merging_keeps and before.judgement.admitted[:2].all():
            assert after.judgement.admitted[0]


# --- examples --------------------------------------------------------------------------------------------------------

TWICE = [Row(1, 1, "a"), Row(1, 2, "b"), Row(2, 1, "a"), Row(2, 3, "b")]


@pytest.mark.parametrize("method", ["weave", "exact", "mondrian", "fragmentation"])
def test_the_table_of_issue_11(method: str) -> None:
    policy = policy_of(2, {"entropy_l": 2})
    assert check(table_of(TWICE), policy).satisfied
    assert anonymize(table_of(TWICE), policy, method=method).frame["q"].to_list() == ["1", "1", "2", "2"]


def test_larger_tables_are_searched_from_the_classes_of_a_method() -> None:
    """Person 0 shows a in every class, so all rows together show a once and b twenty times."""
    rows = [row for i in range(20) for row in (Row(2 * i, 0, "a"), Row(2 * i + 1, i + 1, "b"))]
    released = anonymize(table_of(rows), policy_of(2, {"entropy_l": 2}), method="mondrian")
    assert len(set(released.frame["q"])) == 20


def test_what_is_not_found_is_called_so() -> None:
    rows = [Row(i, 0, "a") for i in range(11)] + [Row(11, 1, "b")]
    said = refusal(rows, policy_of(2, {"entropy_l": 2}), "mondrian")
    assert said == ""  # all rows as one class show a once and b once
    rows = [Row(i, i % 3, "a") for i in range(11)] + [Row(11, 7, "b")]
    said = refusal(rows, policy_of(2, {"entropy_l": 2}), "mondrian")
    assert said.startswith("no partition was found for entropy_l of 's' = 2: 1.7547 can be")
    assert not refusal(rows, policy_of(2, {"entropy_l": "1.7547"}), "mondrian")


def test_persons_who_show_no_value_twice_count_as_rows() -> None:
    """Merging adds their counts, so what all rows do not reach is out of reach."""
    rows = [Row(1, 1, "a"), Row(1, 1, "b"), Row(2, 2, "a"), Row(2, 3, "a")]
    said = refusal(rows, policy_of(1, {"entropy_l": 2}), "mondrian")
    assert said == "entropy_l of 's' = 2 cannot be reached: 1.7547 can be"


def test_a_group_without_a_partition_is_withheld_and_the_others_are_published() -> None:
    """Ward x is the table of issue 11; in ward y three persons show a twice each, and only one shows b."""
    wards = ["x"] * 4 + ["y"] * 7
    rows = [*TWICE, *(Row(i, 4 + i % 3, "a") for i in range(6)), Row(9, 8, "b")]
    frame = table_of(rows).with_columns(ward=pl.Series(wards))
    asked = {"keep": ["ward"], "suppress": "0.7"}
    release = anonymize(frame, policy_of(2, {"entropy_l": 2}, **asked), method="mondrian")
    assert set(release.frame["ward"]) == {"x"}
    assert release.certificate.withheld == 7
    with pytest.raises(Infeasible, match=r"^no partition was found for .* or allow suppress = 0\.6364$"):
        anonymize(frame, policy_of(2, {"entropy_l": 2}, keep=["ward"]), method="mondrian")


def test_supersets_of_the_table_as_it_is_count_for_nt() -> None:
    """Each place has n rows, and its wards are like it; no ward is like the table or has n rows itself."""
    place, ward = ["p"] * 4 + ["r"] * 4, [1, 1, 2, 2, 1, 1, 2, 2]
    frame = pl.DataFrame({"place": place, "ward": ward, "q": [1] * 8, "s": list("ababcdcd")})
    policy = Policy.from_dict({"quasi": ["q"], "keep": ["place", "ward"], "sensitive": {"s": {"t": 0, "n": 4}}})
    assert check(frame, policy).satisfied
    assert anonymize(frame, policy, method="mondrian").frame.height == 8
