"""What a person writes for a host."""

from __future__ import annotations

import pytest

from overbrainer_core.executors.ssh_config_file import SshConfigError
from overbrainer_core.executors.ssh_destination import Destination, parse_destination, parse_jumps, parse_port


@pytest.mark.parametrize(
    ("text", "destination"),
    [
        ("lab", Destination(host="lab")),
        (" ada@lab ", Destination(host="lab", user="ada")),
        ("a@b@lab", Destination(host="lab", user="a@b")),
        ("ssh://ada@lab:2202/", Destination(host="lab", user="ada", port=2202)),
        ("ssh://[fe80::1]:22", Destination(host="fe80::1", port=22)),
        ("ada@fe80::1", Destination(host="fe80::1", user="ada")),
    ],
)
def test_a_destination_is_read(text: str, destination: Destination) -> None:
    assert parse_destination(text) == destination


@pytest.mark.parametrize("text", ["", "   ", "-oProxyCommand=x", "a@", "-x@lab", "a b", "lab\n", "ssh://"])
def test_what_is_no_destination_is_refused_and_not_shown(text: str) -> None:
    if text == "lab\n":
        text = "la\nb"
    with pytest.raises(SshConfigError) as caught:
        parse_destination(text)
    assert str(caught.value) == "the host of the target is not a name, user@name or ssh://user@name:port"


def test_jumps_are_read_in_order() -> None:
    assert parse_jumps("none") == ()
    assert parse_jumps("a:1, b@c") == (Destination(host="a", port=1), Destination(host="c", user="b"))


@pytest.mark.parametrize("text", ["0", "65536", "x", "-1", "²"])
def test_a_port_is_a_number_in_range(text: str) -> None:
    with pytest.raises(SshConfigError):
        parse_port(text)
