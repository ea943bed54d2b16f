"""Directories over a real sshd and back: odd names, hostile archives, failing and dying tars, cut connections."""

from __future__ import annotations

import asyncio
import io
import logging
import os
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from overbrainer_core.errors import describe
from overbrainer_core.executors.errors import AccessError, CommandError, ExecutorError, ProtocolError, SshError
from overbrainer_core.executors.ssh import SshExecutor
from overbrainer_core.transfers.manifest import VerifyError, build_manifest, compare_manifests
from tests.peers.sshd import needs_sshd

SshDesk = Any

pytestmark = needs_sshd

ODD_NAMES = ("a\\b.txt", "two\nlines", "-rf", "  spaced  ", 'quo"te', "it's", "ä", "n" * 200)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A run directory with odd names, an executable, links and an empty directory."""
    tree = tmp_path / "tree"
    for number, name in enumerate(ODD_NAMES):
        (tree / "output").mkdir(parents=True, exist_ok=True)
        (tree / "output" / name).write_bytes(os.urandom(1000 * number))
    (tree / "output" / "checkpoint-3").mkdir()
    (tree / "output" / "checkpoint-3" / "big").write_bytes(os.urandom(3_000_000))
    (tree / "output" / "latest").symlink_to("checkpoint-3")
    (tree / "output" / "script.sh").write_text("#!/bin/sh\n")
    (tree / "output" / "script.sh").chmod(0o755)
    os.link(tree / "output" / "script.sh", tree / "output" / "twin.sh")
    (tree / "empty").mkdir()
    (tree / "ssh").mkdir()
    (tree / "ssh" / "id_ed25519").write_text("private")
    (tree / "pod.json").write_text("{}")
    return tree


class FakeTar:
    """Stands in the target's PATH before the real tar."""

    def __init__(self, lab: SshDesk, tmp_path: Path) -> None:
        self._lab = lab
        self._tools = tmp_path / "tools"
        self._tools.mkdir()

    def does(self, script: str) -> None:
        """Let it do this from now on; `tar` in the script is the real one."""
        text = f'#!/bin/sh\ncase " $* " in *" --help "*) exec /bin/tar --help ;; esac\n{script}\n'
        (self._tools / "tar").write_text(text.replace("tar ", "/bin/tar ") if "real" in script else text)
        (self._tools / "tar").chmod(0o755)
        self._lab.server.variables["PATH"] = f"{self._tools}:{os.environ['PATH']}"
        self._lab.server.restart()


@pytest.fixture
def fake_tar(lab: SshDesk, tmp_path: Path) -> FakeTar:
    """A tar on the target that does what a test says."""
    return FakeTar(lab, tmp_path)


async def test_a_directory_arrives_as_it_is_and_comes_back(
    lab: SshDesk, client: str, tree: Path, tmp_path: Path
) -> None:
    executor = await lab.connect(client)
    remote = f"{executor.workdir}/it's a 'run'"
    await executor.upload(tree, remote, skip=("ssh", "pod.json"))
    there = Path(remote)
    assert build_manifest(there, ["."]) == build_manifest(tree, ["output"])
    assert sorted(file.name for file in there.iterdir()) == ["empty", "output"]
    assert (there / "output" / "script.sh").stat().st_mode & 0o777 == 0o755
    assert os.readlink(there / "output" / "latest") == "checkpoint-3"
    listed = await executor.manifest(remote, ["output", "missing"])
    assert listed == build_manifest(tree, ["output"])
    await executor.download(remote, tmp_path / "back", ["output", "missing"])
    compare_manifests(listed, build_manifest(tmp_path / "back", ["output"]))
    assert (tmp_path / "back" / "output" / "latest").is_symlink()


async def test_what_is_named_twice_arrives_once(lab: SshDesk, client: str, tree: Path, tmp_path: Path) -> None:
    executor = await lab.connect(client)
    await executor.upload(tree, f"{executor.workdir}/run")
    entries = ["output", "output/script.sh", "output/", "./output/checkpoint-3"]
    listed = await executor.manifest(f"{executor.workdir}/run", entries)
    await executor.download(f"{executor.workdir}/run", tmp_path / "back", entries)
    arrived = build_manifest(tmp_path / "back", ["output"])
    compare_manifests(listed, arrived)
    assert arrived == build_manifest(tree, ["output"])


async def test_excluded_names_stay_there(lab: SshDesk, client: str, tree: Path, tmp_path: Path) -> None:
    executor = await lab.connect(client)
    await executor.upload(tree, f"{executor.workdir}/run")
    exclude = ["checkpoint-*"]
    listed = await executor.manifest(f"{executor.workdir}/run", ["output"], exclude=exclude)
    await executor.download(f"{executor.workdir}/run", tmp_path / "back", ["output"], exclude=exclude)
    compare_manifests(listed, build_manifest(tmp_path / "back", ["output"]))
    assert not (tmp_path / "back" / "output" / "checkpoint-3").exists()


