"""Every command as a function without a terminal: the command line and the studio call these and only print.

A table is given as a frame, as the path of a file, or as "-" for standard input; a policy as a `Policy`, as a mapping,
or as the path of a TOML file. Long work reports to a `Progress`. Raising `Cancelled` from it stops the work, and then
nothing has been written: no step reports progress after its files have got their names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tclose.lazy_imports import attribute, homes

if TYPE_CHECKING:
    from tclose.comparison.comparison import Comparison
    from tclose.comparison.trial import Trial
    from tclose.examples import write_example
    from tclose.measure.attack import RELEASE, Attacks, Finding
    from tclose.measure.detail_kept import DETAIL_MEASURES
    from tclose.measure.information_loss import MEASURES
    from tclose.papers.reproduction import Reproduction, reproduce
    from tclose.partition import DEFAULT_METHOD, METHODS, Method
    from tclose.partition.registry import ALL_DISTANCES
    from tclose.policy.draft import Draft
    from tclose.policy.toml import schema
    from tclose.privacy.allowance import Allowance
    from tclose.privacy.results import CheckResult, Explanation, ModelFinding
    from tclose.release.files import anything_published, discard_unfinished
    from tclose.release.formats import OUTPUT_FORMATS
    from tclose.release.lower_bound import PROOF_STAYS, LowerBound
    from tclose.release.output import Endorsement, check_clock
    from tclose.release.record import file_digest
    from tclose.release.release import Publication
    from tclose.release.signatures import KEY_FORMATS, envelope_path
    from tclose.release.verification import NO_IDENTITY, Verification
    from tclose.release.verify import Demands
    from tclose.run.apply import Applied, ApplyRequest, apply
    from tclose.run.check import check, explain
    from tclose.run.commands import (
        anonymize,
        bound,
        demands,
        demo,
        endorsement,
        keygen,
        pseudonym_key,
        sign,
        verify,
        verify_bound,
    )
    from tclose.run.engines import CAPABILITIES, ENGINES, Capability, Engine
    from tclose.run.evaluation import (
        AttackRequest,
        CompareRequest,
        attack,
        compare,
        cost_curve,
        detail,
        trial_figures,
    )
    from tclose.run.installation import doctor
    from tclose.run.knob import Knob, changed, knobs
    from tclose.run.pipeline import publish
    from tclose.run.preparation import (
        WorstClass,
        allowed_by,
        column_values,
        files_kept,
        hierarchy_rows,
        hierarchy_text,
        init,
        look,
        look_inside,
        method_options,
        methods,
        preview_classes,
        warm,
        worst_allowed,
    )
    from tclose.run.release_pair import class_limits, class_list, class_reasons, column_changes, query_error
    from tclose.run.request import Request, command_line, remade
    from tclose.run.study import forget_files, missing_in_profile
    from tclose.sql import DIALECTS, sql_check
    from tclose.table.sources.door import sheet_names

_HOMES = homes(  # the names of each module, which is loaded when one of them is asked for
    {
        "tclose.comparison.comparison": "Comparison",
        "tclose.comparison.trial": "Trial",
        "tclose.examples": "write_example",
        "tclose.measure.attack": "Attacks Finding RELEASE",
        "tclose.measure.detail_kept": "DETAIL_MEASURES",
        "tclose.measure.information_loss": "MEASURES",
        "tclose.papers.reproduction": "Reproduction reproduce",
        "tclose.partition": "DEFAULT_METHOD METHODS Method",
        "tclose.partition.registry": "ALL_DISTANCES",
        "tclose.policy.draft": "Draft",
        "tclose.policy.toml": "schema",
        "tclose.privacy.allowance": "Allowance",
        "tclose.privacy.results": "CheckResult Explanation ModelFinding",
        "tclose.release.files": "anything_published discard_unfinished",
        "tclose.release.formats": "OUTPUT_FORMATS",
        "tclose.release.lower_bound": "LowerBound PROOF_STAYS",
        "tclose.release.output": "Endorsement check_clock",
        "tclose.release.record": "file_digest",
        "tclose.release.release": "Publication",
        "tclose.release.signatures": "KEY_FORMATS envelope_path",
        "tclose.release.verification": "NO_IDENTITY Verification",
        "tclose.release.verify": "Demands",
        "tclose.run.apply": "Applied ApplyRequest apply",
        "tclose.run.check": "check explain",
        "tclose.run.commands": "anonymize bound demands demo endorsement keygen pseudonym_key sign verify verify_bound",
        "tclose.run.engines": "CAPABILITIES Capability ENGINES Engine",
        "tclose.run.evaluation": "AttackRequest CompareRequest attack compare cost_curve detail trial_figures",
        "tclose.run.installation": "doctor",
        "tclose.run.knob": "Knob changed knobs",
        "tclose.run.pipeline": "publish",
        "tclose.run.preparation": "WorstClass allowed_by column_values files_kept hierarchy_rows hierarchy_text init "
        "look look_inside method_options methods preview_classes warm worst_allowed",
        "tclose.run.release_pair": "class_limits class_list class_reasons column_changes query_error",
        "tclose.run.request": "Request command_line remade",
        "tclose.run.study": "forget_files missing_in_profile",
        "tclose.sql": "DIALECTS sql_check",
        "tclose.table.sources.door": "sheet_names",
    }
)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        return attribute(__name__, _HOMES, name)
