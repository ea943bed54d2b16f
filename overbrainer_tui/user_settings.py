"""What did a person choose for good in the app? The theme, in `overbrainer/tui.toml` of the user's configuration.

A file that is not there chooses nothing; one that cannot be used is told once and ignored. Writing changes the one line
and keeps the rest of the file as it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from overbrainer_core.errors import ConfigError, describe
from overbrainer_core.files import FileAccessError, replace_bytes
from overbrainer_tui.look import OUR_THEMES

_THEME_LINE = re.compile(r"^theme\s*=.*$", re.MULTILINE)
_FIRST_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)


def settings_path(environment: Mapping[str, str]) -> Path | None:
    """Where the file lives: under `XDG_CONFIG_HOME`, else `~/.config`; None without a home."""
    base = environment.get("XDG_CONFIG_HOME") or ""
    if os.path.isabs(base):
        return Path(base) / "overbrainer" / "tui.toml"
    home = environment.get("HOME") or ""
    return Path(home) / ".config" / "overbrainer" / "tui.toml" if home else None


def load_theme(environment: Mapping[str, str]) -> tuple[str | None, str | None]:
    """The theme chosen, None for none, and what is wrong with the file, None for nothing."""
    path = settings_path(environment)
    if path is None:
        return None, None
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None, None
    except (OSError, UnicodeDecodeError) as error:
        return None, f"{path} is ignored: {describe(error)}"
    import tomllib  # only where there is a file

    try:
        theme = tomllib.loads(text).get("theme")
    except tomllib.TOMLDecodeError:
        return None, f"{path} is ignored: it is not valid TOML"
    if theme is None or theme in OUR_THEMES:
        return theme, None
    listed = ", ".join(f"`{name}`" for name in OUR_THEMES)
    return None, f"{path}: theme is ignored: it must be one of {listed}"


def save_theme(environment: Mapping[str, str], theme: str) -> None:
    """Keep a theme; a file that stands there keeps its other lines.

    Raises:
        ConfigError: there is no place for it.
        FileAccessError: it cannot be written.
    """
    path = settings_path(environment)
    if path is None:
        raise ConfigError("there is no home directory to keep it in")
    try:
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
    except FileNotFoundError:
        text = ""
    except OSError as error:
        raise FileAccessError(path) from error
    replace_bytes(path, with_theme(text, theme).encode("utf-8", errors="surrogateescape"))


def with_theme(text: str, theme: str) -> str:
    """The text of the file with this theme: its line exchanged, or a new one before the first table."""
    line = f'theme = "{theme}"'
    table = _FIRST_TABLE.search(text)
    end = table.start() if table is not None else len(text)
    head, tail = text[:end], text[end:]
    if _THEME_LINE.search(head):
        return _THEME_LINE.sub(line, head, count=1) + tail
    if head and not head.endswith("\n"):
        head += "\n"
    return f"{head}{line}\n{tail}"
