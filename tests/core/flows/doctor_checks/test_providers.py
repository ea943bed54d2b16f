"""Keys, providers and models: told by where they come from and how they answer, never by a key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from overbrainer_core.flows.doctor_checks.base import Check, Status, Subject
from overbrainer_core.flows.doctor_checks.providers import check_providers, check_secret

URL = "OVERBRAINER_PROVIDERS__HERE__BASE_URL"
KEY = "OVERBRAINER_PROVIDERS__HERE__API_KEY"
SECRET = "sk-doctor-0123456789abcdef"
NEAR = "http://127.0.0.1:9/v1"
FAR = "https://llm.example/v1"

MakeSubject = Callable[..., Subject]


async def findings(subject: Subject) -> dict[str, Check]:
    """The findings by name; none of them shows the key."""
    checks = [check async for check in check_providers(subject)]
    assert SECRET not in repr(checks)
    found = {check.name: check for check in checks}
    assert len(found) == len(checks)
    return found


def lists(*entries: dict[str, Any]) -> Callable[[], httpx.Response]:
    """A listing of models."""
    return lambda: httpx.Response(200, json={"data": list(entries)})


def priced(model: str) -> dict[str, Any]:
    """An entry with a price."""
    return {"id": model, "pricing": {"prompt": "0.0000005", "completion": "0.000002"}}


async def test_all_is_well(subject: MakeSubject, provider: Any) -> None:
    provider.listing = lists(priced("small"), {"id": "big"})
    found = await findings(subject(**{URL: FAR, KEY: SECRET}))
    assert {name: check.status for name, check in found.items()} == dict.fromkeys(
        ("providers.here.api_key", "providers.here", "roles.generator", "roles.parent"), Status.OK
    )
    assert found["providers.here.api_key"].detail == f"set by {KEY} (the shell)"
    assert found["providers.here"].detail == "it answers and lists 2 models"
    assert found["roles.generator"].detail == "small, $0.5 in, $2 out per million tokens"
    assert found["roles.parent"].detail == "big is listed, without a price"


async def test_one_free_request_is_all_that_is_sent(subject: MakeSubject, provider: Any) -> None:
    await findings(subject(**{URL: FAR, KEY: SECRET}))
    assert [(request.method, request.url.path) for request in provider.requests] == [("GET", "/v1/models")]
    assert provider.is_closed


async def test_a_missing_address_names_its_variable(subject: MakeSubject) -> None:
    found = await findings(subject(**{KEY: SECRET}))
    assert found["providers.here"].status is Status.FAILURE
    assert found["providers.here"].next == f"set {URL} in .env"
    assert found["providers.here.api_key"].status is Status.OK


@pytest.mark.parametrize(
    ("url", "status", "words"),
    [
        ("https://api.openai.com/v1", Status.FAILURE, f"set {KEY} or OPENAI_API_KEY in .env"),
        (FAR, Status.WARNING, f"if the provider wants one, set {KEY} in .env"),
        (NEAR, Status.OK, None),
        ("http://192.168.1.20:8000/v1", Status.OK, None),
        ("http://gpu-box:8000/v1", Status.OK, None),
        ("http://[::1]:8000/v1", Status.OK, None),
    ],
)
async def test_a_key_that_is_not_set(subject: MakeSubject, url: str, status: Status, words: str | None) -> None:
    check = (await findings(subject(**{URL: url})))["providers.here.api_key"]
    assert (check.status, check.next) == (status, words)


async def test_without_its_key_a_known_provider_is_not_asked(subject: MakeSubject, provider: Any) -> None:
    found = await findings(subject(**{URL: "https://api.openai.com/v1"}))
    assert found["providers.here"].status is Status.SKIPPED
    assert provider.requests == []


async def test_a_standard_variable_is_named(subject: MakeSubject) -> None:
    found = await findings(subject(OPENAI_API_KEY=SECRET, **{URL: "https://api.openai.com/v1"}))
    assert found["providers.here.api_key"].detail == "set by OPENAI_API_KEY (the shell)"


async def test_a_variable_is_named_as_it_is_written(subject: MakeSubject) -> None:
    found = await findings(subject(overbrainer_providers__here__api_key=SECRET, **{URL: FAR}))
    assert found["providers.here.api_key"].detail == "set by overbrainer_providers__here__api_key (the shell)"


@pytest.mark.parametrize("key", [" ", "\t"])
async def test_a_blank_key_is_a_failure(subject: MakeSubject, key: str) -> None:
    found = await findings(subject(**{URL: FAR, KEY: key}))
    assert found["providers.here.api_key"].status is Status.FAILURE


async def test_a_reference_that_leads_nowhere_is_a_failure(subject: MakeSubject) -> None:
    found = await findings(subject(**{URL: FAR, KEY: "vault:secret/app#key"}))
    check = found["providers.here.api_key"]
    assert (check.status, check.detail) == (
        Status.FAILURE,
        "a vault: reference was found but VAULT_ADDR is not set",
    )
    assert check.next == f"look at a Vault reference in {KEY} (the shell)"


async def test_offline_a_reference_and_a_provider_are_left_out(subject: MakeSubject, provider: Any) -> None:
    found = await findings(subject(is_offline=True, **{URL: FAR, KEY: "vault:secret/app#key"}))
    assert {check.status for check in found.values()} == {Status.SKIPPED}
    assert provider.requests == []


async def test_the_demo_provider_needs_neither_key_nor_network(subject: MakeSubject) -> None:
    found = await findings(subject(is_offline=True, **{URL: "demo:"}))
    assert "providers.here.api_key" not in found
    assert found["providers.here"].status is Status.OK
    assert found["roles.parent"].status is Status.WARNING


@pytest.mark.parametrize(
    ("reply", "status", "detail", "next_step"),
    [
        (
            httpx.Response(401, text=f"bad key {SECRET}"),
            Status.FAILURE,
            "HTTP 401: authentication failed, check the provider API key",
            "look at providers.here.api_key",
        ),
        (httpx.Response(500, text=f"oops {SECRET}"), Status.FAILURE, "HTTP 500: oops ***", None),
        (httpx.Response(404, text="no"), Status.WARNING, "it answers, but has no listing of models", None),
        (
            httpx.Response(200, json={"data": []}),
            Status.WARNING,
            "it answers, but lists no models: they cannot be checked",
            None,
        ),
        (httpx.Response(200, text="<html>"), Status.FAILURE, "invalid response: not JSON", None),
    ],
)
async def test_how_a_provider_answers(
    subject: MakeSubject,
    provider: Any,
    reply: httpx.Response,
    status: Status,
    detail: str,
    next_step: str | None,
) -> None:
    provider.listing = lambda: reply
    check = (await findings(subject(**{URL: FAR, KEY: SECRET})))["providers.here"]
    assert (check.status, check.detail) == (status, detail)
    if next_step is not None:
        assert check.next == next_step


async def test_a_provider_out_of_reach_is_a_failure(subject: MakeSubject, provider: Any) -> None:
    def refuse() -> httpx.Response:
        raise httpx.ConnectError("refused")

    provider.listing = refuse
    check = (await findings(subject(**{URL: FAR, KEY: SECRET})))["providers.here"]
    assert (check.status, check.detail) == (Status.FAILURE, "request failed: cannot connect")
    assert check.next == "look at providers.here.base_url and the network"


async def test_a_provider_that_does_not_answer_is_a_failure(
    subject: MakeSubject, provider: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait() -> httpx.Response:
        raise TimeoutError

    monkeypatch.setattr("overbrainer_core.llm.client.ProviderPool.fetch_listing", lambda _pool: wait())
    check = (await findings(subject(**{URL: FAR, KEY: SECRET})))["providers.here"]
    assert (check.status, check.detail) == (Status.FAILURE, "no answer within 10 s")


async def test_a_model_that_is_not_listed_is_a_warning_with_the_near_miss(subject: MakeSubject, provider: Any) -> None:
    provider.listing = lists({"id": "smal"}, {"id": "other"}, {"id": 7}, {})
    found = await findings(subject(**{URL: FAR, KEY: SECRET}))
    assert found["providers.here"].detail == "it answers and lists 2 models"
    assert found["roles.generator"].status is Status.WARNING
    assert found["roles.generator"].detail == "small is not in the listing of here"
    assert found["roles.generator"].next == "did you mean smal?"
    assert found["roles.parent"].next == "some providers answer for models they do not list; look at the name"


async def test_a_cost_cap_without_a_price_is_a_warning(subject: MakeSubject, provider: Any) -> None:
    provider.listing = lists({"id": "small"}, priced("big"))
    found = await findings(subject("[pipeline]\nmax_cost_usd = 5\n", **{URL: FAR, KEY: SECRET}))
    assert found["roles.generator"].detail == "small has no listed price: pipeline.max_cost_usd cannot hold"
    assert found["roles.generator"].status is Status.WARNING
    assert found["roles.parent"].status is Status.OK


async def test_a_provider_that_no_role_uses_is_not_looked_at(subject: MakeSubject) -> None:
    found = await findings(subject('[providers.spare]\nprotocol = "anthropic"\n', **{URL: NEAR}))
    assert not any("spare" in name for name in found)


async def test_a_key_that_no_header_can_hold_is_told_without_it(subject: MakeSubject) -> None:
    found = await findings(subject(**{URL: FAR, KEY: f"{SECRET} with blanks"}))
    assert found["providers.here"].status is Status.FAILURE
    assert "not a valid HTTP header value" in found["providers.here"].detail


async def test_any_secret_is_told_by_its_origin(subject: MakeSubject) -> None:
    examined = subject(HF_TOKEN="hf_doctor0123456789")
    assert examined.settings.hf_token is not None
    check = await check_secret(examined, "hf_token", examined.settings.hf_token)
    assert (check.status, check.detail) == (Status.OK, "set by HF_TOKEN (the shell)")
