"""What does the app cost while it is looked at: bytes to the terminal and CPU, idle and following a training run?

Targets at 120x40: no byte while nothing changes; under 3 KiB a second and under 3% of a core for a run that writes a
metric line a second while its machine is sampled once a second. A real job of the app itself: a stand-in of the trainer
that writes one line a second. CPU is that of the app's process; what its samples start is told beside it.

Run by hand: `python tests/benchmarks/bench_live.py [SECONDS]` (20).
"""

from __future__ import annotations

import os
import re
import signal
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.benchmarks.pty_child import PtyChild, environment
from tests.peers.trainers import project_environment, write_project

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
STATUS_S = 12.0
"""Seconds after which the first status line has gone."""

SETTLE_S = 6.0
"""Seconds that the start of the run is given."""

APP = """
import sys
from overbrainer_core.runs.timing import RunTiming
RunTiming.__init__.__kwdefaults__["sample_interval_s"] = 1.0
sys.argv = ["overbrainer", "tui"]
from overbrainer_tui.__main__ import main
main()
"""
"""The app, which samples a machine every ten seconds, sampling it ten times as often."""

TRAINER = """#!/bin/sh
say() { printf '%s\\n' "$1" >> "$OVERBRAINER_METRICS"; }
say '{"event":"begin","time":1,"max_steps":2600}'
step=0
while [ ! -e "$OVERBRAINER_SNAPSHOT" ]; do
    step=$((step + 1))
    time=$(date +%s)
    values='"loss":'"1.$((9000 - step * 7 % 9000))"',"grad_norm":0.'"$((2000 + step * 37 % 7000))"
    values="$values"',"learning_rate":0.0002,"epoch":0.1'
    say '{"event":"log","time":'"$time"',"step":'"$step"',"max_steps":2600,'"$values}"
    sleep 1
done
"""


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(scratch)
        write_project(project, training="")
        (project / "venv" / "bin" / "axolotl").write_text(TRAINER)
        env = environment({**project_environment(), "HOME": scratch})
        with PtyChild([sys.executable, "-c", APP], cwd=project, env=env) as child:
            child.read_until(lambda output: b"Nothing ran yet" in output)
            child.read_for(STATUS_S)
            report(child, "idle", "0 bytes")
            child.send(b"4")
            child.read_for(1.0)
            child.send(b"t")
            child.read_until(lambda output: b"Start a training run" in output)
            child.send(b"y")
            child.read_until(lambda output: b"followed" in output)
            child.read_for(SETTLE_S)
            try:
                report(child, "live", "under 3 KiB/s, under 3%")
            finally:
                end_jobs(project)


def report(child: PtyChild, name: str, target: str) -> None:
    """Watch for a while, then print bytes and CPU a second."""
    cpu_s, others_s = child.cpu_s(), children_s(child.process.pid)
    count = child.read_for(SECONDS)
    cpu_s, others_s = child.cpu_s() - cpu_s, children_s(child.process.pid) - others_s
    print(
        f"{name}: {count / SECONDS:.0f} bytes/s, {cpu_s / SECONDS:.2%} of a core, "
        f"its samples {others_s / SECONDS:.2%}  (target: {target})"
    )


def children_s(pid: int) -> float:
    """Seconds of CPU of the children that have ended; 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def end_jobs(project: Path) -> None:
    """End the trainer: it is a job, which outlives the app."""
    for path in project.glob("runs/*/job.pid"):
        found = re.fullmatch(r"\s*(\d+)\s*", path.read_text())
        if found is not None:
            os.killpg(int(found[1]), signal.SIGKILL)


if __name__ == "__main__":
    main()
