"""The built-in example: a synthetic hospital table, with `policy.toml` and `diagnosis.csv` beside this file."""

from __future__ import annotations

from tclose.examples.hospital import hospital

__all__ = ["hospital"]
