"""The look at a machine, run for real under every shell."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from overbrainer_core.assets import job_scripts_dir
from overbrainer_core.system.probe import machine_script, parse_probe, split_parts
from overbrainer_core.values.sample import MachineSample
from tests.peers.shells import Shell, every_shell, run_script, shells_with_path

PARTS = [
    "gpu", "loadavg", "uptime", "stat", "meminfo", "memory.max", "memory.current", "cpu.max", "memory.stat", "cpu.stat",
    "memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat.v1", "cpu.cfs_quota_us", "cpu.cfs_period_us",
    "cpuacct.usage", "nproc", "df.run", "df.root",
]  # fmt: skip


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="no shellcheck here")
def test_the_script_is_clean() -> None:
    script = str(job_scripts_dir() / "probe" / "machine.sh")
    done = subprocess.run(["shellcheck", "-s", "sh", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def stub(directory: Path, name: str, body: str) -> None:
    """A program of this name that is found first."""
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(f"#!/bin/sh\n{body}\n")
    (directory / name).chmod(0o755)


def look(shell: Shell, directory: Path, *, programs: Path | None = None, only: bool = False) -> str:
    """The answer of the script, with these programs found first, or with nothing else."""
    path = os.environ["PATH"] if programs is None else f"{programs}:{os.environ['PATH']}"
    done = run_script(shell, machine_script(str(directory)), env={"PATH": str(programs) if only else path})
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def sample(answer: str) -> MachineSample:
    """The sample of an answer."""
    return parse_probe(answer.encode(), None, at=datetime(2026, 11, 2, tzinfo=UTC))[0]


@every_shell
def test_every_part_is_there_in_order(shell: Shell, tmp_path: Path) -> None:
    assert list(split_parts(look(shell, tmp_path).encode())) == PARTS


@every_shell
@pytest.mark.skipif(not Path("/proc/meminfo").exists(), reason="this system has no /proc")
def test_this_machine_is_told_as_it_is(shell: Shell, tmp_path: Path) -> None:
    directory = tmp_path / "it's a $(run)"
    directory.mkdir()
    seen = sample(look(shell, directory))
    usage = shutil.disk_usage(directory)
    assert seen.disks
    assert seen.disks[0].size_bytes == pytest.approx(usage.total, rel=0.01)
    assert seen.memory is not None
    assert 0 < seen.memory.used_bytes <= seen.memory.limit_bytes
    assert seen.cpu is not None
    assert seen.cpu.cpus is not None
    assert seen.cpu.load1 is not None


@every_shell
@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="this system has no /proc")
def test_two_looks_tell_the_use_of_the_cpus(shell: Shell, tmp_path: Path) -> None:
    moment = datetime(2026, 11, 2, tzinfo=UTC)
    _, state = parse_probe(look(shell, tmp_path).encode(), None, at=moment)
    time.sleep(0.05)
    second, _ = parse_probe(look(shell, tmp_path).encode(), state, at=moment)
    assert second.cpu is not None
    assert second.cpu.usage is not None
    assert 0 <= second.cpu.usage <= 1


@every_shell
def test_a_gpu_is_asked_for_with_the_known_question(shell: Shell, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    stub(programs, "nvidia-smi", f'printf "%s\\n" "$@" > {tmp_path}/asked; echo "0, NVIDIA A40, 5, 1, 2, 40, 50, 300"')
    seen = sample(look(shell, tmp_path, programs=programs))
    assert [gpu.name for gpu in seen.gpus] == ["NVIDIA A40"]
    assert (tmp_path / "asked").read_text().split() == [
        "--query-gpu=index,name,utilization.gpu,memory.used,memory.total,temperature.gpu,power.draw,power.limit",
        "--format=csv,noheader,nounits",
    ]


@every_shell
def test_an_nvidia_smi_killed_in_the_middle_of_a_line_spoils_no_other_part(shell: Shell, tmp_path: Path) -> None:
    stub(tmp_path / "bin", "nvidia-smi", "printf '0, NVIDIA A4'; exit 1")
    answer = look(shell, tmp_path, programs=tmp_path / "bin")
    assert list(split_parts(answer.encode())) == PARTS
    assert sample(answer).gpus == ()


@shells_with_path
def test_a_df_that_knows_no_types_is_asked_again_without(shell: Shell, tmp_path: Path) -> None:
    body = (
        f'echo "$*" >> {tmp_path}/asked\n'
        'case $1 in *T*) echo "df: unknown option" >&2; exit 1;; esac\n'
        'echo "Filesystem 1024-blocks Used Available Capacity Mounted on"\necho "/dev/sda1 100 40 55 43% /m"'
    )
    stub(tmp_path / "bin", "df", body)
    seen = sample(look(shell, tmp_path, programs=tmp_path / "bin"))
    assert [(disk.mount, disk.fs_type) for disk in seen.disks] == [("/m", None)]
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked == [f"-PkT {tmp_path}", f"-Pk {tmp_path}", "-PkT /", "-Pk /"]


@shells_with_path
@pytest.mark.parametrize("status", [124, 143])
def test_a_df_that_hung_is_not_asked_again(shell: Shell, status: int, tmp_path: Path) -> None:
    stub(tmp_path / "bin", "df", f'echo "$*" >> {tmp_path}/asked')
    stub(tmp_path / "bin", "timeout", f'echo "$*" >> {tmp_path}/guarded; shift; "$@"; exit {status}')
    assert sample(look(shell, tmp_path, programs=tmp_path / "bin")).disks == ()
    assert (tmp_path / "asked").read_text().splitlines() == [f"-PkT {tmp_path}", "-PkT /"]
    assert [line.split()[:2] for line in (tmp_path / "guarded").read_text().splitlines()] == [
        ["5", "nvidia-smi"],
        ["5", "df"],
        ["5", "df"],
    ]


@shells_with_path
def test_macos_is_asked_without_types(shell: Shell, tmp_path: Path) -> None:
    stub(tmp_path / "bin", "uname", "echo Darwin")
    stub(tmp_path / "bin", "df", f'echo "$*" >> {tmp_path}/asked')
    look(shell, tmp_path, programs=tmp_path / "bin")
    assert (tmp_path / "asked").read_text().splitlines() == [f"-Pk {tmp_path}", "-Pk /"]


def test_a_machine_with_almost_no_programs_still_answers(tmp_path: Path) -> None:
    dash = shutil.which("dash")
    if dash is None:
        pytest.skip("no dash here")
    (tmp_path / "bin").mkdir()
    answer = look((dash,), tmp_path, programs=tmp_path / "bin", only=True)
    assert list(split_parts(answer.encode())) == PARTS
    assert sample(answer) == MachineSample(at=datetime(2026, 11, 2, tzinfo=UTC))


@every_shell
def test_a_run_directory_that_is_gone_leaves_the_rest(shell: Shell, tmp_path: Path) -> None:
    seen = sample(look(shell, tmp_path / "gone"))
    assert [disk.mount for disk in seen.disks] == ["/"]
