"""The one-line input: typing, moving, pasting, and the part that fits."""

from __future__ import annotations

from overbrainer_tui.view_models.input import OneLineInput


def typed(*keys: str, text: str = "") -> OneLineInput:
    line = OneLineInput(text)
    for key in keys:
        assert line.on_key(key)
    return line


def test_characters_are_inserted_at_the_cursor() -> None:
    line = typed("a", "c", "left", "b")
    assert (line.text, line.cursor) == ("abc", 2)


def test_backspace_and_delete_remove_before_and_at_the_cursor() -> None:
    assert typed("backspace", text="abc").text == "ab"
    assert typed("home", "delete", text="abc").text == "bc"
    assert typed("home", "backspace", "end", "delete", text="abc").text == "abc"


def test_the_cursor_stays_within_the_text() -> None:
    assert typed("right", "right", text="ab").cursor == 2
    assert typed("home", "left", text="ab").cursor == 0


def test_enter_escape_and_combined_keys_are_not_an_input_s() -> None:
    line = OneLineInput("a")
    assert [line.on_key(key) for key in ("enter", "escape", "ctrl+c", "up", "tab")] == [False] * 5
    assert line.text == "a"


def test_a_paste_becomes_one_line_without_controls() -> None:
    line = typed("home", text="!")
    line.paste("\r\nfirst\n\nsecond\x1b[31m\tthird\n")
    assert line.text == "first second[31m third!"


def test_the_window_keeps_the_cursor_in_sight() -> None:
    line = OneLineInput("0123456789")
    assert line.window(5) == ("6789", " ", "")
    line.on_key("home")
    assert line.window(5) == ("", "0", "1234")


def test_wide_characters_count_two_cells() -> None:
    line = OneLineInput("ああああ")
    assert line.window(5) == ("ああ", " ", "")
    line.on_key("left")
    assert line.window(5) == ("あ", "あ", "")
