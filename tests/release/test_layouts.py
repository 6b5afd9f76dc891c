"""Releases of several tables: what is written and certified, what verify() sees, and when nothing is released."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tclose import (
    InputError,
    InternalError,
    LeakWarning,
    Policy,
    PolicyError,
    Release,
    Unsuited,
    Verification,
    anonymize,
    check,
    read,
    verify,
)
from tclose.release.certificate import digest_of
from tclose.release.files import sha256

pytestmark = [pytest.mark.filterwarnings("ignore::tclose.LeakWarning")]
CHANCE = np.random.default_rng(3)
ROWS = 60
FRAME = pl.DataFrame(
    {
        "name": [f"person {i}" for i in range(ROWS)],
        "age": CHANCE.integers(20, 80, ROWS),
        "batch": [f"b{i}" for i in range(ROWS)],
        "ward": CHANCE.choice(["a", "b"], ROWS),
        "pay": CHANCE.integers(1, 7, ROWS),
        "tax": CHANCE.integers(1, 7, ROWS),
        "ill": CHANCE.choice(["flu", "cold", "cut"], ROWS),
    }
)
ASKED: dict[str, Any] = {
    "identifiers": ["name"],
    "unlinkable": ["batch"],
    "quasi": ["age"],
    "keep": ["ward"],
    "sensitive": {"pay": {"t": 0.3}, "tax": {"t": 0.3}, "ill": {"t": 0.4, "l": 2}},
    "k": 2,
}
GROUPS = [["pay"], ["ill", "tax"]]
METHODS: dict[str, dict[str, Any]] = {"projections": {"groups": GROUPS}, "anatomy": {}}
FILES = {"projections": ["r-1.csv", "r-2.csv"], "anatomy": ["r.csv", "r-sensitive.csv"]}
both = pytest.mark.parametrize("method", METHODS)


def released(method: str, frame: Any = FRAME, asked: dict[str, Any] = ASKED, **options: Any) -> Release:
    return anonymize(frame, Policy.from_dict(asked), method=method, seed=1, **{**METHODS[method], **options})


@cache
def released_once(method: str) -> Release:
    """Return a release that several tests write: it takes longer to make than to write."""
    return released(method)


class Written:
    """A release and its certificate, as files."""

    def __init__(self, folder: Path, method: str, ending: str = "csv") -> None:
        self.folder, self.method = folder, method
        self.release = folder / f"r.{ending}"
        self.paper = folder / "c.json"
        self.proof = released_once(method).write(self.release, certificate=self.paper)

    def verify(self, release: str | Path | None = None) -> Verification:
        return verify(release or self.release, self.paper)

    def change(self, name: str, how: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
        how(read(self.folder / name)).write_csv(self.folder / name)

    def rewrite(self, change: Callable[[dict[str, Any]], object]) -> None:
        """Change the certificate and give it the digest that fits."""
        content = json.loads(self.paper.read_text())
        del content["digest"]
        change(content)
        self.paper.write_text(json.dumps({**content, "digest": digest_of(content)}))

    def trust(self) -> None:
        """Put the fingerprints of the files as they are into the certificate, as a forger would."""

        def sign(content: dict[str, Any]) -> None:
            for file in content["files"]:
                file["sha256"] = sha256((self.folder / file["name"]).read_bytes())
                file["rows"] = read(self.folder / file["name"]).height

        self.rewrite(sign)


@pytest.fixture(params=METHODS)
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Written:
    return Written(tmp_path, request.param)


# What is published


def test_projections_share_out_the_attributes() -> None:
    first, second = released("projections").tables
    assert first.columns == ["age", "batch", "ward", "pay"]  # what is unlinkable would link the rows of two tables
    assert second.columns == ["age", "ward", "tax", "ill"]
    for table in (first, second):
        for name in set(table.columns) - {"age"}:
            assert sorted(table[name]) == sorted(FRAME[name])
        assert table.rows() == sorted(table.rows())
    pairs = sorted(zip(FRAME["tax"], FRAME["ill"], strict=True))
    assert sorted(zip(second["tax"], second["ill"], strict=True)) == pairs


def test_each_projection_is_close_by_itself() -> None:
    for table, names in zip(released("projections").tables, GROUPS, strict=True):
        asked = {**ASKED, "unlinkable": [], "others": "drop"}
        asked["sensitive"] = {name: ASKED["sensitive"][name] for name in names}
        assert check(table, Policy.from_dict(asked)).satisfied


def test_more_tables_make_smaller_classes() -> None:
    """The closeness that diminishes with every further attribute is what projections are for."""
    alone = released("projections", groups=[["pay"], ["tax"], ["ill"]]).certificate.content
    together = released("projections", groups=[["pay", "tax", "ill"]]).certificate.content
    assert alone["measures"]["gcp"] < together["measures"]["gcp"]
    assert min(table["classes"] for table in alone["tables"]) == alone["classes"]


def test_how_many_projections() -> None:
    for tables in (1, 2, 3):
        found = released("projections", groups=None, tables=tables).certificate.content["tables"]
        assert sorted(name for table in found for name in table["sensitive"]) == ["ill", "pay", "tax"]
        assert len(found) == tables


@pytest.mark.parametrize("groups", [[["pay"]], [["pay"], ["tax", "ill", "pay"]], [["pay", "tax", "ill"], []]])
def test_groups_that_do_not_share_out(groups: list[list[str]]) -> None:
    with pytest.raises(PolicyError, match="every sensitive attribute exactly once"):
        released("projections", groups=groups)


@both
def test_nothing_sensitive_is_nothing_to_part(method: str) -> None:
    asked = {**ASKED, "sensitive": {}, "others": "drop"}
    with pytest.raises(Unsuited, match="names none"):
        anonymize(FRAME, Policy.from_dict(asked), method=method)


def test_an_anatomy_keeps_quasi_identifiers_exact() -> None:
    first, second = released("anatomy").tables
    assert first.columns == ["age", "batch", "ward", "group"]
    assert second.columns == ["group", "pay", "tax", "ill"]
    rows = zip(map(str, FRAME["age"]), FRAME["batch"], FRAME["ward"], strict=True)
    assert sorted(first.drop("group").rows()) == sorted(rows)
    assert sorted(second.drop("group").rows()) == sorted(FRAME["pay", "tax", "ill"].rows())
    assert first.rows() == sorted(first.rows())
    assert second.rows() == sorted(second.rows())


def test_the_groups_of_an_anatomy_are_its_classes() -> None:
    first, second = released("anatomy").tables
    group = dict(zip(first["batch"], first["group"], strict=True))
    joined = FRAME.with_columns(group=pl.Series([group[batch] for batch in FRAME["batch"]]))
    assert sorted(joined["group", "pay", "tax", "ill"].rows()) == second.rows()
    asked = {"quasi": ["group"], "keep": ["ward"], "sensitive": ASKED["sensitive"], "k": 2, "others": "drop"}
    found = check(joined, Policy.from_dict(asked))
    assert found.satisfied
    assert found.classes == len(set(first["group"])) > 4


def test_an_anatomy_codes_as_the_policy_says() -> None:
    asked = {**ASKED, "quasi": {"age": {"step": 10, "top": 70}}}
    content = released("anatomy", asked=asked).certificate.content
    first, _ = released("anatomy", asked=asked).tables
    assert set(first["age"]) <= {
        "≥70",
        *(f"[{low}, {low + 10}]" for low in range(20, 70, 10)),
        *map(str, range(20, 70, 10)),
    }
    assert 0 < content["measures"]["gcp"] < 1


def test_the_group_has_a_name_of_its_own() -> None:
    frame = FRAME.rename({"batch": "Group", "name": "group_2"})
    asked = {**ASKED, "unlinkable": ["Group"], "identifiers": ["group_2"]}
    release = released("anatomy", frame, asked)
    assert release.tables[0].columns == ["age", "Group", "ward", "group_3"]
    assert release.certificate.content["group"] == "group_3"


def test_group_numbers_do_not_tell_how_groups_came_about() -> None:
    """Groups of kept values stand one after the other when they are made; by number they do not."""
    first, _ = released("anatomy").tables
    wards = first.unique(["group", "ward"]).sort("group")["ward"].to_list()
    assert wards not in (sorted(wards), sorted(wards, reverse=True))


@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame, pa.Table])
@both
def test_tables_are_of_the_kind_that_was_given(method: str, kind: type) -> None:
    frame = {pl.DataFrame: FRAME, pd.DataFrame: FRAME.to_pandas(), pa.Table: FRAME.to_arrow()}[kind]
    assert [type(table) for table in released(method, frame).tables] == [kind, kind]


@both
def test_several_tables_are_not_one(method: str) -> None:
    with pytest.raises(InputError, match=r"this release has 2 tables: take \.tables"):
        _ = released(method).table


def test_one_table_is_the_first_of_one() -> None:
    release = anonymize(FRAME, Policy.from_dict(ASKED))
    assert len(release.tables) == 1
    assert release.tables[0].equals(release.table)


# What the certificate says


def test_the_certificate_of_projections(tmp_path: Path) -> None:
    content = Written(tmp_path, "projections").proof.content
    assert set(content) == {
        "format", "version", "tool", "created", "table", "method", "base", "scope", "policy", "rows", "withheld",
        "guarantee", "classes", "smallest_class", "satisfied", "loss", "measures", "sensitive", "models", "files",
        "counted", "tables", "cells",
    }  # fmt: skip
    assert [(file["name"], file["rows"]) for file in content["files"]] == [
        (name, ROWS) for name in FILES["projections"]
    ]
    assert [list(table["sensitive"]) for table in content["tables"]] == [["pay"], ["tax", "ill"]]
    assert set(content["sensitive"]) == {"pay", "tax", "ill"}
    assert "on its own" in content["scope"]
    for key, least in (("classes", min), ("smallest_class", min)):
        assert content[key] == least(table[key] for table in content["tables"])
    gcp = [table["measures"]["gcp"] for table in content["tables"]]
    assert content["measures"]["gcp"] == pytest.approx(sum(gcp) / 2, abs=1e-4)
    assert content["loss"] == {"name": "gcp", "value": content["measures"]["gcp"]}
    assert [found["model"] for found in content["models"]].count("k") == 1


def test_the_certificate_of_an_anatomy(tmp_path: Path) -> None:
    content = Written(tmp_path, "anatomy").proof.content
    assert set(content) == {
        "format", "version", "tool", "created", "table", "method", "identity_protected", "files",
        "guarantee", "scope", "group", "policy", "rows", "withheld", "counted",
        "classes", "smallest_class", "satisfied", "measures", "sensitive", "models", "tables", "cells",
    }  # fmt: skip
    assert content["identity_protected"] is False
    assert "not hidden" in content["scope"]
    assert [(file["name"], file["rows"]) for file in content["files"]] == [(name, ROWS) for name in FILES["anatomy"]]
    assert content["tables"] == [{"holds": "quasi-identifiers"}, {"holds": "sensitive values"}]
    assert content["measures"]["gcp"] == 0
    assert content["measures"]["sse"] == 0
    _, values = released("anatomy").tables
    sizes = values["group"].value_counts()["count"]
    assert content["measures"]["discernibility"] == sum(size**2 for size in sizes)
    errors = []
    for name in ("pay", "tax", "ill"):  # s·(1 − Σp²) over each group
        groups = (group for _, group in values.group_by("group"))
        errors += [g.height - sum(n**2 for n in g[name].value_counts()["count"]) / g.height for g in groups]
    assert content["measures"]["reconstruction_error"] == pytest.approx(sum(errors) / 3 / ROWS, abs=1e-4)


@pytest.mark.filterwarnings("default::tclose.LeakWarning")
def test_an_anatomy_warns_that_identity_is_not_protected() -> None:
    with pytest.warns(LeakWarning, match="who is in the table is not hidden"):
        anonymize(FRAME, Policy.from_dict(ASKED), method="anatomy")


@both
def test_a_certificate_without_files_has_the_fingerprints_of_the_csv(method: str, tmp_path: Path) -> None:
    release = released(method)
    proof = release.write(tmp_path / "release.csv", certificate=tmp_path / "c.json")
    assert release.certificate == proof


@both
def test_the_same_seed_gives_the_same_bytes(method: str, tmp_path: Path) -> None:
    found = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        released(method).write(folder / "r.csv", certificate=folder / "c.json")
        found.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert found[0] == found[1]
    assert set(found[0]) == {*FILES[method], "c.json"}


# verify()


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
@both
def test_what_is_written_verifies(method: str, ending: str, tmp_path: Path) -> None:
    written = Written(tmp_path, method, ending)
    names = [file["name"] for file in written.proof.content["files"]]
    for release in (written.release, *(tmp_path / name for name in names)):
        found = written.verify(release)
        assert found.problems == ()
        assert found.result is not None
        assert found.to_dict()["files"] == names
        assert found.to_dict().get("identity_protected", True) == (method == "projections")


def test_verified_from_the_folder_of_the_files(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(written.folder)
    assert written.verify(written.release.name).holds


@pytest.mark.parametrize("place", [0, 1])
def test_any_changed_file_is_found(written: Written, place: int) -> None:
    name = FILES[written.method][place]
    data = (written.folder / name).read_bytes()
    (written.folder / name).write_bytes(data + data.splitlines(keepends=True)[-1])
    problems = written.verify().problems
    assert any(problem.startswith(f"{name}: ") and "SHA-256" in problem for problem in problems)
    assert len(problems) > 1  # a row more is found by judging, too


@pytest.mark.parametrize("place", [0, 1])
def test_a_missing_file_is_found(written: Written, place: int) -> None:
    name = FILES[written.method][place]
    (written.folder / name).unlink()
    found = written.verify()
    assert any(f"there is no file {name}" in problem for problem in found.problems)
    assert found.result is None


def test_no_file_at_all(written: Written) -> None:
    for name in FILES[written.method]:
        (written.folder / name).unlink()
    with pytest.raises(InputError, match="there is no file"):
        written.verify()


def test_files_that_changed_places(written: Written) -> None:
    one, other = (written.folder / name for name in FILES[written.method])
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    assert sum("SHA-256" in problem for problem in written.verify().problems) == 2
    written.trust()
    assert not written.verify().holds


def test_another_release_is_not_vouched_for(written: Written) -> None:
    (written.folder / "other.csv").write_text("age,pay\n1,2\n")
    assert any("not of other.csv" in problem for problem in written.verify(written.folder / "other.csv").problems)


def test_sorted_sensitive_values_are_not_close(written: Written) -> None:
    """Even when the forger mends every fingerprint and the digest."""
    name = FILES[written.method][1]
    written.change(name, lambda frame: frame.with_columns(pl.col("tax").sort()))
    written.trust()
    assert any("'tax'" in problem for problem in written.verify().problems)


FORGED: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "rows": (lambda c: c.update(rows=c["rows"] + 1), "rows"),
    "classes": (lambda c: c.update(classes=c["classes"] + 1), "classes"),
    "closeness": (lambda c: c["sensitive"]["tax"].update(closeness_exact="0/1"), "'tax'"),
}


@pytest.mark.parametrize("forged", FORGED)
def test_what_the_certificate_says_of_all_is_checked(written: Written, forged: str) -> None:
    change, word = FORGED[forged]
    written.rewrite(change)
    assert any(word in problem for problem in written.verify().problems)


def test_what_the_certificate_says_of_one_projection_is_checked(tmp_path: Path) -> None:
    written = Written(tmp_path, "projections")
    written.rewrite(lambda content: content["tables"][1].update(classes=1))
    assert any(problem.startswith("r-2.csv: ") for problem in written.verify().problems)


def test_an_attribute_less(tmp_path: Path) -> None:
    written = Written(tmp_path, "projections")
    written.change("r-2.csv", lambda frame: frame.drop("ill"))
    written.rewrite(lambda content: content["tables"][1]["sensitive"].pop("ill"))
    written.trust()
    assert any("every sensitive attribute exactly once" in problem for problem in written.verify().problems)


def test_an_attribute_that_the_policy_does_not_have(tmp_path: Path) -> None:
    written = Written(tmp_path, "projections")
    written.rewrite(lambda content: content["tables"][1]["sensitive"].update(other={}))
    assert any("not in the policy" in problem for problem in written.verify().problems)


def test_projections_of_different_rows(tmp_path: Path) -> None:
    written = Written(tmp_path, "projections")
    written.change("r-2.csv", lambda frame: pl.concat([frame, frame]))
    written.trust()
    assert any("equally many rows" in problem for problem in written.verify().problems)


@pytest.mark.parametrize(
    ("how", "word"),
    [
        (lambda frame: frame.with_columns(pl.col("group").shuffle(seed=1)), "kept"),
        (lambda frame: frame.with_columns(group=pl.lit("1")), "same rows"),
        (lambda frame: frame.with_columns(ssn=pl.lit("1")), "columns"),
        (lambda frame: frame.drop("group"), "columns"),
    ],
)
def test_quasi_identifiers_that_do_not_fit(tmp_path: Path, how: Any, word: str) -> None:
    written = Written(tmp_path, "anatomy")
    written.change("r.csv", how)
    written.trust()
    assert any(word in problem for problem in written.verify().problems)


@both
def test_a_policy_that_cannot_be_used_and_a_name_that_no_file_has_are_problems(method: str, tmp_path: Path) -> None:
    written = Written(tmp_path, method)
    written.rewrite(lambda content: content["policy"]["sensitive"]["pay"].update(tt=1))
    assert any("unknown key 'tt'" in problem for problem in written.verify().problems)
    written.rewrite(lambda content: content["files"][1].update(name="x" * 300))
    assert any("there is no file xxx" in problem for problem in written.verify().problems)


def test_an_anatomy_must_say_what_it_does_not_protect(tmp_path: Path) -> None:
    written = Written(tmp_path, "anatomy")
    written.rewrite(lambda content: content.update(identity_protected=True))
    assert any("identity" in problem for problem in written.verify().problems)


MALFORMED: dict[str, Callable[[dict[str, Any]], object]] = {
    "a path": lambda c: c["files"][0].update(name="../r-1.csv"),
    "a path of Windows": lambda c: c["files"][0].update(name="..\\r-1.csv"),
    "a drive of Windows": lambda c: c["files"][0].update(name="C:r-1.csv"),
    "an absolute path": lambda c: c["files"][0].update(name="/etc/passwd"),
    "the folder": lambda c: c["files"][0].update(name=".."),
    "an empty name": lambda c: c["files"][0].update(name=""),
    "NUL": lambda c: c["files"][0].update(name="r\0.csv"),
    "no name": lambda c: c["files"][0].pop("name"),
    "a name that is null": lambda c: c["files"][0].update(name=None),
    "a number": lambda c: c["files"][0].update(name=7),
    "a list": lambda c: c["files"][0].update(name=["r-1.csv"]),
    "a name twice": lambda c: c["files"][1].update(name=c["files"][0]["name"]),
    "a name twice, in capitals": lambda c: c["files"][1].update(name=c["files"][0]["name"].upper()),
    "negative rows": lambda c: c["files"][0].update(rows=-1),
    "rows that are no number": lambda c: c["files"][0].update(rows=float("nan")),
    "rows without an end": lambda c: c["files"][0].update(rows=float("inf")),
    "half a row": lambda c: c["files"][0].update(rows=0.5),
    "true rows": lambda c: c["files"][0].update(rows=True),
    "rows as text": lambda c: c["files"][0].update(rows="60"),
    "no rows": lambda c: c["files"][0].pop("rows"),
    "a fingerprint that is a number": lambda c: c["files"][0].update(sha256=7),
    "no fingerprint": lambda c: c["files"][0].pop("sha256"),
    "no files": lambda c: c.update(files=[]),
    "files that are none": lambda c: c.update(files=None),
    "files by name": lambda c: c.update(files={file["name"]: file for file in c["files"]}),
    "a file that is text": lambda c: c.update(files=["r-1.csv", "r-2.csv"]),
    "a file too many": lambda c: c["files"].append({"name": "r-3.csv", "rows": 60, "sha256": "0" * 64}),
    "a table too many": lambda c: c["tables"].append({}),
    "no tables": lambda c: c.update(tables=[]),
    "tables that are none": lambda c: c.update(tables=None),
    "a table that is text": lambda c: c.update(tables=["r-1.csv"]),
    "attributes that are a number": lambda c: c["tables"][0].update(sensitive=1),
    "a group that is a number": lambda c: c.update(group=1),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_a_certificate_names_files_and_nothing_else(written: Written, what: str) -> None:
    written.rewrite(MALFORMED[what])
    with pytest.raises(InputError, match="is not a certificate of tclose"):
        written.verify()


# When nothing is released


@both
def test_a_file_that_changed_on_its_way_is_caught(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The judges read the finished files: should the second go wrong, there is neither."""
    release = released(method)
    bad = release.tables[1].with_columns(pl.col("tax").sort())

    def write(frame: pl.DataFrame, kind: str, file: Any) -> None:
        (bad if "tax" in frame.columns else frame).write_csv(file)

    monkeypatch.setattr("tclose.release.output.write_table", write)
    with pytest.raises(InternalError, match="not released"):
        release.write(tmp_path / "r.csv", certificate=tmp_path / "c.json", record=tmp_path / "seed")
    assert list(tmp_path.iterdir()) == []


