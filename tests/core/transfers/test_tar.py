"""Archives: what is kept, what is refused, what a torn or hostile one does."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import IO, cast

import pytest

from overbrainer_core.errors import describe
from overbrainer_core.transfers.manifest import build_manifest
from overbrainer_core.transfers.tar import TruncatedArchiveError, extract_archive, write_archive
from overbrainer_core.transfers.tree import TransferError


class Dribble:
    """A stream that gives a few bytes at a time."""

    def __init__(self, content: bytes, step: int = 700) -> None:
        self._rest = io.BytesIO(content)
        self._step = step

    def read(self, size: int, /) -> bytes:
        """At most `step` bytes."""
        return self._rest.read(min(size, self._step))


def member(
    name: str, *, kind: bytes = tarfile.REGTYPE, content: bytes = b"", link: str = ""
) -> tuple[tarfile.TarInfo, bytes]:
    """A member for `archive`."""
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = link
    info.size = len(content)
    return info, content


def archive(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    """An archive of these members, whatever they are."""
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as made:
        for info, content in members:
            made.addfile(info, io.BytesIO(content))
    return sink.getvalue()


def written(directory: Path, *entries: str, exclude: tuple[str, ...] = ()) -> bytes:
    """What `write_archive` makes of the entries."""
    sink = io.BytesIO()
    write_archive(sink, directory, entries, exclude)
    return sink.getvalue()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A directory with names, modes and links of all kinds."""
    source = tmp_path / "source"
    (source / "output" / "sub").mkdir(parents=True)
    (source / "output" / "empty").mkdir(mode=0o700)
    for name in ("a\\b.txt", "two\nlines", "-rf", "  spaced  ", "ü" * 60 + "long" * 30, os.fsdecode(b"bad\xff")):
        (source / "output" / name).write_bytes(os.fsencode(name))
    (source / "output" / "sub" / "run.sh").write_text("x")
    (source / "output" / "sub" / "run.sh").chmod(0o4755)
    (source / "output" / "latest").symlink_to("sub")
    (source / "output" / "sub" / "up").symlink_to("../-rf")
    os.link(source / "output" / "-rf", source / "output" / "sub" / "hard")
    os.mkfifo(source / "output" / "fifo")
    return source


def test_a_tree_arrives_as_it_is(tree: Path, tmp_path: Path) -> None:
    here = tmp_path / "here"
    extract_archive(Dribble(written(tree, "output")), here)
    names = {path.relative_to(tree) for path in tree.rglob("*")} - {Path("output/fifo")}
    assert {path.relative_to(here) for path in here.rglob("*")} == names
    assert (here / "output" / "sub" / "run.sh").stat().st_mode & 0o7777 == 0o755
    assert (here / "output" / "empty").stat().st_mode & 0o777 == 0o700
    assert os.readlink(here / "output" / "latest") == "sub"
    assert os.readlink(here / "output" / "sub" / "up") == "../-rf"
    assert (here / "output" / "sub" / "hard").samefile(here / "output" / "-rf")
    assert (here / "output" / "sub" / "run.sh").stat().st_mtime == int((tree / "output/sub/run.sh").stat().st_mtime)


@pytest.mark.parametrize("program", ["tar", "busybox"])
def test_our_archives_are_read_by_other_programs_and_theirs_by_us(program: str, tree: Path, tmp_path: Path) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"no {program} here")
    (tree / "output" / os.fsdecode(b"bad\xff")).unlink()
    command = ["busybox", "tar"] if program == "busybox" else ["tar"]
    (tmp_path / "theirs").mkdir()
    subprocess.run([*command, "-xf", "-"], input=written(tree, "output"), cwd=tmp_path / "theirs", check=True)
    assert build_manifest(tmp_path / "theirs", ["."]) == build_manifest(tree, ["."])
    (tree / "output" / "fifo").unlink()
    made = subprocess.run([*command, "-cf", "-", "output"], cwd=tree, check=True, capture_output=True).stdout
    extract_archive(Dribble(made), tmp_path / "ours")
    assert build_manifest(tmp_path / "ours", ["."]) == build_manifest(tree, ["."])


