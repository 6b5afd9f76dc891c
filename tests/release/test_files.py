"""Files: their exact bytes, what may be written where, and that they appear whole or not at all."""

from __future__ import annotations

import datetime
import io
import itertools
import os
import signal
import stat
import threading
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from tclose import InputError
from tclose.release import files
from tclose.release.certificate import CertifiedFile
from tclose.release.files import Pending, check_targets, file_mode, pending, put_in_place, sha256
from tclose.release.formats import fingerprint, format_of, write_table
from tclose.release.verification import CHANGED, CertifiedFiles
from tclose.table.sources import parse


def written(frame: pl.DataFrame, kind: str) -> bytes:
    file = io.BytesIO()
    write_table(frame, format_of(Path(f"r.{kind}")), file)
    return file.getvalue()


# The bytes of a CSV


def test_csv_is_rfc_4180() -> None:
    frame = pl.DataFrame({"a": ["x", "a,b", 'say "no"', "two\nlines", "back\rward", "é"], "n": [1, 2, 3, 4, 5, None]})
    assert written(frame, "csv") == ('a,n\nx,1\n"a,b",2\n"say ""no""",3\n"two\nlines",4\n"back\rward",5\né,\n'.encode())


def test_csv_leaves_cells_as_they_were() -> None:
    frame = pl.DataFrame({"a": ["1.10", "", " x ", None, "#"], "b": ["01", "1e5", "-0", "", "NULL"]})
    assert written(frame, "csv") == b"a,b\n1.10,01\n,1e5\n x ,-0\n,\n#,NULL\n"


@pytest.mark.parametrize("name", ["a;b;c", "a\tb", 'say "no"', "a,b", "two\nlines", "^x$"])
def test_csv_of_odd_names_reads_back(name: str) -> None:
    frame = pl.DataFrame({name: ["1", "2"], "b": ["3", "4"]})
    assert parse(written(frame, "csv")).equals(frame)


def test_csv_of_one_column_reads_back() -> None:
    frame = pl.DataFrame({"a": ["", "x", ""]})
    assert written(frame, "csv") == b'a\n""\nx\n""\n'
    assert parse(written(frame, "csv")).equals(frame)
    assert parse(written(pl.DataFrame({"a": [None, 5]}), "csv"))["a"].to_list() == ["", "5"]


def test_csv_of_moments_reads_back_as_moments() -> None:
    moment = datetime.datetime(2024, 1, 31, 12, 30)
    pandas_like = pl.DataFrame({"at": pl.Series([moment, None], dtype=pl.Datetime("ns")), "b": [1, 2]})
    assert written(pandas_like, "csv") == b"at,b\n2024-01-31T12:30:00.000000,1\n,2\n"
    fine = pandas_like.with_columns(pl.col("at") + pl.duration(nanoseconds=1))
    assert written(fine, "csv") == b"at,b\n2024-01-31T12:30:00.000000001,1\n,2\n"


def test_csv_without_text() -> None:
    assert written(pl.DataFrame({"a": [1, 2], "b": [0.5, 1e20]}), "csv") == b"a,b\n1,0.5\n2,1e+20\n"


# Parquet and Arrow


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_bytes_depend_on_the_frame_alone(kind: str) -> None:
    frame = pl.DataFrame({"a": ["x", "y"], "b": [1, 2]})
    parts = pl.concat([frame[:1], frame[1:]])
    assert written(frame, kind) == written(frame.clone(), kind)
    assert parse(written(parts, kind)).cast(pl.String).equals(frame.cast(pl.String))


def test_parquet_has_no_metadata_of_its_own() -> None:
    metadata = pq.read_metadata(io.BytesIO(written(pl.DataFrame({"a": ["x"]}), "parquet")))
    assert set(metadata.metadata or {}) <= {b"ARROW:schema"}


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_no_text_of_other_rows_gets_into_a_file(kind: str) -> None:
    texts = [f"a rather long text, number {number}" for number in range(10)]
    frame = pl.DataFrame({"ill": texts, "row": range(10)}).filter(pl.col("row") != 7)
    assert b"number 7" not in written(frame, kind)


def test_formats_go_by_the_ending() -> None:
    names = ["r.csv", "r.CSV", "r.parquet", "r.arrow", "r.feather", "r.ipc"]
    assert [format_of(Path(name)).name for name in names] == ["CSV", "CSV", "Parquet", "Arrow", "Arrow", "Arrow"]
    for name in ("r.xls", "r", "csv"):
        with pytest.raises(InputError, match=r"a release is written as \.csv, \.parquet, "):
            format_of(Path(name))


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_fingerprints(kind: str) -> None:
    frame = pl.DataFrame({"a": [str(number) for number in range(50_000)], "b": range(50_000)})
    assert sha256(b"abc").startswith("ba7816bf8f01cfea")
    assert fingerprint(frame, format_of(Path(f"r.{kind}"))) == sha256(written(frame, kind))


