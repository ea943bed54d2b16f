"""How is a person's change to the dataset made while others may work on the project?

Under the project's lock, on freshly read files, beside the event loop and to its end: a caller that is cancelled leaves
a whole edit or none. The front end refuses edits while a stage of its own runs, and splits anew after one.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, nullcontext

from overbrainer_core.aio.tasks import run_to_end
from overbrainer_core.dataset.changes import EditOutcome
from overbrainer_core.dataset.edits import Edit, make_edit
from overbrainer_core.dataset.removals import Deletion, Removal, removal_of
from overbrainer_core.flows.report import Report
from overbrainer_core.flows.session import Session
from overbrainer_core.project.format import check_writable
from overbrainer_core.project.lock import acquire_lock


async def edit_dataset(session: Session, edit: Edit, *, report: Report) -> EditOutcome:
    """Make an edit and tell what it did.

    Raises:
        LockedError: another process writes to the project.
        EditRefusedError: it cannot be made; when `is_stale`, the dataset is not what the person saw.
        OverbrainerError: a data file cannot be used; nothing was changed.
    """
    outcome = await run_to_end(asyncio.to_thread(_edit, session, edit), name="edit")
    report.result(outcome.line)
    return outcome


def _edit(session: Session, edit: Edit) -> EditOutcome:
    with _lock(session):
        return make_edit(session.paths, edit)


def _lock(session: Session) -> AbstractContextManager[object]:
    """The project's lock, which a session that writes holds already."""
    if session.is_locked:
        return nullcontext()
    check_writable(session.paths)
    return acquire_lock(session.paths)


async def ask_removal(session: Session, deletion: Deletion) -> Removal:
    """How many questions and answers a deletion would take, for the question before it.

    Raises:
        EditRefusedError: there is nothing to delete.
        ProjectFileError: a data file cannot be read.
    """
    return await asyncio.to_thread(removal_of, session.paths, deletion)
