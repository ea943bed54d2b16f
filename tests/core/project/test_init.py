"""A new project: every file or none, `.gitignore` merged, the version last."""

from __future__ import annotations

import json
import logging
import os
import re
import stat
from pathlib import Path

import jinja2
import jinja2.meta
import jinja2.sandbox
import pytest

from overbrainer_core import files
from overbrainer_core.assets import template
from overbrainer_core.config.env import Environment
from overbrainer_core.config.load import load_settings
from overbrainer_core.errors import ConfigError, OverbrainerError, describe
from overbrainer_core.files import UnsafePathError
from overbrainer_core.project import init as project_init
from overbrainer_core.project.init import init_project, write_new_project
from overbrainer_core.project.paths import ProjectPaths

NAMES = [
    "overbrainer.toml",
    ".env.example",
    "prompts/subtopics.txt",
    "prompts/questions.txt",
    "prompts/answer_system.txt",
    "prompts/judge.txt",
    ".gitignore",
    ".overbrainer/version",
]
IGNORED = [".env", "/data/", "/runs/", "/.overbrainer/"]


def tree(root: Path) -> dict[str, str]:
    """Every path under `root` with its text, directories with an empty one."""
    return {str(path.relative_to(root)): path.read_text() if path.is_file() else "" for path in sorted(root.rglob("*"))}


def test_a_new_project_has_these_files_and_loads(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    root = tmp_path / "deep" / "project"
    with caplog.at_level(logging.INFO, logger="overbrainer"):
        result = init_project(root)
    assert list(result.created) == [root / name for name in NAMES]
    assert [record.getMessage() for record in caplog.records] == [f"created {root / name}" for name in NAMES]
    assert (root / ".gitignore").read_text().split("\n") == [*IGNORED, ""]
    assert (root / ".overbrainer/version").read_text() == "1\n"
    assert (root / "overbrainer.toml").read_text() == template("overbrainer.toml")
    assert not (root / ".env").exists()
    assert load_settings(ProjectPaths(root), Environment(values={})).project_name == "my_project"


@pytest.mark.parametrize("name", NAMES[:6])
@pytest.mark.parametrize("kind", ["file", "directory", "dangling link"])
def test_an_existing_file_refuses_all_of_it(tmp_path: Path, name: str, kind: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    if kind == "file":
        path.write_text("mine")
    elif kind == "directory":
        path.mkdir()
    else:
        path.symlink_to(tmp_path / "nowhere")
    before = sorted(os.walk(tmp_path))
    with pytest.raises(ConfigError) as caught:
        init_project(tmp_path)
    assert str(caught.value) == f"{path} already exists"
    assert sorted(os.walk(tmp_path)) == before


def test_running_again_is_refused(tmp_path: Path) -> None:
    init_project(tmp_path)
    before = tree(tmp_path)
    with pytest.raises(ConfigError, match=r"overbrainer\.toml already exists$"):
        init_project(tmp_path)
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("before", "after", "added"),
    [
        ("x\n", "x\n.env\n/data/\n/runs/\n/.overbrainer/\n", IGNORED),
        ("x", "x\n.env\n/data/\n/runs/\n/.overbrainer/\n", IGNORED),
        ("", ".env\n/data/\n/runs/\n/.overbrainer/\n", IGNORED),
        ("/runs/\n  .env  \n", "/runs/\n  .env  \n/data/\n/.overbrainer/\n", ["/data/", "/.overbrainer/"]),
        (".env\r\n/data/\r\n/runs/\r\n/.overbrainer/", ".env\r\n/data/\r\n/runs/\r\n/.overbrainer/", []),
    ],
)
def test_an_existing_gitignore_gets_what_it_lacks(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, before: str, after: str, added: list[str]
) -> None:
    path = tmp_path / ".gitignore"
    path.write_bytes(before.encode())
    with caplog.at_level(logging.INFO, logger="overbrainer"):
        result = init_project(tmp_path)
    assert path.read_bytes() == after.encode()
    assert list(result.gitignore_added) == added
    assert path not in result.created
    told = [record.getMessage() for record in caplog.records if record.getMessage().startswith("added")]
    assert told == ([f"added {', '.join(added)} to {path}"] if added else [])


def test_a_gitignore_that_is_not_utf8_is_kept(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_bytes(b"\xff\n.env")
    init_project(tmp_path)
    assert (tmp_path / ".gitignore").read_bytes() == b"\xff\n.env\n/data/\n/runs/\n/.overbrainer/\n"


@pytest.mark.parametrize("name", [".gitignore", ".overbrainer/version", ".overbrainer"])
def test_links_in_the_place_of_our_files_are_refused_before_anything(tmp_path: Path, name: str) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / name).parent.mkdir(parents=True)
    outside.write_text("mine")
    (root / name).symlink_to(outside)
    with pytest.raises(UnsafePathError) as caught:
        init_project(root)
    assert str(caught.value) == f"refusing to use {root / name}: it is not a safe path"
    assert outside.read_text() == "mine"
    assert not (root / "overbrainer.toml").is_symlink()
    assert not (root / "prompts").exists()


def test_a_fifo_in_the_place_of_gitignore_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".gitignore")
    with pytest.raises(UnsafePathError):
        init_project(tmp_path)


