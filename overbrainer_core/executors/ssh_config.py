"""What do OpenSSH configuration files mean for the built-in client: how is a host reached, and with what?

The first value of a directive wins, files with keys accumulate. Directives without a meaning here are ignored when
they do no harm; any other is refused by name, never passed over.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from overbrainer_core.executors.ssh_config_file import ConfigReader, Directive, SshConfigError, matches
from overbrainer_core.executors.ssh_destination import Destination, parse_jumps, parse_port
from overbrainer_core.text import escape_controls

DEFAULT_PORT = 22
DEFAULT_KEYS = ("id_ed25519", "id_ecdsa", "id_rsa")
"""Key files below `~/.ssh` that are tried when none is named."""

_IGNORED_NAMES = """
sendenv setenv forwardagent forwardx11 forwardx11trusted compression loglevel hashknownhosts addkeystoagent
usekeychain controlmaster controlpath controlpersist localforward remoteforward dynamicforward visualhostkey
updatehostkeys batchmode passwordauthentication kbdinteractiveauthentication challengeresponseauthentication
tcpkeepalive checkhostip ignoreunknown
"""
_IGNORED = frozenset(_IGNORED_NAMES.split())
_APPLIED_NAMES = """
hostname user port identityfile identitiesonly identityagent userknownhostsfile globalknownhostsfile hostkeyalias
stricthostkeychecking proxyjump proxycommand connecttimeout serveraliveinterval serveralivecountmax
certificatefile addressfamily
"""
_APPLIED = frozenset(_APPLIED_NAMES.split())
_ALGORITHMS = {
    "ciphers": "encryption_algs",
    "kexalgorithms": "kex_algs",
    "macs": "mac_algs",
    "hostkeyalgorithms": "server_host_key_algs",
    "pubkeyacceptedalgorithms": "signature_algs",
    "pubkeyacceptedkeytypes": "signature_algs",
}
_SYSTEM_ONLY = frozenset(
    [*_ALGORITHMS, "casignaturealgorithms", "gssapikexalgorithms", "hostbasedacceptedalgorithms", "requiredrsasize"]
)
"""Ignored in the system's file, where distributions set their policy for the binary."""

_ACCUMULATED = frozenset({"identityfile", "certificatefile"})
_STRICTNESS = frozenset({"yes", "no", "ask", "off", "accept-new", "true", "false"})
_TIME = re.compile(r"(?:\d+[smhdw]?)+", re.ASCII | re.IGNORECASE)
_UNIT_S = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSettings:
    """How a host is reached; `alias` is the name it was asked by.

    `jumps` come first to last before the host. `identity_files` is empty where none is named. `algorithms` are lists of
    OpenSSH by the name of asyncssh's option. A timeout or interval of None is none at all.
    """

    alias: str
    host: str
    port: int
    user: str
    identity_files: tuple[Path, ...] = ()
    has_identity_files: bool = False
    certificate_files: tuple[Path, ...] = ()
    identities_only: bool = False
    agent: str | None = None
    known_hosts: tuple[Path, ...] = ()
    host_key_alias: str | None = None
    jumps: tuple[Destination, ...] = ()
    proxy_command: str | None = None
    connect_timeout_s: float | None
    alive_interval_s: float | None
    alive_count: int
    address_family: str = "any"
    algorithms: Mapping[str, str] = field(default_factory=dict)

    @property
    def where(self) -> str:
        """The host and the port, for messages."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{escape_controls(host)}:{self.port}"


class Defaults(Protocol):
    """What holds where the files say nothing."""

    @property
    def connect_s(self) -> float:
        """Limit of connecting, in seconds."""
        ...

    @property
    def alive_interval_s(self) -> float:
        """Silence in seconds after which the server is asked whether it is there."""
        ...

    @property
    def alive_count(self) -> int:
        """Unanswered questions that end a connection."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSide:
    """What this machine knows: variables, the home, and the configuration file that stands for all others, if any."""

    environment: Mapping[str, str] = field(repr=False)
    home: Path
    config_file: Path | None = None

    @classmethod
    def of(
        cls, environment: Mapping[str, str], *, home: Path | None = None, config_file: Path | None = None
    ) -> LocalSide:
        """This machine, its home from `HOME`.

        Raises:
            SshConfigError: `HOME` is not set.
        """
        if home is None and not environment.get("HOME"):
            raise SshConfigError("HOME is not set: the built-in SSH client looks for keys and known hosts there")
        return cls(environment=environment, home=home or Path(environment["HOME"]), config_file=config_file)

    def user(self) -> str:
        """The local user's name, never guessed.

        Raises:
            SshConfigError: neither variable is set.
        """
        name = self.environment.get("USER") or self.environment.get("LOGNAME")
        if not name:
            raise SshConfigError("USER and LOGNAME are not set: set one, or name the user as user@host")
        return name


