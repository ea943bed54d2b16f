"""What does the demo's provider answer to an HTTP request?

An ASGI application with the endpoints of an OpenAI-compatible server, relative to its base URL:
`POST /chat/completions` and `GET /models`. It runs in the process that asks, opens no socket and keeps
nothing but a count of attempts.

Invariants: a reply follows from the request and from how often that request came before, so that every
demo gets the same files, whatever runs at the same time; a fault passes when the request is repeated.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from functools import cache
from typing import Any

from overbrainer_core.llm.demo_facts import normalize_question
from overbrainer_core.llm.demo_generator import OddForm, generator_reply, read_list_request
from overbrainer_core.llm.demo_judge import has_two_answers, judge_reply
from overbrainer_core.llm.demo_parent import SALT, parent_reply
from overbrainer_core.llm.demo_reply import Reply, count_tokens, within_limit
from overbrainer_core.llm.demo_requests import ChatRequest, RequestProblem, read_chat_request
from overbrainer_core.llm.demo_tables import default_questions, share, stable_hash

GENERATOR, PARENT, JUDGE = "demo/generator", "demo/parent", "demo/judge"
PRICES_USD_PER_TOKEN = {
    GENERATOR: ("0.0000004", "0.0000016"),
    PARENT: ("0.000002", "0.000008"),
    JUDGE: ("0.0000004", "0.0000016"),
}
"""Prompt and completion price of each model, as text so that no digit is lost."""
CONTEXT_LENGTH = 32_768
RATE_LIMITED_SHARE = 0.03
"""First attempts that are told to come back later."""
RETRY_AFTER_S = 1
OVERLOADED = 2
"""Questions of an unchanged demo whose first attempt finds the parent overloaded."""
MIN_LATENCY_MS = 60
MAX_LATENCY_MS = 180
LIST_LATENCY_FACTOR = 3
"""A list takes so many times longer than an answer."""
CREATED = 1_767_225_600
"""Unix seconds told for every model and reply: the start of 2026, for nothing here depends on the time."""

AsgiMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiMessage]]
Send = Callable[[AsgiMessage], Awaitable[None]]
AsgiApp = Callable[[AsgiMessage, Receive, Send], Awaitable[None]]


def create_app(latency_scale: float = 1.0) -> AsgiApp:
    """A provider with no attempt behind it; its latencies are multiplied by `latency_scale`."""
    return _DemoProvider(latency_scale)


def fault_of(request: ChatRequest, attempt: int) -> RequestProblem | None:
    """The fault that attempt number `attempt` (from 0) at `request` meets, if any: only the first one can."""
    if attempt > 0:
        return None
    if request.model == GENERATOR and request.has_response_format and _refuses_format(request):
        message = "response_format: this model does not support json_schema"
        return RequestProblem(status=400, message=message, param="response_format")
    text = _deciding_text(request)
    if request.model == PARENT and text in _overloaded_questions():
        message = "the model is overloaded, try again later"
        return RequestProblem(status=503, message=message, kind="server_error", code="overloaded")
    if share(SALT, "rate limit", request.model, text) < RATE_LIMITED_SHARE:
        message = f"rate limit reached, try again in {RETRY_AFTER_S} s"
        return RequestProblem(
            status=429,
            message=message,
            kind="rate_limit_error",
            code="rate_limit_exceeded",
            retry_after_s=RETRY_AFTER_S,
        )
    return None


def reply_to(request: ChatRequest) -> Reply:
    """What the model of `request` says to it, within the limit of the request.

    Where no judge is configured the parent judges, so it does when it is shown two answers.
    """
    if request.model == GENERATOR:
        reply = generator_reply(request.prompt, wants_object=request.has_response_format)
    elif request.model == JUDGE or has_two_answers(request.prompt):
        reply = judge_reply(request.prompt)
    else:
        reply = parent_reply(request.question, with_reasoning=request.wants_reasoning)
    return within_limit(reply, request.max_tokens)


def latency_s(request: ChatRequest) -> float:
    """Seconds that `request` takes, from 0.06 to 0.18, three times that for a list."""
    spread = MAX_LATENCY_MS - MIN_LATENCY_MS + 1
    milliseconds = MIN_LATENCY_MS + stable_hash("latency", _deciding_text(request)) % spread
    return milliseconds / 1000 * (LIST_LATENCY_FACTOR if request.model == GENERATOR else 1)


def completion_body(request: ChatRequest, reply: Reply) -> dict[str, object]:
    """The chat completion object that carries `reply`."""
    message: dict[str, object] = {"role": "assistant", "content": reply.content}
    if reply.reasoning is not None:
        message["reasoning"] = reply.reasoning
    prompt_tokens = count_tokens(request.prompt)
    return {
        "id": f"chatcmpl-{request.key:016x}",
        "object": "chat.completion",
        "created": CREATED,
        "model": request.model,
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish, "logprobs": None}],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": reply.completion_tokens,
            "total_tokens": prompt_tokens + reply.completion_tokens,
            "completion_tokens_details": {"reasoning_tokens": reply.reasoning_tokens},
        },
    }


def models_body() -> dict[str, object]:
    """The list of models with their prices, in the form of OpenRouter: USD per token, as text."""
    models = [
        {
            "id": model,
            "object": "model",
            "created": CREATED,
            "owned_by": "demo",
            "context_length": CONTEXT_LENGTH,
            "pricing": {"prompt": prompt, "completion": completion},
        }
        for model, (prompt, completion) in PRICES_USD_PER_TOKEN.items()
    ]
    return {"object": "list", "data": models}


class _DemoProvider:
    """The ASGI application: routes, counts attempts and waits."""

    def __init__(self, latency_scale: float) -> None:
        self._latency_scale = latency_scale
        self._attempts: Counter[int] = Counter()

    async def __call__(self, scope: AsgiMessage, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise ValueError(f"the demo provider speaks http, not {scope['type']}")
        body = await _read_body(receive)
        if body is None:
            return
        answer = await self._answer(scope["method"], scope["path"].rstrip("/"), body)
        await _send_json(send, answer)

    async def _answer(self, method: str, path: str, body: bytes) -> RequestProblem | dict[str, object]:
        match (method, path):
            case ("POST", "/chat/completions"):
                return await self._complete(body)
            case ("GET", "/models"):
                return models_body()
            case (_, "/chat/completions" | "/models"):
                allowed = "GET" if path == "/models" else "POST"
                return RequestProblem(status=405, message=f"{method} is not allowed here", allow=allowed)
        return RequestProblem(status=404, message=f"unknown path {path}", code="not_found")

    async def _complete(self, body: bytes) -> RequestProblem | dict[str, object]:
        request = read_chat_request(body, PRICES_USD_PER_TOKEN)
        if isinstance(request, RequestProblem):
            return request
        attempt = self._attempts[request.key]
        self._attempts[request.key] += 1
        await asyncio.sleep(latency_s(request) * self._latency_scale)
        return fault_of(request, attempt) or completion_body(request, reply_to(request))


def _deciding_text(request: ChatRequest) -> str:
    """What faults and latency follow from: the question itself, so that prompts may be edited around it."""
    return normalize_question(request.question) if request.model == PARENT else request.prompt


def _refuses_format(request: ChatRequest) -> bool:
    asked = read_list_request(request.prompt)
    return asked is not None and asked.odd_form is OddForm.NO_RESPONSE_FORMAT


@cache
def _overloaded_questions() -> frozenset[str]:
    asked = map(normalize_question, default_questions())
    return frozenset(sorted(asked, key=lambda text: stable_hash(SALT, "overloaded", text))[:OVERLOADED])


async def _read_body(receive: Receive) -> bytes | None:
    """The body of a request; None when the client went away before its end."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


async def _send_json(send: Send, answer: RequestProblem | dict[str, object]) -> None:
    problem = answer if isinstance(answer, RequestProblem) else None
    document = problem.body() if problem else answer
    payload = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(payload)).encode())]
    if problem and problem.retry_after_s is not None:
        headers.append((b"retry-after", str(problem.retry_after_s).encode()))
    if problem and problem.allow:
        headers.append((b"allow", problem.allow.encode()))
    start = {"type": "http.response.start", "status": problem.status if problem else 200, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": payload})
