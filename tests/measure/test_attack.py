"""Every attack by hand on small scenes, and what must hold for any scene."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tclose.distance import Counts, Equal
from tclose.measure.attack import ATTACKS, K_ANONYMOUS, RAW, RELEASE, Attacks, Finding, Scene, Secret, attack_results
from tclose.measure.attack.base import Attack
from tclose.measure.attack.minimality import merged_for_their_values
from tclose.measure.attack.results import AttackResult, TableSize
from tclose.measure.attack.skewness import gains
from tclose.measure.linkage import Links, packed

RUN = {attack.name: attack.run for attack in ATTACKS}


def secret(codes: Sequence[int], name: str = "s", *, domain: int = 0, line: bool = False, **more: Any) -> Secret:
    values = np.array(codes)
    size = domain or int(values.max()) + 1
    return Secret(name, values, values, size, positions=np.arange(size) * 1.0 if line else None, **more)


def scene(labels: Sequence[int], *secrets: Secret, crowd: int = 2, **more: Any) -> Scene:
    classes = np.array(labels)
    return Scene(classes, secrets, crowd, **{"people": np.bincount(classes), **more})


def opened(finding: Finding) -> list[int]:
    return [exposed.number for exposed in finding.classes]


def numbers_of(finding: Finding, attribute: str) -> set[int]:
    """Return the numbers of the classes that are exposed for one attribute."""
    return {exposed.number for exposed in finding.classes if exposed.attribute == attribute}


def test_every_attack_declares_itself() -> None:
    assert len(RUN) == len(ATTACKS) == 16
    for attack in ATTACKS:
        assert attack.title
        assert attack.meaning.endswith(".")
        assert attack.better in ("lower", "higher")


def test_homogeneity() -> None:
    finding = RUN["homogeneity"](scene([0, 0, 1, 1, 1], secret([0, 0, 0, 1, 1], "pay")))
    assert (finding.figure, finding.rows, finding.share, opened(finding)) == (1, 2, 0.4, [1])
    assert finding.sentence == "2 rows (40.0 %) are in 1 class where everyone has the same value of 'pay'."


def test_what_the_whole_table_tells_is_no_news() -> None:
    constant = scene([0, 0, 1], secret([0, 0, 0], levels=(np.array([0]),) * 3, nodes=(("a",), ("b",), ("*",))))
    for name in ("homogeneity", "background_knowledge", "skewness", "similarity"):
        assert RUN[name](constant).rows == 0


def test_background_knowledge() -> None:
    # class 1 shows three values, class 2 two: anyone who excludes one of these knows the other
    finding = RUN["background_knowledge"](scene([0, 0, 0, 1, 1, 1], secret([0, 1, 2, 0, 0, 1])))
    assert (finding.figure, finding.rows, opened(finding)) == (1, 3, [2])
    two_values = RUN["background_knowledge"](scene([0, 0, 1, 1], secret([0, 1, 0, 1])))
    assert (two_values.figure, two_values.rows) == (1, 0)  # the whole table falls as easily


def test_skewness() -> None:
    finding = RUN["skewness"](scene([0, 0, 1, 1, 1, 1, 1, 1], secret([0, 1, 1, 1, 1, 1, 1, 1])))
    assert (finding.figure, finding.rows, opened(finding)) == ((1 / 2) / (1 / 8), 2, [1])


def test_joint_skewness_by_rank() -> None:
    first, second = secret([0, 1, 0, 1], "a", line=True), secret([0, 1, 1, 0], "b", line=True)
    finding = RUN["joint_skewness"](scene([0, 0, 1, 1], first, second))
    # the pairs 00, 11 against 00, 01, 10, 11: a quarter moves by one rank of three, twice
    assert (finding.figure, finding.rows, opened(finding)) == (pytest.approx(1 / 6), 4, [1, 2])
    assert [exposed.attribute for exposed in finding.classes] == ["a + b"] * 2
    unordered = RUN["joint_skewness"](scene([0, 0, 1, 1], replace(first, positions=None), second))
    assert "pairs of 'b' and 'a'" in unordered.sentence  # sorted by the attribute that has an order
    assert {exposed.attribute for exposed in unordered.classes} == {"a + b"}


def test_joint_skewness_counts_no_class_that_an_attribute_alone_gives_away() -> None:
    apart = scene([0, 0, 1, 1], secret([0, 0, 1, 1], "a", line=True), secret([0, 0, 1, 1], "b", line=True))
    finding = RUN["joint_skewness"](apart)
    assert (finding.figure, finding.rows) == (0.5, 0)
    assert RUN["joint_skewness"](scene([0, 1], secret([0, 1]))).figure is None


def test_similarity_on_a_line() -> None:
    # a domain of 0..8: a span of 2 is a quarter; 6 and 8 are high; 3 and 5 lie in the middle
    finding = RUN["similarity"](scene([0, 0, 1, 1, 2, 2, 3, 3], secret([0, 2, 6, 8, 3, 5, 1, 4], domain=9, line=True)))
    assert [(exposed.number, exposed.what.split(":")[0]) for exposed in finding.classes] == [
        (1, "all low"),
        (2, "all high"),
        (3, "all within a quarter of the range"),
    ]


def test_a_missing_value_is_like_no_other() -> None:
    """Code 9 is missing, beside the nine values of a line."""
    codes = [0, 2, 6, 9, 9, 9, 8, 0]
    beside = replace(secret(codes, domain=10), positions=np.arange(9.0))
    finding = RUN["similarity"](scene([0, 0, 1, 1, 2, 2, 3, 3], beside))
    assert opened(finding) == [1, 3]
    assert [exposed.what for exposed in finding.classes][1] == "all missing"
    all_missing = RUN["similarity"](scene([0, 0], replace(secret([9, 9], domain=10), positions=np.arange(9.0))))
    assert opened(all_missing) == []


def test_similarity_by_value_and_by_rank_differ() -> None:
    codes, far = np.array([0, 1, 2, 3, 4]), np.array([0.0, 1, 2, 3, 100])
    by_rank = RUN["similarity"](scene([0, 0, 0, 0, 1], secret(codes, line=True)))
    by_value = RUN["similarity"](scene([0, 0, 0, 0, 1], replace(secret(codes), positions=far)))
    assert (opened(by_rank), opened(by_value)) == ([2], [1, 2])


TREE: dict[str, Any] = {
    "levels": (np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1]), np.array([0, 0, 0, 0])),
    "nodes": (("flu", "cold", "ulcer", "gastritis"), ("lungs", "stomach"), ("*",)),
}


def test_similarity_in_a_hierarchy() -> None:
    finding = RUN["similarity"](scene([0, 0, 1, 1, 2], secret([0, 1, 1, 2, 3], **TREE)))
    lessons = [(exposed.number, exposed.what) for exposed in finding.classes]
    assert lessons == [(1, "all under 'lungs'"), (3, "all under 'stomach'")]
    only_lungs = RUN["similarity"](scene([0, 0, 1, 1], secret([0, 1, 1, 0], domain=4, **TREE)))
    assert only_lungs.rows == 0  # all of the table lies there


def test_similarity_by_costs() -> None:
    costs = np.array([[0, 1, 8], [1, 0, 8], [8, 8, 0.0]])
    finding = RUN["similarity"](scene([0, 0, 1, 1], secret([0, 1, 1, 2], costs=costs)))
    assert opened(finding) == [1]


def test_costs_that_are_near_in_the_whole_table_are_no_news() -> None:
    """The matrix knows a third value, far from both of the table's."""
    costs = np.array([[0, 1, 8], [1, 0, 8], [8, 8, 0.0]])
    finding = RUN["similarity"](scene([0, 0, 1, 1], secret([0, 1, 1, 0], domain=3, costs=costs)))
    assert (finding.figure, finding.rows) == (0, 0)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1), st.lists(st.integers(0, 9), min_size=6))
