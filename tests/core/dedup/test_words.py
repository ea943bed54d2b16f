from __future__ import annotations

import pytest

from overbrainer_core.dedup.words import words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Why does it work?", ["why", "does", "it", "work"]),
        ("It's  well-known; e.g. this\tone.", ["it", "s", "well", "known", "e", "g", "this", "one"]),
        ("What is C++ used for?", ["what", "is", "c++", "used", "for"]),
        ("C# and F# on .NET", ["c#", "and", "f#", "on", ".net"]),
        ("(.NET) ...and asp.net", [".net", "and", "asp", "net"]),
        ("a + b #1 + .", ["a", "b", "1"]),
        ("C++17", ["c++", "17"]),
        ("Ünïcode ÀÉ İ", ["ünïcode", "àé", "i"]),
        ("水は100度", ["水", "は", "100", "度"]),
        ("ภาษาไทย", list("ภาษาไทย")),
        ("C言語の#1", ["c", "言", "語", "の#", "1"]),
        ("한국어 질문", ["한국어", "질문"]),
        ("हिन्दी", ["हिन", "दी"]),
        ("½ Ⅷ ²", ["½", "ⅷ", "²"]),
        ("？？？ !! \u200b", []),
        ("", []),
    ],
)
def test_words_are_letters_and_numbers_with_the_names_that_live_on_a_symbol(text: str, words: list[str]) -> None:
    assert words_of(text) == words
