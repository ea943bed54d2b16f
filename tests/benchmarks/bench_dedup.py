"""How fast is lexical deduplication of one topic, and against comparing with every text?

Run by hand: `python tests/benchmarks/bench_dedup.py [COUNT]`. Prints the ratio of both ways at a small size, from
one run with the same decisions checked, then the time and memory for COUNT questions (100,000) of each kind.
"""

from __future__ import annotations

import asyncio
import random
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from overbrainer_core.dedup.lexical import LexicalDeduplicator, Shingles, shingles, similarity

THRESHOLD = 0.8
SMALL = 2000


def vocabulary(size: int, seed: int) -> list[str]:
    """Made-up words, the first ones used most."""
    dice = random.Random(seed)
    return ["".join(dice.choices("abcdefghijklmnopqrstuvwxyz", k=dice.randint(3, 9))) for _ in range(size)]


def prose(count: int) -> list[str]:
    """Questions of 8 to 16 words whose frequencies fall like those of a language; one in ten repeats another."""
    dice = random.Random(1)
    words = vocabulary(5000, 2)
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    found: list[str] = []
    for number in range(count):
        if number % 10 == 9:
            again = found[dice.randrange(len(found))].split()
            again[dice.randrange(len(again))] = dice.choice(words)
            found.append(" ".join(again))
        else:
            found.append("What " + " ".join(dice.choices(words, weights, k=dice.randint(7, 15))) + "?")
    return found


def templated(count: int) -> list[str]:
    """Questions of twelve forms about many subjects, such as a generator writes when it runs out of ideas."""
    dice = random.Random(3)
    names = vocabulary(20_000, 4)
    forms = [
        "What is the main advantage of {} over {} in practice?",
        "How does {} change when {} is present?",
        "Explain why {} needs {} before it can be used.",
        "When should a practitioner prefer {} to {} and why?",
        "Which common mistakes happen with {} in {} systems?",
        "In which year was {} first described by {}?",
        "What is the atomic number of {}?",
        "Describe {} step by step for a newcomer.",
        "How would you test {} for {}?",
        "What happens if {} fails during {}?",
        "Compare {} and {} with an example of each.",
        "Name three properties of {}.",
    ]
    return [dice.choice(forms).format(dice.choice(names), dice.choice(names)) for _ in range(count)]


def indexed(questions: list[str]) -> int:
    """How many the index keeps."""

    async def admitted() -> int:
        deduplicator = LexicalDeduplicator(THRESHOLD)
        kept = 0
        for start in range(0, len(questions), 10):
            kept += len((await deduplicator.admit(questions[start : start + 10])).kept)
        return kept

    return asyncio.run(admitted())


def brute(questions: list[str]) -> int:
    """How many are kept when each is compared with every one before it."""
    sets: list[Shingles] = []
    for question in questions:
        own = shingles(question)
        if not any(similarity(own, other) >= THRESHOLD for other in sets):
            sets.append(own)
    return len(sets)


def timed(work: object, questions: list[str]) -> tuple[float, int]:
    """Seconds of one core, and the result: the machine may do other work meanwhile."""
    started = time.process_time()
    kept = work(questions)  # type: ignore[operator]
    return time.process_time() - started, kept


def main() -> None:
    """Print both measures for both kinds of questions."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    for name, make in (("prose", prose), ("templated", templated)):
        small = make(SMALL)
        index_s, index_kept = timed(indexed, small)
        brute_s, brute_kept = timed(brute, small)
        print(
            f"{name} {SMALL}: same decisions {index_kept == brute_kept}, brute force / index {brute_s / index_s:.0f}x"
        )
        seconds, kept = timed(indexed, make(count))
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{name} {count}: {seconds:.1f} s of CPU, {kept} kept, peak {peak_mb:.0f} MB")


if __name__ == "__main__":
    main()
