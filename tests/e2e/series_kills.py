"""Signals at every stage of a training's life, and what must hold after each.

`python -m tests.e2e.series_kills --seed 7 --cases 200` runs a long series by hand; `test_series_kills.py` a short one.
A case starts a command in a session of its own and signals it, and its process group as a terminal does, at a named
point of the program or after a random time. Then the project must open, the listing must be readable, a job that was
started must live and be found, `train attach` must bring it to its end, and no process may be left.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.peers.program import AXOLOTL_TRAINING, ROOT, environment, run, until, write_project, write_split
from tests.peers.trainer_double import make_venv

BODY = """
line(event="begin", time=1.0, max_steps=9)
step = 0
while not os.path.exists("go"):
    step += 1
    line(event="log", time=float(step), step=1, max_steps=9, loss=1.0)
    request = os.environ["OVERBRAINER_SNAPSHOT"]
    if os.path.exists(request):
        os.makedirs("output/checkpoint-1", exist_ok=True)
        open("output/checkpoint-1/state", "w").write("state")
        proof = {"checkpoint": "output/checkpoint-1", "step": 1, "time": 1.0, "reason": open(request).read()}
        open("snapshot.json", "w").write(json.dumps(proof))
        sys.exit(0)
    time.sleep(0.03)
line(event="end", time=9.0, step=9)
os.makedirs("output", exist_ok=True)
open("output/adapter_config.json", "w").write("{}")
"""

LAUNCHER = """
import importlib, os, signal, sys, threading
module, name, when, count, delay, number, group = sys.argv[1:8]
sys.argv[1:8] = []
calls = 0
def strike():
    os.killpg(0, int(number)) if group == "group" else os.kill(os.getpid(), int(number))
def due():
    global calls
    calls += 1
    return calls == int(count)
def patched(real):
    def before():
        is_due = due()
        if is_due and when == "before":
            strike()
        if is_due and when == "during":
            timer = threading.Timer(float(delay), strike)
            timer.daemon = True
            timer.start()
        return is_due
    def plain(*args, **kwargs):
        is_due = before()
        try:
            return real(*args, **kwargs)
        finally:
            if is_due and when == "after":
                strike()
    async def waiting(*args, **kwargs):
        is_due = before()
        try:
            return await real(*args, **kwargs)
        finally:
            if is_due and when == "after":
                strike()
    import inspect
    return waiting if inspect.iscoroutinefunction(real) else plain
if module != "-":
    owner = importlib.import_module(module)
    *holders, last = name.split(".")
    for holder in holders:
        owner = getattr(owner, holder)
    setattr(owner, last, patched(getattr(owner, last)))
