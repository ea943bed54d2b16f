"""Questions: rows, answers, and what is kept when the screen is short."""

from __future__ import annotations

import pytest

from overbrainer_core.text import cell_width
from overbrainer_tui.cells import row_text
from overbrainer_tui.dialogs.confirm import WIDTH, confirm_piece
from overbrainer_tui.look import Look
from overbrainer_tui.view_models.overlay import Answer, Confirm, DialogRow, RowTone
from overbrainer_tui.view_models.start import plan_rows
from tests.tui.states import plan_facts

LOOK = Look()


def question(*, destructive: bool = False) -> Confirm:
    return Confirm(
        title="Start a training run?",
        rows=(),
        yes="start",
        no="cancel",
        on_yes=Answer.START_RUN,
        is_destructive=destructive,
    )


def drawn(rows: tuple[DialogRow, ...], *, height: int = 24, destructive: bool = False) -> list[str]:
    piece = confirm_piece(question(destructive=destructive), rows, 80, height, LOOK)
    return [row_text(row) for row in piece.rows]


def test_a_question_has_rows_of_label_and_value_and_its_answers_at_the_right() -> None:
    assert drawn(plan_rows(plan_facts())) == [
        "╭─ Start a training run? ──────────────────────────────────────────────╮",
        "│                                                                      │",
        "│  target      local  local, native                                    │",
        "│  model       Qwen/Qwen3-0.6B  qlora, 3 epochs, lr 2e-4               │",
        "│  data        1906 train  212 eval                                    │",
        "│                                                                      │",
        "│  The run goes on when you leave or quit; a attaches again.           │",
        "│                                                                      │",
        "│                                                 y start   n cancel   │",
        "╰──────────────────────────────────────────────────────────────────────╯",
    ]


def test_a_long_value_wraps_under_itself() -> None:
    rows = (DialogRow(label="warning", value="word " * 20, tone=RowTone.WARNING),)
    lines = drawn(rows)
    assert lines[2].startswith("│  warning     word word")
    assert lines[3].startswith("│              word")


@pytest.mark.parametrize("height", [24, 30, 12])
def test_the_answers_always_show_and_a_cut_has_one_mark(height: int) -> None:
    rows = tuple(DialogRow(label=f"label{n}", value="value") for n in range(40))
    lines = drawn(rows, height=height)
    assert len(lines) == height - 2
    assert "y start   n cancel" in lines[-2]
    assert sum("…" in line for line in lines) == 1
    assert lines[1].startswith("│  label0")


def test_paragraphs_are_kept_whole_from_the_top() -> None:
    paragraph = tuple(DialogRow(label=f"a{n}", value="x") for n in range(5))
    rows = (*paragraph, DialogRow(), *(DialogRow(label=f"b{n}", value="x") for n in range(30)))
    text = "\n".join(drawn(rows))
    assert "a4" in text
    assert "…" in text


def test_a_text_that_just_fits_is_not_cut() -> None:
    rows = tuple(DialogRow(label=f"l{n}", value="x") for n in range(19))
    lines = drawn(rows)
    assert len(lines) == 22
    assert "…" not in "".join(lines)


def test_a_destructive_yes_is_told_in_the_error_tone_and_no_is_raised() -> None:
    piece = confirm_piece(question(destructive=True), (DialogRow(value="x"),), 80, 24, LOOK)
    tones = {span.text.strip(): span.tone for span in piece.rows[-2]}
    assert tones["y"].role == "err"
    assert tones["n"].on == "raised"
    piece = confirm_piece(question(), (DialogRow(value="x"),), 80, 24, LOOK)
    assert {span.text.strip(): span.tone for span in piece.rows[-2]}["y"].role == "accent_hi"


def test_every_row_is_as_wide_as_the_box_whatever_the_texts_hold() -> None:
    rows = (DialogRow(label="模型", value="名前 \x1b[31m\n名前" * 9, remark="[/bold]"),)
    for line in confirm_piece(question(), rows, 120, 40, LOOK).rows:
        assert cell_width(row_text(line)) == WIDTH
