"""What a terminal answers and reports is never typed, whole or in pieces; keys and pastes are."""

from __future__ import annotations

import pytest

from overbrainer_tui.terminal_input import ESC, GIVE_UP_S, HOLD_S, LONGEST, InputFilter


def typed(*pieces: str, apart_s: float = 0.0, has_mouse: bool = False) -> str:
    """What is typed when pieces arrive one after the other."""
    taken = InputFilter(has_mouse=has_mouse)
    found: list[str] = []
    now = 100.0
    for piece in pieces:
        found += taken.feed(piece, now)
        now += apart_s
    found += taken.idle(now + GIVE_UP_S + 1)
    return "".join(found)


ANSWERS = {
    "device attributes": "\x1b[>0;10;1c",
    "primary attributes": "\x1b[?62;22c",
    "cursor position": "\x1b[12;40R",
    "mode": "\x1b[?2026;2$y",
    "another mode": "\x1b[?2048;0$y",
    "colour, ended by BEL": "\x1b]11;rgb:1e1e/1e1e/1e1e\x07",
    "colour, ended by ST": "\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\",
    "DCS": "\x1bP>|tmux 3.4\x1b\\",
    "APC": "\x1b_Gi=1;OK\x1b\\",
    "focus in": "\x1b[I",
    "focus out": "\x1b[O",
    "SGR mouse": "\x1b[<0;10;5M",
    "SGR mouse release": "\x1b[<0;10;5m",
    "X10 mouse": "\x1b[M !!",
    "window size": "\x1b[8;24;80t",
    "kitty flags": "\x1b[?1u",
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
def test_an_answer_or_a_report_is_taken_out_whole(answer: str) -> None:
    assert typed(f"a{answer}b") == "ab"


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
def test_an_answer_split_after_its_esc_is_taken_out_too(answer: str) -> None:
    assert typed(answer[0], answer[1:], "b", apart_s=0.05) == "b"


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
def test_an_answer_that_arrives_character_by_character_is_taken_out(answer: str) -> None:
    assert typed(*answer, "b", apart_s=0.01) == "b"


@pytest.mark.parametrize(
    "key", ["\x1b[A", "\x1b[1;2A", "\x1b[5~", "\x1b[Z", "\x1b[H", "\x1b[F", "\x1bOA", "\x1b[106u", "\x1b[3~"]
)
def test_keys_with_sequences_pass_whole_and_split(key: str) -> None:
    assert typed(key) == key
    assert typed(key[0], key[1:], apart_s=0.05) == key


def test_a_lone_esc_is_a_key_once_nothing_followed_it() -> None:
    taken = InputFilter()
    assert list(taken.feed(ESC, 1.0)) == []
    assert taken.wait_s == HOLD_S
    assert list(taken.idle(1.0 + HOLD_S / 2)) == []
    assert list(taken.idle(1.0 + HOLD_S)) == [ESC]
    assert taken.wait_s is None


def test_two_escapes_are_two_keys() -> None:
    assert typed(ESC, ESC, apart_s=0.2) == ESC * 2
    assert typed(ESC + ESC) == ESC * 2


def test_a_key_soon_after_escape_is_a_key_of_its_own() -> None:
    taken = InputFilter()
    assert list(taken.feed(ESC, 1.0)) == []
    assert list(taken.feed("j", 1.03)) == [ESC, "j"]


def test_a_combined_key_passes_to_the_key_parser() -> None:
    assert typed("\x1bj") == "\x1bj"


def test_plain_text_passes_at_once() -> None:
    taken = InputFilter()
    assert list(taken.feed("hello\r\tü", 0.0)) == ["hello\r\tü"]


def test_a_paste_passes_whatever_it_holds() -> None:
    paste = "\x1b[200~one \x1b[>0;10;1c two\x1b]11;x\x07\x1b[201~"
    assert typed(paste) == paste
    assert typed(*paste) == paste


def test_after_a_paste_answers_are_taken_out_again() -> None:
    assert typed("\x1b[200~x\x1b[201~\x1b[?62c" + "y") == "\x1b[200~x\x1b[201~y"


def test_an_answer_without_an_end_is_dropped_and_keys_work_again() -> None:
    taken = InputFilter()
    assert list(taken.feed("\x1b]11;rgb", 0.0)) == []
    assert list(taken.feed("q", GIVE_UP_S + 0.1)) == ["q"]


def test_an_endless_answer_is_dropped() -> None:
    assert typed("\x1b]" + "x" * (LONGEST + 10)) == ""
    assert typed("\x1b[" + "1;" * LONGEST + "A" + "q") == "q"


def test_an_answer_that_breaks_off_at_another_one_loses_neither_the_keys_after_it() -> None:
    assert typed("\x1b[12;\x1b[Aj") == "\x1b[Aj"
    assert typed("\x1b]11;rgb\x1b[Aj") == "\x1b[Aj"


REPORT = "\x1b[<35;10;5M"


def test_where_the_mouse_was_asked_for_its_reports_pass_whole() -> None:
    assert typed(f"a{REPORT}b", has_mouse=True) == f"a{REPORT}b"
    assert typed(*REPORT, apart_s=0.01, has_mouse=True) == REPORT
    assert typed(REPORT[0], REPORT[1:], apart_s=0.05, has_mouse=True) == REPORT


@pytest.mark.parametrize("answer", [text for name, text in ANSWERS.items() if not name.startswith("SGR")])
def test_with_the_mouse_every_other_report_is_still_taken_out(answer: str) -> None:
    assert typed(f"a{answer}b", has_mouse=True) == "ab"


@pytest.mark.parametrize("report", ["\x1b[<;;M", "\x1b[<1;2M", "\x1b[35;10;5M", "\x1b[<0;9?;1M"])
def test_a_report_in_another_form_is_taken_out(report: str) -> None:
    assert typed(f"a{report}b", has_mouse=True) == "ab"


@pytest.mark.parametrize("rest", ["[<35;10;5M", "[M !!", "[?61;6;7;22c", "[>0;10;1c"])
def test_a_report_whose_esc_came_far_too_early_types_nothing_more(rest: str) -> None:
    assert typed(ESC, rest, "q", apart_s=0.2) == f"{ESC}q"
    assert typed(ESC, "x", rest, apart_s=1.5) == f"{ESC}x{rest}"


def decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


@pytest.mark.parametrize("where", [b"\xe9\x2d", b"\x82\xff", b"\xc3\x82", b"\xff\xff"])
def test_an_old_mouse_report_far_to_the_right_takes_no_key_with_it(where: bytes) -> None:
    """Bytes above 127 are no text, or two of them look like one character."""
    data = decoded(b"\x1b[M " + where + b"\x1b[M#" + where + b"jk")
    assert typed(data) == "jk"
    assert typed(*data) == "jk"


def test_what_is_no_text_becomes_a_mark_and_never_an_error() -> None:
    assert typed(decoded(b"a\x82b")) == "a\ufffdb"
