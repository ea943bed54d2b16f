from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import httpx
import pytest

from overbrainer_core.aio.rate_limits import Refusal
from overbrainer_core.config.env import Environment
from overbrainer_core.config.settings import Pipeline, Provider, Role, Roles, SecretText, Settings
from overbrainer_core.errors import ConfigError, SecretError, describe
from overbrainer_core.llm.client import RoleClient, build_pool
from overbrainer_core.llm.errors import (
    ClientSetupError,
    HttpStatusError,
    InvalidResponseError,
    LlmError,
    RequestFailedError,
)
from overbrainer_core.llm.types import Completion, CompletionRequest
from overbrainer_core.values.completion import FinishReason, ReasoningKind
from overbrainer_core.values.usage import Usage

KEY = "sk-secret-42"
ROLE = Role(provider="main", model="maker/model-1")
PROVIDER = Provider(name="main", protocol="openai", base_url="http://provider.test/v1", api_key=SecretText(KEY))
SETTINGS = Settings(
    project_name="p",
    topics=(),
    providers={"main": PROVIDER},
    roles=Roles(generator=ROLE, parent=ROLE),
    pipeline=Pipeline(max_retries=2),
)


class Asking:
    """Asks the provider of a test, and keeps what the client told of its retries."""

    def __init__(self, provider: Any, clock: Any) -> None:
        self.provider = provider
        self.clock = clock
        self.retries: list[str] = []
        self.role = ROLE
        self.settings = SETTINGS

    async def client(self) -> RoleClient:
        """The client of the role."""
        pool = await build_pool(
            self.settings,
            "main",
            environment=Environment(values={}),
            waits=self.clock,
            connect=lambda _provider: self.provider,
        )
        return RoleClient(pool, self.role)

    async def ask(self, **request: Any) -> Completion:
        """One completion."""
        client = await self.client()
        return await client.complete(CompletionRequest(**{"user": "Why?", **request}), on_retry=self.retries.append)

    async def answered(self, document: Any, status: int = 200, **headers: str) -> Completion:
        """The completion that every reply with this JSON gives."""
        self.provider.reply = lambda _body: httpx.Response(status, json=document, headers=headers)
        return await self.ask()

    async def failed(self, *replies: Any) -> LlmError:
        """The error that these replies, the last one repeated, end with."""
        left = list(replies)
        self.provider.reply = lambda _body: left.pop(0) if len(left) > 1 else left[0]
        with pytest.raises(LlmError) as caught:
            await self.ask()
        return caught.value


@pytest.fixture
def asking(provider: Any, fake_clock: Any) -> Asking:
    """A client of the provider in the test's hands."""
    return Asking(provider, fake_clock)


def reply(message: Any, finish: Any = "stop", **more: Any) -> dict[str, Any]:
    """A reply's document."""
    return {"choices": [{"message": message, "finish_reason": finish}], **more}


# request


async def test_a_completion_request_has_the_fields_of_the_protocol(asking: Asking, provider: Any) -> None:
    await asking.ask(system="Be brief.")
    (request,) = provider.requests
    assert request.method == "POST"
    assert str(request.url) == "http://provider.test/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["content-type"] == "application/json"
    assert provider.bodies == [
        {
            "model": "maker/model-1",
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}],
            "max_tokens": 16384,
        }
    ]


async def test_optional_fields_are_sent_only_when_they_are_set(asking: Asking, provider: Any) -> None:
    asking.role = replace(ROLE, temperature=0.0, reasoning=True, max_tokens=512)
    await asking.ask(wants_list=True, max_tokens=1024)
    body = provider.bodies[0]
    assert body["temperature"] == 0.0
    assert body["reasoning"] == {"effort": "medium"}
    assert "reasoning_effort" not in body
    assert body["max_tokens"] == 1024
    assert body["response_format"]["json_schema"] == {
        "name": "string_list",
        "strict": False,
        "schema": {
            "type": "object",
            "properties": {"items": {"type": "array", "items": {"type": "string"}}},
            "required": ["items"],
            "additionalProperties": False,
        },
    }


async def test_an_effort_of_none_turns_thinking_off(asking: Asking, provider: Any) -> None:
    asking.role = replace(ROLE, reasoning_effort="none")
    await asking.ask()
    assert provider.bodies[0]["reasoning_effort"] == "none"
    assert "reasoning" not in provider.bodies[0]
    asking.role = replace(ROLE, reasoning=True, reasoning_effort="high")
    await asking.ask()
    assert provider.bodies[1]["reasoning"] == {"effort": "high"}


