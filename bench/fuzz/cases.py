"""One case of each kind: which files it damages, which commands a user would run, and what may come out of them."""

from __future__ import annotations

import io
import json
import os
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from random import Random

import oracle
import polars as pl

import mutations

Command = Sequence[str]
T = Fraction(3, 10)
K = 2
ZONES, ILLNESSES = ("north", "south", "west"), ("flu", "cold", "ulcer", "gastritis")
QUASI, SENSITIVE = ("zone", "age"), ("pay", "ill")
POLICY = f"""k = {K}
identifiers = ["name"]
missing = ["", "NA"]

[quasi.zone]

[quasi.age]
step = 5

[sensitive.pay]
t = 0.3

[sensitive.ill]
t = 0.3
distance = "equal"
"""
RULES = f"""k = {K}
identifiers = ["name"]
suppress = 0.5
[quasi.zone]
hierarchy = "zones.csv"
[quasi.age]
hierarchy = {{ width = [10, 20] }}
[sensitive.pay]
t = 0.5
bins = {{ quantiles = 4 }}
publish = "bin"
[sensitive.ill]
t = 0.6
l = 2
hierarchy = "tree.csv"
"""
COSTLY = f"""k = {K}
identifiers = ["name"]
others = "drop"
quasi = ["zone"]
[sensitive.ill]
t = 0.6
beta = 3
recursive = {{ c = 3, l = 2 }}
matrix = "costs.csv"
"""
ZONE_TREE = "north;up;*\nsouth;down;*\nwest;down;*\n"
TREE = "flu;lungs;*\ncold;lungs;*\nulcer;stomach;*\ngastritis;stomach;*\n"
COSTS = ";flu;cold;ulcer;gastritis\nflu;0;1;3;3\ncold;1;0;3;3\nulcer;3;3;0;1\ngastritis;3;3;1;0\n"
FORBIDDEN = {
    "\u061c",
    "\u200e",
    "\u200f",
    *"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
}  # turn text around


@dataclass(frozen=True)
class Outcome:
    """What one command left behind."""

    command: Command
    status: int
    out: bytes
    err: bytes


Rule = Callable[[Sequence[Outcome]], str | None]


@dataclass(frozen=True)
class Case:
    """Files, commands to run among them, and a rule that says what is wrong with what they answered."""

    kind: str
    files: dict[str, bytes]
    commands: Sequence[Command]
    rule: Rule = lambda outcomes: None


def table(random: Random, rows: int) -> str:
    """Return a CSV table of people."""
    lines = ["name,zone,age,pay,ill"]
    for number in range(rows):
        age, pay = random.randrange(20, 60), random.choice((1, 2, 3, 4, 5.5))
        lines.append(f"p{number},{random.choice(ZONES)},{age},{pay},{random.choice(ILLNESSES)}")
    return "\n".join(lines) + "\n"


def frame_of(random: Random) -> pl.DataFrame:
    """Return a table whose columns have many types."""
    rows = random.choice((1, 7, 60, 300))
    text = pl.read_csv(table(random, rows).encode())
    more = {
        "day": pl.Series(range(rows)).cast(pl.Date),
        "moment": pl.Series(range(rows)).cast(pl.Datetime("us")),
        "flag": [number % 2 == 0 for number in range(rows)],
        "group": pl.Series([f"g{number % 3}" for number in range(rows)]).cast(pl.Categorical),
        "gaps": [None if number % 3 else number / 7 for number in range(rows)],
        "list": [[number] * (number % 3) for number in range(rows)],
        "binary": [bytes([number % 256]) for number in range(rows)],
        "money": pl.Series([f"{number}.50" for number in range(rows)]).cast(pl.Decimal(10, 2)),
    }
    chosen = random.sample(sorted(more), random.randrange(4))
    return text.with_columns(pl.Series(name, more[name]) for name in chosen)


def broken(outcome: Outcome) -> str | None:
    """Say what no command may ever do, whatever it is given."""
    if outcome.status not in (0, 1, 2):
        return f"exit status {outcome.status}"
    for name, output in (("stdout", outcome.out), ("stderr", outcome.err)):
        text = output.decode("utf-8", "replace")
        odd = {c for c in text if (unicodedata.category(c) == "Cc" and c != "\n") or c in FORBIDDEN}
        if odd:
            return f"control characters on {name}: {sorted(map(ascii, odd))}"
        if "Traceback" in text or "panicked" in text or "RUST_BACKTRACE" in text or "memory allocation of" in text:
            return f"the text of a crash on {name}"
    refused = outcome.status == 2 and not any(line.startswith(b"error: ") for line in outcome.err.splitlines())
    return "refused without an error" if refused else None


