"""How is a model asked until it answers with a list?

Structured output first; a provider that refuses it is asked again without. A reply that was cut before any complete
item raises the limit, up to four times the role's; a reply without a list is asked for again.
"""

from __future__ import annotations

from dataclasses import dataclass

from overbrainer_core.errors import describe
from overbrainer_core.llm.errors import HttpStatusError, InvalidResponseError, LlmError
from overbrainer_core.llm.types import Completion, CompletionRequest
from overbrainer_core.pipeline.replies import parse_list
from overbrainer_core.pipeline.stage import StageModelAccess
from overbrainer_core.values.completion import FinishReason
from overbrainer_core.values.usage import Usage

MAX_RAISE = 4
"""Times the role's `max_tokens` that a limit may be raised to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListReply:
    """The items of a list, and what all attempts at it used."""

    items: list[str]
    usage: Usage


async def ask_for_list(model: StageModelAccess, prompt: str, *, item: str, max_retries: int) -> ListReply:
    """The list that the model answers, in at most `max_retries + 1` attempts.

    Raises:
        LlmError: a request failed for good, or no attempt gave a list.
        CostCapError: a request could pass the cost cap.
    """
    asker = _ListAsker(model, item)
    for _ in range(max_retries + 1):
        completion = await asker.ask(prompt)
        items = parse_list(completion.content)
        if items is not None:
            return ListReply(items=items, usage=asker.usage)
        asker.take_refusal(completion)
    raise InvalidResponseError("no list of strings after all retries")


class _ListAsker:
    """The state of one call: structured output or not, the limit, the usage so far."""

    def __init__(self, model: StageModelAccess, item: str) -> None:
        self._model = model
        self._item = item
        self._is_structured = True
        self._configured = model.role.max_tokens
        self._limit = self._configured
        self.usage = Usage()

    async def ask(self, prompt: str) -> Completion:
        """One attempt; a refusal of structured output asks again at once, within the same attempt."""
        while True:
            request = CompletionRequest(user=prompt, max_tokens=self._limit, wants_list=self._is_structured)
            try:
                completion = await self._model.ask(request, item=self._item)
            except LlmError as error:
                if not (self._is_structured and _may_be_the_structure(error)):
                    raise
                self._is_structured = False
                self._retry(f"{describe(error)}; retrying without structured output")
            else:
                self.usage += completion.usage
                return completion

    def take_refusal(self, completion: Completion) -> None:
        """Tell that a reply held no list, and raise the limit when it was cut."""
        ceiling = MAX_RAISE * self._configured
        if completion.finish_reason is FinishReason.LENGTH and self._limit < ceiling:
            self._limit = min(2 * self._limit, ceiling)
            self._retry(f"the answer was cut before its first item; max_tokens is raised to {self._limit}")
        else:
            self._retry("the answer is not a list of strings")

    def _retry(self, text: str) -> None:
        self._model.progress.retry(self._item, text)


def _may_be_the_structure(error: LlmError) -> bool:
    """Whether a request without structured output may fare better.

    Routers answer 404 when no provider takes the parameter, and some servers fail with a 5xx on it.
    """
    if isinstance(error, HttpStatusError) and (error.status == 404 or error.status >= 500):
        return True
    return not error.is_retryable and not error.is_fatal
