"""Which client reaches an SSH target, and how is a failure to reach it told?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from overbrainer_core.config.env import SSH_CLIENT, SSH_CLIENTS
from overbrainer_core.config.settings import SshTarget
from overbrainer_core.errors import ConfigError, TargetError
from overbrainer_core.executors.errors import ExecutorError
from overbrainer_core.executors.ssh import SshExecutor, create_workdir
from overbrainer_core.executors.ssh_config import LocalSide
from overbrainer_core.executors.ssh_destination import parse_destination
from overbrainer_core.executors.ssh_openssh import connect_openssh
from overbrainer_core.executors.ssh_session import Connector, SshConnection, SshSession, SshTiming


class TargetUnreachableError(ExecutorError):
    """A target cannot be reached; the cause says why."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"cannot reach target `{name}`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """Where to log in and with which client.

    Args:
        name: the target's name, for messages.
        destination: `user@host`, an alias of the SSH configuration, or `ssh://user@host:port`.
        environment: overbrainer's own variables.
        home: where `~` leads, by default `HOME`.
        config_file: an SSH configuration that stands for the user's and the system's.
    """

    name: str
    destination: str
    client: str
    environment: Mapping[str, str] = field(repr=False)
    home: Path | None = None
    config_file: Path | None = None


async def connect_ssh(
    target: SshTarget, *, environment: Mapping[str, str], home: Path | None = None, timing: SshTiming | None = None
) -> SshExecutor:
    """The executor of an SSH target, connected and with its work directory; close it when done.

    Raises:
        ConfigError: `OVERBRAINER_SSH_CLIENT` names no client.
        TargetError: the host is not set, or the target cannot be reached.
    """
    return await connect_login(login_of(target, environment, home=home), target.workdir, timing=timing)


async def open_ssh(
    target: SshTarget, *, environment: Mapping[str, str], home: Path | None = None, timing: SshTiming | None = None
) -> SshSession:
    """A connection to an SSH target, on which nothing is created; close it when done. Fails like `connect_ssh`."""
    return await _open(login_of(target, environment, home=home), timing or SshTiming())


def login_of(target: SshTarget, environment: Mapping[str, str], *, home: Path | None = None) -> Login:
    """Where a target is and how it is reached, before anything is sent there.

    Raises:
        ConfigError: `OVERBRAINER_SSH_CLIENT` names no client.
        TargetError: the host is not set.
    """
    client = ssh_client(target.ssh_client, environment)
    if not target.host:
        variable = f"OVERBRAINER_TARGETS__{target.name.upper()}__HOST"
        raise TargetError(f"targets.{target.name}.host is not set: set {variable}")
    return Login(name=target.name, destination=target.host, client=client, environment=environment, home=home)


async def connect_login(login: Login, workdir: str, *, timing: SshTiming | None = None) -> SshExecutor:
    """The executor of a machine, connected and with its work directory; close it when done.

    Raises:
        TargetUnreachableError: it cannot be reached, or has no work directory.
    """
    session = await _open(login, timing or SshTiming())
    try:
        return SshExecutor(session, await create_workdir(session, workdir))
    except BaseException as error:
        await session.close()
        if isinstance(error, ExecutorError):
            raise TargetUnreachableError(login.name) from error
        raise


async def _open(login: Login, timing: SshTiming) -> SshSession:
    try:
        session = SshSession(_connector(login, timing), name=login.name, timing=timing)
    except ExecutorError as error:
        raise TargetUnreachableError(login.name) from error
    try:
        await session.connect()
    except BaseException as error:
        await session.close()
        if isinstance(error, ExecutorError):
            raise TargetUnreachableError(login.name) from error
        raise
    return session


def ssh_client(setting: str, environment: Mapping[str, str]) -> str:
    """The client in effect: `OVERBRAINER_SSH_CLIENT` over the target's own setting.

    Raises:
        ConfigError: the variable names no client.
    """
    choice = environment.get(SSH_CLIENT, "").strip()
    if choice and choice not in SSH_CLIENTS:
        raise ConfigError(f"{SSH_CLIENT} must be openssh or builtin")
    return choice or setting


def _connector(login: Login, timing: SshTiming) -> Connector:
    """What makes a connection of the chosen client."""
    destination = parse_destination(login.destination)

    async def openssh() -> SshConnection:
        return await connect_openssh(
            login.destination.strip(),
            environment=login.environment,
            home=login.home,
            config_file=login.config_file,
            timing=timing,
        )

    async def builtin() -> SshConnection:
        # The library is loaded by those who use it only.
        from overbrainer_core.executors.ssh_builtin import connect_builtin

        local = LocalSide.of(login.environment, home=login.home, config_file=login.config_file)
        return await connect_builtin(destination, local, timing)

    return openssh if login.client == "openssh" else builtin
