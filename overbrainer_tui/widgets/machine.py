"""What does the System panel show of a target's machine: GPUs, CPU, memory, disks, with ten minutes of history?

Unknown is not zero: a missing figure is `-` or `--%`, a missing sample a blank cell. Parts of the figures that do not
fit are dropped whole from the end. A shared disk never warns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from overbrainer_core.text import cell_width
from overbrainer_core.values.sample import Gpu, MachineSample
from overbrainer_tui import text
from overbrainer_tui.cells import BRIGHT, DIM, FAINT, TEXT, WARN, Line, Role, Row, Span, Tone
from overbrainer_tui.look import Look
from overbrainer_tui.view_models.snapshots import MachineShown
from overbrainer_tui.widgets.gauges import ERR_RATIO, gauge, history, spread
from overbrainer_tui.widgets.last_drawn import last_drawn
from overbrainer_tui.widgets.panel import title_row

MIN_WIDTH = 48
"""Cells of the narrowest panel; each more makes the history longer."""

MAX_GPUS = 4
"""GPUs shown one by one; of more, three are, and the average of the others."""

_NAME, _HISTORY = 6, 12
_PAST, _HOST_PAST = FAINT, Tone("hist")


class Figures(Struct, frozen=True):
    """The words right of a gauge: used and total, then parts that may be dropped from the end."""

    used: str
    total: str = ""
    parts: tuple[tuple[str, str], ...] = ()
    """(value, unit) of temperature and power, or ('', word) for a single dim word at the right end."""
    role: Role = "text"


class MachineRow(Struct, frozen=True):
    """One row of the panel: share in use now, its history, what the gauge shows, figures."""

    name: str
    now: float | None
    past: tuple[float | None, ...]
    gauge: float | None
    figures: Figures
    is_gpu: bool = False
    can_warn: bool = True
    has_gauge: bool = True
    height: int = 1


@last_drawn
def machine_panel(machine: MachineShown, width: int, look: Look, *, tall: bool = False) -> tuple[Row, ...]:
    """The panel's rows, title first; `tall` gives each GPU two rows of history and a row for its memory."""
    cells = _HISTORY + max(0, width - MIN_WIDTH)
    now = _NAME + cells + 2
    is_stale = machine.age_s is not None
    title = title_row(
        width,
        "System",
        look,
        note="10 min" if machine.samples and not is_stale else "",
        meta=[Span(f"{text.duration(machine.age_s)} ago", WARN)] if is_stale else (),
        headers=((now, "now"), (now + 5, "used")) if machine.samples else (),
    )
    if not machine.samples:
        line = Line(width)
        line.put(0, "waiting for the first sample" if machine.is_followed else "no sample: not followed", DIM)
        return (title, line.row())
    rows = [title]
    for row in machine_rows(machine.samples, tall=tall):
        rows += _drawn(row, width, look, is_stale=is_stale)
    return tuple(rows)


def machine_rows(samples: Sequence[MachineSample], *, tall: bool = False) -> list[MachineRow]:
    """What the panel's rows say, GPUs first."""
    last = samples[-1]
    rows = [row for group in _gpu_groups(samples, last) for row in _gpu_rows(samples, group, tall=tall)]
    if last.cpu is not None:
        rows.append(_cpu_row(samples))
    if last.memory is not None:
        rows.append(_memory_row(samples))
    return rows + [_disk_row(samples, mount.mount, index) for index, mount in enumerate(last.disks[:2])]


def _gpu_groups(samples: Sequence[MachineSample], last: MachineSample) -> list[tuple[str, tuple[int, ...]]]:
    """Names and GPU indexes of each row: at most four, the last one of many the average of the rest."""
    indexes = [gpu.index for gpu in last.gpus]
    if len(indexes) <= MAX_GPUS:
        return [(f"gpu{index}", (index,)) for index in indexes]
    single = [(f"gpu{index}", (index,)) for index in indexes[: MAX_GPUS - 1]]
    return [*single, ("rest", tuple(indexes[MAX_GPUS - 1 :]))]


def _gpu_rows(samples: Sequence[MachineSample], group: tuple[str, tuple[int, ...]], *, tall: bool) -> list[MachineRow]:
    name, indexes = group
    last = [gpu for gpu in samples[-1].gpus if gpu.index in indexes]
    used = _ratio(_total(last, "memory_used_bytes"), _total(last, "memory_total_bytes"))
    role: Role = "err" if used is not None and used >= ERR_RATIO else "text"
    past = _past(samples, lambda sample: _average([gpu.utilization for gpu in _of(sample, indexes)]))
    memory = text.size_pair(_total(last, "memory_used_bytes"), _total(last, "memory_total_bytes"))
    parts: tuple[tuple[str, str], ...]
    if len(indexes) > 1:
        parts = (("", f"avg of {len(indexes)}"),)
    else:
        parts = tuple((f"{value:.0f}", unit) for value, unit in ((last[0].temperature_c, "C"), (last[0].power_w, "W"))
                      if value is not None)  # fmt: skip
    if not tall:
        figures = Figures(memory[0], memory[1], parts, role)
        return [MachineRow(name, past[-1], past, used, figures, is_gpu=True)]
    memory_past = _past(samples, lambda sample: _memory_ratio(_of(sample, indexes)))
    return [
        MachineRow(name, past[-1], past, None, Figures("", "", parts), is_gpu=True, has_gauge=False, height=2),
        MachineRow(" vram", used, memory_past, used, Figures(memory[0], memory[1], (), role)),
    ]


