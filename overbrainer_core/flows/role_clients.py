"""Which client and which price has each role, each provider set up once and its listing read once?"""

from __future__ import annotations

from typing import Any

from overbrainer_core.aio.rate_gate import Waits
from overbrainer_core.config.env import Environment
from overbrainer_core.config.settings import Role, Settings
from overbrainer_core.errors import ConfigError, OverbrainerError, SecretError, describe
from overbrainer_core.flows.report import Report
from overbrainer_core.llm.client import LISTING_S, Connect, LlmClient, ProviderPool, RoleClient, build_pool
from overbrainer_core.llm.errors import ClientSetupError, LlmError
from overbrainer_core.pricing import find_price
from overbrainer_core.values.usage import Price


class RoleClients:
    """The clients of one command; keys are resolved when a provider is first needed."""

    def __init__(
        self,
        settings: Settings,
        *,
        environment: Environment,
        waits: Waits,
        report: Report,
        connect: Connect | None = None,
    ) -> None:
        self._settings = settings
        self._environment = environment
        self._waits = waits
        self._report = report
        self._connect = connect
        self._pools: dict[str, ProviderPool] = {}
        self._listings: dict[str, Any] = {}
        self._prices: dict[tuple[str, str], Price | None] = {}

    async def close(self) -> None:
        """Close every connection; repeating it does nothing."""
        pools, self._pools = self._pools, {}
        for pool in pools.values():
            await pool.aclose()

    async def client(self, role: Role) -> LlmClient:
        """The client of a role.

        Raises:
            ConfigError: the provider is not declared, or has no base URL.
            SecretError: its key cannot be resolved.
            ClientSetupError: the client cannot be built.
        """
        return RoleClient(await self._pool(role.provider), role)

    async def embedder(self, role: Role) -> LlmClient:
        """The client of the embedder; its failures tell whose they are, and are those of `client`."""
        try:
            return await self.client(role)
        except OverbrainerError as error:
            text = f"cannot set up the embedder: {describe(error)}"
            kind = next((kind for kind in (ConfigError, SecretError) if isinstance(error, kind)), ClientSetupError)
            raise kind(text) from error

    async def _pool(self, name: str) -> ProviderPool:
        pool = self._pools.get(name)
        if pool is None:
            pool = self._pools[name] = await build_pool(
                self._settings, name, environment=self._environment, waits=self._waits, connect=self._connect
            )
        return pool

    async def price(self, role: Role) -> Price | None:
        """The price of a role's model; None, told once, when the listing does not tell it."""
        key = (role.provider, role.model)
        if key not in self._prices:
            listing = await self._listing(role.provider)
            price = find_price(listing, role.model)
            if price is None and listing is not None:
                self._report.note(f"no price listed for model {role.model}; showing tokens only")
            self._prices[key] = price
        return self._prices[key]

    async def _listing(self, name: str) -> Any:
        """The model listing of a provider; None, told once, when it cannot be read."""
        if name in self._listings:
            return self._listings[name]
        listing = None
        try:
            listing = await (await self._pool(name)).fetch_listing()
        except TimeoutError:
            self._report.warn(f"model prices not received within {LISTING_S:g}s; showing tokens only")
        except LlmError as error:
            self._report.warn(f"cannot read the model prices of `{name}`: {describe(error)}; showing tokens only")
        self._listings[name] = listing
        return listing
