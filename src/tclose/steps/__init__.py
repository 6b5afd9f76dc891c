"""Every command as a function without a terminal: the command line and the studio call these and only print.

A table is given as a frame, as the path of a file, or as "-" for standard input; a policy as a `Policy`, as a mapping,
or as the path of a TOML file. Long work reports to a `Progress`. Raising `Cancelled` from it stops the work, and then
nothing has been written: no step reports progress after its files have got their names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tclose.lazily import attribute

if TYPE_CHECKING:
    from tclose.comparison.comparison import Comparison
    from tclose.comparison.papers.reproduction import Reproduction
    from tclose.comparison.tradeoff import Tradeoff
    from tclose.comparison.trial import Trial
    from tclose.engine.doctor import Health
    from tclose.measure.attack import RELEASE, Attacks, Finding
    from tclose.measure.kept import DETAIL_MEASURES, DetailKept
    from tclose.measure.utility import MEASURES, Measure
    from tclose.partition import DEFAULT_METHOD, METHODS, Method
    from tclose.partition.registry import ALL_DISTANCES
    from tclose.policy.draft import Draft, Guess
    from tclose.privacy.allowance import Allowance
    from tclose.privacy.results import CheckResult, Explanation, ModelFinding
    from tclose.release.certificate import RELEASE_FORMATS, ReleaseFormat
    from tclose.release.demands import Demands
    from tclose.release.describing import FORMATS as DESCRIPTIONS
    from tclose.release.endorsement import Endorsement
    from tclose.release.files import anything_published, discard_unfinished
    from tclose.release.lower_bound import PROOF_STAYS, BoundVerification, LowerBound
    from tclose.release.naming import check_clock
    from tclose.release.publication import Demonstration, Publication
    from tclose.release.record_notes import file_digest
    from tclose.release.scenes import ANONYMIZER
    from tclose.release.verification import NO_IDENTITY, Verification
    from tclose.run.places import CAPABILITIES, ENGINES, PUBLISHING_ENGINES, Capability, Engine, PublishingEngine
    from tclose.run.replaying import recorded_seed
    from tclose.run.request import Knob, Request, knobs
    from tclose.sql import DIALECTS
    from tclose.steps.applying import Applied, apply
    from tclose.steps.beside import class_limits, class_list, class_reasons, column_changes, query_error
    from tclose.steps.checking import check, explain
    from tclose.steps.choosing_t import allowed_by
    from tclose.steps.curves import CostCurve, cost_curve
    from tclose.steps.given import missing_in_profile
    from tclose.steps.hierarchies import column_values, hierarchy_rows, hierarchy_text, preview_classes
    from tclose.steps.judging import bound, sql, verify, verify_bound
    from tclose.steps.preparing import (
        doctor,
        files_kept,
        forget_files,
        init,
        look,
        look_inside,
        method_options,
        methods,
        sheets_of,
        warm,
        write_example,
    )
    from tclose.steps.previewing import WorstClass, worst_allowed
    from tclose.steps.pseudonym_keys import pseudonym_key
    from tclose.steps.publishing import anonymize, demo, publish
    from tclose.steps.signing import KEY_FORMATS, Passphrase, demands, endorsement, keygen, sign, signature_file
    from tclose.steps.studying import attack, compare, detail, reproduce, trial_figures

__all__ = [
    "ALL_DISTANCES",
    "ANONYMIZER",
    "CAPABILITIES",
    "DEFAULT_METHOD",
    "DESCRIPTIONS",
    "DETAIL_MEASURES",
    "DIALECTS",
    "ENGINES",
    "KEY_FORMATS",
    "MEASURES",
    "METHODS",
    "NO_IDENTITY",
    "PROOF_STAYS",
    "PUBLISHING_ENGINES",
    "RELEASE",
    "RELEASE_FORMATS",
    "Allowance",
    "Applied",
    "Attacks",
    "BoundVerification",
    "Capability",
    "CheckResult",
    "Comparison",
    "CostCurve",
    "Demands",
    "Demonstration",
    "DetailKept",
    "Draft",
    "Endorsement",
    "Engine",
    "Explanation",
    "Finding",
    "Guess",
    "Health",
    "Knob",
    "LowerBound",
    "Measure",
    "Method",
    "ModelFinding",
    "Passphrase",
    "Publication",
    "PublishingEngine",
    "ReleaseFormat",
    "Reproduction",
    "Request",
    "Tradeoff",
    "Trial",
    "Verification",
    "WorstClass",
    "allowed_by",
    "anonymize",
    "anything_published",
    "apply",
    "attack",
    "bound",
    "check",
    "check_clock",
    "class_limits",
    "class_list",
    "class_reasons",
    "column_changes",
    "column_values",
    "compare",
    "cost_curve",
    "demands",
    "demo",
    "detail",
    "discard_unfinished",
    "doctor",
    "endorsement",
    "explain",
    "file_digest",
    "files_kept",
    "forget_files",
    "hierarchy_rows",
    "hierarchy_text",
    "init",
    "keygen",
    "knobs",
    "look",
    "look_inside",
    "method_options",
    "methods",
    "missing_in_profile",
    "preview_classes",
    "pseudonym_key",
    "publish",
    "query_error",
    "recorded_seed",
    "reproduce",
    "sheets_of",
    "sign",
    "signature_file",
    "sql",
    "trial_figures",
    "verify",
    "verify_bound",
    "warm",
    "worst_allowed",
    "write_example",
]

_HOMES = {  # the module that has each name, which is loaded when the name is asked for
    "ALL_DISTANCES": "tclose.partition.registry",
    "ANONYMIZER": "tclose.release.scenes",
    "Allowance": "tclose.privacy.allowance",
    "Applied": "tclose.steps.applying",
    "Attacks": "tclose.measure.attack",
    "BoundVerification": "tclose.release.lower_bound",
    "CAPABILITIES": "tclose.run.places",
    "Capability": "tclose.run.places",
    "CheckResult": "tclose.privacy.results",
    "Comparison": "tclose.comparison.comparison",
    "CostCurve": "tclose.steps.curves",
    "DEFAULT_METHOD": "tclose.partition",
    "DESCRIPTIONS": "tclose.release.describing:FORMATS",
    "DETAIL_MEASURES": "tclose.measure.kept",
    "DIALECTS": "tclose.sql",
    "Demands": "tclose.release.demands",
    "Demonstration": "tclose.release.publication",
    "DetailKept": "tclose.measure.kept",
    "Draft": "tclose.policy.draft",
    "ENGINES": "tclose.run.places",
    "Endorsement": "tclose.release.endorsement",
    "Engine": "tclose.run.places",
    "Explanation": "tclose.privacy.results",
    "Finding": "tclose.measure.attack",
    "Guess": "tclose.policy.draft",
    "Knob": "tclose.run.request",
    "Request": "tclose.run.request",
    "knobs": "tclose.run.request",
    "publish": "tclose.steps.publishing",
    "Health": "tclose.engine.doctor",
    "KEY_FORMATS": "tclose.steps.signing",
    "LowerBound": "tclose.release.lower_bound",
    "MEASURES": "tclose.measure.utility",
    "METHODS": "tclose.partition",
    "Measure": "tclose.measure.utility",
    "Method": "tclose.partition",
    "ModelFinding": "tclose.privacy.results",
    "NO_IDENTITY": "tclose.release.verification",
    "PROOF_STAYS": "tclose.release.lower_bound",
    "PUBLISHING_ENGINES": "tclose.run.places",
    "Passphrase": "tclose.steps.signing",
    "Publication": "tclose.release.publication",
    "PublishingEngine": "tclose.run.places",
    "RELEASE": "tclose.measure.attack",
    "RELEASE_FORMATS": "tclose.release.certificate",
    "ReleaseFormat": "tclose.release.certificate",
    "Reproduction": "tclose.comparison.papers.reproduction",
    "Tradeoff": "tclose.comparison.tradeoff",
    "Trial": "tclose.comparison.trial",
    "Verification": "tclose.release.verification",
    "WorstClass": "tclose.steps.previewing",
    "allowed_by": "tclose.steps.choosing_t",
    "anonymize": "tclose.steps.publishing",
    "anything_published": "tclose.release.files",
    "apply": "tclose.steps.applying",
    "attack": "tclose.steps.studying",
    "bound": "tclose.steps.judging",
    "check": "tclose.steps.checking",
    "check_clock": "tclose.release.naming",
    "class_limits": "tclose.steps.beside",
    "class_list": "tclose.steps.beside",
    "class_reasons": "tclose.steps.beside",
    "column_changes": "tclose.steps.beside",
    "column_values": "tclose.steps.hierarchies",
    "compare": "tclose.steps.studying",
    "cost_curve": "tclose.steps.curves",
    "demands": "tclose.steps.signing",
    "demo": "tclose.steps.publishing",
    "detail": "tclose.steps.studying",
    "discard_unfinished": "tclose.release.files",
    "doctor": "tclose.steps.preparing",
    "endorsement": "tclose.steps.signing",
    "explain": "tclose.steps.checking",
    "file_digest": "tclose.release.record_notes",
    "hierarchy_rows": "tclose.steps.hierarchies",
    "hierarchy_text": "tclose.steps.hierarchies",
    "init": "tclose.steps.preparing",
    "keygen": "tclose.steps.signing",
    "look": "tclose.steps.preparing",
    "look_inside": "tclose.steps.preparing",
    "method_options": "tclose.steps.preparing",
    "methods": "tclose.steps.preparing",
    "missing_in_profile": "tclose.steps.given",
    "preview_classes": "tclose.steps.hierarchies",
    "pseudonym_key": "tclose.steps.pseudonym_keys",
    "query_error": "tclose.steps.beside",
    "files_kept": "tclose.steps.preparing",
    "forget_files": "tclose.steps.preparing",
    "recorded_seed": "tclose.run.replaying",
    "reproduce": "tclose.steps.studying",
    "sheets_of": "tclose.steps.preparing",
    "sign": "tclose.steps.signing",
    "signature_file": "tclose.steps.signing",
    "sql": "tclose.steps.judging",
    "trial_figures": "tclose.steps.studying",
    "verify": "tclose.steps.judging",
    "verify_bound": "tclose.steps.judging",
    "warm": "tclose.steps.preparing",
    "worst_allowed": "tclose.steps.previewing",
    "write_example": "tclose.steps.preparing",
}


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        return attribute(__name__, _HOMES, name)
