"""How is a target reached without an `ssh` binary? The asyncssh client.

Host keys are always checked against the known hosts, keys come from the agent and from files, nothing is ever asked.
Foreign exceptions end here: each becomes an `SshFailure` that names the host and the port.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from typing import Any

import asyncssh

from overbrainer_core.aio.tasks import run_to_end
from overbrainer_core.executors.errors import SshError
from overbrainer_core.executors.ssh_auth import Offer, gather_keys
from overbrainer_core.executors.ssh_channel import (
    UNSENT_LIMIT_BYTES,
    ChannelEnd,
    ChannelRefusedError,
    SshChannel,
    SshFailure,
)
from overbrainer_core.executors.ssh_config import Defaults, HostSettings, LocalSide, load_host
from overbrainer_core.executors.ssh_config_file import SshConfigError
from overbrainer_core.executors.ssh_destination import Destination
from overbrainer_core.executors.ssh_known_hosts import KnownKeys, host_name, read_known_keys
from overbrainer_core.executors.ssh_session import ConnectionGoneError, SshTiming
from overbrainer_core.text import escape_controls, one_line

_MAX_HOPS = 8
_TOO_MANY = "Too many authentication failures"
_HOST_KEYS = (
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "rsa-sha2-512",
    "rsa-sha2-256",
)
"""Signature algorithms of host keys that are accepted, the best first."""

_REQUEST_REFUSED = 5
"""Reason codes from here on are asyncssh's own: the channel was opened, but not what was asked on it."""

_FAMILIES = {"any": socket.AF_UNSPEC, "inet": socket.AF_INET, "inet6": socket.AF_INET6}

_TOLD = (OSError, asyncssh.Error, asyncssh.KeyImportError, ValueError)
"""What asyncssh raises while it connects."""


async def connect_builtin(destination: Destination, local: LocalSide, timing: SshTiming) -> BuiltinConnection:
    """A connection to a destination, through its jumps.

    Raises:
        SshConfigError: the configuration cannot be used by this client.
        SshError: it cannot be reached, its key is not the known one, or it refuses ours.
    """
    hops = await asyncio.to_thread(_route, destination, local, timing)
    open_hops: list[asyncssh.SSHClientConnection] = []
    try:
        for settings in hops:
            tunnel = open_hops[-1] if open_hops else None
            open_hops.append(await _connect(settings, tunnel))
    except BaseException as error:
        await run_to_end(_close_all(open_hops, timing.close_s), name="ssh close")
        if isinstance(error, SshFailure):
            raise SshError from error
        raise
    return BuiltinConnection(open_hops, where=hops[-1].where, close_s=timing.close_s)


def _route(destination: Destination, local: LocalSide, defaults: Defaults) -> list[HostSettings]:
    """The hosts to connect to one after the other; the first jump may have jumps of its own. Blocking."""
    settings = load_host(destination, local, defaults)
    hops = [settings]
    jumps = settings.jumps
    while jumps:
        if len(hops) + len(jumps) > _MAX_HOPS:
            raise SshConfigError(f"ProxyJump for host {escape_controls(destination.host)} goes through too many hosts")
        chain = [load_host(jump, local, defaults) for jump in jumps]
        hops = [*chain, *hops]
        jumps = chain[0].jumps
    return hops


async def _connect(settings: HostSettings, tunnel: asyncssh.SSHClientConnection | None) -> asyncssh.SSHClientConnection:
    name = host_name(settings.host, settings.port, settings.host_key_alias)
    known = await asyncio.to_thread(read_known_keys, settings.known_hosts, name)
    offer = await gather_keys(settings)
    client = _Client(known)
    limit = settings.connect_timeout_s
    try:
        async with asyncio.timeout(limit):
            return await asyncssh.connect(
                settings.host, settings.port, client_factory=lambda: client, **_options(settings, known, offer, tunnel)
            )
    except TimeoutError:
        raise SshFailure(f"cannot connect to {settings.where}: timed out after {limit:g} s") from None
    except asyncssh.HostKeyNotVerifiable as error:
        raise SshFailure(_host_key_words(settings, known, client, error)) from None
    except _TOLD as error:
        raise _login_failure(settings, offer, error) from None
    finally:
        offer.close()


