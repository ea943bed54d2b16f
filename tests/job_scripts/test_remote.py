"""Scripts for a machine behind SSH, under every shell it may have."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

from overbrainer_core.executors.base import Spawn
from overbrainer_core.executors.errors import CommandError, ProtocolError
from overbrainer_core.executors.scripts import parse_pid
from overbrainer_core.executors.ssh_scripts import (
    download_script,
    launch_script,
    launched_script,
    manifest_script,
    parse_launched,
    parse_remote_manifest,
    parse_workdir,
    put_script,
    read_script,
    upload_script,
    workdir_script,
)
from overbrainer_core.transfers.manifest import build_manifest
from overbrainer_core.values.job import Secret
from tests.peers.shells import JobDesk, Shell, eventually, every_shell, is_running

ODD_NAMES = ("a\\b.txt", "two\nlines", "-rf", "  spaced  ", 'quo"te', "it's", "$HOME", "*")


def run(
    shell: Shell, script: str, *, stdin: bytes = b"", home: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a script with something on standard input; busybox uses its own tools."""
    return subprocess.run(
        [*shell, "-c", script],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=15,
        env={**os.environ, "HOME": str(home)} if home else None,
    )


@pytest.fixture
def desk() -> Iterator[JobDesk]:
    """Ends the groups that a test names."""
    desk = JobDesk()
    yield desk
    desk.close()


@every_shell
def test_the_work_directory_is_made_and_told(shell: Shell, tmp_path: Path) -> None:
    for given, expected in (("over brain", "over brain"), ("~/x", "x"), ("~", ""), ("it's\\here", "it's\\here")):
        done = run(shell, workdir_script(given), home=tmp_path)
        assert parse_workdir(done.stdout) == str((tmp_path / expected).resolve())
    assert run(shell, workdir_script(f"{tmp_path}/-x/y")).stdout == f"{tmp_path.resolve()}/-x/y\n".encode()


@every_shell
def test_a_job_is_launched_as_the_leader_of_its_own_session(shell: Shell, tmp_path: Path, desk: JobDesk) -> None:
    script = 'printf "%s,%s\\n" "$A" "$B"; sleep 30'
    job = Spawn(directory=str(tmp_path / "run"), script=script, secrets=(Secret("A", " x\\n'"), Secret("B", "")))
    done = run(shell, launch_script(job, "token"), stdin=b" x\\n'\n\nnot ours\n")
    pid = parse_pid(done.stdout)
    desk.watch_group(pid)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (os.getpgid(pid), os.getsid(pid)) == (pid, pid)
    assert (tmp_path / "run" / "job.pid").read_text() == f"{pid}\n"
    eventually(lambda: (tmp_path / "run" / "job.log").read_text() == " x\\n',\n")
    looked = run(shell, launched_script(job.directory, "token", looks=1, pause_s=0.1))
    assert parse_launched(looked.stdout) == pid
    other = run(shell, launched_script(job.directory, "other", looks=1, pause_s=0.1))
    assert parse_launched(other.stdout) is None
    assert is_running(pid)


@every_shell
def test_a_directory_that_is_not_there_launched_nothing(shell: Shell, tmp_path: Path) -> None:
    done = run(shell, launched_script(str(tmp_path / "none"), "token", looks=1, pause_s=0.1))
    assert parse_launched(done.stdout) is None


@every_shell
def test_a_secret_that_does_not_arrive_starts_nothing(shell: Shell, tmp_path: Path) -> None:
    job = Spawn(directory=str(tmp_path / "run"), script="true", secrets=(Secret("A", "a"), Secret("B", "b")))
    done = run(shell, launch_script(job, "token"), stdin=b"a\n")
    assert done.returncode == 1
    assert done.stderr == b"the secret for B did not arrive\n"
    assert not (tmp_path / "run").exists()


