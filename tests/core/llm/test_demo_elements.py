"""The chemical elements of the demo."""

from overbrainer_core.llm.demo_elements import ELEMENTS

ROWS = [subject for part in ELEMENTS.subtopics for subject in part.subjects]


def test_there_are_48_elements_in_8_subtopics_of_4_to_8() -> None:
    sizes = [len(part.subjects) for part in ELEMENTS.subtopics]
    assert (len(sizes), sum(sizes)) == (8, 48)
    assert all(4 <= size <= 8 for size in sizes)


def test_names_symbols_and_numbers_are_unique() -> None:
    assert len({row.name for row in ROWS}) == 48
    assert len({row.values[0] for row in ROWS}) == 48
    assert len({row.values[1] for row in ROWS}) == 48


def test_symbols_and_numbers_have_their_form() -> None:
    for row in ROWS:
        symbol, number, _family = row.values
        assert symbol[:1].isupper()
        assert symbol[1:] == symbol[1:].lower()
        assert len(symbol) <= 2
        assert 1 <= int(number) <= 88


def test_numbers_rise_within_a_subtopic() -> None:
    for part in ELEMENTS.subtopics:
        numbers = [int(subject.values[1]) for subject in part.subjects]
        assert numbers == sorted(numbers)


def test_elements_of_one_column_stand_a_whole_period_apart() -> None:
    columns = {part.name: [int(subject.values[1]) for subject in part.subjects] for part in ELEMENTS.subtopics}
    assert columns["Noble gases"] == [2, 10, 18, 36, 54, 86]
    assert columns["Halogens"] == [number - 1 for number in (10, 18, 36, 54)]
    assert columns["Alkali metals"] == [number + 1 for number in (2, 10, 18, 36, 54, 86)]
    assert columns["Alkaline earth metals"] == [number + 2 for number in (2, 10, 18, 36, 54, 86)]


def test_a_family_goes_with_its_subtopic() -> None:
    families = [{subject.values[2] for subject in part.subjects} for part in ELEMENTS.subtopics]
    assert all(len(family) == 1 for family in families)
    assert {name for family in families for name in family} == set(ELEMENTS.values_of(ELEMENTS.attributes[2]))
