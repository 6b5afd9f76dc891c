"""Coordinates of the studio's own drawings; templates write them into SVG, and style sheets colour it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 12, 40  # margins
TICKS = 4


@dataclass(frozen=True)
class Point:
    """A place on the drawing, and the figure that it stands for."""

    x: float
    y: float
    text: str


@dataclass(frozen=True)
class DrawnLine:
    """One line of a chart, with a mark at each figure."""

    name: str
    style: str  # its class in the style sheet
    points: tuple[Point, ...]

    @property
    def path(self) -> str:
        """The line, as SVG wants it."""
        return " ".join(f"{point.x:.1f},{point.y:.1f}" for point in self.points)


@dataclass(frozen=True)
class Chart:
    """Lines over a common scale."""

    lines: tuple[DrawnLine, ...]
    across: tuple[Point, ...]
    up: tuple[Point, ...]
    width: int = WIDTH
    height: int = HEIGHT


def curve(
    levels: Sequence[float], losses: Mapping[str, Sequence[float | None]], least: Sequence[float | None]
) -> Chart:
    """Draw the loss of each method at every level, and the lower bound beneath."""
    figures = [figure for line in (*losses.values(), least) for figure in line if figure is not None]
    most, first, last = max(figures, default=1.0) or 1.0, min(levels), max(levels)

    def x(level: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * ((level - first) / (last - first) if last > first else 0.5)

    def y(loss: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * loss / most

    def line(name: str, style: str, figures: Sequence[float | None]) -> DrawnLine:
        known = [(level, figure) for level, figure in zip(levels, figures, strict=False) if figure is not None]
        return DrawnLine(name, style, tuple(Point(x(at), y(loss), f"{loss:.4f}") for at, loss in known))

    lines = [line(name, f"line-{place % 6}", figures) for place, (name, figures) in enumerate(losses.items())]
    bound = [line("", "line-bound", least)] if least else []
    across = tuple(Point(x(level), HEIGHT - BOTTOM, f"{level:g}") for level in levels)
    up = tuple(Point(LEFT, y(most * tick / TICKS), f"{most * tick / TICKS:.2f}") for tick in range(TICKS + 1))
    return Chart((*bound, *lines), across, up)
