from __future__ import annotations

import json
from typing import Any

import pytest

from overbrainer_core.config.settings import Topic
from overbrainer_core.dataset.ids import subtopic_id
from overbrainer_core.errors import ItemsFailedError, describe
from overbrainer_core.events.types import ItemDone, ItemFailed, StageFinished, StageModel, StageStarted
from overbrainer_core.files import FileAccessError
from overbrainer_core.flows.stages import StageStoppedError
from overbrainer_core.values.stage import Stage
from overbrainer_core.values.usage import Usage


def stored(topic: str, name: str) -> dict[str, str]:
    return {"id": subtopic_id(topic, name), "topic": topic, "name": name}


def names(project: Any, topic: str = "tea") -> list[str]:
    return [line["name"] for line in project.lines(project.paths.subtopics) if line["topic"] == topic]


async def test_missing_subtopics_are_generated_and_saved_in_order(stage_project: Any) -> None:
    stage_project.provider.reply = lambda _body: stage_project.provider.items(["Water", "Leaves", "Too many"])
    outcome = await stage_project.run(Stage.SUBTOPICS)
    assert stage_project.lines(stage_project.paths.subtopics) == [stored("tea", "Water"), stored("tea", "Leaves")]
    assert outcome.summary == ("subtopics: 1 done, 0 skipped, 0 failed, 0 excluded; tokens 10 in, 5 out; cost unknown")
    usage = Usage(input_tokens=10, output_tokens=5)
    assert stage_project.events == [
        StageStarted(stage=Stage.SUBTOPICS, total=1),
        StageModel(stage=Stage.SUBTOPICS, model="maker/model-1"),
        ItemDone(stage=Stage.SUBTOPICS, id="tea", usage=usage),
        StageFinished(stage=Stage.SUBTOPICS, stats=outcome.stats),
    ]


async def test_only_what_is_missing_is_asked_for_and_the_stored_names_are_shown(stage_project: Any) -> None:
    stage_project.topics(Topic(name="tea", subtopics=3, questions_per_subtopic=1))
    stage_project.write(stage_project.paths.subtopics, stored("tea", "Water"), stored("rice", "Water"))
    stage_project.provider.reply = lambda _body: stage_project.provider.items(["WATER ", "Leaves", "leaves", "Cups"])
    await stage_project.run(Stage.SUBTOPICS)
    prompt = stage_project.provider.user_text(stage_project.provider.bodies[0])
    assert "List 2 distinct subtopics" in prompt
    assert "- Water" in prompt
    assert names(stage_project) == ["Water", "Leaves", "Cups"]
    assert names(stage_project, "rice") == ["Water"]


async def test_a_topic_at_its_target_is_skipped_without_a_request(stage_project: Any) -> None:
    stage_project.write(stage_project.paths.subtopics, stored("tea", "Water"), stored("tea", "Leaves"))
    outcome = await stage_project.run(Stage.SUBTOPICS)
    assert (outcome.stats.done, outcome.stats.skipped) == (0, 1)
    assert stage_project.provider.bodies == []
    assert ItemDone(stage=Stage.SUBTOPICS, id="tea") in stage_project.events
    assert outcome.summary.endswith("cost unknown")


async def test_deleted_subtopics_do_not_come_back_with_force_either(stage_project: Any) -> None:
    stage_project.write(stage_project.paths.subtopics, stored("tea", "Leaves"), stored("rice", "Paddies"))
    stage_project.write(stage_project.paths.rejected, {"kind": "subtopic", **stored("tea", "Water")})
    stage_project.provider.reply = lambda _body: stage_project.provider.items(["water", "Cups", "Leaves"])
    await stage_project.run(Stage.SUBTOPICS, force=True)
    assert names(stage_project) == ["Cups", "Leaves"]
    assert names(stage_project, "rice") == ["Paddies"]
    assert stage_project.paths.rejected.exists()


async def test_fewer_new_names_than_missing_still_count_as_done(stage_project: Any) -> None:
    stage_project.provider.reply = lambda _body: stage_project.provider.items(["Water"])
    outcome = await stage_project.run(Stage.SUBTOPICS)
    assert (outcome.stats.done, outcome.stats.failed) == (1, 0)
    assert names(stage_project) == ["Water"]


