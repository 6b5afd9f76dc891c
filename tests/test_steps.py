"""Every command as a function: tables and policies in any form, files that appear at once, work that can be stopped."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tclose import Cancelled, InputError, Policy, PolicyError, steps

TABLE = pl.DataFrame(
    {
        "name": [f"person {i}" for i in range(24)],
        "age": [20 + i for i in range(24)],
        "zone": list("abcd") * 6,
        "pay": [i % 4 for i in range(24)],
    }
)
POLICY = 'identifiers = ["name"]\nk = 2\n[quasi.age]\n[quasi.zone]\n[sensitive.pay]\nt = 0.3\n'
METHOD = "mondrian"  # has no kernels


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    TABLE.write_csv(tmp_path / "t.csv")
    (tmp_path / "p.toml").write_text(POLICY)
    return tmp_path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


class Recorder:
    """A progress that remembers what it heard, and cancels when it has heard enough."""

    def __init__(self, patience: int = sys.maxsize) -> None:
        self.heard: list[tuple[float, str]] = []
        self.patience = patience

    def __call__(self, share: float, phase: str = "") -> None:
        if len(self.heard) == self.patience:
            raise Cancelled
        self.heard.append((share, phase))


def test_tables_and_policies_in_any_form(folder: Path) -> None:
    given = tomllib.loads(POLICY)
    tables = (TABLE, TABLE.to_pandas(), TABLE.to_arrow(), folder / "t.csv", str(folder / "t.csv"))
    policies = (Policy.from_dict(given), given, folder / "p.toml", str(folder / "p.toml"))
    found = {str(steps.check(table, policies[0]).to_dict()) for table in tables}
    found |= {str(steps.check(TABLE, policy).to_dict()) for policy in policies}
    assert len(found) == 1
    wrong: Any = 5
    with pytest.raises(PolicyError, match="expected a Policy, a mapping or the path of a policy file, not a number"):
        steps.check(TABLE, wrong)


def publish(folder: Path, progress: Any, **more: Any) -> steps.Publication:
    files = {"certificate": folder / "c.json", "record": folder / "seed.json", **more}
    return steps.anonymize(
        folder / "t.csv", folder / "p.toml", out=folder / "r.csv", method=METHOD, progress=progress, **files
    )


def test_a_release_with_everything_that_a_terminal_shows(folder: Path) -> None:
    publication = publish(folder, Recorder())
    assert publication.files == (folder / "r.csv",)
    assert publication.certificate_file == folder / "c.json"
    assert publication.to_dict()["release"] == str(folder / "r.csv")
    assert publication.to_dict()["digest"] == publication.certificate.digest
    assert steps.verify(folder / "r.csv", folder / "c.json", digest=publication.certificate.digest).holds
    assert names(folder) == {"t.csv", "p.toml", "r.csv", "c.json", "seed.json"}


def test_progress_rises_from_0_to_at_most_1(folder: Path) -> None:
    for work in WORK.values():
        recorder = Recorder()
        work(folder, recorder)
        shares = [share for share, _ in recorder.heard]
        assert shares == sorted(shares)
        assert (shares[0], shares[-1] <= 1) == (0.0, True)
        assert recorder.heard[0][1], "the first phase has a name"


def attack(folder: Path, progress: Any) -> object:
    release = TABLE.select(pl.lit("[20, 43]").alias("age"), pl.lit("{a, b, c, d}").alias("zone"), "pay")
    return steps.attack(release, original=folder / "t.csv", policy=folder / "p.toml", progress=progress)


def page(folder: Path, progress: Any) -> object:
    pytest.importorskip("altair", reason="pip install 'tclose[report]'")
    return publish(folder, progress, report=folder / "r.html")


def compare(folder: Path, progress: Any) -> object:
    return steps.compare(folder / "t.csv", folder / "p.toml", methods=["mondrian:strict"], progress=progress)


WORK: dict[str, Callable[[Path, Any], object]] = {
    "check": lambda folder, progress: steps.check(folder / "t.csv", folder / "p.toml", progress=progress),
    "anonymize": publish,
    "anonymize with a page": page,
    "attack": attack,
    "compare": compare,
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_cancelled_at_any_report_nothing_is_left_behind(folder: Path, work: Callable[[Path, Any], object]) -> None:
    recorder = Recorder()
    work(folder, recorder)
    for name in names(folder) - {"t.csv", "p.toml"}:
        (folder / name).unlink()
    reports = len(recorder.heard)
    for patience in sorted({0, 1, reports // 2, reports - 1}) if work is not compare else (1,):
        with pytest.raises(Cancelled) as cancelled:
            work(folder, Recorder(patience))
        assert cancelled.value.exit_status == 130
        assert names(folder) == {"t.csv", "p.toml"}


def test_files_are_refused_before_the_work_begins(folder: Path) -> None:
    recorder = Recorder()
    with pytest.raises(InputError, match="is read and would be overwritten"):
        publish(folder, recorder, report=folder / "p.toml")
    with pytest.raises(InputError, match="a release is written as"):
        steps.anonymize(TABLE, folder / "p.toml", out=folder / "r.txt", progress=recorder)
    assert recorder.heard == []


def test_methods_and_their_options() -> None:
    assert steps.methods()[steps.DEFAULT_METHOD].year == 2026
    assert steps.method_options("mondrian", {"cuts": "relaxed"}) == {"cuts": "relaxed"}
    with pytest.raises(PolicyError, match="has no option 'cut'"):
        steps.method_options("mondrian", {"cut": "relaxed"})


def test_a_draft(folder: Path) -> None:
    draft = steps.init(folder / "t.csv", out=folder / "draft.toml")
    assert (folder / "draft.toml").read_text() == draft.policy
    assert [guess.column for guess in draft.columns] == TABLE.columns
    with pytest.raises(InputError, match="exists already"):
        steps.init(TABLE, out=folder / "draft.toml")


def test_the_demonstration(tmp_path: Path) -> None:
    shown = steps.demo(folder=tmp_path / "demo", rows=300, seed=1, method=METHOD)
    assert not shown.before.satisfied
    assert shown.verification.holds
    assert names(tmp_path / "demo") == {"hospital.csv", "policy.toml", "diagnosis.csv", "release.csv", "release.json"}


def test_detail_kept_and_a_downstream_model() -> None:
    policy = {"identifiers": ["name"], "quasi": ["age", "zone"], "sensitive": {"pay": {"t": 1}}}
    published = TABLE.select(pl.col("age").cast(str), "zone", "pay")
    kept = steps.detail(published, original=TABLE, policy=policy)
    assert kept.figures == {"marginals": 1, "correlations": 0, "information": 1, "divergence": 0}
    assert kept.prediction is None
    assert kept.to_dict() == kept.figures
    assert "<td>higher</td>" in kept._repr_html_()
    pytest.importorskip("sklearn")
    prediction = steps.detail(published, original=TABLE, policy=policy, target="pay").prediction
    assert prediction is not None
    assert prediction.before == prediction.after


def test_steps_need_no_terminal() -> None:
    code = "import sys, tclose.steps; assert not {'click', 'rich'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
