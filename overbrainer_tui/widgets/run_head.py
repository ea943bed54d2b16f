"""What stands over the chart of a run: its name and phases, the bar, tiles or facts?"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from overbrainer_core.text import cell_width
from overbrainer_tui import text
from overbrainer_tui.cells import ACCENT, BRIGHT, DIM, ERR, OK, TEXT, WARN, Line, Role, Row, Span, Tone, shown, width_of
from overbrainer_tui.look import Look
from overbrainer_tui.view_models.snapshots import MachineShown, Progress, RailStep, SelectedRun
from overbrainer_tui.widgets.badges import progress_mark, progress_word, run_badge
from overbrainer_tui.widgets.gauges import bar, gauge_role
from overbrainer_tui.widgets.machine import machine_rows
from overbrainer_tui.widgets.runs_table import short_run_id

MIN_TILE = 12
"""Cells of a tile, the blank after it included."""

_STATUS_CELLS = 23
"""Cells right of the bar in the narrow view: step of a long run, percent."""


class Tile(Struct, frozen=True):
    """A dim label over a value."""

    name: str
    label: str
    value: tuple[Span, ...]


def is_live(run: SelectedRun) -> bool:
    """Whether the run's job goes on."""
    return run.state in ("preparing", "running")


def name_row(run: SelectedRun, width: int, look: Look, *, is_wide: bool) -> Row:
    """`● ID` at the left, what it does or how it ended at the right."""
    line = Line(width)
    column = 0
    if run.is_followed:
        column = line.put(0, look.glyphs.running, ACCENT) + 1
    right = _ending(run, look) if not is_live(run) else _rail(run, width, look) if is_wide else _doing(run)
    start = line.spans_right(width, right) if right else width
    line.put(column, shown(run.run_id), BRIGHT, room=max(0, start - 1 - column), mark=look.glyphs.cut)
    return line.row()


def _ending(run: SelectedRun, look: Look) -> list[Span]:
    spans = run_badge(run.state, look.glyphs)
    if run.activity:
        spans = [*_activity(run), Span("   ", TEXT), *spans]
    if run.took_s is not None:
        spans += [Span("  in ", DIM), Span(text.duration(run.took_s), BRIGHT)]
    return spans


def _activity(run: SelectedRun) -> list[Span]:
    return [Span(run.activity, BRIGHT)]


def _doing(run: SelectedRun) -> list[Span]:
    """Narrow: the phase, or the step of the rail and the ETA."""
    if run.activity:
        return _activity(run)
    if run.phase is not None:
        return [Span(shown(run.phase.text), TEXT)]
    word = next((step.name for step in run.rail if step.progress is Progress.RUNNING), "")
    spans = [Span(word, TEXT)] if word else []
    if run.has_eta:
        eta = text.duration(run.eta_s) if run.eta_s is not None else "unknown"
        spans += [Span("   ETA " if spans else "ETA ", DIM), Span(eta, BRIGHT)]
    return spans


def _rail(run: SelectedRun, width: int, look: Look) -> list[Span]:
    """`✓ setup  ● train  · finalize`; pending steps are left out from the end when there is no room."""
    if not run.rail:
        return _doing(run)
    room = width - cell_width(shown(run.run_id)) - 4
    steps = [_rail_step(step, run, look) for step in run.rail]
    while len(steps) > 1 and sum(width_of(step) + 2 for step in steps) - 2 > room:
        steps.pop() if run.rail[len(steps) - 1].progress is Progress.PENDING else steps.pop(0)
    return [span for index, step in enumerate(steps) for span in ([Span("  ", TEXT)] * bool(index) + step)]


def _rail_step(step: RailStep, run: SelectedRun, look: Look) -> list[Span]:
    name = step.name
    if step.progress is Progress.RUNNING:
        name = run.activity or (shown(run.phase.text) if run.phase is not None else name)
    mark = progress_mark(step.progress, look.glyphs)
    return [mark, Span(" ", TEXT), Span(name, progress_word(step.progress))]