async def test_a_name_that_is_not_text_is_one_clear_error(lab: SshDesk, client: str) -> None:
    executor = await lab.connect(client)
    Path(os.fsdecode(os.fsencode(executor.workdir) + b"/bad\xff")).write_bytes(b"x")
    with pytest.raises(ProtocolError, match=r'the file name "bad\\xff" is not valid UTF-8'):
        await executor.manifest(executor.workdir, ["."])


async def test_a_sparse_file_verifies(lab: SshDesk, client: str, tmp_path: Path) -> None:
    executor = await lab.connect(client)
    with open(f"{executor.workdir}/sparse", "wb") as file:
        file.seek(30_000_000)
        file.write(b"x" * 1000)
    listed = await executor.manifest(executor.workdir, ["sparse"])
    await executor.download(executor.workdir, tmp_path / "back", ["sparse"])
    compare_manifests(listed, build_manifest(tmp_path / "back", ["."]))
    assert (tmp_path / "back" / "sparse").stat().st_blocks * 512 < 10_000_000


async def test_without_any_entry_nothing_is_made_here(lab: SshDesk, client: str, tmp_path: Path) -> None:
    executor = await lab.connect(client)
    await executor.download(executor.workdir, tmp_path / "back", ["output", "metrics.jsonl"])
    assert not (tmp_path / "back").exists()
    assert await executor.manifest(executor.workdir, ["output"]) == ()


async def test_a_missing_directory_is_an_error(lab: SshDesk, client: str, tmp_path: Path) -> None:
    executor = await lab.connect(client)
    gone = f"{executor.workdir}/gone"
    with pytest.raises(CommandError) as caught:
        await executor.download(gone, tmp_path / "back", ["output"])
    assert str(caught.value) == f"download failed: {gone} does not exist"
    with pytest.raises(CommandError) as caught:
        await executor.manifest(gone, ["output"])
    assert str(caught.value) == f"manifest failed: {gone} does not exist"
    assert not (tmp_path / "back").exists()


async def test_nothing_to_send_still_makes_the_directory(lab: SshDesk, client: str, tmp_path: Path) -> None:
    (tmp_path / "local" / "ssh").mkdir(parents=True)
    executor = await lab.connect(client)
    await executor.upload(tmp_path / "local", f"{executor.workdir}/a/b", skip=("ssh",))
    assert list(Path(executor.workdir, "a", "b").iterdir()) == []


async def test_a_local_directory_that_cannot_be_listed_is_told_first(lab: SshDesk, tmp_path: Path) -> None:
    executor = await lab.connect("builtin")
    with pytest.raises(AccessError, match="cannot access"):
        await executor.upload(tmp_path / "none", f"{executor.workdir}/run")
    assert not Path(executor.workdir, "run").exists()


async def test_a_receiver_that_fails_tells_its_own_error(
    lab: SshDesk, client: str, tree: Path, fake_tar: FakeTar
) -> None:
    fake_tar.does("echo 'tar: x: Cannot write: No space left on device' >&2; exit 2")
    executor = await lab.connect(client)
    with pytest.raises(CommandError) as caught:
        await executor.upload(tree, f"{executor.workdir}/run")
    assert str(caught.value) == "upload failed: tar: x: Cannot write: No space left on device"


async def test_a_receiver_that_is_killed_is_told(lab: SshDesk, client: str, tree: Path, fake_tar: FakeTar) -> None:
    fake_tar.does("kill -9 $$")
    executor = await lab.connect(client)
    with pytest.raises(CommandError, match=r"upload failed: (terminated by signal 9|Killed|sh: )"):
        await executor.upload(tree, f"{executor.workdir}/run")


async def test_thousands_of_warnings_do_not_stall_a_copy(
    lab: SshDesk, client: str, tree: Path, tmp_path: Path, fake_tar: FakeTar
) -> None:
    fake_tar.does(
        ": real\ni=0; while [ $i -lt 20000 ]; do i=$((i+1)); "
        "echo 'warning: a rather long line about nothing at all, again and again'; done >&2; exec tar \"$@\""
    )
    executor = await lab.connect(client)
    await executor.upload(tree, f"{executor.workdir}/run")
    await executor.download(f"{executor.workdir}/run", tmp_path / "back", ["output"])
    assert build_manifest(tmp_path / "back", ["output"]) == build_manifest(tree, ["output"])


