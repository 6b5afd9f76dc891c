"""Text and charts stand out from the page: WCAG 2.2 AA, 4.5 for text and 3 for what a chart draws."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

STYLE = (files("tclose.report") / "style.css").read_text(encoding="utf-8")
SCHEMES = dict(zip(("light", "dark", "print"), re.findall(r":root \{(.*?)\}", STYLE, re.S), strict=True))


def colors(scheme: str) -> dict[str, str]:
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{3,6});", SCHEMES[scheme]))


def luminance(color: str) -> float:
    digits = color[1:] if len(color) == 7 else "".join(2 * digit for digit in color[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_black_on_white_has_the_highest_contrast() -> None:
    assert contrast("#000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    ("front", "back", "least"),
    [
        ("ink", "paper", 4.5),
        ("ink", "card", 4.5),
        ("ink", "warn-paper", 4.5),
        ("muted", "paper", 4.5),
        ("accent", "paper", 4.5),
        ("warn", "paper", 4.5),
        ("alarm", "paper", 4.5),
        ("pale", "paper", 3),
    ],
)
def test_contrast(scheme: str, front: str, back: str, least: float) -> None:
    assert contrast(colors(scheme)[front], colors(scheme)[back]) >= least
