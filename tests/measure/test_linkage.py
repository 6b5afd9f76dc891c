"""Who fits which class: bits against the definition, row by row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.measure import linkage
from tclose.measure.linkage import Links, packed


@st.composite
def registers(draw: st.DrawFn) -> tuple[np.ndarray, list[np.ndarray]]:
    """Draw rows × columns of codes and, per column, classes × cells: what covers what."""
    rows, columns, classes = draw(st.integers(1, 15)), draw(st.integers(1, 3)), draw(st.integers(1, 20))
    chance = np.random.default_rng(draw(st.integers(0, 10_000)))
    return chance.integers(4, size=(rows, columns)), [chance.random((classes, 4)) < 0.6 for _ in range(columns)]


def links_of(codes: np.ndarray, covers: list[np.ndarray]) -> Links:
    everything = np.arange(len(covers[0]))
    return Links.of(list(codes.T), [packed(table, everything) for table in covers], np.ones(len(everything), dtype=int))


@pytest.mark.parametrize("block", [1, 30, linkage.BLOCK])
@settings(max_examples=examples(40), deadline=None)
@given(register=registers())
def test_a_row_fits_the_classes_that_all_its_cells_fit(
    block: int, register: tuple[np.ndarray, list[np.ndarray]]
) -> None:
    codes, covers = register
    expected = np.all([table[:, codes[:, column]].T for column, table in enumerate(covers)], axis=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linkage, "BLOCK", block)
        links = links_of(codes, covers)
        assert links.people.tolist() == expected.sum(axis=0).tolist()
        chosen = np.arange(len(covers[0])) % 2 == 0
        rows, classes = links.pairs(chosen)
    assert chosen[classes].all()
    found = np.bincount(classes, weights=links.weights[rows], minlength=len(chosen))
    assert found[chosen].tolist() == expected.sum(axis=0)[chosen].tolist()


def test_classes_that_show_one_text_share_its_line() -> None:
    covers = np.array([[True, False, True], [False, True, True]])
    fits = packed(covers, np.array([1, 0, 1]))
    assert np.unpackbits(fits, axis=1, count=3).tolist() == [[0, 1, 0], [1, 0, 1], [1, 1, 1]]


def test_comparing_rows_with_classes_beats_before_every_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linkage, "BLOCK", 1)
    beats = list[int]()

    def beat() -> None:
        beats.append(1)

    covers, codes = np.ones((2, 4), dtype=bool), np.arange(4)
    fits = packed(covers, np.arange(2), beat)
    assert len(beats) == 4, "one cell at a time"
    links = Links.of([codes], [fits], np.array([2, 2]), beat)
    assert links.people.tolist() == [4, 4]
    assert len(beats) == 8, "one row at a time"
    links.pairs(np.array([True, False]))
    assert len(beats) == 12
