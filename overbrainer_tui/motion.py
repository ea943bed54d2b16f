"""What eases, spins, pulses and fades, on a clock that is given? Nothing here runs by itself.

A bar closes on its value with a time constant and is never above it; a new bar, a drop and an ended piece of work land
at once. Times are seconds of any monotonic clock.
"""

from __future__ import annotations

import math

FRAME_S = 0.033
"""Shortest time between two draws; a bar that eases and a fade are drawn this often."""

SPINNER_S = 0.08
"""One frame of the spinner."""

EASE_S = 0.25
"""Time constant of a bar."""

PULSE_STEPS = 4
"""Steps from full strength to the low end of the pulse, and as many back."""

PULSE_S = 1.2
"""From full strength to the low end."""

VIEW_FADE_S, OVERLAY_FADE_S, STATUS_FADE_S = 0.16, 0.14, 0.2
FADE_STEPS = 5
"""Strengths of a fade, so that it is drawn this often at most."""


class Eased:
    """A value that closes on its target."""

    def __init__(self, smallest: float = 0.0) -> None:
        self._target = 0.0
        self._from: float | None = None
        self._since = 0.0
        self._smallest = smallest

    def aim(self, target: float, now: float, *, jump: bool = False) -> None:
        """Move towards a target from here; at once when it is the first, lies lower, or `jump` says so."""
        if self._from is None or jump or target < self._target:
            self._from = self._target = target
        elif target != self._target:
            self._from, self._target = self.at(now), target
        else:
            return
        self._since = now

    def at(self, now: float) -> float:
        """The value now: the target once the rest would not be seen."""
        if self._from is None:
            return self._target
        rest = (self._target - self._from) * math.exp(-max(0.0, now - self._since) / EASE_S)
        return self._target if abs(rest) <= self._smallest else self._target - rest

    def is_settled(self, now: float) -> bool:
        """Whether the value has reached its target."""
        return self.at(now) == self._target


def spinner_frame(frame: int, frames: str) -> str:
    """The character of the n-th frame."""
    return frames[frame % len(frames)]


def pulse_step(frame: int) -> int:
    """The step of the pulse in the spinner's n-th frame: 0 is full strength, `PULSE_STEPS` the low end."""
    per_step = PULSE_S / PULSE_STEPS / SPINNER_S
    at = int(frame / per_step) % (2 * PULSE_STEPS)
    return at if at <= PULSE_STEPS else 2 * PULSE_STEPS - at


def fade_share(elapsed: float, duration: float) -> float:
    """Strength of what fades in, in `FADE_STEPS` steps; 1 at the end."""
    if elapsed >= duration:
        return 1.0
    return max(1, math.ceil(elapsed / duration * FADE_STEPS)) / (FADE_STEPS + 1)