def csv_case(random: Random) -> Case:
    """A damaged CSV table; accepted, it must be judged as the oracle judges it, whatever the order and the format."""
    good = table(random, random.choice((3, 12, 40))).encode()
    data = mutations.several(random.choice((mutations.TABLE, mutations.GENTLE)), good, random)
    files = {"table.csv": data, "policy.toml": POLICY.replace("step = 5\n", "").encode()}
    check = ["check", "table.csv", "--policy", "policy.toml", "--json"]
    what = random.random()
    if what < 0.2:
        return Case("csv", files, [["init", "table.csv"], [*check[:4], *(["--show-values"] if what < 0.05 else [])]])
    if what < 0.35:
        return _released(Case("csv", files, []), random)
    files["other.csv"] = _shuffled(data, random)
    return Case(
        "csv", files, [check, ["check", "other.csv", *check[2:]]], lambda outcomes: _equal_verdicts(data, outcomes)
    )


def _shuffled(data: bytes, random: Random) -> bytes:
    """Put the rows in another order; a file whose lines are not its rows stays as it is."""
    if b'"' in data or b"\r" in data or not data.endswith(b"\n") or b"\n\n" in data:
        return data
    header, *lines = data.splitlines(keepends=True) if data else [b""]
    random.shuffle(lines)
    return header + b"".join(lines)


def _equal_verdicts(data: bytes, outcomes: Sequence[Outcome]) -> str | None:
    first, second = outcomes
    if first.status != second.status:
        return f"unequal verdict: exit {first.status}, with the rows in another order {second.status}"
    if first.status == 2:
        return None
    answer, other = json.loads(first.out), json.loads(second.out)
    for figure in (answer, other):
        for finding in figure["sensitive"].values():
            finding.pop("worst_class")  # classes are numbered as the table shows them
    if answer != other:
        return "unequal verdict with the rows in another order"
    distances = {name: finding["distance"] for name, finding in answer["sensitive"].items()}
    expected = oracle.figures(data, QUASI, distances, K, T)
    if expected is None:
        return None
    closeness = {name: finding["closeness_exact"] for name, finding in answer["sensitive"].items()}
    judged = {**{name: answer[name] for name in expected if name != "closeness"}, "closeness": closeness}
    return None if judged == expected else f"unequal verdict: the oracle says {expected}, tclose says {judged}"


def _released(case: Case, random: Random) -> Case:
    """Publish and verify: what was published must verify."""
    suffix = random.choice((".csv", ".csv", ".csv", ".parquet", ".arrow")) if random.random() < 0.3 else ".csv"
    method = random.choice(("mondrian", "mondrian", "mondrian", "weave", "anatomy", "fragmentation", "sabre"))
    files = ["--out", f"release{suffix}", "--certificate", "certificate.json"]
    publish = ["anonymize", "table.csv", "--policy", "policy.toml", "--method", method, *files]
    if random.random() < 0.2:
        publish.append("--guard-formulas")
    verify = ["verify", f"release{suffix}", "--certificate", "certificate.json"]
    return Case(case.kind, case.files, [publish, verify], _published_verifies)


def _published_verifies(outcomes: Sequence[Outcome]) -> str | None:
    published, verified = outcomes
    if published.status == 0 and verified.status != 0:
        return f"unequal verdict: published, but verify exits with {verified.status}"
    return None


def columnar_case(random: Random) -> Case:
    """A damaged Parquet or Arrow table."""
    frame, file = frame_of(random), io.BytesIO()
    kind = random.choice(("parquet", "ipc", "ipc_stream"))
    codecs = ("uncompressed", "zstd", "lz4", "snappy", "gzip") if kind == "parquet" else ("uncompressed", "zstd", "lz4")
    getattr(frame, f"write_{kind}")(file, compression=random.choice(codecs))
    data = mutations.several(mutations.BINARY, file.getvalue(), random)
    files = {"table.bin": data, "policy.toml": b'others = "drop"\n' + POLICY.encode()}
    command = random.choice((["check", "table.bin", "--policy", "policy.toml"], ["init", "table.bin"]))
    return Case("parquet" if kind == "parquet" else "arrow", files, [command])


def format_case(random: Random) -> Case:
    """The same table, damaged as text, in two formats: both are judged alike."""
    data = mutations.several((mutations.copy_cell, mutations.repeat_line), table(random, 40).encode(), random)
    frame, file = pl.read_csv(data, infer_schema=False), io.BytesIO()
    getattr(frame, random.choice(("write_parquet", "write_ipc", "write_ipc_stream")))(file)
    files = {"table.csv": data, "table.bin": file.getvalue(), "policy.toml": POLICY.encode()}
    rest = ["--policy", "policy.toml", "--json"]

    def rule(outcomes: Sequence[Outcome]) -> str | None:
        text, typed = outcomes
        same = (text.status, text.out) == (typed.status, typed.out)
        return None if same else "unequal verdict in two formats"

    return Case("arrow", files, [["check", "table.csv", *rest], ["check", "table.bin", *rest]], rule)


