from __future__ import annotations

import logging
import os
from dataclasses import replace
from pathlib import Path

import pytest

from overbrainer_core.history import (
    EntryStatus,
    HistoryEntry,
    append_entry,
    entry_lines,
    history_lines,
    read_history,
    stage_entry,
    total_of,
    totals_by_model,
    totals_by_stage,
)
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.values.stage import Exclusion, SplitReport, Stage, StageStats
from overbrainer_core.values.usage import Usage

ANSWERS = HistoryEntry(
    stage=Stage.ANSWERS,
    started_at="2026-09-28T10:00:00Z",
    ended_at="2026-09-28T10:04:12Z",
    status=EntryStatus.OK,
    provider="openrouter",
    model="deepseek/deepseek-r1",
    done=96,
    excluded=4,
    input_tokens=5820,
    output_tokens=41277,
    cost=0.0931,
)
ANSWERS_LINE = (
    '{"stage":"answers","started_at":"2026-09-28T10:00:00Z","ended_at":"2026-09-28T10:04:12Z","status":"ok",'
    '"provider":"openrouter","model":"deepseek/deepseek-r1","done":96,"skipped":0,"failed":0,"excluded":4,'
    '"input_tokens":5820,"output_tokens":41277,"cost":0.0931}\n'
)
SPLIT_LINE = (
    '{"stage":"split","started_at":"2026-09-28T10:04:12Z","ended_at":"2026-09-28T10:04:12Z","status":"ok",'
    '"provider":null,"model":null,"done":0,"skipped":0,"failed":0,"excluded":4,"input_tokens":0,"output_tokens":0,'
    '"cost":null,"split":{"train":86,"eval":10,"orphaned":0}}\n'
)


def split_entry() -> HistoryEntry:
    return stage_entry(
        Stage.SPLIT,
        EntryStatus.OK,
        started_at="2026-09-28T10:04:12Z",
        ended_at="2026-09-28T10:04:12Z",
        stats=StageStats(done=96, skipped=0, excluded=4),
        split=SplitReport(train=86, eval=10, orphaned=0, excluded=((Exclusion.EMPTY, 4),)),
    )


def test_lines_have_the_bytes_of_the_format_and_read_back(tmp_path: Path) -> None:
    paths = ProjectPaths(tmp_path)
    append_entry(paths, ANSWERS)
    append_entry(paths, split_entry())
    append_entry(paths, replace(ANSWERS, backfilled=True))
    text = paths.history.read_text()
    assert text.startswith(ANSWERS_LINE + SPLIT_LINE)
    assert text.endswith(',"backfilled":true}\n')
    assert read_history(paths) == [ANSWERS, split_entry(), replace(ANSWERS, backfilled=True)]


