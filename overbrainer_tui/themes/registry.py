"""Which Textual themes are there, and what do our tones look like in one of them?

Our three themes carry every token as an `ob-*` variable for TCSS; widgets draw with the style table. At 16 colours and
without colour the themes paint no ground. Textual's own themes give the roles from their variables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.color import Color
from textual.app import App
from textual.theme import BUILTIN_THEMES, Theme

from overbrainer_tui.look import OUR_THEMES, Look
from overbrainer_tui.themes.palette import (
    GROUNDS,
    ROLES,
    THEME_COLUMNS,
    Paint,
    StyleTable,
    contrast,
    mixed,
    our_paint,
)

_ANSI_VARIABLES = BUILTIN_THEMES["ansi-dark"].variables
"""Variables that the framework's own styles read only of a theme in the terminal's colours."""


def our_themes(look: Look) -> tuple[Theme, ...]:
    """The themes `dark`, `light` and `safe` at the look's colour level."""
    return tuple(_our_theme(name, look) for name in OUR_THEMES)


def _our_theme(name: str, look: Look) -> Theme:
    variables = _variables(name, look)
    return Theme(
        name=name,
        primary=variables["ob-accent"],
        secondary=variables["ob-info"],
        warning=variables["ob-warn"],
        error=variables["ob-err"],
        success=variables["ob-ok"],
        accent=variables["ob-accent"],
        foreground=variables["ob-text"],
        background=variables["ob-bg"],
        surface=variables["ob-surface"],
        panel=variables["ob-raised"],
        dark=name != "light",
        ansi=not look.paints_ground,
        variables=variables if look.paints_ground else {**_ANSI_VARIABLES, **variables},
    )


def _variables(name: str, look: Look) -> dict[str, str]:
    """Every token as a TCSS variable: `ob-accent-hi`."""
    if look.paints_ground:
        paint = our_paint(name, exact_indexes=look.level.value == "256")
        colors = {**paint.roles, **paint.grounds}
        return {f"ob-{token.replace('_', '-')}": color.get_truecolor().hex for token, color in colors.items()}
    has_colors = look.level.value == "16"
    named = {token: f"ansi_{values.ansi}" if has_colors and values.ansi else "ansi_default"
             for token, values in ROLES.items()}  # fmt: skip
    grounds = dict.fromkeys(GROUNDS, "ansi_default")
    return {f"ob-{token.replace('_', '-')}": color for token, color in {**named, **grounds}.items()}


def install_themes(app: App[Any], look: Look) -> None:
    """Register our themes and put the look's on; the app shows the terminal's own colours where none are painted."""
    for theme in our_themes(look):
        app.register_theme(theme)
    app.ansi_color = not look.paints_ground
    app.theme = look.theme if look.theme in app.available_themes else "dark"


def style_table(look: Look, theme: Theme | None = None) -> StyleTable:
    """The styles for a look; `theme` is the Textual theme in force when it is not one of ours."""
    if theme is None or theme.name in THEME_COLUMNS or theme.ansi or not look.paints_ground:
        return StyleTable(look)
    system = theme.to_color_system().generate()
    return StyleTable(look, paint_of_variables(system, is_dark=theme.dark))


def paint_of_variables(variables: Mapping[str, str], *, is_dark: bool) -> Paint:
    """The roles of one of Textual's themes: its own colours, greys mixed to our contrasts, the rest of ours."""
    base = our_paint("dark" if is_dark else "light", exact_indexes=False)
    bg = _color(variables, "background", base.grounds["bg"])
    text = _color(variables, "foreground", base.roles["text"])
    accent = _color(variables, "primary", base.roles["accent"])
    extreme = Color.from_rgb(255, 255, 255) if is_dark else Color.from_rgb(0, 0, 0)
    column = 0 if is_dark else 1
    roles = dict(base.roles)
    for role, targets in _GREYS.items():
        roles[role] = _grey(bg, text, targets[column])
    roles |= {
        "text": text,
        "bright": _grey(text, extreme, contrast(text, extreme) * 0.9),
        "accent": accent,
        "train": accent,
        "ok": _color(variables, "success", base.roles["ok"]),
        "warn": _color(variables, "warning", base.roles["warn"]),
        "err": _color(variables, "error", base.roles["err"]),
        "info": _color(variables, "secondary", base.roles["info"]),
    }
    roles["gauge"] = roles["dim"]
    grounds = dict(base.grounds)
    grounds |= {
        "bg": bg,
        "surface": _color(variables, "surface", base.grounds["surface"]),
        "raised": _color(variables, "panel", base.grounds["raised"]),
    }
    return Paint(roles=roles, grounds=grounds, is_light=not is_dark)


_GREYS: Mapping[str, tuple[float, float]] = {
    "line": (1.5, 1.6),
    "grid": (1.3, 1.3),
    "faint": (4.0, 4.1),
    "hist": (3.1, 3.2),
    "dim": (6.1, 5.7),
}
"""Contrast on the background of each mixed grey, in dark and in light."""


def _color(variables: Mapping[str, str], name: str, default: Color) -> Color:
    value = variables.get(name, "")
    return Color.parse(value[:7]) if value.startswith("#") and len(value) >= 7 else default


def _grey(start: Color, end: Color, target: float) -> Color:
    """The mix of two colours whose contrast to `start` is `target`; `end` itself when that is not reached."""
    if contrast(start, end) <= target:
        return end
    low, high = 0.0, 1.0
    for _ in range(12):
        middle = (low + high) / 2
        if contrast(start, mixed(start, end, middle)) < target:
            low = middle
        else:
            high = middle
    return mixed(start, end, high)
