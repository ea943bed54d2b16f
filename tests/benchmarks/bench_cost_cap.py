"""Does any stage pass `pipeline.max_cost_usd`, in a thousand seeded runs against heavy-tailed replies?

Run by hand: `python tests/benchmarks/bench_cost_cap.py [RUNS]` (1000). Half of the runs answer questions, half generate
them. It prints how many were stopped and how close to their cap they came, and fails when one passed it.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from overbrainer_core.values.stage import Stage
from tests.peers.capped_run import CappedRun, capped_run


async def series(stage: Stage, count: int) -> list[CappedRun]:
    """So many runs of a stage, each with a seed of its own."""
    runs: list[CappedRun] = []
    for seed in range(count):
        with tempfile.TemporaryDirectory() as directory:
            runs.append(await capped_run(Path(directory) / "project", stage, seed))
    return runs


def main() -> None:
    """Run both series and print what they came to."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    passed = 0
    for stage in (Stage.ANSWERS, Stage.QUESTIONS):
        runs = asyncio.run(series(stage, count // 2))
        stopped = [run for run in runs if run.is_stopped]
        passed += sum(run.billed_usd > run.cap_usd for run in runs)
        lost = sum(run.saved < run.answered for run in runs)
        used = [run.billed_usd / run.cap_usd for run in stopped]
        print(
            f"{stage}: {len(runs)} runs, {len(stopped)} stopped at {min(used):.0%} to {max(used):.0%} of their cap "
            f"(median {statistics.median(used):.0%}), {lost} lost an answer"
        )
    print(f"{passed} passed their cap")
    sys.exit(1 if passed else 0)


if __name__ == "__main__":
    main()
