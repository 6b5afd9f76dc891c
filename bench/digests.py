"""Fingerprints of releases with a given seed: `record FILE` on one commit, `compare FILE` on another.

Besides every method in memory: releases from disk in one part and in several, with verify's JSON; new rows that join a
release (apply); what the studio judges; the help of every command. Where Java and pyspark are there, one release is
made on Spark.

The same seed, table and policy must give the same bytes; a change that means to alter them says so in a decision note.
A certificate is compared in format 1 without the names of tool, table and file, the time, the sentence about the
guarantee, and the digest that covers them, as certificates were before they had these keys.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl

import tclose
from tclose import steps
from tclose.examples import hospital
from tclose.release.certificate import digest_of, load
from tclose.release.certificate_format import NAMES

TCLOSE = [str(Path(sys.executable).with_name("tclose"))]
DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
TREES = DATA / "adult_hierarchies"
SEED = 1
LABS = {name: {"t": 0.2} for name in ("ldl", "hdl", "systolic")}
PATIENTS: dict[str, Any] = {
    "identifiers": ["name", "ssn"],
    "person": "ssn",
    "k": 3,
    "others": "drop",
    "quasi": {"zip": {"hierarchy": {"prefix": [5, 3, 1]}}, "age": {}, "sex": {}, "education": {}},
    "sensitive": {**LABS, "charges": {"t": 0.3, "bins": {"width": 1000}}},
}
CENSUS: dict[str, Any] = {"k": 2, "others": "drop", "quasi": ["TAXINC", "POTHVAL"], "sensitive": {"FEDTAX": {"t": 0.1}}}
ADULT: dict[str, Any] = {
    "k": 5,
    "others": "drop",
    "quasi": {name: {"hierarchy": TREES / f"{name}.csv"} for name in ("age", "sex", "race", "education")},
    "sensitive": {"occupation": {"t": 0.3, "distance": "equal"}},
}
TREE = {"distance": "hierarchical", "hierarchy": TREES / "occupation.csv"}
SIX = ["a", "b", "c", "d", "e", "f"]
COSTS = {"values": SIX, "costs": [[abs(i - j) for j in range(6)] for i in range(6)]}


def patients() -> pl.DataFrame:
    return hospital(2500, seed=5)


def census() -> pl.DataFrame:
    return tclose.read(DATA / "census_casc.csv")


def adults() -> pl.DataFrame:
    return tclose.read(DATA / "adult_arx.csv")[:4000]


def letters() -> pl.DataFrame:
    rows = range(400)
    return pl.DataFrame(
        {
            "age": [17 + (i * 37) % 71 for i in rows],
            "town": [f"town {(i * 7) % 9}" if i % 11 else "" for i in rows],
            "ward": ["north" if i % 3 else "south" for i in rows],
            "letter": [SIX[(i * i + i // 7) % 6] for i in rows],
            "level": [None if i % 50 == 3 else (i * 13) % 29 for i in rows],
        }
    )


def _with(policy: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**policy, **changes}


Case = tuple[Callable[[], pl.DataFrame], dict[str, Any], str, dict[str, Any], str]


def cases() -> dict[str, Case]:
    """Return every method, and every kind of column, model and layout at least once."""
    taxes = {name: {"t": 0.15} for name in ("FEDTAX", "FICA")}
    small = {"k": 2, "others": "drop", "quasi": ["age", "town"], "missing": ["", "NA"]}
    letter = {"letter": {"t": 0.4, "distance": "matrix", "matrix": COSTS}}
    level = {"level": {"t": 0.3, "missing": "suppress"}}
    tree = {"occupation": {"t": 0.3, "l": 3, **TREE}}
    models = {"occupation": {"t": 0.5, "distance": "equal", "entropy_l": 3, "alpha": 0.6, "beta": 5}}
    kept = {"keep": ["ward"], "suppress": 0.1, "sensitive": {**letter, **level}}
    superset = {"FEDTAX": {"t": 0.1, "n": 200}}
    return {
        "weave fast": (patients, PATIENTS, "weave", {"effort": "fast"}, "csv"),
        "weave balanced": (patients, PATIENTS, "weave", {}, "parquet"),
        "weave best": (census, CENSUS, "weave", {"effort": "best"}, "csv"),
        "weave two attributes": (census, _with(CENSUS, sensitive=taxes), "weave", {}, "arrow"),
        "weave hierarchy": (adults, _with(ADULT, sensitive=tree), "weave", {}, "csv"),
        "weave models": (adults, _with(ADULT, sensitive=models), "weave", {}, "csv"),
        "weave matrix": (letters, _with(small, sensitive=letter), "weave", {}, "csv"),
        "weave kept": (letters, _with(small, **kept), "weave", {}, "csv"),
        "weave mean": (
            census,
            _with(CENSUS, quasi={"TAXINC": {"publish": "mean"}, "POTHVAL": {"step": 1000, "top": 20000}}),
            "weave",
            {"effort": "fast"},
            "csv",
        ),
        "weave (n,t)": (census, _with(CENSUS, sensitive=superset), "weave", {"effort": "fast"}, "csv"),
        "fragmentation": (census, _with(CENSUS, sensitive=taxes), "fragmentation", {}, "csv"),
        "fragmentation gcd": (census, CENSUS, "fragmentation", {"sizing": "gcd"}, "csv"),
        "mondrian": (patients, PATIENTS, "mondrian", {}, "csv"),
        "mondrian relaxed": (adults, ADULT, "mondrian", {"cuts": "relaxed"}, "csv"),
        "incognito": (adults, ADULT, "incognito", {}, "csv"),
        "kanonymity": (census, {"k": 3, "others": "drop", "quasi": ["TAXINC", "POTHVAL"]}, "kanonymity", {}, "csv"),
        "sabre": (census, CENSUS, "sabre", {}, "csv"),
        "sabre nearest": (census, CENSUS, "sabre", {"near": "nearest"}, "csv"),
        "burel": (adults, _with(ADULT, sensitive={"occupation": {"beta": 2, "distance": "equal"}}), "burel", {}, "csv"),
        "microaggregation": (census, CENSUS, "microaggregation", {}, "csv"),
        "microaggregation swap": (census, CENSUS, "microaggregation", {"variant": "swap"}, "csv"),
        "microaggregation merge": (census, CENSUS, "microaggregation", {"variant": "merge"}, "csv"),
        "clustering": (census, _with(CENSUS, sensitive=taxes), "clustering", {}, "csv"),
        "pca": (census, _with(CENSUS, sensitive=taxes), "pca", {}, "csv"),
        "exact": (lambda: census()[:13], _with(CENSUS, sensitive={"FEDTAX": {"t": 0.3}}), "exact", {}, "csv"),
        "projections": (patients, PATIENTS, "projections", {"tables": 2, "base": "mondrian"}, "csv"),
        "anatomy": (adults, ADULT, "anatomy", {}, "csv"),
    }  # fmt: skip


def digests() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the SHA-256 of every file that each case writes."""
    for name, (table, policy, method, options, kind) in cases().items():
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            warnings.simplefilter("ignore")
            release = tclose.anonymize(table(), tclose.Policy.from_dict(policy), method=method, seed=SEED, **options)
            release.write(folder / f"release.{kind}", certificate=folder / "certificate.json")
            yield name, {f.name: hashlib.sha256(_bytes(f)).hexdigest() for f in sorted(folder.iterdir())}


