"""Accessible: axe-core finds nothing serious on any screen, and the keyboard alone is enough."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import Running, start, stop
from .finished import KEY, SCREENS
from .visitor import CHROMIUM, NO_CHROMIUM, PATIENCE, Visitor

playwright = pytest.importorskip("playwright.sync_api", reason="install it with: pip install playwright")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)
AXE = Path(__file__).parent / "axe" / "axe.min.js"
SERIOUS = "async () => (await axe.run()).violations.filter(v => ['serious', 'critical'].includes(v.impact))"
LOOKS = [
    ("light", 1280),
    ("dark", 400),
    pytest.param("light", 400, marks=pytest.mark.soak),
    pytest.param("dark", 1280, marks=pytest.mark.soak),
]


@pytest.fixture(scope="module")
def done(finished: Path) -> Iterator[Running]:
    running = start(finished)
    yield running
    stop(running)


def findings(page: Any) -> list[str]:
    page.evaluate(AXE.read_text())  # not by a tag: the studio's own rules forbid foreign scripts, and stay in force
    return [
        f"{each['impact']} {each['id']}: {node['target']} {node['html'][:150]}"
        for each in page.evaluate(SERIOUS)
        for node in each["nodes"]
    ]


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_axe_finds_nothing_serious(chromium: Any, done: Running, scheme: str, width: int) -> None:
    context = chromium.new_context(locale="en-US", color_scheme=scheme, viewport={"width": width, "height": 900})
    visitor = Visitor(context, done)
    found = {"start": findings(visitor.page)}
    for screen in SCREENS:
        visitor.page.goto(f"{done.base}/p/{KEY}/{screen}")
        for part in visitor.page.locator("summary").all():
            part.click()
        found[screen] = findings(visitor.page)
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert visitor.page.evaluate(wide) <= 0, f"{screen} is wider than the window"
    visitor.page.goto(f"{done.base}/p/{KEY}/open?said=A+sentence.")
    found["message"] = findings(visitor.page)
    context.close()
    assert {name: lines for name, lines in found.items() if lines} == {}
    assert visitor.wrong == []


def test_a_page_with_a_mistake_is_found(chromium: Any, done: Running) -> None:
    """The test above can fail."""
    context = chromium.new_context(locale="en-US")
    visitor = Visitor(context, done)
    visitor.page.evaluate("document.querySelector('label[for=path]').remove()")
    assert any("label" in line for line in findings(visitor.page))
    context.close()


def tab_to(page: Any, target: Any) -> None:
    """Press the tabulator until something has the focus."""
    for _ in range(150):
        page.keyboard.press("Tab")
        if target.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError("the keyboard does not reach it")


def test_everything_is_done_by_keyboard(chromium: Any, running: Running) -> None:
    context = chromium.new_context(locale="en-US")
    visitor = Visitor(context, running)
    page = visitor.page
    link = page.get_by_role("link", name="patients.csv")
    tab_to(page, link)
    page.keyboard.press("Enter")
    visitor.heading("This is your table").wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    step = page.get_by_role("navigation", name="Steps").get_by_role("link", name="Columns")
    tab_to(page, step)
    page.keyboard.press("Enter")
    role = page.get_by_role("group", name="Role of sex")
    tab_to(page, role.get_by_role("radio", checked=True))
    page.keyboard.press("ArrowDown")
    role.get_by_role("radio", name="Sensitive", checked=True).wait_for()
    playwright.expect(page.locator("footer pre").first).to_contain_text("[sensitive.sex]")
    focus = "document.activeElement.closest('fieldset')?.querySelector('legend').textContent"
    assert page.evaluate(focus) == "Role of sex"  # the place is kept when the page is renewed
    tab_to(page, visitor.button("Undo"))
    page.keyboard.press("Space")
    role.get_by_role("radio", name="Quasi-identifier", checked=True).wait_for()
    page.goto(f"{running.base}/p/{KEY}/try")
    tab_to(page, visitor.button("Make a release"))
    page.keyboard.press("Enter")
    cancel = visitor.button("Cancel")
    cancel.wait_for(timeout=PATIENCE)
    tab_to(page, cancel)
    page.keyboard.press("Enter")
    cancel.wait_for(state="detached")
    assert visitor.wrong == []
    context.close()
