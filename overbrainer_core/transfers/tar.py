"""How do files travel as one tar stream, and how does an archive of a machine that may lie do no harm?

Memory stays bounded, modes and hard links are kept, holes stay holes. Nothing is written outside the destination:
absolute names, `..`, devices, names that lead through a link of the same archive and hard links to files it did not
bring are refused, each named. A link that stays inside is kept, any other is left out with a warning.
"""

from __future__ import annotations

import io
import logging
import os
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Protocol, cast

from overbrainer_core.text import escape_controls
from overbrainer_core.transfers.tree import TransferError, TreeFile, walk_entries

_log = logging.getLogger("overbrainer.transfers")

_BLOCK_BYTES = 1 << 18
_ZEROS = bytes(_BLOCK_BYTES)


class ByteSource(Protocol):
    """What an archive is read from."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes, fewer at any time, none at the end."""
        ...


class TruncatedArchiveError(TransferError):
    """The stream ended before the archive did."""

    def __init__(self) -> None:
        super().__init__("extract", "the archive ended in its middle")


def write_archive(
    sink: IO[bytes],
    directory: Path,
    entries: Sequence[str],
    exclude: Sequence[str] = (),
    *,
    check: Callable[[], None] | None = None,
) -> None:
    """Write the entries as a tar archive: files, directories and links; anything else is left out. Blocking.

    Args:
        check: called between blocks; what it raises ends the work.

    Raises:
        TransferError: a file cannot be read.
        BrokenPipeError: the reader is gone.
    """
    writer = _BlockWriter(sink)
    # Only asked for the members' headers: it knows which names are hard links of one another.
    headers = tarfile.TarFile(fileobj=io.BytesIO(), mode="w", format=tarfile.GNU_FORMAT)
    for file in walk_entries(directory, entries, exclude):
        if file.is_regular or file.is_directory or file.is_link:
            _add(writer, headers, file, check=check)
    writer.put(bytes(2 * tarfile.BLOCKSIZE))
    writer.flush()