def test_a_torn_line_spoils_only_itself(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    paths = ProjectPaths(tmp_path)
    paths.state.mkdir()
    paths.history.write_text(ANSWERS_LINE + '{"stage":"ans')
    append_entry(paths, ANSWERS)
    with caplog.at_level(logging.WARNING):
        assert read_history(paths) == [ANSWERS, ANSWERS]
    assert ":2: not a history entry" in caplog.text


@pytest.mark.parametrize(
    "line",
    ["[]", "{}", ANSWERS_LINE.replace('"answers"', '"other"'), ANSWERS_LINE.replace("96", "-1"), "[" * 100_000],
)
def test_a_line_that_is_no_entry_is_left_out(tmp_path: Path, line: str) -> None:
    paths = ProjectPaths(tmp_path)
    paths.state.mkdir()
    paths.history.write_text(line.strip() + "\n" + ANSWERS_LINE)
    assert read_history(paths) == [ANSWERS]


def test_unknown_keys_are_ignored(tmp_path: Path) -> None:
    paths = ProjectPaths(tmp_path)
    paths.state.mkdir()
    paths.history.write_text(ANSWERS_LINE.replace('"cost"', '"later":[1],"cost"'))
    assert read_history(paths) == [ANSWERS]


def test_a_history_that_cannot_be_written_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    paths = ProjectPaths(tmp_path)
    paths.state.write_text("in the way")
    with caplog.at_level(logging.WARNING):
        append_entry(paths, ANSWERS)
    assert "cannot write" in caplog.text


def test_a_link_in_its_place_is_not_written_through(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    paths = ProjectPaths(tmp_path)
    paths.state.mkdir()
    (tmp_path / "elsewhere").write_text("")
    os.symlink(tmp_path / "elsewhere", paths.history)
    with caplog.at_level(logging.WARNING):
        append_entry(paths, ANSWERS)
    assert "not a safe path" in caplog.text
    assert (tmp_path / "elsewhere").read_text() == ""


def test_a_missing_history_is_empty(tmp_path: Path) -> None:
    assert read_history(ProjectPaths(tmp_path)) == []
    assert history_lines([]) == ["no stage has run yet"]
    assert entry_lines([]) == ["no stage has run yet"]


def test_totals_say_when_a_cost_is_only_partly_known() -> None:
    unknown = replace(ANSWERS, cost=None)
    idle = replace(ANSWERS, input_tokens=0, output_tokens=0, cost=None)
    assert total_of([ANSWERS, idle, split_entry()]).cost_text == "$0.0931"
    assert total_of([ANSWERS, unknown]).cost_text == "$0.0931+"
    assert total_of([unknown]).cost_text == "cost unknown"
    assert total_of([idle, split_entry()]).cost_text == "cost unknown"
    assert total_of([replace(ANSWERS, cost=1.25), idle]).cost_text == "$1.2500"
    assert total_of([ANSWERS, ANSWERS]).usage == Usage(input_tokens=11640, output_tokens=82554)


def test_totals_are_grouped_by_stage_and_by_model() -> None:
    other = replace(ANSWERS, model="small", stage=Stage.SUBTOPICS)
    entries = [ANSWERS, split_entry(), other]
    assert list(totals_by_stage(entries)) == [Stage.SUBTOPICS, Stage.ANSWERS, Stage.SPLIT]
    assert list(totals_by_model(entries)) == ["deepseek/deepseek-r1", "small"]


def test_the_summary_has_a_line_for_each_stage_and_the_total() -> None:
    subtopics = HistoryEntry(
        stage=Stage.SUBTOPICS,
        started_at="2026-10-06T09:00:00Z",
        ended_at="2026-10-06T09:00:01Z",
        status=EntryStatus.OK,
        model="m",
        done=12,
        input_tokens=900,
        output_tokens=400,
        cost=0.0012,
    )
    answers = replace(subtopics, stage=Stage.ANSWERS, done=40, failed=1, input_tokens=41022, output_tokens=30511)
    assert history_lines([subtopics, replace(answers, cost=None)]) == [
        "subtopics  1 run(s), 12 done, 0 failed; tokens 900 in, 400 out; $0.0012",
        "answers    1 run(s), 40 done, 1 failed; tokens 41022 in, 30511 out; cost unknown",
        "total      2 run(s), 52 done, 1 failed; tokens 41922 in, 30911 out; $0.0012+",
    ]


def test_the_full_listing_has_a_line_for_each_entry() -> None:
    answers = replace(
        ANSWERS,
        started_at="2026-10-06T10:00:00Z",
        model="big-model",
        done=38,
        skipped=2,
        excluded=3,
        input_tokens=41022,
        output_tokens=30511,
        cost=0.1235,
    )
    split = replace(split_entry(), started_at="2026-10-06T10:09:00Z", excluded=0, split=(3, 1, 0))
    assert entry_lines([answers, split, replace(answers, model=None, cost=None, backfilled=True)]) == [
        "2026-10-06T10:00:00Z  answers    ok           big-model  38 done, 2 skipped, 0 failed, 3 excluded; "
        "tokens 41022 in, 30511 out; $0.1235",
        "2026-10-06T10:09:00Z  split      ok           train 3, eval 1, excluded 0, orphaned 0",
        "2026-10-06T10:00:00Z  answers    ok           -  38 done, 2 skipped, 0 failed, 3 excluded; "
        "tokens 41022 in, 30511 out; cost unknown (backfilled)",
    ]