async def test_a_provider_without_a_key_gets_no_authentication_header(asking: Asking, provider: Any) -> None:
    asking.settings = replace(SETTINGS, providers={"main": replace(PROVIDER, api_key=None)})
    await asking.ask()
    assert "authorization" not in provider.requests[0].headers


# C028
@pytest.mark.parametrize(
    "model", ["deepseek/deepseek-r1:free", "hf.co/me/Qwen3-GGUF:Q4_K_M", "accounts/x/models/y#z", "my model"]
)
async def test_a_model_id_is_sent_byte_for_byte(asking: Asking, provider: Any, model: str) -> None:
    asking.role = replace(ROLE, model=model)
    await asking.ask()
    assert provider.bodies[0]["model"] == model


async def test_a_lone_surrogate_in_a_prompt_does_not_stop_the_request(asking: Asking, provider: Any) -> None:
    await asking.ask(user="odd \ud83d end")
    assert provider.bodies[0]["messages"][0]["content"] == "odd \ufffd end"


# replies


# C001
async def test_an_error_inside_a_200_is_that_error(asking: Asking) -> None:
    def inner(code: Any) -> httpx.Response:
        return httpx.Response(200, json={"id": "gen-7", "error": {"message": "Upstream busy, try later", "code": code}})

    busy = await asking.failed(inner(502))
    assert str(busy) == "HTTP 502: Upstream busy, try later"
    assert len(asking.retries) == 2
    limited = await asking.failed(inner("rate_limit"))
    assert limited.refusal is Refusal.UNSAID
    paid = await asking.failed(inner(402))
    assert paid.is_fatal
    unknown = await asking.failed(inner("odd"))
    assert str(unknown) == "invalid response: Upstream busy, try later"
    assert not unknown.is_retryable


# C003
async def test_a_model_that_warms_up_is_asked_again(asking: Asking, provider: Any) -> None:
    replies = [provider.chat("", finish=None, tokens=(31, 0)), provider.chat("Ready.")]
    provider.reply = lambda _body: replies.pop(0)
    assert (await asking.ask()).content == "Ready."
    assert asking.retries == [
        "invalid response: an empty answer without a finish reason; retrying in " + asking.retries[0].rsplit(" ", 1)[-1]
    ]


# C004
@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"usage": None}, (0, 0)),
        ({}, (0, 0)),
        ({"usage": {}}, (0, 0)),
        ({"usage": {"prompt_tokens": 12}}, (12, 0)),
        ({"usage": {"prompt_tokens": None, "completion_tokens": 7}}, (0, 7)),
        ({"usage": {"prompt_tokens": 1.5, "completion_tokens": -3}}, (0, 0)),
        ({"usage": {"prompt_tokens": "9", "completion_tokens": True}}, (0, 0)),
        ({"usage": [1, 2]}, (0, 0)),
    ],
)
async def test_odd_counters_count_nothing_and_the_answer_is_kept(
    asking: Asking, usage: dict[str, Any], expected: tuple[int, int]
) -> None:
    completion = await asking.answered(reply({"content": "Kept."}, **usage))
    assert completion.content == "Kept."
    assert completion.usage == Usage(input_tokens=expected[0], output_tokens=expected[1])


# C006, C011
async def test_null_content_is_empty_and_null_reasoning_is_none(asking: Asking) -> None:
    cut = await asking.answered(reply({"content": None, "reasoning": "First I list the cases..."}, "length"))
    assert (cut.content, cut.finish_reason) == ("", FinishReason.LENGTH)
    assert cut.reasoning == "First I list the cases..."
    empty = await asking.answered(
        reply(
            {"content": None, "reasoning": None, "reasoning_details": None},
            usage={"prompt_tokens": 3, "completion_tokens": 812},
        )
    )
    assert (empty.content, empty.reasoning_kind) == ("", ReasoningKind.NONE)
    assert empty.usage.output_tokens == 812


# C008
async def test_a_stop_with_nothing_but_reasoning_has_no_content(asking: Asking) -> None:
    completion = await asking.answered(reply({"content": "", "reasoning_content": "x" * 1500}))
    assert completion.content == ""
    assert completion.finish_reason is FinishReason.STOP
    assert completion.reasoning_kind is ReasoningKind.RAW


