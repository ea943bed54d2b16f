"""Lists of the demo's generator: what a prompt asks for, orders, planted duplicates, odd forms."""

import json
from itertools import pairwise

import pytest

from overbrainer_core.llm.demo_facts import normalize_question
from overbrainer_core.llm.demo_generator import (
    OddForm,
    generator_reply,
    list_items,
    read_list_request,
)
from overbrainer_core.llm.demo_reply import UNKNOWN
from overbrainer_core.llm.demo_tables import TOPICS, question_index, questions_in_order

SUBTOPIC_NAMES = [part.name for topic in TOPICS for part in topic.subtopics]


def subtopics_prompt(topic: str, count: int, existing: tuple[str, ...] = ()) -> str:
    bullets = "".join(f"\n- {name}" for name in existing)
    return f'List {count} subtopics of the topic "{topic}".{bullets}\nReply with a JSON array only.'


def questions_prompt(subtopic: str, count: int, accepted: tuple[str, ...] = ()) -> str:
    bullets = "".join(f"\n- {text}" for text in accepted)
    return f'Write {count} new questions about "{subtopic}".{bullets}\nReply with a JSON array only.'


def items_of(prompt: str) -> list[str]:
    request = read_list_request(prompt)
    assert request is not None
    return list_items(request)


def similarity(a: str, b: str) -> float:
    words_a, words_b = normalize_question(a).split(), normalize_question(b).split()
    pairs_a, pairs_b = set(pairwise(words_a)), set(pairwise(words_b))
    return len(pairs_a & pairs_b) / len(pairs_a | pairs_b)


def duplicates_in(items: list[str], accepted: list[str]) -> list[str]:
    return [item for item in items if any(similarity(item, known) >= 0.8 for known in accepted)]


def test_a_topic_alone_gives_its_first_subtopics() -> None:
    assert items_of(subtopics_prompt("moons", 4)) == [part.name for part in TOPICS[2].subtopics]
    assert items_of(subtopics_prompt("Countries", 2)) == ["Northern Europe", "Central Europe"]


def test_subtopics_that_are_there_already_are_left_out() -> None:
    prompt = subtopics_prompt("elements", 3, ("noble gases", "Alkali metals"))
    assert items_of(prompt) == ["Halogens", "Alkaline earth metals", "Light transition metals"]


def test_when_all_subtopics_are_there_they_come_again() -> None:
    existing = tuple(part.name for part in TOPICS[2].subtopics)
    assert items_of(subtopics_prompt("moons", 2, existing)) == list(existing[:2])


@pytest.mark.parametrize("name", SUBTOPIC_NAMES)
def test_a_known_subtopic_gives_its_next_questions_in_their_order(name: str) -> None:
    ordered = questions_in_order(name)
    assert items_of(questions_prompt(name, 10)) == list(ordered[:10])
    fresh = [item for item in items_of(questions_prompt(name, 10, ordered[:10])) if item in ordered]
    assert fresh == list(ordered[10 : 10 + len(fresh)])
    assert len(fresh) >= 9


def test_names_are_searched_wherever_an_edited_prompt_has_them() -> None:
    prompt = "Bitte 5 Fragen!\nThema: **MOONS**, nur Moons  of\nJupiter; keine Moons of Saturn."
    request = read_list_request(prompt)
    assert request is not None
    assert request.subtopic is not None
    assert (request.topic.name, request.subtopic.name, request.count) == ("moons", "Moons of Jupiter", 5)


def test_a_name_inside_another_word_or_a_bullet_does_not_count() -> None:
    assert read_list_request("Questions on halogenslike things\n- Halogens\n- moons") is None


def test_the_count_is_the_first_number_outside_the_bullets() -> None:
    prompt = "Topic: moons\n- 99 moons of Jupiter\n  - 98 more\nGive me 3 subtopics, at most 7."
    request = read_list_request(prompt)
    assert request is not None
    assert (request.count, request.subtopic) == (3, None)
    assert request.existing == ("99 moons of Jupiter", "98 more")


@pytest.mark.parametrize(("text", "count"), [("", 10), ("0", 1), ("9" * 5000, 1000)])
def test_odd_counts_are_brought_into_range(text: str, count: int) -> None:
    request = read_list_request(f"moons {text}")
    assert request is not None
    assert request.count == count


def test_a_topic_outside_the_tables_is_not_known() -> None:
    assert generator_reply(subtopics_prompt("tea", 5), wants_object=True).content == UNKNOWN


