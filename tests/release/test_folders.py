"""Releases in parts: a folder of Parquet files is written, certified and verified as a whole."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose import InputError, Policy, Release, Verification, anonymize, read, steps, verify
from tclose.release import files
from tclose.release.certificate import digest_of
from tclose.release.files import sha256

pytestmark = pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
CHANCE = np.random.default_rng(5)
ROWS = 50
FRAME = pl.DataFrame(
    {
        "age": CHANCE.integers(20, 80, ROWS),
        "ward": CHANCE.choice(["a", "b"], ROWS),
        "pay": CHANCE.integers(1, 7, ROWS),
        "ill": CHANCE.choice(["flu", "=cold", "cut"], ROWS),
    }
)
ASKED: dict[str, Any] = {
    "quasi": ["age"],
    "keep": ["ward"],
    "sensitive": {"pay": {"t": 0.3}, "ill": {"t": 0.4}},
    "k": 2,
}
NAMES = ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]


def released(method: str = "mondrian") -> Release:
    base = {"base": "mondrian"} if method == "permutation" else {}
    return anonymize(FRAME, Policy.from_dict(ASKED), method=method, seed=1, **base)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    released().write(folder / "r.parquet", certificate=folder / "c.json", part_rows=20)
    released().write(folder / "whole.parquet", certificate=folder / "whole.json")
    return folder


class Written:
    """A release in parts and its certificate, which tests may change."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.paper = folder / "r.parquet", folder / "c.json"

    def verify(self) -> Verification:
        return verify(self.folder, self.paper)

    @property
    def content(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.paper.read_text())
        return found

    def rewrite(self, change: Callable[[dict[str, Any]], object]) -> None:
        content = self.content
        del content["digest"]
        change(content)
        self.paper.write_text(json.dumps({**content, "digest": digest_of(content)}))


@pytest.fixture
def written(made: Path, tmp_path: Path) -> Written:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return Written(tmp_path)


# What is written


def test_parts_hold_the_rows_of_the_release_in_their_order(made: Path) -> None:
    assert sorted(path.name for path in (made / "r.parquet").iterdir()) == NAMES
    assert [read(made / "r.parquet" / name).height for name in NAMES] == [20, 20, 10]
    assert read(made / "r.parquet").equals(read(made / "whole.parquet"))
    parts, whole = (json.loads((made / name).read_text()) for name in ("c.json", "whole.json"))
    assert parts["files"] == [
        {"name": name, "rows": rows, "sha256": sha256((made / "r.parquet" / name).read_bytes())}
        for name, rows in zip(NAMES, (20, 20, 10), strict=True)
    ]
    assert {k: v for k, v in parts.items() if k not in ("files", "digest")} == {
        k: v for k, v in whole.items() if k not in ("files", "digest")
    }
    assert "tables" not in parts


def test_the_same_seed_gives_the_same_parts(made: Path, tmp_path: Path) -> None:
    released().write(tmp_path / "r.parquet", certificate=tmp_path / "c.json", part_rows=20)
    for name in ("c.json", *(f"r.parquet/{name}" for name in NAMES)):
        assert (tmp_path / name).read_bytes() == (made / name).read_bytes()


def test_it_verifies(written: Written) -> None:
    found = written.verify()
    assert found.problems == ()
    assert (found.files, found.tables) == (tuple(NAMES), 1)
    assert "files.1.name" not in found.not_verifiable  # names of parts are compared
    whole = verify(written.folder.with_name("whole.parquet"), written.folder.with_name("whole.json"))
    assert found.result == whole.result


