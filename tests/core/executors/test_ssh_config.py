"""What OpenSSH configuration means for the built-in client."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path

import pytest

from overbrainer_core.executors.ssh_config import HostSettings, LocalSide, load_host
from overbrainer_core.executors.ssh_config_file import SshConfigError
from overbrainer_core.executors.ssh_destination import Destination, parse_destination
from overbrainer_core.executors.ssh_session import SshTiming


@dataclass
class Home:
    """A home directory whose configuration a test writes; the system's is never read."""

    path: Path

    def write(self, text: str, name: str = "config", *, mode: int = 0o600) -> Path:
        """Write a file below `.ssh`."""
        file = self.path / ".ssh" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)
        return file

    def load(self, destination: str = "lab", **environment: str) -> HostSettings:
        """The settings of a host."""
        local = LocalSide.of({"HOME": str(self.path), "USER": "me", **environment})
        return load_host(parse_destination(destination), local, SshTiming())


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home, and a system directory of the test's own."""
    system = tmp_path / "etc"
    system.mkdir()
    monkeypatch.setattr("overbrainer_core.executors.ssh_config_file.SYSTEM_DIRECTORY", system)
    return Home(tmp_path / "home")


def test_without_a_file_the_defaults_of_openssh_hold(home: Home) -> None:
    settings = home.load("lab.example", SSH_AUTH_SOCK="/run/agent")
    ssh = home.path / ".ssh"
    assert (settings.host, settings.port, settings.user) == ("lab.example", 22, "me")
    assert settings.identity_files == (ssh / "id_ed25519", ssh / "id_ecdsa", ssh / "id_rsa")
    assert settings.known_hosts[:2] == (ssh / "known_hosts", ssh / "known_hosts2")
    assert settings.known_hosts[2] == Path("/etc/ssh/ssh_known_hosts")
    assert (settings.connect_timeout_s, settings.alive_interval_s, settings.alive_count) == (30, 15, 3)
    assert settings.agent == "/run/agent"
    assert not settings.identities_only
    assert settings.where == "lab.example:22"


def test_the_first_value_wins_and_key_files_accumulate(home: Home) -> None:
    home.write(
        "Host lab\n  Port 2202\n  IdentityFile ~/.ssh/one\n  IdentitiesOnly yes\n"
        "Host *\n  Port 22\n  User=root\n  IdentityFile two\n  hostname = 192.0.2.44\n"
        "  ServerAliveInterval 5\n  ServerAliveCountMax 9\n  ConnectTimeout 1m30s\n  HostKeyAlias farm\n"
        "  StrictHostKeyChecking no\n  AddressFamily inet\n"
    )
    (home.path.parent / "etc" / "ssh_config").write_text("Host *\n  User late\n  GlobalKnownHostsFile /etc/known\n")
    settings = home.load()
    assert (settings.host, settings.port, settings.user) == ("192.0.2.44", 2202, "root")
    assert settings.identity_files == (home.path / ".ssh" / "one", Path("two"))
    assert settings.identities_only
    assert settings.known_hosts[2:] == (Path("/etc/known"),)
    assert (settings.connect_timeout_s, settings.alive_interval_s, settings.alive_count) == (90, 5, 9)
    assert (settings.host_key_alias, settings.address_family) == ("farm", "inet")


def test_the_destination_wins_over_the_file(home: Home) -> None:
    home.write("Host *\n  User root\n  Port 2202\n")
    settings = home.load("ssh://ada@lab:2203")
    assert (settings.user, settings.port) == ("ada", 2203)


def test_zero_and_none_mean_no_limit(home: Home) -> None:
    home.write("ConnectTimeout 0\nServerAliveInterval none\n")
    assert (home.load().connect_timeout_s, home.load().alive_interval_s) == (None, None)


@pytest.mark.parametrize(
    ("patterns", "applies"),
    [
        ("lab", True),
        ("l?b", True),
        ("other l*", True),
        ("* !lab", False),
        ("!lab *", False),
        ("!other", False),
        ("la", False),
        ("[l]ab", False),
        ('"lab"', True),
    ],
)
def test_hosts_are_named_by_patterns(home: Home, patterns: str, applies: bool) -> None:
    home.write(f"Host {patterns}\n  Port 2202\n")
    assert (home.load().port == 2202) is applies


def test_includes_are_found_below_the_home_at_every_depth(home: Home) -> None:
    home.write(
        "Include conf.d/*.conf\nInclude none/*\nHost other\n  Include only_other\nHost lab\n  Include ~/.ssh/only_lab\n"
    )
    home.write("Include sub/x\n", "conf.d/1.conf")
    (home.path / ".ssh" / "sub").mkdir(exist_ok=True)
    home.write("Host l*\n  Port 2202\n", "sub/x")
    home.write("User wrong\n", "only_other")
    home.write("User right\nHost nobody\n  HostName wrong\n", "only_lab")
    settings = home.load()
    assert (settings.port, settings.user, settings.host) == (2202, "right", "lab")


