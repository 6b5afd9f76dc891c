"""Every setting gives the same release in memory, from disk and on Spark; a setting that no case has fails a test."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from tclose import read, steps, verify
from tclose.policy import Policy
from tclose.run.engines import CAPABILITIES, settings_in_use
from tclose.run.parts.buckets import SplitPart, split_part
from tclose.run.parts.rows import PartSplitter
from tclose.run.request import ALWAYS, Request
from tclose.types import Progress

ROWS = 240
NUMBERS = range(ROWS)
SIX = ["a", "b", "c", "d", "e", "f"]
TABLE = pl.DataFrame(
    {
        "name": [f"n{i}" for i in NUMBERS],
        "pid": [f"p{i // 2}" for i in NUMBERS],
        "age": [18 + (i * 37) % 70 for i in NUMBERS],
        "zip": [["02101", "02139", "02142", "98101"][(i * 7) % 4] for i in NUMBERS],
        "sex": [("f", "m")[i % 3 == 0] for i in NUMBERS],
        "ward": [("north", "south")[i % 5 == 0] for i in NUMBERS],
        "note": [("=x", "y", "@z;-x")[i % 7 % 3] for i in NUMBERS],
        "dose": [f"<{1 + i % 2}" if i % 6 == 0 else str(2 + (i * 11) % 40) for i in NUMBERS],
        "pay": [1000 + 10 * ((i * 31) % 90) for i in NUMBERS],
        "level": [None if i % 50 == 3 else (i * 13) % 29 for i in NUMBERS],
        "letter": [SIX[(i * i + i // 7) % 6] for i in NUMBERS],
        "ill": [("flu", "cold", "none", "ulcer")[(i * i + i // 5) % 4] for i in NUMBERS],
    }
)
PERSONS = TABLE.with_columns(*(pl.col(name).gather([i // 2 * 2 for i in NUMBERS]) for name in ("age", "sex", "zip")))
ILL: dict[str, Any] = {"ill": {"t": 0.5, "distance": "equal"}}
PLAIN: dict[str, Any] = {"k": 3, "others": "drop", "quasi": ["age", "sex"], "sensitive": ILL}
COSTS = {"values": SIX, "costs": [[abs(i - j) for j in range(6)] for i in range(6)]}
TREE = "flu;lung;any\ncold;lung;any\nnone;other;any\nulcer;other;any\n"

# what is asked for, beside the plain policy, and of the request
POLICIES: dict[str, dict[str, Any]] = {
    "columns": {
        "identifiers": ["name"],
        "keep": ["ward"],
        "unlinkable": ["note"],
        "missing": ["", "NA"],
        "suppress": 0.2,
        "quasi": {
            "age": {"step": 5, "top": 80, "bottom": 20, "weight": 2},
            "zip": {"hierarchy": {"prefix": [3]}},
            "dose": {"below": "half"},
        },
        "sensitive": {
            "pay": {"t": 0.4, "l": 2, "bins": {"width": 100}, "publish": "bin"},
            "level": {"t": 0.4, "missing": "suppress", "domain": list(range(29))},
        },
        "joint": [{"attributes": ["pay", "level"], "t": 0.5, "distance": "product"}],
    },
    "models": {
        "sensitive": {
            "ill": {"t": 0.6, "distance": "equal", "alpha": 0.9, "beta": 6, "kl": 1.2, "entropy_l": 1.2},
            "letter": {"t": 0.5, "distance": "matrix", "matrix": COSTS, "recursive": {"c": 5, "l": 2}},
            "level": {"t": 0.6, "average_t": 0.4, "missing": "value"},
        },
    },
    "shares": {
        "sensitive": {
            "ill": {"t": 0.6, "distance": "equal", "enhanced_beta": 6, "delta": 3},
            "letter": {"t": 0.5, "order": SIX},
            "pay": {"t": 0.4, "n": 60},
        },
    },
    "trees and limits": {
        "sensitive": {
            "ill": {"t": 0.6, "distance": "hierarchical", "hierarchy": "tree.csv"},
            "dose": {"t": 0.5, "below": "half", "bins": {"width": 10}, "publish": "bin"},
        },
    },
    "persons": {"person": "pid", "sensitive": {"ill": {"t": 0.6, "distance": "equal", "l": 2}}},
    "diverse persons": {
        "person": "pid",
        "sensitive": {
            "ill": {"t": 0.7, "distance": "equal", "entropy_l": 1.2},
            "letter": {"t": 0.8, "recursive": {"c": 6, "l": 2}, "distance": "equal"},
        },
    },
    "pseudonyms": {"identifiers": ["pid"], "pseudonym": {"pid": {"key": "my.key"}}},
    "both": {"both": ["age"], "sensitive": {**ILL, "age": {"t": 0.5}}},
    "temper": {"temper": 0.2},
    "presence": {"presence": {"population": "everyone.csv", "max": 0.9}},
    "means": {"quasi": {"age": {"publish": "mean"}, "sex": {}}},
    "discernibility": {"loss": "discernibility"},
    "squared error": {"loss": "sse"},
    "queries": {"loss": "queries"},
    "groups of persons": {
        "keep": ["ward"],
        "sensitive": {"ill": {"t": 0.6, "distance": "equal", "t_by": {"column": "ward", "t": {"south": 0.4}}}},
    },
    "context": {"context": {"recipient": "a university", "purpose": "a study"}},
}
REQUESTS: dict[str, dict[str, Any]] = {
    "guarded text": {"guard_formulas": True, "part_rows": 100},
    "typed": {"release_format": "columns", "part_rows": 100, "describe": ("datapackage", "codebook")},
    "page": {"report": "page.html", "public": True},
    "profile": {"report": "page.html", "profile": "wp216"},
    "room": {"room": "0.2"},
    "bound": {"bound": True, "bound_seconds": 1.0, "bound_proof": "proof.json"},
}
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "mondrian": ("mondrian", {}),
    "sabre": ("sabre", {}),
    "microaggregation": ("microaggregation", {"variant": "merge"}),
    "fragmentation": ("fragmentation", {"bound": "tight"}),
    "clustering": ("clustering", {}),
    "pca": ("pca", {}),
    "incognito": ("incognito", {}),
    "anatomy": ("anatomy", {}),
    "permutation": ("permutation", {"base": "mondrian"}),
    "balanced": ("weave", {"effort": "balanced"}),
}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    **{name: ({**PLAIN, **asked}, {}) for name, asked in POLICIES.items()},
    **{name: ({**PLAIN, "unlinkable": ["note"]}, asked) for name, asked in REQUESTS.items()},
    "kanonymity": ({**PLAIN, "sensitive": {"ill": {"t": 1}}}, {"method": "kanonymity"}),
    "persons by mondrian": ({**PLAIN, **POLICIES["persons"]}, {"method": "mondrian"}),
    "burel": ({**PLAIN, "sensitive": {"ill": {"beta": 3}}}, {"method": "burel"}),
    **{name: (PLAIN, {"method": method, "options": options}) for name, (method, options) in METHODS.items()},
}
# cases that are made in several parts, too
SEVERAL = (
    *("guarded text", "columns", "models", "means", "squared error", "queries", "temper", "diverse persons", "room"),
    *(
        "mondrian",
        "persons by mondrian",
        "sabre",
        "microaggregation",
        "fragmentation",
        "kanonymity",
        "burel",
        "clustering",
        "pca",
    ),
)
SEVERAL_ON_SPARK = ("guarded text", "means", "temper", "diverse persons", "mondrian", "sabre")
LIKE_ANOTHER = {  # on Spark, where a case waits for seconds: `make test` has another method, or another loss
    "squared error", "queries", "balanced", "kanonymity", "persons by mondrian", "burel", "sabre", "microaggregation",
    "fragmentation", "clustering", "pca", "permutation", "means", "profile",
}  # fmt: skip
NO_WEAVE = ("presence",)  # which mondrian publishes
ELSEWHERE = {  # settings with a test of their own
    "source": "tests/cli/test_formats.py: Parquet says itself how it is written",
    "replay": "tests/cli/test_replay.py",
    "resume": "tests/cli/test_disk_release.py",
    "endorsement": "tests/cli/test_signing.py",
    "engine": "this file",
    "master": "tests/spark",
    "force": "tests/cli",
    "effort": "this file, as an option of weave",
    "weave": "this file",
    "exact": "tests/partition: it takes a few rows only",
    "projections": "tests/release: it writes several files",
}
DIFFERENT = {"created", "digest", "files", "table"}  # keys of certificates, whose files have other names and bytes
LAW = [
    pytest.mark.filterwarnings("ignore::tclose.LeakWarning", "ignore::tclose.errors.WholeTableWarning"),
    pytest.mark.filterwarnings("ignore::tclose.errors.ProfileWarning"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tables, and with the files that policies name."""
    place: Path = tmp_path_factory.mktemp("places")
    TABLE.write_parquet(place / "t.parquet")
    PERSONS.write_parquet(place / "persons.parquet")
    pl.concat([TABLE, TABLE]).select("age", "sex").write_csv(place / "everyone.csv")
    (place / "tree.csv").write_text(TREE)
    steps.pseudonym_key(place / "my.key")
    return place


