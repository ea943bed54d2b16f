"""Why did a request to a provider fail, may it be made again, and must the stage stop?

Texts are what an item's failure shows. They never hold a key: a provider's own words are cut, the key in them is
replaced, and the bodies of 401 and 403 are dropped.

ProviderError
  LlmError
    HttpStatusError       the provider answered with an error
    RequestFailedError    no whole answer came: refused, DNS, TLS, timeout, closed early
    InvalidResponseError  an answer came that is none
    UnsupportedError      the protocol cannot do it
    ClientSetupError      the client cannot be built
"""

from __future__ import annotations

import re

from overbrainer_core.aio.rate_limits import Refusal
from overbrainer_core.errors import ProviderError

_RETRYABLE = frozenset({408, 429})
_FATAL = frozenset({401, 402, 403, 404})
_OVERLOADED = frozenset({503, 529})
_AT_ONCE_WORDS = re.compile(
    r"concurren|simultaneous|in parallel|parallel request|at once|at the same time|in.flight", re.I
)
_RATE_WORDS = re.compile(r"per[ -](second|minute|hour|day)|/ ?(s|sec|min|minute|hour|day)\b|\b[rt]p[smd]\b", re.I)
MESSAGE_LIMIT = 300
"""Characters kept of a provider's own words."""


class LlmError(ProviderError):
    """A request or its answer failed; the attributes decide, the text is for people."""

    is_retryable = False
    is_fatal = False
    refusal: Refusal | None = None
    retry_after_s: float | None = None


class HttpStatusError(LlmError):
    """The provider answered with an error status, or with an error in an answer of 200."""

    def __init__(self, status: int, message: str, *, retry_after_s: float | None = None) -> None:
        self.status = status
        self.is_retryable = status in _RETRYABLE or status >= 500
        self.is_fatal = status in _FATAL
        self.refusal = _refusal(status, message)
        self.retry_after_s = retry_after_s if self.is_retryable else None
        if status == 401:
            message = "authentication failed, check the provider API key"
        elif status == 403:
            message = "permission denied by the provider"
        super().__init__(f"HTTP {status}: {message}")


def _refusal(status: int, message: str) -> Refusal | None:
    """What a status, and the provider's words with it, say about limits."""
    if status in _OVERLOADED:
        return Refusal.OVERLOAD
    if status != 429:
        return None
    if _AT_ONCE_WORDS.search(message):
        return Refusal.AT_ONCE
    return Refusal.RATE if _RATE_WORDS.search(message) else Refusal.UNSAID


class RequestFailedError(LlmError):
    """No whole answer came; `reason` says why in a few words."""

    is_retryable = True

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"request failed: {reason}")


class InvalidResponseError(LlmError):
    """The answer has not the shape it must have."""

    def __init__(self, detail: str, *, is_retryable: bool = False) -> None:
        self.is_retryable = is_retryable
        super().__init__(f"invalid response: {detail}")


class UnsupportedError(LlmError):
    """The protocol of the provider has no such operation."""

    is_fatal = True

    def __init__(self, operation: str) -> None:
        super().__init__(f"{operation} are not supported by this protocol")


class ClientSetupError(LlmError):
    """The client of a provider cannot be built."""

    is_fatal = True
