"""The look follows our variables; what is unknown is ignored and told."""

from __future__ import annotations

import pytest

from overbrainer_tui.look import ColorLevel, Look, Motion, choose_look, framework_environment


@pytest.mark.parametrize(
    ("env", "level"),
    [
        ({"NO_COLOR": "1", "OVERBRAINER_TUI_COLOR": "truecolor"}, ColorLevel.MONO),
        ({"NO_COLOR": "", "COLORTERM": "24bit"}, ColorLevel.TRUECOLOR),
        ({"OVERBRAINER_TUI_COLOR": "16", "COLORTERM": "truecolor"}, ColorLevel.C16),
        ({"OVERBRAINER_TUI_COLOR": "256"}, ColorLevel.C256),
        ({"TERM": "screen-256color"}, ColorLevel.C256),
        ({"TERM": "xterm"}, ColorLevel.C16),
        ({}, ColorLevel.C16),
    ],
)
def test_the_colour_level_follows_the_environment(env: dict[str, str], level: ColorLevel) -> None:
    assert choose_look(env).look.level is level


@pytest.mark.parametrize(
    ("env", "motion"),
    [
        ({}, Motion.ON),
        ({"SSH_TTY": ""}, Motion.ON),
        ({"SSH_TTY": "/dev/pts/1"}, Motion.REDUCED),
        ({"SSH_CONNECTION": "a b"}, Motion.REDUCED),
        ({"SSH_TTY": "x", "OVERBRAINER_TUI_MOTION": "on"}, Motion.ON),
        ({"NO_COLOR": "1", "OVERBRAINER_TUI_MOTION": "on"}, Motion.OFF),
        ({"OVERBRAINER_TUI_MOTION": "off"}, Motion.OFF),
    ],
)
def test_motion_follows_the_environment(env: dict[str, str], motion: Motion) -> None:
    assert choose_look(env).look.motion is motion


def test_an_unknown_value_is_ignored_with_one_warning() -> None:
    chosen = choose_look({"OVERBRAINER_TUI_COLOR": "purple"})
    assert chosen.look.level is ColorLevel.C16
    assert chosen.warnings == ("OVERBRAINER_TUI_COLOR is ignored: it must be `truecolor`, `256` or `16`",)


def test_the_theme_variable_wins_over_the_kept_choice() -> None:
    assert choose_look({}, theme="light").look.theme == "light"
    chosen = choose_look({"OVERBRAINER_TUI_THEME": "safe"}, theme="light")
    assert (chosen.look.theme, chosen.is_theme_forced) == ("safe", True)


@pytest.mark.parametrize(
    ("env", "encoding", "is_ascii"),
    [
        ({}, "UTF-8", False),
        ({}, "utf8", False),
        ({}, "ISO-8859-1", True),
        ({"TERM": "linux"}, "utf-8", True),
        ({"OVERBRAINER_TUI_ASCII": "0", "TERM": "linux"}, "utf-8", False),
        ({"OVERBRAINER_TUI_ASCII": "1"}, "utf-8", True),
    ],
)
def test_ascii_glyphs_are_for_terminals_without_utf8(env: dict[str, str], encoding: str, is_ascii: bool) -> None:
    assert choose_look(env, encoding=encoding).look.is_ascii is is_ascii


def test_fades_are_for_full_motion_in_24_bit_colour_only() -> None:
    assert Look().has_fades
    assert not Look(level=ColorLevel.C256).has_fades
    assert not Look(motion=Motion.REDUCED).has_fades
    assert Look(motion=Motion.REDUCED).has_spinner


@pytest.mark.parametrize(
    ("level", "system"),
    [
        (ColorLevel.TRUECOLOR, "truecolor"),
        (ColorLevel.C256, "256"),
        (ColorLevel.C16, "standard"),
        (ColorLevel.MONO, "standard"),
    ],
)
def test_the_framework_is_told_our_level(level: ColorLevel, system: str) -> None:
    assert framework_environment(Look(level=level))["TEXTUAL_COLOR_SYSTEM"] == system


@pytest.mark.parametrize(("value", "has_mouse"), [(None, True), ("", True), ("1", True), ("0", False)])
def test_the_mouse_is_asked_for_unless_a_variable_says_otherwise(value: str | None, has_mouse: bool) -> None:
    environment = {} if value is None else {"OVERBRAINER_TUI_MOUSE": value}
    chosen = choose_look(environment)
    assert chosen.has_mouse is has_mouse
    assert chosen.warnings == ()


def test_an_unknown_variable_is_ignored_with_a_warning_that_names_the_known_ones() -> None:
    chosen = choose_look({"OVERBRAINER_TUI_COLOUR": "16", "OVERBRAINER_TUI_SHAPE": "", "OVERBRAINER_LOG": "debug"})
    (warning,) = chosen.warnings
    assert warning.startswith("OVERBRAINER_TUI_COLOUR is ignored: ")
    assert "OVERBRAINER_TUI_COLOR," in warning