def load_host(destination: Destination, local: LocalSide, defaults: Defaults) -> HostSettings:
    """How the configuration files say that a host is reached.

    Raises:
        SshConfigError: a file cannot be used, or not by this client.
    """
    reader = ConfigReader(destination.host, local.home)
    lines = reader.read_only(local.config_file) if local.config_file else reader.read_default()
    return _Interpreter(destination, local, _kept(lines, destination.host)).settings(defaults)


def _kept(lines: Iterable[Directive], host: str) -> dict[str, list[Directive]]:
    """The lines that count by key: the first of each, all of those that accumulate.

    Raises:
        SshConfigError: one cannot be honoured.
    """
    kept: dict[str, list[Directive]] = {}
    unknown: list[str] = []
    for line in lines:
        key = line.key
        if key == "ignoreunknown":
            unknown += [word for text in line.arguments() for word in text.split(",")]
        if key in _IGNORED or key.startswith("gssapi") or (line.is_system and key in _SYSTEM_ONLY):
            continue
        if key == "pubkeyauthentication" and line.first().lower() != "no":
            continue
        if key not in _APPLIED and key not in _ALGORITHMS:
            if matches(unknown, line.name):
                continue
            raise SshConfigError.unsupported(line, host)
        if key in _ACCUMULATED or key not in kept:
            kept.setdefault(key, []).append(line)
        if key in ("proxyjump", "proxycommand"):
            # Whichever comes first keeps the other away.
            other = "proxycommand" if key == "proxyjump" else "proxyjump"
            kept.setdefault(other, [])
    return kept


