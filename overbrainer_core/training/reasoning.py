"""Will the chat template that Axolotl uses render the parent's reasoning? A check of names only."""

from __future__ import annotations

from overbrainer_core.config.settings import Training

RENDERING_TEMPLATES = ("qwen3", "qwen3_5")
"""Templates of Axolotl that render `reasoning_content` in every turn of the assistant."""

_CURES = {
    "exaone4": "exaone4 needs chat_template_kwargs = { skip_think = false } to render it",
    "gemma4": "gemma4 renders it only in turns with tool calls",
    "gemma4_unified": "gemma4_unified renders it only in turns with tool calls",
}
_LEAVING = "leaving the parent's reasoning out of training"


def reasoning_warning(training: Training) -> str | None:
    """The warning for a template that may drop the reasoning; None when it is known to render it."""
    extra = training.axolotl_extra
    jinja = extra.get("chat_template_jinja")
    if isinstance(jinja, str):
        if "reasoning_content" in jinja:
            return None
        return f"chat_template_jinja does not reference reasoning_content, {_LEAVING}"
    known = ", ".join(RENDERING_TEMPLATES)
    template = extra.get("chat_template")
    if template is not None and template != "tokenizer_default":
        return _template_warning(str(template), extra.get("chat_template_kwargs"), known)
    if "qwen3" in training.base_model.lower():
        return None
    return (
        f"the chat template of {training.base_model} may drop reasoning_content, {_LEAVING}; "
        "set training.axolotl_extra.chat_template if the model uses one of the templates known to render it: " + known
    )


def _template_warning(template: str, kwargs: object, known: str) -> str | None:
    if template in RENDERING_TEMPLATES:
        return None
    if template == "exaone4" and isinstance(kwargs, dict) and kwargs.get("skip_think") is False:
        return None
    detail = _CURES.get(template, f"templates known to render it: {known}")
    return f"chat_template `{template}` may drop reasoning_content, {_LEAVING} ({detail})"
