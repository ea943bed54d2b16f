"""The tables of the demo as a whole: sizes, orders, likeness of questions, what a text is about."""

from collections import Counter
from itertools import pairwise

import pytest

from overbrainer_core.llm.demo_facts import Topic, normalize_question
from overbrainer_core.llm.demo_tables import (
    DEMO_TABLES_VERSION,
    QUESTIONS_PER_SUBTOPIC,
    TOPICS,
    default_questions,
    find_fact,
    named_places,
    named_subjects,
    question_index,
    questions_in_order,
    share,
    stable_hash,
    stated_values,
    subtopics_by_name,
)

TOPIC_IDS = [topic.name for topic in TOPICS]


def highest_similarity(questions: list[str]) -> float:
    """The largest Jaccard similarity of word pairs between two different questions."""
    pairs = [frozenset(pairwise(words)) for words in map(str.split, questions)]
    holders: dict[tuple[str, str], list[int]] = {}
    highest = 0.0
    for number, own in enumerate(pairs):
        shared = Counter(other for pair in own for other in holders.get(pair, ()))
        for other, count in shared.items():
            highest = max(highest, count / (len(own) + len(pairs[other]) - count))
        for pair in own:
            holders.setdefault(pair, []).append(number)
    return highest


def test_the_tables_hold_what_the_demo_promises() -> None:
    assert [topic.name for topic in TOPICS] == ["countries", "elements", "moons"]
    assert [len(topic.subtopics) for topic in TOPICS] == [8, 8, 4]
    assert sum(len(part.subjects) for topic in TOPICS for part in topic.subtopics) == 129
    assert sum(len(topic.facts) for topic in TOPICS) == 387
    assert len(question_index()) == 2322
    assert len(default_questions()) == len(set(default_questions())) == 720
    assert DEMO_TABLES_VERSION == 1


def test_no_subject_has_the_name_of_another() -> None:
    names = [normalize_question(s.name) for topic in TOPICS for part in topic.subtopics for s in part.subjects]
    assert len(set(names)) == 129


def test_texts_of_the_tables_are_plain_ascii() -> None:
    texts = [text for topic in TOPICS for fact in topic.facts for text in (*fact.questions, fact.value)]
    assert all(text.isascii() for text in texts)


@pytest.mark.parametrize("topic", TOPICS, ids=TOPIC_IDS)
def test_no_two_questions_of_a_topic_are_duplicates(topic: Topic) -> None:
    questions = [normalize_question(text) for fact in topic.facts for text in fact.questions]
    assert all(len(text.split()) >= 3 for text in questions)
    assert 0.7 < highest_similarity(questions) < 0.79


@pytest.mark.parametrize("name", sorted(subtopics_by_name()))
def test_every_fact_of_a_subtopic_is_asked_once_before_any_is_asked_twice(name: str) -> None:
    ordered = questions_in_order(name)
    _topic, subtopic = subtopics_by_name()[name]
    facts = 3 * len(subtopic.subjects)
    assert len(ordered) == len(set(ordered)) == 6 * facts
    for start in range(0, len(ordered), facts):
        asked = [question_index()[normalize_question(text)].key for text in ordered[start : start + facts]]
        assert len(set(asked)) == facts


def test_the_questions_of_an_unchanged_demo_ask_each_fact_one_to_three_times() -> None:
    asked = Counter(question_index()[normalize_question(text)].key for text in default_questions())
    assert len(asked) == 387
    assert set(asked.values()) <= {1, 2, 3}
    assert QUESTIONS_PER_SUBTOPIC == 36


def test_hashes_are_the_same_on_every_machine() -> None:
    assert stable_hash("a", "b") == stable_hash("a", "b") != stable_hash("ab")
    assert stable_hash("demo") == 10156756701622246432
    assert 0 <= share("demo") < 1


def test_a_lone_surrogate_has_a_hash() -> None:
    assert isinstance(stable_hash("\ud83d"), int)


@pytest.mark.parametrize("topic", TOPICS, ids=TOPIC_IDS)
def test_every_question_is_found_in_any_case_and_punctuation(topic: Topic) -> None:
    for fact in topic.facts:
        for text in fact.questions:
            assert find_fact(text) == fact
            assert find_fact(f"  {text.upper().rstrip('?')}!") == fact


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Please tell me the capital of Peru.", "countries/Peru/capital"),
        ("With what money would I travel through Bhutan?", "countries/Bhutan/currency"),
        ("And what language is spoken in South Korea, officially?", "countries/South Korea/language"),
        ("Is there a short symbol for tungsten?", "elements/tungsten/symbol"),
        ("The number of iron in the table?", "elements/iron/number"),
        ("To what family might gold belong?", "elements/gold/family"),
        ("Titan goes around what?", "moons/Titan/planet"),
        ("Tell me who spotted Triton", "moons/Triton/discoverer"),
        ("Do you know when Charon was spotted?", "moons/Charon/year"),
        ("What is the capital of Peru, please?", "countries/Peru/capital"),
    ],
)
def test_free_wording_is_recognised_by_subject_and_attribute(text: str, key: str) -> None:
    fact = find_fact(text)
    assert fact is not None
    assert fact.key == key


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Which element has 12 protons?",
        "Which country has Lima as its capital?",
        "What is the capital of Atlantis?",
        "How tall is the highest mountain of Peru?",
        "Is the capital of Peru larger than the capital of Ecuador?",
        "Why does green tea turn bitter above 80 C?",
        "What is the symbol of ironwood?",
    ],
)
def test_what_is_not_about_one_known_fact_is_not_found(text: str) -> None:
    assert find_fact(text) is None


def test_stated_values_are_whole_words_in_the_spelling_of_the_tables() -> None:
    countries, elements, _moons = TOPICS
    capital, currency, _language = countries.attributes
    symbol, number, family = elements.attributes
    assert stated_values(countries, capital, "the capital is buenos aires or LIMA") == {"Buenos Aires", "Lima"}
    assert stated_values(countries, currency, "People pay with the euros") == frozenset()
    assert stated_values(elements, symbol, "he is Fe, not FE or Fer") == {"Fe"}
    assert stated_values(elements, number, "It has 260 or 26 protons") == {"26"}
    assert stated_values(elements, family, "an alkaline earth metal") == {"alkaline earth metal"}


def test_subjects_and_places_are_found_as_whole_words() -> None:
    countries, elements, moons = TOPICS
    assert named_subjects(moons, "Titania and not titan, Ioannina") == {"Titania", "Titan"}
    assert named_subjects(elements, "an ironic platinum") == {"platinum"}
    assert named_places(countries, "Peru lies in South America") == {"South America"}
    assert named_places(elements, "South America") == frozenset()
