"""Certificates: what they say, that they come back the same, and that verify() sees whatever was changed."""

from __future__ import annotations

import contextlib
import datetime
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.conftest import count_looks
from tests.pairs import in_turns

from tclose import Certificate, InputError, LeakWarning, Policy, Verification, anonymize, read, verify
from tclose.release.certificate import ReleaseFormat, digest_of, load
from tclose.release.files import sha256
from tclose.steps import pseudonym_key

FRAME = pl.DataFrame(
    {
        "age": ["20", "30", "40", "50", "60", "70", "80", "90"],
        "ward": ["a", "a", "a", "a", "b", "b", "b", "b"],
        "pay": ["1", "2", "3", "4", "1", "2", "3", "4"],
        "ill": ["flu", "cold", "flu", "cold", "cold", "flu", "cold", "flu"],
    }
)
ASKED: dict[str, Any] = {
    "quasi": ["age"],
    "keep": ["ward"],
    "sensitive": {"pay": {"t": "1/3"}, "ill": {"t": 0.25, "l": 2}},
    "k": 2,
}


class Pair:
    """A release and its certificate, as files."""

    def __init__(self, folder: Path, frame: pl.DataFrame, asked: dict[str, Any], ending: str = "csv") -> None:
        self.release, self.paper = folder / f"r.{ending}", folder / "c.json"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LeakWarning)
            release = anonymize(frame, Policy.from_dict(asked), method="mondrian", seed=1)
        self.proof = release.write(self.release, certificate=self.paper)

    def verify(self, **options: Any) -> Verification:
        return verify(self.release, self.paper, **options)

    @property
    def frame(self) -> pl.DataFrame:
        return read(self.release)

    def put(self, frame: pl.DataFrame) -> None:
        frame.write_csv(self.release)

    @property
    def content(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.paper.read_text())
        return found

    def rewrite(self, change: Callable[[dict[str, Any]], object], *, sign: bool) -> None:
        """Change the certificate; with `sign`, give it the digest that fits."""
        content = self.content
        digest = content.pop("digest")
        change(content)
        self.paper.write_text(json.dumps({**content, "digest": digest_of(content) if sign else digest}))


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path, FRAME, ASKED)


# What a certificate says


def test_what_a_certificate_says(pair: Pair) -> None:
    content = pair.content
    assert set(content) == {
        "format", "version", "method", "policy", "files", "rows", "withheld", "counted", "classes", "smallest_class",
        "satisfied", "measures", "sensitive", "models", "digest", "tool", "created", "table", "guarantee", "cells",
    }  # fmt: skip
    assert (content["rows"], content["withheld"], content["counted"]) == (8, 0, "rows")
    assert content["classes"] >= 2
    assert content["smallest_class"] >= 2
    assert content["satisfied"] is True
    assert content["sensitive"]["pay"]["t"] == "1/3"
    numerator, denominator = content["sensitive"]["pay"]["closeness_exact"].split("/")
    assert content["sensitive"]["pay"]["closeness"] == int(numerator) / int(denominator)
    assert content["policy"]["keep"] == ["ward"]
    assert "identifiers" not in content["policy"]
    assert set(content["measures"]) == {"gcp", "sse", "discernibility", "c_avg", "class_sizes"}
    assert content["digest"] == pair.proof.digest
    assert content["format"] == "tclose-certificate-2"
    assert content["table"] is None  # a frame has no name
    assert content["files"] == [{"name": "r.csv", "rows": 8, "sha256": sha256(pair.release.read_bytes())}]


def test_a_certificate_names_its_release_and_its_time(pair: Pair) -> None:
    content = pair.content
    assert (content["files"][0]["name"], content["created"]) == ("r.csv", "2026-01-01T00:00:00Z")
    assert content["tool"] == f"tclose {content['version']}"
    origin = pair.verify().origin
    assert origin is not None
    assert origin.words() == ["r.csv", "on 2026-01-01 00:00 UTC", f"by {content['tool']}"]


def test_a_release_that_was_not_written_has_no_name() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)
        release = anonymize(FRAME, Policy.from_dict(ASKED), method="mondrian", seed=1)
    assert release.certificate.content["files"][0]["name"] is None


def to_format_1(content: dict[str, Any]) -> None:
    """Turn a certificate of one table into one of the first format, without names."""
    for name in ("tool", "created", "table", "cells"):
        del content[name]
    content |= {"format": "tclose-certificate-1", "sha256": content.pop("files")[0]["sha256"]}


def test_a_certificate_without_names_still_holds(pair: Pair) -> None:
    """As version 0.1 wrote them; a release may also be called otherwise later."""
    pair.rewrite(to_format_1, sign=True)
    pair.release = pair.release.rename(pair.release.with_name("renamed.csv"))
    verification = pair.verify()
    assert verification.holds
    assert verification.origin is not None
    assert verification.origin.words() == []
    assert (
        Certificate.from_dict({k: v for k, v in pair.content.items() if k != "digest"}).digest == pair.content["digest"]
    )


