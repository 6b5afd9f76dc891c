"""A monkey at the studio: random clicks and inputs give no error, and the server lives on.

The seed is fixed and printed when it fails; another one is taken from TCLOSE_MONKEY.
"""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

from .client import Browser
from .conftest import Running
from .finished import KEY, SCREENS
from .visitor import CHROMIUM, NO_CHROMIUM, Visitor

playwright = pytest.importorskip("playwright.sync_api", reason="install it with: pip install playwright")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)
SEED = int(os.environ.get("TCLOSE_MONKEY", "20261116"))
NUMBERS = ["", "0", "1", "-1", "5", "0,3", "1e999", "²", "9" * 500]
TEXTS = [*NUMBERS, "x" * 3000, "quantiles 4", "prefix 3 1", "file no.csv", "<b>", "\t"]
# an element by its number among those that are seen (nothing in closed details is) and can be used, and how it is used
USE = """([number, text]) => {
  if (document.readyState !== "complete") return "the page is still loading";
  const kinds = "a[href], button, input:not([type=hidden]):not([type=file]), select, summary, textarea";
  const visible = [...document.querySelectorAll(kinds)].filter(each => !each.disabled && each.checkVisibility());
  const usable = visible.filter(each => !each.closest("form[action$='/delete']"));  // the project is needed to the end
  if (!usable.length) return "the page is being renewed";
  const it = usable[number % usable.length];
  it.focus();
  if (it.tagName === "SELECT") it.selectedIndex = number % it.options.length;
  else if (it.type === "date") it.value = "2031-02-28";
  else if (it.type === "range") it.value = number % 100 / 100;
  else if (it.matches("input:not([type=radio]):not([type=checkbox]), textarea")) it.value = text;
  else { it.click(); return it.outerHTML.slice(0, 120); }
  it.dispatchEvent(new Event("input", {bubbles: true}));
  it.dispatchEvent(new Event("change", {bubbles: true}));
  if (number % 3 === 0 && it.form) it.form.requestSubmit();
  return it.outerHTML.slice(0, 120);
}"""


def act(page: Any, chance: random.Random, project: str) -> str:
    """Do one thing; a page that goes away meanwhile is no mistake."""
    number, text, screen = chance.randrange(10**6), chance.choice(TEXTS), chance.choice(SCREENS)
    try:
        if "/p/" not in page.url and number % 5:  # most of what can go wrong is in a project
            page.goto(f"{project}/{screen}")
        page.wait_for_load_state()
        return str(page.evaluate(USE, [number, text]))
    except playwright.Error as error:
        if any(said in str(error) for said in ("context was destroyed", "navigation", "ERR_ABORTED")):
            return "the page changed"
        raise


@pytest.mark.parametrize("steps", [100, pytest.param(1000, marks=pytest.mark.soak)])
def test_random_clicks_break_nothing(chromium: Any, running: Running, steps: int) -> None:
    chance, studio, done = random.Random(SEED), running, list[str]()
    context = chromium.new_context(locale="en-US")
    visitor = Visitor(context, studio)
    visitor.page.goto(f"{studio.base}/p/{KEY}/open")
    for _ in range(steps):
        done.append(act(visitor.page, chance, f"{studio.base}/p/{KEY}"))
        assert visitor.wrong == [], f"TCLOSE_MONKEY={SEED}: {visitor.wrong}, after {done[-5:]}"
    context.close()
    assert studio.process.poll() is None
    browser = Browser(studio)
    for screen in SCREENS:
        assert browser.ask("GET", f"/p/{KEY}/{screen}").status in (200, 303), screen
