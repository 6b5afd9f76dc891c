"""What a query cannot judge, known from the policy alone: each is refused in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from tclose.errors import Mistakes, PolicyError
from tclose.policy import MODELS, Builder, Policy, Sensitive, implied_by_settings
from tclose.policy.settings import join

JUDGED = ("t", "l")  # models of an attribute that a query can judge
MOST_DIGITS = 19  # of the distance that counts as 1, times t's denominator: 10^9 rows squared leave these of 38


def check_judgeable(policy: Policy) -> None:
    """Refuse a policy that asks for more than k, l and t without a matrix."""
    mistakes = Mistakes()
    for place, why in _of_policy(policy):
        mistakes.add(PolicyError(why, place=place))
    for name, spec in policy.sensitive.items():
        for place, why in _of_attribute(spec):
            mistakes.add(PolicyError(why, place=f"{join('sensitive', name)}.{place}"))
    mistakes.report()


def _of_policy(policy: Policy) -> Iterator[tuple[str, str]]:
    if policy.joint:
        yield "joint", "a query judges k, l and t of single attributes: leave out attributes together"
    if policy.presence is not None:
        yield "presence", "a query judges k, l and t: leave out presence"
    if len(str(policy.suppress.denominator)) > MOST_DIGITS // 2:
        yield "suppress", "its denominator has too many digits for numbers of 38 digits: round it"
    if policy.below:
        yield "below", "a query cannot place cells below a limit: write numbers into the table"
    if policy.both:
        yield "both", "a query reads one table, and counts of exact values stand in another: leave out both"


def _of_attribute(spec: Sensitive) -> Iterator[tuple[str, str]]:
    for name in (*(model for model in MODELS if model not in JUDGED), "n", "t_by"):
        if getattr(spec, name) is not None:
            yield name, f"a query judges k, l and t: leave out {name}"
    distance = implied_by_settings(spec)
    if distance == "matrix":
        yield "matrix", "a query cannot solve transport problems: it judges every distance but a matrix"
    if distance is None and spec.t is not None:
        yield "distance", 'a query cannot look at the values first: say distance = "equal" or "ordered"'
    if spec.t is not None and len(str(spec.t.denominator)) > MOST_DIGITS // 2:
        yield "t", "its denominator has too many digits for numbers of 38 digits: round it"
    if isinstance(spec.hierarchy, Builder) and spec.hierarchy.kind != "rows":
        yield "hierarchy", "a query cannot build a hierarchy by rule: write it as a file"
    if spec.bins is not None:
        yield from _of_bins(spec)


def _of_bins(spec: Sensitive) -> Iterator[tuple[str, str]]:
    assert spec.bins is not None
    if spec.bins.kind in ("count", "quantiles"):
        cure = f"a record that anonymize --record writes lists the edges of {spec.bins.kind} in columns.edges"
        yield "bins", f"a query cannot learn edges from the values: say width or edges, such as [0, 50, 100]; {cure}"
        return
    numbers = [spec.bins.setting] if spec.bins.kind == "width" else list(spec.bins.setting)
    if any(decimals_of(number) is None for number in numbers):
        yield "bins", "a query compares decimals: say numbers with at most 12 decimals"


def decimals_of(number: Fraction) -> int | None:
    """Return how many decimals spell a number exactly; None beyond twelve.

    >>> decimals_of(Fraction(5, 2)), decimals_of(Fraction(20)), decimals_of(Fraction(1, 3))
    (1, 0, None)
    """
    return next((places for places in range(13) if (number * 10**places).denominator == 1), None)
