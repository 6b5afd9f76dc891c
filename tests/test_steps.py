"""Every command as a function: tables and policies in any form, files that appear at once, work that can be stopped."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tclose
from tclose import Cancelled, InputError, Policy, PolicyError, steps
from tclose.measure.detail_kept import DETAIL_MEASURES
from tclose.measure.pair import TablePair
from tclose.run.pipeline import Page
from tclose.types import Repeating

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

    @property
    def phases(self) -> list[str]:
        """The phases, in the order in which they were named first."""
        return list(dict.fromkeys(phase for _, phase in self.heard if phase))


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
    asked = {"out": folder / "r.csv", "method": METHOD, "force": True, **files}
    return steps.anonymize(folder / "t.csv", folder / "p.toml", progress=progress, **asked)


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
    "explain": lambda folder, progress: steps.explain(
        folder / "t.csv", folder / "p.toml", attribute="pay", class_number=1, progress=progress
    ),
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


def test_no_heavy_work_follows_the_last_report(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("altair", reason="pip install 'tclose[report]'")
    from tclose.report import release_page
    from tclose.run import anonymization

    recorder, reports = Recorder(), dict[str, list[tuple[float, str]]]()

    def watch(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*given: Any, **named: Any) -> Any:
            assert recorder.heard[-1][0] < 1, f"{name} starts after the bar is full"
            before = len(recorder.heard)
            answer = work(*given, **named)
            reports[name] = recorder.heard[before:]
            return answer

        return watched

    monkeypatch.setattr(TablePair, "of", watch("Beside.of", TablePair.of))
    monkeypatch.setattr(anonymization, "attack_results", watch("attacked", anonymization.attack_results))
    monkeypatch.setattr(release_page, "detail_figures", watch("detail kept", release_page.detail_figures))
    monkeypatch.setattr(release_page, "release_page", watch("release_page", release_page.release_page))
    publish(folder, recorder, report=folder / "r.html")
    assert set(reports) == {"Beside.of", "attacked", "detail kept", "release_page"}
    assert all(reports.values())
    assert recorder.heard[-1] in reports["release_page"]


def test_every_phase_of_a_release_with_a_page_has_its_name(folder: Path) -> None:
    recorder = Recorder()
    page(folder, recorder)
    first = ["reading", "splitting", "recoding", "writing", "judging", "comparing with the original"]
    assert recorder.phases[:7] == [*first, "making a k-anonymous table"]
    assert recorder.phases[-6:] == ["drawing the page", *(measure.title for measure in DETAIL_MEASURES)]
    made = [phase for share, phase in recorder.heard if share > Page.shares.judged]
    assert "splitting" not in made, "the k-anonymous table has one phase"


def test_a_progress_repeats_its_last_share() -> None:
    recorder = Recorder()
    repeating = Repeating(recorder)
    repeating(0.5, "judging")
    repeating.beat()
    assert recorder.heard == [(0.5, "judging"), (0.5, "")]


@pytest.mark.parametrize("method", ["mondrian", "projections", "anatomy"])
@pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
def test_verifying_reports_and_can_be_stopped(folder: Path, method: str) -> None:
    options = {"base": "mondrian"} if method == "projections" else {}
    out, proof = folder / "r.csv", folder / "c.json"
    steps.anonymize(TABLE, folder / "p.toml", out=out, certificate=proof, method=method, options=options)
    recorder = Recorder()
    assert steps.verify(out, proof, progress=recorder).holds
    shares = [share for share, _ in recorder.heard]
    assert shares == sorted(shares)
    assert (recorder.phases, shares[-1]) == (["reading", "judging"], 1.0)
    for patience in range(len(shares)):
        with pytest.raises(Cancelled):
            steps.verify(out, proof, progress=Recorder(patience))


def test_writing_reporting_and_measuring_can_be_stopped(folder: Path) -> None:
    pytest.importorskip("altair", reason="pip install 'tclose[report]'")
    release = tclose.anonymize(TABLE, folder / "p.toml", method=METHOD)
    work: tuple[Callable[[Any], object], ...] = (
        lambda progress: release.write(folder / "r.csv", progress=progress),
        lambda progress: release.report(folder / "r.html", original=TABLE, progress=progress),
        lambda progress: steps.detail(release, original=TABLE, policy=folder / "p.toml", progress=progress),
    )
    for step in work:
        recorder = Recorder()
        step(recorder)
        shares = [share for share, _ in recorder.heard]
        assert shares == sorted(shares)
        assert (shares[0], 0 < shares[-1] <= 1) == (0.0, True)
        for path in (folder / "r.csv", folder / "r.html"):
            path.unlink(missing_ok=True)
        for patience in (0, 1, len(shares) - 1):
            with pytest.raises(Cancelled):
                step(Recorder(patience))
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
    assert steps.method_options("sabre:slack", {"near": "nearest"}) == {"near": "nearest", "slack": 0.1}
    with pytest.raises(PolicyError, match="has no option 'cut'"):
        steps.method_options("mondrian", {"cut": "relaxed"})


def test_a_draft(folder: Path) -> None:
    draft = steps.init(folder / "t.csv", out=folder / "draft.toml")
    assert (folder / "draft.toml").read_text() == draft.policy
    assert [guess.column for guess in draft.columns] == TABLE.columns
    with pytest.raises(InputError, match="exists already"):
        steps.init(TABLE, out=folder / "draft.toml")


def test_a_draft_is_written_whole_or_not_at_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.EFBIG, "File too large")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(InputError, match=r"^the draft cannot be written: File too large$"):
            steps.init(TABLE, out=folder / "draft.toml")
    assert names(folder) == {"t.csv", "p.toml"}
    steps.init(TABLE, out=folder / "draft.toml")
    (folder / "link.toml").symlink_to(folder / "nowhere.toml")
    with pytest.raises(InputError, match="exists already"):
        steps.init(TABLE, out=folder / "link.toml")


def test_cancelled_while_a_t_is_estimated_nothing_is_written(folder: Path) -> None:
    (folder / "p.toml").write_text(POLICY.replace("k = 2", "k = 24"))
    before, phase = names(folder), "estimating a t that keeps detail"

    def progress(share: float, name: str = "") -> None:
        if name == phase:
            raise Cancelled

    call = partial(steps.anonymize, folder / "t.csv", folder / "p.toml", out=folder / "r.csv", method=METHOD)
    with pytest.raises(Cancelled):
        call(progress=progress)
    assert names(folder) == before
    recorder = Recorder()
    publication = call(progress=recorder)
    assert phase in recorder.phases
    assert [share for share, _ in recorder.heard] == sorted(share for share, _ in recorder.heard)
    assert publication.lost[0].estimate is not None


def test_a_publication_says_what_remains_exposed(folder: Path) -> None:
    publication = steps.anonymize(folder / "t.csv", folder / "p.toml", out=folder / "r.csv", method=METHOD)
    assert publication.exposed == publication.release.exposed
    assert publication.to_dict()["exposed"] == [each.to_dict() for each in publication.exposed.figures]
    assert publication.lost == publication.release.lost == ()
    assert publication.warnings == ()


def test_the_demonstration(tmp_path: Path) -> None:
    shown = steps.demo(folder=tmp_path / "demo", rows=300, seed=1, method=METHOD)
    assert not shown.before.satisfied
    assert shown.verification.holds
    assert names(tmp_path / "demo") == {"hospital.csv", "policy.toml", "diagnosis.csv", "release.csv", "release.json"}


def test_detail_kept_and_a_downstream_model() -> None:
    policy = {"identifiers": ["name"], "quasi": ["age", "zone"], "sensitive": {"pay": {"t": 1}}}
    published = TABLE.select(pl.col("age").cast(str), "zone", "pay")
    kept = steps.detail(published, original=TABLE, policy=policy)
    expected = {"marginals": 1, "correlations": 0, "information": 1, "divergence": 0}
    assert {name: kept.figures[name] for name in expected} == expected
    assert kept.prediction is None
    assert kept.to_dict() == kept.figures
    assert "<td>higher</td>" in kept._repr_html_()
    pytest.importorskip("sklearn")
    prediction = steps.detail(published, original=TABLE, policy=policy, target="pay").prediction
    assert prediction is not None
    assert prediction.before == prediction.after


def test_detail_kept_takes_paths(folder: Path) -> None:
    publish(folder, Recorder())
    found = steps.detail(folder / "r.csv", original=str(folder / "t.csv"), policy=folder / "p.toml")
    assert found == steps.detail(pl.read_csv(folder / "r.csv"), original=TABLE, policy=folder / "p.toml")


def test_steps_need_no_terminal() -> None:
    code = "import sys, tclose.steps; assert not {'click', 'rich'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
