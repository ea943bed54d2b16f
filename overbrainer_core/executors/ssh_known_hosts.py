"""Which keys may a host show, by OpenSSH's `known_hosts` files?

A line that cannot be read is skipped, as `ssh` does. A host on another port than 22 is known by `[host]:port` only.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import asyncssh

from overbrainer_core.executors.ssh_config_file import matches

_DEFAULT_PORT = 22


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownKeys:
    """Keys of one host: those it may show, those that may have signed a certificate of it, and revoked ones."""

    trusted: tuple[asyncssh.SSHKey, ...] = ()
    authorities: tuple[asyncssh.SSHKey, ...] = ()
    revoked: tuple[asyncssh.SSHKey, ...] = ()

    @property
    def algorithms(self) -> list[str]:
        """Signature algorithms of the trusted keys, in the order of the files."""
        return list(dict.fromkeys(name.decode() for key in self.trusted for name in key.sig_algorithms))


def host_name(host: str, port: int, alias: str | None) -> str:
    """How a host is written in the files."""
    if alias:
        return alias.lower()
    return host.lower() if port == _DEFAULT_PORT else f"[{host.lower()}]:{port}"


def read_known_keys(files: Sequence[Path], name: str) -> KnownKeys:
    """The keys that the files hold for a host's name; a file that cannot be read holds none."""
    found: dict[str, list[asyncssh.SSHKey]] = {"": [], "@cert-authority": [], "@revoked": []}
    for file in files:
        try:
            text = file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        for marker, key in _entries(text, name):
            found[marker].append(key)
    return KnownKeys(
        trusted=tuple(found[""]), authorities=tuple(found["@cert-authority"]), revoked=tuple(found["@revoked"])
    )


def _entries(text: str, name: str) -> Iterator[tuple[str, asyncssh.SSHKey]]:
    """Marker and key of each line for the host."""
    for line in text.split("\n"):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        marker = words.pop(0) if words[0].startswith("@") else ""
        if marker not in ("", "@cert-authority", "@revoked") or len(words) < 3 or not _names(words[0], name):
            continue
        try:
            yield marker, asyncssh.import_public_key(f"{words[1]} {words[2]}\n")
        except (asyncssh.KeyImportError, ValueError):
            continue


def _names(text: str, name: str) -> bool:
    """Whether the first word of a line names the host."""
    if text.startswith("|"):
        return _is_hash_of(text, name)
    return matches(text.lower().split(","), name)


def _is_hash_of(text: str, name: str) -> bool:
    parts = text.split("|")
    if len(parts) != 4 or parts[1] != "1":
        return False
    try:
        salt, digest = base64.b64decode(parts[2], validate=True), base64.b64decode(parts[3], validate=True)
    except (binascii.Error, ValueError):
        return False
    return hmac.compare_digest(hmac.new(salt, name.encode(), hashlib.sha1).digest(), digest)
