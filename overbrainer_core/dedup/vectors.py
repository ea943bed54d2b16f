"""Which remembered vector is as near as a threshold to another one?

Cosine in double precision; a zero vector is near to none. NumPy does the work where it is installed: it is no
dependency of overbrainer itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.util import find_spec
from operator import mul
from typing import Any

_START_ROWS = 64


class VectorIndex:
    """Vectors of one length, numbered in the order they are added."""

    def __init__(self, threshold: float, *, use_numpy: bool | None = None) -> None:
        self._threshold = threshold
        self._use_numpy = find_spec("numpy") is not None if use_numpy is None else use_numpy
        self._rows: list[Sequence[float]] = []
        self._norms: list[float] = []
        self._matrix: Any = None

    def __len__(self) -> int:
        return len(self._norms)

    def add(self, vector: Sequence[float]) -> None:
        """Remember a vector."""
        if self._use_numpy:
            self._add_row(vector)
        else:
            self._rows.append(tuple(vector))
        self._norms.append(_norm(vector))

    def _add_row(self, vector: Sequence[float]) -> None:
        import numpy as np  # loaded only when there is something to compare

        count = len(self._norms)
        if self._matrix is None:
            self._matrix = np.zeros((_START_ROWS, len(vector)))
        elif count == len(self._matrix):
            self._matrix = np.vstack((self._matrix, np.zeros_like(self._matrix)))
        self._matrix[count] = vector

    def find(self, vector: Sequence[float]) -> int | None:
        """The number of a vector that is near, the first of them, or None."""
        norm = _norm(vector)
        if norm == 0 or not self._norms:
            return None
        for number, dot in enumerate(self._dots(vector)):
            other = self._norms[number]
            if other and dot / (norm * other) >= self._threshold:
                return number
        return None

    def _dots(self, vector: Sequence[float]) -> list[float]:
        if not self._use_numpy:
            return [math.fsum(map(mul, row, vector)) for row in self._rows]
        import numpy as np  # loaded only when there is something to compare

        dots: list[float] = (self._matrix[: len(self._norms)] @ np.asarray(vector, dtype=float)).tolist()
        return dots


def _norm(vector: Sequence[float]) -> float:
    return math.sqrt(math.fsum(value * value for value in vector))
