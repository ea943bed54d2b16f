"""How far apart must requests be, where a server takes only so many in a while?

The first pace follows from what was taken between two pauses; after that it gets slower at each refusal, and faster
after each while without one.
"""

from __future__ import annotations

MEASURABLE = 3
"""Requests that must have been taken before a rate can be told from them."""
CAUTION = 0.95
"""Share of the rate that was taken, for the first pace."""
SLOWER = 1.1
FASTER = 0.98
"""Factors of the time between two requests after a refusal, and after a while of success."""
PERIOD_S = 10.0
"""Seconds of success before a pace rises, ten requests at least."""


class Pace:
    """The time between two requests; 0 while there is no need of any."""

    def __init__(self) -> None:
        self.interval_s = 0.0
        self._has_paused = False
        self._since: float | None = None
        self._taken = 0
        self._credit = 0

    @property
    def has_failed_reopening(self) -> bool:
        """Whether nothing was taken since the last pause."""
        return self._has_paused and self._taken == 0

    def take(self, now: float) -> None:
        """A request was answered."""
        self._taken += 1
        if self._since is None:
            self._since = now
        if self.interval_s:
            self._credit += 1
            if self._credit >= 10 and self._credit * self.interval_s >= PERIOD_S:
                self._credit = 0
                self.interval_s *= FASTER

    def refuse(self) -> None:
        """A request was refused, for whatever reason."""
        self._credit = 0

    def pause(self, until: float) -> None:
        """All wait until then; what is taken is measured from there on."""
        self._has_paused = True
        self._since = until
        self._taken = 0

    def measured_interval_s(self, until: float) -> float | None:
        """Seconds for each request that was taken since the last pause, the one that ends then included."""
        if self._taken < MEASURABLE or self._since is None or until <= self._since:
            return None
        return (until - self._since) / self._taken / CAUTION

    def slow_down(self, measured_s: float | None) -> bool:
        """Space the requests, further than before; whether they were not spaced before."""
        if self.interval_s:
            self.interval_s *= SLOWER
            return False
        self.interval_s = measured_s or 0.0
        return measured_s is not None
