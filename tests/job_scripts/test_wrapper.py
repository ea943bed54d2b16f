"""The detached-job protocol on the target, under every shell it may meet."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from overbrainer_core.assets import job_scripts_dir
from overbrainer_core.executors.scripts import CancelTiming, cancel_script, claim_script, job_wrapper, status_script
from overbrainer_core.values.job import Container, JobHandle
from tests.peers.shells import JobDesk, Shell, eventually, every_shell, is_running, run_script

QUICK = CancelTiming(container_stop_s=1, term_checks=4, kill_checks=160, check_s=0.05)
"""Short waits; the last one is long because some systems take their time to reap orphans."""

IMPATIENT = CancelTiming(container_stop_s=1, term_checks=2, kill_checks=2, check_s=0.05)
STAYS = "sleep 60"
STUBBORN = "trap '' TERM; while :; do sleep 0.1; done"


@pytest.fixture
def desk() -> Iterator[JobDesk]:
    """Starts jobs and ends them after the test."""
    desk = JobDesk()
    yield desk
    desk.close()


def handle(directory: Path, pid: int, container: Container | None = None) -> JobHandle:
    """The handle of a job."""
    return JobHandle(directory=str(directory), pid=pid, container=container)


def status(shell: Shell, directory: Path, pid: int) -> str:
    """What the status script answers."""
    done = run_script(shell, status_script(handle(directory, pid)))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.rstrip("\n")


def cancel(
    shell: Shell,
    directory: Path,
    pid: int,
    *,
    container: Container | None = None,
    path: Path | None = None,
    timing: CancelTiming = QUICK,
) -> subprocess.CompletedProcess[str]:
    """Run the cancel script with short waits."""
    env = {"PATH": f"{path}:{os.environ['PATH']}"} if path else None
    return run_script(shell, cancel_script(handle(directory, pid, container), timing), env=env)


def dead_pid() -> int:
    """The ID of a process that has ended and been reaped."""
    child = subprocess.Popen(["true"], start_new_session=True)
    child.wait()
    return child.pid


def fake_engine(directory: Path, *, body: str = "") -> Path:
    """A folder with a `docker` that writes its arguments to `calls` beside it."""
    directory.mkdir(parents=True, exist_ok=True)
    program = directory / "docker"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> {directory}/calls\n{body}\n')
    program.chmod(0o755)
    return directory


def calls(directory: Path) -> list[str]:
    """The arguments of each call of the engine so far."""
    path = directory / "calls"
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="no shellcheck here")
def test_the_scripts_are_clean_alone_and_as_they_are_put_together() -> None:
    folder = job_scripts_dir() / "wrapper"
    group = (folder / "group.sh").read_text()
    for script in sorted(folder.glob("*.sh")):
        text = script.read_text()
        # Put together, not every function of group.sh is used.
        for content, level in ((text, "style"), (f"{group}\n{text}", "warning")):
            command = ["shellcheck", "-s", "sh", "-S", level, "-"]
            done = subprocess.run(command, input=content, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{script.name}: {done.stdout}"


@every_shell
def test_a_job_leaves_its_id_its_start_and_its_exit_code(shell: Shell, tmp_path: Path, desk: JobDesk) -> None:
    child = desk.start(shell, tmp_path, "echo out; echo err >&2; exit 7")
    assert child.wait() == 7
    assert (tmp_path / "exit_code").read_text() == "7\n"
    assert (tmp_path / "job.pid").read_text() == f"{child.pid}\n"
    assert sorted((tmp_path / "job.log").read_text().split()) == ["err", "out"]
    assert not list(tmp_path.glob("*.tmp"))
    assert status(shell, tmp_path, child.pid) == "exited 7"


@every_shell
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system has no /proc")
def test_the_start_of_the_leader_is_its_boot_and_its_start_time(shell: Shell, tmp_path: Path, desk: JobDesk) -> None:
    child = desk.start(shell, tmp_path, STAYS)
    eventually((tmp_path / "job.start").exists)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    fields = Path(f"/proc/{child.pid}/stat").read_text().rsplit(")", 1)[1].split()
    assert (tmp_path / "job.start").read_text() == f"{boot} {fields[19]}\n"


@every_shell
@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("echo fine # a comment at the end", 0),
        ("cat <<END\nsome text\nEND", 0),
        ("exit 3 # the end", 3),
        ("cd / && echo 'it'\\''s \"quoted\" $((1 + 1))'; exit 4", 4),
        ("sh -c 'kill -9 $$'", 137),
        ("", 0),
        ("set -e; false; true", 1),
        ("exec sh -c 'exit 5'", 5),
    ],
)
def test_any_script_ends_with_its_code_recorded(
    shell: Shell, script: str, code: int, tmp_path: Path, desk: JobDesk
) -> None:
    child = desk.start(shell, tmp_path, script)
    assert child.wait() == code
    assert status(shell, tmp_path, child.pid) == f"exited {code}"


@every_shell
def test_a_script_with_a_syntax_error_is_a_failed_job_and_not_a_lost_one(
    shell: Shell, tmp_path: Path, desk: JobDesk
) -> None:
    child = desk.start(shell, tmp_path, "echo ( && fi")
    assert child.wait() != 0
    assert status(shell, tmp_path, child.pid) == f"exited {child.returncode}"


@every_shell
@pytest.mark.parametrize(
    ("files", "alive", "answer"),
    [
        ([], True, "running"),
        ([], False, "lost"),
        (["exit_code"], False, "exited 3"),
        (["exit_code"], True, "exited 3"),
        (["cancelled"], False, "cancelled"),
        (["cancelled"], True, "cancelled"),
        (["cancelled", "exit_code"], False, "cancelled"),
        (["cancelled", "exit_code", "cancelling"], True, "cancelled"),
        (["cancelling"], True, "running"),
        (["cancelling"], False, "cancelled"),
        (["cancelling", "exit_code"], True, "running"),
        (["cancelling", "exit_code"], False, "exited 3"),
    ],
)
def test_markers_and_life_decide_in_the_written_order(
    shell: Shell, files: list[str], alive: bool, answer: str, tmp_path: Path, desk: JobDesk
) -> None:
    pid = desk.start(shell, tmp_path, STAYS).pid if alive else dead_pid()
    for name in files:
        (tmp_path / name).write_text("3\n" if name == "exit_code" else "")
    assert status(shell, tmp_path, pid) == answer


@every_shell
def test_a_job_whose_cancel_still_goes_on_has_not_ended_by_itself(shell: Shell, tmp_path: Path, desk: JobDesk) -> None:
    if not Path("/proc/self/stat").exists():
        pytest.skip("this system has no /proc, by which a living cancel is known")
    run = tmp_path / "run"
    child = desk.start(shell, run, "while [ ! -e stopped ]; do sleep 0.05; done; exit 143")
    engine = fake_engine(tmp_path / "bin", body=f"touch {run}/stopped\nwhile [ ! -e {run}/go ]; do sleep 0.05; done")
    text = cancel_script(handle(run, child.pid, Container(engine="docker", name="c")), QUICK)
    running = subprocess.Popen([*shell, "-c", text], env={**os.environ, "PATH": f"{engine}:{os.environ['PATH']}"})
    child.wait()
    assert (run / "exit_code").read_text() == "143\n"
    assert status(shell, run, child.pid) == "running"
    (run / "go").touch()
    assert running.wait() == 0
    assert status(shell, run, child.pid) == "cancelled"


@every_shell
def test_a_cancel_that_was_killed_leaves_a_finished_job_its_exit_code(
    shell: Shell, tmp_path: Path, desk: JobDesk
) -> None:
    run = tmp_path / "run"
    child = desk.start(shell, run, "while [ ! -e stopped ]; do sleep 0.05; done; exit 143")
    engine = fake_engine(tmp_path / "bin", body=f"touch {run}/stopped\nsleep 1")
    text = cancel_script(handle(run, child.pid, Container(engine="docker", name="c")), QUICK)
    running = subprocess.Popen([*shell, "-c", text], env={**os.environ, "PATH": f"{engine}:{os.environ['PATH']}"})
    child.wait()
    running.kill()
    running.wait()
    assert status(shell, run, child.pid) == "exited 143"


@every_shell
@pytest.mark.parametrize("pid", ["0", "1", "-5", "", "abc", "007", "5 6"])
def test_a_wrong_process_id_is_refused_without_a_word_or_a_signal(shell: Shell, pid: str, tmp_path: Path) -> None:
    (tmp_path / "exit_code").write_text("0\n")
    for build in (status_script, cancel_script):
        text = build(handle(tmp_path, 99)).replace("'99'", f"'{pid}'", 1)
        done = run_script(shell, text)
        assert (done.returncode, done.stdout) == (1, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["exit_code"]


@every_shell
def test_a_killed_leader_whose_children_live_is_still_a_running_job(
    shell: Shell, tmp_path: Path, desk: JobDesk
) -> None:
    child = desk.start(shell, tmp_path, "sleep 60 & sleep 60; wait")
    eventually(lambda: len(group_members(child.pid)) >= 3)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert status(shell, tmp_path, child.pid) == "running"
    os.killpg(child.pid, signal.SIGKILL)
    eventually(lambda: status(shell, tmp_path, child.pid) == "lost")


def group_members(group: int) -> list[int]:
    """Processes of a group that are no zombies."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(int(path.parent.name))
    return found


