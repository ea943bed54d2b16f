"""The stage commands as a process: results on standard output, one error line, exit codes, nothing lost."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.peers.llm_api import Answer, completion, list_or_answer, llm_api
from tests.peers.program import run, start, until, write_project

Reply = Callable[[dict[str, Any]], Answer]


def only_parent(answer: Answer) -> Reply:
    """The generator works, the parent gives this answer."""
    return lambda request: list_or_answer(request) if request["model"] == "generator" else answer


def last_error(stderr: str) -> str:
    """The final line of standard error."""
    return stderr.strip().splitlines()[-1]


def answers(project: Path) -> list[dict[str, Any]]:
    """The stored answers."""
    path = project / "data" / "answers.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_the_four_stages_print_a_summary_each_and_stop_after_the_split(tmp_path: Path) -> None:
    with llm_api() as endpoint:
        project = write_project(tmp_path / "p", base_url=endpoint.base_url)
        done = run(project, "run")
    assert done.returncode == 0, done.stderr
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == ["subtopics", "questions", "answers", "split"]
    assert "run stops after split" in done.stderr
    assert "\x1b" not in done.stderr
    assert len(answers(project)) == 6


def test_a_second_run_asks_nothing(tmp_path: Path) -> None:
    with llm_api() as endpoint:
        project = write_project(tmp_path / "p", base_url=endpoint.base_url)
        run(project, "run")
        asked = len(endpoint.requests)
        again = run(project, "run")
        assert len(endpoint.requests) == asked
    assert "answers: 0 done, 6 skipped, 0 failed, 0 excluded" in again.stdout


def test_the_json_document_has_every_stage(tmp_path: Path) -> None:
    with llm_api() as endpoint:
        project = write_project(tmp_path / "p", base_url=endpoint.base_url)
        done = run(project, "run", "--json")
    document = json.loads(done.stdout)
    assert [stage["stage"] for stage in document["stages"]] == ["subtopics", "questions", "answers", "split"]
    assert document["stages"][2]["done"] == 6
    assert document["train"] is None


def test_events_are_written_beside(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    with llm_api() as endpoint:
        project = write_project(tmp_path / "p", base_url=endpoint.base_url)
        run(project, "--events", str(events), "subtopics")
    names = [json.loads(line)["event"] for line in events.read_text().splitlines()]
    assert names == ["StageStarted", "StageModel", "ItemDone", "StageFinished"]


@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_a_refusal_stops_the_stage_with_its_summary(tmp_path: Path, status: int) -> None:
    body = b'{"error":{"message":"no access for sk-secret-12345678"}}'
    with llm_api(only_parent(Answer(status=status, body=body))) as endpoint:
        project = write_project(tmp_path / "p", base_url=endpoint.base_url)
        key = {"OVERBRAINER_PROVIDERS__HERE__API_KEY": "sk-secret-12345678"}
        run(project, "questions", extra=key)
        done = run(project, "answers", extra=key)
    assert done.returncode == 6
    assert done.stdout.startswith("answers: 0 done")
    assert last_error(done.stderr).startswith(f"error: answers stopped: HTTP {status}")
    assert "sk-secret" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(status=429, headers=(("Retry-After", "0"),), body=b"slow"), "HTTP 429: slow"),
        (Answer(status=500, headers=(("Retry-After", "0"),), body=b"<html>oops</html>"), "HTTP 500"),
        (Answer(body=b"<!doctype html><title>Sign in</title>"), "invalid response"),
        (Answer(body=b'{"choices":'), "invalid response"),
        (Answer(body=b""), "invalid response"),
        (Answer(body=completion("x" * 500).body, cut=True), "request failed"),
    ],
    ids=["429", "500", "html", "half-json", "empty", "half-body"],
)
def test_items_that_fail_are_left_for_the_next_run(tmp_path: Path, answer: Answer, words: str) -> None:
    with llm_api(only_parent(answer)) as endpoint:
        project = write_project(tmp_path / "p", base_url=endpoint.base_url)
        run(project, "questions")
        done = run(project, "answers")
    assert done.returncode == 7, done.stderr
    assert "0 done, 0 skipped, 6 failed" in done.stdout
    assert words in done.stderr
    assert last_error(done.stderr) == "error: 6 answers item(s) failed; run the command again to retry them"
    assert "Traceback" not in done.stderr
    with llm_api() as endpoint:
        write_project(project, base_url=endpoint.base_url)
        assert run(project, "answers").returncode == 0
    assert len(answers(project)) == 6


def test_a_refused_connection_says_so(tmp_path: Path) -> None:
    with llm_api() as endpoint:
        project = write_project(tmp_path / "p", base_url=endpoint.base_url)
        run(project, "questions")
    write_project(project, base_url="http://127.0.0.1:9/v1")
    done = run(project, "answers")
    assert done.returncode == 7
    assert "request failed: connection refused" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_keeps_what_was_answered(tmp_path: Path, number: signal.Signals) -> None:
    import threading

    gate = threading.Event()
    served = 0

    def reply(request: dict[str, Any]) -> Answer:
        nonlocal served
        if request["model"] == "generator":
            return list_or_answer(request)
        served += 1
        if served > 3:
            gate.wait(20)
        return list_or_answer(request)

    with llm_api(reply) as endpoint:
        project = write_project(tmp_path / "p", base_url=endpoint.base_url)
        run(project, "questions")
        process = start(project, "answers")
        until(lambda: len(answers(project)) == 3)
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=20)
        gate.set()
    assert process.returncode == 130
    assert stdout == ""
    assert last_error(stderr) == "error: interrupted: the stage resumes on its next run"
    assert len(answers(project)) == 3
    entry = json.loads((project / ".overbrainer" / "history.jsonl").read_text().splitlines()[-1])
    assert (entry["status"], entry["done"]) == ("interrupted", 3)


def test_a_killed_stage_goes_on_where_it_was(tmp_path: Path) -> None:
    import time

    def slow(request: dict[str, Any]) -> Answer:
        if request["model"] == "parent":
            time.sleep(0.05)
        return list_or_answer(request)

    with llm_api(slow) as endpoint:
        project = write_project(tmp_path / "p", base_url=endpoint.base_url)
        run(project, "questions")
        process = start(project, "answers")
        until(lambda: len(answers(project)) >= 2)
        process.kill()
        process.communicate()
        assert run(project, "answers").returncode == 0
    ids = [record["id"] for record in answers(project)]
    assert len(ids) == len(set(ids)) == 6


def test_two_processes_on_one_project_exclude_each_other(tmp_path: Path) -> None:
    import threading

    gate = threading.Event()

    def reply(request: dict[str, Any]) -> Answer:
        if request["model"] == "parent":
            gate.wait(20)
        return list_or_answer(request)

    with llm_api(reply) as endpoint:
        project = write_project(tmp_path / "p", base_url=endpoint.base_url)
        run(project, "questions")
        first = start(project, "answers")
        until(lambda: any(request["model"] == "parent" for request in endpoint.requests))
        second = run(project, "split")
        gate.set()
        first.communicate(timeout=20)
    assert second.returncode == 4
    assert last_error(second.stderr) == f"error: another overbrainer (pid {first.pid}) is using this project"
    assert first.returncode == 0


def test_an_unknown_topic_is_told_before_any_request(tmp_path: Path) -> None:
    with llm_api() as endpoint:
        project = write_project(tmp_path / "p", base_url=endpoint.base_url)
        done = run(project, "answers", "--topic", "coffee")
        assert endpoint.requests == []
    assert done.returncode == 3
    assert "unknown topic `coffee`" in last_error(done.stderr)
    assert not (project / ".overbrainer" / "history.jsonl").exists()
