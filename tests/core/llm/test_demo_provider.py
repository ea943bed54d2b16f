"""The demo's provider over HTTP, as the client talks to it: endpoints, faults, prices, whole datasets."""

import asyncio
import json
import tomllib
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any

import httpx
import pytest

from overbrainer_core import assets
from overbrainer_core.config.settings import Topic
from overbrainer_core.dataset.ids import question_id, subtopic_id
from overbrainer_core.dataset.records import AnswerMeta, Example, Message, MessageRole
from overbrainer_core.dedup.lexical import LexicalDeduplicator
from overbrainer_core.llm.demo_facts import normalize_question
from overbrainer_core.llm.demo_parent import Fate, fate_of
from overbrainer_core.llm.demo_provider import create_app, latency_s
from overbrainer_core.llm.demo_reply import UNKNOWN
from overbrainer_core.llm.demo_requests import ChatRequest
from overbrainer_core.llm.demo_tables import TOPICS, default_questions, question_index, questions_in_order
from overbrainer_core.pipeline.prompts import TEMPLATES, Prompts
from overbrainer_core.pipeline.replies import parse_list
from overbrainer_core.pipeline.split import split_answers
from overbrainer_core.values.completion import FinishReason, ReasoningKind
from overbrainer_core.values.stage import Exclusion

SCHEMA = {"type": "json_schema", "json_schema": {"name": "string_list", "strict": False, "schema": {"type": "object"}}}
DEMO = tomllib.loads(assets.template("demo.toml"))
PROMPTS = Prompts({name: assets.template(f"prompts/{name}") for name in TEMPLATES})
EXCLUDED = {"length": Exclusion.TRUNCATED, "content_filter": Exclusion.REFUSED}
RIGHT_QUESTION = next(text for text in default_questions() if fate_of(text) is Fate.RIGHT)


@asynccontextmanager
async def connected() -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=create_app(latency_scale=0))
    async with httpx.AsyncClient(transport=transport, base_url="http://demo", trust_env=False) as client:
        yield client


