"""The command `estimate`, as lines and as a document."""

from __future__ import annotations

import json
from pathlib import Path

from overbrainer_tui.cli.exit_codes import ExitCode
from overbrainer_tui.cli.main import run
from tests.peers.llm_api import llm_api
from tests.peers.program import write_project


def test_it_tells_what_is_left_without_asking_a_model_or_taking_the_project(tmp_path: Path, capsys: object) -> None:
    with llm_api() as api:
        write_project(tmp_path, base_url=api.base_url)
        assert run(["-C", str(tmp_path), "estimate"]) == 0
        lines = capsys.readouterr().out.splitlines()  # type: ignore[attr-defined]
        assert [line.split(";")[0] for line in lines] == [
            "subtopics: 1 request",
            "questions: 2 requests",
            "answers: 6 requests",
            "total: cost unknown",
        ]
        assert all(line.endswith("cost unknown (from the settings)") for line in lines[:3])
        assert run(["-C", str(tmp_path), "estimate", "--stage", "subtopics", "--json"]) == 0
        document = json.loads(capsys.readouterr().out)  # type: ignore[attr-defined]
        assert document["total_usd"] is None
        (stage,) = document["stages"]
        assert list(stage) == ["stage", "requests", "input_tokens", "output_tokens", "cost_usd", "basis"]
        assert (stage["stage"], stage["requests"], stage["basis"], stage["cost_usd"]) == (
            "subtopics",
            1,
            "settings",
            None,
        )
        assert len(stage["input_tokens"]) == len(stage["output_tokens"]) == 2
        assert api.requests == []
    assert not (tmp_path / ".overbrainer" / "lock").exists()
    assert not (tmp_path / ".overbrainer" / "history.jsonl").exists()


def test_an_unknown_topic_and_a_stage_that_asks_nobody_are_refused(tmp_path: Path, capsys: object) -> None:
    write_project(tmp_path)
    assert run(["-C", str(tmp_path), "estimate", "--topic", "ink"]) == ExitCode.CONFIGURATION
    assert "unknown topic `ink`" in capsys.readouterr().err  # type: ignore[attr-defined]
    assert run(["-C", str(tmp_path), "estimate", "--stage", "split"]) == ExitCode.USAGE
