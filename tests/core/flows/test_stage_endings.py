"""However a stage ends, what was paid for is kept, what was spent is told, and the next run does only what is left."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import httpx
import pytest

from overbrainer_core.config.settings import Provider, SecretText, Topic
from overbrainer_core.dataset.ids import question_id, subtopic_id
from overbrainer_core.errors import InterruptedByUser, ItemsFailedError, describe
from overbrainer_core.events.types import ItemDone, ItemFailed, StageFinished
from overbrainer_core.files import FileAccessError
from overbrainer_core.flows.stages import StageStoppedError, run_all
from overbrainer_core.values.stage import Stage


def topics(project: Any, *names: str, target: int = 1) -> None:
    """These topics with one subtopic of their name and so many questions to have."""
    project.topics(*[Topic(name=name, subtopics=1, questions_per_subtopic=target) for name in names])
    subtopics = [{"id": subtopic_id(name, name), "topic": name, "name": name} for name in names]
    project.write(project.paths.subtopics, *subtopics)


def question(text: str, topic: str = "tea") -> dict[str, str]:
    """A question under the subtopic of the topic's name."""
    under = subtopic_id(topic, topic)
    return {"id": question_id(under, text), "topic": topic, "subtopic_id": under, "subtopic": topic, "text": text}


def texts(project: Any) -> list[str]:
    """The stored questions, sorted."""
    return sorted(line["text"] for line in project.lines(project.paths.questions))


def failures(project: Any) -> list[tuple[str, bool]]:
    """ID and "is tried again" of every failure that was published."""
    return [(event.id, event.retryable) for event in project.events if isinstance(event, ItemFailed)]


def restart(project: Any) -> None:
    """Another process: a fresh interrupt, nothing reported yet."""
    project.interrupt = type(project.interrupt)()
    project.report = type(project.report)()
    project.events.clear()
    project.provider.bodies.clear()


# failures


async def test_a_final_failure_is_told_once_after_its_retries(stage_project: Any) -> None:
    stage_project.write(stage_project.paths.questions, question("Why?"))
    stage_project.provider.reply = lambda _body: stage_project.provider.error(503, retry_after="0")
    with pytest.raises(ItemsFailedError, match="1 answers"):
        await stage_project.run(Stage.ANSWERS)
    item = question("Why?")["id"]
    assert failures(stage_project) == [(item, True), (item, True), (item, False)]
    assert stage_project.report.results[0].startswith("answers: 0 done, 0 skipped, 1 failed")


async def test_replies_without_a_list_are_one_failure_in_the_end_and_their_tokens_count(stage_project: Any) -> None:
    topics(stage_project, "tea")
    stage_project.paths.subtopics.unlink()
    stage_project.provider.reply = lambda _body: stage_project.provider.chat("I would rather not.")
    with pytest.raises(ItemsFailedError, match="1 subtopics"):
        await stage_project.run(Stage.SUBTOPICS)
    assert failures(stage_project) == [("tea", True), ("tea", True), ("tea", True), ("tea", False)]
    assert stage_project.history()[0]["input_tokens"] == 30


async def test_a_history_that_cannot_be_written_never_fails_a_stage(
    stage_project: Any, caplog: pytest.LogCaptureFixture
) -> None:
    stage_project.write(stage_project.paths.questions, question("Why?"))
    stage_project.paths.history.mkdir(parents=True)
    outcome = await stage_project.run(Stage.ANSWERS)
    assert outcome.stats.done == 1
    assert "history" in caplog.text


@pytest.mark.parametrize("stage", [Stage.SUBTOPICS, Stage.QUESTIONS, Stage.ANSWERS])
async def test_a_force_that_cannot_be_written_asks_nobody_and_drops_nothing(stage_project: Any, stage: Stage) -> None:
    topics(stage_project, "tea")
    stage_project.write(stage_project.paths.questions, question("Why?"))
    await stage_project.run(Stage.ANSWERS)
    before = {path.name: path.read_bytes() for path in stage_project.paths.data.iterdir()}
    (stage_project.paths.data / f".{stage}.jsonl.tmp").mkdir()
    restart(stage_project)
    with pytest.raises(FileAccessError):
        await stage_project.run(stage, force=True)
    assert stage_project.provider.bodies == []
    assert {path.name: path.read_bytes() for path in stage_project.paths.data.glob("*.jsonl")} == before


