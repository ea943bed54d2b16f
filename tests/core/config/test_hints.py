"""Hints: the near miss, and the names that exist."""

from __future__ import annotations

from overbrainer_core.config.hints import known_hint, name_text


def test_a_near_miss_comes_first() -> None:
    assert known_hint("opnrouter", ["openrouter", "local"]) == (
        "; did you mean `openrouter`? known: `openrouter`, `local`"
    )
    assert known_hint("OpenRouter", ["openrouter"], list_known=False) == "; did you mean `openrouter`?"


def test_without_a_near_miss_the_names_are_listed() -> None:
    assert known_hint("zzz", ["a", "b"]) == "; known: `a`, `b`"
    assert known_hint("zzz", ["a", "b"], list_known=False) == ""
    assert known_hint("zzz", []) == "; none is configured"
    assert known_hint("zzz", [f"n{number:02}" for number in range(30)]).endswith("`n19` and 10 more")


def test_a_name_shows_on_one_line_and_is_cut() -> None:
    assert name_text("a\nb\u202e") == "a\\nb\\u{202e}"
    assert len(name_text("x" * 500)) == 80
