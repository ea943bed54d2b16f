from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import httpx
import pytest

from overbrainer_core.config.settings import Provider, SecretText
from overbrainer_core.errors import ConfigError, InterruptedByUser, ItemsFailedError, SecretError, describe
from overbrainer_core.events.types import LimitChanged, StageFinished, StageStarted
from overbrainer_core.flows.stages import (
    StageCommand,
    StageStoppedError,
    run_all,
    split_summary,
    stage_summary,
)
from overbrainer_core.pipeline.context import UnknownTopicError
from overbrainer_core.pipeline.prompts import PromptError
from overbrainer_core.values.stage import Exclusion, SplitReport, Stage, StageStats
from overbrainer_core.values.usage import Usage

KEY = "sk-test-0123456789"


def question(identity: str) -> dict[str, str]:
    return {"id": identity, "topic": "tea", "subtopic_id": "s", "subtopic": "S", "text": f"What is {identity}?"}


def prices(project: Any, prompt: str = "0.000002", completion: str = "0.00001") -> None:
    entry = {"id": "maker/model-1", "pricing": {"prompt": prompt, "completion": completion}}
    project.provider.listing = lambda: httpx.Response(200, json={"data": [entry]})


def whole_chain(project: Any) -> None:
    """Replies that fill every stage."""

    def reply(body: dict[str, Any]) -> Any:
        text = project.provider.user_text(body)
        if "distinct subtopics" in text:
            return project.provider.items(["Water", "Leaves"])
        if "new questions" in text:
            name = "water" if '"Water"' in text else "leaf"
            return project.provider.items([f"First {name} thing to ask?", f"Something else on {name} matters?"])
        return project.provider.chat("An answer.")

    project.provider.reply = reply


def test_summaries_have_their_exact_form() -> None:
    stats = StageStats(
        done=38, skipped=2, excluded=3, usage=Usage(input_tokens=41022, output_tokens=30511), cost=0.12349
    )
    assert stage_summary(Stage.ANSWERS, stats) == (
        "answers: 38 done, 2 skipped, 0 failed, 3 excluded; tokens 41022 in, 30511 out; cost $0.1235"
    )
    assert stage_summary(Stage.SUBTOPICS, StageStats()).endswith("tokens 0 in, 0 out; cost unknown")
    report = SplitReport(train=90, eval=10, orphaned=2, excluded=((Exclusion.TRUNCATED, 3),))
    assert split_summary(report) == "split: 90 train, 10 eval, 3 excluded (truncated 3), 2 orphaned"


async def test_an_unknown_topic_is_told_before_anything_else_and_leaves_no_trace(stage_project: Any) -> None:
    (stage_project.paths.prompts).mkdir(parents=True)
    (stage_project.paths.prompts / "judge.txt").write_text("{% if %}")
    with pytest.raises(UnknownTopicError) as caught:
        await stage_project.run(Stage.SUBTOPICS, topic="Tea")
    assert str(caught.value) == "unknown topic `Tea`; did you mean `tea`? known: `tea`"
    assert stage_project.provider.requests == []
    assert stage_project.history() == []


async def test_a_broken_template_stops_every_stage_but_split_and_records_nothing(stage_project: Any) -> None:
    stage_project.paths.prompts.mkdir(parents=True)
    (stage_project.paths.prompts / "judge.txt").write_text("{% if %}")
    for stage in (Stage.SUBTOPICS, Stage.QUESTIONS, Stage.ANSWERS):
        with pytest.raises(PromptError, match=r"invalid template judge\.txt"):
            await stage_project.run(stage)
    assert stage_project.history() == []
    assert (await stage_project.run(Stage.SPLIT)).summary.startswith("split: 0 train")


async def test_a_template_that_fails_while_it_is_rendered_is_a_failed_stage(stage_project: Any) -> None:
    stage_project.paths.prompts.mkdir(parents=True)
    (stage_project.paths.prompts / "answer_system.txt").write_text("{{ nothing }}")
    stage_project.write(stage_project.paths.questions, question("q"))
    with pytest.raises(PromptError) as caught:
        await stage_project.run(Stage.ANSWERS)
    assert describe(caught.value) == "cannot render template answer_system.txt: 'nothing' is undefined"
    (line,) = stage_project.history()
    assert (line["status"], line["done"], line["cost"], line["model"]) == ("failed", 0, None, "maker/model-1")
    assert stage_project.report.results == []


