"""Which mark and which words stand for a state? Only the mark is coloured, except where something failed."""

from __future__ import annotations

from overbrainer_tui.cells import ACCENT, BRIGHT, DIM, ERR, ERR_WORD, FAINT, OK, TEXT, WARN, Span, Tone
from overbrainer_tui.glyphs import Glyphs
from overbrainer_tui.view_models.snapshots import Progress


def run_mark(state: str, glyphs: Glyphs) -> Span:
    """The mark of a run's state."""
    marks = {
        "running": Span(glyphs.running, ACCENT),
        "preparing": Span(glyphs.preparing, Tone("info")),
        "succeeded": Span(glyphs.done, OK),
        "stopped": Span(glyphs.stopped, WARN),
        "failed": Span(glyphs.failed, ERR),
        "cancelled": Span(glyphs.cancelled, DIM),
    }
    return marks.get(state, Span(glyphs.none, FAINT))


def run_badge(state: str, glyphs: Glyphs, tone: Tone = TEXT) -> list[Span]:
    """`✓ succeeded`: the mark and the word."""
    return [run_mark(state, glyphs), Span(" ", TEXT), Span(state, ERR_WORD if state == "failed" else tone)]


def progress_mark(progress: Progress, glyphs: Glyphs) -> Span:
    """The mark of a stage, a phase or a link of the chain."""
    match progress:
        case Progress.ABSENT:
            return Span(" ", TEXT)
        case Progress.PENDING:
            return Span(glyphs.none, FAINT)
        case Progress.RUNNING:
            return Span(glyphs.running, ACCENT)
        case Progress.DONE:
            return Span(glyphs.done, OK)
        case Progress.FAILED | Progress.STOPPED:
            return Span(glyphs.failed, ERR)


def progress_word(progress: Progress, *, done: Tone = DIM) -> Tone:
    """The tone of the word beside a mark: what is finished steps back, what runs stands out."""
    match progress:
        case Progress.ABSENT | Progress.PENDING:
            return FAINT
        case Progress.RUNNING:
            return BRIGHT
        case Progress.DONE:
            return done
        case Progress.FAILED | Progress.STOPPED:
            return TEXT
