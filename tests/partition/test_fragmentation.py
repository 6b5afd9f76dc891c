"""The theorem, attacked; the bounds, by brute force; and the laws of every method."""

from fractions import Fraction
from itertools import combinations
from math import gcd, lcm

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.distance import Counts, DomainFacts, Equal, Hierarchical, Matrix, Ordered, Value
from tclose.errors import Infeasible
from tclose.partition.fragmentation import partition, plan, spread
from tclose.partition.fragmentation.printed import STRATEGIES, BoxSearch
from tclose.partition.fragmentation.spread import LineSpread, spread_attributes
from tclose.partition.problem import Attribute, Problem

slow_to_draw = settings(
    deadline=None,
    max_examples=examples(40),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

SPOTS = st.tuples(st.integers(0, 5), st.integers(0, 5))


@st.composite
def distances(draw, values):
    kind = draw(st.sampled_from(["ordered", "value", "missing", "equal", "hierarchical", "matrix"]))
    if kind == "ordered":
        return Ordered(values)
    if kind == "equal":
        return Equal()
    if kind in ("value", "missing"):
        missing = kind == "missing" and values > 1
        numbers = values - missing
        gaps = draw(st.lists(st.integers(1, 9), min_size=numbers - 1, max_size=numbers - 1))
        positions = np.concatenate(([0], np.cumsum(gaps, dtype=np.int64))).astype(np.int64)
        return DomainFacts(values, positions=positions, missing=missing).make("value")
    if kind == "hierarchical":
        new_node = draw(st.lists(st.booleans(), min_size=values, max_size=values))
        middle = np.cumsum(new_node) - int(new_node[0])
        return Hierarchical((np.arange(values), middle.astype(np.int64), np.zeros(values, dtype=np.int64)))
    at = np.array(draw(st.lists(SPOTS, min_size=values, max_size=values, unique=True)))
    return Matrix(np.abs(at[:, None] - at[None]).sum(axis=2))


@st.composite
def attributes(draw, rows, whole_table):
    values = draw(st.integers(1, 7))
    codes = np.array(draw(st.lists(st.integers(0, values - 1), min_size=rows, max_size=rows)), dtype=np.int64)
    reference = np.bincount(codes, minlength=values).astype(np.int64)
    if not whole_table:
        reference += np.array(draw(st.lists(st.integers(0, 5), min_size=values, max_size=values)))
    return Attribute(codes, reference, draw(distances(values)), Fraction(draw(st.integers(0, 20)), 20))


@st.composite
def problems(draw, fewest=1, most=24, whole_table=True):
    count = draw(st.integers(fewest, most))
    sensitive = draw(st.lists(attributes(count, whole_table), min_size=1, max_size=4))
    spots = draw(st.lists(SPOTS, min_size=count, max_size=count))
    return Problem(np.array(spots) / 5, tuple(sensitive), draw(st.integers(1, 3)))


def emds(problem, labels):
    return [
        one.distance.emd(Counts.from_codes(labels, one.codes, len(one.reference)), one.reference)
        for one in problem.sensitive
    ]


def spiteful_rows(problem, fragments, taken, data):
    """Return rows in these counts, in each fragment from the end that an adversary of one attribute prefers."""
    chosen = []
    for fragment, count in enumerate(taken):
        rows = np.flatnonzero(fragments == fragment)
        one = data.draw(st.sampled_from(problem.sensitive))
        value = data.draw(st.integers(0, len(one.reference) - 1))
        far = [-one.distance.between(int(code), value) for code in one.codes[rows]]
        chosen += rows[sorted(range(len(rows)), key=far.__getitem__)[: int(count)]].tolist()
    return np.array(chosen)


def assert_within(problem, rows, bounds):
    for one, bound in zip(problem.sensitive, bounds, strict=True):
        assert one.emd_of(one.codes[rows], one.reference) <= bound


def relaxed_bound(attribute, fragments, taken):
    """Return the theorem's bound for a class that takes `taken[f]` rows of each fragment f."""
    whole = attribute.sensitive.reference
    return attribute.sensitive.distance.emd(reweighted(attribute, fragments, taken), whole)[0] + inside(
        attribute, fragments, taken
    )


def reweighted(attribute, fragments, taken):
    """Return M^w as one class of integer counts: each row of fragment f counts taken[f]/N_f times a common multiple."""
    sizes = np.bincount(fragments, minlength=len(taken))
    multiple = lcm(*(int(n) // gcd(int(n), int(e)) for n, e in zip(sizes, taken, strict=True)))
    weights = np.array([int(e) * multiple // int(n) for n, e in zip(sizes, taken, strict=True)], dtype=np.int64)
    counts = np.zeros(len(attribute.row_counts), dtype=np.int64)
    np.add.at(counts, attribute.codes, weights[fragments])
    return Counts.from_dense(counts)


def inside(attribute, fragments, taken):
    """Return Σ_f w_f·Δ(f)/p_f: what the choice of rows within the fragments can add."""
    worst = attribute.spread.worst(fragments, attribute.codes)
    sizes = np.bincount(fragments)
    per_fragment = (Fraction(int(e) * int(w), int(n)) for e, w, n in zip(taken, worst, sizes, strict=True))
    return sum(per_fragment, Fraction(0)) / (int(taken.sum()) * attribute.unit)


def bounds_of(problem, fragments, taken):
    by_codes = {id(a.sensitive): relaxed_bound(a, fragments, taken) for a in spread_attributes(problem, "tight")}
    return [by_codes.get(id(one), Fraction(0)) for one in problem.sensitive]


@slow_to_draw
@given(problems(whole_table=False), st.data())
def test_no_choice_of_rows_breaks_the_relaxed_theorem(problem, data):
    drawn = data.draw(st.lists(st.integers(0, 4), min_size=problem.rows, max_size=problem.rows))
    fragments = np.unique(drawn, return_inverse=True)[1]
    taken = np.array([data.draw(st.integers(0, int(n))) for n in np.bincount(fragments)])
    assume(taken.sum() > 0)
    rows = spiteful_rows(problem, fragments, taken, data)
    assert_within(problem, rows, bounds_of(problem, fragments, taken))


@slow_to_draw
@given(problems(), st.sampled_from(["psi", "sum", "squares"]), st.sampled_from(["tight", "published"]), st.data())
def test_no_choice_of_rows_in_accepted_counts_breaks_a_t(problem, strategy, bound, data):
    accepted = plan(problem, bound=bound, strategy=strategy)
    assume(accepted is not None)
    for taken in accepted.vectors():
        assert taken.sum() >= problem.k
        bounds = bounds_of(problem, accepted.fragments, taken)
        assert all(bound <= one.t for bound, one in zip(bounds, problem.sensitive, strict=True))
        assert_within(problem, spiteful_rows(problem, accepted.fragments, taken, data), bounds)


@settings(deadline=None, max_examples=examples(100))
@given(st.integers(10, 90), st.integers(1, 2), st.integers(3, 39), st.integers(2, 60), st.integers(0, 2**32 - 1))
def test_spare_rows_keep_their_classes_within_t(rows, attributes, fortieths, values, seed):
    random = np.random.default_rng(seed)
    columns = [random.integers(0, values, rows) for _ in range(attributes)]
    problem = Problem(
        random.random((rows, 1)),
        tuple(
            Attribute(codes, np.bincount(codes, minlength=values), Ordered(values), Fraction(fortieths, 40))
            for codes in columns
        ),
    )
    accepted = plan(problem)
    assume(accepted is not None)
    assume(accepted.spares)
    for taken in accepted.vectors():
        assert all(bound <= Fraction(fortieths, 40) for bound in bounds_of(problem, accepted.fragments, taken))
    labels = partition(problem)
    taken_by = np.zeros((accepted.count, len(accepted.layers) + 1), dtype=np.int64)
    np.add.at(taken_by, (labels, accepted.fragments), 1)
    assert {tuple(row) for row in taken_by} == {tuple(vector) for vector in accepted.vectors()}


@slow_to_draw
@given(problems(most=8))
def test_the_tight_bound_is_the_true_worst_case(problem):
    for one in spread_attributes(problem, "tight"):
        everything = np.arange(problem.rows)
        worst = Fraction(one.worst(0 * everything, everything), one.unit * problem.rows)
        assert worst == max(one.sensitive.emd_of(one.codes[[row]], one.row_counts) for row in range(problem.rows))
        for count in (2, 3):
            for rows in combinations(range(problem.rows), count):
                assert one.sensitive.emd_of(one.codes[list(rows)], one.row_counts) <= worst


@slow_to_draw
@given(problems(), st.data())
def test_the_tight_bound_never_exceeds_the_published_one(problem, data):
    tight, published = spread_attributes(problem, "tight"), spread_attributes(problem, "published")
    assume(tight)
    box, searches = BoxSearch(tight).top(), (BoxSearch(tight), BoxSearch(published))
    for _ in range(3):
        ours, theirs = (search.delta(box) for search in searches)
        assert all(a <= b for a, b in zip(ours, theirs, strict=True))
        cuts, together = searches[1].cuts(box)
        if not cuts:
            break
        index = data.draw(st.integers(0, len(cuts) - 1))
        parts = searches[1].split(box, cuts[index])
        exact = [a + b for a, b in zip(*map(searches[1].delta, parts), strict=True)]
        assert together[index] == pytest.approx([float(x) for x in exact])
        box = parts[data.draw(st.integers(0, 1))]


@slow_to_draw
@given(problems(fewest=2), st.integers(1, 5), st.sampled_from(["tight", "published"]))
def test_one_pass_gives_both_sides_of_every_cut(problem, step, bound):
    rows = np.arange(problem.rows // step * step)
    assume(len(rows) > step)
    for one in spread_attributes(problem, bound):
        left, right = one.spread.cuts(one.codes[rows], step)
        for part in range(1, len(rows) // step):
            exact = one.spread.worst((rows >= part * step).astype(np.int64), one.codes[rows])
            assert (left[part - 1], right[part - 1]) == pytest.approx((float(exact[0]), float(exact[1])), abs=1)


def assert_laws(problem, labels):
    sizes = np.bincount(labels)
    assert len(labels) == problem.rows
    assert labels.min() == 0
    assert sizes.min() >= problem.k
    for one, distances in zip(problem.sensitive, emds(problem, labels), strict=True):
        assert one.t is None or distances.at_most(one.t).all()


@slow_to_draw
@given(
    problems(),
    st.sampled_from(["tight", "published"]),
    st.sampled_from(["relaxed", "gcd"]),
    st.sampled_from(["bisected", "grown"]),
    st.sampled_from(sorted(STRATEGIES)),
)
def test_every_class_is_within_every_t(problem, bound, sizing, classes, strategy):
    assume(problem.rows >= problem.k)
    labels = partition(problem, bound=bound, sizing=sizing, classes=classes, strategy=strategy, seed=3)
    assert_laws(problem, labels)
    again = partition(problem, bound=bound, sizing=sizing, classes=classes, strategy=strategy, seed=3)
    assert np.array_equal(labels, again)


@slow_to_draw
@given(problems(whole_table=False))
def test_a_part_of_a_table_is_judged_by_the_whole_table(problem):
    reachable = problem.rows >= problem.k and all(
        one.emd_of(one.codes, one.reference) <= one.t for one in problem.sensitive
    )
    if reachable:
        assert_laws(problem, partition(problem))
    else:
        with pytest.raises(Infeasible):
            partition(problem)


def ordered(codes, t, k=1, points=None):
    codes = np.asarray(codes, dtype=np.int64)
    reference = np.bincount(codes).astype(np.int64)
    threshold = None if t is None else Fraction(t)
    points = np.linspace(0, 1, len(codes))[:, None] if points is None else points
    return Problem(points, (Attribute(codes, reference, Ordered(len(reference)), threshold),), k)


def classes(problem, **options):
    labels = partition(problem, **options)
    assert_laws(problem, labels)
    return int(labels.max()) + 1


def test_t_of_0_needs_classes_like_the_table():
    assert classes(ordered([0, 1, 2, 3, 4], 0)) == 1
    assert classes(ordered([0, 0, 1, 1, 1, 1, 2, 2], 0)) == 2
    assert classes(ordered([0] * 6 + [1] * 9 + [2] * 12, 0)) == 3


def test_t_of_1_allows_anything_that_k_allows():
    assert classes(ordered(range(17), 1)) == 17
    assert classes(ordered(range(17), 1, k=3)) == 5


def test_without_a_t_only_k_counts():
    assert classes(ordered(range(17), None, k=4)) == 4


def test_one_row_and_one_value_and_all_rows_equal():
    assert classes(ordered([0], "0.1")) == 1
    assert classes(ordered([0] * 10, 0)) == 10
    same = np.full((12, 2), 0.5)
    assert classes(ordered([0, 1, 2, 3] * 3, "0.2", points=same)) == 6


def test_a_prime_number_of_rows_costs_little():
    assert classes(ordered(range(1080), "0.12")) == 216
    assert classes(ordered(range(1087), "0.12")) >= 210
    assert classes(ordered(range(1087), "0.12"), sizing="gcd") == 1


def test_k_larger_than_the_table_names_the_k_that_can_be_reached():
    with pytest.raises(Infeasible, match="k can be 3"):
        partition(ordered(range(3), 1, k=4))


def test_the_line_itself_is_within_t_and_a_hair_below_is_not():
    on_the_line = Fraction(1, 6)  # fragments {0, 1} and {2, 3}: 2/(3·4)
    assert classes(ordered(range(4), on_the_line)) == 2
    assert classes(ordered(range(4), on_the_line - Fraction(1, 10**30))) == 1


def test_values_beyond_64_bits_are_judged_exactly():
    far = Value(np.array([0, 1, 2**80, 2**80 + 1], dtype=object))
    codes = np.array([0, 1, 2, 3])
    one = Attribute(codes, np.ones(4, dtype=np.int64), far, Fraction(2, 4 * (2**80 + 1)))
    assert classes(Problem(np.zeros((4, 1)), (one,))) == 2


def test_three_attributes_of_ten_thousand_values_each():
    random = np.random.default_rng(5)
    rows = 10_000
    sensitive = tuple(
        Attribute(random.permutation(rows), np.ones(rows, dtype=np.int64), Ordered(rows), Fraction(1, 5))
        for _ in range(3)
    )
    assert classes(Problem(random.random((rows, 2)), sensitive)) > 100


@pytest.mark.parametrize("options", [{}, {"bound": "published", "sizing": "gcd"}, {"strategy": "squares"}])
def test_the_order_of_the_rows_does_not_matter_to_the_guarantee(options):
    random = np.random.default_rng(2)
    codes, points = random.integers(0, 30, 500), random.random((500, 2))
    for _ in range(3):
        shuffled = random.permutation(500)
        assert classes(ordered(codes[shuffled], "0.1", points=points[shuffled]), **options) >= 1


def test_the_row_distance_can_be_replaced():
    random = np.random.default_rng(4)
    points = random.random((600, 3))
    problem = ordered(random.permutation(600), "0.1", points=points)

    def third_coordinate_only(rows, row):
        return np.abs(rows[:, 2] - row[2])

    labels = partition(problem, distance=third_coordinate_only)
    assert_laws(problem, labels)
    spans = [np.ptp(points[labels == label], axis=0) for label in range(labels.max() + 1)]
    mean = np.mean(spans, axis=0)
    assert mean[2] < mean[0] / 3


def test_progress_is_told():
    told = []
    partition(ordered(range(500), "0.1"), progress=lambda share, phase="": told.append(share))
    assert told
    assert all(0 <= done <= 1 for done in told)


@settings(deadline=None)
@given(st.integers(2, 5), st.integers(1, 4), st.integers(1, 3), st.integers(0, 99))
def test_all_lines_are_cut_as_each_line_is(parts: int, step: int, attributes: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    codes = random.integers(0, 7, (attributes, 40))
    lines = [LineSpread(np.cumsum(random.integers(0, 9, 7))) for _ in range(attributes)]
    orders = np.array([random.permutation(40)[: parts * step] for _ in range(2)])
    places = np.array([line.places(own) for line, own in zip(lines, codes, strict=True)])
    sides = spread.all_line_cuts(places, orders, step)
    for i, order in enumerate(orders):
        for a, line in enumerate(lines):
            left, right = line.cuts(codes[a, order], step)
            assert sides[0, i, :, a].tolist() == left.tolist()
            assert sides[1, i, :, a].tolist() == right.tolist()
