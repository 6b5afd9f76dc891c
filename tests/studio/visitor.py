"""A browser at a studio, and what went wrong in it."""

from __future__ import annotations

import shutil
from typing import Any

from .conftest import Running

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NO_CHROMIUM = "install it with: sudo apt-get install -y chromium"
PATIENCE = 1_800_000  # milliseconds for anything that computes
FLAGS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


class Visitor:
    """Finds things by role and label; every message on the console and every request elsewhere is wrong."""

    def __init__(self, context: Any, studio: Running) -> None:
        self.studio, self.wrong = studio, list[str]()
        self.page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.on(
            "console", lambda said: self.wrong.append(said.text) if said.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", self._asked)
        self.page.on(
            "response", lambda got: self.wrong.append(f"{got.status} {got.url}") if got.status >= 400 else None
        )
        self.page.goto(studio.invite().address)
        self.page.get_by_role("heading", name="Which table has to leave the house?").wait_for()
        self.page.locator("html.scripted").wait_for()  # before that, nothing receives what is dropped on the page

    def _asked(self, request: Any) -> None:
        if not request.url.startswith(self.studio.origin):
            self.wrong.append(f"asked for {request.url}")

    def button(self, name: str) -> Any:
        return self.page.get_by_role("button", name=name, exact=True)

    def go(self, name: str) -> None:
        self.page.get_by_role("navigation", name="Steps").get_by_role("link", name=name, exact=True).click()

    def heading(self, name: str) -> Any:
        return self.page.get_by_role("heading", name=name)