@every_shell
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system has no /proc")
def test_a_recycled_process_id_is_neither_running_nor_signalled(shell: Shell, tmp_path: Path, desk: JobDesk) -> None:
    foreign = desk.start(shell, tmp_path / "foreign", STAYS)
    run = tmp_path / "run"
    run.mkdir()
    eventually((tmp_path / "foreign" / "job.start").exists)
    start = (tmp_path / "foreign" / "job.start").read_text()
    boot, ticks = start.split()
    (run / "job.start").write_text(f"{boot} {int(ticks) - 500}\n")
    assert status(shell, run, foreign.pid) == "lost"
    assert cancel(shell, run, foreign.pid).returncode == 0
    assert status(shell, run, foreign.pid) == "cancelled"
    assert is_running(foreign.pid)
    (run / "cancelled").unlink()
    (run / "cancelling").unlink()
    (run / "job.start").write_text(f"00000000-another-boot {ticks}\n")
    assert status(shell, run, foreign.pid) == "lost"
    (run / "job.start").write_text(start)
    assert status(shell, run, foreign.pid) == "running"


def removed(directory: Path) -> bool:
    """Remove a directory; whether that left nothing."""
    shutil.rmtree(directory, ignore_errors=True)
    return not directory.exists()


@every_shell
def test_a_removed_run_directory_is_lost_and_says_whether_the_group_lives(
    shell: Shell, tmp_path: Path, desk: JobDesk
) -> None:
    run = tmp_path / "run"
    child = desk.start(shell, run, STAYS)
    # the wrapper may be writing its first files meanwhile
    eventually(lambda: removed(run))
    assert status(shell, run, child.pid) == "lost group-alive"
    done = cancel(shell, run, child.pid)
    assert done.returncode == 1
    assert f"cannot enter {run}" in done.stderr
    assert f"process group {child.pid} is still alive" in done.stderr
    assert is_running(child.pid)
    assert status(shell, run, dead_pid()) == "lost"


