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
    tables: str = "one"  # how many tables a release of it has: "one" or "several"
    option: str = ""  # the option that changes what it does, its values, the default first
    choices: tuple[str, ...] = ()
    compare_all: bool = False  # whether its choices are published algorithms of their own, each worth comparing
    needs: tuple[str, ...] = ()  # models; the sensitive attribute must ask for one of them


METHODS = {
    "weave": Method(
        "stratified bisection, then exact exchanges that use up what t allows",
        "tclose",
        2026,
        option="effort",
        choices=("balanced", "fast", "best"),
    ),
    "fragmentation": Method(
        "fragments of the sensitive space, shared out evenly", "Bagai, Weber & Gowda; bounds mended by tclose", 2023
    ),
    "mondrian": Method(
        "halves at the median of the widest quasi-identifier, as long as both sides are admitted",
        "LeFevre, DeWitt & Ramakrishnan; for t and (n,t): Li, Li & Venkatasubramanian",
        2010,
        option="cuts",
        choices=("strict", "relaxed"),
        compare_all=True,
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
    "projections": Method(
        "several tables, each with sensitive attributes that belong together and classes of its own (CODIP)",
        "Fang, Ashrafi & Ng",
        2011,
        growth="that of its base method",
        tables="several",
    ),
    "anatomy": Method(
        "two tables, exact quasi-identifiers and sensitive values, joined by a group; does not hide who is in it",
        "Xiao & Tao",
        2006,
        tables="several",
    ),
    "sabre": Method(
        "buckets of sensitive values by greedy splits, shared out evenly over classes that halve the table",
        "Cao, Karras, Kalnis & Tan",
        2011,
        sensitive="one",
        distances=("ordered", "value", "equal", "hierarchical"),
        growth="n log n; by nearest rows n²",
        option="near",
        choices=("hilbert", "nearest"),
        compare_all=True,
    ),
    "microaggregation": Method(
        "one near row from each stratum of the sensitive attribute; by 'swap' and 'merge', groups of near rows mended",
        "Soria-Comas, Domingo-Ferrer, Sánchez & Martínez",
        2015,
        sensitive="one",  # as the default variant has it: 'merge' serves any number and distance
        distances=("ordered",),
        growth="n²/k; by swaps n²",
        option="variant",
        choices=("first", "swap", "merge"),
        compare_all=True,
    ),
    "burel": Method(
        "β-likeness: the fewest buckets of values with near frequencies, shared out as by sabre",
        "Cao & Karras",
        2012,
        sensitive="one",
        growth="n log n; by nearest rows n²",
        option="near",
        choices=("hilbert", "nearest"),
        needs=("beta", "enhanced_beta"),
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
