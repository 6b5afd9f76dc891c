"""The public surface: what is listed here is promised, and nothing else."""

import tclose

PUBLIC = [
    "Attacks",
    "AttributeFinding",
    "Cancelled",
    "Certificate",
    "CheckResult",
    "Comparison",
    "DetailKept",
    "Explanation",
    "Infeasible",
    "InputError",
    "InternalError",
    "LeakWarning",
    "MissingExtra",
    "ModelFinding",
    "Policy",
    "PolicyError",
    "Progress",
    "Quasi",
    "Release",
    "Sensitive",
    "TcloseError",
    "Unsuited",
    "Verification",
    "__version__",
    "anonymize",
    "attack",
    "check",
    "compare",
    "detail",
    "explain",
    "read",
    "verify",
]


def test_the_public_names_are_frozen() -> None:
    assert tclose.__all__ == PUBLIC


def test_every_public_name_is_there_and_says_what_it_is() -> None:
    for name in tclose.__all__:
        assert getattr(tclose, name).__doc__, name


def test_errors_form_one_tree() -> None:
    for error in (tclose.InputError, tclose.PolicyError, tclose.MissingExtra, tclose.Infeasible, tclose.InternalError):
        assert issubclass(error, tclose.TcloseError)
    statuses = {error.exit_status for error in (tclose.InputError, tclose.PolicyError, tclose.MissingExtra)}
    assert statuses == {2}
    assert (tclose.Infeasible.exit_status, tclose.InternalError.exit_status) == (1, 70)
    assert issubclass(tclose.LeakWarning, UserWarning)