@every_shell
def test_a_child_that_outlives_its_job_is_told_with_the_result(shell: Shell, tmp_path: Path, desk: JobDesk) -> None:
    child = desk.start(shell, tmp_path, "sleep 60 & exit 0")
    child.wait()
    assert status(shell, tmp_path, child.pid) == "exited 0 group-alive"


@every_shell
def test_a_cancel_ends_a_willing_job_at_once(shell: Shell, tmp_path: Path, desk: JobDesk) -> None:
    child = desk.start(shell, tmp_path, "sleep 60 & touch ready; sleep 60; wait")
    eventually((tmp_path / "ready").exists)
    running = subprocess.Popen([*shell, "-c", cancel_script(handle(tmp_path, child.pid), QUICK)])
    child.wait()
    assert running.wait() == 0
    assert status(shell, tmp_path, child.pid) == "cancelled"
    assert (tmp_path / "cancelled").read_bytes() == b""
    assert not (tmp_path / "exit_code").exists()
    assert not list(tmp_path.glob("*.tmp"))


@every_shell
def test_a_job_gets_the_polite_signal_once(shell: Shell, tmp_path: Path, desk: JobDesk) -> None:
    script = 'exec python3 -c \'\nimport signal, time\ndef note(*_):\n    open("notes", "a").write("term\\n")\n'
    script += 'signal.signal(signal.SIGTERM, note)\nopen("ready", "w").close()\nwhile True:\n    time.sleep(0.02)\n\''
    child = desk.start(shell, tmp_path, script)
    eventually((tmp_path / "ready").exists)
    running = subprocess.Popen([*shell, "-c", cancel_script(handle(tmp_path, child.pid), QUICK)])
    child.wait()
    assert running.wait() == 0
    assert (tmp_path / "notes").read_text() == "term\n"