# What may be written where


def refuses(match: str, targets: list[Path], sources: list[Path]) -> None:
    with pytest.raises(InputError, match=match):
        check_targets(targets, sources)


def test_what_is_read_is_not_overwritten(tmp_path: Path) -> None:
    table, link, twin = tmp_path / "t.csv", tmp_path / "link.csv", tmp_path / "twin.csv"
    table.write_text("a\n")
    link.symlink_to(table)
    twin.hardlink_to(table)
    (tmp_path / "sub").mkdir()
    for target in (table, link, twin, tmp_path / "sub" / ".." / "t.csv"):
        refuses("is read and would be overwritten", [target], [table])
    refuses("is read and would be overwritten", [table], [link])
    check_targets([tmp_path / "new.csv"], [table, tmp_path / "absent.csv"])


def test_two_files_need_two_names(tmp_path: Path) -> None:
    one, link = tmp_path / "one.csv", tmp_path / "link.csv"
    refuses("the same name", [one, tmp_path / "." / "one.csv"], [])
    link.symlink_to(one)
    refuses("the same name", [one, link], [])


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "pipe")
    refuses("there is no folder", [tmp_path / "absent" / "r.csv"], [])
    refuses("there is no folder", [tmp_path / "file" / "r.csv"], [])
    refuses("is a folder", [tmp_path], [])
    refuses("is no ordinary file", [tmp_path / "pipe"], [])
    refuses("is no ordinary file", [Path("/dev/null")], [])


def test_a_folder_that_is_not_writable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    refuses("is not writable", [tmp_path / "r.csv"], [])


# Files that appear whole or not at all


