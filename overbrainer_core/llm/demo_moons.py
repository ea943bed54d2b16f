"""Which moons does the demo know, and how does it ask about them?

Each has one discoverer and one year that all sources agree on; moons found by a team or a probe are left
out. No question says `planet`, for Charon's host is a dwarf planet.
"""

from __future__ import annotations

from overbrainer_core.llm.demo_facts import Attribute, Subject, Subtopic, Topic

_PLANET = Attribute(
    name="planet",
    label="host",
    templates=(
        "Whose moon is {subject}?",
        "What does the moon {subject} orbit?",
        "Around which world does {subject} travel?",
        "Which body holds {subject} in its orbit?",
        "What does {subject} circle?",
        "Which world has a moon called {subject}?",
    ),
    first="The moon {subject} orbits {value}.",
    second="The moon {subject} was found by {discoverer} in {year}.",
    truth="the moon {subject} orbits {value}",
    words=frozenset({"planet", "orbit", "orbits", "orbiting", "circle", "circles", "around", "world", "host"}),
)

_DISCOVERER = Attribute(
    name="discoverer",
    label="discoverer",
    templates=(
        "Who was the first to see {subject}?",
        "Who discovered {subject}?",
        "Which astronomer found {subject}?",
        "Whose discovery is {subject}?",
        "Who is credited with the discovery of {subject}?",
        "To whom do we owe the discovery of {subject}?",
    ),
    first="The moon {subject} was found by {value}.",
    second="The moon {subject} orbits {planet} and was found in {year}.",
    truth="the moon {subject} was found by {value}",
    words=frozenset({"who", "whom", "discoverer", "astronomer"}),
)

_YEAR = Attribute(
    name="year",
    label="year",
    templates=(
        "Since when do we know {subject}?",
        "In which year was {subject} discovered?",
        "When was {subject} found?",
        "What year brought the discovery of {subject}?",
        "When did people first learn of {subject}?",
        "Which year is given for the discovery of {subject}?",
    ),
    first="The moon {subject} was found in {value}.",
    second="The moon {subject} orbits {planet} and was found by {discoverer}.",
    truth="the moon {subject} was found in {value}",
    words=frozenset({"when", "year", "date", "century"}),
)

_OF_JUPITER = (
    ("Io", "Jupiter", "Galileo Galilei", "1610"),
    ("Europa", "Jupiter", "Galileo Galilei", "1610"),
    ("Ganymede", "Jupiter", "Galileo Galilei", "1610"),
    ("Callisto", "Jupiter", "Galileo Galilei", "1610"),
    ("Amalthea", "Jupiter", "Edward Barnard", "1892"),
    ("Himalia", "Jupiter", "Charles Perrine", "1904"),
    ("Elara", "Jupiter", "Charles Perrine", "1905"),
    ("Sinope", "Jupiter", "Seth Nicholson", "1914"),
)
_OF_SATURN = (
    ("Titan", "Saturn", "Christiaan Huygens", "1655"),
    ("Iapetus", "Saturn", "Giovanni Cassini", "1671"),
    ("Rhea", "Saturn", "Giovanni Cassini", "1672"),
    ("Tethys", "Saturn", "Giovanni Cassini", "1684"),
    ("Dione", "Saturn", "Giovanni Cassini", "1684"),
    ("Mimas", "Saturn", "William Herschel", "1789"),
    ("Enceladus", "Saturn", "William Herschel", "1789"),
)
_OF_URANUS = (
    ("Titania", "Uranus", "William Herschel", "1787"),
    ("Oberon", "Uranus", "William Herschel", "1787"),
    ("Ariel", "Uranus", "William Lassell", "1851"),
    ("Umbriel", "Uranus", "William Lassell", "1851"),
    ("Miranda", "Uranus", "Gerard Kuiper", "1948"),
)
_OF_MARS_NEPTUNE_AND_PLUTO = (
    ("Phobos", "Mars", "Asaph Hall", "1877"),
    ("Deimos", "Mars", "Asaph Hall", "1877"),
    ("Triton", "Neptune", "William Lassell", "1846"),
    ("Nereid", "Neptune", "Gerard Kuiper", "1949"),
    ("Charon", "Pluto", "James Christy", "1978"),
)


def _subtopic(name: str, rows: tuple[tuple[str, str, str, str], ...]) -> Subtopic:
    return Subtopic(name=name, subjects=tuple(Subject(name=row[0], values=row[1:]) for row in rows))


MOONS = Topic(
    name="moons",
    attributes=(_PLANET, _DISCOVERER, _YEAR),
    subtopics=(
        _subtopic("Moons of Jupiter", _OF_JUPITER),
        _subtopic("Moons of Saturn", _OF_SATURN),
        _subtopic("Moons of Uranus", _OF_URANUS),
        _subtopic("Moons of Mars, Neptune and Pluto", _OF_MARS_NEPTUNE_AND_PLUTO),
    ),
)
"""25 moons in 4 parts of the solar system."""
