"""How are the rows of the Pipeline view drawn: stages, chain, figures, errors, results?"""

from __future__ import annotations

from collections.abc import Sequence

from overbrainer_core.values.stage import SplitReport, Stage
from overbrainer_tui import text
from overbrainer_tui.cells import BRIGHT, DIM, ERR, FAINT, TEXT, WARN, Line, Role, Row, Span, Tone, shown
from overbrainer_tui.look import Look
from overbrainer_tui.view_models.snapshots import (
    ChainLink,
    Cost,
    ItemError,
    PipelineShown,
    Progress,
    StageResult,
    StageRow,
)
from overbrainer_tui.widgets.badges import progress_mark, progress_word
from overbrainer_tui.widgets.gauges import bar
from overbrainer_tui.widgets.panel import title_row
from overbrainer_tui.widgets.run_panels import wrapped

NAME, BAR = 2, 14
"""Columns of a stage's name and bar in the panel."""

COUNTS_CELLS = 47
"""Cells right of the bar: percent, count, in flight, retries, failed."""

TILE_CELLS = 16
_PERCENT_END, _DONE_END = 6, 19
_ITEM, _ERROR = 12, 23
_RESULT_ENDS = (18, 27, 35, 45, 56, 63, 74)
"""Last columns of the results' numbers in the panel; the `+` of a cost hangs after the last."""


def pipeline_title(pipeline: PipelineShown, width: int, look: Look) -> Row:
    """`Pipeline answers ──── done  in flight  retries  failed`."""
    note = [Span(pipeline.command, Tone("accent_hi"))] if pipeline.command else ""
    ends = _count_ends(width)
    words = ("done", "in flight", "retries", "failed")
    headers = [(end - len(word), word) for end, word in zip(ends, words, strict=True)]
    return title_row(width, "Pipeline", look, note=note, headers=headers)


def _count_ends(width: int) -> tuple[int, int, int, int]:
    """Columns after count, in flight, retries and failed."""
    return width - 28, width - 17, width - 8, width


def stage_bar(row: StageRow, width: int, look: Look, *, ratio: float | None = None) -> Row:
    """Mark, name and bar of a stage, or the word in the bar's place."""
    line = Line(width)
    mark = progress_mark(row.progress, look.glyphs)
    line.put(0, mark.text, mark.tone)
    absent = row.progress is Progress.ABSENT
    line.put(NAME, row.stage.value, DIM if absent else progress_word(row.progress, done=TEXT))
    if row.progress is Progress.PENDING:
        line.put(BAR, "pending", FAINT)
        return line.row()
    if row.total is None:
        if row.progress is Progress.STOPPED:
            line.put(BAR, "stopped", DIM)
        return line.row()
    share = row.ratio if ratio is None else ratio
    role: Role = "accent" if row.progress is Progress.RUNNING else "gauge"
    end = line.spans(BAR, bar(share, width - BAR, role, look.glyphs))
    if row.progress is Progress.STOPPED:
        at = BAR + int(share * (width - BAR)) + 1
        if at + len(" stopped ") <= end:
            line.put(at, " stopped ", DIM)
    return line.row()


def stage_counts(row: StageRow, look: Look) -> Row:
    """Percent while it runs, finished of total, in flight, retries, failed."""
    line = Line(COUNTS_CELLS)
    if row.total is None:
        return line.row()
    is_running = row.progress is Progress.RUNNING
    if is_running:
        line.spans_right(_PERCENT_END, [Span(text.percent(row.ratio)[:-1], BRIGHT), Span("%", DIM)])
    done = BRIGHT if is_running else TEXT
    line.spans_right(_DONE_END, [Span(str(row.finished), done), Span(f"/{row.total}", DIM)])
    ends = _count_ends(COUNTS_CELLS)[1:]
    for end, value, tone in zip(ends, (row.in_flight, row.retries, row.failed), (TEXT, WARN, ERR), strict=True):
        line.put_right(end, str(value) if value else look.glyphs.none, tone if value else FAINT)
    return line.row()


def chain_row(chain: Sequence[ChainLink], width: int, look: Look) -> Row:
    """`auto   subtopics ✓ → questions ✓ → answers ● → split → train`."""
    line = Line(width)
    line.put(0, "auto", DIM)
    column = 7
    for index, link in enumerate(chain):
        if index:
            column = line.put(column, f" {look.glyphs.chain} ", FAINT)
        column = line.put(column, link.name, progress_word(link.progress, done=TEXT))
        if link.progress not in (Progress.PENDING, Progress.ABSENT):
            mark = progress_mark(link.progress, look.glyphs)
            column = line.spans(column, [Span(" ", TEXT), mark])
    return line.row()


