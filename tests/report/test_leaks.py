"""Nothing of the raw table that the release does not show, and nothing of the data that the page would run."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose import Policy
from tclose.report.charts import data_block, element, shown
from tclose.report.figures import hiding
from tclose.words import plain


def own_words(page: str) -> str:
    """Return the page without the drawing library, text and data spelled as a reader gets them."""
    before, _, rest = page.partition("<script>(function () {")
    return html.unescape(before.replace("\\u003c", "<").replace("\\u003e", ">").replace("\\u0026", "&") + rest[-3000:])


def cells(frame: pl.DataFrame) -> set[str]:
    return {str(cell) for column in frame.iter_columns() for cell in column.to_list()}


@pytest.mark.parametrize("public", [False, True])
def test_no_raw_cell_that_the_release_does_not_show(ordinary: Any, tmp_path: Path, public: bool) -> None:
    page = own_words(ordinary.page(tmp_path / "r.html", public=public))
    published = " ".join(cells(ordinary.release.frame))
    hidden = {cell for cell in cells(ordinary.frame) if cell not in published}
    assert len(hidden) > 300  # names, and most ages
    somewhere = [cell for cell in hidden if cell in page]  # perhaps as a part of another number
    assert not [cell for cell in somewhere if re.search(rf"(?<![\d.]){re.escape(cell)}(?![\d.])", page)]


def test_no_value_of_a_withheld_row(make_example: Any, make_table: Any, tmp_path: Path) -> None:
    """A hierarchy knows values that no published row has; one of them may be somebody's."""
    frame = make_table().with_columns(
        pl.when(pl.int_range(pl.len()) == 7).then(pl.lit(None)).otherwise(pl.col("pay")).alias("pay"),
        pl.when(pl.int_range(pl.len()) == 7).then(pl.lit("kuru")).otherwise(pl.col("disease")).alias("disease"),
    )
    leaves = [*sorted(frame["disease"].unique().to_list()), "scurvy"]
    policy = Policy(
        identifiers=["name"],
        quasi={"age": {}, "zip": {}, "sex": {}},
        sensitive={
            "pay": {"t": 0.3, "missing": "suppress"},
            "disease": {"t": 0.5, "hierarchy": {"rows": [[leaf, "*"] for leaf in leaves]}},
        },
        k=4,
        suppress=0.1,
    )
    page = own_words(make_example(frame, policy).page(tmp_path / "r.html"))
    assert "gastritis" in page
    assert "kuru" not in page
    assert "scurvy" not in page


def test_names_and_values_cannot_become_markup(hostile: Any, evil: tuple[str, str], tmp_path: Path) -> None:
    page = hostile.page(tmp_path / "r.html")
    own = page.partition("<script>(function () {")[0]
    name, formula = evil
    assert "<script>alert" not in page
    assert "<b>f</b>" not in page
    assert "<!--" not in own
    assert html.escape(shown(name)) in own
    assert html.escape(shown(formula)) in own
    assert re.findall(r"<script[^>]*>", own) == ['<script type="application/json" id="charts">']


@given(st.text(), st.text())
def test_elements_hold_any_text(text: str, value: str) -> None:
    made = element("p", text, title=value)
    assert made.count("<") == 2
    assert made.count(">") == 2
    assert html.unescape(made[made.index(">") + 1 : -len("</p>")]) == plain(text)
    assert made.isprintable()


@given(st.recursive(st.text() | st.floats(allow_nan=False, allow_infinity=False), st.lists, max_leaves=5))
def test_data_holds_any_text(content: Any) -> None:
    made = data_block({"content": content}, identity="x")
    inside = made[made.index(">") + 1 : -len("</script>")]
    assert json.loads(inside) == {"content": spelled(content)}
    assert not set("<>&\u2028\u2029") & set(inside)


def spelled(content: Any) -> Any:
    """Spell whatever is invisible in every text, also in lists."""
    if isinstance(content, list):
        return [spelled(part) for part in content]
    return plain(content) if isinstance(content, str) else content


@given(st.text())
def test_what_is_shown_is_printable_and_short(text: str) -> None:
    assert shown(text).isprintable()
    assert len(shown(text)) <= 60


@given(st.lists(st.integers(0, 30), min_size=1, max_size=8), st.integers(2, 10))
def test_hidden_counts_do_not_follow_from_the_total(counts: list[int], k: int) -> None:
    rounded = hiding(np.array(counts), np.array(counts), k)
    assert all(abs(before - after) <= k / 2 for before, after in zip(counts, rounded, strict=True) if after is not None)
    assert all(after is None or (after >= k and after % k == 0) for after in rounded)
    hidden = [count for count, after in zip(counts, rounded, strict=True) if after is None]
    if hidden and len(hidden) < len(counts):
        assert len(hidden) >= 2
        assert sum(hidden) >= k


def test_one_person_with_many_rows_is_no_crowd() -> None:
    assert hiding(np.array([60, 9, 60]), np.array([60, 1, 60]), 5) == (None, None, 60)
