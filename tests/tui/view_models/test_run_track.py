"""What is known of a run beyond its record."""

from __future__ import annotations

from datetime import timedelta

from overbrainer_core.values.metric import MarkKind, PhaseMark, TrainMetric
from overbrainer_tui.view_models.run_track import SAMPLES_KEPT, STALE_S, RunTrack, TrackData
from overbrainer_tui.view_models.snapshots import Level, MessageRow
from tests.tui.records import sample
from tests.tui.states import NOW


def data(last: int) -> TrackData:
    found = TrackData("r")
    found.apply(TrainMetric(time=1.0, step=last, loss=1.0))
    return found


def test_sixty_samples_are_kept() -> None:
    track = RunTrack("r")
    for number in range(SAMPLES_KEPT + 1):
        track.samples.append(sample(number))
    assert len(track.samples) == 60
    assert track.samples[0] == sample(1)


def test_a_sample_is_stale_after_twenty_seconds_and_not_before() -> None:
    track = RunTrack("r")
    assert track.stale_age_s(NOW) is None
    track.samples.append(sample(0))
    at = track.samples[0].at
    assert track.stale_age_s(at + timedelta(seconds=STALE_S)) is None
    ages = [track.stale_age_s(at + timedelta(seconds=seconds)) for seconds in (21, 29, 45, 59, 61, 200)]
    assert ages == [20, 20, 40, 50, 60, 180]


def test_following_anew_drops_the_old_points() -> None:
    track = RunTrack("r")
    track.data = data(50)
    track.lost = 3
    track.watch()
    assert (track.data.curves.is_empty, track.lost, track.is_read) == (True, 0, True)


def test_a_read_of_an_earlier_generation_is_dropped() -> None:
    track = RunTrack("r")
    generation = track.generation
    track.watch()
    track.take_read(data(9), generation)
    assert track.data.curves.is_empty


def test_a_read_that_knows_less_than_the_events_does_not_take_their_place() -> None:
    track = RunTrack("r")
    track.watch()
    track.data = data(50)
    track.take_read(data(40), track.generation)
    assert track.data.curves.last_step == 50
    track.take_read(data(60), track.generation)
    assert track.data.curves.last_step == 60


def test_lost_points_are_told_while_followed_and_afterwards_only_without_a_file() -> None:
    track = RunTrack("r")
    assert track.points_missing(is_followed=True) is None
    track.lost = 1
    assert track.points_missing(is_followed=True) == "1 point missing until the run ends"
    assert track.points_missing(is_followed=False) is None
    track.take_read(None, track.generation)
    assert track.points_missing(is_followed=False) == "1 point missing (no local metrics file to read them from)"


def test_the_final_error_follows_the_newest_lines_and_a_new_task_drops_them() -> None:
    track = RunTrack("r")
    for number in range(4):
        track.report(MessageRow(time=NOW, text=str(number)))
    track.fail("lost", NOW)
    assert [line.text for line in track.messages] == ["1", "2", "3", "lost"]
    assert track.messages[-1].level is Level.ERROR
    track.begin_task()
    assert track.messages == ()


def test_a_begin_line_tells_the_steps_and_a_stage_line_the_merge() -> None:
    found = TrackData("r")
    found.apply(None)
    assert not found.has_lines
    found.apply(PhaseMark(kind=MarkKind.BEGIN, time=1.0, max_steps=40))
    found.apply(PhaseMark(kind=MarkKind.STAGE, time=2.0, name="merge"))
    assert (found.curves.max_steps, found.has_merge, found.has_lines) == (40, True, True)
