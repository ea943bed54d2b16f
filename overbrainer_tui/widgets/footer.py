"""What does the footer row show: hints or the status, then work, lock, money, version and help?

The one moving cell of the screen, the spinner, has a place of its own: the row has a blank or a still mark there.
"""

from __future__ import annotations

from msgspec import Struct

from overbrainer_core.text import cell_width, cut
from overbrainer_tui import text
from overbrainer_tui.cells import Line, Row, Span, Tone, shown, width_of
from overbrainer_tui.look import Look
from overbrainer_tui.view_models.snapshots import FooterShown, Hint, Level, Status


def _on(role: str, weight: str = "") -> Tone:
    return Tone(role, weight, "surface")  # type: ignore[arg-type]


_TEXT, _KEY, _DIM, _FAINT = _on("text"), _on("text", "bold"), _on("dim"), _on("faint")
_STRUCK = _on("faint", "strike")
MIN_HINT_CELLS = 12
"""Cells that work labels leave to hints and messages, as long as there are that many."""


class FooterRow(Struct, frozen=True):
    """The footer's row, and the column of the spinner when there is work."""

    row: Row
    spinner: int | None


def footer_row(footer: FooterShown, width: int, look: Look) -> FooterRow:
    """The footer, `width` cells wide."""
    line = Line(width, on="surface")
    right = _right_part(footer, width, look)
    start = line.spans_right(width - 1, right)
    room = start - 2
    if footer.status is not None:
        line.spans(1, _status(footer.status, room, look), end=1 + max(0, room))
    else:
        line.spans(1, _hints(footer.hints, room, look))
    return FooterRow(line.row(), start if footer.work else None)


def _right_part(footer: FooterShown, width: int, look: Look) -> list[Span]:
    """Work, lock, money, version, help; work labels are cut before anything else is."""
    tail = _tail(footer, look)
    if not footer.work:
        return tail
    room = max(8, width - 2 - MIN_HINT_CELLS - width_of(tail) - 5)
    separator = f" {look.glyphs.separator} "
    label = cut(separator.join(shown(work) for work in footer.work), room, mark=look.glyphs.cut)
    mark = look.glyphs.still if not look.has_spinner else " "
    spans = [Span(mark, _on("accent")), Span(" ", _TEXT), Span(label, _TEXT)]
    has_more = footer.is_locked or _has_money(footer)
    return [*spans, Span(separator if has_more else "  ", _FAINT), *tail]


def _has_money(footer: FooterShown) -> bool:
    return footer.cost is not None and footer.cost.usd is not None


def _tail(footer: FooterShown, look: Look) -> list[Span]:
    spans: list[Span] = []
    if footer.is_locked:
        spans += [Span("locked", _on("warn")), Span(f" {look.glyphs.separator} ", _FAINT)]
    if _has_money(footer):
        money, sign = text.money(footer.cost)
        spans += [Span(money + sign, _on("bright", "bold")), Span("  ", _TEXT)]
    elif spans:
        spans[-1] = Span("  ", _TEXT)
    if footer.version is not None:
        spans.append(Span(f"v{shown(footer.version)}", _FAINT))
        if footer.newer_version is not None:
            spans.append(Span(f" {look.glyphs.rising} {shown(footer.newer_version)}", _on("accent")))
        spans.append(Span("  ", _TEXT))
    return [*spans, Span("?", _KEY), Span(" help", _DIM)]


def _hints(hints: tuple[Hint, ...], room: int, look: Look) -> list[Span]:
    """Hints joined by dots, dropped whole from the end until they fit."""
    spans: list[Span] = []
    used = 0
    for hint in hints:
        added = [Span(f" {look.glyphs.separator} ", _FAINT)] if spans else []
        key, gap, label = (_STRUCK, _FAINT, _STRUCK) if hint.is_refused else (_KEY, _TEXT, _DIM)
        added += [Span(hint.key, key), Span(" ", gap), Span(hint.label, label)]
        used += width_of(added)
        if used > room:
            break
        spans += added
    return spans


def _status(status: Status, room: int, look: Look) -> list[Span]:
    """The mark and the message in the status's style, cut with a mark when it does not fit."""
    glyphs = look.glyphs
    match status.level:
        case Level.INFO:
            mark, tone, words = glyphs.done, _on("ok"), _TEXT
        case Level.WARNING:
            mark, tone, words = "!", _on("warn", "bold"), _on("warn")
        case Level.ERROR:
            mark, tone, words = glyphs.failed, _on("err", "bold"), _on("err_word", "bold")
    message = cut(shown(status.text), max(0, room - cell_width(mark) - 1), mark=glyphs.cut)
    return [Span(mark, tone), Span(" ", _TEXT), Span(message, words)]
