"""Every glyph takes one cell, and the ASCII set is ASCII."""

from __future__ import annotations

import pytest
from msgspec.structs import fields

from overbrainer_core.text import cell_width
from overbrainer_tui.glyphs import ASCII, UNICODE, Glyphs


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_every_glyph_takes_one_cell(glyphs: Glyphs) -> None:
    for field in fields(glyphs):
        value = getattr(glyphs, field.name)
        if isinstance(value, str):
            assert cell_width(value) == len(value), field.name


def test_the_ascii_set_is_ascii() -> None:
    values = [getattr(ASCII, field.name) for field in fields(ASCII)]
    assert all(value.isascii() for value in values if isinstance(value, str))


def test_both_sets_have_histories_of_seven_steps() -> None:
    assert len(UNICODE.history) == len(ASCII.history) == 7
