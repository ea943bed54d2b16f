"""How is one field read from HashiCorp Vault or OpenBao (KV version 2)?

Errors keep the cause (connection refused, HTTP 403) and never the token, the answer's text or a parser's words; no
exception of the HTTP library stays attached, since it holds the request.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from overbrainer_core.errors import SecretError
from overbrainer_core.files import read_regular
from overbrainer_core.secrets.reference import VaultReference

TIMEOUT_S = 30.0
"""Limit of one request, seconds: a standby node answers at once, a sealed one too."""
_MAX_BYTES = 4 * 1024 * 1024
_MAX_REDIRECTS = 3
"""A standby node redirects to the active one."""
_REDIRECTS = frozenset({301, 302, 307, 308})
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_UNPARSED = "vault returned a response that could not be parsed"


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultAccess:
    """Where Vault is and what opens it."""

    address: str
    token: str = field(repr=False)


def find_access(variables: Mapping[str, str]) -> VaultAccess:
    """The access that `VAULT_ADDR` with `VAULT_TOKEN` or `~/.vault-token` gives.

    Raises:
        SecretError: Vault is not configured, its address is no URL, or there is no token.
    """
    address = variables.get("VAULT_ADDR", "").strip()
    if not address:
        raise SecretError("a vault: reference was found but VAULT_ADDR is not set")
    if not _is_url(address):
        raise SecretError("invalid VAULT_ADDR: it is not an http or https URL")
    token = variables.get("VAULT_TOKEN", "").strip() or _token_file(variables.get("HOME", ""))
    if not token:
        raise SecretError("VAULT_ADDR is set but no token was found in VAULT_TOKEN or ~/.vault-token")
    if not token.isascii() or not token.isprintable():
        raise SecretError("the Vault token is not a valid HTTP header value")
    return VaultAccess(address=address.rstrip("/"), token=token)


def _is_url(text: str) -> bool:
    try:
        url = urlsplit(text)
        return url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0 and text.isprintable()
    except ValueError:
        return False


def _token_file(home: str) -> str:
    if not home:
        return ""
    path = Path(home) / ".vault-token"
    try:
        content = read_regular(path, limit=_MAX_BYTES)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise SecretError(f"cannot read {path}") from error
    text = content.decode("utf-8", errors="replace").strip()
    return "" if "\ufffd" in text else text


async def fetch_field(
    reference: VaultReference, access: VaultAccess, *, transport: httpx.AsyncBaseTransport | None = None
) -> str:
    """The text of one field.

    Raises:
        SecretError: the request failed, its answer cannot be read, or the field is no string.
    """
    place = f"{quote(reference.mount, safe='')}/data/{quote(reference.path, safe='/')}"
    url = f"{access.address}/v1/{place}"
    failure = ""
    try:
        async with asyncio.timeout(TIMEOUT_S), _client(access, transport) as client:
            status, body = await _get(client, url, access.token)
    except TimeoutError:
        failure = "timed out"
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, OSError, ImportError) as error:
        failure = _cause(error)
    if failure:
        raise SecretError(f"vault request failed: {failure}")
    if status != httpx.codes.OK:
        raise SecretError(f"vault request failed: HTTP {status}")
    return _field(body, reference)


def _client(access: VaultAccess, transport: httpx.AsyncBaseTransport | None) -> httpx.AsyncClient:
    is_local = urlsplit(access.address).hostname in _LOOPBACK
    return httpx.AsyncClient(transport=transport, timeout=TIMEOUT_S, trust_env=not is_local)


async def _get(client: httpx.AsyncClient, url: str, token: str) -> tuple[int, bytes]:
    """Status and body; a redirect is followed, never from https to http."""
    for _ in range(_MAX_REDIRECTS):
        async with client.stream("GET", url, headers={"X-Vault-Token": token}) as response:
            location = response.headers.get("location")
            if response.status_code not in _REDIRECTS or not location:
                return response.status_code, await _body(response)
            target = response.url.join(location)
            if response.url.scheme == "https" and target.scheme != "https":
                return response.status_code, b""
            url = str(target)
    raise httpx.TooManyRedirects("too many redirects")


async def _body(response: httpx.Response) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > _MAX_BYTES:
            return b""
    return bytes(body)


def _cause(error: BaseException) -> str:
    """The cause in words: the operating system's when there is one, without addresses."""
    current: BaseException | None = error
    while current is not None:
        if isinstance(current, ssl.SSLCertVerificationError):
            return "its certificate is not trusted"
        if isinstance(current, ssl.SSLError):
            return "TLS failed"
        if isinstance(current, socket.gaierror):
            return "its host name cannot be resolved"
        if isinstance(current, OSError) and current.errno is not None and current.errno in errno.errorcode:
            return os.strerror(current.errno).lower()
        if isinstance(current, BaseExceptionGroup):  # one for each address that was tried
            current = current.exceptions[0]
        else:
            current = current.__cause__ or current.__context__
    if isinstance(error, httpx.TimeoutException):
        return "timed out"
    if isinstance(error, httpx.TooManyRedirects):
        return "too many redirects"
    if isinstance(error, httpx.ConnectError):
        return "cannot connect"
    if isinstance(error, httpx.RemoteProtocolError | httpx.ReadError):
        return "the connection broke"
    return "it could not be sent"


def _field(body: bytes, reference: VaultReference) -> str:
    document: Any = None
    with_error = False
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        with_error = True
    if with_error or not isinstance(document, dict):
        raise SecretError(_UNPARSED)
    outer = document.get("data")
    inner = outer.get("data") if isinstance(outer, dict) else None
    if not isinstance(outer, dict) or not isinstance(inner, dict | None):
        raise SecretError(_UNPARSED)
    value = inner.get(reference.field) if inner else None
    if not isinstance(value, str):
        raise SecretError(f"field missing or not a string at {reference}")
    return value