def _of(sample: MachineSample, indexes: tuple[int, ...]) -> list[Gpu]:
    return [gpu for gpu in sample.gpus if gpu.index in indexes]


def _memory_ratio(gpus: Sequence[Gpu]) -> float | None:
    return _ratio(_total(gpus, "memory_used_bytes"), _total(gpus, "memory_total_bytes"))


def _total(gpus: Sequence[Gpu], field: str) -> int | None:
    """The sum of a field over GPUs that know it, None when none does."""
    known = [value for gpu in gpus if (value := getattr(gpu, field)) is not None]
    return sum(known) if known else None


def _average(values: Sequence[float | None]) -> float | None:
    """The average of the known values."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _ratio(used: float | None, total: float | None) -> float | None:
    return used / total if used is not None and total else None


def _past(samples: Sequence[MachineSample], of: Callable[[MachineSample], float | None]) -> tuple[float | None, ...]:
    return tuple(of(sample) for sample in samples)


def _cpu_row(samples: Sequence[MachineSample]) -> MachineRow:
    cpu = samples[-1].cpu
    assert cpu is not None
    past = _past(samples, lambda sample: sample.cpu.usage if sample.cpu else None)
    if cpu.is_container:
        busy = cpu.usage * cpu.cpus if cpu.usage is not None and cpu.cpus is not None else None
        word = "cores"
    else:
        busy, word = cpu.load1, "load"
    total = f"/{text.cores(cpu.cpus)}" if cpu.cpus is not None else ""
    return MachineRow("cpu", cpu.usage, past, cpu.usage, Figures(text.cores(busy), total, (("", word),)))


def _memory_row(samples: Sequence[MachineSample]) -> MachineRow:
    memory = samples[-1].memory
    assert memory is not None
    past = _past(samples, lambda s: _ratio(s.memory.used_bytes, s.memory.limit_bytes) if s.memory else None)
    used, total = text.size_pair(memory.used_bytes, memory.limit_bytes)
    return MachineRow("mem", past[-1], past, past[-1], Figures(used, total))


def _disk_row(samples: Sequence[MachineSample], mount: str, index: int) -> MachineRow:
    disk = samples[-1].disks[index]

    def ratio(sample: MachineSample) -> float | None:
        return next((found.used_ratio for found in sample.disks if found.mount == mount), None)

    used, total = text.size_pair(disk.used_bytes, disk.size_bytes)
    parts = (("", "shared"),) if disk.is_shared else ()
    past = _past(samples, ratio)
    name = "root" if index else "disk"
    return MachineRow(name, past[-1], past, past[-1], Figures(used, total, parts), can_warn=not disk.is_shared)


def _drawn(row: MachineRow, width: int, look: Look, *, is_stale: bool) -> list[Row]:
    cells = _HISTORY + max(0, width - MIN_WIDTH)
    lines = [Line(width) for _ in range(row.height)]
    last = lines[-1]
    past = _PAST if row.is_gpu else _HOST_PAST
    newest = past if is_stale and row.is_gpu else TEXT if row.is_gpu else DIM
    drawn = history(spread(row.past, cells), look.glyphs, (past, newest), rows=row.height)
    for line, spans in zip(lines, drawn, strict=True):
        line.spans(_NAME, spans)
    name = TEXT if row.is_gpu else DIM
    last.put(0, row.name, _stepped(name, is_stale=is_stale), room=_NAME)
    value = BRIGHT if row.is_gpu else TEXT
    end = _NAME + cells + 5
    digits = text.usage(row.now)[:-1]
    last.spans_right(end, [Span(digits, _stepped(value, is_stale=is_stale)), Span("%", DIM)])
    if row.has_gauge:
        last.spans(end + 2, gauge(row.gauge, look.glyphs, can_warn=row.can_warn))
    _put_figures(last, end + 8, row.figures, is_stale=is_stale)
    return [line.row() for line in lines]


def _stepped(tone: Tone, *, is_stale: bool) -> Tone:
    """A tone, one step down when the figures are old."""
    if not is_stale:
        return tone
    return {"bright": DIM, "text": FAINT}.get(tone.role, tone)


def _put_figures(line: Line, start: int, figures: Figures, *, is_stale: bool) -> None:
    """Used and total at the left, the parts at the right; closer together, then fewer, when room is short."""
    value = _stepped(Tone(figures.role, "bold" if figures.role == "err" else ""), is_stale=is_stale)
    end = line.spans(start, [Span(figures.used, value), Span(figures.total, DIM)])
    least = end + 1 if end > start else end
    for kept in range(len(figures.parts), 0, -1):
        for slot in (_SLOT, 0):
            places = _places(figures.parts[:kept], line.width, slot)
            if places[0] >= least:
                for column, (amount, unit) in zip(places, figures.parts, strict=False):
                    line.spans(column, [Span(amount, _stepped(TEXT, is_stale=is_stale)), Span(unit, DIM)])
                return


_SLOT = 5
"""Cells of temperature and power at the right end, a blank before each: `1000W` is the widest."""


def _places(parts: Sequence[tuple[str, str]], end: int, slot: int) -> list[int]:
    """Columns of parts that end at `end`, each in a slot of at least that many cells, a blank between."""
    places: list[int] = []
    for amount, unit in reversed(parts):
        cells = cell_width(amount + unit)
        places.insert(0, end - cells)
        end -= max(cells, slot) + 1
    return places
