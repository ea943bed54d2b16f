"""What the doctor says of a target: each failure and warning that it can name, on real machines and engines.

A GPU is played by a program named `nvidia-smi`, a trainer by one named `axolotl`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from overbrainer_core.flows.doctor_checks.looks import LocalShell
from overbrainer_tui.cli.main import run
from tests.peers.containers import ENGINES, IMAGE, Engine, container_engine
from tests.peers.program import write_project
from tests.peers.sshd import Sshd, make_key, needs_sshd

pytestmark = [pytest.mark.timeout(90), pytest.mark.xdist_group("containers"), pytest.mark.peer("containers")]

TRAINING = """
[training]
target = "box"
base_model = "acme/qwen2.5-1b"
adapter = "lora"

[targets.box]
kind = "{kind}"
runtime = "{runtime}"
{lines}
"""
TINY = """
[training]
target = "box"
trainer = "tiny"
base_model = "tiny-0.2m"
adapter = "full"

[targets.box]
kind = "{kind}"
runtime = "native"
{lines}
"""
SMI = """\
case "$*" in
    *driver_version*) echo "{driver}" ;;
    *query-gpu*) i=0
        while [ $i -lt {count} ]; do
            echo "$i, NVIDIA H200, 0, 1, 143771, 30, 80.1, 700.0"
            i=$((i + 1))
        done ;;
    *) echo "| NVIDIA-SMI {driver}   Driver Version: {driver}   CUDA Version: {cuda} |" ;;
esac
"""
PYTHON = 'case "$*" in *axolotl*) printf "axolotl 0.21.0\\ntorch 2.9.0+cu{cuda}\\n" ;; *) exit 1 ;; esac'
HOST = "OVERBRAINER_TARGETS__BOX__HOST"

Doctor = Callable[..., list[str]]
Program = Callable[..., Path]


@pytest.fixture
def doctor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Doctor:
    """`doctor(config, code=1, PATH="...")`: the lines about the target of a project in this test's folder."""

    def examine(config: str, *options: str, code: int, **variables: str) -> list[str]:
        root = write_project(tmp_path / "p", training=config, base_url="demo:")
        for name, text in variables.items():
            monkeypatch.setenv(name, text)
        ended_with = run(["-C", str(root), "doctor", *options])
        out, err = capsys.readouterr()
        assert (ended_with, err) == (code, ""), out
        assert not (root / "runs").exists()
        return out.splitlines()

    return examine


def local(runtime: str, *lines: str) -> str:
    return TRAINING.format(kind="local", runtime=runtime, lines="\n".join(lines))


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """`program("axolotl", "echo 1")`: a program in this test's own directory, which is told."""

    def make(name: str, body: str, *, directory: str = "bin") -> Path:
        path = tmp_path / directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path.parent

    return make


@pytest.fixture
def bare(tmp_path: Path) -> str:
    """A PATH with the tools of a plain system: no engine, no trainer, no GPU."""
    names = (
        "cat date df find grep head id ls mkdir nohup ps rm sed setsid sh sha256sum sleep sort stat tail tar timeout tr"
    )
    directory = tmp_path / "bare"
    directory.mkdir()
    for name in [*names.split(), "uname", "python3", "env", "awk", "wc", "cut"]:
        found = shutil.which(name)
        if found:
            (directory / name).symlink_to(found)
    return str(directory)


def starts(lines: list[str], start: str) -> str:
    """The one line that starts so."""
    found = [line for line in lines if line.startswith(start)]
    assert len(found) == 1, lines
    return found[0]


# Programs on this machine


def test_no_trainer_on_path_and_no_gpu(doctor: Doctor, bare: str) -> None:
    lines = doctor(local("native"), "--offline", code=1, PATH=bare)
    assert "failure  trainer: `axolotl` is not on PATH; install Axolotl there, or set targets.box.venv" in lines
    assert "warning  gpu: no NVIDIA GPU is seen: a training on the CPU takes days; look at `nvidia-smi` there" in lines


@pytest.mark.parametrize(
    ("venv", "line"),
    [
        ("/nowhere/venv", "failure  trainer: `axolotl` is not in /nowhere/venv/bin, or cannot be run; install Axolotl "
         "there, or set targets.box.venv"),
        ("~/venv", "failure  trainer: `axolotl` is not in ~/venv/bin, or cannot be run; install Axolotl there, or set "
         "targets.box.venv"),
        ("some/venv", "failure  trainer: targets.box.venv is a relative path; write it from / or ~/"),
    ],
)  # fmt: skip
def test_an_environment_without_a_trainer(doctor: Doctor, bare: str, tmp_path: Path, venv: str, line: str) -> None:
    lines = doctor(local("native", f'venv = "{venv}"'), "--offline", code=1, PATH=bare, HOME=str(tmp_path))
    assert line in lines, lines