def bar_role(run: SelectedRun) -> Role:
    """Running work is accent, a succeeded run `ok`, any other end neutral."""
    if is_live(run):
        return "accent"
    return "ok" if run.state == "succeeded" else "gauge"


def bar_row(run: SelectedRun, width: int, look: Look, *, ratio: float | None, is_wide: bool) -> Row:
    """The bar of the steps; in the narrow view of a live run, step and percent at its right."""
    line = Line(width)
    room = width
    if not is_wide and is_live(run):
        right = [Span("step ", DIM), *_step(run)]
        if run.percent is not None:
            right += _right_aligned(_percent(run), 6)
        room = width - max(_STATUS_CELLS, width_of(right) + 2)
        line.spans_right(width, right)
    line.spans(0, bar(ratio, room, bar_role(run), look.glyphs))
    return line.row()


def _right_aligned(spans: tuple[Span, ...], cells: int) -> list[Span]:
    return [Span(" " * max(0, cells - width_of(list(spans))), TEXT), *spans]


def _step(run: SelectedRun) -> tuple[Span, ...]:
    if run.step is None and run.max_steps is None:
        return (Span(text.UNKNOWN, DIM),)
    done = text.UNKNOWN if run.step is None else str(run.step)
    total = "" if run.max_steps is None else f"/{run.max_steps}"
    return (Span(done, BRIGHT), Span(total, DIM)) if total else (Span(done, BRIGHT),)


def _percent(run: SelectedRun, tone: Tone = BRIGHT) -> tuple[Span, ...]:
    if run.percent is None:
        return (Span(text.UNKNOWN, DIM),)
    return (Span(str(run.percent), tone), Span("%", DIM))


def tiles(run: SelectedRun, count: int, look: Look) -> list[Tile]:
    """At most `count` tiles, the ones people came for first to stay."""
    made = _live_tiles(run, look) if is_live(run) else _ended_tiles(run, look)
    for name in ("done", "grad", "epoch", "pace"):
        if len(made) > count:
            made = [tile for tile in made if tile.name != name]
    return made[:count]


def _live_tiles(run: SelectedRun, look: Look) -> list[Tile]:
    pace, unit = text.pace(run.steps_per_s)
    pace_spans = (Span(pace, TEXT), Span(f" {unit}", DIM)) if unit else (Span(pace, DIM),)
    return [
        Tile("step", "step", _step(run)),
        Tile("done", "done", _percent(run, TEXT)),
        Tile("eta", "ETA", _eta(run)),
        Tile("pace", "pace", pace_spans),
        *_metric_tiles(run, look),
    ]


def _ended_tiles(run: SelectedRun, look: Look) -> list[Tile]:
    return [
        Tile("step", "step", _step(run)),
        Tile("done", "done", _percent(run, TEXT)),
        Tile("eta", "took", (Span(text.duration(run.took_s), BRIGHT),)),
        *_metric_tiles(run, look),
    ]


def _eta(run: SelectedRun) -> tuple[Span, ...]:
    if run.phase is not None:
        return (Span(shown(run.phase.short), TEXT),)
    if run.eta_s is None:
        return (Span("unknown", DIM),)
    return (Span(text.duration(run.eta_s), BRIGHT),)


def _metric_tiles(run: SelectedRun, look: Look) -> list[Tile]:
    epochs = f" of {run.epochs:g}" if run.epochs is not None and run.epoch is not None else ""
    epoch = (_figure(text.number(run.epoch, 2), TEXT), *((Span(epochs, DIM),) if epochs else ()))
    return [
        Tile("epoch", "epoch", epoch),
        Tile("loss", "loss", (_figure(text.loss(run.loss), BRIGHT), *_trend(run.loss_trend, look, can_warn=False))),
        Tile("eval", "eval loss", (_figure(text.loss(run.eval_loss), BRIGHT), *_trend(run.eval_trend, look))),
        Tile("grad", "grad norm", (_figure(text.grad_norm(run.grad_norm), TEXT),)),
    ]


