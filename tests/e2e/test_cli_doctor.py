"""The doctor as a process: beside other work, with real servers, and without a word of any secret."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.peers.llm_api import Endpoint, llm_api
from tests.peers.program import TINY_TRAINING, run, write_project

KEY = "sk-doctor-process-0123456789"


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """A provider that lists no models."""
    with llm_api() as endpoint:
        yield endpoint


def test_a_project_is_examined_without_a_request_for_money(tmp_path: Path, endpoint: Endpoint) -> None:
    root = write_project(tmp_path / "p", training=TINY_TRAINING.format(epochs=1), base_url=endpoint.base_url)
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    done = run(root, "doctor", extra={"OVERBRAINER_PROVIDERS__HERE__API_KEY": KEY})
    assert done.returncode == 0, done.stdout
    assert "warning  providers.here: it answers, but lists no models" in done.stdout
    assert "ok       trainer: the tiny trainer, with NumPy " in done.stdout
    assert KEY not in done.stdout + done.stderr
    assert done.stderr == ""
    assert endpoint.requests == []
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before


def test_a_server_that_is_not_there_is_a_failure_with_the_next_step(tmp_path: Path) -> None:
    root = write_project(tmp_path / "p")
    done = run(root, "doctor", "--json")
    assert done.returncode == 1
    document = json.loads(done.stdout)
    (found,) = [check for check in document["checks"] if check["name"] == "providers.here"]
    assert found == {
        "name": "providers.here",
        "status": "failure",
        "detail": "request failed: connection refused",
        "next": "look at providers.here.base_url and the network",
    }


def test_a_directory_that_is_no_project_is_left_alone(tmp_path: Path) -> None:
    done = run(tmp_path, "doctor", "--offline")
    assert done.returncode == 1
    assert "run `overbrainer init` to write a project here" in done.stdout
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []
