"""What brings a project of an older overbrainer up to date, and in which order is it written?

First everything is looked at, then the changes are made one after another, each told once it is done; the version
comes last, so that a migration that was cut off runs again and does what is left. A dry run makes the same list and
writes nothing but the lock.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from overbrainer_core.clock import rfc3339
from overbrainer_core.config.document import ConfigDocument, Edit, SetKey, TableRef, UnsetKey
from overbrainer_core.config.exchange import replace_config
from overbrainer_core.config.load import NO_PROJECT
from overbrainer_core.config.save import read_config_text
from overbrainer_core.dataset.store import each_answer
from overbrainer_core.errors import ConfigError, describe
from overbrainer_core.files import FileAccessError, UnsafePathError, open_state, read_regular
from overbrainer_core.flows.report import Report
from overbrainer_core.history import EntryStatus, HistoryEntry, entry_document, read_history
from overbrainer_core.project.format import FORMAT, check_writable, read_format, write_format
from overbrainer_core.project.lock import acquire_lock
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.text import escape_controls
from overbrainer_core.values.stage import Stage

NOTHING = "nothing to migrate"
IGNORED = "/.overbrainer/"
_IGNORED_SPELLINGS = frozenset({b".overbrainer", b".overbrainer/", b"/.overbrainer", b"/.overbrainer/"})
_HUB, _TRAINING = TableRef("hub"), TableRef("training")
_OLD_KEY = "hub_model_id"
_KEPT_HABITS = ("private", "after_training")
"""Keys of `[hub]` that are set to true: the old key pushed to a private repo after each training."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change: how it is told when done and in a dry run, and what makes it."""

    done: str
    planned: str
    make: Callable[[], None]


def migrate(root: Path, report: Report, *, dry_run: bool = False) -> None:
    """Bring the project up to date, or tell what would be done.

    Raises:
        LockedError: another process writes to the project.
        ConfigError: this is no project, its format is newer, or a file cannot be read or written.
        ProjectFileError: a data file of it cannot be read or written.
    """
    paths = ProjectPaths(root)
    _check_is_project(paths)
    with acquire_lock(paths):
        check_writable(paths)
        notes: list[str] = []
        changes = list(_changes(paths, notes))
        for note in notes:
            report.result(escape_controls(note))
        for change in changes:
            if not dry_run:
                change.make()
            report.result(escape_controls(change.planned if dry_run else change.done))
        if not changes:
            report.result(NOTHING)


def _check_is_project(paths: ProjectPaths) -> None:
    """Refuse to make a project of any directory: nothing is written where there is no `overbrainer.toml`."""
    try:
        mode = os.stat(paths.config).st_mode
    except FileNotFoundError as error:
        raise ConfigError(f"cannot read {paths.config}: {describe(error)}{NO_PROJECT}") from error
    except OSError as error:
        raise ConfigError(f"cannot read {paths.config}") from error
    if not stat.S_ISREG(mode):
        raise ConfigError(f"cannot read {paths.config}: it is not a regular file")


def _changes(paths: ProjectPaths, notes: list[str]) -> Iterator[Change]:
    """Every change that is left to do, in the order of their lines; what they imply besides goes to `notes`."""
    yield from _hub_key(paths, notes)
    yield from _gitignore(paths)
    if read_format(paths) is None:
        yield from _backfills(paths, notes)
        version = f".overbrainer/version: format {FORMAT}"
        yield Change(f"wrote {version}", f"would write {version}", lambda: write_format(paths))


def _hub_key(paths: ProjectPaths, notes: list[str]) -> Iterator[Change]:
    """`training.hub_model_id` becomes `[hub] repo`; a file that cannot be read or parsed has no such key."""
    try:
        text = read_config_text(paths)
        document = ConfigDocument(text)
    except ConfigError:
        return
    old, repo = document.value(_TRAINING, _OLD_KEY), document.value(_HUB, "repo")
    if not isinstance(old, str) or not old.strip() or not isinstance(repo, str | None):
        return
    missing = [key for key in _KEPT_HABITS if document.value(_HUB, key) is None]
    added = f" ({', '.join(missing)})" if missing else ""
    edits: list[Edit] = [UnsetKey(_TRAINING, _OLD_KEY)]
    if repo is None:
        edits.append(SetKey(_HUB, "repo", old, document.comment(_TRAINING, _OLD_KEY)))
        told = ("moved", "would move", f'training.{_OLD_KEY} to [hub] repo = "{old}"{added}')
    else:
        notes.append(f'kept [hub] repo = "{repo}"; dropped training.{_OLD_KEY} = "{old}"')
        told = ("removed", "would remove", f"training.{_OLD_KEY}{added}")
    edits += [SetKey(_HUB, key, True) for key in missing]
    for edit in edits:
        document.apply(edit)
    new = document.text
    yield Change(
        f"{told[0]} {told[2]}",
        f"{told[1]} {told[2]}",
        lambda: _write_config(paths, text, new),
    )


