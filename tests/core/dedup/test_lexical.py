from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overbrainer_core.dedup.lexical import IN_PLACE, LexicalDeduplicator, LexicalIndex, shingles, similarity


def alike(first: str, second: str) -> float:
    return similarity(shingles(first), shingles(second))


async def admitted(threshold: float, known: Sequence[str], *candidates: str) -> tuple[str, ...]:
    deduplicator = LexicalDeduplicator(threshold)
    await deduplicator.record(known)
    return (await deduplicator.admit(candidates)).kept


def brute_force(texts: Sequence[str], threshold: float) -> list[str]:
    kept: list[str] = []
    for text in texts:
        own = shingles(text)
        if not any(similarity(own, shingles(other)) >= threshold for other in kept):
            kept.append(text)
    return kept


def test_texts_are_compared_by_their_word_pairs() -> None:
    assert alike("How long should green tea steep?", "how long SHOULD green tea steep") == 1.0
    assert alike("How long should green tea steep?", "How long should black tea steep?") == pytest.approx(3 / 7)
    assert alike("tea", "Tea!") == 1.0
    assert alike("tea", "coffee") == 0.0
    assert alike("tea", "tea time") == 0.0
    assert alike("a b a b", "a b a") == 1.0


# C044
def test_scripts_without_spaces_are_compared_by_characters() -> None:
    assert alike("水は何度で沸騰しますか？", "水は何度で沸騰しますか!") == 1.0
    assert round(alike("水は何度で沸騰しますか？", "水は何度で凍りますか？"), 2) == 0.46
    assert alike("？？？", "!!") == 1.0
    assert alike("？？？", "水") == 0.0


# C046
def test_templates_that_differ_in_one_number() -> None:
    assert alike("Explain what RFC 2306 says?", "Explain what RFC 2307 says?") == pytest.approx(0.3333, abs=1e-4)
    long = (
        "In a small office network with one router and two switches how should an administrator assign addresses "
        "when the site number is {} and growth is expected"
    )
    assert alike(long.format(12), long.format(13)) == pytest.approx(0.8571, abs=1e-4)


async def test_names_that_differ_in_a_symbol_are_both_kept() -> None:
    texts = ("What is C++ used for?", "What is C# used for?", "What is C used for?")
    assert await admitted(0.8, (), *texts) == texts


async def test_the_threshold_itself_is_a_duplicate() -> None:
    assert alike("a b c d e f", "a b c d e") == 0.8
    assert await admitted(0.8, ["a b c d e f"], "a b c d e") == ()
    assert alike("a b c d e", "a b c d") == 0.75
    assert await admitted(0.8, ["a b c d e"], "a b c d") == ("a b c d",)


async def test_candidates_are_compared_with_those_kept_before_them() -> None:
    assert await admitted(0.8, (), "One two three?", "one TWO three", "Four five six?") == (
        "One two three?",
        "Four five six?",
    )


async def test_what_is_repeated_is_told() -> None:
    deduplicator = LexicalDeduplicator(0.8)
    await deduplicator.record(["Why is the sky blue?", "Other?"])
    admission = await deduplicator.admit(["WHY is the sky blue", "New one?", "new one"])
    assert admission.kept == ("New one?",)
    assert admission.repeated == ("Why is the sky blue?",)
    assert (await deduplicator.admit(["New one!"])).kept == ()


async def test_texts_without_words_are_all_the_same() -> None:
    assert await admitted(1.0, ["???"], "!", "") == ()
    assert await admitted(1.0, ["word"], "!", "") == ("!",)


async def test_many_known_texts_are_remembered_beside_the_loop() -> None:
    known = [f"question number {number} of many" for number in range(IN_PLACE + 1)]
    assert await admitted(0.9, known, "Question number 7 of many!", "A fresh one?") == ("A fresh one?",)


WORDS = st.sampled_from(["a", "b", "c", "d", "e", "C++", "C#", "水", "度", "?"])
TEXTS = st.lists(st.lists(WORDS, max_size=14).map(" ".join), max_size=25)


@settings(max_examples=300, deadline=None)
@given(texts=TEXTS, threshold=st.floats(0.01, 1.0) | st.sampled_from([0.5, 0.75, 0.8, 1.0]))
def test_the_index_decides_as_comparing_with_every_text(texts: list[str], threshold: float) -> None:
    index = LexicalIndex(threshold)
    kept: list[str] = []
    for text in texts:
        if index.find(text) is None:
            index.add(text)
            kept.append(text)
    assert kept == brute_force(texts, threshold)
    assert len(index) == len(kept)


@settings(max_examples=100, deadline=None)
@given(known=TEXTS, text=st.lists(WORDS, max_size=14).map(" ".join), threshold=st.floats(0.05, 1.0))
def test_what_the_index_finds_is_alike(known: list[str], text: str, threshold: float) -> None:
    index = LexicalIndex(threshold)
    for entry in known:
        index.add(entry)
    found = index.find(text)
    expected = any(alike(text, entry) >= threshold for entry in known)
    assert (found is not None) == expected
    assert found is None or alike(text, index.text(found)) >= threshold


@settings(max_examples=200, deadline=None)
@given(known=TEXTS, text=st.lists(WORDS, min_size=1, max_size=14).map(" ".join), threshold=st.floats(0.05, 1.0))
def test_the_index_finds_every_text_that_is_alike(known: list[str], text: str, threshold: float) -> None:
    index = LexicalIndex(threshold)
    for entry in known:
        index.add(entry)
    expected = [number for number, entry in enumerate(known) if alike(text, entry) >= threshold]
    if not shingles(text):
        expected = expected[:1]
    assert sorted(index.alike(text)) == expected
