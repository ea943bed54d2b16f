"""How did a model end its answer, and what did it show of its reasoning?"""

from __future__ import annotations

from enum import StrEnum


class FinishReason(StrEnum):
    """Why a model stopped writing; `other` is every word that is none of these, or none at all."""

    STOP = "stop"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"
    OTHER = "other"


class ReasoningKind(StrEnum):
    """What a reply showed of the model's reasoning; only `raw` is what the model thought."""

    RAW = "raw"
    SUMMARY = "summary"
    REDACTED = "redacted"
    NONE = "none"
