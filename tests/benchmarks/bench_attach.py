"""How long does following a run with 1,000,000 metric lines take until all of them are published, and in what memory?

Target: under 5 s, memory bounded by one read; the bus has one observer and one subscriber.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import tempfile
import time
from pathlib import Path

from overbrainer_core.clock import SystemClock
from overbrainer_core.events.bus import EventBus
from overbrainer_core.events.types import Event
from overbrainer_core.executors.local import LocalExecutor
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.context import RunContext
from overbrainer_core.runs.record import RunRecord, RunState, save_run
from overbrainer_core.runs.timing import RunTiming
from overbrainer_core.runs.watch import watch_run
from overbrainer_core.values.job import JobHandle

LINES = 1_000_000


class Counter:
    """An observer that counts."""

    def __init__(self) -> None:
        self.seen = 0

    def on_event(self, event: Event) -> None:
        """Count it."""
        self.seen += 1

    def on_close(self) -> None:
        """Nothing to do."""


def write_metrics(path: Path) -> None:
    """A million training logs."""
    line = (
        '{{"event": "log", "time": {0}.25, "step": {0}, "epoch": 1.234, "max_steps": 1000000, "loss": 0.4123, '
        '"learning_rate": 0.0002, "grad_norm": 0.812}}\n'
    )
    with open(path, "w", encoding="utf-8") as handle:
        for step in range(1, LINES + 1):
            handle.write(line.format(step))


async def measure(root: Path) -> tuple[float, float, int]:
    """Seconds of the follow, the longest stretch in which another task got no turn, and the events seen."""
    paths = ProjectPaths(root)
    executor = LocalExecutor(paths.runs, environment={"PATH": "/usr/bin:/bin"})
    counter = Counter()
    bus = EventBus([counter])
    subscription = bus.subscribe()
    directory = str(paths.run("a").resolve())
    record = RunRecord(
        id="a",
        target="here",
        created=SystemClock().now().replace(microsecond=0),
        remote_dir=directory,
        job=JobHandle(directory=directory, pid=2**22 - 1),
        state=RunState.RUNNING,
    )
    save_run(paths, record)
    context = RunContext(
        paths=paths,
        executor=executor,
        bus=bus,
        warn=lambda line: None,
        clock=SystemClock(),
        timing=RunTiming(),
        is_local=True,
    )
    longest = 0.0

    async def tick() -> None:
        nonlocal longest
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0)
            longest = max(longest, time.perf_counter() - before)

    async def read() -> None:
        while await subscription.take() is not None:
            pass

    ticker, reader = asyncio.ensure_future(tick()), asyncio.ensure_future(read())
    started = time.perf_counter()
    await watch_run(context, record)
    seconds = time.perf_counter() - started
    ticker.cancel()
    bus.close()
    await reader
    return seconds, longest, counter.seen


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        run_dir = root / "runs" / "a"
        (run_dir / "output").mkdir(parents=True)
        (run_dir / "output" / "model").write_text("")
        (run_dir / "job.log").write_text("")
        (run_dir / "exit_code").write_text("0\n")
        write_metrics(run_dir / "metrics.jsonl")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        seconds, longest, seen = asyncio.run(measure(root))
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    print(f"attach to {LINES:,} metric lines: {seconds:.2f} s (target 5 s), {seen:,} events")
    print(f"longest wait of another task: {longest * 1000:.1f} ms; memory grew by {grown / unit:.0f} MiB")


if __name__ == "__main__":
    main()