def _options(
    settings: HostSettings, known: KnownKeys, offer: Offer, tunnel: asyncssh.SSHClientConnection | None
) -> dict[str, Any]:
    options: dict[str, Any] = {
        "config": None,
        "username": settings.user,
        "known_hosts": ((), list(known.authorities), list(known.revoked)),
        "host_key_alias": settings.host_key_alias,
        "client_keys": list(offer.keys) or None,
        "agent_path": None,
        "preferred_auth": "publickey",
        "gss_host": None,
        "family": _FAMILIES[settings.address_family],
        "connect_timeout": None,
        "login_timeout": 0,
        "keepalive_interval": settings.alive_interval_s or 0,
        "keepalive_count_max": settings.alive_count,
        "x509_trusted_certs": None,
        "compression_algs": None,
        "encoding": None,
        **settings.algorithms,
    }
    if "server_host_key_algs" not in settings.algorithms:
        options["server_host_key_algs"] = _host_key_algorithms(known)
    if tunnel is not None:
        options["tunnel"] = tunnel
    elif settings.proxy_command is not None:
        # Not ended by a Ctrl-C that is meant for us.
        options["proxy_command"] = ["/bin/sh", "-c", f"trap '' INT; exec {settings.proxy_command}"]
    return options


def _host_key_algorithms(known: KnownKeys) -> list[str]:
    """Those of the known keys first, so that a server with several keys shows one that is known."""
    first = [name for name in known.algorithms if name in _HOST_KEYS]
    certificates = [f"{name}-cert-v01@openssh.com" for name in _HOST_KEYS] if known.authorities else []
    return list(dict.fromkeys([*certificates, *first, *_HOST_KEYS]))


class _Client(asyncssh.SSHClient):
    """Decides about a host's key; remembers that one was refused."""

    def __init__(self, known: KnownKeys) -> None:
        self._known = known
        self.has_refused_key = False

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        self.has_refused_key = key not in self._known.trusted
        return not self.has_refused_key


def _host_key_words(settings: HostSettings, known: KnownKeys, client: _Client, error: Exception) -> str:
    if client.has_refused_key and known.trusted:
        why = "the host key changed"
    elif client.has_refused_key and known.authorities:
        why = "the host shows no certificate of the known authority"
    elif client.has_refused_key:
        why = "unknown host (add it with ssh-keyscan or a first connection with ssh)"
        missing = [escape_controls(str(file)) for file in settings.known_hosts[:1] if not file.exists()]
        why += f"; {missing[0]} does not exist" if missing else ""
    elif "revoked" in str(error):
        why = "the host key is revoked"
    else:
        why = one_line(str(error))
    return f"host key verification failed for {settings.where}: {why}"


def _login_failure(settings: HostSettings, offer: Offer, error: Exception) -> SshFailure:
    where = settings.where
    skipped = f"; left out: {', '.join(offer.skipped)}" if offer.skipped else ""
    who = f"{escape_controls(settings.user)}@{where}"
    count = len(offer.keys)
    if isinstance(error, asyncssh.DisconnectError) and _TOO_MANY in error.reason:
        return SshFailure(
            f"authentication failed for {who}: the server allows fewer tries than the {count} keys offered "
            f"({offer.agent_keys} of the agent); set IdentitiesOnly yes and IdentityFile for the host{skipped}"
        )
    if isinstance(error, asyncssh.PermissionDenied):
        if not count:
            return SshFailure(
                f"authentication failed for {who}: there is no key to offer; "
                f"add one to the agent or name it with IdentityFile{skipped}"
            )
        keys = "key" if count == 1 else "keys"
        return SshFailure(f"authentication failed for {who}: the server refused the {count} {keys} offered{skipped}")
    return SshFailure(f"cannot connect to {where}: {_words(error)}")


def _words(error: Exception) -> str:
    """A library's or the system's words, on one line; without the number of an OS error."""
    if isinstance(error, asyncssh.DisconnectError | asyncssh.ChannelOpenError):
        return escape_controls(one_line(error.reason)) or type(error).__name__
    if isinstance(error, socket.gaierror):
        return one_line(error.strerror or "the name is not known")
    if isinstance(error, OSError) and error.errno:
        # Not its own text: asyncio puts the address there.
        return os.strerror(error.errno)
    return escape_controls(one_line(str(error))) or type(error).__name__


