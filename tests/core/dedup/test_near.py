"""Questions are compared across topics, and evaluation with training."""

from __future__ import annotations

import pytest

from overbrainer_core.dedup.near import Leak, find_leaks, repeats_across

GREEN = "How long should green tea steep in hot water"
GREENER = "How long should green tea steep in hot water please"
WORDLESS = "???"


def test_a_question_that_repeats_one_of_another_topic_is_counted_once() -> None:
    questions = [("tea", GREEN), ("coffee", GREENER), ("cups", GREEN.upper()), ("cups", "Who makes them by hand")]
    assert repeats_across(questions, threshold=0.8) == 2


def test_repeats_within_a_topic_are_not_counted_here() -> None:
    assert repeats_across([("tea", GREEN), ("tea", GREEN), ("tea", GREENER)], threshold=0.8) == 0


def test_a_repeat_in_the_own_topic_does_not_hide_one_in_another() -> None:
    assert repeats_across([("tea", GREEN), ("tea", GREENER), ("coffee", GREEN)], threshold=0.8) == 1
    assert repeats_across([("coffee", GREEN), ("tea", GREEN), ("tea", GREENER)], threshold=0.8) == 2


def test_a_leak_names_the_training_question_that_is_most_alike() -> None:
    train = [("t1", "Who makes tea cups"), ("t2", GREENER), ("t3", GREEN), ("t4", GREENER)]
    evaluation = [("e1", "Where does it grow"), ("e2", GREEN), ("e3", GREENER)]
    assert find_leaks(train, evaluation, threshold=0.8) == (
        Leak(eval_id="e2", train_id="t3", similarity=1.0),
        Leak(eval_id="e3", train_id="t2", similarity=1.0),
    )


def test_the_similarity_of_a_leak_is_that_of_the_words() -> None:
    (leak,) = find_leaks([("t", GREENER)], [("e", GREEN)], threshold=0.8)
    assert leak.similarity == pytest.approx(8 / 9)
    assert find_leaks([("t", GREENER)], [("e", GREEN)], threshold=0.9) == ()


def test_texts_without_a_word_repeat_each_other() -> None:
    assert repeats_across([("tea", WORDLESS), ("coffee", "!!")], threshold=0.8) == 1
    assert len(find_leaks([("t", WORDLESS)], [("e", "!!")], threshold=0.8)) == 1


def test_without_evaluation_nothing_is_read() -> None:
    train = iter([("t", GREEN)])
    assert find_leaks(train, [], threshold=0.8) == ()
    assert next(train) == ("t", GREEN)
