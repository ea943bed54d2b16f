from __future__ import annotations

import httpx
import pytest

from overbrainer_core.llm.errors import ClientSetupError
from overbrainer_core.llm.proxy import is_loopback, proxy_of

PROXY = {"HTTPS_PROXY": "http://proxy.test:3128", "http_proxy": "proxy.test:3129"}


def used(url: str, **environment: str) -> str | None:
    proxy = proxy_of(httpx.URL(url), {**PROXY, **environment})
    return str(proxy.url) if proxy is not None else None


def test_the_proxy_of_the_scheme_is_used() -> None:
    assert used("https://api.test/v1") == "http://proxy.test:3128"
    assert used("http://api.test/v1") == "http://proxy.test:3129"
    assert proxy_of(httpx.URL("https://api.test"), {"ALL_PROXY": "http://all.test:1"}) is not None
    assert proxy_of(httpx.URL("https://api.test"), {}) is None


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.8.7", "[::1]", "box.localhost"])
def test_loopback_goes_through_none(host: str) -> None:
    assert used(f"http://{host}:11434/v1") is None


@pytest.mark.parametrize(
    ("rules", "direct"),
    [
        ("*", True),
        ("api.test", True),
        (".test", True),
        ("*.test", True),
        ("test", True),
        ("pi.test", False),
        ("other.test, api.test", True),
        ("api.test:443", False),
        ("", False),
        ("10.0.0.0/8", False),
    ],
)
def test_no_proxy_names_hosts_and_their_subdomains(rules: str, direct: bool) -> None:
    assert (used("https://api.test/v1", NO_PROXY=rules) is None) is direct


def test_no_proxy_names_networks_too() -> None:
    assert used("https://10.1.2.3/v1", no_proxy="10.0.0.0/8") is None
    assert used("https://11.1.2.3/v1", no_proxy="10.0.0.0/8") is not None
    assert used("https://[fd00::1]/v1", no_proxy="fd00::/8") is None


def test_a_proxy_that_cannot_be_used_is_an_error_without_its_address() -> None:
    with pytest.raises(ClientSetupError) as caught:
        proxy_of(httpx.URL("https://api.test"), {"HTTPS_PROXY": "ftp://user:hidden@x"})
    assert str(caught.value) == "HTTPS_PROXY names no HTTP proxy"
    with pytest.raises(ClientSetupError):
        proxy_of(httpx.URL("https://api.test"), {"ALL_PROXY": "socks5://127.0.0.1:1080"})


def test_other_names_are_not_loopback() -> None:
    assert not is_loopback("localhost.test")
    assert not is_loopback("10.0.0.1")