def content_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_get_their_names_when_published(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("old")
    with pending({"release": tmp_path / "r.csv", "record": tmp_path / "seed"}, private={"record"}) as files:
        for file in files.values():
            file.write(lambda out: out.write(b"new"))
        assert (tmp_path / "r.csv").read_text() == "old"
        parts = [path for path in tmp_path.iterdir() if path.name != "r.csv"]
        assert len(parts) == 2
        for part in parts:
            assert part.name.startswith(".")
            assert mode_of(part) == 0o600
        for file in files.values():
            file.publish()
    assert content_of(tmp_path) == {"r.csv": b"new", "seed": b"new"}
    mask = os.umask(0o077)
    os.umask(mask)
    assert mode_of(tmp_path / "r.csv") == 0o666 & ~mask
    assert mode_of(tmp_path / "seed") == 0o600


@pytest.mark.parametrize("error", [InputError("no"), KeyboardInterrupt(), OSError(28, "full")])
def test_what_is_not_published_vanishes(tmp_path: Path, error: BaseException) -> None:
    (tmp_path / "r.csv").write_text("old")

    def work() -> None:
        with pending({"release": tmp_path / "r.csv", "other": tmp_path / "o"}) as files:
            files["release"].write(lambda out: out.write(b"new"))
            raise error

    with pytest.raises(type(error)):
        work()
    assert content_of(tmp_path) == {"r.csv": b"old"}


def test_no_file_stays_if_the_last_one_fails_with_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk fails when the name of the second file is to reach it."""
    named, flush = list[Path](), files.flush_folder

    def failing(folder: Path) -> None:
        named.append(folder)
        if len(named) == 2:
            raise OSError(5, "Input/output error")
        flush(folder)

    monkeypatch.setattr(files, "flush_folder", failing)
    with pending({"r": tmp_path / "r", "o": tmp_path / "o"}) as made:
        for file in made.values():
            file.write(lambda out: out.write(b"new"))
        with pytest.raises(OSError, match="Input/output"):
            put_in_place(made.values())
    assert content_of(tmp_path) == {}


def test_a_file_that_was_changed_stays_so_whatever_is_read_of_it_later() -> None:
    certified = CertifiedFile("r.csv", 1, sha256(b"good"))
    found = CertifiedFiles([certified], {"r.csv": b"good"}, 0)
    found.note_digest(certified, sha256(b"bad"))
    assert found.problems() == [CHANGED]
    found.note_digest(certified, sha256(b"good"))
    assert found.problems() == [CHANGED]


def test_a_long_name_is_no_trouble(tmp_path: Path) -> None:
    name = "r" * 251 + ".csv"
    with pending({"release": tmp_path / name}) as files:
        files["release"].write(lambda out: out.write(b"new"))
        files["release"].publish()
    assert content_of(tmp_path) == {name: b"new"}


# Existing files


def test_existing_files_are_refused_without_force(tmp_path: Path) -> None:
    first, second, broken = tmp_path / "r.csv", tmp_path / "r.json", tmp_path / "link.csv"
    first.write_text("old")
    broken.symlink_to(tmp_path / "nowhere")
    check_targets([first, second, broken])
    check_targets([second], force=False)
    with pytest.raises(InputError, match=rf"^{first} exists already: name another file, or overwrite it with --force$"):
        check_targets([first, second], force=False)
    with pytest.raises(InputError, match=rf"^{first} and {broken} exist already: name other files, or overwrite them"):
        check_targets([first, broken], force=False)


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_appears_during_the_work_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    """Neither is it overwritten, nor is anything else left, also on a file system without hard links."""
    if not links:
        monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(PermissionError(1, "no links here")))

    def work(theirs: bool) -> None:
        with pending({"certificate": tmp_path / "r.json", "release": tmp_path / "r.csv"}, force=False) as files:
            for file in files.values():
                file.write(lambda out: out.write(b"ours"))
            if theirs:
                (tmp_path / "r.csv").write_text("theirs")
            put_in_place(files.values())

    with pytest.raises(InputError, match=r"r\.csv has appeared during the work and stays as it is: nothing else"):
        work(theirs=True)
    assert content_of(tmp_path) == {"r.csv": b"theirs"}
    (tmp_path / "r.csv").unlink()
    work(theirs=False)
    assert content_of(tmp_path) == {"r.csv": b"ours", "r.json": b"ours"}


# Modes of new files


def test_the_mask_is_never_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other threads of the process write files, too; they would get the mode of a mask that is set for a moment."""
    mask = os.umask(0o027)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(os, "umask", lambda _: pytest.fail("the mask of the whole process was set"))
            assert (file_mode(tmp_path), file_mode(tmp_path, 0o777)) == (0o640, 0o750)
            patch.setattr(files, "_mask_of_the_process", lambda: None)  # as on a system that does not show it
            assert (file_mode(tmp_path), file_mode(tmp_path, 0o777)) == (0o640, 0o750)
    finally:
        os.umask(mask)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("shown", [True, False])
def test_other_threads_keep_their_modes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown: bool) -> None:
    """Should anything set the mask, it stays until the other thread has written one more file."""
    if not shown:
        monkeypatch.setattr(files, "_mask_of_the_process", lambda: None)
    (tmp_path / "own").mkdir()
    modes: set[int] = set()
    stop, written_again, set_mask = threading.Event(), threading.Event(), os.umask

    def write() -> None:
        for number in itertools.count():
            if stop.is_set():
                return
            path = tmp_path / f"{number}"
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o666))
            modes.add(mode_of(path))
            path.unlink()
            written_again.set()

    def umask(mask: int) -> int:
        before = set_mask(mask)
        for _ in range(2):  # the first may have been begun before
            written_again.clear()
            assert written_again.wait(60)
        return before

    thread, mask = threading.Thread(target=write), os.umask(0o022)
    monkeypatch.setattr(os, "umask", umask)
    thread.start()
    try:
        for _ in range(50):
            assert file_mode(tmp_path / "own") == 0o644
        written_again.clear()
        assert written_again.wait(60)
    finally:
        stop.set()
        thread.join()
        set_mask(mask)
    assert modes == {0o644}


# Signals while files get their names


def test_signals_wait_until_all_files_have_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are neither lost, as the program that tclose is a part of would not end then, nor do they come between."""
    came: list[tuple[int, set[str]]] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    name = Pending.publish

    def signalled(file: Pending) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGHUP)
        name(file)

    def note(number: int, _: object) -> None:
        came.append((number, set(content_of(tmp_path))))

    monkeypatch.setattr(Pending, "publish", signalled)
    try:
        signal.signal(signal.SIGTERM, note)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # stays ignored
        with pending({"a": tmp_path / "a", "b": tmp_path / "b"}) as held:
            for file in held.values():
                file.write(lambda out: out.write(b"new"))
            put_in_place(held.values())
        assert came == [(signal.SIGTERM, {"a", "b"})]
        assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGHUP)) == (note, signal.SIG_IGN)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