def body_for(prompt: str, *, model: str = "demo/parent", **fields: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": prompt}], "max_tokens": 16384} | fields


async def ask(client: httpx.AsyncClient, prompt: str, **fields: Any) -> httpx.Response:
    return await client.post("/chat/completions", json=body_for(prompt, **fields))


async def ask_until_answered(client: httpx.AsyncClient, prompt: str, **fields: Any) -> dict[str, Any]:
    for _ in range(3):
        response = await ask(client, prompt, **fields)
        if response.status_code == 200:
            document: dict[str, Any] = response.json()
            return document
    raise AssertionError(f"still HTTP {response.status_code}")


async def answers_to(questions: Sequence[str], *, at_once: int) -> tuple[dict[str, dict[str, Any]], Counter[int]]:
    """The final reply to each question, and how often each HTTP status came."""
    statuses: Counter[int] = Counter()
    replies: dict[str, dict[str, Any]] = {}
    queue = list(reversed(questions))

    async def work(client: httpx.AsyncClient) -> None:
        while queue:
            question = queue.pop()
            while question not in replies:
                response = await ask(client, question, reasoning={"effort": "medium"})
                statuses[response.status_code] += 1
                if response.status_code == 200:
                    replies[question] = response.json()

    async with connected() as client, asyncio.TaskGroup() as tasks:
        for _ in range(at_once):
            tasks.create_task(work(client))
    return replies, statuses


async def test_a_completion_has_the_form_of_the_protocol() -> None:
    async with connected() as client:
        document = await ask_until_answered(client, RIGHT_QUESTION, reasoning={"effort": "medium"})
    (choice,) = document["choices"]
    message, usage = choice["message"], document["usage"]
    assert (document["object"], document["model"]) == ("chat.completion", "demo/parent")
    assert (choice["finish_reason"], message["role"]) == ("stop", "assistant")
    assert message["reasoning"].startswith("This is about ")
    assert usage["prompt_tokens"] == -(-len(RIGHT_QUESTION) // 4)
    assert usage["completion_tokens"] == -(-len(message["content"] + message["reasoning"]) // 4)
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


async def test_reasoning_is_left_out_when_nobody_asked_for_it() -> None:
    async with connected() as client:
        document = await ask_until_answered(client, RIGHT_QUESTION)
        unwanted = await ask_until_answered(client, RIGHT_QUESTION, reasoning_effort="none")
    assert set(document["choices"][0]["message"]) == set(unwanted["choices"][0]["message"]) == {"role", "content"}


async def test_unknown_questions_are_answered_in_the_words_of_the_demo() -> None:
    async with connected() as client:
        document = await ask_until_answered(client, "Which element has 12 protons?")
    assert document["choices"][0]["message"]["content"] == UNKNOWN


async def test_the_limit_of_a_request_cuts_the_reply() -> None:
    async with connected() as client:
        document = await ask_until_answered(client, RIGHT_QUESTION, max_tokens=5)
    assert document["choices"][0]["finish_reason"] == "length"
    assert document["usage"]["completion_tokens"] == 5


async def test_prices_are_decimal_text_in_dollars_per_token() -> None:
    async with connected() as client:
        response = await client.get("/models", params={"detailed": "true"})
    models = {entry["id"]: entry["pricing"] for entry in response.json()["data"]}
    assert set(models) == {"demo/generator", "demo/parent", "demo/judge"}
    for pricing in models.values():
        assert all(isinstance(pricing[name], str) for name in ("prompt", "completion"))
        assert 0 < Decimal(pricing["prompt"]) < Decimal(pricing["completion"]) < Decimal("0.0001")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/chat/completions", 405),
        ("POST", "/models", 405),
        ("POST", "/embeddings", 404),
        ("GET", "/", 404),
    ],
)
async def test_other_paths_and_methods_are_refused_with_an_error_object(method: str, path: str, status: int) -> None:
    async with connected() as client:
        response = await client.request(method, path)
    assert response.status_code == status
    assert isinstance(response.json()["error"]["message"], str)
    assert ("allow" in response.headers) is (status == 405)


async def test_a_malformed_body_and_an_unknown_model_are_refused() -> None:
    async with connected() as client:
        malformed = await client.post("/chat/completions", content=b"{")
        unknown = await ask(client, "Hello", model="demo/oracle")
    assert (malformed.status_code, unknown.status_code) == (400, 404)
    assert unknown.json()["error"]["code"] == "model_not_found"


async def test_answers_are_the_same_in_any_order_and_concurrency() -> None:
    forward, statuses = await answers_to(default_questions(), at_once=1)
    backward, others = await answers_to(default_questions()[::-1], at_once=64)
    assert forward == backward
    assert statuses == others


async def test_faults_come_as_often_as_promised_and_pass_when_the_request_is_repeated() -> None:
    replies, statuses = await answers_to(default_questions(), at_once=16)
    assert statuses[200] == len(replies) == 720
    assert statuses[503] == 2
    assert 0.025 < statuses[429] / 720 < 0.035
    finishes = Counter(reply["choices"][0]["finish_reason"] for reply in replies.values())
    assert finishes == {"stop": 706, "length": 11, "content_filter": 3}


async def test_a_rate_limit_says_when_to_come_back() -> None:
    async with connected() as client:
        for question in default_questions():
            response = await ask(client, question)
            if response.status_code == 429:
                break
    assert response.headers["retry-after"] == "1"
    assert response.json()["error"]["type"] == "rate_limit_error"


async def test_each_app_counts_its_own_attempts() -> None:
    statuses = []
    for _ in range(2):
        async with connected() as client:
            statuses.append([(await ask(client, text)).status_code for text in default_questions()[:200]])
    assert statuses[0] == statuses[1]
    assert set(statuses[0]) > {200}


async def test_the_generator_refuses_structured_output_once() -> None:
    prompt = "Write 10 new questions about Central Europe."
    async with connected() as client:
        statuses = [
            (await ask(client, prompt, model="demo/generator", response_format=SCHEMA)).status_code for _ in range(2)
        ]
        plain = await ask(client, prompt, model="demo/generator")
    assert statuses == [400, 200]
    assert json.loads(plain.json()["choices"][0]["message"]["content"]) == list(
        questions_in_order("Central Europe")[:10]
    )


@pytest.mark.parametrize("model", ["demo/judge", "demo/parent"])
async def test_the_judge_judges_and_so_does_the_parent_in_its_place(model: str) -> None:
    prompt = (
        "Question:\nWhat is the symbol of iron?\n\nAnswer A:\nThe symbol of iron is Ir.\n\n"
        "Answer B:\nThe symbol of iron is Fe.\n\nReply with a JSON object."
    )
    async with connected() as client:
        document = await ask_until_answered(client, prompt, model=model)
    assert json.loads(document["choices"][0]["message"]["content"])["verdict"] == "B"


async def test_an_odd_text_is_answered_not_raised() -> None:
    async with connected() as client:
        response = await client.post(
            "/chat/completions",
            content=b'{"model":"demo/parent","messages":[{"role":"user","content":"\\ud83d \\u0000"}]}',
        )
    assert response.status_code in (200, 429)


def test_an_answer_takes_60_to_180_ms_and_a_list_three_times_that() -> None:
    def waits(model: str) -> list[float]:
        requests = (
            ChatRequest(
                model=model,
                prompt=text,
                question=text,
                max_tokens=None,
                wants_reasoning=False,
                has_response_format=False,
            )
            for text in map(normalize_question, default_questions())
        )
        return [latency_s(request) for request in requests]

    answers, lists = waits("demo/parent"), waits("demo/generator")
    assert (min(answers), max(answers)) == (0.06, 0.18)
    assert lists == pytest.approx([3 * wait for wait in answers])
    assert 0.11 < sum(answers) / len(answers) < 0.13


async def test_the_latency_is_waited_for() -> None:
    transport = httpx.ASGITransport(app=create_app(latency_scale=0.01))
    async with httpx.AsyncClient(transport=transport, base_url="http://demo", trust_env=False) as client:
        started = asyncio.get_running_loop().time()
        await ask(client, RIGHT_QUESTION)
        assert asyncio.get_running_loop().time() - started >= 0.0005


async def test_only_http_is_spoken() -> None:
    async def never(*_: object) -> Any:
        raise AssertionError

    with pytest.raises(ValueError, match="lifespan"):
        await create_app()({"type": "lifespan"}, never, never)


async def test_a_client_that_leaves_gets_nothing() -> None:
    sent: list[object] = []

    async def leave() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def keep(message: object) -> None:
        sent.append(message)

    await create_app(0)({"type": "http", "method": "POST", "path": "/chat/completions"}, leave, keep)
    assert sent == []


async def generate_list(client: httpx.AsyncClient, prompt: str) -> list[str]:
    """The items of the generator's list, asked for as the stages ask."""
    fields: dict[str, Any] = {"response_format": SCHEMA}
    for _ in range(4):
        response = await ask(client, prompt, model="demo/generator", **fields)
        if response.status_code == 200:
            return parse_list(response.json()["choices"][0]["message"]["content"]) or []
        if response.status_code == 400:
            fields = {}
    raise AssertionError("no list")


async def fill(client: httpx.AsyncClient, topic: Topic, name: str, known: LexicalDeduplicator) -> tuple[list[str], int]:
    """The accepted questions of a subtopic, and how many the deduplication refused."""
    accepted: list[str] = []
    refused = 0
    while len(accepted) < topic.questions_per_subtopic:
        count = min(10, topic.questions_per_subtopic - len(accepted))
        prompt = PROMPTS.questions(topic, subtopic=name, count=count, accepted=accepted)
        items = (await generate_list(client, prompt))[:count]
        kept = (await known.admit(items)).kept
        assert kept
        assert all(text in questions_in_order(name) for text in kept)
        accepted += kept
        refused += len(items) - len(kept)
    return accepted, refused


async def answer(client: httpx.AsyncClient, topic: Topic, subtopic: str, text: str) -> Example:
    messages = [{"role": "system", "content": PROMPTS.answer_system(topic)}, {"role": "user", "content": text}]
    document = await ask_until_answered(client, "", messages=messages, reasoning={"effort": "medium"})
    (choice,) = document["choices"]
    finish = choice["finish_reason"]
    return Example(
        id=question_id(subtopic_id(topic.name, subtopic), text),
        topic=topic.name,
        subtopic=subtopic,
        messages=(
            Message(role=MessageRole.USER, content=text),
            Message(role=MessageRole.ASSISTANT, content=choice["message"]["content"]),
        ),
        meta=AnswerMeta(
            model="demo/parent",
            input_tokens=document["usage"]["prompt_tokens"],
            output_tokens=document["usage"]["completion_tokens"],
            finish_reason=FinishReason(finish),
            reasoning_kind=ReasoningKind.RAW,
            excluded=EXCLUDED.get(finish),
        ),
    )


def test_the_demo_project_asks_for_what_the_tables_hold() -> None:
    asked = [(topic["name"], topic["subtopics"], topic["questions_per_subtopic"]) for topic in DEMO["topics"]]
    assert asked == [(topic.name, len(topic.subtopics), 36) for topic in TOPICS]
    assert not any(character.isdigit() for topic in DEMO["topics"] for character in topic["description"])


async def test_an_unchanged_demo_keeps_five_slips_and_four_short_answers_for_evaluation() -> None:
    answers: list[Example] = []
    refused = 0
    async with connected() as client:
        for topic in (Topic(**table) for table in DEMO["topics"]):
            known = LexicalDeduplicator(0.8)
            names = await generate_list(client, PROMPTS.subtopics(topic, count=topic.subtopics, existing=()))
            assert len(names) == topic.subtopics
            for name in names:
                accepted, repeated = await fill(client, topic, name, known)
                refused += repeated
                answers += [await answer(client, topic, name, text) for text in accepted]

    questions = [example.messages[0].content for example in answers]
    assert set(questions) == set(default_questions())
    assert 15 <= refused <= 40
    usable = [example for example in answers if example.meta.excluded is None]
    train, evaluation = split_answers(usable, eval_ratio=DEMO["pipeline"]["eval_ratio"], seed=42)
    assert (len(answers), len(train), len(evaluation)) == (720, 626, 80)
    fates = Counter(fate_of(example.messages[0].content) for example in evaluation)
    assert (fates[Fate.SLIP], fates[Fate.SHORT]) == (5, 4)
    told = [example.messages[1].content for example in evaluation]
    facts = [question_index()[normalize_question(example.messages[0].content)] for example in evaluation]
    wrong = [text for text, fact in zip(told, facts, strict=True) if not text.startswith(fact.first_sentence())]
    assert len(wrong) == 5
