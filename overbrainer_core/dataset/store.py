"""How are the dataset's files read, appended to and rewritten so that a crash loses at most the line being written?

Files are bytes split on `\\n`. A last line that was torn by a crash is skipped with a warning; any other bad line is an
error with its number, nothing is repaired in silence. Appending writes each record with one call, before anybody is
told that it is there; a rewrite replaces the file as a whole.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Generic, TypeVar

from overbrainer_core.dataset import wire
from overbrainer_core.dataset.records import Example, Question, Record, Rejected, RejectedSubtopic, Subtopic
from overbrainer_core.errors import ProjectFileError
from overbrainer_core.files import FileAccessError, UnsafePathError

_log = logging.getLogger("overbrainer.dataset")
_BOM = b"\xef\xbb\xbf"
_READ_SIZE = 1 << 20
"""Bytes of the read buffer."""
_TAIL_STEP = 65536
"""Bytes read at a time when the start of a last line is looked for."""

R = TypeVar("R")


class InvalidRecordError(ProjectFileError):
    """A line of a data file is no record of it; the cause tells why without the content."""

    def __init__(self, path: Path, line: int) -> None:
        self.path = path
        self.line = line
        super().__init__(f"{path}:{line}: invalid record")


@dataclass(frozen=True, slots=True, kw_only=True)
class LineProblem:
    """A line that a tolerant reading left out."""

    path: Path
    line: int
    reason: str


def read_subtopics(path: Path) -> list[Subtopic]:
    """The stored subtopics in file order; none when the file is missing."""
    return _read(path, wire.SUBTOPICS)


def read_questions(path: Path) -> list[Question]:
    """The stored questions in file order; none when the file is missing."""
    return _read(path, wire.QUESTIONS)


def read_answers(path: Path) -> list[Example]:
    """The examples of `answers.jsonl`, `train.jsonl` or `eval.jsonl` in file order; none when it is missing."""
    return _read(path, wire.EXAMPLES)


def read_rejected(path: Path) -> list[Rejected]:
    """What a person deleted, in file order; none when the file is missing."""
    return _read(path, wire.REJECTED)


def each_answer(path: Path) -> Iterator[Example]:
    """The examples one by one, strictly like `read_answers`: the file is never held as a whole."""
    return _each(path, wire.EXAMPLES)


def _read(path: Path, codec: wire.LineCodec[R]) -> list[R]:
    return list(_each(path, codec))


def _each(path: Path, codec: wire.LineCodec[R]) -> Iterator[R]:
    return (record for _, record in each_numbered(path, codec))


def each_numbered(path: Path, codec: wire.LineCodec[R]) -> Iterator[tuple[int, R]]:
    """Every record of a file with the number of its line.

    Raises:
        InvalidRecordError: a line is none.
        FileAccessError: the file cannot be read.
    """
    for number, line, is_torn in data_lines(path):
        if is_torn:
            _log.warning("%s: the last line is torn and is left out", path)
            continue
        try:
            record = codec.decode(line)
        except wire.InvalidLineError as error:
            raise InvalidRecordError(path, number) from error
        yield number, record


def scan(path: Path, decode: Callable[[bytes], R]) -> tuple[list[R], list[LineProblem]]:
    """Every record that can be read, and the lines that cannot: for views, which hide a bad line and nothing else.

    Raises:
        FileAccessError: the file cannot be read.
    """
    found: list[R] = []
    problems: list[LineProblem] = []
    for entry in scan_each(path, decode):
        if isinstance(entry, LineProblem):
            problems.append(entry)
        else:
            found.append(entry)
    return found, problems


def scan_each(path: Path, decode: Callable[[bytes], R]) -> Iterator[R | LineProblem]:
    """What `scan` finds, line by line: the file is never held as a whole."""
    for number, line, is_torn in data_lines(path):
        if is_torn:
            yield LineProblem(path=path, line=number, reason="torn by a crash")
            continue
        try:
            entry = decode(line)
        except wire.InvalidLineError as error:
            yield LineProblem(path=path, line=number, reason=str(error))
        else:
            yield entry


def data_lines(path: Path) -> Iterator[tuple[int, bytes, bool]]:
    """Number, bytes without the line feed and "is torn" of each line that is not blank; nothing when it is missing.

    Raises:
        FileAccessError: the file cannot be read.
    """
    try:
        with _open_regular(path) as handle:
            for number, raw in enumerate(handle, start=1):
                is_ended = raw.endswith(b"\n")
                line = raw[:-1] if is_ended else raw
                if line.strip(b" \t\r\x0b\x0c"):
                    yield number, line, not is_ended and _is_torn(line)
    except FileNotFoundError:
        return
    except OSError as error:
        raise FileAccessError(path) from error


def _open_regular(path: Path) -> BinaryIO:
    """The opened file; a device, a FIFO or a directory is refused, not read for ever."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return open(descriptor, "rb", buffering=_READ_SIZE)
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    raise UnsafePathError(path, what="file")