def test_similarity_by_costs_is_what_a_reader_sees(pairs: list[tuple[int, int]], steps: list[int]) -> None:
    """Against a naive look at all pairs; any costs from 10 to 19 are a metric, and so are those of a line."""
    costs = np.zeros((4, 4))
    costs[np.triu_indices(4, 1)] = [1 + step if max(steps) < 2 else 10 + step for step in steps[:6]]
    costs += costs.T
    costs = np.minimum(costs, np.array([[0, 1, 19, 19], [1, 0, 19, 19], [19, 19, 0, 2], [19, 19, 2, 0.0]]))
    labels = [sorted({label for label, _ in pairs}).index(label) for label, _ in pairs]
    codes = [code for _, code in pairs]
    quarter = costs.max() / 4

    def near(values: set[int]) -> bool:
        return all(costs[a, b] <= quarter for a in values for b in values)

    told = [near({c for label, c in zip(labels, codes, strict=True) if label == one}) for one in range(max(labels) + 1)]
    expected = [number + 1 for number, alike in enumerate(told) if alike and not near(set(codes))]
    assert opened(RUN["similarity"](scene(labels, secret(codes, domain=4, costs=costs)))) == expected


def test_similarity_needs_a_notion_of_alike() -> None:
    finding = RUN["similarity"](scene([0, 0], secret([0, 1])))
    assert finding.figure is None
    assert "no two values are alike" in finding.sentence


