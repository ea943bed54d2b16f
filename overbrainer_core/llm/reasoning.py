"""What reasoning does a reply of the `openai` protocol show, and in which of its many shapes?

In order: typed details, plain fields, the channels that some servers leave in the content, a `<think>` block.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from overbrainer_core.values.completion import ReasoningKind

_CHANNEL = re.compile(
    r"<\|channel\|>(\w+)[^<]*<\|message\|>(.*?)(?=<\|(?:end|start|return|call|channel)\|>|\Z)", re.DOTALL
)
_CLOSE = "</think>"


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The kind, its text when there is one, and the content without it."""

    kind: ReasoningKind
    text: str | None
    content: str


def find_reasoning(message: dict[str, Any], content: str) -> Reasoning:
    """The reasoning of a reply's message, and what of the content is the answer."""
    kind, text = _typed_details(message.get("reasoning_details"))
    plain = _first_text(message.get("reasoning"), message.get("reasoning_content"))
    if plain is not None:
        return Reasoning(kind or ReasoningKind.RAW, plain, content)
    if kind is not None:
        return Reasoning(kind, text, content)
    return _channels(content) or _think_block(content) or Reasoning(ReasoningKind.NONE, None, content)


def _typed_details(details: object) -> tuple[ReasoningKind | None, str | None]:
    if not isinstance(details, list) or not details:
        return None, None
    entries = [entry for entry in details if isinstance(entry, dict)]
    raw = _texts(entries, "reasoning.text", "text")
    if raw:
        return ReasoningKind.RAW, "\n".join(raw)
    summaries = _texts(entries, "reasoning.summary", "summary")
    if summaries:
        return ReasoningKind.SUMMARY, "\n".join(summaries)
    known = ("reasoning.text", "reasoning.summary", "reasoning.encrypted")
    if any(entry.get("type") in known for entry in entries):
        return ReasoningKind.REDACTED, None
    return None, None


def _texts(entries: list[dict[str, Any]], kind: str, key: str) -> list[str]:
    found = [entry.get(key) for entry in entries if entry.get("type") == kind]
    return [text for text in found if isinstance(text, str) and text.strip()]


def _first_text(*values: object) -> str | None:
    return next((value for value in values if isinstance(value, str) and value.strip()), None)


def _channels(content: str) -> Reasoning | None:
    """The channels of a model whose server did not split them: `analysis` is the reasoning, `final` the answer."""
    if "<|channel|>" not in content:
        return None
    parts = [(name, text.strip()) for name, text in _CHANNEL.findall(content)]
    if not parts:
        return None
    thought = "\n".join(text for name, text in parts if name != "final" and text)
    answer = "\n".join(text for name, text in parts if name == "final")
    return Reasoning(ReasoningKind.RAW if thought else ReasoningKind.NONE, thought or None, answer)


def _think_block(content: str) -> Reasoning | None:
    """The block before the first `</think>`, its opening tag optional: some prompts hold it."""
    before, close, after = content.partition(_CLOSE)
    if not close:
        return None
    thought = before.strip().removeprefix("<think>").strip()
    return Reasoning(ReasoningKind.RAW if thought else ReasoningKind.NONE, thought or None, after.strip())
