"""What drafts of the hold-out tables publish of the columns labelled as codes, where only the t's are filled in.

    .venv/bin/python bench/drafts.py [NAME …]

Prints, per labelled column, its role in the draft and the share of rows whose published cell shows one code; then how
many drafts have a sensitive column, and what becomes of a planted
place without a telling name. Nothing here is tuned, and nothing may be tuned on what this prints.
"""

from __future__ import annotations

import sys
import tomllib
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

import tclose
from exposure import places
from holdout import TABLES, tables
from tclose import steps

ROWS = 4_000  # of a table, at most: drawn at random from larger ones
T = "0.2"
OPEN = "# t = 0.?"
ROLES = ("identifiers", "quasi", "sensitive", "keep", "unlinkable")


def filled_in(draft: str) -> dict[str, Any]:
    """Return a drafted policy with every t, and nothing else, filled in."""
    return tomllib.loads("\n".join(f"t = {T}" if line.startswith(OPEN) else line for line in draft.splitlines()))


def role_of(policy: Mapping[str, Any], column: str) -> str:
    """Return where the draft has put a column."""
    return next((role for role in ROLES if column in policy.get(role, ())), "none")


def exact_share(published: pl.DataFrame, raw: pl.Series) -> float:
    """Return the share of rows whose published cell shows one value of the table, or none if it is not published."""
    if raw.name not in published.columns:
        return 0.0
    known = set(raw.drop_nulls().cast(pl.String).to_list())
    return float(np.mean([cell in known for cell in published[raw.name].cast(pl.String).to_list()]))


def released(frame: pl.DataFrame, policy: Mapping[str, Any]) -> pl.DataFrame | None:
    """Publish a table with Mondrian; None if that is not possible."""
    try:
        return tclose.anonymize(frame, policy, method="mondrian").frame
    except tclose.TcloseError as error:
        print(f"    not published: {error}")
        return None


def report(names: list[str]) -> Iterator[tuple[str, bool, int, int]]:
    """Yield each table, whether its draft has a sensitive column, its labelled codes, and those that are exact."""
    for name, file in tables().items():
        if names and name not in names:
            continue
        policy = filled_in(steps.init(str(file)).policy)
        frame = tclose.read(file)
        chosen = np.sort(np.random.default_rng(0).permutation(frame.height)[:ROWS])
        published = released(frame[chosen], policy)
        codes, exact = TABLES[name]["codes"], 0
        print(f"{name}: {frame.height:,} rows, {', '.join(f'{len(policy.get(r, ()))} {r}' for r in ROLES)}")
        for code in codes:
            share = float("nan") if published is None else exact_share(published, frame[code][chosen])
            role = role_of(policy, code)
            exact += role in ("sensitive", "keep", "unlinkable") and share > 0
            print(f"    {code}: {role}, one code in {share:.1%} of the rows")
        yield name, bool(policy.get("sensitive")), len(codes), int(exact)


def nameless_place(file: str) -> str:
    """Return what the draft does with the number of a place that has no telling name, planted in a table."""
    frame = tclose.read(file)[:ROWS]
    number, pay = places(np.random.default_rng(1), frame.height)
    drafted = steps.init(frame.with_columns(x7=number, pay7=pay)).policy
    settings = drafted[drafted.find("x7]") :].partition("\n\n")[0]
    role = role_of(filled_in(drafted), "x7")
    exact = role == "sensitive" and 'publish = "bin"' not in settings
    return "asked about" if "Decide: does it number" in settings else "published" if exact else "protected"


def main() -> None:
    """Print all tables, then the sums."""
    warnings.simplefilter("ignore")
    rows = list(report(sys.argv[1:]))
    print(f"{len(rows)} tables, {sum(not sensitive for _, sensitive, *_ in rows)} drafts without a sensitive column")
    print(f"{sum(codes for *_, codes, _ in rows)} labelled codes, {sum(e for *_, e in rows)} published row by row")
    outcomes = [
        nameless_place(str(file)) for name, file in tables().items() if not sys.argv[1:] or name in sys.argv[1:]
    ]
    print("a planted place without a telling name is", {each: outcomes.count(each) for each in sorted(set(outcomes))})


if __name__ == "__main__":
    main()