def test_linkage() -> None:
    among = scene([0, 1, 1, 2, 2, 2], crowd=3, people=np.array([1, 4, 0]))
    figures = {name: RUN[name](among) for name in ("prosecutor", "journalist", "marketer", "uniqueness")}
    assert {name: finding.figure for name, finding in figures.items()} == {
        "prosecutor": 1,
        "journalist": 1,
        "marketer": pytest.approx((1 + 2 / 4) / 6),
        "uniqueness": pytest.approx(1 / 6),
    }
    assert figures["prosecutor"].rows == 3  # classes smaller than three
    assert figures["journalist"].rows == 1


def test_where_nobody_could_be_linked_nothing_is_known() -> None:
    for name in ("journalist", "marketer", "uniqueness"):
        nobody = RUN[name](scene([0, 0], people=np.array([0])))
        assert (nobody.figure, nobody.rows, nobody.claim.answer) == (None, 0, "undecided")
        assert nobody.sentence.startswith("No person of the register fits any class, so nothing could be linked.")


def test_a_register_of_one_person_who_fits_a_class_of_several_rows() -> None:
    """The rows fit one person, not four; the person fits four rows, so nobody is unique."""
    published = scene([0, 0, 0, 0], crowd=2, people=np.array([1]))
    journalist, uniqueness = RUN["journalist"](published), RUN["uniqueness"](published)
    assert journalist.sentence == (
        "The most exposed row hides among 4 rows or people: a link is right with a chance of 25.0 %."
    )
    assert uniqueness.sentence == "0 rows (0 %) are alone in their class and fit exactly one person of the register."
    alone = RUN["journalist"](scene([0], people=np.array([1])))
    assert alone.sentence.startswith("The most exposed row fits 1 person and is alone in its class:")


@pytest.mark.parametrize("values", [[0, 1, 0, 1], [0, 0, 1, 1]])
def test_of_two_values_excluding_one_always_leaves_one(values: list[int]) -> None:
    """That is no news about a class, but the sentence must not deny it."""
    finding = RUN["background_knowledge"](scene([0, 0, 1, 1], secret(values)))
    assert finding.rows == 0
    assert finding.sentence == (
        "Excluding one value leaves at least two values in every class, for every sensitive attribute that has three "
        "values or more."
    )


def test_an_attack_has_one_name() -> None:
    for attack in ATTACKS:
        assert attack.title in (attack.label, f"{attack.label} attack")


def test_a_notebook_heads_the_tables_as_the_page_does() -> None:
    scenes = {table: scene([0, 0, 0], secret([0, 1, 2]), crowd=3) for table in (RAW, K_ANONYMOUS, RELEASE)}
    attacks = attack_results(scenes, register_rows=3, several_rows=False)
    assert list(attacks.headings.values()) == ["raw table", "3-anonymous table", "release"]
    headings = "".join(f"<th>{heading}</th>" for heading in ("attack", *attacks.headings.values(), "better"))
    assert f"<tr>{headings}</tr>" in attacks._repr_html_()


def test_background_join() -> None:
    # in class 1 every salary leads to one disease; in class 2 all share both, which gives them away, too
    pay, ill = secret([0, 1, 1, 2, 2], "pay"), secret([0, 1, 1, 0, 0], "ill")
    finding = RUN["background_join"](scene([0, 0, 0, 1, 1], pay, ill))
    assert finding.figure == pytest.approx(1 / 5)
    assert finding.rows == 5
    assert RUN["background_join"](scene([0, 0], secret([0, 1]))).figure is None


def test_rare_values() -> None:
    finding = RUN["rarity"](scene([0] * 6, secret([0, 0, 0, 1, 1, 2], "ill"), crowd=3))
    assert (finding.figure, finding.rows) == (1, 3)
    assert "'ill' that fewer than 3 rows share" in finding.sentence
    common = RUN["rarity"](scene([0] * 4, secret([0, 0, 1, 1])))
    assert (common.figure, common.rows) == (2, 0)


