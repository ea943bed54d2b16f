"""Are `[export]`, `[hub]`, `[compare]` and the addresses of services usable?"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from overbrainer_core.config.hints import name_text
from overbrainer_core.config.kinds import QUANTIZE_TYPES
from overbrainer_core.config.validate_targets import check_image
from overbrainer_core.errors import Problem

MAX_SERVER_START_S = 3600
_URL_REASON = "must be an https URL (http only on a loopback host)"
_REPO = re.compile(r"(?!\.)[A-Za-z0-9._-]+/(?!\.)[A-Za-z0-9._-]+", re.ASCII)
_OLLAMA_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}", re.ASCII)
_OLLAMA_NAMESPACE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,79}", re.ASCII)
_OLLAMA_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,349}", re.ASCII)


def check_export(table: Mapping[str, Any]) -> Iterator[Problem]:
    """The quantize type and the Ollama name."""
    quantize = table["quantize"]
    if quantize not in QUANTIZE_TYPES:
        known = ", ".join(QUANTIZE_TYPES)
        yield Problem("export.quantize", f"unknown type `{name_text(quantize)}`; one of {known}")
    name = table["ollama_name"]
    if name is not None and not is_ollama_name(name):
        yield Problem("export.ollama_name", "must be an Ollama name such as [host/][namespace/]model[:tag]")


def is_ollama_name(text: str) -> bool:
    """Whether a text is `[host/][namespace/]model[:tag]`, each part as Ollama takes it."""
    rest, tag = text, "latest"
    if text.rfind(":") > text.rfind("/"):
        rest, _, tag = text.rpartition(":")
    place, slash, model = rest.rpartition("/")
    if not _OLLAMA_PART.fullmatch(model) or not _OLLAMA_PART.fullmatch(tag):
        return False
    if not slash:
        return True
    host, slash, namespace = place.rpartition("/")
    if not _OLLAMA_NAMESPACE.fullmatch(namespace):
        return False
    scheme, separator, address = host.rpartition("://")
    if separator and not scheme:
        return False
    return not slash or bool(_OLLAMA_HOST.fullmatch(address))


def is_repo_id(text: str) -> bool:
    """Whether a text is `NAMESPACE/NAME` as the Hub takes it."""
    return bool(_REPO.fullmatch(text))


def is_safe_url(text: str) -> bool:
    """Whether a text is an https URL with a host, or an http one on this machine."""
    if not text.isascii() or not text.isprintable() or " " in text:
        return False
    try:
        url = urlsplit(text)
        host = url.hostname or ""
        url.port  # noqa: B018  # raises when it is no port
    except ValueError:
        return False
    if url.scheme == "https":
        return bool(host)
    return url.scheme == "http" and is_loopback(host)


def is_loopback(host: str) -> bool:
    """Whether a host is `localhost` or a loopback address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_runpod(table: Mapping[str, Any]) -> Iterator[Problem]:
    """The address of the Runpod API."""
    if not is_safe_url(table["base_url"]):
        yield Problem("runpod.base_url", _URL_REASON)


def check_hub(table: Mapping[str, Any]) -> Iterator[Problem]:
    """The repo and the address of the Hub."""
    repo = table["repo"]
    if repo is not None and not is_repo_id(repo):
        reason = f'must be NAMESPACE/NAME, got "{name_text(repo)}"'
        yield Problem("hub.repo", reason, f"hub.repo {reason}")
    if not is_safe_url(table["base_url"]):
        yield Problem("hub.base_url", _URL_REASON)


def check_compare(table: Mapping[str, Any]) -> Iterator[Problem]:
    """Prices, limits and the image of a compare."""
    for key in ("parent_price_in", "parent_price_out", "child_price_per_hour"):
        price = table[key]
        if price is not None and not 0 <= price < float("inf"):
            yield Problem(f"compare.{key}", "must be a number of dollars, 0 or more")
    if table["max_tokens"] < 1:
        yield Problem("compare.max_tokens", "must be at least 1")
    if not 0 <= table["temperature"] <= 2:
        yield Problem("compare.temperature", "must be in [0, 2]")
    if not 1 <= table["server_start_secs"] <= MAX_SERVER_START_S:
        yield Problem("compare.server_start_secs", f"must be between 1 and {MAX_SERVER_START_S}")
    if table["image"] is not None:
        yield from check_image("compare.image", table["image"])
