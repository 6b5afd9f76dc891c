"""The methods, one line each: what they do, whose they are, and what they can serve."""

from __future__ import annotations

from dataclasses import dataclass

ALL_DISTANCES = ("ordered", "value", "equal", "hierarchical", "matrix")


@dataclass(frozen=True)
class Method:
    """What a steward wants to know before choosing; the module of the same name holds its `partition`."""

    what: str
    who: str
    year: int
    sensitive: str = "any"  # how many sensitive attributes: "any" or "one"
    distances: tuple[str, ...] = ALL_DISTANCES
    growth: str = "n log n"  # of its time with the number of rows
    option: str = ""  # the option that changes what it does, its values, the default first
    choices: tuple[str, ...] = ()


METHODS = {
    "weave": Method(
        "stratified bisection, then exact exchanges that use up what t allows",
        "tclose",
        2026,
        option="effort",
        choices=("balanced", "fast", "best"),
    ),
    "fragmentation": Method(
        "fragments of the sensitive space, shared out evenly", "Bagai, Weber & Gowda; bounds mended by tclose", 2024
    ),
    "mondrian": Method(
        "halves at the median of the widest quasi-identifier, as long as both sides are admitted",
        "LeFevre, DeWitt & Ramakrishnan; for t and (n,t): Li, Li & Venkatasubramanian",
        2010,
        option="cuts",
        choices=("strict", "relaxed"),
    ),
    "incognito": Method(
        "one level of generalisation per quasi-identifier in the whole table: the minimal one that loses least",
        "LeFevre, DeWitt & Ramakrishnan; for t: Li, Li & Venkatasubramanian",
        2007,
        growth="n log n; exponential in the quasi-identifiers",
    ),
    "kanonymity": Method(
        "suppression for k alone, within m times the fewest stars, or for alpha = 1/2 with the fewest",
        "Liang & Yuan",
        2013,
        growth="n log n; with alpha = 1/2 cubic in the different rows, up to 1,000",
    ),
    "clustering": Method(
        "one row of each of some equal fuzzy clusters of sensitive values; failing classes joined",
        "Wang, Zhu, Chen & Chang",
        2018,
        growth="n · class size",
        option="size",
        choices=("searched", "k"),
    ),
    "pca": Method(
        "one row of each of some stretches of the sensitive values' first principal component; failing classes joined",
        "Wang, Zhu, Chen & Chang",
        2018,
        option="size",
        choices=("searched", "k"),
    ),
    "exact": Method(
        "the optimum: by recursion over subsets, or by a mixed-integer programme for suppression",
        "Liang & Yuan",
        2013,
        growth="3^n",
        option="loss",
        choices=("gcp", "stars"),
    ),
}
DEFAULT_METHOD = "weave"