@pytest.mark.parametrize("name", ["tool", "created", "table", "file"])
def test_names_are_text(pair: Pair, name: str) -> None:
    pair.rewrite(lambda content: content.update({name: ["r.csv"]}), sign=True)
    with pytest.raises(InputError, match="is not a certificate of tclose: a name is not text"):
        pair.verify()


@pytest.mark.parametrize("name", ["tool", "created", "table", "files"])
def test_format_2_always_says_what_it_is_of(pair: Pair, name: str) -> None:
    pair.rewrite(lambda content: content.pop(name), sign=True)
    with pytest.raises(InputError, match="is not a certificate of tclose: it does not"):
        pair.verify()


def test_a_certificate_without_a_loss_holds_and_a_loss_has_a_known_name(pair: Pair) -> None:
    assert "loss" not in pair.content  # mondrian lowers none, and older certificates say nothing
    assert load(pair.paper).certificate.loss is None
    said = {"name": "sse", "weights": {"age": 2}, "value": 0.25}
    pair.rewrite(lambda content: content.update(loss=said), sign=True)
    assert load(pair.paper).certificate.loss == said
    found = pair.verify()
    assert found.holds
    assert "loss" in found.not_verifiable
    for broken in ("sse", {"name": "mine"}, {}, {"name": ["sse"]}):
        pair.rewrite(lambda content, broken=broken: content.update(loss=broken), sign=True)
        with pytest.raises(InputError, match="not a certificate"):
            pair.verify()


def test_a_true_pair_holds(pair: Pair) -> None:
    found = pair.verify()
    assert (found.holds, found.problems) == (True, ())
    assert pair.verify(digest=pair.proof.digest).holds
    assert pair.verify(digest=f" {pair.proof.digest.upper()}\n").holds
    told = found.to_dict()
    assert (told["holds"], told["problems"], told["rows"]) == (True, [], 8)


def test_a_certificate_may_be_laid_out_anew(pair: Pair) -> None:
    content = pair.content
    pair.paper.write_text(json.dumps(dict(reversed(content.items())), indent=7))
    assert pair.verify().holds


# A release that was changed


def said(found: Verification, *fragments: str) -> None:
    assert not found.holds
    for fragment in fragments:
        assert any(fragment in problem for problem in found.problems), (fragment, found.problems)


HASH = "its SHA-256 differs"


def cell(frame: pl.DataFrame, row: int, column: str, value: str) -> pl.DataFrame:
    cells = frame[column].to_list()
    cells[row] = value
    return frame.with_columns(pl.Series(column, cells))


def test_a_changed_sensitive_cell(pair: Pair) -> None:
    pair.put(cell(pair.frame, 0, "pay", "4" if pair.frame["pay"][0] != "4" else "1"))
    said(pair.verify(), HASH, "'pay' is ", "which is not what the certificate says (class ")


def test_a_changed_quasi_identifier(pair: Pair) -> None:
    pair.put(cell(pair.frame, 0, "age", "99"))
    classes = pair.content["classes"]
    said(pair.verify(), HASH, f"has {classes + 1} classes, the certificate says {classes}")
    said(pair.verify(), "k fails in 2 classes: 1, ", "has 1 row in its smallest class, the certificate says 2")


def test_every_attribute_and_class_that_fails_is_named(pair: Pair) -> None:
    """Each ward gets the illnesses and the pay of one half: all classes fail."""
    frame = pair.frame.sort("ward", "age", maintain_order=True)
    pair.put(frame.with_columns(ill=frame["ill"].sort(), pay=frame["pay"].sort()))
    found = pair.verify()
    numbers = ", ".join(str(number) for number in range(1, pair.content["classes"] + 1))
    said(found, HASH, f"t of 'ill' fails in {pair.content['classes']} classes: {numbers}")
    said(found, f"l of 'ill' fails in {pair.content['classes']} classes: {numbers}", "t of 'pay' fails in")
    assert found.result is not None
    assert not found.result.satisfied


def test_a_swapped_pair(pair: Pair) -> None:
    frame = pair.frame.sort("ward", "age", "ill", maintain_order=True)
    first, last = frame["ill"][0], frame["ill"][-1]
    assert first != last
    pair.put(cell(cell(frame, 0, "ill", last), frame.height - 1, "ill", first))
    said(pair.verify(), HASH, "'ill' is ")


def test_a_removed_row(pair: Pair) -> None:
    pair.put(pair.frame[1:])
    said(pair.verify(), HASH, "has 7 rows, the certificate says 8")


