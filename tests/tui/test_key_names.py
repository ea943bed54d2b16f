"""Names of keys: characters as themselves, words for the rest, nothing for combined keys."""

from __future__ import annotations

import pytest

from overbrainer_tui.key_names import key_name


@pytest.mark.parametrize(
    ("key", "character", "name"),
    [
        ("j", "j", "j"),
        ("upper_j", "J", "J"),
        ("question_mark", "?", "?"),
        ("colon", ":", ":"),
        ("space", " ", " "),
        ("enter", "\r", "enter"),
        ("escape", "\x1b", "escape"),
        ("tab", "\t", "tab"),
        ("shift+tab", None, "shift+tab"),
        ("ctrl+c", "\x03", "ctrl+c"),
        ("ctrl+p", "\x10", "ctrl+p"),
        ("pageup", None, "pageup"),
        ("backspace", "\x7f", "backspace"),
        ("ctrl+q", "\x11", None),
        ("ctrl+z", "\x1a", None),
        ("alt+j", None, None),
        ("f5", None, None),
        ("ä", "ä", "ä"),
    ],
)
def test_a_key_has_one_name(key: str, character: str | None, name: str | None) -> None:
    assert key_name(key, character) == name
