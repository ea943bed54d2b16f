from __future__ import annotations

import asyncio
import os
from typing import Any

import httpx
import pytest

from overbrainer_core.config.settings import Topic
from overbrainer_core.dataset.store import Appender
from overbrainer_core.errors import ItemsFailedError, describe
from overbrainer_core.events.bus import EventBus
from overbrainer_core.events.types import ItemDone, ItemFailed, StageFinished, StageModel, StageStarted
from overbrainer_core.files import FileAccessError
from overbrainer_core.flows.stages import StageStoppedError
from overbrainer_core.pipeline.answers import gives_raw_reasoning
from overbrainer_core.values.stage import Stage
from overbrainer_core.values.usage import Usage


def question(identity: str, topic: str = "tea") -> dict[str, str]:
    return {"id": identity, "topic": topic, "subtopic_id": "s", "subtopic": "S", "text": f"What is {identity}?"}


def prepare(project: Any, count: int = 3) -> None:
    project.write(project.paths.questions, *[question(f"q{number}") for number in range(count)])


def answers(project: Any) -> dict[str, dict[str, Any]]:
    return {line["id"]: line for line in project.lines(project.paths.answers)}


async def test_every_question_is_asked_and_saved_before_it_is_told(stage_project: Any) -> None:
    prepare(stage_project)
    on_disk: list[bool] = []

    class Watching:
        def on_event(self, event: Any) -> None:
            if isinstance(event, ItemDone):
                on_disk.append(event.id in answers(stage_project))

        def on_close(self) -> None:
            pass

    stage_project.bus = lambda: EventBus((stage_project, Watching()))
    outcome = await stage_project.run(Stage.ANSWERS)
    assert on_disk == [True] * 3
    assert outcome.summary == "answers: 3 done, 0 skipped, 0 failed, 0 excluded; tokens 30 in, 15 out; cost unknown"
    assert answers(stage_project)["q0"] == {
        "id": "q0",
        "topic": "tea",
        "subtopic": "S",
        "messages": [
            {"role": "user", "content": "What is q0?"},
            {"role": "assistant", "content": "An answer."},
        ],
        "meta": {
            "model": "maker/model-1",
            "input_tokens": 10,
            "output_tokens": 5,
            "finish_reason": "stop",
            "reasoning_kind": "none",
            "excluded": None,
        },
    }
    body = stage_project.provider.bodies[0]
    assert body["messages"][0]["role"] == "system"
    assert "tea" in body["messages"][0]["content"]
    assert "response_format" not in body


async def test_the_system_prompt_is_stored_only_when_asked(stage_project: Any) -> None:
    prepare(stage_project, 1)
    stage_project.change(include_system_prompt=True)
    await stage_project.run(Stage.ANSWERS)
    messages = answers(stage_project)["q0"]["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant"]
    assert messages[0]["content"] == stage_project.provider.bodies[0]["messages"][0]["content"]


async def test_events_come_in_their_order(stage_project: Any) -> None:
    prepare(stage_project, 2)
    await stage_project.run(Stage.ANSWERS)
    stage_project.events.clear()
    prepare(stage_project, 3)
    outcome = await stage_project.run(Stage.ANSWERS)
    assert stage_project.events == [
        StageStarted(stage=Stage.ANSWERS, total=3),
        StageModel(stage=Stage.ANSWERS, model="maker/model-1"),
        ItemDone(stage=Stage.ANSWERS, id="q0"),
        ItemDone(stage=Stage.ANSWERS, id="q1"),
        ItemDone(stage=Stage.ANSWERS, id="q2", usage=Usage(input_tokens=10, output_tokens=5)),
        StageFinished(stage=Stage.ANSWERS, stats=outcome.stats),
    ]
    assert (outcome.stats.done, outcome.stats.skipped) == (1, 2)


@pytest.mark.parametrize(
    ("reply", "excluded"),
    [
        ({"content": "x", "finish": "length"}, "truncated"),
        ({"content": "x", "finish": "content_filter"}, "refused"),
        ({"content": "", "refusal": "I cannot."}, "refused"),
        ({"content": " \n"}, "empty"),
        ({"content": None, "reasoning": "Hm."}, "empty"),
        ({"content": "x", "finish": None}, None),
        ({"content": "x"}, None),
    ],
)
async def test_answers_unfit_for_training_are_saved_and_counted_as_excluded(
    stage_project: Any, reply: dict[str, Any], excluded: str | None
) -> None:
    prepare(stage_project, 1)
    stage_project.provider.reply = lambda _body: stage_project.provider.chat(**reply)
    outcome = await stage_project.run(Stage.ANSWERS)
    assert answers(stage_project)["q0"]["meta"]["excluded"] == excluded
    assert (outcome.stats.done, outcome.stats.excluded) == ((0, 1) if excluded else (1, 0))
    done = next(event for event in stage_project.events if isinstance(event, ItemDone))
    assert done.excluded is bool(excluded)
    stage_project.provider.bodies.clear()
    again = await stage_project.run(Stage.ANSWERS)
    assert again.stats.skipped == 1
    assert stage_project.provider.bodies == []