def request_of(case: str, folder: Path, place: str, **more: Any) -> Request:
    """Return the request of a case, whose files lie in a folder of their own."""
    asked, outputs = CASES[case]
    own = folder / f"{case}-{place}"
    own.mkdir(exist_ok=True)
    said = {name: own / value if name in ("report", "bound_proof") else value for name, value in outputs.items()}
    if case not in NO_WEAVE and "method" not in said:
        said["options"] = {"effort": "fast"}
    table = folder / ("persons.parquet" if "person" in asked or "pseudonym" in asked else "t.parquet")
    policy = Policy.from_dict(asked, folder=folder)
    ending = "" if place.startswith("spark") or "part_rows" in said else ".csv"
    if case in ("both", "anatomy", "permutation", "room"):
        ending = ".csv"  # of several tables, or which new rows can join
    return Request(
        table=table,
        policy=policy,
        out=own / f"r{ending}",
        certificate=own / "c.json",
        record=own / "r.record",
        seed=1,
        **{"engine": place, **said, **more},
    )


def published(request: Request) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return what was released, in an order of its own, and its certificate without what is not compared."""
    out = Path(request.out)
    frame = read(out).drop("class", strict=False)  # a number in the order of rows, too
    lists = [name for name, dtype in frame.schema.items() if dtype == pl.List]
    frame = frame.with_columns(pl.col(lists).list.join("|")).with_columns(pl.all().cast(pl.String).fill_null(""))
    certificate = certified(request)
    for claim in certificate.get("sensitive", {}).values():
        claim.pop("worst_class", None)  # a number in the order of rows
    return frame.sort(frame.columns), {key: value for key, value in certificate.items() if key not in DIFFERENT}


def certified(request: Request) -> dict[str, Any]:
    """Return what a certificate says."""
    content: dict[str, Any] = json.loads(Path(str(request.certificate)).read_text())
    return content


def made(case: str, folder: Path, engine: str, **more: Any) -> Request:
    """Make and verify the release of a case."""
    request = request_of(case, folder, engine, **more)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        publication = steps.publish(request)
        checked = verify(request.out, str(request.certificate))
    assert checked.holds, checked.problems
    assert publication.certificate is not None
    for file in ("report", "bound_proof"):
        assert getattr(request, file) is None or Path(getattr(request, file)).stat().st_size
    return request


def without_text(certificate: dict[str, Any]) -> dict[str, Any]:
    """Return a certificate without what differs between searches that a clock ends."""
    return {key: value for key, value in certificate.items() if key not in ("bound", "bound_proof_sha256")}


@pytest.fixture(scope="module")
def in_memory(folder: Path) -> dict[str, Any]:
    """What memory makes of each case, once."""
    return {}


def expected(case: str, folder: Path, known: dict[str, Any]) -> tuple[pl.DataFrame, dict[str, Any]]:
    if case not in known:
        known[case] = published(made(case, folder, "memory"))
    found: tuple[pl.DataFrame, dict[str, Any]] = known[case]
    return found


def few_on_spark(cases: Iterable[str]) -> list[Any]:
    """Return cases for `parametrize`; those that are like another are left to `make soak`."""
    return [pytest.param(case, marks=pytest.mark.soak if case in LIKE_ANOTHER else ()) for case in cases]


@pytest.mark.parametrize("case", CASES)
def test_a_release_from_disk_is_that_of_memory(case: str, folder: Path, in_memory: dict[str, Any]) -> None:
    rows, certificate = published(made(case, folder, "disk"))
    expected_rows, expected_certificate = expected(case, folder, in_memory)
    assert rows.equals(expected_rows)
    assert without_text(certificate) == without_text(expected_certificate)


@pytest.mark.filterwarnings("ignore::tclose.LeakWarning")  # no warning says that all rows are one part
@pytest.mark.parametrize("case", SEVERAL)
def test_a_release_from_disk_in_several_parts_holds(case: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts: list[int] = []

    def split(rows: pl.DataFrame, *given: Any, **more: Any) -> SplitPart:
        parts.append(rows.height)
        return split_part(rows, *given, **more)

    monkeypatch.setattr("tclose.run.parts.rows.split_part", split)
    monkeypatch.setattr("tclose.run.parts.plan.PART_ROWS", 60)
    more = {"part_rows": 60} if "part_rows" in CASES[case][1] else {}
    request = request_of(case, folder, "disk-parts", engine="disk", **more)
    publication = steps.publish(request)
    assert len(parts) > 1
    assert sum(parts) + publication.certificate.withheld == ROWS
    checked = verify(request.out, str(request.certificate))
    assert checked.holds, checked.problems


@pytest.mark.xdist_group("spark")
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")  # of py4j
@pytest.mark.parametrize("case", few_on_spark(CASES))
def test_a_release_on_spark_is_that_of_memory(
    case: str, folder: Path, in_memory: dict[str, Any], cluster: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tclose.spark.rows.session", lambda _: nullcontext(cluster.spark))  # that of all tests here
    rows, certificate = published(made(case, folder, "spark", master=cluster.machines.address))
    expected_rows, expected_certificate = expected(case, folder, in_memory)
    assert rows.equals(expected_rows)
    assert without_text(certificate) == without_text(expected_certificate)


@pytest.mark.xdist_group("spark")
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")  # of py4j
@pytest.mark.filterwarnings("ignore::tclose.LeakWarning")  # no warning says that all rows are one part
@pytest.mark.parametrize("case", few_on_spark(SEVERAL_ON_SPARK))
def test_a_release_on_spark_in_several_parts_holds(
    case: str, folder: Path, cluster: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tclose.spark.rows import SparkRows

    parts: list[int] = []
    deal = SparkRows.deal

    def counted(self: Any, splitting: PartSplitter, progress: Progress) -> None:
        parts.append(len(splitting.parts))
        deal(self, splitting, progress)

    monkeypatch.setattr("tclose.spark.rows.session", lambda _: nullcontext(cluster.spark))
    monkeypatch.setattr(SparkRows, "deal", counted)
    request = request_of(case, folder, "spark-parts", engine="spark", master=cluster.machines.address, part_rows=60)
    steps.publish(request)
    assert parts[0] > 1
    checked = verify(request.out, str(request.certificate))
    assert checked.holds, checked.problems


def test_every_setting_has_a_case(folder: Path) -> None:
    seen: set[tuple[str, str | None]] = set()
    for case in CASES:
        request = request_of(case, folder, "disk")
        seen |= {(kind, name) for kind, name, _ in settings_in_use(request.asked)} | {("method", request.method)}
        usual = {each.name: each.default for each in fields(Request)}
        seen |= {("output", name) for name in usual if name not in ALWAYS and getattr(request, name) != usual[name]}
    listed = {(each.kind, each.name) for each in CAPABILITIES if each.kind != "table"}
    assert {name for _, name in listed - seen} <= {*ELSEWHERE}, sorted(listed - seen)
