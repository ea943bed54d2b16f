"""Which candidate questions are new? What a deduplicator promises, whatever it compares by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The candidates that are new, in their order, and the known texts that the others repeat."""

    kept: tuple[str, ...]
    repeated: tuple[str, ...] = ()


class Deduplicator(Protocol):
    """Remembers the questions of one topic."""

    async def record(self, texts: Sequence[str]) -> None:
        """Remember known texts without filtering them."""
        ...

    async def admit(self, candidates: Sequence[str]) -> Admission:
        """The candidates that repeat neither a remembered text nor one kept before them; those kept are remembered."""
        ...
