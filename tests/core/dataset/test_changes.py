"""Edits under trouble: files that change meanwhile, a full disk, a kill between two renames, any order of edits."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overbrainer_core.dataset import staging
from overbrainer_core.dataset.changes import EditRefusedError, counted
from overbrainer_core.dataset.edits import AnswerText, Delete, Edit, EditAnswer, EditQuestion, make_edit
from overbrainer_core.dataset.ids import question_id, subtopic_id
from overbrainer_core.dataset.removals import (
    DeleteAnswer,
    DeleteLostQuestions,
    DeleteQuestion,
    DeleteSubtopic,
    Removal,
    removal_of,
)
from overbrainer_core.dataset.rename import RenameSubtopic
from overbrainer_core.dataset.store import read_answers, read_questions, read_rejected, read_subtopics
from overbrainer_core.files import FileAccessError
from overbrainer_core.project.paths import ProjectPaths

BREWING = subtopic_id("tea", "Brewing")
HOT = question_id(BREWING, "How hot is it?")
RENAME = RenameSubtopic(id=BREWING, shown="Brewing", name="Making it")


def test_a_file_that_changes_between_reading_and_writing_refuses_the_edit(
    tea: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = staging.remove_leftovers

    def meanwhile(paths: Any) -> None:
        real(paths)
        tea.question("Cups", "What are they made of?")

    monkeypatch.setattr("overbrainer_core.dataset.changes.remove_leftovers", meanwhile)
    with pytest.raises(EditRefusedError, match="changed on disk") as caught:
        make_edit(tea.paths, RENAME)
    assert caught.value.is_stale
    assert tea.records("questions")[-1]["text"] == "What are they made of?"
    assert tea.records("subtopics")[0]["name"] == "Brewing"
    assert not [name for name in tea.content() if name.endswith(".tmp")]


def test_an_edit_that_cannot_be_written_changes_nothing(tea: Any) -> None:
    (tea.paths.data / ".answers.jsonl.staged.tmp").mkdir()
    before = {path: path.read_bytes() for path in tea.paths.data.glob("*.jsonl")}
    with pytest.raises(FileAccessError):
        make_edit(tea.paths, RENAME)
    assert {path: path.read_bytes() for path in tea.paths.data.glob("*.jsonl")} == before
    assert [path.name for path in tea.paths.data.glob(".*")] == [".answers.jsonl.staged.tmp"]


KILLED = """
import os, signal, sys
from pathlib import Path
from overbrainer_core.dataset import staging
from overbrainer_core.dataset.edits import Delete, make_edit
from overbrainer_core.dataset.removals import DeleteSubtopic, removal_of
from overbrainer_core.dataset.rename import RenameSubtopic
from overbrainer_core.project.paths import ProjectPaths

paths, kind, left, subtopic = ProjectPaths(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3]), sys.argv[4]
real = os.replace

def replace(source, target):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    real(source, target)

staging.os.replace = replace
if kind == "rename":
    make_edit(paths, RenameSubtopic(id=subtopic, shown="Brewing", name="Making it"))
else:
    what = DeleteSubtopic(id=subtopic)
    make_edit(paths, Delete(what=what, confirmed=removal_of(paths, what)))
