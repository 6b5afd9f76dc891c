"""What a drafted policy says of every t that it asks for: what some levels would allow, in shares of the column."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tclose.errors import TcloseError
from tclose.policy import Policy
from tclose.policy.draft import Draft, with_told
from tclose.policy.draft.comparing import ASKED
from tclose.privacy.allowance import Allowance, allowance_of_domain
from tclose.table.sensitive import SensitiveDomain
from tclose.table.tally import Tally
from tclose.words import number, percent

NO_COLUMN = "\0"  # a policy needs a quasi-identifier; nothing is read of it here


def with_shares(frame: Any, draft: Draft) -> Draft:
    """Add to the draft of a table what a t of 0.05, 0.1 and 0.2 would allow in each sensitive column."""
    given = tomllib.loads(draft.policy)
    told = {name: _told(frame, given, name) for name in given.get("sensitive", {})}
    return replace(draft, policy=with_told(draft.policy, told)) if any(told.values()) else draft


def _told(frame: Any, given: dict[str, Any], name: str) -> tuple[str, ...]:
    """Return what each level of t would allow in one column; nothing where the draft cannot be read as it is."""
    allowed = []
    for t in ASKED:
        spec = {**given["sensitive"][name], "t": t}
        asked = {"quasi": [NO_COLUMN], "k": given["k"], "missing": given["missing"], "sensitive": {name: spec}}
        try:
            policy = Policy.from_dict(asked)
            domain = SensitiveDomain.of(Tally.of(frame[name]), policy.sensitive[name], policy.missing)
        except TcloseError:
            return ()
        found = allowance_of_domain(domain, policy)
        allowed += [] if found is None else [found]
    return _sentences(allowed)


def _sentences(allowed: Sequence[Allowance]) -> tuple[str, ...]:
    if not allowed:
        return ()
    first = allowed[0]
    most = ", ".join(f"{percent(float(each.most_up))} with t = {number(each.t)}" for each in allowed)
    said = [f"In a class, {first.of} ({percent(float(first.share))} of the rows) can be at most {most}."]
    ends = [part for part in (first.alone, first.below) if part]
    said.append(f"{'; '.join(ends).capitalize()}.")
    return tuple(said)