SUMMARY = {"reasoning_details": [{"type": "reasoning.summary", "summary": "short"}]}
REDACTED = {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}


@pytest.mark.parametrize(
    ("model", "wants", "message", "kind", "kept", "excluded"),
    [
        ("deepseek/r1", True, {"reasoning": "raw"}, "raw", "raw", None),
        ("deepseek/r1", False, {"reasoning": "raw"}, "raw", "raw", None),
        ("deepseek/r1", True, SUMMARY, "summary", "short", "no_raw_reasoning"),
        ("deepseek/r1", False, SUMMARY, "summary", None, None),
        ("deepseek/r1", True, REDACTED, "redacted", None, "no_raw_reasoning"),
        ("deepseek/r1", True, {}, "none", None, "no_raw_reasoning"),
        ("openai/o3", True, {"reasoning": "raw"}, "summary", "raw", "no_raw_reasoning"),
        ("openai/o3", False, {"reasoning": "raw"}, "summary", None, None),
    ],
)
async def test_reasoning_is_kept_only_when_it_is_raw_or_the_answer_excluded(
    stage_project: Any,
    model: str,
    wants: bool,
    message: dict[str, Any],
    kind: str,
    kept: str | None,
    excluded: str | None,
) -> None:
    prepare(stage_project, 1)
    stage_project.role("parent", model=model, reasoning=wants)
    stage_project.provider.reply = lambda _body: stage_project.provider.chat("x", **message)
    await stage_project.run(Stage.ANSWERS)
    found = answers(stage_project)["q0"]
    assert found["meta"]["reasoning_kind"] == kind
    assert found["meta"]["excluded"] == excluded
    assert found["messages"][-1].get("reasoning_content") == kept
    warned = any("raw reasoning" in warning for warning in stage_project.report.warnings)
    assert warned is (wants and model == "openai/o3")


@pytest.mark.parametrize(
    ("model", "trusted"),
    [
        ("deepseek-r1", True),
        ("qwen/qwen3", True),
        ("ollama3", True),
        ("gpt-oss-120b", True),
        ("openai/gpt-oss-20b", True),
        ("openai/anything", False),
        ("Anthropic/x", False),
        ("router/gpt-5", False),
        ("claude-opus", False),
        ("google/gemini-2", False),
        ("o3", False),
        ("x/o4-mini", False),
        ("o", True),
        ("x/y#z", True),
    ],
)
def test_parents_whose_raw_reasoning_is_believed(model: str, trusted: bool) -> None:
    assert gives_raw_reasoning("openai", model) is trusted
    assert gives_raw_reasoning("anthropic", model) is False


async def test_force_asks_the_selected_topics_again_and_keeps_the_others(stage_project: Any) -> None:
    stage_project.topics(*[Topic(name=name, subtopics=1, questions_per_subtopic=1) for name in ("tea", "rice")])
    stage_project.write(stage_project.paths.questions, question("t"), question("r", "rice"))
    await stage_project.run(Stage.ANSWERS)
    stage_project.provider.reply = lambda _body: stage_project.provider.chat("Another answer.")
    outcome = await stage_project.run(Stage.ANSWERS, topic="rice", force=True)
    assert outcome.stats.done == 1
    found = answers(stage_project)
    assert found["t"]["messages"][-1]["content"] == "An answer."
    assert found["r"]["messages"][-1]["content"] == "Another answer."


# C023
async def test_a_refused_request_fails_each_item_once_with_its_cause(stage_project: Any) -> None:
    prepare(stage_project)
    message = "Unsupported parameter: 'max_tokens' is not supported with this model."
    stage_project.provider.reply = lambda _body: stage_project.provider.error(400, message)
    with pytest.raises(ItemsFailedError, match="3 answers"):
        await stage_project.run(Stage.ANSWERS)
    failed = [event for event in stage_project.events if isinstance(event, ItemFailed)]
    assert [event.error for event in failed] == [f"HTTP 400: {message}"] * 3
    assert len(stage_project.provider.bodies) == 3
    assert isinstance(stage_project.events[-1], StageFinished)


