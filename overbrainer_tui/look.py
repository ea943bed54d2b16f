"""How much can the terminal show, and how much shall move? Read once from the environment, before the app is built.

Level, theme, motion and glyphs follow our own variables and rules, not the framework's detection. An empty variable
counts as unset; an unknown value is ignored with a warning that names the accepted ones, as is an unknown variable.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from overbrainer_tui.glyphs import ASCII, UNICODE, Glyphs


class ColorLevel(StrEnum):
    """What the terminal can paint; the value is what `OVERBRAINER_TUI_COLOR` calls it."""

    TRUECOLOR = "truecolor"
    C256 = "256"
    C16 = "16"
    MONO = "mono"


class Motion(StrEnum):
    """What moves; the value is what `OVERBRAINER_TUI_MOTION` calls it."""

    ON = "on"
    REDUCED = "reduced"
    OFF = "off"


OUR_THEMES = ("dark", "light", "safe")
"""The themes of `OVERBRAINER_TUI_THEME`."""

VARIABLES = tuple(f"OVERBRAINER_TUI_{name}" for name in ("THEME", "COLOR", "MOTION", "ASCII", "MOUSE"))
"""The variables of the app."""

_FORCED_LEVELS = ("truecolor", "256", "16")


class Look(Struct, frozen=True, kw_only=True):
    """Everything that decides how the same content is drawn; replaced as a whole when the theme changes."""

    level: ColorLevel = ColorLevel.TRUECOLOR
    theme: str = "dark"
    motion: Motion = Motion.ON
    is_ascii: bool = False

    @property
    def glyphs(self) -> Glyphs:
        """The characters to draw with."""
        return ASCII if self.is_ascii else UNICODE

    @property
    def paints_ground(self) -> bool:
        """Whether backgrounds are painted; else the terminal's own shows."""
        return self.level in (ColorLevel.TRUECOLOR, ColorLevel.C256)

    @property
    def has_sparse_grid(self) -> bool:
        """Whether a chart's grid is single dots, for want of a colour that is fainter than faint."""
        return self.is_ascii or not self.paints_ground

    @property
    def has_spinner(self) -> bool:
        """Whether running work spins; else it is marked with a still sign."""
        return self.motion is not Motion.OFF

    @property
    def has_easing(self) -> bool:
        """Whether bars close on their value."""
        return self.motion is not Motion.OFF

    @property
    def has_fades(self) -> bool:
        """Whether views fade in and the followed run's mark pulses."""
        return self.motion is Motion.ON and self.level is ColorLevel.TRUECOLOR


class ChosenLook(Struct, frozen=True, kw_only=True):
    """The look, what was wrong with the variables, whether the theme was set by one, whether the mouse is asked for."""

    look: Look
    warnings: tuple[str, ...] = ()
    is_theme_forced: bool = False
    has_mouse: bool = True


def choose_look(environment: Mapping[str, str], *, theme: str | None = None, encoding: str = "utf-8") -> ChosenLook:
    """The look that an environment asks for.

    `theme` is the user's kept choice, which the variable overrides; `encoding` is the locale's.
    """
    env = {name: value for name, value in environment.items() if value}
    warnings: list[str] = []
    forced = _accepted(env, "OVERBRAINER_TUI_THEME", OUR_THEMES, warnings)
    level = _level(env, warnings)
    look = Look(
        level=level,
        theme=forced or theme or "dark",
        motion=_motion(env, level, warnings),
        is_ascii=_is_ascii(env, encoding, warnings),
    )
    warnings += [
        f"{name} is ignored: the app's variables are {', '.join(VARIABLES)}"
        for name in sorted(env)
        if name.startswith("OVERBRAINER_TUI_") and name not in VARIABLES
    ]
    has_mouse = _accepted(env, "OVERBRAINER_TUI_MOUSE", ("1", "0"), warnings) != "0"
    return ChosenLook(look=look, warnings=tuple(warnings), is_theme_forced=forced is not None, has_mouse=has_mouse)


def framework_environment(look: Look) -> dict[str, str]:
    """Variables that must be set before `textual` is imported, so that it sends colours at our level."""
    systems = {ColorLevel.TRUECOLOR: "truecolor", ColorLevel.C256: "256"}
    return {
        "TEXTUAL_COLOR_SYSTEM": systems.get(look.level, "standard"),
        "TEXTUAL_ANIMATIONS": "none",
    }


def _accepted(env: Mapping[str, str], name: str, values: tuple[str, ...], warnings: list[str]) -> str | None:
    """The value of a variable when it is one of `values`; a warning and None for another."""
    value = env.get(name)
    if value is None or value in values:
        return value
    listed = ", ".join(f"`{value}`" for value in values[:-1])
    warnings.append(f"{name} is ignored: it must be {listed} or `{values[-1]}`")
    return None


def _level(env: Mapping[str, str], warnings: list[str]) -> ColorLevel:
    forced = _accepted(env, "OVERBRAINER_TUI_COLOR", _FORCED_LEVELS, warnings)
    if "NO_COLOR" in env:
        return ColorLevel.MONO
    if forced is not None:
        return ColorLevel(forced)
    if env.get("COLORTERM") in ("truecolor", "24bit"):
        return ColorLevel.TRUECOLOR
    return ColorLevel.C256 if "256color" in env.get("TERM", "") else ColorLevel.C16


def _motion(env: Mapping[str, str], level: ColorLevel, warnings: list[str]) -> Motion:
    forced = _accepted(env, "OVERBRAINER_TUI_MOTION", tuple(Motion), warnings)
    if level is ColorLevel.MONO:
        return Motion.OFF
    if forced is not None:
        return Motion(forced)
    return Motion.REDUCED if "SSH_CONNECTION" in env or "SSH_TTY" in env else Motion.ON


def _is_ascii(env: Mapping[str, str], encoding: str, warnings: list[str]) -> bool:
    forced = _accepted(env, "OVERBRAINER_TUI_ASCII", ("1", "0"), warnings)
    if forced is not None:
        return forced == "1"
    return encoding.lower().replace("-", "").replace("_", "") != "utf8" or env.get("TERM") == "linux"