def _write_config(paths: ProjectPaths, old: str, new: str) -> None:
    replace_config(paths, old.encode(), new.encode())


def _gitignore(paths: ProjectPaths) -> Iterator[Change]:
    """A line that keeps the state directory out of git."""
    try:
        content = _regular(paths.gitignore)
    except FileNotFoundError:
        content = b""
    except OSError as error:
        raise FileAccessError(paths.gitignore) from error
    if any(line.strip() in _IGNORED_SPELLINGS for line in content.split(b"\n")):
        return
    line_end = b"\r\n" if b"\r\n" in content else b"\n"
    gap = line_end if content and not content.endswith(b"\n") else b""
    line = gap + IGNORED.encode() + line_end
    what = f"{IGNORED} to .gitignore"
    yield Change(f"added {what}", f"would add {what}", lambda: _append_gitignore(paths, line))


def _regular(path: Path) -> bytes:
    if path.is_symlink():
        raise UnsafePathError(path)
    return read_regular(path)


def _append_gitignore(paths: ProjectPaths, line: bytes) -> None:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        _append(os.open(paths.gitignore, flags, 0o666), line)
    except OSError as error:
        raise FileAccessError(paths.gitignore) from error


def _append(descriptor: int, content: bytes, *, mends_tail: bool = False) -> None:
    """Append in one write, so that a crash leaves all of it or none, then to the disk; closes the file.

    With `mends_tail` a last line that was torn by a crash is ended first.
    """
    with os.fdopen(descriptor, "ab", buffering=0) as handle:
        size = os.fstat(handle.fileno()).st_size
        if mends_tail and size and os.pread(handle.fileno(), 1, size - 1) != b"\n":
            content = b"\n" + content
        if handle.write(content) != len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(handle.fileno())


def _backfills(paths: ProjectPaths, notes: list[str]) -> Iterator[Change]:
    """A history entry for each model whose answers are older than the history; all written with the first."""
    answers = [entry for entry in read_history(paths) if entry.stage is Stage.ANSWERS]
    entries = _entries_of_answers(paths)
    if any(not entry.backfilled for entry in answers):
        if entries:
            notes.append(f"not backfilling the answers history: {paths.history} already has answers entries")
        return
    present = {entry.model for entry in answers}
    missing = [entry for entry in entries if entry.model not in present]
    for place, entry in enumerate(missing):
        what = (
            f"the answers history of {entry.model}: {entry.done} answer(s), {entry.excluded} excluded; "
            f"tokens {entry.input_tokens} in, {entry.output_tokens} out"
        )
        yield Change(
            f"backfilled {what}",
            f"would backfill {what}",
            (lambda: _append_history(paths, missing)) if place == 0 else _nothing,
        )


def _nothing() -> None:
    """The entry was written with the first one."""


@dataclass(slots=True)
class _Sum:
    """What the answers of one model add up to."""

    kept: int = 0
    excluded: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


def _entries_of_answers(paths: ProjectPaths) -> list[HistoryEntry]:
    """One entry for each model of the stored answers, sorted by name, dated by their file."""
    sums: dict[str, _Sum] = {}
    for answer in each_answer(paths.answers):
        found = sums.setdefault(answer.meta.model, _Sum())
        found.kept += answer.meta.excluded is None
        found.excluded += answer.meta.excluded is not None
        found.input_tokens += answer.meta.input_tokens
        found.output_tokens += answer.meta.output_tokens
    if not sums:
        return []
    try:
        modified = os.stat(paths.answers).st_mtime
    except OSError as error:
        raise FileAccessError(paths.answers) from error
    at = rfc3339(datetime.fromtimestamp(modified, UTC))
    return [
        HistoryEntry(
            stage=Stage.ANSWERS,
            started_at=at,
            ended_at=at,
            status=EntryStatus.OK,
            model=model,
            done=found.kept,
            excluded=found.excluded,
            input_tokens=found.input_tokens,
            output_tokens=found.output_tokens,
            backfilled=True,
        )
        for model, found in sorted(sums.items())
    ]


def _append_history(paths: ProjectPaths, entries: list[HistoryEntry]) -> None:
    lines = b"".join(
        json.dumps(entry_document(entry), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        for entry in entries
    )
    try:
        descriptor = open_state(paths.history, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        _append(descriptor, lines, mends_tail=True)
    except OSError as error:
        raise FileAccessError(paths.history) from error
