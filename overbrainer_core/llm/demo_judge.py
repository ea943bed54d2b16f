"""Which of two answers does the demo's judge prefer, and why?

The question and the answers are found by their headings (`Answer A:`, `Answer B:`, in Markdown or as tags
too), so the prompt around them may be edited. Both answers are read and scored by the same rules: swapping
them swaps the verdict, and an answer ties with itself.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from overbrainer_core.llm.demo_facts import Fact, normalize_question
from overbrainer_core.llm.demo_reply import UNKNOWN, Reply
from overbrainer_core.llm.demo_tables import (
    find_fact,
    named_places,
    named_subjects,
    question_index,
    stated_values,
)

RIGHT_FACT = 2
SECOND_SENTENCE = 1
"""Added for a right second sentence, taken off for a wrong one."""

_HEADING = r"^[^\w\n]*answer[ \t_-]+{letter}[^\w\n:>]*(?:$|[:>][^\w\n]*(?=\w|$))"
_HEADING_A = re.compile(_HEADING.format(letter="a"), re.IGNORECASE | re.MULTILINE)
_HEADING_B = re.compile(_HEADING.format(letter="b"), re.IGNORECASE | re.MULTILINE)
_QUESTION_HEADING = re.compile(r"^[^\w\n]*question[^\w\n:>]*(?:$|[:>])", re.IGNORECASE | re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedTexts:
    """What a judge's prompt holds."""

    fact: Fact
    answer_a: str
    answer_b: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """How one answer did; `stated` is the one value it gives for what was asked, None without one."""

    is_right: bool
    second: int
    stated: str | None

    @property
    def score(self) -> int:
        """From -1 to 3."""
        return RIGHT_FACT * self.is_right + SECOND_SENTENCE * self.second


def has_two_answers(prompt: str) -> bool:
    """Whether `prompt` presents two answers under headings."""
    return bool(_HEADING_A.search(prompt) and _HEADING_B.search(prompt))


def read_judged_texts(prompt: str) -> JudgedTexts | None:
    """The question's fact and the two answers in `prompt`; None when one of them cannot be found."""
    heading_a, heading_b = _HEADING_A.search(prompt), _HEADING_B.search(prompt)
    if heading_a is None or heading_b is None:
        return None
    fact = _asked_fact(prompt[: min(heading_a.start(), heading_b.start())])
    if fact is None:
        return None
    after_a, after_b = prompt[heading_a.end() :], prompt[heading_b.end() :]
    is_inline = any(after and after[0] != "\n" for after in (after_a, after_b))
    answer_a, answer_b = (_answer_after(after, is_inline=is_inline) for after in (after_a, after_b))
    return JudgedTexts(fact=fact, answer_a=answer_a, answer_b=answer_b)


def mark_answer(fact: Fact, answer: str) -> Marks:
    """How well `answer` tells `fact` and, after it, the subject's other facts."""
    first, *rest = _SENTENCE_END.split(answer.strip(), maxsplit=1)
    stated = stated_values(fact.topic, fact.attribute, first)
    is_right = stated == {fact.value} and _is_about(fact, first)
    return Marks(
        is_right=is_right,
        second=_second_mark(fact, rest[0]) if rest else 0,
        stated=next(iter(stated)) if len(stated) == 1 else None,
    )


def judge_reply(prompt: str) -> Reply:
    """A verdict as a JSON object with its reason, or words without one when the prompt cannot be read."""
    texts = read_judged_texts(prompt)
    if texts is None:
        return Reply(content=UNKNOWN)
    marks_a, marks_b = mark_answer(texts.fact, texts.answer_a), mark_answer(texts.fact, texts.answer_b)
    if marks_a.score == marks_b.score:
        verdict, reason = "tie", _reason_of_tie(texts.fact, marks_a, marks_b)
    elif marks_a.score > marks_b.score:
        verdict, reason = "A", _reason(texts.fact, ("A", marks_a), ("B", marks_b))
    else:
        verdict, reason = "B", _reason(texts.fact, ("B", marks_b), ("A", marks_a))
    return Reply(content=json.dumps({"verdict": verdict, "reason": reason}, ensure_ascii=False))


def _asked_fact(before_answers: str) -> Fact | None:
    """What the lines before the answers ask for, the lines under the last `Question` heading first."""
    headings = [heading.end() for heading in _QUESTION_HEADING.finditer(before_answers)]
    for start in (*headings[-1:], 0):
        lines = before_answers[start:].split("\n")
        known = question_index()
        exact = [known[words] for line in lines if (words := normalize_question(line)) in known]
        guessed = [fact for line in lines if (fact := find_fact(line)) is not None]
        if exact or guessed:
            return (exact or guessed)[-1]
    return None


def _answer_after(text: str, *, is_inline: bool) -> str:
    """The first paragraph of `text`, which starts behind a heading.

    An inline answer starts on the heading's own line. Before any other one empty line may stand, a second
    one means that the answer is empty. Lines without any letter or digit (fences, rules) end an answer.
    """
    lines = text.split("\n")
    may_skip = 0 if is_inline else 1
    found: list[str] = []
    for line in lines if is_inline else lines[1:]:
        if _HEADING_A.match(line) or _HEADING_B.match(line):
            break
        if re.search(r"\w", line):
            found.append(line.strip())
        elif found or (not line.strip() and may_skip == 0):
            break
        elif not line.strip():
            may_skip -= 1
    return " ".join(found)


def _is_about(fact: Fact, text: str) -> bool:
    return named_subjects(fact.topic, text) <= {fact.subject.name}


def _second_mark(fact: Fact, text: str) -> int:
    others = [attribute for attribute in fact.topic.attributes if attribute is not fact.attribute]
    is_right = (
        all(stated_values(fact.topic, other, text) == {fact.values[other.name]} for other in others)
        and _is_about(fact, text)
        and named_places(fact.topic, text) <= {fact.subtopic.place}
    )
    return 1 if is_right else -1


def _says(fact: Fact, letter: str, marks: Marks) -> str:
    if marks.stated is None:
        return f"{letter} gives no clear answer"
    if marks.stated == fact.value:
        return f"{letter} speaks of something else"
    return f"{letter} says {fact.said(marks.stated)}"


def _reason(fact: Fact, winner: tuple[str, Marks], loser: tuple[str, Marks]) -> str:
    """Why the first of two answers, which has the higher score, is better."""
    if not loser[1].is_right and winner[1].is_right:
        return f"{_says(fact, *loser)}, {fact.truth()}"
    known = f"both say {fact.said(fact.value)}" if winner[1].is_right else f"neither knows that {fact.truth()}"
    rest = "tells the rest right" if winner[1].second > 0 else "adds nothing wrong"
    return f"{known}, {winner[0]} {rest}"


def _reason_of_tie(fact: Fact, marks_a: Marks, marks_b: Marks) -> str:
    if marks_a.is_right and marks_b.is_right:
        return f"both say {fact.said(fact.value)}"
    if not marks_a.is_right and not marks_b.is_right:
        return f"neither knows that {fact.truth()}"
    wrong = ("B", marks_b) if marks_a.is_right else ("A", marks_a)
    return f"{_says(fact, *wrong)} but tells the rest right, {fact.truth()}"
