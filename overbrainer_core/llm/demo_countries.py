"""Which countries does the demo know, and how does it ask about them?

Only settled facts: one capital that also holds the parliament, one official language that everybody would
name, a currency that did not change lately. Spelling is plain ASCII. All six questions about the language
say `official`, for what most people speak at home is another matter in half of these countries.
"""

from __future__ import annotations

from overbrainer_core.llm.demo_facts import Attribute, Subject, Subtopic, Topic

_CAPITAL = Attribute(
    name="capital",
    label="capital",
    templates=(
        "What is the capital of {subject}?",
        "Which city hosts the parliament of {subject}?",
        "Can you name the capital city of {subject}?",
        "In which city do ambassadors to {subject} live?",
        "Which city does a map of {subject} mark as the capital?",
        "Where does the parliament of {subject} meet?",
    ),
    first="The capital of {subject} is {value}.",
    second="{subject} lies in {place}, its money is the {currency} and its people speak {language}.",
    truth="the capital of {subject} is {value}",
    words=frozenset({"capital", "capitals", "parliament", "city", "embassies", "ambassadors", "government"}),
)

_CURRENCY = Attribute(
    name="currency",
    label="currency",
    templates=(
        "What is the currency of {subject}?",
        "How do you pay in {subject}?",
        "What money do people use in {subject}?",
        "Which currency should a traveller to {subject} carry?",
        "In what currency are prices in {subject} given?",
        "Which money do shops in {subject} take?",
    ),
    first="People in {subject} pay with the {value}.",
    second="{subject} lies in {place}, its capital is {capital} and its people speak {language}.",
    truth="people in {subject} pay with the {value}",
    said="the {value}",
    words=frozenset({"currency", "money", "pay", "paid", "cash", "coins", "banknotes", "notes", "spend"}),
)

_LANGUAGE = Attribute(
    name="language",
    label="language",
    templates=(
        "Which is the official language of {subject}?",
        "What official language does {subject} have?",
        "In which official language are the laws of {subject} written?",
        "Can you name the official language in {subject}?",
        "Which language is official in {subject}?",
        "Which official language do the schools of {subject} teach?",
    ),
    first="The main language of {subject} is {value}.",
    second="{subject} lies in {place}, its capital is {capital} and its money is the {currency}.",
    truth="the main language of {subject} is {value}",
    words=frozenset({"language", "languages", "speak", "speaks", "spoken", "tongue"}),
)

