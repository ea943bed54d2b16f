from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from overbrainer_core.config.settings import Topic
from overbrainer_core.dataset.ids import question_id, subtopic_id
from overbrainer_core.errors import ItemsFailedError
from overbrainer_core.events.types import ItemDone, ItemFailed, StageFinished, StageModel, StageStarted
from overbrainer_core.flows.stages import StageStoppedError
from overbrainer_core.values.stage import Stage

WATER, LEAVES = subtopic_id("tea", "Water"), subtopic_id("tea", "Leaves")


def subtopic(name: str, topic: str = "tea") -> dict[str, str]:
    return {"id": subtopic_id(topic, name), "topic": topic, "name": name}


def question(text: str, name: str = "Water", topic: str = "tea") -> dict[str, str]:
    owner = subtopic_id(topic, name)
    return {
        "id": question_id(owner, text),
        "topic": topic,
        "subtopic_id": owner,
        "subtopic": name,
        "text": text,
    }


def texts(project: Any, name: str = "Water") -> list[str]:
    return [line["text"] for line in project.lines(project.paths.questions) if line["subtopic"] == name]


def prepare(project: Any, *names: str, target: int = 2) -> None:
    project.topics(Topic(name="tea", subtopics=len(names), questions_per_subtopic=target))
    project.write(project.paths.subtopics, *map(subtopic, names))


def by_subtopic(project: Any, **lists: list[list[str]]) -> None:
    """Each subtopic gets its lists one after the other, the last one repeated."""

    def reply(body: dict[str, Any]) -> Any:
        prompt = project.provider.user_text(body)
        name = next(name for name in lists if f'subtopic "{name}"' in prompt)
        left = lists[name]
        return project.provider.items(left.pop(0) if len(left) > 1 else left[0])

    project.provider.reply = reply


async def test_each_subtopic_gets_its_questions(stage_project: Any) -> None:
    prepare(stage_project, "Water", "Leaves")
    by_subtopic(
        stage_project,
        Water=[["Why boil it first?", "How hard may it be?"]],
        Leaves=[["When are they picked?", "Where do they grow best?"]],
    )
    outcome = await stage_project.run(Stage.QUESTIONS)
    assert (outcome.stats.done, outcome.stats.failed) == (2, 0)
    assert question("Why boil it first?") in stage_project.lines(stage_project.paths.questions)
    assert texts(stage_project, "Leaves") == ["When are they picked?", "Where do they grow best?"]
    assert stage_project.events[:2] == [
        StageStarted(stage=Stage.QUESTIONS, total=2),
        StageModel(stage=Stage.QUESTIONS, model="maker/model-1"),
    ]
    assert {event.id for event in stage_project.events if isinstance(event, ItemDone)} == {WATER, LEAVES}


async def test_batches_are_no_larger_than_asked_and_what_is_more_is_dropped(stage_project: Any) -> None:
    prepare(stage_project, "Water", target=3)
    stage_project.change(question_batch_size=2)
    lists = [["one apple here", "two pears there", "never seen"], ["three plums now", "too many"]]
    by_subtopic(stage_project, Water=lists)
    await stage_project.run(Stage.QUESTIONS)
    prompts = [stage_project.provider.user_text(body) for body in stage_project.provider.bodies]
    assert "Write 2 new questions" in prompts[0]
    assert "Write 1 new questions" in prompts[1]
    assert "- two pears there" in prompts[1]
    assert texts(stage_project) == ["one apple here", "two pears there", "three plums now"]


async def test_a_full_subtopic_is_skipped_and_a_short_one_is_filled_up(stage_project: Any) -> None:
    prepare(stage_project, "Water", "Leaves")
    stage_project.write(
        stage_project.paths.questions,
        question("Why boil it first?"),
        question("How hard may it be?"),
        question("When are they picked?", "Leaves"),
    )
    by_subtopic(stage_project, Leaves=[["WHEN are they picked!", "Where do they grow best?"], ["What do they weigh?"]])
    stage_project.change(question_batch_size=1)
    outcome = await stage_project.run(Stage.QUESTIONS)
    assert (outcome.stats.done, outcome.stats.skipped) == (1, 1)
    assert stage_project.events[2] == ItemDone(stage=Stage.QUESTIONS, id=WATER)
    assert texts(stage_project, "Leaves") == ["When are they picked?", "What do they weigh?"]


async def test_a_topic_with_nothing_to_fill_asks_nobody(stage_project: Any) -> None:
    prepare(stage_project, "Water", target=1)
    stage_project.role("embedder", model="embedder")
    stage_project.write(stage_project.paths.questions, question("Why boil it first?"))
    outcome = await stage_project.run(Stage.QUESTIONS)
    assert outcome.stats.skipped == 1
    assert stage_project.provider.bodies == []


