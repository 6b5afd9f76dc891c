"""The steps in memory, readable as prose: read, judge, split, write, tell."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np

from tclose.engine.bounding import SECONDS, BoundSearch, checked_seconds, seconds_for, verify_proof, with_bound
from tclose.engine.compiling import announced, announcing
from tclose.errors import InputError, LeakWarning, PolicyError, did_you_mean
from tclose.measure.attack import K_ANONYMOUS, RAW, RELEASE, Attacks, attacked
from tclose.measure.kept import kept
from tclose.measure.learning import Prediction, predict
from tclose.partition import check_suited, chosen_method, lowers_loss, method_and_options
from tclose.partition.options import checked
from tclose.policy import Policy, PolicyLike
from tclose.policy.derived import cell_forms, k_alone
from tclose.privacy.feasibility import NoPartition, publishable
from tclose.privacy.judge import check_groups, distance_of
from tclose.privacy.rigidity import rigid_attributes
from tclose.release.beside import Beside, read_published, register_of
from tclose.release.detail import detail_of
from tclose.release.exposed import columns_of_own_values
from tclose.release.layouts import About, Layout, check_both, laid_out, layout_of
from tclose.release.lower_bound import BoundVerification, LowerBound, ProofFile
from tclose.release.naming import created, tool
from tclose.release.original_facts import original_facts
from tclose.release.population import Population, in_population, population_of
from tclose.release.presence import check_possible
from tclose.release.pseudonymity import checked_pseudonyms
from tclose.release.published import ReleaseInput
from tclose.release.queries import error_of_counts
from tclose.release.record import RecordedSeed
from tclose.release.record_notes import Notes
from tclose.release.release import PreparedRelease, Release
from tclose.release.scenes import ANONYMIZER, Adversary, twins
from tclose.run.study import Study
from tclose.table import CodedTable, encode, to_polars
from tclose.table.coded import check_columns
from tclose.table.frames import kind_of, with_one_spelling
from tclose.table.pseudonyms import with_pseudonyms
from tclose.types import Beat, Progress, Repeating, silent, still, stretch
from tclose.words import lowered_loss

MAKING = "making a k-anonymous table"
MOST_BINS = 20  # in which an explanation puts the values of a long domain
MADE = 0.4  # share of the work of an attack after which there is a k-anonymous table


def rigidity_notes(table: CodedTable, policy: Policy) -> tuple[str, ...]:
    """Say of which attributes the smallest class can show one composition only."""
    return tuple(rigidity.sentence for rigidity in rigid_attributes(table, policy))


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
    method, preset = method_and_options(chosen_method(method, policy))
    options = checked(method, {**preset, **options})  # before any work
    if note := unused_loss(policy, method, options):
        warnings.warn(note, UserWarning, 2)
    check_suited(method, policy, options)
    check_both(method, policy)
    seconds = seconds_for(method, bound_seconds) if bound else None
    report(0.0, "reading")
    kind, table = read_for_release(frame, policy)
    search = None if seconds is None else BoundSearch.of(table, policy, seconds)
    split = 0.9 if search is None else 0.5
    splitting = stretch(report, 0.1, split, "splitting")
    prepared = prepare(table, policy, kind=kind, method=method, seed=seed, progress=splitting, options=options)
    prepared = with_bound(prepared, search, stretch(report, split, 0.9))
    report(0.9, "judging")
    release = prepared.judged(stretch(report, 0.9, 1.0))
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
    return BoundSearch.of(_read_quietly(frame, policy), policy, seconds).run(report)


def verify_bound(frame: Any, policy: Policy, proof: ProofFile, *, progress: Progress = silent) -> BoundVerification:
    """Check the proof of a lower bound against a table and a policy."""
    progress(0.0, "reading")
    return verify_proof(_read_quietly(frame, policy), policy, proof, progress)


def _read_quietly(frame: Any, policy: Policy) -> CodedTable:
    """Read a table as for a release, of which nothing is published."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)
        return read_for_release(frame, policy)[1]


