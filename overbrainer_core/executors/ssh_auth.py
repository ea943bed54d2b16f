"""With which keys do we log in, and which were left out and why?

Keys of the agent come first, then those of files. Nothing ever asks for a passphrase or a password: an encrypted key
that the agent does not hold is left out and named.
"""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import asyncssh

from overbrainer_core.executors.ssh_config import HostSettings
from overbrainer_core.text import escape_controls

_MAX_KEY_BYTES = 1 << 20

AGENT_LIMIT_S = 10
"""How long an agent may take; one that asks a person to confirm is no longer waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """The keys to log in with, in order, and a line for each that was left out.

    `agent` stays open until the login is over, since it signs.
    """

    keys: tuple[asyncssh.SSHKeyPair, ...] = ()
    skipped: tuple[str, ...] = ()
    agent: asyncssh.SSHAgentClient | None = None

    @property
    def agent_keys(self) -> int:
        """How many keys come from the agent."""
        return sum(key.get_key_type() == "agent" for key in self.keys)

    def close(self) -> None:
        """Let go of the agent."""
        if self.agent is not None:
            self.agent.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class _FileKeys:
    pairs: tuple[asyncssh.SSHKeyPair, ...]
    skipped: tuple[tuple[Path, str], ...]
    publics: frozenset[bytes]


async def gather_keys(settings: HostSettings) -> Offer:
    """The keys that the settings name, as far as they can be used."""
    files = await asyncio.to_thread(_read_files, settings)
    skipped: list[str] = []
    agent, held = await _agent_keys(settings, skipped)
    if settings.identities_only:
        held = [pair for pair in held if {pair.public_data, pair.key_public_data} & files.publics]
    in_agent = {pair.key_public_data for pair in held}
    own = [pair for pair in files.pairs if pair.has_cert or pair.key_public_data not in in_agent]
    for path, why in files.skipped:
        public = _public_of(path)
        if public is None or public.public_data not in in_agent:
            skipped.append(why)
    return Offer(keys=(*held, *own), skipped=tuple(skipped), agent=agent)


async def _agent_keys(
    settings: HostSettings, skipped: list[str]
) -> tuple[asyncssh.SSHAgentClient | None, list[asyncssh.SSHKeyPair]]:
    if not settings.agent:
        return None, []
    agent = asyncssh.SSHAgentClient(settings.agent)
    try:
        async with asyncio.timeout(AGENT_LIMIT_S):
            return agent, list(await agent.get_keys())
    except (ValueError, OSError, TimeoutError):
        agent.close()
        skipped.append(f"the agent at {escape_controls(settings.agent)} does not answer")
        return None, []


def _read_files(settings: HostSettings) -> _FileKeys:
    pairs: list[asyncssh.SSHKeyPair] = []
    skipped: list[tuple[Path, str]] = []
    publics: set[bytes] = set()
    certificates = _certificates(settings, skipped)
    publics |= {certificate.public_data for certificate in certificates}
    for path in settings.identity_files:
        public = _public_of(path)
        if public is not None:
            publics.add(public.public_data)
        try:
            key = _private_key(path)
        except _Skipped as error:
            skipped.append((path, str(error)))
            continue
        except FileNotFoundError:
            if settings.has_identity_files and public is None:
                skipped.append((path, f"{escape_controls(str(path))} does not exist"))
            continue
        publics.add(key.public_data)
        beside = _certificates_in([path.with_name(path.name + "-cert.pub")])
        pairs += asyncssh.load_keypairs([key], certlist=[*certificates, *beside])
    return _FileKeys(pairs=tuple(pairs), skipped=tuple(skipped), publics=frozenset(publics))


class _Skipped(Exception):
    """Why a key file is left out."""


def _private_key(path: Path) -> asyncssh.SSHKey:
    shown = escape_controls(str(path))
    try:
        with open(path, "rb") as handle:
            mode = path.stat().st_mode
            content = handle.read(_MAX_KEY_BYTES) if stat.S_ISREG(mode) else b""
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _Skipped(f"{shown} cannot be read ({error.strerror})") from None
    if stat.S_IMODE(mode) & 0o077:
        raise _Skipped(f"Permissions {stat.S_IMODE(mode):04o} for '{shown}' are too open")
    try:
        return asyncssh.import_private_key(content)
    except asyncssh.KeyEncryptionError:
        raise _Skipped(f"{shown} is encrypted and not in the agent") from None
    except asyncssh.KeyImportError as error:
        # The library has one class for both, and a text for the missing passphrase.
        if "assphrase" in str(error):
            raise _Skipped(f"{shown} is encrypted and not in the agent") from None
        raise _Skipped(f"{shown} is no private key that can be read") from None
    except ValueError:
        raise _Skipped(f"{shown} is no private key that can be read") from None


def _public_of(path: Path) -> asyncssh.SSHKey | None:
    """The public half beside a key file, or in it."""
    for file in (path.with_name(path.name + ".pub"), path):
        try:
            return asyncssh.read_public_key(file)
        except (OSError, asyncssh.KeyImportError, ValueError):
            continue
    return None


def _certificates(settings: HostSettings, skipped: list[tuple[Path, str]]) -> list[asyncssh.SSHCertificate]:
    skipped += [
        (path, f"{escape_controls(str(path))} does not exist")
        for path in settings.certificate_files
        if not path.exists()
    ]
    return _certificates_in(settings.certificate_files)


def _certificates_in(paths: Sequence[Path]) -> list[asyncssh.SSHCertificate]:
    found: list[asyncssh.SSHCertificate] = []
    for path in paths:
        try:
            found += asyncssh.load_certificates(path)
        except (OSError, asyncssh.KeyImportError, ValueError):
            continue
    return found
