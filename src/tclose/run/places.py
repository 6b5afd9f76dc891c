"""Where commands may do their work."""

from __future__ import annotations

from typing import Literal

ENGINES = ("auto", "memory", "disk")
Engine = Literal["auto", "memory", "disk"]
PUBLISHING_ENGINES = (*ENGINES, "spark")
PublishingEngine = Literal["auto", "memory", "disk", "spark"]
