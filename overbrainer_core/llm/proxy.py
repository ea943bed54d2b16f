"""Through which proxy does a request to a host go? A loopback address through none."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

import httpx

from overbrainer_core.llm.errors import ClientSetupError


def proxy_of(url: httpx.URL, environment: Mapping[str, str]) -> httpx.Proxy | None:
    """The proxy that the environment names for this address, unless `NO_PROXY` or loopback excludes it.

    Raises:
        ClientSetupError: the proxy is not an HTTP one; its address is not shown, it may hold a password.
    """
    host = url.host
    if is_loopback(host) or _is_excluded(host, url.port, _variable(environment, "no_proxy") or ""):
        return None
    for name in (f"{url.scheme}_proxy", "all_proxy"):
        address = _variable(environment, name)
        if not address:
            continue
        if "://" not in address:
            address = f"http://{address}"
        try:
            proxy = httpx.Proxy(address)
        except (ValueError, httpx.InvalidURL):
            proxy = None
        if proxy is None or proxy.url.scheme not in ("http", "https"):
            raise ClientSetupError(f"{name.upper()} names no HTTP proxy")
        return proxy
    return None


def _variable(environment: Mapping[str, str], name: str) -> str | None:
    return environment.get(name) or environment.get(name.upper())


def is_loopback(host: str) -> bool:
    """Whether the host is this machine by its name or its address."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


def _is_excluded(host: str, port: int | None, rules: str) -> bool:
    return any(_matches(host, port, rule.strip().lower()) for rule in rules.split(",") if rule.strip())


def _matches(host: str, port: int | None, rule: str) -> bool:
    """Whether one entry of `NO_PROXY` names the host: `*`, a name and its subdomains, an address, a network."""
    if rule == "*":
        return True
    address = _address(host)
    if address is not None:
        try:
            return address in ipaddress.ip_network(rule.strip("[]"), strict=False)
        except ValueError:
            pass
    name, colon, wanted = rule.partition(":")
    if colon and wanted.isdecimal() and int(wanted) != port:
        return False
    name = name.removeprefix("*").lstrip(".")
    return bool(name) and (host == name or host.endswith(f".{name}"))
