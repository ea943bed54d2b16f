"""Which subtopics or questions does the demo's generator give for a prompt?

People edit prompts, so names of the tables are searched, never whole sentences. Lines starting with `- `
hold what is there already; everything else is read outside of them. A prompt always gets the same reply,
and a reply to a prompt for two or more questions holds at least one that was not accepted before, as long
as the tables have one: no request can be repeated for ever.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from overbrainer_core.llm.demo_facts import Subtopic, Topic, normalize_question
from overbrainer_core.llm.demo_reply import UNKNOWN, Reply
from overbrainer_core.llm.demo_tables import TOPICS, questions_in_order, stable_hash, subtopics_by_name

DEFAULT_COUNT = 10
"""Items given when a prompt holds no number."""
MAX_COUNT = 1000
PLANTED_EVERY = 3
"""One batch of so many repeats an accepted question in other words."""
WORDS_FOR_PLEASE = 5
"""From so many words on, `, please` leaves a question a duplicate at the default threshold."""
CUT_AFTER = 7
"""Whole items of the list that is cut."""

_INTEGER = re.compile(r"\d{1,9}", re.ASCII)


class OddForm(StrEnum):
    """A reply that is a list all the same, or a refusal; each comes once in a demo."""

    FENCED = "fenced"
    NUMBERED = "numbered"
    CUT = "cut"
    NO_RESPONSE_FORMAT = "no_response_format"


_ODD_FIRST_BATCHES = {
    "South America": OddForm.FENCED,
    "Noble gases": OddForm.NUMBERED,
    "Moons of Saturn": OddForm.CUT,
    "Central Europe": OddForm.NO_RESPONSE_FORMAT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRequest:
    """What a prompt asks for: subtopics of `topic`, or questions when there is a `subtopic`."""

    topic: Topic
    subtopic: Subtopic | None
    count: int
    existing: tuple[str, ...]
    """The texts of the lines starting with `- `, in their order."""

    @property
    def odd_form(self) -> OddForm | None:
        """The odd form that the reply takes, if any."""
        if self.subtopic is None or self.existing:
            return None
        return _ODD_FIRST_BATCHES.get(self.subtopic.name)


def read_list_request(prompt: str) -> ListRequest | None:
    """What `prompt` asks for; None when it names neither a topic nor a subtopic of the tables."""
    lines = [line.strip() for line in prompt.split("\n")]
    existing = tuple(line[2:].strip() for line in lines if line.startswith("- "))
    asked = "\n".join(line for line in lines if not line.startswith("- "))
    number = _INTEGER.search(asked)
    count = max(1, min(int(number[0]), MAX_COUNT)) if number else DEFAULT_COUNT
    found = _named(asked)
    if found is None:
        return None
    topic, subtopic = found
    return ListRequest(topic=topic, subtopic=subtopic, count=count, existing=existing)


def list_items(request: ListRequest) -> list[str]:
    """The items of the reply to `request`, at most `count`.

    When the tables are used up, what is there already comes again: the deduplication ends the asking.
    """
    if request.subtopic is None:
        known = {normalize_question(name) for name in request.existing}
        names = [part.name for part in request.topic.subtopics]
        return ([name for name in names if normalize_question(name) not in known] or names)[: request.count]
    ordered = questions_in_order(request.subtopic.name)
    accepted = _accepted_of(ordered, request.existing)
    fresh = [text for text in ordered if normalize_question(text) not in accepted]
    if not fresh:
        return list(ordered[: request.count])
    return _with_planted(fresh[: request.count], accepted=accepted, key=request.subtopic.name)


def generator_reply(prompt: str, *, wants_object: bool) -> Reply:
    """The generator's reply to `prompt`; `wants_object` when the list shall stand in a JSON object."""
    request = read_list_request(prompt)
    if request is None:
        return Reply(content=UNKNOWN)
    items = list_items(request)
    match request.odd_form:
        case OddForm.FENCED:
            array = json.dumps(items, indent=2, ensure_ascii=False)
            return Reply(content=f"Here is what I would ask:\n\n```json\n{array}\n```\n\nTell me if you need more.")
        case OddForm.NUMBERED:
            return Reply(content="\n".join(f"{number}. {item}" for number, item in enumerate(items, start=1)))
        case OddForm.CUT if len(items) > 1:
            return _cut_list(items)
    array = json.dumps(items, ensure_ascii=False)
    return Reply(content=f'{{"items": {array}}}' if wants_object else array)


def _named(text: str) -> tuple[Topic, Subtopic | None] | None:
    """The subtopic named first, else the topic named first."""
    normalized = f" {normalize_question(text)} "
    subtopics = [
        (normalized.find(f" {name} "), -len(name), name) for name in subtopics_by_name() if f" {name} " in normalized
    ]
    if subtopics:
        return subtopics_by_name()[min(subtopics)[2]]
    topics = [(at, topic) for topic in TOPICS if (at := normalized.find(f" {topic.name} ")) >= 0]
    return (min(topics, key=lambda found: found[0])[1], None) if topics else None


def _accepted_of(ordered: Sequence[str], existing: Sequence[str]) -> dict[str, str]:
    """The lines of `existing` that are questions of `ordered`, by their normalized form.

    A prompt may show the questions of other subtopics too, which depend on what was finished when.
    """
    own = {normalize_question(text) for text in ordered}
    lines = {normalize_question(text): text for text in existing}
    return {normalized: text for normalized, text in lines.items() if normalized in own}


def _with_planted(items: list[str], *, accepted: Mapping[str, str], key: str) -> list[str]:
    """`items` with an accepted question in other words in the place of one, in one batch of three."""
    batch = (key, str(len(accepted)))
    if not accepted or len(items) < 2 or stable_hash("planted", *batch) % PLANTED_EVERY:
        return items
    pick = stable_hash("repeated", *batch)
    repeated = _in_other_words(accepted[sorted(accepted)[pick % len(accepted)]], pick >> 32)
    at = 1 + pick % (len(items) - 1)
    return [*items[:at], repeated, *items[at:-1]]


def _in_other_words(question: str, pick: int) -> str:
    """`question` as a careless writer repeats it: still a duplicate at the default threshold."""
    bare = question.rstrip("?!. ")
    if pick % 3 == 0 and len(normalize_question(question).split()) >= WORDS_FOR_PLEASE:
        return f"{bare}, please?"
    return f"{bare}?!" if pick % 3 == 1 else f"{bare.upper()}?"


def _cut_list(items: list[str]) -> Reply:
    """`items` as an array that ends in the middle of one, after at least one whole item."""
    whole = min(CUT_AFTER, len(items) - 1)
    started = json.dumps(items[whole], ensure_ascii=False)
    array = json.dumps(items[:whole], ensure_ascii=False).removesuffix("]")
    return Reply(content=f"{array}, {started[: len(started) // 2]}", finish="length")