@pytest.mark.parametrize("ending", ["", ".parquet"])
def test_one_part_is_a_folder_too(tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"r{ending}"
    released().write(out, certificate=tmp_path / "c.json", part_rows=10**9)
    assert [path.name for path in out.iterdir()] == NAMES[:1]
    assert verify(out, tmp_path / "c.json").holds
    assert verify(out / NAMES[0], tmp_path / "c.json").holds  # which may be called anything, as any single file
    (out / NAMES[0]).rename(out / "other.parquet")
    assert verify(out, tmp_path / "c.json").problems == ("part-00000.parquet is called other.parquet in the folder",)


def test_a_guarded_release_and_a_permutation_in_parts(tmp_path: Path) -> None:
    released().write(tmp_path / "g", certificate=tmp_path / "g.json", part_rows=7, guard_formulas=True)
    assert any(cell.startswith("'=") for cell in read(tmp_path / "g")["ill"])
    assert verify(tmp_path / "g", tmp_path / "g.json").holds
    released("permutation").write(tmp_path / "p", certificate=tmp_path / "p.json", part_rows=7)
    assert verify(tmp_path / "p", tmp_path / "p.json").holds


def test_what_cannot_be_written_in_parts(tmp_path: Path) -> None:
    release = released()
    for out, rows, says in [
        ("r.csv", 5, "end its name in .parquet, not in '.csv'"),
        ("nowhere/r", 5, "there is no folder"),
        ("r", 0, "at least one row"),
    ]:
        with pytest.raises(InputError, match=says):
            release.write(tmp_path / out, part_rows=rows)
    (tmp_path / "there").mkdir()
    with pytest.raises(InputError, match="there exists already: a release in parts needs a new folder"):
        release.write(tmp_path / "there", part_rows=5, force=True)
    with pytest.raises(InputError, match="only a release of one table can be written in parts"):
        released("anatomy").write(tmp_path / "a", part_rows=5)
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


@pytest.mark.parametrize("step", ["write_file", "publish"])
def test_a_folder_appears_complete_or_not_at_all(tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process is interrupted at the second part, or the name is taken when the folder would get it."""
    release, original, calls = released(), getattr(files.PendingFolder, step), []

    def disturbed(self: files.PendingFolder, *given: Any) -> Any:
        calls.append(given)
        if step == "publish":
            (tmp_path / "r").mkdir()
        elif len(calls) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return original(self, *given)

    monkeypatch.setattr(files.PendingFolder, step, disturbed)
    with pytest.raises(KeyboardInterrupt if step == "write_file" else InputError):
        release.write(tmp_path / "r", certificate=tmp_path / "c.json", part_rows=10)
    assert [path.name for path in tmp_path.iterdir()] == ([] if step == "write_file" else ["r"])
    assert not (tmp_path / "r").exists() or not list((tmp_path / "r").iterdir())


def test_the_page_of_many_parts_lists_a_few(tmp_path: Path) -> None:
    files = {"certificate": tmp_path / "c.json", "report": tmp_path / "r.html"}
    steps.anonymize(FRAME, ASKED, out=tmp_path / "r", part_rows=4, method="mondrian", seed=1, public=True, **files)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<title>Release report · tclose</title>" in page
    assert "SHA-256 of part-00009.parquet" in page
    assert "SHA-256 of part-00010.parquet" not in page
    assert "3, listed in the certificate" in page
    found = verify(tmp_path / "r", tmp_path / "c.json")
    assert found.origin is not None
    assert found.origin.words()[9:11] == ["part-00009.parquet", "3 more files"]


# A folder that was changed


def one_row_less(path: Path) -> None:
    read(path)[1:].write_parquet(path)


def swapped(folder: Path) -> None:
    (folder / NAMES[0]).rename(folder / "x")
    (folder / NAMES[1]).rename(folder / NAMES[0])
    (folder / "x").rename(folder / NAMES[1])


def linked(folder: Path) -> None:
    outside = folder.with_name("outside.parquet")
    (folder / NAMES[1]).rename(outside)
    (folder / NAMES[1]).symlink_to(outside)


CHANGES: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "missing": (lambda f: (f / NAMES[1]).unlink(), ["the folder lacks 1 certified file: part-00001.parquet"]),
    "extra": (
        lambda f: shutil.copy(f / NAMES[0], f / "part-9.parquet"),
        ["the folder has 1 file that nobody certified: part-9.parquet"],
    ),
    "foreign": (
        lambda f: (f / "notes.txt").write_text("hello"),
        ["the folder has 1 file that nobody certified: notes.txt"],
    ),
    "renamed": (
        lambda f: (f / NAMES[2]).rename(f / "z.parquet"),
        ["part-00002.parquet is called z.parquet in the folder"],
    ),
    "a folder in it": (lambda f: (f / "sub").mkdir(), ["the folder has 1 file that nobody certified: sub"]),
    "a folder in place of a part": (
        lambda f: ((f / NAMES[1]).unlink(), (f / NAMES[1]).mkdir()),
        ["part-00001.parquet is a folder, not the file that was certified"],
    ),
    "a pipe in place of a part": (
        lambda f: ((f / NAMES[1]).unlink(), os.mkfifo(f / NAMES[1])),
        ["part-00001.parquet is no ordinary file, not the file that was certified"],
    ),
    "linked": (linked, ["part-00001.parquet is a link, not the file that was certified"]),
    "empty": (
        lambda f: [path.unlink() for path in f.iterdir()],
        ["the folder lacks 3 certified files: part-00000.parquet, part-00001.parquet, part-00002.parquet"],
    ),
    "a row less": (
        lambda f: one_row_less(f / NAMES[1]),
        [
            "part-00001.parquet: the release is not the file that was certified: its SHA-256 differs",
            "part-00001.parquet: the file has 19 rows, the certificate says 20",
            "the release has 49 rows, the certificate says 50",
        ],
    ),
    "swapped": (
        swapped,
        [f"{name}: the release is not the file that was certified: its SHA-256 differs" for name in NAMES[:2]],
    ),
    "other columns": (
        lambda f: read(f / NAMES[1]).rename({"pay": "Pay"}).write_parquet(f / NAMES[1]),
        ["part-00001.parquet and part-00000.parquet do not have the same columns in the same order"],
    ),
    "other types": (
        lambda f: read(f / NAMES[1]).cast({"pay": pl.Float64}).write_parquet(f / NAMES[1]),
        ["column 'pay' is of type Float64 in one and of type Int64 in the other"],
    ),
    "text": (lambda f: (f / NAMES[1]).write_text("age\n1\n"), ["part-00001.parquet is no Parquet file"]),
    "damaged": (
        lambda f: (f / NAMES[1]).write_bytes((f / NAMES[1]).read_bytes()[:300]),
        ["part-00001.parquet: the table looks like Parquet or Arrow but cannot be read"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_a_changed_folder_is_not_trusted(written: Written, what: str) -> None:
    change, says = CHANGES[what]
    change(written.folder)
    problems = written.verify().problems
    for sentence in says:
        assert any(sentence in problem for problem in problems), problems
    if len(says) == 1 and "nobody certified" in says[0]:
        assert len(problems) == 1


def test_skipped_names_and_its_own_certificate_may_lie_in_the_folder(written: Written) -> None:
    for name in ("_SUCCESS", ".part-00000.parquet.crc"):
        (written.folder / name).write_bytes(b"")
    written.paper = written.paper.rename(written.folder / "certificate.json")
    assert written.verify().problems == ()


def test_a_part_alone_is_not_the_release(written: Written) -> None:
    with pytest.raises(InputError, match="of a table in 3 files: name the folder that holds them"):
        verify(written.folder / NAMES[0], written.paper)


# A certificate that was changed

HOSTILE: dict[str, Callable[[dict[str, Any]], object]] = {
    "a path": lambda c: c["files"][0].update(name="../outside.parquet"),
    "an absolute path": lambda c: c["files"][0].update(name="/etc/passwd"),
    "a path of Windows": lambda c: c["files"][0].update(name="..\\outside.parquet"),
    "a drive": lambda c: c["files"][0].update(name="C:part.parquet"),
    "the folder": lambda c: c["files"][0].update(name="."),
    "a name twice": lambda c: c["files"][0].update(name=NAMES[1]),
    "a name twice, in capitals": lambda c: c["files"][0].update(name=NAMES[1].upper()),
    "a name that is null": lambda c: c["files"][0].update(name=None),
    "a number": lambda c: c["files"][0].update(name=1),
    "negative rows": lambda c: c["files"][0].update(rows=-20),
    "no number": lambda c: c["files"][0].update(rows=float("nan")),
    "more rows than there can be": lambda c: c["files"][0].update(rows=10**30),
    "rows as a fraction": lambda c: c["files"][0].update(rows=20.0),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_certificate_is_refused(written: Written, what: str) -> None:
    written.rewrite(HOSTILE[what])
    with pytest.raises(InputError, match=r"c\.json is not a certificate of tclose: [a-z ,]+$"):
        written.verify()


@pytest.mark.parametrize("rows", [0, 21, 2**53])
def test_wrong_rows_are_found(written: Written, rows: int) -> None:
    written.rewrite(lambda content: content["files"][0].update(rows=rows))
    assert written.verify().problems == (f"part-00000.parquet: the file has 20 rows, the certificate says {rows:,}",)


def test_a_certificate_without_a_name_is_not_of_a_folder(written: Written) -> None:
    whole = released().certificate
    assert whole.files[0].name is None
    whole.save(written.paper)
    with pytest.raises(InputError, match="does not say what the file of the release is called: name the file"):
        written.verify()


def test_hidden_names_are_not_read(written: Written) -> None:
    (written.folder / NAMES[0]).rename(written.folder / "_part.parquet")
    written.rewrite(lambda content: content["files"][0].update(name="_part.parquet"))
    assert written.verify().problems == ("the folder lacks 1 certified file: _part.parquet",)


def test_parts_in_another_order_are_one_table_still(written: Written) -> None:
    """Classes are numbered in the order of the certificate; another order moves the worst class, and no more."""
    written.rewrite(lambda content: content["files"].reverse())
    assert all("what the certificate says about" in problem for problem in written.verify().problems)


def test_siblings_that_lead_elsewhere_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    released("anatomy").write(tmp_path / "r" / "a.csv", certificate=tmp_path / "c.json")
    assert verify(tmp_path / "r", tmp_path / "c.json").holds  # the folder of several tables
    (tmp_path / "r" / "a-sensitive.csv").rename(tmp_path / "secret.csv")
    (tmp_path / "r" / "a-sensitive.csv").symlink_to(tmp_path / "secret.csv")
    problems = verify(tmp_path / "r" / "a.csv", tmp_path / "c.json").problems
    assert any("a-sensitive.csv is a link to another folder, which is not followed" in each for each in problems)
