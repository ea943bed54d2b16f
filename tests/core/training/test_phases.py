"""The phase of a job, line by line."""

from __future__ import annotations

import pytest

from overbrainer_core.training.metrics import parse_line
from overbrainer_core.training.phases import PhaseKind, PhaseTracker

TRAIN = '{"event":"stage","name":"train","time":1}'
MERGE = '{"event":"stage","name":"merge","time":1}'
EXPORT = '{"event":"stage","name":"export","time":1}'
COMPARE = '{"event":"stage","name":"compare","time":1}'
END = '{"event":"end","time":1,"step":9}'


def log(step: int, max_steps: int | None = 40) -> str:
    """A log line."""
    tail = f',"max_steps":{max_steps}' if max_steps is not None else ""
    return f'{{"event":"log","time":1,"step":{step},"loss":1.0{tail}}}'


def evaluated(step: int, total: int | None = 12) -> str:
    """An eval line."""
    return f'{{"event":"eval","time":1,"step":{step}' + (f',"total":{total}}}' if total is not None else "}")


def tracker(*lines: str) -> PhaseTracker:
    """A tracker that saw these lines."""
    result = PhaseTracker()
    for text in lines:
        line = parse_line(text)
        assert line is not None
        result.apply(line)
    return result


@pytest.mark.parametrize(
    ("lines", "text", "short"),
    [
        ([], "training", "training"),
        ([TRAIN, log(1)], "training", "training"),
        ([TRAIN, log(1), evaluated(3)], "evaluating 3/12", "evaluating"),
        ([TRAIN, log(1), evaluated(3, None)], "evaluating 3", "evaluating"),
        ([TRAIN, log(1), evaluated(12), log(1)], "training", "training"),
        ([TRAIN, log(40)], "finalizing (saving model)", "finalizing"),
        ([TRAIN, log(40), evaluated(3)], "finalizing (evaluation 3/12)", "evaluating"),
        ([TRAIN, log(40), evaluated(3, None)], "finalizing (evaluation 3)", "evaluating"),
        ([TRAIN, log(9, None), END], "finalizing (saving model)", "finalizing"),
        ([TRAIN, log(9, None)], "training", "training"),
        ([TRAIN, log(40), MERGE], "merging adapter", "merging"),
        ([TRAIN, log(40), MERGE, EXPORT], "exporting GGUF", "exporting"),
        ([COMPARE], "starting llama-server", "comparing"),
        ([COMPARE, evaluated(1, None)], "starting llama-server", "comparing"),
        ([COMPARE, evaluated(4, 20)], "answering 4/20", "comparing"),
    ],
)
def test_the_lines_decide_the_phase(lines: list[str], text: str, short: str) -> None:
    phase = tracker(*lines).phase()
    assert (phase.text, phase.short) == (text, short)


def test_an_ended_job_is_retrieving_whatever_its_lines_say() -> None:
    phase = tracker(COMPARE, evaluated(4, 20)).phase(job_ended=True)
    assert (phase.kind, phase.text, phase.short) == (PhaseKind.RETRIEVING, "retrieving results", "retrieving")


def test_an_evaluation_tells_its_counts() -> None:
    phase = tracker(log(1), evaluated(340, 1200)).phase()
    assert (phase.kind, phase.step, phase.total) == (PhaseKind.EVALUATING, 340, 1200)


def test_the_last_step_is_known_from_the_begin_line_too() -> None:
    assert tracker('{"event":"begin","time":1,"max_steps":5}', log(5, None)).phase().kind is PhaseKind.FINALIZING
