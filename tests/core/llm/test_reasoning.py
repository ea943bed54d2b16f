from __future__ import annotations

from typing import Any

import pytest

from overbrainer_core.llm.reasoning import find_reasoning
from overbrainer_core.values.completion import ReasoningKind

RAW, SUMMARY, REDACTED, NONE = (
    ReasoningKind.RAW,
    ReasoningKind.SUMMARY,
    ReasoningKind.REDACTED,
    ReasoningKind.NONE,
)


def text(value: str) -> dict[str, Any]:
    return {"type": "reasoning.text", "text": value}


def summary(value: str) -> dict[str, Any]:
    return {"type": "reasoning.summary", "summary": value}


@pytest.mark.parametrize(
    ("message", "kind", "found"),
    [
        ({"reasoning_details": [text("a"), summary("s"), text("b")]}, RAW, "a\nb"),
        ({"reasoning_details": [text(" "), summary("s"), summary("t")]}, SUMMARY, "s\nt"),
        ({"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}, REDACTED, None),
        ({"reasoning_details": [text("")]}, REDACTED, None),
        ({"reasoning_details": [{"type": "new"}]}, NONE, None),
        ({"reasoning_details": []}, NONE, None),
        ({"reasoning_details": None}, NONE, None),
        ({"reasoning_details": "odd"}, NONE, None),
        ({"reasoning_details": [7, None]}, NONE, None),
        ({"reasoning": "plain"}, RAW, "plain"),
        ({"reasoning_content": "plain"}, RAW, "plain"),
        ({"reasoning": " ", "reasoning_content": "second"}, RAW, "second"),
        ({"reasoning": {"odd": 1}}, NONE, None),
        ({"reasoning": "plain", "reasoning_details": [summary("s")]}, SUMMARY, "plain"),
        ({"reasoning": "plain", "reasoning_details": [{"type": "reasoning.encrypted"}]}, REDACTED, "plain"),
    ],
)
def test_fields_are_read_in_their_order(message: dict[str, Any], kind: ReasoningKind, found: str | None) -> None:
    reasoning = find_reasoning(message, "The answer.")
    assert (reasoning.kind, reasoning.text, reasoning.content) == (kind, found, "The answer.")


# C013
@pytest.mark.parametrize(
    ("content", "kind", "found", "answer"),
    [
        ("<think>\nHm.\n</think>\n\nYes.", RAW, "Hm.", "Yes."),
        ("\nTwo facts matter here.\n</think>\n\nUse 80 C.", RAW, "Two facts matter here.", "Use 80 C."),
        ("</think>Use 80 C.", NONE, None, "Use 80 C."),
        ("<think> </think>Use 80 C.", NONE, None, "Use 80 C."),
        ("a</think>b</think>c", RAW, "a", "b</think>c"),
        ("<think>never closed", NONE, None, "<think>never closed"),
    ],
)
def test_a_think_block_is_cut_from_the_content(
    content: str, kind: ReasoningKind, found: str | None, answer: str
) -> None:
    reasoning = find_reasoning({}, content)
    assert (reasoning.kind, reasoning.text, reasoning.content) == (kind, found, answer)


def test_a_think_block_stays_when_reasoning_came_in_a_field() -> None:
    reasoning = find_reasoning({"reasoning": "real"}, "<think>x</think>y")
    assert (reasoning.text, reasoning.content) == ("real", "<think>x</think>y")


# C012
def test_channels_that_a_server_left_in_the_content_are_split() -> None:
    content = (
        "<|channel|>analysis<|message|>add the two<|end|><|start|>assistant<|channel|>final<|message|>four<|return|>"
    )
    reasoning = find_reasoning({}, content)
    assert (reasoning.kind, reasoning.text, reasoning.content) == (RAW, "add the two", "four")
    cut = find_reasoning({}, "<|channel|>analysis<|message|>add the")
    assert (cut.kind, cut.text, cut.content) == (RAW, "add the", "")
    stripped = find_reasoning({}, "analysisWe must add.assistantfinalfour")
    assert stripped.content == "analysisWe must add.assistantfinalfour"
