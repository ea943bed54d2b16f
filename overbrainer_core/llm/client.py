"""Which client asks the model of a role, and what can go wrong before its first request?

A `ProviderPool` holds what all roles of one provider share: its connections, its key, the gates of its models and its
listing. A key is resolved when a pool is built, never earlier; it is in no error, log or `repr`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeVar

import httpx
import msgspec

from overbrainer_core.aio.rate_gate import RateGate, Waits
from overbrainer_core.aio.retry import RetryPolicy, call_with_retries
from overbrainer_core.config.env import Environment
from overbrainer_core.config.settings import Provider, Role, Settings
from overbrainer_core.errors import ConfigError, SecretError, describe
from overbrainer_core.llm.anthropic import AnthropicDialect
from overbrainer_core.llm.documents import Redact, error_of_status, parse_document, parse_success
from overbrainer_core.llm.errors import ClientSetupError, UnsupportedError
from overbrainer_core.llm.http import HttpApi, HttpReply, build_api, request_headers
from overbrainer_core.llm.openai import OpenAiDialect
from overbrainer_core.llm.types import Completion, CompletionRequest, OnRetry
from overbrainer_core.secrets.resolve import resolve_secret
from overbrainer_core.text import replace_surrogates

T = TypeVar("T")

LISTING_S = 10.0
"""Seconds for the model listing, all included."""
_VISIBLE_ASCII = re.compile(r"[\x21-\x7e]+")

Connect = Callable[[Provider], httpx.AsyncBaseTransport]
"""Gives the transport of a provider in the place of the network."""


class Dialect(Protocol):
    """A protocol: bodies and headers of requests, shapes of replies."""

    completion_path: str
    embeddings_path: str | None

    def headers(self, key: str | None) -> dict[str, str]:
        """Headers of every request."""
        ...

    def completion_body(self, role: Role, request: CompletionRequest) -> dict[str, Any]:
        """The body of a completion request."""
        ...

    def read_completion(self, document: dict[str, Any], redact: Redact) -> Completion:
        """The reply to a completion request."""
        ...

    def embeddings_body(self, model: str, texts: Sequence[str]) -> dict[str, Any]:
        """The body of an embeddings request."""
        ...

    def read_embeddings(self, document: dict[str, Any], expected: int, redact: Redact) -> list[list[float]]:
        """The vectors of a reply, in the order of the texts."""
        ...


class LlmClient(Protocol):
    """Asks one model."""

    @property
    def role(self) -> Role:
        """The role whose model this is."""
        ...

    @property
    def gate(self) -> RateGate:
        """The gate that its requests pass, with those of every other role that asks the same model."""
        ...

    async def complete(self, request: CompletionRequest, *, on_retry: OnRetry) -> Completion:
        """The model's reply, asked again while that can help; raises `LlmError`."""
        ...

    async def embed(self, texts: Sequence[str], *, on_retry: OnRetry) -> list[list[float]]:
        """One vector per text, in the order given; raises `LlmError`."""
        ...


def _dialect(protocol: str) -> Dialect:
    dialect: Dialect = AnthropicDialect() if protocol == "anthropic" else OpenAiDialect()  # type: ignore[assignment]
    return dialect