async def test_a_failed_topic_leaves_the_others(stage_project: Any) -> None:
    stage_project.topics(*[Topic(name=name, subtopics=1, questions_per_subtopic=1) for name in ("tea", "rice")])

    def reply(body: dict[str, Any]) -> Any:
        if "tea" in stage_project.provider.user_text(body):
            return stage_project.provider.error(422, "odd")
        return stage_project.provider.items(["Paddies"])

    stage_project.provider.reply = reply
    with pytest.raises(ItemsFailedError) as caught:
        await stage_project.run(Stage.SUBTOPICS)
    assert str(caught.value) == "1 subtopics item(s) failed; run the command again to retry them"
    assert names(stage_project, "rice") == ["Paddies"]
    assert ItemFailed(stage=Stage.SUBTOPICS, id="tea", error="HTTP 422: odd", retryable=False) in stage_project.events
    assert isinstance(stage_project.events[-1], StageFinished)
    assert stage_project.report.results[0].startswith("subtopics: 1 done, 0 skipped, 1 failed")


async def test_a_fatal_failure_stops_the_stage_and_keeps_what_is_on_disk(stage_project: Any) -> None:
    stage_project.topics(*[Topic(name=name, subtopics=1, questions_per_subtopic=1) for name in ("a", "b", "c")])
    replies = [stage_project.provider.items(["One"]), stage_project.provider.error(402, "no credits")]
    stage_project.provider.reply = lambda _body: replies.pop(0)
    with pytest.raises(StageStoppedError) as caught:
        await stage_project.run(Stage.SUBTOPICS)
    assert describe(caught.value) == "subtopics stopped: HTTP 402: no credits"
    assert names(stage_project, "a") == ["One"]
    assert len(stage_project.provider.bodies) == 2
    assert not any(isinstance(event, StageFinished) for event in stage_project.events)
    assert stage_project.report.results == [
        "subtopics: 1 done, 0 skipped, 0 failed, 0 excluded; tokens 10 in, 5 out; cost unknown"
    ]


async def test_a_topic_limits_the_stage(stage_project: Any) -> None:
    stage_project.topics(*[Topic(name=name, subtopics=1, questions_per_subtopic=1) for name in ("tea", "rice")])
    stage_project.write(stage_project.paths.subtopics, stored("tea", "Water"))
    stage_project.provider.reply = lambda _body: stage_project.provider.items(["Paddies"])
    await stage_project.run(Stage.SUBTOPICS, topic="rice", force=True)
    assert names(stage_project, "tea") == ["Water"]
    assert stage_project.events[0] == StageStarted(stage=Stage.SUBTOPICS, total=1)


async def test_a_bad_data_file_stops_before_any_request(stage_project: Any) -> None:
    stage_project.paths.data.mkdir(parents=True)
    stage_project.paths.subtopics.write_text("nonsense\n")
    with pytest.raises(Exception, match=r"subtopics\.jsonl:1: invalid record"):
        await stage_project.run(Stage.SUBTOPICS)
    assert stage_project.provider.bodies == []
    assert stage_project.report.results == []
    (line,) = stage_project.history()
    assert (line["status"], line["done"], line["model"]) == ("failed", 0, "maker/model-1")


async def test_a_file_that_cannot_be_appended_to_stops_the_stage(stage_project: Any) -> None:
    stage_project.paths.data.mkdir(parents=True)

    def reply(_body: dict[str, Any]) -> Any:
        return stage_project.provider.items(["Water"])

    stage_project.provider.reply = reply
    stage_project.paths.subtopics.mkdir()
    with pytest.raises(FileAccessError):
        await stage_project.run(Stage.SUBTOPICS)


async def test_non_ascii_names_are_written_raw(stage_project: Any) -> None:
    stage_project.provider.reply = lambda _body: stage_project.provider.chat(json.dumps(["Thé vert", "水"]))
    await stage_project.run(Stage.SUBTOPICS)
    assert '"name":"Thé vert"' in stage_project.paths.subtopics.read_text(encoding="utf-8")