@every_shell
def test_a_stubborn_job_reads_running_until_it_is_killed_and_never_lost(
    shell: Shell, tmp_path: Path, desk: JobDesk
) -> None:
    child = desk.start(shell, tmp_path, STUBBORN)
    os.kill(child.pid, signal.SIGSTOP)  # the leader itself would take SIGTERM
    running = subprocess.Popen([*shell, "-c", cancel_script(handle(tmp_path, child.pid), QUICK)])
    answers = set()
    while running.poll() is None:
        answers.add(status(shell, tmp_path, child.pid))
        child.poll()
    assert running.returncode == 0
    assert answers <= {"running", "cancelled"}
    assert status(shell, tmp_path, child.pid) == "cancelled"
    assert group_members(child.pid) == []


@every_shell
def test_a_cancel_of_a_finished_job_changes_and_signals_nothing(shell: Shell, tmp_path: Path, desk: JobDesk) -> None:
    child = desk.start(shell, tmp_path, "sleep 60 & exit 2")
    child.wait()
    before = sorted(path.name for path in tmp_path.iterdir())
    assert cancel(shell, tmp_path, child.pid).returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert group_members(child.pid) != []
    assert status(shell, tmp_path, child.pid).startswith("exited 2")


@every_shell
def test_a_second_cancel_does_nothing(shell: Shell, tmp_path: Path, desk: JobDesk) -> None:
    engine = fake_engine(tmp_path / "bin")
    container = Container(engine="docker", name="overbrainer-x")
    (tmp_path / "run").mkdir()
    for _ in range(2):
        done = cancel(shell, tmp_path / "run", dead_pid(), container=container, path=engine)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert calls(engine) == ["stop -t 1 overbrainer-x"]


@every_shell
def test_a_lost_job_still_gets_its_container_stopped(shell: Shell, tmp_path: Path) -> None:
    engine = fake_engine(tmp_path / "bin", body="echo noise; echo noise >&2; exit 1")
    (tmp_path / "run").mkdir()
    pid = dead_pid()
    assert status(shell, tmp_path / "run", pid) == "lost"
    name = "overbrainer-it's $(odd)"
    done = cancel(shell, tmp_path / "run", pid, container=Container(engine="docker", name=name), path=engine)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert calls(engine) == [f"stop -t 1 {name}"]
    assert status(shell, tmp_path / "run", pid) == "cancelled"


@every_shell
def test_the_container_of_a_killed_client_is_stopped_and_the_result_stays(shell: Shell, tmp_path: Path) -> None:
    engine = fake_engine(tmp_path / "bin")
    run = tmp_path / "run"
    run.mkdir()
    (run / "exit_code").write_text("137\n")
    pid = dead_pid()
    container = Container(engine="docker", name="overbrainer-x")
    assert cancel(shell, run, pid, container=container, path=engine).returncode == 0
    assert calls(engine) == ["stop -t 1 overbrainer-x"]
    assert status(shell, run, pid) == "exited 137"


@every_shell
def test_the_container_is_stopped_before_any_signal_and_the_cancel_wins_over_its_exit_code(
    shell: Shell, tmp_path: Path, desk: JobDesk
) -> None:
    run = tmp_path / "run"
    child = desk.start(shell, run, "while [ ! -e stopped ]; do sleep 0.05; done; exit 143")
    body = f"[ -e {run}/cancelling ] && touch {run}/stopped\nwhile [ ! -e {run}/exit_code ]; do sleep 0.05; done"
    engine = fake_engine(tmp_path / "bin", body=body)
    text = cancel_script(handle(run, child.pid, Container(engine="docker", name="c")), QUICK)
    running = subprocess.Popen([*shell, "-c", text], env={**os.environ, "PATH": f"{engine}:{os.environ['PATH']}"})
    child.wait()
    assert running.wait() == 0
    assert (run / "exit_code").read_text() == "143\n"
    assert status(shell, run, child.pid) == "cancelled"


