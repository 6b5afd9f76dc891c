"""The words of the pages, explained for readers who are not statisticians."""

from __future__ import annotations

from collections.abc import Collection

from tclose.words import NT_MEANING

TERMS = {
    "Sensitive attribute": "A column that nobody may learn about a person, such as a diagnosis or a salary. "
    "Its values are published as they are.",
    "Quasi-identifier": "A column that a neighbour or an employer may know about a person, such as age or place. "
    "A combination of such columns can identify a person, so they are published less exactly.",
    "Class": "All rows that show the same quasi-identifiers in the release. Anyone who knows a person's "
    "quasi-identifiers can find the person's class, but not the person's row.",
    "k": "The smallest number of rows (or persons) that a class may have: everyone hides among at least k.",
    "Distribution": "The share of the rows that has each value.",
    "Closeness": "How far the distribution of a sensitive attribute in a class is from the distribution in the whole "
    "table, from 0 (equal) to 1 (as far as possible). The closeness of a release is that of its worst class.",
    "t": "The largest distance that the policy allows. With a smaller t, a class tells less about the people in it, "
    "and the quasi-identifiers become less exact.",
    "Earth mover's distance": "How closeness is measured. Think of the distribution of the class as heaps of earth, "
    "and of the distribution of the table as the heaps that are wanted: the distance is the least work, mass times "
    "distance, that turns one into the other.",
    "Detail lost (GCP)": "How much less exactly the quasi-identifiers are published, on average, from 0 (unchanged) to "
    "1 (nothing is left). It is measured against the ranges of the published rows; a withheld row counts as 1. Lower "
    "is better. A share kept of 70 % is a loss of 0.3.",
    "Withheld row": "A row that is not in the release at all.",
    "Certificate": "A file that says what was proved. Anyone can check it against the release, without the "
    "original table, with: tclose verify.",
    "SHA-256, digest": "Fingerprints: they change if a single letter of the file changes. They are not a signature; "
    "compare them with fingerprints that reached you another way.",
}
SUPERSETS = {
    "(n,t)-closeness": f"A weaker form of t-closeness: {NT_MEANING}. A superset is the whole table, or all rows that "
    "agree with the class on some of the quasi-identifiers. A class of n rows or more may be at any distance.",
}
OF_MODELS = {
    "average_t": (
        "Average t-closeness",
        "The mean distance from the whole table is limited, taken over all rows, each with the distance of its class. "
        "It is a promise about a random person: a single class may be farther away, unless t limits it, too.",
    ),
    "t_by": (
        "t-closeness by group",
        "Some groups of persons have a smaller t than the others. A class obeys the smallest t of its members.",
    ),
    "kl": (
        "KL divergence",
        "Another figure for how far the distribution in a class is from that in the whole table, in nats: 0 means "
        "equal. It sums p·ln(p/q) over the values, with p the share in the class and q the share in the table. It does "
        "not know which values are near each other.",
    ),
}
BOUND = {
    "Lower bound": "A proved figure: no release of all rows of the table in one table, whichever method makes it, can "
    "meet the policy and lose less detail. The least possible loss lies between the lower bound and the loss reached.",
}
JOINT = {
    "Attributes together": "Two or more sensitive attributes judged as one: its values are the tuples that rows show, "
    "such as a diagnosis with a salary. Each attribute alone can be close to the whole table although tuples are not.",
}
COMPARED = {
    "Method": "A published way to put rows into classes. All methods give the same guarantee; they differ in its cost, "
    "and in what an adversary who knows the method may infer.",
    "Trade-off": "Protection costs detail. The curve shows how much detail each method loses; lower is better.",
}


def terms(with_supersets: Collection[str], models: Collection[str] = ()) -> dict[str, str]:
    """Return the terms of a page; (n,t)-closeness and some other models are explained where they are required."""
    explained = {**TERMS, **SUPERSETS} if with_supersets else TERMS
    return explained | dict(words for model, words in OF_MODELS.items() if model in models)
