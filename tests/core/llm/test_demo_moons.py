"""The moons of the demo."""

from overbrainer_core.llm.demo_moons import MOONS

ROWS = [subject for part in MOONS.subtopics for subject in part.subjects]


def test_there_are_25_moons_in_4_subtopics_of_4_to_8() -> None:
    sizes = [len(part.subjects) for part in MOONS.subtopics]
    assert (len(sizes), sum(sizes)) == (4, 25)
    assert all(4 <= size <= 8 for size in sizes)


def test_no_moon_is_listed_twice() -> None:
    assert len({row.name for row in ROWS}) == 25


def test_the_subtopic_names_the_host() -> None:
    for part in MOONS.subtopics:
        assert all(subject.values[0] in part.name for subject in part.subjects)


def test_years_lie_between_the_first_telescope_and_the_probes() -> None:
    assert all(1610 <= int(row.values[2]) <= 1978 for row in ROWS)


def test_a_discoverer_finds_moons_within_one_life() -> None:
    by_discoverer: dict[str, list[int]] = {}
    for row in ROWS:
        by_discoverer.setdefault(row.values[1], []).append(int(row.values[2]))
    assert all(max(years) - min(years) <= 15 for years in by_discoverer.values())


def test_no_question_calls_the_host_a_planet() -> None:
    texts = [text for attribute in MOONS.attributes for text in (*attribute.templates, attribute.label)]
    assert not any("planet" in text for text in texts)