def _figure(value: str, tone: Tone) -> Span:
    """A value in its tone; what is unknown steps back."""
    return Span(value, DIM if value == text.UNKNOWN else tone)


def _trend(trend: int, look: Look, *, can_warn: bool = True) -> tuple[Span, ...]:
    if trend < 0:
        return (Span(" ", TEXT), Span(look.glyphs.falling, OK))
    return (Span(" ", TEXT), Span(look.glyphs.rising, WARN)) if trend > 0 and can_warn else ()


@lru_cache(maxsize=64)
def tile_rows(tile: Tile, width: int) -> tuple[Row, Row]:
    """A tile's label and value."""
    label, value = Line(width), Line(width)
    label.put(0, tile.label, DIM, room=width - 1)
    value.spans(0, tile.value, end=width - 1)
    return label.row(), value.row()


def fact_rows(run: SelectedRun, machine: MachineShown, width: int, look: Look) -> tuple[Row, Row]:
    """The two fact rows of the narrow view: epoch, GPUs and what is worth knowing; pace and the machine."""
    first = [_fact("epoch", text.number(run.epoch, 2))] if run.epoch is not None else []
    second: list[list[Span]] = []
    pace, unit = text.pace(run.steps_per_s)
    if unit:
        second.append([Span("pace ", DIM), Span(pace, TEXT), Span(f" {unit}", DIM)])
    rows = machine_rows(machine.samples) if machine.samples else []
    gpus = [row for row in rows if row.is_gpu]
    if gpus:
        first.append(_percents("gpu", [(row.now, "text") for row in gpus]))
        first.append(_percents("vram", [(row.gauge, gauge_role(row.gauge)) for row in gpus]))
    first += [_run_fact(fact) for fact in run.facts]
    second += [_percents(row.name, [(row.now, gauge_role(row.now, can_warn=row.can_warn))]) for row in rows
               if not row.is_gpu]  # fmt: skip
    if machine.age_s is not None:
        second.append([Span(f"{text.duration(machine.age_s)} ago", WARN)])
    return _facts_row(first, width), _facts_row(second, width)


def facts_row(run: SelectedRun, width: int) -> Row:
    """The remaining facts of an ended run in one row."""
    return _facts_row([_run_fact(fact) for fact in run.facts], width)


def _fact(label: str, value: str, tone: Tone = TEXT) -> list[Span]:
    return [Span(f"{label} ", DIM), Span(value, tone)]


def _run_fact(fact: tuple[str, str, bool]) -> list[Span]:
    label, value, is_warning = fact
    value = shown(value)
    if label == "resumed" and value.startswith("from "):
        return _fact("from", short_run_id(value.removeprefix("from ")))
    return _fact(shown(label), value, WARN if is_warning else TEXT)


def _percents(label: str, shares: list[tuple[float | None, Role]]) -> list[Span]:
    spans = [Span(label, DIM)]
    for share, role in shares:
        tone = Tone("text" if role == "gauge" else role, "bold" if role == "err" else "")
        spans += [Span(f" {text.usage(share)[:-1]}", tone), Span("%", DIM)]
    return spans


def _facts_row(facts: list[list[Span]], width: int) -> Row:
    """Facts three blanks apart; one that does not fit is cut when it is the first, else left out with the rest."""
    line = Line(width)
    column = 0
    for fact in facts:
        start = column + 3 if column else 0
        if column and start + width_of(fact) > width:
            break
        column = line.spans(start, fact)
    return line.row()


def error_row(message: str, width: int, look: Look) -> Row:
    """The final error of a run, in one row."""
    line = Line(width)
    line.put(0, look.glyphs.failed, ERR)
    line.put(2, shown(message), Tone("err_word", "bold"), mark=look.glyphs.cut)
    return line.row()