def test_an_empty_stream_and_an_archive_of_nothing_make_no_directory(tmp_path: Path) -> None:
    extract_archive(io.BytesIO(b""), tmp_path / "here")
    extract_archive(io.BytesIO(archive()), tmp_path / "here")
    assert not (tmp_path / "here").exists()


@pytest.mark.parametrize(
    ("hostile", "named"),
    [
        ([member("../../.ssh/authorized_keys", content=b"x")], "../../.ssh/authorized_keys"),
        ([member("/etc/cron.d/x", content=b"x")], "/etc/cron.d/x"),
        ([member("a/../../x", content=b"x")], "a/../../x"),
        (
            [member("m", kind=tarfile.SYMTYPE, link="/workspace/hf-cache/blob"), member("m/file", content=b"x")],
            "m/file",
        ),
        ([member("m", kind=tarfile.SYMTYPE, link="."), member("m/file", content=b"x")], "m/file"),
        ([member("h", kind=tarfile.LNKTYPE, link="../run.json")], "../run.json"),
        ([member("h", kind=tarfile.LNKTYPE, link="run.json")], "h"),
        (
            [
                member("l", kind=tarfile.SYMTYPE, link="../x"),
                member("h", kind=tarfile.LNKTYPE, link="l"),
                member("h", content=b"x"),
            ],
            "h",
        ),
        ([member("dev", kind=tarfile.CHRTYPE)], "dev"),
        ([member("fifo", kind=tarfile.FIFOTYPE)], "fifo"),
    ],
)
def test_a_hostile_member_is_named_and_nothing_is_written_outside(
    hostile: list[tuple[tarfile.TarInfo, bytes]], named: str, tmp_path: Path
) -> None:
    (tmp_path / "run.json").write_text("{}")
    here = tmp_path / "a" / "here"
    with pytest.raises(TransferError) as caught:
        extract_archive(io.BytesIO(archive(*hostile)), here)
    assert f'refusing "{named}" of the archive' in str(caught.value)
    outside = [path for path in tmp_path.rglob("*") if here not in path.parents and path not in (here, here.parent)]
    assert outside == [tmp_path / "run.json"]
    assert (tmp_path / "run.json").read_text() == "{}"


