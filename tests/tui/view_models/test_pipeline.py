"""The rows of the stages: counters, costs, errors and results as events come in."""

from __future__ import annotations

from overbrainer_core.events.types import Event, ItemDone, ItemFailed, LimitChanged, StageFinished, StageStarted
from overbrainer_core.values.stage import SplitReport, Stage, StageStats
from overbrainer_core.values.usage import Usage
from overbrainer_tui.view_models.pipeline import RUN, PipelineModel, short_id
from overbrainer_tui.view_models.snapshots import Cost, Progress, StageRow

ANSWERS, QUESTIONS, SUBTOPICS, SPLIT = Stage.ANSWERS, Stage.QUESTIONS, Stage.SUBTOPICS, Stage.SPLIT


def started(stage: Stage = ANSWERS, total: int = 10) -> StageStarted:
    return StageStarted(stage=stage, total=total)


def done(item: str, *, cost: float | None = 0.01, stage: Stage = ANSWERS) -> ItemDone:
    return ItemDone(stage=stage, id=item, usage=Usage(input_tokens=10, output_tokens=20), cost=cost)


def skipped(item: str, stage: Stage = ANSWERS) -> ItemDone:
    return ItemDone(stage=stage, id=item)


def failed(item: str, *, retryable: bool, error: str = "503", stage: Stage = ANSWERS) -> ItemFailed:
    return ItemFailed(stage=stage, id=item, error=error, retryable=retryable)


def running(*events: Event, command: str = "answers", concurrency: int = 4) -> PipelineModel:
    model = PipelineModel()
    model.start(1, command, concurrency=concurrency)
    for event in events:
        model.apply(1, event)
    return model


def row(model: PipelineModel, stage: Stage = ANSWERS) -> StageRow:
    return next(shown for shown in model.snapshot().rows if shown.stage is stage)


def test_an_item_that_fails_twice_counts_as_one_retry_and_leaves_when_it_succeeds() -> None:
    model = running(started(), failed("a", retryable=True), failed("a", retryable=True))
    assert (row(model).retries, row(model).finished) == (1, 0)
    model.apply(1, done("a"))
    assert (row(model).retries, row(model).finished, row(model).failed) == (0, 1, 0)


def test_an_item_that_fails_for_good_leaves_the_retries_and_counts_as_failed_and_finished() -> None:
    model = running(started(), failed("a", retryable=True), failed("a", retryable=False))
    assert (row(model).retries, row(model).failed, row(model).finished) == (0, 1, 1)


def test_all_retries_leave_when_the_task_stops() -> None:
    model = running(started(), failed("a", retryable=True), failed("b", retryable=True))
    model.end(1, "interrupted")
    assert row(model).retries == 0


def test_skipped_items_count_as_finished() -> None:
    model = running(started(total=3), skipped("a"), skipped("b"))
    assert (row(model).finished, row(model).total) == (2, 3)


def test_finished_never_passes_the_total() -> None:
    model = running(started(total=1), done("a"), done("b"))
    assert row(model).finished == 1
    assert row(model).ratio == 1.0


def test_a_stage_of_no_items_counts_as_full() -> None:
    assert row(running(started(total=0))).ratio == 1.0


def test_requests_in_flight_are_bounded_by_the_concurrency_and_by_what_is_left() -> None:
    model = running(started(total=6), concurrency=4)
    assert row(model).in_flight == 4
    for item in "abc":
        model.apply(1, done(item))
    assert row(model).in_flight == 3
    model.end(1)
    assert row(model).in_flight == 0


def test_subtopics_have_one_request_in_flight_and_split_none() -> None:
    model = running(started(SUBTOPICS, 8), command="subtopics", concurrency=9)
    assert row(model, SUBTOPICS).in_flight == 1
    model = running(started(SPLIT, 8), command="split", concurrency=9)
    assert row(model, SPLIT).in_flight == 0


def test_tokens_and_cost_grow_with_items_and_the_stage_s_totals_replace_them() -> None:
    model = running(started(), done("a"), done("b"))
    shown = model.snapshot()
    assert (shown.tokens_in, shown.tokens_out, shown.cost) == (20, 40, Cost(usd=0.02))
    stats = StageStats(done=2, usage=Usage(input_tokens=99, output_tokens=77), cost=0.5)
    model.apply(1, StageFinished(stage=ANSWERS, stats=stats))
    shown = model.snapshot()
    assert (shown.tokens_in, shown.tokens_out, shown.cost) == (99, 77, Cost(usd=0.5))


def test_an_item_without_a_known_price_makes_the_cost_partial_or_unknown() -> None:
    model = running(started(), done("a", cost=None))
    assert model.snapshot().cost == Cost(usd=None, is_partial=True)
    model.apply(1, done("b"))
    assert model.snapshot().cost == Cost(usd=0.01, is_partial=True)


def test_a_single_stage_keeps_the_finished_rows_of_the_others() -> None:
    model = running(started(QUESTIONS, 1), done("q", stage=QUESTIONS), command="questions")
    model.apply(1, StageFinished(stage=QUESTIONS, stats=StageStats(done=1, cost=0.3)))
    model.end(1)
    model.start(2, "answers", concurrency=4)
    model.apply(2, started(ANSWERS, 5))
    assert row(model, QUESTIONS).progress is Progress.DONE
    assert [result.stage for result in model.snapshot().results] == [QUESTIONS]
    assert model.snapshot().cost == Cost(usd=0.3)
    assert model.task_cost == Cost(usd=None)


