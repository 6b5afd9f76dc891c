"""How often a piece of work reads a file, codes a table, parses a policy and makes a distance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from tclose.distance import DomainFacts
from tclose.policy import Policy
from tclose.table import coded
from tclose.table.sources.door import Reader

ASIDE = {"sheets", "open"}  # requests to the process that reads which bring no cells


@dataclass
class Trace:
    """What was counted so far."""

    reads: int = 0
    encodes: int = 0
    policies: int = 0
    distances: int = 0


@contextmanager
def traced() -> Iterator[Trace]:
    """Count while the block runs."""
    trace = Trace()

    def counting(what: str, original: Callable[..., Any], unless: Callable[..., bool] = lambda *_: False) -> Any:
        def counted(*given: Any, **named: Any) -> Any:
            if not unless(*given):
                setattr(trace, what, getattr(trace, what) + 1)
            return original(*given, **named)

        return counted

    parsed = Policy.__dict__["from_dict"].__func__
    with (
        patch.object(Reader, "ask", counting("reads", Reader.ask, lambda _, do, *rest: do in ASIDE)),
        patch.object(coded, "_encoded", counting("encodes", coded._encoded)),
        patch.object(Policy, "from_dict", classmethod(counting("policies", parsed))),
        patch.object(DomainFacts, "_made", counting("distances", DomainFacts._made)),
    ):
        yield trace
