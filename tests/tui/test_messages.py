"""One message class for each event; only bursts are folded."""

from __future__ import annotations

from overbrainer_core.events.types import EVENT_TYPES, ItemDone, StageFinished
from overbrainer_core.values.stage import Stage, StageStats
from overbrainer_tui import messages
from overbrainer_tui.messages import MESSAGE_OF, BusMessage, Changed


def test_there_is_exactly_one_message_for_each_event_of_the_same_name() -> None:
    assert tuple(MESSAGE_OF) == EVENT_TYPES
    assert [kind.__name__ for kind in MESSAGE_OF.values()] == [event.__name__ for event in EVENT_TYPES]
    own = [kind for kind in vars(messages).values() if isinstance(kind, type) and issubclass(kind, BusMessage)]
    assert set(own) - {BusMessage} == set(MESSAGE_OF.values())


def test_only_messages_of_bursts_take_the_place_of_older_ones() -> None:
    folded = {event.__name__ for event, kind in MESSAGE_OF.items() if kind.is_folded}
    assert folded == {"ItemDone", "ItemFailed", "Metric", "Mark", "System"}


def test_a_newer_burst_replaces_one_of_the_same_task_only() -> None:
    event = ItemDone(stage=Stage.ANSWERS, id="a")
    newer, older, other = (messages.ItemDone(task, event) for task in (1, 1, 2))
    assert newer.can_replace(older)
    assert not newer.can_replace(other)
    assert not newer.can_replace(Changed())


def test_an_end_replaces_nothing() -> None:
    event = StageFinished(stage=Stage.ANSWERS, stats=StageStats())
    assert not messages.StageFinished(1, event).can_replace(messages.StageFinished(1, event))


def test_one_change_is_enough() -> None:
    assert Changed().can_replace(Changed())
