"""A panel is drawn once for what it shows."""

from __future__ import annotations

from overbrainer_tui.widgets.last_drawn import last_drawn


def test_equal_arguments_are_not_drawn_again() -> None:
    calls: list[tuple[int, ...]] = []

    @last_drawn
    def draw(values: tuple[int, ...], *, width: int = 1) -> int:
        calls.append(values)
        return sum(values) * width

    assert draw((1, 2), width=3) == draw((1, 2), width=3) == 9
    assert len(calls) == 1
    assert draw((1, 2), width=4) == 12
    assert draw((1, 3), width=4) == 16
    assert draw((1, 2), width=4) == 12
    assert len(calls) == 4
