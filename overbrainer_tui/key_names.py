"""What is a key called? By its character when it has a printable one, else by a word such as `enter` or `ctrl+c`."""

from __future__ import annotations

_WORDS = {"return": "enter", "esc": "escape", "page_up": "pageup", "page_down": "pagedown", "backtab": "shift+tab"}

_NAMED = frozenset(
    {
        "enter",
        "escape",
        "tab",
        "shift+tab",
        "up",
        "down",
        "left",
        "right",
        "home",
        "end",
        "pageup",
        "pagedown",
        "backspace",
        "delete",
        "ctrl+c",
        "ctrl+p",
    }
)
"""The keys without a character that mean something."""


def key_name(key: str, character: str | None) -> str | None:
    """Our name of a key as the framework tells it, None for one that means nothing here.

    Keys combined with Alt or with Ctrl have no character of their own.
    """
    name = _WORDS.get(key, key)
    if name in _NAMED:
        return name
    if "alt+" in name or "ctrl+" in name or "super+" in name:
        return None
    if character is not None and len(character) == 1 and character.isprintable():
        return character
    return None
