"""The demo project is written once, found again, and its newest run decides what comes next."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from overbrainer_core.clock import parse_rfc3339
from overbrainer_core.config.env import read_environment
from overbrainer_core.config.load import load_settings
from overbrainer_core.errors import ConfigError
from overbrainer_core.flows.demo import (
    DemoStep,
    Finished,
    Follow,
    MissingNumpyError,
    Start,
    demo_root,
    next_step,
    prepare_demo,
)
from overbrainer_core.project.format import read_format
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.record import RunRecord, RunState, Snapshot, save_run


def test_a_new_demo_is_a_whole_project_with_a_private_env_file(tmp_path: Path) -> None:
    project = prepare_demo(tmp_path / "demo")
    paths = ProjectPaths(project.root)
    assert project.is_new
    assert paths.env.stat().st_mode & 0o777 == 0o600
    assert paths.demo.read_text() == "1\n"
    assert read_format(paths) == 1
    assert "errs on purpose" in (project.root / "README.md").read_text()
    settings = load_settings(paths, read_environment(paths, {}))
    assert settings.providers["demo"].base_url == "demo:"
    assert [topic.subtopics for topic in settings.topics] == [8, 8, 4]


def test_the_demo_goes_on_in_the_directory_of_one(tmp_path: Path) -> None:
    assert demo_root(tmp_path, None) == tmp_path / "overbrainer-demo"
    assert demo_root(tmp_path, "d") == tmp_path / "d"
    root = prepare_demo(demo_root(tmp_path, None)).root
    assert demo_root(root, None) == root
    assert demo_root(root, "d") == root / "d"


def test_an_existing_demo_is_found_and_nothing_in_it_rewritten(tmp_path: Path) -> None:
    root = prepare_demo(tmp_path / "demo").root
    (root / "overbrainer.toml").write_text("changed")
    assert not prepare_demo(root).is_new
    assert (root / "overbrainer.toml").read_text() == "changed"


@pytest.mark.parametrize("written", range(1, 12))
def test_a_demo_whose_writing_was_killed_is_finished(tmp_path: Path, written: int) -> None:
    whole, root = prepare_demo(tmp_path / "whole").root, tmp_path / "demo"
    names: tuple[str, ...] = (
        ".overbrainer/demo",
        "prompts/subtopics.txt",
        "prompts/questions.txt",
        "prompts/answer_system.txt",
    )
    names += ("prompts/judge.txt", "README.md", ".env", "overbrainer.toml", ".gitignore")
    for name in names[:written]:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes((whole / name).read_bytes())
    if 1 < written <= len(names):
        (root / names[written - 1]).write_bytes(b"")
    prepare_demo(root)
    for path in whole.rglob("*"):
        if path.is_file():
            assert (root / path.relative_to(whole)).read_bytes() == path.read_bytes()


def test_an_empty_directory_is_used(tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    assert prepare_demo(tmp_path / "demo").is_new


def test_another_directory_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match="is not empty and holds no demo"):
        prepare_demo(tmp_path)
    with pytest.raises(ConfigError, match="is not empty and holds no demo"):
        prepare_demo(tmp_path / "notes.txt")
    assert [entry.name for entry in tmp_path.iterdir()] == ["notes.txt"]


def test_without_numpy_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingNumpyError) as caught:
        prepare_demo(tmp_path / "demo")
    assert str(caught.value) == "the demo needs NumPy: run `pip install 'overbrainer[demo]'`"
    assert not (tmp_path / "demo").exists()


SNAPSHOT = Snapshot(checkpoint="output/checkpoint-5", step=5, reason="requested")


@pytest.mark.parametrize(
    ("state", "snapshot", "step"),
    [
        (RunState.RUNNING, None, Follow(run_id="new_1")),
        (RunState.SUCCEEDED, None, Finished(run_id="new_1")),
        (RunState.STOPPED, SNAPSHOT, Start(resume_from="new_1")),
        (RunState.STOPPED, None, Start()),
        (RunState.FAILED, None, Start()),
        (RunState.CANCELLED, None, Start()),
        (RunState.PREPARING, None, Start()),
    ],
)
def test_the_newest_run_decides(tmp_path: Path, state: RunState, snapshot: Snapshot | None, step: DemoStep) -> None:
    paths = ProjectPaths(tmp_path)
    for run_id, created, run_state in (
        ("old_1", "2026-11-01T00:00:00Z", RunState.SUCCEEDED),
        ("new_1", "2026-11-02T00:00:00Z", state),
    ):
        paths.run(run_id).mkdir(parents=True)
        save_run(
            paths,
            RunRecord(
                id=run_id,
                target="local",
                created=parse_rfc3339(created),
                remote_dir="/r",
                state=run_state,
                snapshot=snapshot if run_id == "new_1" else None,
            ),
        )
    assert next_step(paths) == step


def test_without_a_run_one_starts(tmp_path: Path) -> None:
    assert next_step(ProjectPaths(tmp_path)) == Start()