def test_tables_that_do_not_fit_together_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = released("anatomy")
    bad = release.tables[0].with_columns(pl.col("group").reverse())

    def write(frame: pl.DataFrame, kind: str, file: Any) -> None:
        (frame if "tax" in frame.columns else bad).write_csv(file)

    monkeypatch.setattr("tclose.release.output.write_table", write)
    with pytest.raises(InternalError, match="do not fit together"):
        release.write(tmp_path / "r.csv")
    assert list(tmp_path.iterdir()) == []


@both
@pytest.mark.parametrize("step", [1, 2, 3, 4])
def test_a_name_that_cannot_be_given_takes_the_others_back(
    method: str, step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, replace, steps = released_once(method), os.replace, 0

    def failing(*names: Any) -> None:
        nonlocal steps
        steps += 1
        if steps == step:
            raise OSError(28, "No space left on device")
        replace(*names)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(OSError, match="No space left"):
        release.write(tmp_path / "r.csv", certificate=tmp_path / "c.json", record=tmp_path / "seed")
    assert list(tmp_path.iterdir()) == []


@both
def test_the_certificate_gets_its_name_first_and_the_first_table_last(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, replace, order = released_once(method), os.replace, []

    def watched(source: Any, target: Any) -> None:
        order.append(Path(target).name)
        replace(source, target)

    monkeypatch.setattr(os, "replace", watched)
    release.write(tmp_path / "r.csv", certificate=tmp_path / "c.json", record=tmp_path / "seed")
    assert order == ["seed", "c.json", *reversed(FILES[method])]


@both
def test_interrupted_at_every_step_of_writing(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Either nothing has changed, or it was too late and everything is there."""
    release, targets = released(method), {*FILES[method], "c.json"}
    last = steps = 0

    def watched(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **more: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps == last:
                os.kill(os.getpid(), signal.SIGINT)
            return original(*given, **more)

        return call

    def write() -> bool:
        try:
            release.write(tmp_path / "r.csv", certificate=tmp_path / "c.json")
        except KeyboardInterrupt:
            return False
        return True

    for name in ("open", "fsync", "replace", "chmod"):
        monkeypatch.setattr(os, name, watched(getattr(os, name)))
    assert write()
    total, whole = steps, []
    for last in range(1, total + 1):  # noqa: B007 - watched() looks at it
        for name in targets:
            (tmp_path / name).write_text("old")
        steps = 0
        whole.append(write())
        found = {path.name: path.read_text() for path in tmp_path.iterdir()}
        assert set(found) == targets
        assert {text == "old" for text in found.values()} == {not whole[-1]}
    assert set(whole) == {False, True}


@both
def test_every_file_is_checked_before_any_is_written(method: str, tmp_path: Path) -> None:
    (tmp_path / FILES[method][1]).mkdir()
    with pytest.raises(InputError, match="is a folder"):
        released(method).write(tmp_path / "r.csv", certificate=tmp_path / "c.json")
    with pytest.raises(InputError, match="the same name"):
        released(method).write(tmp_path / "q.csv", certificate=tmp_path / FILES[method][1].replace("r", "q", 1))
    assert [path.name for path in tmp_path.iterdir()] == [FILES[method][1]]


@pytest.mark.filterwarnings("default::tclose.LeakWarning")
def test_a_table_of_an_earlier_release_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "r-3.csv").write_text("old")
    release = anonymize(
        FRAME.drop("batch"), Policy.from_dict({**ASKED, "unlinkable": []}), method="projections", tables=2
    )
    with pytest.warns(LeakWarning, match=r"r-3\.csv is of an earlier release"):
        release.write(tmp_path / "r.csv")
    assert (tmp_path / "r-3.csv").read_text() == "old"


# What no output may hold


@both
def test_identifiers_and_withheld_rows_appear_nowhere(method: str, tmp_path: Path) -> None:
    secret = pl.DataFrame(
        {**{name: FRAME[name][:1] for name in FRAME.columns}, "ward": ["z"], "ill": ["a secret disease"]}
    )
    frame = pl.concat([FRAME, secret.with_columns(name=pl.lit("Ann Example"))])
    release = released(method, frame, {**ASKED, "suppress": 0.1})
    assert release.certificate.content["withheld"] == 1
    for ending in ("csv", "parquet", "arrow"):
        release.write(tmp_path / f"r.{ending}", certificate=tmp_path / f"{ending}.json", record=tmp_path / "seed")
    assert len(list(tmp_path.iterdir())) == 10
    for path in tmp_path.iterdir():
        for text in ("Ann Example", "a secret disease", "person 1"):
            assert text.encode() not in path.read_bytes(), path.name


@both
def test_persons_are_counted_in_every_table(method: str, tmp_path: Path) -> None:
    frame = FRAME.with_columns(name=pl.Series([f"p{i % 20}" for i in range(ROWS)]))
    release = released(method, frame, {**ASKED, "person": "name"})
    assert release.certificate.content["counted"] == "persons"
    release.write(tmp_path / "r.csv", certificate=tmp_path / "c.json")
    assert verify(tmp_path / "r.csv", tmp_path / "c.json").holds