# C009
@pytest.mark.parametrize("finish", [None, "eos", "", "tool_calls", 7])
async def test_unknown_words_for_the_end_are_other(asking: Asking, finish: Any) -> None:
    completion = await asking.answered(reply({"content": "Whole."}, finish))
    assert completion.finish_reason is FinishReason.OTHER
    document = reply({"content": "Whole."})
    del document["choices"][0]["finish_reason"]
    assert (await asking.answered(document)).finish_reason is FinishReason.OTHER


@pytest.mark.parametrize("finish", ["stop", "length", "content_filter"])
async def test_known_words_for_the_end_are_kept(asking: Asking, finish: str) -> None:
    assert (await asking.answered(reply({"content": "x"}, finish))).finish_reason == finish


async def test_a_refusal_with_a_stop_is_a_refusal(asking: Asking) -> None:
    refused = await asking.answered(reply({"content": "", "refusal": "I cannot."}))
    assert refused.finish_reason is FinishReason.REFUSAL
    blank = await asking.answered(reply({"content": "Fine.", "refusal": " "}))
    assert blank.finish_reason is FinishReason.STOP


async def test_content_in_parts_is_put_together(asking: Asking) -> None:
    parts = [{"type": "text", "text": "One, "}, "two", {"type": "image", "url": "x"}, {"type": "text", "text": "."}]
    assert (await asking.answered(reply({"content": parts}))).content == "One, two."


@pytest.mark.parametrize(
    ("document", "detail"),
    [
        ({"choices": []}, "no choices"),
        ({}, "no choices"),
        ({"choices": "x"}, "no choices"),
        ({"choices": [{}]}, "a choice without a message"),
        ({"choices": [None]}, "a choice without a message"),
        (reply({"content": 7}), "content is neither text nor a list of parts"),
        ([1], "not a JSON object"),
    ],
)
async def test_a_reply_of_the_wrong_shape_is_invalid_and_not_asked_again(
    asking: Asking, document: Any, detail: str
) -> None:
    error = await asking.failed(httpx.Response(200, json=document))
    assert str(error) == f"invalid response: {detail}"
    assert not error.is_retryable
    assert not error.is_fatal


# C024
async def test_a_lone_surrogate_in_a_reply_is_replaced_and_a_pair_is_one_character(
    asking: Asking, provider: Any
) -> None:
    raw = b'{"choices":[{"message":{"content":"ok \\ud83d end"},"finish_reason":"stop"}]}'
    provider.reply = lambda _body: httpx.Response(200, content=raw)
    assert (await asking.ask()).content == "ok \ufffd end"
    pair = raw.replace(b"\\ud83d", b"\\ud83c\\udf35")
    provider.reply = lambda _body: httpx.Response(200, content=pair)
    assert (await asking.ask()).content == "ok \U0001f335 end"


# C026
@pytest.mark.parametrize("before", [b"\xef\xbb\xbf", b" \n" * 1000])
async def test_a_byte_order_mark_and_padding_before_the_json_do_no_harm(
    asking: Asking, provider: Any, before: bytes
) -> None:
    content = before + json.dumps(reply({"content": "Fine."})).encode()
    provider.reply = lambda _body: httpx.Response(200, content=content)
    assert (await asking.ask()).content == "Fine."


@pytest.mark.parametrize("body", [b'{"choices":NaN}', b'{"choices":[Infinity]}', b"\x1f\x8b\x08nonsense", b""])
async def test_what_is_no_json_is_invalid_without_being_shown(asking: Asking, body: bytes) -> None:
    error = await asking.failed(httpx.Response(200, content=body))
    assert str(error) == "invalid response: not JSON"


# errors


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
async def test_passing_errors_are_tried_again_and_then_fail_the_item(asking: Asking, status: int) -> None:
    error = await asking.failed(httpx.Response(status, json={"error": {"message": "Overloaded"}}))
    assert str(error) == f"HTTP {status}: Overloaded"
    assert len(asking.retries) == 2
    assert asking.retries[0].startswith(f"HTTP {status}: Overloaded; retrying in ")
    assert not error.is_fatal


@pytest.mark.parametrize("status", [401, 402, 403, 404])
async def test_errors_of_the_account_are_fatal_and_not_tried_again(asking: Asking, status: int) -> None:
    error = await asking.failed(httpx.Response(status, json={"error": {"message": "no"}}))
    assert error.is_fatal
    assert asking.retries == []


@pytest.mark.parametrize("status", [400, 405, 409, 413, 415, 422])
async def test_other_errors_fail_one_item_at_once(asking: Asking, status: int) -> None:
    error = await asking.failed(httpx.Response(status, json={"error": {"message": "no"}}))
    assert not error.is_fatal
    assert asking.retries == []