async def test_subtopics_of_one_topic_do_not_keep_the_same_question(stage_project: Any) -> None:
    prepare(stage_project, "Water", "Leaves", target=1)
    by_subtopic(
        stage_project,
        Water=[["Is the same thing asked twice?"], ["Something about water?"]],
        Leaves=[["is the SAME thing asked twice"], ["Something about leaves here?"]],
    )
    await stage_project.run(Stage.QUESTIONS)
    found = texts(stage_project, "Water") + texts(stage_project, "Leaves")
    assert len(found) == 2
    assert sum("same thing" in text.lower() for text in found) == 1


async def test_a_question_that_repeats_another_subtopics_is_shown_to_the_model(stage_project: Any) -> None:
    prepare(stage_project, "Water", "Leaves", target=1)
    stage_project.write(stage_project.paths.questions, question("Known in another place?", "Leaves"))
    by_subtopic(stage_project, Water=[["known in another PLACE"], ["A fresh one?"]])
    await stage_project.run(Stage.QUESTIONS)
    first, second = [stage_project.provider.user_text(body) for body in stage_project.provider.bodies]
    assert "Known in another place?" not in first
    assert "- Known in another place?" in second


async def test_deleted_questions_and_their_like_do_not_come_back(stage_project: Any) -> None:
    prepare(stage_project, "Water", target=1)
    stage_project.write(stage_project.paths.questions, question("Old one here?"))
    stage_project.write(
        stage_project.paths.rejected,
        {"kind": "question", "id": "x", "topic": "tea", "subtopic_id": WATER, "text": "Deleted by a person?"},
    )
    by_subtopic(stage_project, Water=[["deleted by A person!"], ["Welcome?"]])
    await stage_project.run(Stage.QUESTIONS, force=True)
    assert texts(stage_project) == ["Welcome?"]


async def test_barren_batches_end_a_subtopic_short_of_its_target_with_a_warning(stage_project: Any) -> None:
    prepare(stage_project, "Water", target=3)
    stage_project.change(max_retries=2)
    by_subtopic(stage_project, Water=[["Only this one?"]])
    outcome = await stage_project.run(Stage.QUESTIONS)
    assert outcome.stats.done == 1
    assert len(stage_project.provider.bodies) == 3
    (warning,) = stage_project.report.warnings
    assert "`Water`" in warning
    assert "1 of 3" in warning


async def test_without_retries_one_barren_batch_ends_it(stage_project: Any) -> None:
    prepare(stage_project, "Water", target=2)
    stage_project.change(max_retries=0)
    by_subtopic(stage_project, Water=[["Only this one?"]])
    await stage_project.run(Stage.QUESTIONS)
    assert len(stage_project.provider.bodies) == 2


async def test_questions_whose_subtopic_is_gone_still_count_as_known(stage_project: Any) -> None:
    prepare(stage_project, "Water", target=1)
    stage_project.write(stage_project.paths.questions, question("Asked under a lost name?", "Lost"))
    by_subtopic(stage_project, Water=[["asked under a LOST name"], ["New here?"]])
    outcome = await stage_project.run(Stage.QUESTIONS)
    assert outcome.stats.done == 1
    assert texts(stage_project) == ["New here?"]


async def test_subtopics_are_filled_beside_each_other_up_to_the_concurrency(stage_project: Any) -> None:
    names = [f"Part {number}" for number in range(9)]
    prepare(stage_project, *names, target=1)
    stage_project.change(concurrency=3)
    running = most = 0

    async def reply(body: dict[str, Any]) -> httpx.Response:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        text = stage_project.provider.user_text(body)
        name = next(name for name in names if name in text)
        response: httpx.Response = stage_project.provider.items([f"What is special about {name} alone?"])
        return response

    stage_project.provider.reply = reply
    stage_project.change(dedup_threshold=1.0)
    await stage_project.run(Stage.QUESTIONS)
    assert most == 3


async def test_a_failed_subtopic_keeps_its_batches_and_leaves_the_others(stage_project: Any) -> None:
    prepare(stage_project, "Water", "Leaves", target=2)
    stage_project.change(question_batch_size=1)
    replies = {"Water": 0}

    def reply(body: dict[str, Any]) -> Any:
        if '"Leaves"' in stage_project.provider.user_text(body):
            replies["Leaves"] = replies.get("Leaves", 0) + 1
            return stage_project.provider.items([f"Leaf question with number {replies['Leaves']}?"])
        replies["Water"] += 1
        if replies["Water"] == 1:
            return stage_project.provider.items(["Water question?"])
        return stage_project.provider.error(422, "odd")

    stage_project.provider.reply = reply
    with pytest.raises(ItemsFailedError):
        await stage_project.run(Stage.QUESTIONS)
    assert texts(stage_project, "Water") == ["Water question?"]
    assert len(texts(stage_project, "Leaves")) == 2
    assert ItemFailed(stage=Stage.QUESTIONS, id=WATER, error="HTTP 422: odd", retryable=False) in stage_project.events
    assert stage_project.report.results[0].startswith("questions: 1 done, 0 skipped, 1 failed")


async def test_a_fatal_failure_stops_every_subtopic(stage_project: Any) -> None:
    prepare(stage_project, *[f"Part {number}" for number in range(20)], target=5)
    stage_project.provider.reply = lambda _body: stage_project.provider.error(401)
    with pytest.raises(StageStoppedError):
        await stage_project.run(Stage.QUESTIONS)
    assert len(stage_project.provider.bodies) <= 4
    assert not any(isinstance(event, StageFinished | ItemDone) for event in stage_project.events)


async def test_a_topic_without_any_subtopic_gets_them_first_without_force(stage_project: Any) -> None:
    def reply(body: dict[str, Any]) -> Any:
        if "distinct subtopics" in stage_project.provider.user_text(body):
            return stage_project.provider.items(["Water", "Leaves"])
        return stage_project.provider.items([f"Number {len(stage_project.provider.bodies)} of its kind?", "Other?"])

    stage_project.provider.reply = reply
    stage_project.change(dedup_threshold=1.0)
    await stage_project.run(Stage.QUESTIONS, force=True)
    assert [line.split(":")[0] for line in stage_project.report.results] == ["subtopics", "questions"]
    assert [line["stage"] for line in stage_project.history()] == ["subtopics", "questions"]


async def test_questions_do_not_begin_when_their_subtopics_failed(stage_project: Any) -> None:
    stage_project.provider.reply = lambda _body: stage_project.provider.error(422)
    with pytest.raises(ItemsFailedError, match="1 subtopics"):
        await stage_project.run(Stage.QUESTIONS)
    assert [line["stage"] for line in stage_project.history()] == ["subtopics"]


async def test_too_few_subtopics_do_not_ask_for_more(stage_project: Any) -> None:
    prepare(stage_project, "Water", target=1)
    stage_project.topics(Topic(name="tea", subtopics=9, questions_per_subtopic=1))
    by_subtopic(stage_project, Water=[["One?"]])
    await stage_project.run(Stage.QUESTIONS)
    assert [line["stage"] for line in stage_project.history()] == ["questions"]


def embedding(project: Any, questions: list[str], vectors: dict[str, list[float]]) -> None:
    """The generator gives these questions one list after the other; texts have these vectors."""
    left = list(questions)

    def reply(body: dict[str, Any]) -> Any:
        if "input" in body:
            data = [{"index": index, "embedding": vectors[text]} for index, text in enumerate(body["input"])]
            return httpx.Response(200, json={"data": data})
        return project.provider.items([left.pop(0)])

    project.provider.reply = reply


async def test_an_embedder_refuses_what_means_the_same(stage_project: Any) -> None:
    prepare(stage_project, "Water", target=2)
    stage_project.change(question_batch_size=1)
    stage_project.role("embedder", model="embedder")
    stage_project.write(stage_project.paths.questions, question("Why boil it?"))
    embedding(
        stage_project,
        ["What is boiling good for?", "How hard may it be?"],
        {"Why boil it?": [1, 0], "What is boiling good for?": [0.99, 0.1], "How hard may it be?": [0, 1]},
    )
    outcome = await stage_project.run(Stage.QUESTIONS)
    assert texts(stage_project) == ["Why boil it?", "How hard may it be?"]
    assert outcome.stats.usage.input_tokens == 20
    models = [json.loads(request.content)["model"] for request in stage_project.provider.requests if request.content]
    assert models == ["embedder", "maker/model-1", "embedder", "maker/model-1", "embedder"]


# C049
async def test_a_topic_that_cannot_be_embedded_is_one_failed_item(stage_project: Any) -> None:
    prepare(stage_project, "Water", "Leaves", target=2)
    stage_project.role("embedder", model="embedder")
    stage_project.write(stage_project.paths.questions, question("Why boil it?"))
    message = "batch size is invalid, it should not be larger than 10"
    stage_project.provider.reply = lambda _body: stage_project.provider.error(400, message)
    with pytest.raises(ItemsFailedError, match="1 questions"):
        await stage_project.run(Stage.QUESTIONS)
    assert stage_project.events[2] == ItemFailed(
        stage=Stage.QUESTIONS, id="tea", error=f"HTTP 400: {message}", retryable=False
    )


# C048
async def test_a_broken_embedding_fails_one_subtopic_and_records_nothing(stage_project: Any) -> None:
    prepare(stage_project, "Water", target=1)
    stage_project.role("embedder", model="embedder")

    def reply(body: dict[str, Any]) -> Any:
        if "input" in body:
            return httpx.Response(200, json={"data": [{"index": 0, "embedding": []}]})
        return stage_project.provider.items(["One?"])

    stage_project.provider.reply = reply
    with pytest.raises(ItemsFailedError):
        await stage_project.run(Stage.QUESTIONS)
    assert texts(stage_project) == []


async def test_an_embedder_of_the_wrong_protocol_says_so(stage_project: Any) -> None:
    prepare(stage_project, "Water", target=1)
    stage_project.role("embedder", provider="elsewhere")
    with pytest.raises(Exception, match=r"^cannot set up the embedder: unknown provider `elsewhere`$"):
        await stage_project.run(Stage.QUESTIONS)
    assert stage_project.history()[0]["status"] == "failed"
