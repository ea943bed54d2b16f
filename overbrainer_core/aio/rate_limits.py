"""What does a server take: how many requests at once, and how many in a while?

`Allowance` learns it from what is accepted and what is refused. A refusal begins an episode; refusals of requests that
were on their way when it became known belong to it. Four kinds are told apart by what came back beside a refusal:

- *too many at once*: fewer in flight would have been taken; the limit goes below the least that was refused;
- *too fast*: refused again in company that was taken before, or alone; the requests are spaced by a pace;
- *overload*: the server says so; half of what is in flight stays;
- *chance*: those sent after the refused one, in no smaller company, were taken: nothing is lowered.

What was lowered rises with success, the slower the surer the limit is, never above `most`. Nothing waits here.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import StrEnum

from overbrainer_core.aio.pace import Pace

UNBOUNDED = 1 << 20
"""Requests at once that nobody reaches."""


class Refusal(StrEnum):
    """What a refusal says about its reason; most servers do not tell the two limits apart."""

    RATE = "rate"
    AT_ONCE = "at once"
    OVERLOAD = "overload"
    UNSAID = "unsaid"


@dataclass(frozen=True, slots=True)
class Turn:
    """A request that was sent: its number in the order of sending, and how many were in flight, itself included."""

    number: int
    in_flight: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a server was found to take; None where no limit was met."""

    at_once: int | None = None
    per_minute: float | None = None


@dataclass(slots=True, kw_only=True)
class _Episode:
    """Refusals that became known together.

    `first` is the number of the first refused request, `last` of the last one sent before anybody knew; `level` the
    smallest company in which one was refused; `measured_s` the seconds for each request taken before, where known.
    """

    refusal: Refusal
    first: int
    last: int
    level: int
    limit_before: float
    ceiling_before: int | None
    interval_before_s: float
    measured_s: float | None
    refusals: int = 1
    passed: int = 0
    accepted: int = 0
    is_doubtful: bool = False
    is_chance: bool = False
    is_rate: bool = False
    is_answered: bool = False


