"""Check and explain a table."""

from __future__ import annotations

from typing import Any

from tclose.policy import Policy, PolicyLike
from tclose.privacy.results import CheckResult, Explanation
from tclose.run.engines import Engine
from tclose.run.study import Study
from tclose.types import Progress, silent


def check(
    table: Any,
    policy: PolicyLike,
    *,
    engine: Engine = "memory",
    ignore_others: bool = False,
    progress: Progress = silent,
) -> CheckResult:
    """Tell whether a table holds what a policy asks for.

    The engine `disk` reads a file in batches, so that it need not fit into memory; `auto` chooses it for large files.
    """
    from tclose.run import engines

    policy = Policy.of(policy)
    progress(0.0, "reading")
    if engines.on_disk(engine, table, policy):
        from tclose.run import disk

        return disk.check(table, policy, ignore_others=ignore_others, progress=progress)
    return Study(table, policy).check(ignore_others=ignore_others, progress=progress)


def explain(
    table: Any, policy: PolicyLike, *, attribute: str, class_number: int, progress: Progress = silent
) -> Explanation:
    """Show the cheapest moves of rows that turn one class's distribution into the whole table's."""
    return Study(table, Policy.of(policy)).explain(attribute, class_number, progress=progress)
