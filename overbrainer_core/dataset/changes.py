"""What does an edit do to which lines, and how is all of it written or none?

An edit is planned on freshly read files as new records by line number, then written at once: lines that it does not
touch are copied byte for byte, and files that changed between the reading and the writing refuse it. A crash leaves a
rejection too many rather than a deleted item that comes back.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from overbrainer_core.dataset.records import Record, Rejected
from overbrainer_core.dataset.staging import StagedFiles, remove_leftovers
from overbrainer_core.dataset.store import data_lines, each_numbered, encode_line
from overbrainer_core.dataset.wire import LineCodec
from overbrainer_core.errors import ProjectFileError
from overbrainer_core.project.paths import ProjectPaths


class _HasId(Protocol):
    @property
    def id(self) -> str: ...


R = TypeVar("R", bound=_HasId)


class EditRefusedError(ProjectFileError):
    """An edit was not made and nothing was changed; `is_stale` when the dataset is not what the person saw."""

    def __init__(self, message: str, *, is_stale: bool = False) -> None:
        self.is_stale = is_stale
        super().__init__(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class EditOutcome:
    """What an edit did: a line that tells it, the ID its item has now (None when it is gone), and the counts.

    `questions` and `answers` were changed or removed with it, `rejected` are rejected questions that moved along;
    `needs_answers` tells that a question waits for the `answers` stage.
    """

    line: str
    id: str | None = None
    questions: int = 0
    answers: int = 0
    rejected: int = 0
    needs_answers: bool = False


class Changes:
    """New records by line number, None for a line that goes, and records to reject; the files are read after it."""

    def __init__(self, paths: ProjectPaths) -> None:
        self.paths = paths
        self.rejected: dict[int, Record | None] = {}
        self.subtopics: dict[int, Record | None] = {}
        self.questions: dict[int, Record | None] = {}
        self.answers: dict[int, Record | None] = {}
        self.to_reject: list[Rejected] = []
        self._stamps = self._take_stamps()

    @property
    def _files(self) -> tuple[tuple[Path, Mapping[int, Record | None]], ...]:
        """The files in the order they are renamed."""
        paths = self.paths
        return (
            (paths.rejected, self.rejected),
            (paths.subtopics, self.subtopics),
            (paths.questions, self.questions),
            (paths.answers, self.answers),
        )

    def _take_stamps(self) -> list[tuple[int, ...] | None]:
        return [_stamp(path) for path, _ in self._files]

    def write(self) -> None:
        """Write all changes, or none.

        Raises:
            EditRefusedError: a file changed since the changes were begun.
            FileAccessError: a file cannot be written.
        """
        remove_leftovers(path for path, _ in self._files)
        with StagedFiles() as files:
            for path, changed in self._files:
                if changed:
                    files.stage(path, _changed_lines(path, changed))
            if self.to_reject:
                files.append(self.paths.rejected, self.to_reject)
            if self._take_stamps() != self._stamps:
                raise EditRefusedError("the dataset changed on disk meanwhile", is_stale=True)
            files.commit()


def _stamp(path: Path) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _changed_lines(path: Path, changed: Mapping[int, Record | None]) -> Iterator[bytes]:
    for number, line, is_torn in data_lines(path):
        if number not in changed:
            if not is_torn:
                yield line + b"\n"
        elif (record := changed[number]) is not None:
            yield encode_line(record)


def matching(path: Path, codec: LineCodec[R], is_wanted: Callable[[R], bool]) -> dict[int, R]:
    """The records that are wanted, by the number of their line; every line of the file is checked."""
    return {number: record for number, record in each_numbered(path, codec) if is_wanted(record)}


def first_match(path: Path, codec: LineCodec[R], record_id: str, *, what: str) -> tuple[int, R]:
    """Line number and record of the first record with that ID.

    Raises:
        EditRefusedError: there is none any more.
    """
    found = matching(path, codec, lambda record: record.id == record_id)
    for number, record in found.items():
        return number, record
    raise EditRefusedError(f"the {what} is gone: the dataset changed meanwhile", is_stale=True)


def ids_among(path: Path, codec: LineCodec[R], ids: Container[str], *, besides: Container[int] = ()) -> set[str]:
    """Which of these IDs the records of a file have, the lines of these numbers left out."""
    return {record.id for number, record in each_numbered(path, codec) if record.id in ids and number not in besides}


def counted(count: int, noun: str) -> str:
    """A count with its noun.

    >>> counted(1, "question"), counted(0, "answer")
    ('1 question', '0 answers')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"