@every_shell
def test_a_part_of_a_file_is_read_byte_for_byte(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "it's \\ -file"
    path.write_bytes(bytes(range(256)))
    assert run(shell, read_script(str(path), 3, 5)).stdout == bytes(range(3, 8))
    assert run(shell, read_script(str(path), 0, 1000)).stdout == bytes(range(256))
    assert run(shell, read_script(str(path), 256, 10)).stdout == b""
    missing = run(shell, read_script(str(tmp_path / "none"), 0, 10))
    assert (missing.returncode, missing.stdout, missing.stderr) == (0, b"", b"")
    assert run(shell, read_script(str(tmp_path), 0, 10)).returncode == 1


@every_shell
def test_a_small_file_is_put_whole_or_not_at_all(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "a b" / "request"
    assert run(shell, put_script(str(path), "-n %s \\n 'x'\n")).returncode == 0
    assert path.read_text() == "-n %s \\n 'x'\n"
    (path.parent / "taken").mkdir()
    failed = run(shell, put_script(f"{path.parent}/taken", "text"))
    assert (failed.returncode, failed.stderr) == (1, f"{path.parent}/taken is a directory\n".encode())
    under_a_file = run(shell, put_script(f"{path}/below", "text"))
    assert under_a_file.returncode == 1
    assert sorted(file.name for file in path.parent.iterdir()) == ["request", "taken"]


@every_shell
def test_the_manifest_equals_the_one_made_here(shell: Shell, tmp_path: Path) -> None:
    for number, name in enumerate(ODD_NAMES):
        file = tmp_path / "output" / ("checkpoint-9" if number % 2 else "sub") / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(bytes([number]) * 1000)
    (tmp_path / "output" / "empty").write_bytes(b"")
    (tmp_path / "output" / "latest").symlink_to("sub")
    (tmp_path / "-top").write_bytes(b"x")
    for entries, exclude in (
        (["output", "-top", "missing"], []),
        (["output"], ["checkpoint-*"]),
        (["output", "output/sub", "./output/"], ["*.txt", "it's"]),
        (["."], ["out*"]),
    ):
        done = run(shell, manifest_script(str(tmp_path), entries, exclude))
        assert done.stderr == b""
        assert parse_remote_manifest(done.stdout) == build_manifest(tmp_path, entries, exclude)


@every_shell
def test_a_name_that_is_not_text_is_one_clear_error(shell: Shell, tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff")).write_bytes(b"x")
    done = run(shell, manifest_script(str(tmp_path), ["."], []))
    with pytest.raises(ProtocolError, match=r'the file name "bad\\xff" is not valid UTF-8'):
        parse_remote_manifest(done.stdout)


@every_shell
def test_a_file_that_cannot_be_read_is_named(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    script = manifest_script(str(tmp_path), ["."], []).replace("ob_sum=sha256sum", "ob_sum=false")
    with pytest.raises(CommandError, match="manifest failed: cannot read a"):
        parse_remote_manifest(run(shell, script).stdout)


@every_shell
def test_a_missing_directory_is_an_error(shell: Shell, tmp_path: Path) -> None:
    for script in (manifest_script(f"{tmp_path}/no", ["."], []), download_script(f"{tmp_path}/no", ["."], [])):
        done = run(shell, script)
        assert (done.returncode, done.stderr) == (1, f"{tmp_path}/no does not exist\n".encode())


@every_shell
def test_entries_travel_as_an_archive_without_what_is_excluded(shell: Shell, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target dir"
    for name in ODD_NAMES:
        (source / "output" / "checkpoint-3").mkdir(parents=True, exist_ok=True)
        (source / "output" / name).write_text(name)
    (source / "output" / "checkpoint-3" / "big").write_text("x")
    (source / "-top").write_text("x")
    sent = run(shell, download_script(str(source), ["output", "-top", "missing"], ["checkpoint-*"]))
    assert (sent.returncode, sent.stderr) == (0, b"")
    with tarfile.open(fileobj=BytesIO(sent.stdout)) as archive:
        names = {name.removeprefix("./") for name in archive.getnames()}
    assert names == {"output", "-top", *(f"output/{name}" for name in ODD_NAMES)}
    taken = run(shell, upload_script(str(target)), stdin=sent.stdout)
    assert (taken.returncode, taken.stderr) == (0, b"")
    assert build_manifest(target, ["."]) == build_manifest(source, ["."], ["checkpoint-*"])


@every_shell
def test_without_an_entry_nothing_is_written(shell: Shell, tmp_path: Path) -> None:
    done = run(shell, download_script(str(tmp_path), ["missing"], []))
    assert (done.returncode, done.stdout) == (0, b"")


def test_the_scripts_are_clean_for_shellcheck(repository: Path) -> None:
    if not shutil.which("shellcheck"):
        pytest.skip("no shellcheck here")
    scripts = sorted(map(str, (repository / "job_scripts" / "remote").glob("*.sh")))
    assert subprocess.run(["shellcheck", *scripts], capture_output=True, check=False).stdout == b""
