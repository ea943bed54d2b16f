"""Is every key there, does every provider answer, and does it know the models? Asked with one free listing each.

Only what a role uses is looked at. A key is told by the variable it comes from; a Vault reference is resolved, as a
stage would, and its value dropped.
"""

from __future__ import annotations

import difflib
import ipaddress
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlsplit

from overbrainer_core.config.env import setting_variables, variable_name
from overbrainer_core.config.settings import Provider, Role, SecretText
from overbrainer_core.errors import OverbrainerError, SecretError, describe
from overbrainer_core.flows.doctor_checks.base import OFFLINE, Check, Status, Subject, failure, ok, skipped, warning
from overbrainer_core.llm.client import LISTING_S, build_pool
from overbrainer_core.llm.errors import ClientSetupError, HttpStatusError
from overbrainer_core.llm.http import DEMO_BASE_URL
from overbrainer_core.pricing import find_price
from overbrainer_core.secrets.resolve import resolve_secret
from overbrainer_core.secrets.standard import provider_variable

_ROLES = ("generator", "parent", "embedder", "judge")
_NOT_FOUND = 404
_REFUSED = (401, 403)


async def check_providers(subject: Subject) -> AsyncIterator[Check]:
    """The findings of each provider that a role uses: its key, whether it answers, its models."""
    for name, roles in _used(subject).items():
        provider = subject.settings.providers[name]
        key = await _check_key(subject, provider)
        if key is not None:
            yield key
        async for check in _check_provider(
            subject, provider, roles, is_key_fine=key is None or key.status != Status.FAILURE
        ):
            yield check


def _used(subject: Subject) -> dict[str, list[tuple[str, Role]]]:
    used: dict[str, list[tuple[str, Role]]] = {}
    for name in _ROLES:
        role: Role | None = getattr(subject.settings.roles, name)
        if role is not None:
            used.setdefault(role.provider, []).append((name, role))
    return used


async def check_secret(subject: Subject, key: str, secret: SecretText) -> Check:
    """Where a secret that is set comes from, and whether it has a value."""
    origin = secret_origin(subject, key)
    if secret.is_reference:
        origin = f"a Vault reference in {origin}"
        if subject.is_offline:
            return skipped(key, f"{origin}, {OFFLINE}")
    try:
        value = await resolve_secret(secret, key=key, environment=subject.environment)
    except SecretError as error:
        return failure(key, describe(error).removeprefix(f"cannot resolve {key}: "), f"look at {origin}")
    if not value.strip():
        return failure(key, "it is empty", f"look at {origin}")
    return ok(key, f"set by {origin}" if not secret.is_reference else f"{origin}, resolved")


def secret_origin(subject: Subject, key: str) -> str:
    """The variable that a secret comes from, and whether the shell or `.env` sets it; never its value."""
    variable = setting_variables(subject.environment).get(tuple(key.split(".")))
    name = variable.name if variable is not None else subject.settings.standard_variables.get(key, variable_name(key))
    origin = "the shell" if subject.environment.origin(name) == "shell" else ".env"
    return f"{name} ({origin})"


async def _check_key(subject: Subject, provider: Provider) -> Check | None:
    """The finding of a provider's key; None where none is needed."""
    key = f"providers.{provider.name}.api_key"
    if provider.base_url == DEMO_BASE_URL:
        return None
    if provider.api_key is not None:
        return await check_secret(subject, key, provider.api_key)
    if not provider.base_url:
        return None
    standard = provider_variable(provider.base_url)
    variable = variable_name(key)
    if standard is not None:
        return failure(key, "it is not set", f"set {variable} or {standard} in .env")
    if _is_near(provider.base_url):
        return ok(key, "not set, as a server of one's own needs none")
    return warning(key, "it is not set", f"if the provider wants one, set {variable} in .env")


def _is_near(base_url: str) -> bool:
    """Whether a server is on this machine or in a private network."""
    try:
        host = urlsplit(base_url).hostname or ""
    except ValueError:
        return False
    if host == "localhost" or host.endswith((".local", ".lan", ".internal")) or ("." not in host and ":" not in host):
        return bool(host)
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return False


async def _check_provider(
    subject: Subject, provider: Provider, roles: list[tuple[str, Role]], *, is_key_fine: bool
) -> AsyncIterator[Check]:
    name = f"providers.{provider.name}"
    if not provider.base_url:
        yield failure(name, "base_url is not set", f"set {variable_name(f'{name}.base_url')} in .env")
        return
    if subject.is_offline and provider.base_url != DEMO_BASE_URL:
        yield skipped(name, OFFLINE)
        return
    if not is_key_fine:
        yield skipped(name, "left out: its key comes first")
        return
    try:
        listing = await _listing(subject, provider.name)
    except TimeoutError:
        yield failure(name, f"no answer within {LISTING_S:g} s", "try again, or look at its base_url and the network")
        return
    except OverbrainerError as error:
        yield _unreachable(name, error)
        return
    models = _model_ids(listing)
    if not models:
        yield warning(name, "it answers, but lists no models: they cannot be checked")
        return
    yield ok(name, f"it answers and lists {len(models)} model{'s' if len(models) != 1 else ''}")
    for check in _check_models(subject, roles, models, listing):
        yield check


async def _listing(subject: Subject, provider: str) -> Any:
    pool = await build_pool(
        subject.settings, provider, environment=subject.environment, waits=subject.clock, connect=subject.connect
    )
    try:
        return await pool.fetch_listing()
    finally:
        await pool.aclose()


def _unreachable(name: str, error: OverbrainerError) -> Check:
    """A provider that gave no listing: one that merely has none can still be asked."""
    status = error.status if isinstance(error, HttpStatusError) else None
    if status == _NOT_FOUND:
        return warning(
            name, "it answers, but has no listing of models", f"is {name}.base_url right? often /v1 is missing"
        )
    if isinstance(error, ClientSetupError):
        return failure(name, describe(error), f"look at {name}.base_url, {name}.api_key and the proxy")
    if status in _REFUSED:
        return failure(name, describe(error), f"look at {name}.api_key")
    return failure(name, describe(error), f"look at {name}.base_url and the network")


def _model_ids(listing: Any) -> list[str]:
    entries = listing.get("data") if isinstance(listing, dict) else listing
    if not isinstance(entries, list):
        return []
    found = (entry.get("id") for entry in entries if isinstance(entry, dict))
    return [model for model in found if isinstance(model, str)]


def _check_models(subject: Subject, roles: list[tuple[str, Role]], models: list[str], listing: Any) -> Iterator[Check]:
    known = set(models)
    for name, role in roles:
        key = f"roles.{name}"
        if role.model not in known:
            yield warning(key, f"{role.model} is not in the listing of {role.provider}", _near(role.model, models))
            continue
        price = find_price(listing, role.model)
        if price is not None:
            cost = f"${price.input_usd_per_million:g} in, ${price.output_usd_per_million:g} out per million tokens"
            yield ok(key, f"{role.model}, {cost}")
        elif subject.settings.pipeline.max_cost_usd is not None and name in ("generator", "parent"):
            yield warning(key, f"{role.model} has no listed price: pipeline.max_cost_usd cannot hold")
        else:
            yield ok(key, f"{role.model} is listed, without a price")


def _near(model: str, models: list[str]) -> str:
    near = difflib.get_close_matches(model, models, n=1)
    return f"did you mean {near[0]}?" if near else "some providers answer for models they do not list; look at the name"
