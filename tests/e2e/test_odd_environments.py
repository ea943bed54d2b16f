"""The program as a process where the shell, the terminal and the directory are not what a program expects."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.peers.program import AXOLOTL_TRAINING, environment, run, until, write_project, write_split
from tests.peers.trainer_double import make_venv

pytestmark = pytest.mark.timeout(90)

GOOD = """
line(event="begin", time=1.0, max_steps=1)
line(event="log", time=1.0, step=1, max_steps=1, loss=2.0, epoch=1.0)
os.makedirs("output", exist_ok=True)
open("output/adapter_config.json", "w").write("{}")
"""

WAITS = """
line(event="begin", time=1.0)
while not os.path.exists("go"):
    time.sleep(0.02)
"""


def project_at(root: Path, venv_parent: Path) -> Path:
    """A project that trains with a double of Axolotl, at this place."""
    venv = make_venv(venv_parent / "venv", GOOD)
    project = write_project(root, training=AXOLOTL_TRAINING.format(venv=venv))
    write_split(project)
    return project


def shell(script: str, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run a script whose `$OB` is the program."""
    words = f"{sys.executable} -m overbrainer_tui"
    return subprocess.run(
        ["/bin/sh", "-c", script, "sh", *arguments],
        capture_output=True,
        text=True,
        env=environment({"OB": words, **extra}),
        timeout=60,
        check=False,
    )


def states(project: Path) -> list[str]:
    """The recorded states."""
    return [str(json.loads(path.read_text())["state"]) for path in sorted((project / "runs").glob("*/run.json"))]


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "--events - 2>&-"])
def test_a_closed_standard_stream_changes_nothing(tmp_path: Path, closed: str) -> None:
    project = project_at(tmp_path / "p", tmp_path)
    done = shell(f'$OB -C "$1" train {closed}', str(project))
    assert done.returncode == 0, done.stderr
    assert states(project) == ["succeeded"]
    (log,) = (project / "runs").glob("*/job.log")
    assert log.read_text() == ""
    listing = shell(f'$OB -C "$1" runs ls {closed.replace("--events -", "")}', str(project))
    assert listing.returncode == 0
    assert listing.stderr == ""


@pytest.mark.parametrize(
    "prefix",
    ["env -u HOME", "env PATH=", "env -u PATH", "env -u TMPDIR", "env LC_ALL=C PYTHONIOENCODING=ascii PYTHONUTF8=0"],
)
def test_an_odd_environment_trains(tmp_path: Path, prefix: str) -> None:
    project = project_at(tmp_path / "p", tmp_path)
    done = shell(f'umask 077; {prefix} $OB -C "$1" train', str(project))
    assert done.returncode == 0, done.stderr
    assert states(project) == ["succeeded"]


NAMES = (
    "with space",
    'it\'s "quoted"',
    "$HOME `id` $(id)",
    "line\nfeed",
    "naïve 模型 🜁",
    "-dash",
    "back\\slash",
    "percent %s {x} [b]",
    "tab\tand\x1b[31m",
)


@pytest.mark.parametrize("name", NAMES, ids=[str(number) for number in range(len(NAMES))])
def test_an_odd_project_path_trains_and_is_listed(tmp_path: Path, name: str) -> None:
    project = project_at(tmp_path / name, tmp_path)
    done = run(project, "train")
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stderr + done.stdout
    assert states(project) == ["succeeded"]
    (record,) = [json.loads(path.read_text()) for path in (project / "runs").glob("*/run.json")]
    assert record["remote_dir"] == str(project / "runs" / record["id"])
    assert run(project, "train", "attach", record["id"]).returncode == 0


def test_a_very_long_project_path_trains(tmp_path: Path) -> None:
    root = tmp_path
    while len(str(root)) < 3500:
        root = root / ("d" * 200)
    root.mkdir(parents=True)
    project = project_at(root / "p", tmp_path)
    done = run(project, "train")
    assert done.returncode == 0, done.stderr
    assert states(project) == ["succeeded"]


def test_a_linked_project_and_a_relative_one_are_the_same_project(tmp_path: Path) -> None:
    project = project_at(tmp_path / "p", tmp_path)
    (tmp_path / "link").symlink_to(project)
    assert run(tmp_path / "link", "train").returncode == 0
    done = shell('cd "$1" && $OB -C p train', str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert states(project) == ["succeeded", "succeeded"]
    for path in (project / "runs").glob("*/run.json"):
        assert json.loads(path.read_text())["remote_dir"] == str(path.parent)


def test_a_working_directory_that_is_deleted_meanwhile_changes_nothing(tmp_path: Path) -> None:
    project = project_at(tmp_path / "p", tmp_path)
    gone = tmp_path / "gone"
    gone.mkdir()
    script = 'cd "$2" && rmdir "$2" && $OB -C "$1" train && $OB -C "$1" runs ls'
    done = shell(script, str(project), str(gone))
    assert done.returncode == 0, done.stderr
    assert states(project) == ["succeeded"]
    here = shell('cd "$1" && rmdir "$1" && $OB runs ls; $OB train', str(_made(tmp_path / "gone2")))
    assert here.returncode == 3
    assert "Traceback" not in here.stderr


def _made(path: Path) -> Path:
    path.mkdir()
    return path


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_following_detaches(tmp_path: Path, number: signal.Signals) -> None:
    venv = make_venv(tmp_path / "venv", WAITS + GOOD)
    project = write_project(tmp_path / "p", training=AXOLOTL_TRAINING.format(venv=venv))
    write_split(project)
    process = subprocess.Popen(
        [sys.executable, "-m", "overbrainer_tui", "-C", str(project), "train"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    until(lambda: any((project / "runs").glob("*/metrics.jsonl")) and states(project) == ["running"])
    process.send_signal(number)
    _, stderr = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "keeps running on target `local`" in stderr
    (run_dir,) = (project / "runs").iterdir()
    (run_dir / "go").touch()
    assert run(project, "train", "attach", run_dir.name).returncode == 0


def test_a_command_under_nohup_survives_the_hang_up(tmp_path: Path) -> None:
    project = project_at(tmp_path / "p", tmp_path)
    script = 'trap "" HUP; $OB -C "$1" train & sleep 0.5; kill -s HUP $!; wait $!'
    done = shell(script, str(project))
    assert done.returncode == 0, done.stderr
    assert states(project) == ["succeeded"]


def test_a_ctrl_c_while_the_program_loads_ends_it_without_a_word(tmp_path: Path) -> None:
    seen: set[int] = set()
    for delay_ms in range(0, 240, 15):
        process = subprocess.Popen(
            [sys.executable, "-c", _EARLY, str(tmp_path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment({"DELAY_S": str(delay_ms / 1000)}),
        )
        stdout, stderr = process.communicate(timeout=20)
        seen.add(process.returncode)
        assert "Traceback" not in stderr, stderr
        assert stdout == ""
    assert seen <= {-signal.SIGINT, 130, 0}


_EARLY = """
import os, signal, sys, threading
sys.argv = ["overbrainer", "-C", sys.argv[1], "runs", "ls"]
from overbrainer_tui import __main__
done = threading.Timer(float(os.environ["DELAY_S"]), os.kill, (os.getpid(), signal.SIGINT))
done.daemon = True
try:
    done.start()
except KeyboardInterrupt:  # before the program itself began
    sys.exit(130)
__main__.main()
"""
