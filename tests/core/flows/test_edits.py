"""An edit is made under the project's lock, to its end, and told in a line."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from overbrainer_core.dataset.changes import Changes
from overbrainer_core.dataset.edits import Delete, EditQuestion
from overbrainer_core.dataset.ids import question_id, subtopic_id
from overbrainer_core.dataset.records import Question
from overbrainer_core.dataset.removals import DeleteQuestion, Removal
from overbrainer_core.dataset.store import Appender, read_questions, read_rejected
from overbrainer_core.errors import ConfigError, LockedError
from overbrainer_core.flows.edits import ask_removal, edit_dataset
from overbrainer_core.project.lock import acquire_lock

SUBTOPIC = subtopic_id("tea", "Brewing")
OLD, NEW = question_id(SUBTOPIC, "Old?"), question_id(SUBTOPIC, "New?")
EDIT = EditQuestion(id=OLD, shown="Old?", text="New?")


@pytest.fixture
def project(stage_project: Any) -> Any:
    """A project with one question."""
    with Appender[Question](stage_project.paths.questions) as appender:
        appender.append(Question(id=OLD, topic="tea", subtopic_id=SUBTOPIC, subtopic="Brewing", text="Old?"))
    return stage_project


def ids(project: Any) -> list[str]:
    """The IDs of the stored questions."""
    return [question.id for question in read_questions(project.paths.questions)]


async def test_an_edit_is_written_and_told(project: Any) -> None:
    outcome = await edit_dataset(project.session, EDIT, report=project.report)
    assert project.report.results == [outcome.line] == ["question changed; it waits for `answers`"]
    assert ids(project) == [NEW]
    with acquire_lock(project.paths):
        pass


async def test_another_process_keeps_an_edit_out(project: Any) -> None:
    with acquire_lock(project.paths), pytest.raises(LockedError):
        await edit_dataset(project.session, EDIT, report=project.report)
    assert ids(project) == [OLD]


async def test_a_session_that_holds_the_lock_edits_under_it(project: Any) -> None:
    session = project.session
    session.is_locked = True
    with acquire_lock(project.paths):
        await edit_dataset(session, EDIT, report=project.report)
    assert ids(project) == [NEW]


async def test_a_project_of_a_newer_format_is_not_edited(project: Any) -> None:
    project.paths.state.mkdir()
    project.paths.version.write_text("2\n")
    with pytest.raises(ConfigError, match="format 2"):
        await edit_dataset(project.session, EDIT, report=project.report)
    assert ids(project) == [OLD]


async def test_what_a_deletion_takes_is_asked_first(project: Any) -> None:
    what = DeleteQuestion(id=OLD)
    removal = await ask_removal(project.session, what)
    assert removal == Removal(questions=1)
    await edit_dataset(project.session, Delete(what=what, confirmed=removal), report=project.report)
    assert ids(project) == []
    assert [record.id for record in read_rejected(project.paths.rejected)] == [OLD]


async def test_a_cancelled_edit_is_made_to_its_end(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Changes.write
    began = asyncio.Event()
    loop = asyncio.get_running_loop()

    def write(changes: Any) -> None:
        loop.call_soon_threadsafe(began.set)
        real(changes)

    monkeypatch.setattr(Changes, "write", write)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(edit_dataset(project.session, EDIT, report=project.report))
        await began.wait()
        task.cancel()
    assert task.cancelled()
    assert ids(project) == [NEW]
    with acquire_lock(project.paths):
        pass