def test_a_trainer_with_a_gpu_and_a_driver_that_is_new_enough(doctor: Doctor, bare: str, program: Program) -> None:
    own = program("nvidia-smi", SMI.format(count=2, driver="580.65.06", cuda="13.0"))
    program("axolotl", "exit 0", directory="venv/bin")
    venv = program("python", PYTHON.format(cuda="130"), directory="venv/bin").parent
    lines = doctor(local("native", f'venv = "{venv}"'), "--offline", code=0, PATH=f"{own}:{bare}")
    assert f"ok       trainer: axolotl 0.21.0, torch 2.9.0+cu130 in {venv}/bin/axolotl" in lines
    assert "ok       gpu: 2 x NVIDIA H200, 151 GB, driver 580.65.06 (CUDA 13.0)" in lines


def test_a_driver_older_than_the_trainer_is_a_warning(doctor: Doctor, bare: str, program: Program) -> None:
    own = program("nvidia-smi", SMI.format(count=1, driver="550.54", cuda="12.4"))
    program("axolotl", "exit 0", directory="venv/bin")
    venv = program("python", PYTHON.format(cuda="130"), directory="venv/bin").parent
    lines = doctor(local("native", f'venv = "{venv}"'), "--offline", code=0, PATH=f"{own}:{bare}")
    line = starts(lines, "warning  gpu: ")
    assert "driver 550.54 (CUDA 12.4), but the trainer is built for CUDA 13.0; update the NVIDIA driver" in line


def test_a_driver_in_trouble_does_not_hang(doctor: Doctor, bare: str, program: Program) -> None:
    own = program("nvidia-smi", "exit 9")
    program("axolotl", "exit 0")
    lines = doctor(local("native"), "--offline", code=0, PATH=f"{own}:{bare}")
    assert starts(lines, "warning  gpu: ").startswith("warning  gpu: no NVIDIA GPU is seen")


def test_what_the_tiny_trainer_needs(doctor: Doctor, bare: str, tmp_path: Path, program: Program) -> None:
    missing = TINY.format(kind="local", lines=f'venv = "{tmp_path}/none"')
    lines = doctor(missing, "--offline", code=1, PATH=bare)
    assert starts(lines, "failure  trainer: the tiny trainer needs ").endswith(
        "which is not there; install Python there, or set targets.box.venv"
    )
    program("python3", "exit 1", directory="bare-venv/bin")
    lines = doctor(TINY.format(kind="local", lines=f'venv = "{tmp_path}/bare-venv"'), "--offline", code=1, PATH=bare)
    python = f"{tmp_path}/bare-venv/bin/python3"
    needs = f"failure  trainer: the tiny trainer needs NumPy, which {python} cannot import"
    assert f"{needs}; run `{python} -m pip install numpy`" in lines
    assert "skipped  gpu: left out: the tiny trainer uses the CPU" in lines


def test_a_pod_is_told_to_be_none_of_this_version(doctor: Doctor) -> None:
    pod = '[training]\ntarget = "box"\nbase_model = "m"\nadapter = "lora"\n[targets.box]\nkind = "runpod"\n'
    lines = doctor(pod + 'gpu_types = "auto"\nmax_hours = 1\n', "--offline", code=1)
    assert "runpod" in starts(lines, "failure  targets.box: ")


