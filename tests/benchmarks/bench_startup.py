"""How many times a bare interpreter do `--version` and `runs ls` with 1,000 runs take?

Targets: at most 2.5 and 6 times `python -c pass`.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROUNDS = 15


def seconds(command: Sequence[str], cwd: Path) -> float:
    """One run of a command."""
    started = time.perf_counter()
    subprocess.run(command, cwd=cwd, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def medians(commands: dict[str, list[str]], cwd: Path) -> dict[str, float]:
    """The median of each command, the commands taking turns."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            times[name].append(seconds(command, cwd))
    return {name: statistics.median(values) for name, values in times.items()}


def make_runs(project: Path, count: int) -> None:
    """Records and short metrics of ended runs."""
    for number in range(count):
        run_id = f"demo_20260929-{number // 3600:02d}{number // 60 % 60:02d}{number % 60:02d}"
        directory = project / "runs" / run_id
        directory.mkdir(parents=True)
        record = {
            "id": run_id,
            "target": "here",
            "created": f"2026-09-29T{number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d}Z",
            "remote_dir": str(directory),
            "job": None,
            "state": "succeeded",
            "message": None,
            "ended": "2026-09-29T23:00:00Z",
        }
        (directory / "run.json").write_text(json.dumps(record, indent=2) + "\n")
        lines = [
            json.dumps({"event": "log", "time": 1.0 * step, "step": step, "max_steps": 200, "loss": 1.0, "epoch": 1.0})
            for step in range(200)
        ]
        (directory / "metrics.jsonl").write_text("\n".join(lines) + "\n")


def main() -> None:
    """Measure and print."""
    launcher = str(Path(sys.executable).with_name("overbrainer"))
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(scratch)
        make_runs(project, 1000)
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "--version": [launcher, "--version"],
            "runs ls": [launcher, "runs", "ls"],
        }
        found = medians(commands, project)
    bare = found["python -c pass"]
    for name, target in (("--version", 2.5), ("runs ls", 6.0)):
        ratio = found[name] / bare
        print(f"{name:<12} {found[name] * 1000:6.1f} ms  {ratio:4.2f} x python -c pass  (target {target})")


if __name__ == "__main__":
    main()
