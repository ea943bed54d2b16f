from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from overbrainer_core.aio.rate_gate import RateGate
from overbrainer_core.clock import SystemClock
from overbrainer_core.config.settings import Role
from overbrainer_core.dedup.embedding import CHUNK, LayeredDeduplicator
from overbrainer_core.dedup.lexical import LexicalDeduplicator
from overbrainer_core.llm.errors import InvalidResponseError, RequestFailedError


class Embedder:
    """Gives each text the vector the test wants; keeps the texts of each request."""

    role = Role(provider="p", model="m")
    gate = RateGate(SystemClock())

    def __init__(self, **vectors: list[float]) -> None:
        self.vectors = vectors
        self.requests: list[list[str]] = []
        self.failure: Exception | None = None

    async def embed(self, texts: Sequence[str], *, on_retry: Any) -> list[list[float]]:
        """The vectors."""
        self.requests.append(list(texts))
        if self.failure is not None:
            raise self.failure
        return [self.vectors.get(text.split()[0], [1.0, float(len(self.requests))]) for text in texts]

    async def complete(self, request: Any, *, on_retry: Any) -> Any:
        """Never asked."""
        raise AssertionError(request)


def layered(embedder: Embedder) -> LayeredDeduplicator:
    return LayeredDeduplicator(LexicalDeduplicator(0.8), embedder, 0.9)


async def test_only_what_the_words_let_through_is_embedded() -> None:
    embedder = Embedder(sky=[1.0, 0.0], sea=[0.0, 1.0], heaven=[1.0, 0.1])
    deduplicator = layered(embedder)
    await deduplicator.record(["sky is blue"])
    admission = await deduplicator.admit(["Sky is BLUE?", "sea is deep", "heaven above us"])
    assert admission.kept == ("sea is deep",)
    assert admission.repeated == ("sky is blue", "sky is blue")
    assert embedder.requests == [["sky is blue"], ["sea is deep", "heaven above us"]]


async def test_a_candidate_is_compared_with_those_kept_just_before() -> None:
    deduplicator = layered(Embedder(one=[1.0, 0.0], two=[1.0, 0.01]))
    assert (await deduplicator.admit(["one thing", "two things"])).kept == ("one thing",)


async def test_what_was_refused_by_meaning_is_not_remembered_by_its_words() -> None:
    embedder = Embedder(one=[1.0, 0.0], two=[1.0, 0.01])
    deduplicator = layered(embedder)
    await deduplicator.admit(["one thing", "two things"])
    await deduplicator.admit(["two things"])
    assert embedder.requests[-1] == ["two things"]


async def test_no_survivors_make_no_request() -> None:
    embedder = Embedder()
    deduplicator = layered(embedder)
    await deduplicator.record(["a b c"])
    await deduplicator.admit(["A b c!"])
    assert len(embedder.requests) == 1


async def test_texts_are_sent_in_chunks() -> None:
    embedder = Embedder()
    await layered(embedder).record([f"text {number}" for number in range(2 * CHUNK + 1)])
    assert [len(request) for request in embedder.requests] == [CHUNK, CHUNK, 1]


async def test_a_failure_leaves_nothing_remembered() -> None:
    embedder = Embedder(one=[1.0, 0.0])
    deduplicator = layered(embedder)
    embedder.failure = RequestFailedError("timed out")
    with pytest.raises(RequestFailedError):
        await deduplicator.admit(["one thing"])
    embedder.failure = None
    assert (await deduplicator.admit(["one thing"])).kept == ("one thing",)


async def test_vectors_of_another_length_than_before_are_invalid() -> None:
    embedder = Embedder(one=[1.0, 0.0], two=[1.0, 0.0, 0.0])
    deduplicator = layered(embedder)
    await deduplicator.record(["one thing"])
    with pytest.raises(InvalidResponseError, match="different lengths"):
        await deduplicator.admit(["two things"])