def test_an_include_that_includes_itself_ends(home: Home) -> None:
    home.write("Include config\n")
    with pytest.raises(SshConfigError, match="too many levels of Include"):
        home.load()


def test_tokens_are_expanded_with_the_final_host_and_user(home: Home) -> None:
    home.write(
        "Host lab\n  HostName %h.cluster.lan\n  User ada\n  UserKnownHostsFile ~/.ssh/kh_%h ${EXTRA}/%n\n"
        "  IdentityFile %d/.ssh/id_%r\n  ProxyJump %r@jump:2200\n  ControlMaster auto\n  ControlPath ~/.ssh/cm-%C\n"
        "  IdentityAgent ~/agent-%i-%%\n  CertificateFile /c/%u-%k-%L-%p-%l-%C\n"
    )
    settings = home.load(EXTRA="/x%y")
    assert settings.host == "lab.cluster.lan"
    assert settings.known_hosts[:2] == (home.path / ".ssh" / "kh_lab.cluster.lan", Path("/x%y/lab"))
    assert settings.identity_files == (home.path / ".ssh" / "id_ada",)
    assert settings.jumps == (Destination(host="jump", user="ada", port=2200),)
    assert settings.agent == str(home.path / f"agent-{os.getuid()}-%")
    name = socket.gethostname()
    assert str(settings.certificate_files[0]).startswith(f"/c/me-lab-{name.split('.')[0]}-22-{name}-")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("IdentityFile ~/id_%T", "IdentityFile: the token %T is not supported"),
        ("HostName %q", "HostName: the token %q is not supported"),
        ("UserKnownHostsFile ${NOWHERE}/x", "UserKnownHostsFile: the variable NOWHERE is not set"),
        ("Port 0", "a port in the SSH configuration or of the host is not between 1 and 65535"),
        ("ConnectTimeout soon", "ConnectTimeout has no valid value"),
        ("IdentitiesOnly maybe", "IdentitiesOnly has no valid value"),
        ("StrictHostKeyChecking perhaps", "StrictHostKeyChecking has no valid value"),
        ("ServerAliveCountMax -1", "ServerAliveCountMax has no valid value"),
        ("Port", "a line has no value"),
    ],
)
def test_a_value_that_makes_no_sense_is_named(home: Home, line: str, words: str) -> None:
    home.write(line + "\n")
    with pytest.raises(SshConfigError) as caught:
        home.load()
    assert words in str(caught.value)


IGNORED = (
    "SendEnv LANG",
    "SetEnv A=b",
    "ForwardAgent yes",
    "ForwardX11 yes",
    "ForwardX11Trusted yes",
    "GSSAPIAuthentication yes",
    "GSSAPIDelegateCredentials no",
    "Compression yes",
    "LogLevel QUIET",
    "HashKnownHosts yes",
    "AddKeysToAgent yes",
    "UseKeychain yes",
    "ControlMaster auto",
    "ControlPath ~/.ssh/%C",
    "ControlPersist 10m",
    "LocalForward 80 a:80",
    "RemoteForward 80 a:80",
    "DynamicForward 80",
    "VisualHostKey yes",
    "UpdateHostKeys no",
    "BatchMode yes",
    "PasswordAuthentication yes",
    "KbdInteractiveAuthentication no",
    "ChallengeResponseAuthentication no",
    "TCPKeepAlive yes",
    "CheckHostIP no",
    "PubkeyAuthentication yes",
)


def test_directives_without_a_meaning_here_are_ignored(home: Home) -> None:
    home.write("\n".join(IGNORED))
    assert home.load().host == "lab"


@pytest.mark.parametrize(
    "line", ["PKCS11Provider /x.so", "SecurityKeyProvider /x.so", "PubkeyAuthentication no", "BindAddress 192.0.2.1"]
)
def test_a_directive_that_cannot_be_honoured_is_refused_by_name(home: Home, line: str) -> None:
    file = home.write(f"Host other\n  Tunnel yes\nHost lab\n  {line}\n")
    with pytest.raises(SshConfigError) as caught:
        home.load()
    assert str(caught.value) == (
        f"{file}: {line.split()[0]} for host lab is not supported by the built-in SSH client; "
        'set ssh_client = "openssh" on the target (or OVERBRAINER_SSH_CLIENT=openssh), '
        "or give the host an entry without that line"
    )
    assert home.load("third").host == "third"


def test_unknown_directives_are_skipped_when_the_file_says_so(home: Home) -> None:
    home.write("IgnoreUnknown Fancy*,Other\nFancyThing yes\nOther 1\n")
    assert home.load().host == "lab"


