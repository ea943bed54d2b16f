"""From a target's settings to an executor."""

from __future__ import annotations

from pathlib import Path

import pytest

from overbrainer_core.config.settings import SshTarget
from overbrainer_core.errors import ConfigError, TargetError, describe
from overbrainer_core.executors.base import Executor
from overbrainer_core.executors.ssh_connect import Login, TargetUnreachableError, connect_login, connect_ssh, ssh_client
from overbrainer_core.executors.ssh_session import SshTiming
from tests.peers.sshd import Sshd, make_key, needs_sshd, public_text


@pytest.mark.parametrize(
    ("variable", "setting", "chosen"),
    [
        (None, "builtin", "builtin"),
        ("", "openssh", "openssh"),
        ("  ", "openssh", "openssh"),
        (" openssh ", "builtin", "openssh"),
        ("builtin", "openssh", "builtin"),
    ],
)
def test_the_variable_wins_over_the_setting(variable: str | None, setting: str, chosen: str) -> None:
    environment = {} if variable is None else {"OVERBRAINER_SSH_CLIENT": variable}
    assert ssh_client(setting, environment) == chosen


async def test_another_client_is_refused_by_the_variables_name() -> None:
    with pytest.raises(ConfigError, match="OVERBRAINER_SSH_CLIENT must be openssh or builtin"):
        await connect_ssh(
            SshTarget(name="lab", runtime="native", host="x"), environment={"OVERBRAINER_SSH_CLIENT": "putty"}
        )


async def test_a_host_that_is_not_set_names_the_variable() -> None:
    with pytest.raises(TargetError) as caught:
        await connect_ssh(SshTarget(name="gpu_box", runtime="native"), environment={})
    assert str(caught.value) == "targets.gpu_box.host is not set: set OVERBRAINER_TARGETS__GPU_BOX__HOST"


@pytest.mark.parametrize("client", ["builtin", "openssh"])
async def test_a_host_that_reads_as_an_option_is_refused_and_not_shown(client: str) -> None:
    target = SshTarget(name="lab", runtime="native", host="-oProxyCommand=touch x", ssh_client=client)
    with pytest.raises(TargetUnreachableError) as caught:
        await connect_ssh(target, environment={"HOME": "/nowhere"})
    assert describe(caught.value) == (
        "cannot reach target `lab`: the host of the target is not a name, user@name or ssh://user@name:port"
    )


async def test_without_a_home_the_builtin_client_says_so() -> None:
    target = SshTarget(name="lab", runtime="native", host="x")
    with pytest.raises(TargetUnreachableError) as caught:
        await connect_ssh(target, environment={})
    assert describe(caught.value).startswith("cannot reach target `lab`: HOME is not set: ")


@needs_sshd
@pytest.mark.parametrize("variable", ["openssh", "builtin"])
async def test_a_target_is_reached_with_the_client_in_effect(server: Sshd, variable: str) -> None:
    server.start()
    target = SshTarget(name="lab", runtime="native", host=server.destination, workdir="w", ssh_client="builtin")
    executor: Executor = await connect_ssh(
        target, environment={**server.environment, "OVERBRAINER_SSH_CLIENT": variable}, home=server.client_home
    )
    assert Path(executor.workdir) == server.remote_home.resolve() / "w"
    # The version that a client tells the server is its own.
    assert await executor.probe("echo on") == b"on\n"
    await executor.close()


@needs_sshd
@pytest.mark.parametrize("client", ["openssh", "builtin"])
async def test_a_configuration_of_its_own_replaces_all_others(server: Sshd, tmp_path: Path, client: str) -> None:
    server.start()
    server.configure("Port 1\n")
    key = make_key(tmp_path / "run keys" / "id_ed25519")
    server.authorize(key)
    alias = "overbrainer-quill_20261102-081500"
    folder = key.parent
    (folder / "known_hosts").write_text(f"{alias} {public_text(server.host_key)}\n")
    (folder / "config").write_text(
        f"Host {alias}\n  HostName 127.0.0.1\n  Port {server.port}\n  User {server.user}\n"
        f'  IdentityFile "{folder}/id_ed25519"\n  IdentitiesOnly yes\n  IdentityAgent none\n'
        f'  UserKnownHostsFile "{folder}/known_hosts"\n  GlobalKnownHostsFile /dev/null\n  HostKeyAlias {alias}\n'
        "  CheckHostIP no\n  StrictHostKeyChecking yes\n  UpdateHostKeys no\n"
        "  PasswordAuthentication no\n  KbdInteractiveAuthentication no\n"
    )
    login = Login(
        name="gpu_cloud",
        destination=alias,
        client=client,
        environment=server.environment,
        config_file=folder / "config",
    )
    executor = await connect_login(login, "/tmp", timing=SshTiming(connect_s=10))
    assert executor.workdir == str(Path("/tmp").resolve())
    await executor.close()


def test_no_variable_of_a_login_shows() -> None:
    login = Login(name="lab", destination="x", client="builtin", environment={"HF_TOKEN": "hf_secret"})
    assert "hf_secret" not in repr(login)
