"""A panel begins with its title on a hairline that fills the wide gaps only."""

from __future__ import annotations

from overbrainer_tui.cells import DIM, Span, Tone, row_text
from overbrainer_tui.look import Look
from overbrainer_tui.widgets.panel import title_row


def test_the_hairline_goes_from_the_title_to_the_end(look: Look) -> None:
    assert row_text(title_row(20, "Messages", look)) == "Messages ───────────"


def test_headers_stand_on_the_hairline_and_narrow_gaps_stay_free(look: Look) -> None:
    row = title_row(30, "System", look, note="10 min", headers=((20, "now"), (25, "used")))
    assert row_text(row) == "System 10 min ───── now  used "


def test_meta_ends_at_the_right_edge(look: Look) -> None:
    text = row_text(title_row(24, "Runs", look, note="5", meta=[Span("1 followed", DIM)]))
    assert text == "Runs 5 ────── 1 followed"


def test_focus_colours_title_and_hairline(look: Look) -> None:
    row = title_row(20, "Runs", look, focused=True)
    assert row[0] == Span("Runs ", Tone("accent_hi", "bold"))
    assert row[1].tone == Tone("accent_lo")


def test_the_hairline_in_ascii(ascii_look: Look) -> None:
    assert row_text(title_row(12, "Run", ascii_look)) == "Run --------"