async def test_concurrency_is_used_from_the_start_and_never_passed(stage_project: Any) -> None:
    prepare(stage_project, 20)
    stage_project.change(concurrency=6)
    running = most = 0

    async def reply(_body: dict[str, Any]) -> httpx.Response:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(5):
            await asyncio.sleep(0)
        running -= 1
        response: httpx.Response = stage_project.provider.chat("x")
        return response

    stage_project.provider.reply = reply
    await stage_project.run(Stage.ANSWERS)
    assert most == 6


async def test_a_fatal_failure_starts_nothing_more_and_saves_what_was_answered(stage_project: Any) -> None:
    prepare(stage_project, 50)
    answered = asyncio.Event()

    async def reply(body: dict[str, Any]) -> httpx.Response:
        number = len(stage_project.provider.bodies)
        response: httpx.Response = stage_project.provider.chat("Paid.")
        if number <= 2:
            await answered.wait()
            return response
        if number == 4:
            await asyncio.sleep(0)
            answered.set()
            return httpx.Response(402, json={"error": {"message": "no credits"}})
        await asyncio.Event().wait()
        return response

    stage_project.provider.reply = reply
    with pytest.raises(StageStoppedError) as caught:
        await stage_project.run(Stage.ANSWERS)
    assert describe(caught.value) == "answers stopped: HTTP 402: no credits"
    assert len(stage_project.provider.bodies) == 4
    assert len(answers(stage_project)) == 2
    assert stage_project.report.results == [
        "answers: 2 done, 0 skipped, 0 failed, 0 excluded; tokens 20 in, 10 out; cost unknown"
    ]
    (line,) = stage_project.history()
    assert (line["status"], line["done"], line["input_tokens"]) == ("failed", 2, 20)
    assert not any(isinstance(event, StageFinished) for event in stage_project.events)


async def test_a_disk_error_is_told_together_with_the_providers(
    stage_project: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    prepare(stage_project, 2)
    stage_project.change(concurrency=2)
    answered = asyncio.Event()

    async def reply(_body: dict[str, Any]) -> httpx.Response:
        if len(stage_project.provider.bodies) == 1:
            await answered.wait()
            response: httpx.Response = stage_project.provider.chat("Paid.")
            return response
        answered.set()
        return httpx.Response(402, json={"error": {"message": "no credits"}})

    def full(self: Any, _record: Any) -> None:
        raise FileAccessError(self.path) from OSError(28, os.strerror(28))

    monkeypatch.setattr(Appender, "append", full)
    stage_project.provider.reply = reply
    with pytest.raises(FileAccessError) as caught:
        await stage_project.run(Stage.ANSWERS)
    assert describe(caught.value).endswith("answers.jsonl: No space left on device")
    assert "HTTP 402: no credits" in caplog.text


async def test_a_torn_answer_is_asked_again_and_a_whole_one_is_not(stage_project: Any) -> None:
    prepare(stage_project, 2)
    await stage_project.run(Stage.ANSWERS)
    content = stage_project.paths.answers.read_bytes()
    stage_project.paths.answers.write_bytes(content.rstrip(b"\n"))
    assert (await stage_project.run(Stage.ANSWERS)).stats.skipped == 2
    stage_project.paths.answers.write_bytes(content[:-40])
    outcome = await stage_project.run(Stage.ANSWERS)
    assert (outcome.stats.done, outcome.stats.skipped) == (1, 1)
    assert len(answers(stage_project)) == 2


async def test_a_cost_cap_stops_the_stage_before_it_is_passed(stage_project: Any) -> None:
    prepare(stage_project, 50)
    pricing = {"prompt": "0", "completion": "0.01"}
    stage_project.provider.listing = lambda: httpx.Response(
        200, json={"data": [{"id": "maker/model-1", "pricing": pricing}]}
    )
    stage_project.role("parent", max_tokens=10)
    stage_project.change(max_cost_usd=0.52)
    with pytest.raises(Exception, match=r"answers stopped: pipeline\.max_cost_usd \$0\.5200 would be passed") as caught:
        await stage_project.run(Stage.ANSWERS)
    assert type(caught.value).__name__ == "CostCapError"
    saved = len(answers(stage_project))
    assert 8 <= saved <= 10
    (line,) = stage_project.history()
    assert line["cost"] == pytest.approx(0.05 * saved)
    assert line["cost"] <= 0.52
