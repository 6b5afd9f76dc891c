"""weave: every class within every t, exactly, whatever the table; never a row twice; the same seed, the same labels."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples
from tests.pairs import in_pairs

import tclose
from tclose.distance import Counts, Distance, DomainFacts, Equal, Hierarchical, Matrix, Ordered, Value
from tclose.errors import Infeasible, PolicyError
from tclose.partition.problem import Attribute, Problem
from tclose.partition.shared.axes import Axis, LabelAxis, NumberAxis, SetAxis
from tclose.partition.shared.kernels import kernel
from tclose.partition.shared.loss import loss_table, total_loss
from tclose.partition.shared.workers import lowered_flag
from tclose.partition.weave import partition
from tclose.partition.weave.limits import Limits, limits_of
from tclose.partition.weave.transport import allowed_work, class_work, count_beyond_edges, smallest_class_size
from tclose.privacy import Alpha, DeltaDisclosure, DistinctL, EntropyL, RecursiveCL


@kernel
def passes(limits: Limits, values: np.ndarray, counts: np.ndarray, size: int, a: int) -> bool:
    """Tell whether a class with these counts of values is within one limit."""
    count_beyond_edges(limits, values, counts, 0)
    return class_work(limits, counts, 0, size, a) <= allowed_work(limits, size, a)


LEVELS = (np.arange(6), np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 0, 0, 1, 1]), np.zeros(6, dtype=np.int64))
KINDS = ("ordered", "value", "missing", "equal", "hierarchical", "matrix")


def distance_named(kind: str, domain: int) -> Distance:
    if kind == "ordered":
        return Ordered(domain)
    if kind == "value":
        return Value(np.arange(domain, dtype=np.int64) ** 2)
    if kind == "missing":
        return DomainFacts(domain, positions=np.arange(domain - 1, dtype=np.int64) ** 2, missing=True).make("value")
    if kind == "hierarchical":
        return Hierarchical(LEVELS)
    if kind == "matrix":
        places = np.arange(domain)
        return Matrix(np.abs(places[:, None] - places[None, :]).astype(np.int64))
    return Equal()


def sensitive(kind: str, codes: np.ndarray, t: Fraction | None, domain: int = 6) -> Attribute:
    reference = np.bincount(codes, minlength=domain).astype(np.int64)
    return Attribute(codes, reference, distance_named(kind, domain), t)


def some_axes(random: np.random.Generator, rows: int) -> tuple[Axis, ...]:
    missing = random.integers(-1, 6, size=rows)
    return (
        NumberAxis.of_points(random.integers(0, 9, size=rows) / 8),
        LabelAxis(missing, LEVELS),
        SetAxis(random.integers(0, 70, size=rows), 70),
    )


def judge(problem: Problem, labels: np.ndarray) -> None:
    assert labels.shape == (problem.rows,)
    sizes = np.bincount(labels)
    assert sizes.min() >= problem.k
    for one in problem.sensitive:
        if one.t is not None:
            counts = Counts.from_codes(labels, one.codes, len(one.reference))
            assert one.distance.emd(counts, one.reference).at_most(one.t).all()


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    rows = draw(st.integers(1, 70))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=0, max_size=3))
    t = st.one_of(st.none(), st.sampled_from([Fraction(0), Fraction(1)]), st.fractions(0, 1, max_denominator=50))
    spread = draw(st.sampled_from([1, 2, 6]))
    guarded = tuple(sensitive(kind, random.integers(0, spread, size=rows), draw(t)) for kind in kinds)
    k = draw(st.integers(1, max(1, rows)))
    axes = some_axes(random, rows)
    return Problem(
        np.zeros((rows, 3)), guarded, draw(st.sampled_from([1, 2, min(3, rows), k])) if rows > 2 else 1, axes
    )


def every_kind() -> list[Problem]:
    """Return small problems that together reach every branch of weave: distances, rules, axes, and many values."""
    random = np.random.default_rng(6)
    found = []
    for rows, k, kinds in (
        (150, 3, ("ordered", "hierarchical", "missing")),
        (90, 2, ("matrix", "equal", "value")),
        (260, 1, ()),
    ):
        codes = [random.integers(0, 6, size=rows) for _ in kinds]
        guarded = tuple(sensitive(kind, column, Fraction(1, 4)) for kind, column in zip(kinds, codes, strict=True))
        means = replace(NumberAxis.of_points(random.random(rows)), deviation=0.3)
        found.append(Problem(np.zeros((rows, 4)), guarded, k, (*some_axes(random, rows), means)))
    rules = (
        DistinctL(3),
        EntropyL(Fraction(2)),
        RecursiveCL(Fraction(3), 2),
        Alpha(Fraction(2, 3)),
        DeltaDisclosure(Fraction(3)),
    )
    codes = random.integers(0, 6, size=200)
    ruled = Attribute(
        codes, np.bincount(codes).astype(np.int64), Equal(), Fraction(1, 2), 50, (*rules, DeltaDisclosure(Fraction(3)))
    )
    single = replace(ruled, t=None, n=None, models=(RecursiveCL(Fraction(3), 1),))
    found.append(Problem(random.random((200, 2)), (ruled, single), 2))
    long = Attribute(random.permutation(2500), np.ones(2500, dtype=np.int64), Ordered(2500), Fraction(1, 5))
    wide = Attribute(random.permutation(4500), np.ones(4500, dtype=np.int64), Equal(), Fraction(4, 5))
    found += [Problem(random.random((2500, 1)), (long,), 2), Problem(random.random((4500, 1)), (wide,), 2)]
    return found


@settings(max_examples=examples(60), deadline=None)
@given(problems(), st.sampled_from(["fast", "balanced"]))
def test_every_class_is_within_every_t(problem: Problem, effort: str) -> None:
    judge(problem, partition(problem, effort=effort, seed=3))


@settings(max_examples=examples(40), deadline=None)
@given(problems(), st.integers(0, 2**32))
def test_the_kernels_judge_as_the_distances_do(problem: Problem, seed: int) -> None:
    """Exactly so, but for a matrix, where they may only be stricter."""
    limits = limits_of(problem.sensitive, problem.rows)
    random = np.random.default_rng(seed)
    rows = np.flatnonzero(random.random(problem.rows) < 0.5)
    if not len(rows):
        return
    values = np.zeros((1, int(limits.attributes["values"].sum())), dtype=np.int64)
    guarded = [attribute for attribute in problem.sensitive if attribute.t is not None and attribute.t < 1]
    for a in range(len(guarded)):
        np.add.at(values[0], limits.attributes["value"][a] + limits.codes[rows, a], 1)
    counts = np.zeros((1, len(limits.edges)), dtype=np.int32)
    for a, attribute in enumerate(guarded):
        truly = attribute.emd_of(attribute.codes[rows], attribute.reference) <= attribute.t
        passed = passes(limits, values, counts, len(rows), a)
        assert passed == truly or (attribute.distance.name == "matrix" and truly)


@settings(max_examples=examples(30), deadline=None)
@given(problems())
def test_the_loss_is_the_measured_one(problem: Problem) -> None:
    labels = np.arange(problem.rows) % max(1, problem.rows // 3)
    line, tree, text = problem.axes
    loss = 0.0
    for c in np.unique(labels):
        mine = labels == c
        places = line.low[line.codes[mine]]
        loss += mine.sum() * (places.max() - places.min() + (len(np.unique(text.codes[mine])) - 1) / 69)
        leaves = tree.codes[mine]
        leaves = leaves[leaves >= 0]
        if len(np.unique(leaves)) > 1:
            joined = next(level for level in LEVELS if len(np.unique(level[leaves])) == 1)
            loss += mine.sum() * np.count_nonzero(joined == joined[leaves[0]]) / 6
    axes = loss_table(problem.axes, problem.rows)
    assert total_loss(axes, labels.astype(np.int64)) == pytest.approx(loss)


@settings(max_examples=15, deadline=None)
@given(problems(), st.integers(0, 2**40))
def test_the_same_seed_gives_the_same_labels(problem: Problem, seed: int) -> None:
    assert (partition(problem, effort="fast", seed=seed) == partition(problem, effort="fast", seed=seed)).all()


def test_the_number_of_cores_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    codes = random.integers(0, 6, size=5003)  # a prime
    problem = Problem(np.zeros((5003, 3)), (sensitive("equal", codes, Fraction(1, 4)),), 3, some_axes(random, 5003))
    labels = partition(problem, effort="fast", seed=2**60)
    judge(problem, labels)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    assert (labels == partition(problem, effort="fast", seed=2**60)).all()
    assert labels.max() > 100


@pytest.mark.parametrize("t", [Fraction(0), Fraction(1, 10), Fraction(1)])
@pytest.mark.parametrize("values", [1, 2, 211])
def test_few_and_many_values(t: Fraction, values: int) -> None:
    random = np.random.default_rng(1)
    codes = np.arange(211) % values
    problem = Problem(np.zeros((211, 3)), (sensitive("ordered", codes, t, values),), 2, some_axes(random, 211))
    labels = partition(problem, effort="fast")
    judge(problem, labels)
    if t == 0 and values > 1:
        assert labels.max() == 0  # a prime number of rows cannot be shared out evenly
    if t == 1:
        assert labels.max() > 60


def test_one_row_repeated_loses_nothing() -> None:
    codes = np.arange(100) % 6
    axes = (
        NumberAxis.of_points(np.zeros(100)),
        LabelAxis(np.zeros(100, dtype=np.int64), LEVELS),
        SetAxis(np.zeros(100, np.int64), 1),
    )
    problem = Problem(np.zeros((100, 3)), (sensitive("equal", codes, Fraction(1, 10)),), 5, axes)
    judge(problem, partition(problem, effort="fast"))


@pytest.mark.parametrize("quasi", [0, 2])
def test_points_alone_will_do(quasi: int) -> None:
    random = np.random.default_rng(7)
    problem = Problem(
        random.random((300, quasi)), (sensitive("ordered", random.integers(0, 6, 300), Fraction(1, 5)),), 4
    )
    judge(problem, partition(problem, effort="fast"))


def test_a_part_is_judged_against_the_whole() -> None:
    random = np.random.default_rng(11)
    codes = random.integers(0, 6, 600)
    whole = Problem(random.random((600, 2)), (sensitive("ordered", codes, Fraction(1, 8)),), 2)
    part = whole.part(np.arange(250))
    judge(part, partition(part, effort="fast"))


def test_very_many_values_are_judged_in_stretches() -> None:
    random = np.random.default_rng(2)
    codes = random.permutation(6000)
    guarded = Attribute(codes, np.ones(6000, dtype=np.int64), Ordered(6000), Fraction(1, 10))
    problem = Problem(random.random((6000, 2)), (guarded,), 2)
    labels = partition(problem, effort="fast")
    judge(problem, labels)
    assert labels.max() > 300


@pytest.mark.parametrize("k", [26, 60, 200])
def test_large_k(k: int) -> None:
    """Cells were once halved below k."""
    random = np.random.default_rng(2)
    problem = Problem(
        random.integers(0, 9, (1000, 3)) / 8, (sensitive("equal", random.integers(0, 3, 1000), Fraction(1, 2)),), k
    )
    labels = partition(problem, effort="fast")
    judge(problem, labels)
    assert labels.max() > 0


def test_very_many_values_without_an_order_end_soon() -> None:
    """A class within 1/2 needs half of all values; carving and exchanging would take minutes."""
    random = np.random.default_rng(2)
    guarded = Attribute(random.permutation(20_000), np.ones(20_000, dtype=np.int64), Equal(), Fraction(4, 5))
    problem = Problem(random.random((20_000, 2)), (guarded,), 2)
    labels = partition(problem)
    judge(problem, labels)
    assert labels.max() == 3


@settings(max_examples=examples(60), deadline=None)
@given(problems(), st.integers(0, 2**32))
def test_no_class_is_smaller_than_the_smallest_possible(problem: Problem, seed: int) -> None:
    random = np.random.default_rng(seed)
    guarded = tuple(one for one in problem.sensitive if one.distance.name != "matrix")
    least = smallest_class_size(limits_of(guarded, problem.rows), 1, problem.rows, lowered_flag())
    for _ in range(20):
        rows = np.flatnonzero(random.random(problem.rows) < random.random())
        close = all(
            one.t is None or one.emd_of(one.codes[rows], one.reference) <= one.t for one in guarded if len(rows)
        )
        assert not len(rows) or not close or len(rows) >= least


def test_t_of_nothing_is_decided_at_once() -> None:
    codes = np.random.default_rng(1).integers(0, 3, 30_011)
    reference = np.bincount(codes).astype(np.int64)
    problem = Problem(
        np.random.default_rng(2).random((30_011, 2)), (Attribute(codes, reference, Equal(), Fraction(0)),)
    )
    assert partition(problem).max() == 0


def test_huge_magnitudes_stay_exact() -> None:
    random = np.random.default_rng(2)
    positions = np.array([0, 1, 10**6, 10**12, 10**17], dtype=object)
    codes = random.integers(0, 5, 400)
    guarded = Attribute(codes, np.bincount(codes).astype(np.int64), Value(positions), Fraction(1, 10))
    problem = Problem(random.random((400, 2)), (guarded,), 2)
    labels = partition(problem, effort="fast")
    judge(problem, labels)
    assert labels.max() > 5


def test_more_effort_loses_less() -> None:
    random = np.random.default_rng(4)
    problem = Problem(
        np.zeros((800, 3)),
        (sensitive("ordered", random.integers(0, 6, 800), Fraction(1, 6)),),
        2,
        some_axes(random, 800),
    )
    axes = loss_table(problem.axes, 800)
    losses = []
    for effort in ("fast", "balanced"):
        labels = partition(problem, effort=effort)
        losses.append(total_loss(axes, labels))
    assert losses[1] < losses[0]


def test_what_cannot_be_is_refused() -> None:
    codes = np.zeros(4, dtype=np.int64)
    with pytest.raises(Infeasible, match="k = 5"):
        partition(Problem(np.zeros((4, 1)), (sensitive("equal", codes, Fraction(1)),), 5))
    with pytest.raises(PolicyError, match="effort"):
        partition(Problem(np.zeros((4, 1)), (), 1), effort="bset")  # type: ignore[arg-type]


def test_progress_only_grows() -> None:
    random = np.random.default_rng(4)
    shares: list[float] = []
    phases: list[str] = []

    def progress(share: float, phase: str = "") -> None:
        shares.append(share)
        phases.append(phase)

    problem = Problem(random.random((500, 2)), (sensitive("equal", random.integers(0, 6, 500), Fraction(1, 5)),), 2)
    partition(problem, effort="balanced", progress=progress)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert all(any(low <= share <= low + 0.2 for share in shares) for low in (0.0, 0.2, 0.4, 0.6, 0.8))
    assert list(dict.fromkeys(phases)) == ["forming cells", "carving classes", "exchanging rows", "merging classes"]


@pytest.mark.parametrize(
    ("t", "quasi", "kind", "size"),
    in_pairs(
        [Fraction(0), Fraction(1, 5), Fraction(1)],
        ["ties", "constant", "distinct"],
        ["equal", "ordered"],
        [(97, 1), (97, 49), (97, 60), (96, 48)],
    ),
)
def test_the_corners_give_classes(t: Fraction, quasi: str, kind: str, size: tuple[int, int]) -> None:
    rows, k = size
    """Ties, constant quasi-identifiers, a prime number of rows, more than half of the rows in every class."""
    random = np.random.default_rng(9)
    points = {"ties": random.integers(0, 3, (rows, 2)) / 2, "constant": np.zeros((rows, 2)), "distinct": None}[quasi]
    points = random.random((rows, 2)) if points is None else points
    for values in (2, rows):
        codes = random.permutation(np.arange(rows) % values)
        problem = Problem(points, (sensitive(kind, codes, t, values),), k)
        labels = partition(problem, effort="fast")
        judge(problem, labels)
        assert k <= rows / 2 or labels.max() == 0


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(0, 2**32))
def test_the_loss_of_means_is_the_squared_distance_to_them(seed: int) -> None:
    random = np.random.default_rng(seed)
    points = random.integers(0, 9, size=40) / 8
    labels = random.integers(0, 5, size=40)
    axis = replace(NumberAxis.of_points(points), deviation=float(points.std()))
    scores = (points - points.mean()) / points.std()
    squares = sum(((scores[labels == c] - scores[labels == c].mean()) ** 2).sum() for c in np.unique(labels))
    axes = loss_table((axis,), 40)
    assert total_loss(axes, labels) == pytest.approx(squares)


def test_where_means_are_published_the_squared_distances_are_lowered() -> None:
    random = np.random.default_rng(3)
    points, codes = random.lognormal(size=(1500, 2)), random.integers(0, 6, size=1500)
    points /= points.max(axis=0)
    guarded = (sensitive("ordered", codes, Fraction(1, 10)),)
    ranges = tuple(NumberAxis.of_points(column) for column in points.T)
    means = tuple(replace(axis, deviation=float(points[:, q].std())) for q, axis in enumerate(ranges))
    squares = {}
    for name, axes in (("ranges", ranges), ("means", means)):
        problem = Problem(points, guarded, 3, axes)
        labels = partition(problem, seed=1)
        judge(problem, labels)
        squares[name] = total_loss(loss_table(means, 1500), labels)
    assert squares["means"] < 0.97 * squares["ranges"]  # short ranges keep squares low as well


def test_a_line_of_very_many_uneven_values_keeps_its_t() -> None:
    """Long gaps once shrank t to nothing: one class."""
    random = np.random.default_rng(3)
    values = np.sort(np.unique(np.append((random.lognormal(10, 1, 4000) * 100).astype(np.int64), 10**12)))
    codes = random.permutation(len(values))
    guarded = Attribute(codes, np.ones(len(values), dtype=np.int64), Value(values), Fraction(1, 10))
    problem = Problem(random.random((len(values), 2)), (guarded,), 5)
    labels = partition(problem, effort="fast")
    judge(problem, labels)
    assert labels.max() > 200


@pytest.mark.one_in(2)
@pytest.mark.parametrize("gaps", ["uneven", "even"])
def test_a_missing_value_beside_very_many_others_is_judged_as_the_distance_does(gaps: str) -> None:
    """Edges are joined along the line, but no other value may share the leaf of the missing value."""
    random = np.random.default_rng(8)
    positions = np.arange(5000) if gaps == "even" else np.sort(random.choice(10**9, 5000, replace=False))
    distance = DomainFacts(5001, positions=positions - positions[0], missing=True).make("value")
    codes = np.concatenate((random.permutation(5000), np.full(1000, 5000)))
    guarded = Attribute(codes, np.bincount(codes).astype(np.int64), distance, Fraction(1, 10))
    problem = Problem(random.random((6000, 2)), (guarded,), 5)
    labels = partition(problem, effort="fast")
    judge(problem, labels)
    assert labels.max() > 200


def test_a_matrix_that_is_a_line_is_as_good_as_one() -> None:
    random = np.random.default_rng(4)
    places, codes = np.arange(40), random.integers(0, 40, 1000)
    shuffled = random.permutation(40)
    costs = np.abs(places[:, None] - places[None, :])[np.ix_(shuffled, shuffled)]
    points, reference = random.random((1000, 2)), np.bincount(codes, minlength=40).astype(np.int64)
    line = Attribute(shuffled[codes], reference[np.argsort(shuffled)], Ordered(40), Fraction(1, 10))
    matrix = Attribute(codes, reference, Matrix(costs), Fraction(1, 10))
    losses = []
    for one in (line, matrix):
        problem = Problem(points, (one,), 3)
        labels = partition(problem, seed=1)
        judge(problem, labels)
        losses.append(total_loss(loss_table(problem.all_axes, 1000), labels))
    assert losses[1] <= 1.05 * losses[0]


def test_a_class_of_n_rows_need_not_be_near_the_table() -> None:
    random = np.random.default_rng(5)
    points = random.random((1200, 2))
    codes = (points[:, 0] * 6).astype(np.int64)
    reference = np.bincount(codes).astype(np.int64)
    losses = []
    for n in (None, 100):
        problem = Problem(points, (Attribute(codes, reference, Ordered(6), Fraction(1, 20), n),), 3)
        labels = partition(problem, seed=1)
        assert problem.admitted(labels).all()
        losses.append(total_loss(loss_table(problem.all_axes, 1200), labels))
    assert losses[1] < 0.95 * losses[0]


# --- a tree that is stricter than the distance ------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
def test_kept_groups_at_their_own_t_with_a_matrix() -> None:
    """The tree of a matrix is stricter than the matrix: a group that is within t may be beyond the tree."""
    random, count = np.random.default_rng(0), 8
    values = [f"v{i}" for i in range(count)]
    costs = [[min((i - j) % count, (j - i) % count) for j in range(count)] for i in range(count)]
    ward, sick = random.choice(["n", "s"], 60), random.choice(values, 60)
    frame = pl.DataFrame({"x": random.integers(0, 30, 60), "ward": ward, "s": sick})
    for t in (0.049, 0.055, 0.06, 0.07):
        asked = {"t": t, "distance": "matrix", "matrix": {"values": values, "costs": costs}}
        policy = {"quasi": ["x"], "sensitive": {"s": asked}, "k": 2, "keep": ["ward"], "others": "drop"}
        for effort in ("fast", "balanced") if t == 0.055 else ("fast",):
            assert tclose.anonymize(frame, policy, seed=1, effort=effort).certificate.content["satisfied"]


@pytest.mark.parametrize("slack", [Fraction(0), Fraction(1, 2000), Fraction(1, 300)])
def test_a_part_at_its_own_t_with_many_values(slack: Fraction) -> None:
    """Of 3,000 values, neighbouring edges are joined, which is stricter than the line itself."""
    random, values = np.random.default_rng(2), 3000
    codes, table = random.integers(0, values, 120), np.full(values, 2)
    whole = Attribute(codes, table, Ordered(values), Fraction(1))
    attribute = replace(whole, t=whole.emd_of(codes, table) + slack)
    labels = partition(Problem(random.random((120, 2)), (attribute,), 2), effort="fast", seed=1)
    assert attribute.admitted(labels).all()
