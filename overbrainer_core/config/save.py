"""How do edits of `overbrainer.toml` reach the disk, and how is the last write taken back?

One write makes several edits: all or none. The whole new text is validated with the environment of now before
anything is written, and the write is refused when the file is no longer what was read. One level of undo, which is an
ordinary write. Everything here blocks on files; one call at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from overbrainer_core.config.document import (
    AddTable,
    ConfigDocument,
    Edit,
    RemoveTable,
    changed_tables,
    edited,
)
from overbrainer_core.config.env import MAX_FILE_BYTES, NOT_UTF8, Environment
from overbrainer_core.config.exchange import ConfigSymlinkError, SaveRefusedError, Swap, replace_config
from overbrainer_core.config.load import parse_settings
from overbrainer_core.config.reload import FileStamp
from overbrainer_core.config.settings import Settings
from overbrainer_core.errors import ConfigError
from overbrainer_core.files import FileTooLargeError, UnsafePathError, read_regular
from overbrainer_core.project.paths import ProjectPaths

UNDONE = "the last write undone"
NOTHING_TO_UNDO = "nothing to undo"
_SYMLINK_HINT = ", edit it with E"


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """What a write left: the settings in force now, the file's stamp, and a note for the status line or nothing."""

    settings: Settings
    stamp: FileStamp
    note: str = ""


class NothingToUndoError(ConfigError):
    """No write of this program is left to take back."""

    def __init__(self) -> None:
        super().__init__(NOTHING_TO_UNDO)


class ConfigFile:
    """`overbrainer.toml` as a view read it, with one level of undo."""

    def __init__(self, paths: ProjectPaths, *, swap: Swap | None = None) -> None:
        self._paths = paths
        self._swap = swap
        self._text = ""
        self._undo: str | None = None

    @property
    def text(self) -> str:
        """The text as it was read or written last."""
        return self._text

    @property
    def can_undo(self) -> bool:
        """Whether a write is left to take back."""
        return self._undo is not None

    def document(self) -> ConfigDocument:
        """The text, to look up what stands in it."""
        return ConfigDocument(self._text)

    def read(self) -> bool:
        """Read the file again; whether it changed. What was to be undone is forgotten.

        Raises:
            ConfigError: it cannot be read; the text that was read before stays.
        """
        text = read_config_text(self._paths)
        is_changed, self._text, self._undo = text != self._text, text, None
        return is_changed

    def save(self, edits: Sequence[Edit], environment: Environment) -> Saved:
        """Make the edits in one write; edits that change nothing leave the undo of the write before.

        Raises:
            EditError: the file does not take an edit.
            SaveRefusedError: the file changed on disk, or is a symlink.
            ConfigError: the settings would be unusable (`problems` names each), or the file cannot be written.
        """
        text = edited(self._text, edits)
        note = "; ".join(_note(edit) for edit in edits if isinstance(edit, AddTable | RemoveTable))
        before = self._text
        saved = self._write(text, environment, note)
        self._undo = before if before != text else self._undo
        return saved

    def undo(self, environment: Environment) -> Saved:
        """Write back the text of before the last write; used up once the write has started.

        Raises:
            NothingToUndoError: there is none.
            SaveRefusedError: the file no longer holds what was written.
            ConfigError: the old text is unusable now; the undo stays available.
        """
        if self._undo is None:
            raise NothingToUndoError
        settings = parse_settings(self._undo.removeprefix("\ufeff"), environment)
        text, self._undo = self._undo, None
        return self._replace(text, settings, UNDONE)

    def undo_changes(self) -> frozenset[str]:
        """The tables that an undo would change: it waits while work uses one of them."""
        return changed_tables(self._text, self._undo) if self._undo is not None else frozenset()

    def _write(self, text: str, environment: Environment, note: str) -> Saved:
        settings = parse_settings(text.removeprefix("\ufeff"), environment)
        return self._replace(text, settings, note)

    def _replace(self, text: str, settings: Settings, note: str) -> Saved:
        try:
            stamp = replace_config(self._paths, self._text.encode(), text.encode(), swap=self._swap)
        except ConfigSymlinkError as error:
            raise SaveRefusedError(f"{error}{_SYMLINK_HINT}") from None
        self._text = text
        return Saved(settings=settings, stamp=stamp, note=note)


def read_config_text(paths: ProjectPaths) -> str:
    """The text of `overbrainer.toml` with its byte order mark and line ends.

    Raises:
        ConfigError: `cannot read <path>: <why>`.
    """
    try:
        content = read_regular(paths.config, limit=MAX_FILE_BYTES)
    except (UnsafePathError, FileTooLargeError) as error:
        raise ConfigError(f"cannot read {paths.config}") from error
    except OSError as error:
        raise ConfigError(f"cannot read {paths.config}") from error
    try:
        return content.decode()
    except UnicodeDecodeError:
        pass
    raise ConfigError(f"cannot read {paths.config}: {NOT_UTF8}")  # outside: no traceback holds the content


def _note(edit: AddTable | RemoveTable) -> str:
    return f"{edit.section}.{edit.name} added" if isinstance(edit, AddTable) else f"{edit.table} deleted"
