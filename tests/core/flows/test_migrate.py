"""Old projects come up to date once, completely, and keep what a person wrote."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from overbrainer_core import assets
from overbrainer_core.config.exchange import SaveRefusedError
from overbrainer_core.config.load import NO_PROJECT
from overbrainer_core.dataset.records import AnswerMeta, Example, Message, MessageRole
from overbrainer_core.dataset.store import InvalidRecordError, encode_line
from overbrainer_core.errors import ConfigError, LockedError, describe
from overbrainer_core.files import UnsafePathError
from overbrainer_core.flows.migrate import migrate
from overbrainer_core.flows.report import CollectedReport
from overbrainer_core.history import EntryStatus, append_entry, read_history, stage_entry
from overbrainer_core.project.format import read_format
from overbrainer_core.project.init import init_project
from overbrainer_core.project.lock import acquire_lock
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.values.completion import FinishReason, ReasoningKind
from overbrainer_core.values.stage import Exclusion, Stage, StageStats

MODIFIED = 1_700_000_000
"""2023-11-14T22:13:20Z."""
CONFIG = """\
[project]
name = "p"

[training]
target = "x" # where
# pushed since spring
hub_model_id = "me/child" # mine
adapter = "lora"
"""
HUB_MOVED = 'training.hub_model_id to [hub] repo = "me/child" (private, after_training)'
ADDED, VERSION = "added /.overbrainer/ to .gitignore", "wrote .overbrainer/version: format 1"
BACKFILLED = [
    "backfilled the answers history of a/model: 1 answer(s), 1 excluded; tokens 30 in, 300 out",
    "backfilled the answers history of b/model: 1 answer(s), 0 excluded; tokens 10 in, 100 out",
]


@pytest.fixture
def paths(tmp_path: Path) -> ProjectPaths:
    """An old project: settings with the old key, a `.gitignore` without the state directory, answers, no version."""
    paths = ProjectPaths(tmp_path)
    paths.config.write_text(CONFIG)
    paths.gitignore.write_text(".env\n/data/")
    paths.data.mkdir()
    answers = [
        answer("1", "b/model", None, 10, 100),
        answer("2", "a/model", None, 10, 100),
        answer("3", "a/model", Exclusion.EMPTY, 20, 200),
    ]
    paths.answers.write_bytes(b"".join(encode_line(item) for item in answers))
    os.utime(paths.answers, (MODIFIED, MODIFIED))
    return paths


def answer(name: str, model: str, excluded: Exclusion | None, tokens_in: int, tokens_out: int) -> Example:
    """A stored answer."""
    return Example(
        id=name * 32,
        topic="t",
        subtopic="s",
        messages=(
            Message(role=MessageRole.USER, content="q"),
            Message(role=MessageRole.ASSISTANT, content="a"),
        ),
        meta=AnswerMeta(
            model=model,
            input_tokens=tokens_in,
            output_tokens=tokens_out,
            finish_reason=FinishReason.STOP,
            reasoning_kind=ReasoningKind.NONE,
            excluded=excluded,
        ),
    )


def lines(paths: ProjectPaths, *, dry_run: bool = False) -> list[str]:
    """What one migration says."""
    report = CollectedReport()
    migrate(paths.root, report, dry_run=dry_run)
    assert (report.notes, report.warnings) == ([], [])
    return report.results


def content(paths: ProjectPaths) -> dict[str, bytes]:
    """Every file of the project but the lock."""
    files = (path for path in paths.root.rglob("*") if path.is_file() and path != paths.lock)
    return {path.relative_to(paths.root).as_posix(): path.read_bytes() for path in files}


def test_everything_is_done_once_and_told_in_order(paths: ProjectPaths) -> None:
    assert lines(paths) == [f"moved {HUB_MOVED}", ADDED, *BACKFILLED, VERSION]
    assert read_format(paths) == 1
    assert paths.gitignore.read_text() == ".env\n/data/\n/.overbrainer/\n"
    after = content(paths)
    assert lines(paths) == ["nothing to migrate"]
    assert content(paths) == after


def test_a_dry_run_says_the_same_and_writes_nothing(paths: ProjectPaths) -> None:
    before = content(paths)
    assert lines(paths, dry_run=True) == [
        f"would move {HUB_MOVED}",
        "would add /.overbrainer/ to .gitignore",
        *(line.replace("backfilled", "would backfill") for line in BACKFILLED),
        "would write .overbrainer/version: format 1",
    ]
    assert content(paths) == before


def test_a_new_project_has_nothing_to_migrate(tmp_path: Path) -> None:
    init_project(tmp_path)
    before = content(ProjectPaths(tmp_path))
    assert lines(ProjectPaths(tmp_path)) == ["nothing to migrate"]
    assert content(ProjectPaths(tmp_path)) == before


def test_the_lock_is_taken_by_a_dry_run_too(paths: ProjectPaths) -> None:
    with acquire_lock(paths), pytest.raises(LockedError):
        lines(paths, dry_run=True)


def test_what_is_no_project_is_left_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        lines(ProjectPaths(tmp_path))
    assert describe(raised.value) == f"cannot read {tmp_path}/overbrainer.toml: No such file or directory{NO_PROJECT}"
    assert os.listdir(tmp_path) == []
    (tmp_path / "overbrainer.toml").mkdir()
    with pytest.raises(ConfigError, match="it is not a regular file"):
        lines(ProjectPaths(tmp_path))


def test_a_newer_project_is_refused(paths: ProjectPaths) -> None:
    paths.state.mkdir()
    paths.version.write_text("2\n")
    with pytest.raises(ConfigError, match="uses format 2, newer than the format 1"):
        lines(paths)


@pytest.mark.parametrize("text", ["soon\n", "9" * 40])
def test_a_version_that_holds_no_number_is_an_error(paths: ProjectPaths, text: str) -> None:
    paths.state.mkdir()
    paths.version.write_text(text)
    with pytest.raises(ConfigError, match="holds no format number"):
        lines(paths)


def test_the_comment_of_the_old_key_goes_with_it_and_the_one_above_stays(paths: ProjectPaths) -> None:
    lines(paths)
    assert paths.config.read_text() == (
        '[project]\nname = "p"\n\n[training]\ntarget = "x" # where\n# pushed since spring\nadapter = "lora"\n\n'
        '[hub]\nrepo = "me/child" # mine\nprivate = true\nafter_training = true\n'
    )


def test_a_repo_of_ones_own_survives(paths: ProjectPaths) -> None:
    paths.config.write_text(f'{CONFIG}\n[hub]\nrepo = "me/other"\nprivate = false # open\n')
    found = lines(paths)
    assert found[:2] == [
        'kept [hub] repo = "me/other"; dropped training.hub_model_id = "me/child"',
        "removed training.hub_model_id (after_training)",
    ]
    assert paths.config.read_text().endswith(
        '\n[hub]\nrepo = "me/other"\nprivate = false # open\nafter_training = true\n'
    )


def test_the_old_key_moves_at_any_format_and_in_any_layout(tmp_path: Path) -> None:
    init_project(tmp_path)
    paths = ProjectPaths(tmp_path)
    paths.config.write_text(
        'training = { target = "x", hub_model_id = "me/child" }\nhub = { private = true, after_training = false }\n'
    )
    assert lines(paths) == ['moved training.hub_model_id to [hub] repo = "me/child"']
    assert paths.config.read_text() == (
        'training = { target = "x" }\nhub = { private = true, after_training = false, repo = "me/child" }\n'
    )


@pytest.mark.parametrize("text", ["not toml", "[training]\nhub_model_id = 5\n", '[training]\nhub_model_id = " "\n'])
def test_settings_that_cannot_be_used_have_no_key_to_move(paths: ProjectPaths, text: str) -> None:
    paths.config.write_text(text)
    assert lines(paths) == [ADDED, *BACKFILLED, VERSION]
    assert paths.config.read_text() == text


def test_a_symlink_is_not_replaced_and_the_version_not_written(paths: ProjectPaths) -> None:
    real = paths.root / "real.toml"
    paths.config.rename(real)
    paths.config.symlink_to(real)
    with pytest.raises(SaveRefusedError, match=r"^overbrainer\.toml is a symlink; nothing written$"):
        lines(paths)
    assert real.read_text() == CONFIG
    assert read_format(paths) is None


@pytest.mark.parametrize("line", [".overbrainer", ".overbrainer/", "/.overbrainer", " /.overbrainer/ \r"])
def test_every_spelling_of_the_ignored_directory_counts(paths: ProjectPaths, line: str) -> None:
    paths.gitignore.write_text(f"x\n{line}\n")
    assert ADDED not in lines(paths)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, b"/.overbrainer/\n"),
        (b"", b"/.overbrainer/\n"),
        (b"x\r\ny", b"x\r\ny\r\n/.overbrainer/\r\n"),
        (b"!/.overbrainer/\n", b"!/.overbrainer/\n/.overbrainer/\n"),
    ],
)
def test_the_line_is_appended_and_the_others_stay(paths: ProjectPaths, before: bytes | None, after: bytes) -> None:
    paths.gitignore.unlink() if before is None else paths.gitignore.write_bytes(before)
    assert ADDED in lines(paths)
    assert paths.gitignore.read_bytes() == after


def test_a_gitignore_that_is_a_link_is_not_followed(paths: ProjectPaths) -> None:
    paths.gitignore.unlink()
    paths.gitignore.symlink_to(paths.root / "elsewhere")
    with pytest.raises(UnsafePathError):
        lines(paths)
    assert not (paths.root / "elsewhere").exists()


def test_backfilled_entries_have_the_time_of_the_file_and_no_cost(paths: ProjectPaths) -> None:
    lines(paths)
    stored = [json.loads(line) for line in paths.history.read_text().splitlines()]
    assert stored[0] == {
        "stage": "answers",
        "started_at": "2023-11-14T22:13:20Z",
        "ended_at": "2023-11-14T22:13:20Z",
        "status": "ok",
        "provider": None,
        "model": "a/model",
        "done": 1,
        "skipped": 0,
        "failed": 0,
        "excluded": 1,
        "input_tokens": 30,
        "output_tokens": 300,
        "cost": None,
        "backfilled": True,
    }


def test_a_history_with_answers_of_its_own_is_not_backfilled(paths: ProjectPaths) -> None:
    paths.state.mkdir()
    entry = stage_entry(
        Stage.ANSWERS,
        EntryStatus.OK,
        started_at="2026-01-01T00:00:00Z",
        ended_at="2026-01-01T00:00:00Z",
        stats=StageStats(done=1),
    )
    append_entry(paths, entry)
    before = paths.history.read_bytes()
    assert lines(paths) == [
        f"not backfilling the answers history: {paths.history} already has answers entries",
        f"moved {HUB_MOVED}",
        ADDED,
        VERSION,
    ]
    assert paths.history.read_bytes() == before


def test_a_migration_that_was_cut_off_counts_no_model_twice(paths: ProjectPaths) -> None:
    lines(paths)
    first, second = paths.history.read_bytes().splitlines(keepends=True)
    paths.version.unlink()
    assert lines(paths) == [VERSION]
    paths.version.unlink()
    paths.history.write_bytes(first + second[:20])  # torn by a crash
    assert lines(paths) == [BACKFILLED[1], VERSION]
    assert paths.history.read_bytes() == first + second[:20] + b"\n" + second
    assert [entry.model for entry in read_history(paths)] == ["a/model", "b/model"]


def test_no_answers_are_no_backfill(paths: ProjectPaths) -> None:
    paths.answers.unlink()
    assert lines(paths) == [f"moved {HUB_MOVED}", ADDED, VERSION]
    assert not paths.history.exists()


def test_a_bad_answer_stops_it_before_the_version(paths: ProjectPaths) -> None:
    with paths.answers.open("ab") as handle:
        handle.write(b"{}\n")
    with pytest.raises(InvalidRecordError):
        lines(paths)
    assert read_format(paths) is None


def test_names_from_files_cannot_act_on_the_terminal(paths: ProjectPaths) -> None:
    odd = replace(answer("4", "x", None, 1, 1).meta, model="c\x1b[31m")
    with paths.answers.open("ab") as handle:
        handle.write(encode_line(replace(answer("4", "x", None, 1, 1), meta=odd)))
    assert not any("\x1b" in line for line in lines(paths))


def test_the_template_of_a_new_project_takes_the_moved_key(paths: ProjectPaths) -> None:
    text = assets.template("overbrainer.toml").replace(
        'adapter = "qlora"', 'hub_model_id = "me/child"\nadapter = "qlora"'
    )
    paths.config.write_text(text)
    assert lines(paths)[0] == f"moved {HUB_MOVED}"
    hub = '\n[hub]\nrepo = "me/child"\nprivate = true\nafter_training = true\n'
    assert paths.config.read_text() == text.replace('hub_model_id = "me/child"\n', "") + hub