@every_shell
def test_an_unreaped_leader_fails_the_cancel_which_names_the_group_and_may_be_repeated(
    shell: Shell, tmp_path: Path, desk: JobDesk
) -> None:
    child = desk.start(shell, tmp_path, STAYS)
    os.killpg(child.pid, signal.SIGKILL)
    eventually(lambda: group_members(child.pid) == [])
    done = cancel(shell, tmp_path, child.pid, timing=IMPATIENT)
    assert done.returncode == 1
    assert done.stderr.startswith(f"process group {child.pid} is still present after SIGKILL")
    assert "without being reaped" in done.stderr
    assert "can be tried again" in done.stderr
    assert (tmp_path / "cancelling").exists()
    assert not (tmp_path / "cancelled").exists()
    child.wait()
    assert cancel(shell, tmp_path, child.pid).returncode == 0
    assert status(shell, tmp_path, child.pid) == "cancelled"


@every_shell
@pytest.mark.parametrize("ending", ["finishes", "is killed", "is cancelled again"])
def test_a_cancel_killed_in_its_middle_leaves_the_truth(
    shell: Shell, ending: str, tmp_path: Path, desk: JobDesk
) -> None:
    run = tmp_path / "run"
    child = desk.start(shell, run, "while [ ! -e go ]; do sleep 0.05; done")
    engine = fake_engine(tmp_path / "bin", body="sleep 60")
    text = cancel_script(handle(run, child.pid, Container(engine="docker", name="c")), QUICK)
    env = {**os.environ, "PATH": f"{engine}:{os.environ['PATH']}"}
    running = subprocess.Popen([*shell, "-c", text], env=env, start_new_session=True)
    desk.watch_group(running.pid)
    eventually(lambda: calls(engine) != [])
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    assert status(shell, run, child.pid) == "running"
    if ending == "finishes":
        (run / "go").touch()
        assert child.wait() == 0
        assert status(shell, run, child.pid) == "exited 0"
    elif ending == "is killed":
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        eventually(lambda: status(shell, run, child.pid) == "cancelled")
    else:
        again = subprocess.Popen([*shell, "-c", cancel_script(handle(run, child.pid), QUICK)])
        child.wait()
        assert again.wait() == 0
        assert status(shell, run, child.pid) == "cancelled"


@every_shell
def test_a_cancel_that_cannot_write_its_marker_signals_nothing(shell: Shell, tmp_path: Path, desk: JobDesk) -> None:
    child = desk.start(shell, tmp_path, STAYS)
    (tmp_path / "cancelling.tmp").mkdir()
    done = cancel(shell, tmp_path, child.pid)
    assert (done.returncode, done.stderr) == (1, "cannot write cancelling in the run directory\n")
    assert is_running(child.pid)


@every_shell
def test_a_directory_is_claimed_once_and_again_by_its_owner(shell: Shell, tmp_path: Path) -> None:
    run = tmp_path / "it's a $(directory)" / "run"
    answers = [run_script(shell, claim_script(str(run), owner)).stdout for owner in ("0a", "0a", "0b")]
    assert answers == ["claimed\n", "claimed\n", "taken\n"]
    assert (run / ".claim").read_text() == "0a\n"


@every_shell
def test_of_many_claims_at_once_one_wins(shell: Shell, tmp_path: Path) -> None:
    running = [
        subprocess.Popen([*shell, "-c", claim_script(str(tmp_path / "run"), f"{n:016x}")], stdout=subprocess.PIPE)
        for n in range(8)
    ]
    answers = [child.communicate()[0] for child in running]
    assert answers.count(b"claimed\n") == 1
    assert answers.count(b"taken\n") == 7


@every_shell
def test_a_claim_that_cannot_be_made_fails_instead_of_reading_taken(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = run_script(shell, claim_script(str(tmp_path / "file" / "run"), "0a"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr


@every_shell
def test_the_wrapper_reads_no_variable_of_its_environment(shell: Shell, tmp_path: Path) -> None:
    odd = {"ob_code": "9", "ob_alive": "yes", "IFS": "0123456789"}
    done = run_script(shell, job_wrapper("exit 20"), cwd=tmp_path, env=odd)
    assert done.returncode == 20
    assert (tmp_path / "exit_code").read_text() == "20\n"
    done = run_script(shell, status_script(handle(tmp_path, dead_pid())), env=odd)
    assert done.stdout == "exited 20\n"
