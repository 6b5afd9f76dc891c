"""The door: whatever a file does to the process that reads it, ours goes on, and that process reaches nothing else."""

from __future__ import annotations

import io
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tclose import InputError, read
from tclose.table.disk_files import RowBatch, table_on_disk
from tclose.table.sources import door, formats, isolation, parse
from tclose.types import silent

ABORTS = Path(__file__).with_name("abort.parquet")  # a page in it makes polars ask for 2^61 bytes
FRAME = pl.DataFrame({"zone": ["north", "south"] * 20, "age": range(40), "pay": [0.5, None] * 20})
MOST_RESIDENT = 1 << 20  # kilobytes: 1 GB
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux enforces all of the door's limits")


def written(how: str) -> bytes:
    file = io.BytesIO()
    getattr(FRAME, f"write_{how}")(file)
    return file.getvalue()


def refusal(data: bytes) -> str | None:
    try:
        parse(data)
    except InputError as error:
        return str(error)
    return None


def test_a_file_that_makes_polars_abort_is_refused() -> None:
    with pytest.raises(InputError, match="needs more memory than a file of its size should"):
        read(ABORTS)


def test_polars_still_aborts_on_that_file() -> None:
    """If this fails, polars has learned to refuse the file."""
    code = f"import polars; polars.read_parquet({str(ABORTS)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode not in (0, 1)


@pytest.mark.parametrize("how", ["parquet", "ipc", "ipc_stream"])
def test_damaged_files_are_refused_without_a_word_from_polars(how: str, capfd: pytest.CaptureFixture[str]) -> None:
    draw, whole = random.Random(3), written(how)
    for _ in range(12):
        data = bytearray(whole)
        for place in draw.sample(range(8, len(whole)), 30):
            data[place] = draw.randrange(256)
        said = refusal(bytes(data))
        assert said is None or said.startswith(("the table", "reading the table", "column", "a column"))
    assert capfd.readouterr() == ("", "")


def test_what_this_process_wrote_itself_is_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_process(*arguments: object, **options: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", no_process)
    assert parse(written("parquet"), written_here=True).equals(FRAME)
    assert parse(b"A\n1\n", written_here=True).rows() == [("1",)]  # it begins as a file of R
    with pytest.raises(AssertionError, match="a process was started"):
        door.Reader().start()


@pytest.mark.filterwarnings("ignore:read as:tclose.errors.SourceWarning")
@pytest.mark.parametrize("how", ["csv", "parquet", "ipc", "ipc_stream", "ndjson", "excel"])
def test_a_table_comes_through_as_it_is(how: str, tmp_path: Path) -> None:
    path = tmp_path / "t"
    getattr(FRAME, f"write_{how}")(path) if how != "excel" else FRAME.write_excel(path.with_suffix(".xlsx"))
    found = read(path.with_suffix(".xlsx") if how == "excel" else path)
    assert found["age"].cast(pl.Int64).to_list() == list(range(40))
    assert found["zone"].to_list() == FRAME["zone"].to_list()


@pytest.mark.parametrize("how", ["csv", "parquet"])
def test_names_that_are_patterns_to_polars(how: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"^zone$": ["a longer text than 12", "b"], "*": [1, 2]})
    getattr(frame, f"write_{how}")(tmp_path / f"t.{how}")
    assert read(tmp_path / f"t.{how}").cast(pl.String).equals(frame.cast(pl.String))


def test_no_process_can_be_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(InputError, match=r"cannot be started here \(No such file or directory\): give it as a frame"):
        door.Reader().start()


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (signal.SIGKILL, "more memory than is available"),
        (signal.SIGXCPU, "takes longer than a file of its size should"),
        (signal.SIGSEGV, "cannot be read: the file is damaged"),
    ],
)
def test_how_a_process_died_says_why(status: signal.Signals, sentence: str) -> None:
    with door.Reader() as reader:
        reader.start()
        assert reader._process is not None
        os.kill(reader._process.pid, status)
        with pytest.raises(InputError, match=sentence):
            door.parse_with(reader, b"a,b\n1,2\n")


