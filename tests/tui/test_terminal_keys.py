"""Keys and pastes in typed text."""

from __future__ import annotations

import pytest

from overbrainer_tui.terminal_keys import KeyReader, Pasted, Pointer, PointerKind, TypedKey


def read(*pieces: str) -> list[str]:
    reader = KeyReader()
    found = [item for piece in pieces for item in reader.read(piece)]
    return [_word(item) for item in found]


def _word(item: TypedKey | Pasted | Pointer) -> str:
    match item:
        case Pasted(text):
            return f"paste {text}"
        case Pointer(kind, x, y):
            return f"{kind} {x},{y}"
        case TypedKey(name):
            return name


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("jK?", ["j", "K", "?"]),
        ("ä名 ", ["ä", "名", " "]),
        ("\r\n\t\x7f\x08", ["enter", "enter", "tab", "backspace", "backspace"]),
        ("\x03\x10\x1a", ["ctrl+c", "ctrl+p", "ctrl+z"]),
        ("\x1b", ["escape"]),
        ("\x1b\x1b", ["escape", "escape"]),
        ("\x1b[A\x1b[B\x1bOC\x1bOD", ["up", "down", "right", "left"]),
        ("\x1b[H\x1b[F\x1b[1~\x1b[4~", ["home", "end", "home", "end"]),
        ("\x1b[5~\x1b[6~\x1b[3~\x1b[Z", ["pageup", "pagedown", "delete", "shift+tab"]),
        ("\x1b[1;2A\x1b[1;5A\x1b[5;3~", ["up"]),
        ("\x1b[11~\x1bOP\x1b[99~q", ["q"]),
        ("\x1bjq", ["q"]),
        ("\x00\x1f", []),
    ],
)
def test_typed_text_is_read_as_keys(text: str, names: list[str]) -> None:
    assert read(text) == names


def test_a_character_is_told_with_its_key() -> None:
    assert list(KeyReader().read("G")) == [TypedKey("G", "G")]
    assert list(KeyReader().read("\r")) == [TypedKey("enter")]


def test_a_paste_is_one_whole_however_it_arrives() -> None:
    assert read("a\x1b[200~one\r\n\x1b[A two\x1b[201~b") == ["a", "paste one\r\n\x1b[A two", "b"]
    assert read("\x1b[200~on", "e\x1b[20", "1~x") == ["paste one", "x"]


@pytest.mark.parametrize(
    ("report", "words"),
    [
        ("\x1b[<0;1;1M", ["click 0,0"]),
        ("\x1b[<0;1;1m", []),
        ("\x1b[<35;230;51M", ["move 229,50"]),
        ("\x1b[<32;2;3M", ["move 1,2"]),
        ("\x1b[<64;2;3M", ["wheel_up 1,2"]),
        ("\x1b[<65;2;3M", ["wheel_down 1,2"]),
        ("\x1b[<4;2;3M", []),
        ("\x1b[<39;2;3M", []),
        ("\x1b[<16;2;3M", []),
        ("\x1b[<2;2;3M\x1b[<1;2;3M\x1b[<66;2;3M\x1b[<128;2;3M", []),
        ("\x1b[<0;0;3M", []),
        (f"\x1b[<0;{'9' * 60};3M", [f"click {(1 << 20) - 1},2"]),
        ("j\x1b[<0;9;1Mk", ["j", "click 8,0", "k"]),
    ],
)
def test_a_mouse_report_is_read_as_what_the_mouse_did(report: str, words: list[str]) -> None:
    assert read(report) == words


def test_a_pointer_counts_cells_from_nothing() -> None:
    assert list(KeyReader().read("\x1b[<65;80;24M")) == [Pointer(PointerKind.WHEEL_DOWN, 79, 23)]