def _add(writer: _BlockWriter, headers: tarfile.TarFile, file: TreeFile, *, check: Callable[[], None] | None) -> None:
    try:
        member = headers.gettarinfo(file.path, arcname=file.name)
    except OSError as error:
        raise _unreadable(file) from error
    # The receiver owns what it gets, whoever owned it here.
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    if not member.isreg():
        writer.put(member.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape"))
        return
    try:
        descriptor = os.open(file.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _unreadable(file) from error
    with open(descriptor, "rb", buffering=0) as handle:
        writer.put(member.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape"))
        missing = member.size
        while missing > 0:
            block = _read_block(handle, min(missing, writer.room), file)
            missing -= len(block)
            writer.put(block)
            if check is not None:
                check()
        writer.put(bytes(-member.size % tarfile.BLOCKSIZE))


def _read_block(handle: IO[bytes], size: int, file: TreeFile) -> bytes:
    """At most `size` bytes; a file that lost its end meanwhile cannot be archived."""
    try:
        block = handle.read(size)
        if not block:
            raise OSError(5, "it became shorter while it was read")
    except OSError as error:
        raise _unreadable(file) from error
    return block


def _unreadable(file: TreeFile) -> TransferError:
    return TransferError("archive", f"cannot read {escape_controls(str(file.path))}")


class _BlockWriter:
    """Gives a sink large blocks, however small the parts are."""

    def __init__(self, sink: IO[bytes]) -> None:
        self._sink = sink
        self._parts: list[bytes] = []
        self._pending = 0

    @property
    def room(self) -> int:
        """Bytes missing to a whole block."""
        return _BLOCK_BYTES - self._pending

    def put(self, part: bytes) -> None:
        """Write the part, or keep it until there is a whole block."""
        self._parts.append(part)
        self._pending += len(part)
        if self._pending >= _BLOCK_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what was kept."""
        block = b"".join(self._parts)
        self._parts, self._pending = [], 0
        while block:
            block = block[self._sink.write(block) :]


class _CheckedReader:
    """Reads through to a file or stream, full blocks where there are any, and looks whether to go on."""

    def __init__(self, source: ByteSource, check: Callable[[], None] | None) -> None:
        self._source = source
        self._check = check
        self._end = b""

    @property
    def end(self) -> bytes:
        """The last bytes read, at most one block of an archive."""
        return self._end

    def read(self, size: int, /) -> bytes:
        """`size` bytes, fewer only at the end."""
        parts: list[bytes] = []
        missing = size
        while missing > 0 and (part := self._source.read(missing)):
            parts.append(part)
            missing -= len(part)
        if self._check is not None:
            self._check()
        content = b"".join(parts)
        self._end = (self._end + content[-tarfile.BLOCKSIZE :])[-tarfile.BLOCKSIZE :]
        return content


def extract_archive(source: ByteSource, destination: Path, *, check: Callable[[], None] | None = None) -> None:
    """Extract an archive into a directory, created with its first member; an empty stream is nothing. Blocking.

    Args:
        check: called between blocks; what it raises ends the work.

    Raises:
        TransferError: the archive is damaged, a member is refused, or something cannot be written.
    """
    reader = _CheckedReader(source, check)
    first = reader.read(tarfile.BLOCKSIZE)
    if not first:
        return
    extractor = _Extractor(destination)
    try:
        with tarfile.open(
            fileobj=cast("IO[bytes]", _Rejoined(first, reader)),  # only read is used
            mode="r|",
            bufsize=_BLOCK_BYTES,
            encoding="utf-8",
            errors="surrogateescape",
        ) as archive:
            while (member := archive.next()) is not None:
                extractor.take(archive, member)
    except tarfile.ReadError as error:
        raise (TruncatedArchiveError() if _is_truncated(reader) else _damaged()) from error
    except tarfile.TarError as error:
        raise _damaged() from error
    while reader.read(_BLOCK_BYTES):
        pass
    if _is_truncated(reader):
        raise TruncatedArchiveError
    extractor.finish()


def _is_truncated(reader: _CheckedReader) -> bool:
    """Whether a stream that was read to its end lacks the zero block that ends every archive."""
    return reader.end != bytes(tarfile.BLOCKSIZE)


def _damaged() -> TransferError:
    return TransferError("extract", "the stream is not a tar archive")


class _Rejoined:
    """A stream whose first bytes were read already."""

    def __init__(self, first: bytes, rest: ByteSource) -> None:
        self._first = first
        self._rest = rest

    def read(self, size: int, /) -> bytes:
        """`size` bytes, fewer only at the end."""
        head, self._first = self._first[:size], self._first[size:]
        return head + self._rest.read(size - len(head))


class _Extractor:
    """Writes members one by one; knows which names of the archive were links."""

    def __init__(self, destination: Path) -> None:
        self._destination = destination
        self._links: set[str] = set()
        self._files: set[str] = set()
        self._directory_modes: list[tuple[Path, int]] = []

    def take(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        """Write one member, or refuse the archive because of it."""
        name = self._safe_name(member.name)
        try:
            self._destination.mkdir(parents=True, exist_ok=True)
            if not name:
                return
            path = self._destination / name
            path.parent.mkdir(parents=True, exist_ok=True)
            self._write(archive, member, name=name, path=path)
        except (tarfile.TarError, TransferError):
            raise
        except OSError as error:
            raise TransferError("extract", f"cannot write {escape_controls(str(self._destination / name))}") from error

    def finish(self) -> None:
        """Give the directories that were made their modes, the innermost first."""
        for path, mode in reversed(self._directory_modes):
            path.chmod(mode)

    def _write(self, archive: tarfile.TarFile, member: tarfile.TarInfo, *, name: str, path: Path) -> None:
        if member.isdir():
            self._make_directory(member, path)
        elif member.issym():
            self._make_link(member, name=name, path=path)
        elif member.islnk():
            original = self._safe_name(member.linkname)
            if original == name and name in self._files:
                # What was named twice comes a second time as a link to itself.
                return
            if original not in self._files:
                raise _refused(member.name, "a link to a file that the archive did not bring")
            path.unlink(missing_ok=True)
            os.link(self._destination / original, path, follow_symlinks=False)
            self._files.add(name)
        elif member.isreg():
            self._write_file(archive, member, path)
            self._files.add(name)
        else:
            raise _refused(member.name, "neither a file nor a directory")

    def _safe_name(self, name: str) -> str:
        """The name without `.` parts and slashes at its end; the empty text for the destination itself."""
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if name.startswith("/") or ".." in parts:
            raise _refused(name, "it leads outside")
        for count in range(1, len(parts)):
            if "/".join(parts[:count]) in self._links:
                raise _refused(name, "it leads through a link")
        return "/".join(parts)

    def _make_directory(self, member: tarfile.TarInfo, path: Path) -> None:
        if path.is_symlink() or not path.is_dir():
            path.unlink(missing_ok=True)
            path.mkdir()
            self._directory_modes.append((path, member.mode & 0o777 | 0o700))

    def _make_link(self, member: tarfile.TarInfo, *, name: str, path: Path) -> None:
        self._links.add(name)
        self._files.discard(name)
        if _stays_inside(name, member.linkname):
            path.unlink(missing_ok=True)
            os.symlink(member.linkname, path)
        else:
            _log.warning("left out the link %s: it points outside", escape_controls(name))

    def _write_file(self, archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
        content = archive.extractfile(member)
        assert content is not None  # a regular member has a content
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb", buffering=0) as handle:
            while block := content.read(_BLOCK_BYTES):
                if block == _ZEROS[: len(block)]:
                    handle.seek(len(block), os.SEEK_CUR)
                else:
                    _write_all(handle, block)
            handle.truncate(member.size)
            os.fchmod(descriptor, member.mode & 0o777 | 0o600)
            os.utime(descriptor, (member.mtime, member.mtime))


def _stays_inside(name: str, target: str) -> bool:
    """Whether a link's target stays in the archive: relative, and its `..` parts lead up no further than its top.

    A `..` after a named part could leave through another link, so it counts as outside.
    """
    parts = [part for part in target.split("/") if part not in ("", ".")]
    up = 0
    while up < len(parts) and parts[up] == "..":
        up += 1
    return not target.startswith("/") and up <= name.count("/") and ".." not in parts[up:]


def _write_all(handle: IO[bytes], block: bytes) -> None:
    view = memoryview(block)
    while view:
        view = view[handle.write(view) :]


def _refused(name: str, why: str) -> TransferError:
    return TransferError("extract", f'refusing "{escape_controls(name)}" of the archive: {why}')