def test_an_added_row(pair: Pair) -> None:
    pair.put(pl.concat([pair.frame, pair.frame[:1]]))
    said(pair.verify(), HASH, "has 9 rows, the certificate says 8")


def test_a_row_elsewhere(pair: Pair) -> None:
    pair.put(pair.frame[[7, *range(7)]])
    assert pair.verify().problems == (f"the release is not the file that was certified: {HASH}",)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda frame: frame.drop("pay"), "the table has no column 'pay'"),
        (
            lambda frame: frame.drop("pay", "ill"),
            "the table has no column 'pay'; sensitive.ill: the table has no column 'ill'",
        ),
        (lambda frame: frame.rename({"age": "Age"}), "the table has no column 'age'"),
        (lambda frame: frame.with_columns(name=pl.lit("Ann")), "the policy gives no role to 'name'"),
        (lambda frame: cell(frame, 0, "pay", "much"), "'pay' is not all numbers"),
        (lambda frame: cell(frame, 0, "pay", ""), "'pay' has no value in 1 row"),
        (lambda frame: frame[:0], "a header but no rows"),
    ],
)
def test_a_release_that_cannot_be_judged_is_no_answer_but_no(pair: Pair, change: Any, says: str) -> None:
    pair.put(change(pair.frame))
    found = pair.verify()
    said(found, HASH, "the release cannot be judged as the certificate says", says)
    assert found.result is None
    assert found.origin is not None
    assert found.to_dict() == {
        "holds": False,
        "problems": list(found.problems),
        "not_verifiable": [
            *("version", "tool", "created", "table", "files.1.name", "method", "withheld", "cells"),
            *("measures.gcp", "measures.sse"),
        ],
        "certificate": found.origin.to_dict(),
    }


@pytest.mark.parametrize("data", [b"", b"\0\0", b"PAR1 and no more", b'a,"b\n'])
def test_a_release_that_is_broken(pair: Pair, data: bytes) -> None:
    pair.release.write_bytes(data)
    said(pair.verify(), HASH, "the release cannot be judged")


def test_the_release_of_another_certificate(pair: Pair, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Pair(tmp_path / "other", FRAME[:6], {**ASKED, "keep": [], "quasi": ["age", "ward"]})
    said(verify(other.release, pair.paper), HASH, "has 6 rows, the certificate says 8")
    said(verify(pair.release, other.paper), HASH, "has 8 rows, the certificate says 6")


# A certificate that was changed

DIGEST = "its digest does not fit its content"


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.update(rows=9),
        lambda content: content["policy"].update(k=1),
        lambda content: content["policy"]["sensitive"]["pay"].update(t=0.9),
        lambda content: content["sensitive"]["pay"].update(closeness=0.0),
        lambda content: content["measures"].update(gcp=0.0),
        lambda content: content.pop("withheld"),
        lambda content: content.update(note="trust me"),
    ],
)
def test_an_edited_certificate(pair: Pair, change: Any) -> None:
    pair.rewrite(change, sign=False)
    said(pair.verify(digest=pair.proof.digest), DIGEST, "the two digests differ")
    pair.rewrite(lambda content: None, sign=True)
    said(pair.verify(digest=pair.proof.digest), "the two digests differ")


def weaken(content: dict[str, Any]) -> None:
    """Ask for less, wherever it is said."""
    content["policy"]["sensitive"]["pay"]["t"] = 0.9
    content["sensitive"]["pay"]["t"] = 0.9
    for model in content["models"]:
        if (model["model"], model["attribute"]) == ("t", "pay"):
            model["required"] = 0.9


def test_a_certificate_that_contradicts_itself(pair: Pair) -> None:
    pair.rewrite(lambda content: content["policy"]["sensitive"]["pay"].update(t=0.9), sign=True)
    said(pair.verify(), "what the certificate says about 'pay' is not what was found", "about the models")


def test_claims_about_attributes_together_that_nobody_judged(pair: Pair) -> None:
    pair.rewrite(lambda content: content.update(joint={"both": content["sensitive"]["pay"]}), sign=True)
    said(pair.verify(), "claims about 1 attribute that the release does not have")


def test_figures_beside_the_exact_ones_are_compared_too(pair: Pair) -> None:
    pair.rewrite(lambda content: content["sensitive"]["pay"].update(closeness=0.001), sign=True)
    said(pair.verify(), "what the certificate says about 'pay' is not what was found")


def test_a_promised_level_that_was_not_judged(pair: Pair) -> None:
    pair.rewrite(lambda content: content["models"][0].update(required=50), sign=True)
    said(pair.verify(), "what the certificate says about the models is not what was found")


def test_a_weakened_policy_holds_but_is_not_the_one_you_were_told_of(pair: Pair) -> None:
    pair.rewrite(weaken, sign=True)
    assert pair.verify().holds
    found = pair.verify(digest=pair.proof.digest)
    assert found.problems == ("this is not the certificate whose digest you gave: the two digests differ",)


