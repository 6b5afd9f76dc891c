"""Make the screenshots of docs/images again: the page of a release and that of a comparison, in headless Chromium.

    python docs/screenshots.py [--rows 20000] [--out docs/images] [--only report]

The table is the invented hospital. The seeds are fixed, so that images change only when the pages do.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tclose.cli import run
from tclose.examples import write_example

SEED = "7"
METHODS = "weave,mondrian,clustering:searched,incognito"
LIMIT = "600"  # seconds for each method: a busy machine must not change the image
QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync",
    "--no-first-run", "--hide-scrollbars", "--virtual-time-budget=20000", "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip
DARK = ("--blink-settings=preferredColorScheme=0",)


@dataclass(frozen=True)
class Image:
    """One screenshot: of which page, how wide and how high in pixels, in light or dark colours."""

    page: str
    width: int
    height: int
    dark: bool = False

    @property
    def name(self) -> str:
        """The file's name."""
        return f"{self.page}{'-dark' if self.dark else ''}-{self.width}.png"


IMAGES = (
    Image("report", 1280, 2400),
    Image("report", 400, 2400),
    Image("report", 1280, 2400, dark=True),
    Image("compare", 1280, 1900),
    Image("compare", 400, 1900),
)


def main(arguments: list[str] | None = None) -> None:
    """Make the pages, then the images of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000, help="how many patients there are")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("images"))
    parser.add_argument("--only", choices=["report", "compare"], help="only this page")
    given = parser.parse_args(arguments)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("install it with: sudo apt-get install -y chromium")
    os.environ.setdefault("SOURCE_DATE_EPOCH", "1767225600")
    with tempfile.TemporaryDirectory() as folder:
        wanted = [image for image in IMAGES if given.only in (None, image.page)]
        pages = {page: make_page(page, Path(folder), given.rows) for page in {image.page for image in wanted}}
        for image in wanted:
            shoot(chromium, image, pages[image.page], given.out, Path(folder) / "profile")
            sys.stdout.write(f"{given.out / image.name}\n")


def make_page(page: str, folder: Path, rows: int) -> Path:
    """Publish or compare, with the page of it."""
    table, policy = write_example(folder, rows=rows, seed=int(SEED))
    target = folder / f"{page}.html"
    common = [str(table), "--policy", str(policy), "--seed", SEED]
    if page == "report":
        status = run(["anonymize", *common, "--out", str(folder / "release.csv"), "--report", str(target)])
    else:
        status = run(["compare", *common, "--methods", METHODS, "--limit", LIMIT, "--out", str(target)])
    if status:
        raise SystemExit(f"no page: exit status {status}")
    return target


def shoot(chromium: str, image: Image, page: Path, out: Path, profile: Path) -> None:
    """Let the browser draw a page."""
    out.mkdir(parents=True, exist_ok=True)
    drawn = [f"--window-size={image.width},{image.height}", f"--screenshot={(out / image.name).resolve()}"]
    command = [chromium, *QUIET, *(DARK if image.dark else ()), f"--user-data-dir={profile}", *drawn, page.as_uri()]
    subprocess.run(command, check=True, capture_output=True, timeout=120)


if __name__ == "__main__":
    main()
