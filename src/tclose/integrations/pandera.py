"""A pandera check for a whole table, of pandas or polars.

import pandera.pandas as pa  # or pandera.polars
schema = pa.DataFrameSchema(checks=meets_policy("policy.toml"))
"""

from __future__ import annotations

from typing import Any

from tclose.policy import Policy, PolicyLike
from tclose.run.study import check

try:
    from pandera import Check
except ImportError as missing:
    raise ImportError("tclose.integrations.pandera needs pandera: pip install pandera") from missing

NAME = "meets_policy"


def meets_policy(policy: PolicyLike, **options: Any) -> Check:
    """Return a check that holds where a table meets a policy; `options` are those of `tclose.check`."""
    asked = Policy.of(policy)

    def holds(table: Any) -> bool:
        return check(getattr(table, "lazyframe", table), asked, **options).satisfied

    return Check(
        holds, name=NAME, error="the table does not meet its policy: tclose.check says which requirement fails"
    )