def test_a_stricter_policy_must_hold(pair: Pair) -> None:
    pair.rewrite(lambda content: content["policy"].update(k=5), sign=True)
    said(pair.verify(), "k fails in ")


def test_other_figures_with_a_digest_that_fits(pair: Pair) -> None:
    pair.rewrite(lambda content: content["sensitive"]["pay"].update(closeness_exact="0/1"), sign=True)
    said(pair.verify(), "'pay' is ")
    pair.rewrite(lambda content: content.update(sensitive=5, rows="8"), sign=True)
    said(pair.verify(), "'pay' is ", "has 8 rows")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "5",
        "{}",
        '{"digest": "00"}',
        '{"format": "tclose-certificate-1", "digest": 5, "policy": {}}',
        '{"format": "tclose-certificate-1", "digest": "00"}',
        '{"format": "tclose-certificate-1", "digest": "00", "policy": []}',
        '{"format": "tclose-certificate-2", "digest": "00", "policy": {}}',
        '{"format": "tclose-certificate-3", "digest": "00", "policy": {}}',
        '{"format": "another", "digest": "00", "policy": {}}',
        '{"format": "tclose-certificate-1", "digest": "00", "policy": {}, "note": "\\ud800"}',
        "[" * 100_000,
        "\udcff",
    ],
)
def test_damaged_json_is_no_certificate(pair: Pair, text: str) -> None:
    pair.paper.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(InputError, match=r"c\.json is not a certificate of tclose"):
        pair.verify()


def test_a_key_that_stands_twice(pair: Pair) -> None:
    """People would read the first, and we the second."""
    text = pair.paper.read_text()
    pair.paper.write_text(text.replace('"rows": 8', '"rows": 80000, "rows": 8', 1))
    with pytest.raises(InputError, match="is not a certificate"):
        pair.verify()


