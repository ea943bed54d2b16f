"""Odd replies of the field run through whole stages: nothing paid for is lost, nothing unfit is trained on."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from overbrainer_core.config.settings import Topic
from overbrainer_core.dataset.ids import question_id, subtopic_id
from overbrainer_core.dataset.store import InvalidRecordError, read_answers
from overbrainer_core.errors import ItemsFailedError
from overbrainer_core.events.types import ItemFailed
from overbrainer_core.values.stage import Stage


def question(text: str, topic: str = "tea") -> dict[str, str]:
    """A question under the subtopic `Water`."""
    under = subtopic_id(topic, "Water")
    return {"id": question_id(under, text), "topic": topic, "subtopic_id": under, "subtopic": "Water", "text": text}


def failures(project: Any) -> list[tuple[str, str]]:
    """ID and error of every final failure."""
    events = [event for event in project.events if isinstance(event, ItemFailed) and not event.retryable]
    return [(event.id, event.error) for event in events]


def raw(content: str, **more: Any) -> httpx.Response:
    """A reply whose content is the given JSON literal, escapes as they are."""
    finish = json.dumps(more.get("finish", "stop"))
    usage = json.dumps({"prompt_tokens": 31, "completion_tokens": more.get("output", 5)})
    body = f'{{"choices":[{{"message":{{"content":{content}}},"finish_reason":{finish}}}],"usage":{usage}}}'
    return httpx.Response(200, content=body.encode())


# C001
async def test_an_error_inside_a_200_fails_the_item_with_its_words_and_stores_nothing(stage_project: Any) -> None:
    stage_project.write(stage_project.paths.questions, question("Why?"))
    error = {"id": "gen-7", "error": {"message": "Upstream busy, try later", "code": 502}}
    stage_project.provider.reply = lambda _body: httpx.Response(200, json=error)
    with pytest.raises(ItemsFailedError):
        await stage_project.run(Stage.ANSWERS)
    assert failures(stage_project) == [(question("Why?")["id"], "HTTP 502: Upstream busy, try later")]
    assert read_answers(stage_project.paths.answers) == []


# C003
async def test_a_model_that_never_warms_up_is_a_failed_item_and_asked_again(stage_project: Any) -> None:
    stage_project.write(stage_project.paths.questions, question("Why?"))
    stage_project.provider.reply = lambda _body: raw('""', finish=None, output=0)
    with pytest.raises(ItemsFailedError):
        await stage_project.run(Stage.ANSWERS)
    assert read_answers(stage_project.paths.answers) == []
    stage_project.provider.reply = lambda _body: raw('"Because."')
    assert (await stage_project.run(Stage.ANSWERS)).stats.done == 1


# C006, C008, C011
@pytest.mark.parametrize(
    ("message", "finish", "excluded"),
    [
        ({"content": None, "reasoning": "First I list..."}, "length", "truncated"),
        ({"content": "", "reasoning_content": "x" * 1500}, "stop", "empty"),
        ({"content": None, "reasoning": None, "reasoning_details": None}, "stop", "empty"),
    ],
    ids=["C006", "C008", "C011"],
)
async def test_an_answer_without_content_is_excluded_and_never_the_word_none(
    stage_project: Any, message: dict[str, Any], finish: str, excluded: str
) -> None:
    stage_project.write(stage_project.paths.questions, question("Why?"))
    document = {
        "choices": [{"message": {"role": "assistant", **message}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 812},
    }
    stage_project.provider.reply = lambda _body: httpx.Response(200, json=document)
    outcome = await stage_project.run(Stage.ANSWERS)
    (found,) = stage_project.lines(stage_project.paths.answers)
    assert found["messages"][-1]["content"] == ""
    assert found["meta"]["excluded"] == excluded
    reasoning = message.get("reasoning") or message.get("reasoning_content")
    assert found["messages"][-1].get("reasoning_content") == reasoning
    assert outcome.summary.startswith("answers: 0 done, 0 skipped, 0 failed, 1 excluded; tokens 3 in, 812 out")


# C024
async def test_a_lone_surrogate_in_an_answer_is_paid_for_once_and_stored_as_utf8(stage_project: Any) -> None:
    stage_project.write(stage_project.paths.questions, question("Why?"), question("And then?"))
    literals = ['"ok \\ud83d end"', '"plant \\ud83c\\udf35"']
    stage_project.change(concurrency=1)
    stage_project.provider.reply = lambda _body: raw(literals.pop(0))
    await stage_project.run(Stage.ANSWERS)
    content = stage_project.paths.answers.read_bytes().decode("utf-8")
    assert "ok \ufffd end" in content
    assert "plant \U0001f335" in content


# C048
async def test_a_vector_that_is_no_number_fails_one_subtopic_and_records_nothing(stage_project: Any) -> None:
    stage_project.topics(Topic(name="tea", subtopics=1, questions_per_subtopic=1))
    stage_project.write(
        stage_project.paths.subtopics, {"id": subtopic_id("tea", "Water"), "topic": "tea", "name": "Water"}
    )
    stage_project.role("embedder", model="embedder")

    def reply(body: dict[str, Any]) -> Any:
        if "input" in body:
            return httpx.Response(200, content=b'{"data":[{"index":0,"embedding":[0.1,NaN,0.3]}]}')
        return stage_project.provider.items(["Why boil it?"])

    stage_project.provider.reply = reply
    with pytest.raises(ItemsFailedError):
        await stage_project.run(Stage.QUESTIONS)
    assert failures(stage_project) == [(subtopic_id("tea", "Water"), "invalid response: not JSON")]
    assert stage_project.paths.questions.read_bytes() == b""


# C049
async def test_a_provider_that_takes_few_texts_at_once_fails_its_topic_and_leaves_the_others(
    stage_project: Any,
) -> None:
    stage_project.topics(
        Topic(name="tea", subtopics=1, questions_per_subtopic=50),
        Topic(name="rice", subtopics=1, questions_per_subtopic=1),
    )
    stage_project.write(
        stage_project.paths.subtopics,
        *[{"id": subtopic_id(topic, "Water"), "topic": topic, "name": "Water"} for topic in ("tea", "rice")],
    )
    stage_project.write(
        stage_project.paths.questions, *[question(f"Known {number} of its own kind?") for number in range(40)]
    )
    stage_project.role("embedder", model="embedder")
    message = "batch size is invalid, it should not be larger than 10.: input.contents"

    def reply(body: dict[str, Any]) -> Any:
        if "input" not in body:
            return stage_project.provider.items(["How is it sown?"])
        if len(body["input"]) > 10:
            return stage_project.provider.error(400, message)
        return httpx.Response(200, json={"data": [{"index": 0, "embedding": [1.0, 0.5]}]})

    stage_project.provider.reply = reply
    with pytest.raises(ItemsFailedError, match="1 questions"):
        await stage_project.run(Stage.QUESTIONS)
    assert failures(stage_project) == [("tea", f"HTTP 400: {message}")]
    assert [line["topic"] for line in stage_project.lines(stage_project.paths.questions)][-1] == "rice"


# C053
async def test_a_lone_surrogate_escape_in_a_stored_answer_stops_the_split_whole(stage_project: Any) -> None:
    stage_project.write(stage_project.paths.questions, question("Why?"))
    await stage_project.run(Stage.ANSWERS)
    await stage_project.run(Stage.SPLIT)
    train = stage_project.paths.train.read_bytes()
    content = stage_project.paths.answers.read_bytes()
    stage_project.paths.answers.write_bytes(content + content.replace(b"An answer.", b"odd \\udc9f"))
    with pytest.raises(InvalidRecordError, match=r"answers\.jsonl:2: invalid record"):
        await stage_project.run(Stage.SPLIT)
    assert stage_project.paths.train.read_bytes() == train
    assert not list(stage_project.paths.data.glob(".*"))


# C054
async def test_questions_saved_on_windows_are_all_answered_and_the_next_append_is_whole(stage_project: Any) -> None:
    lines = [json.dumps(question(f"Number {number}?")) for number in range(3)]
    stage_project.paths.data.mkdir(parents=True)
    stage_project.paths.questions.write_bytes("\r\n".join([lines[0], "", lines[1], "", lines[2]]).encode())
    assert (await stage_project.run(Stage.ANSWERS)).stats.done == 3
    stage_project.paths.questions.write_bytes("\r\n".join([lines[0], "", "nonsense"]).encode() + b"\r\n")
    with pytest.raises(InvalidRecordError, match=r"questions\.jsonl:3: invalid record"):
        await stage_project.run(Stage.ANSWERS)