def toml_case(random: Random) -> Case:
    """A damaged policy."""
    changes = random.choice((mutations.TOML, mutations.GENTLE_TOML, mutations.GENTLE_TOML))
    policy = mutations.several(changes, random.choice((POLICY, RULES, COSTLY)).encode(), random)
    files = {"table.csv": table(random, 24).encode(), "policy.toml": policy, **_helpers()}
    return _judged_or_published(Case("toml", files, []), random)


def hierarchy_case(random: Random) -> Case:
    """Damaged hierarchies and cost matrices."""
    files = {"table.csv": table(random, 24).encode(), "policy.toml": RULES.encode(), **_helpers()}
    name = random.choice(("tree.csv", "zones.csv", "costs.csv"))
    if name == "costs.csv":
        files["policy.toml"] = COSTLY.encode()
    files[name] = mutations.several(random.choice((mutations.TEXT, mutations.GENTLE)), files[name], random)
    return _judged_or_published(Case("hierarchy", files, []), random)


def _helpers() -> dict[str, bytes]:
    return {"tree.csv": TREE.encode(), "zones.csv": ZONE_TREE.encode(), "costs.csv": COSTS.encode()}


def _judged_or_published(case: Case, random: Random) -> Case:
    if random.random() < 0.4:
        return _released(case, random)
    explain = ["--attribute", "ill", "--class", str(random.randrange(4))]
    commands = [["check"], ["check"], ["explain", *explain]]
    command, *more = random.choice(commands)
    return Case(case.kind, case.files, [[command, "table.csv", "--policy", "policy.toml", *more]])


def certificate_case(random: Random, published: Path) -> Case:
    """A damaged certificate, or a damaged release: neither may verify, unless nothing that counts was changed."""
    names = random.choice(
        (("release.csv", "release.json"), ("release.csv", "release.json"), ("parts.csv", "parts.json"))
    )
    files = {path.name: path.read_bytes() for path in published.iterdir() if path.name.startswith(names[0][:5])}
    before = dict(files)
    target = names[1] if random.random() < 0.8 else random.choice([name for name in files if name.endswith(".csv")])
    changes = mutations.JSON if target == names[1] else mutations.TABLE
    files[target] = mutations.several(changes, files[target], random)

    def rule(outcomes: Sequence[Outcome]) -> str | None:
        if outcomes[0].status or files[target] == before[target]:
            return None
        if not target.endswith(".json"):
            return "unequal verdict: a release that was changed verifies"
        was, now = json.loads(before[target]), json.loads(files[target])
        same_digest = was.pop("digest") == now.pop("digest") and was != now
        return "unequal verdict: a changed certificate verifies under its old digest" if same_digest else None

    more = ["--json"] if random.random() < 0.3 else []
    return Case("certificate", files, [["verify", names[0], "--certificate", names[1], *more]], rule)


def name_case(random: Random) -> Case:
    """Files whose names would do harm on a terminal."""
    name = random.choice(mutations.TOKENS).decode("utf-8", "replace")[:80].replace("\0", "_")  # no argument holds a NUL
    files = {"table.csv": table(random, 6).encode(), "policy.toml": POLICY.encode()}
    commands = random.choice(
        (
            [["check", name, "--policy", "policy.toml"], ["check", "table.csv", "--policy", name]],
            [["verify", name, "--certificate", name], ["init", "table.csv", "--out", f"no/{name}"]],
            [["check", "table.csv", "--qi", name, "--sensitive", f"{name}=0.2"], ["explain", name]],
            [["anonymize", "table.csv", "--policy", "policy.toml", "--out", name, "--method", "mondrian"]],
        )
    )
    return Case("name", files, commands)


def case_of(seed: int, published: Path) -> Case:
    """Return the case that a seed stands for."""
    random = Random(seed)
    makers: dict[Callable[[Random], Case], int] = {
        csv_case: 32,
        columnar_case: 20,
        format_case: 3,
        toml_case: 20,
        hierarchy_case: 10,
        lambda random: certificate_case(random, published): 12,
        name_case: 3,
    }
    (maker,) = random.choices(list(makers), list(makers.values()))
    return maker(random)


def write_published(folder: Path, run: Callable[[Command], int]) -> None:
    """Publish the tables whose certificates are damaged later, one of one table and one of several; compile kernels."""
    os.environ["SOURCE_DATE_EPOCH"] = "0"  # the same files each time, so that a find can be seen again
    if status := run(["doctor", "--warm"]):
        raise SystemExit(f"the kernels could not be compiled: exit status {status}")
    (folder / "table.csv").write_text(table(Random(1), 40), encoding="utf-8")
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    for name, method in (("release", "mondrian"), ("parts", "anatomy")):
        files = ["--out", str(folder / f"{name}.csv"), "--certificate", str(folder / f"{name}.json")]
        status = run(["anonymize", str(folder / "table.csv"), "--policy", str(folder / "policy.toml"), *files,
                      "--method", method, "--seed", "1"])  # fmt: skip
        if status:
            raise SystemExit(f"the good table could not be published with {method}: exit status {status}")