def test_a_process_that_still_answers_takes_no_other_request(tmp_path: Path) -> None:
    """Whoever stops to listen leaves the rest of an answer, which is not the answer to the next request."""
    FRAME.write_parquet(tmp_path / "t.parquet")
    table = replace(table_on_disk(tmp_path / "t.parquet"), batch_rows=4)

    def rows() -> Generator[RowBatch]:
        return table.rows(lambda columns: columns.columns, silent)

    with door.kept_open():
        half_read = rows()
        next(half_read)
        whole = [batch.cells for batch in rows()]
        half_read.close()
        again = [batch.cells for batch in rows()]
    assert pl.concat(again).rows() == pl.concat(whole).rows()
    assert pl.concat(again).height == FRAME.height


def test_files_that_are_read_in_batches_take_a_process_that_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FRAME.write_parquet(tmp_path / "t.parquet")
    with door.kept_open(), monkeypatch.context() as patch:
        patch.setattr(door.subprocess, "Popen", lambda *_, **__: pytest.fail("another process was started"))
        table = table_on_disk(tmp_path / "t.parquet")
        assert table.count_rows() == FRAME.height
        assert sum(batch.rows for batch in table.batches(lambda _: [["age"]], silent)) == FRAME.height


def test_a_process_that_died_is_not_used_again() -> None:
    assert refusal(ABORTS.read_bytes()) is not None
    assert parse(b"a,b\n1,2\n").rows() == [("1", "2")]


def test_a_process_that_was_killed_after_a_file_is_not_kept_for_the_next() -> None:
    with door.kept_open():
        with door.a_reader() as reader:
            reader.start()
            assert reader._process is not None
            reader._process.kill()
            reader._process.wait()
        assert parse(b"a,b\n1,2\n").rows() == [("1", "2")]


def test_nothing_is_imported_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`python -m` puts it first, by its absolute name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), "", *sys.path])
    _, folders = json.loads(door._what_is_imported())
    assert folders
    assert str(tmp_path) not in folders


# What the process can reach

PROBE = """
import json, os, socket, sys
from tclose.table.sources import isolation

def tried(work):
    try:
        work()
    except BaseException as error:
        return type(error).__name__
    return "done"

def connected():
    socket.create_connection(("127.0.0.1", PORT), 5)

def started():
    os.execv("/bin/true", ["true"])

enforced = isolation.lock([ALLOWED])
print(json.dumps({
    "enforced": enforced,
    "allowed": tried(lambda: open(ALLOWED).read()),
    "other": tried(lambda: open(OTHER).read()),
    "folder": tried(lambda: os.listdir(FOLDER)),
    "new": tried(lambda: open(OTHER + ".new", "w")),
    "overwritten": tried(lambda: open(ALLOWED, "w")),
    "network": tried(connected),
    "program": tried(started),
    "signal": tried(lambda: os.kill(PARENT, 0)),
    "environment": tried(lambda: open(f"/proc/{PARENT}/environ", "rb").read()),
}))
"""


@LINUX
def test_the_process_reaches_nothing_but_its_file(tmp_path: Path) -> None:
    import socket

    (tmp_path / "allowed").write_text("x")
    (tmp_path / "other").write_text("secret")
    with socket.create_server(("127.0.0.1", 0)) as server:
        about = {"ALLOWED": str(tmp_path / "allowed"), "OTHER": str(tmp_path / "other"), "FOLDER": str(tmp_path)}
        values = {**about, "PORT": server.getsockname()[1], "PARENT": os.getpid()}
        code = "".join(f"{name} = {value!r}\n" for name, value in values.items()) + PROBE
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    calls, files = found.pop("enforced")
    if not (calls and files):
        pytest.skip("this kernel has no Landlock or no seccomp")
    assert found.pop("allowed") == "done"
    assert set(found.values()) <= {"PermissionError"}
    assert {path.name for path in tmp_path.iterdir()} == {"allowed", "other"}


@LINUX
def test_the_process_knows_no_secret_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "s3cr3t")
    with door.Reader() as reader:
        reader.start()
        assert reader._process is not None
        assert b"s3cr3t" not in Path(f"/proc/{reader._process.pid}/environ").read_bytes()
        assert Path(f"/proc/{reader._process.pid}/cwd").resolve() == Path("/")


