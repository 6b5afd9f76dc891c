"""The script that makes the screenshots of docs/images."""

from __future__ import annotations

import runpy
import shutil
import struct
from pathlib import Path

import pytest

pytest.importorskip("altair", reason="pip install 'tclose[report]'")
ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def size(image: Path) -> tuple[int, int]:
    """Return width and height of a PNG file."""
    data = image.read_bytes()
    assert data.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def test_the_images_of_the_docs_are_those_of_the_script() -> None:
    script = runpy.run_path(str(ROOT / "docs" / "screenshots.py"))
    for image in script["IMAGES"]:
        assert size(ROOT / "docs" / "images" / image.name) == (image.width, image.height)


@pytest.mark.skipif(CHROMIUM is None, reason="install it with: sudo apt-get install -y chromium")
@pytest.mark.filterwarnings("ignore")
def test_the_script_makes_images(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = runpy.run_path(str(ROOT / "docs" / "screenshots.py"))
    script["main"](["--rows", "200", "--only", "report", "--out", str(tmp_path)])
    made = sorted(tmp_path.iterdir())
    assert [path.name for path in made] == ["report-1280.png", "report-400.png", "report-dark-1280.png"]
    assert {path.stat().st_size > 20_000 for path in made} == {True}
    assert made[0].read_bytes() != made[2].read_bytes()
