"""Every number that a certificate claims: change it, and `verify` refuses, or says that nobody can verify it."""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
from tests.conftest import TIMES

import tclose
from tclose import Certificate, LeakWarning, verify
from tclose.privacy import requirement
from tclose.privacy.registry import MODELS
from tclose.release.claims import ModelClaim
from tclose.release.verification import broken

ROWS = 48
TABLE = pl.DataFrame(
    {
        "age": [20 + row for row in range(ROWS)],
        "who": [row // 2 for row in range(ROWS)],
        "ill": [["flu", "cold", "ulcer", "gout"][(row * 7) % 4] for row in range(ROWS)],
        "pay": [(row * 5) % 6 for row in range(ROWS)],
        "dose": [(row * 11) % 5 for row in range(ROWS)],
        "sex": ["fm"[row // 8 % 2] for row in range(ROWS)],
    }
)
SENSITIVE: dict[str, dict[str, Any]] = {
    "ill": {
        "distance": "equal",
        **{"t": 0.5, "alpha": 0.7, "beta": 3, "enhanced_beta": 3, "delta": 2, "kl": 0.8},
        **{"l": 2, "entropy_l": 2, "recursive": {"c": 4, "l": 2}},
    },
    "pay": {"t": 0.8, "n": 20},
    "dose": {"t": 0.9, "average_t": 0.6, "t_by": {"column": "sex", "t": {"f": 0.7}}},
}
POLICY: dict[str, Any] = {"quasi": ["age"], "keep": ["sex"], "sensitive": SENSITIVE, "k": 4}


@cache
def released(person: bool) -> tuple[bytes, str]:
    """Publish a table under a policy that asks for every model, and return the release and its certificate."""
    policy = POLICY | ({"person": "who"} if person else {})
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)
        files = Path(folder, "r.csv"), Path(folder, "c.json")
        table = TABLE if person else TABLE.drop("who")
        tclose.anonymize(table, policy, method="mondrian", seed=1).write(files[0], certificate=files[1])
        return files[0].read_bytes(), files[1].read_text(encoding="utf-8")


def test_every_model_is_tested() -> None:
    claimed = {claim["model"] for claim in json.loads(released(False)[1])["models"]}
    assert set(MODELS) - {"presence_min", "presence_max", "presence_boxes", "suppress"} == claimed


def numbers(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield every number of a certificate, and every exact fraction, with where it stands."""
    if isinstance(content, dict | list):
        for key, value in content.items() if isinstance(content, dict) else enumerate(content):
            yield from numbers(value, (*path, key))
    elif isinstance(content, int | float) or (isinstance(content, str) and _fraction(content) is not None):
        yield path, content


def _fraction(text: str) -> Fraction | None:
    try:
        return Fraction(text) if "/" in text else None
    except (ValueError, ZeroDivisionError):
        return None


def others(value: Any, place: int) -> list[Any]:
    """Return numbers that might stand in the place of one: all of them in `make soak`, else some of them."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, str):
        return [str(Fraction(value) / 2), str(Fraction(value) + 1)]
    found = [value + 1, value - 1, value * 3 + 2, -1, 0 if value else 7, None]
    return found if TIMES > 1 else [found[place % len(found)]]


def put(content: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(content)
    place: Any = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return changed


def refused(folder: Path, release: bytes, content: dict[str, Any]) -> bool:
    """Tell whether a certificate with a digest that fits is refused."""
    (folder / "r.csv").write_bytes(release)
    try:
        (folder / "c.json").write_bytes(Certificate.from_dict(content).to_bytes())
    except (ValueError, TypeError, KeyError, tclose.TcloseError):
        return True
    try:
        return not verify(folder / "r.csv", folder / "c.json").holds
    except tclose.TcloseError:
        return True


def verifiable(path: tuple[Any, ...], content: dict[str, Any], person: bool) -> bool:
    """Tell whether a reader can know what stands here; `verify` lists the rest."""
    if path[0] == "models" and person:  # readers cannot count persons: only the level that is required, or nothing
        entry = requirement(content["models"][path[1]]["model"])
        return not entry.counts_persons or (entry.persons_imply_rows and path[2] != "reached")
    if path[0] == "policy":
        return path[-1] not in ("suppress",)
    return path[0] not in ("withheld", "loss", "format") and path[:2] not in (("measures", "gcp"), ("measures", "sse"))


@pytest.mark.parametrize("person", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_no_other_number_passes(person: bool, tmp_path: Path) -> None:
    release, text = released(person)
    content = json.loads(text)
    assert not refused(tmp_path, release, content)
    for place, (path, value) in enumerate(numbers(content)):
        if verifiable(path, content, person):
            for other in others(value, place):
                assert refused(tmp_path, release, put(content, path, other)), (path, value, other)


@pytest.mark.parametrize("person", [False, True])
def test_a_level_that_is_not_reached_is_refused(person: bool, tmp_path: Path) -> None:
    """Whatever a reader can count: a certificate that says "l by persons reached 1, required 3" refutes itself."""
    release, text = released(person)
    content = json.loads(text)
    for place, claim in enumerate(content["models"]):
        entry, required = requirement(claim["model"]), claim["required"]
        parts = required if isinstance(required, dict) else {"": required}
        level = max(Fraction(str(part)) for name, part in parts.items() if name == entry.compared or not entry.compared)
        near, far = (level * Fraction(99, 100), 0) if entry.sign == "≥" else (level * Fraction(101, 100), "infinite")
        forged: list[Any] = [float(near), str(near), far, None, True, "much", []]
        for reached in forged if TIMES > 1 else (forged[0], forged[2 + place % 5]):
            for satisfied in (True, False) if TIMES > 1 else (reached == forged[0],):
                models = put(content, ("models", place), {**claim, "reached": reached, "satisfied": satisfied})
                assert refused(tmp_path, release, models), (claim, reached)


def test_levels_compare_in_the_direction_of_their_model() -> None:
    """Whatever is found in the release: the claims of a certificate are held against each other."""
    claim = ModelClaim("l", "ill", 3, 1, True)
    assert [*broken([claim])] == [
        "the level of l of 'ill' that the certificate says is reached is not what it requires"
    ]
    for name, entry in MODELS.items():
        required: Any = {"n": 9, "c": 2, "t": 2, "l": 2} if entry.compared else 2
        good, bad = (3, 1) if entry.sign == "≥" else (1, 3)
        assert not [*broken([ModelClaim(name, "ill", required, good, True)])], name
        assert [*broken([ModelClaim(name, "ill", required, bad, True)])], name
        assert [*broken([ModelClaim(name, "ill", required, bad, False)])], name
        assert [*broken([ModelClaim(name, "ill", required, None, True)])], name