from overbrainer_tui.__main__ import main
main()
"""

_LOCAL = "overbrainer_core.executors.local"
_CONTEXT = "overbrainer_core.runs.context"


@dataclass(frozen=True, slots=True)
class Point:
    """Where a command is struck: a function, before, after or during its nth call; none means at a random time."""

    command: str
    function: str = "-"
    when: str = "before"
    count: int = 1
    module: str = "-"

    def __str__(self) -> str:
        where = "at a random time" if self.module == "-" else f"{self.when} {self.function} #{self.count}"
        return f"{self.command} {where}"


def _points(command: str, *places: tuple[str, str, int]) -> list[Point]:
    return [
        Point(command, function, when, count, module)
        for module, function, count in places
        for when in ("before", "during", "after")
    ]


POINTS: tuple[Point, ...] = (
    *_points(
        "start",
        ("overbrainer_core.flows.train", "_check_local", 1),
        (_LOCAL, "claim", 1),
        (_CONTEXT, "save_run", 1),
        ("overbrainer_core.training.axolotl", "prepare_files", 1),
        (_LOCAL, "LocalExecutor.upload", 1),
        (_LOCAL, "LocalExecutor.spawn", 1),
        (_LOCAL, "LocalExecutor._start", 1),
        (_CONTEXT, "save_run", 2),
        (_LOCAL, "LocalExecutor.status", 1),
        (_LOCAL, "LocalExecutor.status", 3),
    ),
    *_points("stop", (_LOCAL, "put_file", 1), (_LOCAL, "LocalExecutor.status", 1), (_CONTEXT, "save_run", 1)),
    *_points(
        "cancel",
        (_LOCAL, "LocalExecutor.cancel", 1),
        (_LOCAL, "LocalExecutor.status", 1),
        (_CONTEXT, "save_run", 1),
    ),
    *_points(
        "finish",
        ("overbrainer_core.runs.watch", "read_proof", 1),
        ("overbrainer_core.runs.watch", "retrieve_run", 1),
        (_CONTEXT, "save_run", 1),
    ),
    *(Point(command) for command in ("start", "stop", "cancel", "finish", "attach") for _ in range(3)),
)

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


@dataclass(frozen=True, slots=True)
class Case:
    """One strike."""

    number: int
    point: Point
    sent: signal.Signals
    is_group: bool
    delay_s: float

    def __str__(self) -> str:
        to = "the group" if self.is_group else "the process"
        return f"#{self.number} {self.point}: {self.sent.name} to {to} after {self.delay_s:.3f} s"


def cases(seed: int, count: int) -> list[Case]:
    """The cases of a seed: every point before one comes again."""
    chance = random.Random(seed)
    order: list[Point] = []
    found: list[Case] = []
    for number in range(count):
        if not order:
            order = list(POINTS)
            chance.shuffle(order)
        point = order.pop()
        longest = 0.9 if point.module == "-" else 0.05
        sent = chance.choice(SIGNALS)
        is_group = sent is signal.SIGINT or chance.random() < 0.5
        found.append(Case(number, point, sent, is_group, chance.uniform(0.0, longest)))
    return found


def processes_in(directory: Path) -> dict[int, int]:
    """Process ID to process group of every living process that works in this directory."""
    found: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            cwd = os.readlink(entry / "cwd")
            status = (entry / "stat").read_text().rpartition(")")[2].split()
            if (cwd == str(directory) or cwd.startswith(f"{directory}/")) and status[0] != "Z":
                found[int(entry.name)] = int(status[2])
    return found


class Trial:
    """One case on a project of its own."""

    def __init__(self, case: Case, root: Path) -> None:
        self.case = case
        venv = make_venv(root / "venv", BODY)
        self.project = write_project(root / "p", training=AXOLOTL_TRAINING.format(venv=venv))
        write_split(self.project)
        self.runs = self.project / "runs"

    def play(self) -> None:
        """Strike, then look at everything that must hold."""
        try:
            arguments, code = self._struck()
            assert self._job_lives_unless_cancelled(arguments), "a job died that should live"
            self._look(code)
            self._settle(arguments)
            assert not processes_in(self.runs), "a process was left"
        finally:
            for group in set(processes_in(self.runs).values()):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(group, signal.SIGKILL)

    def _struck(self) -> tuple[list[str], int]:
        command = self.case.point.command
        arguments = ["train"]
        if command != "start":
            run_id = self._started()
            arguments = ["train", {"finish": "attach"}.get(command, command), run_id]
            if command == "finish":
                self._let_go()
        process = self._launch(arguments)
        try:
            if self.case.point.module == "-":
                time.sleep(self.case.delay_s + 0.2)
                with contextlib.suppress(ProcessLookupError):
                    strike = os.killpg if self.case.is_group else os.kill
                    strike(process.pid, self.case.sent)
            _, stderr = process.communicate(timeout=30)
        except BaseException:
            process.kill()
            process.communicate()
            raise
        assert "Traceback" not in stderr, stderr
        assert "Exception ignored" not in stderr, stderr
        if process.returncode == 130:
            told = stderr.strip().splitlines()[-1]
            assert told.startswith("error: interrupted"), told
            has_run = any(self.runs.glob("*/run.json"))
            assert has_run == (told != "error: interrupted before the run started") or told == "error: interrupted", (
                told
            )
        return arguments, process.returncode

    def _launch(self, arguments: Sequence[str]) -> subprocess.Popen[str]:
        point, case = self.case.point, self.case
        words = [point.module, point.function, point.when, str(point.count), str(case.delay_s), str(int(case.sent))]
        words.append("group" if case.is_group else "one")
        return subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, *words, "-C", str(self.project), *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            env=environment(),
            start_new_session=True,
        )

    def _started(self) -> str:
        """The ID of a run that was started and left."""
        process = subprocess.Popen(
            [sys.executable, "-m", "overbrainer_tui", "-C", str(self.project), "train"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(),
        )
        until(lambda: any(self.runs.glob("*/metrics.jsonl")) and self._states() == ["running"])
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        (run_dir,) = self.runs.iterdir()
        return run_dir.name

    def _states(self) -> list[str]:
        return [str(json.loads(path.read_text())["state"]) for path in sorted(self.runs.glob("*/run.json"))]

    def _let_go(self) -> None:
        for directory in self.runs.iterdir():
            (directory / "go").touch()

    def _job_lives_unless_cancelled(self, arguments: Sequence[str]) -> bool:
        """Whether every started job that nobody ended still runs."""
        for directory in self.runs.glob("*"):
            is_ending = any(
                (directory / name).exists() for name in ("exit_code", "cancelling", "go", "snapshot.request")
            )
            if not is_ending and (directory / "job.pid").exists():
                group = int((directory / "job.pid").read_text())
                if group not in processes_in(self.runs).values():
                    return arguments[1:2] == ["cancel"]
        return True

    def _look(self, code: int) -> None:
        """The project opens and its listing is whole."""
        listing = run(self.project, "runs", "ls", "--json")
        assert listing.returncode == 0, listing.stderr
        assert listing.stderr == "", listing.stderr
        shown = {entry["id"]: entry["state"] for entry in json.loads(listing.stdout)["runs"]}
        if self.case.sent is not signal.SIGKILL:
            left = [path.name for path in self.runs.glob("*/.*.tmp")]
            assert not left, f"exit {code} left {left}"
        assert len(shown) <= 1, shown

    def _settle(self, arguments: Sequence[str]) -> None:
        """`train attach` tells the truth about every run, and brings it to its end."""
        self._let_go() if self.runs.is_dir() else None
        for path in sorted(self.runs.glob("*/run.json")):
            before = json.loads(path.read_text())
            attached = run(self.project, "train", "attach", path.parent.name, limit_s=60)
            assert "Traceback" not in attached.stderr, attached.stderr
            after = json.loads(path.read_text())
            allowed = {"succeeded", "stopped"} if arguments[1:2] != ["cancel"] else {"succeeded", "cancelled"}
            if not (path.parent / "job.pid").exists():
                allowed = {"failed"}
                assert before["job"] is None, f"a recorded job never ran: {attached.stderr}"
                assert "stopped before the job started" in attached.stderr, attached.stderr
            assert after["state"] in allowed, (before, after, attached.stderr)
            has_succeeded = after["state"] in ("succeeded", "stopped")
            assert (attached.returncode == 0) == has_succeeded, (attached.returncode, attached.stderr)


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        yield Path(name).resolve()


def play(case: Case) -> str | None:
    """Play one case; what did not hold, or None."""
    with _scratch() as root:
        try:
            Trial(case, root).play()
        except (AssertionError, subprocess.TimeoutExpired) as error:
            return f"{case}: {error}"
    return None


def play_all(chosen: Sequence[Case], *, at_once: int = 2) -> list[str]:
    """Play the cases; what did not hold."""
    with ThreadPoolExecutor(at_once) as pool:
        return [told for told in pool.map(play, chosen) if told is not None]


def main() -> int:
    """Run a series by hand."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--only", type=int, help="the number of one case")
    options = parser.parse_args()
    os.chdir(ROOT)
    chosen = cases(options.seed, options.cases)
    if options.only is not None:
        chosen = [case for case in chosen if case.number == options.only]
    begun = time.monotonic()
    failures = play_all(chosen, at_once=options.at_once)
    took = time.monotonic() - begun
    for told in failures:
        sys.stderr.write(f"{told}\n")
    sys.stderr.write(f"seed {options.seed}: {len(chosen)} cases, {len(failures)} failed, {took:.0f} s\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
