"""Keys of hosts in OpenSSH's files, odd lines included."""

from __future__ import annotations

import subprocess
from pathlib import Path

import asyncssh
import pytest

from overbrainer_core.executors.ssh_known_hosts import host_name, read_known_keys
from tests.peers.sshd import make_key, needs_sshd, public_text

pytestmark = needs_sshd


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """A host's key."""
    return make_key(tmp_path / "host")


@pytest.fixture
def known(tmp_path: Path) -> Path:
    """The file under test."""
    return tmp_path / "known_hosts"


def trusted(known: Path, name: str) -> list[str]:
    """The keys trusted for a name, as in the files."""
    return [key.export_public_key().decode().strip() for key in read_known_keys([known], name).trusted]


@pytest.mark.parametrize(
    ("host", "port", "alias", "name"),
    [
        ("Lab.Example", 22, None, "lab.example"),
        ("192.0.2.44", 2202, None, "[192.0.2.44]:2202"),
        ("lab", 2202, "Farm", "farm"),
    ],
)
def test_a_host_is_written_with_its_port_unless_it_is_22(host: str, port: int, alias: str | None, name: str) -> None:
    assert host_name(host, port, alias) == name


def test_odd_lines_are_skipped_and_the_valid_one_counts(known: Path, key: Path) -> None:
    known.write_bytes(
        b"=\r\n# comment\r\n\r\nlab ssh-foo AAAA\r\n|1|c2FsdA==|aGFzaA== ssh-ed25519 AAAA\r\n"
        b"lab ssh-ed25519 !!!\r\nlab\r\n@unknown lab ssh-ed25519 AAAA\r\n\xff\xfe\r\n"
        + f"other,lab {public_text(key)} a comment\r\n".encode()
    )
    assert trusted(known, "lab") == [public_text(key)]


def test_hashed_names_match(known: Path, key: Path) -> None:
    known.write_text(f"[192.0.2.44]:2202 {public_text(key)}\n")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(known)], check=True, capture_output=True)
    assert known.read_text().startswith("|1|")
    assert trusted(known, "[192.0.2.44]:2202") == [public_text(key)]
    assert trusted(known, "192.0.2.44") == []


def test_patterns_and_exclusions_match(known: Path, key: Path) -> None:
    known.write_text(f"*.example,!bad.example,LAB {public_text(key)}\n")
    assert trusted(known, "good.example") == [public_text(key)]
    assert trusted(known, "bad.example") == []
    assert trusted(known, "lab") == [public_text(key)]


def test_a_port_of_22_does_not_vouch_for_another(known: Path, key: Path) -> None:
    known.write_text(f"192.0.2.44 {public_text(key)}\n")
    assert trusted(known, "[192.0.2.44]:2202") == []


def test_revoked_keys_and_authorities_are_kept_apart(known: Path, key: Path) -> None:
    known.write_text(f"@revoked * {public_text(key)}\n@cert-authority *.example {public_text(key)}\n")
    found = read_known_keys([known, known.with_name("missing")], "lab.example")
    own = asyncssh.read_public_key(key.with_name("host.pub"))
    assert (found.trusted, found.revoked, found.authorities) == ((), (own,), (own,))


def test_algorithms_come_in_the_order_of_the_file(known: Path, key: Path, tmp_path: Path) -> None:
    rsa = make_key(tmp_path / "rsa", kind="rsa")
    known.write_text(f"lab {public_text(rsa)}\nlab {public_text(key)}\n")
    names = read_known_keys([known], "lab").algorithms
    assert names.index("rsa-sha2-512") < names.index("ssh-ed25519")