def read_for_release(frame: Any, policy: Policy) -> tuple[str, CodedTable]:
    """Read a table that is to be published, once; return which library its frame is of, and its codes."""
    counted_as_value = (name for name, spec in policy.sensitive.items() if spec.missing == "value")
    spellings = dict.fromkeys(policy.keep, ("",)) | dict.fromkeys(counted_as_value, ("", *policy.missing))
    whole = with_one_spelling(to_polars(frame), spellings)
    check_columns(whole, policy, identifiers_too=True)
    table = encode(with_pseudonyms(whole, policy), policy)
    check_groups(table.domain, policy)
    return kind_of(frame), table


def unused_loss(policy: Policy, method: str, options: Mapping[str, Any]) -> str | None:
    """Say that a method does not lower the loss that the policy chooses; None where it does, or none is chosen."""
    if (policy.loss == "gcp" and not policy.weights) or lowers_loss(method, options):
        return None
    return (
        f"the method '{method}' follows its own rule: only weave lowers the loss that the policy chooses "
        f"({lowered_loss(policy.chosen_loss)})"
    )


def prepare(
    table: CodedTable,
    policy: Policy,
    *,
    kind: str,
    method: str,
    seed: int | None,
    progress: Progress,
    options: Mapping[str, Any],
    phase: str = "",
    name: str | None = None,
) -> PreparedRelease:
    """Split and recode a table; the tables of the release are still to be judged.

    Without a seed, random numbers come from the system's secure source. `phase` names all the work in place of the
    phases that a method has; that kernels are compiled is said in any case. `name` is what the table is called.
    """
    settings, begun = checked(method, options), created()
    check_suited(method, policy, settings)
    check_both(method, policy)
    population = population_of(table, policy)
    if population is not None and policy.presence is not None:
        population.check_holds(table)
        check_possible(policy.presence, len(table) + table.withheld, population)
    random_seed = secrets.randbits(63) if seed is None else given_seed(seed)
    rows = publishable(table, policy)
    if population is not None:
        rows = replace(rows, table=population.coded(rows.table))
    linked, pseudonyms = checked_pseudonyms(table, policy)
    leaks = (*linked, *columns_of_own_values(rows.table, policy, exact_quasi=layout_of(method).exact_quasi))
    for leak in leaks:
        warnings.warn(leak, LeakWarning, 3)
    with announced(progress, method, settings) as announcing:
        named = stretch(announcing, 0.0, 1.0, phase, only=True) if phase else announcing
        given = ReleaseInput(rows, policy, random_seed, named, population)
        given, layout = _laid_out(given, method, settings)
    about = About(
        version=version("tclose"),
        method=method,
        settings=given.reader_policy.to_dict(),
        withheld=given.publishable.withheld,
        counted="rows" if given.table.persons is None else "persons",
        tool=tool(),
        created=begun,
        table=name,
        loss=policy.chosen_loss if lowers_loss(method, settings) else None,
        pseudonyms=pseudonyms,
        cells=dict.fromkeys(policy.quasi, "values") if layout_of(method).exact_quasi else cell_forms(policy),
    )
    notes = Notes.of(given.table, settings)
    exact_quasi = layout_of(method).exact_quasi
    originals = tuple(original_facts(given.table, each, policy, exact_quasi=exact_quasi) for each in layout.tables)
    distances = tuple(map(distance_of, given.table.judged.values()))
    return PreparedRelease(
        layout, about, policy, kind, random_seed, leaks, notes=notes, originals=originals, distances=distances
    )


def _laid_out(given: ReleaseInput, method: str, settings: Mapping[str, Any]) -> tuple[ReleaseInput, Layout]:
    """Make the tables of a release; rows for which no classes are found are withheld, within the policy's limit."""
    while True:
        try:
            return given, laid_out(given, method, settings)
        except NoPartition as refusal:
            given = replace(given, publishable=given.publishable.without(refusal.rows, given.policy))


def given_seed(seed: int) -> int:
    """Take a seed that somebody chose, with a warning; one of a record was not chosen."""
    if isinstance(seed, RecordedSeed):
        return seed
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise PolicyError("a seed is a whole number of at least 0")
    warnings.warn(
        "anyone who guesses the seed can replay the partition: leave it out for a real release", LeakWarning, 4
    )
    return int(seed)


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
    table = in_population(_study(original, policy).coded)
    adversary = Adversary(table, people, report.beat, _everyone(population, table, policy))
    report(0.05, "comparing with the original")
    seen = beside(release, adversary.original, beat=report.beat)
    other = None if second is None else beside(second, adversary.original, "the second release", beat=report.beat)
    return attack_beside(seen, adversary, second=other, method=method, progress=stretch(report, 0.1, 1.0))


