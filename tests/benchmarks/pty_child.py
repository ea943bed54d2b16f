"""A program on a pseudo-terminal of 120x40, whose output and CPU time are measured.

Bytecode is kept in a folder of the benchmark, as an installed program has it. CPU time is what the kernel counted for
all threads, to the nanosecond where it tells: a busy machine changes it less than the time on the clock.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

COLUMNS, ROWS = 120, 40
BYTECODE = Path(tempfile.gettempdir()) / f"overbrainer-bench-bytecode-{os.getuid()}"


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables of a child: a capable terminal, bytecode kept, nothing of ours set."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OVERBRAINER_", "TEXTUAL"))}
    for name in ("NO_COLOR", "PYTHONDONTWRITEBYTECODE", "CI"):
        kept.pop(name, None)
    kept |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
    return kept | {"PYTHONPYCACHEPREFIX": str(BYTECODE)} | dict(extra or {})


class PtyChild:
    """A running program; use it as a context manager, which kills it at the end."""

    def __init__(
        self, command: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=cwd,
            env=dict(env or environment()),
            start_new_session=True,
        )
        os.close(slave)
        self.output = bytearray()

    def __enter__(self) -> PtyChild:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.master)

    def read(self, seconds: float) -> bytes:
        """What is written within that time, at once when something is; empty when nothing was."""
        if not select.select([self.master], [], [], max(seconds, 0))[0]:
            return b""
        try:
            part = os.read(self.master, 65536)
        except OSError:
            raise SystemExit(f"the program ended early:\n{self.output[-2000:].decode(errors='replace')}") from None
        self.output += part
        return part

    def read_until(self, is_enough: Callable[[bytes], bool], *, timeout_s: float = 60.0) -> float:
        """Read until the whole output satisfies; seconds since the start."""
        end = time.perf_counter() + timeout_s
        while not is_enough(bytes(self.output)):
            if time.perf_counter() > end:
                raise SystemExit(f"not written:\n{self.output[-2000:].decode(errors='replace')}")
            self.read(0.05)
        return time.perf_counter() - self.started

    def read_for(self, seconds: float) -> int:
        """Read for so long; how many bytes came."""
        end = time.perf_counter() + seconds
        count = 0
        while (left := end - time.perf_counter()) > 0:
            count += len(self.read(min(left, 0.05)))
        return count

    def read_until_quiet(self, quiet_s: float) -> tuple[float, float]:
        """Read until nothing came for `quiet_s`: the seconds since the start and the CPU seconds at the last byte."""
        last, cpu = time.perf_counter(), self.cpu_s()
        while time.perf_counter() - last < quiet_s:
            if self.read(0.02):
                last, cpu = time.perf_counter(), self.cpu_s()
        return last - self.started, cpu

    def send(self, keys: bytes) -> None:
        """Type."""
        os.write(self.master, keys)

    def cpu_s(self) -> float:
        """Seconds of CPU that the program has used so far, all threads."""
        return cpu_seconds(self.process.pid)


def cpu_seconds(pid: int) -> float:
    """Seconds of CPU of a process, all its threads; from `ps` where there is no `/proc`."""
    tasks = Path(f"/proc/{pid}/task")
    with contextlib.suppress(OSError, ValueError):
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()) / 1e9
    with contextlib.suppress(OSError, ValueError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    shown = subprocess.run(["ps", "-o", "time=", "-p", str(pid)], capture_output=True, text=True, check=True)
    seconds = 0.0
    for part in shown.stdout.strip().split(":"):
        seconds = seconds * 60 + float(part)
    return seconds
