"""How are numbers, money, durations and sizes written? None is `-`: unknown is never 0.

Widths are bounded (see the constants of the callers): a column is set for the widest value of these functions.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime

from overbrainer_tui.view_models.snapshots import Cost

UNKNOWN = "-"


def number(value: float | None, decimals: int) -> str:
    """A number with fixed decimals; very large and very small ones in short scientific form."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if abs(value) >= 1e5 or (value != 0 and abs(value) < 10**-decimals / 2):
        return scientific(value, 2)
    return f"{value:.{decimals}f}"


def loss(value: float | None) -> str:
    """A loss: `0.7782`."""
    return number(value, 4)


def grad_norm(value: float | None) -> str:
    """A gradient norm: `0.412`."""
    return number(value, 3)


def scientific(value: float, decimals: int) -> str:
    """`1.61e-4`: no plus sign, no leading zero in the exponent."""
    mantissa, _, exponent = f"{value:.{decimals}e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def learning_rate(value: float | None) -> str:
    """A learning rate: `1.61e-4`; 0 is `0`."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    return scientific(value, 2) if value else "0"


def percent(ratio: float | None) -> str:
    """`36%` of 0.36, rounded down so that 100% means done; at most 100."""
    if ratio is None or not math.isfinite(ratio):
        return UNKNOWN
    return f"{max(0, min(100, math.floor(ratio * 100 + 1e-9)))}%"


def usage(ratio: float | None) -> str:
    """A share in use, rounded to the nearest percent: `61%`, `--%` when unknown."""
    if ratio is None or not math.isfinite(ratio):
        return "--%"
    return f"{max(0, min(100, round(ratio * 100)))}%"


def duration(seconds: float | None) -> str:
    """`45s`, `52m`, `1h33m`, `3d4h`: the two largest units, whole minutes from one minute on."""
    if seconds is None or not math.isfinite(seconds):
        return UNKNOWN
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    minutes = whole // 60
    if minutes < 60:
        return f"{minutes}m"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours}h{minutes:02d}m"
    days, hours = divmod(hours, 24)
    return f"{days}d{hours}h" if days < 100 else f"{days}d"


def pace(steps_per_s: float | None) -> tuple[str, str]:
    """Value and unit: (`1.9`, `s/step`) below a step a second, else (`3.4`, `steps/s`); (`-`, ``) when unknown."""
    if steps_per_s is None or not math.isfinite(steps_per_s) or steps_per_s <= 0:
        return UNKNOWN, ""
    if steps_per_s >= 1:
        return _short(steps_per_s), "steps/s"
    seconds = 1 / steps_per_s
    return (_short(seconds), "s/step") if seconds < 600 else (duration(seconds), "/step")


def _short(value: float) -> str:
    """One decimal below 100, none from there."""
    return f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def money(cost: Cost | None, *, decimals: int = 2) -> tuple[str, str]:
    """Text and the sign that hangs after it: (`$1.93`, `+`) when a part is unknown, (`cost ?`, ``) when all is."""
    if cost is None or cost.usd is None:
        return "cost ?", ""
    return f"${cost.usd:.{decimals}f}", "+" if cost.is_partial else ""


def count(value: int | None) -> str:
    """Tokens and the like: `480`, `2.1k`, `31k`, `1.5M`."""
    if value is None:
        return UNKNOWN
    if value < 1000:
        return str(value)
    for unit, size in (("k", 10**3), ("M", 10**6), ("G", 10**9), ("T", 10**12)):
        scaled = value / size
        if scaled < 9.95:
            return f"{scaled:.1f}{unit}"
        if scaled < 999.5:
            return f"{scaled:.0f}{unit}"
    return f"{value / 10**12:.0f}T"


_UNITS = ("B", "K", "M", "G", "T", "P")


def size_pair(used: float | None, total: float | None) -> tuple[str, str]:
    """Used and total bytes in the total's unit: (`71`, `/80G`), one decimal below 10; (`-`, ``) without a total."""
    if total is None:
        return UNKNOWN, ""
    unit = 0
    scaled = float(total)
    while scaled >= 999.5 and unit < len(_UNITS) - 1:
        scaled /= 1024
        unit += 1
    factor = 1024.0**unit
    return (UNKNOWN if used is None else _sized(used / factor, unit)), f"/{_sized(total / factor, unit)}{_UNITS[unit]}"


def _sized(value: float, unit: int) -> str:
    return f"{value:.0f}" if unit == 0 or value >= 9.95 else f"{value:.1f}"


def cores(value: float | None) -> str:
    """CPU cores or load: one decimal below 10."""
    if value is None:
        return UNKNOWN
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def axis_step(value: float, *, is_last: bool = False) -> str:
    """A step on the x axis: `500`, `1k`, `2.5k`; the last one in full."""
    whole = round(value)
    if is_last or whole < 1000:
        return str(whole)
    for unit, size in (("k", 10**3), ("M", 10**6), ("G", 10**9)):
        scaled = whole / size
        if scaled < 1000:
            return f"{scaled:.2f}".rstrip("0").rstrip(".") + unit
    return scientific(value, 1)


def axis_value(value: float, room: int) -> str:
    """A value on the y axis: two decimals when they fit in `room` cells, else a shorter form."""
    forms = [f"{value:.2f}"]
    if 0 < abs(value) < 0.01:
        forms = [f"{value:.4g}", scientific(value, 0)]
    elif abs(value) >= 1000:
        forms = [axis_step(value), scientific(value, 0)]
    else:
        forms += [f"{value:.1f}", f"{value:.0f}"]
    if value == 0:
        forms = ["0.00", "0"]
    return next((form for form in forms if len(form) <= room), forms[-1])


def clock(time: datetime | None, *, seconds: bool = True) -> str:
    """`08:15:02` or `08:15`, UTC."""
    if time is None:
        return ""
    moment = time.astimezone(UTC) if time.tzinfo else time
    return moment.strftime("%H:%M:%S" if seconds else "%H:%M")
