"""Sentences for people."""

from __future__ import annotations


def sentence(text: str) -> str:
    """Begin with a capital letter, and end with a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")
