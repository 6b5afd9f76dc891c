"""The loss (NCP) of ranges and sets: the compiled loss of a class is the sum of these."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.partition.shared.axes import LabelAxis, NumberAxis, SetAxis, range_loss, set_loss
from tclose.partition.shared.loss import loss_table, total_loss

LEVELS = (np.arange(6), np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 0, 0, 1, 1]), np.zeros(6, dtype=np.int64))
codes = st.lists(st.integers(-1, 5), min_size=1, max_size=9).map(np.array)


@settings(max_examples=examples(200), deadline=None)
@given(codes)
def test_one_class_loses_the_same_in_both(codes: np.ndarray) -> None:
    known = codes[codes >= 0]
    low, high = (np.array([end(known, initial=first)]) for end, first in ((np.min, 5), (np.max, -1)))
    line = NumberAxis(codes, np.linspace(0, 0.9, 6), np.linspace(0.1, 1, 6))
    for axis in (line, LabelAxis(codes, LEVELS)):
        loss = total_loss(loss_table((axis,), len(codes)), np.zeros(len(codes), dtype=np.int64))
        assert loss == pytest.approx(len(codes) * range_loss(axis, low, high)[0])
    text = SetAxis(codes + 1, 9)
    loss = total_loss(loss_table((text,), len(codes)), np.zeros(len(codes), dtype=np.int64))
    assert loss == pytest.approx(len(codes) * set_loss(text, np.array([len(np.unique(codes))]))[0])