def test_files_that_are_not_there(pair: Pair, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        verify(pair.release, tmp_path / "absent.json")
    with pytest.raises(InputError, match="there is no file"):
        verify(tmp_path / "absent.csv", pair.paper)


@pytest.mark.parametrize(
    "change",
    [
        lambda policy: policy.update(quasi=5),
        lambda policy: policy.update(k="many"),
        lambda policy: policy["sensitive"].update(other={"t": 1}),
        lambda policy: policy["sensitive"]["ill"].update(matrix={"values": ["flu"], "costs": [[0]]}),
    ],
)
def test_a_policy_that_cannot_be_used(pair: Pair, change: Any) -> None:
    pair.rewrite(lambda content: change(content["policy"]), sign=True)
    said(pair.verify(), "the release cannot be judged as the certificate says")


@pytest.mark.parametrize("where", ["quasi.age.hierarchy", "sensitive.ill.hierarchy", "sensitive.ill.matrix"])
def test_a_certificate_cannot_make_us_read_files(pair: Pair, where: str) -> None:
    role, column, setting = where.split(".")

    def point_at_a_file(content: dict[str, Any]) -> None:
        spec = content["policy"][role][column]
        spec.pop("distance", None)
        spec[setting] = "/etc/passwd"

    pair.rewrite(point_at_a_file, sign=True)
    said(pair.verify(), "a certificate cannot name files")


def test_nt_closeness_is_judged_with_its_supersets(tmp_path: Path) -> None:
    """Classes 1 and 2 are far from the table but near the n rows of their ward: the list of failures knows that."""
    frame = pl.DataFrame({"age": ["1", "1", "2", "2", "3", "3"], "ward": list("aaaabb"), "pay": [1, 2, 1, 2, 9, 9]})
    pair = Pair(tmp_path, frame, {"quasi": ["age"], "keep": ["ward"], "sensitive": {"pay": {"t": 1}}, "k": 2})
    spec = {"t": 0, "n": 4, "distance": "ordered"}
    pair.rewrite(lambda content: content["policy"]["sensitive"].update(pay=spec), sign=True)
    frame.cast(pl.String).write_csv(pair.release)
    problems = pair.verify().problems
    assert "(n,t) of 'pay' fails in 1 class: 3" in problems


# Every setting survives the journey

ROWS = [["flu", "lung", "*"], ["cold", "lung", "*"], ["ulcer", "gut", "*"], ["cut", "*"]]
MATRIX = {"values": ["flu", "cold", "ulcer"], "costs": [[0, "1/3", 1], ["1/3", 0, 1], [1, 1, 0]]}
DAYS = [datetime.date(2024, 1, day) for day in (1, 2, 3)] * 2
NUMBERS, NAMES = ["1.10", "2.5", "7", "7.0", "2.50", "1.1"], ["flu", "cold", "ulcer", "ulcer", "cold", "flu"]
JOURNEYS: dict[str, tuple[list[Any], dict[str, Any], dict[str, Any]]] = {
    "ordered": (NUMBERS, {"t": 0.2}, {}),
    "value": (NUMBERS, {"t": 0.2, "distance": "value"}, {}),
    "equal": (NAMES, {"t": 0.3}, {}),
    "equal numbers": (NUMBERS, {"t": 0.3, "distance": "equal"}, {}),
    "integers": ([1, 2, 3, 3, 2, 1], {"t": 0.3}, {}),
    "floats": ([0.1, 1e20, -2.5, 0.1, 1e20, -2.5], {"t": 0.3, "distance": "value"}, {}),
    "booleans": ([True, False] * 3, {"t": 0.3}, {}),
    "dates": (DAYS, {"t": 0.3, "distance": "value"}, {}),
    "hierarchical": (NAMES, {"t": 0.3, "hierarchy": {"rows": ROWS}}, {}),
    "hierarchy file": (NAMES, {"t": 0.3, "hierarchy": "h.csv"}, {}),
    "prefix": (["a1", "a2", "b1"] * 2, {"t": 0.3, "hierarchy": {"prefix": [1]}}, {}),
    "width": (NUMBERS, {"t": 0.3, "hierarchy": {"width": [2, 4]}}, {}),
    "date units": (DAYS, {"t": 0.3, "hierarchy": {"date": ["month", "year"]}}, {}),
    "matrix": (NAMES, {"t": 0.3, "matrix": MATRIX}, {}),
    "matrix file": (NAMES, {"t": 0.3, "matrix": "m.csv"}, {}),
    "bins width": (NUMBERS, {"t": 0.2, "bins": {"width": "1/3"}}, {}),
    "bins edges": (NUMBERS, {"t": 0.2, "bins": {"edges": [0, 2, 100]}}, {}),
    "bins count": (NUMBERS, {"t": 0.2, "bins": {"count": 7}}, {}),
    "bins quantiles": (NUMBERS, {"t": 0.2, "bins": {"quantiles": 3}}, {}),
    "bins equal": (NUMBERS, {"t": 0.2, "bins": {"count": 3}, "distance": "equal"}, {}),
    "one bin": (["5"] * 6, {"t": 0.2, "bins": {"count": 3}}, {}),
    "published bins": (NUMBERS, {"t": 0.2, "bins": {"width": 2}, "publish": "bin"}, {}),
    "published learned bins": (NUMBERS, {"t": 0.2, "bins": {"quantiles": 3}, "publish": "bin"}, {}),
    "published equal bins": (NUMBERS, {"t": 0.2, "bins": {"count": 3}, "publish": "bin", "distance": "equal"}, {}),
    "published bins, some missing": (
        ["1", "", "7", "", "1", "7"],
        {"t": 0.4, "bins": {"count": 3}, "publish": "bin", "distance": "equal", "missing": "value"},
        {},
    ),
    "bins, some missing": (
        ["1", "", "7", "", "1", "7"],
        {"t": 0.4, "bins": {"count": 3}, "distance": "equal", "missing": "value"},
        {},
    ),
    "order": (["lo", "hi", "mid"] * 2, {"t": 0.3, "order": ["lo", "mid", "hi", "top"]}, {}),
    "order of numbers": (NUMBERS, {"t": 0.3, "order": [7, 1.1, 2.5]}, {}),
    "domain": (NUMBERS, {"t": 0.3, "domain": [1.1, 2.5, 7, 100], "distance": "value"}, {}),
    "domain of dates": (DAYS, {"t": 0.3, "domain": [*DAYS[:3], datetime.date(2025, 1, 1)]}, {}),
    "domain of names": (NAMES, {"t": 0.3, "domain": ["flu", "cold", "ulcer", "cut"], "l": 2}, {}),
    "missing as a value": (["a", "", "NA", "b", "a", "b"], {"t": 0.4, "missing": "value"}, {"missing": ["", "NA"]}),
    "missing under the root": (
        ["flu", "", "cold"] * 2,
        {"t": 0.4, "missing": "value", "hierarchy": {"rows": ROWS}},
        {},
    ),
    "missing, suppressed": (["1", "2", "", "1", "2", "1"], {"t": 0.4, "missing": "suppress"}, {"suppress": 0.2}),
    "a third": (NUMBERS, {"t": "1/3", "alpha": "2/3", "beta": "7/3", "recursive": {"c": "10/3", "l": 2}}, {}),
    "every model": (
        NAMES,
        {"t": 0.5, "l": 2, "entropy_l": 1.5, "alpha": 0.8, "beta": 2, "enhanced_beta": 2, "delta": 3, "n": 3},
        {},
    ),
    "kept": (NUMBERS, {"t": 0.5}, {"keep": ["ward"]}),
    "unlinkable": (NUMBERS, {"t": 0.5}, {"unlinkable": ["ward"]}),
    "persons": (NAMES, {"t": 0.5, "l": 2, "entropy_l": 1.2}, {"person": "who"}),
    "persons, nothing else": (NAMES, {"entropy_l": 1.2}, {"person": "who"}),
    "identifiers": (NAMES, {"t": 0.5}, {"identifiers": ["who"]}),
    "steps": (NAMES, {"t": 0.5}, {"quasi": {"age": {"step": 10}}}),
    "tails": (NAMES, {"t": 0.5}, {"quasi": {"age": {"top": 40, "bottom": 20}}}),
    "means": (NAMES, {"t": 0.5}, {"quasi": {"age": {"publish": "mean"}}}),
    "widths": (NAMES, {"t": 0.5}, {"quasi": {"age": {"hierarchy": {"width": [10, 20]}}}}),
}


@pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
@pytest.mark.parametrize(("name", "ending"), in_turns([*JOURNEYS], ["csv", "parquet", "arrow"]))
def test_every_setting_survives(tmp_path: Path, name: str, ending: str) -> None:
    cells, spec, more = JOURNEYS[name]
    (tmp_path / "h.csv").write_text("".join(";".join(row) + "\n" for row in ROWS))
    (tmp_path / "m.csv").write_text(",flu,cold,ulcer\nflu,0,0.5,1\ncold,0.5,0,1\nulcer,1,1,0\n")
    for setting in ("hierarchy", "matrix"):
        if isinstance(spec.get(setting), str):
            spec = {**spec, setting: tmp_path / spec[setting]}
    frame = pl.DataFrame({"who": list("ppqrst"), "age": [18, 25, 31, 32, 47, 50], "ward": list("xyzxyz"), "s": cells})
    asked = {"quasi": {"age": {}}, "others": "drop", "k": 2, **more, "sensitive": {"s": spec}}
    if name == "kept":
        frame = frame.with_columns(ward=pl.Series(list("xxxyyy")))
    pair = Pair(tmp_path, frame, asked, ending)
    found = pair.verify(digest=pair.proof.digest)
    assert found.problems == ()
    assert found.result is not None
    told = {attribute: finding.to_dict() for attribute, finding in found.result.sensitive.items()}
    assert told["s"]["closeness_exact"] == pair.content["sensitive"]["s"]["closeness_exact"]


def test_a_digest_depends_on_the_content_alone() -> None:
    assert digest_of({"a": 1, "b": [2]}) == digest_of({"b": [2], "a": 1})
    assert digest_of({"a": 1, "b": [2]}) != digest_of({"a": 1})


@pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
@pytest.mark.parametrize("method", ["mondrian", "projections", "anatomy"])
@pytest.mark.parametrize("guard", [False, True])
def test_a_certificate_survives_its_file(tmp_path: Path, method: str, guard: bool) -> None:
    release = anonymize(
        FRAME, Policy.from_dict(ASKED), method=method, **({"base": "mondrian"} if method == "projections" else {})
    )
    proof = release.write(tmp_path / "r.csv", certificate=tmp_path / "c.json", guard_formulas=guard)
    loaded = load(tmp_path / "c.json")
    assert loaded.certificate == proof
    assert loaded.digest == loaded.written_digest == proof.digest
    assert Certificate.from_dict(proof.to_dict()) == proof
    assert (proof.layout, proof.guard_formulas) == ({"mondrian": "one table"}.get(method, method), guard)


# Every key of a certificate is compared, or listed as not verifiable

SEVERAL = pl.DataFrame({**FRAME.to_dict(), "who": list("ppqqrrss")})
BY_PERSONS: dict[str, Any] = {
    "quasi": ["age"],
    "keep": ["ward"],
    "person": "who",
    "sensitive": {"pay": {"t": 1}, "ill": {"l": 2, "entropy_l": "1.5", "recursive": {"c": 3, "l": 2}}},
    "k": 2,
}
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "one table": ("mondrian", {**ASKED, "identifiers": ["who"]}),
    "withheld": ("mondrian", {**ASKED, "identifiers": ["who"], "suppress": 0.5, "missing": ["flu"]}),
    "lower bound": ("mondrian", {**ASKED, "identifiers": ["who"]}),
    "persons": ("mondrian", BY_PERSONS),
    "columns": ("mondrian", {**ASKED, "identifiers": ["who"]}),
    "persons alone": ("mondrian", {**BY_PERSONS, "sensitive": {"pay": {"t": 1}, "ill": {"entropy_l": "1.5"}}}),
    "projections": ("projections", {**ASKED, "identifiers": ["who"]}),
    "projections, persons": ("projections", BY_PERSONS),
    "anatomy": ("anatomy", {**ASKED, "identifiers": ["who"]}),
    "pseudonyms": ("weave", {**BY_PERSONS, "identifiers": ["who"], "pseudonym": {"who": {"key": "secret.key"}}}),
    "anatomy, persons": ("anatomy", BY_PERSONS),
}