async def test_a_set_up_that_fails_is_one_failed_line_and_no_event(stage_project: Any) -> None:
    providers = {"main": Provider(name="main", protocol="openai", base_url="http://x", api_key=SecretText("vault:x"))}
    stage_project.settings = replace(stage_project.settings, providers=providers)
    with pytest.raises(SecretError, match=r"cannot resolve providers\.main\.api_key"):
        await stage_project.run(Stage.ANSWERS)
    (line,) = stage_project.history()
    assert line["status"] == "failed"
    assert stage_project.events == []
    assert stage_project.report.results == []


async def test_split_needs_neither_key_nor_network(stage_project: Any) -> None:
    stage_project.settings = replace(stage_project.settings, providers={})
    await stage_project.run(Stage.SPLIT)
    assert stage_project.provider.requests == []


async def test_a_stage_that_ended_well_leaves_its_line_of_history(stage_project: Any) -> None:
    prices(stage_project)
    stage_project.write(stage_project.paths.questions, question("q"))

    async def reply(_body: dict[str, Any]) -> Any:
        await stage_project.clock.sleep(252)
        return stage_project.provider.chat("x", tokens=(500_000, 100_000))

    stage_project.provider.reply = reply
    outcome = await stage_project.run(Stage.ANSWERS)
    assert outcome.summary.endswith("tokens 500000 in, 100000 out; cost $2.0000")
    assert outcome.seconds == 252
    assert stage_project.history() == [
        {
            "stage": "answers",
            "started_at": "2026-11-02T08:15:00Z",
            "ended_at": "2026-11-02T08:19:12Z",
            "status": "ok",
            "provider": "main",
            "model": "maker/model-1",
            "done": 1,
            "skipped": 0,
            "failed": 0,
            "excluded": 0,
            "input_tokens": 500000,
            "output_tokens": 100000,
            "cost": 2.0,
        }
    ]


async def test_failed_items_are_a_failed_line_and_an_error_after_the_summary(stage_project: Any) -> None:
    stage_project.write(stage_project.paths.questions, question("q"))
    stage_project.provider.reply = lambda _body: stage_project.provider.error(422)
    with pytest.raises(ItemsFailedError) as caught:
        await stage_project.run(Stage.ANSWERS)
    assert str(caught.value) == "1 answers item(s) failed; run the command again to retry them"
    assert len(stage_project.report.results) == 1
    assert stage_project.history()[0]["status"] == "failed"