def test_run_starts_every_row_afresh_and_the_later_ones_are_pending() -> None:
    model = running(started(), done("a"))
    model.end(1)
    model.start(2, RUN, concurrency=4)
    assert [shown.progress for shown in model.snapshot().rows] == [Progress.PENDING] * 4
    assert model.snapshot().tokens_in == 0


def test_a_task_that_ends_early_leaves_its_stage_stopped_and_the_pending_ones_idle() -> None:
    model = running(command=RUN)
    for stage in (SUBTOPICS, QUESTIONS):
        model.apply(1, started(stage, 1))
        model.apply(1, done("x", stage=stage))
        model.apply(1, StageFinished(stage=stage, stats=StageStats(done=1)))
    model.apply(1, started(ANSWERS, 4))
    model.end(1, "answers stopped: HTTP 401")
    assert [shown.progress for shown in model.snapshot().rows] == [
        Progress.DONE,
        Progress.DONE,
        Progress.STOPPED,
        Progress.ABSENT,
    ]
    assert model.snapshot().error == "answers stopped: HTTP 401"


def test_a_stage_that_ended_with_failed_items_never_looks_finished() -> None:
    model = running(started(total=2), done("a"), failed("b", retryable=False))
    model.apply(1, StageFinished(stage=ANSWERS, stats=StageStats(done=1, failed=1)))
    assert row(model).progress is Progress.FAILED


def test_the_newest_five_failures_are_kept_and_all_are_counted() -> None:
    model = running(started(total=9), *(failed(f"item-{n}", retryable=n % 2 == 0) for n in range(7)))
    shown = model.snapshot()
    assert shown.errors_total == 7
    assert [error.item for error in shown.errors] == [f"item-{n}" for n in (2, 3, 4, 5, 6)]
    assert [error.is_final for error in shown.errors] == [False, True, False, True, False]


def test_events_of_another_task_change_nothing_and_late_ones_of_the_last_task_still_count() -> None:
    model = running(started(), done("a"))
    model.apply(7, done("b"))
    assert row(model).finished == 1
    model.end(1, "interrupted")
    model.apply(1, done("b"))
    assert row(model).finished == 2
    assert row(model).progress is Progress.STOPPED


def test_skipped_events_are_counted_and_the_counts_catch_up() -> None:
    model = running(started(total=5000))
    model.lose(1, 3976)
    for item in range(1024):
        model.apply(1, skipped(str(item)))
    model.catch_up(1, ANSWERS, 5000)
    assert (row(model).finished, model.snapshot().lost_events) == (5000, 3976)
    model.lose(9, 1)
    assert model.snapshot().lost_events == 3976


def test_a_stage_whose_start_was_lost_is_shown_running_and_gets_its_total_at_its_end() -> None:
    model = running(done("a"))
    assert (row(model).progress, row(model).total) == (Progress.RUNNING, None)
    model.apply(1, StageFinished(stage=ANSWERS, stats=StageStats(done=1, skipped=2)))
    assert (row(model).finished, row(model).total) == (3, 3)


def test_a_stage_s_summary_and_split_are_kept_with_its_result() -> None:
    model = running(started(SPLIT, 3), command="split")
    split = SplitReport(train=2, eval=1, orphaned=0)
    model.report(1, SPLIT, summary="split: 2 train, 1 eval", split=split)
    model.report(1, SPLIT, summary="split: 2 train, 1 eval", split=None)
    model.apply(1, StageFinished(stage=SPLIT, stats=StageStats(done=3)))
    (result,) = model.snapshot().results
    assert (result.summary, result.split) == ("split: 2 train, 1 eval", split)


def test_the_work_label_tells_the_command_first_and_then_the_stage_s_progress() -> None:
    model = PipelineModel()
    labels = [model.work_label]
    model.start(1, RUN, concurrency=2)
    labels.append(model.work_label)
    model.apply(1, started(ANSWERS, 320))
    model.apply(1, done("a"))
    labels.append(model.work_label)
    model.end(1)
    labels.append(model.work_label)
    assert labels == [None, "run", "answers 1/320", None]


def test_the_cost_of_a_running_task_holds_only_the_stages_it_started() -> None:
    model = running(started(QUESTIONS, 1), done("q", stage=QUESTIONS, cost=1.0), command="questions")
    model.end(1)
    assert model.running_cost is None
    model.start(2, "answers", concurrency=1)
    model.apply(2, started(ANSWERS, 2))
    model.apply(2, done("a", cost=0.25))
    assert model.running_cost == Cost(usd=0.25)


def test_nothing_ran_yet_names_the_keys() -> None:
    shown = PipelineModel().snapshot()
    assert shown.empty is not None
    assert [key.key for key in shown.empty.keys] == ["r", "A"]


def test_an_id_is_shortened_to_its_ends() -> None:
    assert short_id("51aa0000ffff0c3e") == "51aa…0c3e"
    assert short_id("short") == "short"


def test_a_chain_s_later_stages_are_pending_until_it_ends() -> None:
    model = PipelineModel()
    model.begin_afresh()
    model.start(1, "answers", concurrency=1, later=[SPLIT])
    assert row(model, SPLIT).progress is Progress.PENDING
    model.end(1, "interrupted")
    assert row(model, SPLIT).progress is Progress.ABSENT


def test_what_the_provider_takes_bounds_what_is_in_flight() -> None:
    model = running(started(), concurrency=8)
    assert model.in_flight(ANSWERS) == 8
    model.apply(1, LimitChanged(stage=ANSWERS, at_once=3))
    assert model.in_flight(ANSWERS) == 3
    model.apply(1, LimitChanged(stage=ANSWERS, per_minute=60.0))
    assert model.in_flight(ANSWERS) == 8