async def test_split_contacts_no_vault(stage_project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULT_ADDR", "http://127.0.0.1:9")
    locked = Provider(name="main", protocol="openai", base_url="http://x", api_key=SecretText("vault:secret/llm#key"))
    stage_project.settings = replace(stage_project.settings, providers={"main": locked})
    assert (await stage_project.run(Stage.SPLIT)).summary.startswith("split: 0 train")


# embeddings


def embedder(project: Any, embed: Any) -> None:
    """Every topic is given `A question about TOPIC?`; `embed` answers the embedding requests."""
    project.role("embedder", model="embedder")
    project.change(question_batch_size=1)

    def reply(body: dict[str, Any]) -> Any:
        if "input" in body:
            return embed(body["input"])
        prompt = project.provider.user_text(body)
        name = next(topic.name for topic in project.settings.topics if f'topic "{topic.name}"' in prompt)
        return project.provider.items([f"A question about {name}?"])

    project.provider.reply = reply


def vectors(inputs: list[str]) -> httpx.Response:
    """A vector of its own for each text."""
    data = [
        {"index": place, "embedding": [float(1 + text.count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"]}
        for place, text in enumerate(inputs)
    ]
    return httpx.Response(200, json={"data": data})


async def test_a_passing_embedding_failure_is_tried_again_without_an_event(stage_project: Any) -> None:
    topics(stage_project, "tea")
    answers: list[httpx.Response] = [stage_project.provider.error(503), stage_project.provider.error(429)]
    embedder(stage_project, lambda inputs: answers.pop() if answers else vectors(inputs))
    outcome = await stage_project.run(Stage.QUESTIONS)
    assert outcome.stats.done == 1
    assert failures(stage_project) == []
    assert texts(stage_project) == ["A question about tea?"]


async def test_an_embedding_that_fails_for_good_fails_one_subtopic(stage_project: Any) -> None:
    topics(stage_project, "tea", "rice")
    stage_project.change(embedding_threshold=1.0)
    embedder(
        stage_project,
        lambda inputs: stage_project.provider.error(422) if "about tea" in inputs[0] else vectors(inputs),
    )
    with pytest.raises(ItemsFailedError, match="1 questions"):
        await stage_project.run(Stage.QUESTIONS)
    assert failures(stage_project) == [(subtopic_id("tea", "tea"), False)]
    assert texts(stage_project) == ["A question about rice?"]


async def test_a_topic_whose_known_questions_cannot_be_embedded_leaves_the_others(stage_project: Any) -> None:
    topics(stage_project, "tea", "rice", target=2)
    stage_project.write(stage_project.paths.questions, question("Known?"))
    stage_project.change(max_retries=1)
    embedder(stage_project, lambda inputs: stage_project.provider.error(400) if "Known?" in inputs else vectors(inputs))
    with pytest.raises(ItemsFailedError, match="1 questions"):
        await stage_project.run(Stage.QUESTIONS)
    assert failures(stage_project) == [("tea", False)]
    assert texts(stage_project) == ["A question about rice?", "Known?"]


@pytest.mark.parametrize("known", [True, False], ids=["seeding", "admitting"])
async def test_a_refused_embedder_stops_the_stage(stage_project: Any, known: bool) -> None:
    topics(stage_project, "tea", "rice", target=2)
    if known:
        stage_project.write(stage_project.paths.questions, question("Known?"))
    embedder(stage_project, lambda _inputs: stage_project.provider.error(401))
    with pytest.raises(StageStoppedError, match="questions stopped: HTTP 401"):
        await stage_project.run(Stage.QUESTIONS)
    asked = [body for body in stage_project.provider.bodies if "input" not in body]
    assert len(asked) <= (0 if known else 2)
    assert stage_project.history()[0]["status"] == "failed"
    assert not any(isinstance(event, StageFinished) for event in stage_project.events)


# fatal stops


async def test_a_fatal_stop_of_questions_keeps_and_tells_what_was_paid(stage_project: Any) -> None:
    topics(stage_project, "tea", "rice")
    stage_project.change(concurrency=1)

    def reply(body: dict[str, Any]) -> Any:
        if 'topic "rice"' in stage_project.provider.user_text(body):
            return stage_project.provider.error(402, "no credits")
        return stage_project.provider.items(["Why boil it?"])

    stage_project.provider.reply = reply
    with pytest.raises(StageStoppedError) as caught:
        await stage_project.run(Stage.QUESTIONS)
    assert describe(caught.value) == "questions stopped: HTTP 402: no credits"
    assert texts(stage_project) == ["Why boil it?"]
    assert stage_project.report.results == [
        "questions: 1 done, 0 skipped, 0 failed, 0 excluded; tokens 10 in, 5 out; cost unknown"
    ]
    restart(stage_project)
    stage_project.provider.reply = lambda _body: stage_project.provider.items(["How is it grown?"])
    outcome = await stage_project.run(Stage.QUESTIONS)
    assert (outcome.stats.done, outcome.stats.skipped) == (1, 1)
    assert len(stage_project.provider.bodies) == 1


async def test_a_fatal_stop_ends_the_chain(stage_project: Any) -> None:
    topics(stage_project, "tea")

    def reply(body: dict[str, Any]) -> Any:
        if "JSON array" in stage_project.provider.user_text(body):
            return stage_project.provider.items(["Why boil it?"])
        return stage_project.provider.error(403)

    stage_project.provider.reply = reply
    with pytest.raises(StageStoppedError, match="answers stopped: HTTP 403"):
        await chain(stage_project)
    assert [line["stage"] for line in stage_project.history()] == ["subtopics", "questions", "answers"]
    assert not stage_project.paths.train.exists()


async def chain(project: Any) -> Any:
    """What `run` does."""
    return await run_all(
        project.session,
        bus=project.bus(),
        report=project.report,
        interrupt=project.interrupt,
        connect=lambda _provider: project.provider,
    )


# interruptions


def interrupted_at(project: Any, number: int, items: list[list[str]]) -> None:
    """The lists come one after the other; the request of that number is never answered, and Ctrl-C comes."""

    async def reply(_body: dict[str, Any]) -> Any:
        if len(project.provider.bodies) == number:
            project.interrupt.trigger()
            await asyncio.Event().wait()
        return project.provider.items(items.pop(0))

    project.provider.reply = reply


async def test_interrupted_subtopics_resume_with_the_topics_that_are_left(stage_project: Any) -> None:
    topics(stage_project, "tea", "rice")
    stage_project.paths.subtopics.unlink()
    interrupted_at(stage_project, 2, [["Water"], ["Paddies"]])
    with pytest.raises(InterruptedByUser, match="the stage resumes on its next run"):
        await stage_project.run(Stage.SUBTOPICS)
    assert [line["name"] for line in stage_project.lines(stage_project.paths.subtopics)] == ["Water"]
    (line,) = stage_project.history()
    assert (line["status"], line["done"], line["input_tokens"]) == ("interrupted", 1, 10)
    restart(stage_project)
    outcome = await stage_project.run(Stage.SUBTOPICS)
    assert (outcome.stats.done, outcome.stats.skipped) == (1, 1)
    assert [event.id for event in stage_project.events if isinstance(event, ItemDone)] == ["tea", "rice"]


async def test_an_interrupted_subtopic_resumes_with_the_questions_that_are_missing(stage_project: Any) -> None:
    topics(stage_project, "tea", target=3)
    stage_project.change(question_batch_size=1)
    lists = [["Why boil it?"], ["How hard may it be?"], ["What do leaves weigh?"]]
    interrupted_at(stage_project, 3, lists)
    with pytest.raises(InterruptedByUser):
        await stage_project.run(Stage.QUESTIONS)
    assert texts(stage_project) == ["How hard may it be?", "Why boil it?"]
    (line,) = stage_project.history()
    assert (line["status"], line["done"], line["input_tokens"]) == ("interrupted", 0, 20)
    assert stage_project.report.results == []
    restart(stage_project)
    outcome = await stage_project.run(Stage.QUESTIONS)
    (body,) = stage_project.provider.bodies
    assert "Write 1 new questions" in stage_project.provider.user_text(body)
    assert "- Why boil it?" in stage_project.provider.user_text(body)
    assert len(texts(stage_project)) == 3
    assert outcome.stats.done == 1


async def test_an_interrupt_ends_a_wait_between_retries(stage_project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stage_project.write(stage_project.paths.questions, question("Why?"))
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)
        stage_project.interrupt.trigger()
        await asyncio.Event().wait()

    monkeypatch.setattr(stage_project.clock, "sleep", sleep)
    stage_project.provider.reply = lambda _body: stage_project.provider.error(503, retry_after="600")
    async with asyncio.timeout(5):
        with pytest.raises(InterruptedByUser):
            await stage_project.run(Stage.ANSWERS)
    assert 600 in waited
    assert stage_project.history()[0]["status"] == "interrupted"


async def test_an_interrupt_ends_the_chain(stage_project: Any) -> None:
    topics(stage_project, "tea")
    stage_project.paths.subtopics.unlink()
    interrupted_at(stage_project, 2, [["Water"]])
    with pytest.raises(InterruptedByUser):
        await chain(stage_project)
    statuses = [(line["stage"], line["status"]) for line in stage_project.history()]
    assert statuses == [("subtopics", "ok"), ("questions", "interrupted")]
    assert [line.split(":")[0] for line in stage_project.report.results] == ["subtopics"]


async def test_a_history_entry_of_every_ending_adds_up_to_what_the_provider_counted(stage_project: Any) -> None:
    stage_project.write(stage_project.paths.questions, *[question(f"Number {number}?") for number in range(6)])
    stage_project.change(concurrency=1)

    async def reply(_body: dict[str, Any]) -> Any:
        number = len(stage_project.provider.bodies)
        if number == 3:
            stage_project.interrupt.trigger()
            await asyncio.Event().wait()
        if number == 5:
            return stage_project.provider.error(402)
        return stage_project.provider.chat("An answer.")

    stage_project.provider.reply = reply
    for ending in (InterruptedByUser, StageStoppedError):
        with pytest.raises(ending):
            await stage_project.run(Stage.ANSWERS)
        stage_project.interrupt = type(stage_project.interrupt)()
    await stage_project.run(Stage.ANSWERS)
    entries = stage_project.history()
    assert [(entry["status"], entry["done"], entry["input_tokens"]) for entry in entries] == [
        ("interrupted", 2, 20),
        ("failed", 1, 10),
        ("ok", 3, 30),
    ]
    assert len(stage_project.lines(stage_project.paths.answers)) == 6
    assert len(stage_project.provider.bodies) == 8
