"""Pseudonyms on the command line: the key, the release, what it says, and what is refused."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from .conftest import SECRET, Outcome

Run = Callable[..., Outcome]
POLICY = """
identifiers = ["id"]
k = 2
[pseudonym.id]
key = "keys/my.key"
[quasi.age]
[sensitive.ill]
t = 0.5
"""


@pytest.fixture
def table(folder: Path) -> Path:
    """Write a table and its policy; every patient has two rows."""
    rows = [(f"{SECRET}{number // 2}", 20 + number // 2, "ab"[number % 2]) for number in range(16)]
    pl.DataFrame(rows, schema=["id", "age", "ill"], orient="row").write_csv(folder / "t.csv")
    (folder / "p.toml").write_text(POLICY)
    (folder / "keys").mkdir()
    return folder / "t.csv"


def test_from_a_key_to_a_verified_release(process: Run, tclose: Run, table: Path) -> None:
    """In processes of their own: nothing that identifies anyone, and nothing of the key, is written or printed."""
    folder = table.parent
    made = tclose("pseudonym-key", "keys/my.key")
    assert made.status == 0
    if os.name != "nt":
        assert stat.S_IMODE((folder / "keys/my.key").stat().st_mode) == 0o600
    written = ("--out", "r.csv", "--certificate", "c.json", "--record", "record.json", "--effort", "fast")
    published = process("anonymize", "t.csv", "--policy", "p.toml", *written)
    assert published.status == 0, published.err
    assert "link all rows of a person" in " ".join(published.err.split())
    fingerprint = json.loads((folder / "c.json").read_text())["pseudonyms"]["id"]["key"]
    assert fingerprint in made.out
    verified = tclose("verify", "r.csv", "--certificate", "c.json")
    assert verified.status == 0, verified.err
    secret = (folder / "keys/my.key").read_bytes()
    texts = [made.out, published.out, published.err, verified.out]
    texts += [(folder / name).read_text() for name in ("r.csv", "c.json", "record.json")]
    assert all(SECRET not in text and secret.hex() not in text and "my.key" not in text for text in texts[1:])


def test_a_release_with_pseudonyms_is_repeated_but_no_rows_join_it(tclose: Run, table: Path) -> None:
    """The record does not say where the key is, so it is the policy of the command that names it."""
    assert tclose("pseudonym-key", "keys/my.key").status == 0
    asked = ("anonymize", "t.csv", "--policy", "p.toml")
    assert tclose(*asked, "--out", "r.csv", "--record", "rec.json", "--effort", "fast").status == 0
    again = tclose(*asked, "--out", "again.csv", "--replay", "rec.json")
    assert again.status == 0, again.err
    assert Path("again.csv").read_bytes() == Path("r.csv").read_bytes()
    tclose("apply", "rec.json", "t.csv", "--out", "r2.csv").refuses("its policy has pseudonyms")


def test_attacks_on_two_releases_do_not_pretend_that_pseudonyms_link_nothing(tclose: Run, table: Path) -> None:
    assert tclose("pseudonym-key", "keys/my.key").status == 0
    for name, seed in (("r.csv", "1"), ("r2.csv", "2")):
        asked = ("anonymize", "t.csv", "--policy", "p.toml", "--out", name, "--effort", "fast", "--seed", seed)
        assert tclose(*asked).status == 0
    outcome = tclose("attack", "r.csv", "r2.csv", "--original", "t.csv", "--policy", "p.toml", "--json")
    assert outcome.status == 0, outcome.err
    found = {attack["name"]: attack["release"] for attack in json.loads(outcome.out)["attacks"]}
    for name in ("intersection", "differencing"):
        assert found[name]["figure"] is None
        assert "would show a risk that is too small, so it is left out" in found[name]["sentence"]


def test_a_key_is_never_overwritten(tclose: Run, table: Path) -> None:
    assert tclose("pseudonym-key", "keys/my.key", "--json").status == 0
    before = Path("keys/my.key").read_bytes()
    tclose("pseudonym-key", "keys/my.key").refuses("exists already, and a key that was used must not get lost")
    assert Path("keys/my.key").read_bytes() == before
    tclose("pseudonym-key", "nowhere/my.key").refuses("there is no folder nowhere")
    options = ("--policy", "p.toml", "--out", "r.csv", "--certificate", "keys/my.key", "--force")
    tclose("anonymize", "t.csv", *options).refuses("keys/my.key is read and would be overwritten")
    assert Path("keys/my.key").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "there is no key file keys/my.key: make one with tclose pseudonym-key keys/my.key"),
        (("--method", "mondrian"), "cannot keep all rows of a pseudonym in one class: choose method 'weave'"),
    ],
)
def test_what_is_refused_before_the_work(tclose: Run, table: Path, options: tuple[str, ...], says: str) -> None:
    if options:
        tclose("pseudonym-key", "keys/my.key")
    tclose("anonymize", "t.csv", "--policy", "p.toml", "--out", "r.csv", *options).refuses(says)
    assert not Path("r.csv").exists()
    tclose("anonymize", "no table.csv", "--policy", "p.toml", "--out", "r.csv", *options).refuses(says)


def test_a_draft_mentions_pseudonyms_where_an_identifier_repeats(tclose: Run, folder: Path) -> None:
    rows = {"patient_id": [1000 + number // 3 for number in range(60)], "age": [number % 50 for number in range(60)]}
    pl.DataFrame(rows).write_csv("t.csv")
    drafted = tclose("init", "t.csv").out
    assert '# To publish its pseudonyms, add [pseudonym.patient_id] with key = "FILE"' in drafted
