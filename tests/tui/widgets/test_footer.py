"""The footer tells keys or the status, then what runs and what it costs."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from overbrainer_tui.cells import Span, Tone, row_text, width_of
from overbrainer_tui.look import Look
from overbrainer_tui.view_models.snapshots import Cost, FooterShown, Hint, Level, Status
from overbrainer_tui.widgets.footer import footer_row
from tests.tui import records

PIPELINE = FooterShown(
    hints=(
        Hint(key="r", label="run a stage", is_refused=True),
        Hint(key="A", label="auto", is_refused=True),
        Hint(key="q", label="quit"),
        Hint(key="1-6", label="views"),
    ),
    work=("answers 214/320",),
    is_locked=True,
    cost=Cost(usd=1.93, is_partial=True),
    version="0.10.0",
)


def _text(footer: FooterShown, width: int, look: Look) -> str:
    return row_text(footer_row(footer, width, look).row)


def test_the_footer_at_120_columns(look: Look) -> None:
    text = _text(PIPELINE, 120, look)
    assert text.startswith(" r run a stage · A auto · q quit · 1-6 views   ")
    assert text.endswith("  answers 214/320 · locked · $1.93+  v0.10.0  ? help ")
    assert footer_row(PIPELINE, 120, look).spinner == 67


def test_hints_are_dropped_whole_from_the_end(look: Look) -> None:
    assert _text(PIPELINE, 80, look) == (
        " r run a stage · A auto      answers 214/320 · locked · $1.93+  v0.10.0  ? help "
    )
    assert footer_row(PIPELINE, 80, look).spinner == 27


def test_the_training_hints_leave_a_column_before_the_spinner(look: Look) -> None:
    drawn = footer_row(records.footer(), 80, look)
    assert row_text(drawn.row).startswith(" j/k select · a attach · c cancel   ")
    assert drawn.spinner == 36


def test_refused_keys_are_struck_and_nothing_between_them(look: Look) -> None:
    row = footer_row(PIPELINE, 120, look).row
    struck = [span.text for span in row if span.tone.weight == "strike"]
    assert struck == ["r", "run a stage", "A", "auto"]


def test_only_money_is_bright(look: Look) -> None:
    row = footer_row(PIPELINE, 120, look).row
    assert [span.text.strip() for span in row if span.tone.role == "bright"] == ["$1.93+"]
    assert Span("locked", Tone("warn", "", "surface")) in row


def test_an_overlay_takes_money_and_version_away(look: Look) -> None:
    text = _text(replace(PIPELINE, cost=None, version=None, is_locked=False), 80, look)
    assert text.endswith("  answers 214/320  ? help ")
    text = _text(replace(PIPELINE, cost=None, version=None), 80, look)
    assert text.endswith("  answers 214/320 · locked  ? help ")


def test_unknown_cost_shows_no_money(look: Look) -> None:
    assert "$" not in _text(replace(PIPELINE, cost=Cost(usd=None, is_partial=True)), 120, look)
    assert "$1.50+" in _text(replace(PIPELINE, cost=Cost(usd=1.5, is_partial=True)), 120, look)


def test_a_newer_version_is_named_in_the_accent(look: Look) -> None:
    row = footer_row(replace(PIPELINE, newer_version="0.11.0"), 120, look).row
    assert any(span.text.strip() == "↑ 0.11.0" and span.tone.role == "accent" for span in row)


@pytest.mark.parametrize(("level", "mark"), [(Level.INFO, "✓"), (Level.WARNING, "!"), (Level.ERROR, "✗")])
def test_a_status_has_exactly_one_mark(level: Level, mark: str, look: Look) -> None:
    footer = replace(PIPELINE, status=Status(level=level, text="saved"))
    assert _text(footer, 120, look).startswith(f" {mark} saved  ")


def test_a_status_that_does_not_fit_is_cut_with_a_mark_and_leaves_a_column(look: Look) -> None:
    words = "cannot read data/answers.jsonl: line 2107 is not valid JSON (column 18)"
    footer = FooterShown(status=Status(level=Level.ERROR, text=words), cost=Cost(usd=1.93, is_partial=True),
                         version="0.10.0")  # fmt: skip
    text = _text(footer, 80, look)
    assert text == " ✗ cannot read data/answers.jsonl: line 2107 is not va… $1.93+  v0.10.0  ? help "


def test_a_status_is_data(look: Look) -> None:
    footer = FooterShown(status=Status(level=Level.ERROR, text="[red]\x1b[2J[/] 質問"))
    assert "[red]\\u{1b}[2J[/] 質問" in _text(footer, 80, look)


def test_still_work_has_a_still_mark(mono: Look, ascii_look: Look) -> None:
    assert "… answers 214/320" in _text(PIPELINE, 120, mono)
    assert "~ answers 214/320 - locked - $1.93+" in _text(PIPELINE, 120, ascii_look)


@pytest.mark.parametrize("width", [80, 81, 100, 119, 120, 200])
@pytest.mark.parametrize("work", [(), ("a",), ("answers 214/320", "1 training task", "saving " * 30)])
def test_the_row_keeps_its_width(width: int, work: tuple[str, ...], look: Look) -> None:
    drawn = footer_row(replace(PIPELINE, work=work), width, look)
    assert width_of(drawn.row) == width
    assert row_text(drawn.row).endswith("? help ")
    assert (drawn.spinner is None) is (not work)
