"""Facts of the demo as questions and sentences."""

from overbrainer_core.llm.demo_countries import COUNTRIES
from overbrainer_core.llm.demo_elements import ELEMENTS
from overbrainer_core.llm.demo_facts import Fact, Topic, counted, normalize_question, with_article
from overbrainer_core.llm.demo_moons import MOONS


def fact_of(topic: Topic, subject: str, attribute: str) -> Fact:
    return next(fact for fact in topic.facts if fact.key == f"{topic.name}/{subject}/{attribute}")


def test_case_punctuation_and_spacing_make_no_difference_to_a_normalized_question() -> None:
    assert normalize_question("  WHAT is\tthe capital of Peru ?!") == "what is the capital of peru"


def test_a_noun_gets_the_right_article() -> None:
    assert [with_article(noun) for noun in ("alkali metal", "noble gas")] == ["an alkali metal", "a noble gas"]


def test_one_proton_is_singular() -> None:
    assert [counted(number, "proton") for number in ("1", "2")] == ["1 proton", "2 protons"]


def test_peru_is_told_in_the_words_of_the_demo() -> None:
    capital = fact_of(COUNTRIES, "Peru", "capital")
    assert capital.first_sentence() == "The capital of Peru is Lima."
    assert capital.second_sentence() == "Peru lies in South America, its money is the sol and its people speak Spanish."
    assert capital.reasoning() == (
        "This is about Peru and asks for its capital. I recall: capital Lima, currency sol, language Spanish."
    )


def test_a_sentence_can_tell_another_value() -> None:
    assert fact_of(COUNTRIES, "Zambia", "capital").first_sentence("Budapest") == "The capital of Zambia is Budapest."


def test_the_second_sentence_leaves_the_asked_value_out_and_tells_the_others() -> None:
    for topic in (COUNTRIES, ELEMENTS, MOONS):
        for fact in topic.facts:
            words = normalize_question(fact.second_sentence()).split()
            for name, value in fact.values.items():
                told = " ".join(words).find(f" {normalize_question(value)}") >= 0
                if name != fact.attribute.name:
                    assert told, fact
    assert "Lima" not in fact_of(COUNTRIES, "Peru", "capital").second_sentence()


def test_elements_use_articles_and_numbers_of_protons() -> None:
    assert fact_of(ELEMENTS, "sodium", "family").first_sentence() == "The element sodium is an alkali metal."
    symbol = fact_of(ELEMENTS, "hydrogen", "symbol")
    assert symbol.second_sentence() == "The element hydrogen has 1 proton in each atom and is a nonmetal."
    number = fact_of(ELEMENTS, "tellurium", "number")
    assert (number.said("26"), number.truth()) == ("26 protons", "tellurium has 52")


def test_moons_are_told_by_host_discoverer_and_year() -> None:
    year = fact_of(MOONS, "Charon", "year")
    assert year.first_sentence() == "The moon Charon was found in 1978."
    assert year.second_sentence() == "The moon Charon orbits Pluto and was found by James Christy."


def test_values_of_an_attribute_are_sorted_and_different() -> None:
    hosts = MOONS.values_of(MOONS.attributes[0])
    assert hosts == ("Jupiter", "Mars", "Neptune", "Pluto", "Saturn", "Uranus")


def test_each_template_names_its_subject_once_and_never_first() -> None:
    for topic in (COUNTRIES, ELEMENTS, MOONS):
        for attribute in topic.attributes:
            assert len(set(attribute.templates)) == 6
            for template in attribute.templates:
                assert template.count("{subject}") == 1
                assert not template.startswith("{subject}")
                assert template.endswith("?")