def _is_torn(line: bytes) -> bool:
    return not line.startswith(_BOM) and not wire.is_complete_json(line)


def encode_line(record: Record) -> bytes:
    """The line of a record, its line feed included."""
    match record:
        case Example():
            return wire.EXAMPLES.encode(record)
        case Question():
            return wire.QUESTIONS.encode(record)
        case Subtopic():
            return wire.SUBTOPICS.encode(record)
        case RejectedSubtopic():
            return wire.REJECTED.encode(record)
        case _:
            return wire.REJECTED.encode(record)


class Appender(Generic[R]):
    """Adds records to one file, each with one write; the file is created when it is opened.

    Opening ends a last line that lost only its line feed, and cuts one that was torn.

    Raises:
        FileAccessError: the file cannot be opened or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = self._open()
        except OSError as error:
            raise FileAccessError(path) from error
        try:
            _mend_tail(self._descriptor)
        except OSError as error:
            self.close()
            raise FileAccessError(path) from error

    def append(self, record: R) -> None:
        """Write the record's line; it is with the operating system when this returns, or no part of it is."""
        line = encode_line(record)  # type: ignore[arg-type]
        try:
            size = self._find_file()
            try:
                _write_all(self._descriptor, line)
            except OSError:
                with suppress(OSError):  # a device has no end to cut
                    os.ftruncate(self._descriptor, size)  # a full disk took a part of the line
                raise
        except OSError as error:
            raise FileAccessError(self.path) from error

    def _find_file(self) -> int:
        """The size of the file at the path; one that was deleted or replaced since is gone on with as it is now."""
        opened = os.fstat(self._descriptor)
        try:
            found: os.stat_result | None = os.stat(self.path)
        except FileNotFoundError:
            found = None
        if found is not None and (found.st_dev, found.st_ino) == (opened.st_dev, opened.st_ino):
            return opened.st_size
        _log.warning("%s was deleted or replaced while it was written; going on in the new file", self.path)
        self.path.parent.mkdir(exist_ok=True)
        descriptor = self._open()
        os.close(self._descriptor)
        self._descriptor = descriptor
        _mend_tail(descriptor)
        return os.fstat(descriptor).st_size

    def _open(self) -> int:
        return os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)

    def close(self) -> None:
        """Close the file; repeating it does nothing."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)

    def __enter__(self) -> Appender[R]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _write_all(descriptor: int, line: bytes) -> None:
    written = os.write(descriptor, line)
    while written < len(line):
        written += os.write(descriptor, line[written:])


def _mend_tail(descriptor: int) -> None:
    """End or cut a last line that has no line feed."""
    size = os.fstat(descriptor).st_size
    if size == 0 or os.pread(descriptor, 1, size - 1) == b"\n":
        return
    tail = b""
    start = size
    while start > 0 and b"\n" not in tail:
        step = min(_TAIL_STEP, start)
        start -= step
        tail = os.pread(descriptor, step, start) + tail
    last_line = tail.rsplit(b"\n", 1)[-1]
    if wire.is_complete_json(last_line):
        _write_all(descriptor, b"\n")
    else:
        os.ftruncate(descriptor, size - len(last_line))


def rewrite(path: Path, records: Iterable[Record]) -> None:
    """Replace the file by these records, in constant memory; none gives an empty file.

    Raises:
        FileAccessError: it cannot be written; the old content stays.
    """
    rewrite_lines(path, map(encode_line, records))


def rewrite_lines(path: Path, lines: Iterable[bytes]) -> None:
    """`rewrite` with lines that are encoded already; a failure of whatever gives them leaves the old content too."""
    scratch = path.with_name(f".{path.name}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(scratch, "wb", opener=without_links) as handle:
            handle.writelines(lines)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(scratch, path)
    except OSError as error:
        raise FileAccessError(path) from error
    finally:
        with suppress(OSError):  # gone after the rename; a directory in its place is not ours
            scratch.unlink(missing_ok=True)


def without_links(name: str, flags: int) -> int:
    """An opener for `open` that refuses a link in the file's place."""
    return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
