"""Which colour does a tone have, at each colour level and in each theme?

Tones name roles; this table alone knows colours. 24-bit takes a theme's RGB values, 256 exact palette indexes (rounding
would merge neighbours), 16 the terminal's own names, mono attributes only. 16 and mono paint no ground. Style objects
are made once per tone and kept.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from rich.color import Color, ColorType
from rich.style import Style

from overbrainer_tui.cells import Tone
from overbrainer_tui.look import ColorLevel, Look


class RoleColors(Struct, frozen=True):
    """One role: RGB and index in dark, light and safe; name at 16 colours ('' is the default); mono attributes."""

    rgb: tuple[str, str, str]
    indexes: tuple[int, int, int]
    ansi: str = ""
    mono: str = ""


THEME_COLUMNS = {"dark": 0, "light": 1, "safe": 2}
"""Position of a theme's values in the table."""

GROUNDS: Mapping[str, RoleColors] = {
    "bg": RoleColors(("#141114", "#FBF9FA", "#141114"), (233, 231, 233)),
    "surface": RoleColors(("#1B171B", "#F3EEF1", "#1B171B"), (234, 255, 234)),
    "raised": RoleColors(("#282227", "#E7DFE3", "#282227"), (235, 253, 235)),
    "sel": RoleColors(("#3D1A29", "#F8D9E2", "#34202A"), (236, 224, 236)),
    "sel_idle": RoleColors(("#262025", "#ECE5E8", "#262025"), (235, 254, 235)),
}

ROLES: Mapping[str, RoleColors] = {
    "line": RoleColors(("#3B3238", "#D3C7CD", "#3B3238"), (238, 251, 238), "bright_black", "dim"),
    "grid": RoleColors(("#2C262B", "#E6DEE2", "#2C262B"), (236, 253, 236), "bright_black", "dim"),
    "faint": RoleColors(("#7E7178", "#857680", "#7E7178"), (243, 243, 243), "bright_black", "dim"),
    "hist": RoleColors(("#6C6067", "#978991", "#6C6067"), (241, 245, 241), "bright_black", "dim"),
    "dim": RoleColors(("#9C8F97", "#6E6068", "#9C8F97"), (247, 241, 247), "bright_black", "dim"),
    "text": RoleColors(("#D3C9CF", "#3A3036", "#D3C9CF"), (252, 236, 252)),
    "bright": RoleColors(("#FBF5F8", "#160A10", "#FBF5F8"), (231, 16, 231), "bright_white", "bold"),
    "gauge": RoleColors(("#9C8F97", "#6E6068", "#9C8F97"), (247, 241, 247)),
    "accent": RoleColors(("#F2507F", "#B90F47", "#FF8FB3"), (204, 161, 211), "magenta", "bold"),
    "accent_hi": RoleColors(("#FF9DB8", "#8E0A36", "#FFC2D6"), (217, 125, 218), "bright_magenta", "bold"),
    "accent_lo": RoleColors(("#A3405F", "#C96F8C", "#96607A"), (131, 168, 96), "magenta", "dim"),
    "ok": RoleColors(("#86CF9A", "#156B40", "#5BB8F5"), (114, 22, 75), "green"),
    "warn": RoleColors(("#EBB964", "#7A6000", "#F5DC6B"), (179, 94, 221), "yellow", "bold"),
    "err": RoleColors(("#FF7B54", "#AD3D00", "#FF8A3C"), (209, 130, 209), "bright_red", "bold underline"),
    "info": RoleColors(("#7DB9EE", "#0C62A6", "#E3DCE0"), (111, 25, 253), "cyan"),
    "train": RoleColors(("#F2507F", "#B90F47", "#FF8FB3"), (204, 161, 211), "bright_magenta"),
    "raw": RoleColors(("#984B62", "#CB7290", "#935A73"), (95, 168, 96), "magenta", "dim"),
    "eval": RoleColors(("#68C7E0", "#0A6A7E", "#5BB8F5"), (80, 24, 75), "bright_cyan"),
    "lr": RoleColors(("#A9A3E6", "#5B4FB8", "#B9B2F5"), (146, 61, 147), "bright_blue"),
    "gn": RoleColors(("#8FC4B4", "#1B6A59", "#E8E3C0"), (115, 23, 187), "cyan"),
}


class Paint(Struct, frozen=True):
    """The colours of one theme at a level that paints: foreground by role, background by ground."""

    roles: Mapping[str, Color]
    grounds: Mapping[str, Color]
    is_light: bool = False


def our_paint(theme: str, *, exact_indexes: bool) -> Paint:
    """The colours of `dark`, `light` or `safe`, as RGB or as palette indexes."""
    column = THEME_COLUMNS[theme]

    def color(values: RoleColors) -> Color:
        if exact_indexes:
            return Color(str(values.indexes[column]), ColorType.EIGHT_BIT, number=values.indexes[column])
        return Color.parse(values.rgb[column])

    return Paint(
        roles={role: color(values) for role, values in ROLES.items()},
        grounds={ground: color(values) for ground, values in GROUNDS.items()},
        is_light=theme == "light",
    )


