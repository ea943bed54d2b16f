"""Lines of `metrics.jsonl`, well formed and not, and their sum."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from overbrainer_core.files import FileAccessError
from overbrainer_core.training.metrics import (
    MetricsSummary,
    is_plugin_line,
    iter_metrics_file,
    malformed_reason,
    parse_line,
    read_latest,
    read_metrics_file,
)
from overbrainer_core.values.metric import MarkKind, PhaseMark, TrainMetric


def test_each_event_becomes_its_value() -> None:
    log = parse_line(
        '{"event":"log","time":1.5,"step":3,"epoch":0.5,"max_steps":9,"loss":1.2,"eval_loss":null,'
        '"learning_rate":2e-4,"grad_norm":0.8,"extra":[1]}'
    )
    assert log == TrainMetric(time=1.5, step=3, epoch=0.5, max_steps=9, loss=1.2, learning_rate=2e-4, grad_norm=0.8)
    assert parse_line('{"event":"begin","time":1,"max_steps":9}') == PhaseMark(
        kind=MarkKind.BEGIN, time=1.0, max_steps=9
    )
    assert parse_line('{"event":"begin","time":1}') == PhaseMark(kind=MarkKind.BEGIN, time=1.0)
    assert parse_line('{"event":"stage","name":"merge","time":1}') == PhaseMark(
        kind=MarkKind.STAGE, time=1.0, name="merge"
    )
    assert parse_line('{"event":"eval","time":1,"step":2,"total":5}') == PhaseMark(
        kind=MarkKind.EVAL, time=1.0, step=2, total=5
    )
    assert parse_line(b'{"time":1,"step":4,"event":"end"}') == PhaseMark(kind=MarkKind.END, time=1.0, step=4)


@pytest.mark.parametrize(
    "value",
    [
        '"loss":NaN',
        '"loss":Infinity',
        '"loss":-Infinity',
        '"loss":1e400',
        '"loss":"0.52"',
        '"loss":true',
        '"loss":1' + "0" * 400,
        '"step":"7"',
        '"step":1e3',
        '"step":-1',
        '"step":1' + "0" * 30,
        '"max_steps":-4',
        '"time":null',
    ],
)
def test_c096_nothing_but_a_finite_number_becomes_a_number(value: str) -> None:
    line = f'{{"event":"log","time":1.0,"step":3,{value}}}'
    assert parse_line(line) is None
    assert "0.52" not in malformed_reason(line)
    assert malformed_reason(line) in (
        "not a JSON object",
        "a field is missing or has the wrong type",
        "a step count is out of range",
    )


def test_c096_a_null_is_no_value_and_the_line_counts() -> None:
    assert parse_line('{"event":"log","time":1.0,"step":3,"loss":null}') == TrainMetric(time=1.0, step=3)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            '{"event":"log","time":1,"step":5,"loss":1.1}{"event":"log","time":1,"step":5,"loss":1.2}',
            "not a JSON object",
        ),
        ("61%|███| 305/500 [rank5]:[E ProcessGroup...", "not a JSON object"),
        ('{"event":"log","time":1,"st', "not a JSON object"),
        ("[]", "not a JSON object"),
        ('{"event":"train","time":1}', "unknown event"),
        ('{"event":"stage","time":1,"name":"dance"}', "unknown stage"),
        ('{"event":"stage","time":1}', "unknown stage"),
        ('{"event":"eval","time":1}', "a field is missing or has the wrong type"),
        ('{"event":"log","step":1}', "a field is missing or has the wrong type"),
        ('{"event":7}', "a field is missing or has the wrong type"),
    ],
)
def test_c099_a_line_of_two_writers_or_of_none_is_malformed(line: str, reason: str) -> None:
    assert parse_line(line) is None
    assert malformed_reason(line) == reason


def test_only_stage_lines_prove_nothing_about_the_trainer() -> None:
    lines = [
        '{"event":"stage","name":"train","time":1}',
        '{"event":"begin","time":1}',
        '{"event":"log","time":1,"step":1}',
    ]
    assert [is_plugin_line(line) for text in lines if (line := parse_line(text))] == [False, True, True]


def summary_of(*lines: str) -> MetricsSummary:
    """The figures of these lines."""
    summary = MetricsSummary()
    for line in lines:
        summary.apply(parse_line(line))
    return summary


def test_the_summary_takes_the_highest_step_and_the_latest_values() -> None:
    summary = summary_of(
        '{"event":"begin","time":1,"max_steps":1200}',
        '{"event":"log","time":2,"step":1200,"epoch":3.0,"max_steps":1200,"loss":0.41234}',
        '{"event":"log","time":3,"step":1200,"epoch":3.0,"eval_loss":0.50118}',
        '{"event":"log","time":4,"step":1199,"epoch":2.9}',
        "torn",
    )
    assert summary.text() == "step 1200/1200, epoch 3.00, loss 0.4123, eval_loss 0.5012"
    assert (summary.plugin_lines, summary.malformed, summary.has_loss) == (4, 1, True)


def test_without_any_line_the_summary_is_step_zero() -> None:
    assert MetricsSummary().text() == "step 0"
    assert summary_of('{"event":"stage","name":"train","time":1}').plugin_lines == 0


def test_c094_a_constant_loss_of_zero_is_a_value() -> None:
    summary = summary_of(*(f'{{"event":"log","time":{i},"step":{i},"loss":0.0,"grad_norm":null}}' for i in (1, 2)))
    assert summary.text() == "step 2, loss 0.0000"
    assert not summary.has_loss


def test_a_file_is_read_without_its_torn_last_line(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(
        b'{"event":"log","time":1,"step":1,"loss":2.0}\r\n\n{"event":"log","time":2,"step":2,"loss":1.0}\n'
        b'{"event":"log","time":3,"step":3'
    )
    summary = read_metrics_file(path)
    assert (summary.step, summary.malformed) == (2, 0)


def test_a_missing_file_has_no_line(tmp_path: Path) -> None:
    assert read_metrics_file(tmp_path / "no").text() == "step 0"
    assert read_latest(tmp_path / "no").text() == "step 0"
    assert list(iter_metrics_file(tmp_path / "no")) == []


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileAccessError):
        read_metrics_file(tmp_path)


def test_a_pipe_in_the_place_of_the_file_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileAccessError):
        read_metrics_file(tmp_path / "pipe")


def test_the_end_of_a_long_file_gives_its_latest_values(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    lines = [
        {"event": "log", "time": step, "step": step, "max_steps": 9000, "loss": 1 / step} for step in range(1, 5001)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    latest = read_latest(path)
    assert latest.text() == "step 5000/9000, loss 0.0002"
    assert latest.malformed == 0
    assert latest.plugin_lines < 2000
    assert read_metrics_file(path).plugin_lines == 5000


def test_a_giant_line_is_malformed_and_the_next_one_is_read(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b"x" * 3_000_000 + b'\n{"event":"log","time":1,"step":7}\n')
    summary = read_metrics_file(path)
    assert summary.step == 7
    assert summary.malformed >= 1


def test_a_device_in_the_place_of_the_file_is_refused_not_read_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.symlink_to("/dev/zero")
    with pytest.raises(FileAccessError):
        read_metrics_file(path)