def others() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield fingerprints of what other places and commands make."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        census().write_parquet(folder / "t.parquet")
        for parts in (1, 4):
            yield f"disk, parts: {parts}", _from_disk(folder, parts)
        yield "apply", _applied(folder)
        yield "studio", _tried(folder)
        if shutil.which("java") and find_spec("pyspark"):
            yield "spark", _on_spark(folder)
    names = ("", *tclose_commands())
    yield "help", {name or "tclose": _digest(_run([*TCLOSE, *([name] if name else []), "--help"])) for name in names}


def _from_disk(folder: Path, parts: int) -> dict[str, str]:
    rows = census().height // parts if parts > 1 else None
    out, certificate = folder / f"disk-{parts}", folder / f"disk-{parts}.json"
    target = out if rows else out.with_suffix(".csv")
    asked: dict[str, Any] = {"engine": "disk", "seed": SEED, "part_rows": rows, "options": {"effort": "fast"}}
    steps.anonymize(folder / "t.parquet", CENSUS, out=target, certificate=certificate, **asked)
    found = steps.verify(target, certificate).to_dict()
    files = sorted(target.iterdir()) if rows else [target]
    said = json.dumps({**found, "origin": None}, default=str, sort_keys=True).encode()
    return {**{file.name: _digest(file.read_bytes()) for file in [*files, certificate]}, "verify": _digest(said)}


