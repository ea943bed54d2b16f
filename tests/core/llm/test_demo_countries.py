"""The countries of the demo."""

from overbrainer_core.llm.demo_countries import COUNTRIES


def test_there_are_56_countries_in_8_regions_of_4_to_8() -> None:
    sizes = [len(part.subjects) for part in COUNTRIES.subtopics]
    assert (len(sizes), sum(sizes)) == (8, 56)
    assert all(4 <= size <= 8 for size in sizes)


def test_no_country_is_listed_twice_and_no_two_share_a_capital() -> None:
    rows = [subject for part in COUNTRIES.subtopics for subject in part.subjects]
    assert len({subject.name for subject in rows}) == 56
    assert len({subject.values[0] for subject in rows}) == 56


def test_every_question_about_the_language_asks_for_the_official_one() -> None:
    language = COUNTRIES.attributes[2]
    assert all("official" in template.split() for template in language.templates)


def test_every_region_is_a_place() -> None:
    assert all(part.place for part in COUNTRIES.subtopics)


def test_countries_with_disputed_facts_are_left_out() -> None:
    names = {subject.name for part in COUNTRIES.subtopics for subject in part.subjects}
    assert names.isdisjoint({"Bolivia", "South Africa", "Croatia", "Bulgaria", "Chile", "Tanzania", "Israel", "Egypt"})
