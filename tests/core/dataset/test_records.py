from __future__ import annotations

from overbrainer_core.dataset.records import MessageRole
from overbrainer_core.values.completion import FinishReason, ReasoningKind


def test_the_words_of_a_record_are_those_of_the_files() -> None:
    assert [reason.value for reason in FinishReason] == ["stop", "length", "content_filter", "refusal", "other"]
    assert [kind.value for kind in ReasoningKind] == ["raw", "summary", "redacted", "none"]
    assert [role.value for role in MessageRole] == ["system", "user", "assistant"]