def test_no_secret_leaves_nothing_to_learn() -> None:
    for name in ("homogeneity", "background_knowledge", "skewness", "rarity", "similarity", "background_join"):
        assert RUN[name](scene([0, 0])).figure is None


def own(codes: Sequence[int], labels: Sequence[int]) -> Links:
    """Return people with one quasi-identifier each; a class covers the values of its people."""
    values, classes = np.array(codes), np.array(labels)
    covers = np.zeros((int(classes.max()) + 1, int(values.max()) + 1), dtype=bool)
    covers[classes, values] = True
    return Links.of([values], [packed(covers, np.arange(len(covers)))], np.bincount(classes))


def test_minimality() -> None:
    # class 1: two people on either side; class 2: all alike; class 3 shares the value 5 with class 4
    codes, labels = [0, 0, 1, 1, 3, 3, 3, 3, 4, 4, 5, 5, 5, 5], [0] * 4 + [1] * 4 + [2] * 4 + [3] * 2
    people = own(codes, labels)
    assert merged_for_their_values(people, 2).tolist() == [True, False, False, False]
    assert merged_for_their_values(people, 3).tolist() == [False] * 4
    finding = RUN["minimality"](scene(labels, own=people))
    assert (finding.figure, finding.rows) == (1, 4)
    assert RUN["minimality"](scene(labels)).figure == 0


def test_two_releases_intersected() -> None:
    # the first release joins people 1 and 2, the second 2 and 3: person 2 has the one value that both show
    values = [0, 1, 2, 3]
    first = scene([0, 0, 1, 1], secret(values), own=own(range(4), [0, 0, 1, 1]))
    second = scene([0, 1, 1, 2], secret(values), own=own(range(4), [0, 1, 1, 2]))
    finding = RUN["intersection"](replace(first, second=second))
    assert finding.rows == 2  # persons 2 and 3; persons 1 and 4 are alone in the second release already
    assert finding.figure == pytest.approx((1 + 2 + 2 + 1) / 4)


def test_two_releases_that_nobody_fits_both_are_not_intersected() -> None:
    """No value is possible in both releases, so "as many possible values as the better one alone" would be invented."""
    first = scene([0, 0], secret([0, 1], domain=4), own=own(range(2), [0, 0]))
    second = scene([0, 0], secret([2, 3], domain=4), own=own(range(2), [0, 0]))
    finding = RUN["intersection"](replace(first, second=second))
    assert (finding.figure, finding.claim.answer) == (None, "undecided")


def test_what_was_not_looked_at_is_no_finding() -> None:
    """One attribute has an order, the other has not; no class is alike in the first."""
    both = scene([0, 0, 1, 1], secret([0, 8, 0, 8], "pay", domain=9, line=True), secret([0, 1, 0, 1], "ill"))
    finding = RUN["similarity"](both)
    assert (finding.rows, finding.claim.answer) == (0, "undecided")
    assert finding.sentence.endswith("Not looked at, without an order: 'ill'.")
    alone = RUN["similarity"](scene([0, 0, 1, 1], secret([0, 8, 0, 8], domain=9, line=True)))
    assert alone.claim.answer == "yes"


SCENES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=40)


def drawn(rows: list[tuple[int, int, int]]) -> Scene:
    labels, one, other = (np.unique(column, return_inverse=True)[1] for column in np.array(rows).T)
    return scene(labels, secret(one, "one", line=True), secret(other, "other"), own=own(one, labels))


@settings(deadline=None)
@given(rows=SCENES)
def test_shares_and_figures_stay_in_bounds(rows: list[tuple[int, int, int]]) -> None:
    given_scene = drawn(rows)
    for attack in ATTACKS:
        finding = attack.run(given_scene)
        assert 0 <= finding.share <= 1
        assert finding.of == len(rows)
        assert finding.sentence.endswith(".")
        assert finding.figure is None or finding.figure >= 0
        assert all(1 <= number <= len(given_scene.sizes) for number in opened(finding))
        assert finding.rows or finding.figure is not None or finding.claim.answer == "undecided"


