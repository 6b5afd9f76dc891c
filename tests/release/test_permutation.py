"""Permutations: what is published and certified, what verify() sees, and what is random about them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose import LeakWarning, Policy, Unsuited, anonymize, attack, read, verify
from tclose.errors import InputError
from tclose.release.certificate import digest_of
from tclose.release.files import sha256
from tclose.release.layouts.groups import permuted
from tclose.run.request import Recipe

pytestmark = pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
CHANCE = np.random.default_rng(3)
ROWS = 60
FRAME = pl.DataFrame(
    {
        "name": [f"person {i}" for i in range(ROWS)],
        "age": CHANCE.integers(20, 80, ROWS),
        "ward": CHANCE.choice(["a", "b"], ROWS),
        "pay": CHANCE.integers(1, 7, ROWS),
        "ill": CHANCE.choice(["flu", "cold", "cut"], ROWS),
    }
)
ASKED: dict[str, Any] = {
    "identifiers": ["name"],
    "quasi": ["age"],
    "keep": ["ward"],
    "sensitive": {"pay": {"t": 0.3}, "ill": {"t": 0.4, "l": 2}},
    "k": 2,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a permutation and its certificate."""
    release = anonymize(FRAME, ASKED, method="permutation:mondrian", seed=1)
    release.write(tmp_path / "r.csv", certificate=tmp_path / "c.json")
    return tmp_path


def test_cells_are_true_and_only_their_rows_change() -> None:
    table = anonymize(FRAME, ASKED, method="permutation:mondrian", seed=1).table
    assert table.columns == ["age", "ward", "pay", "ill", "group"]
    assert sorted(table["age", "ward"].rows()) == sorted(FRAME["age", "ward"].cast({"age": pl.String}).rows())
    assert sorted(table["ward", "pay", "ill"].rows()) == sorted(FRAME["ward", "pay", "ill"].rows())
    assert sorted(table["age", "pay"].rows()) != sorted(FRAME["age", "pay"].cast({"age": pl.String}).rows())


def test_every_order_of_a_group_is_equally_likely() -> None:
    labels = np.array([0, 1, 0, 1, 1])
    found = Counter(tuple(permuted(labels, seed).tolist()) for seed in range(1200))
    assert {(order[0], order[2]) for order in found} == {(0, 2), (2, 0)}
    assert len(found) == 2 * 6
    assert all(60 < times < 140 for times in found.values())  # 100 each, with a standard deviation of 9.6


def test_it_says_that_it_does_not_hide_who_is_in_the_table(folder: Path) -> None:
    with pytest.warns(LeakWarning, match="who is in the table is not hidden"):
        anonymize(FRAME, ASKED, method="permutation:mondrian")
    content = json.loads((folder / "c.json").read_text())
    assert content["identity_protected"] is False
    assert content["group"] == "group"
    assert content["measures"]["gcp"] == 0
    found = verify(folder / "r.csv", folder / "c.json")
    assert found.problems == ()
    assert found.to_dict()["identity_protected"] is False


def test_a_permutation_may_get_another_name(folder: Path) -> None:
    (folder / "r.csv").rename(folder / "other.csv")
    assert verify(folder / "other.csv", folder / "c.json").holds


def _rewritten(folder: Path, change: Callable[[dict[str, Any]], object]) -> tuple[str, ...]:
    """Change the certificate as a forger would, with the fingerprint of the file as it is; return what verify says."""
    content = json.loads((folder / "c.json").read_text())
    del content["digest"]
    content["files"][0]["sha256"] = sha256((folder / "r.csv").read_bytes())
    change(content)
    (folder / "c.json").write_text(json.dumps({**content, "digest": digest_of(content)}))
    return verify(folder / "r.csv", folder / "c.json").problems


@pytest.mark.parametrize(
    ("how", "word"),
    [
        (lambda frame: frame.with_columns(pl.col("pay").sort()), "'pay'"),
        (lambda frame: frame.with_columns(pl.col("ward").sort()), "a group has rows of different kept values"),
        (lambda frame: frame.with_columns(pl.col("group").shuffle(seed=1)), "kept values"),
        (lambda frame: frame.with_columns(ssn=pl.lit("1")), "columns that the policy gives it"),
        (lambda frame: frame.drop("group"), "columns that the policy gives it"),
        (lambda frame: frame[1:], "rows"),
    ],
)
def test_a_changed_table_is_found(folder: Path, how: Callable[[pl.DataFrame], pl.DataFrame], word: str) -> None:
    how(read(folder / "r.csv")).write_csv(folder / "r.csv")
    assert any("SHA-256" in problem for problem in verify(folder / "r.csv", folder / "c.json").problems)
    assert any(word in problem for problem in _rewritten(folder, lambda _: None))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda content: content.update(identity_protected=True), "identity is not protected"),
        (lambda content: content.pop("scope"), "scope"),
        (lambda content: content.pop("group"), "does not publish such tables"),
        (lambda content: content.update(method="weave"), "does not publish such tables"),
        (lambda content: content["measures"].update(reconstruction_error=0.1), "reconstruction_error"),
        (lambda content: content["policy"].update(both=["age"]), "cannot be judged"),
    ],
)
def test_a_forged_certificate_is_found(folder: Path, change: Callable[[dict[str, Any]], object], word: str) -> None:
    assert any(word in problem for problem in _rewritten(folder, change))


def test_what_cannot_be_permuted_or_compared_is_refused() -> None:
    with pytest.raises(Unsuited, match="names none"):
        anonymize(FRAME, Policy.from_dict({**ASKED, "sensitive": {}, "others": "drop"}), method="permutation")
    with pytest.raises(Unsuited, match="'anatomy' does not publish classes"):
        anonymize(FRAME, ASKED, method="permutation", base="anatomy")
    release = anonymize(FRAME, ASKED, method="permutation:mondrian", seed=1)
    with pytest.raises(InputError, match="this release publishes no classes"):
        attack(release, original=FRAME, policy=ASKED)


def test_the_base_lowers_the_loss_that_the_policy_chooses() -> None:
    asked = Policy.of({"quasi": ["age"], "sensitive": {"ill": {"t": 1}}, "loss": "discernibility"})
    assert Recipe.of(asked, "permutation", {}, seed=1).unused_loss is None
    assert Recipe.of(asked, "permutation", {"base": "mondrian"}, seed=1).unused_loss is not None
