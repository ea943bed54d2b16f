"""Configuration, prompts and disk: each problem is its own finding with the next step, and nothing is changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from overbrainer_core.flows.doctor_checks.base import Status, Subject
from overbrainer_core.flows.doctor_checks.project import (
    FULL_BYTES,
    TIGHT_BYTES,
    check_disk,
    check_prompts,
    check_python,
    load_project,
    room_check,
)
from overbrainer_core.project.paths import ProjectPaths
from tests.peers.program import write_project

MakeSubject = Callable[..., Subject]


def test_the_interpreter_is_told() -> None:
    check = check_python()
    assert check.status is Status.OK
    assert check.detail.startswith("Python 3.")


def test_a_project_that_loads(tmp_path: Path) -> None:
    checks, loaded = load_project(ProjectPaths(write_project(tmp_path)), {})
    assert [(check.status, check.detail) for check in checks] == [(Status.OK, "overbrainer.toml and .env can be used")]
    assert loaded is not None
    assert loaded[1].project_name == "e2e"


def test_no_project_names_the_next_step(tmp_path: Path) -> None:
    (check,), loaded = load_project(ProjectPaths(tmp_path), {})
    assert loaded is None
    assert check.status is Status.FAILURE
    assert check.detail.startswith("cannot read ")
    assert check.next is not None
    assert check.next.startswith("run `overbrainer init`")


def test_each_problem_is_a_finding(tmp_path: Path) -> None:
    paths = ProjectPaths(write_project(tmp_path))
    text = (
        paths.config.read_text().replace("concurrency = 2", "concurrency = 0").replace("eval_ratio = 0.34", "seed = -1")
    )
    paths.config.write_text(text)
    checks, loaded = load_project(paths, {})
    assert loaded is None
    assert [check.detail.partition(":")[0] for check in checks] == ["pipeline.concurrency", "pipeline.seed"]
    assert {check.status for check in checks} == {Status.FAILURE}


def test_many_problems_are_counted(tmp_path: Path) -> None:
    paths = ProjectPaths(write_project(tmp_path))
    topics = "".join(f'[[topics]]\nname = "t{n}"\nsubtopics = 0\nquestions_per_subtopic = 1\n' for n in range(500))
    paths.config.write_text(paths.config.read_text() + topics)
    checks, _ = load_project(paths, {})
    assert len(checks) == 21
    assert checks[-1].detail == "and 480 more problems"


def test_a_broken_line_of_the_environment_file(tmp_path: Path) -> None:
    paths = ProjectPaths(write_project(tmp_path))
    paths.env.write_text("A=1\nB=hunter2 two\n")
    (check,), loaded = load_project(paths, {})
    assert (check.detail, loaded) == ("cannot parse .env (syntax error at line 2)", None)
    assert check.next is not None


def test_a_newer_format_and_a_linked_state_are_failures(tmp_path: Path) -> None:
    paths = ProjectPaths(write_project(tmp_path))
    paths.version.write_text("99\n")
    (check,), loaded = load_project(paths, {})
    assert (check.status, loaded) == (Status.FAILURE, None)
    assert "newer" in check.detail
    paths.version.unlink()
    paths.version.symlink_to(paths.config)
    (check,), loaded = load_project(paths, {})
    assert (check.status, loaded) == (Status.FAILURE, None)
    assert "refusing to use" in check.detail


def test_deprecated_settings_and_unset_references_are_warnings(tmp_path: Path) -> None:
    paths = ProjectPaths(write_project(tmp_path))
    paths.env.write_text("A=${NOPE}\n")
    checks, _ = load_project(paths, {})
    assert [check.status for check in checks] == [Status.OK, Status.WARNING]
    assert "${NOPE}" in checks[1].detail


async def test_the_built_in_prompts_render(subject: MakeSubject) -> None:
    examined = subject('[[topics]]\nname = "tea"\nsubtopics = 1\nquestions_per_subtopic = 1\n')
    assert (await check_prompts(examined.paths, examined.settings)).status is Status.OK
    assert (await check_prompts(examined.paths, subject().settings)).status is Status.OK


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("questions.txt", "{% if %}", "invalid template questions.txt"),
        ("judge.txt", "{{ nope }}", "cannot render template judge.txt: 'nope' is undefined"),
        ("answer_system.txt", "{{ description.upper() }}", "cannot render template answer_system.txt"),
    ],
)
async def test_a_prompt_that_cannot_be_used(subject: MakeSubject, name: str, text: str, words: str) -> None:
    examined = subject()
    examined.paths.prompts.mkdir()
    (examined.paths.prompts / name).write_text(text)
    check = await check_prompts(examined.paths, examined.settings)
    assert check.status is Status.FAILURE
    assert check.detail.startswith(words)
    assert check.next == "correct the file in prompts/, or delete it to use the built-in one"


async def test_the_disk_is_told(tmp_path: Path) -> None:
    check = await check_disk(ProjectPaths(tmp_path))
    assert check.detail.endswith(" free for the project") or check.status is Status.FAILURE


async def test_a_directory_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = await check_disk(ProjectPaths(tmp_path / "missing"))
    assert missing.status is Status.FAILURE
    assert missing.detail.endswith("No such file or directory")
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    assert (await check_disk(ProjectPaths(tmp_path))).detail == "the project's directory cannot be written to"


@pytest.mark.parametrize(
    ("free", "status"),
    [(FULL_BYTES - 1, Status.FAILURE), (TIGHT_BYTES - 1, Status.WARNING), (TIGHT_BYTES, Status.OK)],
)
def test_how_much_room_will_do(free: int, status: Status) -> None:
    check = room_check("disk", free, tight_bytes=TIGHT_BYTES, where="for the project")
    assert check.status is status
    assert (check.next is None) == (status is Status.OK)