async def test_a_rejected_key_is_never_quoted(asking: Asking) -> None:
    body = {"error": {"message": f"Incorrect API key provided: {KEY}"}}
    for status, text in (
        (401, "HTTP 401: authentication failed, check the provider API key"),
        (403, "HTTP 403: permission denied by the provider"),
        (400, "HTTP 400: Incorrect API key provided: ***"),
        (500, "HTTP 500: Incorrect API key provided: ***"),
    ):
        error = await asking.failed(httpx.Response(status, json=body))
        assert str(error) == text
        assert all(KEY not in line for line in asking.retries)
    inner = await asking.failed(httpx.Response(200, json={"error": {"message": f"bad {KEY}", "code": "odd"}}))
    assert str(inner) == "invalid response: bad ***"


# C021
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error":"model not found"}', '{"error":"model not found"}'),
        (b'{"error":{"message":{"code":"x"}}}', '{"error":{"message":{"code":"x"}}}'),
        (b'{"detail":[{"msg":"too large"}]}', '{"detail":[{"msg":"too large"}]}'),
        (
            b'[{"error":{"code":400,"message":"API key expired"}}]',
            '[{"error":{"code":400,"message":"API key expired"}}]',
        ),
        (b"null", "null"),
        (b'"busy"', '"busy"'),
        (b"", ""),
        (b"\xff\xfe", "\ufffd\ufffd"),
    ],
)
async def test_the_providers_message_is_found_in_any_body(asking: Asking, body: bytes, message: str) -> None:
    error = await asking.failed(httpx.Response(400, content=body))
    assert str(error) == f"HTTP 400: {message}"


# C019
async def test_a_web_page_is_cut_to_one_line_and_names_the_base_url(asking: Asking) -> None:
    page = "<!doctype html>\n<title>Sign in</title>\n" + "<div>x</div>\n" * 500
    bad_gateway = await asking.failed(httpx.Response(502, html=page))
    assert len(str(bad_gateway)) == len("HTTP 502: ") + 300
    assert "\n" not in str(bad_gateway)
    assert len(asking.retries) == 2
    portal = await asking.failed(httpx.Response(200, html=page))
    assert (
        str(portal) == "invalid response: the server answered a web page, not JSON; is providers.main.base_url right?"
    )
    assert not portal.is_retryable
    missing = await asking.failed(httpx.Response(404, html="<html>nothing here</html>"))
    assert str(missing).endswith("the answer is a web page, is providers.main.base_url right?")


async def test_a_redirect_is_not_followed(asking: Asking, provider: Any) -> None:
    error = await asking.failed(httpx.Response(302, headers={"location": "https://elsewhere.test/"}))
    assert str(error) == "HTTP 302: redirected; redirects are not followed, is providers.main.base_url right?"
    assert not error.is_retryable
    assert not error.is_fatal
    assert len(provider.requests) == 1


# C017
async def test_overloaded_is_tried_again_in_both_forms(asking: Asking) -> None:
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    asking.settings = replace(SETTINGS, providers={"main": replace(PROVIDER, protocol="anthropic")})
    for status in (529, 200):
        asking.retries.clear()
        error = await asking.failed(httpx.Response(status, json=body))
        assert str(error) == "HTTP 529: Overloaded"
        assert len(asking.retries) == 2


async def test_a_retry_after_replaces_the_wait(asking: Asking, provider: Any) -> None:
    replies = [provider.error(429, "slow down", retry_after="7"), provider.chat("Done.")]
    provider.reply = lambda _body: replies.pop(0)
    started = asking.clock.monotonic()
    assert (await asking.ask()).content == "Done."
    assert asking.retries == ["HTTP 429: slow down; retrying in 7.0s"]
    assert asking.clock.monotonic() - started == 7


async def test_network_trouble_is_tried_again_and_told(asking: Asking, provider: Any) -> None:
    def refuse(_body: Any) -> httpx.Response:
        raise httpx.ConnectError("all attempts failed to 10.0.0.1") from ConnectionRefusedError(111, "refused")

    provider.reply = refuse
    with pytest.raises(RequestFailedError) as caught:
        await asking.ask()
    assert describe(caught.value) == "request failed: connection refused"
    assert len(asking.retries) == 2


# embeddings


async def test_embeddings_come_in_the_order_of_their_texts(asking: Asking, provider: Any) -> None:
    provider.reply = lambda _body: httpx.Response(
        200, json={"data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1.0, 0]}]}
    )
    client = await asking.client()
    assert await client.embed(["a", "b"], on_retry=asking.retries.append) == [[1.0, 0.0], [0.0, 1.0]]
    assert str(provider.requests[0].url) == "http://provider.test/v1/embeddings"
    assert provider.bodies == [{"model": "maker/model-1", "input": ["a", "b"], "encoding_format": "float"}]
    assert await client.embed([], on_retry=asking.retries.append) == []
    assert len(provider.requests) == 1


# C048, C050
@pytest.mark.parametrize(
    "data",
    [
        [{"index": 0, "embedding": []}, {"index": 1, "embedding": []}],
        [],
        [{"index": 0, "embedding": None}, {"index": 1, "embedding": [1]}],
        [{"index": 0, "embedding": [1, 2, 3]}, {"index": 1, "embedding": [1, 2, 3, 4]}],
        [{"index": 0, "embedding": "AACAPw=="}, {"index": 1, "embedding": "AACAPw=="}],
        [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [2]}],
        [{"embedding": [1]}, {"embedding": [2]}],
        [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [2]}, {"index": 2, "embedding": [3]}],
        [{"index": 0, "embedding": [True]}, {"index": 1, "embedding": [2]}],
        None,
    ],
)
async def test_embeddings_of_the_wrong_shape_are_invalid(asking: Asking, provider: Any, data: Any) -> None:
    provider.reply = lambda _body: httpx.Response(200, json={"data": data})
    client = await asking.client()
    with pytest.raises(InvalidResponseError) as caught:
        await client.embed(["a", "b"], on_retry=asking.retries.append)
    assert not caught.value.is_fatal
    if isinstance(data, list) and len(data) != 2:
        assert str(caught.value) == f"invalid response: {len(data)} embeddings for 2 inputs"


# set-up


async def test_what_is_missing_for_a_client_is_named(asking: Asking) -> None:
    asking.settings = replace(SETTINGS, providers={})
    with pytest.raises(ConfigError, match=r"^unknown provider `main`$"):
        await asking.client()
    asking.settings = replace(SETTINGS, providers={"main": replace(PROVIDER, base_url=None)})
    with pytest.raises(ConfigError) as caught:
        await asking.client()
    assert str(caught.value) == "providers.main.base_url is not set (set OVERBRAINER_PROVIDERS__MAIN__BASE_URL)"


@pytest.mark.parametrize("key", ["sk\nnew", "sk with space", "clé", "\x7f"])
async def test_a_key_that_is_no_header_value_is_refused_before_any_request(
    asking: Asking, provider: Any, key: str
) -> None:
    asking.settings = replace(SETTINGS, providers={"main": replace(PROVIDER, api_key=SecretText(key))})
    with pytest.raises(ClientSetupError) as caught:
        await asking.client()
    assert (
        str(caught.value) == "cannot build the client for provider `main`: the API key is not a valid HTTP header value"
    )
    assert key not in describe(caught.value)
    assert provider.requests == []


async def test_a_reference_that_cannot_be_resolved_names_its_key(asking: Asking) -> None:
    reference = SecretText("vault:secret/keys#openrouter")
    asking.settings = replace(SETTINGS, providers={"main": replace(PROVIDER, api_key=reference)})
    with pytest.raises(SecretError, match=r"^cannot resolve providers\.main\.api_key"):
        await asking.client()


async def test_clients_do_not_show_their_key(asking: Asking) -> None:
    client = await asking.client()
    assert KEY not in repr(client)
    assert KEY not in repr(client._pool)


def test_statuses_say_what_they_mean() -> None:
    assert HttpStatusError(429, "m", retry_after_s=3).retry_after_s == 3
    assert HttpStatusError(400, "m", retry_after_s=3).retry_after_s is None


@pytest.mark.parametrize(
    ("status", "message", "refusal"),
    [
        (429, "Rate limit reached", Refusal.UNSAID),
        (429, "Too many concurrent requests", Refusal.AT_ONCE),
        (429, "Maximum of 4 requests at once", Refusal.AT_ONCE),
        (429, "Limit: 60 requests per minute", Refusal.RATE),
        (429, "TPM exceeded", Refusal.RATE),
        (503, "busy", Refusal.OVERLOAD),
        (529, "overloaded", Refusal.OVERLOAD),
        (500, "per minute", None),
        (400, "concurrent", None),
    ],
)
def test_a_refusal_tells_a_rate_from_too_many_at_once_where_the_provider_says_so(
    status: int, message: str, refusal: Refusal | None
) -> None:
    assert HttpStatusError(status, message).refusal is refusal