def _study(original: Any, policy: Policy) -> Study:
    """Return the study of a table: of a frame, or the one that is at hand already."""
    study = original if isinstance(original, Study) else Study(to_polars(original), policy)
    check_columns(study.frame, policy)
    return study


def _everyone(given: Any, table: CodedTable, policy: Policy) -> Population | None:
    """Return the population that is given, or else the one that the policy names."""
    return population_of(table, policy) if given is None else Population.of(given, policy, table)


def attack_beside(
    seen: Beside,
    adversary: Adversary,
    *,
    second: Beside | None = None,
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

    with announcing(stretch(progress, MADE, 1.0)) as (report, _):
        return attacked(
            scenes, register_rows=adversary.register_rows, several_rows=adversary.several_rows(), progress=report
        )


def _k_anonymous(adversary: Adversary, method: str, progress: Progress) -> Beside:
    """Publish the same table with nothing asked for but k, to compare with."""
    progress(0.0, MAKING)
    policy = k_alone(adversary.original.policy, adversary.crowd)
    table = adversary.original.under(policy)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)  # nothing of this table is published
        part = stretch(progress, 0.0, 0.5)
        prepared = prepare(table, policy, kind="polars", method=method, seed=0, progress=part, options={}, phase=MAKING)
    if not prepared.layout.comparable:
        raise InputError(f"method '{method}' publishes several tables: choose another for the k-anonymous table")
    judged = prepared.judged_tables(stretch(progress, 0.5, 0.7, MAKING, only=True))
    progress(0.7, MAKING)
    return Beside.of(adversary.original, judged[0].table, "the k-anonymous table", beat=adversary.beat)


def beside(release: Any, original: CodedTable, what: str = "the release", *, beat: Beat = still) -> Beside:
    """Bring a release, given as a frame, as its tables or as a `Release`, together with its original."""
    return Beside.of(original, _published(release, original, what), what, beat=beat)


def _published(release: Any, original: CodedTable, what: str = "the release") -> CodedTable:
    """Read a release of one table, given in any of these forms."""
    if isinstance(release, Release):
        if not release.layout.comparable:
            many = len(release.layout.frames)
            why = f"has {many} tables: take one of its .tables at a time" if many > 1 else "publishes no classes"
            raise InputError(f"this release {why}")
        release = release.layout.frames
    tables = release if isinstance(release, tuple) else (release,)
    if len(tables) > 2:
        raise InputError(f"{what} has {len(tables)} tables: take one of them at a time")
    return read_published(tables[0], original, what, counts=tables[1] if len(tables) > 1 else None)


def detail(release: Any, *, original: Any, policy: Policy, progress: Progress | None = None) -> dict[str, float | None]:
    """Return every measure of detail kept, by its name; None where the table has nothing to measure it on."""
    report = Repeating(progress or silent)
    report(0.0, "reading")
    coded = in_population(_study(original, policy).coded)
    report(0.1, "comparing with the original")
    compared = beside(release, coded, beat=report.beat)
    return kept(detail_of(compared), stretch(report, 0.4, 1.0))


def query_error(release: Any, *, original: Any, policy: Policy, seed: int) -> float | None:
    """Return how wrong the counts are that a reader of a release makes, in the median; None without any to ask."""
    study = _study(original, policy)
    coded = in_population(study.coded)
    error = error_of_counts(study.frame, coded, [_published(release, coded)], seed)
    return None if error is None else error.median


def predicted(release: Any, *, original: Any, policy: Policy, target: str, seed: int = 0) -> Prediction:
    """Tell how well a sensitive column is predicted from everything else, before and after; needs scikit-learn."""
    if target not in policy.sensitive:
        hint = did_you_mean(target, policy.sensitive)
        raise InputError(f"'{target}' is no sensitive attribute of the policy{hint}")
    if target in policy.both:
        raise InputError(f"no row of the release shows a value of '{target}' (both), so no model can learn it")
    coded = in_population(_study(original, policy).coded)
    return predict(detail_of(beside(release, coded)), target, seed=seed)