class ProviderPool:
    """What the roles of one provider share."""

    def __init__(  # what is shared, piece by piece
        self,
        provider: Provider,
        *,
        api: HttpApi,
        key: str | None,
        waits: Waits,
        policy: RetryPolicy,
        concurrency: int,
    ) -> None:
        self.provider = provider
        self.dialect = _dialect(provider.protocol)
        self.base_url_key = f"providers.{provider.name}.base_url"
        self.policy = policy
        self.waits = waits
        self._concurrency = concurrency
        self._api = api
        self._key = key
        self._headers = request_headers(self.dialect.headers(key))
        self._gates: dict[str, RateGate] = {}

    def __repr__(self) -> str:
        return f"ProviderPool({self.provider.name!r})"

    def gate(self, model: str) -> RateGate:
        """The gate that all requests to a model pass."""
        gate = self._gates.get(model)
        if gate is None:
            gate = self._gates[model] = RateGate(self.waits, most=self._concurrency)
        return gate

    def redact(self, text: str) -> str:
        """The text with the key replaced."""
        return text.replace(self._key, "***") if self._key else text

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The JSON object that answers one request; raises `LlmError`."""
        reply = await self._api.post(path, _encode(body), headers=self._headers)
        self._raise_for_status(reply)
        return parse_success(reply, base_url_key=self.base_url_key)

    async def fetch_listing(self) -> Any:
        """The model listing, as it came; read once.

        Raises:
            LlmError: it cannot be read.
            TimeoutError: it did not come in time.
        """
        async with asyncio.timeout(LISTING_S):
            reply = await self._api.get("models?detailed=true", headers=self._headers)
        self._raise_for_status(reply)
        return parse_document(reply.body)

    def _raise_for_status(self, reply: HttpReply) -> None:
        if not 200 <= reply.status < 300:
            raise error_of_status(reply, base_url_key=self.base_url_key, redact=self.redact)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._api.aclose()


def _encode(body: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        return msgspec.json.encode(_without_surrogates(body))


def _without_surrogates(value: Any) -> Any:
    match value:
        case str():
            return replace_surrogates(value)
        case list():
            return [_without_surrogates(entry) for entry in value]
        case dict():
            return {key: _without_surrogates(entry) for key, entry in value.items()}
        case _:
            return value


class RoleClient:
    """The client of one role."""

    def __init__(self, pool: ProviderPool, role: Role) -> None:
        self.role = role
        self.gate = pool.gate(role.model)
        self._pool = pool

    def __repr__(self) -> str:
        return f"RoleClient({self.role.provider!r}, {self.role.model!r})"

    async def complete(self, request: CompletionRequest, *, on_retry: OnRetry) -> Completion:
        """The model's reply; `on_retry` is told each failure that is tried again.

        Raises:
            LlmError: the last failure.
        """
        pool = self._pool
        body = pool.dialect.completion_body(self.role, request)

        async def attempt() -> Completion:
            document = await pool.post(pool.dialect.completion_path, body)
            return pool.dialect.read_completion(document, pool.redact)

        return await self._retried(attempt, on_retry)

    async def embed(self, texts: Sequence[str], *, on_retry: OnRetry) -> list[list[float]]:
        """One vector per text, in the order given; no request without texts.

        Raises:
            LlmError: the last failure; `UnsupportedError` where the protocol has no embeddings.
        """
        pool = self._pool
        path = pool.dialect.embeddings_path
        if path is None:
            raise UnsupportedError("embeddings")
        if not texts:
            return []
        body = pool.dialect.embeddings_body(self.role.model, texts)

        async def attempt() -> list[list[float]]:
            return pool.dialect.read_embeddings(await pool.post(path, body), len(texts), pool.redact)

        return await self._retried(attempt, on_retry)

    async def _retried(self, attempt: Callable[[], Awaitable[T]], on_retry: OnRetry) -> T:
        pool = self._pool
        return await call_with_retries(
            attempt,
            policy=pool.policy,
            waits=pool.waits,
            gate=self.gate,
            on_retry=lambda error, wait_s: on_retry(f"{describe(error)}; retrying in {wait_s:.1f}s"),
        )


async def build_pool(
    settings: Settings, name: str, *, environment: Environment, waits: Waits, connect: Connect | None = None
) -> ProviderPool:
    """The pool of a declared provider, its key resolved.

    Raises:
        ConfigError: the provider is not declared, or has no base URL.
        SecretError: its key cannot be resolved.
        ClientSetupError: the client cannot be built.
    """
    provider = settings.providers.get(name)
    if provider is None:
        raise ConfigError(f"unknown provider `{name}`")
    if not provider.base_url:
        variable = f"OVERBRAINER_PROVIDERS__{name.upper()}__BASE_URL"
        raise ConfigError(f"providers.{name}.base_url is not set (set {variable})")
    key = await _resolve_key(provider, environment)
    failure = f"cannot build the client for provider `{name}`"
    if key is not None and not _VISIBLE_ASCII.fullmatch(key):
        raise ClientSetupError(f"{failure}: the API key is not a valid HTTP header value")
    pipeline = settings.pipeline
    try:
        api = build_api(
            provider.base_url,
            timeout_s=float(pipeline.request_timeout_secs),
            concurrency=pipeline.concurrency,
            environment=environment.values,
            transport=connect(provider) if connect is not None else None,
        )
    except (ClientSetupError, httpx.InvalidURL) as error:
        reason = str(error) if isinstance(error, ClientSetupError) else "the base URL is no HTTP address"
        raise ClientSetupError(f"{failure}: {reason}") from None
    return ProviderPool(
        provider,
        api=api,
        key=key,
        waits=waits,
        policy=RetryPolicy(max_retries=pipeline.max_retries),
        concurrency=pipeline.concurrency,
    )


async def _resolve_key(provider: Provider, environment: Environment) -> str | None:
    if provider.api_key is None:
        return None
    key = await resolve_secret(provider.api_key, key=f"providers.{provider.name}.api_key", environment=environment)
    if not key:
        raise SecretError(f"cannot resolve providers.{provider.name}.api_key: it is empty")
    return key