@settings(deadline=None)
@given(rows=SCENES)
def test_homogeneity_is_zero_iff_every_class_shows_two_values(rows: list[tuple[int, int, int]]) -> None:
    given_scene = drawn(rows)
    single = [
        len({cell for label, cell in zip(given_scene.labels, attribute.cells, strict=True) if label == number}) == 1
        for attribute in given_scene.secrets
        if np.ptp(attribute.cells)
        for number in range(len(given_scene.sizes))
    ]
    assert (RUN["homogeneity"](given_scene).figure == 0) is not any(single)


@settings(deadline=None)
@given(rows=SCENES)
def test_a_homogeneous_class_is_open_to_whoever_excludes_a_value(rows: list[tuple[int, int, int]]) -> None:
    given_scene = drawn(rows)
    wider = numbers_of(RUN["background_knowledge"](given_scene), "one")
    if len(np.unique(given_scene.secrets[0].cells)) > 2:
        assert numbers_of(RUN["homogeneity"](given_scene), "one") <= wider


@settings(deadline=None)
@given(rows=SCENES)
def test_the_gain_of_a_close_class_is_bounded(rows: list[tuple[int, int, int]]) -> None:
    """A class within t, by the equal distance, holds no value more often than its share in the table and t."""
    given_scene = drawn(rows)
    for attribute in given_scene.secrets:
        counts = Counts.from_codes(given_scene.labels, attribute.codes, attribute.domain)
        close, rarest = (
            Equal().emd(counts, attribute.reference),
            attribute.reference[attribute.reference > 0].min() / len(rows),
        )
        gain, _ = gains(given_scene, attribute)
        for number in range(len(given_scene.sizes)):
            assert gain[number] <= 1 + float(close[number]) / rarest + 1e-9


@settings(deadline=None)
@given(rows=SCENES)
def test_one_class_for_all_tells_nothing_of_anybody(rows: list[tuple[int, int, int]]) -> None:
    whole = drawn([(0, one, other) for _, one, other in rows])
    for name in ("homogeneity", "background_knowledge", "similarity"):
        assert RUN[name](whole).rows == 0
    assert RUN["skewness"](whole).figure == pytest.approx(1)


@settings(deadline=None)
@given(rows=SCENES)
def test_merging_all_classes_never_raises_the_prosecutors_chance(rows: list[tuple[int, int, int]]) -> None:
    parted, whole = drawn(rows), drawn([(0, one, other) for _, one, other in rows])
    before, after = RUN["prosecutor"](parted).figure, RUN["prosecutor"](whole).figure
    assert before is not None
    assert after is not None
    assert after <= before


@settings(deadline=None)
@given(rows=SCENES)
def test_a_release_intersected_with_itself_adds_nothing(rows: list[tuple[int, int, int]]) -> None:
    given_scene = drawn(rows)
    finding = RUN["intersection"](replace(given_scene, second=given_scene))
    assert (finding.figure, finding.rows) == (pytest.approx(1), 0)


# Beside a k-anonymous table


def compared(release: Finding, k_anonymous: Finding, *, better: str) -> AttackResult:
    attack = Attack("a", "a", "", "", "share", better, lambda scene: release, cure="")  # type: ignore[arg-type]
    return AttackResult(attack, {"k_anonymous": k_anonymous, "release": release})


@pytest.mark.parametrize(
    ("release", "k_anonymous", "better", "worse"),
    [
        ((0.2, 3), (0.2, 2), "lower", True),  # more rows
        ((0.9, 2), (0.1, 3), "lower", False),  # fewer rows
        ((0.3, 2), (0.2, 2), "lower", True),  # as many rows, a worse figure
        ((0.3, 2), (0.2, 2), "higher", False),
        ((0.2, 2), (0.3, 2), "higher", True),
        ((0.2, 2), (0.2, 2), "lower", False),
        ((0.2, 2), (0.2, 2), "higher", False),
        ((None, 0), (0.2, 2), "lower", False),  # the attack does not apply
    ],
)
def test_a_release_does_worse_than_a_k_anonymous_table(
    release: tuple[float | None, int], k_anonymous: tuple[float | None, int], better: str, worse: bool
) -> None:
    findings = [Finding(figure, rows, 10, "") for figure, rows in (release, k_anonymous)]
    result = compared(*findings, better=better)
    assert result.worse_than_k_anonymous == worse
    sizes = {"release": TableSize(10, 1, 10)}
    assert Attacks(sizes, 2, 10, (result,)).worse_than_k_anonymous == ((result,) if worse else ())
