"""What the judge found, as pages show it: one line for every requirement, and sentences."""

from __future__ import annotations

from typing import Any

from tclose import steps
from tclose.studio.wording import sentence
from tclose.words import number


def requirements(result: steps.CheckResult) -> list[dict[str, Any]]:
    """Return every requirement: what was asked, what is reached, and the class that is worst."""
    return [
        {
            "attribute": finding.attribute,
            "title": finding.title,
            "asked": finding.asked,
            "reached": number(finding.reached),
            "satisfied": finding.satisfied,
            "worst": finding.worst_class,
            "failing": finding.failing_classes,
        }
        for finding in result.models
    ]


def verification(verdict: steps.Verification) -> dict[str, Any]:
    """Return what verification found, in sentences."""
    problems, unknown = map(sentence, verdict.problems), map(sentence, verdict.not_verifiable_in_words)
    models = [] if verdict.result is None else requirements(verdict.result)
    limits = verdict.result is None or bool(verdict.result.attributes)
    said = {"models": models, "problems": list(problems), "not_verifiable": list(unknown), "limits": limits}
    return {**verdict.to_dict(), **said}
