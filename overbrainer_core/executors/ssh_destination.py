"""Which host does a person mean: `user@host`, an alias, `ssh://user@host:port`, or a chain of jumps?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from overbrainer_core.executors.ssh_config_file import SshConfigError

_USER_HOST = re.compile(r"(?:(?P<user>.+)@)?(?P<host>\[[^\]]+\]|[^@]+)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """What a person writes for a host: `user@host`, an alias, or `ssh://user@host:port`."""

    host: str
    user: str | None = None
    port: int | None = None


def parse_destination(text: str) -> Destination:
    """A destination as `ssh` takes it.

    Raises:
        SshConfigError: it is none.
    """
    port = None
    rest = text.strip()
    if rest.startswith("ssh://"):
        rest, _, number = _split_port(rest.removeprefix("ssh://").rstrip("/"))
        port = parse_port(number) if number else None
    found = _USER_HOST.fullmatch(rest)
    host = found["host"].removeprefix("[").removesuffix("]") if found else ""
    user = found["user"] if found else None
    if not host or any(part.startswith("-") or re.search(r"[\s\x00-\x1f\x7f]", part) for part in (host, user or "")):
        raise SshConfigError("the host of the target is not a name, user@name or ssh://user@name:port")
    return Destination(host=host, user=user, port=port)


def parse_jumps(text: str) -> tuple[Destination, ...]:
    """The hops of a `ProxyJump` from first to last; none for `none`.

    Raises:
        SshConfigError: one is no destination.
    """
    if text.lower() == "none":
        return ()
    return tuple(_parse_jump(hop.strip()) for hop in text.split(","))


def _parse_jump(text: str) -> Destination:
    """`[user@]host[:port]` or an `ssh://` address."""
    if text.startswith("ssh://"):
        return parse_destination(text)
    rest, _, number = _split_port(text)
    destination = parse_destination(rest)
    return Destination(host=destination.host, user=destination.user, port=parse_port(number) if number else None)


def _split_port(text: str) -> tuple[str, str, str]:
    """A host and its port, as `rpartition` gives them around the colon; an IPv6 address needs brackets for one."""
    host, colon, port = text.rpartition(":")
    if colon and (not re.search(r":", host.rpartition("@")[2]) or host.endswith("]")):
        return host, colon, port
    return text, "", ""


def parse_port(text: str) -> int:
    """A port number.

    Raises:
        SshConfigError: it is none.
    """
    if not re.fullmatch(r"\d{1,5}", text, re.ASCII) or not 0 < int(text) < 65536:
        raise SshConfigError("a port in the SSH configuration or of the host is not between 1 and 65535")
    return int(text)