def made(folder: Path, kind: str) -> tuple[Path, dict[str, Any]]:
    """Write a release of a kind; return its name and the content of its certificate."""
    method, asked = KINDS[kind]
    if kind == "withheld":
        asked = {**asked, "sensitive": {**asked["sensitive"], "ill": {"t": 1, "missing": "suppress"}}}
    options: dict[str, Any] = {"groups": [["pay"], ["ill"]], "base": "mondrian"} if method == "projections" else {}
    options |= {"bound": True, "bound_seconds": 0.5} if kind == "lower bound" else {}
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore", LeakWarning)
        count_looks(patch)
        if kind == "pseudonyms":
            pseudonym_key(folder / "secret.key")
        release = anonymize(SEVERAL, Policy.from_dict(asked, folder=folder), method=method, seed=1, **options)
    cells: ReleaseFormat = "columns" if kind == "columns" else "text"
    release.write(folder / "r.csv", certificate=folder / "c.json", release_format=cells)
    content: dict[str, Any] = json.loads((folder / "c.json").read_text())
    del content["digest"]
    return folder / "r.csv", content


def leaves(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield every value of a certificate that is no list or mapping, and empty ones, with the way to it."""
    if isinstance(content, dict | list) and content:
        for key in content if isinstance(content, dict) else range(len(content)):
            yield from leaves(content[key], (*path, key))
    else:
        yield path, content


def others(value: Any) -> list[Any]:
    """Return values that a forger might write in the place of one."""
    if isinstance(value, bool):
        return [not value, None]
    if isinstance(value, int | float):
        return [value + 1, value * 0.99 + 0.01, None]
    if isinstance(value, str):
        return [value + "x", None, []]
    return ["x"] if value is None else [None]


def shape_of(content: Any, path: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a path that is the same for all entries of a list that are of a kind; each model is a kind of its own."""
    shape: list[Any] = []
    for key in path:
        content = content[key]
        kind = content.get("model", "entry") if isinstance(content, dict) else "entry"
        shape.append(kind if isinstance(key, int) else key)
    return tuple(shape)


def changed(content: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    copy: Any = json.loads(json.dumps(content))
    *way, last = path
    place = copy
    for key in way:
        place = place[key]
    place[last] = value
    found: dict[str, Any] = copy
    return found


def listed(path: tuple[Any, ...], content: dict[str, Any], not_verifiable: tuple[str, ...]) -> bool:
    """Tell whether verify says that it cannot check what stands at a place."""
    place, prefix = list(path), ""
    if place[0] == "files" and len(content["files"]) == 1:
        place[1] += 1
    if place[0] == "tables":
        prefix = f"{content['files'][place[1]]['name']}: "
        place = place[2:]
    if place[0] == "models":
        models = (content["tables"][path[1]] if prefix else content)["models"]
        model = models[place[1]]
        name = model["model"] + ("" if model["attribute"] is None else f" of '{model['attribute']}'")
        return place[2] in ("reached", "required") and f"{prefix}{name} by persons" in not_verifiable
    return prefix + ".".join(map(str, place)) in not_verifiable or (
        place[0] in ("loss", "cells") and place[0] in not_verifiable
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_true_certificate_of_every_kind_holds(tmp_path: Path, kind: str) -> None:
    release, _ = made(tmp_path, kind)
    found = verify(release, tmp_path / "c.json")
    assert found.problems == ()
    assert {"version", "method", "withheld", "measures.gcp", "measures.sse"} <= set(found.not_verifiable)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("forgeries", ["one", pytest.param("all", marks=pytest.mark.soak)])
@pytest.mark.parametrize("kind", KINDS)
def test_every_claim_is_compared_or_listed_as_not_verifiable(tmp_path: Path, kind: str, forgeries: str) -> None:
    """Change each value of a certificate, and give it the digest that fits. The policy is what tables are judged by."""
    release, content = made(tmp_path, kind)
    unnoticed, shapes = [], set()
    for number, (path, value) in enumerate(leaves(content)):
        shape = shape_of(content, path)
        if path[0] == "policy" or (forgeries == "one" and shape in shapes):
            continue
        shapes.add(shape)
        possible = others(value)
        for other in possible if forgeries == "all" else [possible[number % len(possible)]]:
            forged = changed(content, path, other)
            if forged == content:
                continue
            (tmp_path / "c.json").write_text(json.dumps({**forged, "digest": digest_of(forged)}))
            try:
                found = verify(release, tmp_path / "c.json")
            except InputError:
                continue
            if found.holds and not listed(path, content, found.not_verifiable):
                unnoticed.append((path, value, other))
    assert not unnoticed


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", KINDS)
def test_a_claim_that_is_left_out_is_noticed(tmp_path: Path, kind: str) -> None:
    release, content = made(tmp_path, kind)
    may_be_left_out = {"version", "method", "withheld", "counted", "guarantee", "loss", "cells"}
    for key in content.keys() - may_be_left_out - {"guard_formulas"}:
        forged = {name: value for name, value in content.items() if name != key}
        (tmp_path / "c.json").write_text(json.dumps({**forged, "digest": digest_of(forged)}))
        with contextlib.suppress(InputError):
            assert not verify(release, tmp_path / "c.json").holds, key


@pytest.mark.parametrize("place", [(), ("sensitive", "pay"), ("models", 0), ("measures",)])
def test_a_key_that_nobody_knows_is_listed(tmp_path: Path, place: tuple[Any, ...]) -> None:
    release, content = made(tmp_path, "one table")
    forged = changed(content, (*place, "note"), "trust me")
    (tmp_path / "c.json").write_text(json.dumps({**forged, "digest": digest_of(forged)}))
    found = verify(release, tmp_path / "c.json")
    assert found.holds
    assert any(key.endswith("note") for key in found.not_verifiable)


def test_claims_about_an_attribute_that_is_not_there(tmp_path: Path) -> None:
    release, content = made(tmp_path, "one table")
    forged = changed(content, ("sensitive", "wealth"), content["sensitive"]["pay"])
    (tmp_path / "c.json").write_text(json.dumps({**forged, "digest": digest_of(forged)}))
    said(verify(release, tmp_path / "c.json"), "claims about 1 attribute that the release does not have")


def test_counting_persons_switches_no_comparison_off(tmp_path: Path) -> None:
    """The certificate counts rows; a forger writes persons, and better figures."""
    release, content = made(tmp_path, "one table")
    forged = {**content, "counted": "persons"}
    for path, value in [
        (("sensitive", "pay", "satisfied"), False),
        (("sensitive", "ill", "t"), 0.01),
        (("models", 0, "reached"), 99),
        (("models", 1, "reached"), 0.0),
        (("models", 0, "required"), 1),
        (("satisfied",), False),
    ]:
        better = changed(forged, path, value)
        (tmp_path / "c.json").write_text(json.dumps({**better, "digest": digest_of(better)}))
        assert not verify(release, tmp_path / "c.json").holds, path
    (tmp_path / "c.json").write_text(json.dumps({**forged, "digest": digest_of(forged)}))
    found = verify(release, tmp_path / "c.json")
    assert found.holds
    assert {"counted", "k by persons", "l of 'ill' by persons"} <= set(found.not_verifiable)


def test_more_withheld_rows_than_the_policy_allows(tmp_path: Path) -> None:
    release, content = made(tmp_path, "withheld")
    assert content["withheld"] == 4
    forged = changed(content, ("policy", "suppress"), 0.4)
    (tmp_path / "c.json").write_text(json.dumps({**forged, "digest": digest_of(forged)}))
    said(verify(release, tmp_path / "c.json"), "more rows were withheld than its policy allows")


@pytest.mark.parametrize("level", [float("inf"), float("nan"), "1e999999999", "1e-999999999", "1/0", 10**400])
def test_a_level_of_any_size_neither_crashes_nor_hangs(tmp_path: Path, level: Any) -> None:
    """Levels by persons are read as numbers; the fraction of 1e999999999 would fill the memory."""
    release, content = made(tmp_path, "persons")
    for number, model in enumerate(content["models"]):
        required = ("required", "c") if model["model"] == "recursive" else ("required",)
        for way in (("reached",), required):
            forged = changed(content, ("models", number, *way), level)
            (tmp_path / "c.json").write_text(json.dumps({**forged, "digest": digest_of(forged)}))
            assert not verify(release, tmp_path / "c.json").holds, (number, way)


@pytest.mark.parametrize("kind", ["withheld", "projections", "anatomy"])
def test_more_withheld_rows_than_any_table_has(tmp_path: Path, kind: str) -> None:
    release, content = made(tmp_path, kind)
    forged = changed(changed(content, ("withheld",), 10**400), ("policy", "suppress"), 1)
    (tmp_path / "c.json").write_text(json.dumps({**forged, "digest": digest_of(forged)}))
    said(verify(release, tmp_path / "c.json"), "is no number of rows")


def test_another_guarantee_is_refused(tmp_path: Path) -> None:
    release, content = made(tmp_path, "one table")
    assert "nothing about how the classes were made" in content["guarantee"]
    forged = changed(content, ("guarantee",), "nobody can learn anything")
    (tmp_path / "c.json").write_text(json.dumps({**forged, "digest": digest_of(forged)}))
    said(verify(release, tmp_path / "c.json"), "the certificate's guarantee is not what tclose guarantees")