class StyleTable:
    """Ready styles by tone; equal tones give the same object."""

    def __init__(self, look: Look, paint: Paint | None = None) -> None:
        self.look = look
        self._paint = paint or _paint_of(look)
        self._styles: dict[Tone, Style] = {}
        self._grounds: dict[str, Style] = {}

    def __getitem__(self, tone: Tone) -> Style:
        style = self._styles.get(tone)
        if style is None:
            style = self._styles[tone] = self._made(tone)
        return style

    def ground(self, tone: Tone) -> Style:
        """The style of blanks in a tone: its ground without its colour, so that fewer bytes are sent."""
        if tone.weight in ("strike", "reverse"):
            return self[tone]
        style = self._grounds.get(tone.on)
        if style is None:
            full = self[Tone("text", "", tone.on)]
            style = Style(bgcolor=full.bgcolor, underline=full.underline, reverse=full.reverse)
            self._grounds[tone.on] = style
        return style

    def _made(self, tone: Tone) -> Style:
        match self.look.level:
            case ColorLevel.MONO:
                return _mono(tone)
            case ColorLevel.C16:
                return _named(tone)
            case _:
                return self._painted(tone)

    def _painted(self, tone: Tone) -> Style:
        ground = self._paint.grounds["raised" if tone.on == "tab" else tone.on]
        color = self._paint.roles[self._role(tone)]
        return _weighted(tone, color=color, bgcolor=ground)

    def _role(self, tone: Tone) -> str:
        if tone.role == "err_word":
            loses = tone.on == "sel" and self._paint.is_light and self.look.level is ColorLevel.C256
            return "text" if loses else "err"
        return "dim" if tone.role == "faint" and tone.on == "sel" else tone.role

    def muted(self) -> StyleTable:
        """The same table with everything in the colour of hairlines: what lies under an overlay."""
        if not self.look.paints_ground:
            return _MutedNames(self.look, self._paint)
        line = self._paint.roles["line"]
        bg = self._paint.grounds["bg"]
        paint = Paint(dict.fromkeys(self._paint.roles, line), dict.fromkeys(self._paint.grounds, bg))
        return StyleTable(self.look, paint)

    def faded(self, share: float) -> StyleTable:
        """The same table with every foreground mixed into the ground: 0 is gone, 1 is in full; 24-bit only."""
        bg = self._paint.grounds["bg"]
        roles = {role: mixed(bg, color, share) for role, color in self._paint.roles.items()}
        grounds = {ground: mixed(bg, color, share) for ground, color in self._paint.grounds.items()}
        return StyleTable(self.look, Paint(roles, grounds, self._paint.is_light))

    def pulsed(self, step: int) -> Style:
        """The followed run's mark at a step of its pulse: 0 is full accent, 4 the low end."""
        low, high = self._paint.roles["accent_lo"], self._paint.roles["accent"]
        return Style(color=mixed(low, high, 1 - step / 4), bgcolor=self._paint.grounds["bg"])


class _MutedNames(StyleTable):
    """Everything dim, where no ground is painted."""

    def _made(self, tone: Tone) -> Style:
        if self.look.level is ColorLevel.MONO:
            return Style(dim=True)
        return Style(color=Color.parse("bright_black"))


def _paint_of(look: Look) -> Paint:
    theme = look.theme if look.theme in THEME_COLUMNS else "dark"
    return our_paint(theme, exact_indexes=look.level is ColorLevel.C256)


def _weighted(tone: Tone, *, color: Color | None, bgcolor: Color | None, bold: bool = False) -> Style:
    return Style(
        color=color,
        bgcolor=bgcolor,
        bold=bold or tone.weight == "bold" or None,
        italic=tone.weight == "italic" or None,
        strike=tone.weight == "strike" or None,
        reverse=tone.weight == "reverse" or None,
    )


def _named(tone: Tone) -> Style:
    """A tone at 16 colours: no ground but the selection's, which is black on magenta."""
    if tone.on == "sel":
        return _weighted(tone, color=Color.parse("black"), bgcolor=Color.parse("magenta"))
    name = ROLES["err" if tone.role == "err_word" else tone.role].ansi
    style = _weighted(tone, color=Color.parse(name) if name else None, bgcolor=None)
    return style + Style(underline=True) if tone.on in ("sel_idle", "tab") else style


def _mono(tone: Tone) -> Style:
    """A tone without colour: attributes only."""
    words = ROLES["err" if tone.role == "err_word" else tone.role].mono.split()
    style = Style(
        bold="bold" in words or tone.weight == "bold" or None,
        dim="dim" in words or None,
        underline="underline" in words or tone.on == "sel_idle" or None,
        italic=tone.weight == "italic" or None,
        strike=tone.weight == "strike" or None,
        reverse=(tone.on in ("sel", "tab", "raised")) != (tone.weight == "reverse") or None,
    )
    # Bold and dim cancel each other on many terminals.
    return style + Style(dim=False) if style.bold and style.dim else style


def mixed(start: Color, end: Color, share: float) -> Color:
    """The RGB colour at `share` (0..1) of the way from one to the other."""
    first, second = start.get_truecolor(), end.get_truecolor()
    share = max(0.0, min(1.0, share))
    return Color.from_rgb(*(a + (b - a) * share for a, b in zip(first, second, strict=True)))


def contrast(first: Color, second: Color) -> float:
    """WCAG contrast of two colours, 1 to 21."""
    lights = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (lights[0] + 0.05) / (lights[1] + 0.05)


def _luminance(color: Color) -> float:
    linear = []
    for part in color.get_truecolor():
        value = part / 255
        linear.append(value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4)
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
