"""A release beside its table: what is made of both is made once, as long as both stay as they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl
import pytest

from tclose import steps
from tclose.errors import InputError
from tclose.examples import hospital
from tclose.measure.class_list import ReleasedClasses
from tclose.measure.pair import TablePair
from tclose.policy import Policy
from tclose.run import release_pair
from tclose.run.study import ReleaseStudy, Study, tables_kept

POLICY = Policy.of({"k": 3, "quasi": ["age", "sex"], "sensitive": {"diagnosis": {"t": 0.9}}})


@dataclass
class Paired:
    """How often releases were paired with tables."""

    codes: int = 0
    releases: int = 0
    classes: int = 0


@contextmanager
def paired() -> Iterator[Paired]:
    """Count while the block runs."""
    counts = Paired()

    def counting(what: str, original: Any) -> Any:
        def counted(*given: Any, **named: Any) -> Any:
            setattr(counts, what, getattr(counts, what) + 1)
            return original(*given, **named)

        return counted

    of = TablePair.__dict__["of"].__func__
    with (
        patch.object(TablePair, "of", classmethod(counting("codes", of))),
        patch.object(release_pair, "read_published", counting("releases", release_pair.read_published)),
        patch.object(release_pair, "ReleasedClasses", counting("classes", ReleasedClasses)),
    ):
        yield counts


@dataclass(frozen=True)
class Files:
    """A table and two releases of it."""

    table: Path
    release: Path
    other: Path
    certificate: Path


@pytest.fixture
def files(tmp_path: Path) -> Files:
    made = Files(*(tmp_path / name for name in ("t.csv", "r.csv", "o.csv", "c.json")))
    hospital(90, seed=4).select("age", "sex", "diagnosis").write_csv(made.table)
    larger = Policy.of({**POLICY.to_dict(), "k": 20})
    steps.anonymize(made.table, larger, out=made.other, method="mondrian")
    steps.anonymize(made.table, POLICY, out=made.release, certificate=made.certificate, method="mondrian")
    return made


def ask_all(files: Files) -> list[Any]:
    """Ask everything that takes a release and its table."""
    both: tuple[Any, ...] = (files.release, files.table, POLICY)
    return [
        steps.detail(files.release, original=files.table, policy=POLICY).figures,
        steps.attack(files.release, original=files.table, policy=POLICY).to_dict(),
        steps.query_error(*both),
        steps.class_list(*both, files.certificate),
        steps.class_reasons(*both, class_number=1),
        steps.class_reasons(*both, class_number=2),
    ]


def test_all_questions_about_a_release_pair_it_once(files: Files) -> None:
    alone = ask_all(files)
    with steps.files_kept(), paired() as counts:
        first = ask_all(files)
        assert counts == Paired(codes=2, releases=1, classes=1)  # the other is the k-anonymous table of the attack
        assert ask_all(files) == first == alone
        assert counts == Paired(codes=3, releases=1, classes=1)


def test_without_files_kept_nothing_stays(files: Files) -> None:
    with paired() as counts:
        for _ in range(2):
            steps.query_error(files.release, files.table, POLICY)
    assert counts.releases == 2


def test_the_detail_and_a_prediction_share_a_pair(files: Files) -> None:
    pytest.importorskip("sklearn")
    with paired() as counts:
        steps.detail(files.release, original=files.table, policy=POLICY, target="diagnosis")
    assert counts == Paired(codes=1, releases=1)


@pytest.mark.parametrize("changed", ["release", "table", "policy"])
def test_what_changed_is_paired_anew(files: Files, changed: str) -> None:
    with tables_kept(), paired() as counts:
        before = Study(files.table, POLICY).beside(files.release).in_codes()
        policy = POLICY
        if changed == "release":
            files.release.write_bytes(files.other.read_bytes())
        elif changed == "table":
            pl.read_csv(files.table).reverse().write_csv(files.table)
        else:
            policy = Policy.of({**POLICY.to_dict(), "k": 2})
        after = Study(files.table, policy).beside(files.release).in_codes()
        assert counts.codes == 2
    assert after.published is not before.published
    assert (len(after.people.sizes) != len(before.people.sizes)) == (changed == "release")


def test_each_release_is_a_pair_of_its_own(files: Files) -> None:
    with tables_kept(), paired() as counts:
        study = Study(files.table, POLICY)
        numbers = [len(study.beside(each).in_codes().people.sizes) for each in (files.release, files.other) * 2]
    assert numbers[:2] == numbers[2:]
    assert numbers[0] != numbers[1]
    assert counts.codes == 2


def test_a_pair_that_is_kept_beats_for_whoever_asks(files: Files) -> None:
    heard: list[str] = []
    with tables_kept():
        for name in ("first", "second"):
            found = Study(files.table, POLICY).beside(files.release).in_codes(lambda name=name: heard.append(name))  # type: ignore[misc]
            heard.clear()
            list(found.people.blocks())
            assert set(heard) == {name}


def test_apostrophes_of_the_guard_are_told_apart(tmp_path: Path) -> None:
    table = pl.DataFrame({"age": [1, 1, 2, 2], "ill": ["=a", "b", "=a", "b"]})
    release = table.with_columns(age=pl.lit("[1, 2]"), ill=pl.col("ill").str.replace("=", "'="))
    table.write_csv(tmp_path / "t.csv")
    release.write_csv(tmp_path / "r.csv")
    policy = Policy.of({"k": 2, "quasi": ["age"], "sensitive": {"ill": {"t": 1}}})
    with tables_kept():
        study = Study(tmp_path / "t.csv", policy)
        with pytest.raises(InputError, match="a value of 'ill' that the table does not have"):
            study.beside(tmp_path / "r.csv").in_codes()
        guarded = ReleaseStudy(tmp_path / "r.csv", policy, guarded=True)
        assert len(study.beside(guarded).in_codes().published) == 4


def test_a_message_says_which_release_is_meant(files: Files) -> None:
    table = pl.read_csv(files.table)
    with pytest.raises(InputError, match="the second release has 3 tables"):
        steps.attack(files.release, original=files.table, policy=POLICY, second=(table, table, table))


def test_a_table_in_codes_is_paired_as_its_file(files: Files) -> None:
    pair = Study(files.table, POLICY).beside(files.release)
    coded = Study(pair.original, POLICY).beside(pair.published)
    assert (coded.original, coded.published) == (pair.original, pair.published)
    assert (coded.in_codes().people.people == pair.in_codes().people.people).all()