class _Interpreter:
    """Turns the lines that count into settings."""

    def __init__(self, destination: Destination, local: LocalSide, lines: Mapping[str, list[Directive]]) -> None:
        self._destination = destination
        self._local = local
        self._lines = lines
        host = self._text("hostname")
        self._host = destination.host
        if host:
            self._host = self._expand("HostName", host)
        self._user = destination.user or self._text("user") or ""
        port = self._text("port")
        self._port = destination.port or (parse_port(port) if port else DEFAULT_PORT)
        self._jump = self._text("proxyjump")

    def settings(self, defaults: Defaults) -> HostSettings:
        """All of it."""
        user = self._user = self._user or self._local.user()
        files = self._files("identityfile")
        command = self._lines["proxycommand"][0].text.strip() if self._lines.get("proxycommand") else ""
        return HostSettings(
            alias=self._destination.host,
            host=self._host,
            port=self._port,
            user=user,
            identity_files=files if files is not None else self._default_keys(),
            has_identity_files=files is not None,
            certificate_files=self._files("certificatefile") or (),
            identities_only=self._flag("identitiesonly"),
            agent=self._agent(),
            known_hosts=self._known_hosts(),
            host_key_alias=self._text("hostkeyalias"),
            jumps=parse_jumps(self._expand("ProxyJump", self._jump)) if self._jump else (),
            proxy_command=None if command.lower() in ("", "none") else self._expand("ProxyCommand", command),
            connect_timeout_s=self._seconds("connecttimeout", defaults.connect_s),
            alive_interval_s=self._seconds("serveraliveinterval", defaults.alive_interval_s),
            alive_count=self._number("serveralivecountmax", defaults.alive_count),
            address_family=self._choice("addressfamily", ("any", "inet", "inet6")),
            algorithms={_ALGORITHMS[key]: lines[0].first() for key, lines in self._lines.items() if key in _ALGORITHMS},
        )

    def _text(self, key: str) -> str | None:
        lines = self._lines.get(key)
        return (lines[0].first() or None) if lines else None

    def _flag(self, key: str) -> bool:
        return self._choice(key, ("no", "yes", "true", "false")) in ("yes", "true")

    def _choice(self, key: str, choices: tuple[str, ...]) -> str:
        word = (self._text(key) or choices[0]).lower()
        if word not in choices:
            raise self._invalid(key)
        return word

    def _number(self, key: str, default: int) -> int:
        text = self._text(key)
        if text is None:
            return default
        if not re.fullmatch(r"\d{1,9}", text, re.ASCII):
            raise self._invalid(key)
        return int(text)

    def _seconds(self, key: str, default: float) -> float | None:
        text = self._text(key)
        if text is None:
            return default
        if text.lower() == "none":
            return None
        if not _TIME.fullmatch(text):
            raise self._invalid(key)
        parts = re.findall(r"(\d+)([smhdw]?)", text.lower())
        return float(sum(int(number) * _UNIT_S[unit] for number, unit in parts)) or None

    def _invalid(self, key: str) -> SshConfigError:
        line = self._lines[key][0]
        return SshConfigError(f"{escape_controls(str(line.file))}: {line.name} has no valid value")

    def _files(self, key: str) -> tuple[Path, ...] | None:
        """Paths of a directive that accumulates; None when it is nowhere."""
        if key not in self._lines:
            return None
        words = [(line.name, line.first()) for line in self._lines[key]]
        return tuple(self._path(name, word) for name, word in words if word.lower() not in ("", "none"))

    def _default_keys(self) -> tuple[Path, ...]:
        return tuple(self._local.home / ".ssh" / name for name in DEFAULT_KEYS)

    def _agent(self) -> str | None:
        word = self._text("identityagent") or "SSH_AUTH_SOCK"
        if word.lower() == "none":
            return None
        if word == "SSH_AUTH_SOCK":
            return self._local.environment.get("SSH_AUTH_SOCK") or None
        if word.startswith("$") and not word.startswith("${"):
            return self._local.environment.get(word[1:]) or None
        return str(self._path("IdentityAgent", word))

    def _known_hosts(self) -> tuple[Path, ...]:
        strict = self._lines.get("stricthostkeychecking")
        if strict and strict[0].first().lower() not in _STRICTNESS:
            raise self._invalid("stricthostkeychecking")
        own = [self._local.home / ".ssh" / name for name in ("known_hosts", "known_hosts2")]
        common = [Path("/etc/ssh/ssh_known_hosts"), Path("/etc/ssh/ssh_known_hosts2")]
        found: list[Path] = []
        for key, default in (("userknownhostsfile", own), ("globalknownhostsfile", common)):
            lines = self._lines.get(key)
            words = lines[0].arguments() if lines else []
            found += [self._path(lines[0].name, word) for word in words if word != "none"] if lines else default
        return tuple(found)

    def _path(self, name: str, text: str) -> Path:
        if text == "~" or text.startswith("~/"):
            text = str(self._local.home).replace("%", "%%") + text[1:]
        return Path(self._expand(name, self._with_variables(name, text)))

    def _with_variables(self, name: str, text: str) -> str:
        def value(found: re.Match[str]) -> str:
            known = self._local.environment.get(found[1])
            if known is None:
                raise SshConfigError(f"{name}: the variable {found[1]} is not set")
            return known.replace("%", "%%")

        return re.sub(r"\$\{(\w+)\}", value, text, flags=re.ASCII)

    def _expand(self, name: str, text: str) -> str:
        try:
            return _expand_percent(text, _Tokens(self._token))
        except KeyError as error:
            raise SshConfigError(f"{name}: the token %{error.args[0]} is not supported") from None

    def _token(self, letter: str) -> str:
        name = socket.gethostname()
        match letter:
            case "h":
                return self._host
            case "n":
                return self._destination.host
            case "p":
                return str(self._port)
            case "r":
                return self._user
            case "u":
                return self._local.user()
            case "d":
                return str(self._local.home)
            case "i":
                return str(os.getuid())
            case "k":
                return self._text("hostkeyalias") or self._destination.host
            case "l":
                return name
            case "L":
                return name.split(".")[0]
            case "j":
                return self._jump or ""
            case "C":
                whole = f"{name}{self._host}{self._port}{self._user}{self._jump or ''}"
                return hashlib.sha1(whole.encode(), usedforsecurity=False).hexdigest()
            case _:
                raise KeyError(letter)


class _Tokens(dict[str, str]):
    """Tokens that are only worked out when a text holds them."""

    def __init__(self, find: object) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, letter: str) -> str:
        assert callable(self._find)
        return str(self._find(letter))


def _expand_percent(text: str, tokens: Mapping[str, str]) -> str:
    """The text with `%%` as `%` and each `%x` as its token.

    Raises:
        KeyError: there is no such token.
    """
    return re.sub(r"%(.?)", lambda found: "%" if found[1] == "%" else tokens[found[1]], text, flags=re.DOTALL)
