"""Real container engines with a directory of their own, and an image made from this machine's own Python.

Nothing is pulled and nothing of the machine's own engines is touched: Docker gets a daemon on a private socket, Podman
a private store. The image holds `sh`, `python3` and a trainer named `axolotl`.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.peers.shells import eventually

ENGINES = ("docker", "podman")
IMAGE = "localhost/overbrainer-trainer:1"
TRAINER = Path(__file__).resolve().parent / "container_trainer.py"

_SYSTEM = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
_NEEDED = {"docker": ("docker", "dockerd", "runc"), "podman": ("podman", "runc")}
_PROGRAMS = ("sh", "date", "sleep", "mkdir", "cat")
_MODULES = (
    "__future__, argparse, concurrent.futures, ctypes, dataclasses, encodings.latin_1, json, linecache, math, pathlib, "
    "re, shutil, signal, site, sysconfig, time, traceback, types, typing, zipfile"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """One engine; `environment` is what a client needs to reach it and nothing else."""

    name: str
    directory: Path
    environment: dict[str, str] = field(default_factory=dict)

    def call(self, *arguments: str, check: bool = True) -> str:
        """Run a command of the engine; what it printed."""
        done = subprocess.run(
            [self.name, *arguments],
            env={**os.environ, **self.environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0 or not check, done.stderr
        return done.stdout

    def names(self, *, running: bool = True) -> list[str]:
        """Names of its containers: those that run, or all."""
        return sorted(self.call("ps", *([] if running else ["-a"]), "--format", "{{.Names}}").split())

    def trust(self, registry: str) -> None:
        """Let Podman use a registry without TLS, as Docker does on the loopback interface."""
        if self.name == "podman":
            text = f'[[registry]]\nlocation = "{registry}"\ninsecure = true\n'
            (self.directory / "registries.conf").write_text(text)


@contextmanager
def container_engine(name: str) -> Iterator[Engine]:
    """An engine with the image; skips the test where it is missing."""
    _require(name)
    directory = Path(tempfile.mkdtemp(prefix="ob-"))
    try:
        with _docker(directory) if name == "docker" else _podman(directory) as engine:
            yield engine
    finally:
        _remove(directory)


def _require(name: str) -> None:
    missing = [program for program in _NEEDED[name] if not shutil.which(program, path=_SYSTEM)]
    if missing:
        pytest.skip(f"no {', '.join(missing)} here: apt-get install docker.io podman runc")
    if os.getuid() != 0:
        pytest.skip(f"{name} is started by root only")


@contextmanager
def _docker(directory: Path) -> Iterator[Engine]:
    engine = Engine(name="docker", directory=directory, environment={"DOCKER_HOST": f"unix://{directory}/docker.sock"})
    last = ""
    for driver in ("overlay2", "vfs"):
        daemon = _start_dockerd(directory, driver)
        try:
            if not _answers(engine, daemon):
                last = (directory / "dockerd.log").read_text()[-600:]
                continue
            _import(engine, ["import", *_changes(), "-", IMAGE])
            yield engine
            return
        finally:
            daemon.terminate()
            daemon.wait()
    pytest.skip(f"dockerd does not start here: {last}")


def _start_dockerd(directory: Path, driver: str) -> subprocess.Popen[bytes]:
    program = shutil.which("dockerd", path=_SYSTEM)
    assert program is not None
    with (directory / "dockerd.log").open("wb") as log:
        return subprocess.Popen(
            [
                program, "--iptables=false", "--ip6tables=false", "--bridge=none", f"--storage-driver={driver}",
                f"--data-root={directory}/{driver}", f"--exec-root={directory}/exec",
                f"--pidfile={directory}/{driver}.pid", "-H", f"unix://{directory}/docker.sock",
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, "PATH": _SYSTEM},
            start_new_session=True,
        )  # fmt: skip


def _answers(engine: Engine, daemon: subprocess.Popen[bytes]) -> bool:
    end = time.monotonic() + 20
    while daemon.poll() is None and time.monotonic() < end:
        if engine.call("version", "--format", "{{.Server.Version}}", check=False).strip():
            return True
        time.sleep(0.1)
    return False


STORAGE = """[storage]
driver = "{driver}"
graphroot = "{directory}/{driver}"
runroot = "{directory}/run"
"""

CONTAINERS = """[containers]
netns = "none"
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
tmp_dir = "{directory}/tmp"
"""


@contextmanager
def _podman(directory: Path) -> Iterator[Engine]:
    environment = {
        "CONTAINERS_CONF": str(directory / "containers.conf"),
        "CONTAINERS_STORAGE_CONF": str(directory / "storage.conf"),
        "CONTAINERS_REGISTRIES_CONF": str(directory / "registries.conf"),
    }
    (directory / "registries.conf").write_text("")
    engine = Engine(name="podman", directory=directory, environment=environment)
    (directory / "containers.conf").write_text(CONTAINERS.format(directory=directory))
    last = ""
    for driver in ("overlay", "vfs"):
        (directory / "storage.conf").write_text(STORAGE.format(directory=directory, driver=driver))
        try:
            _import(engine, ["import", *_changes(), "-", IMAGE])
        except subprocess.CalledProcessError as error:
            last = error.stderr.decode(errors="replace")[-600:]
            continue
        try:
            yield engine
        finally:
            engine.call("rm", "-f", "-t", "0", "-a", check=False)
        return
    pytest.skip(f"podman cannot make an image here: {last}")


def _changes() -> list[str]:
    return ["--change", "ENV PATH=/usr/local/bin:/usr/bin:/bin"]


def _import(engine: Engine, arguments: list[str]) -> None:
    subprocess.run(
        [engine.name, *arguments],
        input=image_archive(),
        env={**os.environ, **engine.environment},
        check=True,
        capture_output=True,
        timeout=60,
    )


def image_archive() -> bytes:
    """The image's files as a tar archive: this machine's Python and a few programs, with what they load."""
    python = os.path.realpath(sys.executable)
    files = {Path(python), *_modules(python)}
    programs = {name: Path(os.path.realpath(found)) for name in _PROGRAMS if (found := shutil.which(name))}
    files.update(programs.values())
    binaries = [file for file in files if os.access(file, os.X_OK) or ".so" in file.suffixes]
    files.update(library for file in binaries for library in _libraries(file))
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for file in sorted(files):
            archive.add(os.path.realpath(file), arcname=str(file).lstrip("/"))
        for name, program in {**programs, "python3": Path(python)}.items():
            if str(program) != f"/usr/bin/{name}":
                _link(archive, f"usr/bin/{name}", str(program))
        _link(archive, "bin/sh", str(programs["sh"]))
        archive.add(TRAINER, arcname="usr/local/bin/axolotl", filter=_executable)
        directory = tarfile.TarInfo("tmp")
        directory.type, directory.mode = tarfile.DIRTYPE, 0o1777
        archive.addfile(directory)
    return buffer.getvalue()


def _executable(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.mode = 0o755
    return member


def _link(archive: tarfile.TarFile, name: str, target: str) -> None:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, target
    archive.addfile(member)


def _modules(python: str) -> Iterator[Path]:
    """Files of the standard library that the trainers import."""
    code = f"import sys, {_MODULES}\nfor m in sys.modules.values():\n  print(getattr(m, '__file__', None) or '')"
    listed = subprocess.run([python, "-I", "-S", "-c", code], check=True, capture_output=True, text=True)
    for name in filter(None, listed.stdout.splitlines()):
        yield Path(name)


def _libraries(program: Path) -> Iterator[Path]:
    """What the loader loads for a program, and the loader."""
    listed = subprocess.run(["ldd", str(program)], check=False, capture_output=True, text=True)
    for word in listed.stdout.split():
        if word.startswith("/"):
            yield Path(word)


def _remove(directory: Path) -> None:
    """Unmount what an engine left mounted below its directory, then remove it."""
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for mount in sorted((mount for mount in mounts if mount.startswith(f"{directory}/")), reverse=True):
        subprocess.run(["umount", "-l", mount], check=False, capture_output=True)
    eventually(lambda: _removed(directory))


def _removed(directory: Path) -> bool:
    shutil.rmtree(directory, ignore_errors=True)
    return not directory.exists()
