from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from overbrainer_core.config.env import Environment
from overbrainer_core.flows.role_clients import RoleClients
from overbrainer_core.llm import client as llm_client
from overbrainer_core.values.usage import Price


def clients_of(project: Any) -> RoleClients:
    return RoleClients(
        project.settings,
        environment=Environment(values={}),
        waits=project.clock,
        report=project.report,
        connect=lambda _provider: project.provider,
    )


def listing(**prices: str) -> Any:
    data = [{"id": model, "pricing": {"prompt": price, "completion": price}} for model, price in prices.items()]
    return lambda: httpx.Response(200, json={"data": data})


async def test_a_listing_is_read_once_for_all_roles_of_a_provider(stage_project: Any) -> None:
    stage_project.role("parent", model="other")
    stage_project.provider.listing = listing(other="0.000001")
    clients = clients_of(stage_project)
    roles = stage_project.settings.roles
    assert await clients.price(roles.parent) == Price(input_usd_per_million=1.0, output_usd_per_million=1.0)
    assert await clients.price(roles.generator) is None
    assert await clients.price(roles.generator) is None
    (request,) = stage_project.provider.requests
    assert str(request.url) == "http://provider.test/v1/models?detailed=true"
    assert request.headers["authorization"].startswith("Bearer ")
    assert stage_project.report.notes == ["no price listed for model maker/model-1; showing tokens only"]
    await clients.close()
    assert stage_project.provider.is_closed


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (httpx.Response(404, text="nothing"), "HTTP 404: nothing"),
        (httpx.Response(200, text="<html>"), "invalid response: not JSON"),
    ],
)
async def test_a_listing_that_cannot_be_read_is_one_warning(stage_project: Any, answer: Any, words: str) -> None:
    stage_project.provider.listing = lambda: answer
    clients = clients_of(stage_project)
    role = stage_project.settings.roles.parent
    assert await clients.price(role) is None
    assert await clients.price(role) is None
    assert stage_project.report.warnings == [f"cannot read the model prices of `main`: {words}; showing tokens only"]
    assert stage_project.report.notes == []


async def test_a_slow_listing_never_hangs_a_command(stage_project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm_client, "LISTING_S", 0.01)

    async def never() -> httpx.Response:
        await asyncio.Event().wait()
        raise AssertionError

    stage_project.provider.listing = never
    assert await clients_of(stage_project).price(stage_project.settings.roles.parent) is None
    assert stage_project.report.warnings == ["model prices not received within 10s; showing tokens only"]


async def test_a_provider_is_set_up_once(stage_project: Any) -> None:
    clients = clients_of(stage_project)
    roles = stage_project.settings.roles
    first = await clients.client(roles.generator)
    second = await clients.embedder(roles.parent)
    assert first._pool is second._pool  # type: ignore[attr-defined]
    await clients.close()
    await clients.close()
