"""Settings, numbers, names and paths at the edge of what is possible: an answer or a sentence, never a bug."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.pairs import in_pairs

from tclose.partition import METHODS

Run = Callable[..., Any]
POLICY = "k = 2\n[quasi.age]\n[sensitive.ill]\n"
ASKED = ("anonymize", "t.csv", "--policy", "p.toml")
FILES = ("--out", "r.csv", "--certificate", "c.json")


@pytest.fixture(autouse=True)
def sources(folder: Path) -> None:
    rows = [f"{age},{ill}" for age in range(20, 32) for ill in (1, 2)]
    (folder / "t.csv").write_text("\n".join(["age,ill", *rows]) + "\n")
    (folder / "p.toml").write_text(POLICY + "t = 0.5\n")


def released(tclose: Run, *arguments: str) -> None:
    """Assert that a release is made and verified."""
    outcome = tclose(*arguments)
    assert outcome.status == 0, outcome.err
    assert tclose("verify", "r.csv", "--certificate", "c.json").status == 0


@pytest.mark.parametrize(
    "asked",
    [
        "t = 1e-300",
        "t = 1e-300\nn = 4",
        't = 1e-300\ndistance = "equal"',
        "recursive = { c = 3.12345678901234567890123, l = 2 }",
        "recursive = { c = 1e300, l = 2 }",
    ],
)
def test_levels_that_64_bits_cannot_hold(tclose: Run, folder: Path, asked: str) -> None:
    (folder / "p.toml").write_text(POLICY + asked + "\n")
    released(tclose, *ASKED, *FILES, "--effort", "fast")


@pytest.mark.parametrize(
    "t", ["1e-5000", "nan", "inf", '"1/0"', "1e99999999999999999999", "9" * 5000, "0." + "3" * 1000, '"1e999999999"']
)
def test_levels_beyond_reason(tclose: Run, folder: Path, t: str) -> None:
    (folder / "p.toml").write_text(f"{POLICY}t = {t}\n")
    outcome = tclose("check", "t.csv", "--policy", "p.toml", "--json")
    outcome.refuses()
    assert len(outcome.err) < 200


SMALL_AND_LARGE = [("1e-320", "2e-320", "3e-320"), ("1e-320", "1", "1e308"), ("5e-324", "1e400", "0")]
BINNED = ["", "bins = { count = 3 }", "bins = { quantiles = 2 }", 'distance = "value"']
OTHERS = [name for name in METHODS if name not in ("exact", "weave", "fragmentation", "mondrian", "microaggregation")]


@pytest.mark.parametrize(
    ("method", "cells", "bins"),
    [*in_pairs(["mondrian", "microaggregation"], SMALL_AND_LARGE, BINNED), *in_pairs(OTHERS, SMALL_AND_LARGE, [""])],
)
def test_very_small_and_very_large_numbers(
    tclose: Run, folder: Path, cells: tuple[str, ...], bins: str, method: str
) -> None:
    rows = [f"{age},{cell}" for age in range(20, 28) for cell in cells]
    (folder / "t.csv").write_text("\n".join(["age,ill", *rows]) + "\n")
    (folder / "p.toml").write_text(f"{POLICY}t = 0.5\n{bins}\n")
    outcome = tclose(*ASKED, *FILES, "--method", method)
    assert outcome.status in (0, 1, 2), outcome.err
    if method == "mondrian":
        assert outcome.status == 0, outcome.err
        assert tclose("verify", "r.csv", "--certificate", "c.json").status == 0
        assert tclose("attack", "r.csv", "--original", "t.csv", "--policy", "p.toml").status == 0


# Names that mean something to polars, or to us

NAMES = ("*", "^x$", "group", "count", "(missing)", "class", "=x", "'")
MORE_NAMES = ("^.*$", "index", "rows", "literal", "[0]")


ROLES = ("quasi", "sensitive", "keep", "unlinkable")
EVERY_NAME = [  # each name in each role, by one method; by all of them and with more names in `make soak`
    *in_pairs(NAMES, ROLES, ("mondrian", "anatomy", "projections")),
    *(
        pytest.param(*each, marks=pytest.mark.soak)
        for each in product(MORE_NAMES, ROLES, ("mondrian", "anatomy", "projections"))
    ),
]


@pytest.mark.parametrize(("name", "role", "method"), EVERY_NAME)
def test_any_column_name(tclose: Run, folder: Path, name: str, role: str, method: str) -> None:
    with (folder / "t.csv").open("w", newline="") as file:
        rows = [("age", name, "ill"), *((age // 4, part % 2, part // 2) for age in range(12) for part in range(4))]
        csv.writer(file).writerows(rows)
    listed = f"{role} = [{json.dumps(name)}]\n" if role in ("keep", "unlinkable") else ""
    part = "" if listed else f"[{role}.{json.dumps(name)}]\n" + ("t = 0.9\n" if role == "sensitive" else "")
    (folder / "p.toml").write_text(f"k = 2\n{listed}[quasi.age]\n[sensitive.ill]\nt = 0.9\n{part}")
    guarded = method == "mondrian" or name == "=x"  # the guard treats the columns of every method alike
    for extra in ((), ("--guard-formulas",)) if guarded else ((),):
        chosen = ("--method", method, *(("--base", "mondrian") if method == "projections" else ()), *extra)
        for path in (*folder.glob("r*.csv"), *folder.glob("c.json")):
            path.unlink()
        outcome = tclose(*ASKED, *FILES, *chosen)
        assert outcome.status == 0, outcome.err
        assert tclose("verify", "r.csv", "--certificate", "c.json").status == 0
        if method == "mondrian" and (not extra or name == "=x"):
            asked = ("attack", "r.csv", "--original", "t.csv", "--policy", "p.toml", *extra)
            assert tclose(*asked).status == 0


@pytest.mark.parametrize(
    ("missing", "out", "method"),
    in_pairs(["", "NA"], ["r.csv", "r.parquet", "r.arrow"], ["mondrian", "anatomy", "projections"]),
)
def test_null_beside_empty_text_in_a_kept_column(
    tclose: Run, folder: Path, missing: str, out: str, method: str
) -> None:
    kept = ["", None, "b", None, "", "b", None, ""]
    frame = pl.DataFrame({"age": [1, 1, 1, 1, 2, 2, 2, 2] * 3, "ward": kept * 3, "ill": ["u", "v", "w"] * 8})
    frame.write_parquet(folder / "t.parquet")
    settings = f"missing = [{json.dumps(missing)}]\nkeep = ['ward']\nsuppress = 0.5\n"
    (folder / "p.toml").write_text(f"{settings}k = 2\n[quasi.age]\n[sensitive.ill]\nt = 0.9\n")
    base = ("--base", "mondrian") if method == "projections" else ()
    asked = ("anonymize", "t.parquet", "--policy", "p.toml", "--method", method, *base)
    outcome = tclose(*asked, "--out", out, "--certificate", "c.json")
    assert outcome.status == 0, outcome.err
    assert tclose("verify", out, "--certificate", "c.json").status == 0


# Paths


def test_a_nul_in_any_path(tclose: Run, folder: Path) -> None:
    released(tclose, *ASKED, *FILES, "--method", "mondrian")
    nul, with_policy = "a\0b.csv", ("--policy", "p.toml")
    attack = ("attack", "r.csv", "--original", "t.csv", *with_policy)
    new = ("anonymize", "t.csv", *with_policy, "--method", "mondrian")
    for command in (
        ("check", nul, *with_policy),
        ("check", "t.csv", "--policy", nul),
        ("explain", nul, *with_policy, "--attribute", "ill", "--class", "1"),
        ("init", nul),
        ("init", "t.csv", "--out", nul),
        ("verify", nul, "--certificate", "c.json"),
        ("verify", "r.csv", "--certificate", nul),
        ("attack", nul, "--original", "t.csv", *with_policy),
        ("attack", "r.csv", "--original", nul, *with_policy),
        ("attack", "r.csv", nul, "--original", "t.csv", *with_policy),
        (*attack, "--register", nul),
        (*new, "--out", nul),
        *((*new, "--out", "new.csv", option, nul) for option in ("--certificate", "--record", "--report")),
        ("compare", nul, *with_policy),
        ("compare", "t.csv", *with_policy, "--out", nul),
        ("demo", "--out", nul),
    ):
        tclose(*command).refuses(r"no file can be called a\x00b.csv: it holds a NUL character")


@pytest.mark.parametrize("role", ["quasi.age]\nhierarchy", "sensitive.ill]\nt = 0.5\nmatrix"])
def test_a_nul_in_a_path_of_the_policy(tclose: Run, folder: Path, role: str) -> None:
    parts = {"quasi": "[quasi.age]\n", "sensitive": "[sensitive.ill]\nt = 0.5\n"}
    others = "".join(part for name, part in parts.items() if name not in role)
    (folder / "p.toml").write_text(f'k = 2\n{others}[{role} = "a\\u0000b"\n')
    for command in (("check", "t.csv", "--policy", "p.toml"), (*ASKED, *FILES)):
        tclose(*command).refuses("it holds a NUL character")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs the devices of Unix")
def test_devices_without_an_end(tclose: Run) -> None:
    for command in (
        ("check", "/dev/zero", "--policy", "p.toml"),
        ("check", "t.csv", "--policy", "/dev/zero"),
        ("verify", "/dev/zero", "--certificate", "/dev/zero"),
        ("init", "/dev/urandom"),
    ):
        tclose(*command).refuses("is a device, not a file")
    tclose("check", os.devnull, "--policy", "p.toml").refuses("the table is empty")


def test_a_pipe_is_read_like_a_file(process: Run, folder: Path) -> None:
    (folder / "link").symlink_to("/dev/stdin")
    assert process("check", "link", "--policy", "p.toml", stdin=(folder / "t.csv").read_bytes()).status == 0


@pytest.mark.parametrize("path", ["", "loop", "x" * 300 + ".csv", "\udcff.csv", "t.csv/x.csv"])
def test_paths_that_lead_nowhere(tclose: Run, folder: Path, path: str) -> None:
    (folder / "loop").symlink_to("loop")
    with_policy = ("--policy", "p.toml", "--method", "mondrian")
    for command in (
        ("check", path, "--policy", "p.toml"),
        ("check", "t.csv", "--policy", path),
        ("anonymize", "t.csv", *with_policy, "--out", "r.csv", "--record", f"{path or 'nowhere'}/x"),
        ("verify", path, "--certificate", path),
        ("compare", "t.csv", "--policy", "p.toml", "--out", f"{path or 'nowhere'}/x", "--methods", "mondrian"),
    ):
        assert tclose(*command).status == 2


def test_a_release_of_several_tables_without_a_name(tclose: Run) -> None:
    chosen = ("--method", "projections", "--base", "mondrian")
    released(tclose, *ASKED, *FILES, *chosen)
    tclose("verify", "", "--certificate", "c.json").refuses("a release needs the name of a file")


@pytest.mark.skipif(os.name == "nt", reason="names of files are text there")
def test_the_demonstration_in_a_folder_whose_name_is_not_utf8(process: Run) -> None:
    assert process("demo", "--rows", "50", "--out", "folder\udcff").status == 0


def test_a_negative_seed_of_the_demonstration_is_refused(tclose: Run) -> None:
    tclose("demo", "--rows", "50", "--seed", "-1").refuses("--seed", usage=True)


@pytest.mark.parametrize("command", [("doctor", "--warm"), ("methods",)])
def test_a_time_that_is_none_is_refused_before_numpy_fails_on_it(process: Run, command: tuple[str, ...]) -> None:
    process(*command, SOURCE_DATE_EPOCH="soon").refuses("SOURCE_DATE_EPOCH")


@pytest.mark.parametrize("more", [[], pytest.param(["--warm"], marks=pytest.mark.soak)])
def test_an_empty_time_is_no_time(process: Run, more: list[str]) -> None:
    done = process("doctor", *more, SOURCE_DATE_EPOCH="")
    assert done.status == 0, done.err
