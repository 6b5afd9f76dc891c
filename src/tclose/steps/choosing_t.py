"""What a t would allow in a column, in its own shares: below every t that a draft asks for, and beside a slider."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tclose.errors import TcloseError
from tclose.policy import Policy
from tclose.policy.draft import Draft, with_told
from tclose.policy.draft.comparing import ASKED
from tclose.privacy.allowance import Allowance, allowance_of_domain
from tclose.table.sensitive import SensitiveDomain
from tclose.table.tally import Tally
from tclose.words import number, percent

HERE = Path()
NO_COLUMN = "\0"  # a policy needs a quasi-identifier; nothing is read of it here


def with_shares(frame: Any, draft: Draft) -> Draft:
    """Add to the draft of a table what a t of 0.05, 0.1 and 0.2 would allow in each sensitive column."""
    given = tomllib.loads(draft.policy)
    told = {name: _told(frame, given, name) for name in given.get("sensitive", {})}
    return replace(draft, policy=with_told(draft.policy, told)) if any(told.values()) else draft


def allowed_by(column: Mapping[str, Any], setting: Mapping[str, Any], k: int, folder: Path) -> Allowance | None:
    """Return what the t of a setting allows in a column that was looked at; None where that is not known.

    `folder` holds the files that the setting names.
    """
    if not column["counted"]:
        return None
    missing = column["missing"] if setting.get("missing") == "value" else 0
    tally = Tally.of_texts(column["name"], column["counted"], missing)
    idle = {"t_by"} if setting.get("bins") else {"t_by", "publish"}  # of other columns, or of bins that are not there
    own = {name: value for name, value in setting.items() if name not in idle and value is not None}
    return _allowed(tally, {"k": k, "missing": []}, own, folder)


def _told(frame: Any, given: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return what some levels of t would allow in one column; nothing where the draft cannot be read as it is."""
    tally, own = Tally.of(frame[name]), given["sensitive"][name]
    allowed = [_allowed(tally, given, {**own, "t": t}) for t in ASKED]
    return _sentences([each for each in allowed if each is not None])


def _allowed(
    tally: Tally, given: Mapping[str, Any], setting: Mapping[str, Any], folder: Path = HERE
) -> Allowance | None:
    asked = {"quasi": [NO_COLUMN], "k": given["k"], "missing": given["missing"], "sensitive": {tally.name: setting}}
    try:
        policy = Policy.from_dict(asked, folder=folder)
        domain = SensitiveDomain.of(tally, policy.sensitive[tally.name], policy.missing)
    except TcloseError:
        return None
    return allowance_of_domain(domain, policy)


def _sentences(allowed: Sequence[Allowance]) -> tuple[str, ...]:
    if not allowed:
        return ()
    first = allowed[0]
    most = ", ".join(f"{percent(float(each.most_up))} with t = {number(each.t)}" for each in allowed)
    said = [f"In a class, {first.of} ({percent(float(first.share))} of the rows) can be at most {most}."]
    ends = [part for part in (first.alone, first.below) if part]
    said.append(f"{'; '.join(ends).capitalize()}.")
    return tuple(said)
