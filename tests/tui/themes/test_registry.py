"""Themes carry every token for the style sheets; Textual's own themes give readable roles."""

from __future__ import annotations

import pytest
from textual.app import App
from textual.theme import BUILTIN_THEMES

from overbrainer_tui.cells import Tone
from overbrainer_tui.look import ColorLevel, Look
from overbrainer_tui.themes.palette import GROUNDS, ROLES, contrast
from overbrainer_tui.themes.registry import install_themes, our_themes, paint_of_variables, style_table


@pytest.mark.parametrize("level", list(ColorLevel))
def test_every_token_is_a_variable_of_every_theme(level: ColorLevel) -> None:
    themes = our_themes(Look(level=level))
    assert [theme.name for theme in themes] == ["dark", "light", "safe"]
    for theme in themes:
        for token in (*ROLES, *GROUNDS):
            assert f"ob-{token.replace('_', '-')}" in theme.variables


@pytest.mark.parametrize("level", [ColorLevel.C16, ColorLevel.MONO])
def test_themes_that_paint_nothing_have_no_ground(level: ColorLevel) -> None:
    for theme in our_themes(Look(level=level)):
        assert theme.ansi
        assert theme.background == "ansi_default"
        assert {theme.variables[f"ob-{ground.replace('_', '-')}"] for ground in GROUNDS} == {"ansi_default"}


@pytest.mark.parametrize("name", [name for name, theme in BUILTIN_THEMES.items() if not theme.ansi])
def test_roles_of_textual_s_themes_reach_our_contrasts(name: str) -> None:
    theme = BUILTIN_THEMES[name]
    paint = paint_of_variables(theme.to_color_system().generate(), is_dark=theme.dark)
    bg = paint.grounds["bg"]
    reachable = contrast(paint.roles["text"], bg)
    for role, target in (("dim", 5.7), ("faint", 4.0), ("hist", 3.1)):
        assert contrast(paint.roles[role], bg) >= min(target, reachable) - 0.1
    assert contrast(paint.roles["bright"], bg) >= reachable - 0.1


async def test_a_theme_of_textual_can_be_drawn_with() -> None:
    table = style_table(Look(theme="nord"), BUILTIN_THEMES["nord"])
    assert table[Tone("accent")].color != style_table(Look())[Tone("accent")].color
    assert style_table(Look(level=ColorLevel.MONO), BUILTIN_THEMES["nord"])[Tone("accent")].color is None


@pytest.mark.parametrize("level", list(ColorLevel))
async def test_our_themes_can_be_put_on_an_app(level: ColorLevel) -> None:
    look = Look(level=level, theme="safe")
    app: App[None] = App()
    install_themes(app, look)
    async with app.run_test():
        assert app.theme == "safe"
        assert app.native_ansi_color is not look.paints_ground


async def test_an_unknown_theme_falls_back_to_dark() -> None:
    app: App[None] = App()
    install_themes(app, Look(theme="gone"))
    assert app.theme == "dark"
