"""Bad input ends with exit status 2 and one clear line: column, row number and count, but no cell."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

SECRET = "S3CR3T"
SHORT = ("--qi", "zone", "--sensitive", "pay=0.2")
GOOD = f"zone,pay,note\na,1,{SECRET}\na,2,x\nb,3,y\n"

Run = Callable[..., Any]


def parquet(rows: int = 2, **columns: object) -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame({"zone": ["a", "b"], "note": [SECRET, "x"], **columns})[:rows].write_parquet(buffer)
    return buffer.getvalue()


def arrow() -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame({"zone": ["a", SECRET], "pay": [1, 2]}).write_ipc(buffer)
    return buffer.getvalue()


TABLES: dict[str, tuple[str | bytes, tuple[str, ...]]] = {
    "empty": ("", ("the table is empty",)),
    "only a header": ("zone,pay\n", ("the table has a header but no rows",)),
    "more fields": (f"zone,pay\na,1\nb,2,{SECRET}\n", ("row 2 has 3 fields, the header has 2",)),
    "fewer fields": (f"zone,pay\na,1\n{SECRET}\nb\n", ("row 2 has 1 field, the header has 2 (2 rows are like that)",)),
    "a column name twice": (f"zone,pay,pay\na,1,{SECRET}\n", ("columns 2 and 3 have the same name",)),
    "no header, a cell twice": (f"{SECRET},{SECRET}\na,b\n", ("columns 1 and 2 have the same name",)),
    "a column without a name": (f"zone,,pay\na,{SECRET},1\n", ("column 2 of 3 has no name",)),
    "not UTF-8": (f"zone,pay\nüé{SECRET}".encode() + b"\xff,1\n", ("not UTF-8", "row 1", "encoding =")),
    "half of UTF-16": (GOOD.encode("utf-16")[:-1], ("not utf-16-le text",)),
    "text of the east": (f"zone,pay\n{SECRET},привет\n".encode("cp1251"), ("neither UTF-8 nor western", "encoding =")),
    "NUL bytes": (f"zone,pay\n{SECRET}\0,1\n", ("NUL bytes",)),
    "an unclosed quote": (f'zone,pay\na,1\n"{SECRET},2\n', ("a quoted field is never closed",)),
    "a stray quote": (f'zone,pay\na,1\n{SECRET}" b,2\n', ("row 2 has a quote in the middle of a field",)),
    "CR line ends": (f"zone,pay\r{SECRET},1\r", ("CR alone",)),
    "another column": (f"zonne,pay\n{SECRET},1\n", ("quasi.zone: the table has no column 'zone'", "'zonne'")),
    "no such column": (f"zone,xyz\n{SECRET},1\n", ("sensitive.pay: the table has no column 'pay'",)),
    "text among numbers": (
        f"zone,pay\na,1\nb,{SECRET}\nc,{SECRET}\n",
        ("'pay' is not all numbers", "2 of 3 rows", "first in row 2"),
    ),
    "NaN": (f"zone,pay\na,1\n{SECRET},NaN\n", ("'pay' is not all numbers", "1 of 2 rows", "first in row 2")),
    "infinity": (f"zone,pay\na,1\n{SECRET},-inf\n", ("'pay' is not all numbers", "first in row 2")),
    "an endless exponent": (f"zone,pay\na,1\n{SECRET},1e99999\n", ("'pay' is not all numbers", "first in row 2")),
    "a date that is none": (f"zone,pay\na,2024-01-01\n{SECRET},2024-02-30\n", ("not all dates", "first in row 2")),
    "a missing value": (f"zone,pay\na,1\n{SECRET},\n", ("'pay' has no value in 1 row, first in row 2", "suppress")),
    "Parquet without rows": (parquet(pay=[1, 2], rows=0), ("the table has a header but no rows",)),
    "damaged Parquet": (parquet(pay=[1, 2])[:-40], ("looks like Parquet or Arrow", "damaged")),
    "damaged Arrow": (arrow()[:50], ("looks like Parquet or Arrow", "damaged")),
    "NaN in Parquet": (parquet(pay=[1.0, float("nan")]), ("'pay' has NaN or infinity in 1 row, first in row 2",)),
    "infinity in Parquet": (parquet(pay=[float("inf"), 1.0]), ("'pay' has NaN or infinity in 1 row, first in row 1",)),
    "null in Parquet": (parquet(pay=[None, 1]), ("'pay' has no value in 1 row, first in row 1",)),
    "lists": (parquet(pay=[[1], [2]]), ("column 'pay' is of type List: make it text, a number or a date",)),
    "bytes": (parquet(pay=[b"1", SECRET.encode()]), ("column 'pay' is of type Binary",)),
    "lists as quasi-identifier": (parquet(zone=[[SECRET], ["b"]], pay=[1, 2]), ("column 'zone' is of type List",)),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_a_bad_table(tclose: Run, folder: Path, name: str) -> None:
    content, says = TABLES[name]
    (folder / "table").write_bytes(content.encode() if isinstance(content, str) else content)
    tclose("check", "table", *SHORT).refuses(*says)


def test_no_table_and_a_folder(tclose: Run, folder: Path) -> None:
    tclose("check", "nope.csv", *SHORT).refuses("there is no file nope.csv")
    tclose("check", str(folder), *SHORT).refuses("has no files that are read, so there is no table in it")
    (folder / "notes.txt").write_text("age,salary\n")
    tclose("check", str(folder), *SHORT).refuses(
        "notes.txt in the folder", "is no Parquet file", "a folder is read as one table of Parquet files"
    )


def test_a_parquet_column_that_stands_twice(tclose: Run) -> None:
    pq.write_table(pa.Table.from_arrays([[SECRET], [1], [2]], names=["zone", "pay", "pay"]), "t.parquet")
    tclose("check", "t.parquet", *SHORT).refuses("a column name stands in the table twice")


OPTIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "t above 1": (("--qi", "zone", "--sensitive", "pay=1.5"), "sensitive.pay.t: 1.5 is outside [0, 1]"),
    "t below 0": (("--qi", "zone", "--sensitive", "pay=-0.1"), "sensitive.pay.t: -0.1 is outside [0, 1]"),
    "t no number": (("--qi", "zone", "--sensitive", "pay=abc"), "sensitive.pay.t: expected a number"),
    "k = 0": ((*SHORT, "--k", "0"), "k: expected a whole number of at least 1, not 0"),
    "k = 0 alone": (("--qi", "zone", "--k", "0"), "k: expected a whole number of at least 1, not 0"),
    "no such column": (("--qi", "zoen", "--sensitive", "pay=0.2"), "quasi.zoen: the table has no column 'zoen' (did"),
    "no such sensitive": (("--qi", "zone", "--sensitive", "pya=0.2"), "has no column 'pya' (did you mean 'pay'?)"),
    "a column twice": (("--qi", "zone,zone", "--sensitive", "pay=0.2"), "quasi: 'zone' is named twice: name it once"),
    "two roles": (("--qi", "zone,pay", "--sensitive", "pay=0.2"), "column 'pay' has a role already, in quasi.pay"),
    "sensitive twice": ((*SHORT, "--sensitive", "pay=0.3"), "a column is named twice by --sensitive"),
    "no such distance": ((*SHORT, "--distance", "pay=equl"), "(did you mean 'equal'?)"),
    "distance of nothing": ((*SHORT, "--distance", "zone=equal"), "--distance names 'zone', which --sensitive"),
    "text has no order": ((*SHORT, "--sensitive", "note=0", "--distance", "note=ordered"), "'note' has no order"),
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
def test_bad_options(tclose: Run, name: str) -> None:
    options, says = OPTIONS[name]
    Path("t.csv").write_text(GOOD)
    tclose("check", "t.csv", *options).refuses(says)


MISUSE: dict[str, tuple[tuple[str, ...], str]] = {
    "k = 2.5": (("check", "t.csv", *SHORT, "--k", "2.5"), "'2.5' is not a valid integer"),
    "both": (
        ("check", "t.csv", "--policy", "p.toml", "--qi", "zone"),
        "give either --policy, or --qi with --sensitive",
    ),
    "both, with k": (("check", "t.csv", "--policy", "p.toml", "--k", "0"), "give either --policy, or --qi"),
    "neither": (("check", "t.csv"), "say what has to hold: --policy FILE, or --qi a,b --sensitive x=0.2"),
    "half": (("check", "t.csv", "--qi", "zone"), "say what has to hold"),
    "no t": (("check", "t.csv", "--qi", "zone", "--sensitive", "pay"), "expected COLUMN=T, not 'pay'"),
    "a line break": (("check", "t.csv", "--qi", "zo\nne", "--sensitive", "pay=1"), "with commas between them"),
    "no table": (("check",), "Missing argument 'TABLE'"),
    "no such option": (("check", "t.csv", "--polcy", "p.toml"), "No such option"),
    "no such command": (("chekc",), "No such command 'chekc'"),
    "class no number": (("explain", "t.csv", *SHORT, "--attribute", "pay", "--class", "x"), "not a valid integer"),
    "no class": (("explain", "t.csv", *SHORT, "--attribute", "pay"), "Missing option '--class'"),
}


@pytest.mark.parametrize("name", MISUSE)
def test_misuse(tclose: Run, name: str) -> None:
    arguments, says = MISUSE[name]
    Path("t.csv").write_text(GOOD)
    tclose(*arguments).refuses(says, usage=True)


def test_explain_what_is_not_there(tclose: Run) -> None:
    Path("t.csv").write_text(GOOD)
    for number in ("0", "3", "-1"):
        outcome = tclose("explain", "t.csv", *SHORT, "--attribute", "pay", "--class", number)
        outcome.refuses(f"there is no class {number}: the table has classes 1 to 2")
    outcome = tclose("explain", "t.csv", *SHORT, "--attribute", "pya", "--class", "1")
    outcome.refuses("'pya' is no sensitive attribute of the policy (did you mean 'pay'?)")


ROLES = 'identifiers = ["note"]\n[quasi.zone]\n'
PAY = ROLES + "[sensitive.pay]\nt = 0.2\n"
POLICIES: dict[str, tuple[str | bytes, str]] = {
    "not TOML": ("k = ", "p.toml is not valid TOML"),
    "not UTF-8": (b"# caf\xe9", "the policy file p.toml is not UTF-8 text"),
    "unknown key": ("kk = 5\n" + PAY, "unknown key 'kk' (did you mean 'k'?)"),
    "unknown quasi key": (ROLES + "stpe = 5", "quasi.zone: unknown key 'stpe' (did you mean 'step'?)"),
    "unknown sensitive key": (PAY + "distanse = 'equal'", "sensitive.pay: unknown key 'distanse' (did you mean 'dist"),
    "unknown bins key": (PAY + "bins = { withd = 5 }", "sensitive.pay.bins: expected one of"),
    "t above 1": (ROLES + "[sensitive.pay]\nt = 1.5", "sensitive.pay.t: 1.5 is outside [0, 1]"),
    "t below 0": (ROLES + "[sensitive.pay]\nt = -0.1", "sensitive.pay.t: -0.1 is outside [0, 1]"),
    "t no number": (ROLES + "[sensitive.pay]\nt = 'abc'", "sensitive.pay.t: expected a number"),
    "k = 0": ("k = 0\n" + PAY, "k: expected a whole number of at least 1, not 0"),
    "k = 2.5": ("k = 2.5\n" + PAY, "k: expected a whole number of at least 1, not 2.5"),
    "two roles": ("keep = ['zone']\n" + PAY, "quasi.zone: column 'zone' has a role already, in keep: name it once"),
    "twice in a list": ("keep = ['w', 'w']\n" + PAY, "keep: 'w' is named twice: name it once"),
    "no sensitive": (ROLES, "the policy asks for nothing"),
    "no quasi": ("[sensitive.pay]\nt = 0", "the policy names no quasi-identifier"),
    "no t": (ROLES + "[sensitive.pay]\n", "sensitive.pay: nothing is asked for: say t, or another model"),
    "a column without a role": ("[quasi.zone]\n[sensitive.pay]\nt = 0", "the policy gives no role to 'note'"),
    "a column that is not there": (PAY + "[sensitive.wage]\nt = 0", "sensitive.wage: the table has no column 'wage'"),
    "a value outside the domain": (PAY + "domain = [1, 2]", "domain misses 1 of its values, in 1 row, first in row 3"),
    "a value outside the order": (PAY + "order = [3, 1]", "order misses 1 of its values, in 1 row, first in row 2"),
    "a value outside the bins": (PAY + "bins = { edges = [0, 2] }", "outside its bins (0, 2] in 1 row, first in row 3"),
    "missing in a matrix": (
        PAY + "missing = 'value'\nmatrix = { values = ['1', '2', '3'], costs = [[0, 1, 2], [1, 0, 1], [2, 1, 0]] }",
        'sensitive.pay: missing = "value" has no place in the distance "matrix"',
    ),
    "too many bins": (PAY + "bins = { count = 2000000 }", "sensitive.pay.bins: that would make 2,000,000 bins"),
    "no hierarchy file": (PAY + "hierarchy = 'none.csv'", "there is no hierarchy file none.csv"),
    "no matrix file": (PAY + "matrix = 'none.csv'", "there is no matrix file none.csv"),
    "intervals of text": (
        "[quasi.zone]\n[sensitive.note]\nt = 0\nhierarchy = { width = [5] }\n[sensitive.pay]\nt = 0",
        "column 'note' is not all numbers, so it has no intervals of a width",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", POLICIES)
def test_a_bad_policy(tclose: Run, name: str) -> None:
    content, says = POLICIES[name]
    Path("p.toml").write_bytes(content.encode() if isinstance(content, str) else content)
    Path("t.csv").write_text(GOOD)
    tclose("check", "t.csv", "--policy", "p.toml").refuses(says)


def test_each_mistake_of_a_policy_has_its_line(tclose: Run) -> None:
    Path("t.csv").write_text(GOOD)
    Path("p.toml").write_text(
        "k = 0\n[quasi.zone]\nstep = -1\n[sensitive.pay]\nt = 2\nl = 0\n[sensitive.note]\ntt = 1\n"
    )
    done = tclose("check", "t.csv", "--policy", "p.toml")
    assert done.status == 2
    assert done.out == ""
    assert done.err.splitlines() == [
        "error: k: expected a whole number of at least 1, not 0",
        "error: quasi.zone.step: expected a number above 0, not -1",
        "error: sensitive.pay.t: 2 is outside [0, 1]",
        "error: sensitive.pay.l: expected a whole number of at least 1, not 0",
        "error: sensitive.note: unknown key 'tt' (did you mean 't'?)",
    ]


def test_each_column_that_the_table_lacks_has_its_line(tclose: Run) -> None:
    """A column that a misspelt name stands for is not also reported as one without a role."""
    Path("t.csv").write_text(GOOD)
    Path("p.toml").write_text("keep = ['ward']\n[quasi.zon]\n[sensitive.pay]\nt = 0\n[sensitive.wage]\nt = 0\n")
    done = tclose("check", "t.csv", "--policy", "p.toml")
    assert done.status == 2
    assert done.err.splitlines() == [
        "error: keep: the table has no column 'ward'",
        "error: quasi.zon: the table has no column 'zon' (did you mean 'zone'?)",
        "error: sensitive.wage: the table has no column 'wage'",
        "error: the policy gives no role to 'note': name them, or say others = \"drop\"",
    ]


def test_a_header_of_cells_is_never_quoted(tclose: Run) -> None:
    """Without a header, the first row stands in its place: it must not be listed as columns without a role."""
    Path("t.csv").write_text(f"a,1,{SECRET}\nb,2,x\n")
    Path("p.toml").write_text("[quasi.zone]\n[sensitive.pay]\nt = 0\n")
    done = tclose("check", "t.csv", "--policy", "p.toml")
    assert SECRET not in done.err
    assert len(done.err.splitlines()) == 2


def test_each_column_that_does_not_fit_its_settings_has_its_line(tclose: Run) -> None:
    Path("t.csv").write_text("zone,pay,ill,grade\na,1,flu,A\nb,2,cold,B\n")
    Path("p.toml").write_text(
        "[quasi.zone]\nhierarchy = 'none.csv'\n[sensitive.pay]\nt = 0\ndomain = [1]\n"
        "[sensitive.ill]\nt = 0\nbins = { width = 1 }\n[sensitive.grade]\nt = 0\norder = ['A']\n"
    )
    done = tclose("check", "t.csv", "--policy", "p.toml", "--show-values")
    assert done.status == 2
    starts = ("error: there is no hierarchy file", "error: column 'pay'", "       ", "error: sensitive column 'ill'",
              "error: column 'grade'", "       ")  # fmt: skip
    assert [line.startswith(start) for line, start in zip(done.err.splitlines(), starts, strict=True)] == [True] * 6


def test_no_policy_and_a_folder(tclose: Run) -> None:
    Path("t.csv").write_text(GOOD)
    tclose("check", "t.csv", "--policy", "p.toml").refuses("there is no policy file p.toml")
    tclose("check", "t.csv", "--policy", ".").refuses("cannot be read: Is a directory")


SICK = f"zone,illness\na,flu\na,{SECRET}\nb,ulcer\n"
HIERARCHIES: dict[str, tuple[str, str]] = {
    "misses a value": (
        "flu;lung;*\nulcer;stomach;*\n",
        "its hierarchy misses 1 of its values, in 1 row, first in row 2",
    ),
    "a leaf twice": (
        f"flu;lung;*\n{SECRET};lung;*\n{SECRET};lung;*\n",
        "names a leaf twice, in rows 2 and 3: keep one",
    ),
    "two roots": (f"flu;lung;*\n{SECRET};lung;all\n", "the hierarchy h.csv has 2 roots"),
    "two parents": (f"flu;{SECRET};in;*\nulcer;{SECRET};out;*\n", "under two parents, in rows 1 and 2"),
    "a label that is also a value": (
        f"flu;{SECRET};*\nulcer;{SECRET};*\n{SECRET};skin;*\n",
        "the hierarchy h.csv has a label of level 1, in row 1, that is also the value of row 3",
    ),
    "empty": ("", "the hierarchy file h.csv is empty"),
}


@pytest.mark.parametrize("name", HIERARCHIES)
@pytest.mark.parametrize("role", ["quasi", "sensitive"])
def test_a_bad_hierarchy(tclose: Run, name: str, role: str) -> None:
    content, says = HIERARCHIES[name]
    Path("t.csv").write_text(SICK)
    Path("h.csv").write_text(content)
    other = "[sensitive.zone]\nt = 0" if role == "quasi" else "[quasi.zone]"
    asked = "" if role == "quasi" else "t = 0\n"
    Path("p.toml").write_text(f"[{role}.illness]\n{asked}hierarchy = 'h.csv'\n{other}\n")
    says = says.replace("its hierarchy", "the hierarchy h.csv" if role == "quasi" else "its hierarchy")
    tclose("check", "t.csv", "--policy", "p.toml").refuses(says)


COSTS: dict[str, tuple[str, str]] = {
    "not square": (f";flu;{SECRET}\nflu;0;1\n", "must name the same values, each once"),
    "a short row": (f";flu;{SECRET}\nflu;0;1\n{SECRET};1\n", "every row needs a name and 2 numbers"),
    "not symmetric": (f";flu;{SECRET}\nflu;0;1\n{SECRET};2;0\n", "the cost from a to b must be the cost from b to a"),
    "no metric": (
        f";flu;{SECRET};ulcer\nflu;0;1;9\n{SECRET};1;0;1\nulcer;9;1;0\n",
        "a detour is shorter than the direct way, so it is no metric",
    ),
    "text": (f";flu;ulcer\nflu;0;{SECRET}\nulcer;{SECRET};0\n", "every cost must be a number"),
    "misses a value": (
        ";flu;ulcer\nflu;0;1\nulcer;1;0\n",
        "its matrix misses 1 of its values, in 1 row, first in row 2",
    ),
    "empty": ("", "the matrix file m.csv is empty"),
    "one word": ("x", "the first row must name the values"),
}


@pytest.mark.parametrize("name", COSTS)
def test_bad_costs(tclose: Run, name: str) -> None:
    content, says = COSTS[name]
    Path("t.csv").write_text(SICK)
    Path("m.csv").write_text(content)
    Path("p.toml").write_text("[quasi.zone]\n[sensitive.illness]\nt = 0\nmatrix = 'm.csv'\n")
    tclose("check", "t.csv", "--policy", "p.toml").refuses(says)


def test_values_are_shown_on_request(tclose: Run) -> None:
    Path("t.csv").write_text(f"zone,pay\na,1\nb,{SECRET}\n")
    outcome = tclose("check", "t.csv", *SHORT, "--show-values")
    assert outcome.status == 2
    assert outcome.err.splitlines()[1] == f"       it is '{SECRET}'"


def test_a_name_cannot_break_the_line_or_the_terminal(tclose: Run) -> None:
    Path("t.csv").write_text('zone,"pa\ny\x1b[2J",note\na,1,x\n')
    Path("p.toml").write_text("[quasi.zone]\n[sensitive.note]\nt = 0\n")
    tclose("check", "t.csv", "--policy", "p.toml").refuses(r"the policy gives no role to 'pa\ny\x1b[2J'")


REAL = {
    "no file": (("check", "nope.csv", *SHORT), "there is no file nope.csv"),
    "text among numbers": (("check", "t.csv", "--qi", "zone", "--sensitive", "note=1"), "'note' is not all numbers"),
    "not UTF-8": (("check", "latin.csv", *SHORT), "the table is not UTF-8 text"),
    "damaged": (("check", "t.parquet", *SHORT), "damaged"),
    "t": (("check", "t.csv", "--qi", "zone", "--sensitive", "pay=1.5"), "1.5 is outside [0, 1]"),
    "policy": (("check", "t.csv", "--policy", "p.toml"), "unknown key 'kk'"),
    "class": (("explain", "t.csv", *SHORT, "--attribute", "pay", "--class", "9"), "there is no class 9"),
    "init": (("init", "ragged.csv"), "row 1 has 1 field, the header has 2"),
}


USUAL = ("text among numbers", "damaged")  # a cell, a file


@pytest.mark.parametrize(
    "name", [name if name in USUAL else pytest.param(name, marks=pytest.mark.soak) for name in REAL]
)
def test_in_a_process_of_its_own(process: Run, name: str) -> None:
    arguments, says = REAL[name]
    Path("t.csv").write_text(f"zone,pay,note\na,1,5\na,2,{SECRET}\nb,3,6\n")
    Path("latin.csv").write_bytes(TABLES["not UTF-8"][0])  # type: ignore[arg-type]
    Path("t.parquet").write_bytes(TABLES["damaged Parquet"][0])  # type: ignore[arg-type]
    Path("ragged.csv").write_text(f"zone,pay\n{SECRET}\n")
    Path("p.toml").write_text("kk = 5\n")
    process(*arguments).refuses(says)


def test_misuse_in_a_process_of_its_own(process: Run) -> None:
    Path("t.csv").write_text(GOOD)
    process("check", "t.csv").refuses("say what has to hold", usage=True)