class Allowance:
    """The limit and the pace of one model; times are seconds of a clock that never goes back."""

    CLEARLY = 0.75
    """Share of a company that was taken below which a refusal is not about company."""
    MEMORY = 3
    """Episodes for which the company that was taken is remembered."""
    SURE = 4
    """Rounds of probing from which a limit on requests at once is sure."""
    GENTLY = 0.75
    """Share of the limit that stays at least after a single refusal."""
    DISPROOFS = 2
    """Rounds of requests taken in company that was refused before, after which that refusal is no limit."""
    PATIENCE = 2
    """Episodes that the server's own answers must contradict before pauses are short."""
    FADING = 0.7
    """What an episode counts of the one before it, when answers during the episodes are added up."""
    SUSPICIONS = 2
    """Episodes in a row, each in company that was taken before, that make a limit a matter of rate."""
    MOST_PROBING = 32
    """Rounds of success before a limit that was met again and again is tried again."""

    def __init__(self, most: int = UNBOUNDED) -> None:
        self.most = most
        self._pace = Pace()
        self._limit = float(most)
        self._ceiling: int | None = None
        self._credit = 0
        self._probing = 1
        self._disproofs = 0
        self._has_doubted = False
        self._episode: _Episode | None = None
        self._proven: deque[int] = deque((0,), maxlen=self.MEMORY)
        self._suspicions = 0
        self._streak = 0
        self._episodes = 0
        self._passed = 0.0
        self._stopped = 0.0
        self._met = 0
        self._has_failed_reopening = False

    @property
    def interval_s(self) -> float:
        """Seconds between two requests; 0 without a pace."""
        return self._pace.interval_s

    @property
    def at_once(self) -> int:
        """Requests that may be in flight now."""
        return max(1, int(self._limit))

    @property
    def is_patience_over(self) -> bool:
        """Whether those sent after refused ones are taken, again and again: a pause of all is no use then."""
        passed, stopped = self._after_refusals()
        return self._episodes >= self.PATIENCE and passed >= 2 + 2 * stopped

    @property
    def has_failed_reopening(self) -> bool:
        """Whether the first request after a pause was refused: the next one alone tries whether it is over."""
        return self._has_failed_reopening

    @property
    def is_sure_of_company(self) -> bool:
        """Whether a limit on requests at once was met so often that a refusal there needs no pause of the others."""
        return self._probing >= self.SURE and self._suspicions == 0

    @property
    def is_free(self) -> bool:
        """Whether nothing is lowered."""
        return self._limit >= self.most and not self.interval_s

    @property
    def limits(self) -> Limits:
        """What is in force below what was asked for, once it was met more than by one refusal."""
        is_lower = self._met > 1 and self.at_once < self.most
        return Limits(
            at_once=self.at_once if is_lower else None,
            per_minute=60.0 / self.interval_s if self.interval_s else None,
        )

    def accept(self, turn: Turn, now: float) -> None:
        """A request was answered."""
        self._streak = 0
        self._has_failed_reopening = False
        self._pace.take(now)
        episode = self._episode
        if episode is None or turn.number > episode.last:
            self._proven[-1] = max(self._proven[-1], turn.in_flight)
        elif turn.number > episode.first:
            episode.passed += 1
            if turn.in_flight >= episode.level:
                self._contradict(episode)
        self._grow(turn)

    def refuse(self, turn: Turn, refusal: Refusal, *, last: int, now: float, until: float, in_flight: int) -> None:
        """A request was refused; the others, `in_flight` on their way up to number `last`, wait `until` then."""
        self._streak += 1
        self._credit = self._disproofs = 0
        self._pace.refuse()
        episode = self._episode
        if episode is not None and turn.number <= episode.last:
            episode.refusals += 1
            episode.level = min(episode.level, turn.in_flight)
            episode.first = min(episode.first, turn.number)
        else:
            episode = self._begin(turn, refusal, last=last, until=until)
        if not episode.is_chance:
            self._respond(episode, in_flight=in_flight)
        if until > now:
            self._pace.pause(until)

    def _begin(self, turn: Turn, refusal: Refusal, *, last: int, until: float) -> _Episode:
        self._passed, self._stopped = self._after_refusals()
        self._episodes += 1
        self._has_failed_reopening = self._pace.has_failed_reopening
        is_suspicious = turn.in_flight <= max(1, self.CLEARLY * max(self._proven), self._proven[-1] - 1)
        self._suspicions = self._suspicions + 1 if is_suspicious else 0
        most_proven = max(self._proven)
        self._proven.append(0)
        self._episode = _Episode(
            is_doubtful=turn.in_flight < most_proven,
            refusal=refusal,
            first=turn.number,
            last=last,
            level=turn.in_flight,
            limit_before=self._limit,
            ceiling_before=self._ceiling,
            interval_before_s=self.interval_s,
            measured_s=self._pace.measured_interval_s(until),
        )
        return self._episode

    def _after_refusals(self) -> tuple[float, float]:
        """Requests sent after refused ones that were taken, and that were not, in the last episodes."""
        episode = self._episode
        if episode is None:
            return 0.0, 0.0
        passed = self.FADING * self._passed + episode.passed
        return passed, self.FADING * self._stopped + episode.refusals - 1

    def _respond(self, episode: _Episode, *, in_flight: int) -> None:
        """Lower what the refusals of an episode speak against."""
        if episode.is_rate:
            return
        if self._is_about_rate(episode):
            episode.is_rate = True
            self._slow_down(episode)
            return
        match episode.refusal:
            case Refusal.RATE:
                return
            case Refusal.OVERLOAD:
                if not episode.is_answered:
                    self._lower(max(1, (in_flight + 1) // 2), ceiling=in_flight + 1, probing=1)
            case Refusal.UNSAID if episode.is_doubtful and episode.refusals == 1 and not self._has_doubted:
                self._has_doubted = True
                return
            case Refusal.AT_ONCE | Refusal.UNSAID:
                self._has_doubted = False
                met_again = self._ceiling is not None and abs(episode.level - self._ceiling) <= 1
                if not episode.is_answered:
                    self._probing = min(self._probing * 2, self.MOST_PROBING) if met_again else 2
                probing = 1 if episode.is_doubtful else self._probing
                # one refusal may be chance, several are not
                least = 1 if episode.refusals > 1 else max(1, int(self.GENTLY * episode.limit_before))
                self._lower(max(least, episode.level - 1), ceiling=max(least + 1, episode.level), probing=probing)
        self._met += not episode.is_doubtful
        episode.is_answered = True

    def _lower(self, limit: int, *, ceiling: int, probing: int) -> None:
        self._limit = min(self._limit, float(limit))
        self._ceiling = ceiling
        self._probing = probing

    def _is_about_rate(self, episode: _Episode) -> bool:
        """Whether the refusals of an episode follow from the rate: sure signs only, for a pace costs time."""
        if episode.refusal in (Refusal.AT_ONCE, Refusal.OVERLOAD):
            return False
        if self.interval_s:
            return True
        if episode.refusal is Refusal.UNSAID and self._suspicions < self.SUSPICIONS:
            return False
        return self._streak > 1 or (episode.refusals > 1 and episode.accepted * 2 <= episode.refusals)

    def _slow_down(self, episode: _Episode) -> None:
        """Space the requests: as far as what was taken allows, and further at each refusal."""
        self._limit = episode.limit_before
        self._ceiling = episode.ceiling_before
        if self._pace.slow_down(episode.measured_s):
            # what was lowered before was lowered for the wrong reason
            self._limit, self._ceiling, self._met, self._probing = float(self.most), None, 0, 1

    def _contradict(self, episode: _Episode) -> None:
        """A request sent after the refused one, in no smaller company, was taken."""
        episode.accepted += 1
        if episode.is_chance or episode.accepted <= 2 * episode.refusals:
            return
        episode.is_chance = True
        self._suspicions = 0
        self._met = max(0, self._met - episode.refusals)
        self._limit = max(self._limit, episode.limit_before)
        self._ceiling = episode.ceiling_before
        if episode.is_rate:
            self._pace.interval_s = min(self._pace.interval_s, episode.interval_before_s)

    def _grow(self, turn: Turn) -> None:
        if self._ceiling is not None and turn.in_flight >= self._ceiling:
            self._disproofs += 1
            if self._disproofs >= self.DISPROOFS * self._limit:
                self._ceiling, self._met, self._probing = None, 0, 1
        if self._limit < self.most and turn.in_flight + 1 >= self._limit:
            self._credit += 1
            if self._credit >= self._limit * self._probing:
                self._credit = 0
                self._limit = min(self._limit + 1.0, float(self.most))
