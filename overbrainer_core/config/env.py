"""Which variables does a project see, from where, and which of them are settings?

The shell's variables win over those of `.env` in the project directory. `OVERBRAINER_` names are matched without
regard to case; `__` separates the levels of a key. The process environment is only read, never written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from overbrainer_core.config.dotenv import Dotenv, DotenvSyntaxError, parse_dotenv
from overbrainer_core.errors import ConfigError
from overbrainer_core.files import FileTooLargeError, UnsafePathError, read_regular
from overbrainer_core.project.paths import ProjectPaths

PREFIX = "OVERBRAINER_"
SSH_CLIENT = "OVERBRAINER_SSH_CLIENT"
SSH_CLIENTS = ("openssh", "builtin")
_NOT_SETTINGS = frozenset({"ssh_client", "no_update_check", "llama_cpp_url"})
_NOT_SETTINGS_PREFIXES = ("tui_", "test_")
MAX_FILE_BYTES = 16 * 1024 * 1024
"""Largest `.env` or `overbrainer.toml` read: far above any real one, and it never fills the memory."""

NOT_UTF8 = "stream did not contain valid UTF-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """All variables, the shell's over those of `.env`; `warnings` are lines for standard error."""

    values: Mapping[str, str] = field(repr=False)
    dotenv_keys: frozenset[str] = frozenset()
    warnings: tuple[str, ...] = ()

    def get(self, name: str) -> str | None:
        """The text of a variable, if it is set."""
        return self.values.get(name)

    def origin(self, name: str) -> Literal["shell", ".env"]:
        """Where a variable that is set comes from."""
        return ".env" if name in self.dotenv_keys else "shell"


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable that sets a key: its name as it is written, and its text."""

    name: str
    text: str = field(repr=False)


def read_environment(
    paths: ProjectPaths, process_env: Mapping[str, str], *, at_start: Environment | None = None
) -> Environment:
    """The variables of the process and, behind them, those of the project's `.env`.

    Args:
        at_start: the environment of the program's start when this one is for a reload: a `${NAME}` in `.env` finds
            what `.env` itself gave that name then.

    Raises:
        ConfigError: `.env` cannot be read or parsed.
    """
    process = {name: text for name, text in process_env.items() if _is_utf8(name) and _is_utf8(text)}
    dotenv = _read_dotenv(paths, {**_dotenv_values(at_start), **process})
    added = {name: text for name, text in dotenv.values.items() if name not in process}
    warnings = [f".env line {line}: ${{{name}}} is not set and expands to nothing" for name, line in dotenv.unset]
    return Environment(values={**added, **process}, dotenv_keys=frozenset(added), warnings=tuple(warnings))


def _dotenv_values(environment: Environment | None) -> dict[str, str]:
    if environment is None:
        return {}
    return {name: environment.values[name] for name in environment.dotenv_keys}


def _is_utf8(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


def _read_dotenv(paths: ProjectPaths, known: Mapping[str, str]) -> Dotenv:
    try:
        text = read_text(paths.env, shown=".env")
    except FileNotFoundError:
        return Dotenv(values={})
    try:
        return parse_dotenv(text, known.get)
    except DotenvSyntaxError as error:
        line = error.line
    raise DotenvSyntaxError(line)  # a new one: the other's traceback holds the text


def read_text(path: Path, *, shown: str) -> str:
    """The text of `.env` or `overbrainer.toml`, without a byte order mark.

    Raises:
        FileNotFoundError: there is no such file.
        ConfigError: `cannot read <shown>: <why>`; devices and FIFOs are refused.
    """
    try:
        content = read_regular(path, limit=MAX_FILE_BYTES)
    except FileNotFoundError:
        raise
    except UnsafePathError:
        reason = "it is not a regular file"
    except FileTooLargeError:
        reason = f"it is larger than {MAX_FILE_BYTES // 1024**2} MiB"
    except OSError as error:
        raise ConfigError(f"cannot read {shown}") from error
    else:
        text = _decoded(content)
        if text is not None:
            return text
        reason = NOT_UTF8
    raise ConfigError(f"cannot read {shown}: {reason}")


def _decoded(content: bytes) -> str | None:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def setting_variables(environment: Environment) -> dict[tuple[str, ...], Variable]:
    """The variables that set a key, by the key's lower-cased parts, sorted; the shell's spelling wins over `.env`'s."""
    found: dict[tuple[str, ...], Variable] = {}
    for name in sorted(
        environment.values, key=lambda name: (name not in environment.dotenv_keys, name.isupper(), name)
    ):
        key = _key(name)
        if key is not None:
            found[key] = Variable(name, environment.values[name])
    return dict(sorted(found.items()))


def _key(name: str) -> tuple[str, ...] | None:
    if not name.upper().startswith(PREFIX):
        return None
    rest = name[len(PREFIX) :].lower()
    if rest in _NOT_SETTINGS or rest.startswith(_NOT_SETTINGS_PREFIXES):
        return None
    return tuple(rest.split("__"))


def variable_name(key: str) -> str:
    """The variable that sets a dotted key: `providers.x.api_key` is `OVERBRAINER_PROVIDERS__X__API_KEY`."""
    return PREFIX + key.upper().replace(".", "__")


def overridden_keys(environment: Environment) -> Iterator[tuple[str, str]]:
    """Each dotted key that a variable sets, with the variable's name."""
    for key, variable in setting_variables(environment).items():
        yield ".".join(key), variable.name


def ssh_client_choice(environment: Environment) -> str | None:
    """The SSH client that `OVERBRAINER_SSH_CLIENT` asks for; None when it is unset or blank.

    Raises:
        ConfigError: it names no client.
    """
    choice = (environment.get(SSH_CLIENT) or "").strip()
    if choice and choice not in SSH_CLIENTS:
        raise ConfigError(f"{SSH_CLIENT} must be openssh or builtin")
    return choice or None
