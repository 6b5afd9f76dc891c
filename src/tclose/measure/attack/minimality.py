"""Attacks by an adversary who knows the algorithm: the minimality attack and the exchange attack.

Minimality attack (Wong, Fu, Wang & Pei 2007): a method that merges only when it must reveals why it merged. The
adversary must know the people in a class: a class fits exactly as many people of the table as it has rows. If a
published column could have split these people into two groups of at least k, then their sensitive values must have kept
them together. A k-anonymous table of the same method is the control: classes that look merged there, too, come from the
method and reveal nothing.

Exchange attack ("no exchange left"): methods such as weave exchange rows between classes until no exchange pays. Anyone
who knows everybody's quasi-identifiers and class, and the policy, sees which exchanges would have paid. That they were
not made tells something about the values: they did not allow it. How much each such sign tells is learned on tables
that the adversary makes, and on other classes than those that are tried. What the correlations of the whole table tell
is no leak of the algorithm, so it is learned apart. As a control, the same beliefs are tried on values that are
shuffled within the classes. It carries the minimality attack over to methods that exchange rows (docs/method.md).
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from tclose.measure.attack.base import NO_SECRET, Attack, Finding, Scene, not_applicable
from tclose.measure.linkage import Links
from tclose.messages import joined, say
from tclose.types import Bools, Ints
from tclose.words import columns, counted, percent, rows_of

if TYPE_CHECKING:
    from tclose.measure.exchange import AttributeInference, Inference

# Minimality attack


def run_minimality(scene: Scene) -> Finding:
    """Count the classes that a method would have split if their sensitive values had allowed it."""
    if scene.own is None:
        return Finding(0, 0, scene.rows, "Nothing was merged: this is the table itself.")
    mask = merged_for_their_values(scene.own, scene.crowd)
    classes, rows = int(mask.sum()), int(scene.sizes[mask].sum())
    sentence = say(
        "No class whose people are known could be cut along one column into groups of at least {crowd:,} "
        "people. Exchanges of rows are tested by the exchange attack.",
        crowd=scene.crowd,
    )
    if classes:
        sentence = say(
            "{rows} are in {classes} that could be split into groups of at least {crowd:,} people: their "
            "sensitive values probably prevented it.",
            rows=rows_of(rows, scene.rows),
            classes=counted(classes, "class"),
            crowd=scene.crowd,
        )
    return Finding(classes, rows, scene.rows, sentence)


def merged_for_their_values(own: Links, k: int) -> Bools:
    """Mark the classes whose people are known and could be split in two with at least k rows on each side."""
    known = (own.people == own.sizes) & (own.sizes >= 2 * k)
    rows, classes = own.pairs(known)
    could = np.zeros(len(own.sizes), dtype=bool)
    for column in range(own.rows.shape[1]):
        could |= _can_be_split(own.rows[rows, column], own.weights[rows], classes, own.sizes, k)
    return could


def _can_be_split(codes: Ints, weights: Ints, classes: Ints, sizes: Ints, k: int) -> Bools:
    """Find the classes in which some value of a column has at least k rows up to it, and k beyond it."""
    order = np.lexsort((codes, classes))
    codes, weights, classes = codes[order], weights[order], classes[order]
    total = np.cumsum(weights)
    starts = np.flatnonzero(np.diff(classes, prepend=-1))
    before = np.repeat((total - weights)[starts], np.diff(starts, append=len(codes)))
    low = total - before
    boundary = np.diff(codes, append=-1) != 0
    splits = boundary & (low >= k) & (sizes[classes] - low >= k)
    could = np.zeros(len(sizes), dtype=bool)
    could[classes[splits]] = True
    return could


MINIMALITY = Attack(
    "minimality",
    "minimality attack",
    "A class that is larger than k requires was probably merged because of its sensitive values, which tells something "
    "about them. The k-anonymous table shows how many classes the method merges anyway.",
    "classes that look merged because of their values",
    "classes",
    "lower",
    run_minimality,
    cure="no setting prevents it; a larger k lessens it",
    counts_people=True,
)


# Exchange attack


SEED = 0
DIGITS = 2
LEAST_CLASSES = 5
LEAST_PAIRS = 10
RAW = "The table itself shows everybody's values."
MEANS = "Class means do not show who fits a class, and this attack needs to know everybody's class."
APART = "Some sensitive values are published apart from the rows, and this attack reads values of rows."
TOO_FEW = say(
    "This attack needs at least {least_classes} classes, and {least_pairs} pairs of rows of one class with "
    "different values: how much an exchange that was not made tells is learned on them.",
    least_classes=LEAST_CLASSES,
    least_pairs=LEAST_PAIRS,
)


def run_exchange(scene: Scene) -> Finding:
    """Let an adversary who knows the algorithm infer who has which value."""
    import numpy as np

    from tclose.measure.exchange import attacked_rows, inference_of

    if scene.published is None:
        return Finding(None, scene.rows, scene.rows, RAW)
    if not scene.secrets:
        return not_applicable(scene, NO_SECRET)
    published = scene.published()
    if published.by_mean or published.apart:
        return not_applicable(scene, MEANS if published.by_mean else APART)
    rows = attacked_rows(published, np.random.default_rng(SEED), scene.beat)
    if rows is None or len(rows.sizes) < LEAST_CLASSES:
        return not_applicable(scene, TOO_FEW)
    found = inference_of(rows, seed=SEED, beat=scene.beat)
    worst = max(found.figures, key=lambda figures: (figures.sure, figures.gain))
    if worst.pairs < LEAST_PAIRS:
        return not_applicable(scene, TOO_FEW)
    figure = round(max(figures.gain for figures in found.figures), DIGITS)
    sentence, needs = _sentence(found, worst, scene.rows), "" if found.rows == scene.rows else "a look at all rows"
    return Finding(figure, found.sure, found.rows, sentence, details=_details(found), needs=needs)


def _sentence(found: Inference, worst: AttributeInference, rows: int) -> str:
    """Say what was tested, and what the adversary learns about the attribute that fares worst."""
    control = next(figures for figures in found.control if figures.name == worst.name)
    name = columns([worst.name])
    sure = say(
        "Anyone who knows everybody's class and the algorithm is not over 95 % sure of any value of {columns} that "
        "would be open otherwise",
        columns=name,
    )
    if worst.sure:
        affected, right = rows_of(worst.sure, found.rows), percent(worst.right / worst.sure)
        sure = say(
            "Anyone who knows everybody's class and the algorithm is over 95 % sure of {columns} for {rows}; {right} "
            "of these guesses are right",
            columns=name,
            rows=affected,
            right=right,
        )
    pairs = say(
        "Of two rows of a class with different values, {share} are told apart by exchanges (with shuffled values "
        "{shuffled}; 50 % means nothing), and {correlation} by correlations with quasi-identifiers.",
        share=percent(worst.pair_test),
        shuffled=percent(control.pair_test),
        correlation=percent(worst.correlation_pair_test),
    )
    measured = say("Measured on {count:,} of {rows}.", count=found.rows, rows=counted(rows, "row"))
    return joined(" ", [sure + ".", pairs, *([] if found.rows == rows else [measured])])


def _details(found: Inference) -> dict[str, Any]:
    """Return all figures, as `--json` prints them."""

    def by_name(each: tuple[AttributeInference, ...]) -> dict[str, Any]:
        return {figures.name: _of_attribute(figures) for figures in each}

    size = {"rows": found.rows, "classes": found.classes}
    return {**size, "attributes": by_name(found.figures), "control": by_name(found.control)}


def _of_attribute(figures: AttributeInference) -> dict[str, Any]:
    """Return the figures of one attribute; without pairs of different values, nobody knows how many are told apart."""
    unknown = {} if figures.pairs else {"pair_test": None, "correlation_pair_test": None}
    return {name: value for name, value in {**asdict(figures), **unknown}.items() if name != "name"}


EXCHANGE = Attack(
    "exchange",
    "exchange attack",
    "The adversary knows everybody's quasi-identifiers and class, the policy and the algorithm, but not the seed. "
    "Exchanges of rows that would have paid were not made, so the values did not allow them. Rows count as affected "
    "if the adversary is over 95 % sure of a value, and has at least twice the doubt without the exchanges.",
    "information that exchanges add about a value, in bits per row",
    "bits",
    "lower",
    run_exchange,
    cure="a larger k, temper = 0.2, or --method mondrian",
    counts_people=True,
    needs_rows=True,
)