@pytest.mark.parametrize("name", SUBTOPIC_NAMES)
def test_thirty_six_questions_need_about_one_request_more_than_four(name: str) -> None:
    accepted: list[str] = []
    requests = refused = 0
    while len(accepted) < 36:
        items = items_of(questions_prompt(name, min(10, 36 - len(accepted)), tuple(accepted)))
        repeated = duplicates_in(items, accepted)
        assert len(repeated) <= 1
        refused += len(repeated)
        accepted += [item for item in items if item not in repeated]
        requests += 1
    assert accepted == list(questions_in_order(name)[:36])
    assert requests <= 6
    assert refused <= requests - 2


def test_planted_duplicates_come_in_about_one_batch_of_three_and_in_every_form() -> None:
    planted: list[str] = []
    batches = 0
    for name in SUBTOPIC_NAMES:
        ordered = questions_in_order(name)
        for size in range(5, 66, 7):
            accepted = ordered[:size]
            items = items_of(questions_prompt(name, 5, accepted))
            planted += duplicates_in(items, list(accepted))
            batches += 1
    assert 0.25 < len(planted) / batches < 0.42
    assert any(text.endswith(", please?") for text in planted)
    assert any(text.isupper() for text in planted)
    assert any(text.endswith("?!") for text in planted)


def test_questions_of_other_subtopics_in_the_bullets_change_nothing() -> None:
    own = questions_in_order("Halogens")[:10]
    others = questions_in_order("Metalloids")[:7]
    assert items_of(questions_prompt("Halogens", 10, own)) == items_of(questions_prompt("Halogens", 10, own + others))


def test_a_single_question_is_never_a_planted_one() -> None:
    ordered = questions_in_order("Halogens")
    for size in range(1, 40):
        assert items_of(questions_prompt("Halogens", 1, ordered[:size])) == [ordered[size]]


def test_used_up_questions_come_again_instead_of_nothing() -> None:
    ordered = questions_in_order("Halogens")
    assert items_of(questions_prompt("Halogens", 3, ordered)) == list(ordered[:3])


def test_a_list_is_an_array_or_an_object_as_asked() -> None:
    prompt = subtopics_prompt("moons", 2)
    expected = ["Moons of Jupiter", "Moons of Saturn"]
    assert json.loads(generator_reply(prompt, wants_object=False).content) == expected
    assert json.loads(generator_reply(prompt, wants_object=True).content) == {"items": expected}


def test_each_odd_form_comes_once() -> None:
    requests = [read_list_request(questions_prompt(name, 10)) for name in SUBTOPIC_NAMES]
    forms = [request.odd_form for request in requests if request is not None and request.odd_form is not None]
    assert sorted(forms) == sorted(OddForm)
    later = [read_list_request(questions_prompt(name, 10, questions_in_order(name)[:1])) for name in SUBTOPIC_NAMES]
    assert all(request is not None and request.odd_form is None for request in later)


def test_one_list_is_fenced_in_prose() -> None:
    content = generator_reply(questions_prompt("South America", 10), wants_object=True).content
    before, _, rest = content.partition("```json\n")
    array, _, after = rest.partition("\n```")
    assert json.loads(array) == list(questions_in_order("South America")[:10])
    assert before.strip()
    assert after.strip()
    assert "[" not in before + after


def test_one_list_is_numbered_from_one() -> None:
    lines = generator_reply(questions_prompt("Noble gases", 10), wants_object=True).content.split("\n")
    assert lines == [f"{n}. {text}" for n, text in enumerate(questions_in_order("Noble gases")[:10], start=1)]


def test_one_list_is_cut_within_an_item() -> None:
    reply = generator_reply(questions_prompt("Moons of Saturn", 10), wants_object=True)
    assert reply.finish == "length"
    whole, _, torn = reply.content.rpartition(", ")
    assert json.loads(f"{whole}]") == list(questions_in_order("Moons of Saturn")[:7])
    assert torn.startswith('"')
    assert not torn.endswith('"')


def test_a_single_item_is_never_cut() -> None:
    reply = generator_reply(questions_prompt("Moons of Saturn", 1), wants_object=False)
    assert (json.loads(reply.content), reply.finish) == ([questions_in_order("Moons of Saturn")[0]], "stop")


def test_every_question_given_is_one_of_the_tables() -> None:
    for name in SUBTOPIC_NAMES:
        assert all(normalize_question(text) in question_index() for text in items_of(questions_prompt(name, 36)))
