"""Every state has a mark and a word, and only failure colours its word."""

from __future__ import annotations

import pytest

from overbrainer_tui.glyphs import ASCII, UNICODE
from overbrainer_tui.view_models.snapshots import Progress
from overbrainer_tui.widgets.badges import progress_mark, progress_word, run_badge


@pytest.mark.parametrize(
    ("state", "text", "role"),
    [
        ("running", "● running", "accent"),
        ("preparing", "○ preparing", "info"),
        ("succeeded", "✓ succeeded", "ok"),
        ("stopped", "■ stopped", "warn"),
        ("failed", "✗ failed", "err"),
        ("cancelled", "⊘ cancelled", "dim"),
        ("unheard of", "· unheard of", "faint"),
    ],
)
def test_a_state_is_a_mark_and_a_word(state: str, text: str, role: str) -> None:
    spans = run_badge(state, UNICODE)
    assert "".join(span.text for span in spans) == text
    assert spans[0].tone.role == role
    assert spans[2].tone.role == ("err_word" if state == "failed" else "text")


@pytest.mark.parametrize("progress", list(Progress))
def test_every_progress_has_a_mark_of_one_cell(progress: Progress) -> None:
    assert len(progress_mark(progress, UNICODE).text) == 1
    assert progress_mark(progress, ASCII).text.isascii()
    assert progress_word(progress).role


def test_what_runs_stands_out_and_what_is_done_steps_back() -> None:
    assert progress_word(Progress.RUNNING).role == "bright"
    assert progress_word(Progress.DONE).role == "dim"
    assert progress_word(Progress.PENDING).role == "faint"
