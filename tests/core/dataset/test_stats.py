"""Counts follow the split, lengths are told by their middle and their end."""

from __future__ import annotations

from typing import Any

import pytest

from overbrainer_core.dataset.stats import Spread, TopicStats, spread, topic_stats
from overbrainer_core.dataset.store import InvalidRecordError


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([], Spread()),
        ([7], Spread(p50=7, p95=7)),
        ([2, 1], Spread(p50=1, p95=2)),
        (range(1, 101), Spread(p50=50, p95=95)),
        (range(21), Spread(p50=10, p95=19)),
    ],
    ids=["none", "one", "two", "hundred", "twenty-one"],
)
def test_a_spread_is_made_of_numbers_that_are_there(numbers: Any, expected: Spread) -> None:
    assert spread(list(numbers)) == expected


def test_each_topic_is_counted(tea: Any) -> None:
    tea.answered("Cups", "Cut?", excluded="truncated")
    tea.answered("Cups", "Refused?", excluded="refused")
    tea.answered("Cups", "Empty?", excluded="empty")
    tea.answer("Cups", "Orphan?")
    (found,), total = topic_stats(tea.paths, ["tea"])
    assert found == TopicStats(
        topic="tea",
        subtopics=2,
        questions=7,
        answers=7,
        usable=3,
        excluded=3,
        refused=1,
        truncated=1,
        question_chars=Spread(p50=14, p95=22),
        answer_chars=Spread(p50=14, p95=28),
        output_tokens=Spread(p50=2, p95=2),
    )
    assert found.orphaned == 1
    assert (total.topic, total.questions, total.orphaned) == ("all topics", 7, 1)


def test_topics_found_in_the_data_alone_come_after_the_configured_and_their_answers_are_orphaned(tea: Any) -> None:
    tea.subtopic("Beans", topic="coffee")
    tea.question("Beans", "Who?", topic="coffee")
    tea.answer("Beans", "Who?", topic="coffee")
    topics, total = topic_stats(tea.paths, ["water", "tea"])
    assert [(topic.topic, topic.is_configured) for topic in topics] == [
        ("water", True),
        ("tea", True),
        ("coffee", False),
    ]
    assert topics[0] == TopicStats(topic="water")
    assert (topics[2].answers, topics[2].usable, topics[2].orphaned) == (1, 0, 1)
    assert (total.subtopics, total.questions, total.answers, total.usable) == (3, 5, 4, 3)


def test_a_bad_line_stops_the_count_with_its_number(tea: Any) -> None:
    tea.path("answers").open("a").write("{}\n")
    with pytest.raises(InvalidRecordError, match=r"answers\.jsonl:4"):
        topic_stats(tea.paths, ["tea"])


def test_absurd_token_counts_do_not_break_it(tea: Any) -> None:
    path = tea.path("answers")
    path.write_text(path.read_text().replace('"output_tokens":2', f'"output_tokens":{2**63 - 1}'))
    (found,), _ = topic_stats(tea.paths, ["tea"])
    assert found.output_tokens.p95 == 2**63 - 1