def test_a_look_that_does_not_end_is_ended(
    doctor: Doctor, bare: str, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = program("docker", "sleep 30")
    place = "overbrainer_core.flows.doctor_checks.target.LocalShell"
    monkeypatch.setattr(place, lambda environment: LocalShell(environment, limit_s=1.0))
    lines = doctor(local("docker"), "--offline", code=1, PATH=f"{own}:{bare}")
    assert "look at docker failed: timed out after 1 s" in starts(lines, "failure  targets.box: ")


def test_runs_that_cannot_be_kept_here(doctor: Doctor, bare: str, tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("this system has no file system that a test may mount")
    place = tmp_path / "runs"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m,ro", "none", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("this system has no file system that a test may mount")
    try:
        root = write_project(tmp_path / "q", training=local("native"), base_url="demo:")
        (root / "runs").symlink_to(place)
        done = subprocess.run(
            [sys.executable, "-m", "overbrainer_tui", "-C", str(root), "doctor", "--offline"],
            env={"PATH": bare, "HOME": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        lines = done.stdout.splitlines()
        assert (
            f"failure  targets.box: {place} cannot be written to; change its permissions, or the work directory"
            in lines
        )
        assert "failure  targets.box disk: 1 MB free for its runs; make room before anything is started" in lines
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


# Container engines


def in_container(engine: str, *lines: str, image: str = IMAGE) -> str:
    return local("docker", f'engine = "{engine}"', f'image = "{image}"', *lines)


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Each engine in turn, started once."""
    with container_engine(str(request.param)) as started:
        yield started


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_that_is_not_there(doctor: Doctor, bare: str, name: str) -> None:
    lines = doctor(in_container(name), "--offline", code=1, PATH=bare)
    assert f"failure  engine: `{name}` is not on PATH; install it, or set targets.box.runtime to native" in lines
    assert starts(lines, "failure  gpu: no NVIDIA GPU is seen")


def test_a_daemon_that_is_not_there(doctor: Doctor, tmp_path: Path) -> None:
    if not shutil.which("docker"):
        pytest.skip("no docker here: apt-get install docker.io")
    lines = doctor(in_container("docker"), "--offline", code=1, DOCKER_HOST=f"unix://{tmp_path}/none.sock")
    line = starts(lines, "failure  engine: `docker` cannot be used: ")
    assert line.endswith("; start it, or let this account use it")
    assert "daemon" in line


def test_a_store_that_cannot_be_used(doctor: Doctor, tmp_path: Path) -> None:
    if not shutil.which("podman"):
        pytest.skip("no podman here: apt-get install podman")
    storage = tmp_path / "storage.conf"
    storage.write_text('[storage]\ndriver = "no_such_driver"\n')
    lines = doctor(in_container("podman"), "--offline", code=1, CONTAINERS_STORAGE_CONF=str(storage))
    assert starts(lines, "failure  engine: `podman` cannot be used: ").endswith(
        "; start it, or let this account use it"
    )


def test_a_real_engine_with_its_image(doctor: Doctor, engine: Engine) -> None:
    lines = doctor(in_container(engine.name, 'gpus = "none"'), "--offline", code=0, **engine.environment)
    assert starts(lines, f"ok       engine: {engine.name} ")
    assert f"ok       image: {IMAGE}" in lines
    assert 'skipped  gpu: left out: the target\'s gpus is "none"' in lines
    assert engine.names(running=False) == []


def test_a_real_engine_without_its_image(doctor: Doctor, engine: Engine) -> None:
    image = "localhost/overbrainer-not-there:1"
    config = in_container(engine.name, 'gpus = "none"', image=image)
    lines = doctor(config, "--offline", code=0, **engine.environment)
    assert (
        f"warning  image: {image} is not there: the first run pulls it, often more than 10 GB; "
        f"`{engine.name} pull {image}` on the target"
    ) in lines


def test_gpus_of_a_real_engine(doctor: Doctor, engine: Engine, program: Program) -> None:
    lines = doctor(in_container(engine.name), "--offline", code=1, **engine.environment)
    assert (
        'failure  gpu: no NVIDIA GPU is seen; look at `nvidia-smi` there, or set the target\'s gpus to "none"' in lines
    )
    own = program("nvidia-smi", SMI.format(count=1, driver="580.65.06", cuda="13.0"))
    path = f"{own}:{os.environ['PATH']}"
    lines = doctor(in_container(engine.name), "--offline", code=0, PATH=path, **engine.environment)
    assert "ok       gpu: NVIDIA H200, 151 GB, driver 580.65.06 (CUDA 13.0)" in lines
    if not any(map(shutil.which, ("nvidia-container-runtime-hook", "nvidia-container-cli", "nvidia-ctk"))):
        assert starts(lines, "warning  gpu: no NVIDIA container toolkit is seen").endswith("on the target")
    program("nvidia-ctk", "exit 0")
    lines = doctor(in_container(engine.name, 'gpus = "0,3"'), "--offline", code=1, PATH=path, **engine.environment)
    assert "failure  gpu: the target asks for GPU 3, but 0 is there; correct its gpus" in lines
    assert not [line for line in lines if "toolkit" in line]


def test_a_project_that_no_engine_can_mount(
    engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = in_container(engine.name, 'gpus = "none"')
    root = write_project(tmp_path / "a:b", training=config, base_url="demo:")
    for name, text in engine.environment.items():
        monkeypatch.setenv(name, text)
    assert run(["-C", str(root), "doctor", "--offline"]) == 1
    assert "holds a colon" in starts(capsys.readouterr().out.splitlines(), "failure  targets.box: ")


# Machines behind SSH


def remote(runtime: str, *lines: str, client: str = "builtin") -> str:
    return TRAINING.format(kind="ssh", runtime=runtime, lines="\n".join([f'ssh_client = "{client}"', *lines]))


@pytest.fixture
def server(tmp_path: Path, bare: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sshd]:
    """A real machine behind SSH that has the tools of a plain system."""
    server = Sshd(tmp_path / "server")
    server.configure("")
    server.variables = {"PATH": bare}
    server.start()
    monkeypatch.setenv("HOME", str(server.client_home))
    yield server
    server.stop()


def test_a_host_that_is_not_set(doctor: Doctor) -> None:
    line = starts(doctor(remote("native"), code=1), "failure  targets.box: ")
    assert "targets.box.host is not set: set OVERBRAINER_TARGETS__BOX__HOST" in line


def test_offline_no_machine_is_asked(doctor: Doctor) -> None:
    lines = doctor(remote("native"), "--offline", code=0, **{HOST: "nobody@192.0.2.1"})
    assert "skipped  targets.box: left out: it needs the network" in lines


def test_a_client_that_is_not_installed(doctor: Doctor, bare: str) -> None:
    lines = doctor(remote("native", client="openssh"), code=1, PATH=bare, **{HOST: "nobody@127.0.0.1"})
    assert "ssh" in starts(lines, "failure  targets.box: ")


@needs_sshd
def test_a_machine_that_does_not_answer(doctor: Doctor, server: Sshd) -> None:
    server.stop()
    line = starts(doctor(remote("native"), code=1, **{HOST: server.destination}), "failure  targets.box: ")
    assert "refused" in line
    assert line.endswith("; look at targets.box.host and the SSH set-up")


@needs_sshd
def test_a_machine_that_is_another_one(doctor: Doctor, server: Sshd, tmp_path: Path) -> None:
    server.trust(make_key(tmp_path / "other_host"))
    line = starts(doctor(remote("native"), code=1, **{HOST: server.destination}), "failure  targets.box: ")
    assert "host key" in line


@needs_sshd
def test_a_machine_that_lets_nobody_in(doctor: Doctor, server: Sshd, tmp_path: Path) -> None:
    server.authorize(make_key(tmp_path / "somebody_else"))
    line = starts(doctor(remote("native"), code=1, **{HOST: server.destination}), "failure  targets.box: ")
    assert "denied" in line.lower() or "authentication" in line.lower()


@needs_sshd
def test_a_machine_that_lacks_what_a_job_needs(doctor: Doctor, server: Sshd, bare: str) -> None:
    for name in ("setsid", "tar"):
        (Path(bare) / name).unlink()
    lines = doctor(remote("native", 'workdir = "/proc/nothing"'), code=1, **{HOST: server.destination})
    assert "failure  targets.box: it has no tar, setsid; install what is missing there" in lines
    assert "failure  trainer: `axolotl` is not on PATH; install Axolotl there, or set targets.box.venv" in lines
    assert not [line for line in lines if line.startswith("failure  targets.box: look")]


@needs_sshd
def test_an_engine_and_gpus_of_another_machine(doctor: Doctor, server: Sshd, bare: str, program: Program) -> None:
    own = program("nvidia-smi", SMI.format(count=8, driver="580.65.06", cuda="13.0"))
    (Path(bare) / "nvidia-smi").symlink_to(own / "nvidia-smi")
    lines = doctor(remote("docker"), code=1, **{HOST: server.destination})
    assert "failure  engine: `docker` is not on PATH; install it, or set targets.box.runtime to native" in lines
    assert "ok       gpu: 8 x NVIDIA H200, 151 GB, driver 580.65.06 (CUDA 13.0)" in lines
    assert sorted(path.name for path in server.remote_home.iterdir()) == sorted(
        {Path(name).parts[0] for name in (".bashrc", ".profile", ".bash_profile", ".cshrc", ".config/fish")}
    )