@pytest.mark.parametrize("target", ["/workspace/hf-cache/blob", "../outside", "sub/../../outside", "a/..", "../../x"])
def test_a_link_that_points_outside_is_left_out_and_the_rest_arrives(
    target: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    content = archive(
        member("output/model", content=b"m"),
        member("latest", kind=tarfile.SYMTYPE, link=target),
        member("after", content=b"a"),
    )
    extract_archive(io.BytesIO(content), tmp_path / "here")
    assert (tmp_path / "here" / "after").read_text() == "a"
    assert not (tmp_path / "here" / "latest").is_symlink()
    assert "left out the link latest" in caplog.text


def test_a_file_named_twice_comes_as_a_link_to_itself_and_stays(tmp_path: Path) -> None:
    twice = archive((member("f", content=b"x")), (member("f", kind=tarfile.LNKTYPE, link="./f")))
    extract_archive(io.BytesIO(twice), tmp_path / "here")
    assert (tmp_path / "here" / "f").read_bytes() == b"x"


def test_what_stands_there_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (tmp_path / "precious").write_text("p")
    (here / "link").symlink_to("../precious")
    os.link(tmp_path / "precious", here / "hard")
    content = archive(member("link", content=b"new"), member("hard", content=b"new"))
    extract_archive(io.BytesIO(content), here)
    assert (tmp_path / "precious").read_text() == "p"
    assert (here / "link").read_text() == (here / "hard").read_text() == "new"


def test_a_read_only_directory_still_takes_its_files(tmp_path: Path) -> None:
    info, _ = member("sub", kind=tarfile.DIRTYPE)
    info.mode = 0o500
    extract_archive(io.BytesIO(archive((info, b""), member("sub/x", content=b"x"))), tmp_path / "here")
    assert (tmp_path / "here" / "sub" / "x").read_text() == "x"


def test_holes_stay_holes(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    with open(source / "sparse", "wb") as handle:
        handle.truncate(64 << 20)
        handle.seek(32 << 20)
        handle.write(b"data")
    extract_archive(io.BytesIO(written(source, "sparse")), tmp_path / "here")
    copied = tmp_path / "here" / "sparse"
    assert copied.stat().st_size == 64 << 20
    assert copied.stat().st_blocks * 512 < 8 << 20
    assert build_manifest(tmp_path / "here", ["."]) == build_manifest(source, ["."])


@pytest.mark.parametrize("kept", [100, 512, 700, 1024, 5000, 9000])
def test_a_torn_archive_is_an_error(kept: int, tmp_path: Path) -> None:
    content = archive(member("a", content=b"x" * 4000), member("b", content=b"y" * 4000))
    with pytest.raises(TransferError):
        extract_archive(Dribble(content[:kept]), tmp_path / "here")


def test_a_torn_archive_between_two_members_is_an_error(tmp_path: Path) -> None:
    content = archive(member("a", content=b"x" * 512), member("b", content=b"y"))
    with pytest.raises(TruncatedArchiveError, match=r"^extract failed: the archive ended in its middle$"):
        extract_archive(io.BytesIO(content[:1024]), tmp_path / "here")


def test_text_is_no_archive(tmp_path: Path) -> None:
    with pytest.raises(TransferError, match=r"^extract failed: "):
        extract_archive(io.BytesIO(b"Welcome to the cluster\n" * 100), tmp_path / "here")
    assert not (tmp_path / "here").exists()


def test_a_failed_write_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "here" / "x").mkdir(parents=True)
    with pytest.raises(TransferError, match=r"^extract failed: cannot write .*/here/x$"):
        extract_archive(io.BytesIO(archive(member("x", content=b"x"))), tmp_path / "here")


def test_exclusions_leave_names_out_at_any_depth(tree: Path) -> None:
    (tree / "output" / "sub" / "checkpoint-4").mkdir()
    with tarfile.open(fileobj=io.BytesIO(written(tree, "output", exclude=("checkpoint-*", "-*")))) as made:
        names = made.getnames()
    assert "output/sub/checkpoint-4" not in names
    assert "output/-rf" not in names
    assert "output/sub/run.sh" in names


class Sink(io.RawIOBase):
    """A sink that takes a part of what it is given, and counts."""

    def __init__(self) -> None:
        self.content = b""
        self.sizes: list[int] = []

    def write(self, block: bytes) -> int:  # type: ignore[override]  # only bytes are written
        """Take a part of the block."""
        taken = max(len(block) * 2 // 3, 1)
        self.content += block[:taken]
        self.sizes.append(len(block))
        return taken


def test_a_sink_that_takes_a_part_gets_the_rest_and_small_files_come_in_large_blocks(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for number in range(600):
        (source / f"{number:03}").write_bytes(b"x" * number)
    sink = Sink()
    write_archive(cast("IO[bytes]", sink), source, ["."])
    assert sum(size > 1 << 17 for size in sink.sizes) >= 2
    assert len(sink.sizes) < 60
    extract_archive(io.BytesIO(sink.content), tmp_path / "here")
    assert build_manifest(tmp_path / "here", ["."]) == build_manifest(source, ["."])


def test_a_file_that_loses_its_end_while_it_is_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(bytes(1 << 20))

    def shorten() -> None:
        os.truncate(path, 10)

    with pytest.raises(TransferError, match=r"^archive failed: cannot read .*/log$") as caught:
        write_archive(io.BytesIO(), tmp_path, ["log"], check=shorten)
    assert "it became shorter" in describe(caught.value)


@pytest.mark.parametrize("size", [0, 1, 511, 512, 513, (1 << 18) - 512, 1 << 18, (1 << 18) + 1, 3 << 18])
def test_any_size_arrives_whole(size: int, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(os.urandom(size))
    extract_archive(Dribble(written(tmp_path, "f"), step=100_000), tmp_path / "here")
    assert (tmp_path / "here" / "f").read_bytes() == (tmp_path / "f").read_bytes()
