"""Facts and messages: labels in one column, long texts wrapped, the newest kept."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from overbrainer_core.text import cell_width
from overbrainer_tui.cells import row_text, width_of
from overbrainer_tui.look import Look
from overbrainer_tui.widgets.run_panels import messages_panel, run_panel, wrapped
from tests.tui import records


def test_facts_stand_in_two_columns(look: Look) -> None:
    assert [row_text(row).rstrip() for row in run_panel(records.selected_run(), 48, look)] == [
        "Run ────────────────────────────────────────────",
        "resumed  from roman_roads_20261030-191200",
    ]


def test_without_facts_there_is_no_panel(look: Look) -> None:
    assert run_panel(replace(records.selected_run(), facts=()), 48, look) == ()


def test_messages_stand_beside_their_time(look: Look) -> None:
    assert [row_text(row).rstrip() for row in messages_panel(records.messages(), 48, 9, look)] == [
        "Messages ───────────────────────────────────────",
        "08:19    job started on 2 x NVIDIA A40",
        "08:41    checkpoint-500 saved",
        "08:58    checkpoint-900 saved",
    ]


def test_the_oldest_messages_go_first(look: Look) -> None:
    rows = [row_text(row).rstrip() for row in messages_panel(records.messages(), 48, 3, look)]
    assert rows[1:] == ["08:41    checkpoint-500 saved", "08:58    checkpoint-900 saved"]
    assert messages_panel(records.messages(), 48, 1, look) == ()


def test_the_final_error_is_wrapped_and_in_the_error_s_style(look: Look) -> None:
    said = records.messages(error="the job exited with code 1: CUDA out of memory while allocating 2.00 GiB")
    rows = messages_panel(said, 48, 3, look)
    assert row_text(rows[1]).startswith("09:05    the job exited with code 1: CUDA")
    assert "err_word" in {span.tone.role for span in rows[1]}
    assert len(rows) == 3


@pytest.mark.parametrize(
    ("text", "cells", "expected"),
    [
        ("short", 10, ["short"]),
        ("two words", 5, ["two", "words"]),
        ("", 5, [""]),
        ("unbreakable", 5, ["unbre", "akab…"]),
        ("質問質問質問", 5, ["質問", "質問…"]),
    ],
)
def test_texts_are_wrapped_in_two_rows_at_most(text: str, cells: int, expected: list[str]) -> None:
    rows = wrapped(text, cells, 2, "…")
    assert rows == expected
    assert all(cell_width(row) <= cells for row in rows)


def test_rows_keep_their_width_for_any_text(look: Look) -> None:
    said = records.messages(error="質問 \x1b[2J [/bold] " * 20)
    for width in (20, 48, 58):
        assert all(width_of(row) == width for row in messages_panel(said, width, 20, look))


def test_a_path_is_broken_between_names(look: Look) -> None:
    text = "run demo_20261130-205918 on target `local`, in /tmp/work/demo1/runs/demo_20261130-205918"
    assert wrapped(text, 39, 3, "…") == [
        "run demo_20261130-205918 on target",
        "`local`, in /tmp/work/demo1/runs/",
        "demo_20261130-205918",
    ]


def test_what_a_run_was_started_with_stands_before_its_facts(look: Look) -> None:
    run = replace(records.selected_run(), about=(("model", "Qwen/Qwen3-0.6B, qlora, 3 epochs"),))
    rows = [row_text(row).rstrip() for row in run_panel(run, 48, look)]
    assert rows == [
        "Run ────────────────────────────────────────────",
        "model    Qwen/Qwen3-0.6B, qlora, 3 epochs",
        "resumed  from roman_roads_20261030-191200",
    ]
