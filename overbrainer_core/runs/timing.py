"""How long does anything of a run wait? One frozen value, so that tests wait milliseconds.

The defaults are what people meet; nothing in `runs` or `flows` waits by a number of its own.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTiming:
    """Waits of a run in seconds, and how many failed looks in a row are forgiven."""

    poll_first_s: float = 0.2
    """The wait after a look that brought lines: the next line and the end of a short job are seen at once."""

    poll_max_s: float = 2.0
    """The wait between two looks at a quiet job, and after every failed look."""

    poll_growth: float = 1.5
    """Factor from one wait to the next while nothing comes."""

    local_watch_s: float = 0.2
    """The wait between two looks at a local job's files: a line or the end cuts the wait for the next look short."""

    failures_allowed: int = 5
    """Failed looks in a row that only warn; the next one ends the follow."""

    foreign_request_s: float = 30.0
    """The wait between two looks for a snapshot request of somebody else."""

    proof_limit_s: float = 30 * 60.0
    """From a snapshot request to the cancel of a job that shows no proof."""

    end_limit_s: float = 10 * 60.0
    """From the first limit to the cancel of a job that saved its snapshot but goes on."""

    sample_interval_s: float = 10.0
    """The wait between two samples of the target machine."""

    sample_timeout_s: float = 20.0
    """The limit of one sample, which is then skipped."""

    check_timeout_s: float = 20.0
    """The limit of one look at a program of a target before a run exists."""

    cancelled_wait_s: float = 60.0
    """How long a cancel beside another process waits for the proof that the job has ended."""

    def next_poll_s(self, current_s: float) -> float:
        """The wait after `current_s` when the last look brought nothing."""
        return min(current_s * self.poll_growth, self.poll_max_s)
