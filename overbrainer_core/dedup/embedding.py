"""Which question repeats another in meaning, by the embeddings of a provider?

The lexical filter comes first: only what it lets through is embedded, and only what both let through is remembered.
Texts are sent 256 at a time, each chunk asked again on its own.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from overbrainer_core.dedup.base import Admission
from overbrainer_core.dedup.lexical import LexicalDeduplicator
from overbrainer_core.dedup.vectors import VectorIndex
from overbrainer_core.llm.client import LlmClient
from overbrainer_core.llm.errors import InvalidResponseError

CHUNK = 256
"""Texts in one embeddings request: what providers accept at most."""

_log = logging.getLogger("overbrainer.dedup")


class LayeredDeduplicator:
    """Deduplicates by words, then by meaning."""

    def __init__(self, lexical: LexicalDeduplicator, client: LlmClient, threshold: float) -> None:
        self._lexical = lexical
        self._client = client
        self._index = VectorIndex(threshold)
        self._texts: list[str] = []
        self._length: int | None = None

    async def record(self, texts: Sequence[str]) -> None:
        """Remember known texts without filtering them.

        Raises:
            LlmError: they cannot be embedded; nothing of them is remembered by their meaning.
        """
        vectors = await self._embed(texts)
        self._lexical.remember(texts)
        self._remember(texts, vectors)

    async def admit(self, candidates: Sequence[str]) -> Admission:
        """The candidates that are new in words and in meaning; they are remembered. No request without survivors.

        Raises:
            LlmError: they cannot be embedded; nothing is remembered.
        """
        lexical = self._lexical.survivors(candidates)
        vectors = await self._embed(lexical.kept)
        kept: list[str] = []
        repeated = list(lexical.repeated)
        for text, vector in zip(lexical.kept, vectors, strict=True):
            known = self._index.find(vector)
            if known is None:
                kept.append(text)
                self._remember((text,), (vector,))
            else:
                repeated.append(self._texts[known])
        self._lexical.remember(kept)
        return Admission(kept=tuple(kept), repeated=tuple(repeated))

    def _remember(self, texts: Sequence[str], vectors: Sequence[Sequence[float]]) -> None:
        for text, vector in zip(texts, vectors, strict=True):
            self._index.add(vector)
            self._texts.append(text)

    async def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        vectors: list[list[float]] = []
        for start in range(0, len(texts), CHUNK):
            vectors += await self._client.embed(texts[start : start + CHUNK], on_retry=_log_retry)
        for vector in vectors:
            if self._length is None:
                self._length = len(vector)
            if len(vector) != self._length:
                raise InvalidResponseError("embeddings of different lengths")
        return vectors


def _log_retry(text: str) -> None:
    _log.debug("embeddings: %s", text)
