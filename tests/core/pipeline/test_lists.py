from __future__ import annotations

from typing import Any

import httpx
import pytest

from overbrainer_core.errors import ItemsFailedError
from overbrainer_core.events.types import ItemDone, ItemFailed
from overbrainer_core.flows.stages import StageStoppedError
from overbrainer_core.values.stage import Stage
from overbrainer_core.values.usage import Usage

NAMES = ["Water", "Leaves"]


async def asked(project: Any, *replies: Any) -> list[dict[str, Any]]:
    """The bodies of the requests of one list call that gets these replies, the last one repeated."""
    left = list(replies)
    project.provider.reply = lambda _body: left.pop(0) if len(left) > 1 else left[0]
    await project.run(Stage.SUBTOPICS)
    bodies: list[dict[str, Any]] = project.provider.bodies
    return bodies


def retries(project: Any) -> list[str]:
    return [event.error for event in project.events if isinstance(event, ItemFailed) and event.retryable]


def failures(project: Any) -> list[str]:
    return [event.error for event in project.events if isinstance(event, ItemFailed) and not event.retryable]


async def test_a_list_is_asked_for_with_structured_output(stage_project: Any) -> None:
    (body,) = await asked(stage_project, stage_project.provider.items(NAMES))
    assert body["response_format"]["type"] == "json_schema"
    assert body["max_tokens"] == 16384
    assert retries(stage_project) == []


async def test_a_refusal_of_structured_output_asks_again_without_and_costs_no_attempt(stage_project: Any) -> None:
    stage_project.change(max_retries=0)
    provider = stage_project.provider
    bodies = await asked(stage_project, provider.error(400, "no response_format"), provider.items(NAMES))
    assert ["response_format" in body for body in bodies] == [True, False]
    assert retries(stage_project) == ["HTTP 400: no response_format; retrying without structured output"]


# C041
async def test_a_router_that_answers_404_to_structured_output_is_asked_again_without(stage_project: Any) -> None:
    provider = stage_project.provider
    bodies = await asked(stage_project, provider.error(404, "No endpoints found"), provider.items(NAMES))
    assert len(bodies) == 2
    assert len(stage_project.lines(stage_project.paths.subtopics)) == 2


async def test_a_404_without_structured_output_stops_the_stage(stage_project: Any) -> None:
    with pytest.raises(StageStoppedError, match="HTTP 404"):
        await asked(stage_project, stage_project.provider.error(404, "no such model"))
    assert len(stage_project.provider.bodies) == 2


# C041
async def test_a_5xx_gets_its_retries_and_then_one_plain_request(stage_project: Any) -> None:
    provider = stage_project.provider
    bodies = await asked(stage_project, *[provider.error(500, "peg-native format")] * 3, provider.items(NAMES))
    assert ["response_format" in body for body in bodies] == [True, True, True, False]


@pytest.mark.parametrize("status", [401, 402, 403])
async def test_a_refused_account_is_never_asked_again(stage_project: Any, status: int) -> None:
    with pytest.raises(StageStoppedError):
        await asked(stage_project, stage_project.provider.error(status))
    assert len(stage_project.provider.bodies) == 1


async def test_a_429_is_never_blamed_on_structured_output(stage_project: Any) -> None:
    with pytest.raises(ItemsFailedError):
        await asked(stage_project, stage_project.provider.error(429, "slow down"))
    assert all("response_format" in body for body in stage_project.provider.bodies)
    assert failures(stage_project) == ["HTTP 429: slow down"]


async def test_a_reply_without_a_list_is_asked_for_again(stage_project: Any) -> None:
    provider = stage_project.provider
    bodies = await asked(stage_project, provider.chat("Let me think."), provider.items(NAMES))
    assert len(bodies) == 2
    assert retries(stage_project) == ["the answer is not a list of strings"]
    (done,) = [event for event in stage_project.events if isinstance(event, ItemDone)]
    assert done.usage == Usage(input_tokens=20, output_tokens=10)


# C038
async def test_attempts_without_a_list_end(stage_project: Any) -> None:
    with pytest.raises(ItemsFailedError):
        await asked(stage_project, stage_project.provider.chat("['First?', 'Second?']"))
    assert len(stage_project.provider.bodies) == 3
    assert failures(stage_project) == ["invalid response: no list of strings after all retries"]
    assert stage_project.history()[0]["input_tokens"] == 30


# C006, C040
async def test_a_cut_reply_without_an_item_raises_the_limit_up_to_four_times(stage_project: Any) -> None:
    stage_project.change(max_retries=4)
    stage_project.role("generator", max_tokens=100)
    cut = stage_project.provider.chat('{"items":[' + " \n" * 1000, finish="length", tokens=(5, 100))
    with pytest.raises(ItemsFailedError):
        await asked(stage_project, cut)
    assert [body["max_tokens"] for body in stage_project.provider.bodies] == [100, 200, 400, 400, 400]
    assert retries(stage_project)[:3] == [
        "the answer was cut before its first item; max_tokens is raised to 200",
        "the answer was cut before its first item; max_tokens is raised to 400",
        "the answer is not a list of strings",
    ]
    assert stage_project.history()[0]["output_tokens"] == 500


async def test_a_cut_reply_with_a_whole_item_is_taken(stage_project: Any) -> None:
    await asked(stage_project, stage_project.provider.chat('["Water", "Lea', finish="length"))
    assert [line["name"] for line in stage_project.lines(stage_project.paths.subtopics)] == ["Water"]


async def test_a_limit_raised_with_no_attempt_left_is_still_told(stage_project: Any) -> None:
    stage_project.change(max_retries=0)
    with pytest.raises(ItemsFailedError):
        await asked(stage_project, stage_project.provider.chat("", finish="length"))
    assert len(retries(stage_project)) == 1
    assert failures(stage_project) == ["invalid response: no list of strings after all retries"]


async def test_an_error_of_the_plain_request_is_returned_as_it_is(stage_project: Any) -> None:
    with pytest.raises(ItemsFailedError):
        await asked(stage_project, stage_project.provider.error(422, "odd"))
    assert failures(stage_project) == ["HTTP 422: odd"]
    assert len(stage_project.provider.bodies) == 2


# C024
async def test_a_lone_surrogate_in_a_list_is_replaced_before_it_is_stored(stage_project: Any) -> None:
    raw = b'{"choices":[{"message":{"content":"[\\"Wat\\ud83der\\",\\"x \\\\ud83d y\\"]"},"finish_reason":"stop"}]}'
    stage_project.provider.reply = lambda _body: httpx.Response(200, content=raw)
    await stage_project.run(Stage.SUBTOPICS)
    names = [line["name"] for line in stage_project.lines(stage_project.paths.subtopics)]
    assert names == ["Wat\ufffder", "x \ufffd y"]
