"""How many rows each class takes from each fragment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tclose.types import Ints


@dataclass(frozen=True, eq=False)
class Plan:
    """A fragment per row, and for `cells` cells `layers[f]` rows of every fragment f.

    A cell is a class, except that each of the `spares` spare rows (the last fragment) goes to a class of its own
    that is made of `joined` cells.
    """

    fragments: Ints
    layers: Ints
    cells: int
    spares: int = 0
    joined: int = 1

    @property
    def count(self) -> int:
        """How many classes there are."""
        return self.cells - self.spares * (self.joined - 1)

    def vectors(self) -> list[Ints]:
        """Return the different count vectors that classes use: rows taken from each fragment."""
        if not self.spares:
            return [self.layers]
        vectors = [np.append(self.layers, 0), np.append(self.layers * self.joined, 1)]
        return vectors if self.cells > self.spares * self.joined else vectors[1:]
