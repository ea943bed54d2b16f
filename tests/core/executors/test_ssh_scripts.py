"""The marks around a script, and the answers of a target."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from overbrainer_core.executors.errors import CommandError, ProtocolError
from overbrainer_core.executors.ssh_scripts import (
    COMMAND,
    MarkedScript,
    download_script,
    has_only_changed_files,
    manifest_script,
    new_mark,
    parse_launched,
    parse_remote_manifest,
    parse_workdir,
)

LOGIN_SHELLS = [
    pytest.param(name, marks=pytest.mark.skipif(not shutil.which(name), reason=f"no {name} here"))
    for name in ("sh", "bash", "dash", "fish", "tcsh")
]


def login(shell: str, script: str, *, stdin: bytes = b"", home: Path) -> tuple[MarkedScript, bytes, bytes]:
    """What a server does with a command: the login shell runs it; its output and errors."""
    marked = MarkedScript(script=script)
    done = subprocess.run(
        [shell, "-c", COMMAND],
        input=marked.line() + stdin,
        capture_output=True,
        check=True,
        timeout=15,
        env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
    )
    return marked, done.stdout, done.stderr


@pytest.mark.parametrize("shell", LOGIN_SHELLS)
def test_every_login_shell_runs_a_script_byte_for_byte(shell: str, tmp_path: Path) -> None:
    script = "set -- 'it'\\''s\\here' 'a\\\\b' '!x' '%s\\n'\nprintf '%s|' \"$@\"\ncat # a comment"
    marked, stdout, stderr = login(shell, script, stdin=b"\\raw\n!`'\"", home=tmp_path)
    assert stdout.partition(marked.start)[2] == b"it's\\here|a\\\\b|!x|%s\\n|\\raw\n!`'\""
    assert marked.read_stderr(stderr) == (0, b"")


@pytest.mark.parametrize("shell", LOGIN_SHELLS)
def test_the_exit_status_and_the_errors_are_the_scripts_own(shell: str, tmp_path: Path) -> None:
    marked, _, stderr = login(shell, "echo oops >&2\nexit 7", home=tmp_path)
    assert marked.read_stderr(b"noise before\n" + stderr) == (7, b"oops\n")


def test_a_script_that_was_cut_has_no_status() -> None:
    marked = MarkedScript(script="true")
    assert marked.read_stderr(b"noise\n" + marked.start + b"half an err") == (None, b"half an err")
    assert marked.read_stderr(b"no mark at all") == (None, b"no mark at all")


def test_no_two_marks_are_equal() -> None:
    assert len({new_mark() for _ in range(100)}) == 100


def test_the_command_means_the_same_in_every_shell() -> None:
    assert not set("\\!\n") & set(COMMAND)
    assert COMMAND.count("'") == 2


@pytest.mark.parametrize(("answer", "path"), [(b"/srv/work\n", "/srv/work"), (b"/srv/it's \\x\n", "/srv/it's \\x")])
def test_a_work_directory_is_read(answer: bytes, path: str) -> None:
    assert parse_workdir(answer) == path


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"Welcome\x1b[0m\n", 'the work directory resolved to "Welcome\\u{1b}[0m"'),
        (b"", 'the work directory resolved to ""'),
        (b"/srv/\xff\n", "the work directory /srv/\\xff is not valid UTF-8"),
    ],
)
def test_another_work_directory_is_refused(answer: bytes, words: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        parse_workdir(answer)
    assert str(caught.value) == f"unexpected answer from the target: {words}"


def test_a_start_without_an_answer_reads_as_started_or_not() -> None:
    assert parse_launched(b"4321\n") == 4321
    assert parse_launched(b"none\n") is None
    with pytest.raises(ProtocolError):
        parse_launched(b"")


def test_a_file_listed_twice_counts_once() -> None:
    record = b"A" * 64 + b" ./output/x\0"
    assert [entry.path for entry in parse_remote_manifest(record * 2)] == ["output/x"]


@pytest.mark.parametrize("record", [b"xyz ./a\0", b"a" * 63 + b" ./a\0", b"a" * 64 + b" ./a", b"Welcome\n"])
def test_another_manifest_is_refused(record: bytes) -> None:
    with pytest.raises(ProtocolError, match="unexpected manifest record"):
        parse_remote_manifest(record)


@pytest.mark.parametrize("entry", ["/etc/passwd", "../x", "a/../../x", ".."])
def test_an_entry_outside_the_directory_is_refused(entry: str) -> None:
    with pytest.raises(CommandError, match="is outside the directory"):
        manifest_script("/run", [entry], [])
    with pytest.raises(CommandError, match="is outside the directory"):
        download_script("/run", [entry], [])


@pytest.mark.parametrize(
    ("stderr", "only"),
    [
        (b"tar: output/adapter.bin: file changed as we read it\n", True),
        (b"tar: ./a: File removed before we read it\n\ntar: b: file changed as we read it\n", True),
        (b"tar: ./a: Cannot open: Permission denied\n", False),
        (b"tar: ./a: file changed as we read it\ntar: ./b: Cannot open: Permission denied\n", False),
        (b"", False),
    ],
)
def test_only_files_that_changed_are_told_from_real_failures(stderr: bytes, only: bool) -> None:
    assert has_only_changed_files(stderr) is only
