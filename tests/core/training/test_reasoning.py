"""The warning for chat templates that drop the parent's reasoning."""

from __future__ import annotations

from typing import Any

import pytest

from overbrainer_core.config.settings import Training
from overbrainer_core.training.reasoning import reasoning_warning


def warning(base_model: str = "acme/llama", **extra: Any) -> str | None:
    """The warning for this model and these extra settings."""
    return reasoning_warning(Training(target="box", base_model=base_model, adapter="lora", axolotl_extra=extra))


@pytest.mark.parametrize("template", ["qwen3", "qwen3_5"])
def test_a_template_that_renders_reasoning_is_silent(template: str) -> None:
    assert warning(chat_template=template) is None


def test_a_jinja_template_is_judged_by_its_text_and_overrides_the_name() -> None:
    assert warning(chat_template="llama3", chat_template_jinja="{{ m.reasoning_content }}") is None
    assert warning("acme/qwen3", chat_template="qwen3", chat_template_jinja="{{ m.content }}") == (
        "chat_template_jinja does not reference reasoning_content, leaving the parent's reasoning out of training"
    )


def test_another_template_warns_and_names_those_that_are_known() -> None:
    assert warning(chat_template="chatml") == (
        "chat_template `chatml` may drop reasoning_content, leaving the parent's reasoning out of training "
        "(templates known to render it: qwen3, qwen3_5)"
    )


def test_templates_that_render_it_only_sometimes_warn_with_their_cure() -> None:
    assert "skip_think = false" in str(warning(chat_template="exaone4"))
    assert warning(chat_template="exaone4", chat_template_kwargs={"skip_think": False}) is None
    assert "tool calls" in str(warning(chat_template="gemma4"))
    assert "tool calls" in str(warning(chat_template="gemma4_unified"))


def test_the_models_own_template_is_judged_by_its_name() -> None:
    assert warning("Qwen/Qwen3-0.6B") is None
    assert warning("Qwen/Qwen3-0.6B", chat_template="tokenizer_default") is None
    text = warning("acme/llama", chat_template="tokenizer_default")
    assert text is not None
    assert text.startswith("the chat template of acme/llama may drop reasoning_content, leaving")
    assert text.endswith("one of the templates known to render it: qwen3, qwen3_5")