"""


@pytest.mark.parametrize(("kind", "renames"), [("rename", 4), ("delete", 3)])
def test_a_kill_between_two_renames_leaves_whole_files_in_a_harmless_order(
    tea: Any, tmp_path: Path, repository: Path, kind: str, renames: int
) -> None:
    tea.rejected_question("Brewing", "Is it wet?")
    before = tea.content()
    order = ["rejected.jsonl", "subtopics.jsonl", "questions.jsonl", "answers.jsonl"]
    whole = killed(tea.paths, tmp_path / "whole", repository, kind=kind, at=renames)
    assert whole.returncode == 0
    after = contents(tmp_path / "whole")
    for at in range(renames):
        root = tmp_path / f"cut{at}"
        assert killed(tea.paths, root, repository, kind=kind, at=at).returncode == -9
        cut = contents(root)
        new = [name for name in order if cut[name] == after[name] != before[name]]
        assert new == [name for name in order if before[name] != after[name]][: len(new)]
        assert len(new) == at + (kind == "delete")
        assert all(cut[name] in (before[name], after[name]) for name in order)
        paths = ProjectPaths(root)
        read_subtopics(paths.subtopics), read_questions(paths.questions), read_answers(paths.answers)
        assert read_rejected(paths.rejected)
        left = Delete(what=DeleteQuestion(id=tea.ids("questions")[3]), confirmed=Removal(questions=1, answers=1))
        make_edit(paths, left)
        assert not list(paths.data.glob(".*"))


def killed(
    paths: ProjectPaths, root: Path, repository: Path, *, kind: str, at: int
) -> subprocess.CompletedProcess[bytes]:
    """Make an edit on a copy in a process that dies before the rename of that number."""
    shutil.copytree(paths.data, root / "data")
    return subprocess.run(
        [sys.executable, "-c", KILLED, str(root), kind, str(at), BREWING],
        cwd=repository,
        env={"PYTHONPATH": str(repository)},
        capture_output=True,
        check=False,
    )


def contents(root: Path) -> dict[str, bytes]:
    """The data files of a project, temporary ones left out."""
    return {path.name: path.read_bytes() for path in (root / "data").glob("*.jsonl")}


NAMES = st.sampled_from(["Brewing", "brewing ", "Cups", "Leaves", "Water", "Other"])
TEXTS = st.sampled_from(["How hot?", "how  HOT?", "How long?", "Why?", "Who?", "Where?"])


@st.composite
def edits(draw: st.DrawFn, tea: Any) -> Edit:
    """Any edit of what is there; now and then of what is not."""
    subtopics, questions, answers = tea.records("subtopics"), tea.records("questions"), tea.records("answers")
    gone = {"id": "0" * 32, "name": "x", "text": "x", "messages": [{"role": "assistant", "content": "x"}]}
    subtopic = draw(st.sampled_from([*subtopics, gone]))
    question = draw(st.sampled_from([*questions, gone]))
    answer = draw(st.sampled_from([*answers, gone]))
    shown = answer["messages"][-1]
    made: Any = draw(
        st.sampled_from(
            [
                lambda: EditQuestion(id=question["id"], shown=question["text"], text=draw(TEXTS)),
                lambda: RenameSubtopic(id=subtopic["id"], shown=subtopic["name"], name=draw(NAMES)),
                lambda: EditAnswer(
                    id=answer["id"],
                    shown=AnswerText(content=shown["content"], reasoning=shown.get("reasoning_content")),
                    text=AnswerText(content=draw(TEXTS), reasoning=draw(st.none() | TEXTS)),
                ),
                *[
                    lambda what=what: Delete(what=what, confirmed=_now(tea.paths, what))
                    for what in (
                        DeleteSubtopic(id=subtopic["id"]),
                        DeleteQuestion(id=question["id"]),
                        DeleteAnswer(id=answer["id"]),
                        DeleteLostQuestions(topic="tea"),
                    )
                ],
            ]
        )
    )
    edit: Edit = made()
    return edit


def _now(paths: ProjectPaths, what: Any) -> Removal:
    try:
        return removal_of(paths, what)
    except EditRefusedError:
        return Removal()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_after_any_edits_every_id_is_right_and_nothing_is_there_twice(data: st.DataObject, tea: Any) -> None:
    shutil.rmtree(tea.paths.data)
    tea.paths.data.mkdir()
    for subtopic in ("Brewing", "Cups"):
        tea.subtopic(subtopic)
        for text in ("How hot?", "Why?"):
            tea.answered(subtopic, text)
    tea.question("Lost", "Who?")
    for _ in range(data.draw(st.integers(1, 6))):
        edit = data.draw(edits(tea))
        before = tea.content()
        try:
            make_edit(tea.paths, edit)
        except EditRefusedError:
            assert tea.content() == before
    check_consistency(tea)


def check_consistency(tea: Any) -> None:
    """IDs are those of the texts, and each answer belongs to its question."""
    questions = {record["id"]: record for record in tea.records("questions")}
    for record in tea.records("subtopics"):
        assert record["id"] == subtopic_id("tea", record["name"])
    for record in questions.values():
        assert record["id"] == question_id(record["subtopic_id"], record["text"])
        assert record["subtopic_id"] == subtopic_id("tea", record["subtopic"])
    for record in tea.records("answers"):
        question = questions[record["id"]]
        assert record["subtopic"] == question["subtopic"]
        assert record["messages"][0]["content"] == question["text"]
    for name in ("subtopics", "questions", "answers"):
        assert len(set(tea.ids(name))) == len(tea.ids(name))
    assert not [name for name in tea.content() if name.startswith(".")]


def test_counts_have_their_noun() -> None:
    assert counted(2, "question") == "2 questions"