async def _close_all(connections: list[asyncssh.SSHClientConnection], limit_s: float) -> None:
    """Close the innermost connection first; one that does not answer is dropped."""
    for connection in reversed(connections):
        connection.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await connection.wait_closed()
                continue
        connection.abort()


class BuiltinConnection:
    """A connection of asyncssh with the jumps it goes through."""

    def __init__(self, hops: list[asyncssh.SSHClientConnection], *, where: str, close_s: float) -> None:
        self._hops = hops
        self._where = where
        self._close_s = close_s

    @property
    def where(self) -> str:
        """The host and the port, for messages."""
        return self._where

    @property
    def is_closed(self) -> bool:
        """Whether it is gone."""
        return any(hop.is_closed() for hop in self._hops)

    def unused_end(self) -> None:
        """Always None: there is no process whose end could tell something."""

    async def open(self, command: str) -> SshChannel:
        """Start a command on a channel of its own.

        Raises:
            ChannelRefusedError: the server opens no more.
            ConnectionGoneError: the connection is gone.
        """
        channel = SshChannel()
        try:
            await self._hops[-1].create_session(
                lambda: _Session(channel, self._where), command, encoding=None, request_pty=False
            )
        except asyncssh.ChannelOpenError as error:
            if self.is_closed:
                raise ConnectionGoneError(f"the connection to {self._where} was terminated") from None
            if error.code >= _REQUEST_REFUSED:
                raise SshFailure(f"{self._where} runs no commands: {_words(error)}") from None
            raise ChannelRefusedError(f"{self._where} refused another channel: {_words(error)}") from None
        except (asyncssh.Error, OSError) as error:
            raise ConnectionGoneError(f"the connection to {self._where} was terminated ({_words(error)})") from None
        return channel

    async def close(self) -> None:
        """End the connection, its channels and its jumps."""
        await _close_all(self._hops, self._close_s)


class _Session(asyncssh.SSHClientSession[bytes]):
    """Feeds an `SshChannel` from a channel of asyncssh, and is its port."""

    def __init__(self, channel: SshChannel, where: str) -> None:
        self._ours = channel
        self._where = where
        self._signal: str | None = None
        self._channel: asyncssh.SSHClientChannel[bytes] | None = None

    def connection_made(self, chan: asyncssh.SSHClientChannel[bytes]) -> None:
        self._channel = chan
        chan.set_write_buffer_limits(high=UNSENT_LIMIT_BYTES)
        self._ours.attach(self)

    def data_received(self, data: bytes, datatype: int | None) -> None:
        if datatype == asyncssh.EXTENDED_DATA_STDERR:
            self._ours.feed_error(data)
        else:
            self._ours.feed_output(data)

    def eof_received(self) -> bool:
        self._ours.feed_eof()
        return False

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:
        self._signal = signal

    def pause_writing(self) -> None:
        self._ours.set_sending(is_possible=False)

    def resume_writing(self) -> None:
        self._ours.set_sending(is_possible=True)

    def connection_lost(self, exc: Exception | None) -> None:
        status = self._channel.get_exit_status() if self._channel is not None else None
        failure = None
        if exc is not None:
            failure = SshFailure(f"the connection to {self._where} was terminated ({_words(exc)})")
        elif status is None and self._signal is None:
            failure = SshFailure(f"the remote process on {self._where} terminated without an exit status")
        self._ours.feed_end(ChannelEnd(exit_status=status, signal=self._signal, failure=failure))

    def pause_reading(self) -> None:
        if self._channel is not None:
            self._channel.pause_reading()

    def resume_reading(self) -> None:
        if self._channel is not None:
            self._channel.resume_reading()

    def send(self, block: bytes) -> None:
        if self._channel is not None:
            self._channel.write(block)

    def send_eof(self) -> None:
        if self._channel is not None:
            self._channel.write_eof()

    def abort(self) -> None:
        if self._channel is not None:
            self._channel.abort()