def test_a_file_in_the_place_of_a_directory_is_told(tmp_path: Path) -> None:
    (tmp_path / "prompts").write_text("")
    with pytest.raises(ConfigError, match=r"prompts is not a directory$"):
        init_project(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"file is not a directory$"):
        init_project(tmp_path / "file")
    with pytest.raises(ConfigError) as caught:
        init_project(tmp_path / "file" / "below")
    assert describe(caught.value).startswith(f"cannot create {tmp_path / 'file' / 'below'}: ")


def test_a_version_of_before_is_replaced(tmp_path: Path) -> None:
    (tmp_path / ".overbrainer").mkdir()
    (tmp_path / ".overbrainer/version").write_text("garbage")
    init_project(tmp_path)
    assert (tmp_path / ".overbrainer/version").read_text() == "1\n"


@pytest.mark.parametrize("failing", range(1, 8))
def test_a_failed_write_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int) -> None:
    count = 0

    def full_disk(path: Path, content: bytes, *, mode: int = 0o666) -> None:
        nonlocal count
        count += 1
        if count == failing:
            raise OSError(28, "No space left on device")
        files.create_exclusive(path, content, mode=mode)

    monkeypatch.setattr(project_init, "create_exclusive", full_disk)
    root = tmp_path / "new" / "project"
    with pytest.raises(ConfigError) as caught:
        init_project(root)
    assert describe(caught.value) == f"cannot write {root / NAMES[failing - 1]}: No space left on device"
    assert not (tmp_path / "new").exists()
    monkeypatch.undo()
    assert len(init_project(root).created) == len(NAMES)


def test_a_failed_version_takes_the_gitignore_back_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".gitignore").write_text("x")

    def fail(paths: ProjectPaths) -> None:
        raise files.FileAccessError(paths.version) from OSError(28, "No space left on device")

    monkeypatch.setattr(project_init, "write_format", fail)
    with pytest.raises(OverbrainerError, match="version"):
        init_project(tmp_path)
    assert tree(tmp_path) == {".gitignore": "x"}


def test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def appear(path: Path, content: bytes, *, mode: int = 0o666) -> None:
        if path.name == ".env.example":
            path.write_text("mine")
        files.create_exclusive(path, content, mode=mode)

    monkeypatch.setattr(project_init, "create_exclusive", appear)
    with pytest.raises(ConfigError, match=r"\.env\.example already exists$"):
        init_project(tmp_path)
    assert tree(tmp_path) == {".env.example": "mine"}