async def test_a_file_that_changed_is_left_to_the_hashes(
    lab: SshDesk, client: str, tmp_path: Path, fake_tar: FakeTar, caplog: pytest.LogCaptureFixture
) -> None:
    fake_tar.does(
        ": real\nprintf changed >output/f; tar \"$@\"; echo 'tar: ./output/f: file changed as we read it' >&2; exit 1"
    )
    executor = await lab.connect(client)
    Path(executor.workdir, "output").mkdir()
    Path(executor.workdir, "output", "f").write_text("before ")
    listed = await executor.manifest(executor.workdir, ["output"])
    await executor.download(executor.workdir, tmp_path / "back", ["output"])
    assert "file changed as we read it" in caplog.text
    with pytest.raises(VerifyError, match="SHA-256 mismatch"):
        compare_manifests(listed, build_manifest(tmp_path / "back", ["output"]))


@pytest.mark.parametrize("status", [1, 2])
async def test_a_tar_that_cannot_read_is_an_error(lab: SshDesk, tmp_path: Path, fake_tar: FakeTar, status: int) -> None:
    fake_tar.does(f": real\ntar \"$@\"; echo 'tar: ./output/f: Cannot open: Permission denied' >&2; exit {status}")
    executor = await lab.connect("builtin")
    Path(executor.workdir, "output").mkdir()
    with pytest.raises(CommandError) as caught:
        await executor.download(executor.workdir, tmp_path / "back", ["output"])
    assert str(caught.value) == "download failed: tar: ./output/f: Cannot open: Permission denied"


def archive(*members: tarfile.TarInfo) -> bytes:
    """An archive with these members, empty ones."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as made:
        for member in members:
            made.addfile(member)
    return content.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    """A member of an archive."""
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, link
    return made


HOSTILE = {
    "../../.ssh/authorized_keys": [member("../../.ssh/authorized_keys")],
    "/etc/cron.d/x": [member("/etc/cron.d/x")],
    "m/file": [member("m", tarfile.SYMTYPE, "/tmp"), member("m/file")],
    "twin": [member("twin", tarfile.LNKTYPE, "../run.json")],
    "dev": [member("dev", tarfile.CHRTYPE)],
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_archive_is_refused_by_the_name_of_its_member(
    lab: SshDesk, name: str, tmp_path: Path, fake_tar: FakeTar
) -> None:
    (tmp_path / "hostile.tar").write_bytes(archive(member("fine"), *HOSTILE[name]))
    fake_tar.does(f"cat {tmp_path}/hostile.tar")
    executor = await lab.connect("builtin")
    Path(executor.workdir, "output").mkdir()
    before = {file for file in tmp_path.rglob("*") if "remote_home" not in file.parts}
    with pytest.raises(CommandError, match="extract failed: refusing") as caught:
        await executor.download(executor.workdir, tmp_path / "back", ["output"])
    named = "../run.json" if name == "twin" else name
    assert f'"{named}"' in str(caught.value)
    after = {file for file in tmp_path.rglob("*") if "remote_home" not in file.parts}
    assert {file.name for file in after - before} <= {"back", "fine", "m"}


async def test_an_absolute_link_alone_is_left_out(lab: SshDesk, tmp_path: Path, fake_tar: FakeTar) -> None:
    (tmp_path / "links.tar").write_bytes(archive(member("blob", tarfile.SYMTYPE, "/workspace/x"), member("f")))
    fake_tar.does(f"cat {tmp_path}/links.tar")
    executor = await lab.connect("builtin")
    Path(executor.workdir, "output").mkdir()
    await executor.download(executor.workdir, tmp_path / "back", ["output"])
    assert [file.name for file in (tmp_path / "back").iterdir()] == ["f"]


async def test_an_archive_that_stops_with_success_is_torn(lab: SshDesk, tmp_path: Path, fake_tar: FakeTar) -> None:
    (tmp_path / "torn.tar").write_bytes(archive(member("f"))[:700])
    fake_tar.does(f"cat {tmp_path}/torn.tar")
    executor = await lab.connect("builtin")
    Path(executor.workdir, "output").mkdir()
    with pytest.raises(CommandError, match="extract failed: the archive ended in its middle"):
        await executor.download(executor.workdir, tmp_path / "back", ["output"])


async def test_a_local_failure_of_extraction_is_told_and_ends_the_sender(
    lab: SshDesk, client: str, tree: Path, tmp_path: Path
) -> None:
    executor = await lab.connect(client)
    await executor.upload(tree, f"{executor.workdir}/run")
    (tmp_path / "back").write_text("a file")
    with pytest.raises(CommandError, match="extract failed: cannot write"):
        await executor.download(f"{executor.workdir}/run", tmp_path / "back", ["output"])


async def test_a_cut_download_fails_and_is_repeated_as_a_whole(
    lab: SshDesk, client: str, tmp_path: Path, fake_tar: FakeTar
) -> None:
    fake_tar.does(': real\n[ -e cut ] || { touch cut; printf half; sleep 30; }\nexec tar "$@"')
    executor = await lab.connect(client)
    Path(executor.workdir, "output").mkdir()
    Path(executor.workdir, "output", "f").write_text("whole")
    with pytest.raises(SshError) as caught:
        await cut_during(lab, executor.download(executor.workdir, tmp_path / "back", ["output"]), executor)
    assert f"127.0.0.1:{lab.server.port}" in describe(caught.value)
    assert not (tmp_path / "back" / "output").exists()
    await executor.download(executor.workdir, tmp_path / "back", ["output"])
    assert (tmp_path / "back" / "output" / "f").read_text() == "whole"


async def test_a_cut_upload_fails_and_is_repeated_as_a_whole(
    lab: SshDesk, client: str, tree: Path, fake_tar: FakeTar
) -> None:
    fake_tar.does(': real\n[ -e ../cut ] || { touch ../cut; sleep 30; }\nexec tar "$@"')
    executor = await lab.connect(client)
    with pytest.raises(SshError):
        await cut_during(lab, executor.upload(tree, f"{executor.workdir}/run"), executor)
    await executor.upload(tree, f"{executor.workdir}/run")
    assert build_manifest(Path(executor.workdir, "run"), ["."]) == build_manifest(tree, ["."])


async def test_a_cut_manifest_is_no_empty_one(lab: SshDesk, client: str, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "sha256sum").write_text("#!/bin/sh\ntouch ../cut cut\nsleep 30\n")
    (tools / "sha256sum").chmod(0o755)
    lab.server.variables["PATH"] = f"{tools}:{os.environ['PATH']}"
    lab.server.restart()
    executor = await lab.connect(client)
    Path(executor.workdir, "f").write_text("x")
    with pytest.raises(SshError):
        await cut_during(lab, executor.manifest(executor.workdir, ["."]), executor)


async def cut_during(lab: SshDesk, work: Any, executor: SshExecutor) -> None:
    """Run an operation and kill its connection once it made `cut` in the work directory."""

    async def cut() -> None:
        while not Path(executor.workdir, "cut").exists():
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.1)
        assert lab.server.cut() > 0

    async with asyncio.timeout(15), asyncio.TaskGroup() as group:
        group.create_task(cut())
        failure: ExecutorError | None = None
        try:
            await work
        except ExecutorError as error:
            failure = error
    if failure is not None:
        raise failure


async def test_a_cancelled_transfer_ends_soon_and_the_connection_goes_on(
    lab: SshDesk, client: str, tree: Path, fake_tar: FakeTar
) -> None:
    fake_tar.does("touch ../cut; sleep 30")
    executor = await lab.connect(client)
    (tree / "big").write_bytes(bytes(20_000_000))
    task = asyncio.get_running_loop().create_task(executor.upload(tree, f"{executor.workdir}/run"))
    while not Path(executor.workdir, "cut").exists():
        await asyncio.sleep(0.02)
    task.cancel()
    async with asyncio.timeout(5):
        await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    assert await executor.probe("echo fine") == b"fine\n"


async def test_a_long_transfer_tells_how_far_it_is(
    lab: SshDesk, tree: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lab.timing = replace(lab.timing, notice_s=0)
    caplog.set_level(logging.INFO, logger="overbrainer.ssh")
    executor = await lab.connect("builtin")
    await executor.upload(tree, f"{executor.workdir}/run")
    await executor.download(f"{executor.workdir}/run", tmp_path / "back", ["output"])
    lines = [record.message for record in caplog.records if "MB/s" in record.message]
    assert any(line.startswith("upload to target `lab`: ") and line.endswith(" s left") for line in lines)
    assert any(line.startswith("download from target `lab`: ") for line in lines)


@pytest.mark.parametrize("direction", ["upload", "download"])
async def test_a_transfer_that_moves_nothing_is_given_up(
    lab: SshDesk, client: str, tmp_path: Path, fake_tar: FakeTar, direction: str
) -> None:
    fake_tar.does("printf x; sleep 30")
    lab.timing = replace(lab.timing, stall_s=0.5)
    executor = await lab.connect(client)
    (tmp_path / "up").mkdir()
    (tmp_path / "up" / "big").write_bytes(bytes(30_000_000))
    Path(executor.workdir, "output").mkdir()
    async with asyncio.timeout(10):
        with pytest.raises(CommandError, match=rf"{direction} failed: nothing moved for 0\.5 s"):
            if direction == "upload":
                await executor.upload(tmp_path / "up", f"{executor.workdir}/run")
            else:
                await executor.download(executor.workdir, tmp_path / "back", ["output"])
    assert await executor.probe("echo fine") == b"fine\n"
