"""The public functions that work on a table in memory: `anonymize`, `bound` and `attack`, readable as prose.

What belongs to them stands beside them: the check of a proof, and what a release keeps of the table's detail.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tclose.errors import InputError, LeakWarning, did_you_mean
from tclose.measure.attack import K_ANONYMOUS, RAW, RELEASE, Attacks, attack_results
from tclose.measure.attack.scenes import ANONYMIZER, Adversary, twins
from tclose.measure.detail_kept import Prediction, detail_figures_of, predict
from tclose.measure.pair import Population, TablePair, detail_of, population_of, register_of
from tclose.policy import Policy, PolicyLike
from tclose.policy.variants import k_alone
from tclose.recode.frame import cells_apart
from tclose.release.lower_bound import BoundVerification, LowerBound, ProofFile
from tclose.release.release import Release
from tclose.run.bound_search import SECONDS, BoundSearch, checked_seconds, seconds_for, verify_proof, with_bound
from tclose.run.compile_notice import compile_notice
from tclose.run.pipeline import prepared
from tclose.run.release_pair import ReleasePair
from tclose.run.request import Recipe, seed_of
from tclose.run.rows import FrameRows
from tclose.run.study import SECOND, ReleaseStudy, Study
from tclose.table import CodedTable, to_polars
from tclose.types import Progress, Repeating, silent, stretch

MAKING = "making a k-anonymous table"
MADE = 0.4  # share of the work of an attack after which there is a k-anonymous table


def anonymize(
    frame: Any,
    policy: PolicyLike,
    *,
    method: str | None = None,
    seed: int | None = None,
    bound: bool | str = False,
    bound_seconds: float = SECONDS,
    progress: Progress | None = None,
    **options: Any,
) -> Release:
    """Split a table into classes that hold what the policy asks for, and publish one common value per class.

    Sensitive and kept cells stay as they are. The release is judged from its published values before it is returned;
    what cannot be reached raises `Infeasible`. Without a `method`, weave is taken, and mondrian for a policy with
    `[presence]`. `method` may name a variant, such as `mondrian:relaxed`; `options` go to
    the method. Without a seed, random numbers come from the
    system's secure source. The methods `projections` and `anatomy` publish several tables. With `bound=True`, a lower
    bound on the detail that any release loses is searched for about `bound_seconds`, and stands in the certificate.

    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [20, 30, 40, 50], "salary": [3, 4, 3, 4]})
    >>> policy = Policy(quasi=["age"], sensitive={"salary": {"t": 0.1}}, k=2)
    >>> anonymize(table, policy, method="mondrian").frame["age"].to_list()
    ['[20, 30]', '[20, 30]', '[40, 50]', '[40, 50]']
    """
    policy, report = Policy.of(policy), progress or silent
    if not isinstance(bound, bool):  # the method fragmentation has an option of this name, whose values are texts
        options, bound = {**options, "bound": bound}, False
    recipe = Recipe.of(policy, method, options, seed=seed_of(seed))  # before any work
    if recipe.unused_loss is not None:
        warnings.warn(recipe.unused_loss, UserWarning, 2)
    seconds = seconds_for(recipe.method, bound_seconds) if bound else None
    report(0.0, "reading")
    rows = FrameRows.of(frame, policy)
    search = None if seconds is None else BoundSearch.of(rows.table, policy, seconds)
    split = 0.9 if search is None else 0.5
    made = prepared(rows, recipe, stretch(report, 0.1, split, "splitting"))
    made = with_bound(made, search, stretch(report, split, 0.9))
    report(0.9, "judging")
    release = made.judged(stretch(report, 0.9, 1.0))
    report(1.0, "done")
    return release


def bound(frame: Any, policy: PolicyLike, *, seconds: float = SECONDS, progress: Progress | None = None) -> LowerBound:
    """Search for the highest loss of detail (GCP) that every release of all rows of a table must have at least.

    The search takes about so many `seconds`, and its phase says how high the bound is so far. The bound holds for
    every method that publishes one table. Where rows may be withheld, or class means are published, `PolicyError` says
    that no bound can be given.

    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [20, 30, 40, 50], "salary": [3, 3, 4, 4]})
    >>> policy = Policy(quasi=["age"], sensitive={"salary": {"t": 0.1}})
    >>> 0 < bound(table, policy, seconds=2).bound <= 2 / 3  # classes of 20 and 40, 30 and 50 lose 2/3
    True
    """
    policy, report = Policy.of(policy), progress or silent
    checked_seconds(seconds)  # before any work
    report(0.0, "reading")
    return BoundSearch.of(FrameRows.quietly(frame, policy).table, policy, seconds).run(report)


def verify_bound(frame: Any, policy: Policy, proof: ProofFile, *, progress: Progress = silent) -> BoundVerification:
    """Check the proof of a lower bound against a table and a policy."""
    progress(0.0, "reading")
    return verify_proof(FrameRows.quietly(frame, policy).table, policy, proof, progress)


def attack(
    release: Any,
    *,
    original: Any,
    policy: PolicyLike,
    second: Any = None,
    register: Any = None,
    population: Any = None,
    method: str = ANONYMIZER,
    progress: Progress | None = None,
) -> Attacks:
    """Measure what an adversary learns from a release, beside the raw table and a merely k-anonymous one.

    `release` is a published frame, or a `Release`; for a policy with `both`, also its two tables. `second` is another
    release of the same table, to intersect with. `register` holds people with their quasi-identifiers as they are;
    without one, the table itself is the register, which is the worst case. `population` holds everyone whom the table
    is drawn from, for the membership attack; without one, that of the policy's `presence` is taken. `method` makes the
    k-anonymous table.

    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [20, 30, 40, 50], "salary": [3, 4, 3, 4]})
    >>> policy = Policy(quasi=["age"], sensitive={"salary": {"t": 0.1}}, k=2)
    >>> release = anonymize(table, policy, method="mondrian")
    >>> attack(release, original=table, policy=policy)["homogeneity"].findings["release"].rows
    0
    """
    policy, report = Policy.of(policy), Repeating(progress or silent)
    report(0.0, "reading")
    people = None if register is None else register_of(register, policy)
    study = original if isinstance(original, Study) else Study(to_polars(original), policy)
    pair = study.beside(release)
    adversary = Adversary(pair.original, people, report.beat, _everyone(population, pair.original, policy))
    report(0.05, "comparing with the original")
    seen = pair.in_codes(report.beat)
    if second is not None and not isinstance(second, ReleaseStudy):
        second = ReleaseStudy(second, policy, SECOND)
    other = None if second is None else study.beside(second).in_codes(report.beat)
    return attack_beside(seen, adversary, second=other, method=method, progress=stretch(report, 0.1, 1.0))


def _everyone(given: Any, table: CodedTable, policy: Policy) -> Population | None:
    """Return the population that is given, or else the one that the policy names."""
    return population_of(table, policy) if given is None else Population.of(given, policy, table)


def attack_beside(
    seen: TablePair,
    adversary: Adversary,
    *,
    second: TablePair | None = None,
    method: str = ANONYMIZER,
    progress: Progress = silent,
) -> Attacks:
    """Attack a release that was brought together with its original."""
    k_anonymous = _k_anonymous(adversary, method, stretch(progress, 0.0, MADE))
    scene = adversary.published(seen)
    if second is not None:
        scene = scene.with_second(adversary.published(second), twins(seen.published, second.published))
    scenes = {RAW: adversary.raw(), K_ANONYMOUS: adversary.published(k_anonymous, tight=True), RELEASE: scene}
    import tclose.measure.exchange  # noqa: F401  (loads its kernels, and those of weave)

    with compile_notice(stretch(progress, MADE, 1.0)) as (report, _):
        return attack_results(
            scenes, register_rows=adversary.register_rows, several_rows=adversary.several_rows(), progress=report
        )


def _k_anonymous(adversary: Adversary, method: str, progress: Progress) -> TablePair:
    """Publish the same table with nothing asked for but k, to compare with."""
    progress(0.0, MAKING)
    policy = k_alone(adversary.original.policy, adversary.crowd)
    table = adversary.original.under(policy)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)  # nothing of this table is published
        part = stretch(progress, 0.0, 0.5)
        made = prepared(FrameRows(table), Recipe.of(policy, method, {}, seed=0), part, MAKING)
    if not made.layout.comparable:
        raise InputError(
            "method '{method}' publishes several tables: choose another for the k-anonymous table", method=method
        )
    (published,) = made.layout.tables
    assert published.rows is not None
    reader, counts = published.judge.policy, published.counts
    apart = {} if counts is None else cells_apart(published.frame, counts, reader)
    coded = table.published_as(published.frame, reader, np.searchsorted(table.rows, published.rows), apart)
    judged = published.judge.confirm_coded(coded, stretch(progress, 0.5, 0.7, MAKING, only=True))
    progress(0.7, MAKING)
    release = ReleaseStudy(judged.table, policy, "the k-anonymous table")
    return Study(adversary.original, adversary.original.policy).beside(release).in_codes(adversary.beat)


def detail(pair: ReleasePair, *, progress: Progress | None = None) -> dict[str, float | None]:
    """Return every measure of detail kept, by its name; None where the table has nothing to measure it on."""
    report = Repeating(progress or silent)
    report(0.0, "reading")
    _ = pair.original
    report(0.1, "comparing with the original")
    compared = pair.in_codes(report.beat)
    return detail_figures_of(detail_of(compared), stretch(report, 0.4, 1.0))


def predicted(pair: ReleasePair, *, target: str, seed: int = 0) -> Prediction:
    """Tell how well a sensitive column is predicted from everything else, before and after; needs scikit-learn."""
    policy = pair.study.policy
    if target not in policy.sensitive:
        hint = did_you_mean(target, policy.sensitive)
        raise InputError("'{target}' is no sensitive attribute of the policy{hint}", target=target, hint=hint)
    if target in policy.both:
        raise InputError(
            "no row of the release shows a value of '{target}' (both), so no model can learn it", target=target
        )
    return predict(detail_of(pair.in_codes()), target, seed=seed)
