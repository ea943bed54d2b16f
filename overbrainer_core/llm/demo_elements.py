"""Which chemical elements does the demo know, and how does it ask about them?

Left out is what books file in different places: astatine, zinc, mercury, the lanthanides. Names stay in
lower case and never open a sentence, so that a small vocabulary holds each of them once.
"""

from __future__ import annotations

from overbrainer_core.llm.demo_facts import Attribute, Subject, Subtopic, Topic

_SYMBOL = Attribute(
    name="symbol",
    label="symbol",
    templates=(
        "What is the symbol of {subject}?",
        "How do chemists abbreviate {subject}?",
        "Which symbol stands for {subject} in a formula?",
        "How is {subject} written in the periodic table?",
        "Under which symbol do I find {subject}?",
        "What do the letters for {subject} look like in an equation?",
    ),
    first="The symbol of {subject} is {value}.",
    second="The element {subject} has {protons} in each atom and is {a_family}.",
    truth="the symbol of {subject} is {value}",
    words=frozenset({"symbol", "symbols", "abbreviate", "abbreviated", "abbreviation", "letters", "written"}),
    is_case_sensitive=True,
)

_NUMBER = Attribute(
    name="number",
    label="number",
    templates=(
        "What is the atomic number of {subject}?",
        "How many protons does an atom of {subject} have?",
        "How many protons are in the nucleus of {subject}?",
        "At which number does {subject} stand in the periodic table?",
        "Which atomic number belongs to {subject}?",
        "What is the count of protons in {subject}?",
    ),
    first="The atomic number of {subject} is {value}.",
    second="The element {subject} has the symbol {symbol} and is {a_family}.",
    truth="{subject} has {value}",
    said="{protons}",
    words=frozenset({"number", "proton", "protons", "nucleus"}),
)

_FAMILY = Attribute(
    name="family",
    label="family",
    templates=(
        "How would you classify {subject}?",
        "Which family of elements does {subject} belong to?",
        "What kind of element is {subject}?",
        "Which class of elements includes {subject}?",
        "What family is {subject} part of?",
        "Where among the elements does {subject} belong?",
    ),
    first="The element {subject} is {a_value}.",
    second="The element {subject} has the symbol {symbol} and {protons} in each atom.",
    truth="the element {subject} is {a_value}",
    said="{a_value}",
    words=frozenset({"family", "classify", "classified", "class", "kind", "type", "category", "group"}),
)

_NOBLE_GASES = (
    ("helium", "He", "2"),
    ("neon", "Ne", "10"),
    ("argon", "Ar", "18"),
    ("krypton", "Kr", "36"),
    ("xenon", "Xe", "54"),
    ("radon", "Rn", "86"),
)
_HALOGENS = (
    ("fluorine", "F", "9"),
    ("chlorine", "Cl", "17"),
    ("bromine", "Br", "35"),
    ("iodine", "I", "53"),
)
_ALKALI_METALS = (
    ("lithium", "Li", "3"),
    ("sodium", "Na", "11"),
    ("potassium", "K", "19"),
    ("rubidium", "Rb", "37"),
    ("caesium", "Cs", "55"),
    ("francium", "Fr", "87"),
)
_ALKALINE_EARTH_METALS = (
    ("beryllium", "Be", "4"),
    ("magnesium", "Mg", "12"),
    ("calcium", "Ca", "20"),
    ("strontium", "Sr", "38"),
    ("barium", "Ba", "56"),
    ("radium", "Ra", "88"),
)
_LIGHT_TRANSITION_METALS = (
    ("titanium", "Ti", "22"),
    ("chromium", "Cr", "24"),
    ("manganese", "Mn", "25"),
    ("iron", "Fe", "26"),
    ("cobalt", "Co", "27"),
    ("nickel", "Ni", "28"),
    ("copper", "Cu", "29"),
)
_HEAVY_TRANSITION_METALS = (
    ("zirconium", "Zr", "40"),
    ("molybdenum", "Mo", "42"),
    ("palladium", "Pd", "46"),
    ("silver", "Ag", "47"),
    ("tungsten", "W", "74"),
    ("platinum", "Pt", "78"),
    ("gold", "Au", "79"),
)
_NONMETALS = (
    ("hydrogen", "H", "1"),
    ("carbon", "C", "6"),
    ("nitrogen", "N", "7"),
    ("oxygen", "O", "8"),
    ("phosphorus", "P", "15"),
    ("sulfur", "S", "16"),
)
_METALLOIDS = (
    ("boron", "B", "5"),
    ("silicon", "Si", "14"),
    ("germanium", "Ge", "32"),
    ("arsenic", "As", "33"),
    ("antimony", "Sb", "51"),
    ("tellurium", "Te", "52"),
)


def _subtopic(name: str, family: str, rows: tuple[tuple[str, str, str], ...]) -> Subtopic:
    return Subtopic(name=name, subjects=tuple(Subject(name=row[0], values=(row[1], row[2], family)) for row in rows))


ELEMENTS = Topic(
    name="elements",
    attributes=(_SYMBOL, _NUMBER, _FAMILY),
    subtopics=(
        _subtopic("Noble gases", "noble gas", _NOBLE_GASES),
        _subtopic("Halogens", "halogen", _HALOGENS),
        _subtopic("Alkali metals", "alkali metal", _ALKALI_METALS),
        _subtopic("Alkaline earth metals", "alkaline earth metal", _ALKALINE_EARTH_METALS),
        _subtopic("Light transition metals", "transition metal", _LIGHT_TRANSITION_METALS),
        _subtopic("Heavy transition metals", "transition metal", _HEAVY_TRANSITION_METALS),
        _subtopic("Nonmetals", "nonmetal", _NONMETALS),
        _subtopic("Metalloids", "metalloid", _METALLOIDS),
    ),
)
"""48 elements in 8 families, the transition metals in two parts."""
