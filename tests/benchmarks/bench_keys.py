"""How long from a key press to what it paints, while 2,000 events a second arrive?

Target: 50 ms at the 95th percentile. The app runs on a pseudo-terminal with a stage whose work is replaced by one that
publishes finished items at that rate; keys change the view, and the time ends with the first bytes that only the other
view has. The same without a stage stands beside it: the app's share, and the machine's.

Run by hand: `python tests/benchmarks/bench_keys.py [PRESSES]` (100).
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.benchmarks.pty_child import PtyChild, environment
from tests.peers.trainers import project_environment, write_project

PRESSES = int(sys.argv[1]) if len(sys.argv) > 1 else 100
TRAINING, PIPELINE = (b"4", b"No runs yet"), (b"3", b"in flight")
"""A key, and words that only the view it opens shows."""

APP = """
import asyncio, sys
from overbrainer_core.events.types import ItemDone, StageModel, StageStarted
from overbrainer_core.values.stage import Stage
from overbrainer_core.values.usage import Usage
from overbrainer_tui import perform

async def flood(self, effect, bus, interrupt):
    bus.publish(StageStarted(stage=Stage.SUBTOPICS, total=10_000_000))
    bus.publish(StageModel(stage=Stage.SUBTOPICS, model="m"))
    loop = asyncio.get_running_loop()
    number, started = 0, loop.time()
    while True:
        while number < (loop.time() - started) * 2000:
            number += 1
            usage = Usage(input_tokens=40, output_tokens=300)
            bus.publish(ItemDone(stage=Stage.SUBTOPICS, id=f"{number:032x}", usage=usage, cost=0.00001))
        await asyncio.sleep(0.005)

perform.Performer._stages = flood
sys.argv = ["overbrainer", "tui"]
from overbrainer_tui.__main__ import main
main()
"""


def latencies(child: PtyChild, presses: int) -> list[float]:
    """Milliseconds from each press to the first bytes of the view it opens, sorted."""
    dice = random.Random(1)
    found = []
    for number in range(presses):
        key, words = (TRAINING, PIPELINE)[number % 2]
        child.read_for(dice.uniform(0.05, 0.15))
        before = len(child.output)
        pressed = time.perf_counter()
        child.send(key)
        while words not in child.output[before:]:
            if time.perf_counter() - pressed > 10:
                raise SystemExit(f"{key!r} painted no {words!r}:\n{child.output[-2000:].decode(errors='replace')}")
            child.read(0.5)
        found.append((time.perf_counter() - pressed) * 1000)
    return sorted(found)


def report(name: str, found: list[float], cpu: float) -> None:
    """Print the figures of one measure."""
    p95 = found[int(len(found) * 0.95) - 1]
    print(
        f"{name}: median {statistics.median(found):.1f} ms, p95 {p95:.1f} ms, longest {found[-1]:.1f} ms, "
        f"{cpu:.0%} of a core  (target: p95 50 ms)"
    )


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(scratch)
        write_project(project, training="")
        env = environment({**project_environment(), "HOME": scratch})
        with PtyChild([sys.executable, "-c", APP], cwd=project, env=env) as child:
            child.read_until(lambda output: b"Nothing ran yet" in output)
            child.read_until_quiet(1.0)
            measured(child, "nothing running")
            child.send(b"r")
            child.read_for(1.0)
            child.send(b"\r")
            child.read_for(1.0)
            child.send(b"y")
            child.read_until(lambda output: b"$0." in output)
            child.read_for(2.0)
            measured(child, "2,000 events a second")


def measured(child: PtyChild, name: str) -> None:
    """Press keys and print what was found."""
    started, cpu_s = time.perf_counter(), child.cpu_s()
    found = latencies(child, PRESSES)
    report(name, found, (child.cpu_s() - cpu_s) / (time.perf_counter() - started))


if __name__ == "__main__":
    main()
