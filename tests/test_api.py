"""The public surface: what is listed here is promised, and nothing else."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tclose

PUBLIC = [
    "Attacks",
    "AttributeFinding",
    "Cancelled",
    "Certificate",
    "CheckResult",
    "Comparison",
    "DetailKept",
    "Estimate",
    "Explanation",
    "Infeasible",
    "InputError",
    "InternalError",
    "LeakWarning",
    "LoadedRelease",
    "LowerBound",
    "MissingExtra",
    "ModelFinding",
    "NotebookProgress",
    "Policy",
    "PolicyError",
    "Progress",
    "Quasi",
    "Regression",
    "Release",
    "Sensitive",
    "TcloseError",
    "Unsuited",
    "Verification",
    "__version__",
    "anonymize",
    "attack",
    "bound",
    "check",
    "compare",
    "detail",
    "explain",
    "load",
    "read",
    "sql_check",
    "verify",
]
FUNCTIONS = [name for name in PUBLIC if inspect.isfunction(getattr(tclose, name))]
SEED = 918273645
TABLE = pl.DataFrame(
    {
        "name": [f"person <{i}>" for i in range(16)],
        "age": [20 + i for i in range(16)],
        "<b>pay</b>": [i % 4 for i in range(16)],
    }
)
POLICY = """
identifiers = ["name"]
k = 2
[quasi.age]
[sensitive."<b>pay</b>"]
t = 0.5
"""


def test_the_public_names_are_frozen() -> None:
    assert tclose.__all__ == PUBLIC


def test_every_public_name_is_there_and_says_what_it_is() -> None:
    for name in tclose.__all__:
        assert getattr(tclose, name).__doc__, name


def test_every_public_function_shows_an_example() -> None:
    assert FUNCTIONS == [
        "anonymize",
        "attack",
        "bound",
        "check",
        "compare",
        "detail",
        "explain",
        "load",
        "read",
        "sql_check",
        "verify",
    ]
    for name in FUNCTIONS:
        assert ">>> " in str(getattr(tclose, name).__doc__), name


def test_the_version_is_that_of_the_distribution() -> None:
    assert tclose.__version__ == version("tclose")


def test_errors_form_one_tree() -> None:
    for error in (tclose.InputError, tclose.PolicyError, tclose.MissingExtra, tclose.Infeasible, tclose.InternalError):
        assert issubclass(error, tclose.TcloseError)
    statuses = {error.exit_status for error in (tclose.InputError, tclose.PolicyError, tclose.MissingExtra)}
    assert statuses == {2}
    assert (tclose.Infeasible.exit_status, tclose.InternalError.exit_status) == (1, 70)
    assert tclose.Cancelled().exit_status == 130
    assert issubclass(tclose.LeakWarning, UserWarning)


# A policy in any form

GIVEN: dict[str, Callable[[Path], Any]] = {
    "policy": tclose.Policy.load,
    "mapping": lambda path: tomllib.loads(path.read_text()),
    "path": lambda path: path,
    "text": str,
}


@pytest.fixture
def policy_file(tmp_path: Path) -> Path:
    (tmp_path / "p.toml").write_text(POLICY)
    return tmp_path / "p.toml"


def release_of(policy: Any) -> tclose.Release:
    with pytest.warns(tclose.LeakWarning, match="seed"):
        return tclose.anonymize(TABLE, policy, method="mondrian", seed=SEED)


@pytest.mark.parametrize("form", GIVEN)
def test_every_function_takes_a_policy_in_any_form(policy_file: Path, form: str) -> None:
    policy = GIVEN[form](policy_file)
    assert not tclose.check(TABLE, policy).satisfied
    assert tclose.explain(TABLE, policy, attribute="<b>pay</b>", class_number=1).rows == 1
    release = release_of(policy)
    assert tclose.attack(release, original=TABLE, policy=policy).k == 2
    assert tclose.detail(release, original=TABLE, policy=policy).figures["marginals"]
    assert tclose.Policy.of(policy) == tclose.Policy.load(policy_file)


def test_compare_takes_a_policy_in_any_form(policy_file: Path) -> None:
    assert tclose.compare(TABLE, str(policy_file), methods=["mondrian:strict"], detail=True).trials[0].detail


# What objects show of themselves


def shown(policy: Any) -> dict[str, Any]:
    release = release_of(policy)
    trial = tclose.compare(TABLE, policy, methods=["mondrian:strict", "kanonymity"])
    return {
        "check": tclose.check(TABLE, policy),
        "release": release,
        "attacks": tclose.attack(release, original=TABLE, policy=policy),
        "comparison": trial,
        "detail": tclose.detail(release, original=TABLE, policy=policy),
        "bound": tclose.bound(TABLE, policy, seconds=1),
        "explanation": tclose.explain(TABLE, policy, attribute="<b>pay</b>", class_number=1),
        "certificate": release.certificate,
    }


def test_what_objects_show_holds_no_seed_no_person_and_no_identifier(policy_file: Path) -> None:
    for name, each in shown(tclose.Policy.load(policy_file)).items():
        page = each._repr_html_()
        assert page.startswith("<table>")
        for markup in ("<b>", "<script", "http", "src="):
            assert markup not in page, name
        for secret in (str(SEED), "person", "name"):
            assert secret not in page + (repr(each) if name in ("release", "check", "bound") else ""), name


def test_a_verification_shows_its_verdict_and_every_problem(policy_file: Path, tmp_path: Path) -> None:
    release, certificate = tmp_path / "r.csv", tmp_path / "c.json"
    release_of(policy_file).write(release, certificate=certificate)
    shown = tclose.verify(release, certificate)._repr_html_()
    assert "The release is the one that was certified, and it meets its policy." in shown
    release.write_text(release.read_text().replace("20", "<i>"))
    verification = tclose.verify(release, certificate)
    shown = verification._repr_html_()
    assert "The release is not what is certified." in shown
    assert shown.count("<td>problem</td>") == len(verification.problems) > 0
    assert "<i>" not in shown


def test_a_release_says_how_large_it_is_and_how_it_was_made(policy_file: Path) -> None:
    release = release_of(policy_file)
    words = f"16 rows in {release.results[0].classes} classes"
    for text in (repr(release), str(release), release._repr_html_()):
        assert words in text
        assert "mondrian" in text
    assert "≤ 0.5" in release._repr_html_()


def test_a_comparison_writes_a_page(policy_file: Path, tmp_path: Path) -> None:
    pytest.importorskip("altair", reason="pip install 'tclose[report]'")
    tclose.compare(TABLE, policy_file, methods=["mondrian:strict"]).report(tmp_path / "c.html")
    assert "mondrian:strict keeps the most detail" in (tmp_path / "c.html").read_text(encoding="utf-8")


def test_attributes_of_version_0_1_stay(policy_file: Path) -> None:
    with pytest.warns(tclose.LeakWarning, match="guesses the seed"):
        release = tclose.anonymize(TABLE, policy_file, method="mondrian", seed=5)
    assert (release.seed, release.kind) == (5, "polars")
    attacks = tclose.attack(release, original=TABLE, policy=policy_file)
    assert attacks.comparisons == attacks.results