def figure_tiles(pipeline: PipelineShown) -> list[tuple[str, tuple[Row, Row]]]:
    """Name and rows of the tiles: tokens in, tokens out, cost."""
    figures = [
        ("tokens-in", "tokens in", [Span(str(pipeline.tokens_in), BRIGHT)]),
        ("tokens-out", "tokens out", [Span(str(pipeline.tokens_out), BRIGHT)]),
        ("cost", "cost", _cost(pipeline.cost, BRIGHT)),
    ]
    tiles = []
    for name, label, value in figures:
        rows = Line(TILE_CELLS), Line(TILE_CELLS)
        rows[0].put(0, label, DIM)
        rows[1].spans(0, value)
        tiles.append((name, (rows[0].row(), rows[1].row())))
    return tiles


def _cost(cost: Cost | None, tone: Tone) -> list[Span]:
    if cost is None:
        return [Span(text.UNKNOWN, DIM)]
    money, sign = text.money(cost, decimals=4)
    return [Span(money, WARN if cost.usd is None else tone), *([Span(sign, DIM)] if sign else [])]


def error_rows(errors: Sequence[ItemError], total: int, width: int, look: Look) -> tuple[Row, ...]:
    """`Last errors 3` and each failure, newest last, long ones hanging under their text; empty without any."""
    if not errors:
        return ()
    rows = [title_row(width, "Last errors", look, note=str(total))]
    for error in errors:
        rows += _error(error, width, look)
    return tuple(rows)


def _error(error: ItemError, width: int, look: Look) -> list[Row]:
    rows = []
    words = wrapped(shown(error.text), width - _ERROR, 2, look.glyphs.cut)
    for index, part in enumerate(words):
        line = Line(width)
        if index == 0:
            mark = Span(look.glyphs.failed, ERR) if error.is_final else Span(look.glyphs.none, WARN)
            line.put(0, mark.text, mark.tone)
            line.put(NAME, error.stage.value, DIM)
            line.put(_ITEM, shown(error.item), DIM, room=_ERROR - _ITEM - 2, mark=look.glyphs.cut)
        line.put(_ERROR, part, Tone("err_word", "bold") if error.is_final else TEXT)
        rows.append(line.row())
    return rows


def result_rows(pipeline: PipelineShown, width: int, look: Look) -> tuple[Row, ...]:
    """What each stage reported, then the error that ended the task; empty without either."""
    rows: list[Row] = []
    if pipeline.results:
        words = ("done", "skipped", "failed", "excluded", "tokens in", "out", "cost")
        headers = [(end - len(word), word) for end, word in zip(_RESULT_ENDS, words, strict=True)]
        rows.append(title_row(width, "Results", look, headers=headers))
        rows += [_result(result, width, look) for result in pipeline.results]
    if pipeline.error is not None:
        rows += _final_error(pipeline.error, width, look)
    return tuple(rows)


def _result(result: StageResult, width: int, look: Look) -> Row:
    line = Line(width)
    mark = progress_mark(result.progress, look.glyphs)
    line.put(0, mark.text, mark.tone)
    line.put(NAME, result.stage.value, TEXT)
    if result.stage is Stage.SPLIT:
        line.spans(BAR, _split(result.split), end=width)
        return line.row()
    stats = result.stats
    counts = (stats.done, stats.skipped, stats.failed, stats.excluded)
    for end, value, tone in zip(_RESULT_ENDS, counts, (TEXT, TEXT, ERR, WARN), strict=False):
        line.put_right(end, str(value) if value else look.glyphs.none, tone if value else FAINT)
    line.put_right(_RESULT_ENDS[4], text.count(stats.usage.input_tokens), TEXT)
    line.put_right(_RESULT_ENDS[5], text.count(stats.usage.output_tokens), TEXT)
    has_tokens = stats.usage.input_tokens or stats.usage.output_tokens
    cost = Cost(usd=stats.cost) if stats.cost is not None or has_tokens else None
    line.spans_right(_RESULT_ENDS[6], _cost(cost, TEXT))
    return line.row()


def _split(report: SplitReport | None) -> list[Span]:
    if report is None:
        return []
    spans = [Span("train ", DIM), Span(str(report.train), TEXT), Span("   eval ", DIM), Span(str(report.eval), TEXT)]
    for reason, count in report.excluded:
        spans += [Span(f"   {reason.value} ", DIM), Span(str(count), WARN)]
    if report.orphaned:
        spans += [Span("   orphaned ", DIM), Span(str(report.orphaned), WARN)]
    return spans


def _final_error(error: str, width: int, look: Look) -> list[Row]:
    rows = []
    for index, part in enumerate(wrapped(shown(error), width - NAME, 3, look.glyphs.cut)):
        line = Line(width)
        if index == 0:
            line.put(0, look.glyphs.failed, ERR)
        line.put(NAME, part, Tone("err_word", "bold"))
        rows.append(line.row())
    return rows


def lost_row(lost: int, width: int, look: Look) -> Row:
    """Events were skipped by a slow screen."""
    line = Line(width)
    line.put(0, "!", Tone("warn", "bold"))
    noun = "event" if lost == 1 else "events"
    words = f"{lost} {noun} skipped by a slow screen; counts catch up when each stage ends"
    line.put(2, words, WARN, mark=look.glyphs.cut)
    return line.row()
