"""The methods, one entry each: what it does, whose it is, and what it can serve.

A new method is a module of its name in this folder, with a `partition`, and an entry here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tclose.distance.registry import DISTANCES, of_shapes

ALL_DISTANCES = tuple(DISTANCES)


@dataclass(frozen=True)
class Method:
    """What a steward wants to know before choosing; the module of the same name holds its `partition`."""

    what: str  # at most 82 letters, so that a line of `tclose methods` has at most 100
    who: str
    year: int
    sensitive: str = "any"  # how many sensitive attributes: "any" or "one"
    distances: tuple[str, ...] = ALL_DISTANCES
    growth: str = "n log n"  # of its time with the number of rows
    tables: str = "one"  # of a release: "one" table of classes, "several", or one with "exact" quasi-identifiers
    option: str = ""  # the option that changes what it does, its values, the default first
    choices: tuple[str, ...] = ()
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # sets of options, the default first;
    # `compare` tries each, and ranks the best of them
    based: bool = False  # whether it leaves the splitting to another method, its option `base`
    takes_starts: bool = False  # whether it considers the classes of other methods, too (partition/starts.py)
    caveat: str = ""  # what its releases do not protect: it is shown with every figure, and never ranked
    needs: tuple[str, ...] = ()  # models; the sensitive attribute must ask for one of them
    lowers_loss: bool = False  # whether every step of it lowers the loss that the policy chooses
    counts_persons: bool = False  # whether it counts persons itself; for the others, classes are merged afterwards
    knows_groups: bool = False  # whether it keeps thresholds for groups of persons (t_by) itself
    presence: tuple[str, ...] = ()  # choices of its option that cut the population, as δ-presence asks for
    tempers: bool = False  # whether it has the last stage that the policy's `temper` asks for
    joint: tuple[str, ...] | None = None  # choices of its option that keep attributes close together; None for all


def _each(option: str, *choices: str) -> dict[str, dict[str, Any]]:
    """Return a variant for each choice of one option, named after the choice."""
    return {choice: {option: choice} for choice in choices}


METHODS = {
    "weave": Method(
        "splits the rows evenly, then exchanges rows between classes while t allows it",
        "tclose",
        2026,
        option="effort",
        choices=("balanced", "fast", "best"),
        takes_starts=True,
        lowers_loss=True,
        counts_persons=True,
        knows_groups=True,
        tempers=True,
    ),
    "fragmentation": Method(
        "cuts the sensitive values into fragments and gives every class its share of each",
        "Bagai, Weber & Gowda; bounds corrected by tclose",
        2023,
        growth="n log n; as printed n²",
        variants={
            "relaxed": {"bound": "tight", "sizing": "relaxed", "classes": "bisected"},
            "tight": {"bound": "tight", "sizing": "gcd", "classes": "bisected"},
            "printed": {"bound": "published", "sizing": "gcd", "classes": "grown"},
        },
    ),
    "mondrian": Method(
        "halves the rows at the median of the widest quasi-identifier, as often as allowed",
        "LeFevre, DeWitt & Ramakrishnan; for t and (n,t): Li, Li & Venkatasubramanian",
        2010,
        option="cuts",
        choices=("strict", "relaxed"),
        variants=_each("cuts", "strict", "relaxed"),
        presence=("strict",),
    ),
    "incognito": Method(
        "generalises each quasi-identifier to one level in the whole table, losing least",
        "LeFevre, DeWitt & Ramakrishnan; for t: Li, Li & Venkatasubramanian",
        2007,
        growth="n log n; exponential in the quasi-identifiers",
    ),
    "kanonymity": Method(
        "suppresses cells: few for k alone, the fewest possible for alpha = 1/2",
        "Liang & Yuan",
        2013,
        growth="n log n; with alpha = 1/2 cubic in the different rows, up to 1,000",
        joint=(),  # it serves no t at all
    ),
    "projections": Method(
        "publishes several tables, each with related sensitive attributes (CODIP)",
        "Fang, Ashrafi & Ng",
        2011,
        growth="that of its base method",
        tables="several",
        joint=(),  # attributes may come into different tables
        variants={"mondrian": {"base": "mondrian"}},  # in comparisons: the best base would hide what the layout costs
        based=True,
    ),
    "anatomy": Method(
        "publishes two tables linked by a group; does not hide who is in the table",
        "Xiao & Tao",
        2006,
        tables="several",
        caveat="does not hide who is in the table",
    ),
    "permutation": Method(
        "permutes sensitive values within groups; does not hide who is in the table",
        "Zhang, Koudas, Srivastava & Yu; for t: tclose",
        2007,
        growth="that of its base method",
        tables="exact",
        variants={"mondrian": {"base": "mondrian"}},  # in comparisons, as with projections
        caveat="does not hide who is in the table",
        based=True,
    ),
    "sabre": Method(
        "puts sensitive values into buckets and gives every class its share of each",
        "Cao, Karras, Kalnis & Tan",
        2011,
        sensitive="one",
        joint=(),
        distances=of_shapes("line", "tree"),
        growth="n log n; by nearest rows n²",
        option="near",
        choices=("hilbert", "nearest"),
        variants={
            "printed": {"near": "hilbert", "slack": 0},
            "slack": {"near": "hilbert", "slack": 0.1},
            "nearest": {"near": "nearest", "slack": 0},
            "nearest-slack": {"near": "nearest", "slack": 0.1},
        },
    ),
    "microaggregation": Method(
        "groups near rows, one from each stratum of the sensitive attribute",
        "Soria-Comas, Domingo-Ferrer, Sánchez & Martínez",
        2015,
        sensitive="one",  # as the default variant has it: 'merge' serves any number and distance
        distances=("ordered",),
        growth="n²/k; by swaps n²",
        option="variant",
        choices=("first", "swap", "merge"),
        joint=("merge",),
        variants=_each("variant", "first", "swap", "merge"),
    ),
    "burel": Method(
        "β-likeness: buckets of equally frequent values; every class gets its share of each",
        "Cao & Karras",
        2012,
        sensitive="one",
        growth="n log n; by nearest rows n²",
        option="near",
        choices=("hilbert", "nearest"),
        needs=("beta", "enhanced_beta"),
        joint=(),
    ),
    "clustering": Method(
        "gives every class one row of each fuzzy cluster of sensitive values",
        "Wang, Zhu, Chen & Chang",
        2018,
        growth="n · class size",
        option="size",
        choices=("searched", "k"),
        variants={"searched": {"size": "searched"}, "printed": {"size": "k"}},
    ),
    "pca": Method(
        "gives every class one row of each stretch of the first principal component",
        "Wang, Zhu, Chen & Chang",
        2018,
        option="size",
        choices=("searched", "k"),
        variants={"searched": {"size": "searched"}, "printed": {"size": "k"}},
    ),
    "exact": Method(
        "finds the optimum of a small table, by recursion or by integer programming",
        "Liang & Yuan",
        2013,
        growth="3^n",
        option="loss",
        choices=("gcp", "stars"),
    ),
}
DEFAULT_METHOD = "weave"