def _applied(folder: Path) -> dict[str, str]:
    table, more = letters()[:300], letters()[300:]
    policy = {
        "k": 2,
        "quasi": ["age", "town"],
        "others": "drop",
        "sensitive": {"letter": {"t": 0.4, "distance": "equal"}},
    }
    files = {name: folder / f"first.{name}" for name in ("csv", "json", "record")}
    made = {"certificate": files["json"], "record": files["record"], "seed": SEED, "room": "0.2"}
    steps.anonymize(table, policy, out=files["csv"], **made)
    new = {"certificate": folder / "next.json", "seed": SEED}
    steps.apply(files["record"], more, release=files["csv"], out=folder / "next.csv", **new)
    return {file.name: _digest(file.read_bytes()) for file in (files["csv"], folder / "next.csv", folder / "next.json")}


def _tried(folder: Path) -> dict[str, str]:
    from tclose.studio import work
    from tclose.studio.pages import sentence
    from tclose.studio.project import Project

    project = Project.create(folder / "studio", name="t.csv", table="t.csv")
    patients()[:400].select("age", "sex", "ldl").write_csv(project.table)
    work.look(project.folder, lambda *_: None)
    project.change({"k": 3, "quasi": {"age": {}, "sex": {}}, "sensitive": {"ldl": {"t": 0.4}}})
    work.check(project.folder, lambda *_: None)
    judged = project.result(f"check-{project.fingerprint}")
    judged |= {"sentence": sentence(judged["sentence"]), "notes": list(map(sentence, judged["notes"]))}  # as pages do
    return {"check": _digest(json.dumps(judged, sort_keys=True).encode())}


def _on_spark(folder: Path) -> dict[str, str]:
    out, certificate = folder / "spark", folder / "spark.json"
    asked: dict[str, Any] = {"engine": "spark", "master": "local[1]", "seed": SEED, "options": {"effort": "fast"}}
    (folder / "parts").mkdir()
    census().write_parquet(folder / "parts" / "part-0.parquet")
    steps.anonymize(folder / "parts", CENSUS, out=out, certificate=certificate, **asked)
    return {file.name: _digest(file.read_bytes()) for file in [*sorted(out.iterdir()), certificate]}


def tclose_commands() -> list[str]:
    """Return the names of the commands, as help lists them."""
    lines = _run([*TCLOSE, "--help"]).decode().partition("Commands:")[2].splitlines()
    return [line.split()[0] for line in lines if line.startswith("  ") and line[2:3].strip()]


def _run(command: list[str]) -> bytes:
    return subprocess.run(command, capture_output=True, check=True, env={**os.environ, "COLUMNS": "80"}).stdout


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _bytes(file: Path) -> bytes:
    """Return a file's bytes; of a certificate, those that it would have without names and time."""
    if file.name != "certificate.json":
        return file.read_bytes()
    content = replace(load(file).certificate, format=1).to_dict()
    kept = {name: value for name, value in content.items() if name not in (*NAMES, "guarantee", "digest")}
    return (json.dumps({**kept, "digest": digest_of(kept)}, indent=2, ensure_ascii=False) + "\n").encode()


def main() -> int:
    """Record fingerprints, or compare with recorded ones."""
    what, path = sys.argv[1], Path(sys.argv[2])
    known = json.loads(path.read_text()) if what == "compare" else {}
    found, differing = {}, 0
    os.environ["SOURCE_DATE_EPOCH"] = "1767225600"  # one time for all certificates
    for name, files in (each for some in (digests(), others()) for each in some):
        found[name] = files
        changed = [] if what == "record" else [each for each in files if files[each] != known.get(name, {}).get(each)]
        differing += bool(changed)
        verdict = "recorded" if what == "record" else f"DIFFERS in {', '.join(changed)}" if changed else "same"
        print(f"{name}: {verdict}", flush=True)
    if what == "record":
        path.write_text(json.dumps(found, indent=1) + "\n")
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())