_NORTHERN_EUROPE = (
    ("Denmark", "Copenhagen", "krone", "Danish"),
    ("Estonia", "Tallinn", "euro", "Estonian"),
    ("Iceland", "Reykjavik", "krona", "Icelandic"),
    ("Latvia", "Riga", "euro", "Latvian"),
    ("Lithuania", "Vilnius", "euro", "Lithuanian"),
    ("Norway", "Oslo", "krone", "Norwegian"),
    ("Sweden", "Stockholm", "krona", "Swedish"),
)
_CENTRAL_EUROPE = (
    ("Austria", "Vienna", "euro", "German"),
    ("Czechia", "Prague", "koruna", "Czech"),
    ("Germany", "Berlin", "euro", "German"),
    ("Hungary", "Budapest", "forint", "Hungarian"),
    ("Poland", "Warsaw", "zloty", "Polish"),
    ("Slovakia", "Bratislava", "euro", "Slovak"),
    ("Slovenia", "Ljubljana", "euro", "Slovene"),
)
_SOUTHERN_EUROPE = (
    ("Albania", "Tirana", "lek", "Albanian"),
    ("Greece", "Athens", "euro", "Greek"),
    ("Italy", "Rome", "euro", "Italian"),
    ("Portugal", "Lisbon", "euro", "Portuguese"),
    ("Serbia", "Belgrade", "dinar", "Serbian"),
    ("Spain", "Madrid", "euro", "Spanish"),
)
_SOUTH_AMERICA = (
    ("Argentina", "Buenos Aires", "peso", "Spanish"),
    ("Brazil", "Brasilia", "real", "Portuguese"),
    ("Colombia", "Bogota", "peso", "Spanish"),
    ("Ecuador", "Quito", "dollar", "Spanish"),
    ("Peru", "Lima", "sol", "Spanish"),
    ("Suriname", "Paramaribo", "dollar", "Dutch"),
    ("Uruguay", "Montevideo", "peso", "Spanish"),
)
_NORTH_AND_WEST_AFRICA = (
    ("Cape Verde", "Praia", "escudo", "Portuguese"),
    ("Gambia", "Banjul", "dalasi", "English"),
    ("Ghana", "Accra", "cedi", "English"),
    ("Liberia", "Monrovia", "dollar", "English"),
    ("Mauritania", "Nouakchott", "ouguiya", "Arabic"),
    ("Nigeria", "Abuja", "naira", "English"),
    ("Senegal", "Dakar", "CFA franc", "French"),
    ("Togo", "Lome", "CFA franc", "French"),
)
_EAST_AND_SOUTHERN_AFRICA = (
    ("Angola", "Luanda", "kwanza", "Portuguese"),
    ("Botswana", "Gaborone", "pula", "English"),
    ("Malawi", "Lilongwe", "kwacha", "English"),
    ("Mozambique", "Maputo", "metical", "Portuguese"),
    ("Namibia", "Windhoek", "dollar", "English"),
    ("Zambia", "Lusaka", "kwacha", "English"),
)
_EAST_AND_SOUTH_ASIA = (
    ("Bangladesh", "Dhaka", "taka", "Bengali"),
    ("Bhutan", "Thimphu", "ngultrum", "Dzongkha"),
    ("China", "Beijing", "yuan", "Chinese"),
    ("Japan", "Tokyo", "yen", "Japanese"),
    ("Mongolia", "Ulaanbaatar", "tugrik", "Mongolian"),
    ("Nepal", "Kathmandu", "rupee", "Nepali"),
    ("South Korea", "Seoul", "won", "Korean"),
)
_WEST_AND_CENTRAL_ASIA = (
    ("Armenia", "Yerevan", "dram", "Armenian"),
    ("Azerbaijan", "Baku", "manat", "Azerbaijani"),
    ("Jordan", "Amman", "dinar", "Arabic"),
    ("Lebanon", "Beirut", "pound", "Arabic"),
    ("Oman", "Muscat", "rial", "Arabic"),
    ("Tajikistan", "Dushanbe", "somoni", "Tajik"),
    ("Turkey", "Ankara", "lira", "Turkish"),
    ("Turkmenistan", "Ashgabat", "manat", "Turkmen"),
)


def _subtopic(name: str, place: str, rows: tuple[tuple[str, str, str, str], ...]) -> Subtopic:
    subjects = tuple(Subject(name=row[0], values=row[1:]) for row in rows)
    return Subtopic(name=name, place=place, subjects=subjects)


COUNTRIES = Topic(
    name="countries",
    attributes=(_CAPITAL, _CURRENCY, _LANGUAGE),
    subtopics=(
        _subtopic("Northern Europe", "Northern Europe", _NORTHERN_EUROPE),
        _subtopic("Central Europe", "Central Europe", _CENTRAL_EUROPE),
        _subtopic("Southern Europe", "Southern Europe", _SOUTHERN_EUROPE),
        _subtopic("South America", "South America", _SOUTH_AMERICA),
        _subtopic("North and West Africa", "Africa", _NORTH_AND_WEST_AFRICA),
        _subtopic("East and Southern Africa", "Africa", _EAST_AND_SOUTHERN_AFRICA),
        _subtopic("East and South Asia", "Asia", _EAST_AND_SOUTH_ASIA),
        _subtopic("West and Central Asia", "Asia", _WEST_AND_CENTRAL_ASIA),
    ),
)
"""56 countries in 8 regions."""
