"""Every command as a function without a terminal: the command line and the studio call these and only print.

A table is given as a frame, as the path of a file, or as "-" for standard input; a policy as a `Policy`, as a mapping,
or as the path of a TOML file. Long work reports to a `Progress`. Raising `Cancelled` from it stops the work, and then
nothing has been written: no step reports progress after its files have got their names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from tclose.sql import DIALECTS
from tclose.steps.applying import Applied, apply
from tclose.steps.beside import class_limits, class_list, class_reasons, column_changes, query_error
from tclose.steps.choosing_t import allowed_by
from tclose.steps.curves import CostCurve, cost_curve
from tclose.steps.given import missing_in_profile
from tclose.steps.hierarchies import column_values, hierarchy_rows, hierarchy_text, preview_classes
from tclose.steps.judging import (
    ENGINES,
    PUBLISHING_ENGINES,
    Engine,
    PublishingEngine,
    bound,
    check,
    explain,
    sql,
    verify,
    verify_bound,
)
from tclose.steps.preparing import (
    doctor,
    init,
    look,
    look_inside,
    method_options,
    methods,
    readers_kept,
    sheets_of,
    warm,
    write_example,
)
from tclose.steps.previewing import WorstClass, worst_allowed
from tclose.steps.pseudonym_keys import pseudonym_key
from tclose.steps.publishing import anonymize, demo
from tclose.steps.replaying import recorded_seed
from tclose.steps.signing import KEY_FORMATS, Passphrase, demands, endorsement, keygen, sign, signature_file
from tclose.steps.studying import attack, compare, detail, reproduce, trial_figures

if TYPE_CHECKING:
    from tclose.compare.comparison import Comparison
    from tclose.compare.papers.reproduction import Reproduction
    from tclose.compare.tradeoff import Tradeoff
    from tclose.compare.trial import Trial
    from tclose.engine.doctor import Health

__all__ = [
    "ALL_DISTANCES",
    "ANONYMIZER",
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
    "LowerBound",
    "Measure",
    "Method",
    "ModelFinding",
    "Passphrase",
    "Publication",
    "PublishingEngine",
    "ReleaseFormat",
    "Reproduction",
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
    "hierarchy_rows",
    "hierarchy_text",
    "init",
    "keygen",
    "look",
    "look_inside",
    "method_options",
    "methods",
    "missing_in_profile",
    "preview_classes",
    "pseudonym_key",
    "query_error",
    "readers_kept",
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