@LINUX
def test_the_process_ends_with_the_one_that_started_it(tmp_path: Path) -> None:
    code = (
        "import os, signal\nfrom tclose.table.sources import door\nreader = door.Reader()\n"
        "door.parse_with(reader, b'a\\n1\\n')\nprint(reader._process.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=False)
    place = Path(f"/proc/{int(done.stdout)}/cmdline")
    for _ in range(1000):
        if not place.exists() or not place.read_bytes():
            return
        os.sched_yield()
        subprocess.run(["sleep", "0.02"], check=True)
    raise AssertionError("the reading process goes on")


# Code that lies around

PLANTED = ("json", "pathlib", "typing", "polars", "numpy", "socket", "tclose", "sitecustomize", "fastexcel")


def plant(folder: Path, marker: Path) -> None:
    """Put modules into a folder that leave a mark when they run."""
    folder.mkdir(exist_ok=True)
    for name in PLANTED:
        (folder / f"{name}.py").write_text(f"from builtins import open\nopen({str(marker)!r}, 'a').write('{name} ')\n")


def command(*words: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    tool = Path(sys.executable).with_name("tclose")
    return subprocess.run([tool, *words], cwd=folder, capture_output=True, text=True, check=False)


def test_modules_beside_a_file_are_not_run(tmp_path: Path) -> None:
    marker, own = tmp_path / "run", tmp_path / "own"
    own.mkdir()
    (own / "policy.toml").write_text('k = 2\nquasi = ["age"]\n[sensitive.zone]\nt = 1\ndistance = "equal"\n')
    table = FRAME.drop("pay").with_columns(pl.col("age") // 10)
    for ending in ("csv", "parquet"):
        getattr(table, f"write_{ending}")(own / f"t.{ending}")
    table.write_excel(own / "t.xlsx")
    table.write_ndjson(own / "t.jsonl")
    with sqlite3.connect(own / "t.db") as database:
        database.execute("CREATE TABLE t (age INT, zone TEXT)")
        database.executemany("INSERT INTO t VALUES (?, ?)", table.select("age", "zone").rows())
    database.close()
    plant(own, marker)
    done = command("check", "t.csv", "--policy", "policy.toml", folder=own)
    assert done.returncode in (0, 1), done.stderr
    names = ("t.parquet", "t.xlsx", "t.jsonl", "sqlite:///t.db#t")
    made = ["--out", "r.parquet", "--certificate", "c.json", "--method", "mondrian"]
    asked = [
        *(["check", name, "--policy", "policy.toml"] for name in names),
        ["anonymize", "t.csv", "--policy", "policy.toml", *made],
        ["verify", "r.parquet", "--certificate", "c.json"],
    ]
    several = tmp_path / "several.py"  # as the command, a script whose folder is not the current one
    several.write_text(
        f"import sys\nfrom tclose.cli import run\nprint([run(each) for each in {asked}], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, several], cwd=own, capture_output=True, text=True, check=False)
    *checked, anonymized, verified = json.loads(done.stderr.splitlines()[-1])
    assert (len(checked), {*checked} <= {0, 1}, anonymized, verified) == (4, True, 0, 0)
    assert command("compare", "t.csv", "--policy", "policy.toml", "--methods", "mondrian", folder=own).returncode in (
        0,
        2,
    )
    assert not marker.exists(), marker.read_text()


def test_modules_of_the_current_folder_are_not_run_by_the_library(tmp_path: Path) -> None:
    """`python -c` has the current folder in front of its path; what reads files has not."""
    marker, own = tmp_path / "run", tmp_path / "own"
    own.mkdir()
    FRAME.write_parquet(own / "t.parquet")
    plant(tmp_path / "planted", marker)
    code = (
        f"import os, shutil, tclose\nos.chdir({str(own)!r})\nshutil.copytree({str(tmp_path / 'planted')!r}, '.', "
        "dirs_exist_ok=True)\nassert tclose.read('t.parquet').height == 40\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not marker.exists(), marker.read_text()


def test_modules_of_the_current_folder_are_not_run_by_python_m(tmp_path: Path) -> None:
    """Except one called tclose, which is what Python was asked for then."""
    marker, own = tmp_path / "run", tmp_path / "own"
    plant(own, marker)
    (own / "tclose.py").unlink()
    (own / "policy.toml").write_text('k = 2\nquasi = ["age"]\n[sensitive.zone]\nt = 1\ndistance = "equal"\n')
    FRAME.drop("pay").with_columns(pl.col("age") // 10).write_parquet(own / "t.parquet")
    command = [sys.executable, "-m", "tclose", "check", "t.parquet", "--policy", "policy.toml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=own)
    assert done.returncode in (0, 1), done.stderr
    assert not marker.exists(), marker.read_text()


# Hostile files


def workbook(sheet: str, strings: str = "") -> bytes:
    """Return a workbook of one sheet, whose rows are given as they stand in it."""
    content = (
        '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" '
        'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>'
    )
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    relations = "http://schemas.openxmlformats.org/package/2006/relationships"
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    files = {
        "[Content_Types].xml": content,
        "_rels/.rels": f'{head}<Relationships xmlns="{relations}"><Relationship Id="r1" Type="{kind}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'{head}<workbook xmlns="{main}" xmlns:r="{kind}"><sheets><sheet name="s" sheetId="1" '
        'r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'{head}<Relationships xmlns="{relations}"><Relationship Id="r1" '
        f'Type="{kind}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="r2" Type="{kind}/sharedStrings" '
        'Target="sharedStrings.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'{head}<worksheet xmlns="{main}"><sheetData>{sheet}</sheetData></worksheet>',
        "xl/sharedStrings.xml": f'{head}<sst xmlns="{main}">{strings}</sst>',
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return packed.getvalue()


def far_cell() -> bytes:
    return workbook('<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>')


def long_text() -> bytes:
    cells = "".join(f'<row r="{row}"><c r="A{row}" t="s"><v>0</v></c></row>' for row in range(1, 20_001))
    return workbook(cells, f"<si><t>{'x' * 230_000}</t></si>")


def parquet_of_one_number() -> bytes:
    file = io.BytesIO()
    column = pl.repeat(7, 3_000_000, dtype=pl.Int64, eager=True)
    pl.DataFrame([column.alias(f"c{number}") for number in range(60)]).write_parquet(file)  # 1.4 GB of numbers
    return file.getvalue()


def shared_text(*, categories: bool, arrow: bool = False) -> bytes:
    """Return 20,000 cells that share one text of 200 KB: 58 KB, and 4 GB for whoever writes the cells out."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import ipc, parquet

    codes, file = pyarrow.array([0] * 20_000, pyarrow.int32()), pyarrow.BufferOutputStream()
    table = pyarrow.table({"a": pyarrow.DictionaryArray.from_arrays(codes, pyarrow.array(["x" * 200_000]))})
    if arrow:
        with ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    else:
        parquet.write_table(table, file, compression="zstd", store_schema=categories)
    return bytes(file.getvalue())


def nested_json() -> bytes:
    return b'{"a": ' + b"[" * 200_000 + b"]" * 200_000 + b"}\n"


def many_keys() -> bytes:
    return b"".join(b'{"k%d": 1}\n' % number for number in range(60_000))


def stata(cut: int, change: int) -> bytes:
    import tempfile

    import pyreadstat

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.dta")
        pyreadstat.write_dta(FRAME.to_pandas(), str(path))
        data = bytearray(path.read_bytes())
    draw = random.Random(change)
    for place in draw.sample(range(60, len(data)), 40):
        data[place] = draw.randrange(256)
    return bytes(data[: len(data) - cut])


def spss(change: int) -> bytes:
    import tempfile

    import pyreadstat

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.sav")
        pyreadstat.write_sav(FRAME.to_pandas(), str(path))
        data = bytearray(path.read_bytes())
    data[80:84] = (2**31 - change).to_bytes(4, "little")  # the number of cases
    data[68:72] = (2**30 + change).to_bytes(4, "little")  # the size of a case
    return bytes(data)


def arrow_of(change: int) -> bytes:
    data = bytearray(written("ipc"))
    draw = random.Random(change)
    for place in draw.sample(range(len(data) - 400, len(data) - 10), 60):
        data[place] = draw.randrange(256)
    return bytes(data)


FILES: dict[str, Callable[[], bytes]] = {
    "workbook with a far cell": far_cell,
    "workbook with a long text in many cells": long_text,
    "workbook of half a zip": lambda: far_cell()[:900],
    "workbook with an endless row": lambda: workbook('<row r="1">' + "<c><v>1</v></c>" * 60_000 + "</row>"),
    "Parquet of one number": parquet_of_one_number,
    "Parquet with a long text in many cells": lambda: shared_text(categories=False),
    "Parquet with a long category in many cells": lambda: shared_text(categories=True),
    "Arrow with a long category in many cells": lambda: shared_text(categories=True, arrow=True),
    "Parquet that aborts": ABORTS.read_bytes,
    "Parquet of a footer alone": lambda: b"PAR1" + b"\0" * 40 + (40).to_bytes(4, "little") + b"PAR1",
    "Parquet with a footer that is too long": lambda: written("parquet")[:-8] + b"\xff\xff\xff\x7fPAR1",
    "Arrow with damaged lengths": lambda: arrow_of(1),
    "Arrow with other damaged lengths": lambda: arrow_of(2),
    "Arrow stream of a huge message": lambda: b"\xff\xff\xff\xff\xff\xff\xff\x7f" + b"x" * 100,
    "JSON lines with a lone surrogate": lambda: b'{"a": "\\ud800"}\n',
    "JSON lines with a lone surrogate as a name": lambda: b'{"\\udfff": 1}\n',
    "JSON lines nested deeply": nested_json,
    "JSON lines with a column a line": many_keys,
    "JSON lines with a huge number": lambda: b'{"a": ' + b"9" * 100_000 + b"}\n",
    "Stata, cut and damaged": lambda: stata(100, 1),
    "Stata, damaged": lambda: stata(0, 2),
    "SPSS that claims many cases": lambda: spss(1),
    "SPSS that claims other cases": lambda: spss(7),
    "gzip bomb": lambda: __import__("gzip").compress(b"a,b\n" + b"1,2\n" * 60_000_000, 9),
    "CSV of separators": lambda: b"," * 3_000_000 + b"\n",
    "CSV of one quote": lambda: b'a,b\n"' + b"x," * 5_000_000,
    "text of zeros": lambda: b"\0" * 1_000_000,
}
RARELY = pytest.mark.soak  # each file takes a process
ALIKE = {  # beside another of the same kind, or which take seconds until a limit ends them
    "workbook with an endless row",
    "Parquet with a long category in many cells",
    "Arrow with other damaged lengths",
    "JSON lines with a lone surrogate as a name",
    "JSON lines with a column a line",
    "Stata, damaged",
    "SPSS that claims other cases",
}

JUDGE = """
import json, resource, sys, warnings
import tclose, tclose.errors
warnings.simplefilter("ignore", tclose.errors.SourceWarning)
for line in sys.stdin:
    try:
        tclose.read(json.loads(line))
    except tclose.TcloseError as error:
        answer = "refused: " + str(error)[:300]
    else:
        answer = "read"
    own = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))  # not what forked us
    most = max(int(own), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)  # of all files until now
    print(json.dumps([answer, most]), flush=True)
"""
HARMLESS = {  # may be read: what is damaged is perhaps a cell
    "Stata, cut and damaged",
    "Stata, damaged",
    "Arrow with damaged lengths",
    "Arrow with other damaged lengths",
    "SPSS that claims many cases",
    "SPSS that claims other cases",
}


@pytest.fixture(scope="module")
def judge() -> Iterator[subprocess.Popen[str]]:
    """A process that reads files, each in an isolated process of its own, and goes on whatever happens there."""
    command = [sys.executable, "-c", JUDGE]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as one:
        yield one
        _, errors = one.communicate()
        assert (one.returncode, errors) == (0, "")


@LINUX
@pytest.mark.parametrize("what", [pytest.param(what, marks=RARELY if what in ALIKE else ()) for what in FILES])
def test_hostile_files(what: str, tmp_path: Path, judge: subprocess.Popen[str]) -> None:
    path = tmp_path / "hostile"
    path.write_bytes(FILES[what]())
    assert judge.stdin is not None
    assert judge.stdout is not None
    judge.stdin.write(f"{json.dumps(str(path))}\n")
    judge.stdin.flush()
    said = judge.stdout.readline()
    assert said, "the process that reads the file has ended"
    answer, most = json.loads(said)
    assert answer.startswith("refused: ") or what in HARMLESS, answer
    assert "\n" not in answer
    assert most < MOST_RESIDENT


def endless_view(path: Path) -> str:
    with sqlite3.connect(path) as database:
        database.execute(
            "CREATE VIEW v AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x FROM r"
        )
        database.execute("CREATE VIEW w AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) "
                         "SELECT sum(x) AS x FROM r")  # fmt: skip
    database.close()
    return "sqlite"


def other_files(path: Path) -> str:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE VIEW v AS SELECT content AS x FROM read_text('/etc/passwd')")
        database.execute("CREATE VIEW w AS SELECT * FROM range(100000000000)")
    return "duckdb"


FEWER_STEPS = """
from tclose.table.sources import door
fewer = "from tclose.table.sources import databases\\ndatabases.MOST_STEPS = 100_000_000\\nmain()\\n"
assert "main()\\n" in door.START
door.START = door.START.replace("main()\\n", fewer)
"""  # than the usual 2 billion, which take 20 s


@LINUX
@pytest.mark.parametrize(
    ("make", "view", "before"),
    [
        (endless_view, "v", ""),
        (endless_view, "w", FEWER_STEPS),
        pytest.param(endless_view, "w", "", marks=pytest.mark.soak),
        (other_files, "v", ""),
        (other_files, "w", ""),
    ],
    ids=["rows", "a sum, fewer steps", "a sum", "another file", "a range"],
)
def test_hostile_databases(make: Callable[[Path], str], view: str, before: str, tmp_path: Path) -> None:
    scheme = make(tmp_path / "t.db")
    url = f"{scheme}:///{tmp_path}/t.db#{view}"
    judge = [sys.executable, "-c", before + JUDGE]
    done = subprocess.run(judge, input=json.dumps(url), capture_output=True, text=True, check=True)
    answer, most = json.loads(done.stdout)
    assert answer.startswith("refused: "), answer
    assert "root:" not in answer
    assert most < MOST_RESIDENT


def test_the_command_says_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "t.xlsx").write_bytes(far_cell())
    (tmp_path / "p.toml").write_text('k = 2\nquasi = ["a"]\n')
    done = command("check", "t.xlsx", "--policy", "p.toml", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


@LINUX
def test_a_steward_can_let_a_file_take_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(door.MEMORY, "6000")
    with door.Reader() as reader:
        assert door.parse_with(reader, parquet_of_one_number(), only=["c1", "c2"]).shape == (3_000_000, 2)


def test_sheets_of_what_is_no_workbook(tmp_path: Path) -> None:
    (tmp_path / "t.xlsx").write_bytes(b"no workbook")
    assert door.sheet_names(tmp_path / "t.xlsx") == []
    assert door.sheet_names(tmp_path / "t.csv") == []
    FRAME.write_excel(tmp_path / "u.xlsx", worksheet="ward")
    assert door.sheet_names(tmp_path / "u.xlsx") == ["ward"]


def test_memory_is_known_on_linux() -> None:
    if Path("/proc/meminfo").exists():
        assert isolation.available_memory() > 0


@LINUX
def test_the_limits_hold_before_a_library_is_loaded_or_a_thread_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Landlock binds the thread that asks for it and those that this one starts later."""
    told = tmp_path / "told"
    look = f"""
import os
from tclose.table.sources import isolation
with open({str(told)!r}, "w") as file:
    print("polars" in sys.modules, "numpy" in sys.modules, len(os.listdir("/proc/self/task")), file=file)
main()
"""
    monkeypatch.setattr(door, "START", door.START.replace("main()\n", look))
    with door.Reader() as reader:
        assert door.parse_with(reader, b"a\n1\n").rows() == [("1",)]
    assert told.read_text() == "False False 1\n"


@LINUX
@pytest.mark.parametrize(
    ("rows", "megabytes"),
    [(250_000, "25"), pytest.param(2_000_000, "", marks=pytest.mark.soak)],
    ids=["less", "usual"],
)
def test_columns_of_a_parquet_file_that_come_one_after_the_other_take_no_more_than_all_of_them(
    rows: int, megabytes: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process has none of them any more when the next one comes, but the door has them all."""
    monkeypatch.setenv(door.MEMORY, megabytes)
    empty = [pl.repeat("", rows, eager=True).alias(str(place)) for place in range(60)]
    random_bytes = random.Random(1).randbytes(2_000_000)  # else all columns are read at once
    cells = np.frombuffer(random_bytes, dtype=f"u{len(random_bytes) // rows}")
    pl.DataFrame([pl.Series("noise", cells), *empty]).write_parquet(tmp_path / "t.parquet")
    assert formats.SMALL < (tmp_path / "t.parquet").stat().st_size < 4 << 20
    with pytest.raises(InputError, match="needs more memory"):
        read(tmp_path / "t.parquet")