@pytest.mark.parametrize("line", ["Match host lab", 'Match exec "true"', "Match user me", "Match originalhost other"])
def test_a_match_that_cannot_be_judged_is_refused(home: Home, line: str) -> None:
    home.write(f"{line}\n  Port 2202\n")
    with pytest.raises(SshConfigError, match="Match for host lab is not supported by the built-in SSH client"):
        home.load()


def test_match_all_applies_and_match_final_comes_last(home: Home) -> None:
    home.write("Host other\n  Port 1\nMatch final all\n  User late\n  Port 2202\nMatch all\n  User early\n")
    settings = home.load()
    assert (settings.user, settings.port) == ("early", 2202)


def test_algorithm_lists_of_the_user_count_and_those_of_the_system_do_not(home: Home) -> None:
    (home.path.parent / "etc" / "ssh_config").write_text("Ciphers aes128-cbc\nRequiredRSASize 2048\nMACs x\n")
    assert home.load().algorithms == {}
    home.write("KexAlgorithms +x\nHostKeyAlgorithms ssh-ed25519\n")
    assert home.load().algorithms == {"kex_algs": "+x", "server_host_key_algs": "ssh-ed25519"}


def test_a_proxy_command_keeps_its_text(home: Home) -> None:
    home.write('ProxyCommand nc -X "5" %h %p # not a comment\nProxyJump late\n')
    settings = home.load()
    assert settings.proxy_command == 'nc -X "5" lab 22 # not a comment'
    assert settings.jumps == ()


def test_a_chain_of_jumps_keeps_its_order_and_none_is_none(home: Home) -> None:
    home.write(
        "Host lab\n  ProxyJump none\nHost *\n  ProxyJump a@one:22,two,ssh://b@[fe80::1]:2022\n  ProxyCommand x\n"
    )
    assert home.load().jumps == ()
    assert home.load().proxy_command is None
    chain = home.load("other").jumps
    assert [(jump.user, jump.host, jump.port) for jump in chain] == [
        ("a", "one", 22),
        (None, "two", None),
        ("b", "fe80::1", 2022),
    ]


@pytest.mark.parametrize(
    ("value", "agent"), [("none", None), ("SSH_AUTH_SOCK", "/run/a"), ("$OTHER", "/run/b"), ("/run/c", "/run/c")]
)
def test_the_agent_may_be_another_or_none(home: Home, value: str, agent: str | None) -> None:
    home.write(f"IdentityAgent {value}\n")
    assert home.load(SSH_AUTH_SOCK="/run/a", OTHER="/run/b").agent == agent


def test_no_key_file_at_all_can_be_asked_for(home: Home) -> None:
    home.write("IdentityFile none\nUserKnownHostsFile none\n")
    settings = home.load()
    assert settings.identity_files == ()
    assert settings.known_hosts[0] == Path("/etc/ssh/ssh_known_hosts")


@pytest.mark.parametrize("name", ["config", "extra"])
def test_a_file_that_others_can_write_is_refused(home: Home, name: str) -> None:
    home.write("Include extra\n")
    file = home.write("Port 1\n", name, mode=0o620)
    with pytest.raises(SshConfigError) as caught:
        home.load()
    assert str(caught.value) == f"Bad owner or permissions on {file}"


def test_a_given_file_stands_for_both(home: Home, tmp_path: Path) -> None:
    home.write("Port 1\n")
    (tmp_path / "etc" / "ssh_config").write_text("User system\n")
    given = tmp_path / "given"
    given.write_text('Host overbrainer-x\n  HostName 203.0.113.7\n  Port 40122\n  UserKnownHostsFile "/a b/k%%h"\n')
    local = LocalSide.of({"HOME": str(home.path), "USER": "me"}, config_file=given)
    settings = load_host(Destination(host="overbrainer-x"), local, SshTiming())
    assert (settings.host, settings.port, settings.user) == ("203.0.113.7", 40122, "me")
    assert settings.known_hosts[0] == Path("/a b/k%h")
    missing = LocalSide.of({"HOME": str(home.path)}, config_file=tmp_path / "none")
    with pytest.raises(SshConfigError, match="cannot be read"):
        load_host(Destination(host="x"), missing, SshTiming())


def test_home_and_user_are_never_guessed(home: Home) -> None:
    with pytest.raises(SshConfigError, match="HOME is not set: "):
        LocalSide.of({"USER": "me"})
    local = LocalSide.of({"HOME": str(home.path)})
    with pytest.raises(SshConfigError, match="USER and LOGNAME are not set"):
        load_host(Destination(host="lab"), local, SshTiming())
    assert load_host(Destination(host="lab", user="ada"), local, SshTiming()).user == "ada"
    logname = LocalSide.of({"HOME": str(home.path), "LOGNAME": "log"})
    assert load_host(Destination(host="lab"), logname, SshTiming()).user == "log"
