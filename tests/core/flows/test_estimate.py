"""What the stages will send, counted as they will send it; nobody is asked but for the prices."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from overbrainer_core.config.settings import Topic
from overbrainer_core.flows.estimate import estimate_stages, role_of
from overbrainer_core.pipeline.context import UnknownTopicError
from overbrainer_core.pipeline.estimate import Basis, StageEstimate
from overbrainer_core.pipeline.prompts import PromptError
from overbrainer_core.values.stage import Stage


async def estimated(project: Any, **options: Any) -> list[StageEstimate]:
    return await estimate_stages(
        project.session, report=project.report, connect=lambda _provider: project.provider, **options
    )


def requests(estimates: list[StageEstimate]) -> dict[str, int]:
    return {str(found.stage): found.requests for found in estimates}


def prices(project: Any) -> None:
    entry = {"id": "maker/model-1", "pricing": {"prompt": "0.000002", "completion": "0.00001"}}
    project.provider.listing = lambda: httpx.Response(200, json={"data": [entry]})


def subtopics(project: Any, *names: str) -> None:
    project.write(project.paths.subtopics, *({"id": name, "topic": "tea", "name": name} for name in names))


def questions(project: Any, *counts: tuple[str, int]) -> None:
    records = [
        {"id": f"{subtopic}{number}", "topic": "tea", "subtopic_id": subtopic, "subtopic": "x", "text": "What?"}
        for subtopic, count in counts
        for number in range(count)
    ]
    project.write(project.paths.questions, *records)


async def test_an_empty_project_is_estimated_to_the_end_of_the_chain(stage_project: Any) -> None:
    prices(stage_project)
    stage_project.topics(
        Topic(name="tea", subtopics=3, questions_per_subtopic=25),
        Topic(name="ink", subtopics=2, questions_per_subtopic=4),
    )
    found = await estimated(stage_project)
    assert requests(found) == {"subtopics": 2, "questions": 3 * 3 + 2, "answers": 3 * 25 + 2 * 4}
    assert {estimate.basis for estimate in found} == {Basis.SETTINGS}
    assert all(estimate.cost_usd is not None and estimate.cost_usd[0] > 0 for estimate in found)
    assert [request.method for request in stage_project.provider.requests] == ["GET"]
    assert stage_project.history() == []


async def test_a_topic_alone_is_estimated_alone(stage_project: Any) -> None:
    stage_project.topics(
        Topic(name="tea", subtopics=3, questions_per_subtopic=2),
        Topic(name="ink", subtopics=1, questions_per_subtopic=1),
    )
    assert requests(await estimated(stage_project, topic="ink")) == {"subtopics": 1, "questions": 1, "answers": 1}
    with pytest.raises(UnknownTopicError, match="unknown topic `nope`"):
        await estimated(stage_project, topic="nope")


async def test_what_is_stored_is_not_asked_for_again(stage_project: Any) -> None:
    stage_project.topics(Topic(name="tea", subtopics=3, questions_per_subtopic=4))
    subtopics(stage_project, "a", "b")
    questions(stage_project, ("a", 4), ("b", 1))
    stage_project.write(
        stage_project.paths.answers,
        *({"id": f"a{number}", "topic": "tea", "meta": {"model": "maker/model-1"}} for number in range(3)),
    )
    assert requests(await estimated(stage_project)) == {"subtopics": 1, "questions": 2, "answers": 2 + 3 + 4}
    assert requests(await estimated(stage_project, stage=Stage.SUBTOPICS)) == {"subtopics": 1}
    assert requests(await estimated(stage_project, stage=Stage.QUESTIONS)) == {"questions": 1}
    assert requests(await estimated(stage_project, stage=Stage.ANSWERS)) == {"answers": 2}


async def test_force_counts_what_it_drops(stage_project: Any) -> None:
    stage_project.topics(Topic(name="tea", subtopics=2, questions_per_subtopic=4))
    subtopics(stage_project, "a", "b")
    questions(stage_project, ("a", 4), ("b", 4))
    stage_project.write(
        stage_project.paths.answers,
        *({"id": f"a{number}", "topic": "tea", "meta": {"model": "maker/model-1"}} for number in range(4)),
    )
    assert requests(await estimated(stage_project)) == {"subtopics": 0, "questions": 0, "answers": 4}
    for stage, count in ((Stage.SUBTOPICS, 1), (Stage.QUESTIONS, 2), (Stage.ANSWERS, 8)):
        assert requests(await estimated(stage_project, stage=stage, force=True)) == {str(stage): count}


async def test_questions_without_any_subtopic_begin_with_subtopics(stage_project: Any) -> None:
    assert requests(await estimated(stage_project, stage=Stage.QUESTIONS)) == {"subtopics": 1, "questions": 2}


async def test_nothing_left_asks_for_no_price(stage_project: Any) -> None:
    subtopics(stage_project, "a", "b")
    questions(stage_project, ("a", 2), ("b", 2))
    found = await estimated(stage_project, stage=Stage.QUESTIONS)
    assert (found[0].requests, found[0].cost_usd) == (0, (0.0, 0.0))
    assert stage_project.provider.requests == []


async def test_own_answers_and_history_are_used_when_there_are_some(stage_project: Any) -> None:
    prices(stage_project)
    stage_project.topics(Topic(name="tea", subtopics=1, questions_per_subtopic=20))
    subtopics(stage_project, "a")
    questions(stage_project, ("a", 20))
    meta = {"model": "maker/model-1", "input_tokens": 50, "output_tokens": 300}
    stage_project.write(
        stage_project.paths.answers, *({"id": f"a{number}", "topic": "tea", "meta": meta} for number in range(10))
    )
    (found,) = await estimated(stage_project, stage=Stage.ANSWERS)
    assert (found.basis, found.requests, found.output_tokens) == (Basis.ANSWERS, 10, (3000, 3000))
    assert found.cost_usd == pytest.approx((0.031, 0.031))
    stage_project.paths.answers.unlink()
    stage_project.paths.history.parent.mkdir(parents=True, exist_ok=True)
    line = {
        "stage": "answers", "started_at": "", "ended_at": "", "status": "ok", "provider": "main",
        "model": "maker/model-1", "done": 8, "skipped": 0, "failed": 0, "excluded": 2,
        "input_tokens": 500, "output_tokens": 3000, "cost": None,
    }  # fmt: skip
    stage_project.paths.history.write_text(json.dumps(line) + "\n")
    (found,) = await estimated(stage_project, stage=Stage.ANSWERS)
    assert (found.basis, found.output_tokens) == (Basis.HISTORY, (4200, 8400))


async def test_a_price_that_cannot_be_had_is_told_and_unknown(stage_project: Any) -> None:
    stage_project.provider.listing = lambda: httpx.Response(500)
    found = await estimated(stage_project)
    assert [estimate.cost_usd for estimate in found] == [None, None, None]
    assert len(stage_project.report.warnings) == 1
    stage_project.settings.providers.clear()
    stage_project.report.warnings.clear()
    assert all(estimate.cost_usd is None for estimate in await estimated(stage_project))
    assert stage_project.report.warnings[0] == "the price of maker/model-1 is unknown: unknown provider `main`"


async def test_a_cap_that_may_be_met_is_told(stage_project: Any) -> None:
    prices(stage_project)
    stage_project.change(max_cost_usd=0.01)
    await estimated(stage_project)
    assert stage_project.report.notes == ["answers: may stop at pipeline.max_cost_usd, $0.0100"]


async def test_a_broken_template_is_told(stage_project: Any) -> None:
    stage_project.paths.prompts.mkdir(parents=True)
    (stage_project.paths.prompts / "questions.txt").write_text("{% if %}")
    with pytest.raises(PromptError, match=r"invalid template questions\.txt"):
        await estimated(stage_project)


def test_each_stage_asks_its_role(stage_project: Any) -> None:
    roles = stage_project.settings.roles
    found = [role_of(stage_project.session, stage) for stage in Stage]
    assert found == [roles.generator, roles.generator, roles.parent, None]