def test_permissions_are_the_umasks_and_a_secret_file_is_its_owners_alone(tmp_path: Path) -> None:
    old = os.umask(0o022)
    try:
        result = write_new_project(
            tmp_path / "demo",
            {"overbrainer.toml": ("a", 0o666), ".env": ("A=1\n", 0o600), ".overbrainer/demo": ("1\n", 0o666)},
        )
    finally:
        os.umask(old)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in result.created}
    assert modes == {"overbrainer.toml": 0o644, ".env": 0o600, "demo": 0o644, ".gitignore": 0o644, "version": 0o644}
    assert [path.name for path in result.created] == ["overbrainer.toml", ".env", "demo", ".gitignore", "version"]


# Prompt templates


def render(name: str, **variables: object) -> str:
    """A prompt template as the pipeline renders it."""
    environment = jinja2.sandbox.SandboxedEnvironment(undefined=jinja2.StrictUndefined)
    return environment.from_string(template(f"prompts/{name}.txt")).render(**variables)


def bullets(text: str) -> list[str]:
    """The lines of a prompt that list a name or a question."""
    return [line.removeprefix("- ") for line in text.split("\n") if line.startswith("- ")]


@pytest.mark.parametrize("description", [None, "D 12 of \u4e2d"])
def test_the_prompt_for_subtopics(description: str | None) -> None:
    text = render("subtopics", topic="T", description=description, count=7, existing=["a & b", "c"])
    assert bullets(text) == ["a & b", "c"]
    assert (description or "T") in text
    assert "Reply with a JSON array of 7 strings and nothing else." in text
    assert not text.endswith("\n")
    outside = "\n".join(line for line in text.split("\n") if not line.startswith("- "))
    assert re.search(r"\d+", outside.partition("\n")[0]) is not None
    assert re.findall(r"\d+", outside)[0] == "7"
    assert "\n\n\n" not in text


def test_the_prompt_for_subtopics_renders_where_nothing_is_known_of_existing_ones() -> None:
    text = render("subtopics", topic="T", description=None, count=7)
    assert bullets(text) == []
    assert "exist already" not in text
    assert text == render("subtopics", topic="T", description=None, count=7, existing=[])


def test_the_prompt_for_questions() -> None:
    text = render("questions", topic="T", description="D", subtopic="S", count=3, accepted=["1. Why?", "How?"])
    assert bullets(text) == ["1. Why?", "How?"]
    assert re.findall(r"\d+", text)[0] == "3"
    assert all(part in text for part in ('"T"', '"S"', "D"))
    assert bullets(render("questions", topic="T", description=None, subtopic="S", count=3, accepted=[])) == []


def test_the_prompt_for_answers() -> None:
    with_description = render("answer_system", topic="T", description="D")
    assert with_description.startswith("You are an expert in T. The field covers: D.\n\n")
    assert "None" not in render("answer_system", topic="T", description=None)


def test_the_prompt_for_the_judge() -> None:
    text = render("judge", question="Why?", answer_a="one {{ x }}", answer_b="")
    assert "\n\nQuestion:\nWhy?\n\nAnswer A:\none {{ x }}\n\nAnswer B:\n" in text
    reply = json.loads(text.rpartition("\n")[2])
    assert set(reply) == {"verdict", "reason"}
    assert all(word in text for word in ('"A"', '"B"', '"tie"'))


def test_every_variable_is_one_the_pipeline_gives() -> None:
    known = {
        "subtopics": {"topic", "description", "count", "existing"},
        "questions": {"topic", "description", "subtopic", "count", "accepted"},
        "answer_system": {"topic", "description"},
        "judge": {"question", "answer_a", "answer_b"},
    }
    for name, variables in known.items():
        tree = jinja2.Environment(autoescape=False).parse(template(f"prompts/{name}.txt"))
        assert jinja2.meta.find_undeclared_variables(tree) == variables
