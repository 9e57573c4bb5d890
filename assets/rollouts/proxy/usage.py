"""What one upstream try used: tokens as the endpoint counted them, or an estimate that says that it is one.

Belongs here: reading usage, estimating where there is none, what it costs. Does not belong here: adding up
(`account.py` while a batch runs, `../spend.py` from the log).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assets.profile import Price
from assets.rollouts.proxy.answer import Answer, read_answer
from lake.ids import Json

BYTES_PER_TOKEN = 4
"""For estimates, over requests (JSON) and answers alike."""
NOT_SENT = "the request was not sent"
"""End of the error of a try that was held back."""
_NO_CONNECTION = ("ConnectError", "ConnectTimeout", "LocalProtocolError", "UnsupportedProtocol")


@dataclass(frozen=True)
class Usage:
    """Tokens."""

    prompt: int = 0
    """Cached ones included."""
    cached: int = 0
    """Of the prompt, those the endpoint had at hand."""
    completion: int = 0
    estimated: int = 0
    """Of prompt and completion together, those that nobody counted."""

    @property
    def tokens(self) -> int:
        """Prompt and completion."""
        return self.prompt + self.completion

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt + other.prompt,
            self.cached + other.cached,
            self.completion + other.completion,
            self.estimated + other.estimated,
        )

    def cost(self, price: Price | None) -> float | None:
        """Money for it, in the currency of the price; null where there is no price."""
        if price is None:
            return None
        cached = price.input if price.cached is None else price.cached
        fresh = self.prompt - self.cached
        return (fresh * price.input + self.cached * cached + self.completion * price.output) / 1_000_000


def usage_of(
    stated: Mapping[str, Json] | None, *, status: int | None, error: str | None, request_bytes: int, response: bytes
) -> Usage:
    """What a try used.

    An endpoint that refuses (a status other than 200) or is never reached takes nothing. Where one answered, in part
    too, and counted nothing, or took the request and was not waited for, the tokens are estimated from the sizes.

    Args:
        stated: `usage` of the answer; all zeros is what endpoints send that do not count.
    """
    if status is None:
        unsent = error is None or error.endswith(NOT_SENT) or error.startswith(_NO_CONNECTION)
        return Usage() if unsent else _estimate(request_bytes, b"")
    if status != 200:
        return Usage()
    prompt, completion = _count(stated, "prompt_tokens"), _count(stated, "completion_tokens")
    if prompt + completion == 0:
        return _estimate(request_bytes, response)
    details = (stated or {}).get("prompt_tokens_details")
    cached = _count(details if isinstance(details, dict) else None, "cached_tokens")
    return Usage(prompt, min(cached, prompt), completion)


def estimated_prompt(request_bytes: int) -> int:
    """Tokens of a request by its size."""
    return -(-request_bytes // BYTES_PER_TOKEN)


def _estimate(request_bytes: int, response: bytes) -> Usage:
    prompt = estimated_prompt(request_bytes)
    completion = -(-len(_said(response).encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)
    return Usage(prompt, 0, completion, prompt + completion)


def _said(response: bytes) -> str:
    if not response:
        return ""
    answer: Answer = read_answer(response, streamed=response.lstrip()[:5] == b"data:")
    return answer.text + "".join(call["name"] + call["arguments"] for call in answer.tool_calls.values())


def _count(counts: Mapping[str, Json] | None, name: str) -> int:
    value = (counts or {}).get(name)
    return max(0, int(value)) if isinstance(value, int | float) and not isinstance(value, bool) else 0
