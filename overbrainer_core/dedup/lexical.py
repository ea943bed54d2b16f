"""Which question repeats another in nearly the same words?

A text is the set of its adjacent word pairs (of its words, when it has fewer than two); two texts are alike by the
Jaccard index of their sets. The index gives the same decisions as comparing with every text, without doing so: of two
texts that are alike, the smaller one can lack only a few pairs, so that a few of its rarest pairs must lead to the
other. Both texts may play the smaller one, hence two lists for each pair.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Sequence

from overbrainer_core.dedup.base import Admission
from overbrainer_core.dedup.words import words_of

IN_PLACE = 1000
"""Texts remembered at once on the event loop: about 30 ms."""

Shingle = tuple[str, ...]
Shingles = set[Shingle]


def shingles(text: str) -> Shingles:
    """The adjacent word pairs of a text; its word when it has but one, nothing when it has none."""
    words = words_of(text)
    if len(words) < 2:
        return {(word,) for word in words}
    return set(zip(words, words[1:], strict=False))  # noqa: RUF007  # twice as fast as pairwise


def similarity(first: Shingles, second: Shingles) -> float:
    """The Jaccard index of two sets, 0 to 1; two empty sets are the same."""
    if not first and not second:
        return 1.0
    common = len(first & second)
    return common / (len(first) + len(second) - common)


class LexicalIndex:
    """Texts that can be asked for one that is alike."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._texts: list[str] = []
        self._sets: list[tuple[int, ...]] = []
        self._words: dict[str, str] = {}
        """Each word once, so that the pairs share it."""
        self._tokens: dict[Shingle, int] = {}
        self._counts: list[int] = []
        self._holders: list[int | list[int]] = []
        """Of each token, the texts that hold it (-1: none yet; a list from the second on)."""
        self._prefixes: dict[int, int | list[int]] = {}
        """Of each token, the texts that hold it among the few by which a larger text finds them."""
        self._overlaps: dict[tuple[int, int], int] = {}
        self._empty: int | None = None

    def __len__(self) -> int:
        return len(self._texts)

    def text(self, number: int) -> str:
        """The text that was added under that number."""
        return self._texts[number]

    def add(self, text: str, own: Shingles | None = None) -> int:
        """Remember a text, whose `shingles` may be given; its number."""
        number = len(self._texts)
        known = self._tokens.get
        tokens = []
        for shingle in shingles(text) if own is None else own:
            token = known(shingle)
            tokens.append(self._new_token(shingle) if token is None else token)
        self._texts.append(text)
        self._sets.append(tuple(tokens))
        if not tokens:
            self._empty = number if self._empty is None else self._empty
            return number
        counts = self._counts
        holders = self._holders
        for token in tokens:
            count = counts[token]
            counts[token] = count + 1
            if count == 0:
                holders[token] = number
            elif count == 1:
                holders[token] = [holders[token], number]  # type: ignore[list-item]  # one holder is a number
            else:
                holders[token].append(number)  # type: ignore[union-attr]  # several are a list
        size = len(tokens)
        self._add_prefix(sorted(tokens, key=counts.__getitem__), size - self._overlap(size + 1, size) + 1, number)
        return number

    def _new_token(self, shingle: Shingle) -> int:
        words = self._words
        token = self._tokens[tuple([words.setdefault(word, word) for word in shingle])] = len(self._counts)
        self._counts.append(0)
        self._holders.append(-1)
        return token

    def _add_prefix(self, rare_first: list[int], length: int, number: int) -> None:
        prefixes = self._prefixes
        for token in rare_first[: max(length, 0)]:
            held = prefixes.get(token)
            if held is None:
                prefixes[token] = number
            elif isinstance(held, list):
                held.append(number)
            else:
                prefixes[token] = [held, number]

    def find(self, text: str, own: Shingles | None = None) -> int | None:
        """The number of a remembered text that is alike, or None; the text's `shingles` may be given."""
        return next(self.alike(text, own), None)

    def alike(self, text: str, own: Shingles | None = None) -> Iterator[int]:
        """The number of every remembered text that is alike, of those without a word the first alone."""
        if own is None:
            own = shingles(text)
        if not own:
            if self._empty is not None:
                yield self._empty
            return
        size = len(own)
        tokens = self._tokens
        known = [token for shingle in own if (token := tokens.get(shingle)) is not None]
        if not known:
            return
        wanted = set(known)
        seen: set[int] = set()
        for number in self._candidates(known, size):
            if number in seen:
                continue
            seen.add(number)
            other = self._sets[number]
            if len(wanted.intersection(other)) >= self._overlap(size, len(other)):
                yield number

    def _candidates(self, known: list[int], size: int) -> Iterator[int]:
        """Every text that may be alike; some of them more than once."""
        sets = self._sets
        holders = self._holders
        lacking = size - self._overlap(size, size)
        absent = size - len(known)
        if absent <= lacking:
            rare_first = sorted(known, key=self._counts.__getitem__)
            for token in rare_first[: lacking - absent + 1]:
                held = holders[token]
                for number in held if isinstance(held, list) else (held,):
                    if number >= 0 and len(sets[number]) >= size:
                        yield number
        prefixes = self._prefixes
        for token in known:
            found = prefixes.get(token)
            if found is not None:
                for number in found if isinstance(found, list) else (found,):
                    if len(sets[number]) < size:
                        yield number

    def _overlap(self, first: int, second: int) -> int:
        """The fewest common tokens that make sets of these sizes alike, by the same division as `similarity`."""
        key = (first, second)
        found = self._overlaps.get(key)
        if found is None:
            total = first + second
            found = max(1, math.floor(self._threshold * total / (1 + self._threshold)) - 1)
            while found < total and found / (total - found) < self._threshold:
                found += 1
            self._overlaps[key] = found
        return found


class LexicalDeduplicator:
    """Deduplicates by words alone."""

    def __init__(self, threshold: float) -> None:
        self._index = LexicalIndex(threshold)
        self._threshold = threshold

    def remember(self, texts: Sequence[str]) -> None:
        """Remember texts."""
        for text in texts:
            self._index.add(text)

    def survivors(self, candidates: Sequence[str]) -> Admission:
        """The candidates that are new, each compared with those kept before it too; nothing is remembered."""
        return self._sift(candidates)[0]

    def _sift(self, candidates: Sequence[str]) -> tuple[Admission, list[Shingles]]:
        kept: list[str] = []
        sets: list[Shingles] = []
        repeated: list[str] = []
        for candidate in candidates:
            own = shingles(candidate)
            known = self._index.find(candidate, own)
            if known is not None:
                repeated.append(self._index.text(known))
            elif not any(similarity(own, other) >= self._threshold for other in sets):
                kept.append(candidate)
                sets.append(own)
        return Admission(kept=tuple(kept), repeated=tuple(repeated)), sets

    async def record(self, texts: Sequence[str]) -> None:
        """Remember known texts without filtering them; many of them beside the event loop."""
        if len(texts) > IN_PLACE:
            await asyncio.to_thread(self.remember, texts)
        else:
            self.remember(texts)

    async def admit(self, candidates: Sequence[str]) -> Admission:
        """The candidates that are new; they are remembered."""
        admission, sets = self._sift(candidates)
        for text, own in zip(admission.kept, sets, strict=True):
            self._index.add(text, own)
        return admission
