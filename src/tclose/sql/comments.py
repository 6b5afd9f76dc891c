"""What each CTE of a query does, for the people who read it."""

from __future__ import annotations

from sqlglot import exp

COMMENTS = {
    "tclose_input": "the columns that matter; a missing sensitive value is NULL",
    "judged": "without the rows that the policy leaves out",
    "classes": "rows that look alike; members are persons where the policy names them",
    "totals": "the table as a whole",
    "withheld": "how many rows are left out",
    "cells": "how often each class shows each cell",
    "texts": "every different cell once: is it a number, a date, true or false?",
    "kinds": "what all cells are",
    "list": "the values that the policy lists",
    "units": "cells of equal value_key are one value; unit puts numbers and dates in order",
    "bins": "the bins (low, high]",
    "codes": "the number of each value",
    "counts": "how often each class shows each value; number 0 is the missing value",
    "unit": "the distance that counts as 1",
    "nodes": "the node above each value at every height of the hierarchy",
    "node_counts": "how often each class shows each node",
    "reference": "how often the table shows each node",
    "extra": "the same side by side; s is the size of the class",
    "points": "where each value lies on the line",
    "span": "how long the line is",
    "line": "how many rows of the table lie at each point; a missing value hangs from the middle",
    "domain": "running sums of the table, and the gap to the next point",
    "padded": "every class with every point",
    "running": "running sums of each class; s is its size",
    "work": "how much has to be moved how far to give the class the distribution of the table",
    "problem": "why this attribute cannot be judged; NULL if it can",
    "distances": "how far each class is from the table: work / whole",
    "worst": "the class that is farthest away",
    "closeness": "t-closeness",
    "different": "how many values each class shows",
    "diversity": "l-diversity",
    "anonymity": "k-anonymity",
    "suppressed": "the share of the rows that are left out",
}


def commented(name: str, cte: exp.Expression) -> exp.Expression:
    """Return a CTE that begins with what it does."""
    kind, _, number = name.rpartition("_")
    first: exp.Expression = cte
    while isinstance(first, exp.SetOperation):
        first = first.this
    first.comments = [COMMENTS[kind if number.isdigit() else name]]
    return cte
