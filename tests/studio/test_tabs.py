"""Two tabs with two projects at once, reloading, and going back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .client import Browser
from .conftest import Running, wait_for
from .finished import KEY
from .test_robust import exchange_table
from .visitor import CHROMIUM, NO_CHROMIUM, Visitor

playwright = pytest.importorskip("playwright.sync_api", reason="install it with: pip install playwright")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)


def role(tab: Visitor, column: str, name: str) -> Any:
    return tab.page.get_by_role("group", name=f"Role of {column}").get_by_label(name)


def test_two_projects_in_two_tabs(chromium: Any, running: Running, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("sex,pay\n" + "\n".join(f"{'fm'[n % 2]},{n % 9}" for n in range(40)))
    context = chromium.new_context(locale="en-US")
    first, second = Visitor(context, running), Visitor(context, running)
    first.page.goto(f"{running.base}/p/{KEY}/columns")
    second.page.get_by_label("Path").fill(str(tmp_path / "other.csv"))
    second.button("Open the path").click()
    second.page.get_by_role("link", name="Yes: choose what each column is").click()
    role(first, "sex", "Leave out").check()
    role(second, "sex", "Keep").check()
    playwright.expect(first.page.locator("footer pre").first).not_to_contain_text("quasi.sex")
    playwright.expect(second.page.locator("footer pre").first).to_contain_text('keep = ["sex"]')
    first.page.reload()
    assert role(first, "sex", "Leave out").is_checked()
    first.go("Try")
    first.heading("Try").first.wait_for()
    first.page.go_back()
    playwright.expect(role(first, "sex", "Leave out")).to_be_checked()
    first.page.go_forward()
    first.button("Make a release").wait_for()
    second.page.reload()
    assert role(second, "sex", "Keep").is_checked()
    assert first.wrong + second.wrong == []
    context.close()


def test_work_that_ends_elsewhere_loses_nothing_that_is_typed(chromium: Any, running: Running) -> None:
    context = chromium.new_context(locale="en-US")
    visitor, browser = Visitor(context, running), Browser(running)
    exchange_table(running.home)
    browser.ask("GET", f"/p/{KEY}/open")
    wait_for(running, KEY)
    browser.post(f"/p/{KEY}/try/run", method="weave", effort="best")
    visitor.page.goto(f"{running.base}/p/{KEY}/sensitive")
    visitor.page.get_by_label("Different values in each class, at least").first.fill("7")
    browser.post(f"/p/{KEY}/cancel", screen="try")
    visitor.page.get_by_text("The work has ended.").wait_for()
    assert visitor.page.get_by_label("Different values in each class, at least").first.input_value() == "7"
    visitor.page.get_by_role("link", name="Reload, and lose them").click()
    visitor.page.get_by_text("The work has ended.").wait_for(state="detached")
    browser.post(f"/p/{KEY}/try/run", method="weave", effort="best")
    visitor.page.reload()
    visitor.button("Cancel").click()
    visitor.button("Cancel").wait_for(state="detached")
    assert visitor.page.get_by_text("The work has ended.").count() == 0
    assert visitor.wrong == []
    context.close()