async def test_a_rejected_key_is_in_no_output(stage_project: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    stage_project.write(stage_project.paths.questions, question("q"))
    stage_project.provider.reply = lambda _body: stage_project.provider.error(401, f"bad key {KEY}")
    with pytest.raises(StageStoppedError) as caught:
        await stage_project.run(Stage.ANSWERS)
    assert describe(caught.value) == "answers stopped: HTTP 401: authentication failed, check the provider API key"
    report = stage_project.report
    shown = [caplog.text, repr(stage_project.events), repr(caught.value), *report.results, *report.warnings]
    assert not any(KEY in text for text in shown)
    written = [path.read_text() for path in stage_project.paths.root.rglob("*") if path.is_file()]
    assert not any(KEY in text for text in written)


async def test_ctrl_c_drops_what_is_in_flight_and_keeps_what_is_saved(stage_project: Any) -> None:
    prices(stage_project)
    stage_project.write(stage_project.paths.questions, *[question(f"q{number}") for number in range(9)])
    cancelled: list[bool] = []

    async def reply(_body: dict[str, Any]) -> Any:
        if len(stage_project.provider.bodies) <= 2:
            return stage_project.provider.chat("Saved.")
        stage_project.interrupt.trigger()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    stage_project.provider.reply = reply
    with pytest.raises(InterruptedByUser) as caught:
        await stage_project.run(Stage.ANSWERS)
    assert str(caught.value) == "interrupted: the stage resumes on its next run"
    assert cancelled
    assert stage_project.report.results == []
    (line,) = stage_project.history()
    assert (line["status"], line["done"], line["input_tokens"]) == ("interrupted", 2, 20)
    assert line["cost"] == pytest.approx(0.00014)
    assert not any(isinstance(event, StageFinished) for event in stage_project.events)
    assert len(stage_project.lines(stage_project.paths.answers)) == 2
    stage_project.interrupt = type(stage_project.interrupt)()
    stage_project.provider.reply = lambda _body: stage_project.provider.chat("Later.")
    outcome = await stage_project.run(Stage.ANSWERS)
    assert (outcome.stats.done, outcome.stats.skipped) == (7, 2)


async def test_a_cancelled_caller_leaves_an_interrupted_line(stage_project: Any) -> None:
    stage_project.write(stage_project.paths.questions, question("q"))
    asked = asyncio.Event()

    async def reply(_body: dict[str, Any]) -> Any:
        asked.set()
        await asyncio.Event().wait()

    stage_project.provider.reply = reply
    async with asyncio.TaskGroup() as group:
        task = group.create_task(stage_project.run(Stage.ANSWERS))
        await asked.wait()
        task.cancel()
    assert stage_project.history()[0]["status"] == "interrupted"


async def test_a_stage_does_not_begin_after_the_interrupt(stage_project: Any) -> None:
    stage_project.interrupt.trigger()
    with pytest.raises(InterruptedByUser):
        await stage_project.run(Stage.ANSWERS)
    assert stage_project.provider.requests == []


async def test_a_subtopics_file_that_cannot_be_read_fails_questions(stage_project: Any) -> None:
    stage_project.paths.data.mkdir(parents=True)
    stage_project.paths.subtopics.write_text("nonsense\n")
    with pytest.raises(Exception, match=":1: invalid record"):
        await stage_project.run(Stage.QUESTIONS)
    (line,) = stage_project.history()
    assert (line["stage"], line["status"]) == ("questions", "failed")


async def test_a_cap_without_a_price_is_a_warning(stage_project: Any) -> None:
    stage_project.change(max_cost_usd=1.0)
    stage_project.write(stage_project.paths.questions, question("q"))
    await stage_project.run(Stage.ANSWERS)
    assert stage_project.report.warnings == ["pipeline.max_cost_usd cannot hold: the price of maker/model-1 is unknown"]


# the chain


async def chain(project: Any) -> list[Any]:
    return await run_all(
        project.session,
        bus=project.bus(),
        report=project.report,
        interrupt=project.interrupt,
        connect=lambda _provider: project.provider,
    )


async def test_run_does_the_four_stages_in_order(stage_project: Any) -> None:
    whole_chain(stage_project)
    outcomes = await chain(stage_project)
    assert [outcome.stage for outcome in outcomes] == list(Stage)
    assert [line.split(":")[0] for line in stage_project.report.results] == [stage.value for stage in Stage]
    assert [line["stage"] for line in stage_project.history()] == [stage.value for stage in Stage]
    assert [event.stage for event in stage_project.events if isinstance(event, StageStarted)] == list(Stage)
    assert stage_project.report.notes[-1] == "no [training] section in overbrainer.toml: run stops after split"
    listings = [request for request in stage_project.provider.requests if request.method == "GET"]
    assert len(listings) == 1
    train = stage_project.lines(stage_project.paths.train)
    assert len(train) + len(stage_project.lines(stage_project.paths.eval)) == 4


async def test_run_ends_at_a_stage_with_failed_items(stage_project: Any) -> None:
    whole_chain(stage_project)
    good = stage_project.provider.reply

    def reply(body: dict[str, Any]) -> Any:
        if stage_project.provider.user_text(body).startswith("First water"):
            return stage_project.provider.error(422)
        return good(body)

    stage_project.provider.reply = reply
    with pytest.raises(ItemsFailedError):
        await chain(stage_project)
    assert [line["stage"] for line in stage_project.history()] == ["subtopics", "questions", "answers"]


CONFIG = """\
[project]
name = "test"
[[topics]]
name = "tea"
subtopics = 2
questions_per_subtopic = 2
[providers.main]
protocol = "openai"
[roles]
generator = {{ provider = "main", model = "maker/model-1" }}
parent = {{ provider = "main", model = "{parent}" }}
[pipeline]
concurrency = 4
"""


def configured(project: Any, *, parent: str = "maker/model-1") -> None:
    project.paths.root.mkdir(parents=True, exist_ok=True)
    project.paths.config.write_text(CONFIG.format(parent=parent))
    project.paths.env.write_text(
        f"OVERBRAINER_PROVIDERS__MAIN__BASE_URL=http://provider.test/v1\nOVERBRAINER_PROVIDERS__MAIN__API_KEY={KEY}\n"
    )


async def test_a_changed_configuration_is_used_by_the_next_stage(stage_project: Any) -> None:
    configured(stage_project)
    whole_chain(stage_project)
    good = stage_project.provider.reply

    def reply(body: dict[str, Any]) -> Any:
        if len(stage_project.provider.bodies) == 1:
            configured(stage_project, parent="maker/another-parent")
        return good(body)

    stage_project.provider.reply = reply
    await chain(stage_project)
    assert stage_project.report.notes.count("config reloaded") == 1
    models = {json.loads(request.content)["model"] for request in stage_project.provider.requests if request.content}
    assert models == {"maker/model-1", "maker/another-parent"}
    assert stage_project.history()[2]["model"] == "maker/another-parent"


async def test_a_configuration_that_became_invalid_ends_the_run(stage_project: Any) -> None:
    configured(stage_project)
    whole_chain(stage_project)
    good = stage_project.provider.reply

    def reply(body: dict[str, Any]) -> Any:
        stage_project.paths.config.write_text("[project]\nname = 3\n")
        return good(body)

    stage_project.provider.reply = reply
    with pytest.raises(ConfigError) as caught:
        await chain(stage_project)
    assert str(caught.value).startswith("the configuration changed and cannot be used; the run stops: ")
    assert [line["stage"] for line in stage_project.history()] == ["subtopics"]


async def test_a_command_reads_the_listing_once_and_closes_its_connections(stage_project: Any) -> None:
    whole_chain(stage_project)
    async with StageCommand(
        stage_project.session,
        bus=stage_project.bus(),
        report=stage_project.report,
        interrupt=stage_project.interrupt,
        connect=lambda _provider: stage_project.provider,
    ) as command:
        outcomes = await command.run_chain(Stage.QUESTIONS)
        assert [outcome.stage for outcome in outcomes] == [Stage.SUBTOPICS, Stage.QUESTIONS]
        await command.run(Stage.ANSWERS)
        assert not stage_project.provider.is_closed
    assert stage_project.provider.is_closed
    assert sum(request.method == "GET" for request in stage_project.provider.requests) == 1


async def test_a_receipt_compares_what_was_spent_with_what_was_expected(stage_project: Any) -> None:
    prices(stage_project)
    stage_project.write(stage_project.paths.questions, question("q"))
    outcome = await stage_project.run(Stage.ANSWERS)
    (receipt,) = stage_project.report.notes
    assert receipt.startswith("answers: spent $0.0001, tokens 10 in, 5 out; estimated $0.00")
    assert receipt.endswith("(from the settings)")
    assert outcome.estimate is not None
    assert outcome.estimate.requests == 1
    stage_project.report.notes.clear()
    assert (await stage_project.run(Stage.ANSWERS)).estimate.requests == 0
    assert stage_project.report.notes == []


async def test_an_unknown_price_stays_unknown_in_the_receipt(stage_project: Any) -> None:
    stage_project.write(stage_project.paths.questions, question("q"))
    await stage_project.run(Stage.ANSWERS)
    assert "answers: spent an unknown amount" in stage_project.report.notes[-1]
    assert "estimated an unknown amount" in stage_project.report.notes[-1]


async def test_run_tells_the_estimate_before_it_starts(stage_project: Any) -> None:
    prices(stage_project)
    whole_chain(stage_project)
    seen: list[int] = []
    note = stage_project.report.note

    def noted(line: str) -> None:
        seen.append(len(stage_project.provider.bodies))
        note(line)

    stage_project.report.note = noted
    await run_all(
        stage_project.session,
        bus=stage_project.bus(),
        report=stage_project.report,
        interrupt=stage_project.interrupt,
        connect=lambda _provider: stage_project.provider,
    )
    told = [line.split(";")[0] for line in stage_project.report.notes if line.startswith("estimate: ")]
    assert told[:3] == [
        "estimate: subtopics: 1 request",
        "estimate: questions: 2 requests",
        "estimate: answers: 4 requests",
    ]
    assert told[3].startswith("estimate: total: cost $0.")
    assert seen[:4] == [0, 0, 0, 0]
    assert [request.method for request in stage_project.provider.requests].count("GET") == 1


async def test_the_limit_that_was_found_is_told_at_the_end(stage_project: Any) -> None:
    stage_project.change(concurrency=4, max_retries=20)
    stage_project.write(stage_project.paths.questions, *(question(f"q{number}") for number in range(30)))
    running = 0

    async def reply(_body: dict[str, Any]) -> Any:
        nonlocal running
        if running >= 2:
            return stage_project.provider.error(429, "Too many concurrent requests")
        running += 1
        for _ in range(5):
            await asyncio.sleep(0)
        running -= 1
        return stage_project.provider.chat("An answer.")

    stage_project.provider.reply = reply
    outcome = await stage_project.run(Stage.ANSWERS)
    assert outcome.stats.done == 30
    assert any(isinstance(event, LimitChanged) and event.at_once in (1, 2) for event in stage_project.events)
    (told,) = (line for line in stage_project.report.notes if "provider takes" in line)
    assert told.startswith("answers: the provider takes about ")
    assert told.endswith(" at once; pipeline.concurrency is 4")
    assert len(stage_project.report.results) == 1
