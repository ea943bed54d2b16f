"""Which characters draw the app, in Unicode and in ASCII? Every one is one cell wide."""

from __future__ import annotations

from msgspec import Struct


class Glyphs(Struct, frozen=True, kw_only=True):
    """One set; names say the meaning, not the form."""

    is_ascii: bool = False
    brand: str = "⠿"
    running: str = "●"
    has_work: str = "•"
    done: str = "✓"
    failed: str = "✗"
    stopped: str = "■"
    preparing: str = "○"
    cancelled: str = "⊘"
    none: str = "·"
    spinner: str = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
    still: str = "…"
    falling: str = "↓"
    rising: str = "↑"
    fill: str = "━"
    tip: str = "╾"
    track: str = "─"
    history: str = "▁▂▃▄▅▆▇"
    full: str = "█"
    eval_point: str = "◆"
    grid: str = "┈"
    sparse_grid: str = "·"
    now: str = "╎"
    cursor: str = "│"
    hairline: str = "─"
    tick: str = "┴"
    bar: str = "▌"
    opened: str = "▾"
    closed: str = "▸"
    corners: str = "╭╮╰╯"
    wall: str = "│"
    cut: str = "…"
    chain: str = "→"
    choice: str = "‹›"
    separator: str = "·"
    masked: str = "•"


UNICODE = Glyphs()

ASCII = Glyphs(
    is_ascii=True,
    brand="#",
    running="*",
    has_work="*",
    done="+",
    failed="x",
    stopped="=",
    preparing="o",
    cancelled="/",
    none=".",
    spinner="-\\|/",
    still="~",
    falling="v",
    rising="^",
    fill="#",
    tip="=",
    track="-",
    history="_.-:=+*",
    full="#",
    eval_point="o",
    grid=".",
    sparse_grid=".",
    now=":",
    cursor="|",
    hairline="-",
    tick="+",
    bar=">",
    opened="v",
    closed=">",
    corners="++++",
    wall="|",
    cut="~",
    chain="->",
    choice="<>",
    separator="-",
    masked="*",
)
