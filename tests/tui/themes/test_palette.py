"""Text stays readable in every theme, and each level sends only what its terminal can show."""

from __future__ import annotations

from itertools import product
from typing import get_args

import pytest
from rich.color import ColorSystem, ColorType

from overbrainer_tui.cells import Ground, Role, Tone, Weight
from overbrainer_tui.look import ColorLevel, Look
from overbrainer_tui.themes.palette import GROUNDS, ROLES, StyleTable, contrast, mixed, our_paint

TEXT_ROLES = ("dim", "text", "bright", "accent", "accent_hi", "ok", "warn", "err", "info")
MARKS = ("faint", "hist", "accent_lo", "raw", "train", "eval", "lr", "gn")
LEVELS = tuple(ColorLevel)
TONES = [Tone(role, weight, ground) for role, weight, ground in
         product(get_args(Role), get_args(Weight), get_args(Ground))]  # fmt: skip


@pytest.mark.parametrize("theme", ["dark", "light", "safe"])
@pytest.mark.parametrize("role", TEXT_ROLES)
def test_text_has_a_contrast_of_4_5_on_every_ground(theme: str, role: str) -> None:
    paint = our_paint(theme, exact_indexes=False)
    worst = min(contrast(paint.roles[role], paint.grounds[ground]) for ground in ("bg", "raised", "sel"))
    assert round(worst, 1) >= 4.5


@pytest.mark.parametrize("theme", ["dark", "light", "safe"])
@pytest.mark.parametrize("role", MARKS)
def test_marks_and_data_have_a_contrast_of_3(theme: str, role: str) -> None:
    paint = our_paint(theme, exact_indexes=False)
    assert round(contrast(paint.roles[role], paint.grounds["bg"]), 1) >= 3.0


@pytest.mark.parametrize(
    ("theme", "role", "on_bg", "worst"),
    [
        ("dark", "dim", 6.1, 4.9), ("dark", "text", 11.6, 9.5), ("dark", "bright", 17.4, 14.2),
        ("dark", "accent", 5.6, 4.5), ("dark", "err", 7.3, 6.0), ("light", "dim", 5.7, 4.5),
        ("light", "warn", 5.7, 4.6),
        ("light", "text", 12.1, 9.7), ("safe", "accent", 8.8, 7.1), ("safe", "ok", 8.6, 6.9),
    ],
)  # fmt: skip
def test_contrasts_are_those_of_the_design(theme: str, role: str, on_bg: float, worst: float) -> None:
    paint = our_paint(theme, exact_indexes=False)
    color = paint.roles[role]
    assert contrast(color, paint.grounds["bg"]) == pytest.approx(on_bg, abs=0.06)
    assert min(contrast(color, paint.grounds[g]) for g in ("raised", "sel")) == pytest.approx(worst, abs=0.06)


@pytest.mark.parametrize("theme", ["dark", "light", "safe"])
def test_256_colours_are_exact_palette_indexes(theme: str) -> None:
    table = StyleTable(Look(level=ColorLevel.C256, theme=theme))
    column = ("dark", "light", "safe").index(theme)
    for role, values in ROLES.items():
        color = table[Tone(role)].color  # type: ignore[arg-type]
        assert color is not None
        assert color.type is ColorType.EIGHT_BIT
        assert color.downgrade(ColorSystem.EIGHT_BIT).number == values.indexes[column]


def test_neighbouring_grounds_stay_apart_at_256_colours() -> None:
    indexes = [GROUNDS[ground].indexes[0] for ground in ("bg", "surface", "raised", "sel")]
    assert len(set(indexes)) == 4
    assert ROLES["line"].indexes[0] != ROLES["grid"].indexes[0]


def test_mono_sends_attributes_only() -> None:
    table = StyleTable(Look(level=ColorLevel.MONO))
    assert all(table[tone].color is None and table[tone].bgcolor is None for tone in TONES)


def test_16_colours_paint_no_ground_but_the_selection() -> None:
    table = StyleTable(Look(level=ColorLevel.C16))
    for tone in TONES:
        style = table[tone]
        if tone.on == "sel":
            assert (style.bgcolor and style.bgcolor.name, style.color and style.color.name) == ("magenta", "black")
        else:
            assert style.bgcolor is None
            assert style.color is None or style.color.type is ColorType.STANDARD


def test_mono_tells_states_by_attributes() -> None:
    table = StyleTable(Look(level=ColorLevel.MONO))
    assert table[Tone("err", "bold")].underline
    assert table[Tone("bright", "bold", "tab")].reverse
    assert table[Tone("text", "", "sel")].reverse
    assert table[Tone("text", "", "sel_idle")].underline
    assert table[Tone("faint")].dim
    assert not table[Tone("accent", "", "surface")].reverse


def test_faint_becomes_dim_on_the_selection() -> None:
    table = StyleTable(Look())
    assert table[Tone("faint", "", "sel")].color == table[Tone("dim", "", "sel")].color


def test_an_error_s_word_loses_its_colour_on_the_light_selection_at_256_colours() -> None:
    light = StyleTable(Look(level=ColorLevel.C256, theme="light"))
    assert light[Tone("err_word", "bold", "sel")].color == light[Tone("text", "", "sel")].color
    assert light[Tone("err", "bold", "sel")].color != light[Tone("text", "", "sel")].color
    dark = StyleTable(Look(level=ColorLevel.C256))
    assert dark[Tone("err_word", "bold", "sel")].color == dark[Tone("err", "bold", "sel")].color


@pytest.mark.parametrize("level", LEVELS)
def test_equal_tones_give_the_same_style_object(level: ColorLevel) -> None:
    table = StyleTable(Look(level=level))
    assert all(table[tone] is table[Tone(*tone)] for tone in TONES)
    assert table.ground(Tone("dim")) is table.ground(Tone("text"))


@pytest.mark.parametrize("level", LEVELS)
def test_muted_everything_has_one_style_of_colour(level: ColorLevel) -> None:
    table = StyleTable(Look(level=level)).muted()
    assert len({(table[tone].color, table[tone].bgcolor) for tone in TONES}) == 1


def test_fading_goes_from_the_ground_to_the_colour() -> None:
    table = StyleTable(Look())
    bg = table[Tone("text")].bgcolor
    assert bg is not None
    gone, full = table.faded(0.0)[Tone("text")].color, table.faded(1.0)[Tone("text")].color
    assert gone is not None
    assert full is not None
    assert gone.triplet == bg.triplet
    assert full.triplet == (0xD3, 0xC9, 0xCF)


def test_the_pulse_ends_in_the_low_accent() -> None:
    table = StyleTable(Look())
    high, low = table.pulsed(0).color, table.pulsed(4).color
    assert high is not None
    assert low is not None
    assert (high.triplet, low.triplet) == ((0xF2, 0x50, 0x7F), (0xA3, 0x40, 0x5F))


def test_a_mix_lies_between_its_ends() -> None:
    paint = our_paint("dark", exact_indexes=False)
    assert mixed(paint.grounds["bg"], paint.roles["text"], 0.5).get_truecolor()[0] in range(0x14, 0xD3)
